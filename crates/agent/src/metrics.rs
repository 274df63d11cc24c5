// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent tells Prometheus, in base units: seconds, bytes.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::status::Status;

/// The type of what [`text()`] gives.
pub const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Real = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    device: String,
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQueue {
    device: String,
    /// Empty: all clients share it.
    client: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    device: String,
    state: String,
}

/// All metrics, as text of `OpenMetrics`.
pub fn text(status: &Status) -> String {
    let mut all = Registry::default();
    about(&mut all, status);
    let registry = all.sub_registry_with_prefix("lasthop_agent");
    state(registry, status);
    traffic(registry, status);
    queues(registry, status);
    let mut text = String::new();
    // Writing to text does not fail.
    let _ = encode(&mut text, &all);
    text
}

fn about(registry: &mut Registry, status: &Status) {
    let mode = if status.dry_run { "dry-run" } else { "on" };
    let labels = [
        ("version", status.version.as_str()),
        ("device", &status.device),
        ("law", &status.law),
        ("queue", &status.source),
        ("mode", mode),
    ];
    let labels: Vec<_> = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    registry.register("lasthop_agent", "What runs", Info::new(labels));
}

fn state(registry: &mut Registry, status: &Status) {
    for (name, help, value) in [
        ("uptime", "Since it began", status.uptime_s),
        ("target", "The standing queue that is aimed at", status.target_s),
    ] {
        let family = Family::<Vec<(String, String)>, Real>::default();
        family.get_or_create(&vec![("device".into(), status.device.clone())]).set(value);
        registry.register_with_unit(name, help, Unit::Seconds, family);
    }
}

fn traffic(registry: &mut Registry, status: &Status) {
    let (packets, bytes) = (Family::<OfKind, Counter>::default(), Family::<OfKind, Counter>::default());
    for (kind, count) in &status.counts {
        let labels = OfKind { device: status.device.clone(), kind: kind.clone() };
        packets.get_or_create(&labels).inc_by(count.packets);
        bytes.get_or_create(&labels).inc_by(count.bytes);
    }
    registry.register("packets", "Packets by what became of them", packets);
    registry.register("traffic_bytes", "Their bytes on the wire", bytes);
    let connections = Family::<OfState, Gauge>::default();
    for state in ["handshake", "open", "limited", "closing"] {
        let labels = OfState { device: status.device.clone(), state: state.into() };
        let count = status.flows.iter().filter(|flow| flow.state == state).count();
        connections.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    registry.register("told_connections", "Connections listed one by one, at most a thousand", connections);
    let known = Family::<Vec<(String, String)>, Gauge>::default();
    let count = i64::try_from(status.flow_count).unwrap_or(i64::MAX);
    known.get_or_create(&vec![("device".into(), status.device.clone())]).set(count);
    registry.register("connections", "Known connections", known);
}

fn queues(registry: &mut Registry, status: &Status) {
    let family = Family::<OfQueue, Real>::default;
    let (bytes, delay, rate, rtt, windows) = (family(), family(), family(), family(), family());
    for queue in &status.queues {
        let labels = OfQueue { device: status.device.clone(), client: queue.client.clone().unwrap_or_default() };
        bytes.get_or_create(&labels).set(queue.bytes as f64);
        // What is unknown is left out.
        for (family, value) in
            [(&delay, queue.delay_s), (&rate, queue.rate_bps.map(|bps| bps / 8.0)), (&rtt, queue.client_rtt_s)]
        {
            if let Some(value) = value {
                family.get_or_create(&labels).set(value);
            }
        }
    }
    for flow in &status.flows {
        let labels = OfQueue { device: status.device.clone(), client: flow.client_address().to_owned() };
        windows.get_or_create(&labels).inc_by(flow.window_bytes as f64);
    }
    registry.register("queue_bytes", "What the queue holds", bytes);
    registry.register_with_unit("queue_delay", "How long what it holds lasts", Unit::Seconds, delay);
    registry.register("queue_rate_bytes_per_second", "Its rate", rate);
    registry.register_with_unit(
        "client_rtt",
        "The path to the clients and back, without the queue",
        Unit::Seconds,
        rtt,
    );
    registry.register("window_bytes", "The windows of a client's connections that are told", windows);
}
