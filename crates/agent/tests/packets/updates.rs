// SPDX-License-Identifier: MIT OR Apache-2.0
//! Window updates under the station window: what comes in behind an ACK, for other connections of its client.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use lasthop_agent::config::{Config, Law, StationConfig};
use lasthop_agent::load::Programs;
use lasthop_agent::mode::Mode;
use lasthop_agent::state::Connection;
use lasthop_linux::Error;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::netlink::{Routing, device_index};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, socket};

use crate::frames::{ACK, OPTIONS, SYN, folded, sum};
use crate::support::or_skipped;
use crate::{PASSES_ON, counted, of_law};

/// The client's own window, in units of 128 B.
const OWN: u16 = 20_000;
const MSS: usize = 1400;
const RST: u8 = 4;

/// How packets look.
#[derive(Clone, Copy, Debug)]
struct Form {
    version: u8,
    has_stamp: bool,
    /// What precedes the IP header.
    link: Link,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    None,
    Ethernet,
    /// With a VLAN tag, which the kernel has taken out where it shows what comes in.
    Tagged,
}

impl Form {
    fn link_bytes(self) -> u32 {
        if self.link == Link::None { 0 } else { 14 }
    }

    /// An address, which ends with a number. Without a link header the kernel takes two bytes of it for an `EtherType`.
    fn address(self, is_client: bool, number: u8) -> Vec<u8> {
        let net = 1 + u8::from(is_client);
        match self.version {
            4 => vec![8, 0, net, number],
            _ => [&[0xfd, 0, 0, net, 0x86, 0xdd][..], &[0; 9], &[number]].concat(),
        }
    }
}

/// A connection of the client's, as both ends have it.
#[derive(Clone, Debug)]
struct Flow {
    client: u8,
    server: u8,
    port: u16,
    /// The last byte of the address on the link that its ACKs go to.
    hop: u8,
    seq: u32,
    sent: u32,
    acked: u32,
    /// Where the window ends that was said last.
    edge: u32,
    stamp: u32,
    echo: u32,
    /// AE, CWR and ECE of its client's packets.
    ace: u8,
    /// They count marks (RFC 9768).
    is_accurate: bool,
    updates: u32,
}

impl Flow {
    fn new(client: u8, server: u8, port: u16, hop: u8) -> Self {
        let first = 1000 * u32::from(port);
        Self {
            client,
            server,
            port,
            hop,
            seq: 100,
            sent: first,
            acked: first,
            edge: first,
            stamp: 0,
            echo: 0,
            ace: 0,
            is_accurate: false,
            updates: 0,
        }
    }

    /// AE, CWR and ECE: what a handshake agrees on, and what is told then.
    fn ace(&self, to_client: bool, flags: u8) -> u8 {
        match (flags & SYN != 0, to_client) {
            (true, false) => [0, 7][usize::from(self.is_accurate)],
            (true, true) => [0, 2][usize::from(self.is_accurate)],
            (false, false) => self.ace,
            (false, true) => 0,
        }
    }

