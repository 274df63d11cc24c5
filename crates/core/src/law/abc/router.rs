// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of ABC.

use super::equations;
use crate::error::ParameterError;
use crate::estimator::{BusyRate, RateEstimator, WindowRate};
use crate::packet::Signal;
use crate::parameter::{Parameter, above, above_to};
use crate::parameters;
use crate::role::{Held, MarkerLaw, Passing, Site};
use crate::units::{Bytes, Duration, Instant};

parameters! {
    /// ABC's router.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AbcRouterParams {
        /// d_t: a wait that is no reason to brake.
        pub target: Duration = Duration::from_millis(20);
        /// δ: time in which what waits longer is to be gone; stable above two thirds of the round-trip time.
        pub delta: Duration = Duration::from_millis(133), in above(Duration::ZERO);
        /// η: part of the line's rate that is aimed at.
        pub eta: f64 = 0.98, in above_to(0.0, 1.0);
        /// What the rates of the line and of departures are measured over.
        pub window: Duration = Duration::from_millis(50), in above(Duration::ZERO);
        /// On a recorded trace of a single station, reckon with all that the line could have sent, used or not, as the paper's base
        /// station does. Otherwise, and on other lines, the line's rate is measured while packets wait.
        pub opportunities: bool = true;
    }
}

/// What is known of the line's rate, μ.
#[derive(Clone, Debug)]
enum Line {
    /// All that it could have sent in the window.
    Told(WindowRate),
    /// What it sent while packets waited.
    Measured(BusyRate),
}

/// One queue's ABC router.
#[derive(Clone, Debug)]
pub struct AbcRouter {
    target_s: f64,
    delta_s: f64,
    eta: f64,
    line: Line,
    departing: WindowRate,
    tokens: f64,
}

impl AbcRouter {
    /// A router whose queue is empty.
    ///
    /// # Errors
    /// If a parameter lies outside the domain its field states.
    pub fn new(params: AbcRouterParams) -> Result<Self, ParameterError> {
        params.validate()?;
        let window_s = params.window.as_secs_f64();
        Ok(Self {
            target_s: params.target.as_secs_f64(),
            delta_s: params.delta.as_secs_f64(),
            eta: params.eta,
            line: match params.opportunities {
                true => Line::Told(WindowRate::new(window_s)),
                false => Line::Measured(BusyRate::fixed(window_s)),
            },
            departing: WindowRate::new(window_s),
            tokens: 0.0,
        })
    }

    /// A packet joins an empty queue at `t_s`.
    pub fn began(&mut self, t_s: f64) {
        if let Line::Measured(rate) = &mut self.line {
            rate.begin(t_s);
        }
    }

    /// The line has nothing to send from `t_s` on.
    pub fn rested(&mut self, t_s: f64) {
        if let Line::Measured(rate) = &mut self.line {
            rate.rest(t_s);
        }
    }

    /// At `t_s` the line could have sent `size_bytes` more.
    pub fn unused(&mut self, t_s: f64, size_bytes: f64) {
        if let Line::Told(rate) = &mut self.line {
            rate.push(t_s, size_bytes);
        }
    }

    /// A packet of `size_bytes` leaves at `t_s` that has waited for `wait_s`: whether its sender is told to accelerate.
    pub fn departed(&mut self, t_s: f64, size_bytes: f64, wait_s: f64) -> bool {
        let line: &mut dyn RateEstimator = match &mut self.line {
            Line::Told(rate) => rate,
            Line::Measured(rate) => rate,
        };
        line.push(t_s, size_bytes);
        let rate = line.rate().unwrap_or(0.0);
        self.departing.push(t_s, size_bytes);
        let aimed = equations::target_rate(rate, self.eta, self.delta_s, wait_s, self.target_s);
        let share = equations::accelerating(aimed, self.departing.rate().unwrap_or(0.0));
        let (accelerates, tokens) = equations::token(self.tokens, share);
        self.tokens = tokens;
        accelerates
    }
}

impl MarkerLaw for AbcRouter {
    type Params = AbcRouterParams;

    fn set_up(params: AbcRouterParams) -> Result<Self, ParameterError> {
        Self::new(params).map_err(|error| error.within("feedback"))
    }

    /// Where the line does not know what it could have sent, it is measured.
    fn at(params: AbcRouterParams, site: &Site) -> Result<AbcRouterParams, ParameterError> {
        Ok(AbcRouterParams { opportunities: params.opportunities && site.knows_unused, ..params })
    }

