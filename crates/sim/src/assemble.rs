// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a scenario to a network of elements.

mod ahead;
mod connection;
mod convert;
mod keys;
mod names;
mod rate;
mod senders;
mod wireless;

use std::collections::BTreeSet;
use std::path::Path as FilePath;

use lasthop_core::ap::AccessPoint;
use lasthop_core::line::Path;
use lasthop_core::link::Link;
use lasthop_core::packet::Packet;
use lasthop_core::rng::Streams;
use lasthop_core::stats::Span;
use lasthop_core::units::{Duration, Instant};
use lasthop_core::wlan::{Direction, Wlan};

use crate::capture::{self, Capture};
use crate::events::MOST_ELEMENTS;
use crate::host::{Host, Receiver, Sender};
use crate::hosts::Hosts;
use crate::network::{Parts, Traveller};
use crate::probe::Recorder;
use crate::scenario::{self, Scenario, ScenarioError};
use crate::summary::{FlowLabel, Labels};
use crate::world::World;
use wireless::Wireless;

/// Bytes of IP and TCP headers in front of a packet's payload.
const HEADER: u64 = 40;

/// Most samples that each flow or queue may have in one run.
const MOST_SAMPLES: u64 = 10_000_000;

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
}
