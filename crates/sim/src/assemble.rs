// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a scenario to a network of elements and what stands at its ends.
//!
//! ```text
//!   names ──► links, access points, WLANs ──► each flow's legs ──► components ──► lanes and hops ──► ahead
//! ```
//!
//! Names are looked up once, in maps: the time that it takes grows as the scenario does, and no faster.

mod ahead;
mod components;
mod connection;
mod elements;
mod ends;
mod legs;
mod names;
mod rate;
mod seats;
mod wireless;

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use lasthop_core::ap::AccessPoint;
use lasthop_core::app::App;
use lasthop_core::fading::Kinds;
use lasthop_core::law::kernel::KernelProxy;
use lasthop_core::link::Link;
use lasthop_core::packet::Packet;
use lasthop_core::rng::Streams;
use lasthop_core::stats::Span;
use lasthop_core::units::{Duration, Instant};
use lasthop_core::wlan::Wlan;

use crate::capture::{self, Capture};
use crate::events::MOST_ELEMENTS;
use crate::host::SendingEnd;
use crate::hosts::{self, Hosts};
use crate::network::{Network, Parts, Traveller};
use crate::node::Node;
use crate::probe::Recorder;
use crate::scenario::{self, MOST_SAMPLES, Scenario, ScenarioError};
use crate::summary::{FlowLabel, Labels};
use crate::world::World;
use crate::worlds::Worlds;
use components::Component;
use names::{FlowNames, StationNames};
use seats::Seats;
use wireless::Wireless;

/// Bytes of IP and TCP headers in front of a packet's payload.
const HEADER: u64 = 40;

/// All of a scenario's elements, before they start.
#[derive(Debug)]
pub struct Assembly<P> {
    parts: Parts<P>,
    /// The flows, in the order of their streams.
    pub flows: Vec<AssembledFlow>,
    /// The access points' numbers among the nodes, and those of their uplinks.
    pub access_points: Vec<(u32, Option<u32>)>,
    /// What the results say of them.
    pub labels: Labels,
    /// What samples windows and queues, if the scenario wants it.
    pub recorder: Option<Recorder>,
}

/// What stands at the ends of a flow.
#[derive(Debug)]
pub struct AssembledFlow {
    /// Which of the scenario's tables it comes from.
    pub table: usize,
    ends: hosts::FlowEnds,
}

impl AssembledFlow {
    /// When it opens, writes and closes.
    pub fn into_app(self) -> App {
        self.ends.host.app
    }
}

impl<P: Traveller> Assembly<P> {
    /// The elements of a scenario with a seed; files are looked for in `directory`. Nobody is asked ahead of time. Where it is
    /// not known when it `ends`, a probe samples for as long as there is room. `gateways` says in front of which access points
    /// there is a gateway, which the ends keep; behind the last there is none.
    ///
    /// # Errors
    /// One line that names the key, its value and what is wanted.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        directory: &FilePath,
        (ends, gateways): (bool, Vec<bool>),
    ) -> Result<Self, ScenarioError> {
        let Built { components, access_points, labels, recorder, .. } =
            Builder { ends, gateways, ..Builder::new(scenario, seed, directory) }.build()?;
        let Component { parts, flows, .. } = components.into_iter().next().unwrap_or_default();
        Ok(Self { parts, flows, access_points, labels, recorder })
    }

    /// Takes out the network; its ends may be woken by the numbers `0..=ends`.
    pub fn take_network(&mut self, ends: u32) -> Network<P> {
        Network::new(std::mem::take(&mut self.parts), ends)
    }
}

/// What changes nothing but the work that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortcuts {
    /// Links and hosts are asked ahead of time.
    pub(crate) ahead: bool,
    /// What shares nothing is simulated apart.
    pub(crate) apart: bool,
}

impl Shortcuts {
    pub(crate) const ALL: Self = Self { ahead: true, apart: true };
}

