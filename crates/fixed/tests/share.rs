// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share window in integers against its equations, over the domains that `c/share.h` states.

use lasthop_core::estimator;
use lasthop_core::law::share::{FALL, RISE, equations};
use lasthop_core::model::standing::share_wait;
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
                let (span_s, horizon_s) = (span_ns as f64 * 1e-9, horizon_of_ns(i as u32) as f64 * 1e-9);
                let kept = estimator::kept(span_s, horizon_s);
                sum.0 = estimator::horizon_time(sum.0, horizon_s, kept);
                sum.1 = estimator::horizon_bytes(sum.1, bytes as f64, span_s, horizon_s, kept);
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
        // Of less than 1 ms a rate is not known.
        let mut none = BusyRate { busy_ns: [KNOWN_NS - 1; HORIZONS], bytes_q4: [1 << 40; HORIZONS] };
        prop_assert_eq!(rate_over(&none, 0), 0);
        rate_raise(&mut none, rate);
        close(rate_over(&none, 0) as f64, rate as f64, 1e-3, 40.0);
    }

    /// Against the same in f64, but where the rate is rounded down to the one that is known.
    #[test]
    fn what_outruns_a_rate(bytes in any_length(34), t_ns in any_length(36), known in prop_oneof![Just(0), any_length(34)]) {
        let (bytes_f, t_s, known_f) = (bytes as f64, t_ns as f64 * 1e-9, known as f64);
        prop_assume!((bytes_f / t_s - known_f).abs() > 1.0 + 1e-9 * known_f);
        prop_assert_eq!(outruns(bytes, t_ns, known) != 0, estimator::outruns(bytes_f, t_s, known_f));
        prop_assert_eq!(outruns(bytes, 0, known) != 0, estimator::outruns(bytes_f, 0.0, known_f));
    }

    /// A product in the place of a division says the same, near the rate as well.
    #[test]
    fn what_is_more_than_a_rate(bytes in any_length(44), t_ns in any_length(40), known in any_length(36), apart in 0u64..3) {
        for known in [known, arith::rate_of(bytes, t_ns).saturating_sub(apart), arith::rate_of(bytes, t_ns) + apart] {
            prop_assert_eq!(outruns(bytes, t_ns, known) != 0, arith::rate_of(bytes, t_ns) > known);
        }
    }

    #[test]
    fn what_a_path_holds(rate in any_length(36), horizon in any_length(38), bytes in any_length(40), apart in 0u64..3) {
        let held = window_bytes(256, rate, horizon);
        for bytes in [bytes, held.saturating_sub(apart), held + apart] {
            prop_assert_eq!(holds(rate, horizon, bytes) != 0, held >= bytes);
        }
    }

    #[test]
    fn what_a_lead_is_short_by(delay in any_length(40)) {
        for delay in [delay, delay % 40_000_000] {
            prop_assert_eq!(lead_short_ns(delay), (3 * delay / 10).min(10_000_000));
        }
    }

    #[test]
    fn errors_of_forecasts(rate in any_length(34), forecast in any_length(34)) {
        // In nats, squared: Q20 of log2 times (ln 2)^2. The logs are within .009.
        let found = error_q20(arith::log2_q16(rate), arith::log2_q16(forecast)) as f64 / f64::from(1 << 20) * 0.480453;
        let exact = estimator::horizon_error(rate as f64, forecast as f64);
        close(found.sqrt(), exact.sqrt(), 0.0, 0.0126);
    }

    #[test]
    fn losses(before in 0..9u64 << 20, error in 0..9u64 << 20) {
        let exact = estimator::horizon_loss(before as f64, error as f64);
        close(loss_q20(before, error) as f64, exact, 0.0, 1.0 + 2e-5 * (error as f64 - before as f64).abs());
        // 32/33 is .9697.
        if (error as f64 - 0.97 * before as f64).abs() > 1e-3 * before as f64 + 1.0 {
            prop_assert_eq!(is_better(error, before) != 0, estimator::horizon_changes(error as f64, before as f64));
        }
    }

    #[test]
    fn fair_rates(rate in any_length(34), weights in 1u64..1u64 << 24) {
        close(fair(rate, weights) as f64, equations::share(rate as f64, weights as f64 / 256.0), 0.0, 1.0);
    }

    #[test]
    fn shares_of_the_rest(rate in any_length(34), taken in any_length(34), weights in 1u64..1u64 << 24, limited in 0u64..1u64 << 24) {
        let [rate_f, taken_f, weights_f, limited_f] = [rate as f64, taken as f64, weights as f64 / 256.0, limited as f64 / 256.0];
        close(of_rest(rate, weights, taken, limited) as f64, equations::share_of_rest(rate_f, weights_f, taken_f, limited_f), 0.0, 1.0);
    }

    #[test]
    fn smoothing(before in any_length(34), sample in any_length(34), gap_ns in any_length(36), delay_ns in 1_000u64..1u64 << 36) {
        let rounds = if sample > before { RISE } else { FALL };
        let (gap_s, delay_s) = (gap_ns as f64 * 1e-9, delay_ns as f64 * 1e-9);
        let exact = equations::follow(before as f64, sample as f64, gap_s, rounds, delay_s);
        let apart = (before as f64 - sample as f64).abs();
        close(smoothed(before, sample, gap_ns, delay_ns) as f64, exact, 0.0, 1.0 + 2e-4 * apart);
        prop_assert_eq!(smoothed(0, sample, gap_ns, delay_ns), sample);
    }

    #[test]
    fn kappas(theta in 0u64..1u64 << 36, delay in 0u64..1u64 << 36) {
        let exact = equations::kappa(theta as f64 * 1e-9, delay as f64 * 1e-9);
        close(f64::from(kappa_q10(theta, delay)) / 1024.0, exact, 0.0, 1.0 / 1024.0);
        prop_assert!(theta == 0 || delay == 0 || kappa_q10(theta, delay) <= kappa_q10(theta, delay / 2));
    }

    /// Where the queue rests, by the path and κ of flows that are alike.
    #[test]
    fn rests(delay in 0u64..1u64 << 36, target in 1_000_000u64..1u64 << 34, g in 1..=1024u32, kappa in 0..1024u32) {
        let (g_f, kappa_f) = (f64::from(g) / 1024.0, f64::from(kappa) / 1024.0);
        let exact_s = share_wait(target as f64 * 1e-9, g_f, kappa_f, delay as f64 * 1e-9).unwrap();
        close(rest_ns(target, lacking_ns(short_ns(target, delay, g), kappa)) as f64, exact_s * 1e9, 1e-12, 2.0);
    }

    /// The horizon and the window together are the law's: φ ρ̄ (d + y* + κ(y* − y))·payload/size.
    #[test]
    fn windows(
        (delay, rest, wait) in (0u64..1u64 << 36, 1_000_000u64..1u64 << 34, 0u64..1u64 << 36),
        kappa in 0..1024u32,
        (phi, rho) in (1u32..=65_536, any_length(34)),
        (mss, header) in (1..65_536u32, 0..256u32),
    ) {
        let s = |ns: u64| ns as f64 * 1e-9;
        let (kappa_f, phi_f) = (f64::from(kappa) / 1024.0, f64::from(phi) / 256.0);
        let exact_s = (s(delay) + equations::room(s(rest), kappa_f, s(wait))).max(0.0);
        let found_ns = horizon_ns(delay, room_ns(rest, wait, kappa));
        close(s(found_ns), exact_s, 1e-12, 3e-9);
        // A horizon counts for 2^36 ns at most, a window and a flow's rate for 2^34 of their units.
        prop_assume!(found_ns <= 1 << 36);
        let most = (1u128 << 42) * 1_000_000_000 / (u128::from(phi) * u128::from(found_ns.max(1_000_000_000)));
        let rho = rho.min(u64::try_from(most).unwrap() - 1).max(1);
        let payload_share = f64::from(mss) / f64::from(mss + header);
        let exact = equations::even_window(phi_f, rho as f64, s(delay), s(rest), kappa_f, s(wait), payload_share).max(0.0);
        prop_assume!(exact < payload_share * (1u64 << 34) as f64 && phi_f * (rho as f64) < (1u64 << 34) as f64);
        let found = payload(window_bytes(phi, rho, found_ns), mss, header) as f64;
        // A rate in sixteenths of a byte, and 3 ns.
        close(found, exact, 1e-5, 2.0 + exact_s / 16.0 + phi_f * rho as f64 * 3e-9);
    }

    #[test]
    fn waits(queue in any_length(34), rate in 10_000u64..1u64 << 34) {
        close(wait_ns(queue, rate) as f64, equations::wait(queue as f64, rate as f64) * 1e9, 0.0, 1.0);
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
    // last + last/64 + 1 ms
    assert_eq!((wants_probe(17 * ms, 16 * ms), wants_probe(18 * ms, 16 * ms)), (0, 1));
    assert_eq!(wants_probe(20 * ms, 0), 0);
    assert_eq!((fair(5, 0), wait_ns(5, 0), rate_over(&BusyRate::default(), 9)), (0, 0, 0));
}

