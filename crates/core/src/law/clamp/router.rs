// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of CLAMP: an average of the queue, then what of it is too much, then the price of that.

use super::equations;
use crate::error::ParameterError;
use crate::estimator::{QueueAverage, QueueEstimator, RateEstimator, SlidingRate};
use crate::packet::Signal;
use crate::parameter::{Parameter, above};
use crate::role::{Held, MarkerLaw, Passing};
use crate::units::{Bytes, Duration, Instant};
use crate::{kinds, parameters};

/// How the price depends on the queue q, with service rate μ_c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceForm {
    /// max((bq − a)/μ_c, 0): clamp eq. 13.
    Linear,
    /// max(b(q − a)/μ_c, 0): clamp-mice eq. 1.
    Mice,
    /// (bq − a)/μ_c above q = 2a/b and b²q²/(4aμ_c) below: clamp-report eq. 1. With a = 0 it is linear.
    Smooth,
}

impl PriceForm {
    /// A price of this form.
    pub fn of(self, params: PriceParams) -> PriceLaw {
        PriceLaw { form: self, params }
    }

    /// What of a queue of `q` bytes is too much \[B\]: the price times μ_c.
    #[inline]
    pub fn excess_bytes(self, q: f64, a: f64, b: f64) -> f64 {
        match self {
            Self::Linear => equations::linear(q, a, b),
            Self::Mice => equations::mice(q, a, b),
            Self::Smooth => equations::smooth(q, a, b),
        }
    }
}

/// CLAMP's price at a router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceLaw {
    /// How it depends on the queue.
    pub form: PriceForm,
    /// Its numbers.
    pub params: PriceParams,
}

parameters! {
    /// The parameters of a price; the defaults are those of the TMC paper.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PriceParams {
        /// Queue below which nothing is asked.
        pub a: Bytes;
        /// Gain. The fluid model without an average is stable below π/2 (clamp Theorem 1); with the paper's average of the queue in
        /// the loop the edge lies at about 1 on short paths, with a faster one higher.
        pub b: f64 = 1.0, in above(0.0);
        /// How the queue is averaged.
        pub average: Average = Average::default();
        /// Departures over which the service rate is measured (clamp-report §V).
        pub departures: u32 = 100, in 1..;
    }
}

kinds! {
    /// How a router averages its queue.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Average {
        /// `q ← e^(−gI) q + (1 − e^(−gI)) Q` at each arrival, I seconds after the last (clamp §4.1).
        AtArrivals(AtArrivals) = "at-arrivals",
        /// The queue itself, as it is when the price is asked (clamp-report §IV-A).
        Raw = "raw",
        /// An exponential average over time, idle time included: clamp-mice §3.1's moving average of a periodically sampled
        /// queue, in the limit of a short period.
        OverTime(OverTime) = "over-time",
    }
}

parameters! {
    /// An average over arrivals.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AtArrivals {
        /// Its gain g per second.
        pub gain: f64 = 2.0, in above(0.0);
    }
}

parameters! {
    /// An average over time.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct OverTime {
        /// Its time constant.
        pub time_constant: Duration, in above(Duration::ZERO);
    }
}

impl Average {
    /// What averages so.
    pub(super) fn estimator(self) -> QueueAverage {
        match self {
            Self::AtArrivals(average) => QueueAverage::at_arrivals(average.gain),
            Self::OverTime(average) => QueueAverage::over_time(average.time_constant.as_secs_f64()),
            Self::Raw => QueueAverage::raw(),
        }
    }
}

impl Default for Average {
    fn default() -> Self {
        Self::AtArrivals(AtArrivals::default())
    }
}

/// One queue's agent at the access router: composed of an average of its queue and of a rate at which it is served.
///
/// ```
/// use lasthop_core::law::clamp::{PriceForm, PriceParams, ClampRouter};
/// use lasthop_core::units::Bytes;
///
/// // a = 2000 B. Packets of 1000 B leave at 0 and at 1 s: μ_c = 1000 B/s.
/// let mut router = ClampRouter::new(PriceForm::Linear.of(PriceParams::new(Bytes::new(2000))))?;
/// router.departed(0.0, 1000.0, 0.0);
/// router.departed(1.0, 1000.0, 0.0);
/// assert_eq!(router.price_s(), 0.0);
/// // After a long silence the average is the queue that the next packet finds: (3000 − 2000)/1000 = 1 s.
/// router.arrived(1000.0, 3000.0);
/// assert_eq!(router.price_s(), 1.0);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClampRouter<Q = QueueAverage, R = SlidingRate> {
    form: PriceForm,
    a_bytes: f64,
    b: f64,
    queue: Q,
    service: R,
}

