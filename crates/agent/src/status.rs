// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent tells of itself.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use lasthop_fixed::estimate::{binned_rate, recent_least};
use serde::{Deserialize, Serialize};

use crate::load::Programs;
use crate::mode::Mode;
use crate::state::{
    COUNTED, Connection, Count, FLOW_ESTABLISHED, FLOW_LIMITED, FLOW_SERVER_ENDED, FLOW_UNHEARD, FlowKey, StationKey,
    StationRecord, known, price_s,
};

/// For how long after its last look it is told what a queue's connections bear.
const BORNE_FOR_NS: u64 = 4_000_000_000;
/// Flows that are told one by one; more are only counted.
const FLOWS_TOLD: usize = 1000;

/// How the agent is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The program's.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// The device.
    pub device: String,
    /// What it does there.
    pub mode: Mode,
    /// The law.
    pub law: String,
    /// Whether packets pass as they are.
    pub dry_run: bool,
    /// T \[s\]; 0 with CLAMP.
    pub target_s: f64,
    /// Since it began \[s\].
    pub uptime_s: f64,
    /// Where the queue is: `qdisc`, `outstanding` or, as a client knows it, `price`.
    pub source: String,
    /// The queues: one a client where they are downstream, else the device's alone.
    pub queues: Vec<QueueStatus>,
    /// Packets and bytes by what became of them.
    pub counts: BTreeMap<String, Counted>,
    /// What part of the bytes towards the clients the agent cannot steer; none before any.
    pub unsteered_fraction: Option<f64>,
    /// How many connections are known.
    pub flow_count: usize,
    /// The first thousand of them.
    pub flows: Vec<FlowStatus>,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// How many.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

/// What shares a queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueStatus {
    /// Whose it is; null: everybody's.
    pub client: Option<String>,
    /// What it held at the last look.
    pub bytes: u64,
    /// Its rate, of payload alone where the queue is downstream; null as long as it is unknown.
    pub rate_bps: Option<f64>,
    /// Over what time the rate is measured \[s\].
    pub horizon_s: f64,
    /// How long what it held lasts \[s\].
    pub delay_s: Option<f64>,
    /// Weights of the flows that share it.
    pub weights: f64,
    /// What part of the bytes towards its clients is not steered, of late.
    pub unsteered_fraction: f64,
    /// The queue that the share window aims at here \[s\]: the target, or less where senders bear no more; null with another law.
    pub target_s: Option<f64>,
    /// CLAMP's a in force, raised where many flows share a slow link, lowered where a sender near by bears no queue so long; null with
    /// another law.
    pub a_bytes: Option<u64>,
    /// CLAMP's price \[s\]; null with another law.
    pub price_s: Option<f64>,
    /// The path to the clients and back, without the queue \[s\].
    pub client_rtt_s: Option<f64>,
}

/// A connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowStatus {
    /// The client's end.
    pub client: String,
    /// The server's end.
    pub server: String,
    /// `handshake`, `open`, `limited`, `unheard` where its acknowledgements take another way, or `closing` once its server has no more to send.
    pub state: String,
    /// φ.
    pub weight: f64,
    /// Its part of the rate, smoothed.
    pub share_bps: f64,
    /// Its window; what the client itself would say where nothing limits it.
    pub window_bytes: u64,
    /// The last price that came with its data \[s\]; null before one has, and where the agent is not the client's.
    pub price_s: Option<f64>,
    /// Largest payload of a segment.
    pub mss_bytes: u32,
    /// New payload that went to the client.
    pub forwarded_bytes: u64,
    /// What of it the client has acknowledged.
    pub acknowledged_bytes: u64,
    /// The last round trip to the client, the queue included \[s\].
    pub rtt_s: Option<f64>,
    /// The path to the client and back, without the queue, as this connection's own samples tell \[s\].
    pub client_rtt_s: Option<f64>,
    /// The path to the server and back \[s\].
    pub server_rtt_s: Option<f64>,
    /// What the client's ACKs have waited on their way \[s\]; known only where the queue is downstream.
    pub ack_delay_s: f64,
    /// Since its last packet \[s\].
    pub idle_s: f64,
}

/// What the agent knows of itself.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The device.
    pub device: String,
    /// What it does there.
    pub mode: Mode,
    /// Where the queue is.
    pub source: &'static str,
    /// Whether packets pass as they are.
    pub dry_run: bool,
    /// The law's name.
    pub law: &'static str,
    /// T \[ns\]; 0 with CLAMP.
    pub target_ns: u64,
    /// When it began, by the monotonic clock.
    pub began_ns: u64,
}