    fn on_arrival(&mut self, now: Instant, _packet: Passing, held: Held, _signal: &Signal) {
        if held.packets == 1 {
            self.began(now.as_secs_f64());
        }
    }

    fn on_departure(&mut self, now: Instant, packet: Passing, _held: Held, signal: &mut Signal) {
        let wait_s = (now - packet.arrived).as_secs_f64();
        let accelerates = self.departed(now.as_secs_f64(), packet.size.as_f64(), wait_s);
        signal.steer(accelerates);
    }

    fn on_rest(&mut self, now: Instant) {
        self.rested(now.as_secs_f64());
    }

    fn remembers_unused(&self) -> Option<Duration> {
        match &self.line {
            Line::Told(rate) => Some(Duration::from_secs_f64(rate.window_s())),
            Line::Measured(_) => None,
        }
    }

    fn on_unused(&mut self, at: Instant, size: Bytes) {
        self.unused(at.as_secs_f64(), size.as_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= abc#1
    #[test]
    fn what_waits_too_long_lowers_the_rate_that_is_aimed_at() {
        // 30 ms too much at δ = 120 ms take a quarter of μ off.
        assert!((equations::target_rate(1000.0, 0.75, 0.12, 0.05, 0.02) - 500.0).abs() < 1e-9);
        assert_eq!(equations::target_rate(1000.0, 0.75, 0.12, 0.01, 0.02), 750.0);
    }

    //= abc#2
    //= abc#3
    #[test]
    fn tokens_make_the_share() {
        assert_eq!(equations::accelerating(500.0, 1000.0), 0.25);
        assert_eq!(equations::accelerating(-1.0, 1000.0), 0.0);
        assert_eq!(equations::accelerating(1e9, 1000.0), 1.0);
        let mut tokens = 0.0;
        let mut told = |_| {
            let (accelerates, left) = equations::token(tokens, 0.25);
            tokens = left;
            accelerates
        };
        // Above 1, not at it: the fifth, and from then on each fourth.
        let accelerating: Vec<u32> = (1..=13).filter(|&n| told(n)).collect();
        assert_eq!(accelerating, [5, 9, 13]);
        assert_eq!(equations::token(7.0, 1.0), (true, 4.0));
    }

    #[test]
    fn a_busy_line_without_a_queue_tells_half_of_the_packets() {
        // What departs is the line's rate: f = η/2.
        for opportunities in [false, true] {
            let mut router = AbcRouter::new(AbcRouterParams { opportunities, ..AbcRouterParams::default() }).unwrap();
            router.began(0.0);
            let mut told =
                |from, until| (from..=until).filter(|&n| router.departed(0.001 * f64::from(n), 1000.0, 0.001)).count();
            let first = told(1, 100);
            assert!(opportunities || first > 55, "while departures have not filled the window all are to hurry");
            let later = told(101, 1100);
            // 50 packets lie in the window, or 51 where one is just at its edge.
            assert!((480..=490).contains(&later), "{later}");
        }
    }

    #[test]
    fn what_the_line_could_have_sent_counts_for_its_window() {
        let rate = |unused_s: f64| {
            let mut router = AbcRouter::new(AbcRouterParams { eta: 0.5, ..AbcRouterParams::default() }).unwrap();
            assert_eq!(router.remembers_unused(), Some(Duration::from_millis(50)));
            router.unused(unused_s, 2000.0);
            (1..=4).map(|_| u32::from(router.departed(0.1, 500.0, 0.0))).sum::<u32>()
        };
        // f = η μ/(2 cr): with 2000 B beside each 500 B 1, ¾, 7/12 and ½; without, or too long ago, ¼ each.
        assert_eq!([rate(0.09), rate(0.05), rate(0.0)], [2, 0, 0]);
    }

    #[test]
    fn what_is_no_router_is_refused() {
        let key = |params| AbcRouter::new(params).unwrap_err().key;
        let usual = AbcRouterParams::default();
        assert_eq!(key(AbcRouterParams { delta: Duration::ZERO, ..usual }), "delta");
        assert_eq!(key(AbcRouterParams { eta: 1.5, ..usual }), "eta");
        assert_eq!(key(AbcRouterParams { window: Duration::ZERO, ..usual }), "window");
    }
}
