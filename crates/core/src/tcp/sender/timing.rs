// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a sender measures round-trip times.

use super::{Sender, State};
use crate::packet::{Ack, SackBlocks};
use crate::tcp::{Recovery, RttEstimator, SenderConfig};
use crate::units::Duration;

/// What is measured of round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RttSource {
    /// One segment at a time.
    Segment,
    /// Each acknowledgement, by its timestamp.
    Timestamps,
    /// Each acknowledgement, by the times of the segments.
    Tracking,
    /// As ns-2 measures each acknowledgement.
    Ns2,
    /// As ns-2 measures one segment at a time: not by what ends a part of a recovery.
    Ns2Segment,
}

impl RttSource {
    pub(super) fn of(config: &SenderConfig) -> Self {
        match (config.tracks_segments(), config.timestamps) {
            (true, _) => Self::Tracking,
            (false, true) if config.rtt_estimator == RttEstimator::Ns2 => Self::Ns2,
            (false, false) if config.rtt_estimator == RttEstimator::Ns2 => Self::Ns2Segment,
            (false, true) => Self::Timestamps,
            (false, false) => Self::Segment,
        }
    }
}

impl Sender {
    /// The short way is without a jump through a table: most senders time one segment, those of ns-2 where nothing is recovered.
    #[inline(always)]
    pub(super) fn measure_rtt(&mut self, ack: u64, rtt: Duration, flight: u64, heard: &Ack<&SackBlocks>) -> Duration {
        if self.clock != RttSource::Segment && (self.clock != RttSource::Ns2Segment || self.state == State::Recovery) {
            return self.measure_each_rtt(ack, rtt, flight, &{ *heard });
        }
        self.time_segment(ack);
        rtt
    }

    #[inline(never)]
    fn measure_each_rtt(&mut self, ack: u64, rtt: Duration, flight: u64, heard: &Ack<&SackBlocks>) -> Duration {
        match self.clock {
            RttSource::Segment => self.time_segment(ack),
            RttSource::Timestamps if self.config.echo_ends_back_off => self.weigh_rtt(rtt, flight),
            RttSource::Timestamps => self.weigh_rtt_backed_off(ack, rtt, 1.0 / self.samples(flight)),
            RttSource::Ns2 | RttSource::Ns2Segment => self.measure_as_ns2(ack, rtt),
            RttSource::Tracking => return self.track_ack(ack, rtt, flight, heard),
        }
        rtt
    }

    #[inline]
    pub(super) fn weigh_rtt(&mut self, rtt: Duration, flight: u64) {
        self.rto.weighted_sample(rtt, 1.0 / self.samples(flight));
    }

    /// RFC 7323 appendix G: a flight is acknowledged by half as many acknowledgements as it has segments.
    #[inline]
    fn samples(&self, flight: u64) -> f64 {
        flight.div_ceil(2 * self.mss()).max(1) as f64
    }

    /// The same, where a back-off stays until the segment is acknowledged that would be timed without timestamps.
    fn weigh_rtt_backed_off(&mut self, ack: u64, rtt: Duration, share: f64) {
        let times = self.rto.backed_off();
        self.rto.weighted_sample(rtt, share);
        if ack >= self.timed_end {
            self.stop_timing();
        } else {
            self.rto.keep_back_off(times);
        }
    }

    /// By [`RttEstimator::Ns2`].
    fn measure_as_ns2(&mut self, ack: u64, rtt: Duration) {
        let is_partial = self.state == State::Recovery
            && self.config.recovery != Recovery::Reno
            && self.recover.is_some_and(|recover| ack < recover);
        match (is_partial, self.config.timestamps, self.config.echo_ends_back_off) {
            (true, ..) => {}
            (false, true, true) => self.rto.weighted_sample(rtt, 1.0),
            (false, true, false) => self.weigh_rtt_backed_off(ack, rtt, 1.0),
            (false, false, _) => self.time_segment(ack),
        }
    }

    #[inline(always)]
    pub(super) fn time_segment(&mut self, ack: u64) {
        if ack >= self.timed_end {
            self.end_timing();
        }
    }

    /// Once a round trip.
    #[inline(never)]
    fn end_timing(&mut self) {
        self.rto.sample(self.timed_at, self.now);
        self.timed_end = u64::MAX;
    }

    /// Karn's rule: no measurement from what may have been retransmitted (RFC 6298 §3).
    pub(super) fn stop_timing(&mut self) {
        self.timed_end = u64::MAX;
    }
}
