// SPDX-License-Identifier: MIT OR Apache-2.0
//! The field of the header: what a sender may rely on, whatever the numbers are.

use std::collections::VecDeque;

use lasthop_core::law::share::equations;
use lasthop_core::law::station;
use lasthop_fixed::proxy;
use lasthop_fixed::state::{FlowRecord, PacketRecord};
use lasthop_fixed::window::*;
use proptest::prelude::*;

/// Where a field says that the window ends.
fn edge_of(ack: u32, field: u16, scale: u32) -> u32 {
    ack.wrapping_add(u32::from(field) << scale)
}

proptest! {
    /// A receiver with room enough, and a law that wants anything.
    #[test]
    fn no_edge_moves_left_and_no_window_is_zero(
        start in any::<u32>(),
        scale in 0..=14u32,
        acks in prop::collection::vec((0..100_000u32, 1..1u64 << 34), 1..200),
    ) {
        let (mut ack, mut edge, mut said) = (start, start, start);
        for (advance, wanted) in acks {
            // An ACK advances within what was allowed.
            ack = ack.wrapping_add(advance.min(said.wrapping_sub(ack)));
            edge = right_edge(ack, wanted, edge);
            let field = window_field(ack, edge, scale, u16::MAX);
            prop_assert!(field > 0);
            let next = edge_of(ack, field, scale);
            prop_assert_eq!(is_after(said, next), 0, "{} {}", said, next);
            prop_assert!(field == u16::MAX || is_after(edge, next) == 0);
            // Rounded up, even the largest field may end later than the law's edge.
            if is_after(next, edge) != 0 {
                edge = next;
            }
            said = next;
        }
    }

    #[test]
    fn what_receivers_hold_back(bytes in 0u64..1u64 << 34, part in 0f64..20.0, held in 0f64..1.0, segments in 2u32..17, timed in 0u64..100_000, mss in 100u32..9000) {
        let held = (held * f64::from(mss * (segments - 1)) / 2.0) as u32;
        for bytes in [bytes, (part * f64::from(mss)) as u64] {
            let exact = station::equations::beside_held(bytes as f64, mss.into(), held.into(), (mss * segments).into(), timed as f64);
            let least = f64::from(mss * segments) - f64::from(held).max(0.5 * f64::from(mss));
            let is_close = (bytes as f64 - least).abs() < 2.0;
            let found = beside_held(bytes, mss, held, mss * segments, timed);
            prop_assert!((found as f64 - exact).abs() < if is_close { 0.1 * f64::from(mss) } else { 50.0 }, "{found}, {exact}");
        }
    }

    #[test]
    fn a_window_is_never_raised(ack in any::<u32>(), edge in any::<u32>(), scale in 0..=14u32, own in any::<u16>()) {
        let field = window_field(ack, edge, scale, own);
        prop_assert!(field <= own && (field > 0 || own == 0));
    }

    #[test]
    fn duplicates_stay_duplicates(ack in any::<u32>(), window in 1..1u64 << 30, scale in 0..=14u32) {
        let edge = right_edge(ack, window, ack);
        let field = window_field(ack, edge, scale, u16::MAX);
        prop_assert_eq!(window_field(ack, right_edge(ack, 1, edge), scale, u16::MAX), field);
        let exact = window.div_ceil(1 << scale).min(65_535);
        prop_assert_eq!(u64::from(field), exact);
    }

    #[test]
    fn segments_are_whole_and_the_mean_is_the_window(window in 0..1u64 << 34, mss in 1..65_536u32, random in any::<u32>()) {
        // floor(w/mss + U), exactly.
        let (w, segment) = (u128::from(window), u128::from(mss));
        let whole = ((w << 32) + u128::from(random) * segment) / (segment << 32);
        prop_assert_eq!(u128::from(whole_segments(window, mss, random)), whole.max(1) * segment);
        // The law itself, where its floating point is not on the edge of a segment.
        let dither = f64::from(random) / 4_294_967_296.0;
        let segments = window as f64 / f64::from(mss) + dither;
        if (segments - libm::round(segments)).abs() > 1e-6 {
            prop_assert_eq!(whole_segments(window, mss, random) as f64, equations::advertised(window as f64, f64::from(mss), dither));
        }
    }
}

#[test]
fn what_fields_say_is_the_window_in_the_mean() {
    for scale in 0..=10 {
        let windows = 20_000..20_000 + (1u64 << scale);
        let said: u64 = windows
            .clone()
            .map(|window| {
                let edge = right_edge(0, window_before_rounding(window, scale), 0);
                u64::from(window_field(0, edge, scale, u16::MAX)) << scale
            })
            .sum();
        // To half a byte.
        assert!(said.abs_diff(windows.clone().sum()) <= (1 << scale) / 2, "{scale}");
    }
    assert_eq!([window_before_rounding(100, 10), window_before_rounding(100, 0)], [0, 100]);
}

#[test]
fn an_edge_behind_the_ack_leaves_the_field_alone() {
    assert_eq!(window_field(1000, 1000, 7, 500), 500);
    assert_eq!(window_field(1000, 900, 7, 500), 500);
    assert_eq!(whole_segments(5, 0, 0), 5);
}

