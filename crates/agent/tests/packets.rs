// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs by BPF_PROG_TEST_RUN: what becomes of single packets. It takes root.

mod support;

use lasthop_agent::config::Config;
use lasthop_agent::load::Programs;
use lasthop_agent::mode::Mode;
use support::{Random, or_skipped};

/// TCX_NEXT: another program, or the stack, goes on with the packet.
const PASSES_ON: u32 = u32::MAX;
const CLIENT: [u8; 4] = [10, 1, 0, 2];
const SERVER: [u8; 4] = [10, 2, 0, 2];
const SYN: u8 = 2;
const ACK: u8 = 16;

/// The programs of one who does this; none where they may not be loaded.
fn loaded(mode: Mode) -> Option<Programs> {
    or_skipped(Programs::load(mode, &Config::default().settings(14, mode == Mode::Proxy)))
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
    frames.extend([udp, fragment]);
    for frame in frames {
        for program in ["to_server", "to_client"] {
            let (verdict, left) = proxy.try_packet(program, &frame).unwrap();
            assert_eq!((verdict, &left), (PASSES_ON, &frame));
        }
    }
    assert!(proxy.flows().unwrap().is_empty());
}

/// How many packets are made; `LASTHOP_PACKETS` says another number.
fn packets() -> usize {
    std::env::var("LASTHOP_PACKETS").map_or(20_000, |count| count.parse().unwrap())
}

/// Changes some bytes, and takes some off the end.
fn mutate(frame: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(frame.len());
        frame[at] = random.below(256) as u8;
    }
    if random.below(8) == 0 {
        frame.truncate(14 + random.below(frame.len() - 14));
    }
}

/// Any packet passes, and if it changes at all it is in the window, and that is not raised.
#[test]
fn mutated_packets_change_in_nothing_but_the_window() {
    let Some(proxy) = loaded(Mode::Proxy) else { return };
    let seeds = [
        from_client(99, 0, SYN, 64_240, &OPTIONS).frame(),
        from_server(999, 100, SYN | ACK, &OPTIONS, 0).frame(),
        from_server(1000, 100, ACK, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], 100).frame(),
        from_client(100, 1100, ACK, 5000, &[1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 1]).frame(),
    ];
    let mut random = Random::new();
    let mut changed = 0;
    for _ in 0..packets() {
        let mut frame = seeds[random.below(seeds.len())].clone();
        mutate(&mut frame, &mut random);
        let program = ["to_server", "to_client"][random.below(2)];
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

/// The same with IPv6.
fn with_v6(frame: &[u8]) -> Vec<u8> {
    let tcp = &frame[34..];
    let mut other = [&frame[..12], &[0x86, 0xdd, 0x60, 0, 0, 0]].concat();
    other.extend((tcp.len() as u16).to_be_bytes());
    other.extend([6, 64]);
    for address in [&frame[26..30], &frame[30..34]] {
        other.extend([0; 12]);
        other.extend(address);
    }
    other.extend(tcp);
    other
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
    let plain = with_v6(&plain);
    let (verdict, priced) = ap.try_packet("to_client", &plain).unwrap();
    assert_eq!((verdict, priced.len()), (PASSES_ON, plain.len() + 8));
    assert_eq!((&priced[18..20], priced[20]), (&(plain.len() as u16 - 54 + 8).to_be_bytes()[..], 60));
    assert_eq!(priced[54..62], [6, 0, 0x3e, 4, 0, 0, 0, 0]);
    assert_eq!(priced[62..], plain[54..]);
    assert_eq!(client.try_packet("to_client", &priced).unwrap(), (PASSES_ON, plain));
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
    let small = from_client(99, 0, SYN, 64_240, &OPTIONS).frame();
    assert_eq!(ap.try_packet("to_server", &small).unwrap().1, small);
}

/// What a price was written into is what it was once that is taken out: whatever packet it is.
#[test]
fn mutated_packets_are_the_same_behind_both() {
    let (Some(ap), Some(client)) = (loaded(Mode::Ap), loaded(Mode::Client)) else { return };
    let data = from_server(1000, 100, ACK, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], 100).frame();
    let mut optioned = data.clone();
    optioned[14] = 0x46;
    optioned[16..18].copy_from_slice(&(data.len() as u16 - 14 + 4).to_be_bytes());
    optioned.splice(34..34, [1, 1, 1, 0]);
    let seeds = [data.clone(), with_v6(&data), optioned, from_server(999, 100, SYN | ACK, &OPTIONS, 0).frame()];
    let mut random = Random::new();
    let mut written = 0;
    for _ in 0..packets() {
        let mut frame = seeds[random.below(seeds.len())].clone();
        mutate(&mut frame, &mut random);
        // The kernel itself refuses what is shorter than its headers.
        let Ok((verdict, priced)) = ap.try_packet("to_client", &frame) else { continue };
        let Ok((again, left)) = client.try_packet("to_client", &priced) else { continue };
        assert_eq!((verdict, again), (PASSES_ON, PASSES_ON));
        assert_eq!(left, frame);
        written += usize::from(priced != frame);
        for (programs, name) in [(&ap, "to_server"), (&client, "to_server")] {
            let Ok((verdict, left)) = programs.try_packet(name, &frame) else { continue };
            assert_eq!((verdict, left.len()), (PASSES_ON, frame.len()));
        }
    }
    assert!(written > packets() / 4, "{written}");
}
