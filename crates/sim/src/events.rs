// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event list: which element wakes next.
//!
//! An entry is "wake element `id` at `at`", sixteen bytes. Those that are near are sorted, and if they are many, those that are far
//! are in a calendar, from which a day's come near as it begins. So a wake costs as much in a list of thousands as in one of dozens.
//! An element has at most one entry, so the list is as long as the network, not the traffic.
//!
//! Entries compare by time, and ties by a hash of time and element, as that is called in the whole network where these are
//! the elements of a part. So ties have a total order that
//! depends on nothing else, neither on who came into the list first nor on what is asked ahead of time; and none wins
//! more often than the other. (Ties by element would let one flow win every race for the last place in a buffer, and starve
//! the rest.)

mod calendar;

use calendar::Calendar;
use lasthop_core::units::Instant;

/// The pending wakes, earliest first.
#[derive(Debug)]
pub struct EventList {
    /// The earliest is the last.
    near: Vec<Entry>,
    far: Calendar,
    /// What comes at this instant or later is far.
    far_from: u64,
    /// The earliest instant, without that of the entry that has been handed out; asked for each packet.
    next: Instant,
    /// What each element is called in the whole network, if these are those of a part; nothing: as it is here.
    names: Vec<u32>,
}

/// Wake an element at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: u64,
    /// The hash, and below it the element.
    tie: u64,
}

/// Entries that may be near, but for those of one instant: a new one is put in its place among them step by step.
const MOST_NEAR: usize = 32;

/// Bits of an entry for the element; the 40 above them hold the hash.
const ID_BITS: u32 = 24;
/// Most elements that a list can tell apart.
pub(crate) const MOST_ELEMENTS: usize = 1 << ID_BITS;

#[inline]
fn pack(at: Instant, id: u32, name: u32) -> Entry {
    // The finaliser of MurmurHash3 over both; a product alone would order the same two elements the same way too often.
    let mut hash = at.as_nanos() ^ u64::from(name).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    Entry { at: at.as_nanos(), tie: (hash >> ID_BITS << ID_BITS) | u64::from(id) }
}

#[inline]
fn unpack(entry: Entry) -> (Instant, u32) {
    (Instant::from_nanos(entry.at), entry.tie as u32 & ((1 << ID_BITS) - 1))
}

impl EventList {
    /// The list of a part of a network, in the whole of which the elements have these `names`, each greater than the one
    /// before: so ties are broken there as here.
    pub(crate) fn of_part(names: Vec<u32>) -> Self {
        Self { near: vec![], far: Calendar::new(), far_from: u64::MAX, next: Instant::MAX, names }
    }

    /// Adds a wake.
    #[inline]
    pub fn push(&mut self, at: Instant, id: u32) {
        let entry = self.entry(at, id);
        self.next = self.next.min(at);
        if entry.at >= self.far_from {
            return self.far.put(entry);
        }
        self.put_near(entry);
        if self.near.len() > MOST_NEAR {
            self.part();
        }
    }

    #[inline(always)]
    fn put_near(&mut self, entry: Entry) {
        let mut place = self.near.len();
        self.near.push(entry);
        while place > 0 && self.near[place - 1] < entry {
            self.near[place] = self.near[place - 1];
            place -= 1;
        }
        self.near[place] = entry;
    }

    #[inline]
    fn entry(&self, at: Instant, id: u32) -> Entry {
        pack(at, id, self.names.get(id as usize).copied().unwrap_or(id))
    }

    /// Whether of two elements that wake in one instant the first wakes before the other.
    pub(crate) fn is_before(&self, at: Instant, id: u32, other: u32) -> bool {
        self.entry(at, id) < self.entry(at, other)
    }

    /// Whether `at` lies before all wakes, without the one that is being served.
    #[inline]
    pub fn is_before_all(&self, at: Instant) -> bool {
        at < self.next
    }

    /// Takes out the earliest wake if it comes before `until`.
    #[inline]
    pub fn pop_before(&mut self, until: Instant) -> Option<(Instant, u32)> {
        if self.near.len() < 2 && self.far_from < u64::MAX {
            self.bring_near();
        }
        let (at, id) = unpack(*self.near.last()?);
        if at >= until {
            return None;
        }
        self.near.pop();
        self.next = self.earliest().unwrap_or(Instant::MAX);
        Some((at, id))
    }

    /// The instant of the earliest wake.
    #[inline]
    pub fn earliest(&self) -> Option<Instant> {
        self.near.last().map(|entry| Instant::from_nanos(entry.at))
    }

    /// The later half of what is near is far from now on, but for what is of the instant of the earliest.
    #[inline(never)]
    fn part(&mut self) {
        let earliest = self.near[self.near.len() - 1].at;
        let from = self.near[self.near.len() - MOST_NEAR / 2].at.max(earliest + 1);
        let later = self.near.partition_point(|entry| entry.at >= from);
        if later > 0 {
            self.far_from = from;
            self.far.start_at(from);
            self.near.drain(..later).for_each(|entry| self.far.put(entry));
        }
    }

    /// Days begin until two entries are near, the earliest and the next, or all.
    #[inline(never)]
    fn bring_near(&mut self) {
        while self.near.len() < 2 && self.far.begin_day() {
            self.near.extend(std::iter::from_fn(|| self.far.take_due()));
            self.near.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.far_from = if self.near.len() < 2 { u64::MAX } else { self.far.start() };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_do_not_depend_on_who_came_first_and_favour_nobody() {
        let winner = |at: u64, ids: [u32; 2]| {
            let mut events = EventList::of_part(vec![]);
            ids.iter().for_each(|&id| events.push(Instant::from_nanos(at), id));
            events.pop_before(Instant::MAX).map(|(_, id)| id)
        };
        let mut wins = 0;
        for at in (0..12_000_000).step_by(1200) {
            assert_eq!(winner(at, [3, 4]), winner(at, [4, 3]));
            wins += u32::from(winner(at, [3, 4]) == Some(3));
        }
        // Of 10 000, binomial: 5000 ± 50.
        assert!((4700..5300).contains(&wins), "{wins}");
    }

    proptest! {
        /// Pops interleaved with pushes come out as from a sorted list, and what comes before all is known.
        #[test]
        fn pops_come_in_order(
            (most, pops) in (prop_oneof![Just(50u64), Just(1000), Just(1_000_000_000)], 0..6),
            steps in prop::collection::vec((0.0..1.0, 0..10), 1..1000),
        ) {
            let mut events = EventList::of_part(vec![]);
            let mut sorted: Vec<(u64, u32)> = vec![];
            let mut now = 0;
            for (id, &(part, die)) in steps.iter().enumerate() {
                // Few are late, most are early: both what is near and what is far get their part.
                let delay = (most as f64 * f64::powi(part, 4)) as u64;
                if die < pops {
                    sorted.sort_unstable_by_key(|&(at, id)| pack(Instant::from_nanos(at), id, id));
                    let expected = (!sorted.is_empty()).then(|| sorted.remove(0));
                    let got = events.pop_before(Instant::MAX).map(|(at, id)| (at.as_nanos(), id));
                    prop_assert_eq!(got, expected);
                    now = got.map_or(now, |(at, _)| at);
                } else {
                    let at = Instant::from_nanos(now + delay);
                    prop_assert_eq!(events.is_before_all(at), sorted.iter().all(|&(other, _)| now + delay < other));
                    events.push(at, id as u32);
                    sorted.push((now + delay, id as u32));
                }
            }
            prop_assert_eq!(events.pop_before(Instant::ZERO), None);
        }
    }
}
