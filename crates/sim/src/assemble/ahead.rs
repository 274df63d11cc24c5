// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who may be asked ahead of time: links, and hosts; and access points that need not be told of arrivals in time.
//!
//! Acknowledgements come to the first shared link of their way back over private lanes, an event each, because those of
//! different flows must be put in order. Where all those flows leave the same shared element for their receivers, and each
//! takes the same fixed time from there to the link, they are in order already: as the element's departures are. Then the
//! link can be asked as soon as a receiver answers, and the lanes need no events. Nor does one lane over which all comes to a
//! link, out of another that foresees or from the receiver of one flow: what is on it is in order. Nothing changes but the number
//! of events; as the link's clock then runs ahead, samples of its queue would not be of their instant, so a scenario with
//! probes has them all.
//!
//! A rate-based host sends at its own pace, until it hears of something else: what it does by itself it does in order whenever it is
//! asked. It need not be as long as a packet of it is on its first lane, as none of those behind comes before.

use std::collections::{BTreeMap, BTreeSet};

use lasthop_core::law::kernel::KernelProxy;
use lasthop_core::line::SegmentLine;
use lasthop_core::units::{Bytes, Duration, Rate};

use super::AssembledFlow;
use crate::host::{ReceivingEnd, SendingEnd};
use crate::hosts::{Feed, FlowEnds};
use crate::merge::Merge;
use crate::network::gate::{Gate, MOST_LINES};
use crate::network::{Home, Hop, Lane, LinksHome, NOBODY, Parts, Place, Returning, Route, Traveller, Waiting};
use crate::node::Node;

/// What comes to a link, in order of time.
#[derive(Debug)]
struct InOrder {
    /// The hops over which it comes, among those of all flows.
    hops: Vec<usize>,
    /// The one lane of all these.
    lane: Option<u32>,
    /// What all have in common from the link that their data leaves.
    way: Option<(Place, Duration, Duration)>,
}

