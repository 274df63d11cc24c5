// SPDX-License-Identifier: MIT OR Apache-2.0
//! The TCP option by which senders ask routers, read from packets that come in and written into those that leave.
//!
//! Within the network it is a [`Signal`], as in a simulation; `docs/option.md` says how it lies in a packet.

use lasthop_core::packet::{QfcpHeader, RateFeedback, Signal, XcpHeader};
use lasthop_fixed::wire;

/// RFC 4727, and what tells ours from other experiments.
const KIND: u8 = 253;
const QFCP: u16 = 0x4c51;
const XCP: u16 = 0x4c58;
/// Lengths without and with what is asked.
const SHORT: u8 = 8;
const LONG: u8 = 12;
/// Where fields are in it.
const ECHO: usize = 4;
const GRANTED: usize = 6;
const RTT: usize = 8;
const WINDOW: usize = 10;
/// Of a change of a rate \[B/s\], which the option has in 2⁻⁸.
const Q8: f32 = 256.0;
/// TCP's header without options, and where its checksum is.
const TCP: usize = 20;
const SUM: usize = 16;

/// Where a packet says what is granted, and what that was when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    tcp_at: u16,
    granted_at: u16,
    granted: u16,
}

/// What a packet asks, or brings back: its signal, and where the answer goes if it asks.
pub(crate) fn read(packet: &[u8]) -> Option<(Signal, Option<Asked>)> {
    let tcp_at = tcp_of(packet)?;
    let length = usize::from(packet.get(tcp_at + 12)? >> 4) * 4;
    let mut at = tcp_at + TCP;
    let end = tcp_at + length;
    let options = packet.get(..end)?;
    while at < end {
        match options[at] {
            0 => return None,
            1 => at += 1,
            kind => {
                let size = *options.get(at + 1)?;
                let option = options.get(at..at + usize::from(size)).filter(|option| option.len() >= 2)?;
                if kind == KIND && [SHORT, LONG].contains(&size) && [QFCP, XCP].contains(&field(option, 2)) {
                    return Some(signal(option, (tcp_at, at)));
                }
                at += usize::from(size);
            }
        }
    }
    None
}

/// What a router has granted goes into the packet, with its checksum mended (RFC 1624).
pub(crate) fn write(packet: &mut [u8], asked: Asked, signal: &Signal) {
    let granted = match signal {
        Signal::Qfcp(header) if header.rate.is_finite() => wire::of(header.rate as u64).min(asked.granted),
        // In network and option it is the same number, unless a router has lowered it.
        Signal::Xcp(header) if header.change < change_of(asked.granted) => wire::change_of((header.change * Q8) as i64),
        _ => return,
    };
    if granted == asked.granted {
        return;
    }
    put(packet, asked.granted_at, granted);
    let sum_at = usize::from(asked.tcp_at) + SUM;
    // The field may lie across two words of the sum, which then counts its bytes the other way round.
    let turned =
        |value: u16| if (asked.granted_at - asked.tcp_at).is_multiple_of(2) { value } else { value.swap_bytes() };
    let sum = u32::from(!field(packet, sum_at)) + u32::from(!turned(asked.granted)) + u32::from(turned(granted));
    let sum = (sum & 0xffff) + (sum >> 16);
    put(packet, sum_at as u16, !((sum & 0xffff) + (sum >> 16)) as u16);
}

fn signal(option: &[u8], (tcp_at, at): (usize, usize)) -> (Signal, Option<Asked>) {
    let granted = field(option, GRANTED);
    let asked = Asked { tcp_at: tcp_at as u16, granted_at: (at + GRANTED) as u16, granted };
    if field(option, 2) == XCP {
        if option.len() < usize::from(LONG) {
            return (Signal::Change(change_of(field(option, ECHO))), None);
        }
        let header = XcpHeader {
            cwnd_bytes: wire::value(field(option, WINDOW)) as f32,
            rtt_s: wire::value(field(option, RTT)) as f32 / 1e6,
            change: change_of(granted),
        };
        return (Signal::Xcp(header), Some(asked));
    }
    if option.len() < usize::from(LONG) {
        let echo = field(option, ECHO);
        let rate = if echo == wire::ALL { f32::INFINITY } else { wire::value(echo) as f32 };
        return (Signal::Rate(RateFeedback { rate, silent: 0 }), None);
    }
    let rate = if granted == wire::ALL { f32::INFINITY } else { wire::value(granted) as f32 };
    let rtt_s = wire::value(field(option, RTT)) as f32 / 1e6;
    (Signal::Qfcp(QfcpHeader { rtt_s, rate, silent: 0 }), Some(asked))
}

/// A change of a rate \[B/s\]; infinite where no router has lowered it.
fn change_of(coded: u16) -> f32 {
    if coded == wire::ANY_CHANGE { f32::INFINITY } else { wire::change_q8(coded) as f32 / Q8 }
}

/// Where TCP begins in an IP packet; extensions of IPv6 are not followed, as our kernels send none with TCP.
fn tcp_of(packet: &[u8]) -> Option<usize> {
    match packet.first()? >> 4 {
        4 if packet.get(9) == Some(&6) && field(packet.get(..8)?, 6) & 0x1fff == 0 => {
            Some(usize::from(packet[0] & 15) * 4)
        }
        6 if packet.get(6) == Some(&6) => Some(40),
        _ => None,
    }
}

