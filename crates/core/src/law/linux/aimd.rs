// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP(α, β) with γ and δ as a congestion control of Linux: what `lasthop-agent cc` puts into a kernel (bpf/cc.bpf.c).

use super::{segments, slow_start, whole_segments};
use crate::error::{ParameterError, ensure};
use crate::law::aimd::{Aimd, MOST_INCREASE, equations};
use crate::law::gamma::{GammaParams, Watch};
use crate::parameter::Parameter;
use crate::role::{AckSample, SenderLaw, Window};
use crate::units::{Duration, Instant};

/// The least number that the programs count with, and their step.
pub const LEAST: f64 = 1.0 / 65_536.0;

/// Refuses what the programs cannot count with: they have α, β, the threshold of γ and the increase of δ in steps of [`LEAST`].
///
/// # Errors
/// The key, its value and what is wanted.
pub fn ensure_counted(params: &GammaParams) -> Result<(), ParameterError> {
    for (key, value, most) in [
        ("alpha", params.alpha, MOST_INCREASE),
        ("beta", Some(params.beta), 1.0 - LEAST),
        ("gamma.threshold", params.gamma.map(|cut| cut.threshold), 1.0),
        ("delta.increase", params.delta.map(|delta| delta.increase), MOST_INCREASE),
    ] {
        let Some(value) = value else { continue };
        let shown = if value < LEAST { format!("{value:e}") } else { value.to_string() };
        ensure((LEAST..=most).contains(&value), key, shown, format_args!("from {LEAST:.7} to {most} in the kernel"))?;
    }
    Ok(())
}

/// The law over a window of whole segments. What of a segment it has beside them is the law's own and counts in its
/// equations, but nothing is sent for it.
#[derive(Clone, Debug)]
pub struct LinuxAimd {
    alpha: f64,
    aimd: Aimd,
    watch: Watch,
    part: f64,
    /// The last acknowledgement with a round-trip time of its own, and that time.
    timed: Option<(Instant, Duration)>,
}

impl LinuxAimd {
    fn window(&self, cwnd: f64) -> f64 {
        f64::from(segments(cwnd)) + self.part
    }

    fn set_window(&mut self, window: &mut Window, wanted: f64) {
        let whole = f64::from(segments(wanted).max(1));
        self.part = (wanted - whole).max(0.0);
        window.cwnd = whole;
    }

    fn note_loss(&mut self) {
        self.watch.note_loss();
        self.part = 0.0;
    }
}

impl SenderLaw for LinuxAimd {
    type Params = GammaParams;

    const TRACKS_SEGMENTS: bool = true;

    fn set_up(params: GammaParams) -> Result<Self, ParameterError> {
        params.validate()?;
        ensure_counted(&params)?;
        let aimd = params.aimd();
        let watch = Watch::new(&params);
        Ok(Self { alpha: aimd.alpha, aimd: Aimd::set_up(aimd)?, watch, part: 0.0, timed: None })
    }

    /// pkts_acked.
    fn observe(&mut self, _window: &mut Window, ack: &AckSample) {
        self.watch.learn(ack);
        self.timed = Some((ack.now, ack.rtt));
    }

    /// cong_avoid.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let timed = self.timed.filter(|(at, _)| *at == ack.now).map(|(_, rtt)| AckSample { rtt, ..*ack });
        let before = self.window(window.cwnd);
        if let Some(share) = timed.and_then(|ack| self.watch.cut(&ack, before)) {
            let wanted = before * share;
            self.set_window(window, wanted);
            // Slow start would take it back at once.
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
        let acked = slow_start(window, whole_segments(ack.acked));
        if acked > 0 {
            let boost = timed.and_then(|ack| self.watch.boost(&ack, window));
            let before = self.window(window.cwnd);
            let each = equations::increase(boost.unwrap_or(self.alpha), before, 1.0) - before;
            self.set_window(window, before + f64::from(acked) * each);
        }
    }

    fn on_loss(&mut self, window: &Window, _flight: f64) -> f64 {
        self.note_loss();
        self.aimd.on_loss(window, window.cwnd).floor()
    }

