// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender remembers of its segments, for rules that go by when each of them was sent.

use std::collections::VecDeque;

use super::pacing::Pace;
use super::pieces::Piece;
use super::reduction::Reduction;
use super::reordering::Reordering;
use super::undo::Undo;
use crate::units::{Duration, Instant};

/// The memory of a sender that has such rules.
#[derive(Debug, Default)]
pub(super) struct Tracking {
    /// End of each segment that is not acknowledged and when it was sent first, in order.
    times: VecDeque<(u64, Instant)>,
    /// One past the highest byte that was sent, and that was sent more than once.
    highest: u64,
    repeated: u64,
    /// Bytes that have arrived: acknowledged or SACKed; after the last acknowledgement and before it.
    pub(super) delivered: u64,
    pub(super) delivered_before: u64,
    /// Whether the last acknowledgement was one of new data.
    pub(super) advanced: bool,
    /// The round trip of Linux's estimator ends with an acknowledgement above this byte.
    pub(super) rtt_round: u64,
    /// Least round-trip time; none before the first measurement.
    pub(super) min_rtt: Option<Duration>,
    /// Round-trip time of what was sent last of all that has arrived (Linux: rack.rtt_us); 0 before the first measurement.
    pub(super) latest_rtt: Duration,
    pub(super) reordering: Reordering,
    /// What has not arrived below these bytes is lost at these times.
    pub(super) suspects: VecDeque<(u64, Instant)>,
    pub(super) reduction: Reduction,
    pub(super) piece: Piece,
    pub(super) pace: Pace,
    pub(super) usage: Usage,
    pub(super) probe: TailProbe,
    pub(super) undo: Undo,
    /// When the retransmission timer goes off, and what the sender's one timer is set to.
    pub(super) rto_at: Instant,
    pub(super) armed: Instant,
}

/// When the segments that an acknowledgement acknowledges were sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    pub(super) first: Instant,
    pub(super) last: Instant,
    /// Whether any of them was sent more than once.
    pub(super) is_ambiguous: bool,
}

/// Whether the window is what limits the sender (Linux: tcp_cwnd_validate).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) is_limited: bool,
    /// Most that was outstanding in the round trip that ends with this byte \[B\].
    pub(super) most_out: u64,
    round: u64,
    /// Whether anything was sent since the sender last came to rest.
    has_sent: bool,
}

/// The tail loss probe (RFC 8985 §7).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    /// When one is due; none: never.
    pub(super) at: Option<Instant>,
    /// First byte not acknowledged and one past the highest sent when it was last set.
    pub(super) set_for: (u64, u64),
    /// One past the highest byte when the last was sent, when that was, and whether it repeated a segment.
    pub(super) outstanding: Option<(u64, Instant, bool)>,
}

impl Tracking {
    pub(super) fn new() -> Self {
        Self { rto_at: Instant::MAX, armed: Instant::MAX, ..Self::default() }
    }

    /// Bytes `start..end` were sent.
    pub(super) fn sent(&mut self, start: u64, end: u64, now: Instant) {
        self.usage.has_sent = true;
        if start < self.highest {
            self.repeated = self.repeated.max(end);
            if self.probe.outstanding != Some((end, now, true)) {
                self.undo.repeated(now);
            }
        }
        if end > self.highest {
            self.highest = end;
            self.times.push_back((end, now));
        }
    }

    /// All before `ack` is acknowledged; none if no segment ends there.
    pub(super) fn acknowledge(&mut self, ack: u64) -> Option<Acknowledged> {
        let mut known: Option<Acknowledged> = None;
        while let Some(&(end, at)) = self.times.front()
            && end <= ack
        {
            self.times.pop_front();
            let is_ambiguous = end <= self.repeated;
            known = Some(match known {
                None => Acknowledged { first: at, last: at, is_ambiguous },
                Some(so_far) => Acknowledged { last: at, is_ambiguous: so_far.is_ambiguous || is_ambiguous, ..so_far },
            });
        }
        known
    }

    /// When the first segment was sent first that is not acknowledged; none: all are.
    pub(super) fn first_sent(&self) -> Option<Instant> {
        self.times.front().map(|&(_, at)| at)
    }

    /// When the segment was sent that ends there; none if that was more than once, or not at all.
    pub(super) fn sent_once(&self, end: u64) -> Option<Instant> {
        let place = self.times.partition_point(|&(known, _)| known < end);
        self.times.get(place).filter(|_| end > self.repeated).map(|&(_, at)| at)
    }

    /// One past the last byte that was sent first before `at`; 0: none was.
    pub(super) fn sent_before(&self, at: Instant) -> u64 {
        match self.times.partition_point(|&(_, sent)| sent < at) {
            0 => 0,
            count => self.times[count - 1].0,
        }
    }

    /// The round-trip time of a segment that was sent once.
    pub(super) fn measured(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }
}

impl Usage {
    /// The sender has come to rest: all that the windows allow is sent, `out` bytes of `una..nxt` are outstanding, and the
    /// window is full or not.
    pub(super) fn rest(&mut self, (una, nxt): (u64, u64), is_full: bool) {
        let has_sent = std::mem::take(&mut self.has_sent);
        let out = nxt.saturating_sub(una);
        if (has_sent || is_full) && (una >= self.round || is_full || (!self.is_limited && out > self.most_out)) {
            self.is_limited = is_full;
            self.most_out = out;
            self.round = nxt;
        }
    }
}