impl Status {
    /// Asks the kernel.
    ///
    /// # Errors
    /// If it does not tell.
    pub fn of(identity: &Identity, programs: &Programs, now_ns: u64) -> Result<Self> {
        let stations = programs.stations()?;
        let counts = programs.counts()?;
        let flows = programs.flows()?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            device: identity.device.clone(),
            mode: identity.mode,
            law: identity.law.into(),
            dry_run: identity.dry_run,
            target_s: seconds(identity.target_ns),
            uptime_s: seconds(now_ns.saturating_sub(identity.began_ns)),
            source: identity.source.into(),
            queues: stations
                .iter()
                .take(FLOWS_TOLD)
                .map(|(key, station)| QueueStatus::of(key, station, identity, now_ns))
                .collect(),
            unsteered_fraction: unsteered(&counts),
            counts: COUNTED
                .iter()
                .zip(counts)
                .filter(|(name, _)| identity.mode.counts(name))
                .map(|(name, c)| ((*name).to_owned(), Counted { packets: c.packets, bytes: c.bytes }))
                .collect(),
            flow_count: flows.len(),
            flows: flows.iter().take(FLOWS_TOLD).map(|(key, flow)| FlowStatus::of(key, flow, now_ns)).collect(),
        })
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

impl QueueStatus {
    fn of(key: &StationKey, station: &StationRecord, identity: &Identity, now_ns: u64) -> Self {
        let rate = station.rate();
        // What is not renewed says nothing.
        let borne_ns = station.borne_ns().filter(|_| now_ns.saturating_sub(station.seen_ns) < BORNE_FOR_NS);
        let target_ns = borne_ns.map_or(identity.target_ns, |borne_ns| borne_ns.min(identity.target_ns));
        Self {
            client: key.client().map(|client| client.to_string()),
            bytes: station.queue_bytes,
            rate_bps: rate.map(|rate| rate * 8.0),
            horizon_s: f64::from(station.horizon_ms()) * 1e-3,
            delay_s: rate.filter(|rate| *rate > 0.0).map(|rate| station.queue_bytes as f64 / rate),
            weights: station.weights(),
            unsteered_fraction: station.unsteered(),
            target_s: (identity.law == "share").then(|| seconds(target_ns)),
            a_bytes: (station.a_bytes > 0).then_some(station.a_bytes),
            price_s: (identity.law == "clamp").then(|| price_s(station.price_q30)),
            client_rtt_s: known(recent_least(&station.path.least)).map(seconds),
        }
    }
}

impl FlowStatus {
    fn of(key: &FlowKey, flow: &Connection, now_ns: u64) -> Self {
        let told = Self {
            client: shown(key.client()),
            server: shown(key.server()),
            state: state(flow.flags()).into(),
            weight: 1.0,
            share_bps: 0.0,
            window_bytes: 0,
            price_s: None,
            mss_bytes: 0,
            forwarded_bytes: 0,
            acknowledged_bytes: 0,
            rtt_s: None,
            client_rtt_s: None,
            server_rtt_s: None,
            ack_delay_s: 0.0,
            idle_s: seconds(now_ns.saturating_sub(flow.seen_ns())),
        };
        match flow {
            Connection::Steered(flow) => Self {
                weight: f64::from(flow.weight_q8) / 256.0,
                share_bps: flow.fair as f64 * 8.0 * f64::from(flow.weight_q8) / 256.0,
                window_bytes: flow.window_bytes,
                mss_bytes: flow.mss,
                forwarded_bytes: flow.forwarded_bytes,
                acknowledged_bytes: flow.acknowledged_bytes,
                rtt_s: (flow.rtt_ns > 0).then(|| seconds(flow.rtt_ns)),
                client_rtt_s: known(recent_least(&flow.path.least)).map(seconds),
                server_rtt_s: known(recent_least(&flow.upstream)).map(seconds),
                ack_delay_s: seconds(flow.ack_delay_ns),
                ..told
            },
            Connection::Priced(flow) => Self {
                weight: f64::from(flow.weight_q8) / 256.0,
                share_bps: (binned_rate(&flow.arrivals) * 8) as f64,
                window_bytes: if flow.window_q16 > 0 { flow.window_q16 >> 16 } else { flow.own_bytes },
                price_s: (flow.priced_ns > 0).then(|| price_s(flow.price_q30)),
                mss_bytes: flow.mss,
                forwarded_bytes: flow.arrived_bytes,
                acknowledged_bytes: flow.acknowledged_bytes,
                rtt_s: (flow.rtt_ns > 0).then(|| seconds(flow.rtt_ns)),
                server_rtt_s: known(recent_least(&flow.path)).map(seconds),
                ..told
            },
        }
    }
}

