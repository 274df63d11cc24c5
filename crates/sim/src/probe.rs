// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samples of windows, queues and radios at regular intervals.

use lasthop_core::element::Element;
use lasthop_core::marker::Marker;
use lasthop_core::units::{Bytes, Duration, Instant};

use crate::host::{Host, Receiver, Sender};
use crate::network::{Network, Traveller};
use crate::table::Table;

/// What was sampled so far.
#[derive(Debug)]
pub struct Recorder {
    every: Duration,
    from: Instant,
    flows: Vec<FlowSample>,
    queues: Vec<QueueSample>,
}

/// A flow's windows \[B\] at an instant.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// When.
    pub at: Instant,
    /// The flow's number.
    pub flow: u32,
    /// Congestion window.
    pub cwnd: u64,
    /// Advertised window.
    pub awnd: u64,
    /// Slow-start threshold.
    pub ssthresh: u64,
    /// Sent and not yet acknowledged.
    pub flight: u64,
    /// Acknowledged so far.
    pub acknowledged: u64,
    /// Smoothed round-trip time \[s\]; 0: not known yet.
    pub srtt_s: f64,
    /// Segments sent again, in the measured span so far.
    pub retransmits: u64,
}

#[derive(Clone, Copy, Debug)]
struct QueueSample {
    at: Instant,
    queue: u32,
    packets: u64,
    bytes: u64,
    average: f64,
    price: f64,
    fair_rate: f64,
    capacity: f64,
    departed: u64,
    snr: f64,
    margin: f64,
}

impl Recorder {
    /// Samples each `every` from `from` on.
    pub(crate) fn new(every: Duration, from: Instant) -> Self {
        Self { every, from, flows: vec![], queues: vec![] }
    }

    pub(crate) fn first(&self) -> Instant {
        self.from
    }

    /// When the sample after that of `now` is due.
    pub(crate) fn next(&self, now: Instant) -> Instant {
        now + self.every
    }

    /// Takes in samples that were made elsewhere.
    pub(crate) fn extend_flows(&mut self, samples: &[FlowSample]) {
        self.flows.extend_from_slice(samples);
        self.flows.sort_by_key(|sample| (sample.at, sample.flow));
    }

    /// Samples simulated hosts and receivers.
    pub(crate) fn sample_flows(&mut self, now: Instant, hosts: &[Host], receivers: &[Receiver]) {
        for (flow, (host, receiver)) in hosts.iter().zip(receivers).enumerate() {
            let flow = flow as u32;
            self.flows.push(match &host.sender {
                Sender::Tcp(sender) => FlowSample {
                    at: now,
                    flow,
                    cwnd: sender.cwnd().get(),
                    awnd: sender.awnd().get(),
                    ssthresh: sender.ssthresh().get(),
                    flight: sender.flight().get(),
                    acknowledged: sender.acknowledged().get(),
                    srtt_s: sender.srtt_s(),
                    retransmits: sender.stats().retransmits,
                },
                // A rate has no window but its product with the round trip, and nobody bounds it. Nothing is acknowledged:
                // what has come stands for it.
                Sender::Tfrc(sender) => FlowSample {
                    at: now,
                    flow,
                    cwnd: sender.window().get(),
                    awnd: u64::MAX,
                    ssthresh: u64::MAX,
                    flight: 0,
                    acknowledged: match receiver {
                        Receiver::Tfrc(receiver) => receiver.delivered().get(),
                        Receiver::Tcp(_) => 0,
                    },
                    srtt_s: sender.rtt().map_or(0.0, Duration::as_secs_f64),
                    retransmits: 0,
                },
            });
        }
    }