    fn frame(&self, form: Form, to_client: bool, flags: u8, window: u16, payload: usize) -> Vec<u8> {
        let (from, to) = (form.address(true, self.client), form.address(false, self.server));
        let (mut from, mut to, mut ports) = (from, to, [self.port, 443]);
        let mut numbers = [self.seq, self.acked];
        if to_client {
            (from, to) = (to, from);
            ports.reverse();
            numbers = [self.sent, self.seq];
        }
        let mut options = if flags & SYN != 0 { OPTIONS.to_vec() } else { vec![] };
        if form.has_stamp {
            let stamps = if to_client { [7, self.stamp] } else { [self.stamp, self.echo] };
            options.extend([1, 1, 8, 10]);
            options.extend(stamps.map(u32::to_be_bytes).concat());
        }
        let mut tcp = [ports.map(u16::to_be_bytes).concat(), numbers.map(u32::to_be_bytes).concat()].concat();
        let ace = self.ace(to_client, flags);
        tcp.extend([(20 + options.len() as u8) << 2 | ace >> 2, flags | ace << 6]);
        tcp.extend(window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.extend(vec![9; payload]);
        let check = folded(sum(sum(6 + tcp.len() as u32, &[&from[..], &to].concat()), &tcp));
        tcp[16..18].copy_from_slice(&check.to_be_bytes());
        let mut frame = match form.link {
            Link::None => vec![],
            _ => vec![2, 0, 0, 0, 0, self.hop, 2, 0, 0, 0, 1, 2],
        };
        if form.link == Link::Tagged {
            frame.extend([0x81, 0, 0, 5]);
        }
        let begin = frame.len() + if form.link == Link::None { 0 } else { 2 };
        // Whose ends count marks has them in its ACKs as well: that one has been marked.
        let ecn = if self.is_accurate && !to_client { 3 } else { 0 };
        if form.version == 4 {
            frame.extend(if begin > 0 { &[8, 0][..] } else { &[] });
            frame.extend([0x45, ecn]);
            frame.extend((20 + tcp.len() as u16).to_be_bytes());
            frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
        } else {
            frame.extend(if begin > 0 { &[0x86, 0xdd][..] } else { &[] });
            frame.extend([0x60, ecn << 4, 0, 0]);
            frame.extend((tcp.len() as u16).to_be_bytes());
            frame.extend([6, 64]);
        }
        frame.extend([from, to].concat());
        if form.version == 4 {
            let check = folded(sum(0, &frame[begin..]));
            frame[begin + 10..begin + 12].copy_from_slice(&check.to_be_bytes());
        }
        [frame, tcp].concat()
    }
}

/// A packet, read again.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    client: Vec<u8>,
    server: Vec<u8>,
    ports: [u16; 2],
    seq: u32,
    ack: u32,
    /// Of the IP header.
    ecn: u8,
    /// With AE on top.
    flags: u16,
    window: u16,
    stamps: [u32; 2],
}

/// Reads what goes to a server; its sums are right.
fn read(form: Form, frame: &[u8]) -> Read {
    let at = match form.link {
        Link::None => 0,
        _ if frame[12] == 0x81 => 18,
        _ => 14,
    };
    let ip = &frame[at..];
    let (addresses, tcp) = match form.version {
        4 => (&ip[12..20], &ip[20..]),
        _ => (&ip[8..40], &ip[40..]),
    };
    if form.version == 4 {
        assert_eq!(folded(sum(0, &ip[..20])), 0, "{frame:02x?}");
    }
    assert_eq!(folded(sum(sum(6 + tcp.len() as u32, addresses), tcp)), 0, "{frame:02x?}");
    let four = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
    let two = |at: usize| u16::from_be_bytes(tcp[at..at + 2].try_into().unwrap());
    let (client, server) = addresses.split_at(addresses.len() / 2);
    Read {
        client: client.to_vec(),
        server: server.to_vec(),
        ports: [two(0), two(2)],
        seq: four(4),
        ack: four(8),
        ecn: if form.version == 4 { ip[1] & 3 } else { ip[1] >> 4 & 3 },
        flags: two(12) & 0x1ff,
        window: two(14),
        stamps: if form.has_stamp { [four(24), four(28)] } else { [0; 2] },
    }
}

/// The programs in a network namespace of their own, what comes in at its one device, and connections.
struct Talk {
    form: Form,
    programs: Programs,
    seen: OwnedFd,
    flows: Vec<Flow>,
    now_ms: u32,
}

