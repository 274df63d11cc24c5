// SPDX-License-Identifier: MIT OR Apache-2.0
//! What begins a connection may be said again: the path is told by what answers what, or not at all (Karn).

use lasthop_fixed::estimate::recent_least;
use lasthop_fixed::passer;
use lasthop_fixed::proxy::{self, Glance};
use lasthop_fixed::receiver;
use lasthop_fixed::state::{
    FlowRecord, PacketRecord, PasserRecord, ReceiverRecord, Settings, StationRecord, TCP_ACK, TCP_SYN,
};

const MS: u64 = 1_000_000;
const SEGMENT: u32 = 1440;
const WINDOW: u16 = u16::MAX;
const BOTH: u8 = TCP_SYN | TCP_ACK;

fn settings() -> Settings {
    Settings { target_ns: 20 * MS, theta_ns: 50 * MS, g_q10: 901, is_hidden: 1, ..Settings::default() }
}

/// A packet of either side, whose stamps count milliseconds; with none, it bears none.
fn packet(flags: u8, stamps: Option<(u32, u32)>) -> PacketRecord {
    let (stamp, echo) = stamps.unwrap_or_default();
    let has_stamp = stamps.is_some().into();
    PacketRecord { flags, mss: SEGMENT as u16, window: WINDOW, stamp, echo, has_stamp, ..PacketRecord::default() }
}

/// A connection behind a proxy, the queue hidden.
struct Ends {
    flow: FlowRecord,
    station: StationRecord,
    settings: Settings,
    seq: u32,
}

impl Ends {
    fn new() -> Self {
        let mut ends =
            Self { flow: FlowRecord::default(), station: StationRecord::default(), settings: settings(), seq: 1 };
        ends.flow.weight_q8 = 256;
        ends
    }

    fn client_begins(&mut self, at_ms: u64, packet: &PacketRecord) {
        proxy::client_begins(&mut self.flow, packet, (1 + at_ms) * MS);
    }

    fn server_begins(&mut self, at_ms: u64, packet: &PacketRecord) {
        proxy::server_begins(&mut self.flow, packet, (1 + at_ms) * MS, 0);
    }

    /// The server's segment goes on.
    fn data(&mut self, at_ms: u64, stamps: Option<(u32, u32)>) {
        let data = PacketRecord { payload: SEGMENT, segment: SEGMENT, seq: self.seq, ..packet(TCP_ACK, stamps) };
        let queue = Glance::default();
        let found = proxy::meets(&self.settings, &mut self.station, (1 + at_ms) * MS, &queue, SEGMENT, 1, 0, 0);
        proxy::forwards(&self.settings, &mut self.flow, &mut self.station, &data, (1 + at_ms) * MS, &queue, &found, 0);
        self.seq += SEGMENT;
    }

    /// The client acknowledges all that went on.
    fn ack(&mut self, at_ms: u64, stamps: Option<(u32, u32)>) {
        let ack = PacketRecord { ack: self.seq, ..packet(TCP_ACK, stamps) };
        let queue = Glance::default();
        proxy::hears(&self.settings, &mut self.flow, &mut self.station, &ack, (1 + at_ms) * MS, &queue, 0);
    }

    /// The way to the server and back, and that to the nearest client, as far as they are known \[ms\].
    fn known_ms(&self) -> (u64, u64) {
        (self.flow.upstream.now_least_ns / MS, self.station.path.least.now_least_ns / MS)
    }
}

#[test]
fn a_syn_that_was_late_does_not_shorten_the_way_to_the_server() {
    let mut ends = Ends::new();
    // The server is 80 ms away. The first one stood somewhere for 965 ms, and its answer passes the second one.
    ends.client_begins(0, &packet(TCP_SYN, Some((100, 0))));
    ends.client_begins(1000, &packet(TCP_SYN, Some((1100, 0))));
    ends.server_begins(1045, &packet(BOTH, Some((7, 100))));
    assert_eq!(ends.known_ms().0, 0);
    ends.ack(1055, Some((1155, 7)));
    // The second one is answered too, before the data are.
    ends.server_begins(1080, &packet(BOTH, Some((42, 100))));
    assert_eq!(ends.known_ms(), (0, 10));
    ends.data(1135, Some((97, 1155)));
    assert_eq!(ends.known_ms().0, 80);
}

