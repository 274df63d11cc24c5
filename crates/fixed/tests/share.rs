// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share window in integers against its equations, over the domains that `c/share.h` states.

use lasthop_fixed::share::*;
use lasthop_fixed::{arith, estimate};
use proptest::prelude::*;

fn any_length(bits: u32) -> impl Strategy<Value = u64> {
    (1..=bits, any::<u64>()).prop_map(|(bits, x)| (x | 1 << 63) >> (64 - bits))
}

#[track_caller]
fn close(found: f64, exact: f64, relative: f64, absolute: f64) {
    assert!((found - exact).abs() <= absolute + relative * exact.abs(), "{found}, wanted {exact}");
}

/// The equations in f64. Bytes, seconds, bytes/s.
mod exact {
    /// Busy time and bytes after a busy span.
    pub(crate) fn busy(before: (f64, f64), span_s: f64, bytes: f64, horizon_s: f64) -> (f64, f64) {
        let (kept, lost) = (libm::exp(-span_s / horizon_s), -libm::expm1(-span_s / horizon_s));
        (before.0 * kept + horizon_s * lost, before.1 * kept + bytes / span_s * horizon_s * lost)
    }

    pub(crate) fn error(rate: f64, forecast: f64) -> f64 {
        let apart = libm::log(rate) - libm::log(forecast);
        (apart * apart).min(4.0)
    }

    pub(crate) fn smoothed(before: f64, fair: f64, gap_s: f64, delay_s: f64) -> f64 {
        let c = if fair > before { 2.0 } else { 0.5 };
        before - libm::expm1(-gap_s / (c * delay_s)) * (fair - before)
    }

    pub(crate) fn horizon(delay_s: f64, target_s: f64, wait_s: f64, g: f64, kappa: f64) -> f64 {
        (g * delay_s + target_s + kappa * (target_s - wait_s)).max(0.0)
    }
}