/// A connection whose segments have so much payload.
fn flow(mss: u32) -> FlowRecord {
    let mut flow = FlowRecord::default();
    flow.mss = mss;
    flow
}

/// A connection whose segments of 1448 B are acknowledged by twos 30 ms after the second, and take 1 ms each on the line.
struct Twos {
    flow: FlowRecord,
    /// What is under way: when its acknowledgement comes, and of what.
    acks: VecDeque<(u64, u32)>,
    now_ns: u64,
    pairs: u32,
}

impl Twos {
    const MSS: u32 = 1448;
    const MS: u64 = 1_000_000;

    fn new() -> Self {
        Self { flow: flow(Self::MSS), acks: VecDeque::new(), now_ns: Self::MS, pairs: 0 }
    }

    /// So many pairs go on, each segment so long after the one before \[ms\].
    fn go_on(&mut self, pairs: u32, gaps_ms: [u64; 2]) -> &mut Self {
        for _ in 0..pairs {
            self.pairs += 1;
            let last = 2 * self.pairs * Self::MSS;
            for (gap_ms, end) in gaps_ms.into_iter().zip([last - Self::MSS, last]) {
                self.pause(gap_ms);
                let is_first = i32::from(self.acks.is_empty() && end != last);
                proxy::apart(&mut self.flow, self.now_ns, end, Self::MSS, is_first);
            }
            self.acks.push_back((self.now_ns + 30 * Self::MS, last));
        }
        self
    }

    fn pause(&mut self, ms: u64) -> &mut Self {
        self.now_ns += ms * Self::MS;
        while let Some((at_ns, ack)) = self.acks.front().copied().filter(|&(at_ns, _)| at_ns <= self.now_ns) {
            self.acks.pop_front();
            proxy::was_apart(&mut self.flow, at_ns, ack, 2 * Self::MSS, 1000 * u64::from(Self::MSS));
        }
        self
    }

    #[track_caller]
    fn holds(&mut self, bytes: std::ops::RangeInclusive<u32>) -> &mut Self {
        let held_bytes = proxy::held_bytes(&self.flow);
        assert!(bytes.contains(&held_bytes), "{held_bytes}");
        self
    }
}

#[test]
fn pairs_leave_little_with_a_receiver_and_paced_segments_half_of_one() {
    // As long as nothing is known, and at most.
    Twos::new().holds(724..=724).go_on(100, [1, 19]).holds(724..=724);
    // 1 ms of each 20, the segment's own on the line, until they are paced, and again.
    Twos::new()
        .go_on(200, [20, 0])
        .holds(60..=90)
        .go_on(600, [10, 10])
        .holds(690..=724)
        .go_on(600, [20, 0])
        .holds(60..=100);
    // 5 ms of 20.
    Twos::new().go_on(600, [15, 5]).holds(350..=375);
    // A pause says nothing of what is held back.
    Twos::new().go_on(600, [10, 10]).pause(600_000).go_on(4, [10, 10]).holds(690..=724);
}

/// What a connection's segments are taken for that were 8948 B at most, after some of `payload` while so much is under way.
fn taken_for(payload: u32, count: u32, under_way_bytes: u64) -> u32 {
    let mut alike = [0; 3];
    let segment = |number: u32| PacketRecord { payload, segment: payload, seq: number * payload, ..Default::default() };
    (0..count).fold(8948, |mss, number| largest_segment(&mut alike, mss, &segment(number), under_way_bytes))
}

#[test]
fn segments_are_as_large_as_those_that_come_where_more_of_them_would_be_sent() {
    assert_eq!((taken_for(1448, 15, 10_000), taken_for(1448, 16, 10_000)), (8948, 1448));
    assert_eq!(taken_for(9000, 1, 0), 9000);
    // Its application sends little at a time, or little.
    assert_eq!((taken_for(1448, 100, 4000), taken_for(400, 100, 10_000)), (8948, 8948));
    // The ends of what it sends are smaller, now and then.
    let (mut alike, mut mss, mut seq) = ([0; 3], 1448, 0);
    for number in 0..1000 {
        let payload = if number % 10 == 9 { 700 } else { 1448 };
        let packet = PacketRecord { payload, segment: payload, seq, ..Default::default() };
        mss = largest_segment(&mut alike, mss, &packet, 20_000);
        seq += payload;
    }
    assert_eq!(mss, 1448);
}

#[test]
fn an_ack_that_is_not_heard_says_no_window_that_the_next_one_takes_back() {
    let mut flow = FlowRecord::default();
    flow.window_bytes = 2880;
    // It acknowledges all that was allowed.
    let ack = PacketRecord { window: 20_000, ..Default::default() };
    assert_eq!(proxy::field(&mut flow, &ack), 2880);
    assert_eq!(proxy::field(&mut flow, &ack), 2880);
    // One of what was never sent moves nothing.
    let forged = PacketRecord { ack: 1 << 31, ..ack };
    assert_eq!((proxy::field(&mut flow, &forged), proxy::field(&mut flow, &ack)), (20_000, 2880));
    // Before anything is known of the queue it is the client's own.
    assert_eq!(proxy::field(&mut FlowRecord::default(), &ack), 20_000);
}
