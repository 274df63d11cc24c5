// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who may be asked ahead of time: links, and hosts; and access points that need not be told of arrivals in time.
//!
//! Acknowledgements come to the first shared link of their way back over private lanes, an event each, because those of
//! different flows must be put in order. Where all those flows leave the same shared element for their receivers, and each
//! takes the same fixed time from there to the link, they are in order already: as the element's departures are. Then the
//! link can be asked as soon as a receiver answers, and the lanes are not needed. Nothing changes but the number of
//! events; as the link's clock then runs ahead, samples of its queue would not be of their instant, so a scenario
//! with probes keeps the lanes.
//!
//! A rate-based host sends at its own pace, until it hears of something else: what it does by itself it does in order whenever it is
//! asked. It need not be as long as a packet of it is on its first lane, as none of those behind comes before.

use std::collections::BTreeMap;

use lasthop_core::law::kernel::KernelProxy;
use lasthop_core::line::SegmentLine;
use lasthop_core::units::Duration;

use super::AssembledFlow;
use crate::host::{ReceivingEnd, SendingEnd};
use crate::hosts::{Feed, FlowEnds};
use crate::merge::Merge;
use crate::network::gate::{Gate, MOST_LINES};
use crate::network::{Home, Hop, Lane, NOBODY, Parts, Place, Returning, Route, Traveller, Waiting};
use crate::node::Node;

/// The flows whose acknowledgements come to a link, and the time that each takes to it from its receiver.
#[derive(Debug, Default)]
struct InOrder {
    flows: Vec<usize>,
    delay: Duration,
}

/// Replaces the hops to links and ends that may be asked ahead of time.
pub(super) fn shorten<P: Traveller>(network: &mut Parts<P>, flows: &mut [AssembledFlow]) {
    shorten_to_hosts(network);

    for (node, found) in in_order(network, flows) {
        let Some(InOrder { flows, delay }) = found else { continue };
        for flow in flows {
            let route = network.routes[flow];
            network.hops[route.base as usize + usize::from(route.back)] = Hop::Link(node, delay);
        }
    }
    shorten_to_rate_receivers(network, flows);
    shorten_to_receivers(network);
}

/// The receiver of a rate-based flow keeps a timer, but first does by itself what was due before a packet. So it may be told of a
/// packet as soon as it is known when that comes. It is told in order, and its feedback is never late: there is none of an instant
/// before its timer's, for which it is woken. As above that changes nothing if the feedback is under way for some time.
fn shorten_to_rate_receivers<P>(network: &mut Parts<P>, flows: &mut [AssembledFlow]) {
    for (flow, route) in flows.iter_mut().zip(&network.routes) {
        let hops = &mut network.hops[route.base as usize..][..usize::from(route.hops)];
        let (there, back) = hops.split_at_mut(usize::from(route.back));
        if let (ReceivingEnd::Tfrc(_), [.., Hop::Lane(_), last], [first_back, ..]) = (&flow.ends.receiver, there, back)
            && let Hop::Lane(lane) = *last
            && takes_time(&network.lanes, first_back)
        {
            flow.ends.exit = network.lanes[lane as usize].line.take_path();
            *last = Hop::Receiver;
        }
    }
}

/// The hosts of rate-based flows are not woken while anything is on their first lanes, which they then fill.
pub(super) fn fill_late<P>(network: &mut Parts<P>, flows: &[FlowEnds]) {
    network.kept_for.resize(network.lanes.len(), NOBODY);
    for (number, (ends, route)) in (0..).zip(flows.iter().zip(&network.routes)) {
        let first = &network.hops[route.base as usize];
        if let (SendingEnd::Tfrc(_), Hop::Lane(lane)) = (&ends.host.sender, first)
            && takes_time(&network.lanes, first)
        {
            network.kept_for[*lane as usize] = number;
        }
    }
}

/// Whether what goes a hop is there later than it left.
fn takes_time<P>(lanes: &[Lane<P>], hop: &Hop) -> bool {
    match *hop {
        Hop::Lane(lane) | Hop::Host(lane) => lanes[lane as usize].line.path().takes_time(),
        Hop::Link(..) => true,
        Hop::Receiver => false,
    }
}

/// A host that is asked ahead of time puts packets onto its first lane ahead of time. That changes nothing as long as none of
/// them leaves the lane in the very instant in which it comes.
fn shorten_to_hosts<P>(network: &mut Parts<P>) {
    for route in &network.routes {
        let hops = &mut network.hops[route.base as usize..][..usize::from(route.hops)];
        if let [Hop::Lane(first), .., last] = hops
            && network.lanes[*first as usize].line.path().takes_time()
            && let Hop::Lane(lane) = *last
        {
            *last = Hop::Host(lane);
            network.lanes[lane as usize].to = Place::EarlyHost;
        }
    }
}

