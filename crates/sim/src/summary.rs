// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run comes to: the figures of `lasthop run --json`.

use std::borrow::Cow;

use lasthop_core::model::fairness::jain;
use lasthop_core::packet::Parcel;
use lasthop_core::stats::Span;
use lasthop_core::tcp::{ReceiverStats, SenderStats, WindowMeans};
use lasthop_core::units::{Duration, Instant};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::{self, Allotted};
use crate::node::{Node, QueueTotals};
use crate::table::Table;

/// The figures of a run, over the time after the warm-up. Goodput is payload delivered in order, throughput is whole
/// IP packets; none where a figure does not apply.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
}

/// The figures of all flows together (gamma §II-A).
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its sender's kind.
    pub sender: Cow<'static, str>,
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
    /// Mean advertised window \[B\]; none where nobody bounds it.
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    /// Share of the packets that were dropped, or lost on the radio or by the link's error model. Packets count as they come, losses
    /// as they happen: of what waits as the warm-up ends only the losses count, and of what waits at the end none do.
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
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Fairness {
    /// Jain's index of the goodputs; none of a flow alone.
    pub jain: Option<f64>,
    /// Mean of Jain's index over the samples, each over the flows that are there.
    pub short_term: Option<f64>,
}

/// The JSON Schema of the summary: keys, types and what they mean.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Summary)
}

/// What the summary must know of a run besides its elements.
#[derive(Clone, Debug)]
pub struct Labels {
    pub(crate) title: String,
    pub(crate) seed: u64,
    /// Whether anything depends on the seed.
    pub(crate) is_random: bool,
    /// What is measured.
    pub span: Span,
    /// Length of the intervals in which goodput is sampled.
    pub sample: Duration,
    /// A row a flow.
    pub flows: Vec<FlowLabel>,
    /// What the scenario says and nothing reads.
    pub(crate) notes: Vec<String>,
}

/// What the summary must know of a flow.
#[derive(Clone, Debug)]
pub struct FlowLabel {
    /// Its name.
    pub name: String,
    /// Its sender's kind.
    pub sender: Cow<'static, str>,
    pub(crate) receiver: &'static str,
    /// When it opens.
    pub start: Instant,
    /// When it breaks off.
    pub(crate) stop: Option<Instant>,
    /// Whether it is over when all is acknowledged.
    pub(crate) is_transfer: bool,
    /// IP and TCP headers of a data segment, options included.
    pub(crate) header_bytes: u32,
    /// Whether its receiver sends selective acknowledgements.
    pub(crate) sack: bool,
    pub(crate) reader: Option<ReaderLabel>,
}

/// Who reads at a constant rate what a flow delivers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReaderLabel {
    /// What it wants \[bit/s\].
    pub(crate) rate_bps: f64,
    /// The share of it that must be exceeded.
    pub(crate) share: f64,
}

/// What a run's elements counted.
#[derive(Debug)]
pub struct CountedRun<'a, P> {
    /// Links, access points and WLANs.
    pub nodes: Vec<&'a Node<P>>,
    /// Events served.
    pub events: u64,
    /// Data packets that reached their receivers.
    pub packets: u64,
    /// A row a flow.
    pub flows: Vec<CountedFlow<'a>>,
}

/// What the ends of a flow counted.
#[derive(Debug)]
pub struct CountedFlow<'a> {
    /// The sending side.
    pub sender: &'a SenderStats,
    /// The receiving side.
    pub receiver: &'a ReceiverStats,
    /// Means of the windows, where there are windows.
    pub windows: Option<WindowMeans>,
}

pub(crate) fn summarise<P: Parcel>(counted: &CountedRun<'_, P>, labels: &Labels) -> Summary {
    let span = labels.span;
    let allotted = allotted(&counted.flows, labels);
    let ends = labels.flows.iter().zip(&counted.flows).zip(&allotted);
    let flows: Vec<FlowSummary> = ends.map(|((label, ends), allotted)| flow(ends, label, allotted, span)).collect();
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
        events: counted.events,
        packets: counted.packets,
        fairness: Fairness { jain: jain(&goodputs), short_term: metrics::short_term_fairness(&allotted) },
        queues: counted.nodes.iter().copied().flat_map(queues).collect(),
        system: system(&counted.flows, labels, &flows),
        notes: absent(labels).into_iter().chain(labels.notes.iter().cloned()).collect(),
        flows,
    }
}

