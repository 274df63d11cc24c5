// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's CUBIC (tcp_cubic.c).

use super::hystart::Hystart;
use super::{Growth, equations, segments, slow_start, whole_segments};
use crate::error::ParameterError;
use crate::parameter::Parameter;
use crate::parameters;
use crate::role::{AckSample, SenderLaw, Window};
use crate::units::{Duration, Instant};

/// Segments acknowledged for each by which the window grows, at least: half as much again in a round trip.
const LEAST_COUNT: u32 = 2;
/// The same at most as long as nothing was lost: 5 % in a round trip.
const COUNT_BEFORE_LOSS: u32 = 20;
/// For so long after the beginning of congestion avoidance delays tell nothing.
const SETTLING: Duration = Duration::from_secs(1);

parameters! {
    /// The law's numbers; [`Default`] is the module's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct LinuxCubicParams {
        /// Make room for new flows: a flow that loses before it is back at its last maximum aims lower (fast_convergence).
        pub fast_convergence: bool = true;
        /// Keep up with the window that Reno would have (tcp_friendliness).
        pub reno_friendly: bool = true;
        /// Leave slow start when acknowledgements come in a long train, or late (hystart).
        pub hystart: bool = true;
        /// The kernel's tick, 1 ms to 10 ms: 4 ms with CONFIG_HZ=250.
        pub tick: Duration = Duration::from_millis(4), in Duration::from_millis(1)..=Duration::from_millis(10);
    }
}

/// CUBIC, windows in segments, times in ticks.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    params: LinuxCubicParams,
    tick_ns: u64,
    growth: Growth,
    hystart: Hystart,
    /// Whether HyStart has ended a slow start.
    found: bool,
    /// Least round-trip time so far.
    delay_min: Option<Duration>,
    /// The window just before the last loss, or less by fast convergence; 0: no loss yet.
    last_max: u32,
    /// One segment more for so many acknowledged.
    count: u32,
    last_cwnd: u32,
    last_tick: u64,
    epoch: Option<LinuxEpoch>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct LinuxEpoch {
    start: u64,
    /// Time to the plateau (K) \[2^−10 s\].
    k: u64,
    /// Where the cubic has its plateau.
    origin: u32,
    /// The window that Reno would have, and what was acknowledged since it last grew.
    reno: u32,
    acked: u32,
}

impl LinuxCubic {
    #[inline]
    fn tick(&self, now: Instant) -> u64 {
        now.as_nanos() / self.tick_ns
    }

    /// For how many acknowledged segments the window grows by one (bictcp_update).
    fn update(&mut self, cwnd: u32, acked: u32, tick: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        let pause = 1_000_000_000 / self.tick_ns / 32;
        if self.last_cwnd == cwnd && tick.saturating_sub(self.last_tick) <= pause {
            return;
        }
        let mut epoch = match self.epoch {
            // At most once a tick.
            Some(epoch) if tick == self.last_tick => epoch,
            known => {
                self.last_cwnd = cwnd;
                self.last_tick = tick;
                let epoch = known.unwrap_or_else(|| self.begin(cwnd, acked, tick));
                self.count = self.cubic_count(&epoch, cwnd, tick);
                epoch
            }
        };
        if self.params.reno_friendly {
            let step = equations::reno_count(cwnd);
            while epoch.acked > step {
                epoch.acked -= step;
                epoch.reno += 1;
            }
            if epoch.reno > cwnd {
                self.count = self.count.min(cwnd / (epoch.reno - cwnd));
            }
        }
        self.count = self.count.max(LEAST_COUNT);
        self.epoch = Some(epoch);
    }

    #[cold]
    fn begin(&self, cwnd: u32, acked: u32, tick: u64) -> LinuxEpoch {
        let (k, origin) =
            if self.last_max <= cwnd { (0, cwnd) } else { (equations::k(self.last_max - cwnd), self.last_max) };
        LinuxEpoch { start: tick, k, origin, reno: cwnd, acked }
    }

