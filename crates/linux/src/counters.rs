// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel counts in the network namespace that the calling thread is in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Counters of packets that came to an end and were dropped there, as the kernel calls them.
const DROPS: [(&str, &[&str]); 5] = [
    ("Udp", &["RcvbufErrors", "MemErrors"]),
    ("Udp6", &["RcvbufErrors", "MemErrors"]),
    ("UdpLite", &["RcvbufErrors"]),
    ("Ip", &["InDiscards"]),
    ("TcpExt", &["TCPRcvQDrop", "TCPBacklogDrop", "PFMemallocDrop", "RcvPruned", "OfoPruned"]),
];

/// What has been dropped at the ends, for want of room or memory: the counters that are not zero, by name, such as
/// `UdpRcvbufErrors`. `devices` are those by which packets come.
pub fn endpoint_drops(devices: &[&str]) -> BTreeMap<String, u64> {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let mut all = BTreeMap::new();
    for table in [read("snmp"), read("netstat")] {
        pairs(&table, &mut all);
    }
    columns(&read("snmp6"), &mut all);
    let wanted = DROPS.iter().flat_map(|(group, names)| names.iter().map(move |name| format!("{group}{name}")));
    let mut found: BTreeMap<_, _> = wanted.filter_map(|name| Some((name.clone(), *all.get(&name)?))).collect();
    // What the kernel takes from us but has no room for.
    let table = read("dev");
    let not_taken = devices.iter().map(|device| device_column(&table, device, 3)).sum();
    found.insert("DeviceRxDropped".to_owned(), not_taken);
    found.retain(|_, count| *count > 0);
    found
}

/// Packets that the kernel could not queue at devices, because their queues were full.
pub fn overruns(devices: &[&str]) -> u64 {
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    devices.iter().map(|device| device_column(&table, device, 11)).sum()
}

/// Sockets that wait for somebody: the protocol and the local port of each TCP listener and of each datagram socket without
/// a peer.
pub fn waiting_sockets() -> BTreeSet<(&'static str, u16)> {
    // TCP_LISTEN, and TCP_CLOSE, which is what a datagram socket without a peer shows.
    let tables = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
    let rows = |(table, state): (&'static str, &'static str)| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        waiting(&text, state).into_iter().map(move |port| (table, port)).collect::<Vec<_>>()
    };
    tables.into_iter().flat_map(rows).collect()
}

/// The local ports of a table of sockets in one state.
fn waiting(table: &str, state: &str) -> Vec<u16> {
    let port = |line: &str| {
        let mut columns = line.split_whitespace().skip(1);
        let (local, _, found) = (columns.next()?, columns.next()?, columns.next()?);
        let port = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()?;
        (found == state).then_some(port)
    };
    table.lines().skip(1).filter_map(port).collect()
}

/// Tables of two lines each: `Udp: InDatagrams …` and `Udp: 5 …`.
fn pairs(table: &str, into: &mut BTreeMap<String, u64>) {
    let lines: Vec<&str> = table.lines().collect();
    for pair in lines.chunks_exact(2) {
        let (Some((group, names)), Some((_, values))) = (pair[0].split_once(':'), pair[1].split_once(':')) else {
            continue;
        };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            // Some are negative where they are not counted.
            into.insert(format!("{group}{name}"), value.parse().unwrap_or(0));
        }
    }
}

/// A table of names and values: `Udp6RcvbufErrors  5`.
fn columns(table: &str, into: &mut BTreeMap<String, u64>) {
    for line in table.lines() {
        if let [name, value] = line.split_whitespace().collect::<Vec<_>>()[..] {
            into.insert(name.to_owned(), value.parse().unwrap_or(0));
        }
    }
}

/// A column of /proc/net/dev.
fn device_column(table: &str, name: &str, column: usize) -> u64 {
    let row = table.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    row.and_then(|row| row.split_whitespace().nth(column)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overruns_are_the_twelfth_column() {
        let table = "Inter-|   Receive\n face |bytes\n  tun: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(device_column(table, "tun", 11), 12);
        assert_eq!(device_column(table, "tun", 3), 4);
        assert_eq!(device_column(table, "other", 11), 0);
    }

    #[test]
    fn what_waits_is_a_listener_on_its_local_port() {
        let table = "  sl  local_address rem_address   st tx_queue\n   0: 0100007F:1F90 00000000:0000 0A 0:0\n\
                     1: 0100007F:1F91 0200007F:0050 01 0:0\n";
        assert_eq!(waiting(table, "0A"), [8080]);
        let own = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(waiting_sockets().contains(&("udp", own.local_addr().unwrap().port())));
    }

    #[test]
    fn counters_have_their_groups_names() {
        let mut found = BTreeMap::new();
        pairs("Tcp: RtoAlgorithm MaxConn\nTcp: 1 -1\nUdp: InDatagrams RcvbufErrors\nUdp: 70 7\n", &mut found);
        columns("Udp6InDatagrams  3\nUdp6RcvbufErrors 9\n", &mut found);
        assert_eq!((found["UdpRcvbufErrors"], found["Udp6RcvbufErrors"], found["TcpMaxConn"]), (7, 9, 0));
    }

    #[test]
    fn every_counter_that_is_looked_for_is_one_of_this_kernel() {
        let mut all = BTreeMap::new();
        for name in ["snmp", "netstat"] {
            pairs(&fs::read_to_string(format!("/proc/self/net/{name}")).unwrap(), &mut all);
        }
        for (group, names) in DROPS.iter().filter(|(group, _)| *group != "Udp6") {
            for name in names.iter().filter(|name| **name != "MemErrors") {
                assert!(all.contains_key(&format!("{group}{name}")), "{group}{name}");
            }
        }
    }
}
