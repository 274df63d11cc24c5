// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender and its law speak of: the window, an acknowledgement, what the routers say.

use crate::packet::Signal;
use crate::units::{Duration, Instant};

/// The congestion window of a sender, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold: below it the window is in slow start.
    pub ssthresh: f64,
}

impl Window {
    /// Whether the window grows by slow start (RFC 5681 §3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start, one acknowledgement: by what it acknowledges, one segment at most (RFC 5681 eq. 2).
    #[inline]
    pub fn slow_start(&mut self, acked: f64) {
        self.cwnd += acked.min(1.0);
    }

    /// One acknowledgement: slow start, or else what `avoidance` makes of cwnd.
    #[inline]
    pub fn grow(&mut self, acked: f64, avoidance: impl FnOnce(f64) -> f64) {
        if self.in_slow_start() {
            self.slow_start(acked);
        } else {
            self.cwnd = avoidance(self.cwnd);
        }
    }
}

/// What a sender's law is told of an acknowledgement of new data outside loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When the acknowledgement came.
    pub now: Instant,
    /// Segments that it acknowledges.
    pub acked: f64,
    /// Segments that were outstanding when it came.
    pub flight: f64,
    /// Round-trip time of the segment that caused it.
    pub rtt: Duration,
    /// Smoothed round-trip time \[s\] (RFC 6298's SRTT); 0 before the first measurement.
    pub srtt_s: f64,
}

impl AckSample {
    /// When the segment that caused the acknowledgement left.
    #[inline]
    pub fn sent(&self) -> Instant {
        Instant::from_nanos(self.now.as_nanos().saturating_sub(self.rtt.as_nanos()))
    }
}

/// What an acknowledgement brings from the routers of the path.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedbackSample {
    /// When the acknowledgement came.
    pub now: Instant,
    /// What they said.
    pub signal: Signal,
    /// Whether it acknowledges nothing new.
    pub is_duplicate: bool,
    /// Segments that it acknowledges, 0 in a duplicate.
    pub acked: f64,
    /// Payload of a full segment \[B\].
    pub mss_bytes: f64,
    /// Whether it comes in fast recovery.
    pub in_recovery: bool,
    /// Round-trip time of the segment that caused it \[s\].
    pub rtt_s: f64,
    /// Length of the sender's segments on the wire \[B\]: routers speak of bytes.
    pub wire_bytes: f64,
}
