// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs by BPF_PROG_TEST_RUN: what becomes of single packets. It takes root.

mod ends;
mod frames;
mod host;
mod mutated;
mod oracle;
#[path = "../support/segment.rs"]
mod segment;
mod sockets;
mod super_packets;
#[path = "../support/mod.rs"]
mod support;
mod too_big;
mod updates;

use lasthop_agent::config::{Config, Law, StationConfig};
use lasthop_agent::load::Programs;
use lasthop_agent::mode::Mode;
use lasthop_agent::state::{COUNTED, StationRecord};
use lasthop_linux::clock;
use support::{assert_verified_with_ease, or_skipped};

use frames::{ACK, OPTIONS, SYN, Segment, extended, folded, from_client, from_server, sum, unsummed, window, with_v6};

/// TCX_NEXT: another program, or the stack, goes on with the packet.
const PASSES_ON: u32 = u32::MAX;
/// The settings of a law, as they are by default in all else.
fn of_law(law: Law) -> Config {
    Config { law, ..Config::default() }
}

/// How many packets were counted under a name.
fn counted(programs: &Programs, kind: &str) -> u64 {
    programs.counts().unwrap()[COUNTED.iter().position(|name| *name == kind).unwrap()].packets
}

/// The programs of one who does this; none where they may not be loaded.
fn loaded(mode: Mode) -> Option<Programs> {
    or_skipped(Programs::load(mode, &Config::default().settings(14, mode == Mode::Proxy)))
}

#[test]
fn the_verifier_has_room_for_the_agents_programs() {
    let (share, station) = (Config::default(), of_law(Law::Station(StationConfig::default())));
    for (config, mode, is_hidden) in [
        (&share, Mode::Proxy, false),
        (&share, Mode::Proxy, true),
        (&station, Mode::Proxy, false),
        (&station, Mode::Proxy, true),
        (&share, Mode::Ap, false),
        (&share, Mode::Client, false),
    ] {
        let Some(programs) = or_skipped(Programs::load(mode, &config.settings(14, is_hidden))) else { return };
        for name in ["to_client", "to_server"] {
            assert_verified_with_ease(&programs.program(name).unwrap());
        }
    }
}

#[test]
fn a_connection_begins_with_ten_segments_and_duplicates_stay_duplicates() {
    let Some(proxy) = loaded(Mode::Proxy) else { return };
    let run = |program: &str, segment: &Segment<'_>| {
        let (verdict, frame) = proxy.try_packet(program, &segment.frame()).unwrap();
        assert_eq!((verdict, unsummed(&frame)), (PASSES_ON, 0));
        frame
    };
    assert_eq!(window(&run("to_server", &from_client(99, 0, SYN, 64_240, &OPTIONS))), 14_600);
    run("to_client", &from_server(999, 100, SYN | ACK, &OPTIONS, 0));
    run("to_client", &from_server(1000, 100, ACK, &[], 1460));
    run("to_client", &from_server(2460, 100, ACK, &[], 1460));
    // 14,600 B from what is acknowledged on, in units of 128 B, rounded up.
    let first = window(&run("to_server", &from_client(100, 2460, ACK, 5000, &[])));
    assert_eq!(first, 115);
    for _ in 0..3 {
        assert_eq!(window(&run("to_server", &from_client(100, 2460, ACK, 5000, &[]))), first);
    }
    // The receiver's own, where that is less; nothing, where it says so.
    assert_eq!(window(&run("to_server", &from_client(100, 2460, ACK, 40, &[]))), 40);
    assert_eq!(window(&run("to_server", &from_client(100, 2460, ACK, 0, &[]))), 0);
}

#[test]
fn what_is_not_known_leaves_as_it_came() {
    let Some(proxy) = loaded(Mode::Proxy) else { return };
    let mut frames = vec![from_client(1, 2, ACK, 9000, &[]).frame(), vec![0xff; 60]];
    // MPTCP, TCP-MD5, TCP-AO.
    for kind in [30, 19, 29] {
        frames.push(from_client(99, 0, SYN, 64_240, &[kind, 4, 0, 0]).frame());
    }
    let mut udp = from_client(1, 2, ACK, 9000, &[]).frame();
    udp[23] = 17;
    let mut fragment = from_client(99, 0, SYN, 64_240, &OPTIONS).frame();
    fragment[20] = 0x20;
    // Options of hops twice.
    let twice = extended(&with_v6(&from_client(99, 0, SYN, 64_240, &OPTIONS).frame()), &[0, 0]);
    frames.extend([udp, fragment, twice]);
    for frame in frames {
        for program in ["to_server", "to_client"] {
            let (verdict, left) = proxy.try_packet(program, &frame).unwrap();
            assert_eq!((verdict, &left), (PASSES_ON, &frame));
        }
    }
    assert!(proxy.flows().unwrap().is_empty());
}

