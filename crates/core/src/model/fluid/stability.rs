// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a fluid returns to its rest: the roots of its characteristic equation, and the same by integration.
//!
//! Near rest let x_i be what B_i is off, X = Σx_i, θ_i the shares, D = q*/μ_c and P = p*; G_i scales the law (d_i, d_i + D
//! or 1), and H(s) = g/(s + g) is the router's average, or 1. A rate is off by (x_i − θ_i X)/D, so that
//!
//! ```text
//! s x_i = −(b θ_i/G_i) H e^(−s d_i) X − A_i (x_i − θ_i X)/D,        A_i = 1 − e^(−s d_i)(1 − P/G_i).
//! ```
//!
//! Solved for the x_i and summed, with w_i = θ_i/(sD + A_i), this is `N(s) + b·M(s) = 0`,
//!
//! ```text
//! N = s Σ w_i,        M = H(s) Σ w_i e^(−s d_i)/G_i,
//! ```
//!
//! beside which each flow has the roots of sD + A_i = 0. With rates at rest w_i = θ_i, and nothing stands beside it.
//!
//! For b → 0 the roots of the loop lie to the left. On the imaginary axis N and M are functions of ω alone, so b has to be
//! −N/M: a real number above 0 at some ω only. The least of these is the critical b.

use core::f64::consts::PI;

use num_complex::Complex;

use super::{Fluid, FluidFlow, Mixing, Scale, Start, positive};
use crate::error::{ParameterError, ensure};
use crate::model::equilibrium;

type Number = Complex<f64>;

/// Radians that the longest delay turns in a step along the imaginary axis.
const STEP_RAD: f64 = 0.05;
/// A step is at most this part of the way to the next root of a flow's own.
const STEP_TO_ROOT: f64 = 0.25;
/// Halvings of the step in which a crossing lies.
const HALVINGS: u32 = 60;
/// Beyond so many times the frequency at which the loop's gain may still be 1 nothing crosses.
const BEYOND: f64 = 2.0;
/// Steps of an integration: of the shortest delay, and of the queue's own time. Delays a run, the longest.
const STEPS_A_DELAY: f64 = 100.0;
const STEPS_A_QUEUE: f64 = 20.0;
const DELAYS_A_RUN: f64 = 120.0;
/// How far from its rest an integration begins, how far it may be on its way back, and how near is there: parts of what is
/// priced at rest.
const OFF: f64 = 1e-3;
const FAR: f64 = 30.0 * OFF;
const NEAR: f64 = 1e-6 * OFF;

/// A fluid near its rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// d_i \[s\].
    delays_s: Vec<f64>,
    /// θ_i = φ_i/Σφ.
    shares: Vec<f64>,
    /// G_i \[s\].
    scales_s: Vec<f64>,
    scale: Scale,
    mixing: Mixing,
    /// D = q*/μ_c \[s\].
    queueing_s: f64,
    /// P = p* \[s\].
    price_s: f64,
    average: Option<f64>,
}

impl Loop {
    /// Flows on these paths, whose queue at rest is so long \[s\] and asks this price \[s\]; `average` is the gain \[1/s\] of
    /// the router's average.
    ///
    /// # Errors
    /// A number outside its domain.
    pub fn new(
        paths: &[FluidFlow],
        scale: Scale,
        mixing: Mixing,
        queueing_s: f64,
        price_s: f64,
        average: Option<f64>,
    ) -> Result<Self, ParameterError> {
        ensure(!paths.is_empty(), "delays", "[]", "one flow at least")?;
        paths.iter().try_for_each(|path| positive("delay", path.delay_s))?;
        positive("queueing", queueing_s)?;
        positive("price", price_s)?;
        average.map_or(Ok(()), |gain| positive("average", gain))?;
        let weights: Vec<f64> = paths.iter().map(|path| path.phi).collect();
        let delays_s: Vec<f64> = paths.iter().map(|path| path.delay_s).collect();
        let scales_s = delays_s
            .iter()
            .map(|delay_s| match scale {
                Scale::Propagation => *delay_s,
                Scale::RoundTrip => delay_s + queueing_s,
                Scale::Nothing => 1.0,
            })
            .collect();
        let shares = equilibrium::shares(&weights)?;
        Ok(Self { delays_s, shares, scales_s, scale, mixing, queueing_s, price_s, average })
    }

    /// What is left of a fluid near its rest. Its own b is [`Fluid::slope`] there.
    ///
    /// # Errors
    /// As [`Fluid::validate`].
    pub fn of(fluid: &Fluid) -> Result<Self, ParameterError> {
        let rest = fluid.rest()?;
        let queueing_s = rest.queue_bytes / fluid.rate;
        Self::new(&fluid.paths, fluid.scale, fluid.mixing, queueing_s, rest.price_s, fluid.average)
    }

