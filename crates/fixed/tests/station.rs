// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a proxy learns of a line's rate: from looks at a queue that runs empty between them, and from ACKs.

use std::collections::VecDeque;

use lasthop_fixed::proxy::{self, Glance};
use lasthop_fixed::state::{FlowRecord, PacketRecord, Settings, StationRecord, TCP_ACK, TCP_SYN};
use lasthop_fixed::station;

const US: u64 = 1000;
const MS: u64 = 1000 * US;
/// What a line of 1.25 MB/s carries in 10 ms.
const BURST: u64 = 12_500;

/// The looks at a queue, each so long after the one before: what it holds, and what has left since.
struct Looks {
    station: StationRecord,
    now_ns: u64,
    departed_bytes: u64,
}

impl Looks {
    fn new() -> Self {
        Self { station: StationRecord::default(), now_ns: MS, departed_bytes: 0 }
    }

    fn look(&mut self, after_ns: u64, queue_bytes: u64, gone_bytes: u64) {
        self.now_ns += after_ns;
        self.departed_bytes += gone_bytes;
        station::look(&mut self.station, self.now_ns, queue_bytes, self.departed_bytes);
    }

    /// The rate that is known by now lies between these \[kB/s\].
    #[track_caller]
    fn tells(&self, least: f64, most: f64) {
        let rate = station::rate(&self.station) as f64 / 1e3;
        assert!((least..=most).contains(&rate), "{rate} kB/s");
    }
}

/// A queue that never runs empty: 1.25 MB/s.
fn busy() -> Looks {
    let mut looks = Looks::new();
    (0..100).for_each(|_| looks.look(10 * MS, BURST, BURST));
    looks.tells(1249.0, 1251.0);
    looks
}

#[test]
fn a_line_that_sends_bursts_is_not_taken_for_slow() {
    let mut looks = busy();
    for _ in 0..200 {
        // What has come to an empty queue waits for its turn, and leaves all at once.
        looks.look(5 * MS, 0, 0);
        looks.look(20 * US, BURST, 0);
        looks.look(9900 * US, BURST, 0);
        looks.look(80 * US, 0, BURST);
    }
    looks.tells(1100.0, 1300.0);
}

#[test]
fn a_burst_at_the_end_of_a_wait_tells_of_no_rate() {
    let mut looks = busy();
    for _ in 0..200 {
        // It was seen as it came, and just before it left.
        looks.look(5 * MS, 0, 0);
        looks.look(10 * MS, BURST, 0);
        looks.look(100 * US, 0, BURST);
    }
    looks.tells(1249.0, 1251.0);
}

#[test]
fn a_faster_line_shows_though_its_queue_runs_empty() {
    // Twice as fast, each time until nothing waits: from below, for the line rests at the end.
    let mut looks = busy();
    for _ in 0..100 {
        looks.look(5 * MS, 0, 0);
        looks.look(100 * US, 10 * BURST, 0);
        looks.look(55 * MS, 0, 10 * BURST);
    }
    looks.tells(2000.0, 2500.0);
}

const SEGMENT: u32 = 1448;
/// What each takes on the line.
const SEGMENT_NS: u64 = 1200 * US;

/// A server's end, and its receiver's.
#[derive(Default)]
struct Ends {
    flow: FlowRecord,
    sent: u32,
    held: u32,
}

/// A line that is hidden from the proxy, and what is in its queue: whose, and up to which sequence number.
struct HiddenLine {
    settings: Settings,
    station: StationRecord,
    ends: [Ends; 2],
    queue: VecDeque<(usize, u32)>,
    now_ns: u64,
}

