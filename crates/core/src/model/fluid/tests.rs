// SPDX-License-Identifier: MIT OR Apache-2.0
use core::f64::consts::{FRAC_PI_2, PI};

use proptest::prelude::*;

use super::*;

/// Two-way propagation of flows of one weight.
fn paths(delays_s: &[f64]) -> Vec<FluidFlow> {
    delays_s.iter().map(|&delay_s| FluidFlow { delay_s, phi: 1.0 }).collect()
}

/// τ = 500 B, a = 5500 B, b = 1, 1 MB/s.
fn fluid(delays_s: &[f64]) -> Fluid {
    Fluid::new(paths(delays_s), 500.0, 5500.0, 1.0, 1e6)
}

fn linear(delays_s: &[f64]) -> Fluid {
    Fluid { mixing: Mixing::AtRest, ..fluid(delays_s) }
}

/// The queue at a time, or a grid's step beside it.
fn queue_at(found: &Trajectory, time_s: f64) -> f64 {
    found.queue_bytes[found.times_s.iter().position(|&t| t >= time_s - 1e-9).unwrap()]
}

#[test]
fn one_queue_follows_the_delayed_equation() {
    //= clamp#2
    // By steps: x₀(1 − bt/d) up to d, then x₀(1 − bt/d + (b(t − d)/d)²/2) up to 2d. With a = 0 it rests at τ/b = 500 B.
    let alone = Fluid { a_bytes: 0.0, ..linear(&[0.1]) };
    let found = alone.trajectory(&Start::NearRest(1.5), 0.2, 1e-4, 1).unwrap();
    for (time_s, off) in [(0.0, 1.0), (0.05, 0.5), (0.1, 0.0), (0.15, -0.375), (0.2, -0.5)] {
        assert!(
            (queue_at(&found, time_s) - (500.0 + 250.0 * off)).abs() < 0.02,
            "{time_s}: {}",
            queue_at(&found, time_s)
        );
    }
}

#[test]
fn equal_delays_are_one_flow_of_k_tau_and_a() {
    //= clamp#12
    // Three flows rest at 7000 B; 700 B more fall by 700/0.1 B/s, in 50 ms by half.
    let found = linear(&[0.1; 3]).trajectory(&Start::NearRest(1.1), 0.1, 1e-4, 1).unwrap();
    assert!((queue_at(&found, 0.05) - 7350.0).abs() < 0.1, "{}", queue_at(&found, 0.05));
}

#[test]
fn each_flow_answers_after_its_own_delay() {
    //= clamp#8
    //= clamp#9
    // Two flows rest at 6500 B; with 650 B more each force is −325 B: −3250 B/s by the first, −1625 B/s by the second.
    let found = linear(&[0.1, 0.2]).trajectory(&Start::NearRest(1.1), 0.3, 1e-4, 1).unwrap();
    assert!((queue_at(&found, 0.1) - (7150.0 - 487.5)).abs() < 0.1, "{}", queue_at(&found, 0.1));
    // Then the first sees 650 − 4875 t of 0.1 s before, which is 650 − 243.75 halfway, 528.125 in the mean of 50 ms; the
    // second still sees 650.
    let first = 0.5 * 528.125 / 0.1 * 0.05;
    let queue_bytes = 7150.0 - 487.5 - first - 1625.0 * 0.05;
    assert!((queue_at(&found, 0.15) - queue_bytes).abs() < 0.1, "{}", queue_at(&found, 0.15));
}

