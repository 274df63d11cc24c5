// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has which address, and which packets take which stream's route.
//!
//! ```text
//!   IPv4 100.64+k.x.x                 IPv6 fd6c:6173:7468:k:…
//!   0.1 … 127.255  servers, one a flow      1::n
//!   128.1 …        hosts                    2::n
//!   255.1, 255.2   the machine, and the servers' way to it   3::1, 3::2
//! ```
//!
//! `k` is the emulation's number, so that several run side by side.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lasthop_linux::netlink::Prefix;

/// How many emulations a machine may run at once.
pub(crate) const MOST_EMULATIONS: u8 = 64;
/// How many flows an emulation may have, as each has a server of its own.
pub(crate) const MOST_FLOWS: usize = 0x7ffe;
/// How many hosts it may have.
pub(crate) const MOST_HOSTS: usize = 1000;

/// The first of the hosts' addresses, less one.
const HOSTS: u16 = 0x8000;
/// The addresses of the way to the machine, less one.
const OUTSIDE: u16 = 0xff00;

/// The version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ip {
    V4,
    V6,
}

/// Whose an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Server(usize),
    Host(usize),
    Other,
}

/// The addresses of an emulation.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Its number.
    pub(crate) number: u8,
    /// The host of each flow.
    host_of: Vec<usize>,
    /// The flow whose route other traffic of a host takes.
    default_of: Vec<u32>,
}

impl Plan {
    /// A plan for flows with these hosts; every host has a flow.
    pub(crate) fn new(number: u8, host_of: Vec<usize>) -> Self {
        let hosts = host_of.iter().max().map_or(0, |last| last + 1);
        let first = |host| host_of.iter().position(|of| *of == host).unwrap_or(0) as u32;
        let default_of = (0..hosts).map(first).collect();
        Self { number, host_of, default_of }
    }

    /// The number of the emulation that has this address.
    pub(crate) fn number_of(address: Ipv4Addr) -> Option<u8> {
        match address.octets() {
            [100, second, ..] => second.checked_sub(64).filter(|number| *number < MOST_EMULATIONS),
            _ => None,
        }
    }

    /// The address of a flow's server.
    pub(crate) fn server(&self, ip: Ip, flow: usize) -> IpAddr {
        self.address(ip, 1, 0, flow)
    }

