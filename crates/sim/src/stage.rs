// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario set up for real time: its network without simulated ends, and what stands at them.

use std::path::Path;

use lasthop_core::app::App;
use lasthop_core::packet::Packet;
use lasthop_core::stats::Span;
use lasthop_core::tcp::{ReceiverStats, SenderStats, WindowMeans};
use lasthop_core::units::{Bytes, Duration, Instant};

use crate::assemble::{Assembly, assemble};
use crate::network::{Network, Traveller};
use crate::probe::{FlowSample, Recorder};
use crate::run::{Outcome, Run};
use crate::scenario::{self, Scenario, ScenarioError, effective, parse};
use crate::summary::{Counted, CountedFlow, Emulation, Labels, summarise, system_table};

/// How long an emulation without an end of its own may last: a hundred days.
const ENDLESS: Duration = Duration::from_secs(100 * 86_400);

/// A scenario that has been set up for real time.
#[derive(Debug)]
pub struct Stage<P> {
    network: Option<Network<P>>,
    /// The flows, in the order of their streams.
    pub flows: Vec<StageFlow>,
    /// What is measured.
    pub span: Span,
    /// Length of the intervals in which goodput is sampled.
    pub sample: Duration,
    /// When windows and queues are sampled first, and how often; none if they are not.
    pub probe: Option<(Instant, Duration)>,
    first_access_point: Option<(u32, Option<u32>)>,
    text: String,
    labels: Labels,
    recorder: Option<Recorder>,
}

/// Checks a scenario without running it. One with senders of the kernel is checked for real time.
///
/// # Errors
/// One line that names the key, its value and what is wanted.
pub fn check(text: &str, directory: &Path, overrides: &[(String, String)]) -> Result<(), ScenarioError> {
    let scenario = Scenario::from_toml(text, overrides)?;
    if scenario.flow.iter().any(|flow| matches!(flow.sender, scenario::Sender::Kernel(_))) {
        Stage::<Packet>::new(text, directory, overrides, None, false).map(|_| ())
    } else {
        Run::new(text, directory, overrides, None).map(|_| ())
    }
}

/// What stands at the ends of a flow.
#[derive(Debug)]
pub struct StageFlow {
    /// Its name.
    pub name: String,
    /// The place of its table among the scenario's.
    pub table: usize,
    /// The host on the wireless side, or at the path's end.
    pub host: String,
    /// Whether the data comes from that host.
    pub is_upload: bool,
    /// Size of a full packet.
    pub packet: Bytes,
    /// What the scenario says of its sender.
    pub sender: scenario::Sender,
    /// What the scenario says of its receiver.
    pub receiver: scenario::Receiver,
    /// When it opens, writes and closes.
    pub app: App,
}

/// What the ends of a flow counted in real time.
#[derive(Clone, Debug, Default)]
pub struct StageCount {
    /// Its congestion control.
    pub congestion_control: String,
    /// The sending side.
    pub sender: SenderStats,
    /// The receiving side.
    pub receiver: ReceiverStats,
    /// Means of the windows.
    pub windows: Option<WindowMeans>,
    /// Samples of windows, if they were asked for.
    pub samples: Vec<FlowSample>,
}

