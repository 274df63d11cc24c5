// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links to which the acknowledgements of several flows come, each over a path of its own.
//!
//! ```text
//!   data ──► link ─D─► exit ──► receiver ── path ──► link on the way back ──► host
//!                   └────────── lead at least ─────► A ≥ D + lead
//! ```
//!
//! The link on the way back must be asked in order of A, the instants at which acknowledgements come. Where all the data behind them
//! leaves one link, that is known early: data leaves in order of time, so what leaves after D causes nothing that comes before
//! D + lead. What comes by then needs no event. One entry in the event list, for the first to come, is there for the time when no
//! more data leaves, and is put off whenever it is due and the first to come is not. Where data leaves several links, each
//! acknowledgement has an event.
//!
//! Often all packets are alike and take equally long, once each flow has opened with a SYN, which is short. Then acknowledgements come
//! in the order in which data leaves, and from then on nothing need be merged.

use std::collections::VecDeque;

use lasthop_core::packet::Ack;
use lasthop_core::units::{Duration, Instant};

/// The acknowledgements on their way to such a link, merged in order of time.
#[derive(Debug)]
pub(crate) struct Merge {
    /// The least time between a departure of data and the arrival of its acknowledgement, where all data leaves one link.
    lead: Option<Duration>,
    coming: VecDeque<Coming>,
    /// When the entry in the event list is due, and its lane. Others are of no more use.
    entry: Option<(Instant, u32)>,
    /// If all takes equally long once all flows are open: the first of them that was not, when somebody looked.
    pub(crate) opening: Option<u32>,
}

/// An acknowledgement of flow `flow` that comes at `at` in the place of what is on `lane`.
#[derive(Debug)]
pub(crate) struct Coming {
    pub(crate) at: Instant,
    pub(crate) lane: u32,
    pub(crate) flow: u32,
    pub(crate) ack: Ack,
}

impl Merge {
    pub(crate) fn new(lead: Option<Duration>, opens_alike: bool) -> Self {
        Self { lead, coming: VecDeque::new(), entry: None, opening: opens_alike.then_some(0) }
    }

    /// Puts one in order; `is_before` tells which of two lanes wakes first where both do at one instant.
    #[inline(always)]
    pub(crate) fn put(&mut self, new: Coming, is_before: impl Fn(u32, u32) -> bool) {
        if self.coming.back().is_none_or(|last| last.at < new.at) {
            self.coming.push_back(new);
        } else {
            let comes_later =
                |other: &Coming| new.at < other.at || (new.at == other.at && is_before(new.lane, other.lane));
            let behind = self.coming.iter().rev().take_while(|other| comes_later(other)).count();
            self.coming.insert(self.coming.len() - behind, new);
        }
    }

    /// Until when all that comes is known, once data has left at `departure`; none: that is never known.
    #[inline]
    pub(crate) fn known_until(&self, departure: Instant) -> Option<Instant> {
        self.lead.map(|lead| departure + lead)
    }

    /// The same at `now`, when all has been asked that comes before.
    pub(crate) fn known_at(&self, now: Instant) -> Option<Instant> {
        self.lead.map(|_| now)
    }

    /// Takes the first to come if it does at such an instant.
    #[inline(always)]
    pub(crate) fn take_if(&mut self, comes: impl Fn(Instant) -> bool) -> Option<Coming> {
        if comes(self.coming.front()?.at) { self.coming.pop_front() } else { None }
    }

    /// The entry that the event list must have for the first to come, if it has none as early.
    #[inline]
    pub(crate) fn new_entry(&mut self) -> Option<(Instant, u32)> {
        let first = self.coming.front().map(|first| (first.at, first.lane))?;
        if self.entry.is_some_and(|(at, lane)| at < first.0 || (at, lane) == first) {
            return None;
        }
        self.entry = Some(first);
        self.entry
    }

    /// Whether the entry of a lane that is due at `now` is the one that counts, which it then no longer does.
    pub(crate) fn is_due(&mut self, now: Instant, lane: u32) -> bool {
        self.entry.take_if(|entry| *entry == (now, lane)).is_some()
    }

    /// How many are on their way.
    pub(crate) fn len(&self) -> usize {
        self.coming.len()
    }
}

#[cfg(test)]
mod tests {
    use lasthop_core::units::Bytes;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn coming(ms: u64, lane: u32) -> Coming {
        Coming { at: at(ms), lane, flow: lane, ack: Ack::new(0, Bytes::ZERO, 40, at(0)) }
    }

    #[test]
    fn what_is_known_comes_in_order_and_the_rest_has_one_entry() {
        let mut merge = Merge::new(Some(Duration::from_millis(20)), false);
        for (ms, lane) in [(40, 1), (30, 2), (25, 1), (30, 3), (45, 2)] {
            // Of two at once the one with the greater number, so that order of arrival is not enough.
            merge.put(coming(ms, lane), |a, b| a > b);
        }
        let known = merge.known_until(at(10)).unwrap();
        assert_eq!(known, at(30));
        for expected in [(at(25), 1), (at(30), 3), (at(30), 2)] {
            assert_eq!(merge.take_if(|at| at <= known).map(|first| (first.at, first.lane)), Some(expected));
        }
        assert!(merge.take_if(|at| at <= known).is_none() && merge.len() == 2);
        // One entry is enough until something comes earlier.
        assert_eq!((merge.new_entry(), merge.new_entry()), (Some((at(40), 1)), None));
        merge.put(coming(35, 3), |a, b| a > b);
        assert_eq!((merge.new_entry(), merge.new_entry()), (Some((at(35), 3)), None));
        assert!(!merge.is_due(at(40), 1) && merge.is_due(at(35), 3) && !merge.is_due(at(35), 3));
        assert_eq!(merge.new_entry(), Some((at(35), 3)));
        assert_eq!(Merge::new(None, false).known_until(at(10)), None);
    }
}
