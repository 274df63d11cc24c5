// SPDX-License-Identifier: MIT OR Apache-2.0
//! The line of one sender, with little memory for the segments on it.
//!
//! A network of many flows goes round all its windows in each round-trip time, and finds nothing of them in the cache. But most
//! segments follow the one before without a gap, are as long, and often as much later as that was: then all of them take one
//! word. Whole are kept those that nothing can be said of.

use std::collections::VecDeque;

use super::{Chain, Path, Plain, Way};
use crate::tcp::Segment;
use crate::units::{Bytes, Duration, Instant};

/// Bits of a word for how long ago what a segment echoes was sent \[ns\], and for the time since the segment before \[ns\]; those
/// above them count the segments of a run.
const AGO_BITS: u32 = 32;
const LATER_BITS: u32 = 26;
const TIMES_BITS: u32 = AGO_BITS + LATER_BITS;
/// Most segments of a run.
const MOST: u64 = (1 << (64 - TIMES_BITS)) - 1;
/// A run of none: the next words are a whole segment.
const WHOLE: u64 = 0;

/// Segments of which each follows the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The lower bits of a word.
    times: u64,
    segments: u64,
}

/// A path without losses and the segments of its one sender on it. A segment tells when it came, so when it is out need not be known
/// before it is the head.
#[derive(Debug)]
pub struct SegmentLine {
    /// The head, if there is one.
    head: Segment,
    /// Where the last one ends, and when it was sent.
    end: u64,
    sent: Instant,
    /// Segments on the line.
    len: u32,
    /// Size and payload of those in runs.
    size: u32,
    payload: u16,
    /// Behind the head the runs that are being taken and put, and what is between them.
    first: Run,
    last: Run,
    between: VecDeque<u64>,
    path: Plain,
    /// What is crossed instead of it, where there is jitter or more than one rate.
    chain: Option<Box<Chain>>,
}

impl SegmentLine {
    /// An empty line over a path without losses; none over another.
    pub fn new(path: &Path) -> Option<Self> {
        let (path, chain) = match &path.0 {
            Way::Delay(delay) => (Plain::new(None, *delay), None),
            Way::Plain(plain) => (plain.clone(), None),
            Way::Chain(chain) if chain.loses() => return None,
            Way::Chain(chain) => (Plain::new(None, Duration::ZERO), Some(chain.clone())),
        };
        let head = Segment { seq: 0, sent: Instant::ZERO, echo: Instant::ZERO, size: 0, payload: 0, is_pushed: false };
        let (first, last, between) = (Run::default(), Run::default(), VecDeque::new());
        let (end, sent) = (0, Instant::ZERO);
        Some(Self { head, end, sent, len: 0, size: 0, payload: 0, first, last, between, path, chain })
    }

    /// Puts a segment on the line as it is sent. Gives the instant at which it is out, if it is the head.
    #[inline(always)]
    pub fn put(&mut self, segment: Segment) -> Option<Instant> {
        let is_head = self.len == 0;
        self.len += 1;
        if is_head {
            self.head = segment;
            (self.size, self.payload) = (segment.size, segment.payload);
        } else {
            self.put_behind(&segment);
        }
        (self.end, self.sent) = (segment.seq + u64::from(segment.payload), segment.sent);
        if is_head { Some(self.transit(segment.sent, segment.size())) } else { None }
    }

    #[inline(always)]
    fn put_behind(&mut self, segment: &Segment) {
        let sent = segment.sent.as_nanos();
        let (later, ago) = (sent - self.sent.as_nanos(), sent.wrapping_sub(segment.echo.as_nanos()));
        let follows = segment.seq == self.end && segment.payload == self.payload && segment.size == self.size;
        if follows && !segment.is_pushed && later >> LATER_BITS == 0 && ago >> AGO_BITS == 0 {
            let times = later << AGO_BITS | ago;
            if times == self.last.times && self.last.segments < MOST {
                self.last.segments += 1;
            } else {
                self.end_run(Run { times, segments: 1 });
            }
        } else {
            self.put_whole(&{ *segment }); // a copy, so that others need not be in memory
        }
    }

    #[inline(never)]
    fn end_run(&mut self, next: Run) {
        let Run { times, segments } = std::mem::replace(&mut self.last, next);
        if segments > 0 {
            if self.between.len() == self.between.capacity() {
                self.make_room();
            }
            self.between.push_back(segments << TIMES_BITS | times);
        }
    }

