// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender knows of selectively acknowledged data (RFC 6675).

use crate::packet::SackBlocks;

/// Duplicate acknowledgements that make a loss (DupThresh).
const DUP_THRESH: usize = 3;

/// SACKed ranges above the cumulative acknowledgement, and how far the current recovery has retransmitted.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    /// Disjoint, in order.
    sacked: Vec<(u64, u64)>,
    mss: u64,
    /// One past the highest byte retransmitted in this recovery (HighRxt).
    pub(super) high_rxt: u64,
    /// Whether this recovery has made its rescue retransmission (RescueRxt).
    pub(super) rescued: bool,
    /// What is not SACKed below this byte is lost, where the time of sending decides; none: where the count of segments
    /// does.
    lost_edge: Option<u64>,
}

impl Scoreboard {
    pub(super) fn new(mss: u64) -> Self {
        Self { sacked: Vec::new(), mss, high_rxt: 0, rescued: false, lost_edge: None }
    }

    /// Lets the time of sending decide what is lost.
    pub(super) fn decide_by_time(&mut self) {
        self.lost_edge = Some(0);
    }

    /// All below `edge` was sent before something that has arrived; true if that makes more of it lost.
    pub(super) fn raise_lost_edge(&mut self, una: u64, edge: u64) -> bool {
        let known = self.lost_edge.unwrap_or(0).max(una);
        if edge <= known {
            return false;
        }
        self.lost_edge = Some(edge);
        let covered: u64 = self.sacked.iter().map(|&(start, end)| end.min(edge).saturating_sub(start.max(known))).sum();
        covered < edge - known
    }

    /// Nothing is taken for lost any more, nor for repaired.
    pub(super) fn unmark(&mut self, una: u64) {
        self.lost_edge = self.lost_edge.map(|_| 0);
        self.high_rxt = una;
    }

    /// Bytes SACKed above `una`.
    pub(super) fn sacked_bytes(&self, una: u64) -> u64 {
        self.sacked_within(una, u64::MAX)
    }

    /// Bytes SACKed of `from..to`.
    pub(super) fn sacked_within(&self, from: u64, to: u64) -> u64 {
        self.sacked.iter().map(|&(start, end)| end.min(to).saturating_sub(start.max(from))).sum()
    }

    /// Bytes above `una` that were sent again and have not arrived, as far as this recovery knows.
    pub(super) fn repeated_bytes(&self, una: u64) -> u64 {
        self.high_rxt.saturating_sub(una) - self.sacked_within(una, self.high_rxt.max(una))
    }

    /// Where the highest SACKed range begins; 0: nothing is SACKed.
    pub(super) fn highest_start(&self) -> u64 {
        self.sacked.last().map_or(0, |&(start, _)| start)
    }

    /// Update(): takes in the blocks of an acknowledgement of all before `una`; true if one tells something new.
    pub(super) fn update(&mut self, blocks: Option<&SackBlocks>, una: u64, max: u64) -> bool {
        let reached = self.sacked.partition_point(|&(_, end)| end <= una);
        self.sacked.drain(..reached);
        if let Some(first) = self.sacked.first_mut() {
            first.0 = first.0.max(una);
        }
        let mut is_new = false;
        for (start, end) in blocks.into_iter().flat_map(SackBlocks::iter) {
            let (start, end) = (start.max(una), end.min(max));
            if start < end {
                is_new |= self.insert(start, end);
            }
        }
        is_new
    }

    /// One past the highest byte above `una` that the blocks tell of and that is not known to be SACKed.
    pub(super) fn highest_news(&self, blocks: Option<&SackBlocks>, una: u64) -> Option<u64> {
        let news = |(start, end): (u64, u64)| {
            // What of the block is known is its end, or nothing that is above what is new.
            let known = self.sacked.iter().find(|&&(low, high)| low < end && end <= high);
            let end = known.map_or(end, |&(low, _)| low);
            (start.max(una) < end).then_some(end)
        };
        blocks.into_iter().flat_map(SackBlocks::iter).filter_map(news).max()
    }

