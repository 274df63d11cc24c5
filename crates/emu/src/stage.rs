// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario set up for real time: its network, and what stands at the ends of its flows.

use std::path::Path;

use lasthop_core::app::App;
use lasthop_core::app::AppParams;
use lasthop_core::packet::Packet;
use lasthop_core::stats::Span;
use lasthop_core::tcp::{ReceiverStats, SenderStats, WindowMeans};
use lasthop_core::units::{Bytes, Duration, Instant};
use lasthop_scenario::{AccessPointSpec, ReceiverSpec, Scenario, ScenarioError, SenderSpec, effective, parse};
use lasthop_sim::assemble::Assembly;
use lasthop_sim::network::{Network, Traveller};
use lasthop_sim::{CountedFlow, CountedRun, FlowSample, Labels, Outcome, Recorder, Run};

/// How long an emulation without an end of its own may last: a hundred days.
const ENDLESS: Duration = Duration::from_secs(100 * 86_400);

/// A scenario that has been set up for real time.
#[derive(Debug)]
pub(crate) struct Stage<P> {
    network: Option<Network<P>>,
    /// The flows, in the order of their streams.
    pub(crate) flows: Vec<StageFlow>,
    /// What is measured.
    pub(crate) span: Span,
    /// Length of the intervals in which goodput is sampled.
    pub(crate) sample: Duration,
    /// When windows and queues are sampled first, and how often; none if they are not.
    pub(crate) probe: Option<SampleTimes>,
    /// The first access point and its uplink, by their numbers among the nodes.
    pub(crate) first_access_point: Option<(u32, Option<u32>)>,
    /// Whether there is a gateway in front of some access point.
    pub(crate) has_gateway: bool,
    text: String,
    labels: Labels,
    /// For whoever drives the network; it comes back by [`finish`](Self::finish).
    pub(crate) recorder: Option<Recorder>,
}

/// Checks a scenario without running it. One with senders of the kernel is checked for real time.
///
/// # Errors
/// One line that names the key, its value and what is wanted.
pub fn check(text: &str, directory: &Path, overrides: &[(String, String)]) -> Result<(), ScenarioError> {
    let scenario = Scenario::from_toml(text, overrides)?;
    if scenario.flow.iter().any(|flow| matches!(flow.sender, SenderSpec::Kernel(_))) {
        Stage::<Packet>::new(text, directory, overrides, None, (false, false)).map(|_| ())
    } else {
        Run::new(text, directory, overrides, None).map(|_| ())
    }
}

/// What stands at the ends of a flow.
#[derive(Debug)]
pub(crate) struct StageFlow {
    /// Its name.
    pub(crate) name: String,
    /// The place of its table among the scenario's.
    pub(crate) table: usize,
    /// The host on the wireless side, or at the path's end.
    pub(crate) host: String,
    /// The node at which its path begins, if that may be a host as well.
    pub(crate) begins_at: Option<String>,
    /// Whether the data comes from that host.
    pub(crate) is_upload: bool,
    /// Whether its data pass the gateway.
    pub(crate) has_gateway: bool,
    /// Size of a full packet.
    pub(crate) packet: Bytes,
    /// What the scenario says of its sender.
    pub(crate) sender: SenderSpec,
    /// What the scenario says of its receiver.
    pub(crate) receiver: ReceiverSpec,
    /// When it opens, writes and closes.
    pub(crate) app: App,
}

/// When flows are sampled by a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleTimes {
    /// When the next sample is due.
    next: Instant,
    pub(crate) every: Duration,
    last: Instant,
}

impl SampleTimes {
    fn of(recorder: &Recorder) -> Self {
        Self { next: recorder.first(), every: recorder.every(), last: recorder.last() }
    }

    /// Whether a sample is due; if so, the next one is, where it would be had this one been in time.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        if now < self.next || now > self.last {
            return false;
        }
        self.next += self.every * (1 + (now - self.next).as_nanos() / self.every.as_nanos());
        true
    }
}

