// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has a seat at the desk of the station window, and what their windows are told.

use std::collections::VecDeque;

use lasthop_fixed::proxy::{self, Glance};
use lasthop_fixed::state::{
    DeskRecord, FLOW_CLIENT_ENDED, FlowKey, FlowRecord, PacketRecord, Settings, StationRecord, TCP_ACK, TCP_SYN,
};

const MS: u64 = 1_000_000;
const SEGMENT: u32 = 1448;
/// On the wire.
const SIZE: u64 = SEGMENT as u64 + 66;
/// Of windows, and the client's own field.
const SCALE: u8 = 7;
const FIELD: u16 = 11 * 181;
const ROOM: u32 = (FIELD as u32) << SCALE;
/// To the servers and back.
const UPSTREAM_NS: u64 = 20 * MS;

/// A connection, as its server and its client have it.
struct Member {
    flow: FlowRecord,
    key: FlowKey,
    sent: u32,
    acked: u32,
    /// Where the window ends that was said last.
    edge: u32,
}

/// A station behind a line that carries a segment each millisecond, whose queue is seen.
struct Line {
    settings: Settings,
    station: StationRecord,
    desk: Box<DeskRecord>,
    members: Vec<Member>,
    queue: VecDeque<(usize, u32)>,
    departed_bytes: u64,
    /// Where the windows of clients that read nothing end.
    closed: Option<u32>,
    /// What servers are told, and when.
    told: VecDeque<(u64, usize, u32, u32)>,
    now_ns: u64,
}

impl Line {
    fn new(connections: usize, is_station: u32) -> Self {
        let (target_ns, theta_ns) = (25 * MS, 50 * MS);
        let settings = Settings { target_ns, theta_ns, g_q10: 901, kappa_q10: 256, is_station, ..Settings::default() };
        let (station, desk) = (StationRecord::default(), Box::default());
        let (members, queue, told) = (vec![], VecDeque::new(), VecDeque::new());
        let now_ns = UPSTREAM_NS + MS;
        let mut line = Self { settings, station, desk, members, queue, departed_bytes: 0, closed: None, told, now_ns };
        (0..connections).for_each(|_| line.opens());
        line
    }

    /// Another connection opens: its client has the answer now.
    fn opens(&mut self) {
        let (i, asked_ns) = (self.members.len(), self.now_ns - UPSTREAM_NS);
        let key = FlowKey { client_port: (i as u16).to_be_bytes(), ..FlowKey::default() };
        let mut flow = FlowRecord::default();
        flow.weight_q8 = 256;
        let (mss, window) = (SEGMENT as u16, u16::MAX);
        let syn = PacketRecord { mss, has_scale: 1, scale: SCALE, window, ..packet(key, TCP_SYN) };
        let first = proxy::client_begins(&mut flow, &syn, asked_ns);
        let answer = PacketRecord { ack: 1, has_scale: 1, ..packet(key, TCP_SYN | TCP_ACK) };
        proxy::server_begins(&mut flow, &answer, self.now_ns, 0);
        self.members.push(Member { flow, key, sent: 1, acked: 1, edge: 1 + u32::from(first) });
        self.hears(i, 1);
    }

    fn glance(&self) -> Glance {
        Glance { bytes: self.queue.len() as u64 * SIZE, departed_bytes: self.departed_bytes }
    }

    /// A client acknowledges so far; gives the field that its server is told, which never ends further left.
    fn hears(&mut self, i: usize, ack: u32) -> u16 {
        let window = self.closed.map_or(FIELD, |edge| ((edge - ack) >> SCALE) as u16);
        let (queue, member) = (self.glance(), &mut self.members[i]);
        let (has_stamp, stamp) = (1, (self.now_ns / MS) as u32);
        let heard = PacketRecord { ack, window, has_stamp, stamp, ..packet(member.key, TCP_ACK) };
        let (flow, station, mut updates) = (&mut member.flow, &mut self.station, 0);
        let (settings, desk, now_ns) = (&self.settings, &mut self.desk, self.now_ns);
        let field = match settings.is_station {
            0 => proxy::hears(settings, flow, station, &heard, now_ns, &queue, 0),
            _ => proxy::hears_at_desk(settings, desk, flow, station, &heard, now_ns, &queue, 0, &mut updates),
        };
        let edge = ack + (u32::from(field) << SCALE);
        assert!(field <= window && edge >= member.edge.min(ack + (u32::from(window) << SCALE)), "{i}: {field}");
        member.edge = edge.max(member.edge);
        self.told.push_back((self.now_ns + UPSTREAM_NS, i, ack, edge));
        field
    }

