// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes by the times of segments: losses found early (RACK), tail loss probes, windows that fall in proportion to what
//! arrives, and growth by use. Nothing here is done for senders without such rules.

use super::reduction::{Progress, Reduction};
use super::tracking::TailProbe;
use super::{Sender, State, Urgent, undo};
use crate::packet::{Ack, SackBlocks};
use crate::role::AckSample;
use crate::tcp::Segment;
use crate::tcp::wheel::{TOO_LATE, go_off};
use crate::units::{Duration, Instant};

/// SACKed segments that need no reordering window, as long as no reordering was seen (RFC 8985 §6.2).
const DUP_THRESH: u64 = 3;
/// Round trips without an acknowledgement after which a probe is sent (RFC 8985 §7.2).
const PROBE_ROUND_TRIPS: f64 = 2.0;
/// What a probe waits for besides, without ticks (RFC 8985 §7.2 leaves it open).
const PROBE_SLACK: Duration = Duration::from_millis(2);
/// Ticks that a probe and the reordering window wait for besides (Linux: TCP_TIMEOUT_MIN).
const LEAST_TICKS: u64 = 2;

impl Sender {
    /// An acknowledgement of new data came; gives the round-trip time of the last segment that it tells of.
    #[cold]
    pub(super) fn track_ack(&mut self, ack: u64, echoed: Duration, flight: u64, heard: &Ack<&SackBlocks>) -> Duration {
        let Some(t) = &mut self.tracking else { return echoed };
        let is_repetition = undo::twice(heard).is_some_and(|(_, end)| end < ack);
        let echo = Instant::from_nanos(self.now.as_nanos().saturating_sub(echoed.as_nanos()));
        t.delivered_before = t.delivered;
        t.delivered = ack + self.board.sacked_bytes(ack);
        t.advanced = true;
        let is_latest = t.reordering.arrived(echo, self.now);
        let times = t.acknowledge(ack);
        // What a repetition below it causes echoes the data that moved the acknowledgement (RFC 7323 §4.3); the receiver here
        // echoes what it got.
        let newest = times.map(|times| times.last);
        t.undo.newest = newest.unwrap_or(Instant::MAX);
        t.undo.echo = newest.filter(|_| is_repetition).unwrap_or(echo);
        let times = times.filter(|times| !times.is_ambiguous);
        let since = |at| self.now.saturating_since(at);
        let (mut first, mut last) =
            times.map_or([since(t.undo.echo); 2].into(), |times| (since(times.first), since(times.last)));
        // What is SACKed anew has arrived after all that is acknowledged: that may have been before a silence, during which its
        // acknowledgement was lost (tcp_clean_rtx_queue).
        let is_linux = self.rto.is_linux();
        let sacked = self.board.highest_news(heard.sack, ack).filter(|_| is_linux).and_then(|end| t.sent_once(end));
        if let Some(at) = sacked {
            last = since(at);
            first = if times.is_some() { first } else { last };
        }
        let is_timed = times.is_some() || sacked.is_some();
        if is_latest {
            t.latest_rtt = last;
        }
        let is_next_round = ack > t.rtt_round;
        if is_next_round {
            t.rtt_round = self.max;
        }
        if is_timed {
            t.measured(last);
        }
        let tail = t.probe.outstanding.filter(|&(end, ..)| ack >= end);
        if tail.is_some() {
            t.probe.outstanding = None;
        }
        if !is_linux {
            if self.config.timestamps {
                self.weigh_rtt(first, flight);
            } else {
                self.time_segment(ack);
            }
        } else if is_timed || self.config.timestamps {
            self.rto.linux_sample(first, is_next_round);
        }
        if is_timed {
            let sample = AckSample {
                now: self.now,
                acked: 0.0,
                flight: flight as f64 * self.per_mss,
                rtt: last,
                srtt_s: self.rto.srtt_s(),
            };
            self.law.observe(&mut self.window, &sample);
        }
        if let Some((_, at, true)) = tail
            && echo >= at
            && self.state == State::Open
        {
            // The probe has repaired a loss (RFC 8985 §7.4.2).
            self.window.ssthresh = self.law.on_loss(&self.window, flight as f64 * self.per_mss).max(2.0);
            self.set_cwnd(self.window.ssthresh);
        }
        last
    }

    /// An acknowledgement of nothing new came, which tells of something SACKed or not.
    pub(super) fn track_repeated_ack(&mut self, echo: Instant, is_news: bool) {
        let Some(t) = &mut self.tracking else { return };
        t.delivered_before = t.delivered;
        t.delivered = self.una + self.board.sacked_bytes(self.una);
        t.advanced = false;
        if is_news {
            let rtt = self.now.saturating_since(echo);
            if t.reordering.arrived(echo, self.now) {
                t.latest_rtt = rtt;
            }
            t.measured(rtt);
            let first = self.repairs.last_sent(self.una).or(t.first_sent());
            self.rto.linux_sample(rtt, false);
            // What was sent before the first segment was sent again still arrives: that one has more time (tcp_clean_rtx_queue).
            if self.rto.is_linux() && first.is_some_and(|first| echo < first) {
                self.restart_timer();
            }
        }
    }