#[test]
fn a_window_seeks_tau() {
    //= clamp#1
    //= clamp#6
    // 62.5 kB on a path that holds 50 kB: 12.5 kB wait, and the price is 7 ms: −7000/0.05 + 500/0.05 = −130 kB/s.
    let alone = fluid(&[0.05]);
    assert_eq!(queue_of_window(62_500.0, 1e6, 0.05), 12_500.0);
    assert_eq!(queue_of_window(49_999.0, 1e6, 0.05), 0.0);
    let price_s = alone.price_s(12_500.0);
    assert!((price_s - 0.007).abs() < 1e-12);
    assert!((alone.window_change(&alone.paths[0], price_s, 1e6, 0.1) + 130e3).abs() < 1e-6);
    // By the round trip half as fast; by nothing, τ in B/s, 500 − 7000 B/s.
    let by = |scale| Fluid { scale, ..alone.clone() }.window_change(&alone.paths[0], price_s, 1e6, 0.1);
    assert!((by(Scale::RoundTrip) + 65e3).abs() < 1e-6);
    assert!((by(Scale::Nothing) + 6500.0).abs() < 1e-9);
}

#[test]
fn a_window_moves_no_faster_than_packets_come() {
    //= clamp-report#9b
    let alone = fluid(&[0.01]);
    let change = |price_s, rate| alone.window_change(&alone.paths[0], price_s, rate, 0.01);
    // A price of 1 s asks for −(1000 − 500)/0.01 B/s, and 1000 B/s arrive.
    assert_eq!(change(1.0, 1000.0), -1000.0);
    // 500/0.01 = 50 kB/s up, with 1000 B/s: 20/3 of it and 1 B/s; with nothing 1 B/s.
    assert!((change(0.0, 1000.0) - (1000.0 * 20.0 / 3.0 + 1.0)).abs() < 1e-9);
    assert_eq!(change(0.0, 0.0), 1.0);
    assert_eq!(change(0.0, 1e6), 50e3);
}

#[test]
fn a_queue_that_mixes_keeps_what_it_has_at_rest() {
    //= clamp-report#9a
    for price in [PriceForm::Linear, PriceForm::Mice, PriceForm::Smooth] {
        for (scale, tau_bytes) in [(Scale::Propagation, 500.0), (Scale::RoundTrip, 500.0), (Scale::Nothing, 5000.0)] {
            let mut here = Fluid { price, scale, tau_bytes, average: Some(20.0), ..fluid(&[0.03, 0.13]) };
            here.paths[1].phi = 3.0;
            let rest = here.rest().unwrap();
            let found = here.trajectory(&Start::NearRest(1.0), 1.0, 1e-3, 100).unwrap();
            for (q, average) in found.queue_bytes.iter().zip(&found.average_bytes) {
                assert!((q / rest.queue_bytes - 1.0).abs() < 1e-9, "{price:?} {scale:?}: {q}");
                assert!((average / rest.queue_bytes - 1.0).abs() < 1e-9);
            }
            // A quarter of the rate and of the queue is the first flow's: 30 ms of 250 kB/s and a quarter of q*.
            let window = found.windows_bytes[0].last().unwrap();
            assert!((window - (7500.0 + rest.queue_bytes / 4.0)).abs() < 1e-3, "{window}");
        }
    }
}

#[test]
fn from_one_packet_on_it_fills_the_path_and_comes_to_rest() {
    // Two paths of 30 and 60 ms, 5 kB of queue at 100 kB/s each half: windows of 50 kB/s·d + 2.5 kB·(6.5/5).
    let here = Fluid { b: 0.5, a_bytes: 2250.0, rate: 1e5, ..fluid(&[0.03, 0.06]) };
    let found = here.trajectory(&Start::Windows(vec![1500.0, 1500.0]), 40.0, 1e-4, 1000).unwrap();
    // While nothing waits a window is 1500 + 500/0.03·t, and its rate is window over delay.
    assert!((found.windows_bytes[0][1] - (1500.0 + 500.0 / 0.03 * 0.1)).abs() < 2.0, "{}", found.windows_bytes[0][1]);
    assert_eq!(found.queue_bytes[0], 0.0);
    // (2·500 + 2250)/0.5 = 6500 B, in halves.
    assert!((found.queue_bytes.last().unwrap() - 6500.0).abs() < 5.0);
    for (flow, window) in [(0, 1500.0 + 3250.0), (1, 3000.0 + 3250.0)] {
        let found = found.windows_bytes[flow].last().unwrap();
        assert!((found - window).abs() < 5.0, "{found}");
    }
    // What is nowhere else is on its way: no byte is lost on the grid.
    for (flow, path) in here.paths.iter().enumerate() {
        let on_path = found.windows_bytes[flow].last().unwrap() - found.buffered_bytes[flow].last().unwrap();
        assert!((on_path - found.rates[flow].last().unwrap() * path.delay_s).abs() < 2.0, "{on_path}");
    }
}

