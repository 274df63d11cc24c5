// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders that always have packets, against closed forms.
use super::*;

/// 1500 B in a frame of 1528 B at 11 Mbit/s: 192 + 1111.27 µs.
const SIZE: u32 = 1500;
const DATA: f64 = 1303.273e-6;
const SLOT: f64 = 20e-6;
const ACK: f64 = 304e-6;
const SIFS: f64 = 10e-6;
const DIFS: f64 = 50e-6;
const RTS: f64 = 352e-6;
const CTS: f64 = 304e-6;
const EIFS: f64 = SIFS + ACK + DIFS;

/// Bianchi's chain with the retry limit of seven attempts: windows 32, 64, …, 1024, 1024. Probability that a station
/// sends in a slot, and that its attempt collides.
fn bianchi(stations: i32) -> (f64, f64) {
    let windows = [32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 1024.0];
    let tau = |p: f64| {
        let (mut attempts, mut slots) = (0.0, 0.0);
        for (i, window) in windows.iter().enumerate() {
            attempts += p.powi(i as i32);
            slots += p.powi(i as i32) * (window + 1.0) / 2.0;
        }
        attempts / slots
    };
    // τ falls with p, and p = 1 − (1 − τ)^(n−1) rises with τ: bisection.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = f64::midpoint(low, high);
        if 1.0 - (1.0 - tau(p)).powi(stations - 1) > p { low = p } else { high = p }
    }
    (tau(low), low)
}

/// Bianchi's throughput \[bit/s\] of `stations`, for the durations of a success and of a collision.
fn throughput(stations: i32, success: f64, collision: f64) -> f64 {
    let (tau, _) = bianchi(stations);
    let idle = (1.0 - tau).powi(stations);
    let one = f64::from(stations) * tau * (1.0 - tau).powi(stations - 1);
    8.0 * f64::from(SIZE) * one / (idle * SLOT + one * success + (1.0 - idle - one) * collision)
}

/// Throughput \[bit/s\], share of attempts that collide, and departures a station, of `stations` that send up.
fn measure(config: &WlanConfig, seconds: u64) -> (f64, f64, Vec<f64>) {
    let n = config.stations.len();
    let mut wlan = wlan_of(config, 5);
    let ports: Vec<usize> = (n..2 * n).collect();
    let log = saturate(&mut wlan, &ports, SIZE, us(seconds * 1_000_000));
    let sum = |of: fn(&AccessMeter) -> u64| wlan.interfaces().iter().map(|i| of(i.access())).sum::<u64>() as f64;
    let each = ports.iter().map(|port| log.iter().filter(|(_, from, _)| from == port).count() as f64).collect();
    let rate = log.len() as f64 * 8.0 * f64::from(SIZE) / seconds as f64;
    (rate, sum(|a| a.collisions) / sum(|a| a.attempts), each)
}

#[test]
fn one_station_takes_the_mean_of_its_window_between_frames() {
    // 50 + 15.5 · 20 + 1303.3 + 10 + 304 µs: 6.069 Mbit/s. 10 s are 5000 back-offs with a standard deviation of 185 µs
    // each: 0.13 % of the mean.
    let (rate, collisions, _) = measure(&config(1), 10);
    let cycle = DIFS + 15.5 * SLOT + DATA + SIFS + ACK;
    assert!((rate / (8.0 * f64::from(SIZE) / cycle) - 1.0).abs() < 0.005, "{rate}");
    assert_eq!(collisions, 0.0);
}

#[test]
fn one_station_with_rts() {
    let (rate, ..) = measure(&with_rts(1), 10);
    let cycle = DIFS + 15.5 * SLOT + RTS + SIFS + CTS + SIFS + DATA + SIFS + ACK;
    assert!((rate / (8.0 * f64::from(SIZE) / cycle) - 1.0).abs() < 0.005, "{rate}");
}

#[test]
fn many_stations_share_as_in_bianchis_model() {
    for n in [2, 5, 10, 20, 40] {
        let (rate, collisions, _) = measure(&config(n as usize), 60);
        let (expected, p) = (throughput(n, DATA + SIFS + ACK + DIFS, DATA + EIFS), bianchi(n).1);
        assert!((rate / expected - 1.0).abs() < 0.03, "{n} stations: {rate}, not {expected}");
        assert!((collisions / p - 1.0).abs() < 0.1, "{n} stations: {collisions}, not {p}");
    }
}

#[test]
fn many_stations_share_as_in_bianchis_model_with_rts() {
    for n in [2, 10, 40] {
        let (rate, ..) = measure(&with_rts(n as usize), 60);
        let expected = throughput(n, RTS + SIFS + CTS + SIFS + DATA + SIFS + ACK + DIFS, RTS + EIFS);
        assert!((rate / expected - 1.0).abs() < 0.03, "{n} stations: {rate}, not {expected}");
    }
}

#[test]
fn the_base_station_is_one_of_the_contenders() {
    // Down to three stations and up from two: each of three senders gets a third, the base station all of its alone.
    let mut wlan = wlan_of(&config(3), 1);
    let log = saturate(&mut wlan, &[0, 3, 4], SIZE, us(60_000_000));
    let share = |port| log.iter().filter(|(_, from, _)| *from == port).count() as f64 / log.len() as f64;
    // About 25 000 departures; what varies is who wins a contention: standard deviation below 0.5 %.
    for port in [0, 3, 4] {
        assert!((share(port) - 1.0 / 3.0).abs() < 0.01, "{port}: {}", share(port));
    }
}

#[test]
fn access_is_fair_in_packets_whatever_the_rates() {
    let mut slow = config(4);
    slow.stations[0].rate = RateSteps::constant(Rate::from_bps(MBIT));
    let (rate, _, each) = measure(&slow, 120);
    let mean = each.iter().sum::<f64>() / 4.0;
    assert!(each.iter().all(|n| (n / mean - 1.0).abs() < 0.05), "{each:?}");
    // The performance anomaly of 802.11: one at 1 Mbit/s brings all below it, Heusse et al. 2003.
    assert!(rate / 4.0 < 1e6, "{rate}");
}

#[test]
fn frame_errors_cost_attempts_and_not_packets() {
    // At 10 % of errors seven attempts in a row fail with 10^−7.
    let mut noisy = config(1);
    noisy.stations[0].frame_errors = bernoulli(0.1);
    let mut wlan = wlan_of(&noisy, 1);
    let log = saturate(&mut wlan, &[1], SIZE, us(20_000_000));
    let access = wlan.interfaces()[1].access();
    assert_eq!(access.given_up, 0);
    assert!(log.windows(2).all(|pair| pair[0].2 + 1 == pair[1].2));
    // About 9000 attempts: standard deviation 0.003.
    let share = access.errors as f64 / access.attempts as f64;
    assert!((share - 0.1).abs() < 0.012, "{share}");
}

#[test]
fn a_saturated_medium_is_busy_but_for_gaps_and_back_offs() {
    let span = Span { from: Instant::ZERO, until: us(10_000_000) };
    let mut wlan = Wlan::new("wlan", &config(1), &Streams::new(1), span).unwrap();
    saturate(&mut wlan, &[0], SIZE, us(10_000_000));
    let busy = DATA + SIFS + ACK;
    let expected = busy / (busy + DIFS + 15.5 * SLOT);
    let share = wlan.interfaces()[0].access().airtime.as_secs_f64() / 10.0;
    assert!((share / expected - 1.0).abs() < 0.005, "{share}");
}
