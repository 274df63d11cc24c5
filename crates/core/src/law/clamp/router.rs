// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of CLAMP: the average queue, its service rate and the price.

use super::SlidingRate;
use crate::error::{ParameterError, ensure};

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

/// One queue's agent at the access router.
#[derive(Clone, Debug)]
pub struct Router {
    params: RouterParams,
    average_bytes: f64,
    /// The queue \[B\] and the time \[s\] of the last look at it.
    queue_bytes: f64,
    seen_s: f64,
    departures: SlidingRate,
}

impl Router {
    /// A router whose queue is empty.
    ///
    /// # Errors
    /// If a parameter lies outside the domain its field states.
    pub fn new(params: RouterParams) -> Result<Self, ParameterError> {
        ensure(params.a_bytes.is_finite() && params.a_bytes >= 0.0, "a", params.a_bytes, "at least 0 B")?;
        ensure(params.b.is_finite() && params.b > 0.0, "b", params.b, "more than 0")?;
        ensure(params.rate_packets > 0, "rate_packets", params.rate_packets, "at least 1")?;
        match params.average {
            Average::AtArrivals { gain_per_s: g } => {
                ensure(g.is_finite() && g > 0.0, "average.gain", g, "more than 0 /s")?;
            }
            Average::OverTime { time_constant_s: t } => {
                ensure(t.is_finite() && t > 0.0, "average.time_constant", t, "more than 0 s")?;
            }
            Average::Raw => {}
        }
        let departures = SlidingRate::new(params.rate_packets);
        Ok(Self { params, average_bytes: 0.0, queue_bytes: 0.0, seen_s: 0.0, departures })
    }

    /// A packet has joined the queue at `t_s`, which holds `queue_bytes` with it.
    #[inline]
    pub fn on_arrival(&mut self, t_s: f64, queue_bytes: f64) {
        match self.params.average {
            Average::AtArrivals { gain_per_s } => {
                //= clamp#4.1
                let keep = libm::exp(-gain_per_s * (t_s - self.seen_s));
                self.average_bytes = queue_bytes + keep * (self.average_bytes - queue_bytes);
                self.seen_s = t_s;
            }
            Average::Raw | Average::OverTime { .. } => self.look(t_s, queue_bytes),
        }
    }

    /// Packets have been dropped from the queue at `t_s`, and `queue_bytes` are left. They count for no service.
    pub fn on_drop(&mut self, t_s: f64, queue_bytes: f64) {
        if !matches!(self.params.average, Average::AtArrivals { .. }) {
            self.look(t_s, queue_bytes);
        }
    }

    /// A packet of `size_bytes` has left at `t_s`, and `queue_bytes` are behind it.
    #[inline]
    pub fn on_departure(&mut self, t_s: f64, size_bytes: f64, queue_bytes: f64) {
        //= clamp-report#V
        //= clamp-mice#4.1
        self.departures.push(t_s, size_bytes);
        if !matches!(self.params.average, Average::AtArrivals { .. }) {
            self.look(t_s, queue_bytes);
        }
    }

    /// The queue changes to `queue_bytes` at `t_s`; since the last look it was what it was then.
    #[inline]
    fn look(&mut self, t_s: f64, queue_bytes: f64) {
        if let Average::OverTime { time_constant_s } = self.params.average {
            //= clamp-mice#3.1
            let keep = libm::exp((self.seen_s - t_s) / time_constant_s);
            self.average_bytes = self.queue_bytes + keep * (self.average_bytes - self.queue_bytes);
        } else {
            self.average_bytes = queue_bytes;
        }
        self.queue_bytes = queue_bytes;
        self.seen_s = t_s;
    }

    /// The queue that is priced \[B\].
    #[inline]
    pub fn average_bytes(&self) -> f64 {
        self.average_bytes
    }

    /// The queue's measured service rate μ_c \[B/s\]; `None` before two packets have left at different times.
    pub fn service_rate(&self) -> Option<f64> {
        self.departures.rate()
    }

    /// The price \[s\]; zero as long as the service rate is unknown.
    #[inline]
    pub fn price_s(&self) -> f64 {
        let RouterParams { kind, a_bytes: a, b, .. } = self.params;
        let q = self.average_bytes;
        let excess_bytes = match kind {
            //= clamp#13
            PriceKind::Linear => (b * q - a).max(0.0),
            //= clamp-mice#1
            PriceKind::Mice => (b * (q - a)).max(0.0),
            //= clamp-report#1
            PriceKind::Smooth if b * q > 2.0 * a => b * q - a,
            PriceKind::Smooth if a > 0.0 => b * q * b * q / (4.0 * a),
            PriceKind::Smooth => 0.0,
        };
        // excess/μ_c, with one division and none while there is nothing to ask for.
        if excess_bytes > 0.0 && self.departures.bytes() > 0.0 {
            excess_bytes * self.departures.elapsed_s() / self.departures.bytes()
        } else {
            0.0
        }
    }
}
