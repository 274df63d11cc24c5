// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exchanges timed by hand. A packet of 1347 B makes a frame of 1375 B: 11 000 bit, 1000 µs at 11 Mbit/s; with the
//! preamble 1192 µs. An ACK takes 192 + 8 · 14 = 304 µs.
use super::*;

const SIZE: u32 = 1347;
const DATA: u64 = 1192;
const ACK: u64 = 304;
const SIFS: u64 = 10;
const DIFS: u64 = 50;
const SLOT: u64 = 20;

#[test]
fn a_packet_that_comes_to_an_idle_medium_goes_at_once() {
    let mut wlan = wlan_of(&config(1), 1);
    wlan.receive(us(7), packet(1, 0, SIZE));
    assert_eq!(wlan.next_wake(), Some(us(7)));
    let mut log = Log::new();
    run_until(&mut wlan, us(7), &mut log);
    assert_eq!(log, [(us(7 + DATA), 1, 0)], "known as soon as it starts");
    assert_eq!(wlan.next_wake(), None);
}

#[test]
fn the_second_waits_for_ack_difs_and_back_off() {
    let mut wlan = wlan_of(&config(1), 1);
    (0..3).for_each(|n| wlan.receive(us(0), packet(0, n, SIZE)));
    let mut log = Log::new();
    run_until(&mut wlan, us(100_000), &mut log);
    let slots = draws(1, "wlan", &[31, 31]);
    let cycle = |slots| DATA + SIFS + ACK + DIFS + SLOT * slots;
    let starts = [0, cycle(slots[0]), cycle(slots[0]) + cycle(slots[1])];
    assert_eq!(log, [0, 1, 2].map(|n| (us(starts[n] + DATA), 0, n as u64)));
}

#[test]
fn rts_and_cts_take_676_us_more() {
    // RTS 192 + 160, SIFS 10, CTS 304, SIFS 10.
    let mut wlan = wlan_of(&with_rts(1), 1);
    (0..2).for_each(|n| wlan.receive(us(0), packet(1, n, SIZE)));
    let mut log = Log::new();
    run_until(&mut wlan, us(100_000), &mut log);
    let slots = draws(1, "wlan/m1", &[31])[0];
    let second = 676 + DATA + SIFS + ACK + DIFS + SLOT * slots;
    assert_eq!(log, [(us(676 + DATA), 1, 0), (us(second + 676 + DATA), 1, 1)]);
}

#[test]
fn only_frames_above_the_threshold_are_reserved() {
    let exit = |threshold| {
        let mac = MacConfig { rts_threshold: Some(Bytes::new(threshold)), ..MacConfig::default() };
        let mut wlan = wlan_of(&WlanConfig { mac, ..config(1) }, 1);
        wlan.receive(us(0), packet(0, 0, SIZE));
        let mut log = Log::new();
        run_until(&mut wlan, us(0), &mut log);
        log[0].0
    };
    assert_eq!((exit(1375), exit(1374)), (us(DATA), us(676 + DATA)));
}

#[test]
fn who_comes_while_the_medium_is_busy_backs_off() {
    // The base station's frame ends at 1506; m1, which has never sent, comes during its ACK.
    let mut wlan = wlan_of(&config(1), 3);
    wlan.receive(us(0), packet(0, 0, SIZE));
    wlan.wake(us(0));
    wlan.receive(us(1300), packet(1, 0, SIZE));
    let slots = draws(3, "wlan/m1", &[31])[0];
    assert_eq!(wlan.next_wake(), Some(us(1506 + DIFS + SLOT * slots)));
}

#[test]
fn the_back_off_after_a_success_is_over_if_nobody_sends_for_long() {
    let mut wlan = wlan_of(&config(1), 1);
    wlan.receive(us(0), packet(0, 0, SIZE));
    wlan.wake(us(0));
    // 31 slots at most: 1506 + 50 + 620 = 2176.
    wlan.receive(us(2177), packet(0, 1, SIZE));
    assert_eq!(wlan.next_wake(), Some(us(2177)));
}

#[test]
fn a_back_off_is_frozen_while_another_sends() {
    // Both draw behind the first frame; the later one has then the rest to wait, and nothing of a begun slot.
    let (seed, first, second) = (0..)
        .map(|seed| (seed, draws(seed, "wlan/m1", &[31])[0], draws(seed, "wlan/m2", &[31])[0]))
        .find(|(_, first, second)| first < second)
        .unwrap();
    let mut wlan = wlan_of(&config(2), seed);
    wlan.receive(us(0), packet(0, 0, SIZE));
    wlan.wake(us(0));
    wlan.receive(us(100), packet(2, 1, SIZE));
    wlan.receive(us(200), packet(3, 2, SIZE));
    let mut log = Log::new();
    run_until(&mut wlan, us(100_000), &mut log);
    let start = 1506 + DIFS + SLOT * first;
    let next = start + 1506 + DIFS + SLOT * (second - first);
    assert_eq!(log, [(us(DATA), 0, 0), (us(start + DATA), 2, 1), (us(next + DATA), 3, 2)]);
}