    fn insert(&mut self, start: u64, end: u64) -> bool {
        let first = self.sacked.partition_point(|r| r.1 < start);
        let after = self.sacked.partition_point(|r| r.0 <= end);
        if first == after {
            self.sacked.insert(first, (start, end));
            return true;
        }
        let (low, high) = (self.sacked[first], self.sacked[after - 1]);
        let is_new = first + 1 < after || start < low.0 || low.1 < end;
        self.sacked[first] = (start.min(low.0), end.max(high.1));
        self.sacked.drain(first + 1..after);
        is_new
    }

    /// Whether the receiver has thrown away what it had SACKed: it asks for byte `una`, which is (RFC 2018 §8).
    pub(super) fn has_reneged(&self, una: u64) -> bool {
        self.sacked.iter().any(|&(start, end)| start <= una && una < end)
    }

    /// The first bytes from `from` on that are not SACKed; the last gap has no end.
    pub(super) fn gap(&self, from: u64) -> (u64, u64) {
        let mut from = from;
        for &(start, end) in &self.sacked {
            if from < start {
                return (from, start);
            }
            from = from.max(end);
        }
        (from, u64::MAX)
    }

    /// Forgets everything: the receiver may have (RFC 2018 §8).
    pub(super) fn clear(&mut self) {
        self.sacked.clear();
        self.high_rxt = 0;
        self.rescued = false;
    }

    /// IsLost() for all at once: what is not SACKed below this byte is lost. Above a lost byte are three SACKed
    /// ranges, or more than two segments of SACKed bytes.
    fn lost_below(&self) -> u64 {
        if let Some(edge) = self.lost_edge {
            return edge;
        }
        let mut bytes = 0;
        for (above, &(start, end)) in self.sacked.iter().rev().enumerate() {
            bytes += end - start;
            if above + 1 >= DUP_THRESH || bytes > (DUP_THRESH as u64 - 1) * self.mss {
                return start;
            }
        }
        0
    }

    /// IsLost(): whether byte `una`, the first unacknowledged, is lost.
    pub(super) fn is_lost(&self, una: u64) -> bool {
        una < self.lost_below() && (self.lost_edge.is_none() || self.sacked.first().is_none_or(|r| r.0 > una))
    }

    /// Whether bytes `start..end` are neither acknowledged up to `una` nor wholly SACKed.
    pub(super) fn is_missing(&self, una: u64, start: u64, end: u64) -> bool {
        end > una && !self.sacked.iter().any(|&(low, high)| low <= start.max(una) && end <= high)
    }

    /// SetPipe(): an estimate of the bytes in the network, of `una..max`.
    pub(super) fn pipe(&self, una: u64, max: u64) -> u64 {
        let lost_below = self.lost_below();
        let mut pipe = 0;
        let mut from = una;
        for (start, end) in self.sacked.iter().copied().chain([(max, max)]) {
            if from < start {
                pipe += start.saturating_sub(from.max(lost_below));
                pipe += self.high_rxt.clamp(from, start) - from;
            }
            from = end;
        }
        pipe
    }

    /// NextSeg() rules 1 and 3: the first hole not yet retransmitted that lies below SACKed data, as `start..end`
    /// of a segment at most, and whether it is lost.
    pub(super) fn next_hole(&self, una: u64) -> Option<(u64, u64, bool)> {
        let mut from = una.max(self.high_rxt);
        for &(start, end) in &self.sacked {
            if from < start {
                return Some((from, start.min(from + self.mss), from < self.lost_below()));
            }
            from = from.max(end);
        }
        // By time all may be lost, with nothing SACKed above.
        let edge = self.lost_edge.unwrap_or(0);
        (from < edge).then(|| (from, edge.min(from + self.mss), true))
    }

