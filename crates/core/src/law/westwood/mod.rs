// SPDX-License-Identifier: MIT OR Apache-2.0
//! Westwood+ (Mascolo, Grieco et al. 2004): after a loss the window is what the path has been seen to carry.
//!
//! Once a round trip the acknowledged segments over the time are a sample of the bandwidth. The slow-start threshold
//! after a loss is the filtered bandwidth times the least round-trip time.

pub mod equations;

use crate::error::ParameterError;
use crate::estimator::Least;
use crate::law::aimd;
use crate::parameter::Parameter;
use crate::parameters;
use crate::role::{AckSample, SenderLaw, Window};
use crate::units::{Duration, Instant};

parameters! {
    /// The law's numbers; [`Default`] is the paper's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct WestwoodParams {
        /// Weight of the past in the filter of the bandwidth.
        pub filter: f64 = 0.9, in 0.0..1.0;
        /// Least time between two samples of the bandwidth.
        pub least_interval: Duration = Duration::from_millis(50), in ..=Duration::from_secs(10);
    }
}

/// Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    params: WestwoodParams,
    min_rtt_s: Least<f64>,
    /// Smoothed round-trip time \[s\], the length of a sample.
    srtt_s: f64,
    /// Filtered bandwidth \[segments/s\]; 0 before the first sample.
    bandwidth: f64,
    sample_start: Instant,
    /// Segments acknowledged in this sample.
    delivered: f64,
    /// Segments that duplicate acknowledgements have told of, and the cumulative one to come will tell of again.
    counted: f64,
}

impl Westwood {
    fn deliver(&mut self, now: Instant, segments: f64) {
        self.delivered += segments;
        let elapsed_s = now.saturating_since(self.sample_start).as_secs_f64();
        let interval_s = self.srtt_s.max(self.params.least_interval.as_secs_f64());
        if elapsed_s <= interval_s {
            return;
        }
        let filter = if self.bandwidth > 0.0 { self.params.filter } else { 0.0 };
        self.bandwidth = equations::bandwidth(self.bandwidth, self.delivered, elapsed_s, filter);
        self.sample_start = now;
        self.delivered = 0.0;
    }
}

impl SenderLaw for Westwood {
    type Params = WestwoodParams;

    fn set_up(params: WestwoodParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self {
            params,
            min_rtt_s: Least::new(f64::INFINITY),
            srtt_s: 0.0,
            bandwidth: 0.0,
            sample_start: Instant::ZERO,
            delivered: 0.0,
            counted: 0.0,
        })
    }

    /// Reno's growth.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        self.min_rtt_s.see(ack.rtt.as_secs_f64());
        self.srtt_s = ack.srtt_s;
        self.on_ack_in_recovery(ack.now, ack.acked);
        window.grow(ack.acked, |cwnd| aimd::equations::increase(1.0, cwnd, ack.acked));
    }

    fn on_ack_in_recovery(&mut self, now: Instant, acked: f64) {
        let new = (acked - self.counted).max(0.0);
        self.counted = (self.counted - acked).max(0.0);
        self.deliver(now, new);
    }

    fn on_duplicate(&mut self, now: Instant) {
        self.counted += 1.0;
        self.deliver(now, 1.0);
    }

    /// What the path holds without a queue, but never more than the window.
    fn on_loss(&mut self, window: &Window, _flight: f64) -> f64 {
        let min_rtt_s = self.min_rtt_s.value();
        let path = if min_rtt_s.is_finite() { equations::path(self.bandwidth, min_rtt_s) } else { 0.0 };
        path.min(window.cwnd)
    }

    /// What was counted twice is forgotten.
    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        self.counted = 0.0;
        self.on_loss(window, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { cwnd: 40.0, ssthresh: 2.0 };

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn ack(ms: u64, acked: f64) -> AckSample {
        AckSample { now: at(ms), acked, flight: 20.0, rtt: Duration::from_millis(100), srtt_s: 0.125 }
    }

    #[test]
    fn the_threshold_is_bandwidth_times_the_least_round_trip_time() {
        let mut law = Westwood::set_up(WestwoodParams::default()).unwrap();
        let mut window = WINDOW;
        // Nothing is sampled before a smoothed round trip is over: 20 in 200 ms, 100 segments/s, times 100 ms.
        law.on_ack(&mut window, &ack(125, 10.0));
        assert_eq!(law.on_loss(&WINDOW, 20.0), 0.0);
        law.on_ack(&mut window, &ack(200, 10.0));
        assert_eq!(law.on_loss(&WINDOW, 20.0), 10.0);
        // The next, 40 in 200 ms: 0.9·100 + 0.1·200 = 110.
        law.on_ack(&mut window, &ack(400, 40.0));
        assert!((law.on_loss(&WINDOW, 20.0) - 11.0).abs() < 1e-12);
        assert_eq!(law.on_loss(&Window { cwnd: 8.0, ssthresh: 2.0 }, 20.0), 8.0);
    }

    #[test]
    fn segments_are_counted_once_whoever_tells_of_them() {
        // Three duplicates tell of three segments; the acknowledgement of five then of two more.
        let mut law = Westwood::set_up(WestwoodParams { filter: 0.0, ..WestwoodParams::default() }).unwrap();
        law.on_ack(&mut WINDOW.clone(), &ack(200, 1.0));
        for ms in [210, 220, 230] {
            law.on_duplicate(at(ms));
        }
        law.on_ack_in_recovery(at(400), 5.0);
        assert!((law.bandwidth - 5.0 / 0.2).abs() < 1e-12);
        // After a time-out the next acknowledgement stands for itself.
        law.on_duplicate(at(410));
        law.on_timeout(&WINDOW, 20.0);
        law.on_ack_in_recovery(at(600), 2.0);
        assert!((law.bandwidth - 3.0 / 0.2).abs() < 1e-12);
    }

    #[test]
    fn samples_are_not_shorter_than_told() {
        let params = WestwoodParams { least_interval: Duration::from_millis(300), ..WestwoodParams::default() };
        let mut law = Westwood::set_up(params).unwrap();
        law.on_ack(&mut WINDOW.clone(), &ack(200, 1.0));
        assert_eq!(law.bandwidth, 0.0);
    }

    #[test]
    fn the_window_grows_as_renos() {
        let mut law = Westwood::set_up(WestwoodParams::default()).unwrap();
        let mut window = Window { cwnd: 8.0, ssthresh: 8.0 };
        law.on_ack(&mut window, &ack(0, 1.0));
        assert_eq!(window.cwnd, 8.125);
        window.ssthresh = 16.0;
        law.on_ack(&mut window, &ack(0, 1.0));
        assert_eq!(window.cwnd, 9.125);
    }

    #[test]
    fn what_is_no_westwood_is_refused() {
        let base = WestwoodParams::default();
        assert_eq!(Westwood::set_up(WestwoodParams { filter: 1.0, ..base }).unwrap_err().key, "filter");
        let long = WestwoodParams { least_interval: Duration::from_secs(11), ..base };
        assert_eq!(Westwood::set_up(long).unwrap_err().key, "least_interval");
    }
}
