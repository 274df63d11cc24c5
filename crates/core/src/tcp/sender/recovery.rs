// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's loss recovery, one engine for all laws: fast retransmit and fast recovery in three kinds, limited
//! transmit, time-outs. The law only says how far the window falls.

use super::{Sender, State, Urgent};
use crate::packet::{Ack, SackBlocks};
use crate::tcp::Segment;
use crate::tcp::config::Recovery;
use crate::tcp::wheel::TOO_LATE;
use crate::units::{Duration, Instant};

/// Duplicate acknowledgements that make a loss (RFC 5681 §3.2).
const DUP_THRESH: u32 = 3;
/// What RFC 5681 lets no slow-start threshold fall below, in segments (eq. 4).
const LEAST_SSTHRESH: f64 = 2.0;
/// How far apart, in round-trip times, packets may overtake each other (RFC 8985 §6.2: a quarter).
const REORDERING_SHARE: f64 = 0.25;

impl Sender {
    /// An acknowledgement that acknowledges nothing new; `is_update` if it changes the window.
    pub(super) fn on_repeated_ack(&mut self, heard: &Ack<&SackBlocks>, is_update: bool) {
        let is_sack = self.config.recovery == Recovery::Sack;
        let is_news = is_sack && self.board.update(heard.sack, self.una, self.max);
        self.track_repeated_ack(heard.echo, is_news);
        if self.config.takes_back() && self.reconsider_repeated(heard, is_news) {
            return;
        }
        if self.nxt == self.una {
            self.on_window_update();
            return;
        }
        // RFC 5681 §2 (a) to (e); RFC 6675 §2.
        let is_duplicate = if is_sack { is_news } else { !(is_update && self.config.strict_duplicate_acks) };
        if !is_duplicate || self.awnd().get() == 0 {
            return; // the window is closed: the answer to a probe
        }
        self.stats.duplicate_acks += u64::from(self.counts());
        self.law.on_duplicate(self.now);
        if self.state == State::Recovery || self.is_in_sack_recovery() {
            if is_sack {
                self.survey(heard);
            } else {
                // RFC 5681 §3.2 step 4
                //= qfcp#10  cwnd = feedback·RTT + num_dupACK
                self.inflation += self.mss() as i64;
            }
            return;
        }
        self.duplicate_acks += 1;
        if self.config.rack {
            self.judge(heard, self.latest_arrival(heard));
            return;
        }
        let is_loss = self.duplicate_acks >= DUP_THRESH || (is_sack && self.board.is_lost(self.una));
        if is_loss && self.may_recover() {
            self.begin_recovery();
        } else if self.config.limited_transmit && self.duplicate_acks < DUP_THRESH && self.transmits_limited() {
            if self.duplicate_acks == 1 {
                self.limited_from = self.max;
            }
            self.inflation = i64::from(self.duplicate_acks) * self.mss() as i64; // RFC 3042 §2
        }
    }

    /// Whether duplicate acknowledgements tell of a new loss, and not of what was sent before the last recovery
    /// or time-out (RFC 6582 §3.2 steps 2 and 6, RFC 6675 §5.1). Reno heeds the time-out only,
    /// by default.
    pub(super) fn may_recover(&self) -> bool {
        self.recover.is_none_or(|recover| match self.config.recovery {
            Recovery::Sack => self.una >= recover,
            Recovery::Reno | Recovery::NewReno => self.una > recover,
        })
    }

    /// Whether the first duplicates may let segments go now, outside of fast recovery.
    fn transmits_limited(&self) -> bool {
        match self.state {
            State::Open => true,
            State::Loss => self.config.limited_transmit_after_timeout,
            State::Closed | State::SynSent | State::Recovery => false,
        }
    }

    /// The slow-start threshold where a loss leaves a window of `left` segments.
    fn threshold(&self, left: f64) -> f64 {
        let threshold = if self.config.whole_threshold { left.floor() } else { left };
        threshold.max(LEAST_SSTHRESH)
    }

    /// The window that a loss leaves a share of, in segments: what is in flight, or what could be.
    fn lost_window(&self, flight: f64) -> f64 {
        if self.config.cut_of_window {
            let limit = self.awnd().get().min(self.window_limit) as f64 / self.mss() as f64;
            self.window.cwnd.min(limit)
        } else {
            flight
        }
    }

