// SPDX-License-Identifier: MIT OR Apache-2.0
//! An access point raises a by what it sees of connections.

use lasthop_fixed::passer::{comes, goes};
use lasthop_fixed::state::{PacketRecord, PasserRecord, Settings, StationRecord, TCP_ACK, TCP_SYN};
use lasthop_fixed::station;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const SETTINGS: fn() -> Settings = || Settings { is_clamp: 1, a_bytes: 10_000, tau_bytes: 500, ..Settings::default() };

fn packet(flags: u8, payload: u32) -> PacketRecord {
    PacketRecord { flags, payload, segment: payload, ..PacketRecord::default() }
}

/// A connection whose server is 30 ms away and whose station 20 ms, and who opened it.
fn opened(station: &mut StationRecord, by_server: bool) -> PasserRecord {
    let mut passer = PasserRecord::default();
    let (syn, both, ack) = (packet(TCP_SYN, 0), packet(TCP_SYN | TCP_ACK, 0), packet(TCP_ACK, 0));
    if by_server {
        comes(&mut passer, station, &syn, SECOND);
        goes(&mut passer, &both, SECOND + 20 * MS);
        comes(&mut passer, station, &ack, SECOND + 50 * MS);
    } else {
        goes(&mut passer, &syn, SECOND);
        comes(&mut passer, station, &both, SECOND + 30 * MS);
        goes(&mut passer, &ack, SECOND + 50 * MS);
    }
    passer
}

/// A station whose queue empties at 1.25 MB/s: 125 kB in each 100 ms, never empty.
fn busy() -> StationRecord {
    let mut station = StationRecord::default();
    for i in 1..=20 {
        station::look(&mut station, i * SECOND / 10, 1, i * 125_000);
    }
    // Rounded down in each of the steps.
    assert!((1_249_990..=1_250_000).contains(&station::rate(&station)));
    station
}

#[test]
fn a_handshake_tells_the_path_whoever_begins_it() {
    for by_server in [false, true] {
        let mut station = StationRecord::default();
        let mut passer = opened(&mut station, by_server);
        assert_eq!(passer.path_ns, 50 * MS);
        // Later packets change nothing of it.
        comes(&mut passer, &mut station, &packet(TCP_ACK, 1000), 2 * SECOND);
        goes(&mut passer, &packet(TCP_ACK, 0), 3 * SECOND);
        assert_eq!((passer.path_ns, passer.mss), (50 * MS, 1000));
    }
}

#[test]
fn what_a_handshake_waits_in_the_queue_is_no_path() {
    let mut station = busy();
    // 12.5 kB wait 10 ms.
    station::look(&mut station, 2 * SECOND + 1, 12_500, 20 * 125_000);
    assert!(opened(&mut station, false).path_ns.abs_diff(40 * MS) < MS / 1000);
}

#[test]
fn many_connections_raise_a_by_what_two_segments_each_hold_too_much() {
    let mut station = busy();
    let unknown = |_: &mut StationRecord| PasserRecord::default();
    let known = |station: &mut StationRecord| opened(station, false);
    let mut now_ns = 3 * SECOND;
    // Of 2 segments of 1440 B each holds τ in the queue, and all together 62.5 kB on a path of 50 ms.
    for (count, path, wanted) in [
        (3, &unknown as &dyn Fn(&mut StationRecord) -> PasserRecord, 10_000),
        (16, &unknown, 2 * 16 * 1440 - 16 * 500),
        (16, &known, 10_000),
        (40, &known, 2 * 40 * 1440 - 40 * 500 - 62_500),
    ] {
        // Two epochs: those of before are forgotten.
        for _ in 0..2 {
            now_ns += 5 * SECOND;
            station::turn(&mut station, now_ns);
        }
        let mut passers: Vec<_> = (0..count).map(|_| path(&mut station)).collect();
        for i in 0..50 {
            for passer in &mut passers {
                comes(passer, &mut station, &packet(TCP_ACK, if i == 0 { 1440 } else { 100 }), now_ns);
            }
        }
        assert_eq!(station::weights_q8(&station), count << 8);
        // The byte that keeps the queue busy waits for what takes another one, and rates are rounded down.
        assert!(station::a_of(&SETTINGS(), &station, passers[0].mss).abs_diff(wanted) <= 2);
    }
}