    /// Samples queues and radios.
    pub(crate) fn sample_queues<P: Traveller>(&mut self, now: Instant, network: &mut Network<P>) {
        let links = network.links.len();
        for (i, link) in network.links.iter().enumerate() {
            let (packets, bytes) = link.waiting(now);
            let marker = link.queue().map(|queue| queue.marker());
            self.push(now, i, (packets, bytes), marker, link.departed(now).get(), (f64::NAN, f64::NAN));
        }
        let mut index = links;
        for ap in &mut network.aps {
            for station in 0..ap.stations().len() {
                let radio = ap.probe(station, now);
                let queue = ap.stations()[station].queue();
                let departed = queue.meter().departed.get();
                let channel = (radio.snr.unwrap_or(f64::NAN), radio.margin.unwrap_or(f64::NAN));
                self.push(now, index, (queue.len(), queue.bytes()), Some(queue.marker()), departed, channel);
                index += 1;
            }
        }
        for wlan in &mut network.wlans {
            // A MAC takes its next packet only when the element is asked again.
            wlan.wake(now);
            for interface in wlan.interfaces() {
                let queue = interface.queue();
                let departed = queue.meter().departed.get();
                let channel = (f64::NAN, f64::NAN);
                self.push(now, index, (queue.len(), queue.bytes()), Some(queue.marker()), departed, channel);
                index += 1;
            }
        }
    }

    fn push(
        &mut self,
        at: Instant,
        queue: usize,
        (packets, bytes): (usize, Bytes),
        marker: Option<&Marker>,
        departed: u64,
        (snr, margin): (f64, f64),
    ) {
        let (fair_rate, capacity) = marker.and_then(Marker::fair_rate).unwrap_or((f64::NAN, f64::NAN));
        self.queues.push(QueueSample {
            at,
            queue: queue as u32,
            packets: packets as u64,
            bytes: bytes.get(),
            average: marker.and_then(Marker::average_bytes).unwrap_or(f64::NAN),
            price: marker.and_then(Marker::price).unwrap_or(f64::NAN),
            fair_rate: fair_rate * 8.0,
            capacity: capacity * 8.0,
            departed,
            snr,
            margin,
        });
    }

    pub(crate) fn flow_table(&self) -> Table {
        // A window that nobody has bounded yet is shown as the greatest that fits.
        let bounded = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut table = Table::default();
        table.ints("time_ns", self.flows.iter().map(|s| s.at.as_nanos() as i64));
        table.ints("flow", self.flows.iter().map(|s| i64::from(s.flow)));
        table.ints("cwnd_bytes", self.flows.iter().map(|s| bounded(s.cwnd)));
        table.ints("awnd_bytes", self.flows.iter().map(|s| bounded(s.awnd)));
        table.ints("ssthresh_bytes", self.flows.iter().map(|s| bounded(s.ssthresh)));
        table.ints("flight_bytes", self.flows.iter().map(|s| bounded(s.flight)));
        table.ints("acknowledged_bytes", self.flows.iter().map(|s| bounded(s.acknowledged)));
        let known = |rtt: f64| if rtt > 0.0 { rtt } else { f64::NAN };
        table.floats("rtt_s", self.flows.iter().map(|s| known(s.srtt_s)));
        table.ints("retransmits", self.flows.iter().map(|s| bounded(s.retransmits)));
        table
    }

    pub(crate) fn queue_table(&self) -> Table {
        let mut table = Table::default();
        table.ints("time_ns", self.queues.iter().map(|s| s.at.as_nanos() as i64));
        table.ints("queue", self.queues.iter().map(|s| i64::from(s.queue)));
        table.ints("packets", self.queues.iter().map(|s| s.packets as i64));
        table.ints("bytes", self.queues.iter().map(|s| s.bytes as i64));
        table.floats("average_bytes", self.queues.iter().map(|s| s.average));
        table.floats("price_s", self.queues.iter().map(|s| s.price));
        table.floats("fair_rate_bps", self.queues.iter().map(|s| s.fair_rate));
        table.floats("capacity_bps", self.queues.iter().map(|s| s.capacity));
        table.ints("departed_bytes", self.queues.iter().map(|s| s.departed as i64));
        table.floats("snr", self.queues.iter().map(|s| s.snr));
        table.floats("margin", self.queues.iter().map(|s| s.margin));
        table
    }
}
