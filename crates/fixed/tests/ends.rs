// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a connection ends for a proxy, and what does not end it.

use lasthop_fixed::proxy::{self, Glance};
use lasthop_fixed::state::{
    FLOW_CLIENT_ENDED, FLOW_SERVER_ENDED, FlowRecord, PacketRecord, Settings, StationRecord, TCP_ACK, TCP_SYN,
};

const MS: u64 = 1_000_000;
const SEGMENT: u32 = 1440;
const FIN: u8 = 1;
/// The server's first number behind its SYN, and the client's.
const FIRST: u32 = 1000;
const CLIENTS: u32 = 500;

/// An established connection behind a proxy, without scaled windows.
#[derive(Clone)]
struct Ends {
    flow: FlowRecord,
    station: StationRecord,
    settings: Settings,
    seq: u32,
    now_ns: u64,
}

impl Ends {
    fn new(is_hidden: u32) -> Self {
        let settings = Settings { target_ns: 20 * MS, theta_ns: 50 * MS, g_q10: 901, is_hidden, ..Settings::default() };
        let (flow, station) = (FlowRecord::default(), StationRecord::default());
        let mut ends = Self { flow, station, settings, seq: FIRST, now_ns: 1000 * MS };
        ends.flow.weight_q8 = 256;
        let syn = PacketRecord { seq: CLIENTS - 1, mss: SEGMENT as u16, ..packet(TCP_SYN, 0) };
        proxy::client_begins(&mut ends.flow, &syn, ends.now_ns);
        let answer = PacketRecord { seq: FIRST - 1, ..packet(TCP_SYN | TCP_ACK, CLIENTS) };
        proxy::server_begins(&mut ends.flow, &answer, ends.now_ns + 30 * MS, 0);
        ends.now_ns += 40 * MS;
        ends.hears(&packet(TCP_ACK, FIRST));
        ends
    }

    /// A packet of the server goes on.
    fn forwards(&mut self, packet: &PacketRecord) {
        let queue = Glance::default();
        let found = proxy::meets(&self.settings, &mut self.station, self.now_ns, &queue, packet.payload, 1, 0, 0);
        proxy::forwards(&self.settings, &mut self.flow, &mut self.station, packet, self.now_ns, &queue, &found, 0);
    }

    /// One of the client comes; gives the field of its window.
    fn hears(&mut self, packet: &PacketRecord) -> u16 {
        let queue = Glance::default();
        proxy::hears(&self.settings, &mut self.flow, &mut self.station, packet, self.now_ns, &queue, 1 << 31)
    }

    fn ended(&self) -> u32 {
        self.flow.flags & (FLOW_CLIENT_ENDED | FLOW_SERVER_ENDED)
    }
}

/// A packet of the client, or without a number to acknowledge that is one, of either side.
fn packet(flags: u8, ack: u32) -> PacketRecord {
    PacketRecord { flags, ack, seq: CLIENTS, window: 60_000, ..PacketRecord::default() }
}

#[test]
fn the_fins_of_both_sides_are_told_apart() {
    for is_hidden in [0, 1] {
        let mut ends = Ends::new(is_hidden);
        let from_server = PacketRecord { seq: ends.seq, ..packet(TCP_ACK | FIN, CLIENTS) };
        let mut other = ends.clone();
        assert_eq!(ends.ended(), 0);
        ends.hears(&packet(TCP_ACK | FIN, FIRST));
        assert_eq!(ends.ended(), FLOW_CLIENT_ENDED);
        ends.forwards(&from_server);
        assert_eq!(ends.ended(), FLOW_CLIENT_ENDED | FLOW_SERVER_ENDED);
        other.forwards(&from_server);
        assert_eq!(other.ended(), FLOW_SERVER_ENDED);
    }
}
