// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of CLAMP: an average of the queue, then what of it is too much, then the price of that.

use super::equations;
use crate::error::{ParameterError, ensure};
use crate::estimator::{QueueAverage, QueueEstimator, RateEstimator, SlidingRate};
use crate::packet::Signal;
use crate::role::{Held, MarkerLaw};
use crate::units::{Bytes, Instant};

/// How the price depends on the queue q, with service rate μ_c.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PriceKind {
    /// max((bq − a)/μ_c, 0): clamp eq. 13.
    #[default]
    Linear,
    /// max(b(q − a)/μ_c, 0): clamp-mice eq. 1.
    Mice,
    /// (bq − a)/μ_c above q = 2a/b and b²q²/(4aμ_c) below: clamp-report eq. 1. With a = 0 it is linear.
    Smooth,
}

/// Which queue the price is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Average {
    /// q ← e^(−gI) q + (1 − e^(−gI)) Q at each arrival, I after the one before: clamp §4.1, where g = 2/s.
    AtArrivals {
        /// g \[1/s\], more than 0.
        gain_per_s: f64,
    },
    /// The queue itself, as it is when the price is asked: clamp-report §IV-A.
    Raw,
    /// An exponential average over time, idle time included: clamp-mice §3.1's moving average of a periodically
    /// sampled queue, in the limit of a short period.
    OverTime {
        /// Time constant \[s\], more than 0.
        time_constant_s: f64,
    },
}

impl Default for Average {
    fn default() -> Self {
        Self::AtArrivals { gain_per_s: 2.0 }
    }
}

/// What a CLAMP router is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RouterParams {
    /// The price's form.
    pub kind: PriceKind,
    /// a \[B\], at least 0: raises the queue's target.
    pub a_bytes: f64,
    /// b, more than 0; the fluid model is stable below π/2 (clamp Theorem 1).
    pub b: f64,
    /// Which queue is priced.
    pub average: Average,
    /// Departures over which the service rate is measured, at least 1 (clamp-report §V: 100).
    pub rate_packets: usize,
}

impl RouterParams {
    /// The TMC paper's router: linear price, b = 1, the average of §4.1, the rate of the last 100 packets.
    pub fn new(a_bytes: f64) -> Self {
        Self { kind: PriceKind::Linear, a_bytes, b: 1.0, average: Average::default(), rate_packets: 100 }
    }
}

/// One queue's agent at the access router: composed of an average of its queue and of a rate at which it is served.
///
/// ```
/// use lasthop_core::law::clamp::{Router, RouterParams};
///
/// // a = 2000 B. Packets of 1000 B leave at 0 and at 1 s: μ_c = 1000 B/s.
/// let mut router = Router::new(RouterParams::new(2000.0))?;
/// router.departed(0.0, 1000.0, 0.0);
/// router.departed(1.0, 1000.0, 0.0);
/// assert_eq!(router.price_s(), 0.0);
/// // After a long silence the average is the queue that the next packet finds: (3000 − 2000)/1000 = 1 s.
/// router.arrived(1000.0, 3000.0);
/// assert_eq!(router.price_s(), 1.0);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Router<Q = QueueAverage, R = SlidingRate> {
    params: RouterParams,
    queue: Q,
    service: R,
}

impl Router {
    /// A router whose queue is empty, with the papers' estimators.
    ///
    /// # Errors
    /// If a parameter lies outside the domain its field states.
    pub fn new(params: RouterParams) -> Result<Self, ParameterError> {
        ensure(params.rate_packets > 0, "rate_packets", params.rate_packets, "at least 1")?;
        let queue = match params.average {
            Average::AtArrivals { gain_per_s: g } => {
                ensure(g.is_finite() && g > 0.0, "average.gain", g, "more than 0 /s")?;
                QueueAverage::at_arrivals(g)
            }
            Average::OverTime { time_constant_s: t } => {
                ensure(t.is_finite() && t > 0.0, "average.time_constant", t, "more than 0 s")?;
                QueueAverage::over_time(t)
            }
            Average::Raw => QueueAverage::raw(),
        };
        Self::with(params, queue, SlidingRate::new(params.rate_packets))
    }
}

impl<Q: QueueEstimator, R: RateEstimator> Router<Q, R> {
    /// A router with estimators of its own, in place of those that `average` and `rate_packets` name.
    ///
    /// # Errors
    /// If a parameter of the price lies outside the domain its field states.
    pub fn with(params: RouterParams, queue: Q, service: R) -> Result<Self, ParameterError> {
        ensure(params.a_bytes.is_finite() && params.a_bytes >= 0.0, "a", params.a_bytes, "at least 0 B")?;
        ensure(params.b.is_finite() && params.b > 0.0, "b", params.b, "more than 0")?;
        Ok(Self { params, queue, service })
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
        let RouterParams { kind, a_bytes: a, b, .. } = self.params;
        let q = self.queue.bytes();
        let excess_bytes = match kind {
            PriceKind::Linear => equations::linear(q, a, b),
            PriceKind::Mice => equations::mice(q, a, b),
            PriceKind::Smooth => equations::smooth(q, a, b),
        };
        let (bytes, elapsed_s) = self.service.quotient();
        equations::price(excess_bytes, bytes, elapsed_s)
    }
}

impl MarkerLaw for Router {
    type Params = RouterParams;

    fn set_up(params: RouterParams) -> Result<Self, ParameterError> {
        Self::new(params).map_err(|error| error.within("price"))
    }

    #[inline]
    fn on_arrival(&mut self, now: Instant, _size: Bytes, held: Held, _signal: &Signal) {
        self.arrived(now.as_secs_f64(), held.bytes.as_f64());
    }

    fn on_drop(&mut self, now: Instant, queued: Bytes) {
        self.dropped(now.as_secs_f64(), queued.as_f64());
    }

    #[inline]
    fn on_departure(&mut self, now: Instant, size: Bytes, held: Held, signal: &mut Signal) {
        self.departed(now.as_secs_f64(), size.as_f64(), held.bytes.as_f64());
        signal.raise_price(self.price_s());
    }

    fn average_bytes(&self) -> Option<f64> {
        Some(self.average_bytes())
    }

    fn price(&self) -> Option<f64> {
        Some(self.price_s())
    }
}