impl HiddenLine {
    fn new() -> Self {
        let settings =
            Settings { target_ns: 20 * MS, theta_ns: 50 * MS, g_q10: 901, is_hidden: 1, ..Settings::default() };
        let mut line = Self {
            settings,
            station: StationRecord::default(),
            ends: Default::default(),
            queue: VecDeque::new(),
            now_ns: MS,
        };
        for ends in &mut line.ends {
            ends.flow.weight_q8 = 256;
            ends.sent = 1;
            let syn = PacketRecord { flags: TCP_SYN, mss: SEGMENT as u16, window: u16::MAX, ..PacketRecord::default() };
            proxy::client_begins(&mut ends.flow, &syn, line.now_ns);
            let reply = PacketRecord { flags: TCP_SYN | TCP_ACK, ack: 1, ..PacketRecord::default() };
            proxy::server_begins(&mut ends.flow, &reply, line.now_ns, 0);
            line.now_ns += 200 * US;
            let last = PacketRecord { flags: TCP_ACK, ack: 1, window: u16::MAX, ..PacketRecord::default() };
            let queue = Glance::default();
            proxy::hears(&line.settings, &mut ends.flow, &mut line.station, &last, line.now_ns, &queue, 0);
        }
        line
    }

    /// The server sends so many segments, as one packet.
    fn send(&mut self, who: usize, segments: u32) {
        let ends = &mut self.ends[who];
        let payload = segments * SEGMENT;
        let data = PacketRecord {
            flags: TCP_ACK,
            payload,
            segment: SEGMENT,
            header_bytes: 66,
            seq: ends.sent,
            ..PacketRecord::default()
        };
        let (queue, bytes) = (Glance::default(), payload + 66);
        let found = proxy::meets(&self.settings, &mut self.station, self.now_ns, &queue, bytes, segments, 0, 0);
        proxy::forwards(&self.settings, &mut ends.flow, &mut self.station, &data, self.now_ns, &queue, &found, 0);
        for _ in 0..segments {
            ends.sent += SEGMENT;
            self.queue.push_back((who, ends.sent));
        }
    }

    /// The next segment arrives. Its receiver acknowledges every second one, and any at once that it is told to.
    fn arrive(&mut self, at_once: bool) {
        self.now_ns += SEGMENT_NS;
        let Some((who, end)) = self.queue.pop_front() else { return };
        let ends = &mut self.ends[who];
        ends.held += 1;
        if ends.held < 2 && !at_once {
            return;
        }
        let told = std::mem::take(&mut ends.held);
        let ack = PacketRecord { flags: TCP_ACK, ack: end, window: u16::MAX, ..PacketRecord::default() };
        proxy::hears(&self.settings, &mut ends.flow, &mut self.station, &ack, self.now_ns, &Glance::default(), 0);
        self.send(who, told);
    }
}

//= clamp#4.1
#[test]
fn clamps_average_counts_what_joins_the_queue() {
    let average_bytes = |bytes: u32, segments: u32| {
        let mut station = StationRecord::default();
        station::look(&mut station, 1000 * MS, 3000, 0);
        // After so long a gap nothing is left of what was.
        station::arrival(&mut station, 60_000 * MS, bytes, segments, 500 * MS);
        (station.average_q16 + (1 << 15)) >> 16
    };
    assert_eq!(average_bytes(1514, 1), 4514);
    // What the kernel does not count in segments has 0 of them.
    assert_eq!(average_bytes(66, 0), 3066);
    // Four segments of 1500 B find 1500, 3000, 4500 and 6000 of them in the queue.
    assert_eq!(average_bytes(6000, 4), 3000 + 3750);
}

#[test]
fn a_handshake_that_the_server_begins_tells_the_path_as_well() {
    let settings = Settings { target_ns: 20 * MS, theta_ns: 50 * MS, g_q10: 901, is_hidden: 1, ..Settings::default() };
    let (mut flow, mut station, queue) = (FlowRecord::default(), StationRecord::default(), Glance::default());
    flow.weight_q8 = 256;
    proxy::server_begins(&mut flow, &PacketRecord { flags: TCP_SYN, ..PacketRecord::default() }, MS, 0);
    let (flags, mss, window) = (TCP_SYN | TCP_ACK, SEGMENT as u16, u16::MAX);
    let reply = PacketRecord { flags, ack: 1, mss, window, ..PacketRecord::default() };
    // The second of two replies tells nothing.
    proxy::client_begins(&mut flow, &reply, 11 * MS);
    proxy::client_begins(&mut flow, &reply, 211 * MS);
    let data = PacketRecord { flags: TCP_ACK, payload: SEGMENT, segment: SEGMENT, seq: 1, ..PacketRecord::default() };
    let found = proxy::meets(&settings, &mut station, 212 * MS, &queue, SEGMENT, 1, 0, 0);
    proxy::forwards(&settings, &mut flow, &mut station, &data, 212 * MS, &queue, &found, 0);
    // It waits for 50 ms.
    let ack = PacketRecord { flags: TCP_ACK, ack: 1 + SEGMENT, window, ..PacketRecord::default() };
    proxy::hears(&settings, &mut flow, &mut station, &ack, 272 * MS, &queue, 0);
    let nearest_ns = station.path.least.now_least_ns;
    assert_eq!(nearest_ns, 10 * MS);
    // The server answered a millisecond after the second reply.
    assert_eq!(proxy::delay_ns(&flow, nearest_ns), 11 * MS);
}