    /// By a quarter: doubling would leave half of it empty, in each of many flows.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.between.reserve_exact((self.between.len() / 4).max(8));
    }

    #[cold]
    #[inline(never)]
    fn put_whole(&mut self, segment: &Segment) {
        let &Segment { seq, sent, echo, size, payload, is_pushed } = segment;
        let lengths = u64::from(size) << 32 | u64::from(payload) << 16 | u64::from(is_pushed);
        self.end_run(Run::default());
        self.between.extend([WHOLE, seq, sent.as_nanos(), echo.as_nanos(), lengths]);
    }

    /// Segments on the line.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing is on the line.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the head off the line, and gives with it the instant at which the next is out.
    #[inline(always)]
    pub fn take(&mut self) -> Option<(Segment, Option<Instant>)> {
        self.len = self.len.checked_sub(1)?;
        let head = self.head;
        let next = match self.len {
            0 => None,
            _ => {
                if self.first.segments > 0 {
                    self.follow()
                } else {
                    self.take_behind()
                }
                Some(self.transit(self.head.sent, self.head.size()))
            }
        };
        Some((head, next))
    }

    /// When a segment that was sent then is out. A plain path knows the time that the size takes, but for the first; a chain's is
    /// never known, so that who has none pays nothing for it.
    #[inline(always)]
    fn transit(&mut self, sent: Instant, size: Bytes) -> Instant {
        if self.path.sending.0 == size { self.path.follow(sent) } else { self.transit_anew(sent, size) }
    }

    #[cold]
    #[inline(never)]
    fn transit_anew(&mut self, sent: Instant, size: Bytes) -> Instant {
        match &mut self.chain {
            None => self.path.transit(sent, size),
            // Nothing is lost on it.
            Some(chain) => chain.cross(sent, size).unwrap_or(sent),
        }
    }

    /// The next of the first run is the head, as long as the one before.
    #[inline(always)]
    fn follow(&mut self) {
        let Run { times, segments } = &mut self.first;
        *segments -= 1;
        self.head.seq += u64::from(self.head.payload);
        self.head.sent += Duration::from_nanos(*times >> AGO_BITS);
        self.head.echo = Instant::from_nanos(self.head.sent.as_nanos() - (*times & ((1 << AGO_BITS) - 1)));
    }

    /// The next is the head where the first run has been taken.
    #[inline(never)]
    fn take_behind(&mut self) {
        let word = self.between.pop_front();
        if word != Some(WHOLE) {
            self.first = match word {
                None => std::mem::take(&mut self.last),
                Some(word) => Run { times: word & ((1 << TIMES_BITS) - 1), segments: word >> TIMES_BITS },
            };
            self.follow();
            // The one before was perhaps of another size.
            (self.head.size, self.head.payload, self.head.is_pushed) = (self.size, self.payload, false);
            return;
        }
        let mut next = || self.between.pop_front().unwrap_or_default();
        let (seq, [sent, echo], lengths) = (next(), [next(), next()].map(Instant::from_nanos), next());
        let (size, payload) = ((lengths >> 32) as u32, (lengths >> 16) as u16);
        self.head = Segment { seq, sent, echo, size, payload, is_pushed: lengths & 1 == 1 };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::line::{Line, Wire};
    use crate::loss::Loss;
    use crate::packet::Signal;
    use crate::rng::Streams;
    use crate::units::Rate;

    fn path() -> Path {
        let wire = Wire::new(Some(Rate::from_bps(1_000_000_000)), Duration::from_micros(100), Loss::None);
        Path::new(None, vec![wire, Wire::delay(Duration::from_micros(7))])
    }

    #[test]
    fn a_path_that_loses_keeps_packets() {
        let lossy =
            Wire::new(None, Duration::ZERO, Loss::Bernoulli { p: 0.5, stream: Streams::new(1).stream("a", "b") });
        assert!(SegmentLine::new(&Path::new(None, vec![lossy])).is_none());
    }

    #[test]
    fn what_follows_in_step_takes_no_room() {
        let mut line = SegmentLine::new(&path()).unwrap();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        for (ms, seq) in [(1, 0), (2, 10), (3, 20), (4, 30), (6, 40), (9000, 50), (9001, 10)] {
            line.put(Segment { seq, sent: at(ms), echo: at(ms - 1), size: 50, payload: 10, is_pushed: false });
        }
        // The head, a run of three, one that comes later, one that is late, one that is repeated.
        assert_eq!((line.len(), line.between.len()), (7, 1 + 1 + 5 + 5));
    }

    proptest! {
        /// Whatever is put on the line comes off it, as packets do, however puts and takes alternate.
        #[test]
        fn segments_leave_as_packets_do(
            steps in prop::collection::vec((0u8..40, 0u8..40, 0u8..40, 0u8..40, any::<bool>()), 1..400)
        ) {
            let (mut segments, mut packets) = (SegmentLine::new(&path()).unwrap(), Line::new(path()));
            let (mut now, mut seq, mut due) = (Instant::ZERO, 0, None);
            for (wait, hold, back, length, takes) in steps {
                // In step, but for one of some forty; likewise the rest.
                now += Duration::from_millis(match wait { 0 => 90, 1 => 2, _ => 1 });
                let echo = Instant::from_nanos(now.as_nanos().saturating_sub(if hold == 0 { 5_000_000_000 } else { 7 }));
                let payload = if length == 0 { 1400 } else { 700 };
                seq = if back == 0 { seq / 2 } else { seq };
                let is_pushed = back == 1;
                let segment = Segment { seq, sent: now, echo, size: u32::from(payload) + 40, payload, is_pushed };
                seq += u64::from(payload);
                due = segments.put(segment).or(due);
                packets.receive(now, segment.into_packet(0, Signal::None));
                if takes && segments.len() > 100 {
                    let (head, next) = segments.take().unwrap();
                    let departure = packets.take(Instant::MAX).unwrap();
                    prop_assert_eq!((head, due), (Segment::of(&departure.packet), Some(departure.at)));
                    due = next;
                }
                prop_assert_eq!(segments.len(), packets.len());
            }
        }
    }
}
