// SPDX-License-Identifier: MIT OR Apache-2.0
//! The equations of TCP(α, β), γ and δ in integers against the simulator's, over the domains that `c/gamma.h` states.

use lasthop_core::law::{aimd, gamma as exact};
use lasthop_fixed::gamma;
use proptest::prelude::*;

const Q16: f64 = 65_536.0;
const Q24: f64 = 16_777_216.0;
/// The longest time of the domain.
const LONGEST: u32 = 1 << 27;

/// At most `below` under `exact`, and over it by no more than f64 rounds.
#[track_caller]
fn rounded_down(found: f64, exact: f64, below: f64) {
    let rounding = exact.abs() * 1e-12;
    assert!(found <= exact + rounding && found >= exact - below - rounding, "{found}, wanted {exact} less {below}");
}

/// Times of any length, the least of them first.
fn times() -> impl Strategy<Value = (u32, u32)> {
    (1..=27u32, any::<u32>(), 1..=27u32, any::<u32>()).prop_map(|(b, x, c, y)| {
        let [x, y] = [(b, x), (c, y)].map(|(bits, x)| (x & ((1 << bits) - 1)).max(1));
        (x.min(y), x.max(y))
    })
}

/// Windows of one segment to 2^20.
fn window() -> impl Strategy<Value = u64> {
    (16..=36u32, any::<u64>()).prop_map(|(bits, x)| (x >> (64 - bits)).max(1 << 16))
}

proptest! {
    #[test]
    fn friendly_alpha(beta in 0..=65_536u32) {
        let wanted = aimd::equations::friendly_alpha(f64::from(beta) / Q16);
        rounded_down(f64::from(gamma::friendly_alpha_q16(beta)) / Q16, wanted, 1.0 / Q16);
    }

    #[test]
    fn increase(window in window(), alpha in 1..1u32 << 24, acked in 1..=1u32 << 16) {
        // Each of the segments adds α/w, w being the window before the acknowledgement.
        let (w, alpha_f) = (window as f64 / Q16, f64::from(alpha) / Q16);
        let one = aimd::equations::increase(alpha_f, w, 1.0) - w;
        let found = (gamma::increase_q16(window, alpha, acked) - window) as f64 / Q16;
        // The difference of two windows is good to an f64's share of them.
        let error = w * f64::from(acked) * 1e-15;
        rounded_down(found, one * f64::from(acked) + error, 1.0 / Q16 + 2.0 * error);
    }

    #[test]
    fn decrease(window in window(), beta in 0..=65_536u32) {
        let wanted = aimd::equations::decrease(f64::from(beta) / Q16, window as f64 / Q16);
        rounded_down(gamma::decrease_q16(window, beta) as f64 / Q16, wanted, 1.0 / Q16);
    }

    #[test]
    fn thresholds(threshold in 1..=65_536u32, (min, max) in times(), share in 0.0..=1.2f64) {
        let rtt = (f64::from(min) + share * f64::from(max - min)) as u32;
        let [rtt_f, min_f, max_f] = [rtt, min, max].map(f64::from);
        let threshold_f = f64::from(threshold) / Q16;
        let (above, below) = (gamma::is_above(threshold, rtt, min, max), gamma::is_below(threshold, rtt, min, max));
        // What is exactly the threshold is above and below it; a quotient of f64 need not be.
        if u64::from(rtt - min) << 16 == u64::from(threshold) * u64::from(max - min) && max > min {
            prop_assert_eq!((above, below), (1, 1));
        } else {
            prop_assert_eq!(above == 1, exact::equations::is_above(threshold_f, rtt_f, min_f, max_f));
            prop_assert_eq!(below == 1, exact::equations::is_below(threshold_f, rtt_f, min_f, max_f));
        }
    }

    #[test]
    fn share_of_gamma(threshold in 1..=65_536u32, (min, max) in times()) {
        let found = gamma::share_q24(threshold, min, max) as f64 / Q24;
        let wanted = exact::equations::gamma(f64::from(threshold) / Q16, f64::from(min), f64::from(max));
        // Above 8 s four bits of the times are left out, of 23 or more.
        let cut = if min >> 23 > 0 { 2e-6 } else { 0.0 };
        prop_assert!((found - wanted).abs() <= 1.0 / Q24 + cut * wanted, "{} {}", found, wanted);
    }

    #[test]
    fn share_of_drain((min, standing) in times()) {
        let found = gamma::drain_q24(min, standing) as f64 / Q24;
        // Each rounding takes less than 2^-24: one of the knee, 2k and 1 of its square, 2k^2 times as much and 1 of that's.
        rounded_down(found, exact::equations::drain(f64::from(min), f64::from(standing)), 7.0 / Q24);
    }

    #[test]
    fn fading_maximum(max in 0..=LONGEST, standing in 0..=LONGEST) {
        let found = f64::from(gamma::fading_maximum(max, standing));
        let wanted = exact::equations::fading_maximum(f64::from(max), f64::from(standing));
        prop_assert!((wanted..wanted + 1.0).contains(&found), "{} {}", found, wanted);
    }

    #[test]
    fn waits(window in window(), (min, rtt) in times()) {
        let found = gamma::waits(rtt, min, window) == 1;
        let segments = window as f64 / Q16;
        // 2^63 at most, of which f64 has 53 bits.
        let clear = (f64::from(rtt - min) * segments / f64::from(rtt) - 1.0).abs() > 1e-12;
        prop_assert!(!clear || found == exact::equations::waits(f64::from(rtt), f64::from(min), segments));
    }

    #[test]
    fn cut(window in window(), share in 0..=1u64 << 24) {
        let found = gamma::cut_q16(window, share) as f64 / Q16;
        rounded_down(found, (window as f64 / Q16 * (share as f64 / Q24)).max(1.0), 1.0 / Q16);
    }
}

#[test]
fn what_is_outside_is_capped() {
    // No time is known, or the times are in the wrong order: the window stays.
    assert_eq!([gamma::share_q24(32_768, 0, 0), gamma::drain_q24(7, 0), gamma::drain_q24(9, 7)], [1 << 24; 3]);
    assert_eq!((gamma::is_above(32_768, 5, 5, 5), gamma::is_below(0, 5, 5, 5)), (0, 1));
    assert_eq!((gamma::is_above(32_768, 3, 5, 9), gamma::is_below(0, 3, 5, 9)), (0, 1));
    assert_eq!((gamma::increase_q16(0, 65_536, 1), gamma::cut_q16(1 << 20, 2 << 24)), (0, 1 << 20));
    assert_eq!(gamma::friendly_alpha_q16(70_000), 0);
    // The longest times, in the greatest ratio.
    assert_eq!(gamma::share_q24(65_536, 1, LONGEST), 0);
    assert_eq!(gamma::drain_q24(LONGEST, LONGEST), 1 << 24);
}
