// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUBIC (RFC 9438): the window is a cubic function of the time since the last loss.

pub mod equations;

use crate::error::ParameterError;
use crate::law::aimd::equations::decrease;
use crate::parameter::{Parameter, above, between};
use crate::parameters;
use crate::role::{AckSample, SenderLaw, Window};
use crate::units::Instant;

parameters! {
    /// The law's numbers; [`Default`] is RFC 9438 §5.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CubicParams {
        /// C, in segments/s³.
        pub c: f64 = 0.4, in above(0.0);
        /// β_cubic: the share of the window that is left after a loss.
        pub beta: f64 = 0.7, in between(0.0, 1.0);
        /// Make room for new flows: a flow that loses before it is back at its last maximum aims lower (RFC 9438 §4.7).
        pub fast_convergence: bool = true;
        /// Keep up with the window that Reno would have (RFC 9438 §4.3).
        pub reno_friendly: bool = true;
    }
}

/// CUBIC, windows in segments and times in seconds.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: CubicParams,
    /// W_max: the window just before the last loss, or less by fast convergence; 0: no loss yet.
    w_max: f64,
    /// cwnd_prior: the window at the last loss.
    cwnd_prior: f64,
    /// Whether the next congestion avoidance starts on the plateau (after a time-out, §4.8).
    after_timeout: bool,
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Where the cubic has its plateau.
    w_max: f64,
    /// K: time to the plateau.
    k_s: f64,
    /// W_est: the window Reno would have.
    w_est: f64,
    alpha: f64,
}

impl Cubic {
    /// Congestion avoidance, one acknowledgement (§4.2 to §4.5).
    #[inline]
    fn increase(&mut self, cwnd: f64, ack: &AckSample) -> f64 {
        let CubicParams { c, reno_friendly, .. } = self.params;
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin(cwnd, ack.now),
        };
        let t_s = ack.now.saturating_since(epoch.start).as_nanos() as f64 * 1e-9;
        epoch.w_est = equations::w_est(epoch.w_est, epoch.alpha, cwnd, ack.acked);
        if epoch.w_est >= self.cwnd_prior {
            epoch.alpha = 1.0;
        }
        let w_cubic = |t_s| equations::w_cubic(c, t_s, epoch.k_s, epoch.w_max);
        let next = if reno_friendly && w_cubic(t_s) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            equations::increase(cwnd, equations::target(w_cubic(t_s + ack.srtt_s), cwnd), ack.acked)
        };
        self.epoch = Some(epoch);
        next
    }

    fn reduce(&mut self, cwnd: f64) {
        let converge = self.params.fast_convergence && cwnd < self.w_max;
        self.w_max = if converge { equations::converged_w_max(self.params.beta, cwnd) } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = None;
    }

    #[cold]
    fn begin(&mut self, cwnd: f64, now: Instant) -> Epoch {
        let on_plateau = self.after_timeout || cwnd >= self.w_max;
        if on_plateau {
            self.w_max = cwnd;
        }
        let w_max = self.w_max;
        self.after_timeout = false;
        let CubicParams { c, beta, .. } = self.params;
        Epoch { start: now, w_max, k_s: equations::k_s(c, w_max, cwnd), w_est: cwnd, alpha: equations::alpha(beta) }
    }
}

impl SenderLaw for Cubic {
    type Params = CubicParams;