#[test]
fn the_slope_is_that_of_the_price() {
    for price in [PriceForm::Linear, PriceForm::Mice, PriceForm::Smooth] {
        let here = Fluid { price, b: 1.5, ..fluid(&[0.1]) };
        for q in [6000.0, 7000.0, 9000.0] {
            let slope = (here.price_s(q + 1.0) - here.price_s(q - 1.0)) / 2.0 * here.rate;
            assert!((slope - here.slope(q)).abs() < 1e-6, "{price:?} at {q}: {slope}");
        }
    }
}

/// The loop of flows on these paths, at rest with 50 ms of queue and a price of 10 ms.
fn looped(delays_s: &[f64], scale: Scale, mixing: Mixing) -> Loop {
    Loop::new(&paths(delays_s), scale, mixing, 0.05, 0.01, None).unwrap()
}

#[test]
fn theorem_1_by_root_crossing_and_by_integration() {
    //= clamp#4
    //= clamp#5
    for mixing in [Mixing::AtRest, Mixing::Perfect] {
        for delays_s in [&[0.01][..], &[0.1], &[0.1, 0.1, 0.1]] {
            let here = looped(delays_s, Scale::Propagation, mixing);
            let b = here.critical_b(10.0).unwrap();
            assert!((b - FRAC_PI_2).abs() < 1e-6, "{mixing:?} {delays_s:?}: {b}");
            assert_eq!([1.5, 1.6].map(|b| here.unstable_roots(b)), [0, 2], "{mixing:?} {delays_s:?}");
        }
        let b = looped(&[0.1], Scale::Propagation, mixing).critical_b_by_integration(3.0, 1e-4).unwrap().unwrap();
        assert!((b - FRAC_PI_2).abs() < 2e-3, "{mixing:?}: {b}");
    }
    assert_eq!(looped(&[0.1], Scale::Propagation, Mixing::AtRest).critical_b(1.5), None);
}

/// The older law at a price of 1, with room for an a of at least 0.
fn older(delays_s: &[f64]) -> Loop {
    Loop::new(&paths(delays_s), Scale::Nothing, Mixing::Perfect, 50.0, 1.0, None).unwrap()
}

#[test]
fn proposition_2_to_four_digits() {
    //= clamp-report#24
    //= clamp-report#27
    for (one_s, other_s, b) in
        [(1.0, 1.0, FRAC_PI_2), (1.0, 2.0, 1.2092), (1.0, 3.0, 1.1107), (1.0, 10.0, 1.0137), (0.041, 0.2843, 25.039)]
    {
        let found = older(&[one_s, other_s]).critical_b(100.0).unwrap();
        assert!((found / b - 1.0).abs() < 1e-4, "{one_s}, {other_s}: {found}");
        let theory = two_flows_critical_b(one_s, other_s).unwrap();
        assert!((found / theory - 1.0).abs() < 1e-9, "{one_s}, {other_s}: {found}, {theory}");
        assert_eq!(two_flows_critical_b(other_s, one_s).unwrap().to_bits() >> 8, theory.to_bits() >> 8);
    }
    let found = older(&[1.0, 2.0]).critical_b_by_integration(3.0, 1e-4).unwrap().unwrap();
    assert!((found - 1.2092).abs() < 3e-3, "{found}");
}

