// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hidden queue, and a path that becomes longer, as clients without time stamps tell it.

use std::collections::VecDeque;

use lasthop_fixed::proxy::{self, Glance};
use lasthop_fixed::state::{FlowRecord, PacketRecord, Settings, StationRecord, TCP_ACK, TCP_SYN};

const US: u64 = 1000;
const MS: u64 = 1000 * US;
const SEGMENT: u32 = 1460;
const SCALE: u8 = 7;
/// The client's own window.
const FIELD: u16 = 16_000;
/// What a segment takes on the line: 10 Mbit/s.
const SEGMENT_NS: u64 = 1211 * US;
/// To the server and back.
const UPSTREAM_NS: u64 = 20 * MS;
const TARGET_NS: u64 = 25 * MS;

fn packet(ack: u32) -> PacketRecord {
    PacketRecord { flags: TCP_ACK, ack, window: FIELD, ..PacketRecord::default() }
}

/// Two downloads for so many seconds over a line behind which the way back takes so long at a time: which part of it they have in each, and
/// how long the longest queue was in it \[ms\]; and what the path to the client is taken for \[ns\].
fn downloads(seconds: usize, obeys: bool, back_ns: impl Fn(u64) -> u64) -> (Vec<(f64, u64)>, u64) {
    let settings =
        Settings { target_ns: TARGET_NS, theta_ns: 50 * MS, g_q10: 901, is_hidden: 1, ..Settings::default() };
    let mut station = StationRecord::default();
    let mut flows = [FlowRecord::default(); 2];
    let mut edges = [1 + 10 * SEGMENT; 2];
    let (mut sent, mut acked) = ([1u32; 2], [1u32; 2]);
    for flow in &mut flows {
        flow.weight_q8 = 256;
        let begins = PacketRecord {
            flags: TCP_SYN,
            mss: SEGMENT as u16,
            has_scale: 1,
            scale: SCALE,
            window: FIELD,
            ..PacketRecord::default()
        };
        proxy::client_begins(flow, &begins, MS);
        let reply = PacketRecord { flags: TCP_SYN | TCP_ACK, ack: 1, ..begins };
        proxy::server_begins(flow, &reply, MS + UPSTREAM_NS, 0);
        proxy::hears(&settings, flow, &mut station, &packet(1), 11 * MS + UPSTREAM_NS, &Glance::default(), 0);
    }
    // Segments in the queue, acknowledgements on their way to the agent, and windows on theirs to the servers.
    let mut queue = VecDeque::<(usize, u32)>::new();
    let mut back = VecDeque::<(u64, usize, u32)>::new();
    let mut told = VecDeque::<(u64, usize, u32, u32)>::new();
    let mut free_ns = 0;
    let mut found = vec![(0.0, 0); seconds];
    let mut chance = 1u32;
    for at in 0..seconds as u64 * 10_000 {
        let now_ns = 40 * MS + at * 100 * US;
        let second = (at / 10_000) as usize;
        while told.front().is_some_and(|told| told.0 <= now_ns) {
            let Some((_, who, ack, edge)) = told.pop_front() else { break };
            (acked[who], edges[who]) = (ack, edge);
        }
        for (who, flow) in flows.iter_mut().enumerate() {
            while if obeys { sent[who] + SEGMENT <= edges[who] } else { sent[who] - acked[who] < 30 * SEGMENT } {
                let data =
                    PacketRecord { payload: SEGMENT, segment: SEGMENT, header_bytes: 54, seq: sent[who], ..packet(1) };
                let glance = Glance::default();
                let found = proxy::meets(&settings, &mut station, now_ns, &glance, SEGMENT + 54, 1, 0, 0);
                proxy::forwards(&settings, flow, &mut station, &data, now_ns, &glance, &found, 0);
                sent[who] += SEGMENT;
                if queue.is_empty() {
                    free_ns = free_ns.max(now_ns);
                }
                queue.push_back((who, sent[who]));
            }
        }
        found[second].1 = found[second].1.max(queue.len() as u64 * SEGMENT_NS / MS);
        while free_ns + SEGMENT_NS <= now_ns {
            let Some((who, end)) = queue.pop_front() else { break };
            free_ns += SEGMENT_NS;
            found[second].0 += SEGMENT_NS as f64 / 1e9;
            back.push_back((free_ns + back_ns(now_ns), who, end));
        }
        while back.front().is_some_and(|ack| ack.0 <= now_ns) {
            let Some((_, who, end)) = back.pop_front() else { break };
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let field = proxy::hears(
                &settings,
                &mut flows[who],
                &mut station,
                &packet(end),
                now_ns,
                &Glance::default(),
                chance,
            );
            told.push_back((now_ns + UPSTREAM_NS, who, end, end + (u32::from(field) << SCALE)));
        }
    }
    let least = &station.path.least;
    let spans = [least.now_least_ns, least.last_least_ns];
    (found, spans.into_iter().filter(|ns| *ns > 0).min().unwrap_or(0))
}

#[test]
fn a_path_that_becomes_longer_by_less_than_two_targets_leaves_no_line_empty() {
    for by_ms in [20, 30, 45] {
        let (seconds, _) = downloads(16, true, |now_ns| 10 * MS + u64::from(now_ns > 5000 * MS) * by_ms * MS);
        for (second, (part, longest_ms)) in seconds.into_iter().enumerate() {
            // It is known two seconds later, and the line full another one after that.
            assert!((5..8).contains(&second) || second < 2 || part > 0.9, "{by_ms} ms: {part} in second {second}");
            assert!(second < 2 || longest_ms <= 40, "{by_ms} ms: {longest_ms} ms in second {second}");
        }
    }
}

#[test]
fn a_queue_that_senders_keep_full_whatever_their_windows_is_no_path() {
    // 73 ms of the line are under way all the while: the queue is longer than the target for good.
    let (seconds, path_ns) = downloads(9, false, |_| 10 * MS);
    assert!(seconds[1..].iter().all(|(_, longest_ms)| (35..=50).contains(longest_ms)), "{seconds:?}");
    assert!((10 * MS..12 * MS).contains(&path_ns), "{path_ns} ns");
}
