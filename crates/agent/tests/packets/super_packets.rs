// SPDX-License-Identifier: MIT OR Apache-2.0
//! Super-packets, whose segments somebody has counted or nobody: with 0 of them come those of virtual machines and tunnels.

use std::mem::offset_of;

use lasthop_agent::load::{Gso, Programs};
use lasthop_agent::mode::Mode;
use lasthop_agent::state::{COUNTED, Connection, Count};
use lasthop_fixed::state::PasserRecord;
use libbpf_rs::{MapCore, MapFlags};

use crate::frames::{ACK, SYN, from_client, from_server, with_v6};
use crate::{PASSES_ON, loaded};

/// SYNs ask for so much, with a scale of 7.
const MSS: u32 = 500;
const OPTIONS: [u8; 8] = [2, 4, 0x01, 0xf4, 1, 3, 3, 7];
/// Five whole segments and a rest.
const PAYLOAD: usize = 5 * MSS as usize + 300;

/// The same packet over either version of IP.
fn of_version(version: u8, frame: Vec<u8>) -> Vec<u8> {
    if version == 4 { frame } else { with_v6(&frame) }
}

fn count(programs: &Programs, kind: &str) -> Count {
    programs.counts().unwrap()[COUNTED.iter().position(|name| *name == kind).unwrap()]
}

/// A connection begins, and a super-packet goes to its client; gives what is left of that.
fn super_packet(programs: &Programs, frame: &[u8], version: u8, beside: Gso) -> Vec<u8> {
    let first = [
        ("to_server", from_client(99, 0, SYN, 64_240, &OPTIONS)),
        ("to_client", from_server(999, 100, SYN | ACK, &OPTIONS, 0)),
        ("to_server", from_client(100, 1000, ACK, 5000, &[])),
    ];
    for (program, segment) in first {
        programs.try_packet(program, &of_version(version, segment.frame())).unwrap();
    }
    let (verdict, left) = programs.try_packet_beside("to_client", frame, beside).unwrap();
    assert_eq!(verdict, PASSES_ON);
    left
}

/// All that may be said of the same super-packet: its segments were counted, or not.
fn all() -> impl Iterator<Item = (u8, Gso, Vec<u8>, u64)> {
    [4, 6].into_iter().flat_map(|version| [6, 0].map(|gso_segs| (version, gso_segs))).map(|(version, gso_segs)| {
        let frame = of_version(version, from_server(1000, 100, ACK, &[], PAYLOAD).frame());
        // As a qdisc counts it: each segment has headers.
        let bytes = (frame.len() + 5 * (frame.len() - PAYLOAD)) as u64;
        (version, Gso { gso_size: MSS, gso_segs }, frame, bytes)
    })
}

#[test]
fn the_proxy_learns_no_segment_from_a_whole_super_packet() {
    for (version, beside, frame, bytes) in all() {
        let Some(proxy) = loaded(Mode::Proxy) else { return };
        assert_eq!(super_packet(&proxy, &frame, version, beside), frame);
        let flows = proxy.flows().unwrap();
        let [(_, Connection::Steered(flow))] = &flows[..] else { panic!("{flows:?}") };
        assert_eq!((flow.mss, count(&proxy, "data")), (MSS, Count { packets: 1, bytes }), "{version} {beside:?}");
    }
}

#[test]
fn the_access_point_learns_no_segment_from_a_whole_super_packet() {
    for (version, beside, frame, bytes) in all() {
        let Some(ap) = loaded(Mode::Ap) else { return };
        // The kernel lets nobody write a price into a super-packet of no protocol, as those that no device sees are.
        assert_eq!(super_packet(&ap, &frame, version, beside), frame);
        let passers = ap.map("passers").unwrap();
        let learnt = passers.keys().map(|key| {
            let found = passers.lookup(&key, MapFlags::ANY).unwrap().unwrap();
            let at = offset_of!(PasserRecord, mss);
            u32::from_ne_bytes(found[at..at + 4].try_into().unwrap())
        });
        assert_eq!(learnt.collect::<Vec<_>>(), [MSS], "{version} {beside:?}");
        assert_eq!(count(&ap, "unstamped"), Count { packets: 1, bytes }, "{version} {beside:?}");
    }
}

#[test]
fn the_client_learns_no_segment_from_a_whole_super_packet() {
    for (version, beside, frame, bytes) in all() {
        let Some(client) = loaded(Mode::Client) else { return };
        assert_eq!(super_packet(&client, &frame, version, beside), frame);
        let flows = client.flows().unwrap();
        let [(_, Connection::Priced(flow))] = &flows[..] else { panic!("{flows:?}") };
        // The first opens a bin for the others.
        let found = (flow.mss, flow.arrivals.packets, count(&client, "unpriced"));
        assert_eq!(found, (MSS, 5, Count { packets: 1, bytes }), "{version} {beside:?}");
    }
}

#[test]
fn what_is_no_longer_than_a_segment_is_no_super_packet() {
    for gso_segs in [0, 1, 6] {
        let Some(proxy) = loaded(Mode::Proxy) else { return };
        let frame = from_server(1000, 100, ACK, &[], 400).frame();
        super_packet(&proxy, &frame, 4, Gso { gso_size: MSS, gso_segs });
        assert_eq!(count(&proxy, "data"), Count { packets: 1, bytes: frame.len() as u64 });
    }
}
