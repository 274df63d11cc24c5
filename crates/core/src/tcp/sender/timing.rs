// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a sender measures round-trip times.

use super::Sender;
use crate::packet::Ack;
use crate::tcp::SenderConfig;
use crate::units::Duration;

/// What is measured of round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// One segment at a time.
    Segment,
    /// Each acknowledgement, by its timestamp.
    Timestamps,
    /// Each acknowledgement, by the times of the segments.
    Tracking,
}

impl Clock {
    pub(super) fn of(config: &SenderConfig) -> Self {
        match (config.tracks_segments(), config.timestamps) {
            (true, _) => Self::Tracking,
            (false, true) => Self::Timestamps,
            (false, false) => Self::Segment,
        }
    }
}

impl Sender {
    #[inline]
    pub(super) fn measure_rtt(&mut self, ack: u64, rtt: Duration, flight: u64, heard: &Ack) -> Duration {
        match self.clock {
            Clock::Segment => self.time_segment(ack),
            Clock::Timestamps => self.weigh_rtt(rtt, flight),
            Clock::Tracking => return self.track_ack(ack, rtt, flight, heard),
        }
        rtt
    }

    #[inline]
    pub(super) fn weigh_rtt(&mut self, rtt: Duration, flight: u64) {
        // RFC 7323 appendix G: a flight is acknowledged by half as many acknowledgements as it has segments.
        let samples = flight.div_ceil(2 * self.mss).max(1);
        self.rto.weighted_sample(rtt, 1.0 / samples as f64);
    }

    #[inline]
    pub(super) fn time_segment(&mut self, ack: u64) {
        if ack >= self.timed_end {
            self.rto.sample(self.now.saturating_since(self.timed_at));
            self.timed_end = u64::MAX;
        }
    }

    /// Karn's rule: no measurement from what may have been retransmitted (RFC 6298 §3).
    pub(super) fn stop_timing(&mut self) {
        self.timed_end = u64::MAX;
    }
}
