// SPDX-License-Identifier: MIT OR Apache-2.0

use super::equations as eq;
use super::*;

fn close(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9 * wanted.abs().max(1.0), "{value}, {wanted}");
}

//= station#10
//= station#11
//= station#12
//= station#13
#[test]
fn weights_lean_to_those_that_get_less() {
    close(eq::leaning(2.0, libm::log(3.0), 0.0), 6.0);
    close(eq::leaning(2.0, 0.7, 0.7), 2.0);
    close(eq::shortfall(60.0, 80.0), 0.25);
    // .1 beyond the dead zone for 2 s; .1 on the other side; nothing within.
    close(eq::lean(0.0, 0.25, 0.05, 2.0), 0.01);
    close(eq::lean(0.0, -0.5, 0.05, 2.0), -0.01);
    assert_eq!([eq::lean(0.3, 0.15, 0.05, 1.0), eq::lean(0.3, -0.4, 0.05, 1.0)], [0.3, 0.3]);
    assert_eq!([eq::lean(0.0, 1.0, 0.05, 1e3), eq::lean(0.0, -2.0, 0.05, 1e3)], [1.5, -1.5]);
    assert!(eq::is_limited(5.9, 10.0, 0.6) && !eq::is_limited(6.0, 10.0, 0.6));
}

//= station#22
//= station#23
#[test]
fn where_shares_are_exact_all_that_is_missing_counts() {
    close(eq::lean_exactly(0.1, (300.0, 100.0), 1000.0, 0.25), 0.15);
    assert_eq!(eq::lean_exactly(0.0, (9e3, 0.0), 1e3, 0.25), 1.5);
    // Weights of 1 and 3 that lean to 2 and 6 are what they were.
    close(eq::leaning(1.0, libm::log(2.0), eq::mean_lean(8.0, 4.0)), 1.0);
}

/// Two flows of such weights on a line of 1 MB/s for so many seconds. For the same weight the second is worth a `worth` of the first; it
/// takes `demand` at most \[B/s\], and the first has the rest. Gives what each has had in the last second \[B\], and p.
fn two_flows(weights: [f64; 2], worth: f64, demand: f64, seconds: u32) -> ([f64; 2], [f64; 2]) {
    let mut meeting = Meeting::default();
    let numbers = weights.map(|weight| meeting.join(weight));
    let (mut rates, mut p) = ([0.0; 2], weights);
    for n in 1..=100 * seconds {
        let part = worth * p[1] / (p[0] + worth * p[1]);
        let second = (1e6 * part).min(demand);
        rates = [1e6 - second, second];
        for i in [0, 1] {
            // Of each 50 ms on the way; the window is of 50 ms of what it may have.
            let window = if i == 1 { 5e4 * part } else { 0.05 * rates[0] };
            let told = Visit { bytes: 0.01 * rates[i], way_s: 0.05, held_bytes: window, elapsed_s: 0.01, share: 1e6 };
            p[i] = meeting.meet(numbers[i], 0.01 * f64::from(n), told);
        }
    }
    (rates, p)
}

#[test]
fn different_weights_come_to_their_shares() {
    let (rates, p) = two_flows([1.0, 4.0], 0.5, 1e9, 120);
    assert!((rates[1] / rates[0] - 4.0).abs() < 0.01, "{rates:?}");
    close(p[0] + p[1], 5.0);
    // As if the second had 8 for its weight.
    assert!((p[1] / p[0] - 8.0).abs() < 0.02, "{p:?}");
}

#[test]
fn equal_weights_are_let_off_a_little() {
    // .46 and .54 of the line are let pass. Of a third too little, what is more than .15 is made good.
    assert_eq!(two_flows([1.0; 2], 0.85, 1e9, 300).1, [1.0; 2]);
    let (rates, _) = two_flows([1.0; 2], 0.5, 1e9, 600);
    assert!((0.85..0.9).contains(&(rates[1] / 5e5)), "{rates:?}");
}

#[test]
fn who_has_no_more_to_send_leans_nowhere() {
    // It takes three quarters of what it might, half, and all.
    for demand in [6e5, 4e5, 1e9] {
        let (_, p) = two_flows([1.0, 4.0], 1.0, demand, 120);
        assert_eq!(p, [1.0, 4.0], "{demand}");
    }
    let mut party = Party::new(1.0);
    let mut balance = Balance::default();
    for n in 0..10_u32 {
        party.had(1e5, 0.05);
        party.held(1e4, 1.0);
        if balance.is_due(f64::from(n)) {
            balance.compare(f64::from(n), true, &mut [(&mut party, true)]);
        }
    }
    assert!(party.is_limited());
}

//= station#25
//= station#26
#[test]
fn who_is_told_less_is_bound_elsewhere() {
    close(eq::most_share(3e5, 0.05 * libm::log(2.0), 1e5), 1.5e5);
    assert_eq!(eq::most_share(3e5, 0.05, 2e5), 2e5);
    assert!(eq::is_elsewhere(0.94, 1.0) && !eq::is_elsewhere(0.95, 1.0));
}

#[test]
fn a_flow_at_a_narrower_line_leans_nowhere_and_the_others_do() {
    // Each has 100 kB/s, and the last is told another share than the others, or the same.
    let leaning = |last: f64| {
        let mut meeting = Meeting::default();
        let numbers = [1.0, 1.0, 4.0].map(|weight| meeting.join(weight));
        let mut p = [0.0; 3];
        for n in 1..3000 {
            for i in 0..3 {
                let share = if i == 2 { last } else { 1e5 };
                let told = Visit { bytes: 1e3, way_s: 0.05, held_bytes: 5e3, elapsed_s: 0.01, share };
                p[i] = meeting.meet(numbers[i], 0.01 * f64::from(n), told);
            }
        }
        p
    };
    assert_eq!(leaning(2.5e4), [1.0, 1.0, 4.0]);
    let [first, second, last] = leaning(1e5);
    assert!(first < 0.5 && second < 0.5 && last > 5.0, "{first}, {second}, {last}");
}

#[test]
fn after_a_pause_weights_are_what_they_were() {
    let mut meeting = Meeting::default();
    let numbers = [1.0; 3].map(|weight| meeting.join(weight));
    let mut all = |t_s: f64, flows: &[usize]| -> Vec<f64> {
        let told = Visit { bytes: 3e3, way_s: 0.05, held_bytes: 1.5e4, elapsed_s: 0.01, share: 1e6 };
        flows.iter().map(|&i| meeting.meet(numbers[i], t_s, told)).collect()
    };
    for n in 1..12_000 {
        all(0.01 * f64::from(n), &[0, 1, 2]);
    }
    // What few packets were there of the last second makes no rate of it.
    all(120.3, &[1, 1, 2]);
    for p in all(1120.0, &[0, 1, 2]) {
        close(p, 1.0);
    }
}
