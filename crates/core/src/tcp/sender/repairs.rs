// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which retransmissions are lost: those behind which something has arrived that was sent later (RFC 8985 §6.2).

use std::collections::VecDeque;

use crate::units::{Duration, Instant};

/// The retransmissions of a recovery, in a box, as few senders ask which of them are lost. Every acknowledgement tells when
/// what caused it was sent, so none is taken for that of an earlier transmission.
#[derive(Clone, Debug, Default)]
pub(super) struct Repairs(Option<Box<Lists>>);

#[derive(Clone, Debug, Default)]
struct Lists {
    /// First byte, end, when it was sent, in this order.
    under_way: VecDeque<(u64, u64, Instant)>,
    /// First byte and end of those that are lost.
    lost: VecDeque<(u64, u64)>,
}

impl Repairs {
    /// Bytes `start..end` were sent again.
    pub(super) fn sent(&mut self, start: u64, end: u64, now: Instant) {
        self.0.get_or_insert_default().under_way.push_back((start, end, now));
    }

    /// Something that was sent at `sent` has arrived: what was sent more than `reordering` before it, and has not, is
    /// lost. `is_missing` says so of `start..end`. When the last of them was sent that are found lost now; none: none are.
    pub(super) fn arrived(
        &mut self,
        sent: Instant,
        reordering: Duration,
        is_missing: impl Fn(u64, u64) -> bool,
    ) -> Option<Instant> {
        let Lists { under_way, lost } = self.0.as_deref_mut()?;
        let mut latest = None;
        while let Some(&(start, end, when)) = under_way.front() {
            if when + reordering >= sent {
                break;
            }
            under_way.pop_front();
            if is_missing(start, end) {
                lost.push_back((start, end));
                latest = Some(when);
            }
        }
        lost.retain(|&(start, end)| is_missing(start, end));
        latest
    }

    /// The timer went off: what was sent by `due` and `is_missing` is lost, and what begins before `first` in any case. Lost ones are
    /// sent again in the order of their bytes.
    pub(super) fn give_up(&mut self, first: u64, due: Instant, is_missing: impl Fn(u64, u64) -> bool) {
        let Some(Lists { under_way, lost }) = self.0.as_deref_mut() else { return };
        under_way.retain(|&(start, end, when)| {
            let is_kept = start >= first && when > due;
            if !is_kept {
                lost.push_back((start, end));
            }
            is_kept
        });
        lost.retain(|&(start, end)| is_missing(start, end));
        let lost = lost.make_contiguous();
        lost.sort_unstable();
    }

    /// When the last of those was sent that are acknowledged up to `una`, of those sent by `latest`; none: none was.
    pub(super) fn acknowledged(&self, una: u64, latest: Instant) -> Option<Instant> {
        let under_way = self.0.iter().flat_map(|lists| &lists.under_way);
        under_way.filter(|&&(_, end, when)| end <= una && when <= latest).map(|&(.., when)| when).max()
    }

    /// Bytes of lost retransmissions that have not been sent again.
    pub(super) fn lost_bytes(&self) -> u64 {
        self.0.iter().flat_map(|lists| &lists.lost).map(|(start, end)| end - start).sum()
    }

    /// The lost retransmission that is to be sent again first.
    pub(super) fn take_lost(&mut self) -> Option<(u64, u64)> {
        self.0.as_mut()?.lost.pop_front()
    }

    /// When the segment that begins at `una` was last sent again, of what is under way.
    pub(super) fn last_sent(&self, una: u64) -> Option<Instant> {
        let under_way = self.0.iter().flat_map(|lists| &lists.under_way);
        under_way.filter(|&&(start, end, _)| start <= una && una < end).map(|&(.., when)| when).max()
    }

    /// All before `una` is acknowledged.
    pub(super) fn forget(&mut self, una: u64) {
        if let Some(Lists { under_way, lost }) = self.0.as_deref_mut() {
            under_way.retain(|&(_, end, _)| end > una);
            lost.retain(|&(_, end)| end > una);
        }
    }

    /// Nothing that was sent again counts any more.
    pub(super) fn clear(&mut self) {
        if let Some(lists) = &mut self.0 {
            lists.under_way.clear();
            lists.lost.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Duration = Duration::ZERO;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn what_was_sent_before_an_arrival_is_lost() {
        let mut repairs = Repairs::default();
        repairs.sent(0, 10, at(1));
        repairs.sent(20, 30, at(2));
        repairs.sent(40, 50, at(3));
        // That of 1 ms may have been what arrived; only what came before it is lost.
        assert_eq!(repairs.arrived(at(1), NONE, |_, _| true), None);
        assert_eq!(repairs.lost_bytes(), 0);
        assert_eq!(repairs.arrived(at(3), NONE, |start, _| start != 20), Some(at(1)));
        assert_eq!((repairs.lost_bytes(), repairs.take_lost(), repairs.take_lost()), (10, Some((0, 10)), None));
    }

    #[test]
    fn the_timer_leaves_what_was_sent_since() {
        let mut repairs = Repairs::default();
        repairs.sent(0, 10, at(30));
        repairs.sent(20, 30, at(10));
        repairs.sent(40, 50, at(20));
        repairs.sent(60, 70, at(30));
        assert_eq!((repairs.last_sent(0), repairs.last_sent(10)), (Some(at(30)), None));
        // The first is lost whenever it was sent; 20 to 30 have arrived.
        repairs.give_up(10, at(20), |start, _| start != 20);
        assert_eq!(
            (repairs.take_lost(), repairs.take_lost(), repairs.take_lost()),
            (Some((0, 10)), Some((40, 50)), None)
        );
        repairs.forget(70);
        assert_eq!(repairs.last_sent(60), None);
    }

    #[test]
    fn packets_may_overtake_each_other_a_little() {
        let mut repairs = Repairs::default();
        repairs.sent(0, 10, at(10));
        repairs.arrived(at(15), Duration::from_millis(5), |_, _| true);
        assert_eq!(repairs.lost_bytes(), 0);
        repairs.arrived(at(16), Duration::from_millis(5), |_, _| true);
        assert_eq!(repairs.lost_bytes(), 10);
        // It has come after all.
        repairs.arrived(at(17), Duration::from_millis(5), |_, _| false);
        assert_eq!(repairs.lost_bytes(), 0);
    }
}
