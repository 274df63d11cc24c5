// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets, well formed and mutated.

use crate::support::Random;

pub(crate) use crate::segment::{ACK, OPTIONS, SERVER, SYN, Segment, folded, from_client, from_server, sum, unsummed};

pub(crate) fn window(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[48], frame[49]])
}

/// The same with IPv6.
pub(crate) fn with_v6(frame: &[u8]) -> Vec<u8> {
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

/// A frame with so many VLAN tags.
pub(crate) fn tagged(frame: &[u8], tags: &[[u8; 2]]) -> Vec<u8> {
    let mut other = frame[..12].to_vec();
    for (i, kind) in tags.iter().enumerate() {
        other.extend(kind);
        other.extend([0, i as u8 + 1]);
    }
    other.extend(&frame[12..]);
    other
}

/// An IPv6 packet with headers before TCP's: their numbers, each of eight bytes of padding.
pub(crate) fn extended(frame: &[u8], headers: &[u8]) -> Vec<u8> {
    let mut other = frame[..54].to_vec();
    for (i, header) in headers.iter().enumerate() {
        let at = if i == 0 { 20 } else { other.len() - 8 };
        other[at] = *header;
        other.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    }
    other.extend(&frame[54..]);
    let length = (other.len() - 54) as u16;
    other[18..20].copy_from_slice(&length.to_be_bytes());
    other
}

/// A frame with options in its IPv4 header.
pub(crate) fn optioned(frame: &[u8], options: &[u8]) -> Vec<u8> {
    let mut other = frame.to_vec();
    other[14] += (options.len() / 4) as u8;
    other.splice(34..34, options.iter().copied());
    let length = (other.len() - 14) as u16;
    other[16..18].copy_from_slice(&length.to_be_bytes());
    other
}

/// What a router on the way to the client says of a packet that is too big for a link with that MTU.
pub(crate) fn too_big(frame: &[u8], mtu: u16) -> Vec<u8> {
    let is_v4 = frame[12] == 8;
    let mut icmp = if is_v4 { vec![3, 4, 0, 0, 0, 0] } else { vec![2, 0, 0, 0, 0, 0] };
    icmp.extend(mtu.to_be_bytes());
    icmp.extend(&frame[14..]);
    let mut other = frame[..14].to_vec();
    if is_v4 {
        other.extend([0x45, 0]);
        other.extend((20 + icmp.len() as u16).to_be_bytes());
        other.extend([0, 1, 0, 0, 64, 1, 0, 0, 10, 3, 0, 2]);
        other.extend(&frame[26..30]);
        let header = folded(sum(0, &other[14..34]));
        other[24..26].copy_from_slice(&header.to_be_bytes());
    } else {
        other.extend([0x60, 0, 0, 0]);
        other.extend((icmp.len() as u16).to_be_bytes());
        other.extend([58, 64]);
        other.extend([&[0; 12][..], &[10, 3, 0, 2], &frame[22..38]].concat());
    }
    let pseudo = if is_v4 { 0 } else { sum(58 + icmp.len() as u32, &other[22..54]) };
    let check = folded(sum(pseudo, &icmp));
    icmp[2..4].copy_from_slice(&check.to_be_bytes());
    other.extend(icmp);
    other
}

/// What mutated packets come of: a connection's packets in all the forms that are known, and others.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let stamp = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let plain = [
        from_client(99, 0, SYN, 64_240, &OPTIONS).frame(),
        from_server(999, 100, SYN | ACK, &OPTIONS, 0).frame(),
        from_server(1000, 100, ACK, &stamp, 100).frame(),
        from_client(100, 1100, ACK, 5000, &stamp).frame(),
    ];
    let mut udp = plain[2].clone();
    udp[23] = 17;
    let mut seeds = vec![udp, from_client(99, 0, SYN, 64_240, &[30, 4, 0, 0]).frame()];
    for frame in &plain {
        let v6 = with_v6(frame);
        seeds.push(tagged(frame, &[[0x81, 0]]));
        seeds.push(tagged(&v6, &[[0x88, 0xa8], [0x81, 0]]));
        seeds.push(extended(&v6, &[0, 60]));
        seeds.push(optioned(frame, &[1, 1, 1, 0]));
        seeds.push(optioned(frame, &[158, 8, 0x4c, 0x50, 0, 1, 2, 3]));
        let mut priced = extended(&v6, &[60]);
        priced[56..62].copy_from_slice(&[0x3e, 4, 0, 1, 2, 3]);
        seeds.push(too_big(&priced, 1400));
        seeds.push(too_big(&optioned(frame, &[158, 8, 0x4c, 0x50, 0, 1, 2, 3]), 1400));
        seeds.push(priced);
        seeds.push(v6);
    }
    seeds.extend(plain);
    seeds
}

/// Connections of one client to two servers that go on, with a mutated packet now and then: each packet, and whether it goes to the
/// client.
pub(crate) struct Exchange {
    random: Random,
    /// The server, the client's port, what it has sent, what the client has acknowledged, and the turns until it begins anew.
    flows: [([u8; 4], u16, u32, u32, usize); 2],
}

impl Exchange {
    pub(crate) fn new() -> Self {
        Self { random: Random::new(), flows: [(SERVER, 4000, 0, 0, 0), ([10, 2, 0, 3], 4001, 0, 0, 0)] }
    }
}

impl Iterator for Exchange {
    type Item = (bool, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let random = &mut self.random;
        let (server, port, sent, acked, turns) = &mut self.flows[random.below(2)];
        let stamp = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let (to_client, mut segment) = match *turns {
            0 => (false, from_client(99, 0, SYN, 64_240, &OPTIONS)),
            1 => (true, from_server(999, 100, SYN | ACK, &OPTIONS, 0)),
            _ if random.below(5) < 3 => (true, from_server(*sent, 100, ACK, &stamp, 1 + random.below(1400))),
            _ => {
                *acked = acked.wrapping_add(random.below(1 + sent.wrapping_sub(*acked) as usize) as u32);
                (false, from_client(100, *acked, ACK, 5000, &stamp))
            }
        };
        match *turns {
            0 => (*sent, *acked) = (1000, 1000),
            _ => *sent = sent.wrapping_add(segment.payload as u32),
        }
        *turns = (*turns + 1) % 1000;
        if to_client {
            (segment.from, segment.ports.1) = (*server, *port);
        } else {
            (segment.to, segment.ports.0) = (*server, *port);
        }
        let mut frame = segment.frame();
        if random.below(8) == 0 {
            mutate(&mut frame, random);
        }
        Some((to_client, frame))
    }
}

/// How many packets are made; `LASTHOP_PACKETS` says another number.
pub(crate) fn packets() -> usize {
    std::env::var("LASTHOP_PACKETS").map_or(100_000, |count| count.parse().unwrap())
}

/// Changes some bytes, and takes some off the end.
pub(crate) fn mutate(frame: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(frame.len());
        frame[at] = random.below(256) as u8;
    }
    if random.below(8) == 0 {
        frame.truncate(14 + random.below(frame.len() - 14));
    }
}