/// The simulation of a scenario with a seed; files are looked for in `directory`.
pub(crate) fn simulation(
    scenario: &Scenario,
    seed: u64,
    directory: &FilePath,
    Shortcuts { ahead, apart }: Shortcuts,
) -> Result<(Worlds, Labels), ScenarioError> {
    if let Some(i) = scenario.flow.iter().position(|flow| matches!(flow.sender, scenario::SenderSpec::Kernel(_))) {
        let message = "\"kernel\": a congestion control of the kernel runs in `lasthop emu` alone";
        return Err(ScenarioError::at(&format!("flow[{i}].sender"), message));
    }
    // Who runs ahead would not be sampled at the instant, nor packets recorded in order; and what is recorded is of one world.
    let is_watched = scenario.probe.is_some();
    let (ahead, apart) = (ahead && !is_watched, apart && !is_watched);
    let builder: Builder<'_, Packet> = Builder { ahead: true, apart, ..Builder::new(scenario, seed, directory) };
    let Built { components, labels, mut recorder, of_flow, of_node, .. } = builder.build()?;
    let packets = scenario.probe.as_ref().is_some_and(|probe| probe.packets);
    let world = |Component { mut parts, mut flows, stations, pools, proxies, .. }| {
        if ahead {
            ahead::shorten(&mut parts, &mut flows);
        }
        let capture = packets.then(|| capture(&labels.flows, &flows));
        // In place: of many flows there is no room for two lists.
        let mut flows: Vec<_> = flows.into_iter().map(|flow| flow.ends).collect();
        if ahead {
            for (number, flow) in (0..).zip(&mut flows) {
                flow.feed = ahead::feed(&mut parts, number, &flow.host.sender);
            }
            ahead::gates(&mut parts, &mut flows, &proxies);
            ahead::fill_late(&mut parts, &mut flows);
        }
        let merges = if ahead { ahead::merges(&parts, &mut flows) } else { vec![] };
        let (end, recorder) = (labels.span.until, recorder.take());
        World::new(parts, Hosts { flows, stations, pools, end, packets: 0, recorder, capture, proxies, merges })
    };
    let worlds = components.into_iter().map(world).collect();
    Ok((Worlds::new(worlds, of_flow, of_node), labels))
}

fn capture(labels: &[FlowLabel], flows: &[AssembledFlow]) -> Capture {
    Capture::new(labels.iter().zip(flows).map(|(label, flow)| capture::Agreed {
        is_rate_based: matches!(flow.ends.host.sender, SendingEnd::Tfrc(_)),
        sack: label.sack,
        timestamps: u64::from(label.header_bytes) > HEADER,
    }))
}

/// Refuses so short an interval that the samples of `sampled` flows and queues would fill the memory.
fn at_most_samples(key: &str, of: Duration, interval: Duration, sampled: u64) -> Result<(), ScenarioError> {
    if (of.as_nanos() / interval.as_nanos()).saturating_mul(sampled) > MOST_SAMPLES {
        let wanted = format!("at most {MOST_SAMPLES} samples of {sampled} flows and queues in {of:?}");
        return Err(ScenarioError::refused(key, format!("{interval:?}"), wanted));
    }
    Ok(())
}

/// What samples `sampled` flows and queues, if the scenario wants it; there must be room for all it samples, if that `ends`.
fn recorder(scenario: &Scenario, sampled: u64, ends: bool) -> Result<Option<Recorder>, ScenarioError> {
    let Some(probe) = &scenario.probe else { return Ok(None) };
    let Some(every) = probe.every else { return Ok(None) };
    if ends {
        at_most_samples("probe.every", scenario.duration.saturating_sub(probe.from), every, sampled)?;
    }
    let room_ns = every.as_nanos().saturating_mul(MOST_SAMPLES / sampled.max(1));
    let last = Instant::from_nanos(probe.from.as_nanos().saturating_add(room_ns));
    Ok(Some(Recorder::new(every, Instant::ZERO + probe.from, last)))
}

/// What a builder builds.
struct Built<P> {
    components: Vec<Component<P>>,
    /// The component of each flow, and of each node.
    of_flow: Vec<u32>,
    of_node: Vec<u32>,
    /// The access points' numbers among the nodes of the whole, and those of their uplinks.
    access_points: Vec<(u32, Option<u32>)>,
    labels: Labels,
    recorder: Option<Recorder>,
}