#[test]
fn a_timer_that_others_wait_for_does_not_make_a_path_shorter() {
    let settings = Settings { target_ns: 20 * MS, theta_ns: 50 * MS, g_q10: 901, is_hidden: 1, ..Settings::default() };
    let (mut station, queue, mut now_ns) = (StationRecord::default(), Glance::default(), MS);
    let window = u16::MAX;
    // One host of the address is 5 ms away, the other 20.
    let mut flows = [5, 20].map(|away_ms| {
        let mut flow = FlowRecord::default();
        flow.weight_q8 = 256;
        let syn = PacketRecord { flags: TCP_SYN, mss: SEGMENT as u16, window, ..PacketRecord::default() };
        proxy::client_begins(&mut flow, &syn, now_ns);
        let reply = PacketRecord { flags: TCP_SYN | TCP_ACK, ack: 1, ..PacketRecord::default() };
        proxy::server_begins(&mut flow, &reply, now_ns, 0);
        now_ns += away_ms * MS;
        let last = PacketRecord { flags: TCP_ACK, ack: 1, window, ..PacketRecord::default() };
        proxy::hears(&settings, &mut flow, &mut station, &last, now_ns, &queue, 0);
        (flow, 1)
    });
    let mut go_on = |who: usize, segments: u32, after_ms: u64| {
        let (flow, seq) = &mut flows[who];
        let (flags, payload) = (TCP_ACK, segments * SEGMENT);
        let data = PacketRecord { flags, payload, segment: SEGMENT, seq: *seq, ..PacketRecord::default() };
        let found = proxy::meets(&settings, &mut station, now_ns, &queue, payload, segments, 0, 0);
        proxy::forwards(&settings, flow, &mut station, &data, now_ns, &queue, &found, 0);
        now_ns += after_ms * MS;
        *seq += payload;
        let ack = PacketRecord { flags, ack: *seq, window, ..PacketRecord::default() };
        proxy::hears(&settings, flow, &mut station, &ack, now_ns, &queue, 0);
        proxy::delay_ns(flow, 5 * MS) / MS
    };
    for (who, away_ms) in [(0, 5), (1, 20)] {
        (0..4).for_each(|_| assert_eq!(go_on(who, 2, away_ms), away_ms));
    }
    // The near one's receiver holds single segments back, the other's does not.
    for _ in 0..50 {
        assert_eq!(go_on(0, 1, 45), 5);
        assert_eq!(go_on(1, 1, 22), 20);
    }
    // It comes nearer.
    (0..2000).for_each(|_| _ = go_on(1, 1, 10));
    assert_eq!(go_on(1, 1, 10), 10);
}

