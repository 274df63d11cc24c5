// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run comes to: the figures of `lasthop run --json`.

use lasthop_core::stats::{Meter, Span};
use lasthop_core::units::{Duration, Instant};
use lasthop_core::wlan::Wlan;
use serde::Serialize;

use crate::host::Sender;
use crate::metrics::{self, Allotted};
use crate::table::Table;
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
    /// All flows together.
    pub system: System,
    /// A row a flow.
    pub flows: Vec<FlowSummary>,
    /// A row a queue.
    pub queues: Vec<QueueSummary>,
    /// How evenly the flows fared.
    pub fairness: Fairness,
}

/// The figures of all flows together (gamma §II-A).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct System {
    /// Sum of the goodputs \[bit/s\].
    pub goodput_bps: f64,
    /// Share of the bytes sent that is not payload delivered for the first time: headers and retransmissions.
    pub overhead: Option<f64>,
    /// Mean over the flows of the coefficient of variation.
    pub cov: Option<f64>,
    /// Mean over the flows of their readers' success.
    pub success: Option<f64>,
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
    /// Coefficient of variation of the goodput in samples of 1 s, or of what the scenario says.
    pub cov: Option<f64>,
    /// Share of the bytes sent that is not payload delivered for the first time: headers and retransmissions.
    pub overhead: Option<f64>,
    /// Share of the samples in which the flow's reader got what it wanted.
    pub success: Option<f64>,
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
    /// Mean of Jain's index over the samples, each over the flows that are there.
    pub short_term: Option<f64>,
}

/// What the summary must know of a run besides its elements.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) title: String,
    pub(crate) seed: u64,
    pub(crate) span: Span,
    /// Length of the intervals in which goodput is sampled.
    pub(crate) sample: Duration,
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
    /// When it breaks off.
    pub(crate) stop: Option<Instant>,
    /// Whether it is over when all is acknowledged.
    pub(crate) is_transfer: bool,
    /// IP and TCP headers of a data segment, options included.
    pub(crate) header_bytes: u32,
    pub(crate) reader: Option<Reader>,
}

/// Who reads at a constant rate what a flow delivers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    /// What it wants \[bit/s\].
    pub(crate) rate_bps: f64,
    /// The share of it that must be exceeded.
    pub(crate) share: f64,
}

pub(crate) fn summarise(world: &World, labels: &Labels) -> Summary {
    let span = labels.span;
    let allotted = allotted(world, labels);
    let flows: Vec<FlowSummary> =
        labels.flows.iter().enumerate().map(|(i, label)| flow(world, label, i, &allotted[i], span)).collect();
    // Those that start after the end take no part.
    let present = labels.flows.iter().map(|label| label.start < span.until);
    let goodputs: Vec<f64> =
        flows.iter().zip(present).filter(|(_, present)| *present).map(|(flow, _)| flow.goodput_bps).collect();
    Summary {
        scenario: labels.title.clone(),
        seed: labels.seed,
        version: env!("CARGO_PKG_VERSION"),
        duration_s: span.until.as_secs_f64(),
        warmup_s: span.from.as_secs_f64(),
        events: world.count.events,
        packets: world.count.packets,
        fairness: Fairness { jain: metrics::jain(&goodputs), short_term: metrics::short_term_fairness(&allotted) },
        queues: queues(world, &labels.queues),
        system: system(world, labels, &flows),
        flows,
    }
}

/// The system's goodput and fairness in each interval, by the instant at which it begins.
pub(crate) fn system_table(world: &World, labels: &Labels) -> Table {
    let allotted = allotted(world, labels);
    let goodputs = metrics::allotted_system_goodput(&allotted);
    let fairness = metrics::allotted_fairness(&allotted);
    let begins = (0..goodputs.len()).map(|i| (labels.span.from + labels.sample * i as u64).as_nanos() as i64);
    let mut table = Table::default();
    table.ints("time_ns", begins);
    table.floats("goodput_bps", goodputs.iter().copied());
    table.floats("fairness", fairness.iter().map(|value| value.unwrap_or(f64::NAN)));
    table
}

/// What each flow got in each whole interval of the span.
fn allotted(world: &World, labels: &Labels) -> Vec<Allotted> {
    let span = labels.span;
    let seconds = labels.sample.as_secs_f64();
    let flows = labels.flows.iter().zip(&world.network.hosts).zip(&world.network.receivers);
    flows
        .map(|((label, host), receiver)| {
            let finished = host.sender.stats().finished.filter(|_| label.is_transfer);
            let end = [label.stop, finished].into_iter().flatten().fold(span.until, Instant::min);
            let intervals = |until: Instant| until.saturating_since(span.from).as_nanos();
            let sample = labels.sample.as_nanos();
            Allotted {
                goodput_bps: receiver.stats().samples.iter().map(|&b| metrics::goodput_bps(b, seconds)).collect(),
                active: intervals(label.start).div_ceil(sample) as usize..(intervals(end) / sample) as usize,
            }
        })
        .collect()
}

fn system(world: &World, labels: &Labels, flows: &[FlowSummary]) -> System {
    let bytes = labels.flows.iter().enumerate().map(|(i, label)| bytes(world, label, i));
    let (sent, original) = bytes.fold((0.0, 0.0), |(sent, original), (s, o)| (sent + s, original + o));
    System {
        goodput_bps: flows.iter().map(|flow| flow.goodput_bps).sum(),
        overhead: metrics::overhead(sent, original),
        cov: metrics::mean(flows.iter().map(|flow| flow.cov)),
        success: metrics::mean(flows.iter().map(|flow| flow.success)),
    }
}

/// What a flow sent, headers included, and the payload of it that reached the application \[B\]. With a warm-up more may
/// arrive in the span than was sent in it: what was sent for the first time bounds it.
fn bytes(world: &World, label: &FlowLabel, i: usize) -> (f64, f64) {
    let stats = world.network.hosts[i].sender.stats();
    let headers = stats.segments as f64 * f64::from(label.header_bytes);
    let delivered = world.network.receivers[i].stats().delivered;
    (stats.payload.as_f64() + headers, delivered.min(stats.original()).as_f64())
}

fn flow(world: &World, label: &FlowLabel, i: usize, allotted: &Allotted, span: Span) -> FlowSummary {
    let sender = &world.network.hosts[i].sender;
    let receiver = world.network.receivers[i].stats();
    let stats = sender.stats();
    let windows = match sender {
        Sender::Tcp(sender) => sender.mean_windows(span.until),
        Sender::Tfrc(_) => None,
    };
    let (sent, original) = bytes(world, label, i);
    let active = allotted.active();
    FlowSummary {
        name: label.name.clone(),
        sender: label.sender,
        receiver: label.receiver,
        goodput_bps: metrics::goodput_bps(receiver.delivered.get(), span.length().as_secs_f64()),
        delivered_bytes: receiver.delivered.get(),
        mean_rtt_s: stats.rtt.mean_s(),
        p95_rtt_s: stats.rtt.quantile_s(0.95),
        retransmits: stats.retransmits,
        timeouts: stats.timeouts,
        finish_s: stats.finished.filter(|_| label.is_transfer).map(|at| at.saturating_since(label.start).as_secs_f64()),
        mean_cwnd_bytes: windows.map(|w| w.cwnd),
        mean_awnd_bytes: windows.map(|w| w.awnd),
        awnd_limited_fraction: windows.map(|w| w.awnd_limited),
        cov: metrics::coefficient_of_variation(active),
        overhead: metrics::overhead(sent, original),
        success: label.reader.and_then(|r| metrics::application_success(active, r.rate_bps, r.share)),
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
