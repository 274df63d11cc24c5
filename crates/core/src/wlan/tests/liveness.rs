// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parameter moves something.
use super::*;

/// Departures of a busy second: packets of two sizes down to both stations and up from both, some frames in error.
fn outcome_of(name: &str, config: &WlanConfig, seed: u64) -> Log {
    let mut wlan = Wlan::new(name, config, &Streams::new(seed), Span::ALWAYS).unwrap();
    let mut log = Log::new();
    for n in 0..400 {
        let now = us(2500 * n);
        run_until(&mut wlan, now, &mut log);
        for port in 0..4 {
            wlan.receive(now, packet(port, n, if n % 2 == 0 { 1500 } else { 200 }));
        }
    }
    log
}

fn usual() -> WlanConfig {
    let mut config = config(2);
    config.mac.rts_threshold = Some(Bytes::new(1000));
    for station in &mut config.stations {
        station.frame_errors = bernoulli(0.3);
    }
    config
}

fn differs(what: &str, change: impl FnOnce(&mut WlanConfig)) {
    let mut other = usual();
    change(&mut other);
    assert_ne!(outcome_of("wlan", &usual(), 1), outcome_of("wlan", &other, 1), "{what}");
}

#[test]
fn each_parameter_of_the_medium_access() {
    differs("slot", |c| c.mac.slot = Duration::from_micros(9));
    differs("sifs", |c| c.mac.sifs = Duration::from_micros(16));
    differs("difs", |c| c.mac.difs = Duration::from_micros(34));
    differs("preamble", |c| c.mac.preamble = Duration::from_micros(96));
    differs("control_rate", |c| c.mac.control_rate = Rate::from_bps(2 * MBIT));
    differs("cw_min", |c| c.mac.cw_min = 15);
    differs("cw_max", |c| c.mac.cw_max = 31);
    differs("short_attempts", |c| c.mac.short_attempts = 1);
    differs("long_attempts", |c| c.mac.long_attempts = 2);
    differs("rts_threshold", |c| c.mac.rts_threshold = None);
    differs("rts_threshold", |c| c.mac.rts_threshold = Some(Bytes::new(100)));
}

#[test]
fn each_parameter_of_a_station() {
    differs("rate", |c| c.stations[1].rate = RateSteps::constant(Rate::from_bps(2 * MBIT)));
    differs("loss", |c| c.stations[1].loss = bernoulli(0.1));
    differs("frame_errors", |c| c.stations[1].frame_errors = LossConfig::default());
    differs("queue of the base station", |c| c.queue.buffer.limit = Some(Amount::Packets(2)));
    differs("queue of a station", |c| c.stations[1].queue.buffer.limit = Some(Amount::Packets(2)));
    differs("name of a station", |c| c.stations[1].name = "other".to_owned());
}

#[test]
fn the_name_and_the_seed() {
    let usual_log = outcome_of("wlan", &usual(), 1);
    assert_eq!(usual_log, outcome_of("wlan", &usual(), 1));
    assert_ne!(usual_log, outcome_of("wlan2", &usual(), 1));
    assert_ne!(usual_log, outcome_of("wlan", &usual(), 2));
}

#[test]
fn markers_stamp_what_leaves_either_queue() {
    let price = |size| {
        let mut config = config(1);
        let marker = || MarkerParams::Linear(PriceForm::Linear.of(PriceParams::new(Bytes::new(size))));
        config.queue.marker = marker();
        config.stations[0].queue.marker = marker();
        let mut wlan = wlan_of(&config, 1);
        let mut sum = [0.0; 2];
        for n in 0..400 {
            wlan.receive(us(1000 * n), packet(0, n, 1500));
            wlan.receive(us(1000 * n), packet(1, n, 1500));
            wlan.wake(us(1000 * n));
            while let Some(Departure { packet, .. }) = wlan.poll_departure() {
                sum[packet.station()] += packet.signal.price().expect("every packet that leaves carries a price");
            }
        }
        sum
    };
    let (low, high) = (price(3000), price(30_000));
    assert!(high.iter().all(|price| *price > 0.0), "{high:?}");
    assert!(low[0] > high[0] && low[1] > high[1], "{low:?} and {high:?}");
}
