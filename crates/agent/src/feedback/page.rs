// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page and the metrics of a router or a host, at an address of this machine alone.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use lasthop_live::{History, LiveQueue, Sample, Server};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use serde_json::Value;

use crate::exposition::{LabelSet, Real, TYPE, tell, written};

/// How often it is brought up to date.
const EVERY_NS: u64 = 1_000_000_000;
/// What is told of a status: key, meaning, and whether it only grows.
const FIELDS: [(&str, &str, bool); 15] = [
    ("uptime_s", "Since it began", false),
    ("capacity_bps", "C, what the router takes the line for", false),
    ("rate_bps", "R, what it tells each flow", false),
    ("input_bps", "y, what came in the last interval", false),
    ("flows", "N, how many flows it reckons with", false),
    ("interval_s", "T or d, its control interval", false),
    ("queue_bytes", "What always waits", false),
    ("packets", "Packets that came", true),
    ("bytes", "Their bytes on the wire", true),
    ("asked", "Pieces of one or more packets that asked", true),
    ("lowered", "Those that asked for more than they were granted", true),
    ("offered", "Connections that have offered the option", true),
    ("agreed", "Connections whose far end has it as well", true),
    ("told", "Those that a router has spoken to", true),
    ("cramped", "Segments without room for all of the option", true),
];

/// What is shown, and its server.
pub struct FeedbackPage {
    history: Arc<History>,
    latest: Arc<Mutex<Option<Value>>>,
    _server: Server,
    next_ns: u64,
}

impl FeedbackPage {
    /// Listens at an address.
    ///
    /// # Errors
    /// If it is not one of this machine alone, or another has it.
    pub fn open(address: &str, title: &str) -> Result<Self> {
        let wanted = "wanted an address of this machine alone and a port, such as 127.0.0.1:9469";
        let at: SocketAddr = lasthop_live::loopback(address).ok_or_else(|| anyhow!("--metrics {address}: {wanted}"))?;
        let history = Arc::new(History::new(title, None));
        let latest = Arc::new(Mutex::<Option<Value>>::default());
        let told = Arc::clone(&latest);
        let more = move |path: &str| {
            let told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let status = told.as_ref()?;
            match path {
                "/metrics" => Some((TYPE, text(status))),
                "/status.json" => Some(("application/json", status.to_string())),
                _ => None,
            }
        };
        let server = Server::start(at, Arc::clone(&history), more)
            .with_context(|| format!("--metrics {address}: cannot listen there"))?;
        Ok(Self { history, latest, _server: server, next_ns: 0 })
    }

    /// Whether it is to be brought up to date.
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// Takes over how it was at `now_ns`.
    pub fn show(&mut self, status: Value, now_ns: u64) {
        let number = |key: &str| status.get(key).and_then(Value::as_f64);
        let queue = number("queue_bytes").map(|bytes| LiveQueue {
            name: status["device"].as_str().unwrap_or_default().to_owned(),
            bytes: bytes as u64,
            delay_s: number("capacity_bps").filter(|bps| *bps > 0.0).map(|bps| 8.0 * bytes / bps),
            rate_bps: number("capacity_bps"),
            price_s: None,
        });
        let t_s = number("uptime_s").unwrap_or(0.0);
        self.history.add(Sample { t_s, queues: queue.into_iter().collect(), stations: vec![] });
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
        self.next_ns = now_ns + EVERY_NS;
    }
}

/// The numbers of a status, as text of `OpenMetrics` in base units.
fn text(status: &Value) -> String {
    let mut registry = Registry::with_prefix("lasthop_agent");
    let word = |key: &str| status.get(key).and_then(Value::as_str).map(|value| (key.to_owned(), value.to_owned()));
    let labels: LabelSet = ["law", "device", "cgroup"].into_iter().filter_map(word).collect();
    for (key, help, grows) in FIELDS {
        let Some(value) = status.get(key).and_then(Value::as_f64) else { continue };
        let (name, value) = match (key.strip_suffix("_bps"), key.strip_suffix("_s")) {
            (Some(stem), _) => (format!("feedback_{stem}_bytes_per_second"), value / 8.0),
            (None, Some(stem)) => (format!("feedback_{stem}_seconds"), value),
            (None, None) => (format!("feedback_{key}"), value),
        };
        let values = [(labels.clone(), value)];
        if grows {
            tell::<Counter<f64, AtomicU64>, _>(&mut registry, &name, help, values);
        } else {
            tell::<Real, _>(&mut registry, &name, help, values);
        }
    }
    written(&registry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_base_units() {
        let status = serde_json::json!({
            "law": "qfcp", "device": "lan", "pid": 7, "capacity_bps": 8000, "interval_s": 0.5, "asked": 3, "dry_run": false,
        });
        let text = text(&status);
        let has = |line: &str| assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        has("lasthop_agent_feedback_capacity_bytes_per_second{law=\"qfcp\",device=\"lan\"} 1000.0");
        has("lasthop_agent_feedback_interval_seconds{law=\"qfcp\",device=\"lan\"} 0.5");
        has("lasthop_agent_feedback_asked_total{law=\"qfcp\",device=\"lan\"} 3.0");
        assert!(!text.contains("pid") && !text.contains("dry_run"));
    }

    #[test]
    fn it_is_for_this_machine_alone() {
        let refused = FeedbackPage::open("0.0.0.0:9469", "lan").map(drop).unwrap_err().to_string();
        assert!(refused.starts_with("--metrics 0.0.0.0:9469: wanted an address of this machine alone"), "{refused}");
    }
}