/// The delay \[ns\] of a connection whose segments come back after so long, one at a time, of which they stand in a queue that is seen for
/// 21 ms, as it is known after each of twenty.
fn delays_beside_a_seen_queue(after_ms: u64) -> Vec<u64> {
    let settings = Settings { target_ns: 20 * MS, theta_ns: 50 * MS, g_q10: 901, ..Settings::default() };
    let (mut station, mut flow, mut now_ns) = (StationRecord::default(), FlowRecord::default(), MS);
    let (window, size) = (u16::MAX, u64::from(SEGMENT));
    // Twenty segments stand there. Each millisecond one leaves, and another one comes.
    let queue = |now_ns: u64| Glance { bytes: 20 * size, departed_bytes: now_ns / MS * size };
    flow.weight_q8 = 256;
    let syn = PacketRecord { flags: TCP_SYN, mss: SEGMENT as u16, window, ..PacketRecord::default() };
    proxy::client_begins(&mut flow, &syn, now_ns);
    let reply = PacketRecord { flags: TCP_SYN | TCP_ACK, ack: 1, ..PacketRecord::default() };
    proxy::server_begins(&mut flow, &reply, now_ns, 0);
    let mut seq = 1;
    let mut round = || {
        let (flags, payload) = (TCP_ACK, SEGMENT);
        let data =
            PacketRecord { flags, payload, segment: payload, seq, size_bytes: payload, ..PacketRecord::default() };
        let found = proxy::meets(&settings, &mut station, now_ns, &queue(now_ns), SEGMENT, 1, 0, 0);
        proxy::forwards(&settings, &mut flow, &mut station, &data, now_ns, &queue(now_ns), &found, 0);
        seq += payload;
        // Nothing of its connection passes meanwhile.
        for _ in 0..after_ms {
            now_ns += MS;
            proxy::meets(&settings, &mut station, now_ns, &queue(now_ns), SEGMENT, 1, 0, 0);
        }
        let ack = PacketRecord { flags, ack: seq, window, ..PacketRecord::default() };
        proxy::hears(&settings, &mut flow, &mut station, &ack, now_ns, &queue(now_ns), 0);
        proxy::delay_ns(&flow, 5 * MS)
    };
    (0..20).map(|_| round()).collect()
}

#[test]
fn the_path_beside_a_seen_queue_is_known_by_all_that_pass() {
    let delays = delays_beside_a_seen_queue(40);
    assert!(delays[1..].iter().all(|delay_ns| (18 * MS..=21 * MS).contains(delay_ns)), "{delays:?}");
}

#[test]
fn a_path_that_is_longer_than_looks_are_kept_is_not_taken_for_shorter() {
    let delays = delays_beside_a_seen_queue(821);
    assert!(delays[1..].iter().all(|delay_ns| *delay_ns >= 800 * MS), "{delays:?}");
}

#[test]
fn a_single_segment_that_is_acknowledged_at_once_does_not_make_a_busy_line_seem_slow() {
    let mut line = HiddenLine::new();
    for _ in 0..4 {
        line.send(0, 2);
        line.send(1, 3);
    }
    let truth = f64::from(SEGMENT) * 1e9 / SEGMENT_NS as f64;
    let (mut sum, mut count) = (0.0, 0.0);
    let mut numbers = 1u32;
    // Less than the ten seconds after which a path is forgotten.
    for n in 0..8000 {
        numbers = numbers.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        line.arrive(numbers >> 29 == 0);
        if n > 1000 {
            sum += station::rate(&line.station) as f64;
            count += 1.0;
        }
    }
    let found = sum / count / truth;
    assert!((found - 1.0).abs() < 0.001, "{found} of the line's rate");
}

/// Ten milliseconds, and 80 more from the fifth second on.
fn longer_ns(now_ns: u64) -> u64 {
    if now_ns < 5000 * MS { 10 * MS } else { 90 * MS }
}