    /// RFC 5681 §3.2 steps 2 and 3, RFC 6582 §3.2 step 2, RFC 6675 §5 step 4.
    pub(super) fn begin_recovery(&mut self) {
        let limited = match self.inflation {
            // After a time-out what is SACKed may lie above what is sent anew.
            sacked @ 1.. if self.config.rack => (sacked as u64).min(self.board.sacked_within(self.una, self.nxt)),
            1.. => self.nxt.saturating_sub(self.limited_from),
            _ => 0,
        };
        let mut flight = (self.nxt - self.una - limited) as f64 / self.mss() as f64;
        if self.config.recovery == Recovery::Sack {
            // What is SACKed has left the network. Where one recovery follows another, more is outstanding than the window
            // has room for, and a share of that would let a loss widen it.
            flight = flight.min(self.window.cwnd);
        }
        let flight = self.lost_window(flight);
        self.stats.fast_retransmits += u64::from(self.counts());
        self.remember_window();
        let left = self.law.on_loss(&self.window, flight);
        self.window.ssthresh = self.threshold(left);
        if self.config.rate_reduction {
            self.begin_reduction();
        } else {
            self.set_cwnd(if self.config.whole_threshold { left.max(1.0) } else { self.window.ssthresh });
        }
        self.state = State::Recovery;
        self.cut_at = self.now;
        self.partial_acks = 0;
        if self.config.recovery != Recovery::Reno || self.config.one_fast_retransmit {
            self.recover = Some(self.max);
        }
        if self.config.recovery == Recovery::Sack {
            self.inflation = 0;
            self.board.rescued = false;
            if self.config.rate_reduction || self.config.takes_over {
                // What the last recovery has sent again is still under way (Linux: TCPCB_SACKED_RETRANS).
                self.repairs.forget(self.una);
                self.board.high_rxt = self.board.high_rxt.max(self.una);
                self.measure_pipe();
                if self.config.rate_reduction {
                    self.reduce(true);
                }
                self.restart_timer();
                self.set_urgent(Urgent::Nothing);
                return;
            }
            self.repairs.clear();
            self.board.high_rxt = (self.una + self.mss()).min(self.max);
            self.measure_pipe();
            if self.config.find_lost_retransmissions {
                self.repairs.sent(self.una, self.board.high_rxt, self.now);
            }
        } else {
            self.inflation = i64::from(DUP_THRESH) * self.mss() as i64;
        }
        // The retransmission gets a full time-out (RFC 6675 §5 step 4.1 allows it, every stack does it): the timer has
        // run since the last new acknowledgement, and one round trip more might not fit into what is left.
        self.restart_timer();
        self.stop_timing();
        self.set_urgent(Urgent::Retransmission);
    }

    /// New data is acknowledged in fast recovery: all of it, and recovery ends, or a part.
    pub(super) fn on_ack_in_recovery(&mut self, acked: u64, heard: &Ack<&SackBlocks>) {
        let is_full = self.recover.is_none_or(|recover| self.una >= recover);
        self.law.on_ack_in_recovery(self.now, acked as f64 / self.mss() as f64);
        if self.config.takes_back() && self.reconsider_recovery(heard, is_full) {
            return;
        }
        match self.config.recovery {
            Recovery::Reno if self.config.grow_at_recovery_end => self.end_recovery(self.window.cwnd),
            Recovery::Reno => self.end_recovery(self.window.ssthresh),
            Recovery::NewReno if is_full && self.config.grow_at_recovery_end => {
                self.end_recovery(self.window.cwnd); // RFC 6582 §3.2 step 3, option 2, less what deflation took
            }
            Recovery::NewReno if is_full => {
                // RFC 6582 §3.2 step 3, full acknowledgement, option 1: no burst.
                let flight = (self.nxt - self.una) as f64 / self.mss() as f64;
                self.end_recovery(self.window.ssthresh.min(flight.max(1.0) + 1.0));
            }
            Recovery::NewReno => {
                self.partial_acks += 1;
                if self.partial_acks == 1 {
                    self.restart_timer();
                }
                self.deflate(acked as i64);
                self.set_urgent(Urgent::Retransmission);
            }
            Recovery::Sack => {
                self.restart_timer();
                self.board.update(heard.sack, self.una, self.max);
                self.board.high_rxt = self.board.high_rxt.max(self.una);
                if is_full && self.config.rack {
                    let latest = self.latest_arrival(heard);
                    self.recovered();
                    self.end_recovery(self.window.ssthresh);
                    self.judge(heard, latest);
                    return;
                }
                let goes_on = is_full && self.config.find_lost_retransmissions && self.board.is_lost(self.una);
                if goes_on {
                    self.prolong_recovery();
                }
                if is_full && !goes_on {
                    self.end_recovery(self.window.ssthresh);
                } else {
                    self.survey(heard);
                }
            }
        }
    }

    /// A partial acknowledgement of `acked` bytes deflates the window (RFC 6582 §3.2 step 3). In ns-2 what is more than
    /// duplicates had inflated it by comes off the congestion window itself, which after recovery is below the threshold.
    fn deflate(&mut self, acked: i64) {
        let mss = self.mss() as i64;
        if self.config.grow_at_recovery_end && self.inflation <= acked {
            let excess = (acked - self.inflation) as f64 / self.mss_f64();
            self.set_cwnd((self.window.cwnd - excess).max(1.0));
            self.inflation = mss;
        } else {
            self.inflation -= acked;
            if acked >= mss {
                self.inflation += mss;
            }
        }
    }

