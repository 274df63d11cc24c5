// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event list: which element wakes next.
//!
//! An entry is "wake element `id` at `at`", sixteen bytes, in a heap with four children a node: half the depth of a
//! binary heap, and the four children of a node are one cache line. An element has at most one entry, so the list is as
//! long as the network, not the traffic.
//!
//! Entries compare by time, and ties by a hash of time and element, as that is called in the whole network where these are
//! the elements of a part. So ties have a total order that
//! depends on nothing else, neither on who came into the list first nor on what is asked ahead of time; and none wins
//! more often than the other. (Ties by element would let one flow win every race for the last place in a buffer, and starve
//! the rest.)

use lasthop_core::units::Instant;

/// The pending wakes, earliest first.
#[derive(Debug)]
pub struct EventList {
    /// The root is the last of the first four; the children of entry number i, counted from it, are the four of number i + 1.
    heap: Vec<Four>,
    /// Entries, with the one that has been handed out.
    len: usize,
    /// The root has been handed out: the next entry may take its place, which saves a removal.
    hole: bool,
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

/// Four entries in a cache line, their instants side by side: mostly these alone are compared.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Four {
    at: [u64; 4],
    tie: [u64; 4],
}

/// Where the root is.
const ROOT: (usize, usize) = (0, 3);
/// No entry: later than all.
const NONE: Entry = Entry { at: u64::MAX, tie: u64::MAX };

impl Four {
    #[inline(always)]
    fn get(&self, lane: usize) -> Entry {
        Entry { at: self.at[lane], tie: self.tie[lane] }
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, entry: Entry) {
        (self.at[lane], self.tie[lane]) = (entry.at, entry.tie);
    }

    /// Where the least is, and its instant: a tournament without branches by the instants, and another by all if it comes in the instant of a second.
    #[inline(always)]
    fn least(&self) -> (usize, u64) {
        let [at0, at1, at2, at3] = self.at;
        let (a, first) = if at1 < at0 { (1, at1) } else { (0, at0) };
        let (b, second) = if at3 < at2 { (3, at3) } else { (2, at2) };
        let (least, at) = if second < first { (b, second) } else { (a, first) };
        if first == second || self.at[least ^ 1] == at { (self.least_of_ties(), at) } else { (least, at) }
    }

    #[cold]
    #[inline(never)]
    fn least_of_ties(&self) -> usize {
        (0..4).min_by_key(|&lane| self.get(lane)).unwrap_or_default()
    }
}

/// Where entry number `i` is.
#[inline]
fn place(i: usize) -> (usize, usize) {
    let slot = i + 3;
    (slot / 4, slot % 4)
}

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
        Self { heap: vec![], len: 0, hole: false, next: Instant::MAX, names }
    }

    /// Adds a wake.
    #[inline]
    pub fn push(&mut self, at: Instant, id: u32) {
        let entry = self.entry(at, id);
        self.next = self.next.min(at);
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.sift_up(place(self.len), entry);
            self.len += 1;
        }
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
        if self.hole {
            self.remove_root();
        }
        let (at, id) = unpack(self.heap.first()?.get(ROOT.1));
        if at >= until || self.len == 0 {
            return None;
        }
        self.hole = true;
        let next = self.heap.get(1).map_or(u64::MAX, |below| below.least().1);
        self.next = Instant::from_nanos(next);
        Some((at, id))
    }

    /// The instant of the wake that was served last, or else of the earliest.
    pub fn earliest(&self) -> Option<Instant> {
        (self.len > 0).then(|| unpack(self.heap[ROOT.0].get(ROOT.1)).0)
    }

    #[inline]
    fn remove_root(&mut self) {
        self.hole = false;
        self.len -= 1;
        let (four, lane) = place(self.len);
        let last = self.heap[four].get(lane);
        self.heap[four].set(lane, NONE);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    #[inline]
    fn sift_up(&mut self, (mut four, mut lane): (usize, usize), entry: Entry) {
        if four == self.heap.len() {
            self.heap.push(Four { at: [NONE.at; 4], tie: [NONE.tie; 4] });
        }
        while four > 0 {
            let parent = place(four - 1);
            let above = self.heap[parent.0].get(parent.1);
            if above <= entry {
                break;
            }
            self.heap[four].set(lane, above);
            (four, lane) = parent;
        }
        self.heap[four].set(lane, entry);
    }

    /// Puts `entry` in place of the root.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let (mut four, mut lane) = ROOT;
        loop {
            let below = 4 * four + lane - 2;
            let Some(children) = self.heap.get(below) else { break };
            let (least, at) = children.least();
            let child = Entry { at, tie: children.tie[least] };
            if entry.at <= at && entry <= child {
                break;
            }
            self.heap[four].set(lane, child);
            (four, lane) = (below, least);
        }
        self.heap[four].set(lane, entry);
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
        fn pops_come_in_order(steps in prop::collection::vec((0u64..50, any::<bool>()), 1..300)) {
            let mut events = EventList::of_part(vec![]);
            let mut sorted: Vec<(u64, u32)> = vec![];
            let mut now = 0;
            for (id, &(delay, pop)) in steps.iter().enumerate() {
                if pop {
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