#[test]
fn behind_an_average_the_margin_at_one_is_nearly_gone() {
    // Gain 2: 1.003 at 10 ms, 1.04 at 130 ms, and π/2 where the average is much faster than the path.
    for (delay_s, gain, b) in [(0.01, 2.0, 1.0033), (0.13, 2.0, 1.0410), (0.13, 1e6, FRAC_PI_2)] {
        let theory = averaged_critical_b(delay_s, delay_s, gain).unwrap();
        assert!((theory - b).abs() < 1e-4, "{delay_s}: {theory}");
        let here =
            Loop::new(&paths(&[delay_s]), Scale::Propagation, Mixing::Perfect, 0.005, 0.001, Some(gain)).unwrap();
        let found = here.critical_b(10.0).unwrap();
        assert!((found / theory - 1.0).abs() < 1e-6, "{delay_s}: {found}, {theory}");
        assert_eq!([0.999, 1.001].map(|part| here.unstable_roots(part * theory)), [0, 2]);
    }
    let here = Loop::new(&paths(&[0.05]), Scale::RoundTrip, Mixing::Perfect, 0.005, 0.001, Some(2.0)).unwrap();
    let theory = averaged_critical_b(0.05, 0.055, 2.0).unwrap();
    assert!((here.critical_b(10.0).unwrap() / theory - 1.0).abs() < 1e-6);
    let found = here.critical_b_by_integration(2.0, 1e-3).unwrap().unwrap();
    assert!((found / theory - 1.0).abs() < 1e-2, "{found}, {theory}");
}

#[test]
fn a_short_queue_that_mixes_is_stable_for_less() {
    // 10 and 180 ms with 10 ms of queue: the bytes of each flow go round in bunches that so short a queue does not mix. All
    // three methods agree that it swings long before π/2; with 50 ms of queue it does not.
    let two = paths(&[0.01, 0.18]);
    let here = Loop::new(&two, Scale::Propagation, Mixing::Perfect, 0.01, 0.001, None).unwrap();
    let found = here.critical_b(4.0).unwrap();
    assert!((0.25..0.35).contains(&found), "{found}");
    assert_eq!([0.99, 1.01].map(|part| here.unstable_roots(part * found)), [0, 2]);
    let integrated = here.critical_b_by_integration(1.0, 1e-3).unwrap().unwrap();
    assert!((integrated / found - 1.0).abs() < 0.03, "{integrated}, {found}");
    let longer = Loop::new(&two, Scale::Propagation, Mixing::Perfect, 0.05, 0.005, None).unwrap();
    assert!(longer.critical_b(4.0).unwrap() > FRAC_PI_2);
}

#[test]
fn two_crossings_within_a_step_are_found() {
    // At 11.99 and 12.02 rad/s: the loop swings for b between 1.3105, and 1.4196 of the second.
    let flows = [(0.331_365_688, 8.6956), (0.481_905_566, 4.9295), (0.286_805_105, 2.6369), (0.068_378_780, 3.6518)];
    let flows = flows.into_iter().chain([(0.038_147_606, 9.3736)]);
    let paths: Vec<_> = flows.map(|(delay_s, phi)| FluidFlow { delay_s, phi }).collect();
    let (queueing_s, price_s) = (0.028_343_4, 0.508_332 * 0.028_343_4);
    let here = Loop::new(&paths, Scale::Propagation, Mixing::Perfect, queueing_s, price_s, None).unwrap();
    let b = here.critical_b(4.0).unwrap();
    assert!((b - 1.3105).abs() < 1e-3, "{b}");
    assert_eq!([0.999, 1.001].map(|part| here.unstable_roots(part * b)), [0, 2]);
}

#[test]
fn the_smooth_price_is_gentler_on_its_parabola() {
    // b_eff = b√(T/a) below T = a: four times as much b for T = a/16.
    let here = Fluid { price: PriceForm::Smooth, a_bytes: 8000.0, b: 1.0, ..fluid(&[0.1]) };
    let slope = here.slope(here.rest().unwrap().queue_bytes);
    assert!((slope - 0.25).abs() < 1e-12, "{slope}");
    assert!((Loop::of(&here).unwrap().critical_b(10.0).unwrap() - FRAC_PI_2).abs() < 1e-6);
}

