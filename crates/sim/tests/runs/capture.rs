// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captured packets, as a reader of pcapng sees them.

use std::collections::BTreeMap;

use etherparse::{SlicedPacket, TcpOptionElement, TransportSlice};
use lasthop_sim::Point;
use pcap_file::pcapng::{Block, PcapNgReader};

const TWO_FLOWS: &str = crate::dumbbell!(
    r#"
        duration = "3 s"
        probe = { packets = true }
    "#,
    r#"
        rate = "5 Mbit/s"
        delay = "10 ms"
        queue = { limit = "20 packets" }
    "#,
    r#"
        name = "with options"
        sender = { kind = "cubic", timestamps = true }
    "#,
    r#"
        name = "without"
    "#
);

/// A captured packet: the flow's port, what its headers say, and its lengths.
struct Seen {
    port: u16,
    syn: bool,
    is_pushed: bool,
    payload: u32,
    acknowledged: u32,
    options: Vec<TcpOptionElement>,
    sequence: u32,
    captured: u32,
    snap_length: u32,
    original: u32,
    total: u32,
}

fn packets(end: Point) -> Vec<Seen> {
    packets_with(end, &[])
}

fn packets_with(end: Point, settings: &[(&str, &str)]) -> Vec<Seen> {
    let outcome = crate::outcome(TWO_FLOWS, settings).unwrap();
    let mut bytes = vec![];
    outcome.write_pcapng(&mut bytes, end).unwrap();
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let (mut seen, mut snap_length) = (vec![], None);
    while let Some(block) = reader.next_block() {
        let block = match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(snap_length.replace(interface.snaplen), None, "one interface");
                continue;
            }
            Block::EnhancedPacket(block) => block,
            _ => continue,
        };
        // The payload is cut off: the lengths that the header speaks of are longer than what is there.
        let total = u32::from(u16::from_be_bytes([block.data[2], block.data[3]]));
        let mut whole = block.data.to_vec();
        whole.resize(total as usize, 0);
        let packet = SlicedPacket::from_ip(&whole).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("no TCP") };
        seen.push(Seen {
            port: tcp.source_port().max(tcp.destination_port()),
            syn: tcp.syn(),
            is_pushed: tcp.psh(),
            payload: tcp.payload().len() as u32,
            acknowledged: tcp.acknowledgment_number(),
            options: tcp.options_iterator().map(Result::unwrap).collect(),
            sequence: tcp.sequence_number(),
            captured: block.data.len() as u32,
            snap_length: snap_length.unwrap(),
            original: block.original_len,
            total,
        });
    }
    seen
}

#[test]
fn options_stand_where_the_packets_have_room_for_them() {
    let seen = packets(Point::Sender);
    assert!(seen.len() > 1000, "{}", seen.len());
    let mut kinds: BTreeMap<(u16, &str), usize> = BTreeMap::new();
    for packet in &seen {
        assert_eq!((packet.captured, packet.original), (packet.total.min(packet.snap_length), packet.total));
        for option in &packet.options {
            let kind = match option {
                TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                    // A block lies above what is acknowledged, and holds something.
                    for (start, end) in std::iter::once(first).chain(more.iter().flatten()) {
                        assert!(packet.acknowledged < *start && start < end, "{first:?} {more:?}");
                    }
                    // 40 B of headers, two of padding, two of the option's own, 8 a block.
                    let blocks = 1 + more.iter().flatten().count() as u32;
                    assert_eq!((packet.total, packet.payload), (44 + 8 * blocks, 0));
                    "blocks"
                }
                TcpOptionElement::SelectiveAcknowledgementPermitted => "permitted",
                TcpOptionElement::Timestamp(value, _) if !packet.syn => {
                    assert!(*value <= 3000 && packet.payload > 0, "{value} ms");
                    "timestamps"
                }
                _ => continue,
            };
            *kinds.entry((packet.port, kind)).or_default() += 1;
        }
    }
    // SYN and SYN-ACK; only the first flow has options.
    assert_eq!(kinds[&(10_000, "permitted")], 2);
    assert!(kinds.keys().all(|(port, _)| *port == 10_000), "{kinds:?}");
    assert!(kinds[&(10_000, "blocks")] > 20, "{kinds:?}");
    let data = seen.iter().filter(|packet| packet.port == 10_000 && packet.payload > 0).count();
    assert_eq!(kinds[&(10_000, "timestamps")], data);
}

#[test]
fn the_last_segment_of_each_piece_is_pushed() {
    assert!(packets(Point::Sender).iter().all(|packet| !packet.is_pushed), "by the RFCs there are no pieces");
    // In slow start of 10 segments pieces are of two, and each second one is pushed, at either end.
    let linux = [("flow[0].sender", "{ kind = \"linux-reno\" }")];
    for end in [Point::Sender, Point::Receiver] {
        let seen = packets_with(end, &linux);
        let data = seen.iter().filter(|packet| packet.port == 10_000 && packet.payload > 0);
        let pushed: Vec<_> = data.take(10).map(|packet| packet.is_pushed).collect();
        assert_eq!(pushed, [[false, true]; 5].concat());
        assert!(seen.iter().all(|packet| !packet.is_pushed || packet.payload > 0 && packet.port == 10_000));
    }
}

#[test]
fn a_segment_stands_twice_only_if_it_was_sent_again() {
    let summary = crate::outcome(TWO_FLOWS, &[]).unwrap().summary;
    let resent: u64 = summary.flows.iter().map(|flow| flow.retransmits).sum();
    let again = |end| {
        let data = packets(end).into_iter().filter(|packet| packet.payload > 0);
        let mut times: BTreeMap<_, u64> = BTreeMap::new();
        for packet in data {
            *times.entry((packet.port, packet.sequence)).or_default() += 1;
        }
        times.values().map(|times| times - 1).sum::<u64>()
    };
    assert!(resent > 0);
    assert_eq!(again(Point::Sender), resent);
    // What comes twice was not lost: at most all that was sent again.
    assert!(again(Point::Receiver) < resent, "most of it made up for a loss");
}
