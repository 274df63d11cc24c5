// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP as a fluid (clamp §3.2, clamp-report §VII): windows and a queue as differential equations with delays, computed
//! by the very functions that the law computes with.
//!
//! ```text
//!            e_i(t) = μ_i(t) + dw_i/dt                  λ_i(t) = e_i(t − d_i)
//!   receiver ───────────────────────► d_i of propagation ───────────────────► queue q = ΣB_i ─► μ_i(t)
//!       ▲                                                                        │
//!       └──────────────────────────────── price p(q̄) ───────────────────────────┘
//! ```
//!
//! A [`Fluid`] says what the system is; [`Fluid::trajectory`] integrates it, and a [`Loop`], which is what is left of it
//! near its rest, says for which b it returns there.

mod stability;
mod trajectory;

#[cfg(test)]
mod tests;

pub use stability::{Loop, averaged_critical_b, two_flows_critical_b};
pub use trajectory::{Start, Trajectory};

use crate::error::{ParameterError, ensure};
use crate::law::clamp::{PriceForm, equations};
use crate::model::equilibrium;

/// A flow, as the fluid knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluidFlow {
    /// d_i \[s\], above 0: two-way propagation, the queue not counted.
    pub delay_s: f64,
    /// φ_i, above 0.
    pub phi: f64,
}

/// What divides a window's rate of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// d_i: clamp eq. 6, clamp-report eq. 10a.
    Propagation,
    /// The round-trip time at rest, d_i + q*/μ_c: what the receiver's d̂ comes to (clamp eq. 16).
    RoundTrip,
    /// Nothing: the law of 2002 and 2003, where τ and a are in byte/s and b is a second (clamp-report eq. 10b).
    Nothing,
}

/// Which rates the flows have while the queue is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixing {
    /// Their shares at rest, whatever is in the queue: clamp eq. 9 becomes linear.
    AtRest,
    /// As their bytes are in the queue, which mixes perfectly: clamp-report eq. 9a.
    Perfect,
}

/// A queue and the flows that it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Fluid {
    /// The flows, at least one.
    pub paths: Vec<FluidFlow>,
    /// τ \[B; byte/s without scale\], above 0.
    pub tau_bytes: f64,
    /// The form of the price.
    pub price: PriceForm,
    /// a \[B; byte/s without scale\], at least 0.
    pub a_bytes: f64,
    /// b \[1; 1/s without scale\], above 0.
    pub b: f64,
    /// μ_c \[B/s\], above 0.
    pub rate: f64,
    /// What divides a window's rate of change.
    pub scale: Scale,
    /// Which rates the flows have.
    pub mixing: Mixing,
    /// Gain of the router's average \[1/s\], above 0; the price is of the queue itself without one.
    pub average: Option<f64>,
    /// Δ̄: how many bytes a window grows at most on each byte that arrives, above 0; 20/3 for 10 kB on 1500 B.
    pub growth: f64,
    /// ε \[B/s\], above 0: how fast a window may grow with nothing arriving.
    pub floor: f64,
}

/// Where a fluid rests.
#[derive(Clone, Debug, PartialEq)]
pub struct Rest {
    /// q* \[B\].
    pub queue_bytes: f64,
    /// p* \[s\].
    pub price_s: f64,
    /// μ_i* \[B/s\].
    pub rates: Vec<f64>,
}

impl Fluid {
    /// The queue of clamp §3.2: linear price, scaled by the propagation delay, no average.
    pub fn new(paths: Vec<FluidFlow>, tau_bytes: f64, a_bytes: f64, b: f64, rate: f64) -> Self {
        Self {
            paths,
            tau_bytes,
            price: PriceForm::Linear,
            a_bytes,
            b,
            rate,
            scale: Scale::Propagation,
            mixing: Mixing::Perfect,
            average: None,
            growth: 10_000.0 / 1500.0,
            floor: 1.0,
        }
    }

    /// Refuses what is no such system.
    ///
    /// # Errors
    /// A number outside its domain.
    pub fn validate(&self) -> Result<(), ParameterError> {
        ensure(!self.paths.is_empty(), "delays", "[]", "one flow at least")?;
        for path in &self.paths {
            positive("delay", path.delay_s)?;
            positive("phi", path.phi)?;
        }
        positive("tau", self.tau_bytes)?;
        ensure(self.a_bytes >= 0.0 && self.a_bytes.is_finite(), "a", self.a_bytes, "at least 0 B")?;
        positive("b", self.b)?;
        positive("rate", self.rate)?;
        positive("growth", self.growth)?;
        positive("floor", self.floor)?;
        self.average.map_or(Ok(()), |gain| positive("average", gain))
    }

    /// Where it rests: every window where its force is 0.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn rest(&self) -> Result<Rest, ParameterError> {
        self.validate()?;
        let weights: Vec<f64> = self.paths.iter().map(|path| path.phi).collect();
        let wanted_bytes = self.tau_bytes * weights.iter().sum::<f64>();
        let queue_bytes = equilibrium::queue(self.price, self.a_bytes, self.b, self.tau_bytes, weights.iter().sum())?;
        let rates = equilibrium::shares(&weights)?.into_iter().map(|share| share * self.rate).collect();
        Ok(Rest { queue_bytes, price_s: wanted_bytes / self.rate, rates })
    }

    /// The price of a queue \[s\].
    pub fn price_s(&self, queue_bytes: f64) -> f64 {
        equations::price(self.price.excess_bytes(queue_bytes, self.a_bytes, self.b), self.rate, 1.0)
    }

    /// μ_c p′(q): what a byte more in the queue adds to the excess, 1 or 1/s. It is b, but on the parabola of the smooth
    /// price.
    pub fn slope(&self, queue_bytes: f64) -> f64 {
        match self.price {
            PriceForm::Smooth if self.b * queue_bytes <= 2.0 * self.a_bytes => {
                self.b * self.b * queue_bytes / (2.0 * self.a_bytes)
            }
            PriceForm::Linear | PriceForm::Mice | PriceForm::Smooth => self.b,
        }
    }

    /// How fast a window changes \[B/s\] at a price, its flow being served at `rate` and having a round trip of
    /// `round_trip_s` at rest: the law's own force over what scales it, within what one arrival may change.
    fn window_change(&self, path: &FluidFlow, price_s: f64, rate: f64, round_trip_s: f64) -> f64 {
        //= clamp#6  dw_i/dt = (τ − p(q)μ_i)/d_i
        let force = equations::force(path.phi, self.tau_bytes, price_s, rate);
        let change = match self.scale {
            Scale::Propagation => equations::scaled_change(force, path.delay_s, 1.0),
            Scale::RoundTrip => equations::scaled_change(force, round_trip_s, 1.0),
            Scale::Nothing => equations::unscaled_change(force, 1.0),
        };
        //= clamp-report#9b  dw_i/dt = −μ_i if g_i ≤ −μ_i; g_i; μ_iΔ̄ + ε if g_i > μ_iΔ̄
        equations::clipped(change, rate, self.growth * rate + self.floor)
    }
}

/// What of one window stands in the queue \[B\], the path holding μ_c·d.
pub fn queue_of_window(window_bytes: f64, rate: f64, delay_s: f64) -> f64 {
    //= clamp#1  dw/dt = (τ − bq(t))/d, q = max(w − μ_c d, 0)
    (window_bytes - rate * delay_s).max(0.0)
}

fn positive(key: &str, value: f64) -> Result<(), ParameterError> {
    ensure(value > 0.0 && value.is_finite(), key, value, "a number above 0")
}
