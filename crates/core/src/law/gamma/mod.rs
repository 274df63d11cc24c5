// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP(α, β) with γ and δ: congestion avoidance by round-trip times (gamma §IV).
//!
//! The queueing delay, as a share of the greatest seen, tells where between the knee and the cliff the path stands.
//! Above an upper threshold γ takes the window back to the knee before packets are lost; below a lower one δ fills the
//! path faster. Both need a round-trip time from each acknowledgement.
//!
//! γ as the paper has it is unfair when flows do not start at one instant, and for three reasons. A flow that never loses
//! is never armed: it stays in slow start and keeps all that its limits let it have, for the others give way before
//! anything is lost. A flow that came late takes the queue that it found for propagation. And neither is ever put
//! right: γ acts a round trip late, when each flow has added a segment or two, so that the window falls short of the knee
//! and the queue never empties. [`CutRule::Drain`] is the answer.

pub mod equations;
mod watch;

use crate::error::ParameterError;
use crate::law::aimd::{AfterTimeout, Aimd, AimdParams, MOST_INCREASE};
use crate::parameter::{Parameter, above_to, between};
use crate::role::{AckSample, SenderLaw, Window};
use crate::{kinds, parameters};
pub(in crate::law) use watch::Watch;

parameters! {
    /// The law's numbers.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GammaParams {
        /// α: segments that the window gains in a round trip; by default 4(1 − β²)/3, which is TCP-friendly (gamma eq. 3).
        pub alpha: Option<f64> = None, in above_to(0.0, MOST_INCREASE);
        /// β: the share of the window that is left after a loss.
        pub beta: f64 = 0.5, in between(0.0, 1.0);
        /// What is left after a time-out.
        pub after_timeout: AfterTimeout = AfterTimeout::Half;
        /// γ: cut the window before packets are lost (gamma eq. 15, 16); never by default.
        pub gamma: Option<Cut> = None;
        /// δ: grow faster while the queue is short (gamma eq. 17); never by default.
        pub delta: Option<Boost> = None;
        /// From when on γ and δ act.
        pub arming: Arming = Arming::AfterLoss;
    }
}

impl GammaParams {
    /// α and β.
    pub fn aimd(&self) -> AimdParams {
        let friendly = AimdParams::friendly(self.beta);
        AimdParams { alpha: self.alpha.unwrap_or(friendly.alpha), after_timeout: self.after_timeout, ..friendly }
    }
}

parameters! {
    /// γ: when the window is cut.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Cut {
        /// Th_upper: queueing delay over the greatest at which the window is cut.
        pub threshold: f64 = 0.5, in above_to(0.0, 1.0);
        /// How deep the cut is, and what the greatest round-trip time is.
        pub variant: CutRule = CutRule::Knee;
    }
}

kinds! {
    /// How deep γ cuts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum CutRule {
        /// To the knee, as the paper has it (gamma eq. 16).
        #[default]
        Knee = "knee",
        /// Below it, by (minRTT/RTT)⁴ with the least RTT of the round trip of waiting, so that the queue empties and late-comers
        /// learn the true minRTT. The greatest round-trip time is that of the least ones of round trips, and each round trip
        /// brings it nearer by a 64th of what it is longer, so that all flows go by the same; but a segment of the flow's own has to
        /// wait in the queue, when it is noticed and all through the round trip of waiting. `arming` has no say.
        Drain = "drain",
    }
}

parameters! {
    /// δ: when and how fast the window grows.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Boost {
        /// Th_lower: queueing delay over the greatest up to which δ rules.
        pub threshold: f64 = 0.1, in 0.0..1.0;
        /// δ: segments that the window gains in a round trip.
        pub increase: f64 = 2.0, in above_to(0.0, MOST_INCREASE);
    }
}

kinds! {
    /// From when on γ and δ act.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum Arming {
        /// After the flow's first loss.
        #[default]
        AfterLoss = "after-loss",
        /// At once, on the greatest so far.
        RunningMaximum = "running-maximum",
    }
}

/// TCP(α, β, γ, δ), times in whole nanoseconds.
#[derive(Clone, Debug)]
pub struct Gamma {
    aimd: Aimd,
    watch: Watch,
}

impl SenderLaw for Gamma {
    type Params = GammaParams;