impl<P: Traveller> Stage<P> {
    /// Sets up the scenario `text` with `overrides` put in. Without a `seed` the scenario's holds. Files that the scenario
    /// names are looked for in `directory`. An `endless` one ends when it is told to.
    ///
    /// # Errors
    /// One line that names the key, its value and what is wanted.
    pub fn new(
        text: &str,
        directory: &Path,
        overrides: &[(String, String)],
        seed: Option<u64>,
        endless: bool,
    ) -> Result<Self, ScenarioError> {
        let text = effective(text, overrides)?;
        let mut scenario: Scenario = parse(&text)?;
        if endless {
            make_endless(&mut scenario);
        }
        let built: Assembly<P> = assemble(&scenario, seed.unwrap_or(scenario.seed), directory, false)?;
        let Assembly { parts, hosts, specs, labels, .. } = built;
        let mut flows = vec![];
        for ((label, host), table) in labels.flows.iter().zip(hosts).zip(specs) {
            let spec = &scenario.flow[table];
            let (end, is_upload) = match (&spec.station, &spec.source) {
                (Some(_), Some(_)) => {
                    let message = "wanted one end behind the network and one before it, not two stations";
                    return Err(ScenarioError::at(&format!("flow[{table}].source"), message));
                }
                (Some(station), None) => (station, false),
                (None, Some(source)) => (source, true),
                (None, None) => (spec.path.last().unwrap_or(&spec.name), false),
            };
            flows.push(StageFlow {
                name: label.name.clone(),
                table,
                host: end.clone(),
                is_upload,
                packet: spec.packet.0,
                sender: spec.sender.clone(),
                receiver: spec.receiver.clone(),
                app: host.app,
            });
        }
        let probe = scenario.probe.as_ref().and_then(|p| Some((Instant::ZERO + p.from.0, p.every?.0)));
        let recorder = probe.map(|(from, every)| Recorder::new(every, from));
        let uplink = scenario.ap.first().and_then(|ap| ap.uplink.as_ref()).map(|_| scenario.ap.len() as u32);
        let first_access_point = (!scenario.ap.is_empty()).then_some((0, uplink));
        let mut network = Network::new(parts, 0);
        network.schedule_end(0, probe.map(|(from, _)| from));
        Ok(Self {
            network: Some(network),
            flows,
            span: labels.span,
            sample: labels.sample,
            probe,
            first_access_point,
            text,
            labels,
            recorder,
        })
    }

    /// Samples the queues at `now`; gives the instant of the next sample.
    pub fn sample_queues(recorder: &mut Recorder, network: &mut Network<P>, now: Instant) -> Instant {
        recorder.sample_queues(now, network);
        recorder.next(now)
    }

    /// Takes the recorder out, for whoever drives the network; it comes back by [`finish`](Self::finish).
    pub fn take_recorder(&mut self) -> Option<Recorder> {
        self.recorder.take()
    }

    /// Takes the network and the flows out, for whoever drives them; the network comes back by [`finish`](Self::finish).
    ///
    /// # Panics
    /// If they have been taken before.
    pub fn take_network(&mut self) -> (Network<P>, Vec<StageFlow>) {
        let network = self.network.take().expect("the network is taken once");
        (network, std::mem::take(&mut self.flows))
    }

    /// The numbers of the first access point and of its uplink, if there are such.
    pub fn first_access_point(&self) -> Option<(u32, Option<u32>)> {
        self.first_access_point
    }

    /// The run was over at `now`; what it gave.
    pub fn finish(
        mut self,
        mut network: Network<P>,
        now: Instant,
        recorder: Option<Recorder>,
        counts: Vec<StageCount>,
        emulation: Emulation,
    ) -> Outcome {
        let now = now.min(self.span.until);
        network.finish(now);
        self.labels.span.until = now;
        let mut recorder = recorder;
        for (label, count) in self.labels.flows.iter_mut().zip(&counts) {
            if !count.congestion_control.is_empty() {
                label.sender = count.congestion_control.clone().into();
            }
            if let Some(recorder) = &mut recorder {
                recorder.extend_flows(&count.samples);
            }
        }
        let flows = counts.iter().map(|count| CountedFlow {
            sender: &count.sender,
            receiver: &count.receiver,
            windows: count.windows,
        });
        let packets = counts.iter().map(|count| count.receiver.packets).sum();
        let counted = Counted { network: &network, packets, flows: flows.collect() };
        let mut summary = summarise(&counted, &self.labels);
        summary.emulation = Some(emulation);
        let system = system_table(&counted, &self.labels);
        Outcome { scenario: self.text, summary, system, recorder, capture: None }
    }
}

/// Lets the run go on until it is told to end; arrivals of transfers end where they did.
fn make_endless(scenario: &mut Scenario) {
    let end = scenario.duration;
    for flow in &mut scenario.flow {
        if let scenario::App::Poisson(poisson) = &mut flow.app {
            poisson.until.get_or_insert(end);
        }
    }
    scenario.duration.0 = ENDLESS;
    scenario.sample.0 = scenario.sample.0.max(Duration::from_secs(1));
}
