// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender and a receiver count in the measured span.

use crate::stats::{LogHistogram, Span};
use crate::units::{Bytes, Duration, Instant};

/// What a sender counts. Everything but `finished` is of the measured span.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Round-trip times, one of each acknowledgement: from when the segment that caused it was sent.
    pub rtt: LogHistogram,
    /// Payload of the segments. (Not beside their number: the compiler would add both at once, by way of registers that
    /// cost more.)
    pub payload: Bytes,
    /// Segments that repeat payload.
    pub retransmits: u64,
    /// The payload repeated.
    pub repeated: Bytes,
    /// Time-outs of the retransmission timer, SYNs included.
    pub timeouts: u64,
    /// Fast retransmits: recoveries started by duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// Segments sent to probe a closed window.
    pub window_probes: u64,
    /// Duplicate acknowledgements that came.
    pub duplicate_acks: u64,
    /// When the last byte written was acknowledged; none while some is not.
    pub finished: Option<Instant>,
}

/// Congestion and advertised window over time. Both are set together and weighed by the time they stand.
#[derive(Clone, Debug)]
pub(super) struct WindowAverages {
    since: Instant,
    until: Instant,
    cwnd: u32,
    awnd: u32,
    cwnd_area: f64,
    awnd_area: f64,
    awnd_below: Duration,
    time: Duration,
}

/// Means over the part of the measured span that lies before some instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowMeans {
    /// Mean congestion window \[B\], without what fast recovery inflates it by.
    pub cwnd: f64,
    /// Mean advertised window \[B\].
    pub awnd: f64,
    /// Share of the time in which the advertised window was below the congestion window.
    pub awnd_limited: f64,
}

impl SenderStats {
    /// Payload sent for the first time.
    pub fn original(&self) -> Bytes {
        self.payload - self.repeated
    }
}

impl WindowAverages {
    pub(super) fn new(span: Span) -> Self {
        Self {
            since: span.from,
            until: span.until,
            cwnd: 0,
            awnd: 0,
            cwnd_area: 0.0,
            awnd_area: 0.0,
            awnd_below: Duration::ZERO,
            time: Duration::ZERO,
        }
    }

    /// The connection is there from `now` on; time before is left out.
    pub(super) fn begin(&mut self, now: Instant) {
        self.since = self.since.max(now);
    }

    /// The connection is done at `now`; time after is left out.
    pub(super) fn end(&mut self, now: Instant) {
        self.until = self.until.min(now);
    }

    /// The windows are these from `now` on, in bytes.
    #[inline(always)]
    pub(super) fn set(&mut self, now: Instant, cwnd: u32, awnd: u32) {
        let until = now.min(self.until);
        if until > self.since {
            let time = until.saturating_since(self.since);
            // It fits 63 bits, and a conversion with a sign is the cheaper one.
            let weight = time.as_nanos() as i64 as f64;
            self.cwnd_area += f64::from(self.cwnd) * weight;
            self.awnd_area += f64::from(self.awnd) * weight;
            self.time += time;
            if self.awnd < self.cwnd {
                self.awnd_below += time;
            }
            self.since = until;
        }
        self.cwnd = cwnd;
        self.awnd = awnd;
    }

    /// The means up to `now`; none if the measured span has not begun.
    pub(super) fn means(&self, now: Instant) -> Option<WindowMeans> {
        let mut closed = self.clone();
        closed.set(now, self.cwnd, self.awnd);
        let time = closed.time.as_nanos() as f64;
        (time > 0.0).then(|| WindowMeans {
            cwnd: closed.cwnd_area / time,
            awnd: closed.awnd_area / time,
            awnd_limited: closed.awnd_below.as_nanos() as f64 / time,
        })
    }
}

/// What a receiver counts in the measured span.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct ReceiverStats {
    /// Payload delivered in order to the application.
    pub delivered: Bytes,
    /// Data packets that came.
    pub packets: u64,
    /// Data packets that brought nothing new.
    pub duplicates: u64,
    /// Data packets that came before earlier data.
    pub out_of_order: u64,
    /// Data packets refused because they lay beyond the advertised window.
    pub refused: u64,
    /// Payload delivered in each full interval of the measured span, where intervals are sampled \[B\].
    pub samples: Vec<u64>,
}
