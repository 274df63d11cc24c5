// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a receiver holds above the next byte it expects.

use std::collections::VecDeque;

use crate::packet::SackBlocks;

/// Ranges of bytes received out of order: disjoint, in order, none adjacent to another. Most of what comes out of order is
/// behind all of them, and what ends the wait for the first takes it off the front; neither moves the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    ranges: VecDeque<Range>,
    insertions: u64,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    /// Which insertion last touched the range: the order in which SACK blocks are reported.
    touched: u64,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many bytes are held.
    pub(super) fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// One past the last byte held; 0: none is.
    pub(super) fn highest(&self) -> u64 {
        self.ranges.back().map_or(0, |range| range.end)
    }

    /// Adds the bytes `start..end`, at least one; false if all of them were there.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> bool {
        self.insertions += 1;
        if let Some(last) = self.ranges.back_mut().filter(|last| last.end == start) {
            (last.end, last.touched) = (end, self.insertions);
            return true;
        }
        let first = self.ranges.partition_point(|r| r.end < start);
        let after = self.ranges.partition_point(|r| r.start <= end);
        let mut merged = Range { start, end, touched: self.insertions };
        if first == after {
            self.ranges.insert(first, merged);
            return true;
        }
        let (low, high) = (self.ranges[first], self.ranges[after - 1]);
        let is_new = first + 1 < after || start < low.start || low.end < end;
        merged.start = merged.start.min(low.start);
        merged.end = merged.end.max(high.end);
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..after);
        is_new
    }

    /// All before `next` is delivered: drops the ranges that `next` reaches and gives the first byte still missing.
    pub(super) fn deliver(&mut self, next: u64) -> u64 {
        let reached = self.ranges.partition_point(|r| r.start <= next);
        let missing = self.ranges.range(..reached).fold(next, |next, r| next.max(r.end));
        self.ranges.drain(..reached);
        missing
    }

    /// The three ranges touched last, the latest first (RFC 2018 §4).
    pub(super) fn sack_blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut before = u64::MAX;
        for _ in 0..3 {
            let Some(range) = self.ranges.iter().filter(|r| r.touched < before).max_by_key(|r| r.touched) else {
                break;
            };
            blocks.push(range.start, range.end);
            before = range.touched;
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(ranges: &Ranges) -> Vec<(u64, u64)> {
        ranges.sack_blocks().iter().collect()
    }

    #[test]
    fn ranges_merge_where_they_touch() {
        let mut ranges = Ranges::default();
        assert!(ranges.insert(10, 20));
        assert!(ranges.insert(30, 40));
        assert_eq!(blocks(&ranges), [(30, 40), (10, 20)]);
        assert!(ranges.insert(20, 30));
        assert_eq!(blocks(&ranges), [(10, 40)]);
        assert!(!ranges.insert(12, 38));
        assert!(ranges.insert(5, 45));
        assert_eq!(blocks(&ranges), [(5, 45)]);
    }

    #[test]
    fn delivery_takes_what_it_reaches() {
        let mut ranges = Ranges::default();
        ranges.insert(10, 20);
        ranges.insert(30, 40);
        assert_eq!(ranges.deliver(5), 5);
        assert_eq!(ranges.deliver(10), 20);
        assert_eq!(blocks(&ranges), [(30, 40)]);
        assert_eq!(ranges.deliver(35), 40);
        assert!(ranges.is_empty());
    }

    #[test]
    fn three_blocks_at_most_the_latest_first() {
        let mut ranges = Ranges::default();
        for start in [10, 30, 50, 70] {
            ranges.insert(start, start + 10);
        }
        ranges.insert(35, 40);
        assert_eq!(blocks(&ranges), [(30, 40), (70, 80), (50, 60)]);
    }
}