/// Segments of so many connections go on in turns, and each is acknowledged after 10 ms, what it waits in a queue, and the way back. What
/// the proxy takes for the round trip of the first one \[ns\], and when it takes its acknowledgements to have been sent, once a segment.
fn told_of(is_hidden: u32, count: usize, back_ns: fn(u64) -> u64, queue_ns: fn(u64) -> u64) -> Vec<(u64, u64, u64)> {
    const EVERY: u64 = 10 * MS;
    let settings = Settings { target_ns: 20 * MS, theta_ns: 50 * MS, g_q10: 901, is_hidden, ..Settings::default() };
    let (mut flows, mut station, queue) =
        (vec![FlowRecord::default(); count], StationRecord::default(), Glance::default());
    let (mss, window) = (SEGMENT as u16, u16::MAX);
    for flow in &mut flows {
        flow.weight_q8 = 256;
        proxy::client_begins(flow, &PacketRecord { flags: TCP_SYN, mss, window, ..PacketRecord::default() }, MS);
        let reply = PacketRecord { flags: TCP_SYN | TCP_ACK, ack: 1, ..PacketRecord::default() };
        proxy::server_begins(flow, &reply, MS, 0);
    }
    let mut under_way = VecDeque::new();
    let mut told = vec![];
    for n in 0..4500 {
        let now_ns = 2 * MS + u64::from(n) * EVERY;
        let seq = 1 + n * SEGMENT;
        let (flags, payload, segment) = (TCP_ACK, SEGMENT, SEGMENT);
        let data = PacketRecord { flags, payload, segment, seq, ..PacketRecord::default() };
        for flow in &mut flows {
            let found = proxy::meets(&settings, &mut station, now_ns, &queue, SEGMENT, 1, 0, 0);
            proxy::forwards(&settings, flow, &mut station, &data, now_ns, &queue, &found, 0);
        }
        let there_ns = now_ns + 10 * MS + queue_ns(now_ns);
        under_way.push_back((there_ns + back_ns(now_ns), there_ns, seq + SEGMENT));
        while let Some(&(at_ns, sent_ns, ack)) = under_way.front().filter(|ack| ack.0 < now_ns + EVERY) {
            under_way.pop_front();
            let stamp = (sent_ns / MS) as u32;
            let ack = PacketRecord { flags, ack, window, has_stamp: 1, stamp, ..PacketRecord::default() };
            for (which, flow) in flows.iter_mut().enumerate() {
                proxy::hears(&settings, flow, &mut station, &ack, at_ns, &queue, 0);
                if which == 0 {
                    let path = &station.path.least;
                    let spans = [path.now_least_ns, path.last_least_ns];
                    let nearest_ns = spans.into_iter().filter(|least_ns| *least_ns > 0).min().unwrap_or(0);
                    told.push((at_ns, proxy::delay_ns(flow, nearest_ns), station.sent_ns));
                }
            }
        }
    }
    told
}

#[test]
fn a_way_back_that_becomes_longer_is_a_part_of_the_round_trip_within_a_second() {
    for is_hidden in [0, 1] {
        for (at_ns, delay_ns, _) in told_of(is_hidden, 1, longer_ns, |_| 0) {
            let wanted_ms = if at_ns < 5000 * MS { 20 } else { 100 };
            if !(5000 * MS..6000 * MS).contains(&at_ns) {
                assert!(delay_ns.abs_diff(wanted_ms * MS) <= 2 * MS, "{is_hidden}: {delay_ns} at {at_ns}");
            }
        }
    }
}

#[test]
fn a_way_back_that_becomes_longer_for_many_is_longer_once() {
    // 25 ms, but for a moment every four seconds: what a path is longer is not seen at once.
    let queue_ns = |now_ns: u64| match now_ns / MS % 4000 {
        since @ 0..50 => 25 * MS - since * MS / 2,
        50..200 => 0,
        _ => 25 * MS,
    };
    for is_hidden in [0, 1] {
        for (at_ns, delay_ns, _) in told_of(is_hidden, 8, longer_ns, queue_ns) {
            assert!(delay_ns <= 102 * MS, "{is_hidden}: {delay_ns} at {at_ns}");
        }
    }
}

#[test]
fn the_clock_of_acknowledgements_does_not_jump_when_the_least_of_late_is_forgotten() {
    let told = told_of(1, 1, longer_ns, |_| 0);
    for pair in told.windows(2) {
        let ((_, _, before_ns), (at_ns, _, sent_ns)) = (pair[0], pair[1]);
        // A segment each 10 ms, a sixteenth of that, and a millisecond of the stamp.
        assert!(sent_ns - before_ns <= 12 * MS, "{} at {at_ns}", sent_ns - before_ns);
    }
}

#[test]
fn a_hidden_queue_that_is_never_empty_does_not_become_a_part_of_the_path_bit_by_bit() {
    // 0, .6 and then 1.2 ms at least: each time within what is noise on a path of 20.
    let queue_ns = |now_ns: u64| (now_ns / (10_000 * MS)).min(2) * 600 * US;
    for (at_ns, delay_ns, _) in told_of(1, 1, |_| 10 * MS, queue_ns) {
        assert!(delay_ns <= 21_100 * US, "{delay_ns} at {at_ns}");
    }
}