#[test]
fn of_a_syn_that_was_lost_the_next_one_tells_the_way() {
    // With stamps it is known which was answered. Without, the last one most likely was.
    for is_stamped in [true, false] {
        let stamps = |stamp, echo| is_stamped.then_some((stamp, echo));
        let mut ends = Ends::new();
        ends.client_begins(0, &packet(TCP_SYN, stamps(100, 0)));
        ends.client_begins(1000, &packet(TCP_SYN, stamps(1100, 0)));
        ends.server_begins(1080, &packet(BOTH, stamps(7, 1100)));
        ends.ack(1090, stamps(1190, 7));
        assert_eq!(ends.known_ms(), (80, 10));
    }
    // A server without them tells as well.
    let mut ends = Ends::new();
    ends.client_begins(0, &packet(TCP_SYN, Some((100, 0))));
    ends.server_begins(80, &packet(BOTH, None));
    assert_eq!(ends.known_ms().0, 80);
}

#[test]
fn an_answer_that_was_said_again_does_not_shorten_the_way_to_the_client() {
    let mut ends = Ends::new();
    ends.client_begins(0, &packet(TCP_SYN, None));
    ends.server_begins(30, &packet(BOTH, None));
    // A second's queue towards the client: the server says it again before the first one is through.
    ends.server_begins(1030, &packet(BOTH, None));
    ends.ack(1040, None);
    assert_eq!(ends.known_ms(), (30, 0));
    ends.data(1070, None);
    ends.ack(1090, None);
    assert_eq!(ends.known_ms().1, 20);
}

#[test]
fn of_a_server_that_begins_twice_data_tell_the_way_to_the_client() {
    let mut ends = Ends::new();
    for at_ms in [0, 1000, 3000] {
        ends.server_begins(at_ms, &packet(TCP_SYN, None));
    }
    ends.client_begins(3005, &PacketRecord { ack: 1, ..packet(BOTH, None) });
    ends.data(3006, None);
    ends.data(3006, None);
    ends.ack(3026, None);
    assert_eq!(ends.known_ms(), (1, 20));
}

#[test]
fn what_is_said_again_late_changes_nothing_of_a_connection_that_goes_on() {
    let mut ends = Ends::new();
    ends.client_begins(0, &packet(TCP_SYN, Some((100, 0))));
    ends.server_begins(30, &packet(BOTH, Some((7, 100))));
    ends.ack(40, Some((140, 7)));
    for round in 1..20 {
        ends.data(40 * round, Some((7, 100)));
        ends.ack(40 * round + 10, Some((100 + 40 * round as u32 + 10, 7)));
    }
    let told = |flow: &FlowRecord| {
        (
            flow.flags,
            flow.mss,
            flow.window_bytes,
            flow.delivered,
            flow.upstream.now_least_ns,
            flow.path.least.now_least_ns,
        )
    };
    let before = told(&ends.flow);
    ends.client_begins(1000, &PacketRecord { mss: 536, has_scale: 1, scale: 7, ..packet(TCP_SYN, Some((1100, 0))) });
    ends.server_begins(1005, &PacketRecord { has_scale: 1, ..packet(BOTH, Some((1005, 100))) });
    assert_eq!(told(&ends.flow), before);
    assert_eq!(ends.flow.seen_ns, 1006 * MS);
}

