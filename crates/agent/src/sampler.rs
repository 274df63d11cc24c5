// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what the agent tells at two moments to rates.

use std::collections::BTreeMap;

use lasthop_live::{LiveQueue, LiveStation, Sample};

use crate::status::{FlowStatus, Status};

/// What was acknowledged at the last look.
#[derive(Debug, Default)]
pub struct Sampler {
    seen_s: f64,
    acknowledged: BTreeMap<(String, String), u64>,
}

impl Sampler {
    /// The rate of each connection since the last look \[bit/s\], in the order of the status; zero at the first.
    pub fn rates(&mut self, status: &Status) -> Vec<f64> {
        let span_s = status.uptime_s - self.seen_s;
        let is_first = self.seen_s == 0.0;
        let key = |flow: &FlowStatus| (flow.client.clone(), flow.server.clone());
        let rate = |flow: &FlowStatus| {
            // One that was not there began since.
            let before = self.acknowledged.get(&key(flow)).copied().unwrap_or(0);
            let bytes = flow.acknowledged_bytes.saturating_sub(before);
            if is_first || span_s <= 0.0 { 0.0 } else { bytes as f64 * 8.0 / span_s }
        };
        let rates = status.flows.iter().map(rate).collect();
        self.acknowledged = status.flows.iter().map(|flow| (key(flow), flow.acknowledged_bytes)).collect();
        self.seen_s = status.uptime_s;
        rates
    }

    /// All of it, by station.
    pub fn sample(&mut self, status: &Status) -> Sample {
        let mut stations: BTreeMap<&str, LiveStation> = BTreeMap::new();
        for (flow, rate_bps) in status.flows.iter().zip(self.rates(status)) {
            let station = stations.entry(flow.client_address()).or_default();
            station.flows += 1;
            station.rate_bps += rate_bps;
            station.window_bytes += flow.window_bytes;
            station.rtt_s = [station.rtt_s, flow.rtt_s].into_iter().flatten().reduce(f64::max);
        }
        let queues = status.queues.iter().map(|queue| LiveQueue {
            name: queue.client.clone().unwrap_or_else(|| status.device.clone()),
            bytes: queue.bytes,
            delay_s: queue.delay_s,
            rate_bps: queue.rate_bps,
            price_s: queue.price_s,
        });
        Sample {
            t_s: status.uptime_s,
            queues: queues.collect(),
            stations: stations
                .into_iter()
                .map(|(name, station)| LiveStation { name: name.to_owned(), ..station })
                .collect(),
        }
    }
}