    /// Outside fast recovery: does an acknowledgement tell of losses? What was sent at `latest` has arrived.
    pub(super) fn judge(&mut self, heard: &Ack<&SackBlocks>, latest: Instant) {
        if self.state == State::Loss {
            self.survey(heard);
            return;
        }
        self.detect(latest);
        if self.may_recover() && self.board.is_lost(self.una) {
            self.begin_recovery();
        } else {
            self.inflation = self.board.sacked_bytes(self.una) as i64;
        }
    }

    /// When the last was sent of what is known to have arrived: what caused the acknowledgement, or a retransmission that it
    /// acknowledges. Not where the original must have come, as a timestamp tells, or without them the short time since
    /// (RFC 8985 §6.2 step 2; Linux: tcp_rack_advance, tcp_skb_spurious_retrans).
    pub(super) fn latest_arrival(&self, heard: &Ack<&SackBlocks>) -> Instant {
        if self.config.timestamps {
            return heard.echo;
        }
        let Some(least) = self.tracking.as_ref().and_then(|t| t.min_rtt) else { return heard.echo };
        let latest = Instant::from_nanos(self.now.as_nanos().saturating_sub(least.as_nanos()));
        self.repairs.acknowledged(self.una, latest).map_or(heard.echo, |sent| sent.max(heard.echo))
    }

    /// What was sent at `echo` has arrived: what was sent before, and has not, is lost, or will be when the reordering
    /// window is over (RFC 8985 §6.2). True if more is lost than before.
    pub(super) fn detect(&mut self, echo: Instant) -> bool {
        let window = self.reordering_window();
        let (una, now) = (self.una, self.now);
        let Some(t) = &mut self.tracking else { return false };
        t.delivered = una + self.board.sacked_bytes(una);
        // Of segments sent in one instant the order of their bytes decides.
        let doubtful = t.sent_before(echo).max(self.board.highest_start());
        if window.is_zero() {
            t.suspects.clear();
            return self.board.raise_lost_edge(una, doubtful);
        }
        if t.suspects.back().map_or(una, |&(edge, _)| edge) < doubtful {
            let ticks = self.config.timer_tick;
            t.suspects.push_back((doubtful, go_off(now, window + ticks * LEAST_TICKS, ticks)));
        }
        let earlier = Instant::from_nanos(echo.as_nanos().saturating_sub(window.as_nanos()));
        self.board.raise_lost_edge(una, t.sent_before(earlier))
    }

    /// How long after a later segment an earlier one may arrive (Linux: tcp_rack_reo_wnd).
    pub(super) fn reordering_window(&self) -> Duration {
        let Some(t) = &self.tracking else { return Duration::ZERO };
        let is_sure = self.state >= State::Recovery || self.board.sacked_bytes(self.una) >= DUP_THRESH * self.mss();
        if is_sure && !t.reordering.is_seen {
            return Duration::ZERO;
        }
        let srtt = Duration::from_secs_f64(self.rto.srtt_s());
        t.min_rtt.map_or(Duration::ZERO, |least| t.reordering.window(least, srtt))
    }

    /// A recovery begins whose window falls in proportion.
    pub(super) fn begin_reduction(&mut self) {
        let prior = self.window.cwnd as u64;
        if let Some(t) = &mut self.tracking {
            t.reduction = Reduction::new(prior);
        }
    }

    /// The window after an acknowledgement in recovery; `is_worse` if it makes more lost.
    pub(super) fn reduce(&mut self, is_worse: bool) {
        let mss = self.mss();
        let Some(t) = &mut self.tracking else { return };
        let delivered = (self.una + self.board.sacked_bytes(self.una)).saturating_sub(t.delivered_before);
        if delivered == 0 && !t.reduction.is_new() {
            return;
        }
        let window = t.reduction.window(Progress {
            pipe: self.pipe.div_ceil(mss),
            ssthresh: self.window.ssthresh as u64,
            delivered: delivered.div_ceil(mss),
            is_safe: t.advanced && !is_worse,
        });
        self.set_cwnd(window as f64);
    }