#[test]
fn an_access_point_knows_no_path_where_it_may_be_a_wrong_one() {
    let path_ms = |steps: &[(u64, bool, PacketRecord)]| {
        let (mut passer, mut station) = (PasserRecord::default(), StationRecord::default());
        for (at_ms, is_up, packet) in steps {
            if *is_up {
                passer::goes(&mut passer, &station, packet, (1 + at_ms) * MS);
            } else {
                passer::comes(&settings(), &mut passer, &mut station, packet, (1 + at_ms) * MS);
            }
        }
        passer.path_ns / MS
    };
    let bare = |flags| packet(flags, None);
    let stamped = |flags, stamp, echo| packet(flags, Some((stamp, echo)));
    // Its server is 80 ms away and its station 10.
    let late = [
        (0, true, stamped(TCP_SYN, 100, 0)),
        (1000, true, stamped(TCP_SYN, 1100, 0)),
        (1045, false, stamped(BOTH, 7, 100)),
        (1055, true, stamped(TCP_ACK, 1155, 7)),
        (1080, false, stamped(BOTH, 42, 100)),
    ];
    assert_eq!(path_ms(&late), 0);
    let lost = [
        (0, true, stamped(TCP_SYN, 100, 0)),
        (1000, true, stamped(TCP_SYN, 1100, 0)),
        (1080, false, stamped(BOTH, 7, 1100)),
        (1090, true, stamped(TCP_ACK, 1190, 7)),
    ];
    assert_eq!(path_ms(&lost), 90);
    let unstamped =
        [(0, true, bare(TCP_SYN)), (1000, true, bare(TCP_SYN)), (1045, false, bare(BOTH)), (1055, true, bare(TCP_ACK))];
    assert_eq!(path_ms(&unstamped), 0);
    // The second one comes behind the answer to the first.
    let behind = [
        (0, true, stamped(TCP_SYN, 100, 0)),
        (1005, false, stamped(BOTH, 7, 100)),
        (1010, true, stamped(TCP_SYN, 1100, 0)),
        (1085, false, stamped(BOTH, 87, 100)),
        (1100, true, stamped(TCP_ACK, 1200, 7)),
    ];
    assert_eq!(path_ms(&behind), 0);
    let answered_twice =
        [(0, true, bare(TCP_SYN)), (80, false, bare(BOTH)), (1080, false, bare(BOTH)), (1085, true, bare(TCP_ACK))];
    assert_eq!(path_ms(&answered_twice), 0);
    // What answers no SYN tells nothing: a refusal, an acknowledgement of an older connection.
    let other = PacketRecord { echo: 50, ..stamped(TCP_ACK, 5, 0) };
    let half_open = [
        (0, true, stamped(TCP_SYN, 100, 0)),
        (80, false, other),
        (580, true, stamped(TCP_SYN, 680, 0)),
        (660, false, stamped(BOTH, 7, 680)),
        (670, true, stamped(TCP_ACK, 770, 7)),
    ];
    assert_eq!(path_ms(&half_open), 90);
    // No stamp is echoed, and none is needed.
    let echoes_none =
        [(0, true, stamped(TCP_SYN, 100, 0)), (80, false, stamped(BOTH, 7, 0)), (90, true, stamped(TCP_ACK, 190, 7))];
    assert_eq!(path_ms(&echoes_none), 90);
    let unseen = [(80, false, bare(BOTH)), (90, true, bare(TCP_ACK))];
    assert_eq!(path_ms(&unseen), 0);
    let by_server = [(0, false, bare(TCP_SYN)), (1000, false, bare(TCP_SYN)), (1005, true, bare(BOTH))];
    assert_eq!(path_ms(&by_server), 0);
    // Its station's answer is lost, and said again.
    let answers = [
        (0, false, stamped(TCP_SYN, 7, 0)),
        (5, true, stamped(BOTH, 105, 7)),
        (1005, true, stamped(BOTH, 1105, 7)),
        (1055, false, stamped(TCP_ACK, 1062, 1105)),
    ];
    assert_eq!(path_ms(&answers), 55);
}