    /// The first one's client reads again: the window is the law's, not all that it has.
    fn opens_again(&mut self, ack: u32) {
        self.closed = None;
        let window = u32::from(self.hears(0, ack)) << SCALE;
        assert!((SEGMENT..ROOM / 2).contains(&window), "{}: {window} of {ROOM}", self.settings.is_station);
    }

    /// A millisecond: those that have more to send do what they are told to.
    fn goes_on(&mut self, sends: impl Fn(usize) -> bool) {
        self.now_ns += MS;
        while self.told.front().is_some_and(|told| told.0 <= self.now_ns) {
            let Some((_, i, ack, edge)) = self.told.pop_front() else { break };
            self.members[i].acked = ack;
            while sends(i) && self.members[i].sent + SEGMENT <= edge {
                self.send(i);
            }
        }
        if let Some((i, end)) = self.queue.pop_front() {
            self.departed_bytes += SIZE;
            self.hears(i, end);
        }
    }

    /// A server's next segment.
    fn send(&mut self, i: usize) {
        self.sends(i, SEGMENT);
        self.queue.push_back((i, self.members[i].sent));
    }

    /// So much of a server goes on; whether it is others', for its ACKs take another way.
    fn sends(&mut self, i: usize, payload: u32) -> bool {
        let (queue, member) = (self.glance(), &mut self.members[i]);
        let (segment, seq) = (payload, member.sent);
        let (header_bytes, size_bytes) = (66, payload + 66);
        let data = PacketRecord { payload, segment, seq, header_bytes, size_bytes, ..packet(member.key, TCP_ACK) };
        let (flow, station) = (&mut member.flow, &mut self.station);
        let is_others = proxy::is_unheard(flow, station, &data, self.now_ns);
        let found = proxy::meets(&self.settings, station, self.now_ns, &queue, size_bytes, 1, is_others, 0);
        if is_others == 0 {
            proxy::forwards(&self.settings, flow, station, &data, self.now_ns, &queue, &found, 0);
        }
        member.sent += payload;
        is_others != 0
    }
}

fn packet(key: FlowKey, flags: u8) -> PacketRecord {
    PacketRecord { key, flags, ..PacketRecord::default() }
}

/// Which part of the line a download has beside so many connections that are idle but for the ACKs of their keepalives, each second.
fn used_beside(idle: usize) -> f64 {
    let mut line = Line::new(1 + idle, 1);
    for ms in 0..8000 {
        line.goes_on(|i| i == 0);
        for i in (1..=idle).filter(|i| ms % 1000 == i * 1000 / (idle + 1)) {
            line.hears(i, 1);
        }
    }
    f64::from(line.members[0].flow.delivered) / (8000.0 * f64::from(SEGMENT))
}

#[test]
fn who_is_idle_takes_no_seat() {
    let (alone, beside) = (used_beside(0), used_beside(40));
    assert!(alone > 0.95 && beside > 0.95, "{alone}, beside idle ones {beside}");
}

#[test]
fn who_comes_back_with_data_has_a_seat_again() {
    let mut line = Line::new(40, 1);
    // They take turns, a second each, then all are idle but the first one.
    for ms in 0..40_000 {
        line.goes_on(|i| i == ms / 1000);
        let i = ms / 1000;
        if ms % 1000 == 0 && i > 0 {
            line.send(i);
        }
        assert!(ms % 1000 < 200 || line.members[i].flow.seat > 0, "{i}, {ms}");
    }
}

