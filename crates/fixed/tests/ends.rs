// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a connection ends for a proxy, and what does not end it.

use lasthop_fixed::proxy::{self, Glance};
use lasthop_fixed::receiver;
use lasthop_fixed::state::{
    FLOW_CLIENT_ENDED, FLOW_SERVER_ENDED, FlowRecord, PacketRecord, ReceiverRecord, Settings, StationRecord, TCP_ACK,
    TCP_SYN,
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

    /// Whether that is none of a steered connection's, which goes on otherwise.
    fn is_others(&mut self, packet: &PacketRecord) -> bool {
        let is_others = proxy::is_unheard(&mut self.flow, &mut self.station, packet, self.now_ns) != 0;
        if !is_others {
            self.forwards(packet);
        }
        is_others
    }

    /// Its server sends all whole segments that it may.
    fn fills(&mut self) {
        while self.seq.wrapping_add(SEGMENT).wrapping_sub(self.flow.edge) as i32 <= 0 {
            let data = self.data();
            assert!(!self.is_others(&data));
        }
    }

    /// One of the client comes; gives the field of its window.
    fn hears(&mut self, packet: &PacketRecord) -> u16 {
        let queue = Glance::default();
        proxy::hears(&self.settings, &mut self.flow, &mut self.station, packet, self.now_ns, &queue, 1 << 31)
    }

    /// The server's next segment.
    fn data(&mut self) -> PacketRecord {
        let data = PacketRecord { seq: self.seq, payload: SEGMENT, segment: SEGMENT, ..packet(TCP_ACK, CLIENTS) };
        self.seq += SEGMENT;
        data
    }

    /// Two segments go on, and are acknowledged; gives the field of the client's window.
    fn goes_on(&mut self) -> u16 {
        for _ in 0..2 {
            let data = self.data();
            self.forwards(&data);
        }
        self.now_ns += 10 * MS;
        self.hears(&packet(TCP_ACK, self.seq))
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

/// A connection of which so much was sent and acknowledged, and beside it its twin.
fn twins(is_hidden: u32) -> (Ends, Ends) {
    let mut ends = Ends::new(is_hidden);
    (0..20).for_each(|_| {
        ends.goes_on();
    });
    (ends.clone(), ends)
}

/// All that is known of a connection.
fn known(ends: &Ends) -> String {
    format!("{:?}", ends.flow)
}

#[test]
fn an_ack_beyond_the_window_and_what_was_sent_tells_nothing() {
    for is_hidden in [0, 1] {
        let (mut ends, mut twin) = twins(is_hidden);
        for quarter in [1_u32 << 30, 1 << 31, 3 << 30, 0] {
            let forged = packet(TCP_ACK | FIN, quarter);
            // Those that lie behind are old.
            ends.hears(&forged);
            let far = PacketRecord { ack: ends.seq.wrapping_add(1 << 30), ..forged };
            let before = known(&ends);
            assert_eq!((ends.hears(&far), known(&ends)), (far.window, before));
            assert_eq!(ends.ended(), 0);
        }
        let said: Vec<_> = (0..50).map(|_| ends.goes_on()).collect();
        assert_eq!(said, (0..50).map(|_| twin.goes_on()).collect::<Vec<_>>());
        assert!(said.iter().all(|window| *window < 60_000), "{said:?}");
    }
}

#[test]
fn what_went_another_way_counts_within_the_window_and_a_fin_behind_it() {
    for is_hidden in [0, 1] {
        // From the handshake on: ten segments.
        let first = FIRST + 10 * SEGMENT;
        for (ack, counts) in [(first, true), (first + 1, true), (first + 2, false)] {
            let mut ends = Ends::new(is_hidden);
            ends.hears(&packet(TCP_ACK, ack));
            assert_eq!(ends.flow.delivered, if counts { ack } else { FIRST });
        }
        // Once data are seen again that lie further on, so do ACKs of those.
        let mut ends = Ends::new(is_hidden);
        ends.seq += 1_000_000;
        assert!(ends.goes_on() < 60_000);
        assert!(ends.goes_on() < 60_000);
        assert_eq!(ends.flow.delivered, ends.seq);
    }
}

#[test]
fn a_reset_counts_where_its_other_end_expects_it() {
    for is_hidden in [0, 1] {
        let (mut ends, _) = twins(is_hidden);
        let reset = |seq: u32| PacketRecord { seq, ..packet(4, 0) };
        let is_reset = |ends: &Ends, seq, is_servers| proxy::is_reset(&ends.flow, &reset(seq), is_servers) != 0;
        // The server's next number, what its window allows, and that of what is still under way.
        assert!(is_reset(&ends, ends.seq, 1) && is_reset(&ends, ends.seq + SEGMENT, 1));
        let data = ends.data();
        ends.forwards(&data);
        assert!(is_reset(&ends, ends.seq, 1) && is_reset(&ends, ends.seq - SEGMENT, 1));
        // The client's.
        assert!(is_reset(&ends, CLIENTS, 0));
        for far in [1_u32 << 20, 1 << 30, 1 << 31, 3 << 30] {
            assert!(!is_reset(&ends, ends.seq.wrapping_add(far), 1) && !is_reset(&ends, CLIENTS.wrapping_add(far), 0));
        }
        // It has said more, or seems to have: not by what is old.
        ends.hears(&PacketRecord { payload: 100, ..packet(TCP_ACK, ends.seq - SEGMENT) });
        ends.hears(&PacketRecord { payload: 5000, ..packet(TCP_ACK, FIRST) });
        assert!(is_reset(&ends, CLIENTS + 100, 0) && !is_reset(&ends, CLIENTS, 0));
        ends.hears(&PacketRecord { seq: CLIENTS + 100, ..packet(TCP_ACK | FIN, ends.seq) });
        assert!(is_reset(&ends, CLIENTS + 101, 0));
        // A connection that is refused: what was asked for is named.
        let mut flow = FlowRecord::default();
        proxy::client_begins(&mut flow, &PacketRecord { seq: CLIENTS - 1, ..packet(TCP_SYN, 0) }, MS);
        for (flags, ack, is_over) in [(4 | TCP_ACK, CLIENTS, 1), (4 | TCP_ACK, CLIENTS + 1, 0), (4, CLIENTS, 0)] {
            assert_eq!(proxy::is_reset(&flow, &packet(flags, ack), 1), is_over);
        }
    }
}

#[test]
fn a_fin_that_nobody_expects_ends_nothing() {
    for is_hidden in [0, 1] {
        let (mut ends, _) = twins(is_hidden);
        for far in [1 << 20, 1 << 30, 1 << 31, 3 << 30] {
            let fin = PacketRecord { flags: TCP_ACK | FIN, payload: 0, ..ends.data() };
            ends.forwards(&PacketRecord { seq: fin.seq.wrapping_add(far), ..fin });
            ends.hears(&packet(TCP_ACK | FIN, ends.seq.wrapping_add(far)));
        }
        assert_eq!(ends.ended(), 0);
        // The last data bring it.
        let last = PacketRecord { flags: TCP_ACK | FIN, ..ends.data() };
        ends.forwards(&last);
        ends.hears(&packet(TCP_ACK | FIN, ends.seq + 1));
        assert_eq!(ends.ended(), FLOW_CLIENT_ENDED | FLOW_SERVER_ENDED);
    }
}

#[test]
fn a_station_heeds_no_reset_that_it_does_not_expect() {
    let mut receiver = ReceiverRecord::default();
    let syn = PacketRecord { seq: CLIENTS - 1, ..packet(TCP_SYN, 0) };
    receiver::station_begins(&mut receiver, &syn, SEGMENT, MS);
    let is_reset = |receiver: &ReceiverRecord, seq: u32, flags: u8, ack: u32| {
        receiver::is_reset(receiver, &PacketRecord { seq, ..packet(flags, ack) }) != 0
    };
    assert!(is_reset(&receiver, 0, 4 | TCP_ACK, CLIENTS) && !is_reset(&receiver, 0, 4, CLIENTS));
    assert!(!is_reset(&receiver, 0, 4 | TCP_ACK, CLIENTS + 1));
    receiver::server_begins(
        &mut receiver,
        &PacketRecord { seq: FIRST - 1, ..packet(TCP_SYN | TCP_ACK, CLIENTS) },
        2 * MS,
    );
    assert!(is_reset(&receiver, FIRST, 4, 0) && is_reset(&receiver, FIRST + 60_001, 4, 0));
    assert!(!is_reset(&receiver, FIRST - 1, 4, 0) && !is_reset(&receiver, FIRST + 60_002, 4, 0));
}

#[test]
fn who_sends_beyond_its_window_without_acks_here_is_not_steered() {
    for is_hidden in [0, 1] {
        let (mut ends, _) = twins(is_hidden);
        // Its ACKs take another way: first it fills the window that was said here, then it goes beyond that.
        let mut others = 0;
        for i in 0..2000 {
            ends.now_ns += MS;
            let (data, edge) = (ends.data(), ends.flow.edge);
            if ends.is_others(&data) {
                assert!(i > 480 && (others > 0 || (ends.seq - edge) as i32 > 0), "{is_hidden}: {i}");
                others += 1;
            }
        }
        assert!(others > 1000, "{is_hidden}: {others}");
        // None of it is under way here, whatever is sent again, and its window has never ended further left than it has sent.
        assert_eq!((ends.flow.delivered, ends.flow.edge), (ends.seq, ends.seq));
        let again = PacketRecord { seq: ends.seq - 10 * SEGMENT, payload: SEGMENT, ..packet(TCP_ACK, CLIENTS) };
        assert!(ends.is_others(&again));
        // An ACK that tells nothing new changes nothing, one that does everything.
        ends.hears(&packet(TCP_ACK, ends.flow.ack));
        assert!(ends.is_others(&again));
        let (heard, edge) = (ends.seq, ends.seq);
        let field = ends.hears(&packet(TCP_ACK, heard));
        assert!(field > 0 && (heard + u32::from(field)).wrapping_sub(edge) < 1 << 31);
        for _ in 0..5 {
            let data = ends.data();
            assert!(!ends.is_others(&data), "{is_hidden}");
        }
    }
}

#[test]
fn who_waits_for_acks_is_steered() {
    for is_hidden in [0, 1] {
        let (mut ends, _) = twins(is_hidden);
        // Nothing comes back for ten seconds; its server fills its window, and sends again.
        let first = ends.seq;
        ends.fills();
        for _ in 0..10 {
            ends.now_ns += 1000 * MS;
            let again = PacketRecord { seq: first, payload: SEGMENT, ..packet(TCP_ACK, CLIENTS) };
            assert!(!ends.is_others(&again), "{is_hidden}");
        }
        ends.hears(&packet(TCP_ACK, ends.seq));
        let data = ends.data();
        assert!(!ends.is_others(&data));
    }
}

#[test]
fn whose_client_side_was_never_seen_is_not_steered() {
    let mut ends = Ends::new(0);
    ends.flow = FlowRecord::default();
    ends.flow.weight_q8 = 256;
    proxy::server_begins(&mut ends.flow, &packet(TCP_SYN, 0), ends.now_ns, 0);
    let data = ends.data();
    assert!(ends.is_others(&data));
}

/// Three by weight are steered, and `unheard` others have the same each by now; half of what passes may be no connection's.
fn part_beside(is_hidden: u32, unheard: u32, datagrams: u32) -> u32 {
    let mut ends = Ends::new(is_hidden);
    ends.flow.weight_q8 = 768;
    let mut other = FlowRecord::default();
    other.weight_q8 = 256;
    let mut others = vec![other; unheard as usize];
    for _ in 0..500 {
        ends.goes_on();
        let data = PacketRecord { payload: SEGMENT, size_bytes: SEGMENT, ..packet(TCP_ACK, CLIENTS) };
        let queue = Glance::default();
        for flow in &mut others {
            assert_eq!(proxy::is_unheard(flow, &mut ends.station, &data, ends.now_ns), 1);
            proxy::meets(&ends.settings, &mut ends.station, ends.now_ns, &queue, SEGMENT, 1, 1, 0);
        }
        for _ in 0..datagrams {
            proxy::meets(&ends.settings, &mut ends.station, ends.now_ns, &queue, SEGMENT, 1, 1, 0);
        }
    }
    ends.station.least_part_q10
}

#[test]
fn who_is_steered_has_its_part_beside_connections_that_are_not() {
    for is_hidden in [0, 1] {
        let near = |found: u32, wanted: f64| {
            assert!((f64::from(found) / 1024.0 - wanted).abs() < 0.01, "{is_hidden}: {found}, {wanted}")
        };
        near(part_beside(is_hidden, 1, 0), 3.0 / 4.0);
        near(part_beside(is_hidden, 2, 0), 3.0 / 5.0);
        // Half at least, and beside what is none of any connection their part of the rest.
        near(part_beside(is_hidden, 5, 0), 1.0 / 2.0);
        near(part_beside(is_hidden, 1, 1), 3.0 / 4.0 * 3.0 / 4.0);
        near(part_beside(is_hidden, 1, 3), 1.0 / 2.0);
        near(part_beside(is_hidden, 0, 1), 2.0 / 3.0);
        near(part_beside(is_hidden, 0, 0), 1.0);
    }
}

/// A probe of a window that is closed: a byte beyond it.
#[test]
fn who_probes_a_closed_window_is_steered() {
    for is_hidden in [0, 1] {
        let (mut ends, _) = twins(is_hidden);
        // Its client reads nothing more, and acknowledges what its server had room for.
        let first = ends.seq;
        ends.fills();
        let rest = ends.flow.edge.wrapping_sub(ends.seq);
        if rest > 0 {
            let last = PacketRecord { seq: ends.seq, payload: rest, segment: rest, ..packet(TCP_ACK, CLIENTS) };
            assert!(!ends.is_others(&last));
            ends.seq += rest;
        }
        assert!(ends.seq != first);
        ends.now_ns += 10 * MS;
        ends.hears(&PacketRecord { window: 0, ..packet(TCP_ACK, ends.seq) });
        for _ in 0..5 {
            ends.now_ns += 5000 * MS;
            let probe = PacketRecord { seq: ends.seq, payload: 1, segment: 1, ..packet(TCP_ACK, CLIENTS) };
            assert!(!ends.is_others(&probe), "{is_hidden}");
            ends.hears(&PacketRecord { window: 0, ..packet(TCP_ACK, ends.seq) });
        }
        // Its window opens.
        let field = ends.hears(&packet(TCP_ACK, ends.seq));
        assert!(u32::from(field) >= SEGMENT && field < 60_000, "{is_hidden}: {field}");
    }
}

/// Data that nobody's server has sent do not switch its steering off.
#[test]
fn data_far_beyond_the_window_leave_a_connection_steered() {
    for is_hidden in [0, 1] {
        for far in [100_000_u32, 1 << 20, 1 << 28, 1 << 30, 3 << 29] {
            let (mut ends, _) = twins(is_hidden);
            ends.now_ns += 1000 * MS;
            let forged = PacketRecord {
                seq: ends.seq.wrapping_add(far),
                payload: SEGMENT,
                segment: SEGMENT,
                ..packet(TCP_ACK, CLIENTS)
            };
            ends.is_others(&forged);
            let mut said = vec![];
            for _ in 0..200 {
                for _ in 0..2 {
                    let data = ends.data();
                    ends.is_others(&data);
                }
                ends.now_ns += 10 * MS;
                said.push(ends.hears(&packet(TCP_ACK, ends.seq)));
            }
            assert!(said[100..].iter().all(|field| *field < 60_000), "{is_hidden} {far}: {said:?}");
            assert_eq!(ends.flow.delivered, ends.seq);
        }
    }
}

/// However much was sent meanwhile.
#[test]
fn acks_that_come_back_after_gigabytes_are_heard() {
    for is_hidden in [0, 1] {
        for gigabytes in [1_u64, 2, 3, 5] {
            let (mut ends, _) = twins(is_hidden);
            ends.now_ns += 1000 * MS;
            let super_packet = 45 * SEGMENT;
            for _ in 0..gigabytes * (1 << 30) / u64::from(super_packet) {
                ends.now_ns += MS;
                let data =
                    PacketRecord { seq: ends.seq, payload: super_packet, segment: SEGMENT, ..packet(TCP_ACK, CLIENTS) };
                ends.is_others(&data);
                ends.seq = ends.seq.wrapping_add(super_packet);
            }
            ends.now_ns += MS;
            ends.hears(&packet(TCP_ACK, ends.seq));
            let data = ends.data();
            assert!(!ends.is_others(&data), "{is_hidden}: {gigabytes}");
            ends.now_ns += 10 * MS;
            ends.hears(&packet(TCP_ACK, ends.seq));
            assert_eq!(ends.flow.delivered, ends.seq, "{is_hidden}: {gigabytes}");
        }
    }
}

#[test]
fn data_that_nobody_allowed_change_nothing_while_acks_come() {
    for is_hidden in [0, 1] {
        let (mut ends, mut twin) = twins(is_hidden);
        for beyond in [1 << 17, 1 << 20, 1 << 30] {
            let stranger = PacketRecord { seq: ends.seq + beyond, payload: SEGMENT, ..packet(TCP_ACK, CLIENTS) };
            assert!(ends.is_others(&stranger), "{is_hidden}: {beyond}");
        }
        assert_eq!(known(&ends), known(&twin));
        for _ in 0..300 {
            assert_eq!(ends.goes_on(), twin.goes_on(), "{is_hidden}");
        }
    }
}