    /// All is acknowledged that was outstanding at the start of recovery, but what was sent since has holes that are
    /// lost: a new recovery, which does not repeat what the last has sent again.
    fn prolong_recovery(&mut self) {
        self.remember_window();
        self.cut_again();
        self.recover = Some(self.max);
        self.board.rescued = false;
        self.stats.fast_retransmits += u64::from(self.counts());
    }

    /// What is lost and what is in the network, after an acknowledgement in SACK recovery.
    pub(super) fn survey(&mut self, heard: &Ack<&SackBlocks>) {
        let echo = if self.config.rack { self.latest_arrival(heard) } else { heard.echo };
        let mut is_worse = self.config.rack && self.detect(echo);
        if self.config.find_lost_retransmissions {
            let reordering = if self.config.rack {
                self.reordering_window()
            } else {
                Duration::from_nanos((self.rto.srtt_s() * 1e9 * REORDERING_SHARE) as u64)
            };
            let Self { repairs, board, una, .. } = self;
            let lost = repairs.arrived(echo, reordering, |start, end| board.is_missing(*una, start, end));
            is_worse |= lost.is_some();
            if let Some(sent) = lost
                && self.lost_after_cut(sent)
            {
                self.cut_again();
            }
        }
        self.measure_pipe();
        if self.config.rate_reduction && self.state == State::Recovery {
            self.reduce(is_worse);
        }
    }

    /// Whether a retransmission that left at `sent` and is lost tells of more than the last cut of the window. With the rate
    /// reduction nothing more is cut: what is sent is what arrives.
    fn lost_after_cut(&self, sent: Instant) -> bool {
        !self.config.rate_reduction && self.state == State::Recovery && sent >= self.cut_at
    }

    /// The loss of a retransmission is one more sign of congestion (RFC 5681 §4.3).
    fn cut_again(&mut self) {
        let flight = self.lost_window((self.nxt - self.una) as f64 / self.mss() as f64);
        let left = self.law.on_loss(&self.window, flight.min(self.window.cwnd));
        self.window.ssthresh = self.threshold(left);
        self.set_cwnd(self.window.ssthresh);
        self.cut_at = self.now;
    }

    /// What is in the network, of what recovery knows.
    pub(super) fn measure_pipe(&mut self) {
        // The board takes lost retransmissions for under way.
        self.pipe = self.board.pipe(self.una, self.max).saturating_sub(self.repairs.lost_bytes());
    }

    pub(super) fn end_recovery(&mut self, cwnd: f64) {
        self.state = State::Open;
        self.duplicate_acks = 0;
        self.inflation = 0;
        if self.config.rack {
            self.repairs.forget(self.una); // what it has sent again above is still under way
        } else {
            self.repairs.clear();
        }
        self.forget_repeats();
        self.set_cwnd(cwnd);
        self.restart_timer();
        self.set_urgent(Urgent::Nothing);
    }

    /// A response to a loss ends, and stands.
    fn recovered(&mut self) {
        if let Some(t) = &mut self.tracking {
            t.reordering.recovered();
        }
    }

    /// New data is acknowledged after duplicates, or after a time-out.
    #[cold]
    pub(super) fn leave_doubt(&mut self, heard: &Ack<&SackBlocks>) {
        let is_sack = self.config.recovery == Recovery::Sack;
        let is_news = is_sack && self.board.update(heard.sack, self.una, self.max);
        let latest = self.latest_arrival(heard);
        self.duplicate_acks = 0;
        self.inflation = 0;
        if self.config.takes_back() {
            self.reconsider(heard, is_news);
        }
        if self.state == State::Loss && self.recover.is_none_or(|recover| self.una >= recover) {
            self.state = State::Open;
            self.recovered();
            self.forget_repeats();
            self.mind();
        }
        if self.config.rack {
            self.judge(heard, latest);
        }
    }