/// A download whose client reads nothing until all that it had room for has come; and what it then acknowledges.
fn closed(is_station: u32) -> (Line, u32) {
    let mut line = Line::new(1, is_station);
    (0..3000).for_each(|_| line.goes_on(|_| true));
    line.closed = Some(line.members[0].flow.delivered + ROOM);
    (0..1000).for_each(|_| line.goes_on(|_| true));
    let ack = line.members[0].flow.delivered;
    assert_eq!((Some(ack), line.hears(0, ack)), (line.closed, 0));
    (line, ack)
}

#[test]
fn a_window_that_opens_again_is_the_laws_and_its_edge_never_moves_left() {
    for is_station in [0, 1] {
        let (mut line, ack) = closed(is_station);
        (0..500).for_each(|_| line.goes_on(|_| true));
        line.opens_again(ack);
        let delivered = line.members[0].flow.delivered;
        (0..3000).for_each(|_| line.goes_on(|_| true));
        let used = f64::from(line.members[0].flow.delivered - delivered) / (3000.0 * f64::from(SEGMENT));
        assert!(used > 0.95, "{is_station}: {used}");
    }
}

#[test]
fn short_ones_leave_the_line_to_a_long_one() {
    for is_station in [0, 1] {
        let (mut line, segments) = (Line::new(1, is_station), 7);
        (0..2000).for_each(|_| line.goes_on(|_| true));
        let departed_bytes = line.departed_bytes;
        // Fifteen a second, of connections of their own that stay open.
        for ms in 0..6000 {
            if ms % 66 == 0 {
                line.opens();
            }
            let sent: Vec<u32> = line.members.iter().map(|member| member.sent).collect();
            line.goes_on(|i| i == 0 || sent[i] < 1 + segments * SEGMENT);
        }
        let used = (line.departed_bytes - departed_bytes) as f64 / (6000 * SIZE) as f64;
        assert!(used > 0.95, "{is_station}: {used}");
    }
}

#[test]
fn a_probe_of_a_closed_window_leaves_it_the_laws() {
    for is_station in [0, 1] {
        let (mut line, ack) = closed(is_station);
        // A byte beyond it, as servers of some kinds send, which is not taken.
        for _ in 0..3 {
            (0..5000).for_each(|_| line.goes_on(|_| false));
            assert!(!line.sends(0, 1), "{is_station}");
            line.members[0].sent -= 1;
            line.hears(0, ack);
        }
        line.opens_again(ack);
    }
}

#[test]
fn whose_client_has_ended_has_a_window_once_all_has_arrived() {
    for is_station in [0, 1] {
        for has_ended in [false, true] {
            let mut line = Line::new(1, is_station);
            (0..3000).for_each(|_| line.goes_on(|_| true));
            if has_ended {
                line.members[0].flow.flags |= FLOW_CLIENT_ENDED;
            }
            // Its server fills what it was told, whole segments.
            while line.members[0].sent + SEGMENT <= line.members[0].edge {
                line.send(0);
            }
            line.departed_bytes += line.queue.len() as u64 * SIZE;
            line.queue.clear();
            line.now_ns += MS;
            let end = line.members[0].sent;
            let window = u32::from(line.hears(0, end)) << SCALE;
            assert!(window >= SEGMENT, "{is_station}, {has_ended}: {window}");
        }
    }
}

#[test]
fn whose_acks_are_back_has_its_share() {
    for is_station in [0, 1] {
        let mut line = Line::new(2, is_station);
        (0..10_000).for_each(|_| line.goes_on(|_| true));
        // Its server takes half of the line meanwhile.
        let mut others = 0;
        for ms in 0..100_000 {
            line.goes_on(|i| i == 1);
            if ms % 2 == 0 {
                others += u32::from(line.sends(0, SEGMENT));
                line.departed_bytes += SIZE;
            }
        }
        assert!(others > 45_000, "{is_station}: {others}");
        let end = line.members[0].sent;
        line.hears(0, end);
        (0..30_000).for_each(|_| line.goes_on(|_| true));
        // In the last five seconds.
        let delivered = line.members[0].flow.delivered;
        (0..5000).for_each(|_| line.goes_on(|_| true));
        let used = f64::from(line.members[0].flow.delivered - delivered) / (5000.0 * f64::from(SEGMENT));
        assert!((0.47..0.54).contains(&used), "{is_station}: {used}");
    }
}
