// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a network is made of: lanes and where they end, hops of routes, ways home.

use lasthop_core::line::{Line, Path};
use lasthop_core::units::Duration;
use lasthop_core::wlan::Direction;

use super::gate::Gate;
use crate::node::Node;

/// Where a lane ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The flow's host.
    Host,
    /// The flow's host, which may take ahead of time what is on the lane.
    EarlyHost,
    /// The flow's receiver.
    Receiver,
    /// A link or an access point, by its number among the nodes.
    Node(u32),
    /// An access point, by its number among the nodes, that takes itself what is out on the lines of its gate; which of these.
    Gate(u32, u8),
    /// A WLAN, at its base station or at the flow's station.
    Wlan(u32, Direction),
    /// The proxy of an access point, by its number among the nodes, which acknowledgements come by.
    Proxy(u32),
    /// The gateway in front of an access point, by its number among the nodes: the ends take what comes to it, and it
    /// [goes on](crate::network::Network::resume) when they say so.
    Gateway(u32),
    /// A link, by its number among the nodes, that foresees its departures, and behind it the receiver of the lane's one flow,
    /// which is asked ahead of time: the short way of a node and a hop.
    Through(u32),
}

impl Place {
    /// The number of the node that it is at, if it is at one.
    pub(crate) fn node_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Node(node)
            | Self::Gate(node, _)
            | Self::Wlan(node, _)
            | Self::Proxy(node)
            | Self::Gateway(node)
            | Self::Through(node) => Some(node),
            Self::Host | Self::EarlyHost | Self::Receiver => None,
        }
    }
}

/// Where a packet goes from an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    /// Onto a lane.
    Lane(u32),
    /// Over a lane to the flow's host, ahead of time if it can be asked and the lane is empty.
    Host(u32),
    /// To the flow's receiver, ahead of time.
    Receiver,
    /// Over a lane and through the link at its end, ahead of time.
    Over(u32),
}

/// A line and what is at its end.
#[derive(Debug)]
pub(crate) struct Lane<P> {
    pub(crate) line: Line<P>,
    pub(crate) to: Place,
}

/// The hops of a flow, among those of all flows: first those of the data, from `back` on those of the acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) base: u32,
    pub(crate) back: u8,
    pub(crate) hops: u8,
    /// The station to which the data goes.
    pub(crate) station: u16,
    /// The station from which the data comes.
    pub(crate) source: u16,
}

/// No flow.
pub(crate) const NOBODY: u32 = u32::MAX;

/// All elements of a network, before it starts.
#[derive(Debug)]
pub(crate) struct Parts<P> {
    pub(crate) lanes: Vec<Lane<P>>,
    /// For each lane: the number under which the ends keep the line [themselves](Ends::feed), or [`NOBODY`]. Apart from the lanes,
    /// which are large.
    pub(crate) kept_for: Vec<u32>,
    pub(crate) nodes: Vec<Node<P>>,
    /// The gates of nodes; those behind the last have none.
    pub(crate) gates: Vec<Gate>,
    /// The hops of all flows, one after the other.
    pub(crate) hops: Vec<Hop>,
    pub(crate) routes: Vec<Route>,
    /// What its elements are called in the whole network, of which these are a part; nothing: these are all.
    pub(crate) names: Vec<u32>,
}

/// The way back of acknowledgements whose host may be asked ahead of time: through links, or none, and over a path of their own.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) links: LinksHome,
    pub(crate) path: Path,
    pub(crate) waiting: Waiting,
}

/// The links on a way home, which are asked ahead of time.
#[derive(Debug)]
pub(crate) enum LinksHome {
    None,
    /// One, by its number among the nodes, behind a delay.
    One(u32, Duration),
    /// One behind any path.
    Behind(Box<(Path, u32)>),
    /// Any others: these of the hops of all flows lead over lanes to them.
    Hops(u32, u32),
}

/// Acknowledgements that cannot be heard at once.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The lane on which they wait.
    pub(crate) lane: u32,
    /// How many do.
    pub(crate) count: u32,
}

/// The same where they come to the link `node` each in its turn.
#[derive(Debug)]
pub(crate) struct Returning {
    /// The path to it, and the lane whose place that takes.
    pub(crate) there: Path,
    pub(crate) lane: u32,
    pub(crate) node: u32,
    /// The number of the [merge](crate::merge) there.
    pub(crate) merge: u32,
    /// From there home.
    pub(crate) path: Path,
    pub(crate) waiting: Waiting,
}

impl<P> Default for Parts<P> {
    fn default() -> Self {
        Self {
            lanes: vec![],
            kept_for: vec![],
            nodes: vec![],
            gates: vec![],
            hops: vec![],
            routes: vec![],
            names: vec![],
        }
    }
}

impl<P> Parts<P> {
    /// The hops of a flow.
    pub(crate) fn hops_of(&self, route: &Route) -> &[Hop] {
        &self.hops[route.base as usize..][..usize::from(route.hops)]
    }
}