    /// The least b, of those up to `upto`, with which it swings for ever \[1; 1/s without scale\]; none: it returns with all.
    pub fn critical_b(&self, upto: f64) -> Option<f64> {
        // N + bM can be 0 only where ω ≤ b Σ|w_i|/G_i / |Σw_i|, which is bΣθ_i/G_i where the w_i are alike.
        let gain: f64 = self.shares.iter().zip(&self.scales_s).map(|(share, scale_s)| share / scale_s).sum();
        let longest_s = self.delays_s.iter().fold(0.0_f64, |most, &delay_s| most.max(delay_s));
        let mut least = upto;
        let start = 1e-3 * STEP_RAD / longest_s;
        let mut before = (start, self.turn(start));
        let mut older = before;
        while before.0 < BEYOND * least * gain {
            let next = before.0 + self.step(before.0, longest_s);
            let here = (next, self.turn(next));
            let mut cross = |from: f64, to: f64| {
                let b = self.gain_at(self.crossing(from, to));
                if b > 0.0 && b < least {
                    least = b;
                }
            };
            let is_other_side = |turn: f64| (before.1 < 0.0) != (turn < 0.0);
            if is_other_side(here.1) {
                cross(before.0, next);
            } else if before.1.abs() < here.1.abs().min(older.1.abs()) && !is_other_side(older.1) {
                // Two crossings may lie nearer to each other than a step is long.
                let nearest = self.nearest(older.0, next);
                if is_other_side(self.turn(nearest)) {
                    cross(older.0, nearest);
                    cross(nearest, next);
                }
            }
            (older, before) = (before, here);
        }
        (least < upto).then_some(least)
    }

    /// How many roots lie to the right of the imaginary axis for a b: how often the characteristic function turns along it.
    pub fn unstable_roots(&self, b: f64) -> usize {
        //= clamp#5  Q(s) = q(0⁻)/(s + (b/d)e^(−ds))
        let gain: f64 = self.shares.iter().zip(&self.scales_s).map(|(share, scale_s)| share / scale_s).sum();
        let longest_s = self.delays_s.iter().fold(0.0_f64, |most, &delay_s| most.max(delay_s));
        let last = 200.0 * (b * gain + 1.0 / self.queueing_s + 1.0 / longest_s);
        let mut omega = 1e-6 / longest_s;
        let mut before = self.normalised(omega, b);
        let (mut turned, mut step) = (0.0, omega);
        while omega < last {
            let next = omega + step;
            let here = self.normalised(next, b);
            let turn = here / before;
            let turn = libm::atan2(turn.im, turn.re);
            if turn.abs() > 0.2 && step > 1e-9 * omega {
                step *= 0.5;
                continue;
            }
            turned += turn;
            (omega, before) = (next, here);
            step = (step * 1.5).min(self.step(omega, longest_s));
        }
        // Up the axis the right half plane is on the right: each root turns the function by −2π, half of it above 0.
        (-turned / PI).round().max(0.0) as usize
    }

    /// The critical b by integrating the fluid from a little beside its rest, to within `tolerance` of itself; none: it
    /// returns with `upto` too. The price is linear, and a holds q* where it is.
    ///
    /// # Errors
    /// Without an a of at least 0 for every b that is tried: b·D has to be P at least.
    pub fn critical_b_by_integration(&self, upto: f64, tolerance: f64) -> Result<Option<f64>, ParameterError> {
        positive("upto", upto)?;
        positive("tolerance", tolerance)?;
        if self.returns(upto)? {
            return Ok(None);
        }
        let (mut low, mut high) = (self.price_s / self.queueing_s, upto);
        while high - low > tolerance * high {
            let middle = 0.5 * (low + high);
            if self.returns(middle)? { low = middle } else { high = middle }
        }
        Ok(Some(0.5 * (low + high)))
    }