impl ClampRouter {
    /// A router whose queue is empty, with the papers' estimators.
    ///
    /// # Errors
    /// If a parameter lies outside the domain its field states.
    pub fn new(price: PriceLaw) -> Result<Self, ParameterError> {
        let PriceLaw { params, .. } = price;
        params.validate()?;
        Self::with(price, params.average.estimator(), SlidingRate::new(params.departures as usize))
    }
}

impl<Q: QueueEstimator, R: RateEstimator> ClampRouter<Q, R> {
    /// A router with estimators of its own, in place of those that `average` and `departures` name.
    ///
    /// # Errors
    /// If a parameter of the price lies outside the domain its field states.
    pub fn with(price: PriceLaw, queue: Q, service: R) -> Result<Self, ParameterError> {
        let PriceLaw { form, params } = price;
        params.validate()?;
        Ok(Self { form, a_bytes: params.a.as_f64(), b: params.b, queue, service })
    }

    /// A packet has joined the queue at `t_s`, which holds `queue_bytes` with it.
    #[inline]
    pub fn arrived(&mut self, t_s: f64, queue_bytes: f64) {
        self.queue.on_arrival(t_s, queue_bytes);
    }

    /// Packets have been dropped from the queue at `t_s`, and `queue_bytes` are left. They count for no service.
    pub fn dropped(&mut self, t_s: f64, queue_bytes: f64) {
        self.queue.on_change(t_s, queue_bytes);
    }

    /// A packet of `size_bytes` has left at `t_s`, and `queue_bytes` are behind it.
    #[inline]
    pub fn departed(&mut self, t_s: f64, size_bytes: f64, queue_bytes: f64) {
        //= clamp-report#V  μ_c is the rate of the last 100 packets
        //= clamp-mice#4.1  μ_c is the mean over the preceding 100 packets
        self.service.push(t_s, size_bytes);
        if queue_bytes <= 0.0 {
            self.service.rest(t_s);
        }
        self.queue.on_change(t_s, queue_bytes);
    }

    /// The queue that is priced \[B\].
    #[inline]
    pub fn average_bytes(&self) -> f64 {
        self.queue.bytes()
    }

    /// The queue's measured service rate μ_c \[B/s\]; `None` before two packets have left at different times.
    pub fn service_rate(&self) -> Option<f64> {
        self.service.rate()
    }

    /// The price \[s\]; zero as long as the service rate is unknown.
    #[inline]
    pub fn price_s(&self) -> f64 {
        let excess_bytes = self.form.excess_bytes(self.queue.bytes(), self.a_bytes, self.b);
        let (bytes, elapsed_s) = self.service.quotient();
        equations::price(excess_bytes, bytes, elapsed_s)
    }
}

impl MarkerLaw for ClampRouter {
    type Params = PriceLaw;

    fn set_up(params: PriceLaw) -> Result<Self, ParameterError> {
        Self::new(params)
    }

    #[inline]
    fn on_arrival(&mut self, now: Instant, _packet: Passing, held: Held, _signal: &Signal) {
        self.arrived(now.as_secs_f64(), held.bytes.as_f64());
    }

    fn on_drop(&mut self, now: Instant, queued: Bytes) {
        self.dropped(now.as_secs_f64(), queued.as_f64());
    }

    #[inline]
    fn on_departure(&mut self, now: Instant, packet: Passing, held: Held, signal: &mut Signal) {
        self.departed(now.as_secs_f64(), packet.size.as_f64(), held.bytes.as_f64());
        signal.raise_price(self.price_s());
    }

    fn average_bytes(&self) -> Option<f64> {
        Some(self.average_bytes())
    }

    fn price(&self) -> Option<f64> {
        Some(self.price_s())
    }
}
