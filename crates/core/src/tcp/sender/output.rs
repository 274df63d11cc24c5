// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender sends next.

use std::collections::VecDeque;

use super::timing::RttSource;
use super::{Sender, State, Urgent};
use crate::packet::Signal;
use crate::tcp::Segment;
use crate::units::{Bytes, Duration, Instant};

impl Sender {
    pub(super) fn poll_slowly(&mut self) -> Option<(Segment, Signal)> {
        let earlier = self.outbox.pop_front();
        if earlier.is_none() {
            return self.advance().map(|segment| (segment, self.request));
        }
        if self.outbox.is_empty() {
            self.outbox = VecDeque::new(); // rare, and not worth its memory in each of many flows
        }
        self.mind();
        earlier
    }

    /// The next segment that the events so far, and the timer up to the horizon, allow.
    pub(super) fn advance(&mut self) -> Option<Segment> {
        loop {
            let segment = self.next_segment();
            if let Some(segment) = &segment {
                self.record(segment);
                return Some(*segment);
            }
            self.rest();
            if self.deadline > self.horizon.max(self.now) {
                self.settled = true;
                return None;
            }
            self.now = self.deadline;
            self.on_timer();
        }
    }

    fn next_segment(&mut self) -> Option<Segment> {
        if self.urgent != Urgent::Nothing {
            self.next_urgent()
        } else if self.is_in_sack_recovery() {
            if self.state == State::Loss && self.config.fills_gaps() {
                self.next_gap()
            } else {
                self.next_in_sack_recovery()
            }
        } else if self.nxt + self.mss() <= self.edge {
            if self.is_held_back() {
                None
            } else if self.config.pieces {
                self.next_of_piece()
            } else {
                Some(self.send_next(self.mss()))
            }
        } else {
            self.next_small()
        }
    }

    /// Sends `len` bytes from `nxt`.
    #[inline]
    pub(super) fn send_next(&mut self, len: u64) -> Segment {
        let seq = self.nxt;
        self.nxt = seq + len;
        if seq >= self.max && self.timed_end == u64::MAX {
            self.timed_end = self.nxt;
            self.timed_at = self.now;
        }
        self.emit(seq, len)
    }

    /// A segment of less than full size: the last one, or what a small window has room for (RFC 9293 §3.8.6.2.1).
    fn next_small(&mut self) -> Option<Segment> {
        let room = self.edge.saturating_sub(self.nxt);
        let unsent = self.written.saturating_sub(self.nxt);
        let is_all = room == unsent;
        let is_alone = self.nxt == self.una && 2 * room >= u64::from(self.widest_awnd);
        if room > 0 && (is_all || is_alone) {
            return Some(self.send_next(room));
        }
        if unsent > 0 && self.deadline == Instant::MAX && self.state != State::Closed {
            // Nothing outstanding and nothing allowed: ask again later (RFC 9293 §3.8.6.1).
            self.start_timer(self.probe_interval());
        }
        None
    }

    fn probe_interval(&self) -> Duration {
        (self.rto.timeout() * (1 << self.probes.min(16))).min(self.config.rto_max)
    }

    #[cold]
    fn next_urgent(&mut self) -> Option<Segment> {
        let urgent = self.urgent;
        self.set_urgent(Urgent::Nothing);
        match urgent {
            Urgent::Nothing => None,
            Urgent::Syn => {
                self.syns += 1;
                self.restart_timer();
                Some(Segment::syn(self.config.syn_size, self.now))
            }
            Urgent::TailProbe => Some(self.send_tail_probe()),
            Urgent::Retransmission => {
                let len = self.mss().min(self.max - self.una);
                Some(self.retransmit(self.una, len))
            }
            Urgent::Probe => {
                self.stats.window_probes += u64::from(self.counts());
                let len = self.awnd().get().clamp(1, self.mss()).min(self.written - self.una);
                self.nxt = self.nxt.max(self.una + len.min(self.awnd().get()));
                let probe = self.retransmit(self.una, len);
                self.start_timer(self.probe_interval());
                self.probes += 1;
                Some(probe)
            }
        }
    }

    /// Repeats `len` bytes from `seq`.
    pub(super) fn retransmit(&mut self, seq: u64, len: u64) -> Segment {
        if !matches!(self.clock, RttSource::Ns2 | RttSource::Ns2Segment) {
            self.stop_timing();
        }
        self.emit(seq, len)
    }

    #[inline]
    fn emit(&mut self, seq: u64, len: u64) -> Segment {
        let end = seq + len;
        if self.span.contains(self.now) {
            self.stats.segments += 1;
            self.stats.payload += Bytes::new(len);
            if seq < self.max {
                self.stats.retransmits += 1;
                self.stats.repeated += Bytes::new(end.min(self.max) - seq);
            }
        }
        self.max = self.max.max(end);
        self.last_sent = self.now;
        if self.deadline == Instant::MAX {
            self.start_timer(self.rto.timeout()); // RFC 6298 §5.1
        }
        Segment {
            seq,
            sent: self.now,
            echo: self.release,
            size: len as u32 + self.header,
            payload: len as u16,
            is_pushed: self.config.pieces && self.is_pushed(end),
        }
    }

    /// Length of the next new segment if the receiver's window has room for it.
    pub(super) fn new_segment_allowed(&self) -> Option<u64> {
        let limit = self.una + self.awnd().get().min(self.window_limit);
        let len = self.mss().min(self.written.saturating_sub(self.nxt));
        (len > 0 && self.nxt + len <= limit).then_some(len)
    }
}
