// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a scenario to a network of elements.

mod ahead;
mod convert;
mod keys;
mod names;
mod rate;
mod senders;
mod wireless;

use std::collections::BTreeSet;
use std::path::Path as FilePath;

use lasthop_core::ap::AccessPoint;
use lasthop_core::app::{App, AppConfig, poisson_arrivals};
use lasthop_core::line::{Jitter, Line, Path, Stage};
use lasthop_core::link::Link;
use lasthop_core::loss::Loss;
use lasthop_core::packet::Packet;
use lasthop_core::rng::Streams;
use lasthop_core::stats::Span;
use lasthop_core::tcp;
use lasthop_core::units::{Bytes, Duration, Instant, Rate};
use lasthop_core::wlan::{Direction, Wlan};

use crate::capture::{self, Capture};
use crate::events::MOST_ELEMENTS;
use crate::host::{Host, Receiver, Sender};
use crate::hosts::Hosts;
use crate::network::{End, Hop, Lane, Parts, Route, Traveller};
use crate::probe::Recorder;
use crate::quantity::LONGEST;
use crate::scenario::{self, Scenario, ScenarioError};
use crate::summary::{FlowLabel, Labels};
use crate::world::World;
use wireless::Wireless;

/// Bytes of IP and TCP headers in front of a packet's payload.
const HEADER: u64 = 40;

/// Most samples that each flow or queue may have in one run.
const MOST_SAMPLES: u64 = 10_000_000;

/// Most flows in one run: what a port and an event's number leave room for.
const MOST_FLOWS: usize = 1_000_000;

/// All of a scenario's elements, before they start.
pub(crate) struct Assembly<P> {
    pub(crate) parts: Parts<P>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) receivers: Vec<Receiver>,
    /// The private links of each flow in front of a receiver that is asked ahead of time.
    pub(crate) exits: Vec<Path>,
    /// Of each flow, which of the scenario's it belongs to.
    pub(crate) specs: Vec<usize>,
    pub(crate) labels: Labels,
}

/// Builds the run of a scenario with a seed; files are looked for in `directory`.
pub(crate) fn build(scenario: &Scenario, seed: u64, directory: &FilePath) -> Result<(World, Labels), ScenarioError> {
    if let Some(i) = scenario.flow.iter().position(|flow| matches!(flow.sender, scenario::Sender::Kernel(_))) {
        let message = "\"kernel\": a congestion control of the kernel runs in `lasthop emu` alone";
        return Err(ScenarioError::at(&format!("flow[{i}].sender"), message));
    }
    let mut built: Assembly<Packet> = assemble(scenario, seed, directory, true)?;
    if scenario.probe.is_none() {
        // A link that runs ahead would not be sampled at its instant.
        ahead::shorten(&mut built.parts, &built.exits);
    }
    let (recorder, capture) = recording(scenario, &built.labels.flows, &built.hosts)?;
    let Assembly { parts, hosts, receivers, exits, labels, .. } = built;
    let hosts = Hosts { hosts, receivers, exits, end: labels.span.until, packets: 0, recorder, capture };
    Ok((World::new(parts, hosts), labels))
}