fn sets() -> impl Strategy<Value = Vec<FluidFlow>> {
    let path = (0.005..0.5_f64, 0.1..10.0_f64).prop_map(|(delay_s, phi)| FluidFlow { delay_s, phi });
    prop::collection::vec(path, 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Σθ_i sinc(x_i) = 1/b where Σθ_i cos(x_i)/x_i = 0, and sin x/x ≤ (2/π)(1 + cos x/x): no set swings below π/2.
    #[test]
    fn with_rates_at_rest_half_of_pi_is_enough_for_all_delays(paths in sets()) {
        let here = Loop::new(&paths, Scale::Propagation, Mixing::AtRest, 0.05, 0.01, None).unwrap();
        let b = here.critical_b(20.0).unwrap_or(20.0);
        prop_assert!(b >= FRAC_PI_2 - 1e-9, "{}", b);
        prop_assert_eq!(here.unstable_roots(0.99 * FRAC_PI_2), 0);
    }

    /// sin x/x ≤ (2/π)(1 + cos x/x), on which that rests.
    #[test]
    fn the_tangent_lies_above(x in 1e-3..100.0_f64) {
        prop_assert!(x.sin() / x <= 2.0 / PI * (1.0 + x.cos() / x) + 1e-12);
    }

    #[test]
    fn proposition_1_for_all_delays(paths in sets()) {
        let here = Loop::new(&paths, Scale::Nothing, Mixing::Perfect, 50.0, 1.0, None).unwrap();
        let longest_s = paths.iter().fold(0.0_f64, |most, path| most.max(path.delay_s));
        let enough = FRAC_PI_2 / longest_s;
        prop_assert!(here.critical_b(2.0 * enough).is_none_or(|b| b >= enough * (1.0 - 1e-9)));
    }

    /// The least b at which a root crosses is the one below which none lies to the right.
    #[test]
    fn roots_are_counted_as_they_cross(paths in sets(), queueing_s in 0.01..0.3_f64, part in 0.02..1.0_f64) {
        let here =
            Loop::new(&paths, Scale::Propagation, Mixing::Perfect, queueing_s, part * queueing_s, None).unwrap();
        if let Some(b) = here.critical_b(4.0) {
            prop_assert_eq!(here.unstable_roots(0.995 * b), 0, "below {}", b);
            prop_assert!(here.unstable_roots(1.005 * b) >= 2, "above {}", b);
        } else {
            prop_assert_eq!(here.unstable_roots(3.99), 0);
        }
    }
}

#[test]
fn what_is_no_loop_is_refused() {
    let refused = |paths: &[FluidFlow], queueing_s, price_s, average| {
        Loop::new(paths, Scale::Propagation, Mixing::Perfect, queueing_s, price_s, average).unwrap_err().key
    };
    let one = paths(&[0.1]);
    assert_eq!(refused(&[], 1.0, 1.0, None), "delays");
    assert_eq!(refused(&paths(&[0.0]), 1.0, 1.0, None), "delay");
    assert_eq!(refused(&[FluidFlow { delay_s: 0.1, phi: 0.0 }], 1.0, 1.0, None), "phi");
    assert_eq!(refused(&one, 0.0, 1.0, None), "queueing");
    assert_eq!(refused(&one, 1.0, f64::NAN, None), "price");
    assert_eq!(refused(&one, 1.0, 1.0, Some(-2.0)), "average");
    let wrong = |start: &Start, step_s| fluid(&[0.1]).trajectory(start, 1.0, step_s, 1).unwrap_err().key;
    assert_eq!(wrong(&Start::NearRest(1.0), 0.2), "step");
    assert_eq!(wrong(&Start::NearRest(-1.0), 0.01), "start");
    assert_eq!(wrong(&Start::Windows(vec![]), 0.01), "windows");
    assert_eq!(Fluid { rate: 0.0, ..fluid(&[0.1]) }.rest().unwrap_err().key, "rate");
}