impl Status {
    /// In one line.
    pub fn line(&self) -> String {
        let delay_s = self.queues.iter().filter_map(|queue| queue.delay_s).reduce(f64::max);
        let price_s = self.flows.iter().filter_map(|flow| flow.price_s).reduce(f64::max);
        let queue = match (self.mode, delay_s, price_s) {
            (Mode::Client, _, Some(s)) => format!("a price of {:.1} ms", s * 1e3),
            (Mode::Client, ..) => "no price".into(),
            (_, Some(s), _) => format!("a queue of {:.1} ms", s * 1e3),
            (_, None, _) => "an unknown queue".into(),
        };
        let unsteered =
            self.unsteered_fraction.map_or(String::new(), |part| format!(", {:.1} % not steered", 100.0 * part));
        format!("{}: {} connections, {queue}{unsteered}", self.device, self.flow_count)
    }
}

impl FlowStatus {
    /// The client's address, without its port.
    pub fn client_address(&self) -> &str {
        let address = self.client.rsplit_once(':').map_or(self.client.as_str(), |(address, _)| address);
        address.trim_start_matches('[').trim_end_matches(']')
    }
}

fn shown((address, port): (std::net::IpAddr, u16)) -> String {
    std::net::SocketAddr::new(address, port).to_string()
}

fn state(flags: u32) -> &'static str {
    match flags {
        _ if flags & FLOW_ESTABLISHED == 0 => "handshake",
        // What its client alone has ended still comes.
        _ if flags & FLOW_SERVER_ENDED != 0 => "closing",
        _ if flags & FLOW_UNHEARD != 0 => "unheard",
        _ if flags & FLOW_LIMITED != 0 => "limited",
        _ => "open",
    }
}

/// Of all bytes that were seen, the part of what is neither a steered connection's data nor its ACKs.
fn unsteered(counts: &[Count; COUNTED.len()]) -> Option<f64> {
    let [data, ack, ..] = counts;
    // What follows those that are not steered tells more of packets that are counted before.
    let kinds = COUNTED.iter().zip(counts).skip_while(|(name, _)| **name != "midstream");
    let rest: u64 = kinds.take_while(|(name, _)| **name != "stamped").map(|(_, count)| count.bytes).sum();
    let all = data.bytes + ack.bytes + rest;
    (all > 0).then(|| rest as f64 / all as f64)
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |s: Option<f64>| s.map_or("?".into(), |s| format!("{:.1} ms", s * 1e3));
        let mbps = |bps: f64| format!("{:.2} Mbit/s", bps / 1e6);
        let mode = if self.dry_run { " (dry run)" } else { "" };
        writeln!(
            f,
            "{}: {}, {} window{}{mode}, up {:.0} s",
            self.device,
            self.mode.name(),
            self.law,
            if self.target_s > 0.0 { format!(", target {}", ms(Some(self.target_s))) } else { String::new() },
            self.uptime_s
        )?;
        for queue in &self.queues {
            writeln!(
                f,
                "queue{}, by {}: {} B, {} at {} (over {}), path to clients {}, {:.0} % not steered{}{}{}",
                queue.client.as_ref().map_or(String::new(), |client| format!(" of {client}")),
                self.source,
                queue.bytes,
                ms(queue.delay_s),
                queue.rate_bps.map_or("? Mbit/s".into(), mbps),
                ms(Some(queue.horizon_s)),
                ms(queue.client_rtt_s),
                100.0 * queue.unsteered_fraction,
                queue
                    .target_s
                    .filter(|target_s| *target_s < self.target_s)
                    .map_or(String::new(), |target_s| format!(", target lowered to {}", ms(Some(target_s)))),
                queue.a_bytes.map_or(String::new(), |a| format!(", a {a} B")),
                queue.price_s.map_or(String::new(), |s| format!(", price {:.2} ms", s * 1e3))
            )?;
        }
        if let Some(fraction) = self.unsteered_fraction {
            writeln!(f, "not steered: {:.1} % of the bytes", 100.0 * fraction)?;
        }
        for (name, count) in self.counts.iter().filter(|(_, count)| count.packets > 0) {
            writeln!(f, "  {name}: {} packets, {} B", count.packets, count.bytes)?;
        }
        writeln!(f, "{} connections", self.flow_count)?;
        for flow in &self.flows {
            writeln!(
                f,
                "  {} <- {}: {}, window {} B, share {}, {} B acknowledged, path to server {}{}",
                flow.client,
                flow.server,
                flow.state,
                flow.window_bytes,
                mbps(flow.share_bps),
                flow.acknowledged_bytes,
                ms(flow.server_rtt_s),
                flow.price_s.map_or(String::new(), |s| format!(", price {:.2} ms", s * 1e3))
            )?;
        }
        Ok(())
    }
}