#[test]
fn a_path_that_is_longer_for_good_is_longer_within_two_spans() {
    for is_hidden in [0, 1] {
        for (at_ns, delay_ns, _) in told_of(is_hidden, 1, |_| 10 * MS, |now_ns| u64::from(now_ns > 5000 * MS) * 2 * MS)
        {
            assert!(at_ns < 26_000 * MS || delay_ns >= 21_900 * US, "{is_hidden}: {delay_ns} at {at_ns}");
        }
    }
}

/// Segments that a line whose queue is seen carries in a millisecond.
const CARRIED: u64 = 8;
/// To the servers and back.
const UPSTREAM_NS: u64 = 5 * MS;
/// Segments that are few beside what the line holds.
const FEW: u32 = 100;
/// Of windows, and the client's own field.
const SCALE: u8 = 7;
const FIELD: u16 = 16_000;

/// A server whose sender keeps no more than so many segments under way.
struct Server {
    flow: FlowRecord,
    keeps: u32,
    /// It sends once in so many milliseconds.
    each_ms: u64,
    sent: u32,
    acked: u32,
    edge: u32,
    stamp: u32,
}

impl Server {
    /// Its handshake, which tells its path.
    fn new(settings: &Settings, station: &mut StationRecord, keeps: u32, each_ms: u64) -> Self {
        let mut flow = FlowRecord::default();
        flow.weight_q8 = 256;
        let begins =
            PacketRecord { flags: TCP_SYN, mss: SEGMENT as u16 + 12, has_scale: 1, scale: SCALE, ..Self::packet(0, 0) };
        proxy::client_begins(&mut flow, &PacketRecord { window: FIELD, ..begins }, MS);
        proxy::server_begins(
            &mut flow,
            &PacketRecord { flags: TCP_SYN | TCP_ACK, ack: 1, ..begins },
            MS + UPSTREAM_NS,
            0,
        );
        let last = PacketRecord { ack: 1, window: FIELD, ..Self::packet(6, 1) };
        proxy::hears(settings, &mut flow, station, &last, 2 * MS + UPSTREAM_NS, &Glance::default(), 0);
        Self { flow, keeps, each_ms, sent: 1, acked: 1, edge: 1 + 10 * SEGMENT, stamp: 6 }
    }

    fn packet(stamp: u32, echo: u32) -> PacketRecord {
        PacketRecord { flags: TCP_ACK, has_stamp: 1, stamp, echo, ..PacketRecord::default() }
    }
}

/// So many milliseconds of a line that these servers share, with a target of 25 ms: what the agent takes it that all bear, each of these
/// \[ms\], and which part of the line the first one has had in the last quarter of the time.
fn borne<const N: usize>(keeps: [u32; N], for_ms: u64) -> (Vec<Option<u64>>, f64) {
    shared(keeps.map(|keeps| (keeps, 1)), for_ms)
}

