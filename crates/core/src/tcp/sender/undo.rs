// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking back the response to a loss that was none, as Linux does: by timestamps (Eifel), by what the receiver says came twice
//! (D-SACK), and after a time-out by what it has not sent again (F-RTO).

use super::{Sender, State};
use crate::packet::{Ack, SackBlocks};
use crate::role::Window;
use crate::tcp::config::Recovery;
use crate::units::Instant;

/// What a sender remembers of the last response to a loss.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The first byte that was not acknowledged then, and the window before (undo_marker, prior_cwnd, prior_ssthresh); none:
    /// there is nothing to take back.
    before: Option<(u64, Window)>,
    /// Segments sent again since, less those that came twice; none: nothing was sent again yet (undo_retrans).
    repeats: Option<u64>,
    /// When the first of them was sent (retrans_stamp).
    first_repeat: Option<Instant>,
    /// When the last segment was sent first that the last acknowledgement of new data is for.
    pub(super) newest: Instant,
    /// What it echoes as a timestamp.
    pub(super) echo: Instant,
    frto: Option<Frto>,
}

/// F-RTO at work (RFC 5682 §3.1).
#[derive(Clone, Copy, Debug)]
struct Frto {
    /// What the time-out has not sent again: from the end of the first segment to the last byte, but for a probe's.
    originals: (u64, u64),
    /// How much of it has arrived.
    arrived: u64,
    /// Whether new data goes before retransmissions (step 2.b).
    asks: bool,
}

impl Undo {
    /// A segment was sent again.
    pub(super) fn repeated(&mut self, now: Instant) {
        self.first_repeat.get_or_insert(now);
        self.repeats = Some(self.repeats.unwrap_or(0) + 1);
    }

    /// Whether the last acknowledgement of new data is of what was sent before anything was sent again. An echo of something
    /// sent after all that it acknowledges tells nothing: an earlier acknowledgement is lost.
    fn was_delayed(&self) -> bool {
        self.echo <= self.newest && self.before.is_some() && self.first_repeat.is_none_or(|first| self.echo < first)
    }

    /// Whether all that was sent again came twice.
    fn all_came_twice(&self) -> bool {
        self.before.is_some() && self.repeats == Some(0)
    }

    /// Bytes `start..end` came twice, `segments` of them.
    fn came_twice(&mut self, end: u64, segments: u64) {
        if let (Some((marker, _)), Some(repeats)) = (self.before, &mut self.repeats)
            && end > marker
        {
            *repeats = repeats.saturating_sub(segments);
        }
    }
}

impl Sender {
    /// A loss is about to reduce the window (tcp_init_undo).
    pub(super) fn remember_window(&mut self) {
        let Window { cwnd, ssthresh } = self.window;
        // The threshold that a window without loss speaks for (tcp_current_ssthresh).
        let ssthresh = ssthresh.max((cwnd / 2.0).floor() + (cwnd / 4.0).floor());
        let (una, is_open) = (self.una, self.state == State::Open);
        let Some(t) = &mut self.tracking else { return };
        if is_open {
            t.undo.first_repeat = None;
        }
        t.undo.before = Some((una, Window { cwnd, ssthresh }));
        // A probe that repeats may come twice, too.
        t.undo.repeats = t.probe.outstanding.filter(|&(.., is_repetition)| is_repetition).map(|_| 1);
    }

    /// Nothing that was sent again is under way.
    pub(super) fn forget_repeats(&mut self) {
        if let Some(t) = &mut self.tracking {
            t.undo.first_repeat = None;
            t.undo.frto = None;
        }
    }

    /// The timer goes off: unless in a recovery, or for another segment than before, what arrives may tell whether anything
    /// was lost (RFC 5682 §3.1 step 1, §3.2).
    pub(super) fn begin_frto(&mut self) {
        let is_first = self.state == State::Open || self.timed_out_at == Some(self.una);
        let mss = self.mss();
        let from = (self.una + mss).min(self.max);
        let Some(t) = &mut self.tracking else { return };
        let probe = t.probe.outstanding.take();
        t.undo.frto = None;
        if self.config.frto && is_first {
            let is_repeated = probe.is_some_and(|(end, _, is_repetition)| is_repetition && end == self.max);
            let to = if is_repeated { self.max.saturating_sub(mss).max(from) } else { self.max };
            let arrived = self.board.sacked_within(from, to);
            t.undo.frto = Some(Frto { originals: (from, to), arrived, asks: false });
        }
    }