    /// Whether the fluid comes nearer to its rest from one half of a run to the next.
    fn returns(&self, b: f64) -> Result<bool, ParameterError> {
        // Bytes are seconds of a queue whose rate is 1: τΣφ = P, and bD − a = P.
        let paths = self.delays_s.iter().zip(&self.shares).map(|(&delay_s, &phi)| FluidFlow { delay_s, phi });
        let fluid = Fluid {
            scale: self.scale,
            mixing: self.mixing,
            average: self.average,
            ..Fluid::new(paths.collect(), self.price_s, b * self.queueing_s - self.price_s, b, 1.0)
        };
        let (shortest_s, longest_s) = self
            .delays_s
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(least, most), &delay_s| (least.min(delay_s), most.max(delay_s)));
        let slowest_s = self.average.map_or(longest_s, |gain| longest_s.max(1.0 / gain));
        // What of the queue is priced; farther off than that the price is 0, and nothing is linear.
        let excess_s = self.price_s / b;
        let step_s = (shortest_s / STEPS_A_DELAY).min(self.queueing_s / STEPS_A_QUEUE);
        let found = fluid.trajectory(
            &Start::NearRest(1.0 + OFF * excess_s / self.queueing_s),
            DELAYS_A_RUN * slowest_s,
            step_s,
            1,
        )?;
        let off = |queue: &[f64]| queue.iter().fold(0.0_f64, |most, q| most.max((q - self.queueing_s).abs()));
        let half = found.queue_bytes.len() / 2;
        let (middle, last) = found.queue_bytes[half..].split_at(half / 2);
        Ok(off(last) < (NEAR * excess_s).max(off(middle).min(FAR * excess_s)))
    }

    /// The real b that N + bM = 0 asks for at jω, where there is one.
    fn gain_at(&self, omega: f64) -> f64 {
        let (n, m) = self.parts(omega);
        -(n * m.conj()).re / m.norm_sqr()
    }

    /// 0 where that b is real.
    fn turn(&self, omega: f64) -> f64 {
        let (n, m) = self.parts(omega);
        (n * m.conj()).im
    }

    /// Where turn is nearest to 0 of `low..high`, or beyond it.
    fn nearest(&self, mut low: f64, mut high: f64) -> f64 {
        let sign = self.turn(low).signum();
        for _ in 0..HALVINGS {
            let third = (high - low) / 3.0;
            if sign * self.turn(low + third) < sign * self.turn(high - third) { high -= third } else { low += third }
        }
        0.5 * (low + high)
    }

    fn crossing(&self, mut low: f64, mut high: f64) -> f64 {
        let below = self.turn(low) < 0.0;
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if (self.turn(middle) < 0.0) == below { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// N and M at s = jω.
    fn parts(&self, omega: f64) -> (Number, Number) {
        //= clamp-report#24  s + b Σ_i θ_i e^(−sd_i) = 0
        let s = Number::new(0.0, omega);
        let (mut shares, mut gains) = (Number::ZERO, Number::ZERO);
        for (flow, share) in self.shares.iter().enumerate() {
            let late = self.late(flow, omega);
            let weight = match self.mixing {
                Mixing::AtRest => Number::new(*share, 0.0),
                Mixing::Perfect => self.own(flow, omega, late).inv() * share,
            };
            shares += weight;
            gains += weight * late / self.scales_s[flow];
        }
        (s * shares, gains * self.smoothing(omega))
    }

    /// e^(−jωd_i).
    fn late(&self, flow: usize, omega: f64) -> Number {
        let (sine, cosine) = libm::sincos(omega * self.delays_s[flow]);
        Number::new(cosine, -sine)
    }

    /// sD + A_i at s = jω.
    fn own(&self, flow: usize, omega: f64, late: Number) -> Number {
        Number::new(1.0, omega * self.queueing_s) - late * (1.0 - self.price_s / self.scales_s[flow])
    }

    /// H(jω).
    fn smoothing(&self, omega: f64) -> Number {
        self.average.map_or(Number::ONE, |gain| Number::new(gain, omega).inv() * gain)
    }

    /// The characteristic function, with all that stands beside the loop, over one of its degree without roots to the
    /// right: it ends where it does not turn.
    fn normalised(&self, omega: f64, b: f64) -> Number {
        let (n, m) = self.parts(omega);
        let own = (0..self.shares.len()).map(|flow| self.own(flow, omega, self.late(flow, omega)));
        match self.mixing {
            Mixing::AtRest => (n + m * b) / Number::new(1.0, omega),
            Mixing::Perfect => {
                own.fold(n + m * b, |product, own| product * own / Number::new(1.0, omega * self.queueing_s))
            }
        }
    }

    fn step(&self, omega: f64, longest_s: f64) -> f64 {
        let widest = STEP_RAD / longest_s;
        if self.mixing == Mixing::AtRest {
            return widest;
        }
        let to_root = (0..self.shares.len()).fold(f64::INFINITY, |least, flow| {
            let own = self.own(flow, omega, self.late(flow, omega));
            least.min(own.norm_sqr().sqrt() / (self.queueing_s + self.delays_s[flow]))
        });
        widest.min(STEP_TO_ROOT * to_root)
    }
}

/// The critical b of one flow behind the router's average of this gain, whatever its scale is to its delay, here
/// `scale_s`: with x tan x = g·d it is (G/d)·x/sin x, which is π/2 without an average and G = d.
///
/// # Errors
/// A number outside its domain.
pub fn averaged_critical_b(delay_s: f64, scale_s: f64, gain: f64) -> Result<f64, ParameterError> {
    positive("delay", delay_s)?;
    positive("scale", scale_s)?;
    positive("average", gain)?;
    let (mut low, mut high) = (0.0, core::f64::consts::FRAC_PI_2);
    for _ in 0..HALVINGS {
        let x = 0.5 * (low + high);
        if x * libm::tan(x) < gain * delay_s { low = x } else { high = x }
    }
    Ok(scale_s / delay_s * high / libm::sin(high))
}

/// The critical b of the older law with two flows of one weight at a price of 1: 1/(d₁ sinc(d₁/(d₁ + d₂))) \[1/s\].
///
/// # Errors
/// A delay of 0 or less.
pub fn two_flows_critical_b(one_s: f64, other_s: f64) -> Result<f64, ParameterError> {
    positive("delay", one_s)?;
    positive("delay", other_s)?;
    //= clamp-report#27  b < 1/(d₁ sinc(d₁/(d₁ + d₂)))
    let x = PI * one_s / (one_s + other_s);
    Ok(x / (one_s * libm::sin(x)))
}
