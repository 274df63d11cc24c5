// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is forgotten, and when: tables are bounded.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::load::Programs;
use crate::mode::Mode;
use crate::state::{Connection, FLOW_CLIENT_ENDED, FLOW_ESTABLISHED, FLOW_SERVER_ENDED};

/// What both sides have ended is forgotten after so long without a packet, and what never began. What one side has ended goes on for as
/// long as the other has to say something.
const CLOSED_NS: u64 = 10_000_000_000;
/// An idle connection is kept for so long, unless room gets scarce: one that is forgotten is steered no more.
const IDLE_NS: u64 = 7200 * 1_000_000_000;
/// What counts as idle where a third of the room is taken.
const CROWD_IDLE_NS: u64 = 60_000_000_000;
/// What has been silent for so long has nothing under way, and goes where room is needed.
const SILENT_NS: u64 = 4_000_000_000;

/// Forgets what has ended, what is idle where there is a crowd, and where less than an eighth of the room is left, what has
/// been silent for longest, until there is a quarter.
///
/// # Errors
/// The kernel's.
pub(crate) fn reap(programs: &Programs, now_ns: u64) -> Result<()> {
    programs.look_through()?;
    let mut flows = programs.flows()?;
    if programs.mode() != Mode::Ap {
        let room = programs.room()?;
        let is_crowded = flows.len() > room / 3;
        let (over, mut kept): (Vec<_>, Vec<_>) =
            flows.into_iter().partition(|(_, flow)| is_over(flow, now_ns, is_crowded));
        if kept.len() > room / 8 * 7 {
            kept.sort_by_key(|(_, flow)| flow.seen_ns());
            let silent = kept.partition_point(|(_, flow)| silence_ns(flow, now_ns) > SILENT_NS);
            for (key, _) in kept.drain(..silent.min(kept.len() - room / 4 * 3)) {
                programs.forget(&key)?;
            }
        }
        for (key, _) in &over {
            programs.forget(key)?;
        }
        flows = kept;
    }
    let clients: BTreeSet<[u8; 16]> = flows.iter().map(|(key, _)| key.client).collect();
    let stations = programs.stations()?;
    let silent = stations.iter().filter(|(_, station)| now_ns.saturating_sub(station.seen_ns) > CLOSED_NS);
    for (key, _) in silent.filter(|(key, _)| key.client().is_some()) {
        if !clients.contains(&key.client) {
            programs.forget_station(key)?;
        } else if programs.has_desks() {
            programs.take_desk(key)?;
        }
    }
    Ok(())
}

fn silence_ns(flow: &Connection, now_ns: u64) -> u64 {
    now_ns.saturating_sub(flow.seen_ns())
}