/// A link that foresees and a receiver behind it are asked at one stroke.
fn shorten_to_receivers<P: Traveller>(network: &mut Parts<P>) {
    for i in 0..network.routes.len() {
        let route = network.routes[i];
        if let [Hop::Lane(first), Hop::Receiver, ..] = *network.hops_of(&route)
            && let Place::Node(node) = network.lanes[first as usize].to
            && foresees(network, node)
        {
            network.lanes[first as usize].to = Place::Through(node);
        }
    }
}

/// The first line of a flow, as its ends keep it: if nothing is lost on it, and the segments on it ask routers nothing.
pub(super) fn feed<P: Traveller>(network: &mut Parts<P>, number: u32, sender: &SendingEnd) -> Option<Feed> {
    let route = network.routes[number as usize];
    let (Hop::Lane(lane), SendingEnd::Tcp(sender)) = (network.hops_of(&route)[0], sender) else { return None };
    if sender.asks_routers() {
        return None;
    }
    let Lane { line, to } = &network.lanes[lane as usize];
    let (line, to) = (SegmentLine::new(line.path())?, *to);
    network.kept_for.resize(network.lanes.len(), NOBODY);
    network.kept_for[lane as usize] = number;
    let (home, returning) = (home(network, &route), returning(network, number, &route).map(Box::new));
    Some(Feed { line, lane, to, home, returning })
}

/// The way back to a flow's host, if its receiver is asked ahead of time, its host may be, and no surprise lies on it.
fn home<P: Traveller>(network: &mut Parts<P>, route: &Route) -> Option<Home> {
    let (there, back) = network.hops_of(route).split_at(usize::from(route.back));
    let (link, lane) = match (there, back) {
        ([.., Hop::Receiver], [Hop::Host(lane)]) => (None, *lane),
        ([.., Hop::Receiver], [Hop::Link(node, delay), Hop::Host(lane)]) => (Some((*node, *delay)), *lane),
        _ => return None,
    };
    let path = network.lanes[lane as usize].line.take_path();
    Some(Home { link, path, waiting: Waiting { lane, count: 0 } })
}

/// The same if acknowledgements of others may come to the link on it before.
fn returning<P: Traveller>(network: &mut Parts<P>, number: u32, route: &Route) -> Option<Returning> {
    let (data, back) = network.hops_of(route).split_at(usize::from(route.back));
    let ([.., Hop::Receiver], &[Hop::Lane(lane), Hop::Host(home)]) = (data, back) else { return None };
    let Place::Node(node) = network.lanes[lane as usize].to else { return None };
    if !foresees(network, node) {
        return None;
    }
    network.kept_for[lane as usize] = network.routes.len() as u32 + number;
    let [there, path] = [lane, home].map(|lane| network.lanes[lane as usize].line.take_path());
    Some(Returning { there, lane, node, merge: 0, path, waiting: Waiting { lane: home, count: 0 } })
}

/// What merges acknowledgements at the links to which they [return](Returning).
pub(super) fn merges<P: Traveller>(network: &Parts<P>, flows: &mut [FlowEnds]) -> Vec<Merge> {
    // For each link: from which one the data leaves behind all that comes, and the least time from there.
    let mut leads: BTreeMap<u32, Option<(u32, Duration)>> = BTreeMap::new();
    for (ends, route) in flows.iter().zip(&network.routes) {
        for (i, hop) in network.hops_of(route).iter().enumerate() {
            let Some(node) = leads_to(network, hop) else { continue };
            let this = (i == usize::from(route.back)).then(|| lead(network, route, ends)).flatten();
            let so_far = leads.entry(node).or_insert(this);
            *so_far = match (this, *so_far) {
                (Some((from, lead)), Some((same, least))) if from == same => Some((from, lead.min(least))),
                _ => None,
            };
        }
    }
    let (mut merges, mut numbers) = (vec![], BTreeMap::new());
    for returning in flows.iter_mut().filter_map(|ends| ends.feed.as_mut()?.returning.as_mut()) {
        returning.merge = *numbers.entry(returning.node).or_insert_with(|| {
            let lead = leads.get(&returning.node).copied().flatten();
            merges.push(Merge::new(lead.map(|(_, lead)| lead)));
            merges.len() as u32 - 1
        });
    }
    merges
}

/// Where acknowledgements [return](Returning): the link that foresees when the data leaves it for the receiver, and the least time
/// from there to the link on the way back, if it is any.
fn lead<P: Traveller>(network: &Parts<P>, route: &Route, ends: &FlowEnds) -> Option<(u32, Duration)> {
    let returning = ends.feed.as_ref()?.returning.as_ref()?;
    let (there, _) = network.hops_of(route).split_at(usize::from(route.back));
    let [.., last @ Hop::Lane(_), Hop::Receiver] = there else { return None };
    let from = leads_to(network, last).filter(|from| foresees(network, *from))?;
    let lead = ends.exit.least_time() + returning.there.least_time();
    (!lead.is_zero()).then_some((from, lead))
}