/// What the ends of a flow counted in real time.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageCount {
    /// Its congestion control.
    pub(crate) congestion_control: String,
    /// The sending side.
    pub(crate) sender: SenderStats,
    /// The receiving side.
    pub(crate) receiver: ReceiverStats,
    /// Means of the windows.
    pub(crate) windows: Option<WindowMeans>,
    /// Samples of windows, if they were asked for.
    pub(crate) samples: Vec<FlowSample>,
}

impl<P: Traveller> Stage<P> {
    /// Sets up the scenario `text` with `overrides` put in. Without a `seed` the scenario's holds. Files that the scenario
    /// names are looked for in `directory`. An `endless` one ends when it is told to. In front of access points that have a
    /// proxy there is a gateway, and by `proxy` in front of those that have a price.
    ///
    /// # Errors
    /// One line that names the key, its value and what is wanted.
    pub(crate) fn new(
        text: &str,
        directory: &Path,
        overrides: &[(String, String)],
        seed: Option<u64>,
        (endless, proxy): (bool, bool),
    ) -> Result<Self, ScenarioError> {
        let text = effective(text, overrides)?;
        let mut scenario: Scenario = parse(&text)?;
        if endless {
            make_endless(&mut scenario);
        }
        let has_price = |ap: &AccessPointSpec| {
            ap.price.is_some() || ap.station.iter().any(|station| station.common.price.is_some())
        };
        let has_one = |ap: &AccessPointSpec| ap.proxy.is_some() || proxy && has_price(ap);
        let gateways: Vec<_> = scenario.ap.iter().map(has_one).collect();
        let has_gateway = gateways.contains(&true);
        let seed = seed.unwrap_or(scenario.seed);
        let mut built: Assembly<P> = Assembly::new(&scenario, seed, directory, (!endless, gateways))?;
        let mut flows = vec![];
        for (label, flow) in built.labels.flows.iter().zip(std::mem::take(&mut built.flows)) {
            let (table, app) = (flow.table, flow.into_app());
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
                begins_at: spec.path.first().filter(|_| spec.station.is_none() && spec.source.is_none()).cloned(),
                is_upload,
                has_gateway: false,
                packet: spec.packet,
                sender: spec.sender.clone(),
                receiver: spec.receiver.clone(),
                app,
            });
        }
        let mut network = built.take_network(0);
        for (stream, flow) in (0..).zip(&mut flows) {
            flow.has_gateway = network.has_gateway(stream);
        }
        let Assembly { access_points, labels, recorder, .. } = built;
        let probe = recorder.as_ref().map(SampleTimes::of);
        network.schedule_end(0, probe.map(|probe| probe.next));
        Ok(Self {
            network: Some(network),
            flows,
            span: labels.span,
            sample: labels.sample,
            probe,
            first_access_point: access_points.first().copied(),
            has_gateway,
            text,
            labels,
            recorder,
        })
    }

    /// Takes the network and the flows out, for whoever drives them; the network comes back by [`finish`](Self::finish).
    ///
    /// # Panics
    /// If they have been taken before.
    pub(crate) fn take_network(&mut self) -> (Network<P>, Vec<StageFlow>) {
        let network = self.network.take().expect("the network is taken once");
        (network, std::mem::take(&mut self.flows))
    }

    /// Nobody opens the scenario's flows: that some would have begun later is nothing to tell.
    pub(crate) fn without_flows(&mut self) {
        for label in &mut self.labels.flows {
            label.start = Instant::ZERO;
        }
    }

    /// The run was over at `now`; what it gave.
    pub(crate) fn finish(
        mut self,
        mut network: Network<P>,
        now: Instant,
        recorder: Option<Recorder>,
        counts: &[StageCount],
    ) -> Outcome {
        let now = now.min(self.span.until);
        network.finish(now);
        self.labels.span.until = now;
        let mut recorder = recorder;
        for (label, count) in self.labels.flows.iter_mut().zip(counts) {
            if !count.congestion_control.is_empty() {
                label.sender = count.congestion_control.clone().into();
            }
            if let Some(recorder) = &mut recorder {
                // The thread of the flows may have ended a little later.
                recorder.extend_flows(count.samples.iter().copied().filter(|sample| sample.at <= now));
            }
        }
        if let Some(recorder) = &mut recorder {
            recorder.sort_flows();
        }
        let flows = counts.iter().map(|count| CountedFlow {
            sender: &count.sender,
            receiver: &count.receiver,
            windows: count.windows,
        });
        let packets = counts.iter().map(|count| count.receiver.packets).sum();
        let (nodes, events) = (network.nodes().iter().collect(), network.served());
        let counted = CountedRun { nodes, events, packets, flows: flows.collect() };
        Outcome::new(self.text, &counted, &self.labels, recorder)
    }
}

