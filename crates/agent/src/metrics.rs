// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent tells Prometheus, in base units: seconds, bytes.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::exposition::{LabelSet, Real, tell, written};
use crate::status::{QueueStatus, Status};

/// All metrics, as text of `OpenMetrics`.
pub fn text(status: &Status) -> String {
    let mut all = Registry::default();
    about(&mut all, status);
    let registry = all.sub_registry_with_prefix("lasthop_agent");
    state(registry, status);
    traffic(registry, status);
    queues(registry, status);
    written(&all)
}

/// What is true of the device, of one `kind` of things there: the label's name and its value.
fn labels(status: &Status, kind: Option<(&str, &str)>) -> LabelSet {
    let device = ("device", status.device.as_str());
    let both = std::iter::once(device).chain(kind);
    both.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
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
        ("uptime_seconds", "Since it began", status.uptime_s),
        ("target_seconds", "The standing queue that is aimed at", status.target_s),
    ] {
        tell::<Real, _>(registry, name, help, [(labels(status, None), value)]);
    }
}

fn traffic(registry: &mut Registry, status: &Status) {
    let kinds = || status.counts.iter().map(|(kind, count)| (labels(status, Some(("kind", kind))), count));
    let packets = kinds().map(|(labels, count)| (labels, count.packets));
    tell::<Counter, _>(registry, "packets", "Packets by what became of them", packets);
    let bytes = kinds().map(|(labels, count)| (labels, count.bytes));
    tell::<Counter, _>(registry, "traffic_bytes", "Their bytes on the wire", bytes);
    let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let told = ["handshake", "open", "limited", "unheard", "closing"].map(|state| {
        let count = status.flows.iter().filter(|flow| flow.state == state).count();
        (labels(status, Some(("state", state))), whole(count))
    });
    tell::<Gauge, _>(registry, "told_connections", "Connections listed one by one, at most a thousand", told);
    let known = [(labels(status, None), whole(status.flow_count))];
    tell::<Gauge, _>(registry, "connections", "Known connections", known);
}

fn queues(registry: &mut Registry, status: &Status) {
    /// Name, meaning, and what is told of a queue; what is unknown is left out.
    type Reading = fn(&QueueStatus) -> Option<f64>;
    const READINGS: [(&str, &str, Reading); 5] = [
        ("queue_bytes", "What the queue holds", |queue| Some(queue.bytes as f64)),
        ("queue_delay_seconds", "How long what it holds lasts", |queue| queue.delay_s),
        ("queue_target_seconds", "How long it is to last at present", |queue| queue.target_s),
        ("queue_rate_bytes_per_second", "Its rate", |queue| queue.rate_bps.map(|bps| bps / 8.0)),
        ("client_rtt_seconds", "The path to the clients and back, without the queue", |queue| queue.client_rtt_s),
    ];
    // Without a client, all share it.
    let of = |client: &str| labels(status, Some(("client", client)));
    for (name, help, reading) in READINGS {
        let values = status
            .queues
            .iter()
            .filter_map(|queue| Some((of(queue.client.as_deref().unwrap_or_default()), reading(queue)?)));
        tell::<Real, _>(registry, name, help, values);
    }
    let windows = status.flows.iter().map(|flow| (of(flow.client_address()), flow.window_bytes as f64));
    tell::<Real, _>(registry, "window_bytes", "The windows of a client's connections that are told", windows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_told_in_base_units() {
        let queue = serde_json::json!({
            "client": "10.1.0.2", "bytes": 3000, "rate_bps": 8e6, "horizon_s": 1.0, "delay_s": 0.003, "weights": 1.0,
            "unsteered_fraction": 0.0, "target_s": 0.005, "a_bytes": null, "price_s": null, "client_rtt_s": null,
        });
        let flow = |port: u16| {
            serde_json::json!({
                "client": format!("10.1.0.2:{port}"), "server": "10.2.0.2:443", "state": "open", "weight": 1.0,
                "share_bps": 4e6, "window_bytes": 1500, "price_s": null, "mss_bytes": 1460, "forwarded_bytes": 9,
                "acknowledged_bytes": 9, "rtt_s": null, "client_rtt_s": null, "server_rtt_s": null, "ack_delay_s": 0.0,
                "idle_s": 0.0,
            })
        };
        let status: Status = serde_json::from_value(serde_json::json!({
            "version": "1", "pid": 7, "device": "lan", "mode": "proxy", "law": "rtt", "dry_run": false,
            "target_s": 0.025, "uptime_s": 60.0, "source": "outstanding", "queues": [queue],
            "counts": { "data": { "packets": 2, "bytes": 3000 } }, "unsteered_fraction": null, "flow_count": 1,
            "flows": [flow(1), flow(2)],
        }))
        .unwrap();
        let text = text(&status);
        let of = "{device=\"lan\",client=\"10.1.0.2\"}";
        for line in [
            "# UNIT lasthop_agent_uptime_seconds seconds".to_owned(),
            "lasthop_agent_target_seconds{device=\"lan\"} 0.025".to_owned(),
            "lasthop_agent_packets_total{device=\"lan\",kind=\"data\"} 2".to_owned(),
            "lasthop_agent_told_connections{device=\"lan\",state=\"open\"} 2".to_owned(),
            "lasthop_agent_told_connections{device=\"lan\",state=\"closing\"} 0".to_owned(),
            "lasthop_agent_connections{device=\"lan\"} 1".to_owned(),
            format!("lasthop_agent_queue_delay_seconds{of} 0.003"),
            format!("lasthop_agent_queue_target_seconds{of} 0.005"),
            format!("lasthop_agent_queue_rate_bytes_per_second{of} 1000000.0"),
            // Of both connections.
            format!("lasthop_agent_window_bytes{of} 3000.0"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("client_rtt_seconds{"), "{text}");
    }
}