struct Builder<'s, P> {
    scenario: &'s Scenario,
    directory: &'s FilePath,
    streams: Streams,
    span: Span,
    /// Whether receivers without a timer are asked ahead of time.
    ahead: bool,
    /// Whether what shares nothing comes apart.
    apart: bool,
    /// Whether the end is known.
    ends: bool,
    /// In front of which access points there is a gateway.
    gateways: Vec<bool>,
    /// The proxies and the nodes that they are beside, until they come to their components.
    proxies: Vec<(u32, Box<KernelProxy>)>,
    /// The nodes, until they come to their components.
    nodes: Vec<Node<P>>,
    /// The key of each node, for messages.
    keys: Vec<String>,
    components: Vec<Component<P>>,
    /// The component of each node and of each flow so far.
    of_node: Vec<u32>,
    of_flow: Vec<u32>,
    /// Lanes made so far.
    lanes: u32,
    labels: Vec<FlowLabel>,
    /// What is said in the scenario and nothing reads.
    notes: Vec<String>,
    kinds: Kinds,
    /// The access points and WLANs by their names.
    wireless: BTreeMap<&'s str, Wireless>,
    /// For each pair of nodes of a path, the link between them, and which element its packets cross; none if it goes the
    /// other way alone.
    links: BTreeMap<(&'s str, &'s str), (Option<u32>, &'s scenario::LinkSpec)>,
    /// The access points' numbers among the nodes, and those of their uplinks.
    aps: Vec<(u32, Option<u32>)>,
    /// The WLANs' numbers.
    wlans: Vec<u32>,
    ap_stations: Vec<StationNames<'s>>,
    wlan_stations: Vec<StationNames<'s>>,
    /// The names of the flows so far.
    names: FlowNames,
    /// The agents of stations so far.
    seats: Seats,
}

impl<'s, P: Traveller> Builder<'s, P> {
    fn new(scenario: &'s Scenario, seed: u64, directory: &'s FilePath) -> Self {
        Self {
            scenario,
            directory,
            streams: Streams::new(seed),
            span: Span { from: Instant::ZERO + scenario.warmup, until: Instant::ZERO + scenario.duration },
            ahead: false,
            apart: false,
            ends: true,
            gateways: vec![],
            proxies: vec![],
            nodes: vec![],
            keys: vec![],
            components: vec![],
            of_node: vec![],
            of_flow: vec![],
            lanes: 0,
            labels: vec![],
            notes: vec![],
            kinds: Kinds::default(),
            wireless: BTreeMap::new(),
            links: BTreeMap::new(),
            aps: vec![],
            wlans: vec![],
            ap_stations: vec![],
            wlan_stations: vec![],
            names: FlowNames::default(),
            seats: Seats::default(),
        }
    }

    /// Builds all.
    fn build(mut self) -> Result<Built<P>, ScenarioError> {
        let (scenario, until) = (self.scenario, self.span.until);
        if scenario.flow.is_empty() {
            return Err(ScenarioError::at("flow", "wanted at least one"));
        }
        let flows = connection::most_flows(&scenario.flow, until)?;
        at_most_samples("sample", self.span.length(), scenario.sample, flows)?;
        names::check_elements(scenario)?;
        let ends = self.name_stations()?;
        self.links()?;
        self.access_points()?;
        self.wlans()?;
        names::check_queues(&self.nodes, &self.keys)?;
        let queues: usize = self.nodes.iter().map(Node::queues).sum();
        let recorder = recorder(scenario, flows + queues as u64, self.ends)?;
        let ways = self.ways(&ends)?;
        for (i, (flow, way)) in scenario.flow.iter().zip(ends.into_iter().zip(ways)).enumerate() {
            self.flow(i, flow, way).map_err(|e| e.within(&format!("flow[{i}]")))?;
        }
        if let Some(first) = scenario.flow.first()
            && scenario.flow.iter().all(|flow| Instant::ZERO + flow.start >= until)
        {
            let wanted = format!("a start before the end of the run, {until:?}");
            return Err(ScenarioError::refused("flow[0].start", format!("{:?}", first.start), wanted));
        }
        if self.lanes as usize + 2 * self.of_flow.len() + self.of_node.len() >= MOST_ELEMENTS {
            return Err(ScenarioError::at("flow", format!("wanted fewer than {MOST_ELEMENTS} elements in all")));
        }
        if self.components.len() > 1 {
            self.components.iter_mut().for_each(|component| component.call(self.lanes, self.of_flow.len() as u32));
        }
        let labels = Labels {
            title: scenario.title.clone(),
            seed: self.streams.seed(),
            is_random: self.streams.are_used(),
            span: self.span,
            sample: scenario.sample,
            flows: self.labels,
            notes: self.notes,
        };
        let Self { components, of_flow, of_node, aps: access_points, .. } = self;
        Ok(Built { components, of_flow, of_node, access_points, labels, recorder })
    }