    /// Whether new data goes before retransmissions.
    pub(super) fn asks_new_data(&self) -> bool {
        self.tracking.as_ref().is_some_and(|t| t.undo.frto.is_some_and(|frto| frto.asks))
    }

    /// An acknowledgement of nothing new. True: it ends the response to a loss, and nothing else is to be done.
    #[cold]
    pub(super) fn reconsider_repeated(&mut self, heard: &Ack<&SackBlocks>, is_news: bool) -> bool {
        let is_twice = self.hear_of_duplicates(heard);
        // What came twice tells nothing of what else has arrived.
        let latest = if is_news { self.latest_arrival(heard) } else { Instant::ZERO };
        match self.state {
            State::Recovery if self.all_came_twice() => {
                self.take_back(false);
                self.reopen();
                self.judge_if_by_time(heard, latest);
                true
            }
            State::Open if self.all_came_twice() => {
                self.take_back(false);
                false
            }
            State::Loss => {
                let had_asked = self.has_asked();
                let is_real = is_news || !is_twice;
                self.weigh_timeout(false, is_real);
                if self.state == State::Open {
                    self.judge_if_by_time(heard, latest);
                    return true;
                }
                // Everything is sent again from the start.
                had_asked && !self.has_asked() && !self.config.rack
            }
            State::Closed | State::SynSent | State::Open | State::Recovery => false,
        }
    }

    /// New data is acknowledged outside fast recovery (tcp_process_loss).
    #[cold]
    pub(super) fn reconsider(&mut self, heard: &Ack<&SackBlocks>, is_news: bool) {
        self.hear_of_duplicates(heard);
        if self.state == State::Loss {
            self.weigh_timeout(true, is_news);
        } else if self.all_came_twice() {
            self.take_back(false);
        }
    }

    /// New data is acknowledged in fast recovery, all of it or a part. True: the response is taken back, or waits
    /// (tcp_try_undo_recovery, tcp_try_undo_partial).
    #[cold]
    pub(super) fn reconsider_recovery(&mut self, heard: &Ack<&SackBlocks>, is_full: bool) -> bool {
        if self.config.recovery == Recovery::Sack {
            self.board.update(heard.sack, self.una, self.max);
        }
        self.hear_of_duplicates(heard);
        let was_delayed = self.was_delayed();
        if !(was_delayed || self.all_came_twice()) {
            return false;
        }
        if was_delayed && !is_full && self.board.repeated_bytes(self.una) > 0 {
            // Something that was sent again is under way: no more is, until it is known (tcp_try_undo_partial).
            self.restart_timer();
            self.measure_pipe();
            if self.config.rate_reduction {
                self.reduce(false);
            }
            return true;
        }
        let latest = self.latest_arrival(heard);
        self.take_back(!is_full && was_delayed);
        self.reopen();
        self.judge_if_by_time(heard, latest);
        true
    }

    fn judge_if_by_time(&mut self, heard: &Ack<&SackBlocks>, latest: Instant) {
        if self.config.rack {
            self.judge(heard, latest);
        }
    }