fn is_over(flow: &Connection, now_ns: u64, is_crowded: bool) -> bool {
    const ENDED: u32 = FLOW_CLIENT_ENDED | FLOW_SERVER_ENDED;
    let is_unfinished = flow.flags() & FLOW_ESTABLISHED == 0 || flow.flags() & ENDED == ENDED;
    let patience_ns = if is_unfinished {
        CLOSED_NS
    } else if is_crowded {
        CROWD_IDLE_NS
    } else {
        IDLE_NS
    };
    silence_ns(flow, now_ns) > patience_ns
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::{AsFd, AsRawFd};

    use libbpf_rs::{MapCore, MapFlags};
    use zerocopy::IntoBytes;

    use lasthop_linux::clock;

    use super::*;
    use crate::config::{Config, Law, StationConfig};
    use crate::state::COUNTED;

    /// One of 256 clients opens its next connection.
    fn syn(number: u32) -> Vec<u8> {
        let [_, high, low, client] = number.to_be_bytes();
        syn_of([0, client], [16 + high, low])
    }

    /// A client opens a connection from a port.
    fn syn_of(client: [u8; 2], port: [u8; 2]) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0];
        frame.extend([10, 1, client[0], client[1], 10, 2, 0, 2, port[0], port[1], 0, 80]);
        frame.extend([0, 0, 0, 99, 0, 0, 0, 0, 5 << 4, 2, 250, 240, 0, 0, 0, 0]);
        frame
    }

    /// The rest of its handshake: what the server answers, and the client's acknowledgement of that.
    fn rest_of(client: [u8; 2], port: [u8; 2]) -> [(&'static str, Vec<u8>); 2] {
        let mut answer = syn_of(client, port);
        let (ends, rest) = (answer[26..38].to_vec(), answer[38..].to_vec());
        answer[26..30].copy_from_slice(&ends[4..8]);
        answer[30..34].copy_from_slice(&ends[..4]);
        answer[34..36].copy_from_slice(&ends[10..]);
        answer[36..38].copy_from_slice(&ends[8..10]);
        answer[38..42].copy_from_slice(&[0, 0, 1, 0]);
        answer[42..46].copy_from_slice(&[0, 0, 0, 100]);
        answer[47] = 2 | 16;
        let mut last = [&syn_of(client, port)[..38], &rest].concat();
        last[38..42].copy_from_slice(&[0, 0, 0, 100]);
        last[42..46].copy_from_slice(&[0, 0, 1, 1]);
        last[47] = 16;
        [("to_client", answer), ("to_server", last)]
    }

    /// The same connection's last words: the client's FIN, and its server's.
    fn end_of(client: [u8; 2], port: [u8; 2]) -> [(&'static str, Vec<u8>); 2] {
        let [(_, mut servers), (_, mut clients)] = rest_of(client, port);
        servers[38..42].copy_from_slice(&[0, 0, 1, 1]);
        for frame in [&mut servers, &mut clients] {
            frame[47] = 1 | 16;
        }
        [("to_server", clients), ("to_client", servers)]
    }

    /// The programs; none, and a line, where they may not be loaded.
    fn loaded() -> Option<Programs> {
        loaded_with(&Config::default())
    }

    fn loaded_with(config: &Config) -> Option<Programs> {
        loaded_as(Mode::Proxy, config)
    }

    fn loaded_as(mode: Mode, config: &Config) -> Option<Programs> {
        let programs = Programs::load(mode, &config.settings(14, mode == Mode::Proxy));
        if let Err(error) = &programs {
            assert!(std::env::var_os("LASTHOP_REQUIRE_ROOT").is_none(), "{error:#}");
            eprintln!("SKIPPED: {error:#}");
        }
        programs.ok()
    }

    fn counted(programs: &Programs, kind: &str) -> u64 {
        programs.counts().unwrap()[COUNTED.iter().position(|name| *name == kind).unwrap()].packets
    }

    /// What the kernel says of a map's memory \[B\].
    fn memory(map: &impl AsFd) -> usize {
        let said = fs::read_to_string(format!("/proc/self/fdinfo/{}", map.as_fd().as_raw_fd())).unwrap();
        let line = said.lines().find_map(|line| line.strip_prefix("memlock:")).unwrap();
        line.trim().parse().unwrap()
    }

    #[test]
    fn tables_are_bounded_and_those_silent_for_longest_make_room() {
        let Some(programs) = loaded() else { return };
        let (room, map) = (programs.room().unwrap(), programs.map("flows").unwrap());
        let empty = memory(&map);
        for number in 0..room as u32 + 1000 {
            programs.try_packet("to_server", &syn(number)).unwrap();
            if number == 99_999 {
                let each = memory(&map) - empty;
                println!("{room} connections have room: {empty} B while there is none, {each} B more with 100,000");
            }
        }
        assert_eq!((programs.flows().unwrap().len(), counted(&programs, "table_full")), (room, 1000));
        let stations = programs.stations().unwrap().len();
        assert_eq!(stations, 256);
        let queues = programs.map("queues").unwrap();
        println!(
            "{stations} stations of {} B, all {} of them {} B",
            queues.value_size(),
            queues.max_entries(),
            memory(&queues)
        );
        // All of them established, as if each had been seen 100 µs after the one before, the last one now.
        let now_ns = clock::monotonic_ns();
        for (place, (key, flow)) in programs.flows().unwrap().into_iter().enumerate() {
            let Connection::Steered(mut flow) = flow else { unreachable!("a proxy's") };
            flow.flags |= FLOW_ESTABLISHED;
            flow.seen_ns = now_ns - (room - 1 - place) as u64 * 100_000;
            map.update(key.as_bytes(), flow.as_bytes(), MapFlags::EXIST).unwrap();
        }
        reap(&programs, now_ns).unwrap();
        let left = programs.flows().unwrap();
        assert_eq!(left.len(), room / 4 * 3);
        assert!(left.iter().all(|(_, flow)| silence_ns(flow, now_ns) < (room / 4 * 3) as u64 * 100_000));
        // There is room again, and who is known has its station.
        programs.try_packet("to_server", &syn(1 << 17)).unwrap();
        assert_eq!((programs.flows().unwrap().len(), counted(&programs, "table_full")), (left.len() + 1, 1000));
        assert_eq!(programs.stations().unwrap().len(), 256);
        // After two hours nothing is left.
        reap(&programs, now_ns + IDLE_NS + CLOSED_NS).unwrap();
        assert!(programs.flows().unwrap().is_empty() && programs.stations().unwrap().is_empty());
    }

    #[test]
    fn what_one_side_has_ended_goes_on_and_what_both_have_is_forgotten() {
        for mode in [Mode::Proxy, Mode::Client] {
            let Some(programs) = loaded_as(mode, &Config::default()) else { return };
            // Either side is the first.
            for (client, ends) in [([0, 1], [0, 1]), ([0, 2], [1, 0])] {
                let port = [16, 1];
                programs.try_packet("to_server", &syn_of(client, port)).unwrap();
                for (program, frame) in rest_of(client, port) {
                    programs.try_packet(program, &frame).unwrap();
                }
                for (end, left) in ends.into_iter().zip([1, 0]) {
                    let (program, frame) = &end_of(client, port)[end];
                    programs.try_packet(program, frame).unwrap();
                    // Said again, it is no other side's.
                    programs.try_packet(program, frame).unwrap();
                    let now_ns = clock::monotonic_ns();
                    reap(&programs, now_ns + CLOSED_NS + 1).unwrap();
                    assert_eq!(programs.flows().unwrap().len(), left, "{mode:?} {program}");
                    if left > 0 {
                        let (_, flow) = &programs.flows().unwrap()[0];
                        assert!(
                            is_over(flow, now_ns + CROWD_IDLE_NS + 1, true)
                                && is_over(flow, now_ns + IDLE_NS + 1, false)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn hidden_queues_are_bounded_and_their_numbers_are_given_again() {
        let Some(programs) = loaded() else { return };
        let map = programs.map("clients").unwrap();
        let room = map.max_entries();
        for turn in 1..=3 {
            for client in 0..=room as u16 {
                programs.try_packet("to_server", &syn_of(client.to_be_bytes(), [16, turn])).unwrap();
            }
            // One client too many, whose connection is let alone.
            let (stations, flows) = (programs.stations().unwrap(), programs.flows().unwrap());
            assert_eq!((stations.len() as u32, flows.len() as u32), (room, room));
            assert_eq!(counted(&programs, "table_full"), u64::from(turn));
            let clients: BTreeSet<_> = stations.iter().map(|(key, _)| key.client).collect();
            assert!(flows.iter().all(|(key, _)| clients.contains(&key.client)));
            let numbers: BTreeSet<_> = map.keys().map(|key| map.lookup(&key, MapFlags::ANY).unwrap()).collect();
            assert_eq!(numbers.len() as u32, room);
            reap(&programs, clock::monotonic_ns() + IDLE_NS + CLOSED_NS).unwrap();
            assert!(programs.flows().unwrap().is_empty() && programs.stations().unwrap().is_empty());
        }
    }

    #[test]
    fn desks_are_bounded_and_those_of_silent_clients_are_given_back() {
        let config = Config { law: Law::Station(StationConfig::default()), ..Config::default() };
        let Some(programs) = loaded_with(&config) else { return };
        let (room, free) = programs.desks().unwrap();
        assert_eq!((room, free), (256, 256));
        let desks = programs.map("desks").unwrap();
        println!("{room} desks of {} B have {} B", desks.value_size(), memory(&desks));
        for turn in 1..=2 {
            for client in 0..room as u16 + 50 {
                let client = client.to_be_bytes();
                programs.try_packet("to_server", &syn_of(client, [16, turn])).unwrap();
                for (program, frame) in rest_of(client, [16, turn]) {
                    programs.try_packet(program, &frame).unwrap();
                }
            }
            // Clients beyond them are steered all the same, by the share window.
            assert_eq!(programs.desks().unwrap(), (room, 0));
            let flows = programs.flows().unwrap();
            assert_eq!(flows.len(), room + 50);
            assert!(flows.iter().all(|(_, flow)| flow.flags() & FLOW_ESTABLISHED != 0));
            assert_eq!(counted(&programs, "table_full"), 0);
            // Connections are kept for longer than desks.
            let now_ns = clock::monotonic_ns();
            reap(&programs, now_ns + CLOSED_NS + 1).unwrap();
            assert_eq!(programs.flows().unwrap().len(), room + 50);
            assert_eq!(programs.desks().unwrap(), (room, room));
            for (program, frame) in rest_of([0, 7], [16, turn]) {
                programs.try_packet(program, &frame).unwrap();
            }
            assert_eq!(programs.desks().unwrap(), (room, room - 1));
            reap(&programs, now_ns + IDLE_NS + CLOSED_NS).unwrap();
            assert!(programs.flows().unwrap().is_empty() && programs.stations().unwrap().is_empty());
            assert_eq!(programs.desks().unwrap(), (room, room));
        }
    }
}