/// Replaces the hops to links and ends that may be asked ahead of time.
pub(super) fn shorten<P: Traveller>(network: &mut Parts<P>, flows: &mut [AssembledFlow]) {
    shorten_to_hosts(network);

    for InOrder { hops, .. } in in_order(network, flows).into_values().flatten() {
        for hop in hops {
            if let Hop::Lane(lane) = network.hops[hop] {
                network.hops[hop] = Hop::Over(lane);
            }
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
pub(super) fn fill_late<P>(network: &mut Parts<P>, flows: &mut [FlowEnds]) {
    network.kept_for.resize(network.lanes.len(), NOBODY);
    for (number, (ends, route)) in (0..).zip(flows.iter_mut().zip(&network.routes)) {
        let first = &network.hops[route.base as usize];
        if let (SendingEnd::Tfrc(_), Hop::Lane(lane)) = (&ends.host.sender, first)
            && takes_time(&network.lanes, first)
        {
            network.kept_for[*lane as usize] = number;
            ends.filled = Some(*lane);
        }
    }
}

/// Whether what goes a hop is there later than it left.
fn takes_time<P>(lanes: &[Lane<P>], hop: &Hop) -> bool {
    match *hop {
        Hop::Lane(lane) | Hop::Host(lane) => lanes[lane as usize].line.path().takes_time(),
        Hop::Over(_) => true,
        Hop::Receiver => false,
    }
}

/// A host that is asked ahead of time puts packets onto its first lane ahead of time. That changes nothing as long as none of
/// them leaves the lane in the very instant in which it comes, or comes to a link then to which nothing else does.
fn shorten_to_hosts<P: Traveller>(network: &mut Parts<P>) {
    let alone = only_lanes(network);
    for route in &network.routes {
        let hops = &mut network.hops[route.base as usize..][..usize::from(route.hops)];
        if let [Hop::Lane(first), .., last] = hops
            && (network.lanes[*first as usize].line.path().takes_time() || alone.contains(first))
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
    let ([.., Hop::Receiver], [over @ .., Hop::Host(lane)]) = (there, back) else { return None };
    if !over.iter().all(|hop| matches!(hop, Hop::Over(_))) {
        return None;
    }
    let lane = *lane;
    let links = match *over {
        [] => LinksHome::None,
        // Its lane is the flow's alone.
        [hop @ Hop::Over(there)] => {
            let node = leads_to(network, &hop)?;
            let line = &mut network.lanes[there as usize].line;
            match line.path().fixed_delay() {
                Some(delay) => LinksHome::One(node, delay),
                None => LinksHome::Behind(Box::new((line.take_path(), node))),
            }
        }
        _ => {
            let from = route.base + u32::from(route.back);
            LinksHome::Hops(from, from + over.len() as u32)
        }
    };
    let path = network.lanes[lane as usize].line.take_path();
    Some(Home { links, path, waiting: Waiting { lane, count: 0 } })
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
    let mut alike: BTreeMap<u32, Option<Alike>> = BTreeMap::new();
    for (ends, route) in flows.iter().zip(&network.routes) {
        for (i, hop) in network.hops_of(route).iter().enumerate() {
            let Some(node) = leads_to(network, hop) else { continue };
            let this = (i == usize::from(route.back)).then(|| lead(network, route, ends)).flatten();
            let like = this.and_then(|(from, _)| Alike::of(network, from, ends));
            let all = alike.entry(node).or_insert(like);
            *all = all.filter(|all| like == Some(*all));
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
            let are_alike = alike.get(&returning.node).is_some_and(Option::is_some);
            merges.push(Merge::new(lead.map(|(_, lead)| lead), are_alike));
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
    let [.., last @ (Hop::Lane(_) | Hop::Over(_)), Hop::Receiver] = there else { return None };
    let from = leads_to(network, last).filter(|from| foresees(network, *from))?;
    let lead = ends.exit.least_time() + returning.there.least_time();
    (!lead.is_zero()).then_some((from, lead))
}

/// What flows have in common whose packets all take equally long from one link to that on the way back, but for SYNs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Alike {
    from: u32,
    exit: (Rate, Duration),
    there: (Rate, Duration),
    segment: Bytes,
    ack: Bytes,
}

impl Alike {
    /// That of a flow whose data leaves the link `from`: segments of one size, and acknowledgements, that never find a link of its own
    /// busy, as that sends them in less time than `from` does.
    fn of<P: Traveller>(
        network: &Parts<P>,
        from: u32,
        FlowEnds { host, receiver, exit, feed, .. }: &FlowEnds,
    ) -> Option<Self> {
        let (SendingEnd::Tcp(sender), ReceivingEnd::Tcp(receiver)) = (&host.sender, receiver) else { return None };
        let Node::Link(link) = &network.nodes[from as usize] else { return None };
        let (segment, ack) = (sender.size_of_all()?, receiver.size_of_all()?);
        let (exit, there) = (exit.one_link()?, feed.as_ref()?.returning.as_ref()?.there.one_link()?);
        let sending = segment / link.rate();
        let is_no_slower = |size: Bytes, rate: Rate| rate == Rate::default() || size / rate <= sending;
        let are_never_busy = !sending.is_zero() && is_no_slower(segment, exit.0) && is_no_slower(ack, there.0);
        let are_whole = host.app.writes_whole(Bytes::new(sender.mss()));
        (are_whole && are_never_busy).then_some(Self { from, exit, there, segment, ack })
    }
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

/// For each link to which something comes: what that is, if the link foresees and all comes in order out of what is asked ahead of
/// time.
fn in_order<P: Traveller>(network: &Parts<P>, flows: &[AssembledFlow]) -> BTreeMap<u32, Option<InOrder>> {
    let mut found: BTreeMap<u32, Option<InOrder>> = BTreeMap::new();
    for (flow, route) in network.routes.iter().enumerate() {
        let hops = network.hops_of(route);
        for (i, hop) in hops.iter().enumerate() {
            let Some(node) = leads_to(network, hop) else { continue };
            let (mut lane, mut way) = (None, None);
            if i > 0 && foresees(network, node) {
                lane = lane_behind(network, &hops[i - 1], hop);
                way = if i == usize::from(route.back) { first_back(network, route, &flows[flow]) } else { None };
            }
            let so_far = found.entry(node).or_insert_with(|| Some(InOrder { hops: vec![], lane, way }));
            if let Some(InOrder { hops, lane: all, way: every }) = so_far {
                *all = all.filter(|all| Some(*all) == lane);
                *every = every.filter(|every| Some(*every) == way);
                hops.push(route.base as usize + i);
            }
            *so_far = so_far.take().filter(|in_order| in_order.lane.is_some() || in_order.way.is_some());
        }
    }
    found
}

/// The lane of a hop to a link that foresees, if what comes to it in order is known early: out of another such, or from a receiver
/// that is asked ahead of time. What takes no time in the link would leave it in the instant of what others send.
fn lane_behind<P: Traveller>(network: &Parts<P>, before: &Hop, hop: &Hop) -> Option<u32> {
    let is_early = *before == Hop::Receiver || leads_to(network, before).is_some_and(|node| foresees(network, node));
    match *hop {
        Hop::Lane(lane) if is_early && link_takes_time(network, lane) => Some(lane),
        _ => None,
    }
}

/// The lanes each of which leads alone to a link that foresees.
fn only_lanes<P: Traveller>(network: &Parts<P>) -> BTreeSet<u32> {
    let mut lanes: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    for hop in network.routes.iter().flat_map(|route| network.hops_of(route)) {
        if let (Hop::Lane(lane), Some(node)) = (*hop, leads_to(network, hop)) {
            let only = lanes.entry(node).or_insert(Some(lane));
            *only = only.filter(|only| *only == lane);
        }
    }
    let only = lanes.into_iter().filter(|(node, _)| foresees(network, *node));
    only.filter_map(|(_, lane)| lane).filter(|lane| link_takes_time(network, *lane)).collect()
}

/// Whether a lane leads to a link that takes some time for all that it sends.
fn link_takes_time<P: Traveller>(network: &Parts<P>, lane: u32) -> bool {
    leads_to(network, &Hop::Lane(lane))
        .is_some_and(|node| matches!(&network.nodes[node as usize], Node::Link(link) if link.takes_time()))
}

/// The node to which a hop leads, unless that is a WLAN.
fn leads_to<P>(network: &Parts<P>, hop: &Hop) -> Option<u32> {
    match *hop {
        Hop::Lane(lane) | Hop::Over(lane) => match network.lanes[lane as usize].to {
            Place::Node(node) | Place::Through(node) => Some(node),
            Place::Host
            | Place::EarlyHost
            | Place::Receiver
            | Place::Gate(..)
            | Place::Wlan(..)
            | Place::Proxy(_)
            | Place::Gateway(_) => None,
        },
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