/// Lets the run go on until it is told to end; arrivals of transfers end where they did.
fn make_endless(scenario: &mut Scenario) {
    let end = scenario.duration;
    for flow in &mut scenario.flow {
        if let AppParams::Poisson(poisson) = &mut flow.app {
            poisson.until.get_or_insert(end);
        }
    }
    scenario.duration = ENDLESS;
    // In a hundred days there is room for so many samples.
    let flows = scenario.flow.iter().map(|flow| u64::from(flow.count)).sum();
    scenario.sample = scenario.sample.max(Duration::from_secs(flows));
}

#[cfg(test)]
mod tests {
    use lasthop_sim::network::{Ends, Place};

    use super::*;

    const TEXT: &str = r#"
        duration = "1 s"
        [[ap]]
        name = "ap"
        delay = "5 ms"
        radio = { kind = "constant", rate = "10 Mbit/s" }
        price = "share"
        [[flow]]
        name = "flow"
        station = "phone"
        rtt = "20 ms"
    "#;

    /// Ends that write down where packets come, and when; a gateway's go on at once.
    #[derive(Default)]
    struct Notes(Vec<(Place, Instant)>);

    impl Ends<Packet> for Notes {
        fn take(&mut self, network: &mut Network<Packet>, place: Place, now: Instant, packet: Packet) {
            self.0.push((place, now));
            if let Place::Gateway(_) = place {
                let is_data = packet.payload() > 0;
                assert!(network.resume(self, now, is_data, packet));
            }
        }

        fn answer(&mut self, _: &mut Network<Packet>, _: Instant, _: &Packet) {}

        fn wake(&mut self, _: &mut Network<Packet>, _: u32, _: Instant) {}
    }

    /// Where a segment and an acknowledgement come that set out at once.
    fn travelled(has_gateway: bool) -> (Network<Packet>, Vec<(Place, Instant)>) {
        let mut stage: Stage<Packet> = Stage::new(TEXT, Path::new("."), &[], None, (false, has_gateway)).unwrap();
        assert_eq!(stage.has_gateway, has_gateway);
        let (mut network, _) = stage.take_network();
        let mut notes = Notes::default();
        network.send(&mut notes, Instant::ZERO, Packet::data(0, 0, 1460, 40, Instant::ZERO));
        network.send_back(&mut notes, Instant::ZERO, Packet::ack(0, 1, Bytes::new(1000), 40, Instant::ZERO));
        network.serve(&mut notes, Instant::ZERO + Duration::from_secs(1), u64::MAX);
        (network, notes.0)
    }

    #[test]
    fn a_gateway_that_lets_all_pass_changes_no_instant() {
        let ((mut network, plain), (_, passed)) = (travelled(false), travelled(true));
        // The acknowledgement comes to it behind the access point, the segment before: 5 and 10 ms.
        let at_gateway = |(place, at): &(Place, Instant)| matches!(place, Place::Gateway(_)).then_some(*at);
        let met: Vec<_> = passed.iter().filter_map(at_gateway).collect();
        assert_eq!(met, [5, 10].map(|ms| Instant::ZERO + Duration::from_millis(ms)));
        let ends: Vec<_> = passed.into_iter().filter(|one| at_gateway(one).is_none()).collect();
        assert_eq!((ends.len(), &ends), (2, &plain));
        // Where there is none nothing goes on from it.
        let stray = Packet::data(0, 0, 1460, 40, Instant::ZERO);
        assert!(!network.resume(&mut Notes::default(), Instant::ZERO, true, stray));
    }
}
