// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet with its real bytes, on its way through the network.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use lasthop_core::packet::{Parcel, Signal};
use lasthop_core::units::{Bytes, Duration, Instant};
use lasthop_linux::tun::HEADROOM;
use lasthop_sim::network::Traveller;

use crate::option::{self, Asked};

/// A packet as it came from a kernel, and as it will go into one: nothing in it is changed but what routers grant.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Headroom, then the IP header and all that follows.
    pub(crate) bytes: Vec<u8>,
    /// The device at which it leaves.
    pub(crate) exit: u16,
    /// What it waited at most before it was read.
    pub(crate) waited: Duration,
    /// When it came to the last access point.
    pub(crate) entered: Instant,
    stream: u32,
    hop: u8,
    station: u16,
    flow: u64,
    signal: Signal,
    /// Where it says what routers grant, if it asks.
    asked: Option<Asked>,
    _room: Room,
}

/// What packets may take in all; each gives back its [`Room`] when it goes, wherever that is.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    most: u64,
    taken: Arc<AtomicU64>,
}

impl Memory {
    pub(crate) fn new(most: u64) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// Room for a packet, if there is some left.
    pub(crate) fn take(&self, bytes: usize) -> Option<Room> {
        let bytes = bytes as u64;
        if self.taken.load(Ordering::Relaxed) + bytes > self.most {
            return None;
        }
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        Some(Room { bytes, taken: Arc::clone(&self.taken) })
    }
}

/// The room of one packet.
#[derive(Debug)]
pub(crate) struct Room {
    bytes: u64,
    taken: Arc<AtomicU64>,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Frame {
    /// The packet of a stream that is to leave at the device `exit`, `waited` after it came at most.
    pub(crate) fn new(
        bytes: Vec<u8>,
        room: Room,
        addresses: &Addresses,
        (stream, exit): (u32, u16),
        waited: Duration,
    ) -> Self {
        Self {
            bytes,
            waited,
            _room: room,
            exit,
            entered: Instant::ZERO,
            stream,
            hop: 0,
            station: 0,
            flow: addresses.flow,
            signal: Signal::None,
            asked: None,
        }
    }

    /// Reads what it asks of routers.
    pub(crate) fn ask(&mut self) {
        if let Some((signal, asked)) = option::read(&self.bytes[HEADROOM..]) {
            (self.signal, self.asked) = (signal, asked);
        }
    }

    /// Writes what routers have granted.
    pub(crate) fn answer(&mut self) {
        if let Some(asked) = self.asked {
            option::write(&mut self.bytes[HEADROOM..], asked, &self.signal);
        }
    }
}

impl Parcel for Frame {
    fn size(&self) -> Bytes {
        Bytes::new((self.bytes.len() - HEADROOM) as u64)
    }

    fn station(&self) -> usize {
        usize::from(self.station)
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn signal_mut(&mut self) -> &mut Signal {
        &mut self.signal
    }
}

impl Traveller for Frame {
    fn stream(&self) -> u32 {
        self.stream
    }

    fn hop(&self) -> u8 {
        self.hop
    }

    fn set_hop(&mut self, hop: u8) {
        self.hop = hop;
    }

    fn set_station(&mut self, station: u16) {
        self.station = station;
    }
}

/// Where a packet comes from and goes to, as read from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    /// What tells its flow from others: a hash of addresses, protocol and ports.
    flow: u64,
}

impl Addresses {
    /// Those of an IP packet; none if it is not one.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let packet = SlicedPacket::from_ip(packet).ok()?;
        let (from, to, protocol) = match packet.net? {
            NetSlice::Ipv4(ip) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into(), header.protocol().0)
            }
            NetSlice::Ipv6(ip) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into(), ip.payload().ip_number.0)
            }
            NetSlice::Arp(_) => return None,
        };
        // A fragment but the first shows no ports: such are a flow of their own.
        let ports = match packet.transport {
            Some(TransportSlice::Tcp(tcp)) => (tcp.source_port(), tcp.destination_port()),
            Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port()),
            _ => (0, 0),
        };
        Some(Self { from, to, flow: hash(from, to, protocol, ports) })
    }

    /// The address that it comes from.
    pub fn from(&self) -> IpAddr {
        self.from
    }

    /// The address that it goes to.
    pub fn to(&self) -> IpAddr {
        self.to
    }
}

/// A number for each flow, the same in every run (splitmix64 over the parts).
fn hash(from: IpAddr, to: IpAddr, protocol: u8, ports: (u16, u16)) -> u64 {
    let number = |address: IpAddr| match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let mut state = u64::from(protocol) << 32 | u64::from(ports.0) << 16 | u64::from(ports.1);
    for address in [number(from), number(to)] {
        for half in [address as u64, (address >> 64) as u64] {
            state = (state ^ half).wrapping_add(0x9e37_79b9_7f4a_7c15);
            state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            state ^= state >> 31;
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    fn udp(v6: bool, ports: (u16, u16)) -> Vec<u8> {
        let mut bytes = vec![];
        let builder = match v6 {
            false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(ports.0, ports.1),
            true => PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(ports.0, ports.1),
        };
        builder.write(&mut bytes, &[0; 100]).unwrap();
        bytes
    }

    #[test]
    fn packets_of_one_flow_have_one_number_and_others_another() {
        for v6 in [false, true] {
            let one = Addresses::of(&udp(v6, (1, 2))).unwrap();
            assert_eq!(one, Addresses::of(&udp(v6, (1, 2))).unwrap());
            let other = Addresses::of(&udp(v6, (1, 3))).unwrap();
            assert_eq!((one.from, one.to), (other.from, other.to));
            assert_ne!(one.flow, other.flow);
        }
    }

    #[test]
    fn what_is_no_ip_packet_has_no_addresses() {
        assert_eq!(Addresses::of(&[]), None);
        assert_eq!(Addresses::of(&[0x60, 0, 0]), None);
        assert_eq!(Addresses::of(&[0xff; 40]), None);
    }

    #[test]
    fn the_size_is_that_of_the_ip_packet() {
        // 20 B of IP, 8 of UDP, 100 of payload.
        let packet = udp(false, (1, 2));
        let addresses = Addresses::of(&packet).unwrap();
        let bytes = [&[0; HEADROOM], &packet[..]].concat();
        let room = Memory::new(200).take(bytes.len()).unwrap();
        assert_eq!(Frame::new(bytes, room, &addresses, (0, 0), Duration::ZERO).size(), Bytes::new(128));
    }

    #[test]
    fn a_packet_gives_its_room_back_wherever_it_goes() {
        let memory = Memory::new(3000);
        let first = memory.take(1500);
        let second = memory.take(1500);
        assert!(first.is_some() && second.is_some());
        assert!(memory.take(1).is_none());
        drop(first);
        assert!(memory.take(1500).is_some());
    }
}
