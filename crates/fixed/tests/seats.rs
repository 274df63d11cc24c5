// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has a seat at the desk of the station window, and what their windows are told.

use std::collections::VecDeque;

use lasthop_fixed::proxy::{self, Glance};
use lasthop_fixed::state::{DeskRecord, FlowKey, FlowRecord, PacketRecord, Settings, StationRecord, TCP_ACK, TCP_SYN};

const MS: u64 = 1_000_000;
const SEGMENT: u32 = 1448;
/// On the wire.
const SIZE: u64 = SEGMENT as u64 + 66;
/// Of windows, and the client's own field.
const SCALE: u8 = 7;
const FIELD: u16 = 16_000;
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
    /// What servers are told, and when.
    told: VecDeque<(u64, usize, u32, u32)>,
    now_ns: u64,
}

impl Line {
    fn new(connections: usize) -> Self {
        let (target_ns, theta_ns, is_station) = (25 * MS, 50 * MS, 1);
        let settings =
            Settings { target_ns, theta_ns, g_q10: 901, kappa_q10: 256, is_station, ..Settings::default() };
        let (station, desk) = (StationRecord::default(), Box::default());
        let (members, queue, told) = (vec![], VecDeque::new(), VecDeque::new());
        let mut line = Self { settings, station, desk, members, queue, departed_bytes: 0, told, now_ns: MS };
        for i in 0..connections {
            let key = FlowKey { client_port: (i as u16).to_be_bytes(), ..FlowKey::default() };
            let mut flow = FlowRecord::default();
            flow.weight_q8 = 256;
            let syn =
                PacketRecord { mss: SEGMENT as u16, has_scale: 1, scale: SCALE, window: FIELD, ..packet(key, TCP_SYN) };
            proxy::client_begins(&mut flow, &syn, line.now_ns);
            let answer = PacketRecord { ack: 1, has_scale: 1, ..packet(key, TCP_SYN | TCP_ACK) };
            proxy::server_begins(&mut flow, &answer, line.now_ns + UPSTREAM_NS, 0);
            line.members.push(Member { flow, key, sent: 1, acked: 1, edge: 1 + 10 * SEGMENT });
        }
        line.now_ns += UPSTREAM_NS + MS;
        (0..connections).for_each(|i| line.hears(i, 1, FIELD));
        line
    }

    fn glance(&self) -> Glance {
        Glance { bytes: self.queue.len() as u64 * SIZE, departed_bytes: self.departed_bytes }
    }

    /// A client acknowledges so far, and its own window is this. What its server is told never ends further left.
    fn hears(&mut self, i: usize, ack: u32, window: u16) {
        let (queue, member) = (self.glance(), &mut self.members[i]);
        let (has_stamp, stamp) = (1, (self.now_ns / MS) as u32);
        let heard = PacketRecord { ack, window, has_stamp, stamp, ..packet(member.key, TCP_ACK) };
        let (flow, station, mut updates) = (&mut member.flow, &mut self.station, 0);
        let field = proxy::hears(&self.settings, flow, station, &heard, self.now_ns, &queue, 0);
        let field =
            proxy::hears_at_desk(&self.settings, &mut self.desk, flow, station, &heard, self.now_ns, field, &mut updates);
        let edge = ack + (u32::from(field) << SCALE);
        assert!(field <= window && edge >= member.edge.min(ack + (u32::from(window) << SCALE)), "{i}: {field}");
        member.edge = edge.max(member.edge);
        self.told.push_back((self.now_ns + UPSTREAM_NS, i, ack, edge));
    }

    /// A millisecond: those that have more to send do what they are told to.
    fn goes_on(&mut self, sends: impl Fn(usize) -> bool) {
        self.now_ns += MS;
        while let Some((_, i, ack, edge)) = self.told.pop_front_if(|told| told.0 <= self.now_ns) {
            self.members[i].acked = ack;
            while sends(i) && self.members[i].sent + SEGMENT <= edge {
                self.send(i);
            }
        }
        if let Some((i, end)) = self.queue.pop_front() {
            self.departed_bytes += SIZE;
            self.hears(i, end, FIELD);
        }
    }

    /// A server's next segment.
    fn send(&mut self, i: usize) {
        let (queue, member) = (self.glance(), &mut self.members[i]);
        let (payload, segment, seq) = (SEGMENT, SEGMENT, member.sent);
        let (header_bytes, size_bytes) = (66, SIZE as u32);
        let data = PacketRecord { payload, segment, seq, header_bytes, size_bytes, ..packet(member.key, TCP_ACK) };
        let found = proxy::meets(&self.settings, &mut self.station, self.now_ns, &queue, size_bytes, 1, 0, 0);
        proxy::forwards(&self.settings, &mut member.flow, &mut self.station, &data, self.now_ns, &queue, &found, 0);
        member.sent += SEGMENT;
        self.queue.push_back((i, member.sent));
    }
}

fn packet(key: FlowKey, flags: u8) -> PacketRecord {
    PacketRecord { key, flags, ..PacketRecord::default() }
}

/// Which part of the line a download has beside so many connections that are idle but for the ACKs of their keepalives, each second.
fn used_beside(idle: usize) -> f64 {
    let mut line = Line::new(1 + idle);
    for ms in 0..8000 {
        line.goes_on(|i| i == 0);
        for i in (1..=idle).filter(|i| ms % 1000 == i * 1000 / (idle + 1)) {
            line.hears(i, 1, FIELD);
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
    let mut line = Line::new(40);
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