    /// The retransmission timer went off (RFC 6298 §5.4 to 5.6, RFC 5681 §3.1): back to the first segment that is
    /// not acknowledged, one segment at a time.
    pub(super) fn on_timeout(&mut self) {
        self.stats.timeouts += u64::from(self.counts());
        if self.config.cut_at_each_timeout || self.timed_out_at != Some(self.una) {
            // FlightSize is what is outstanding in the network (RFC 5681 §2). In a long recovery that is far less than
            // what is not acknowledged: each round trip adds a window of new data behind the first hole.
            let unacknowledged = (self.nxt - self.una) as f64 / self.mss() as f64;
            let is_repairing = self.state == State::Recovery || (self.state == State::Loss && self.config.fills_gaps());
            let flight = if is_repairing { unacknowledged.min(self.window.cwnd) } else { unacknowledged };
            let flight = self.lost_window(flight);
            // Where recovery has reduced the window, a time-out in it does not do so again (Linux: tcp_enter_loss).
            let is_reduced = self.config.rate_reduction && self.state == State::Recovery;
            if !is_reduced {
                self.remember_window();
            }
            let left = self.law.on_timeout(&self.window, flight);
            if !is_reduced {
                self.window.ssthresh = self.threshold(left);
            }
        }
        self.begin_frto();
        self.timed_out_at = Some(self.una);
        self.recover = Some(self.max);
        self.state = State::Loss;
        self.inflation = 0;
        self.duplicate_acks = 0;
        if self.config.rack {
            self.give_up();
        } else {
            self.repairs.clear();
            self.nxt = self.una;
            // What is SACKed at the left edge has been thrown away since (RFC 2018 §8).
            if !self.config.fills_gaps() || self.board.has_reneged(self.una) {
                self.board.clear();
            }
            self.set_cwnd(1.0);
        }
        self.stop_timing();
        self.rto.back_off();
        self.make_request();
        self.set_urgent(Urgent::Nothing);
    }

    /// Takes for lost what had a round trip's time to arrive, and the first segment in any case, and leaves room for one more than
    /// what is under way (Linux: tcp_timeout_mark_lost, tcp_enter_loss).
    fn give_up(&mut self) {
        let first = (self.una + self.mss()).min(self.max);
        let rtt = self.tracking.as_ref().map_or(Duration::ZERO, |t| t.latest_rtt);
        let due = Instant::from_nanos(self.now.as_nanos().saturating_sub(rtt.as_nanos()));
        let old = self.tracking.as_ref().map_or(self.max, |t| t.sent_before(due + TOO_LATE));
        self.board.raise_lost_edge(self.una, old.max(first));
        self.board.high_rxt = self.board.high_rxt.max(self.una);
        let Self { repairs, board, una, .. } = self;
        repairs.give_up(first, due, |start, end| board.is_missing(*una, start, end));
        self.measure_pipe();
        self.set_cwnd((self.pipe.div_ceil(self.mss()) + 1) as f64);
    }

    /// The next segment of the slow start after a time-out: of what is not SACKed, in order, and then new data (RFC 6675 §5.1,
    /// which leaves it open). In the network is what has been sent since and is not SACKed.
    #[cold]
    pub(super) fn next_gap(&mut self) -> Option<Segment> {
        let (from, to) = self.board.gap(self.nxt);
        self.nxt = from;
        self.pipe = from - self.una - self.board.sacked_within(self.una, from);
        let room = (self.cwnd_bytes as i64 + self.inflation).max(self.mss() as i64) as u64;
        if room < self.pipe + self.mss() {
            return None;
        }
        let len = self.new_segment_allowed()?.min(to - from);
        if self.is_held_back() {
            return None;
        }
        self.pipe += len;
        Some(self.send_next(len))
    }

    /// The next segment of a SACK recovery (RFC 6675 §5 step C, NextSeg).
    pub(super) fn next_in_sack_recovery(&mut self) -> Option<Segment> {
        if self.cwnd_bytes < self.pipe + self.mss() {
            return None;
        }
        // F-RTO asks new data first.
        let asks = self.asks_new_data();
        if !asks && let Some((start, end)) = self.repairs.take_lost() {
            if start <= self.una {
                self.restart_timer(); // as for the first retransmission
            }
            return Some(self.repair_again(start, end));
        }
        // By time only what is lost is sent again.
        let hole = self.board.next_hole(self.una).filter(|&(_, _, is_lost)| !asks && (is_lost || !self.config.rack));
        let segment = match hole {
            Some((start, end, true)) => self.repair(start, end),
            _ => match (self.new_segment_allowed(), hole) {
                (Some(len), _) => {
                    self.pipe += len;
                    self.send_next(len)
                }
                (None, Some((start, end, _))) => self.repair(start, end),
                (None, None) if !self.board.rescued && !self.config.rack => {
                    let (start, end) = self.board.last_segment(self.una, self.max)?;
                    self.board.rescued = true;
                    self.repair_again(start, end)
                }
                (None, None) => return None,
            },
        };
        Some(segment)
    }

    fn repair(&mut self, start: u64, end: u64) -> Segment {
        self.board.high_rxt = end;
        self.repair_again(start, end)
    }

    /// Repeats what may have been repeated before.
    fn repair_again(&mut self, start: u64, end: u64) -> Segment {
        self.pipe += end - start;
        if self.config.find_lost_retransmissions {
            self.repairs.sent(start, end, self.now);
        }
        self.retransmit(start, end - start)
    }
}