/// Builds the elements of a scenario with a seed; files are looked for in `directory`. Only where receivers may be asked
/// `ahead` of time, those without a timer are.
pub(crate) fn assemble<P: Traveller>(
    scenario: &Scenario,
    seed: u64,
    directory: &FilePath,
    ahead: bool,
) -> Result<Assembly<P>, ScenarioError> {
    let end = Instant::ZERO + scenario.duration.0;
    let span = Span { from: Instant::ZERO + scenario.warmup.0, until: end };
    if scenario.duration.0.is_zero() {
        return Err(ScenarioError::refused("duration", "0 s", "more than 0 s"));
    }
    if span.length().is_zero() {
        let wanted = format!("less than the duration, {:?}", scenario.duration.0);
        return Err(ScenarioError::refused("warmup", format!("{:?}", scenario.warmup.0), wanted));
    }
    if scenario.sample.0.is_zero() {
        return Err(ScenarioError::refused("sample", "0 s", "more than 0 s"));
    }
    at_most_samples("sample", span.length(), scenario.sample.0)?;
    let mut builder = Builder {
        scenario,
        directory,
        streams: Streams::new(seed),
        span,
        ahead,
        parts: Parts::default(),
        hosts: vec![],
        receivers: vec![],
        exits: vec![],
        stations: vec![],
        uplinks: vec![],
        wlan_stations: vec![],
        between: vec![],
        specs: vec![],
        flows: vec![],
        names: BTreeSet::new(),
    };
    names::check_elements(scenario)?;
    builder.name_stations()?;
    let queues = builder.queue_names();
    names::check_queues(&queues)?;
    builder.links()?;
    builder.access_points()?;
    builder.wlans()?;
    for (i, flow) in scenario.flow.iter().enumerate() {
        builder.flow(flow).map_err(|e| e.within(&format!("flow[{i}]")))?;
        builder.specs.resize(builder.flows.len(), i);
    }
    if builder.flows.iter().all(|flow| flow.start >= end)
        && let Some(first) = builder.flows.first()
    {
        let wanted = format!("a start before the end of the run, {end:?}");
        return Err(ScenarioError::refused("flow[0].start", format!("{:?}", first.start), wanted));
    }
    if builder.flows.is_empty() {
        return Err(ScenarioError::at("flow", "wanted at least one"));
    }
    let parts = &builder.parts;
    let shared = parts.links.len() + parts.aps.len() + parts.wlans.len();
    let elements = parts.lanes.len() + 2 * builder.hosts.len() + shared;
    if elements >= MOST_ELEMENTS {
        return Err(ScenarioError::at("flow", format!("wanted fewer than {MOST_ELEMENTS} elements in all")));
    }
    let title = scenario.title.clone();
    let queues = queues.into_iter().map(|(_, name)| name).collect();
    let Builder { parts, hosts, receivers, exits, specs, flows, .. } = builder;
    let labels = Labels { title, seed, span, sample: scenario.sample.0, flows, queues };
    Ok(Assembly { parts, hosts, receivers, exits, specs, labels })
}

/// Refuses so short an interval that the samples would fill the memory.
fn at_most_samples(key: &str, of: Duration, interval: Duration) -> Result<(), ScenarioError> {
    if of.as_nanos() / interval.as_nanos() > MOST_SAMPLES {
        let wanted = format!("at most {MOST_SAMPLES} samples in {of:?}");
        return Err(ScenarioError::refused(key, format!("{interval:?}"), wanted));
    }
    Ok(())
}

/// Refuses a step that is so long that `first` and `steps` of it make more than a time may be.
fn not_too_long(key: &str, (first, step, steps): (Duration, Duration, u32), what: &str) -> Result<(), ScenarioError> {
    let last = u128::from(first.as_nanos()) + u128::from(step.as_nanos()) * u128::from(steps);
    if last > u128::from(LONGEST.as_nanos()) {
        let wanted = format!("less, so that no {what} more than {LONGEST:?}");
        return Err(ScenarioError::refused(key, format!("{step:?}"), wanted));
    }
    Ok(())
}

fn recording(
    scenario: &Scenario,
    flows: &[FlowLabel],
    hosts: &[Host],
) -> Result<(Option<Recorder>, Option<Capture>), ScenarioError> {
    let Some(probe) = &scenario.probe else { return Ok((None, None)) };
    if probe.every.is_some_and(|every| every.0.is_zero()) {
        return Err(ScenarioError::refused("probe.every", "0 s", "more than 0 s"));
    }
    if let Some(every) = probe.every {
        at_most_samples("probe.every", scenario.duration.0, every.0)?;
    }
    let recorder = probe.every.map(|every| Recorder::new(every.0, Instant::ZERO + probe.from.0));
    let flows = flows.iter().zip(hosts).map(|(flow, host)| capture::Options {
        is_rate_based: matches!(host.sender, Sender::Tfrc(_)),
        sack: flow.sack,
        timestamps: u64::from(flow.header_bytes) > HEADER,
    });
    Ok((recorder, probe.packets.then(|| Capture::new(flows))))
}

/// A shared element, by its place in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shared {
    Link(usize),
    Ap(usize),
    Wlan(usize, Direction),
}