/// The same of servers that send in bursts.
fn shared<const N: usize>(servers: [(u32, u64); N], for_ms: u64) -> (Vec<Option<u64>>, f64) {
    let settings = Settings { target_ns: 25 * MS, theta_ns: 50 * MS, g_q10: 901, ..Settings::default() };
    let mut station = StationRecord::default();
    let mut servers = servers.map(|(keeps, each_ms)| Server::new(&settings, &mut station, keeps, each_ms));
    let (mut queue, mut departed_bytes) = (VecDeque::new(), 0);
    // Fields on their way to a server.
    let mut told = VecDeque::<(usize, u32, u32, u32)>::new();
    let size = u64::from(SEGMENT + 66);
    let mut had = [0u32; N];
    let mut borne = Vec::new();
    for at_ms in 12..for_ms {
        let now_ns = at_ms * MS;
        while told.front().is_some_and(|told| at_ms >= u64::from(told.3) + UPSTREAM_NS / MS) {
            let Some((who, ack, edge, stamp)) = told.pop_front() else { break };
            let server = &mut servers[who];
            (server.acked, server.edge, server.stamp) = (ack, edge, stamp);
        }
        for (who, server) in servers.iter_mut().enumerate() {
            if at_ms % server.each_ms != 0 {
                continue;
            }
            // Who keeps little paces it, by its share.
            for _ in 0..if server.keeps < FEW { CARRIED / 2 } else { 2 * CARRIED } {
                if server.sent - server.acked >= server.keeps * SEGMENT || server.sent + SEGMENT > server.edge {
                    break;
                }
                let seen = Glance { bytes: queue.len() as u64 * size, departed_bytes };
                let data = PacketRecord {
                    payload: SEGMENT,
                    segment: SEGMENT,
                    header_bytes: 66,
                    size_bytes: size as u32,
                    seq: server.sent,
                    ..Server::packet(at_ms as u32, server.stamp)
                };
                let found = proxy::meets(&settings, &mut station, now_ns, &seen, size as u32, 1, 0, 0);
                proxy::forwards(&settings, &mut server.flow, &mut station, &data, now_ns, &seen, &found, 0);
                server.sent += SEGMENT;
                queue.push_back((who, server.sent));
            }
        }
        for _ in 0..CARRIED {
            let Some((who, end)) = queue.pop_front() else { break };
            departed_bytes += size;
            let seen = Glance { bytes: queue.len() as u64 * size, departed_bytes };
            let ack = PacketRecord { ack: end, window: FIELD, ..Server::packet(at_ms as u32, at_ms as u32) };
            let field = proxy::hears(&settings, &mut servers[who].flow, &mut station, &ack, now_ns, &seen, 0);
            told.push_back((who, end, end + (u32::from(field) << SCALE), at_ms as u32));
            had[who] += u32::from(at_ms > for_ms / 4 * 3);
        }
        borne.push(station.borne_ns().map(|ns| ns / MS));
    }
    (borne, f64::from(had[0]) / f64::from(had.iter().sum::<u32>()))
}

#[test]
fn who_keeps_two_of_its_path_under_way_has_its_share_beside_a_shorter_queue() {
    // Two of its path at half of the line: all of its window beside a queue of 5 ms, a third of it beside one of 25.
    let (borne, part) = borne([40, 1000], 20_000);
    assert!(borne[..3000].iter().all(Option::is_none), "{:?}", borne.iter().position(Option::is_some));
    assert!(borne[5000..].iter().all(|ms| ms.is_some_and(|ms| (3..=8).contains(&ms))), "{borne:?}");
    assert!((0.48..0.52).contains(&part), "{part}");
}

#[test]
fn several_that_ask_at_once_ask_for_no_less() {
    let (borne, part) = borne([20, 20, 20, 1000], 20_000);
    let first = borne.iter().position(Option::is_some).unwrap_or_default();
    assert!((3000..5000).contains(&first), "{first}");
    // A path, and in the next epoch at most a 16th less.
    assert!(
        borne[first..first + 600].iter().all(|ms| ms.is_some_and(|ms| ms >= 4)),
        "{:?}",
        &borne[first..first + 600]
    );
    assert!(borne[5000..].iter().all(|ms| ms.is_some_and(|ms| (3..=8).contains(&ms))), "{borne:?}");
    assert!((0.23..0.27).contains(&part), "{part}");
}

#[test]
fn who_has_less_to_send_whatever_the_queue_does_not_keep_it_short() {
    let (borne, part) = borne([18, 1000], 20_000);
    let asks = borne.iter().filter(|ms| ms.is_some()).count();
    assert!((3500..6000).contains(&asks), "{asks}");
    assert!(borne[12_000..].iter().all(Option::is_none), "{borne:?}");
    assert!(part < 0.4, "{part}");
}

#[test]
fn who_fills_its_window_bears_any_queue() {
    let (borne, part) = borne([1000, 1000], 10_000);
    assert!(borne.iter().all(Option::is_none), "{borne:?}");
    assert!((0.48..0.52).contains(&part), "{part}");
    // Nobody takes anything from one that is alone.
    let (borne, part) = self::borne([60, 0], 10_000);
    assert!(borne.iter().all(Option::is_none) && part > 0.999, "{part}, {borne:?}");
}

#[test]
fn small_windows_make_even_shares_whatever_their_senders_make_of_them() {
    // Windows of three segments. Who sends each 45 ms has .63 of a share by that, and .84 with a larger one.
    let mut servers = [(1000, 1); 80];
    servers[0] = (1000, 45);
    let (_, part) = shared(servers, 20_000);
    assert!((0.8..1.0).contains(&(80.0 * part)), "{}", 80.0 * part);
}