    fn set_up(params: GammaParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self { aimd: Aimd::set_up(params.aimd())?, watch: Watch::new(&params) })
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        self.watch.learn(ack);
        if let Some(share) = self.watch.cut(ack, window.cwnd) {
            window.cwnd = (window.cwnd * share).max(1.0);
            // Slow start would take it back at once.
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
        match self.watch.boost(ack, window) {
            Some(increase) => {
                window.cwnd = crate::law::aimd::equations::increase(increase, window.cwnd, ack.acked);
            }
            None => self.aimd.on_ack(window, ack),
        }
    }

    fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        self.watch.note_loss();
        self.aimd.on_loss(window, flight)
    }

    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        self.watch.note_loss();
        self.aimd.on_timeout(window, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    /// An acknowledgement at `at` of a segment that took `rtt`, in milliseconds.
    fn ack(at: u64, rtt: u64) -> AckSample {
        let rtt = Duration::from_millis(rtt);
        AckSample { now: Instant::ZERO + Duration::from_millis(at), acked: 1.0, flight: 16.0, rtt, srtt_s: 0.1 }
    }

    fn avoiding(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 2.0 }
    }

    /// Round-trip times of 100 to 200 ms seen, and a loss if γ is to be armed by it.
    fn learnt(params: GammaParams, with_loss: bool) -> Gamma {
        let mut law = Gamma::set_up(params).unwrap();
        let mut window = avoiding(16.0);
        law.on_ack(&mut window, &ack(1000, 100));
        law.on_ack(&mut window, &ack(1100, 200));
        if with_loss {
            law.on_loss(&window, 16.0);
            // What was sent before the loss tells nothing: the first ACK after it starts a round trip of rest.
            law.on_ack(&mut window, &ack(1500, 150));
            law.on_ack(&mut window, &ack(1600, 100));
        }
        law
    }

    const WITH_GAMMA: GammaParams = GammaParams {
        alpha: Some(1.0),
        beta: 0.5,
        after_timeout: AfterTimeout::Half,
        gamma: Some(Cut { threshold: 0.5, variant: CutRule::Knee }),
        delta: None,
        arming: Arming::AfterLoss,
    };

    #[test]
    fn the_window_is_cut_once_a_round_trip_after_the_threshold_is_passed() {
        //= gamma#15
        let mut law = learnt(WITH_GAMMA, true);
        let mut window = avoiding(30.0);
        let mut step = |window: &mut Window, at, rtt| {
            let before = window.cwnd;
            law.on_ack(window, &ack(at, rtt));
            window.cwnd - before
        };
        let reno = |cwnd: f64| cwnd + 1.0 / cwnd - cwnd;
        // 149 ms: (149 − 100)/100 = 0.49, nothing; 150 ms: 0.5, due in 150 ms.
        assert_eq!(step(&mut window, 2000, 149), reno(30.0));
        assert!(step(&mut window, 2010, 150) > 0.0);
        assert!(step(&mut window, 2159, 160) > 0.0);
        window.cwnd = 30.0;
        // Then ⅔ of 30 is 20, and the ACK adds 1/20.
        assert_eq!(step(&mut window, 2160, 160), 20.0 + 1.0 / 20.0 - 30.0);
        assert_eq!(window.ssthresh, 2.0);
        // Whatever the queue, until a segment that left at 2160 or later is acknowledged.
        assert!(step(&mut window, 2300, 190) > 0.0);
        assert!(step(&mut window, 2330, 170) > 0.0);
        assert!(step(&mut window, 2500, 160) > 0.0);
        assert!(step(&mut window, 2660, 160) < 0.0);
    }

    #[test]
    fn gamma_waits_for_the_first_loss() {
        for (arming, with_loss, cuts) in
            [(Arming::AfterLoss, false, false), (Arming::AfterLoss, true, true), (Arming::RunningMaximum, false, true)]
        {
            let mut law = learnt(GammaParams { arming, ..WITH_GAMMA }, with_loss);
            let mut window = avoiding(30.0);
            for at in [2000, 2200] {
                law.on_ack(&mut window, &ack(at, 190));
            }
            assert_eq!(window.cwnd < 30.0, cuts, "{arming:?}, loss: {with_loss}");
        }
    }

    #[test]
    fn a_cut_ends_slow_start() {
        let mut law = learnt(WITH_GAMMA, true);
        let mut window = Window { cwnd: 30.0, ssthresh: 60.0 };
        law.on_ack(&mut window, &ack(2000, 150));
        window.cwnd = 30.0;
        law.on_ack(&mut window, &ack(2150, 150));
        assert_eq!(window, Window { cwnd: 20.05, ssthresh: 20.0 });
    }

    const WITH_DRAIN: GammaParams =
        GammaParams { gamma: Some(Cut { threshold: 0.5, variant: CutRule::Drain }), ..WITH_GAMMA };

    #[test]
    fn draining_cuts_by_the_fourth_power_of_what_stood_while_it_waited() {
        // Round trips that end with 100 and 200 ms in them: 150 ms is half of it. No loss came before.
        let mut law = Gamma::set_up(WITH_DRAIN).unwrap();
        let mut window = avoiding(16.0);
        for (at, rtt) in [(1000, 100), (1200, 200), (1400, 200), (1500, 100)] {
            law.on_ack(&mut window, &ack(at, rtt));
        }
        let mut step = |at, rtt| {
            window.cwnd = 64.0;
            law.on_ack(&mut window, &ack(at, rtt));
            window.cwnd
        };
        let reno = 64.0 + 1.0 / 64.0;
        // By now the greatest has faded to 197.6 ms.
        assert_eq!(step(2000, 148), reno);
        // A train of the flow's own: of 101 ms and 64 segments none need have waited.
        assert_eq!(step(2010, 220), reno);
        assert_eq!(step(2120, 101), reno);
        // From here on it waits; 200 ms is the least until a segment comes back that left at 2130 or later.
        assert_eq!(step(2130, 220), reno);
        assert_eq!(step(2220, 200), reno);
        assert_eq!(step(2340, 211), reno);
        // (100/200)⁴ of 64 is 4, and the ACK adds 1/4.
        assert_eq!(step(2360, 210), 4.25);
    }

    #[test]
    fn bursts_are_not_taken_for_queues() {
        // Every other segment waits behind its burst: the least time of every round trip is 100 ms, as is their greatest.
        let mut law = Gamma::set_up(WITH_DRAIN).unwrap();
        let mut window = Window { cwnd: 4.0, ssthresh: 60.0 };
        for at in (1000..2000).step_by(50) {
            law.on_ack(&mut window, &ack(at, if at % 100 == 0 { 100 } else { 140 }));
        }
        assert_eq!(window, Window { cwnd: 24.0, ssthresh: 60.0 });
    }

    #[test]
    fn delta_grows_the_window_while_the_queue_is_short() {
        //= gamma#17
        let delta = Some(Boost { threshold: 0.125, increase: 2.0 });
        let mut law = learnt(GammaParams { delta, gamma: None, ..WITH_GAMMA }, true);
        // At 16: 2/16 up to 112.5 ms, which is 0.125, and 1/16 above.
        for (rtt, more) in [(100, 0.125), (112, 0.125), (113, 0.0625)] {
            let mut window = avoiding(16.0);
            law.on_ack(&mut window, &ack(2000, rtt));
            assert_eq!(window.cwnd, 16.0 + more, "{rtt} ms");
        }
        // In slow start there is nothing to speed up.
        let mut window = Window { cwnd: 16.0, ssthresh: 32.0 };
        law.on_ack(&mut window, &ack(2000, 100));
        assert_eq!(window.cwnd, 17.0);
    }

    #[test]
    fn thresholds_outside_their_domain_are_refused() {
        let cut = |threshold| GammaParams { gamma: Some(Cut { threshold, variant: CutRule::Knee }), ..WITH_GAMMA };
        let boost = |threshold, increase| GammaParams { delta: Some(Boost { threshold, increase }), ..WITH_GAMMA };
        for (params, key) in [
            (cut(0.0), "gamma.threshold"),
            (cut(1.1), "gamma.threshold"),
            (boost(1.0, 2.0), "delta.threshold"),
            (boost(-0.1, 2.0), "delta.threshold"),
            (boost(0.1, 0.0), "delta.increase"),
        ] {
            assert_eq!(Gamma::set_up(params).unwrap_err().key, key);
        }
    }
}
