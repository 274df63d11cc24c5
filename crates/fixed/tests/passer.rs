// SPDX-License-Identifier: MIT OR Apache-2.0
//! An access point raises a, or lowers it, by what it sees of connections.

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
        comes(&SETTINGS(), &mut passer, station, &syn, SECOND);
        goes(&mut passer, station, &both, SECOND + 20 * MS);
        comes(&SETTINGS(), &mut passer, station, &ack, SECOND + 50 * MS);
    } else {
        goes(&mut passer, station, &syn, SECOND);
        comes(&SETTINGS(), &mut passer, station, &both, SECOND + 30 * MS);
        goes(&mut passer, station, &ack, SECOND + 50 * MS);
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
        comes(&SETTINGS(), &mut passer, &mut station, &packet(TCP_ACK, 1000), 2 * SECOND);
        goes(&mut passer, &station, &packet(TCP_ACK, 0), 3 * SECOND);
        assert_eq!((passer.path_ns, passer.mss), (50 * MS, 1000));
        // Nor does an answer that is said again.
        for second in 4..8 {
            comes(&SETTINGS(), &mut passer, &mut station, &packet(TCP_SYN | TCP_ACK, 0), second * SECOND);
            goes(&mut passer, &station, &packet(TCP_ACK, 0), second * SECOND + 20 * MS);
            goes(&mut passer, &station, &packet(TCP_SYN | TCP_ACK, 0), second * SECOND + 50 * MS);
            comes(&SETTINGS(), &mut passer, &mut station, &packet(TCP_ACK, 0), second * SECOND + 90 * MS);
        }
        assert_eq!(passer.path_ns, 50 * MS);
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
                comes(&SETTINGS(), passer, &mut station, &packet(TCP_ACK, if i == 0 { 1440 } else { 100 }), now_ns);
            }
        }
        assert_eq!(station::weights_q8(&station), count << 8);
        // The byte that keeps the queue busy waits for what takes another one, and rates are rounded down.
        assert!(station::a_of(&SETTINGS(), &station, passers[0].mss).abs_diff(wanted) <= 2);
    }
}

#[test]
fn a_stays_raised_while_an_epoch_has_seen_but_the_farthest() {
    let mut station = busy();
    // 10 ms away, and 15 of 50 ms: it is the shortest path that counts, 12.5 kB.
    let mut passers: Vec<_> = (0..16).map(|_| opened(&mut station, false)).collect();
    passers[0].path_ns = 10 * MS;
    let mut now_ns = 5 * SECOND;
    let mut least_a = u64::MAX;
    for _ in 0..3 {
        now_ns += SECOND / 2;
        station::turn(&mut station, now_ns);
        for passer in passers.iter_mut().rev() {
            comes(&SETTINGS(), passer, &mut station, &packet(TCP_ACK, 1440), now_ns);
            if station::weights_q8(&station) >= 16 << 8 {
                least_a = least_a.min(station::a_of(&SETTINGS(), &station, 1440));
            }
        }
    }
    assert!(least_a.abs_diff(2 * 16 * 1440 - 16 * 500 - 12_500) <= 2, "{least_a}");
    // Once the near one is gone for a whole epoch, a is what is set.
    for _ in 0..2 {
        now_ns += SECOND / 2;
        station::turn(&mut station, now_ns);
        for passer in &mut passers[1..] {
            comes(&SETTINGS(), passer, &mut station, &packet(TCP_ACK, 1440), now_ns);
        }
    }
    station::turn(&mut station, now_ns + SECOND / 2);
    assert_eq!(station::a_of(&SETTINGS(), &station, 1440), 10_000);
}

