// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run comes to: the figures of `lasthop run --json`.

use lasthop_core::stats::{Meter, Span};
use lasthop_core::units::{Duration, Instant};
use lasthop_core::wlan::Wlan;
use serde::Serialize;

use crate::host::Sender;
use crate::metrics::{coefficient_of_variation, jain, short_term_fairness};
use crate::world::World;

/// The figures of a run, over the time after the warm-up. Goodput is payload delivered in order, throughput is whole
/// IP packets; none where a figure does not apply.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The scenario's title.
    pub scenario: String,
    /// Seed of the random streams.
    pub seed: u64,
    /// Version of lasthop.
    pub version: &'static str,
    /// Length of the run \[s\].
    pub duration_s: f64,
    /// What was cut off at its start \[s\].
    pub warmup_s: f64,
    /// Events served.
    pub events: u64,
    /// Data packets that reached their receivers, over the whole run.
    pub packets: u64,
    /// A row a flow.
    pub flows: Vec<FlowSummary>,
    /// A row a queue.
    pub queues: Vec<QueueSummary>,
    /// How evenly the flows fared.
    pub fairness: Fairness,
}

/// A flow's figures.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its sender's kind.
    pub sender: &'static str,
    /// Its receiver's kind.
    pub receiver: &'static str,
    /// Goodput \[bit/s\]. What a rate-based sender loses is not sent again: its goodput is all that arrives.
    pub goodput_bps: f64,
    /// Payload delivered in order \[B\].
    pub delivered_bytes: u64,
    /// Mean round-trip time over all acknowledgements \[s\].
    pub mean_rtt_s: Option<f64>,
    /// 95th percentile of the round-trip time \[s\].
    pub p95_rtt_s: Option<f64>,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission time-outs; of a rate-based sender, those of its no-feedback timer.
    pub timeouts: u64,
    /// Start to the last acknowledgement of a transfer that ended \[s\].
    pub finish_s: Option<f64>,
    /// Mean congestion window \[B\].
    pub mean_cwnd_bytes: Option<f64>,
    /// Mean advertised window \[B\].
    pub mean_awnd_bytes: Option<f64>,
    /// Share of time in which the advertised window was the smaller.
    pub awnd_limited_fraction: Option<f64>,
    /// Coefficient of variation of the goodput in samples of 1 s.
    pub cov: Option<f64>,
    /// Bytes sent that are not new payload (headers and retransmissions), over bytes sent.
    pub overhead: Option<f64>,
}

/// A queue's figures.
#[derive(Clone, Debug, Serialize)]
pub struct QueueSummary {
    /// Its name.
    pub name: String,
    /// Mean of the bytes held.
    pub mean_bytes: f64,
    /// Mean time in the queue \[s\].
    pub mean_delay_s: Option<f64>,
    /// 95th percentile of the time in the queue \[s\].
    pub p95_delay_s: Option<f64>,
    /// Packets that found no room.
    pub drops: u64,
    /// Share of the packets that were dropped, or lost on the radio or by the link's error model.
    pub loss_rate: Option<f64>,
    /// Share of time in which nothing waited.
    pub empty_fraction: f64,
    /// What left \[bit/s\].
    pub throughput_bps: f64,
    /// Throughput over capacity; in a WLAN the share of time in which the sender's exchanges were on the air.
    pub utilisation: Option<f64>,
    /// What could have left \[bit/s\]; on a fading radio: the mean rate while it served the station.
    pub capacity_bps: Option<f64>,
}

/// How evenly the flows fared.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Fairness {
    /// Jain's index of the goodputs.
    pub jain: Option<f64>,
    /// Mean of Jain's index over intervals of 1 s.
    pub short_term: Option<f64>,
}

/// What the summary must know of a run besides its elements.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) title: String,
    pub(crate) seed: u64,
    pub(crate) span: Span,
    pub(crate) flows: Vec<FlowLabel>,
    /// Names of the links, then of the stations of each access point, then of the interfaces of each WLAN.
    pub(crate) queues: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct FlowLabel {
    pub(crate) name: String,
    pub(crate) sender: &'static str,
    pub(crate) receiver: &'static str,
    pub(crate) start: Instant,
    /// IP and TCP headers of a data segment, options included.
    pub(crate) header_bytes: u32,
}

/// Length of the intervals for CoV and short-term fairness.
pub(crate) const SAMPLE: Duration = Duration::from_secs(1);

