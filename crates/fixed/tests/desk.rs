// SPDX-License-Identifier: MIT OR Apache-2.0
//! The station window in integers against its equations, over the domains that `c/desk.h` states.

use lasthop_core::law::station::equations;
use lasthop_fixed::desk::*;
use proptest::prelude::*;

/// Times up to 2^36 ns, sizes and rates up to 2^34.
const MOST_NS: u64 = 1 << 36;
const MOST: u64 = 1 << 34;

fn any_length(bits: u32) -> impl Strategy<Value = u64> {
    (1..=bits, any::<u64>()).prop_map(|(bits, x)| (x | 1 << 63) >> (64 - bits))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

#[track_caller]
fn close(found: f64, exact: f64, relative: f64, absolute: f64) {
    assert!((found - exact).abs() <= absolute + relative * exact.abs(), "{found}, wanted {exact}");
}

proptest! {
    #[test]
    fn what_was_granted_since(then in any::<u32>(), bytes in 0u32..1 << 30) {
        let later = then.wrapping_add(bytes);
        prop_assert_eq!(between(later, then) as f64, equations::pipe(f64::from(bytes), 0.0));
        prop_assert_eq!(between(later, then) as f64, equations::arriving(f64::from(bytes), 0.0));
        // An edge that has been moved left has granted nothing.
        prop_assert!(bytes == 0 || between(then, later) == 0);
    }

    #[test]
    fn what_waits(held in any_length(34), pipe in any_length(34), queue in any_length(34), thought in any_length(34)) {
        let exact = equations::scale(queue as f64, thought as f64);
        let scale = scale_q16(queue, thought);
        close(scale as f64 / 65_536.0, exact, 0.0, 1.6e-5);
        let exact = equations::waiting(held as f64, pipe as f64, scale as f64 / 65_536.0);
        close(waiting(held, pipe, scale) as f64, exact, 0.0, 1.0);
    }

    #[test]
    fn who_is_slower_and_how_far_ahead_who_fills(other_ns in 0..MOST_NS, delay_ns in 0..MOST_NS) {
        let border_ns = 13 * delay_ns / 10 + 5_000_000;
        for other_ns in [other_ns, border_ns - 2, border_ns + 2] {
            let exact = equations::is_slower(seconds(other_ns), seconds(delay_ns));
            prop_assert_eq!(is_slower(other_ns, delay_ns) != 0, exact);
        }
        for is_fastest in [false, true] {
            let exact = equations::lead(seconds(delay_ns), is_fastest);
            close(lead_ns(delay_ns, is_fastest.into()) as f64, exact * 1e9, 1e-12, 1.0);
        }
    }

    #[test]
    fn what_room_there_is(
        rate in any_length(34), lead_ns in 0..MOST_NS / 4, target_ns in 0..MOST_NS / 4, kappa_q10 in 0u32..1024, queue in any_length(34),
    ) {
        let kappa = f64::from(kappa_q10) / 1024.0;
        let exact = equations::room(rate as f64, seconds(lead_ns), seconds(target_ns), kappa, queue as f64);
        let full = rate as f64 * (seconds(lead_ns) + seconds(target_ns) * (1.0 + kappa));
        prop_assume!(full < MOST as f64);
        // Of a rate of more than 2^24 B/s 1024 B/s are the unit.
        close(room(rate, lead_ns, target_ns, kappa_q10, queue) as f64, exact, 0.0, 3.0 + full * 7e-5);
    }

    #[test]
    fn what_each_has_of_it(room in -(1i64 << 34)..1 << 34, slower in any_length(34), one in 1u64..1 << 33, others in 0u64..1 << 33) {
        let part = one as f64 / (one + others) as f64;
        let found = part_q16(one, one + others);
        close(found as f64 / 65_536.0, part, 0.0, 1.6e-5);
        let exact = equations::window(found as f64 / 65_536.0, room as f64, slower as f64);
        close(window(found, room, slower) as f64, exact, 0.0, 1.0);
    }

    #[test]
    fn weights_that_lean(phi_q8 in 1u32..=25_600, lean_q24 in -(3i64 << 23)..=3 << 23) {
        let exact = equations::leaning(f64::from(phi_q8) / 256.0, lean_q24 as f64 / f64::from(1 << 24), 1.5);
        close(leaning_q24(phi_q8, lean_q24) as f64 / f64::from(1 << 24), exact, 2e-3, 1e-6);
    }

    #[test]
    fn how_they_come_to_lean(rate in any_length(34), share in any_length(34), before_q24 in -(3i64 << 23)..=3 << 23, elapsed_ns in 0u64..=100_000_000) {
        let exact = equations::shortfall(rate as f64, share as f64);
        let found = shortfall_q16(rate, share);
        close(found as f64 / 65_536.0, exact.max(-63.0), 0.0, 1.6e-5);
        let (before, short) = (before_q24 as f64 / f64::from(1 << 24), found as f64 / 65_536.0);
        let exact = equations::lean(before, short, 0.05, seconds(elapsed_ns));
        // .15 and .4 in Q16, and the step in 2^-24.
        close(lean_q24(before_q24, found, elapsed_ns) as f64 / f64::from(1 << 24), exact, 0.0, 3e-6 + 4e-6 * (found as f64 / 65_536.0).abs());
    }

    #[test]
    fn who_has_no_more_to_send(used in any_length(50), held in any_length(50), rate in any_length(30), delay_ns in 0..MOST_NS / 4, wait_ns in 0..MOST_NS / 4) {
        let exact = equations::is_limited(used as f64, held as f64, 0.25);
        prop_assert!((is_limited(used, held) != 0) == exact || used.abs_diff(held / 4) <= 1);
        let exact = equations::held_by_limited(rate as f64, seconds(delay_ns), seconds(wait_ns));
        prop_assume!(exact < MOST as f64);
        close(held_by_limited(rate, delay_ns, wait_ns) as f64, exact, 7e-5, 1.0);
        let exact = equations::limited_window(0.25, rate as f64, seconds(delay_ns), seconds(wait_ns));
        close(limited_window(1 << 14, rate, delay_ns, wait_ns) as f64, exact, 7e-5, 2.0);
        let exact = equations::draining_window(0.25, rate as f64, seconds(delay_ns));
        close(draining_window(1 << 14, rate, delay_ns) as f64, exact, 7e-5, 2.0);
    }

    #[test]
    fn a_rate_is_followed(before in 1u64..MOST, rate in any_length(34), gap_ns in 0..MOST_NS, delay_ns in 0u64..4_000_000_000) {
        let (before_bps, rate_bps) = (before as f64, rate as f64);
        let rounds = if rate > before { 1.2 } else { 0.3 };
        let exact = equations::follow(before_bps, rate_bps, seconds(gap_ns), rounds, seconds(delay_ns));
        close(followed(before, rate, gap_ns, delay_ns) as f64, exact, 0.0, 1.0 + 3e-4 * (before_bps - rate_bps).abs());
        prop_assert_eq!(followed(0, rate, gap_ns, delay_ns), rate);
    }

    #[test]
    fn when_acknowledgements_wait_for_each_other(excess_ns in 0u64..50_000_000) {
        prop_assert!(excess_ns == 20_000_000 || (is_crowded(excess_ns) != 0) == equations::is_crowded(seconds(excess_ns)));
    }
}