impl Talk {
    fn new(config: &Config, form: Form, flows: Vec<Flow>) -> anyhow::Result<Self> {
        let seen = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_NONBLOCK, SockProtocol::EthAll)?;
        let programs = Programs::load(Mode::Proxy, &config.settings(form.link_bytes(), true))?;
        let mut talk = Self { form, programs, seen, flows, now_ms: 1000 };
        for i in 0..talk.flows.len() {
            let flow = &talk.flows[i];
            let syn = flow.frame(form, false, SYN, 64_000, 0);
            let answer = flow.frame(form, true, SYN | ACK, 64_000, 0);
            talk.try_packet("to_server", &syn);
            talk.try_packet("to_client", &answer);
            let flow = &mut talk.flows[i];
            flow.seq += 1;
            flow.sent += 1;
            flow.acked = flow.sent;
            flow.edge = flow.sent;
            let first = flow.frame(form, false, ACK, OWN, 0);
            talk.try_packet("to_server", &first);
        }
        Ok(talk)
    }

    fn try_packet(&self, program: &str, frame: &[u8]) -> Vec<u8> {
        let (verdict, left) = self.programs.try_packet(program, frame).unwrap();
        assert_eq!(verdict, PASSES_ON);
        left
    }

    /// What has come in at the device.
    fn came(&self) -> Vec<Vec<u8>> {
        let mut found = vec![];
        let mut bytes = [0; 2048];
        while let Ok(size) = recv(self.seen.as_raw_fd(), &mut bytes, MsgFlags::empty()) {
            found.push(bytes[..size].to_vec());
        }
        found
    }

    /// Data go on to a client, and after a while its ACK comes back; gives the updates that it has brought about.
    fn turn(&mut self, i: usize, segments: usize) -> usize {
        for _ in 0..segments {
            let data = self.flows[i].frame(self.form, true, ACK, 500, MSS);
            assert_eq!(self.try_packet("to_client", &data), data);
            self.flows[i].sent += MSS as u32;
        }
        std::thread::sleep(Duration::from_micros(1100));
        self.now_ms += 1;
        let flow = &mut self.flows[i];
        (flow.acked, flow.stamp, flow.echo) = (flow.sent, self.now_ms, 7);
        if flow.is_accurate {
            flow.ace = (flow.ace + 1) % 8;
        }
        self.ack(i)
    }

    /// The ACK of a connection as it stands.
    fn ack(&mut self, i: usize) -> usize {
        let form = self.form;
        let frame = self.flows[i].frame(form, false, ACK, OWN, 0);
        let left = self.try_packet("to_server", &frame);
        let (before, after) = (read(form, &frame), read(form, &left));
        // It is as it was but for its window, which is never raised, and never ends further left.
        let changed: Vec<_> = (0..frame.len()).filter(|&at| frame[at] != left[at]).collect();
        assert!(changed.is_empty() || changed[changed.len() - 1] - changed[0] < 4, "{changed:?}");
        assert_eq!((left.len(), &Read { window: before.window, ..read(form, &left) }), (frame.len(), &before));
        self.said(i, &after);
        let came = self.came();
        for update in &came {
            let told = read(form, update);
            let number = self.flows.iter().position(|flow| flow.port == told.ports[0]).unwrap();
            assert_ne!(number, i);
            let flow = &self.flows[number];
            assert_eq!((flow.client, flow.hop), (self.flows[i].client, self.flows[i].hop));
            let server = form.address(false, flow.server);
            let stamps = if form.has_stamp { [flow.stamp, flow.echo] } else { [0; 2] };
            let (client, ports) = (form.address(true, flow.client), [flow.port, 443]);
            // It repeats its own count of marks, and tells of none of another's.
            let flags = u16::from(ACK) | if flow.is_accurate { u16::from(flow.ace) << 6 } else { 0 };
            let wanted = Read {
                client,
                server,
                ports,
                seq: flow.seq,
                ack: flow.acked,
                ecn: 0,
                flags,
                window: told.window,
                stamps,
            };
            assert_eq!(told, wanted);
            self.said(number, &told);
            self.flows[number].updates += 1;
            assert_eq!(update.len(), if form.link == Link::Tagged { frame.len() - 4 } else { frame.len() });
        }
        came.len()
    }

    /// A window that is said.
    fn said(&mut self, i: usize, told: &Read) {
        let flow = &mut self.flows[i];
        assert!(told.window > 0 && told.window <= OWN, "{told:?}");
        let edge = told.ack.wrapping_add(u32::from(told.window) << 7);
        assert!(edge.wrapping_sub(flow.edge) as i32 >= 0, "{told:?} after {}", flow.edge);
        flow.edge = edge;
    }

    /// Connections take turns, ever faster, so that the windows of those whose ACK is not at hand grow as well; gives all updates.
    fn talk(&mut self, turns: usize) -> usize {
        (0..turns)
            .map(|turn| self.turn(if turn % 16 < 12 { turn % 2 } else { turn % self.flows.len() }, 4 + turn / 15))
            .sum()
    }
}

impl Talk {
    /// Each connection so often in turn.
    fn each(&mut self, turns: usize) {
        for turn in 0..turns * self.flows.len() {
            self.turn(turn % self.flows.len(), 2);
        }
    }

    /// The numbers of those with a seat.
    fn seated(&self) -> Vec<usize> {
        let known = self.programs.flows().unwrap();
        let has_seat = |flow: &Flow| {
            known.iter().any(
                |(key, kept)| matches!(kept, Connection::Steered(kept) if key.client().1 == flow.port && kept.seat > 0),
            )
        };
        (0..self.flows.len()).filter(|&i| has_seat(&self.flows[i])).collect()
    }
}

