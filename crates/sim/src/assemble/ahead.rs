// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which links may be asked ahead of time.
//!
//! Acknowledgements come to the first shared link of their way back over private lanes, an event each, because those of
//! different flows must be put in order. Where all those flows leave the same shared element for their receivers, and each
//! takes the same fixed time from there to the link, they are in order already: as the element's departures are. Then the
//! link can be asked as soon as a receiver answers, and the lanes are not needed. Nothing changes but the number of
//! events; as the link's clock then runs ahead, samples of its queue would not be of their instant, so a scenario
//! with probes keeps the lanes.

use lasthop_core::line::Path;
use lasthop_core::units::Duration;

use crate::network::{End, Hop, Parts, Route, Traveller};

/// Replaces the lanes in front of links that may be asked ahead of time.
pub(super) fn shorten<P: Traveller>(network: &mut Parts<P>, exits: &[Path]) {
    for link in 0..network.links.len() {
        if let Some((flows, delay)) = in_order(network, exits, link as u32) {
            for flow in flows {
                let route = &mut network.routes[flow];
                route.hops[usize::from(route.back)] = Hop::Link(link as u32, delay);
            }
        }
    }
}

/// The flows whose acknowledgements come to `link`, and the time that each takes to it from its receiver; none unless the
/// link foresees, nothing else comes to it, and all come in order.
fn in_order<P: Traveller>(network: &Parts<P>, exits: &[Path], link: u32) -> Option<(Vec<usize>, Duration)> {
    if !network.links[link as usize].foresees() {
        return None;
    }
    let leads_here = |hop: &Hop| match *hop {
        Hop::Lane(lane) => network.lanes[lane as usize].end == End::Link(link),
        Hop::Receiver | Hop::Link(..) => false,
    };
    let mut flows = vec![];
    let mut common: Option<(End, Duration, Duration)> = None;
    for (flow, route) in network.routes.iter().enumerate() {
        let first_back = usize::from(route.back);
        if !route.hops.iter().enumerate().any(|(i, hop)| leads_here(hop) && i != first_back) {
            if !leads_here(&route.hops[first_back]) {
                continue;
            }
            let this = (source(network, route)?, exits[flow].fixed_delay()?, lane_delay(network, route)?);
            if *common.get_or_insert(this) != this {
                return None;
            }
            flows.push(flow);
        } else {
            return None;
        }
    }
    common.map(|(_, _, back)| (flows, back))
}

/// The shared element from which a flow's data leaves for a receiver that is asked ahead of time. An access point is none: it
/// sends several packets in one instant, to different flows, whose order is then that of their lanes.
fn source<P>(network: &Parts<P>, route: &Route) -> Option<End> {
    let forward = &route.hops[..usize::from(route.back)];
    match forward {
        [.., Hop::Lane(lane), Hop::Receiver] => match network.lanes[*lane as usize].end {
            end @ End::Link(_) => Some(end),
            End::Host | End::Receiver | End::Ap(_) | End::Wlan(..) => None,
        },
        _ => None,
    }
}

/// The fixed time that a flow's acknowledgements take over their first lane.
fn lane_delay<P>(network: &Parts<P>, route: &Route) -> Option<Duration> {
    match route.hops[usize::from(route.back)] {
        Hop::Lane(lane) => network.lanes[lane as usize].line.path().fixed_delay(),
        Hop::Receiver | Hop::Link(..) => None,
    }
}