struct Builder<'s, P> {
    scenario: &'s Scenario,
    directory: &'s FilePath,
    streams: Streams,
    span: Span,
    /// Whether receivers without a timer are asked ahead of time.
    ahead: bool,
    parts: Parts<P>,
    hosts: Vec<Host>,
    receivers: Vec<Receiver>,
    exits: Vec<Path>,
    /// Names of the stations of each access point, in order of their queues.
    stations: Vec<Vec<String>>,
    /// The uplink of each access point, among the access points.
    uplinks: Vec<Option<usize>>,
    /// Names of the stations of each WLAN, in order of their interfaces.
    wlan_stations: Vec<Vec<String>>,
    /// The lanes between shared elements made so far.
    between: Vec<(Shared, Shared, Duration, u32)>,
    specs: Vec<usize>,
    flows: Vec<FlowLabel>,
    /// The names of the flows so far.
    names: BTreeSet<String>,
}

impl<P: Traveller> Builder<'_, P> {
    /// A station exists as soon as its access point or a flow names it.
    fn name_stations(&mut self) -> Result<(), ScenarioError> {
        for (i, flow) in self.scenario.flow.iter().enumerate() {
            let within = |e: ScenarioError| e.within(&format!("flow[{i}]"));
            for (key, station) in [("station", &flow.station), ("source", &flow.source)] {
                if station.as_ref().is_some_and(String::is_empty) {
                    return Err(within(ScenarioError::at(key, "wanted a name")));
                }
            }
            self.last_hop(flow).map_err(within)?;
            self.first_hop(flow).map_err(within)?;
        }
        for (i, ap) in self.scenario.ap.iter().enumerate() {
            let names = ap.station.iter().map(|station| &station.common.name);
            let names = self.stations_of(Wireless::Ap(i), names, &format!("ap[{i}]"))?;
            self.stations.push(names);
        }
        for (i, wlan) in self.scenario.wlan.iter().enumerate() {
            let names = wlan.station.iter().map(|station| &station.common.name);
            let names = self.stations_of(Wireless::Wlan(i), names, &format!("wlan[{i}]"))?;
            self.wlan_stations.push(names);
        }
        Ok(())
    }

    /// Two links for each duplex one: there, and back.
    fn links(&mut self) -> Result<(), ScenarioError> {
        for (i, link) in self.scenario.link.iter().enumerate() {
            let place = format!("link[{i}]");
            if link.from == link.to {
                let key = format!("{place}.to");
                return Err(ScenarioError::refused(&key, format!("{:?}", link.to), "another node than `from`"));
            }
            let config = convert::link(link).map_err(|e| e.within(&place))?;
            let names = [link.name.clone(), names::back(&link.name)];
            for name in names.iter().take(1 + usize::from(link.duplex)) {
                let link = Link::new(name, &config, &self.streams, self.span)
                    .map_err(|e| ScenarioError::parameter(&place, keys::written(e)))?;
                self.parts.links.push(link);
            }
        }
        Ok(())
    }

    fn access_points(&mut self) -> Result<(), ScenarioError> {
        for (i, ap) in self.scenario.ap.iter().enumerate() {
            let place = format!("ap[{i}]");
            let config = convert::access_point(ap, &self.stations[i], self.directory).map_err(|e| e.within(&place))?;
            let listed: Vec<_> = ap.station.iter().map(|station| station.common.name.as_str()).collect();
            let ap = AccessPoint::new(&ap.name, &config, &self.streams, self.span)
                .map_err(|e| ScenarioError::parameter(&place, keys::of_station(e, &self.stations[i], &listed)))?;
            self.parts.aps.push(ap);
        }
        for (i, ap) in self.scenario.ap.iter().enumerate() {
            let Some(uplink) = &ap.uplink else {
                self.uplinks.push(None);
                continue;
            };
            let place = format!("ap[{i}]");
            let config =
                convert::uplink(ap, uplink, &self.stations[i], self.directory).map_err(|e| e.within(&place))?;
            let parameter = |e| ScenarioError::parameter(&place, keys::of_station(e, &self.stations[i], &[]));
            let built = AccessPoint::new(&names::up(&ap.name), &config, &self.streams, self.span);
            let built = built.map_err(|e| parameter(e).within("uplink"))?;
            self.uplinks.push(Some(self.parts.aps.len()));
            self.parts.aps.push(built);
        }
        Ok(())
    }

    fn wlans(&mut self) -> Result<(), ScenarioError> {
        for (i, wlan) in self.scenario.wlan.iter().enumerate() {
            let place = format!("wlan[{i}]");
            let config = convert::wlan(wlan, &self.wlan_stations[i]).map_err(|e| e.within(&place))?;
            let listed: Vec<_> = wlan.station.iter().map(|station| station.common.name.as_str()).collect();
            let wlan = Wlan::new(&wlan.name, &config, &self.streams, self.span)
                .map_err(|e| ScenarioError::parameter(&place, keys::of_station(e, &self.wlan_stations[i], &listed)))?;
            self.parts.wlans.push(wlan);
        }
        Ok(())
    }

    /// The link from one node to the other, and its place among the built ones.
    fn link_between(&self, from: &str, to: &str) -> Option<(Option<usize>, &scenario::Link)> {
        let mut at = 0;
        for link in &self.scenario.link {
            if link.from == from && link.to == to {
                return Some((Some(at), link));
            }
            if link.from == to && link.to == from {
                return Some((link.duplex.then_some(at + 1), link));
            }
            at += 1 + usize::from(link.duplex);
        }
        None
    }

    /// The shared elements of a flow's path and the delay behind each; there and back. Over what is not there on the way
    /// back, the delay alone remains.
    fn path(&self, flow: &scenario::Flow) -> Result<(Vec<Step>, Vec<BackHop>), ScenarioError> {
        let (mut there, mut back) = (vec![], vec![]);
        if let Some(wlan) = self.first_hop(flow)? {
            there.push((Shared::Wlan(wlan, Direction::Up), Duration::ZERO));
            back.push(BackHop::wlan(wlan, Direction::Down));
        }
        for (i, pair) in flow.path.windows(2).enumerate() {
            let key = format!("path[{}]", i + 1);
            let missing =
                || ScenarioError::at(&key, format!("there is no [[link]] from {:?} to {:?}", pair[0], pair[1]));
            let (place, link) = self.link_between(&pair[0], &pair[1]).ok_or_else(missing)?;
            there.push((Shared::Link(place.ok_or_else(missing)?), link.delay.0));
            let (place, link) = self.link_between(&pair[1], &pair[0]).ok_or_else(missing)?;
            let loss = match place {
                Some(_) => Loss::None,
                None => self.loss_of_acks(link.loss.as_ref(), &link.name)?,
            };
            back.push(BackHop { over: place.map(Shared::Link), delay: link.delay.0, loss });
        }
        if flow.path.len() == 1 && flow.station.is_none() && flow.source.is_none() {
            return Err(ScenarioError::at("path", "wanted at least two nodes, or a station"));
        }
        let is_private = flow.path.is_empty() && flow.station.is_none() && flow.source.is_none();
        let shared = self.scenario.link.len() + self.scenario.ap.len() + self.scenario.wlan.len();
        let has_rate = flow.access.is_some() || flow.sink.as_ref().is_some_and(|sink| sink.rate.is_some());
        if is_private && (shared > 0 || !has_rate) {
            return Err(ScenarioError::at("path", "missing: wanted a path over links, or a station"));
        }
        match self.last_hop(flow)? {
            Some(Wireless::Ap(ap)) => {
                let spec = &self.scenario.ap[ap];
                let delay = spec.delay.0;
                there.push((Shared::Ap(ap), delay));
                let name = convert::station_name(&spec.name, flow.station.as_deref().unwrap_or_default());
                // Over an uplink, what takes acknowledgements is part of it.
                let over = self.uplinks[ap].map(Shared::Ap);
                let loss = spec.loss.as_ref().filter(|_| over.is_none());
                back.push(BackHop { over, delay, loss: self.loss_of_acks(loss, &name)? });
            }
            Some(Wireless::Wlan(wlan)) => {
                there.push((Shared::Wlan(wlan, Direction::Down), Duration::ZERO));
                back.push(BackHop::wlan(wlan, Direction::Up));
            }
            None => {}
        }
        back.reverse();
        Ok((there, back))
    }

    fn loss_of_acks(&self, loss: Option<&scenario::Loss>, name: &str) -> Result<Loss, ScenarioError> {
        let config = convert::loss_of_acks(loss, name).map_err(|e| e.within("loss"))?;
        Loss::new(&config, &self.streams, name).map_err(|e| ScenarioError::parameter("loss", e))
    }

    fn flow(&mut self, flow: &scenario::Flow) -> Result<(), ScenarioError> {
        if flow.count == 0 || flow.count as usize > MOST_FLOWS {
            return Err(ScenarioError::refused("count", flow.count, format!("1 to {MOST_FLOWS}")));
        }
        if flow.name.is_empty() {
            return Err(ScenarioError::at("name", "wanted a name"));
        }
        not_too_long("spread", (flow.start.0, flow.spread.0, 1), "flow starts after")?;
        not_too_long("stagger", (flow.start.0 + flow.spread.0, flow.stagger.0, flow.count - 1), "flow starts after")?;
        not_too_long("rtt_step", (flow.rtt.0, flow.rtt_step.0, flow.count - 1), "round trip takes")?;
        let payload = senders::payload(flow)?;
        let (mut start, mut rtt) = (Instant::ZERO + flow.start.0, flow.rtt.0);
        for i in 0..flow.count {
            let name = if flow.count == 1 { flow.name.clone() } else { format!("{}-{}", flow.name, i + 1) };
            let at = start + self.spread(flow, &name);
            match &flow.app {
                scenario::App::Poisson(poisson) => {
                    let config = convert::sizes(&poisson.size, payload).map_err(|e| e.within("app.size"))?;
                    let rate = poisson.rate.0;
                    if rate <= 0.0 || rate * self.span.until.as_secs_f64() > MOST_FLOWS as f64 {
                        let wanted = format!("more than 0 /s and at most {MOST_FLOWS} arrivals in all");
                        return Err(ScenarioError::refused("app.rate", format!("{rate} /s"), wanted));
                    }
                    let until = poisson.until.map_or(self.span.until, |until| Instant::ZERO + until.0);
                    let mut times = self.streams.stream(&name, "arrivals");
                    let mut sizes = self.streams.stream(&name, "sizes");
                    for (n, arrival) in
                        poisson_arrivals(rate, at, until.min(self.span.until), &mut times).into_iter().enumerate()
                    {
                        let size = config.draw(&mut sizes);
                        self.connection(flow, format!("{name}#{}", n + 1), (arrival, rtt), AppConfig::Fixed { size })?;
                    }
                }
                app => self.connection(flow, name, (at, rtt), convert::app(app, payload))?,
            }
            start += flow.stagger.0;
            rtt += flow.rtt_step.0;
        }
        Ok(())
    }

    /// One TCP connection with its application, its private links and its route.
    fn connection(
        &mut self,
        spec: &scenario::Flow,
        name: String,
        (start, rtt): (Instant, Duration),
        app: AppConfig,
    ) -> Result<(), ScenarioError> {
        if !self.names.insert(name.clone()) {
            let wanted = if name == spec.name {
                "a name that no other flow has".to_owned()
            } else {
                format!("another name: it makes a second flow {name:?}")
            };
            return Err(ScenarioError::refused("name", format!("{:?}", spec.name), wanted));
        }
        if self.flows.len() >= MOST_FLOWS {
            return Err(ScenarioError::at("count", format!("wanted at most {MOST_FLOWS} flows in all")));
        }
        let parameter = ScenarioError::parameter;
        let id = self.flows.len() as u32;
        let (there, back) = self.path(spec)?;
        let payload = senders::payload(spec)?;
        let Ends { sender, receiver, sender_kind, receiver_kind, header_bytes, sack, ahead } = match &spec.sender {
            scenario::Sender::Tfrc(options) => {
                rate::ends(id, options, &spec.receiver, payload, (self.span, self.scenario.sample.0))?
            }
            _ => self.tcp_ends(id, spec, payload, there.len())?,
        };
        let stop = spec.stop.map(|stop| Instant::ZERO + stop.0);
        let is_transfer = matches!(app, AppConfig::Fixed { .. });
        let reader = convert::reader(spec)?;
        let app = App::new(app, start, stop, self.streams.stream(&name, "app"))
            .map_err(|e| if e.key == "stop" { parameter("", e) } else { parameter("app", e) })?;
        let access = spec.access.map(|rate| rate.0);
        if access == Some(Rate::from_bps(0)) {
            return Err(ScenarioError::refused("access", "0 bit/s", "more than 0 bit/s"));
        }

        // There: jitter and access link, the shared elements, the sink.
        let jitter =
            (!spec.jitter.0.is_zero()).then(|| Jitter::new(spec.jitter.0, self.streams.stream(&name, "jitter")));
        let half = rtt / 2;
        // The private delays, there and back: at the sender, or behind the WLAN if the sender is one of its stations.
        let (near, far) = match spec.source {
            None => ([half, rtt - half], [Duration::ZERO; 2]),
            Some(_) => ([Duration::ZERO; 2], [half, rtt - half]),
        };
        let mut stages = vec![Stage::new(access, near[0], Loss::None)];
        let mut hops = vec![];
        let sink = self.sink(spec, &name)?;
        let mut exit = vec![];
        if let Some(&(first, _)) = there.first() {
            hops.push(self.lane(Path::new(jitter, stages), end_of(first)));
            for pair in there.windows(2) {
                hops.push(self.lane_between(pair[0], pair[1].0));
            }
            if let Some(&(_, delay)) = there.last() {
                exit.push(Stage::new(None, delay + far[0], Loss::None));
            }
            exit.extend(sink);
            if ahead && self.ahead {
                hops.push(Hop::Receiver);
            } else {
                let path = Path::new(None, std::mem::take(&mut exit));
                hops.push(self.lane(path, End::Receiver));
            }
        } else {
            stages.extend(sink);
            hops.push(self.lane(Path::new(jitter, stages), End::Receiver));
        }

        // Back: the sink's link, the shared links, the access link. A stream's own lane leads to the first shared link;
        // between two of them all streams share one.
        let first_back = hops.len() as u8;
        let mut stages: Vec<Stage> = self.sink_back(spec, &name)?.into_iter().collect();
        let mut from: Option<Shared> = None;
        let mut delay = far[1];
        for hop in back {
            let Some(over) = hop.over else {
                if !matches!(hop.loss, Loss::None) {
                    stages.push(Stage::new(None, std::mem::take(&mut delay), Loss::None));
                    stages.push(Stage::new(None, Duration::ZERO, hop.loss));
                }
                delay += hop.delay;
                continue;
            };
            hops.push(match from {
                Some(from) if stages.is_empty() => self.lane_between((from, delay), over),
                _ => {
                    stages.push(Stage::new(None, delay, Loss::None));
                    self.lane(Path::new(None, std::mem::take(&mut stages)), end_of(over))
                }
            });
            from = Some(over);
            delay = hop.delay;
        }
        stages.push(Stage::new(None, delay, Loss::None));
        stages.push(Stage::new(access, near[1], Loss::None));
        hops.push(self.lane(Path::new(None, stages), End::Host));

        self.hosts.push(Host { app, sender });
        self.receivers.push(receiver);
        self.exits.push(Path::new(None, exit));
        let station = self.last_hop(spec)?.map_or(0, |wireless| self.index_of(wireless, spec.station.as_ref()));
        let source = self.first_hop(spec)?.map_or(0, |wlan| self.index_of(Wireless::Wlan(wlan), spec.source.as_ref()));
        self.parts.routes.push(Route { hops, back: first_back, station, source });
        self.flows.push(FlowLabel {
            name,
            sender: sender_kind.into(),
            receiver: receiver_kind,
            start,
            stop,
            is_transfer,
            header_bytes,
            sack,
            reader,
        });
        Ok(())
    }

    /// How much later than it might a flow starts.
    fn spread(&self, flow: &scenario::Flow, name: &str) -> Duration {
        if flow.spread.0.is_zero() {
            return Duration::ZERO;
        }
        let share = self.streams.stream(name, "start").uniform();
        Duration::from_secs_f64(flow.spread.0.as_secs_f64() * share)
    }

    fn tcp_ends(&self, id: u32, spec: &scenario::Flow, payload: Bytes, queues: usize) -> Result<Ends, ScenarioError> {
        let (sender, sender_kind) = senders::sender(&spec.sender, payload, queues);
        let (receiver, receiver_kind) = convert::receiver(&spec.receiver, &spec.sender, payload);
        let receiver = tcp::ReceiverConfig { sample_interval: Some(self.scenario.sample.0), ..receiver };
        let parameter = ScenarioError::parameter;
        Ok(Ends {
            header_bytes: sender.header_size(),
            sack: receiver.sack,
            ahead: receiver.delayed_ack.is_none(),
            sender: Sender::Tcp(
                tcp::Sender::new(id, sender, self.span).map_err(|e| parameter("sender", keys::written(e)))?,
            ),
            receiver: Receiver::Tcp(
                tcp::Receiver::new(id, receiver, self.span).map_err(|e| parameter("receiver", keys::of_receiver(e)))?,
            ),
            sender_kind,
            receiver_kind,
        })
    }

    fn sink(&self, flow: &scenario::Flow, name: &str) -> Result<Option<Stage>, ScenarioError> {
        let Some(sink) = &flow.sink else { return Ok(None) };
        if sink.rate.is_some_and(|rate| rate.0 == Rate::from_bps(0)) {
            return Err(ScenarioError::refused("sink.rate", "0 bit/s", "more than 0 bit/s"));
        }
        let config = convert::loss(sink.loss.as_ref(), name).map_err(|e| e.within("sink.loss"))?;
        let loss = Loss::new(&config, &self.streams, name).map_err(|e| ScenarioError::parameter("sink.loss", e))?;
        Ok(Some(Stage::new(sink.rate.map(|rate| rate.0), sink.delay.0, loss)))
    }

    /// The way of the acknowledgements over a receiver's access link.
    fn sink_back(&self, flow: &scenario::Flow, name: &str) -> Result<Option<Stage>, ScenarioError> {
        let Some(sink) = &flow.sink else { return Ok(None) };
        let loss = self.loss_of_acks(sink.loss.as_ref(), name).map_err(|e| e.within("sink"))?;
        Ok(Some(Stage::new(sink.rate.map(|rate| rate.0), sink.delay.0, loss)))
    }

    fn lane(&mut self, path: Path, end: End) -> Hop {
        self.parts.lanes.push(Lane { line: Line::new(path), end });
        Hop::Lane(self.parts.lanes.len() as u32 - 1)
    }

    /// What leaves a shared element is in order of time whoever it belongs to: one lane serves all streams.
    fn lane_between(&mut self, (from, delay): (Shared, Duration), to: Shared) -> Hop {
        let same = |(a, b, d, _): &&(Shared, Shared, Duration, u32)| (*a, *b, *d) == (from, to, delay);
        if let Some(&(_, _, _, lane)) = self.between.iter().find(same) {
            return Hop::Lane(lane);
        }
        let hop = self.lane(Path::delay(delay), end_of(to));
        if let Hop::Lane(lane) = hop {
            self.between.push((from, to, delay, lane));
        }
        hop
    }
}

/// Both ends of a flow.
struct Ends {
    sender: Sender,
    receiver: Receiver,
    sender_kind: &'static str,
    receiver_kind: &'static str,
    /// Headers of a data packet.
    header_bytes: u32,
    /// Whether the receiver sends selective acknowledgements.
    sack: bool,
    /// Whether the receiver keeps no timer, and may be asked ahead of time.
    ahead: bool,
}

/// A step of the way there: a shared element and the delay behind it.
type Step = (Shared, Duration);

/// A step of the way back: a shared element, if there is one, and the delay; without an element, what is lost.
#[derive(Clone, Debug)]
struct BackHop {
    over: Option<Shared>,
    delay: Duration,
    loss: Loss,
}

impl BackHop {
    fn wlan(wlan: usize, direction: Direction) -> Self {
        Self { over: Some(Shared::Wlan(wlan, direction)), delay: Duration::ZERO, loss: Loss::None }
    }
}

fn end_of(shared: Shared) -> End {
    match shared {
        Shared::Link(link) => End::Link(link as u32),
        Shared::Ap(ap) => End::Ap(ap as u32),
        Shared::Wlan(wlan, direction) => End::Wlan(wlan as u32, direction),
    }
}