/// Two connections that share a line of 1.25 MB/s behind a queue of 25 ms, 5 ms and 100 ms away, or of unknown paths: the first takes so
/// much of it for so long, with windows that would do for `window_ms` of it. Gives a as it was at last.
fn shared(is_known: bool, phases: &[(u32, f64, u32)]) -> Vec<u64> {
    let settings = Settings { a_bytes: 30_250, ..SETTINGS() };
    let mut station = busy();
    let (mut now_ns, mut departed) = (3 * SECOND, 20 * 125_000);
    let mut passers = [5, 100].map(|away_ms| {
        let mut passer = PasserRecord::default();
        if is_known {
            let scaled = |flags| PacketRecord { has_scale: 1, scale: 4, ..packet(flags, 0) };
            goes(&mut passer, &station, &scaled(TCP_SYN), now_ns);
            comes(&settings, &mut passer, &mut station, &scaled(TCP_SYN | TCP_ACK), now_ns + away_ms * MS);
            goes(&mut passer, &station, &packet(TCP_ACK, 0), now_ns + away_ms * MS);
        }
        (passer, 1_u32)
    });
    let phase = |&(seconds, part, window_ms): &(u32, f64, u32)| {
        for _ in 0..100 * seconds {
            now_ns += 10 * MS;
            departed += 12_500;
            station::look(&mut station, now_ns, 31_250, departed);
            station::turn(&mut station, now_ns);
            for ((passer, ack), (part, window_ms)) in passers.iter_mut().zip([(part, window_ms), (1.0 - part, 125)]) {
                let bytes = (12_500.0 * part) as u32;
                if bytes == 0 {
                    continue;
                }
                comes(&settings, passer, &mut station, &packet(TCP_ACK, 1000), now_ns);
                *ack += bytes;
                let window = ((bytes * window_ms / 10) >> 4) as u16;
                goes(passer, &station, &PacketRecord { ack: *ack, window, ..packet(TCP_ACK, 0) }, now_ns);
            }
        }
        station::a_of(&settings, &station, 1000)
    };
    phases.iter().map(phase).collect()
}

#[test]
fn a_sender_near_by_that_loses_its_share_lowers_a_as_long_as_that_helps() {
    // BBR: two thirds of its window are under way. By Little's law it would use 30 ms of its rate.
    let asks = (5, 0.3, 45);
    let a = shared(true, &[(2, 0.3, 45), asks, (60, 0.5, 30)]);
    // Until it has had something under way for three seconds it may be on its way; then the queue is to be no longer than its path.
    assert_eq!(a[0], 30_250);
    assert!((30_250 / 8..=6_250 - 2 * 500).contains(&a[1]), "{a:?}");
    // Bit by bit it is as long again.
    assert_eq!(a[2], 30_250);
    // Whom it does not help has a pace of its own.
    assert_eq!(shared(true, &[(20, 0.3, 45)]), [30_250]);
    // What slow start has left it of a window may be a dozen times what it needs.
    assert!((30_250 / 8..=6_250 - 2 * 500).contains(&shared(true, &[(5, 0.3, 400)])[0]));
    // Who fills its window, has its share, has next to nothing of both, or is not known from its handshake, lowers nothing.
    for (is_known, part, window_ms) in [(true, 0.3, 30), (true, 0.5, 45), (true, 0.1, 400), (false, 0.3, 45)] {
        assert_eq!(shared(is_known, &[(5, part, window_ms)]), [30_250], "{part} {window_ms}");
    }
    // Nor does one that rests now and then, at whatever moment.
    for (on, off) in [(4, 2), (2, 2), (5, 5), (5, 10)] {
        let phases: Vec<_> = (0..60).map(|second| (1, if second % (on + off) < on { 0.5 } else { 0.0 }, 45)).collect();
        assert!(shared(true, &phases).iter().all(|&a| a == 30_250), "{on} {off}");
    }
}

#[test]
fn an_ack_beyond_the_window_tells_an_access_point_nothing_unless_that_goes_on() {
    let mut station = busy();
    let mut passer = opened(&mut station, false);
    let (mut now_ns, mut ack) = (3 * SECOND, 0_u32);
    let mut turns = |passer: &mut PasserRecord, ack: &mut u32, far: Option<u32>| {
        for turn in 0..300 {
            now_ns += 10 * MS;
            *ack += 3000;
            goes(passer, &station, &PacketRecord { ack: *ack, window: 9000, ..packet(TCP_ACK, 0) }, now_ns);
            let before = format!("{passer:?}");
            if let Some(far) = far {
                let forged = PacketRecord { ack: ack.wrapping_add(far), window: 9000, ..packet(TCP_ACK, 0) };
                goes(passer, &station, &forged, now_ns);
                assert_eq!(format!("{passer:?}"), before);
            }
            if turn % 30 == 29 {
                station::turn(&mut station, now_ns);
                comes(&SETTINGS(), passer, &mut station, &packet(TCP_ACK, 1000), now_ns);
            }
        }
        passer.bearing.taken
    };
    let taken = turns(&mut passer, &mut ack, None);
    assert!((250_000..320_000).contains(&taken), "{taken}");
    for far in [9002, 1 << 30, 1 << 31, 3 << 30] {
        assert!(turns(&mut passer, &mut ack, Some(far)).abs_diff(300_000) < 20_000);
    }
    // It was at another access point for a while.
    ack += 10_000_000;
    turns(&mut passer, &mut ack, None);
    assert!(turns(&mut passer, &mut ack, Some(1 << 30)).abs_diff(300_000) < 20_000);
}