#[test]
fn a_station_knows_its_round_trip_by_what_was_answered() {
    let path_ms = |syns_ms: &[u32], answer_ms: u64, echo: Option<u32>| {
        let mut receiver = ReceiverRecord::default();
        for at_ms in syns_ms {
            let syn = packet(TCP_SYN, echo.map(|_| (100 + at_ms, 0)));
            receiver::station_begins(&mut receiver, &syn, SEGMENT, (1 + u64::from(*at_ms)) * MS);
        }
        receiver::server_begins(&mut receiver, &packet(BOTH, echo.map(|echo| (7, echo))), (1 + answer_ms) * MS);
        // Said again by either side, behind that, they tell nothing and ask nothing.
        let before = (receiver.path.now_least_ns, receiver.rtt_ns, receiver.flags);
        receiver::server_begins(&mut receiver, &packet(BOTH, None), (6 + answer_ms) * MS);
        receiver::station_begins(&mut receiver, &packet(TCP_SYN, None), SEGMENT, (8 + answer_ms) * MS);
        assert_eq!((receiver.path.now_least_ns, receiver.rtt_ns, receiver.flags), before);
        assert_eq!((receiver.asked_ns, receiver.seen_ns), (0, (8 + answer_ms) * MS));
        receiver.path.now_least_ns / MS
    };
    assert_eq!(path_ms(&[0], 90, Some(100)), 90);
    assert_eq!(path_ms(&[0], 90, None), 90);
    // The first one was late, or lost.
    assert_eq!(path_ms(&[0, 1000], 1045, Some(100)), 0);
    assert_eq!(path_ms(&[0, 1000], 1090, Some(1100)), 90);
    assert_eq!(path_ms(&[0, 1000], 1090, None), 90);
}

#[test]
fn a_server_that_rests_makes_no_path_longer() {
    let mut ends = Ends::new();
    ends.client_begins(0, &packet(TCP_SYN, Some((100, 0))));
    ends.server_begins(80, &packet(BOTH, Some((80, 100))));
    ends.ack(90, Some((190, 80)));
    let (mut now_ms, mut said) = (170, 190);
    let mut go_on = |ends: &mut Ends, after_ms: u64| {
        ends.data(now_ms, Some((now_ms as u32, said)));
        said = now_ms as u32 + 105;
        ends.ack(now_ms + 5, Some((said, now_ms as u32)));
        now_ms += after_ms;
    };
    // A segment each 30 s answers what was said when the last one came.
    (0..5).for_each(|_| go_on(&mut ends, 30_000));
    assert_eq!(least_upstream_ms(&ends), 80);
    // While data go on without a pause, the path is as long as it seems: each answers what was said 300 ms ago.
    for round in 0..2500_u64 {
        let at_ms = 200_000 + 10 * round;
        let said = |at_ms: u64| at_ms as u32 + 105;
        ends.data(at_ms, Some((at_ms as u32, said(at_ms - 300))));
        ends.ack(at_ms + 5, Some((said(at_ms), at_ms as u32)));
    }
    assert!((295..=310).contains(&least_upstream_ms(&ends)), "{}", least_upstream_ms(&ends));
}

/// The least of late of the way to the server \[ms\].
fn least_upstream_ms(ends: &Ends) -> u64 {
    recent_least(&ends.flow.upstream) / MS
}

#[test]
fn an_answer_with_another_number_counts_until_its_client_has_gone_on() {
    let answer = |seq| PacketRecord { seq, ..packet(BOTH, None) };
    for is_hidden in [0, 1] {
        let mut ends = Ends::new();
        ends.settings.is_hidden = is_hidden;
        ends.client_begins(0, &packet(TCP_SYN, None));
        // The first one is lost behind the proxy: cookies differ.
        ends.server_begins(30, &answer(5_000_000));
        ends.server_begins(1030, &answer(1000));
        ends.seq = 1001;
        ends.ack(1040, None);
        ends.server_begins(1050, &answer(9_000_000));
        ends.data(1070, None);
        ends.ack(1080, None);
        assert_eq!(ends.flow.delivered, 1001 + SEGMENT);
        assert_eq!(ends.known_ms().1, 10);
    }
}