/// Says which flows took no part, as they start after the end.
fn absent(labels: &Labels) -> Option<String> {
    let absent: Vec<_> = labels.flows.iter().filter(|flow| flow.start >= labels.span.until).collect();
    let first = absent.first()?;
    let others = if absent.len() > 1 { format!(" and {} more", absent.len() - 1) } else { String::new() };
    let (at, end) = (first.start, labels.span.until);
    Some(format!("flow {:?} (start {at:?}){others}: no part in the run, which ends at {end:?}", first.name))
}

/// The system's goodput and fairness in each interval, by the instant at which it begins.
pub(crate) fn system_table<P>(counted: &CountedRun<'_, P>, labels: &Labels) -> Table {
    let allotted = allotted(&counted.flows, labels);
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
fn allotted(ends: &[CountedFlow<'_>], labels: &Labels) -> Vec<Allotted> {
    let span = labels.span;
    let seconds = labels.sample.as_secs_f64();
    let flows = labels.flows.iter().zip(ends);
    flows
        .map(|(label, CountedFlow { sender, receiver, .. })| {
            let finished = sender.finished.filter(|_| label.is_transfer);
            let end = [label.stop, finished].into_iter().flatten().fold(span.until, Instant::min);
            let intervals = |until: Instant| until.saturating_since(span.from).as_nanos();
            let sample = labels.sample.as_nanos();
            Allotted {
                goodput_bps: receiver.samples.iter().map(|&b| metrics::goodput_bps(b, seconds)).collect(),
                active: intervals(label.start).div_ceil(sample) as usize..(intervals(end) / sample) as usize,
            }
        })
        .collect()
}

fn system(ends: &[CountedFlow<'_>], labels: &Labels, flows: &[FlowSummary]) -> System {
    let bytes = labels.flows.iter().zip(ends).map(|(label, ends)| bytes(ends, label));
    let (sent, original) = bytes.fold((0.0, 0.0), |(sent, original), (s, o)| (sent + s, original + o));
    System {
        // The sum of no flows at all is -0.
        goodput_bps: flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() + 0.0,
        overhead: metrics::overhead(sent, original),
        cov: metrics::mean(flows.iter().map(|flow| flow.cov)),
        success: metrics::mean(flows.iter().map(|flow| flow.success)),
    }
}

/// What a flow sent, headers included, and the payload of it that reached the application \[B\]. With a warm-up more may
/// arrive in the span than was sent in it: what was sent for the first time bounds it.
fn bytes(ends: &CountedFlow<'_>, label: &FlowLabel) -> (f64, f64) {
    let stats = ends.sender;
    let headers = stats.segments as f64 * f64::from(label.header_bytes);
    (stats.payload.as_f64() + headers, ends.receiver.delivered.min(stats.original()).as_f64())
}

fn flow(ends: &CountedFlow<'_>, label: &FlowLabel, allotted: &Allotted, span: Span) -> FlowSummary {
    let &CountedFlow { sender: stats, receiver, windows } = ends;
    let (sent, original) = bytes(ends, label);
    let active = allotted.active();
    FlowSummary {
        name: label.name.clone(),
        sender: label.sender.clone(),
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

fn queues<P: Parcel>(node: &Node<P>) -> impl Iterator<Item = QueueSummary> + '_ {
    (0..node.queues()).map(|i| queue(node.totals(i)))
}

fn queue(totals: QueueTotals<'_>) -> QueueSummary {
    let QueueTotals { name, meter, capacity_bps: capacity, air_share } = totals;
    let throughput = meter.departed.as_f64() * 8.0 / meter.span().length().as_secs_f64();
    QueueSummary {
        name: name.to_owned(),
        mean_bytes: meter.mean_bytes(),
        mean_delay_s: meter.delay.mean_s(),
        p95_delay_s: meter.delay.quantile_s(0.95),
        drops: meter.drops,
        loss_rate: meter.loss_rate(),
        empty_fraction: meter.empty_fraction(),
        throughput_bps: throughput,
        utilisation: air_share.or(capacity.filter(|c| *c > 0.0).map(|c| throughput / c)),
        capacity_bps: capacity,
    }
}