    /// By the cubic alone, a round trip ahead.
    fn cubic_count(&self, epoch: &LinuxEpoch, cwnd: u32, tick: u64) -> u32 {
        let ahead = self.delay_min.map_or(0, |delay| delay.as_nanos().div_ceil(self.tick_ns));
        let ticks = tick.saturating_sub(epoch.start) + ahead;
        let t = ((ticks << equations::TIME_BITS) * self.tick_ns) / 1_000_000_000;
        let count = equations::count(cwnd, equations::w_cubic(t, epoch.k, epoch.origin));
        if self.last_max == 0 { count.min(COUNT_BEFORE_LOSS) } else { count }
    }
}

impl SenderLaw for LinuxCubic {
    type Params = LinuxCubicParams;

    const TRACKS_SEGMENTS: bool = true;

    fn set_up(params: LinuxCubicParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self {
            params,
            tick_ns: params.tick.as_nanos(),
            growth: Growth::default(),
            hystart: Hystart::new(),
            found: false,
            delay_min: None,
            last_max: 0,
            count: 0,
            last_cwnd: 0,
            last_tick: 0,
            epoch: None,
        })
    }

    /// cubictcp_acked.
    fn observe(&mut self, window: &mut Window, ack: &AckSample) {
        if let Some(epoch) = self.epoch
            && self.tick(ack.now).saturating_sub(epoch.start) * self.tick_ns < SETTLING.as_nanos()
        {
            return;
        }
        let floor = self.delay_min.map_or(ack.rtt, |least| least.min(ack.rtt));
        self.delay_min = Some(floor);
        if self.params.hystart && !self.found && window.in_slow_start() {
            let cwnd = segments(window.cwnd);
            self.found = self.hystart.on_ack(ack.now, ack.sent(), ack.rtt, cwnd, floor);
            if self.found {
                window.ssthresh = f64::from(cwnd);
            }
        }
    }

    /// cubictcp_cong_avoid.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let acked = slow_start(window, whole_segments(ack.acked));
        if acked > 0 {
            let cwnd = segments(window.cwnd);
            self.update(cwnd, acked, self.tick(ack.now));
            window.cwnd = f64::from(self.growth.grow(cwnd, self.count, acked));
        }
    }

    /// cubictcp_recalc_ssthresh.
    fn on_loss(&mut self, window: &Window, _flight: f64) -> f64 {
        let cwnd = segments(window.cwnd);
        let converge = self.params.fast_convergence && cwnd < self.last_max;
        self.last_max = if converge { equations::converged_w_max(cwnd) } else { cwnd };
        self.epoch = None;
        self.growth.acked = 0;
        f64::from(equations::decrease(cwnd))
    }

    /// The law begins anew.
    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        let ssthresh = self.on_loss(window, flight);
        self.found = false;
        self.delay_min = None;
        self.last_max = 0;
        self.count = 0;
        self.last_cwnd = 0;
        self.last_tick = 0;
        self.hystart = Hystart::new();
        ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(at_ms: u64, acked: f64, rtt_ms: u64) -> AckSample {
        let now = Instant::ZERO + Duration::from_millis(at_ms);
        AckSample { now, acked, flight: 0.0, rtt: Duration::from_millis(rtt_ms), srtt_s: 0.0 }
    }

    fn at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 2.0 }
    }

    fn law(params: LinuxCubicParams) -> LinuxCubic {
        LinuxCubic::set_up(params).unwrap()
    }

    /// For how many segments the window of `cwnd` grows by one, at 10 s + `after_ms` into an epoch that began with 70
    /// after a loss at 100.
    fn count_after(params: LinuxCubicParams, cwnd: f64, after_ms: u64) -> u32 {
        let mut law = law(params);
        assert_eq!(law.on_loss(&at(100.0), 0.0), 70.0);
        let mut window = Window { cwnd: 70.0, ssthresh: 70.0 };
        law.on_ack(&mut window, &ack(10_000, 1.0, 0));
        window.cwnd = cwnd;
        law.on_ack(&mut window, &ack(10_000 + after_ms, 1.0, 0));
        law.count
    }

    #[test]
    fn the_window_is_back_at_its_maximum_after_k() {
        // K = ∛(30/0.4) = 4.217 s. On the plateau: 100 windows for a segment. 3 s past it: 0.4·27 = 10.8, so that at 100
        // the window is to grow by 10, for 100/10 each; 10 s past it by far more than the half that it may.
        let alone = LinuxCubicParams { reno_friendly: false, ..LinuxCubicParams::default() };
        assert_eq!(count_after(alone, 100.0, 4216), 10_000);
        assert_eq!(count_after(alone, 100.0, 7216), 10);
        assert_eq!(count_after(alone, 100.0, 14_216), LEAST_COUNT);
        // One second before: 100 − 0.4 = 99.6, with the fraction rounded off 100: at 90 it grows by 10.
        assert_eq!(count_after(alone, 90.0, 3216), 9);
    }

    #[test]
    fn the_target_is_the_least_round_trip_time_ahead() {
        // 3 s before the plateau the cubic is at 100 − 10.8, in whole segments 90; 3 s ahead at 100: at 80 it grows by 10
        // or by 20.
        let alone = LinuxCubicParams { reno_friendly: false, ..LinuxCubicParams::default() };
        let count = |rtt_ms| {
            let mut law = law(alone);
            let mut window = Window { cwnd: 70.0, ssthresh: 70.0 };
            law.observe(&mut window, &ack(9000, 1.0, rtt_ms));
            law.on_loss(&at(100.0), 0.0);
            law.on_ack(&mut window, &ack(10_000, 1.0, rtt_ms));
            window.cwnd = 80.0;
            law.on_ack(&mut window, &ack(11_216, 1.0, rtt_ms));
            law.count
        };
        assert_eq!((count(1), count(3000)), (8, 4));
    }

    #[test]
    fn the_window_keeps_up_with_renos() {
        // Reno gains a segment for 15/8 windows: 1000 segments later 70·15/8 = 131 each, seven more: a window
        // of 70 grows by one for ten. The cubic alone: it is at 100 − 29.3, taken for 71: by one for 70.
        for (reno_friendly, count) in [(true, 10), (false, 70)] {
            let mut law = law(LinuxCubicParams { reno_friendly, ..LinuxCubicParams::default() });
            law.on_loss(&at(100.0), 0.0);
            law.update(70, 1, 2500);
            law.update(70, 1000, 2508);
            assert_eq!(law.count, count);
        }
    }

    #[test]
    fn fast_convergence_makes_room() {
        // A loss at 90, below the last maximum of 100: 90·(1 + 0.7002)/2 = 76.
        for (fast_convergence, last_max) in [(true, 76), (false, 90)] {
            let mut law = law(LinuxCubicParams { fast_convergence, ..LinuxCubicParams::default() });
            law.on_loss(&at(100.0), 0.0);
            assert_eq!((law.on_loss(&at(90.0), 0.0), law.last_max), (63.0, last_max));
        }
    }

    #[test]
    fn before_any_loss_the_window_grows_by_a_twentieth() {
        let mut law = law(LinuxCubicParams::default());
        law.update(100, 1, 2500);
        assert_eq!(law.count, COUNT_BEFORE_LOSS);
    }

    #[test]
    fn hystart_sets_the_threshold_once() {
        // A train of 1 ms with a least delay of 40 ms: with the 21st after the first, and 21 segments more. Without it the
        // window doubles on.
        for (hystart, ssthresh) in [(true, 51.0), (false, f64::INFINITY)] {
            let mut law = law(LinuxCubicParams { hystart, ..LinuxCubicParams::default() });
            let mut window = Window { cwnd: 30.0, ssthresh: f64::INFINITY };
            for n in 0..40 {
                let sample = ack(100 + n, 1.0, 40);
                law.observe(&mut window, &sample);
                law.on_ack(&mut window, &sample);
            }
            assert_eq!(window.ssthresh, ssthresh);
        }
    }

    #[test]
    fn a_tick_counts_whole() {
        // 7.216 s into it by ticks of 4 ms; by ticks of 10 ms it is 7.22 s from 10 s on, or 7.21 s.
        let alone =
            LinuxCubicParams { reno_friendly: false, tick: Duration::from_millis(10), ..LinuxCubicParams::default() };
        assert_eq!(count_after(alone, 100.0, 7219), count_after(alone, 100.0, 7210));
        assert!(LinuxCubic::set_up(LinuxCubicParams { tick: Duration::ZERO, ..alone }).is_err());
    }

    #[test]
    fn a_timeout_begins_anew() {
        let mut law = law(LinuxCubicParams::default());
        law.on_loss(&at(100.0), 0.0);
        assert_eq!((law.on_timeout(&at(60.0), 0.0), law.last_max), (42.0, 0));
    }
}
