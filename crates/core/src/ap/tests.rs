// SPDX-License-Identifier: MIT OR Apache-2.0
use proptest::prelude::*;

use super::*;
use crate::law::abc::AbcRouterParams;
use crate::law::clamp::{PriceForm, PriceParams};
use crate::law::codel::CodelParams;
use crate::law::fq_codel::FqParams;
use crate::law::red::RedParams;
use crate::loss::tests::bernoulli;
use crate::packet::{Packet, Signal, Steering};
use crate::parameter::With;
use crate::queue::{Buffer, Queue};
use crate::radio::tests::slow;
use crate::radio::{ConstantRadio, ErrorModel, FixedMargin, LinearErrors, Margin};
use crate::role::AqmParams;
use crate::role::MarkerParams;
use crate::units::{Amount, Bytes, Frequency, Packets};

mod behaviour;
mod liveness;
mod pencil;

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A packet of `size` bytes for `station`, numbered `number`.
fn packet(station: u16, number: u64, size: u32) -> Packet {
    let mut packet = Packet::data(u32::from(station), number, size - 40, 40, Instant::ZERO);
    packet.station = station;
    packet
}

fn station(name: &str, radio: RadioConfig) -> ApStationConfig {
    ApStationConfig { name: name.to_owned(), queue: QueueConfig::default(), radio, loss: LossConfig::default() }
}

fn config(scheduler: SchedulerParams, stations: usize, radio: &RadioConfig) -> ApConfig {
    let stations = (1..=stations).map(|n| station(&format!("m{n}"), radio.clone())).collect();
    ApConfig { scheduler, stations }
}

fn ap(config: &ApConfig) -> AccessPoint<Packet> {
    AccessPoint::new("ap", config, &Streams::new(1), Span::ALWAYS, &mut Kinds::default()).unwrap()
}

/// TMC's fast fading: 60 Hz, 15 attempts.
fn fast() -> FadingRadio {
    FadingRadio { doppler: Frequency::from_hz(60.0), attempts: 15, ..slow() }
}

/// The report's radio.
fn report(frames: Frames) -> FadingRadio {
    FadingRadio {
        generators: 8,
        bandwidth: Frequency::from_hz(620e3),
        max_rate: Rate::from_bps(1_440_000),
        frames,
        attempts: 3,
        errors: ErrorModel::Linear(LinearErrors::new(0.44)),
        ..slow()
    }
}

/// A channel that always carries its highest rate, 10 Mbit/s: 3750 bytes a slot.
fn perfect() -> FadingRadio {
    FadingRadio { doppler: Frequency::from_hz(0.0), snr: 1e6, errors: ErrorModel::None, ..slow() }
}

fn constant(bps: u64) -> RadioConfig {
    RadioConfig::Constant(ConstantRadio { rate: Rate::from_bps(bps) })
}

/// (instant, station, number) of all departures.
type Log = Vec<(Instant, u16, u64)>;

fn collect(ap: &mut AccessPoint<Packet>, log: &mut Log) {
    while let Some(Departure { at, packet }) = ap.poll_departure() {
        log.push((at, packet.station, packet.seq()));
    }
}

/// Runs until `until`, woken whenever it asks to be.
fn run_until(ap: &mut AccessPoint<Packet>, until: Instant, log: &mut Log) {
    while let Some(due) = ap.next_wake().filter(|&due| due <= until) {
        ap.wake(due);
        collect(ap, log);
    }
}

/// Keeps `depth` packets of `size` bytes in each queue from `from` until `until`, with the stations in the order of their index.
fn saturate(ap: &mut AccessPoint<Packet>, depth: u64, size: u32, from: Instant, until: Instant) -> Log {
    let stations = ap.stations().len() as u16;
    let mut log = Log::new();
    let mut number = 0;
    let mut now = from;
    while now <= until {
        for station in 0..stations {
            while (ap.stations()[usize::from(station)].queue().len() as u64) < depth {
                ap.receive(now, packet(station, number, size));
                number += 1;
            }
        }
        now = ap.next_wake().expect("the queues are full");
        ap.wake(now);
        collect(ap, &mut log);
    }
    log
}
