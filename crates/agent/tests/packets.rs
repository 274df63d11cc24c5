// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs by BPF_PROG_TEST_RUN: what becomes of single packets. It takes root.

use lasthop_agent::config::Config;
use lasthop_agent::load::Proxy;

/// TCX_NEXT: another program, or the stack, goes on with the packet.
const PASSES_ON: u32 = u32::MAX;
const CLIENT: [u8; 4] = [10, 1, 0, 2];
const SERVER: [u8; 4] = [10, 2, 0, 2];
const SYN: u8 = 2;
const ACK: u8 = 16;

/// The programs; none where they may not be loaded.
fn proxy() -> Option<Proxy> {
    let loaded = Proxy::load(&Config::default().settings(14, true));
    if let Err(error) = &loaded {
        assert!(std::env::var_os("LASTHOP_REQUIRE_ROOT").is_none(), "{error:#}");
        eprintln!("SKIPPED: {error:#}");
    }
    loaded.ok()
}

fn sum(mut total: u32, bytes: &[u8]) -> u32 {
    for pair in bytes.chunks(2) {
        total += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    total
}

fn folded(mut total: u32) -> u16 {
    while total >> 16 > 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

/// The sum over a TCP segment and its pseudo-header: 0 where the checksum is right.
fn unsummed(frame: &[u8]) -> u16 {
    let tcp = &frame[34..];
    folded(sum(sum(6 + tcp.len() as u32, &frame[26..34]), tcp))
}

struct Segment<'a> {
    from: [u8; 4],
    to: [u8; 4],
    ports: (u16, u16),
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    options: &'a [u8],
    payload: usize,
}

impl Segment<'_> {
    fn frame(&self) -> Vec<u8> {
        let length = 40 + self.options.len() + self.payload;
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        frame.extend((length as u16).to_be_bytes());
        frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
        frame.extend(self.from);
        frame.extend(self.to);
        let header = folded(sum(0, &frame[14..34]));
        frame[24..26].copy_from_slice(&header.to_be_bytes());
        frame.extend(self.ports.0.to_be_bytes());
        frame.extend(self.ports.1.to_be_bytes());
        frame.extend(self.seq.to_be_bytes());
        frame.extend(self.ack.to_be_bytes());
        frame.extend([((20 + self.options.len()) as u8) << 2, self.flags]);
        frame.extend(self.window.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(self.options);
        frame.extend(vec![7; self.payload]);
        let sum = unsummed(&frame);
        frame[50..52].copy_from_slice(&sum.to_be_bytes());
        frame
    }
}

fn window(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[48], frame[49]])
}

const OPTIONS: [u8; 8] = [2, 4, 0x05, 0xb4, 1, 3, 3, 7];

fn from_client(seq: u32, ack: u32, flags: u8, window: u16, options: &[u8]) -> Segment<'_> {
    Segment { from: CLIENT, to: SERVER, ports: (4000, 80), seq, ack, flags, window, options, payload: 0 }
}

fn from_server(seq: u32, ack: u32, flags: u8, options: &[u8], payload: usize) -> Segment<'_> {
    Segment { from: SERVER, to: CLIENT, ports: (80, 4000), seq, ack, flags, window: 500, options, payload }
}

#[test]
fn a_connection_begins_with_ten_segments_and_duplicates_stay_duplicates() {
    let Some(proxy) = proxy() else { return };
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
    let Some(proxy) = proxy() else { return };
    let mut frames = vec![from_client(1, 2, ACK, 9000, &[]).frame(), vec![0xff; 60]];
    // MPTCP, TCP-MD5, TCP-AO.
    for kind in [30, 19, 29] {
        frames.push(from_client(99, 0, SYN, 64_240, &[kind, 4, 0, 0]).frame());
    }
    let mut udp = from_client(1, 2, ACK, 9000, &[]).frame();
    udp[23] = 17;
    let mut fragment = from_client(99, 0, SYN, 64_240, &OPTIONS).frame();
    fragment[20] = 0x20;
    frames.extend([udp, fragment]);
    for frame in frames {
        for program in ["to_server", "to_client"] {
            let (verdict, left) = proxy.try_packet(program, &frame).unwrap();
            assert_eq!((verdict, &left), (PASSES_ON, &frame));
        }
    }
    assert!(proxy.flows().unwrap().is_empty());
}

/// Any packet passes, and if it changes at all it is in the window, and that is not raised.
#[test]
fn mutated_packets_change_in_nothing_but_the_window() {
    let Some(proxy) = proxy() else { return };
    let seeds = [
        from_client(99, 0, SYN, 64_240, &OPTIONS).frame(),
        from_server(999, 100, SYN | ACK, &OPTIONS, 0).frame(),
        from_server(1000, 100, ACK, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], 100).frame(),
        from_client(100, 1100, ACK, 5000, &[1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 1]).frame(),
    ];
    let mut state = 1u64;
    let mut random = |most: usize| {
        // Knuth's constants.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let mut changed = 0;
    for _ in 0..20_000 {
        let mut frame = seeds[random(seeds.len())].clone();
        for _ in 0..random(4) {
            let at = random(frame.len());
            frame[at] = random(256) as u8;
        }
        if random(8) == 0 {
            frame.truncate(14 + random(frame.len() - 14));
        }
        let program = ["to_server", "to_client"][random(2)];
        // The kernel itself refuses what is shorter than an Ethernet header.
        let Ok((verdict, left)) = proxy.try_packet(program, &frame) else { continue };
        assert_eq!(verdict, PASSES_ON);
        assert_eq!(left.len(), frame.len());
        if left != frame {
            changed += 1;
            // An IP header with options puts the fields elsewhere: both lie within eight bytes.
            let places: Vec<usize> = (0..frame.len()).filter(|&i| left[i] != frame[i]).collect();
            assert!(places[places.len() - 1] - places[0] < 4, "{places:?}");
            assert_eq!(program, "to_server");
        }
    }
    assert!(changed > 0);
}