#[test]
fn a_price_is_written_where_the_page_says_and_taken_out_again() {
    let (Some(ap), Some(client)) = (loaded(Mode::Ap), loaded(Mode::Client)) else { return };
    let plain = from_server(1000, 100, ACK, &[], 100).frame();
    let (verdict, priced) = ap.try_packet("to_client", &plain).unwrap();
    assert_eq!((verdict, priced.len()), (PASSES_ON, plain.len() + 8));
    assert_eq!((priced[14], folded(sum(0, &priced[14..42]))), (0x47, 0));
    assert_eq!(priced[16..18], ((plain.len() - 14 + 8) as u16).to_be_bytes());
    // An experiment's kind, its length, its tag, and no price as long as the rate is unknown.
    assert_eq!(priced[34..42], [158, 8, 0x4c, 0x50, 0, 0, 0, 0]);
    assert_eq!((&priced[18..24], &priced[26..34]), (&plain[18..24], &plain[26..34]));
    assert_eq!(priced[42..], plain[34..]);
    assert_eq!(client.try_packet("to_client", &priced).unwrap(), (PASSES_ON, plain.clone()));
    // One in a header that is cut off is nobody's.
    let mut cut = priced.clone();
    cut.truncate(42);
    cut[14] = 0x4f;
    cut[38..42].copy_from_slice(&[0, 0, 0, 1]);
    assert_eq!(ap.try_packet("to_client", &cut).unwrap(), (PASSES_ON, cut));
    let plain = with_v6(&plain);
    let (verdict, priced) = ap.try_packet("to_client", &plain).unwrap();
    assert_eq!((verdict, priced.len()), (PASSES_ON, plain.len() + 8));
    assert_eq!((&priced[18..20], priced[20]), (&(plain.len() as u16 - 54 + 8).to_be_bytes()[..], 60));
    assert_eq!(priced[54..62], [6, 0, 0x3e, 4, 0, 0, 0, 0]);
    assert_eq!(priced[62..], plain[54..]);
    assert_eq!(client.try_packet("to_client", &priced).unwrap(), (PASSES_ON, plain));
}

/// So many have data three times each within an epoch.
const CONNECTIONS: u16 = 800;

/// What is counted of them; none where programs may not be loaded.
fn counted_in_an_epoch(mode: Mode, count: fn(&StationRecord) -> u64) -> Option<u64> {
    let data = |port| Segment { ports: (80, port), ..from_server(1000, 100, ACK, &[], 100) }.frame();
    let frames: Vec<Vec<u8>> = (1..=CONNECTIONS).map(data).collect();
    // An epoch takes 300 ms from the first packet on: where it was over too soon, once more.
    for _ in 0..20 {
        let programs = or_skipped(Programs::load(mode, &Config::default().settings(14, false)))?;
        let began_ns = clock::monotonic_ns();
        for frame in frames.iter().cycle().take(3 * frames.len()) {
            programs.try_packet("to_client", frame).unwrap();
        }
        if clock::monotonic_ns() - began_ns < 300_000_000 {
            return Some(count(&programs.stations().unwrap()[0].1));
        }
    }
    panic!("2400 packets take longer than 300 ms");
}

#[test]
fn connections_are_counted_once_an_epoch_however_many_there_are() {
    let Some(counted_q8) = counted_in_an_epoch(Mode::Ap, |station| station.weights_q8) else { return };
    assert_eq!(counted_q8, u64::from(CONNECTIONS) << 8);
    // Those that are older than the agent.
    assert_eq!(counted_in_an_epoch(Mode::Proxy, |station| station.unsteered_q8), Some(u64::from(CONNECTIONS) << 8));
}

#[test]
fn stations_ask_for_segments_with_room_wherever_the_option_stands() {
    let Some(ap) = loaded(Mode::Ap) else { return };
    // The device of these packets is the loopback: 65,536 B.
    for options in [&[2, 4, 0xff, 0xff, 1, 3, 3, 7][..], &[1, 2, 4, 0xff, 0xff, 1, 1, 1]] {
        let (_, left) = ap.try_packet("to_server", &from_client(99, 0, SYN, 64_240, options).frame()).unwrap();
        let at = 54 + options.iter().position(|byte| *byte == 2).unwrap() + 2;
        assert_eq!(u16::from_be_bytes([left[at], left[at + 1]]), 65_488);
        assert_eq!(unsummed(&left), 0);
    }
    // A station whose own link is smaller says so: its segments are to have room as well, but not nothing else.
    for (asks, with_v4, v6) in [(1460_u16, 1452, 1420), (536, 528, 496), (104, 100, 100), (100, 100, 100), (60, 60, 60)]
    {
        let frame = from_client(99, 0, SYN, 64_240, &[[2, 4], asks.to_be_bytes()].concat()).frame();
        for (frame, at, left) in [(with_v6(&frame), 76, v6), (frame, 56, with_v4)] {
            let (_, found) = ap.try_packet("to_server", &frame).unwrap();
            assert_eq!(u16::from_be_bytes([found[at], found[at + 1]]), left);
        }
    }
}
