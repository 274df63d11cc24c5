// SPDX-License-Identifier: MIT OR Apache-2.0
//! The price of an access point in a packet's bytes, as `docs/price-option.md` lays it out: what `lasthop-agent client` reads.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};

/// Its length in a packet \[B\].
const BYTES: usize = 8;
/// How it begins in IPv4: kind, length, tag.
const V4: [u8; 4] = [158, 8, 0x4c, 0x50];
/// The same in IPv6, behind the next header and the length of this one: type, size.
const V6: [u8; 2] = [0x3e, 4];
/// The number of a header of destination options.
const DESTINATION_OPTIONS: u8 = 60;
const V4_HEADER: usize = 20;
const V4_MOST: usize = 60;
const V6_HEADER: usize = 40;

/// Writes a price \[s\] into the IP packet at `at`, in place of one that is there. Only TCP with payload gets one.
pub(crate) fn write(bytes: &mut Vec<u8>, at: usize, price_s: f64) {
    let price = price_q30(price_s).to_be_bytes();
    let Some(place) = Place::of(&bytes[at..]) else { return };
    match place {
        Place::There(number) => bytes[at + number..at + number + 4].copy_from_slice(&price),
        Place::V4 => {
            let option = [V4, price].concat();
            bytes.splice(at + V4_HEADER..at + V4_HEADER, option);
            bytes[at] += (BYTES / 4) as u8;
            lengthen(bytes, at + 2);
        }
        Place::V6 => {
            let option = [&[bytes[at + 6], 0], &V6[..], &price].concat();
            bytes.splice(at + V6_HEADER..at + V6_HEADER, option);
            bytes[at + 6] = DESTINATION_OPTIONS;
            lengthen(bytes, at + 4);
        }
    }
    if bytes[at] >> 4 == 4 {
        sum(&mut bytes[at..]);
    }
}

/// Where a price goes.
enum Place {
    /// Over the number that begins there.
    There(usize),
    V4,
    V6,
}

impl Place {
    fn of(packet: &[u8]) -> Option<Self> {
        if packet.first()? >> 4 == 4 {
            if packet.get(V4_HEADER..V4_HEADER + 4) == Some(&V4) && packet[0] & 15 >= 7 {
                return Some(Self::There(V4_HEADER + 4));
            }
        } else if packet.get(6) == Some(&DESTINATION_OPTIONS)
            && packet.get(V6_HEADER + 1..V6_HEADER + 4) == Some(&[0, V6[0], V6[1]])
        {
            return Some(Self::There(V6_HEADER + 4));
        }
        let sliced = SlicedPacket::from_ip(packet).ok()?;
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { return None };
        if tcp.payload().is_empty() || tcp.syn() {
            return None;
        }
        match sliced.net? {
            NetSlice::Ipv4(_) => (usize::from(packet[0] & 15) * 4 + BYTES <= V4_MOST).then_some(Self::V4),
            // Options of hops must stay the first.
            NetSlice::Ipv6(_) => (packet[6] == 6).then_some(Self::V6),
            NetSlice::Arp(_) => None,
        }
    }
}

/// As it is written: 2⁻³⁰ s, at most just under 4 s.
fn price_q30(price_s: f64) -> u32 {
    (price_s * f64::from(1 << 30)).round() as u32
}

/// A header's length says what has been put in.
fn lengthen(bytes: &mut [u8], at: usize) {
    let length = u16::from_be_bytes([bytes[at], bytes[at + 1]]) + BYTES as u16;
    bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
}

/// Puts the right checksum into an IPv4 header.
fn sum(packet: &mut [u8]) {
    let header = usize::from(packet[0] & 15) * 4;
    packet[10..12].fill(0);
    let mut sum: u32 = packet[..header].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum >> 16 > 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use etherparse::{Ipv4HeaderSlice, PacketBuilder};

    use super::*;

    fn tcp(v6: bool, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![];
        match v6 {
            false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1, 2, 3, 4).write(&mut bytes, payload),
            true => PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(1, 2, 3, 4).write(&mut bytes, payload),
        }
        .unwrap();
        bytes
    }

    #[test]
    fn a_price_lies_where_the_page_says_and_is_overwritten() {
        for (v6, at, head) in [(false, 20, [158, 8, 0x4c, 0x50]), (true, 40, [6, 0, 0x3e, 4])] {
            let plain = tcp(v6, &[7; 100]);
            let mut bytes = plain.clone();
            // 1/4 s = 2²⁸.
            write(&mut bytes, 0, 0.25);
            assert_eq!(bytes.len(), plain.len() + 8);
            assert_eq!((&bytes[at..at + 4], &bytes[at + 4..at + 8]), (&head[..], &[0x10, 0, 0, 0][..]));
            let sliced = SlicedPacket::from_ip(&bytes).unwrap();
            let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP: {sliced:?}") };
            assert_eq!((tcp.sequence_number(), tcp.payload()), (3, &[7; 100][..]));
            if !v6 {
                let header = Ipv4HeaderSlice::from_slice(&bytes).unwrap();
                assert_eq!(header.to_header().calc_header_checksum(), header.header_checksum());
            }
            let mut again = bytes.clone();
            write(&mut again, 0, 0.5);
            assert_eq!((again.len(), &again[at + 4..at + 8]), (plain.len() + 8, &[0x20, 0, 0, 0][..]));
        }
    }

    #[test]
    fn what_carries_no_data_carries_no_price() {
        let (plain, mut bytes) = (tcp(false, &[]), tcp(false, &[]));
        write(&mut bytes, 0, 1.0);
        assert_eq!(bytes, plain);
        let mut rubbish = vec![0xff; 30];
        write(&mut rubbish, 0, 1.0);
        assert_eq!(rubbish, vec![0xff; 30]);
    }

    #[test]
    fn prices_beyond_four_seconds_are_four() {
        assert_eq!((price_q30(0.0), price_q30(1e-3), price_q30(9.0)), (0, 1_073_742, u32::MAX));
    }
}
