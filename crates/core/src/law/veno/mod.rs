// SPDX-License-Identifier: MIT OR Apache-2.0
//! Veno (Fu, Liew 2003): Reno that asks Vegas' backlog whether a loss was congestion or the air.

use crate::error::ParameterError;
use crate::estimator::Least;
use crate::law::aimd::equations::{decrease, increase};
use crate::law::vegas::equations::backlog;
use crate::parameter::{Parameter, above, between};
use crate::parameters;
use crate::role::{AckSample, SenderLaw, Window};
use crate::units::Duration;

/// What Reno leaves of the flight after a loss.
const HALF: f64 = 0.5;

parameters! {
    /// The law's numbers; [`Default`] is the paper's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct VenoParams {
        /// β: with fewer of its segments in the queue the flow takes a loss for one of the air.
        pub beta: f64 = 3.0, in above(0.0);
        /// The share of the window that is left after a loss of the air.
        pub random_loss_share: f64 = 0.8, in between(0.0, 1.0);
        /// Learn the least round-trip time anew after each loss.
        pub reset_base_rtt: bool = true;
    }
}

/// Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    params: VenoParams,
    /// BaseRTT.
    base_rtt: Least<Duration>,
    /// N \[segments\]: what the flow has in the queue.
    backlog: f64,
    /// Whether the last acknowledgement on a congested path went without growth: every second does.
    skipped: bool,
}

impl Veno {
    fn forget(&mut self) {
        if self.params.reset_base_rtt {
            self.base_rtt = Least::new(Duration::MAX);
        }
    }
}

impl SenderLaw for Veno {
    type Params = VenoParams;

    fn set_up(params: VenoParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self { params, base_rtt: Least::new(Duration::MAX), backlog: 0.0, skipped: false })
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        self.base_rtt.see(ack.rtt);
        let base = self.base_rtt.value().as_nanos() as f64;
        self.backlog = backlog(window.cwnd, base, ack.rtt.as_nanos() as f64);
        if window.in_slow_start() {
            window.slow_start(ack.acked);
            return;
        }
        self.skipped = self.backlog >= self.params.beta && !self.skipped;
        if !self.skipped {
            window.cwnd = increase(1.0, window.cwnd, ack.acked);
        }
    }

    fn on_loss(&mut self, _window: &Window, flight: f64) -> f64 {
        let is_random = self.backlog < self.params.beta;
        self.forget();
        decrease(if is_random { self.params.random_loss_share } else { HALF }, flight)
    }

    fn on_timeout(&mut self, _window: &Window, flight: f64) -> f64 {
        self.forget();
        decrease(HALF, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Instant;

    const USED: Window = Window { cwnd: 20.0, ssthresh: 20.0 };

    fn ack(rtt: u64) -> AckSample {
        AckSample { now: Instant::ZERO, acked: 1.0, flight: 20.0, rtt: Duration::from_millis(rtt), srtt_s: 0.1 }
    }

    /// BaseRTT of 100 ms known, then one acknowledgement that took `rtt` ms at a window of 20.
    fn after(params: VenoParams, rtt: u64) -> (Veno, Window) {
        let mut law = Veno::set_up(params).unwrap();
        law.on_ack(&mut Window { cwnd: 20.0, ssthresh: 40.0 }, &ack(100));
        let mut window = Window { cwnd: 20.0, ssthresh: 20.0 };
        law.on_ack(&mut window, &ack(rtt));
        (law, window)
    }

    #[test]
    fn on_a_congested_path_every_second_acknowledgement_grows_the_window() {
        // 20(1 − 100/125) = 4 segments of backlog against β = 3.
        let (mut law, mut window) = after(VenoParams::default(), 125);
        assert_eq!(window.cwnd, 20.0);
        law.on_ack(&mut window, &ack(125));
        assert_eq!(window.cwnd, 20.05);
        law.on_ack(&mut window, &ack(125));
        assert_eq!(window.cwnd, 20.05);
        // 20(1 − 100/110) = 1.8: as Reno.
        let (mut law, mut window) = after(VenoParams::default(), 110);
        assert_eq!(window.cwnd, 20.05);
        law.on_ack(&mut window, &ack(110));
        assert_eq!(window.cwnd, 20.05 + 1.0 / 20.05);
    }

    #[test]
    fn a_loss_on_a_free_path_costs_a_fifth() {
        for (rtt, params, left) in [
            (110, VenoParams::default(), 16.0),
            (125, VenoParams::default(), 10.0),
            (125, VenoParams { beta: 5.0, ..VenoParams::default() }, 16.0),
            (110, VenoParams { random_loss_share: 0.7, ..VenoParams::default() }, 14.0),
        ] {
            let (mut law, _) = after(params, rtt);
            assert_eq!(law.on_loss(&USED, 20.0), left, "{rtt} ms, {params:?}");
            assert_eq!(law.on_timeout(&USED, 20.0), 10.0);
        }
    }

    #[test]
    fn the_least_round_trip_time_is_learnt_anew_after_a_loss() {
        // 125 ms after the loss: the least there is, so nothing in the queue; or 4 segments if 100 ms is remembered.
        for (reset_base_rtt, left) in [(true, 16.0), (false, 10.0)] {
            let (mut law, mut window) = after(VenoParams { reset_base_rtt, ..VenoParams::default() }, 110);
            law.on_loss(&USED, 20.0);
            law.on_ack(&mut window, &ack(125));
            assert_eq!(law.on_loss(&USED, 20.0), left);
        }
    }

    #[test]
    fn what_is_no_veno_is_refused() {
        let base = VenoParams::default();
        assert_eq!(Veno::set_up(VenoParams { beta: 0.0, ..base }).unwrap_err().key, "beta");
        let no_share = VenoParams { random_loss_share: 1.0, ..base };
        assert_eq!(Veno::set_up(no_share).unwrap_err().key, "random_loss_share");
    }
}