fn field(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: u16, value: u16) {
    let at = usize::from(at);
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

    use super::*;

    /// A packet with the option behind a time stamp, or before it and at an odd place.
    fn packet(v6: bool, is_odd: bool, option: &[u8]) -> Vec<u8> {
        let stamp = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let options =
            if is_odd { [&[1], option, &[1], &stamp].concat() } else { [&[1, 1], &stamp[..], option].concat() };
        let mut bytes = vec![];
        match v6 {
            false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
                .tcp(1, 2, 3, 4)
                .options_raw(&options)
                .unwrap()
                .write(&mut bytes, &[7; 33])
                .unwrap(),
            true => PacketBuilder::ipv6([1; 16], [2; 16], 64)
                .tcp(1, 2, 3, 4)
                .options_raw(&options)
                .unwrap()
                .write(&mut bytes, &[7; 33])
                .unwrap(),
        }
        bytes
    }

    const ASKS: [u8; 12] = [253, 12, 0x4c, 0x51, 0, 0, 0xff, 0xff, 0x30, 0x00, 0, 0];

    fn is_summed(packet: &[u8]) -> bool {
        let sliced = SlicedPacket::from_ip(packet).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
        let header = tcp.to_header();
        let sum = match sliced.net.unwrap() {
            NetSlice::Ipv4(ip) => header.calc_checksum_ipv4(&ip.header().to_header(), tcp.payload()).unwrap(),
            NetSlice::Ipv6(ip) => header.calc_checksum_ipv6(&ip.header().to_header(), tcp.payload()).unwrap(),
            NetSlice::Arp(_) => panic!("no IP"),
        };
        sum == tcp.checksum()
    }

    #[test]
    fn what_routers_grant_comes_back_into_the_packet() {
        for (v6, is_odd) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut bytes = packet(v6, is_odd, &ASKS);
            let (mut signal, asked) = read(&bytes).unwrap();
            // 0x3000: e = 6 and m = 0.
            assert_eq!(signal, Signal::Qfcp(QfcpHeader { rtt_s: 0.0, rate: f32::INFINITY, silent: 0 }));
            let before = bytes.clone();
            write(&mut bytes, asked.unwrap(), &signal);
            assert_eq!(bytes, before, "no router has spoken");
            signal.lower_rate(1_024_000.0);
            write(&mut bytes, asked.unwrap(), &signal);
            assert!(is_summed(&bytes), "{v6} {is_odd}");
            let Some((Signal::Qfcp(header), _)) = read(&bytes) else { panic!("no option") };
            assert_eq!(header.rate, 1_024_000.0);
        }
    }

    #[test]
    fn changes_of_a_rate_come_back_too() {
        // 0x3400 of us: 2^6 · 1024 are .07 s; 0x1400: 2^2 · 1024 B of window.
        let asks = [253, 12, 0x4c, 0x58, 0x80, 0, 0x7f, 0xff, 0x34, 0x00, 0x14, 0x00];
        for (change, granted) in [(-500.0, -500.0), (0.0, 0.0), (2000.0, 2000.0)] {
            let mut bytes = packet(false, true, &asks);
            let (mut signal, asked) = read(&bytes).unwrap();
            let header = XcpHeader { cwnd_bytes: 4096.0, rtt_s: 0.065_536, change: f32::INFINITY };
            assert_eq!(signal, Signal::Xcp(header));
            let before = bytes.clone();
            write(&mut bytes, asked.unwrap(), &signal);
            assert_eq!(bytes, before, "no router has spoken");
            signal.lower_change(change);
            write(&mut bytes, asked.unwrap(), &signal);
            assert!(is_summed(&bytes));
            let (told, _) = read(&bytes).unwrap();
            assert_eq!(told, Signal::Xcp(XcpHeader { change: granted, ..header }));
        }
        let short = |echo: [u8; 2]| [253, 8, 0x4c, 0x58, echo[0], echo[1], 0, 0];
        let told = |echo| read(&packet(false, false, &short(echo))).unwrap().0;
        // e = 1, m = 512: 4 B/s.
        assert_eq!((told([0x06, 0x00]), told([0x86, 0x00])), (Signal::Change(4.0), Signal::Change(-4.0)));
    }

    #[test]
    fn what_a_receiver_echoes_is_no_question() {
        let short = [253, 8, 0x4c, 0x51, 0x0c, 0x00, 0, 0];
        // 0x0c00: e = 1 and m = 1024.
        let told = Signal::Rate(RateFeedback { rate: 2048.0, silent: 0 });
        assert_eq!(read(&packet(false, false, &short)), Some((told, None)));
    }

    #[test]
    fn what_is_another_experiment_or_cut_off_is_passed_over() {
        let mut other = ASKS;
        other[2] = 0;
        assert_eq!(read(&packet(false, false, &other)), None);
        let whole = packet(false, false, &ASKS);
        for length in 0..whole.len() - 33 {
            assert_eq!(read(&whole[..length]), None, "{length}");
        }
        let mut udp = whole;
        udp[9] = 17;
        assert_eq!(read(&udp), None);
    }
}