    /// After a time-out: was anything lost? `is_news`: something is SACKed, or the acknowledgement is a duplicate.
    fn weigh_timeout(&mut self, advanced: bool, is_news: bool) {
        let is_rack = self.config.rack;
        if advanced && (self.was_delayed() || self.all_came_twice()) {
            self.leave_loss();
            return;
        }
        let recover = self.recover.unwrap_or(self.max);
        let has_asked = self.max > recover;
        let limit = self.una + self.awnd().get().min(self.window_limit);
        let can_ask = self.written > self.max && limit >= self.written.min(self.max + self.mss());
        let (una, board) = (self.una, &self.board);
        let Some(frto) = self.tracking.as_mut().and_then(|t| t.undo.frto.as_mut()) else { return };
        frto.asks = false;
        let (from, to) = frto.originals;
        let arrived = una.clamp(from, to) - from + board.sacked_within(una.max(from), to);
        // Without SACK nothing says which of the segments an acknowledgement is for that acknowledges one sent again.
        let is_original = if is_rack { arrived > frto.arrived } else { advanced && has_asked };
        frto.arrived = arrived;
        if is_original {
            self.leave_loss(); // step 3.b
        } else if has_asked {
            if is_news {
                self.stop_asking(); // step 3.a: the loss was real
            }
        } else if advanced && una < recover {
            if can_ask {
                frto.asks = true; // step 2.b
                self.recover = Some(self.max);
                if !is_rack {
                    self.nxt = self.max;
                    self.inflation = (self.max - self.una) as i64;
                }
            } else {
                self.stop_asking();
            }
        }
    }

    /// Whether new data was sent, and what comes of it is to tell whether anything was lost.
    fn has_asked(&self) -> bool {
        self.recover.is_some_and(|recover| self.max > recover)
            && self.tracking.as_ref().is_some_and(|t| t.undo.frto.is_some())
    }

    /// F-RTO is over, and all is sent again.
    fn stop_asking(&mut self) {
        if let Some(t) = &mut self.tracking {
            t.undo.frto = None;
        }
        if !self.config.rack {
            self.nxt = self.una;
            self.inflation = 0;
        }
    }

    /// Nothing was lost: the sender is where it was before the time-out (tcp_try_undo_loss).
    fn leave_loss(&mut self) {
        self.take_back(true);
        self.reopen();
    }

    /// Gives the window back that it had (tcp_undo_cwnd_reduction), and with `unmark` takes nothing for lost.
    fn take_back(&mut self, unmark: bool) {
        let Some(t) = &mut self.tracking else { return };
        let Some((_, before)) = t.undo.before.take() else { return };
        t.undo.frto = None;
        if unmark {
            t.suspects.clear();
            self.board.unmark(self.una);
            self.repairs.clear();
            self.nxt = self.nxt.max(self.max);
        }
        self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        self.set_cwnd(self.window.cwnd.max(before.cwnd));
    }

    /// Back to where nothing is known to be lost, with the window as it is.
    fn reopen(&mut self) {
        if self.config.recovery == Recovery::Sack {
            // What is lost from now on is another loss.
            self.recover = None;
        }
        self.end_recovery(self.window.cwnd);
    }

    fn was_delayed(&self) -> bool {
        let may = self.config.eifel && self.config.timestamps;
        may && self.tracking.as_ref().is_some_and(|t| t.undo.was_delayed())
    }

    fn all_came_twice(&self) -> bool {
        self.config.dsack && self.tracking.as_ref().is_some_and(|t| t.undo.all_came_twice())
    }

    /// Takes in what an acknowledgement says came twice; true if it says so.
    fn hear_of_duplicates(&mut self, heard: &Ack<&SackBlocks>) -> bool {
        let Some((start, end)) = twice(heard) else { return false };
        let segments = (end - start).div_ceil(self.mss());
        if let Some(t) = &mut self.tracking {
            t.undo.came_twice(end, segments);
            // A probe is not sent because anything seemed lost.
            let is_probe = segments == 1 && t.probe.outstanding.is_some_and(|(of, ..)| of == end);
            if self.config.dsack && !is_probe {
                t.reordering.came_twice();
            }
        }
        true
    }
}

/// What the first block of an acknowledgement says came twice: it is acknowledged already, or lies within the second block
/// (RFC 2883 §4).
pub(super) fn twice(heard: &Ack<&SackBlocks>) -> Option<(u64, u64)> {
    let mut blocks = heard.sack.iter().flat_map(|blocks| blocks.iter());
    let (start, end) = blocks.next()?;
    let is_within = blocks.next().is_some_and(|(low, high)| low <= start && end <= high);
    (start < heard.number || is_within).then_some((start, end))
}
