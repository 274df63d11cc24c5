// SPDX-License-Identifier: MIT OR Apache-2.0
//! What flows share, and what they do not.
//!
//! Flows that cross the same link, access point or WLAN are of one component, and so is all that they cross. Components have
//! nothing to do with each other: each is a network of its own, and the order in which they are simulated changes nothing. What
//! hangs on the number of a flow or of an element in the whole network, ties in the event list and the hash of FQ-CoDel, goes by
//! that number.

use std::collections::BTreeMap;
use std::sync::Arc;

use lasthop_core::law::kernel::KernelProxy;
use lasthop_core::role::Pools;
use lasthop_core::units::{Duration, LONGEST};

use super::legs::Leg;
use super::wireless::Outermost;
use super::{AssembledFlow, Builder};
use crate::network::{Parts, Place, Traveller};
use crate::scenario::{self, ScenarioError};
use crate::stations::StationEnd;

/// Most links, access points and WLANs that a packet and its acknowledgement cross: hops are counted in a byte, and two are at
/// the ends.
const MOST_CROSSED: usize = u8::MAX as usize - 2;

/// Flows that share something, and what they share.
#[derive(Debug)]
pub(super) struct Component<P> {
    pub(super) parts: Parts<P>,
    /// The flows, in the order of their streams.
    pub(super) flows: Vec<AssembledFlow>,
    /// The stations whose flows have one agent.
    pub(super) stations: Vec<StationEnd>,
    /// The pools in which flows of one station meet.
    pub(super) pools: Vec<Pools>,
    /// The lanes between nodes made so far.
    pub(super) between: BTreeMap<(Place, Duration, Place), u32>,
    pub(super) numbers: Numbers,
    /// The proxies of access points, by their numbers among the nodes.
    pub(super) proxies: BTreeMap<u32, Box<KernelProxy>>,
}

/// The numbers that lanes, flows and nodes have in the whole network.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) lanes: Vec<u32>,
    pub(super) flows: Vec<u32>,
    pub(super) nodes: Vec<u32>,
}

impl<P> Default for Component<P> {
    fn default() -> Self {
        Self {
            parts: Parts::default(),
            flows: vec![],
            stations: vec![],
            pools: vec![],
            between: BTreeMap::new(),
            numbers: Numbers::default(),
            proxies: BTreeMap::new(),
        }
    }
}

impl<P: Traveller> Component<P> {
    /// Tells the parts what they are called in the whole network, which has so many `lanes` and `flows`: in the event list the
    /// lanes come first, then the hosts, the receivers and the nodes.
    pub(super) fn call(&mut self, lanes: u32, flows: u32) {
        let Numbers { lanes: own_lanes, flows: own_flows, nodes } = std::mem::take(&mut self.numbers);
        let ends = [lanes, lanes + flows].into_iter().flat_map(|first| own_flows.iter().map(move |flow| first + flow));
        let nodes = nodes.iter().map(|node| lanes + 2 * flows + node);
        self.parts.names = own_lanes.iter().copied().chain(ends).chain(nodes).collect();
        let names: Arc<[u32]> = own_flows.into();
        self.parts.nodes.iter_mut().for_each(|node| node.call_flows(&names));
    }
}

/// The way of the flows of one table, there and back.
pub(super) struct Way {
    pub(super) there: Vec<Leg>,
    pub(super) back: Vec<Leg>,
    /// The component that all of it is of.
    pub(super) component: usize,
}

impl Way {
    fn legs(&self) -> impl Iterator<Item = &Leg> {
        self.there.iter().chain(&self.back)
    }

    fn nodes(&self) -> impl Iterator<Item = usize> {
        self.legs().filter_map(Leg::node)
    }

    /// Refuses a way that is too long, in hops or in time.
    fn check(&self, flow: &scenario::FlowSpec) -> Result<(), ScenarioError> {
        let (mut crossed, mut delay) = (0, u128::from(flow.rtt.as_nanos()));
        for leg in self.legs() {
            crossed += usize::from(leg.crosses());
            delay += u128::from(leg.delay().as_nanos());
        }
        if crossed > MOST_CROSSED {
            let message = "links, access points and WLANs, there and back: wanted at most";
            return Err(ScenarioError::at("path", format!("crosses {crossed} {message} {MOST_CROSSED}")));
        }
        if delay > u128::from(LONGEST.as_nanos()) {
            return Err(ScenarioError::at("path", format!("wanted delays that add up to at most {LONGEST:?}")));
        }
        Ok(())
    }
}

impl<P: Traveller> Builder<'_, P> {
    /// The ways of all tables' flows. From here on the nodes are in the components, and have the numbers that they have there.
    pub(super) fn ways(&mut self, ends: &[Outermost]) -> Result<Vec<Way>, ScenarioError> {
        let way = |(i, (flow, ends)): (usize, (&scenario::FlowSpec, &Outermost))| {
            let found = self.legs(flow, *ends).and_then(|(there, back)| {
                let way = Way { there, back, component: 0 };
                way.check(flow).map(|()| way)
            });
            found.map_err(|e| e.within(&format!("flow[{i}]")))
        };
        let mut ways = self.scenario.flow.iter().zip(ends).enumerate().map(way).collect::<Result<Vec<_>, _>>()?;
        self.of_node = vec![0; self.nodes.len()];
        let count = if self.apart { part(&mut ways, &mut self.of_node) } else { 1 };
        self.components.resize_with(count, Component::default);
        let mut numbers = vec![];
        for (number, (node, &of)) in (0..).zip(self.nodes.drain(..).zip(&self.of_node)) {
            let component = &mut self.components[of as usize];
            numbers.push(component.parts.nodes.len() as u32);
            component.parts.nodes.push(node);
            component.numbers.nodes.push(number);
        }
        for (node, proxy) in self.proxies.drain(..) {
            let of = self.of_node[node as usize] as usize;
            self.components[of].proxies.insert(numbers[node as usize], proxy);
        }
        for way in &mut ways {
            way.there.iter_mut().chain(&mut way.back).for_each(|leg| leg.renumber(&numbers));
        }
        Ok(ways)
    }
}

/// Finds the component of each way, in the order in which they first appear, and of each node; those that nobody crosses are of the
/// first. Gives how many there are.
fn part(ways: &mut [Way], of_node: &mut [u32]) -> usize {
    // A forest over the nodes: those of one tree are of one component.
    let mut above: Vec<usize> = (0..of_node.len()).collect();
    for way in &*ways {
        let mut nodes = way.nodes();
        let Some(first) = nodes.next() else { continue };
        for other in nodes {
            let (a, b) = (root(&mut above, first), root(&mut above, other));
            above[b] = a;
        }
    }
    let mut of_root = BTreeMap::new();
    let mut count = 0;
    for way in ways {
        let mut new = || {
            count += 1;
            count - 1
        };
        let first = way.nodes().next();
        way.component = match first {
            Some(node) => *of_root.entry(root(&mut above, node)).or_insert_with(new),
            None => new(),
        };
    }
    for (node, of) in of_node.iter_mut().enumerate() {
        *of = of_root.get(&root(&mut above, node)).map_or(0, |&component| component as u32);
    }
    count
}

/// The root of the tree in which `node` is; on the way there paths are halved.
fn root(above: &mut [usize], mut node: usize) -> usize {
    while above[node] != node {
        above[node] = above[above[node]];
        node = above[node];
    }
    node
}

#[cfg(test)]
mod tests;
