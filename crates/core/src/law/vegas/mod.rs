// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vegas (Brakmo, Peterson 1995): the window keeps a few segments of its own in the queue.
//!
//! Once a round trip it compares the throughput with what the window would give without a queue. Vegas' retransmissions
//! by fine-grained timers are loss recovery, and not here.

pub mod equations;

use crate::error::{ParameterError, ensure};
use crate::estimator::{Least, RoundTrips};
use crate::law::aimd::equations::decrease;
use crate::parameter::{Parameter, above, between};
use crate::parameters;
use crate::role::{AckSample, SenderLaw, Window};
use crate::units::Instant;

/// What a time-out leaves of the flight, as with every TCP.
const AFTER_TIMEOUT: f64 = 0.5;
/// Least window that the law itself goes down to, in segments.
const LEAST_CWND: f64 = 2.0;
/// Share of the window that is left when slow start ends (ns-2).
const LEAVE_SLOW_START: f64 = 7.0 / 8.0;
/// The window grows only while so many of its segments, at most, are not outstanding (ns-2).
const SLACK: f64 = 2.0;

parameters! {
    /// The law's numbers. [`Default`] is ns-2's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct VegasParams {
        /// α: with fewer segments in the queue the window grows.
        pub alpha: f64 = 1.0, in 0.0..;
        /// β, at least α: with more segments in the queue the window falls.
        pub beta: f64 = 3.0, in 0.0..;
        /// γ: with more segments in the queue slow start ends.
        pub gamma: f64 = 1.0, in above(0.0);
        /// The share of the window that is left after a loss.
        pub loss_share: f64 = 0.75, in between(0.0, 1.0);
    }
    check(p) {
        ensure(p.beta >= p.alpha, "beta", p.beta, "a number of segments of at least `alpha`")?;
    }
}

/// Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: VegasParams,
    /// BaseRTT \[ns\].
    base_rtt: Least<f64>,
    /// Round-trip times of this epoch \[ns\], their sum and number.
    rtt_sum: f64,
    rtts: f64,
    epoch: RoundTrips,
    /// Whether this epoch of slow start is one in which the window grows: every second is.
    is_growing: bool,
    /// What each acknowledgement adds in congestion avoidance, as a share of 1/cwnd.
    growth: f64,
}

impl Vegas {
    /// A round trip is over.
    fn end_epoch(&mut self, window: &mut Window) {
        let rtt = self.rtt_sum / self.rtts;
        self.rtt_sum = 0.0;
        self.rtts = 0.0;
        let queued = equations::backlog(window.cwnd, self.base_rtt.value(), rtt);
        let VegasParams { alpha, beta, gamma, .. } = self.params;
        self.growth = 0.0;
        if window.in_slow_start() {
            self.is_growing = !self.is_growing;
            if queued > gamma {
                window.cwnd = (window.cwnd * LEAVE_SLOW_START).max(LEAST_CWND);
                window.ssthresh = LEAST_CWND;
            }
        } else if queued > beta {
            window.cwnd = (window.cwnd - 1.0).max(LEAST_CWND);
            window.ssthresh = window.ssthresh.min(window.cwnd); // no slow start because of it
        } else if queued < alpha {
            self.growth = 1.0;
        }
    }
}

impl SenderLaw for Vegas {
    type Params = VegasParams;

