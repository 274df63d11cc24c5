// SPDX-License-Identifier: MIT OR Apache-2.0
//! The field of the header: what a sender may rely on, whatever the numbers are.

use std::collections::VecDeque;

use lasthop_core::law::share::equations;
use lasthop_core::law::station;
use lasthop_fixed::proxy;
use lasthop_fixed::state::FlowRecord;
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
    fn what_receivers_hold_back(bytes in 0u64..1u64 << 34, part in 0f64..5.0, held in 0f64..0.5, timed in 0u64..100_000, mss in 100u32..9000) {
        let held = (held * f64::from(mss)) as u32;
        for bytes in [bytes, (part * f64::from(mss)) as u64] {
            let exact = station::equations::beside_held(bytes as f64, mss.into(), held.into(), timed as f64);
            let is_close = (bytes as f64 - 1.5 * f64::from(mss)).abs() < 2.0;
            let found = beside_held(bytes, mss, held, timed);
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

/// What a receiver holds back, by the proxy, of 200 segments of 1448 B that go on with such gaps in turn \[ms\], acknowledged by twos 30 ms
/// later, where each takes 1 ms on the line.
fn held_bytes(gaps_ms: [u64; 2]) -> u32 {
    const MSS: u32 = 1448;
    const MS: u64 = 1_000_000;
    let mut flow = flow(MSS);
    let mut acks = VecDeque::new();
    let mut now_ns = MS;
    for pair in 1..=100 {
        for (gap_ms, end) in gaps_ms.into_iter().zip([2 * pair * MSS - MSS, 2 * pair * MSS]) {
            now_ns += gap_ms * MS;
            while let Some((_, ack)) = acks.front().copied().filter(|&(at_ns, _)| at_ns <= now_ns) {
                acks.pop_front();
                proxy::was_apart(&mut flow, now_ns, ack, 2 * MSS, MS);
            }
            proxy::apart(&mut flow, now_ns, end, MSS);
        }
        acks.push_back((now_ns + 30 * MS, 2 * pair * MSS));
    }
    proxy::held_bytes(&flow)
}

#[test]
fn pairs_leave_little_with_a_receiver_and_paced_segments_half_of_one() {
    // 1 ms, its own on the line, of 20.
    assert!((60..=90).contains(&held_bytes([20, 0])), "{}", held_bytes([20, 0]));
    assert!((700..=724).contains(&held_bytes([10, 10])), "{}", held_bytes([10, 10]));
    // As long as nothing is known, and at most.
    assert_eq!(proxy::held_bytes(&flow(1448)), 724);
    assert_eq!(held_bytes([1, 19]), 724);
}
