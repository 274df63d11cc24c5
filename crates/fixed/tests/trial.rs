// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which segments of a connection bear a price, where that makes some too long for their path.

use lasthop_fixed::passer::{goes, stamps};
use lasthop_fixed::state::{PacketRecord, PasserRecord, StationRecord, TCP_ACK, TCP_SYN};

const MS: u64 = 1_000_000;
/// For so long after one has arrived none is watched.
const SURE_NS: u64 = 100 * MS;
const SECOND: u64 = 1000 * MS;
const FULL: u32 = 1440;

/// A connection of which something new goes on each millisecond, and at once, if that fits, is acknowledged: by ACKs that come this way,
/// or not.
struct Talk {
    passer: PasserRecord,
    station: StationRecord,
    now_ns: u64,
    seq: u32,
    acks: bool,
}

impl Talk {
    fn new(seq: u32) -> Self {
        Self { passer: PasserRecord::default(), station: StationRecord::default(), now_ns: SECOND, seq, acks: true }
    }

    /// Data go on: whether they bear a price.
    fn says(&mut self, seq: u32, payload: u32, segment: u32) -> bool {
        let packet = PacketRecord { seq, payload, segment, flags: TCP_ACK, ..PacketRecord::default() };
        stamps(&mut self.passer, &packet, self.now_ns, 1) == 1
    }

    fn hears(&mut self, ack: u32) {
        if self.acks {
            let packet = PacketRecord { ack, flags: TCP_ACK, ..PacketRecord::default() };
            goes(&mut self.passer, &self.station, &packet, self.now_ns);
        }
    }

    /// A segment, which arrives if `fits` says so of whether it bears a price, or else is sent again; whether it bore one.
    fn turn(&mut self, segment: u32, fits: impl Fn(bool) -> bool) -> bool {
        self.now_ns += MS;
        let is_stamped = self.says(self.seq, segment, segment);
        if !fits(is_stamped) {
            assert!(!self.says(self.seq, segment, segment), "it is sent again");
        }
        self.seq = self.seq.wrapping_add(segment);
        self.hears(self.seq);
        is_stamped
    }

    /// So many segments, which never arrive with a price: when those went that bore one \[ms\].
    fn turns_in_vain(&mut self, segment: u32, count: usize) -> Vec<u64> {
        let began_ns = self.now_ns;
        let mut tried = Vec::new();
        for _ in 0..count {
            if self.turn(segment, |is_stamped| !is_stamped) {
                tried.push((self.now_ns - began_ns) / MS);
            }
        }
        tried
    }
}

#[test]
fn all_that_is_new_bears_a_price_and_nothing_that_is_sent_again() {
    // Sequence numbers go round.
    for seq in [0, 1 << 31, u32::MAX - 5000] {
        let mut talk = Talk::new(seq);
        for _ in 0..20 {
            talk.now_ns += MS;
            assert!(talk.says(talk.seq, FULL, FULL));
            talk.hears(talk.seq.wrapping_add(FULL));
            assert!(!talk.says(talk.seq, FULL, FULL));
            // What has something new behind it, as receive offload joins them, is sent again as well.
            assert!(!talk.says(talk.seq.wrapping_add(1000), FULL, FULL));
            talk.seq = talk.seq.wrapping_add(1000 + FULL);
        }
        // There must be room for it.
        let packet = PacketRecord { seq: talk.seq, payload: FULL, segment: FULL, ..PacketRecord::default() };
        assert_eq!(stamps(&mut talk.passer, &packet, talk.now_ns, 0), 0);
    }
}