    fn on_timeout(&mut self, window: &Window, _flight: f64) -> f64 {
        self.note_loss();
        self.aimd.on_timeout(window, window.cwnd).floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::gamma::{Arming, Boost, Cut, CutRule};

    fn ack(at_ms: u64, acked: f64, rtt_ms: u64) -> AckSample {
        let now = Instant::ZERO + Duration::from_millis(at_ms);
        AckSample { now, acked, flight: 0.0, rtt: Duration::from_millis(rtt_ms), srtt_s: 0.0 }
    }

    fn hear(law: &mut LinuxAimd, window: &mut Window, ack: &AckSample) {
        law.observe(window, ack);
        law.on_ack(window, ack);
    }

    const PLAIN: GammaParams = GammaParams { alpha: Some(0.25), beta: 0.875, ..DEFAULT };
    const DEFAULT: GammaParams = GammaParams {
        alpha: None,
        beta: 0.5,
        after_timeout: crate::law::aimd::AfterTimeout::Half,
        gamma: None,
        delta: None,
        arming: Arming::AfterLoss,
    };

    #[test]
    fn what_the_programs_cannot_count_with_is_refused() {
        let refused = |params| LinuxAimd::set_up(params).unwrap_err().to_string();
        assert_eq!(
            refused(GammaParams { alpha: Some(1e-9), ..DEFAULT }),
            "alpha = 1e-9: wanted from 0.0000153 to 256 in the kernel"
        );
        assert!(
            refused(GammaParams { beta: 0.999_999, ..DEFAULT }).starts_with("beta = 0.999999: wanted from 0.0000153")
        );
        let cut = Cut { threshold: 1e-6, variant: CutRule::Knee };
        assert!(refused(GammaParams { gamma: Some(cut), ..DEFAULT }).starts_with("gamma.threshold = 1e-6"));
        let boost = Boost { threshold: 0.1, increase: 1e-6 };
        assert!(refused(GammaParams { delta: Some(boost), ..DEFAULT }).starts_with("delta.increase = 1e-6"));
        assert!(LinuxAimd::set_up(GammaParams { alpha: Some(LEAST), ..DEFAULT }).is_ok());
    }

    #[test]
    fn each_segment_counts_and_the_window_is_whole() {
        let mut law = LinuxAimd::set_up(PLAIN).unwrap();
        let mut window = Window { cwnd: 8.0, ssthresh: 2.0 };
        // 16 segments in one ACK: 16·0.25/8 is half a segment, and so is the next, of 16·0.25/8.5.
        hear(&mut law, &mut window, &ack(100, 16.0, 100));
        assert_eq!((window.cwnd, law.part), (8.0, 0.5));
        hear(&mut law, &mut window, &ack(200, 16.0, 100));
        assert_eq!(window.cwnd, 8.0);
        assert!((law.part - (0.5 + 4.0 / 8.5)).abs() < 1e-12);
        hear(&mut law, &mut window, &ack(300, 16.0, 100));
        assert_eq!(window.cwnd, 9.0);
    }

    #[test]
    fn a_loss_leaves_half_at_first_and_beta_later_of_the_whole_window() {
        let mut law = LinuxAimd::set_up(PLAIN).unwrap();
        let window = Window { cwnd: 17.0, ssthresh: 2.0 };
        // ½ of 17 is 8.5, ⅞ of it 14.875, whatever is in flight.
        assert_eq!([law.on_loss(&window, 3.0), law.on_loss(&window, 3.0)], [8.0, 14.0]);
        assert_eq!(law.on_timeout(&window, 3.0), 8.0);
    }

    #[test]
    fn gamma_cuts_a_round_trip_later_by_times_of_segments_sent_once() {
        let cut = Some(Cut { threshold: 0.5, variant: CutRule::Knee });
        let mut law = LinuxAimd::set_up(GammaParams { gamma: cut, arming: Arming::RunningMaximum, ..DEFAULT }).unwrap();
        let mut window = Window { cwnd: 30.0, ssthresh: 2.0 };
        hear(&mut law, &mut window, &ack(1000, 1.0, 100));
        // 200 ms is the greatest: it is passed at once, and the window is due at 1300.
        hear(&mut law, &mut window, &ack(1100, 1.0, 200));
        // One that has no time of its own does nothing.
        law.on_ack(&mut window, &ack(1310, 1.0, 200));
        assert!(window.cwnd >= 30.0);
        window.cwnd = 30.0;
        law.part = 0.0;
        // Two thirds are 20, and the ACK adds a twentieth.
        hear(&mut law, &mut window, &ack(1320, 1.0, 200));
        assert_eq!((window.cwnd, window.ssthresh), (20.0, 2.0));
        assert!((law.part - 0.05).abs() < 1e-12, "{}", law.part);
    }

    #[test]
    fn delta_rules_where_the_queue_is_short() {
        let delta = Some(Boost { threshold: 0.125, increase: 2.0 });
        let params = GammaParams { delta, arming: Arming::RunningMaximum, ..DEFAULT };
        let mut law = LinuxAimd::set_up(params).unwrap();
        let mut window = Window { cwnd: 16.0, ssthresh: 2.0 };
        law.observe(&mut window, &ack(1000, 1.0, 200));
        hear(&mut law, &mut window, &ack(1100, 1.0, 100));
        assert_eq!(law.part, 0.125);
        law.part = 0.0;
        hear(&mut law, &mut window, &ack(1200, 1.0, 113));
        assert_eq!(law.part, 0.0625);
    }
}