    fn set_up(params: CubicParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self { params, w_max: 0.0, cwnd_prior: 0.0, after_timeout: false, epoch: None })
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        window.grow(ack.acked, |cwnd| self.increase(cwnd, ack));
    }

    /// §4.6, §4.7.
    fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        self.reduce(window.cwnd);
        self.after_timeout = false;
        decrease(self.params.beta, flight)
    }

    /// §4.8.
    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        self.reduce(window.cwnd);
        self.after_timeout = true;
        decrease(self.params.beta, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    fn ack(at_s: f64, srtt_s: f64) -> AckSample {
        let now = Instant::ZERO + Duration::from_secs_f64(at_s);
        AckSample { now, acked: 1.0, flight: 0.0, rtt: Duration::ZERO, srtt_s }
    }

    fn at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 2.0 }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b
    }

    /// A loss at 36 segments: it leaves 25.2, and K = ∛(10.8/0.4) = 3 s (eq. 2).
    fn after_a_loss(reno_friendly: bool) -> Cubic {
        let mut law = Cubic::set_up(CubicParams { reno_friendly, ..CubicParams::default() }).unwrap();
        assert!(close(law.on_loss(&at(36.0), 36.0), 25.2));
        law
    }

    #[test]
    fn the_window_is_back_at_its_maximum_after_k() {
        let mut law = after_a_loss(false);
        // The first ACK starts the epoch; a round trip of 3 s ahead W_cubic is 36: + (36 − 25.2)/25.2 (§4.4).
        assert!(close(law.increase(25.2, &ack(10.0, 3.0)), 25.2 + 10.8 / 25.2));
        // Half-way, at 1.5 s: 36 − 0.4·1.5³ = 34.65.
        assert!(close(law.increase(30.0, &ack(11.5, 0.0)), 30.0 + 4.65 / 30.0));
        // 3 s past the plateau: 36 + 0.4·27 = 46.8 (eq. 1).
        assert!(close(law.increase(36.0, &ack(16.0, 0.0)), 36.0 + 10.8 / 36.0));
    }

    #[test]
    fn the_target_is_between_the_window_and_half_as_much_again() {
        let mut law = after_a_loss(false);
        law.increase(25.2, &ack(0.0, 0.0));
        // §4.2: W_cubic(100) is far above, W_cubic(1) = 32.8 below a window of 40.
        assert!(close(law.increase(40.0, &ack(100.0, 0.0)), 40.0 + 20.0 / 40.0));
        assert_eq!(law.increase(40.0, &ack(1.0, 0.0)), 40.0);
    }

    #[test]
    fn the_window_keeps_up_with_renos() {
        // §4.3: α = 3·0.3/1.7. With the first ACK W_cubic(0) = 25.2 is below W_est = 25.2 + α/25.2.
        let mut law = after_a_loss(true);
        let alpha = 0.9 / 1.7;
        assert!(close(law.increase(25.2, &ack(0.0, 0.0)), 25.2 + alpha / 25.2));
        // At once 1000 more: W_est passes the 36 of before the loss, and then grows by 1 in a window: here 1/50.
        let many = AckSample { acked: 1000.0, ..ack(0.0, 0.0) };
        let w_est = 25.2 + alpha / 25.2 + alpha * 1000.0 / 25.2;
        assert!(w_est > 36.0);
        assert!(close(law.increase(25.2, &many), w_est));
        assert!(close(law.increase(50.0, &ack(0.0, 0.0)), 50.0_f64.max(w_est + 1.0 / 50.0)));
    }

    #[test]
    fn fast_convergence_makes_room() {
        // §4.7: a loss at 30, below the last maximum of 36: W_max = 30·1.7/2 = 25.5, not 30.
        for (fast_convergence, w_max) in [(true, 25.5), (false, 30.0)] {
            let mut law = Cubic::set_up(CubicParams { fast_convergence, ..CubicParams::default() }).unwrap();
            law.on_loss(&at(36.0), 36.0);
            law.on_loss(&at(30.0), 30.0);
            assert!(close(law.w_max, w_max));
        }
    }

    #[test]
    fn after_a_timeout_the_plateau_is_where_congestion_avoidance_begins() {
        // §4.8: K = 0 and W_max = cwnd = 20: after 1 s W_cubic is 20.4. The threshold is by β of the flight.
        let mut law = Cubic::set_up(CubicParams { reno_friendly: false, ..CubicParams::default() }).unwrap();
        assert!(close(law.on_timeout(&at(36.0), 30.0), 21.0));
        assert_eq!(law.increase(20.0, &ack(5.0, 0.0)), 20.0);
        assert!(close(law.increase(20.0, &ack(6.0, 0.0)), 20.0 + 0.4 / 20.0));
    }

    #[test]
    fn what_is_no_cubic_is_refused() {
        let base = CubicParams::default();
        for params in
            [CubicParams { c: 0.0, ..base }, CubicParams { beta: 1.0, ..base }, CubicParams { beta: 0.0, ..base }]
        {
            assert!(Cubic::set_up(params).is_err());
        }
    }
}