#[test]
fn segments_that_never_arrive_with_a_price_are_tried_later_each_time() {
    for acks in [true, false] {
        let mut talk = Talk { acks, ..Talk::new(7) };
        for _ in 0..100 {
            assert!(talk.turn(FULL, |_| true));
        }
        // Not acknowledged, the one that is watched has arrived where its server sends on for four seconds.
        talk.now_ns += 4 * SECOND;
        let tried = talk.turns_in_vain(FULL, 700_000);
        match acks {
            true => assert_eq!(tried, [1, 2, 502, 8502, 40_502, 168_502, 680_502]),
            // The first one went while none was watched.
            false => assert_eq!(tried, [1, 2, 3, 503, 8503, 40_503, 168_503, 680_503]),
        }
        // Smaller ones bear prices meanwhile, and so do all once one arrives.
        assert!(talk.turn(FULL - 8, |_| true));
        assert!(!talk.turn(FULL, |_| true));
        talk.now_ns += 512 * SECOND;
        assert!(talk.turn(FULL, |_| true));
        talk.now_ns += 4 * SECOND;
        for _ in 0..100 {
            assert!(talk.turn(FULL, |_| true));
        }
        assert_eq!((talk.passer.trial.doubted, talk.passer.trial.lost), (0, 0));
    }
}

#[test]
fn only_one_of_a_size_in_doubt_is_under_way() {
    let mut talk = Talk::new(7);
    talk.turns_in_vain(FULL, 1);
    talk.now_ns += SECOND;
    let first = talk.seq;
    let stamped: Vec<bool> = (0..5).map(|i| talk.says(first + i * FULL, FULL, FULL)).collect();
    assert_eq!(stamped, [true, false, false, false, false]);
    // A smaller one that arrives tells nothing of it, nor does an ACK of what is before it or was never sent.
    talk.hears(first);
    talk.hears(first + 100 * FULL);
    assert_eq!((talk.passer.trial.segment, talk.passer.trial.doubted), (FULL, FULL));
    assert!(!talk.says(first + 5 * FULL, FULL, FULL));
    talk.hears(first + FULL);
    assert!(talk.says(first + 6 * FULL, FULL, FULL));
}

#[test]
fn of_a_super_packet_the_first_segment_is_watched() {
    let mut talk = Talk::new(7);
    assert!(talk.says(7, 10 * FULL, FULL));
    talk.now_ns += MS;
    assert!(!talk.says(7 + 3 * FULL, FULL, FULL));
    assert_eq!(talk.passer.trial.lost, 0);
    assert!(!talk.says(7, FULL, FULL));
    assert_eq!((talk.passer.trial.lost, talk.passer.trial.doubted), (1, FULL));
}

#[test]
fn after_a_timeout_all_that_is_under_way_is_lost() {
    for (pause_ms, lost) in [(100, 0), (200, 1)] {
        let mut talk = Talk::new(7);
        assert!(talk.says(7, FULL, FULL));
        talk.hears(7 + FULL);
        for i in 1..4 {
            assert!(talk.says(7 + i * FULL, FULL, FULL));
        }
        // What is sent again lies before the one that is watched.
        talk.hears(7 + 2 * FULL);
        talk.now_ns += SURE_NS;
        assert!(talk.says(7 + 4 * FULL, FULL, FULL));
        talk.now_ns += pause_ms * MS;
        assert!(!talk.says(7 + 2 * FULL, FULL, FULL));
        assert_eq!(talk.passer.trial.lost, lost);
    }
}

#[test]
fn a_path_that_becomes_smaller_still_is_found() {
    let mut talk = Talk::new(7);
    talk.turns_in_vain(FULL, 1000);
    assert_eq!(talk.passer.trial.doubted, FULL);
    talk.turns_in_vain(1000, 1000);
    assert_eq!(talk.passer.trial.doubted, 1000);
    // Segments that fit wherever TCP goes are stamped whatever becomes of them.
    assert_eq!(talk.turns_in_vain(500, 100).len(), 100);
    assert_eq!(talk.passer.trial.doubted, 1000);
}

#[test]
fn losses_by_accident_leave_nearly_all_their_prices() {
    for (loss_percent, part) in [(1, 0.97), (2, 0.95), (5, 0.85)] {
        let mut talk = Talk::new(7);
        let (mut random, mut stamped, turns) = (1_u64, 0, 1_000_000);
        for _ in 0..turns {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let is_lost = (random >> 33) % 100 < loss_percent;
            // Each is watched here; of a connection's one in a round trip of tens of milliseconds is.
            talk.now_ns += 20 * MS;
            stamped += u32::from(talk.turn(FULL, |_| !is_lost));
        }
        assert!(f64::from(stamped) > part * f64::from(turns), "{loss_percent} %: {stamped}");
    }
}

