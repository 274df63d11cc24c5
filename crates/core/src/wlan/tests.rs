// SPDX-License-Identifier: MIT OR Apache-2.0
use proptest::prelude::*;

use super::*;
use crate::law::clamp::{PriceForm, PriceParams};
use crate::loss::tests::bernoulli;
use crate::packet::Packet;
use crate::role::MarkerParams;
use crate::units::{Amount, Bytes, Rate};

mod behaviour;
mod liveness;
mod pencil;
mod saturation;

const MBIT: u64 = 1_000_000;

/// From `us` microseconds on another rate.
fn step(us: u64, bps: u64) -> RateStep {
    RateStep { at: Duration::from_micros(us), rate: Rate::from_bps(bps) }
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// A packet of `size` bytes that comes in at `port`, numbered `number`.
fn packet(port: usize, number: u64, size: u32) -> Packet {
    let mut packet = Packet::data(port as u32, number, size - 40, 40, Instant::ZERO);
    packet.station = port as u16;
    packet
}

/// A WLAN of 11 Mbit/s without limits and losses.
fn config(stations: usize) -> WlanConfig {
    let station = |n| WlanStationConfig {
        name: format!("m{n}"),
        queue: QueueConfig::default(),
        rate: RateSteps::constant(Rate::from_bps(11 * MBIT)),
        loss: LossConfig::default(),
        frame_errors: LossConfig::default(),
    };
    WlanConfig {
        mac: MacConfig::default(),
        queue: QueueConfig::default(),
        stations: (1..=stations).map(station).collect(),
    }
}

fn with_rts(stations: usize) -> WlanConfig {
    let mac = MacConfig { rts_threshold: Some(Bytes::ZERO), ..MacConfig::default() };
    WlanConfig { mac, ..config(stations) }
}

fn wlan_of(config: &WlanConfig, seed: u64) -> Wlan<Packet> {
    Wlan::new("wlan", config, &Streams::new(seed), Span::ALWAYS).unwrap()
}

/// (instant, port, number) of all departures.
type Log = Vec<(Instant, usize, u64)>;

fn collect(wlan: &mut Wlan<Packet>, log: &mut Log) {
    while let Some(Departure { at, packet }) = wlan.poll_departure() {
        log.push((at, packet.station(), packet.seq()));
    }
}

/// Runs until `until`, woken whenever it asks to be.
fn run_until(wlan: &mut Wlan<Packet>, until: Instant, log: &mut Log) {
    while let Some(due) = wlan.next_wake().filter(|&due| due <= until) {
        wlan.wake(due);
        collect(wlan, log);
    }
}

/// Keeps two packets of `size` bytes or more at each of `ports` until `until`.
fn saturate(wlan: &mut Wlan<Packet>, ports: &[usize], size: u32, until: Instant) -> Log {
    let mut log = Log::new();
    let mut number = 0;
    let mut now = Instant::ZERO;
    while now <= until {
        for &port in ports {
            let interface = (port + 1).saturating_sub(wlan.stations());
            while wlan.interfaces()[interface].packets() < 2 {
                wlan.receive(now, packet(port, number, size));
                number += 1;
            }
        }
        now = wlan.next_wake().expect("the queues are full");
        wlan.wake(now);
        collect(wlan, &mut log);
    }
    log
}

/// The first back-offs that an interface draws, of windows `windows`.
fn draws(seed: u64, interface: &str, windows: &[u32]) -> Vec<u64> {
    let mut stream = Streams::new(seed).stream(interface, "back-off");
    windows.iter().map(|window| (stream.uniform() * (f64::from(*window) + 1.0)) as u64).collect()
}