/// The gates of access points: of those without a proxy to which nothing comes but over first lines that flows' ends keep, and not
/// over too many. None of these brings a segment in the instant in which it is sent, or who is first would depend on who was asked
/// first.
pub(super) fn gates<P: Traveller>(
    network: &mut Parts<P>,
    flows: &mut [FlowEnds],
    proxies: &BTreeMap<u32, Box<KernelProxy>>,
) {
    let mut found: BTreeMap<u32, Option<Vec<(u32, u32)>>> = BTreeMap::new();
    for (number, route) in (0..).zip(&network.routes) {
        for (i, hop) in network.hops_of(route).iter().enumerate() {
            let Some(node) = leads_to(network, hop) else { continue };
            let may = matches!(network.nodes[node as usize], Node::AccessPoint(_)) && !proxies.contains_key(&node);
            let lines = found.entry(node).or_insert_with(|| may.then(Vec::new));
            match (hop, lines.as_mut()) {
                (&Hop::Lane(lane), Some(lines))
                    if i == 0
                        && lines.len() < MOST_LINES
                        && network.kept_for.get(lane as usize) == Some(&number)
                        && network.lanes[lane as usize].line.path().takes_time() =>
                {
                    lines.push((number, lane));
                }
                _ => *lines = None,
            }
        }
    }
    for (node, lines) in found {
        let Some(lines) = lines else { continue };
        for (line, (number, _)) in (0..).zip(&lines) {
            if let Some(feed) = &mut flows[*number as usize].feed {
                feed.to = Place::Gate(node, line);
            }
        }
        network.gates.resize_with(node as usize, Gate::default);
        network.gates.push(Gate::new(lines));
    }
}

/// For each link to which something comes: the flows, if it foresees, nothing but their acknowledgements comes to it, and all
/// come in order.
fn in_order<P: Traveller>(network: &Parts<P>, flows: &[AssembledFlow]) -> BTreeMap<u32, Option<InOrder>> {
    let mut common: BTreeMap<u32, (Place, Duration, Duration)> = BTreeMap::new();
    let mut found: BTreeMap<u32, Option<InOrder>> = BTreeMap::new();
    for (flow, route) in network.routes.iter().enumerate() {
        for (i, hop) in network.hops_of(route).iter().enumerate() {
            let Some(node) = leads_to(network, hop) else { continue };
            let this = if i == usize::from(route.back) && foresees(network, node) {
                first_back(network, route, &flows[flow])
            } else {
                None
            };
            let so_far = found.entry(node).or_insert_with(|| Some(InOrder::default()));
            match (this, so_far.as_mut()) {
                (Some(this), Some(in_order)) if *common.entry(node).or_insert(this) == this => {
                    in_order.flows.push(flow);
                    in_order.delay = this.2;
                }
                _ => *so_far = None,
            }
        }
    }
    found
}

/// The node to which a hop leads, unless that is a WLAN.
fn leads_to<P>(network: &Parts<P>, hop: &Hop) -> Option<u32> {
    match *hop {
        Hop::Lane(lane) => match network.lanes[lane as usize].to {
            Place::Node(node) | Place::Through(node) => Some(node),
            Place::Host | Place::EarlyHost | Place::Receiver | Place::Gate(..) | Place::Wlan(..) | Place::Proxy(_) => {
                None
            }
        },
        Hop::Link(node, _) => Some(node),
        Hop::Receiver | Hop::Host(_) => None,
    }
}

fn foresees<P: Traveller>(network: &Parts<P>, node: u32) -> bool {
    matches!(&network.nodes[node as usize], Node::Link(link) if link.foresees())
}

/// The link from which a flow's data leaves for a receiver that is asked ahead of time, and the fixed times from there to the
/// receiver and over the first lane back. An access point is no such link: it sends several packets in one instant, to
/// different flows, whose order is then that of their lanes.
fn first_back<P>(network: &Parts<P>, route: &Route, flow: &AssembledFlow) -> Option<(Place, Duration, Duration)> {
    let (there, back) = network.hops_of(route).split_at(usize::from(route.back));
    let ([.., Hop::Lane(last), Hop::Receiver], Some(Hop::Lane(first))) = (there, back.first()) else { return None };
    let from = network.lanes[*last as usize].to;
    let Place::Node(node) = from else { return None };
    if !matches!(network.nodes[node as usize], Node::Link(_)) {
        return None;
    }
    let way_back = network.lanes[*first as usize].line.path().fixed_delay()?;
    Some((from, flow.ends.exit.fixed_delay()?, way_back))
}

#[cfg(test)]
pub(super) mod tests;