/// Runs what is done in a network namespace whose one device is up.
fn apart(work: impl FnOnce() + Send) {
    let up = || {
        let failed = |error| Error::of("bring the device up", error);
        Routing::new().and_then(|routing| routing.up(device_index("lo")?)).map_err(failed)
    };
    let Some((namespace, ())) = or_skipped(Namespace::new(up).map_err(Into::into)) else { return };
    let done = namespace.within(|| {
        work();
        Ok(())
    });
    done.unwrap();
}

fn station() -> Config {
    of_law(Law::Station(StationConfig::default()))
}

/// Two connections of a client to two servers, one of another client's, and one whose server is behind another router.
fn flows() -> Vec<Flow> {
    vec![Flow::new(2, 2, 4000, 1), Flow::new(2, 3, 4001, 1), Flow::new(3, 2, 4002, 1), Flow::new(2, 4, 4003, 9)]
}

#[test]
fn updates_are_whole_and_the_ack_at_hand_is_as_it_was() {
    let links = [Link::Ethernet, Link::Tagged, Link::None];
    let kinds = [(4, true), (4, false), (6, true), (6, false)];
    let forms =
        links.iter().flat_map(|link| kinds.map(|(version, has_stamp)| Form { version, has_stamp, link: *link }));
    std::thread::scope(|threads| {
        for form in forms {
            threads.spawn(move || apart(|| exchange(form, flows())));
        }
    });
}

#[test]
fn updates_repeat_what_their_own_connection_counts_of_marks_and_no_other() {
    for accurate in [0, 1] {
        let mut flows = flows();
        (flows[accurate].is_accurate, flows[accurate].ace) = (true, 5);
        // The other has met one, and says so until its server has heard of it (RFC 3168).
        flows[1 - accurate].ace = 1;
        for (version, has_stamp) in [(4, true), (6, false)] {
            apart(|| exchange(Form { version, has_stamp, link: Link::Ethernet }, flows.clone()));
        }
    }
}

fn exchange(form: Form, mut flows: Vec<Flow>) {
    // Without a link there is no other router on it.
    flows.truncate(if form.link == Link::None { 3 } else { 4 });
    let Some(mut talk) = or_skipped(Talk::new(&station(), form, flows)) else { return };
    let updates = talk.talk(300);
    let of: Vec<_> = talk.flows.iter().map(|flow| flow.updates).collect();
    assert_eq!(counted(&talk.programs, "updates"), updates as u64, "{form:?}: {of:?}");
    assert!(of[0] + of[1] > 0 && of[2..].iter().all(|count| *count == 0), "{form:?}: {of:?}");
}

#[test]
fn without_the_clock_or_in_a_dry_run_nothing_is_sent() {
    let form = Form { version: 4, has_stamp: true, link: Link::Ethernet };
    let law = |clock| Law::Station(StationConfig { clock, ..StationConfig::default() });
    for config in [of_law(law(false)), Config { dry_run: true, ..of_law(law(true)) }] {
        apart(|| {
            let Some(mut talk) = or_skipped(Talk::new(&config, form, flows())) else { return };
            assert_eq!(talk.talk(100), 0);
            assert_eq!(counted(&talk.programs, "updates"), 0);
            assert_eq!(counted(&talk.programs, "lowered") == 0, config.dry_run);
        });
    }
}

#[test]
fn a_desk_has_sixteen_seats_and_who_ends_leaves_one() {
    const SEATS: usize = 16;
    let form = Form { version: 4, has_stamp: true, link: Link::Ethernet };
    apart(|| {
        let flows = (0..SEATS as u16 + 4).map(|i| Flow::new(2, 2 + i as u8, 4000 + i, 1)).collect();
        let Some(mut talk) = or_skipped(Talk::new(&station(), form, flows)) else { return };
        // All windows are whole, whoever has a seat.
        talk.each(2);
        let seated = talk.seated();
        assert_eq!(seated, (0..SEATS).collect::<Vec<_>>());
        // One that is reset leaves its seat to another.
        let reset = talk.flows[3].frame(form, false, RST | ACK, OWN, 0);
        talk.try_packet("to_server", &reset);
        talk.flows.remove(3);
        talk.each(2);
        assert_eq!(talk.seated().len(), SEATS);
    });
}