#[test]
fn a_collision_lasts_as_long_as_the_longest_frame_and_costs_an_eifs() {
    // m1 and m2 draw alike and collide; then from larger windows they do not. m2's frame of 1.375 kB at 5.5 Mbit/s is on
    // the air for 2192 µs. EIFS = SIFS + ACK + DIFS = 364 µs.
    let (seed, one, two) = (0..)
        .map(|seed| (seed, draws(seed, "wlan/m1", &[31, 63]), draws(seed, "wlan/m2", &[31, 63])))
        .find(|(_, one, two)| one[0] == two[0] && one[1] < two[1])
        .unwrap();
    let mut config = config(2);
    config.stations[1].rate = RateSteps::constant(Rate::from_bps(5_500_000));
    let mut wlan = wlan_of(&config, seed);
    wlan.receive(us(0), packet(0, 0, SIZE));
    wlan.wake(us(0));
    wlan.receive(us(100), packet(2, 1, SIZE));
    wlan.receive(us(100), packet(3, 2, SIZE));
    let mut log = Log::new();
    run_until(&mut wlan, us(100_000), &mut log);
    let again = 1506 + DIFS + SLOT * one[0] + 2192 + 364;
    let first = again + SLOT * one[1];
    let second = first + 1506 + DIFS + SLOT * (two[1] - one[1]);
    assert_eq!(log, [(us(DATA), 0, 0), (us(first + DATA), 2, 1), (us(second + 2192), 3, 2)]);
    for interface in &wlan.interfaces()[1..] {
        assert_eq!((interface.access().attempts, interface.access().collisions), (2, 1));
    }
}

#[test]
fn an_rts_that_collides_costs_little() {
    let (seed, slots, [one, two]) = (0..)
        .map(|seed| [draws(seed, "wlan/m1", &[31, 63]), draws(seed, "wlan/m2", &[31, 63])].map(|d| (seed, d)))
        .find_map(|[(seed, one), (_, two)]| (one[0] == two[0]).then(|| (seed, one[0], [one[1], two[1]])))
        .unwrap();
    let mut wlan = wlan_of(&with_rts(2), seed);
    wlan.receive(us(0), packet(0, 0, SIZE));
    wlan.wake(us(0));
    wlan.receive(us(100), packet(2, 1, SIZE));
    wlan.receive(us(100), packet(3, 2, SIZE));
    let collision = 676 + 1506 + DIFS + SLOT * slots;
    wlan.wake(us(collision));
    // RTS 352 µs, EIFS 364 µs.
    assert_eq!(wlan.next_wake(), Some(us(collision + 352 + 364 + SLOT * one.min(two))));
}

#[test]
fn a_frame_in_error_is_sent_again_and_at_last_given_up() {
    // Every frame fails. Without RTS there are 7 attempts from windows 31, 63, 127, 255, 511, 1023, 1023; with RTS 4.
    let windows = [63, 127, 255, 511, 1023, 1023];
    for (config, attempts, lead) in [(config(1), 7, 0), (with_rts(1), 4, 676)] {
        let mut config = config;
        config.stations[0].frame_errors = bernoulli(1.0 - 1e-12);
        let mut wlan = wlan_of(&config, 1);
        wlan.receive(us(0), packet(1, 0, SIZE));
        let mut log = Log::new();
        run_until(&mut wlan, us(1_000_000), &mut log);
        assert_eq!(log, []);
        let station = &wlan.interfaces()[1];
        let access = station.access();
        assert_eq!((access.attempts, access.errors, access.given_up), (attempts, attempts, 1));
        assert_eq!((station.queue().meter().losses, station.packets()), (1, 0));
        // The medium was held by frames without answers.
        assert_eq!(access.airtime, Duration::from_micros(attempts * (lead + DATA)));
        // After the last attempt the window is the first again.
        let slots = draws(1, "wlan/m1", &[&windows[..attempts as usize - 1], &[31]].concat());
        let idle: u64 = slots[..attempts as usize - 1].iter().sum();
        let end = attempts * (lead + DATA) + (attempts - 1) * 364 + SLOT * idle;
        wlan.receive(us(end + 1), packet(1, 1, SIZE));
        assert_eq!(wlan.next_wake(), Some(us(end + 364 + SLOT * slots[attempts as usize - 1])));
    }
}

#[test]
fn a_rate_holds_from_its_instant_for_frames_that_start_then() {
    let mut config = config(1);
    config.stations[0].rate = RateSteps::new(Rate::from_bps(11 * MBIT), &[step(500, MBIT)]).unwrap();
    let mut wlan = wlan_of(&config, 1);
    (0..2).for_each(|n| wlan.receive(us(0), packet(0, n, SIZE)));
    let mut log = Log::new();
    run_until(&mut wlan, us(100_000), &mut log);
    let second = 1506 + DIFS + SLOT * draws(1, "wlan", &[31])[0];
    assert_eq!(log, [(us(DATA), 0, 0), (us(second + 192 + 11_000), 0, 1)]);
}
