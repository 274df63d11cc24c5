// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run comes to: the figures of `lasthop run --json`.

use std::borrow::Cow;

use lasthop_core::model::fairness::jain;
use lasthop_core::packet::Packet;
use lasthop_core::stats::{Meter, Span};
use lasthop_core::tcp::{ReceiverStats, SenderStats, WindowMeans};
use lasthop_core::units::{Duration, Instant};
use lasthop_core::wlan::Wlan;
use serde::Serialize;

use crate::host::Sender;
use crate::metrics::{self, Allotted};
use crate::network::{Network, Traveller};
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
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
    /// How well real time was kept; none of a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
}

/// How well an emulation kept real time.
#[derive(Clone, Debug, Serialize)]
pub struct Emulation {
    /// Packets that left the network into a kernel.
    pub packets: u64,
    /// Processor time of the thread that relays them \[s\]. What kernels do with a packet that they are handed is part of it.
    pub cpu_s: f64,
    /// How much later than due half of them left \[s\].
    pub lag_p50_s: f64,
    /// How much later than due all but one in a hundred left at most \[s\].
    pub lag_p99_s: f64,
    /// The greatest lag \[s\].
    pub lag_max_s: f64,
    /// Packets that came too fast: the kernel's queue in front of the emulator was full, or a gigabyte was under way.
    pub overruns: u64,
    /// Packets that no route knows: to or from addresses that are nobody's.
    pub strays: u64,
    /// Whether the emulator ran with real-time priority and locked memory.
    pub realtime: bool,
    /// Congestion control of the kernel, by flow.
    pub congestion_control: Vec<String>,
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
    pub(crate) sender: Cow<'static, str>,
    pub(crate) receiver: &'static str,
    pub(crate) start: Instant,
    /// When it breaks off.
    pub(crate) stop: Option<Instant>,
    /// Whether it is over when all is acknowledged.
    pub(crate) is_transfer: bool,
    /// IP and TCP headers of a data segment, options included.
    pub(crate) header_bytes: u32,
    /// Whether its receiver sends selective acknowledgements.
    pub(crate) sack: bool,
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

/// What a run's elements counted.
pub(crate) struct Counted<'a, P> {
    pub(crate) network: &'a Network<P>,
    /// Data packets that reached their receivers.
    pub(crate) packets: u64,
    /// A row a flow.
    pub(crate) flows: Vec<CountedFlow<'a>>,
}

/// What the ends of a flow counted.
pub(crate) struct CountedFlow<'a> {
    pub(crate) sender: &'a SenderStats,
    pub(crate) receiver: &'a ReceiverStats,
    pub(crate) windows: Option<WindowMeans>,
}

impl<'a> Counted<'a, Packet> {
    /// What a simulated run counted.
    pub(crate) fn of(world: &'a World) -> Self {
        let until = world.hosts.end;
        let ends = world.hosts.hosts.iter().zip(&world.hosts.receivers);
        let flows = ends.map(|(host, receiver)| CountedFlow {
            sender: host.sender.stats(),
            receiver: receiver.stats(),
            windows: match &host.sender {
                Sender::Tcp(sender) => sender.mean_windows(until),
                Sender::Tfrc(_) => None,
            },
        });
        Self { network: &world.network, packets: world.hosts.packets, flows: flows.collect() }
    }
}

pub(crate) fn summarise<P: Traveller>(counted: &Counted<'_, P>, labels: &Labels) -> Summary {
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
        events: counted.network.served,
        packets: counted.packets,
        fairness: Fairness { jain: jain(&goodputs), short_term: metrics::short_term_fairness(&allotted) },
        queues: queues(counted.network, &labels.queues),
        system: system(&counted.flows, labels, &flows),
        notes: absent(labels).into_iter().collect(),
        emulation: None,
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
pub(crate) fn system_table<P>(counted: &Counted<'_, P>, labels: &Labels) -> Table {
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
        goodput_bps: flows.iter().map(|flow| flow.goodput_bps).sum(),
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

fn queues<P: Traveller>(network: &Network<P>, names: &[String]) -> Vec<QueueSummary> {
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