    /// NextSeg() rule 4: the last segment that is outstanding and not SACKed, as `start..end`.
    pub(super) fn last_segment(&self, una: u64, max: u64) -> Option<(u64, u64)> {
        let mut end = max;
        let mut floor = una;
        for &(start, stop) in self.sacked.iter().rev() {
            if stop < end {
                floor = stop;
                break;
            }
            end = start;
        }
        (floor < end).then(|| (floor.max(end.saturating_sub(self.mss)), end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 10 bytes, 0 to 100 outstanding, these blocks SACKed.
    fn board(blocks: &[(u64, u64)]) -> Scoreboard {
        let mut board = Scoreboard::new(10);
        for &(start, end) in blocks {
            let mut one = SackBlocks::default();
            one.push(start, end);
            assert!(board.update(Some(&one), 0, 100));
        }
        board
    }

    #[test]
    fn news_ends_where_what_is_known_begins() {
        let known = board(&[(40, 60)]);
        let told = |blocks: &[(u64, u64)], una| {
            let mut heard = SackBlocks::default();
            blocks.iter().for_each(|&(start, end)| heard.push(start, end));
            known.highest_news(Some(&heard), una)
        };
        assert_eq!(told(&[(40, 60)], 0), None);
        assert_eq!(told(&[(20, 60)], 0), Some(40));
        assert_eq!(told(&[(40, 80), (20, 30)], 0), Some(80));
        // What is acknowledged is no news of this kind, as is a duplicate below it.
        assert_eq!(told(&[(10, 20)], 20), None);
        assert_eq!(known.highest_news(None, 0), None);
    }

    #[test]
    fn a_byte_is_lost_below_three_ranges_or_more_than_two_segments() {
        // RFC 6675 §4 IsLost. One SACKed range of two segments: not yet; of two segments and a byte: lost.
        assert!(!board(&[(10, 30)]).is_lost(0));
        assert!(board(&[(10, 31)]).is_lost(0));
        // Three discontiguous ranges, though only six bytes.
        assert!(!board(&[(10, 12), (20, 22)]).is_lost(0));
        assert!(board(&[(10, 12), (20, 22), (30, 32)]).is_lost(0));
    }

    #[test]
    fn the_pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_retransmitted() {
        // RFC 6675 §4 SetPipe. 0..10 lost (40 bytes SACKed above), 50..100 neither: 50 in the pipe.
        let mut board = board(&[(10, 50)]);
        assert_eq!(board.pipe(0, 100), 50);
        // Its retransmission is in the network again: 60.
        board.high_rxt = 10;
        assert_eq!(board.pipe(0, 100), 60);
    }

    #[test]
    fn by_time_all_below_the_edge_is_lost() {
        // RFC 8985 §6.2. One SACKed segment above two that were sent before it: by count nothing is lost.
        let mut board = board(&[(20, 30)]);
        assert_eq!((board.is_lost(0), board.pipe(0, 100)), (false, 90));
        board.decide_by_time();
        assert!(board.raise_lost_edge(0, 20));
        assert_eq!((board.is_lost(0), board.pipe(0, 100), board.sacked_bytes(0)), (true, 70, 10));
        // What is SACKED is not lost by a higher edge, and a lower one says nothing.
        assert!(!board.raise_lost_edge(0, 30));
        assert!(!board.raise_lost_edge(0, 10));
        assert!(board.raise_lost_edge(0, 40));
        // Above the last SACKed byte too: 30..40 is lost, 40..100 in the network.
        board.high_rxt = 20;
        assert_eq!((board.next_hole(0), board.pipe(0, 100)), (Some((30, 40, true)), 80));
    }

    #[test]
    fn holes_come_in_order_and_then_the_rescue() {
        // RFC 6675 §4 NextSeg. Holes 0..10 and 20..40 (two segments) below SACKed data; 70..100 is above it.
        let mut board = board(&[(10, 20), (40, 70)]);
        assert_eq!(board.next_hole(0), Some((0, 10, true)));
        board.high_rxt = 10;
        assert_eq!(board.next_hole(0), Some((20, 30, true)));
        board.high_rxt = 30;
        assert_eq!(board.next_hole(0), Some((30, 40, true)));
        board.high_rxt = 40;
        assert_eq!(board.next_hole(0), None);
        assert_eq!(board.last_segment(0, 100), Some((90, 100)));
        // With the top SACKed too, the last hole.
        assert!(board.insert(70, 100));
        assert_eq!(board.last_segment(0, 100), Some((30, 40)));
    }

    #[test]
    fn old_and_impossible_blocks_tell_nothing() {
        let mut board = board(&[(40, 50)]);
        let mut blocks = SackBlocks::default();
        blocks.push(0, 20);
        blocks.push(100, 120);
        blocks.push(40, 50);
        assert!(!board.update(Some(&blocks), 30, 100));
        assert_eq!(board.pipe(30, 100), 60);
    }
}
