// SPDX-License-Identifier: MIT OR Apache-2.0
//! The access point where a price makes a packet too long for a link behind it.

use lasthop_agent::load::Programs;
use lasthop_agent::mode::Mode;

use crate::frames::{ACK, SYN, extended, folded, from_client, from_server, optioned, sum, too_big, with_v6};
use crate::{PASSES_ON, counted, loaded};

/// What the server sends, with and without a price.
fn data(version: u8, is_priced: bool) -> Vec<u8> {
    let plain = from_server(1000, 100, ACK, &[], 100).frame();
    match (version, is_priced) {
        (4, false) => plain,
        (4, true) => optioned(&plain, &[158, 8, 0x4c, 0x50, 0, 1, 2, 3]),
        (_, false) => with_v6(&plain),
        (_, true) => {
            let mut priced = extended(&with_v6(&plain), &[60]);
            priced[56..62].copy_from_slice(&[0x3e, 4, 0, 1, 2, 3]);
            priced
        }
    }
}

/// Where a message's ICMP begins.
fn icmp_at(version: u8) -> usize {
    if version == 4 { 34 } else { 54 }
}

/// The MTU that a message names, once its way is over.
fn named(ap: &Programs, version: u8, frame: &[u8]) -> u16 {
    let (verdict, left) = ap.try_packet("to_server", frame).unwrap();
    let at = icmp_at(version);
    let pseudo = if version == 4 { 0 } else { sum(58 + (frame.len() - at) as u32, &left[22..54]) };
    assert_eq!((verdict, folded(sum(pseudo, &left[at..]))), (PASSES_ON, 0));
    // Nothing else has changed.
    assert_eq!((&left[..at + 2], &left[at + 4..at + 6]), (&frame[..at + 2], &frame[at + 4..at + 6]));
    assert_eq!(left[at + 8..], frame[at + 8..]);
    u16::from_be_bytes([left[at + 6], left[at + 7]])
}

#[test]
fn a_router_behind_names_what_leaves_room_for_the_price_that_was_too_much() {
    let Some(ap) = loaded(Mode::Ap) else { return };
    let mut lowered = 0;
    // With IPv4 no less than hosts heed, and with IPv6 than there is.
    for (version, mtu, left) in [
        (4, 1500, 1492),
        (4, 1400, 1392),
        (4, 584, 576),
        (4, 583, 583),
        (4, 0, 0),
        (6, 1400, 1360),
        (6, 1300, 1280),
        (6, 1281, 1280),
        (6, 1280, 1280),
    ] {
        assert_eq!(named(&ap, version, &too_big(&data(version, true), mtu)), left, "{version} {mtu}");
        lowered += u64::from(left < mtu);
        // What has no price was too much by itself.
        assert_eq!(named(&ap, version, &too_big(&data(version, false), mtu)), mtu);
    }
    assert_eq!(counted(&ap, "mtu_lowered"), lowered);
}

#[test]
fn other_messages_stay_as_they_are() {
    let Some(ap) = loaded(Mode::Ap) else { return };
    for version in [4, 6] {
        let message = too_big(&data(version, true), 1400);
        let (at, protocol_at) = (icmp_at(version), if version == 4 { 23 } else { 20 });
        let quoted = at + 8;
        // Another protocol, type, code or MTU; a quote of something else, or one that is cut off.
        let mut changes = vec![(protocol_at, 17), (at, 1), (quoted + if version == 4 { 9 } else { 40 }, 17)];
        changes.extend(if version == 4 {
            [(at + 1, 1), (quoted, 0x46), (quoted + 20, 7)]
        } else {
            [(at + 4, 1), (quoted + 6, 0), (quoted + 42, 5)]
        });
        for (place, byte) in changes {
            let mut other = message.clone();
            other[place] = byte;
            assert_eq!(ap.try_packet("to_server", &other).unwrap(), (PASSES_ON, other), "{version} {place}");
        }
        for length in at..quoted + if version == 4 { 28 } else { 48 } {
            let cut = message[..length].to_vec();
            assert_eq!(ap.try_packet("to_server", &cut).unwrap(), (PASSES_ON, cut), "{version} {length}");
        }
    }
    assert_eq!(counted(&ap, "mtu_lowered"), 0);
}

#[test]
fn what_is_sent_again_goes_on_without_a_price() {
    let Some(ap) = loaded(Mode::Ap) else { return };
    for of_version in [|frame: Vec<u8>| frame, |frame: Vec<u8>| with_v6(&frame)] {
        let grown = |seq: u32| {
            let frame = of_version(from_server(seq, 100, ACK, &[], 1000).frame());
            ap.try_packet("to_client", &frame).unwrap().1.len() - frame.len()
        };
        let hears =
            |ack| ap.try_packet("to_server", &of_version(from_client(100, ack, ACK, 5000, &[]).frame())).unwrap();
        let first = [
            ("to_server", from_client(99, 0, SYN, 64_240, &[])),
            ("to_client", from_server(999, 100, SYN | ACK, &[], 0)),
            ("to_server", from_client(100, 1000, ACK, 5000, &[])),
        ];
        for (program, segment) in first {
            ap.try_packet(program, &of_version(segment.frame())).unwrap();
        }
        assert_eq!([1000, 2000, 3000, 2000, 3000, 4000].map(grown), [8, 8, 8, 0, 0, 8]);
        // The first one was watched and has arrived, and for a tenth of a second none is.
        hears(2000);
        hears(5000);
        assert_eq!([5000, 6000, 7000].map(grown), [8, 8, 8]);
        hears(6000);
        std::thread::sleep(std::time::Duration::from_millis(120));
        // The one that is watched now is lost: the next one is, and no other before it arrives.
        assert_eq!([8000, 8000, 9000, 10_000].map(grown), [8, 0, 8, 0]);
        hears(9000);
        assert_eq!(grown(11_000), 0);
        hears(10_000);
        assert_eq!([11_000, 12_000].map(grown), [0, 8]);
    }
}