    /// The flow of each host whose route other traffic takes.
    pub(crate) fn default_servers(&self) -> impl Iterator<Item = usize> + '_ {
        self.default_of.iter().map(|flow| *flow as usize)
    }

    /// The address of a host.
    pub(crate) fn host(&self, ip: Ip, host: usize) -> IpAddr {
        self.address(ip, 2, HOSTS, host)
    }

    /// The address of the machine itself, as seen from inside.
    pub(crate) fn machine(&self, ip: Ip) -> IpAddr {
        self.address(ip, 3, OUTSIDE, 0)
    }

    /// The address of the servers, as seen from the machine.
    pub(crate) fn gate(&self, ip: Ip) -> IpAddr {
        self.address(ip, 3, OUTSIDE, 1)
    }

    /// All addresses of the servers, of the hosts, and of the way between servers and machine.
    pub(crate) fn prefixes(&self, ip: Ip) -> [Prefix; 3] {
        match ip {
            Ip::V4 => [(0, 17), (HOSTS, 17), (OUTSIDE, 30)]
                .map(|(from, length)| Prefix { address: self.v4(from).into(), length }),
            Ip::V6 => [1, 2, 3].map(|kind| Prefix { address: self.v6(kind, 0).into(), length: 80 }),
        }
    }

    /// The stream whose route a packet takes from the servers to a host, and that host.
    pub(crate) fn stream_towards(&self, from: IpAddr, to: IpAddr) -> Option<(u32, usize)> {
        let Whose::Host(host) = self.whose(to) else { return None };
        Some((self.stream(host, self.whose(from))?, host))
    }

    /// The stream whose route a packet takes from a host to the servers.
    pub(crate) fn stream_from(&self, host: usize, to: IpAddr) -> Option<u32> {
        if to.is_multicast() {
            return None;
        }
        self.stream(host, self.whose(to))
    }

    /// The host that has this address.
    pub(crate) fn host_of(&self, address: IpAddr) -> Option<usize> {
        match self.whose(address) {
            Whose::Host(host) => Some(host),
            Whose::Server(_) | Whose::Other => None,
        }
    }

    /// The flow whose server has this address.
    pub(crate) fn flow_of(&self, server: IpAddr) -> Option<usize> {
        match self.whose(server) {
            Whose::Server(flow) => Some(flow),
            Whose::Host(_) | Whose::Other => None,
        }
    }

    fn stream(&self, host: usize, far: Whose) -> Option<u32> {
        match far {
            Whose::Server(flow) if self.host_of.get(flow) == Some(&host) => Some(flow as u32),
            _ => self.default_of.get(host).copied(),
        }
    }

    fn whose(&self, address: IpAddr) -> Whose {
        let (kind, number) = match address {
            IpAddr::V4(v4) => {
                let bits = v4.to_bits();
                if bits >> 16 != self.v4(0).to_bits() >> 16 {
                    return Whose::Other;
                }
                let low = bits as u16;
                match low {
                    1..HOSTS => (1, low),
                    OUTSIDE.. => (3, low - OUTSIDE),
                    low => (2, low - HOSTS),
                }
            }
            IpAddr::V6(v6) => {
                let [.., kind, a, b, number] = v6.segments();
                if v6.segments()[..4] != self.v6(0, 0).segments()[..4] || (a, b) != (0, 0) {
                    return Whose::Other;
                }
                (kind, number)
            }
        };
        match (kind, usize::from(number).checked_sub(1)) {
            (1, Some(flow)) => Whose::Server(flow),
            (2, Some(host)) if host < self.default_of.len() => Whose::Host(host),
            _ => Whose::Other,
        }
    }

    fn address(&self, ip: Ip, kind: u16, base: u16, index: usize) -> IpAddr {
        let number = index as u16 + 1;
        match ip {
            Ip::V4 => self.v4(base + number).into(),
            Ip::V6 => self.v6(kind, number).into(),
        }
    }

    fn v4(&self, low: u16) -> Ipv4Addr {
        let [high, low] = low.to_be_bytes();
        Ipv4Addr::new(100, 64 + self.number, high, low)
    }

    fn v6(&self, kind: u16, number: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xfd6c, 0x6173, 0x7468, u16::from(self.number), kind, 0, 0, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two flows to host 0, one to host 1.
    fn plan() -> Plan {
        Plan::new(3, vec![0, 0, 1])
    }

    #[test]
    fn a_flow_is_known_by_its_server_and_its_host() {
        for ip in [Ip::V4, Ip::V6] {
            let plan = plan();
            let towards = |flow, host| plan.stream_towards(plan.server(ip, flow), plan.host(ip, host));
            assert_eq!(towards(1, 0), Some((1, 0)));
            assert_eq!(towards(2, 1), Some((2, 1)));
            assert_eq!(plan.stream_from(0, plan.server(ip, 1)), Some(1));
        }
    }

    #[test]
    fn other_traffic_takes_the_route_of_the_hosts_first_flow() {
        for ip in [Ip::V4, Ip::V6] {
            let plan = plan();
            // Another host's server, the machine, and the world outside.
            assert_eq!(plan.stream_from(1, plan.server(ip, 0)), Some(2));
            assert_eq!(plan.stream_towards(plan.machine(ip), plan.host(ip, 0)), Some((0, 0)));
            assert_eq!(plan.stream_from(1, "192.0.2.1".parse().unwrap()), Some(2));
        }
    }

    #[test]
    fn an_address_tells_the_emulation() {
        let IpAddr::V4(own) = plan().host(Ip::V4, 0) else { panic!("an address of IPv4") };
        assert_eq!(Plan::number_of(own), Some(3));
        assert_eq!(Plan::number_of("100.128.0.1".parse().unwrap()), None);
        assert_eq!(Plan::number_of("10.67.0.1".parse().unwrap()), None);
    }

    #[test]
    fn nobody_is_nobody() {
        let plan = plan();
        assert_eq!(plan.stream_towards(plan.server(Ip::V4, 0), plan.host(Ip::V4, 2)), None);
        assert_eq!(plan.stream_towards(plan.server(Ip::V4, 0), plan.server(Ip::V4, 0)), None);
        assert_eq!(plan.stream_from(0, "ff02::1".parse().unwrap()), None);
    }

    #[test]
    fn ranges_hold_their_addresses_and_no_others() {
        let plan = plan();
        let most = plan.server(Ip::V4, MOST_FLOWS - 1);
        assert_eq!(most.to_string(), "100.67.127.254");
        assert_eq!(plan.host(Ip::V4, 0).to_string(), "100.67.128.1");
        assert_eq!(plan.machine(Ip::V4).to_string(), "100.67.255.1");
        assert_eq!(plan.whose(most), Whose::Server(MOST_FLOWS - 1));
    }
}