proptest! {
    /// A constant rate is found within .1 %, by every horizon.
    #[test]
    fn a_constant_rate(
        rate_bps in prop_oneof![100_000..1_000_000u64, 1_000_000..1_000_000_000u64, 1_000_000_000..100_000_000_000u64],
        spans_ns in prop::collection::vec(65_536..200_000_000u64, 50..200),
    ) {
        let mut found = BusyRate::default();
        let mut sent_ns = 0u128;
        let (mut left, rate) = (0u128, rate_bps as f64 / 8.0);
        for span_ns in spans_ns {
            // What leaves by each instant, in whole bytes.
            sent_ns += u128::from(span_ns);
            let by_now = sent_ns * u128::from(rate_bps) / 8_000_000_000;
            rate_add(&mut found, span_ns, (by_now - left) as u64);
            left = by_now;
        }
        // One byte may fall on either side of the last, short span.
        for i in 0..HORIZONS as u32 {
            let busy_s = found.busy_ns[i as usize] as f64 * 1e-9;
            close(rate_over(&found, i) as f64, rate, 1e-3, 1.0 + 4.0 / busy_s);
        }
    }

    /// Any traffic, against the same sums in f64.
    #[test]
    fn busy_time_and_bytes(steps in prop::collection::vec((65_536..1_000_000_000u64, 0u64..1u64 << 24), 1..100)) {
        let mut found = BusyRate::default();
        let mut sums = [(0.0, 0.0); HORIZONS];
        for (span_ns, bytes) in steps {
            rate_add(&mut found, span_ns, bytes);
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = exact::busy(*sum, span_ns as f64 * 1e-9, bytes as f64, horizon_of_ns(i as u32) as f64 * 1e-9);
            }
        }
        for (i, (busy_s, bytes)) in sums.into_iter().enumerate() {
            close(found.busy_ns[i] as f64 * 1e-9, busy_s, 1e-3, 1e-6);
            close(found.bytes_q4[i] as f64 / 16.0, bytes, 2e-3, 64.0);
        }
    }

    #[test]
    fn a_lower_bound(rate in 10_000u64..1u64 << 34, before in 1u64..1u64 << 34, busy_ns in 1_000_000u64..1_600_000_000u64) {
        let mut found = BusyRate { busy_ns: [busy_ns; HORIZONS], bytes_q4: [0; HORIZONS] };
        found.bytes_q4 = [(u128::from(before) * u128::from(busy_ns) / 62_500_000) as u64; HORIZONS];
        rate_raise(&mut found, rate);
        // A rate in whole bytes of so much time.
        close(rate_over(&found, 3) as f64, rate.max(before) as f64, 1.1e-3, 2.0 + 1e9 / busy_ns as f64);
        let mut none = BusyRate::default();
        rate_raise(&mut none, rate);
        close(rate_over(&none, 0) as f64, rate as f64, 1e-3, 40.0);
    }

    #[test]
    fn errors_of_forecasts(rate in any_length(34), forecast in any_length(34)) {
        // In nats, squared: Q20 of log2 times (ln 2)^2. The logs are within .009.
        let found = error_q20(arith::log2_q16(rate), arith::log2_q16(forecast)) as f64 / f64::from(1 << 20) * 0.480453;
        let exact = exact::error(rate as f64, forecast as f64);
        close(found.sqrt(), exact.sqrt(), 0.0, 0.0126);
    }

    #[test]
    fn losses(before in 0..9u64 << 20, error in 0..9u64 << 20) {
        let weight = -libm::expm1(-0.01);
        let exact = before as f64 + weight * (error as f64 - before as f64);
        close(loss_q20(before, error) as f64, exact, 0.0, 1.0 + 2e-5 * (error as f64 - before as f64).abs());
        // 32/33 is .9697.
        if (error as f64 - 0.97 * before as f64).abs() > 1e-3 * before as f64 + 1.0 {
            prop_assert_eq!(is_better(error, before) != 0, (error as f64) < 0.97 * before as f64);
        }
    }

    #[test]
    fn fair_rates(rate in any_length(34), weights in 1u64..1u64 << 24) {
        close(fair(rate, weights) as f64, rate as f64 * 256.0 / weights as f64, 0.0, 1.0);
    }

    #[test]
    fn smoothing(before in any_length(34), sample in any_length(34), gap_ns in any_length(36), delay_ns in 1_000u64..1u64 << 36) {
        let exact = exact::smoothed(before as f64, sample as f64, gap_ns as f64 * 1e-9, delay_ns as f64 * 1e-9);
        let apart = (before as f64 - sample as f64).abs();
        close(smoothed(before, sample, gap_ns, delay_ns) as f64, exact, 0.0, 1.0 + 2e-4 * apart);
        prop_assert_eq!(smoothed(0, sample, gap_ns, delay_ns), sample);
    }

    #[test]
    fn horizons(delay in 0u64..1u64 << 36, target in 0u64..1u64 << 36, wait in 0u64..1u64 << 36, g in 0..=1024u32, kappa in 0..1024u32) {
        let s = |ns: u64| ns as f64 * 1e-9;
        let exact = exact::horizon(s(delay), s(target), s(wait), f64::from(g) / 1024.0, f64::from(kappa) / 1024.0);
        close(horizon_ns(delay, target, wait, g, kappa) as f64, exact * 1e9, 1e-12, 3.0);
    }

    #[test]
    fn windows(phi in 1u32..=65_536, rho in any_length(34), horizon_ns in 1_000_000u64..1u64 << 36) {
        let exact = f64::from(phi) / 256.0 * rho as f64 * horizon_ns as f64 * 1e-9;
        prop_assume!(exact < (1u64 << 34) as f64 && f64::from(phi) / 256.0 * (rho as f64) < (1u64 << 34) as f64);
        // A rate in sixteenths of a byte.
        close(window_bytes(phi, rho, horizon_ns) as f64, exact, 1e-5, 1.0 + horizon_ns as f64 / 16e9);
    }

    #[test]
    fn payloads(wire in 0u64..1u64 << 34, mss in 1..65_536u32, header in 0..256u32) {
        let exact = wire as f64 * f64::from(mss) / f64::from(mss + header);
        close(payload(wire, mss, header) as f64, exact, 0.0, 1.0);
    }

    #[test]
    fn waits(queue in any_length(34), rate in 10_000u64..1u64 << 34) {
        close(wait_ns(queue, rate) as f64, queue as f64 / rate as f64 * 1e9, 0.0, 1.0);
    }

    /// The least of the last one to two spans, against all samples kept.
    #[test]
    fn recent_least(samples in prop::collection::vec((1u64..3_000_000_000u64, 1u64..1u64 << 36), 1..100)) {
        let (mut least, mut now_ns, mut all) = (estimate::RecentLeast::default(), 1u64, Vec::new());
        for (gap_ns, sample_ns) in samples {
            now_ns += gap_ns;
            all.push((now_ns, sample_ns));
            estimate::recent_least_add(&mut least, now_ns, sample_ns, 10_000_000_000);
            let found = estimate::recent_least(&least);
            let over = |span_ns: u64| all.iter().filter(|s| s.0 + span_ns > now_ns).map(|s| s.1).min().unwrap();
            prop_assert!(found <= over(10_000_000_000 - 3_000_000_000), "too much forgotten");
            prop_assert!(found >= over(26_000_000_000), "too much kept");
        }
    }
}

#[test]
fn the_rest_of_the_rules() {
    assert_eq!(horizon_of_ns(0), 25_000_000);
    assert_eq!(horizon_of_ns(6), 1_600_000_000);
    let ms = 1_000_000;
    // Both halves of a second above d + 2T, and not one of them.
    assert_eq!(path_changed(111 * ms, 112 * ms, 60 * ms, 25 * ms), 1);
    assert_eq!(path_changed(109 * ms, 112 * ms, 60 * ms, 25 * ms), 0);
    assert_eq!(path_changed(0, 112 * ms, 60 * ms, 25 * ms), 0);
    // last + last/16 + 2 ms
    assert_eq!((wants_probe(18 * ms, 16 * ms), wants_probe(20 * ms, 16 * ms)), (0, 1));
    assert_eq!(wants_probe(20 * ms, 0), 0);
    assert_eq!((fair(5, 0), wait_ns(5, 0), rate_over(&BusyRate::default(), 9)), (0, 0, 0));
}