proptest! {
    /// Beside connections that nobody steers, and what is of none that is known: half of all at least.
    #[test]
    fn a_part_beside_connections_that_nobody_steers(weights_q8 in 1u64..1 << 40, unsteered_q8 in 0u64..1 << 40, rest_q10 in 0u64..=1024, others_q10 in 0u32..=1024) {
        let theirs = weights_q8 as f64 / (weights_q8 + unsteered_q8) as f64;
        let exact = ((1024.0 - rest_q10 as f64) * theirs).max(512.0);
        close(f64::from(lasthop_fixed::share::least_part_q10(weights_q8, unsteered_q8, rest_q10)), exact, 0.0, 1.0);
        // Of the wait all is theirs once they have that, four times it where they have twice that.
        let of_it = if unsteered_q8 == 0 { 0.0 } else { rest_q10 as f64 / (1.0 - theirs) };
        let found = lasthop_fixed::share::theirs_q10(others_q10, rest_q10, weights_q8, unsteered_q8);
        close(f64::from(found), (of_it.min(2048.0).powi(2) / 1024.0).max(f64::from(others_q10)), 1e-3, 5.0);
    }

    /// Whatever part of the traffic others are: what they leave, no less than is theirs, known from all or from the rest alone.
    #[test]
    fn beside_others(rate in 10_000u64..1u64 << 34, others_q10 in 0u64..=960, least_part_q10 in 512u32..=1024, target_ns in 1_000_000u64..1_000_000_000,
                     wait_ns in 0u64..1u64 << 36) {
        use lasthop_fixed::share::{rate_beside, target_beside_ns};
        let others = others_q10 as f64 / 1024.0;
        let ours = if others_q10 == 0 { 1.0 } else { (1.0 - others).max(f64::from(least_part_q10) / 1024.0) };
        close(rate_beside(rate, others_q10, least_part_q10, 1) as f64, rate as f64 * ours, 1e-12, 1.0);
        close(rate_beside(rate, others_q10, least_part_q10, 0) as f64, (rate as f64 * ours / (1.0 - others)).min(2f64.powi(34) * 16.0), 1e-12, 1.0);
        let (target, wait) = (target_ns as f64, wait_ns as f64);
        let part = ((wait * others - 3.0 * target) / target).clamp(0.0, 1.0);
        let exact = target + (wait - target).max(0.0) * part * 15.0 / 16.0;
        let found = target_beside_ns(target_ns, wait_ns, others_q10) as f64;
        // The part is counted in 1024ths, the wait in 1024 ns.
        close(found, exact, 1e-9, wait / 1024.0 + 20_000.0);
        prop_assert!(found >= target && (found <= wait || wait <= target || found == target));
    }

    /// Its path, or what is wanted at present less a 16th, whichever is shorter, but T/8 at least.
    #[test]
    fn what_a_flow_asks_for(path in any_length(36), present in any_length(36), target in any_length(36)) {
        use lasthop_fixed::share::borne_ns;
        let exact = (path as f64).min(present as f64 * 15.0 / 16.0).max(target as f64 / 8.0);
        close(borne_ns(path, present, target) as f64, exact, 0.0, 1.0);
    }

    #[test]
    fn how_a_small_window_leans(taken in any_length(36), even in any_length(36)) {
        use lasthop_fixed::share::lean_q10;
        let over = (taken.min(1 << 34) as f64 - even as f64) / even as f64;
        let exact = if even == 0 { 1.0 } else { (1.0 - 2.0 * over).clamp(0.5, 2.0) };
        close(f64::from(lean_q10(taken, even)) / 1024.0, exact, 0.0, 1.0 / 1024.0);
    }
}