    /// Whether the window may grow: whether it was what limits the sender.
    pub(super) fn was_limited(&self) -> bool {
        let Some(t) = &self.tracking else { return true };
        let is_growing = self.window.in_slow_start() && self.cwnd_bytes < 2 * t.usage.most_out;
        self.state != State::Recovery && (t.usage.is_limited || is_growing)
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn record(&mut self, segment: &Segment) {
        if let Some(t) = &mut self.tracking
            && segment.is_data()
        {
            t.sent(segment.seq, segment.seq + u64::from(segment.payload), self.now);
            if self.state == State::Recovery {
                t.reduction.sent(1);
            }
        }
    }

    /// All is sent that may be: sets the timer to what comes first.
    #[inline]
    pub(super) fn rest(&mut self) {
        if self.tracking.is_some() {
            self.set_timer();
        }
    }

    #[cold]
    fn set_timer(&mut self) {
        let sacked = self.board.sacked_bytes(self.una);
        let in_flight =
            if self.is_in_sack_recovery() { self.pipe } else { (self.nxt - self.una).saturating_sub(sacked) };
        let is_waiting = self.state == State::Open && self.una < self.max && sacked == 0;
        let wait = self.probe_wait();
        let is_full = in_flight + self.mss() > self.cwnd_bytes;
        let Some(t) = &mut self.tracking else { return };
        let waits = std::mem::take(&mut t.piece.waits);
        t.usage.rest((self.una, self.nxt), is_full || waits);
        let tick = self.config.timer_tick;
        if self.deadline != t.armed {
            t.rto_at = match self.deadline {
                Instant::MAX => Instant::MAX,
                at if tick.is_zero() => at,
                at => go_off(self.now, (at - self.now).saturating_sub(TOO_LATE), tick),
            };
        }
        let una = self.una;
        while t.suspects.front().is_some_and(|&(edge, _)| edge <= una) {
            t.suspects.pop_front();
        }
        if !(self.config.tail_loss_probe && is_waiting) {
            t.probe.at = None;
        } else if t.probe.set_for != (self.una, self.max) {
            t.probe.set_for = (self.una, self.max);
            let at = |wait| if tick.is_zero() { self.now + wait } else { go_off(self.now, wait, tick) };
            t.probe.at = wait.map(|wait| at(wait).min(t.rto_at));
        }
        let suspect = t.suspects.front().map_or(Instant::MAX, |&(_, due)| due);
        self.deadline = t.rto_at.min(suspect).min(t.probe.at.unwrap_or(Instant::MAX)).min(t.pace.arm());
        t.armed = self.deadline;
    }

    /// How long a tail loss probe waits; none before the first measurement (RFC 8985 §7.2, and Linux's
    /// tcp_schedule_loss_probe: a single segment may be waiting for a delayed acknowledgement).
    fn probe_wait(&self) -> Option<Duration> {
        let srtt_s = self.rto.srtt_s();
        let is_single = self.max - self.una <= self.mss();
        let slack = if is_single { self.config.rto_min } else { PROBE_SLACK.max(self.config.timer_tick * LEAST_TICKS) };
        (srtt_s > 0.0).then(|| Duration::from_secs_f64(PROBE_ROUND_TRIPS * srtt_s) + slack)
    }

    /// The timer went off: true if for something else than a time-out.
    #[cold]
    pub(super) fn on_early_timer(&mut self) -> bool {
        let now = self.now;
        let Some(t) = &mut self.tracking else { return false };
        if t.pace.is_due(now) {
            self.deadline = t.rto_at;
            t.armed = self.deadline;
            return true;
        }
        let mut lost = None;
        while let Some(&(edge, due)) = t.suspects.front()
            && due <= now
        {
            lost = Some(edge);
            t.suspects.pop_front();
        }
        if let Some(edge) = lost {
            self.deadline = t.rto_at;
            t.delivered_before = t.delivered;
            self.board.raise_lost_edge(self.una, edge);
            if self.is_in_sack_recovery() {
                self.measure_pipe();
            } else if self.may_recover() && self.board.is_lost(self.una) {
                self.begin_recovery();
            }
            return true;
        }
        if t.probe.at.is_none_or(|at| at > now) || self.una >= self.max {
            return false;
        }
        t.probe.at = None;
        self.restart_timer();
        if self.tracking.as_ref().is_some_and(|t| t.probe.outstanding.is_none()) {
            self.set_urgent(Urgent::TailProbe);
        }
        true
    }

    /// A new segment if there is one, otherwise the last one again (RFC 8985 §7.3).
    pub(super) fn send_tail_probe(&mut self) -> Segment {
        let new = self.new_segment_allowed();
        let departure = match new {
            Some(len) => self.send_next(len),
            None => {
                let start = self.una.max(self.max.saturating_sub(self.mss()));
                self.retransmit(start, self.max - start)
            }
        };
        if let Some(t) = &mut self.tracking {
            t.probe = TailProbe {
                at: None,
                set_for: (self.una, self.max),
                outstanding: Some((self.max, self.now, new.is_none())),
            };
        }
        departure
    }
}