    fn set_up(params: VegasParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self {
            params,
            base_rtt: Least::new(f64::INFINITY),
            rtt_sum: 0.0,
            rtts: 0.0,
            epoch: RoundTrips::since(Instant::ZERO),
            is_growing: true,
            growth: 0.0,
        })
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let rtt = ack.rtt.as_nanos() as f64;
        self.base_rtt.see(rtt);
        self.rtt_sum += rtt;
        self.rtts += 1.0;
        if self.epoch.is_over(ack.sent(), ack.now) {
            self.end_epoch(window);
        }
        let is_used = window.cwnd - (ack.flight - ack.acked) <= SLACK;
        if !is_used {
            return;
        }
        if !window.in_slow_start() {
            window.cwnd += self.growth / window.cwnd;
        } else if self.is_growing {
            window.slow_start(ack.acked);
        }
    }

    fn on_loss(&mut self, _window: &Window, flight: f64) -> f64 {
        self.growth = 0.0;
        decrease(self.params.loss_share, flight)
    }

    fn on_timeout(&mut self, _window: &Window, flight: f64) -> f64 {
        self.growth = 0.0;
        decrease(AFTER_TIMEOUT, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    /// An acknowledgement at `at` of a segment that took `rtt`, in milliseconds, with the window used.
    fn ack(at: u64, rtt: u64) -> AckSample {
        let rtt = Duration::from_millis(rtt);
        AckSample { now: Instant::ZERO + Duration::from_millis(at), acked: 1.0, flight: 1e9, rtt, srtt_s: 0.1 }
    }

    /// BaseRTT of 100 ms known, an epoch begun at 1 s.
    fn learnt(params: VegasParams) -> Vegas {
        let mut law = Vegas::set_up(params).unwrap();
        law.on_ack(&mut Window { cwnd: 8.0, ssthresh: 2.0 }, &ack(1000, 100));
        law
    }

    #[test]
    fn the_window_seeks_alpha_to_beta_segments_in_the_queue() {
        // With a window of 20 and a round trip of r ms the queue holds 20(1 − 100/r): 0.8 at 104.1667, 2 at 111.11,
        // 4 at 125.
        for (rtt, next) in [(104, 20.05), (111, 20.0), (125, 19.0)] {
            let mut law = learnt(VegasParams::default());
            let mut window = Window { cwnd: 20.0, ssthresh: 20.0 };
            law.on_ack(&mut window, &ack(1000 + rtt, rtt));
            assert_eq!(window.cwnd, next, "{rtt} ms");
            assert!(!window.in_slow_start(), "the fall is no slow start");
            // Nothing is decided within the next round trip: growth goes on, a fall comes once.
            law.on_ack(&mut window, &ack(1000 + rtt + 1, rtt));
            let again = if next > 20.0 { next + 1.0 / next } else { next };
            assert_eq!(window.cwnd, again);
        }
    }

    #[test]
    fn alpha_and_beta_are_where_the_window_turns() {
        // Two segments in the queue of 20 (see above): below α = 2.5 it grows, above β = 1.5 it falls.
        for (alpha, beta, next) in [(2.5, 3.0, 20.05), (1.0, 1.5, 19.0)] {
            let mut law = learnt(VegasParams { alpha, beta, ..VegasParams::default() });
            let mut window = Window { cwnd: 20.0, ssthresh: 2.0 };
            law.on_ack(&mut window, &ack(1111, 111));
            assert_eq!(window.cwnd, next);
        }
    }

    #[test]
    fn slow_start_grows_every_second_round_trip_and_ends_above_gamma() {
        let mut law = Vegas::set_up(VegasParams::default()).unwrap();
        let mut window = Window { cwnd: 16.0, ssthresh: f64::INFINITY };
        let mut grown = Vec::new();
        for at in [1000, 1100, 1200, 1300] {
            let before = window.cwnd;
            law.on_ack(&mut window, &ack(at, 100));
            grown.push(window.cwnd - before);
        }
        assert_eq!(grown, [0.0, 1.0, 0.0, 1.0]);
        // 18 segments at 106 ms: 1.02 in the queue, above γ; seven eighths are left. Not so with γ = 2.
        for (gamma, is_over) in [(1.0, true), (2.0, false)] {
            let mut law = learnt(VegasParams { gamma, ..VegasParams::default() });
            let mut window = Window { cwnd: 18.0, ssthresh: f64::INFINITY };
            law.on_ack(&mut window, &ack(1106, 106));
            assert_eq!(window.in_slow_start(), !is_over);
            assert!(!is_over || window.cwnd == 15.75);
        }
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut law = learnt(VegasParams::default());
        let mut window = Window { cwnd: 20.0, ssthresh: 2.0 };
        law.on_ack(&mut window, &AckSample { flight: 18.9, ..ack(1100, 100) });
        assert_eq!(window.cwnd, 20.0);
        law.on_ack(&mut window, &AckSample { flight: 19.0, ..ack(1101, 100) });
        assert_eq!(window.cwnd, 20.05);
    }

    #[test]
    fn losses_leave_three_quarters_and_timeouts_half() {
        let mut law = Vegas::set_up(VegasParams::default()).unwrap();
        let window = Window { cwnd: 16.0, ssthresh: 2.0 };
        assert_eq!((law.on_loss(&window, 16.0), law.on_timeout(&window, 16.0)), (12.0, 8.0));
    }

    #[test]
    fn what_is_no_vegas_is_refused() {
        let base = VegasParams::default();
        for (params, key) in [
            (VegasParams { alpha: -1.0, ..base }, "alpha"),
            (VegasParams { beta: 0.5, ..base }, "beta"),
            (VegasParams { gamma: 0.0, ..base }, "gamma"),
            (VegasParams { loss_share: 1.0, ..base }, "loss_share"),
        ] {
            assert_eq!(Vegas::set_up(params).unwrap_err().key, key);
        }
    }
}