    /// Takes in a node, which the table at `key` of the scenario describes.
    fn node(&mut self, node: Node<P>, key: &str) -> u32 {
        self.nodes.push(node);
        self.keys.push(key.to_owned());
        self.nodes.len() as u32 - 1
    }

    /// Two links for each duplex one: there, and back. Where one alone leads there, the other way is known by its delay.
    fn links(&mut self) -> Result<(), ScenarioError> {
        for (i, link) in self.scenario.link.iter().enumerate() {
            let place = format!("link[{i}]");
            let config = elements::link(link).map_err(|e| e.within(&place))?;
            let mut direction = |name: &str| {
                let built = Link::new(name, &config, &self.streams, self.span);
                let built = built.map_err(|e| ScenarioError::parameter(&place, e))?;
                Ok(self.node(Node::Link(built), &place))
            };
            let there = direction(&link.name)?;
            let back = if link.duplex { Some(direction(&names::back(&link.name))?) } else { None };
            for (from, to, node) in [(&link.from, &link.to, Some(there)), (&link.to, &link.from, back)] {
                let known = self.links.entry((from, to)).or_insert((node, link));
                match (known.0, node) {
                    (None, Some(_)) => *known = (node, link),
                    (Some(_), Some(_)) if !std::ptr::eq(known.1, link) => {
                        let message =
                            format!("{:?} leads from {from:?} to {to:?} as well: wanted one link", known.1.name);
                        return Err(ScenarioError::at(&place, message));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn access_points(&mut self) -> Result<(), ScenarioError> {
        let stations = std::mem::take(&mut self.ap_stations);
        for (i, (ap, stations)) in self.scenario.ap.iter().zip(&stations).enumerate() {
            let place = format!("ap[{i}]");
            if stations.names().is_empty() {
                return Err(ScenarioError::at(&place, "wanted a station, or a flow to one"));
            }
            let config = elements::access_point(ap, stations.names(), self.directory).map_err(|e| e.within(&place))?;
            let built = AccessPoint::new(&ap.name, &config, &self.streams, self.span, &mut self.kinds);
            let built = built.map_err(|e| {
                let listed: Vec<_> = ap.station.iter().map(|station| station.common.name.as_str()).collect();
                ScenarioError::parameter(&place, elements::of_station(e, stations.names(), &listed))
            })?;
            let number = self.node(Node::AccessPoint(built), &place);
            if let Some(params) = &ap.proxy {
                let proxy = KernelProxy::new(params);
                let proxy = proxy.map_err(|e| ScenarioError::parameter("proxy", e).within(&place))?;
                self.proxies.push((number, Box::new(proxy)));
            }
            self.aps.push((number, None));
        }
        for (i, (ap, stations)) in self.scenario.ap.iter().zip(&stations).enumerate() {
            let Some(uplink) = &ap.uplink else { continue };
            let (place, names) = (format!("ap[{i}]"), stations.names());
            let config = elements::uplink(ap, uplink, names, self.directory).map_err(|e| e.within(&place))?;
            let built = AccessPoint::new(&names::up(&ap.name), &config, &self.streams, self.span, &mut self.kinds);
            let parameter = |e| ScenarioError::parameter(&place, elements::of_station(e, names, &[]));
            let built = built.map_err(|e| parameter(e).within("uplink"))?;
            self.aps[i].1 = Some(self.node(Node::AccessPoint(built), &place));
        }
        self.ap_stations = stations;
        Ok(())
    }

    fn wlans(&mut self) -> Result<(), ScenarioError> {
        let stations = std::mem::take(&mut self.wlan_stations);
        for (i, (wlan, stations)) in self.scenario.wlan.iter().zip(&stations).enumerate() {
            let place = format!("wlan[{i}]");
            let config = elements::wlan(wlan, stations.names()).map_err(|e| e.within(&place))?;
            let built = Wlan::new(&wlan.own.name, &config, &self.streams, self.span).map_err(|e| {
                let listed: Vec<_> = wlan.own.station.iter().map(|station| station.common.name.as_str()).collect();
                ScenarioError::parameter(&place, elements::of_station(e, stations.names(), &listed))
            })?;
            let number = self.node(Node::Wlan(built), &place);
            self.wlans.push(number);
        }
        self.wlan_stations = stations;
        Ok(())
    }
}