#[test]
fn what_lies_beyond_the_window_tells_nothing_of_what_was_sent() {
    let mut talk = Talk::new(7);
    let opens = |talk: &mut Talk, ack: u32| {
        let packet = PacketRecord { ack, window: 60_000, flags: TCP_ACK, ..PacketRecord::default() };
        goes(&mut talk.passer, &talk.station, &packet, talk.now_ns);
    };
    let syn = PacketRecord { ack: 7, flags: TCP_SYN | TCP_ACK, ..PacketRecord::default() };
    goes(&mut talk.passer, &talk.station, &syn, talk.now_ns);
    opens(&mut talk, 7);
    assert!(talk.says(7, FULL, FULL));
    talk.now_ns += MS;
    opens(&mut talk, 7 + FULL);
    for far in [60_000, 1 << 30] {
        talk.says(7 + FULL + far, FULL, FULL);
        talk.says(7 + FULL + far, FULL, FULL);
    }
    assert!(talk.says(7 + FULL, FULL, FULL));
    assert_eq!(talk.passer.trial.lost, 0);
}

/// Messages of two segments, the second one full, each after the other's ACK: how many of the full ones bore a price that never arrive with it.
fn full_ones_in_vain(gap_ms: u64, at_once: bool) -> usize {
    let (mut talk, mut stamped) = (Talk::new(7), 0);
    for _ in 0..1000 {
        talk.now_ns += 150 * MS;
        assert!(talk.says(talk.seq, 600, 600));
        talk.seq = talk.seq.wrapping_add(600);
        talk.now_ns += gap_ms * MS;
        if !at_once {
            talk.hears(talk.seq);
            talk.now_ns += MS;
        }
        if talk.says(talk.seq, FULL, FULL) {
            stamped += 1;
            talk.now_ns += 20 * MS;
            talk.hears(talk.seq);
            talk.now_ns += 20 * MS;
            assert!(!talk.says(talk.seq, FULL, FULL));
        }
        talk.now_ns += 20 * MS;
        talk.seq = talk.seq.wrapping_add(FULL);
        talk.hears(talk.seq);
    }
    stamped
}

#[test]
fn smaller_ones_that_arrive_do_not_hide_that_full_ones_never_do() {
    for (gap_ms, at_once) in [(20, false), (0, true)] {
        let stamped = full_ones_in_vain(gap_ms, at_once);
        assert!(stamped < 10, "{gap_ms} {at_once}: {stamped}");
    }
}

#[test]
fn smaller_ones_change_nothing_of_when_a_full_one_is_tried() {
    let (mut talk, mut tried) = (Talk::new(7), vec![]);
    for ms in 0..300_000_u64 {
        talk.turn(1000, |_| true);
        if talk.turn(FULL, |is_stamped| !is_stamped) {
            tried.push(ms / 100);
        }
    }
    // Turns of two milliseconds.
    assert_eq!(tried, [0, 0, 2, 42, 202, 842]);
    // After one that was lost by accident all bear prices again, though a smaller one is under way all the while.
    let mut talk = Talk::new(7);
    let (mut under_way, mut stamped) = (vec![], 0);
    for i in 0..1000 {
        talk.now_ns += MS;
        assert!(talk.says(talk.seq, 1000, 1000));
        let small = talk.seq;
        talk.seq += 1000;
        stamped += u32::from(talk.says(talk.seq, FULL, FULL));
        if i == 100 {
            talk.says(talk.seq, FULL, FULL);
        }
        talk.seq += FULL;
        under_way.push(small + 1000);
        under_way.push(small + 1000 + FULL);
        if i >= 20 {
            let acks: Vec<u32> = under_way.drain(..2).collect();
            acks.iter().for_each(|ack| talk.hears(*ack));
        }
    }
    assert!(stamped > 950, "{stamped}");
}
