// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP's equations in integers against the simulator's, over the domains that `c/clamp.h` states.

use lasthop_core::estimator::{BinnedRate, BusyWindowRate, RateEstimator, over_arrivals};
use lasthop_core::law::clamp::equations;
use lasthop_fixed::{clamp, estimate};
use proptest::prelude::*;

const Q16: f64 = 65_536.0;

/// Within so much of `exact`, relatively, or `absolute`.
#[track_caller]
fn close(found: f64, exact: f64, relative: f64, absolute: f64) {
    assert!((found - exact).abs() <= absolute + relative * exact.abs(), "{found}, wanted {exact}");
}

fn any_length(bits: u32) -> impl Strategy<Value = u64> {
    (1..=bits, any::<u64>()).prop_map(|(bits, x)| (x | 1 << 63) >> (64 - bits))
}

proptest! {
    #[test]
    fn average_of_the_queue(before in any_length(48), queue in any_length(48), gap_ns in any_length(36), span_ns in 1u64..1 << 34) {
        let exact = over_arrivals(before as f64, queue as f64, 1e9 / span_ns as f64, gap_ns as f64 * 1e-9);
        let found = estimate::over_arrivals_q16(before, queue, gap_ns, span_ns) as f64;
        close(found, exact, 0.0, 1.0 + 2e-4 * (before as f64 - queue as f64).abs());
    }

    #[test]
    fn what_is_too_much(queue in any_length(48), a in 0..1u64 << 32) {
        let (q, a_f) = (queue as f64 / Q16, a as f64);
        prop_assert_eq!(clamp::linear_q16(queue, a) as f64 / Q16, equations::linear(q, a_f, 1.0));
        // A quotient in Q31 of at most 1.
        close(clamp::smooth_q16(queue, a) as f64 / Q16, equations::smooth(q, a_f, 1.0), 0.0, 2e-5 + q * 1e-9);
    }

    #[test]
    fn what_is_priced_beside_others(queue in any_length(50), theirs_q10 in 0u32..=4096, a in 1..1u64 << 32) {
        let (q, a_f) = (queue as f64 / Q16, a as f64);
        let theirs = q * f64::from(theirs_q10) / 1024.0;
        let exact = q - theirs.min(q) * ((theirs - 3.0 * a_f) / a_f).clamp(0.0, 1.0);
        // The part is counted in 1024ths at least, of what is at least three times a.
        close(clamp::beside_q16(queue, theirs_q10, a) as f64 / Q16, exact, 0.0, 1.0 + theirs / 500.0);
    }

    #[test]
    fn price(excess in 0..1u64 << 48, rate in any_length(32)) {
        let exact = equations::price(excess as f64 / Q16, rate as f64, 1.0);
        let found = f64::from(clamp::price_q30(excess, rate)) / f64::from(1 << 30);
        close(found, exact.min(4.0), 0.0, 1e-9);
    }

    #[test]
    fn force(phi in 1..=1u32 << 16, tau in 1..1u32 << 16, price in any::<u32>(), rate in any_length(32)) {
        let price_s = f64::from(price) / f64::from(1 << 30);
        let exact = equations::force(f64::from(phi) / 256.0, f64::from(tau), price_s, rate as f64);
        close(clamp::force_q16(phi, tau, price, rate) as f64 / Q16, exact, 0.0, 1.0 / Q16);
    }

    #[test]
    fn change(force in -(1i64 << 50)..1 << 50, delay_ns in 1_000_000..1u64 << 34, gap_ns in any_length(34)) {
        // More than a round trip counts as one.
        let gap_ns = gap_ns.min(delay_ns);
        let exact = equations::scaled_change(force as f64 / Q16, delay_ns as f64 * 1e-9, gap_ns as f64 * 1e-9);
        let found = clamp::scaled_change_q16(force, delay_ns, gap_ns) as f64 / Q16;
        close(found, exact, 0.0, force.abs() as f64 / Q16 * 1e-6 + 1.0 / 128.0);
    }

    #[test]
    fn refill(window in any_length(46), gamma in 0..=1024u32, rtt_ns in 1_000_000..1u64 << 34, gap_ns in any_length(34)) {
        // More than a round trip counts as one.
        let gap_ns = gap_ns.min(rtt_ns);
        let (w, gamma_f) = (window as f64 / Q16, f64::from(gamma) / 1024.0);
        let exact = equations::refill(w, gamma_f, rtt_ns as f64 * 1e-9, gap_ns as f64 * 1e-9);
        close(clamp::refill_q16(window, gamma, rtt_ns, gap_ns) as f64 / Q16, exact, 0.0, w * gamma_f * 1e-6 + 1.0 / 32.0);
    }

    #[test]
    fn an_empty_queue(rtt_ns in 1..1u64 << 40, least_ns in 1..1u64 << 40) {
        let (rtt, least) = (rtt_ns as f64, least_ns as f64);
        let part = (2e6 / least).max(1.0 / 32.0);
        // A 32nd rounds down to whole nanoseconds.
        let near = (rtt - (1.0 + part) * least).abs() < 1.0;
        prop_assert!(near || (clamp::is_empty(rtt_ns, least_ns) != 0) == equations::is_empty(rtt, least, part));
    }

    #[test]
    fn delay(before_ns in 1..1u64 << 34, awnd in any_length(32), rate in any_length(32)) {
        // The header's beta is within 5e-4 of .001, and a sample beyond 17 s counts as 17 s.
        let awnd = awnd.min(17 * rate);
        let exact = equations::delay(before_ns as f64 * 1e-9, awnd as f64, rate as f64, 0.001) * 1e9;
        let apart_ns = (awnd as f64 / rate as f64 * 1e9 - before_ns as f64).abs();
        close(clamp::delay_ns(before_ns, awnd, rate) as f64, exact, 0.0, 2.0 + 5e-7 * apart_ns);
    }

    #[test]
    fn window(window in any_length(48), change in -(1i64 << 40)..1 << 40, payload in 1..1u32 << 16, mss in 1..1u32 << 16) {
        let (w, c, most) = (window as f64 / Q16, change as f64 / Q16, 10_000.0);
        let clipped = clamp::clipped_q16(change, payload, 10_000);
        let exact = equations::clipped(c, f64::from(payload), most);
        prop_assert_eq!(clipped as f64 / Q16, exact);
        let floored = clamp::floored_q16(window, clipped, u64::from(mss)) as f64 / Q16;
        prop_assert_eq!(floored, (w + exact).max(f64::from(mss)));
        let mss_f = f64::from(mss);
        prop_assert_eq!(clamp::slow_start_q16(window, mss) as f64 / Q16, equations::slow_start(w, mss_f));
        close(clamp::end_of_slow_start_q16(window) as f64 / Q16, equations::end_of_slow_start(w), 0.0, 1.0 / Q16);
        prop_assert_eq!(clamp::advertised(window, change.unsigned_abs()) as f64,
            equations::advertised(window as f64, change.unsigned_abs() as f64));
    }

    #[test]
    fn binned_rate(gaps_ns in prop::collection::vec(1..100_000_000u64, 2..2000), size in 40..65_536u32) {
        let (mut fixed, mut exact) = (estimate::BinnedRate::default(), BinnedRate::new(16, 64));
        let mut now_ns = 1u64 << 40;
        for gap_ns in gaps_ns {
            now_ns += gap_ns;
            estimate::binned_rate_add(&mut fixed, now_ns, size);
            exact.push(now_ns as f64 * 1e-9, f64::from(size));
        }
        let rate = exact.rate().unwrap();
        close(estimate::binned_rate(&fixed) as f64, rate, 1e-4, 1.0);
    }

    #[test]
    fn busy_windows(gaps in prop::collection::vec((1..60_000_000u64, 0..1u64 << 20, 0..20u8), 2..500)) {
        let (mut fixed, mut exact) = (estimate::BusyWindow::default(), BusyWindowRate::new(0.05, 0.125));
        let mut now_ns = 1u64;
        for (gap_ns, bytes, rest) in gaps {
            now_ns += gap_ns;
            estimate::busy_window_add(&mut fixed, now_ns, bytes);
            exact.push(now_ns as f64 * 1e-9, bytes as f64);
            if rest == 0 {
                estimate::busy_window_rest(&mut fixed);
                exact.rest(0.0);
            }
        }
        // Each window rounds down by up to 2 B/s, of which an eighth is kept each time; a span of exactly 50 ms may be cut
        // by one and not by the other.
        close(fixed.rate as f64, exact.rate().unwrap_or(0.0), 1e-6, 10.0);
    }
}

#[test]
fn what_is_unknown_asks_for_nothing() {
    assert_eq!(clamp::price_q30(1 << 20, 0), 0);
    assert_eq!(clamp::scaled_change_q16(-5, 0, 7), 0);
    assert_eq!(clamp::refill_q16(1 << 20, 307, 0, 7), 0);
    assert_eq!(clamp::delay_ns(7, 1, 0), 7);
    assert_eq!(clamp::delay_ns(0, 1000, 1_000_000), 1_000_000);
    assert_eq!(estimate::binned_rate(&estimate::BinnedRate::default()), 0);
}