pub(crate) fn summarise(world: &World, labels: &Labels) -> Summary {
    let span = labels.span;
    let samples = samples(world, span);
    let flows: Vec<FlowSummary> =
        labels.flows.iter().enumerate().map(|(i, label)| flow(world, label, i, &samples[i], span)).collect();
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let by_flow: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
    Summary {
        scenario: labels.title.clone(),
        seed: labels.seed,
        version: env!("CARGO_PKG_VERSION"),
        duration_s: span.until.as_secs_f64(),
        warmup_s: span.from.as_secs_f64(),
        events: world.count.events,
        packets: world.count.packets,
        fairness: Fairness { jain: jain(&goodputs), short_term: short_term_fairness(&by_flow) },
        queues: queues(world, &labels.queues),
        flows,
    }
}

/// Goodput of each flow in each whole second since the start of the span \[bit/s\].
fn samples(world: &World, span: Span) -> Vec<Vec<f64>> {
    let count = (span.length().as_nanos() / SAMPLE.as_nanos()) as usize;
    let of = |samples: &[u64]| {
        (0..count).map(|i| samples.get(i).copied().unwrap_or(0) as f64 * 8.0 / SAMPLE.as_secs_f64()).collect()
    };
    world.network.receivers.iter().map(|receiver| of(&receiver.stats().samples)).collect()
}

fn flow(world: &World, label: &FlowLabel, i: usize, samples: &[f64], span: Span) -> FlowSummary {
    let sender = &world.network.hosts[i].sender;
    let receiver = world.network.receivers[i].stats();
    let stats = sender.stats();
    let windows = match sender {
        Sender::Tcp(sender) => sender.mean_windows(span.until),
        Sender::Tfrc(_) => None,
    };
    let headers = stats.segments as f64 * label.header_bytes as f64;
    let sent = stats.payload.as_f64() + headers;
    FlowSummary {
        name: label.name.clone(),
        sender: label.sender,
        receiver: label.receiver,
        goodput_bps: receiver.delivered.as_f64() * 8.0 / span.length().as_secs_f64(),
        delivered_bytes: receiver.delivered.get(),
        mean_rtt_s: stats.rtt.mean_s(),
        p95_rtt_s: stats.rtt.quantile_s(0.95),
        retransmits: stats.retransmits,
        timeouts: stats.timeouts,
        finish_s: stats.finished.map(|at| at.saturating_since(label.start).as_secs_f64()),
        mean_cwnd_bytes: windows.map(|w| w.cwnd),
        mean_awnd_bytes: windows.map(|w| w.awnd),
        awnd_limited_fraction: windows.map(|w| w.awnd_limited),
        cov: coefficient_of_variation(samples),
        overhead: (sent > 0.0).then(|| (sent - stats.original().as_f64()) / sent),
    }
}

fn queues(world: &World, names: &[String]) -> Vec<QueueSummary> {
    let network = &world.network;
    let links = network.links.iter().map(|link| (link.meter(), Some(link.rate().as_bps() as f64), None));
    let stations = network.aps.iter().flat_map(|ap| {
        let capacity = |i| ap.capacity(i).map(|rate| rate.as_bps() as f64);
        ap.stations().iter().enumerate().map(move |(i, station)| (station.queue().meter(), capacity(i), None))
    });
    let interfaces = network.wlans.iter().flat_map(Wlan::interfaces).map(|interface| {
        let meter = interface.queue().meter();
        let share = interface.access().airtime.as_secs_f64() / meter.span().length().as_secs_f64();
        (meter, None, Some(share))
    });
    let rows = links.chain(stations).chain(interfaces).zip(names);
    rows.map(|((meter, capacity, share), name)| queue(name, meter, capacity, share)).collect()
}

fn queue(name: &str, meter: &Meter, capacity: Option<f64>, share: Option<f64>) -> QueueSummary {
    let throughput = meter.departed.as_f64() * 8.0 / meter.span().length().as_secs_f64();
    let lost = (meter.drops + meter.losses) as f64;
    QueueSummary {
        name: name.to_owned(),
        mean_bytes: meter.mean_bytes(),
        mean_delay_s: meter.delay.mean_s(),
        p95_delay_s: meter.delay.quantile_s(0.95),
        drops: meter.drops,
        loss_rate: (meter.arrivals > 0).then(|| lost / meter.arrivals as f64),
        empty_fraction: meter.empty_fraction(),
        throughput_bps: throughput,
        utilisation: share.or(capacity.filter(|c| *c > 0.0).map(|c| throughput / c)),
        capacity_bps: capacity,
    }
}
