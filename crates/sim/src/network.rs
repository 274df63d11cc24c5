// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network between the ends of the flows: nodes, the lanes between them, and who gets which packet. Whoever stands at
//! the ends drives it.
//!
//! ```text
//!            lane            lane             exit path
//!   host ──► ════ ──► node ► ════ ──► node ─► ──────── ──► receiver      data
//!   host ◄── ════════════════════════════════════════════ receiver      acknowledgements
//! ```
//!
//! A flow's route is a list of hops: what its packet does next as it leaves a host, a node or a receiver. A lane is a line and
//! the place at its end; its head alone is in the event list. In virtual time a receiver that
//! keeps no timer is an answer to its packets and nothing else: it is asked as soon as a departure towards it is known,
//! ahead of time, and its acknowledgement goes on with its own stamp. So is a link that foresees its departures, if all that
//! comes to it comes in order of time out of one such chain, over one lane or over some that take equally long. And so is a host, if nothing else is on its way to it and it
//! has nothing to do by itself before the acknowledgement comes: what it sends waits on its own lane for its time to come.
//! That leaves one event a packet on a dumbbell.

pub(crate) mod gate;
mod nodes;
mod parts;

use std::ops::Range;

use lasthop_core::capacity::Trace;
use lasthop_core::element::Departure;
use lasthop_core::line::Path;
use lasthop_core::packet::{Packet, Parcel};
use lasthop_core::units::{Bytes, Instant};

use crate::events::EventList;
use crate::node::Node;

pub use parts::Place;
pub(crate) use parts::{Home, Hop, Lane, LinksHome, NOBODY, Parts, Returning, Route, Waiting};

/// A packet that finds its way: which flow it belongs to, and how many hops it has travelled.
pub trait Traveller: Parcel {
    /// The flow whose route it takes.
    fn stream(&self) -> u32;
    /// Hops travelled, the index into the flow's route.
    fn hop(&self) -> u8;
    /// Sets the hops travelled.
    fn set_hop(&mut self, hop: u8);
    /// Sets the station at the next access point or WLAN.
    fn set_station(&mut self, station: u16);
}

impl Traveller for Packet {
    #[inline]
    fn stream(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn hop(&self) -> u8 {
        self.hop
    }

    #[inline]
    fn set_hop(&mut self, hop: u8) {
        self.hop = hop;
    }

    #[inline]
    fn set_station(&mut self, station: u16) {
        self.station = station;
    }
}

/// What stands at the ends of the flows.
pub trait Ends<P: Traveller> {
    /// A packet comes to its flow's host or receiver, or to a gateway.
    fn take(&mut self, network: &mut Network<P>, place: Place, now: Instant, packet: P);
    /// The head of the line that the ends keep under this number is due at `now`: that of a flow's data, or behind those of all
    /// flows that of its acknowledgements.
    #[inline]
    fn feed(&mut self, _network: &mut Network<P>, _number: u32, _now: Instant) {}
    /// Takes the head off the line of a flow's data that the ends keep under this number, and tells when the next is out.
    #[inline]
    fn fetch(&mut self, _number: u32) -> Option<(P, Option<Instant>)> {
        None
    }
    /// A packet leaves for its receiver at `at`, which is to be asked ahead of time; what it answers is to go on.
    fn answer(&mut self, network: &mut Network<P>, at: Instant, packet: &P);
    /// Whether the host of a flow may take ahead of time what comes to it at `at`, if that is the next to come.
    #[inline]
    fn may_hear(&self, _flow: u32, _at: Instant) -> bool {
        false
    }
    /// A packet comes to the access point `node`, where the queue of its station holds `queued`.
    #[inline]
    fn enters(&mut self, _at: Instant, _node: u32, _packet: &mut P, _queued: Bytes) {}
    /// An acknowledgement comes by the access point `node` on its way back, where the queue of its station holds `queued`. Gives what is
    /// to follow it.
    fn returns(&mut self, _at: Instant, _node: u32, _packet: &mut P, _queued: Bytes) -> Vec<P> {
        vec![]
    }
    /// On the arrival of a packet of `size`, the access point `node` has dropped so many.
    #[inline]
    fn drops(&mut self, _at: Instant, _node: u32, _packets: u64, _size: Bytes) {}
    /// A packet leaves the access point `node`.
    #[inline]
    fn leaves(&mut self, _at: Instant, _node: u32, _packet: &P) {}
    /// The wake that was [scheduled](Network::schedule_end) as number `who`.
    fn wake(&mut self, network: &mut Network<P>, who: u32, now: Instant);
}

/// A network with its event list.
#[derive(Debug)]
pub struct Network<P> {
    parts: Parts<P>,
    events: EventList,
    /// For every element but lanes: the instant of its entry in the event list that counts.
    pending: Vec<Instant>,
    first: Numbers,
    served: u64,
    /// How many may be served in all before [`serve`](Self::serve) returns.
    stop: u64,
}

/// The first number of each kind of element in the event list; lanes come first of all.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    end: u32,
    node: u32,
    /// The last of those of the ends, behind all others.
    last: u32,
}

impl<P: Traveller> Network<P> {
    /// A network whose ends may be woken by the numbers `0..=ends`.
    pub(crate) fn new(mut parts: Parts<P>, ends: u32) -> Self {
        let end = parts.lanes.len() as u32;
        parts.kept_for.resize(parts.lanes.len(), NOBODY);
        let node = end + ends;
        let last = node + parts.nodes.len() as u32;
        Self {
            events: EventList::of_part(std::mem::take(&mut parts.names)),
            parts,
            pending: vec![Instant::MAX; last as usize + 1],
            first: Numbers { end, node, last },
            served: 0,
            stop: 0,
        }
    }

    /// The links, access points and WLANs, in the order of the results.
    pub fn nodes(&self) -> &[Node<P>] {
        &self.parts.nodes
    }

    /// The same, to be looked at where looking brings them up to date.
    pub fn nodes_mut(&mut self) -> &mut [Node<P>] {
        &mut self.parts.nodes
    }

    /// Events served.
    pub fn served(&self) -> u64 {
        self.served
    }

    /// Packets on the lanes and in the nodes.
    pub fn under_way(&self) -> usize {
        let on_lanes: usize = self.parts.lanes.iter().map(|lane| lane.line.len()).sum();
        on_lanes + self.parts.nodes.iter().map(Node::waiting).sum::<usize>()
    }

    /// When something next happens by itself, unless something comes in.
    pub fn next_wake(&self) -> Option<Instant> {
        self.events.earliest()
    }

    /// Serves at most `most` events before `until`; false when there are no more.
    #[inline]
    pub fn serve(&mut self, ends: &mut impl Ends<P>, until: Instant, most: u64) -> bool {
        self.stop = self.served.saturating_add(most);
        while self.served < self.stop {
            let Some((at, id)) = self.events.pop_before(until) else {
                self.admit_all(ends, until);
                return false;
            };
            self.served += 1;
            if id < self.first.end {
                self.wake_lane(ends, id, at);
            } else if self.pending[id as usize] == at {
                self.pending[id as usize] = Instant::MAX;
                self.wake(ends, id, at, until);
            }
        }
        true
    }

    /// Brings all meters up to `now`.
    pub fn finish(&mut self, now: Instant) {
        for node in &mut self.parts.nodes {
            node.finish(now);
        }
    }

    /// The ends are to be woken at `at` under the number `who`, unless they are woken earlier under it.
    #[inline(always)]
    pub fn schedule_end(&mut self, who: u32, at: Option<Instant>) {
        let id = self.first.end + who;
        self.schedule(if id < self.first.node { id } else { self.first.last }, at);
    }

    /// The recorded channel of the access point `node`, if it has one.
    pub fn trace(&self, node: u32) -> Option<&Trace> {
        match self.parts.nodes.get(node as usize) {
            Some(Node::AccessPoint(ap)) => ap.trace(),
            _ => None,
        }
    }

    /// A flow's host sends a packet.
    #[inline]
    pub fn send(&mut self, ends: &mut impl Ends<P>, at: Instant, mut packet: P) {
        let route = &self.parts.routes[packet.stream() as usize];
        packet.set_station(route.station);
        if let Hop::Lane(lane) = self.parts.hops[route.base as usize] {
            packet.set_hop(1);
            self.board(lane, at, packet);
        } else {
            self.forward(ends, at, packet);
        }
    }

    /// A flow's receiver sends a packet back.
    #[inline]
    pub fn send_back(&mut self, ends: &mut impl Ends<P>, at: Instant, mut packet: P) {
        let route = &self.parts.routes[packet.stream() as usize];
        packet.set_hop(route.back);
        packet.set_station(route.station);
        self.forward(ends, at, packet);
    }

    /// A packet that the ends took at a gateway goes on from there, as data of its flow or back; false if its route has none.
    pub fn resume(&mut self, ends: &mut impl Ends<P>, at: Instant, is_data: bool, mut packet: P) -> bool {
        let route = self.parts.routes[packet.stream() as usize];
        let hops = if is_data { 0..route.back } else { route.back..route.hops };
        let Some(hop) = self.gateway(packet.stream(), hops) else { return false };
        packet.set_hop(hop + 1);
        packet.set_station(route.station);
        self.forward(ends, at, packet);
        true
    }

    /// Whether a flow's data come to a gateway.
    pub fn has_gateway(&self, stream: u32) -> bool {
        self.gateway(stream, 0..self.parts.routes[stream as usize].back).is_some()
    }

    /// The hop of a flow's route that leads to a gateway.
    fn gateway(&self, stream: u32, mut hops: Range<u8>) -> Option<u8> {
        let base = self.parts.routes[stream as usize].base as usize;
        hops.find(|hop| match self.parts.hops[base + usize::from(*hop)] {
            Hop::Lane(lane) => matches!(self.parts.lanes[lane as usize].to, Place::Gateway(_)),
            _ => false,
        })
    }

    /// When an acknowledgement of `size` that leaves its receiver at `at` is home, if it gets there.
    #[inline(always)]
    pub(crate) fn come_home(&mut self, home: &mut Home, mut at: Instant, size: u32) -> Option<Instant> {
        let size = Bytes::new(u64::from(size));
        match &mut home.links {
            LinksHome::None => {}
            LinksHome::One(node, delay) => at = self.foresee(*node, at + *delay, size)?,
            LinksHome::Behind(behind) => at = self.pass_behind(behind, at, size)?,
            LinksHome::Hops(from, to) => at = self.pass(*from, *to, at, size)?,
        }
        home.path.transit(at, size)
    }

    /// When a packet of `size` that comes to this path at `at` has left the link behind it.
    #[inline(never)]
    fn pass_behind(&mut self, (path, node): &mut (Path, u32), at: Instant, size: Bytes) -> Option<Instant> {
        let at = path.transit(at, size)?;
        self.foresee(*node, at, size)
    }

    /// When a packet of `size` that leaves an element at `at` has gone these hops of a flow, which lead over lanes to links.
    #[cold]
    #[inline(never)]
    fn pass(&mut self, from: u32, to: u32, at: Instant, size: Bytes) -> Option<Instant> {
        (from..to).try_fold(at, |at, hop| match self.parts.hops[hop as usize] {
            Hop::Over(lane) => self.pass_over(lane, at, size),
            _ => None,
        })
    }

    /// When a packet of `size` that comes to a lane at `at` has left the link at the end of it, if it does.
    #[inline(never)]
    fn pass_over(&mut self, lane: u32, at: Instant, size: Bytes) -> Option<Instant> {
        let Lane { line, to } = &mut self.parts.lanes[lane as usize];
        let at = line.transit(at, size)?;
        let Place::Node(node) = *to else { return None };
        self.foresee(node, at, size)
    }

    /// When all that is on a lane has left.
    pub(crate) fn empty_at(&self, lane: u32) -> Option<Instant> {
        self.parts.lanes[lane as usize].line.empty_at()
    }

    /// Takes the head off a lane that its host fills if it is due at `now`. Gives with it whether nothing is left on the lane; else
    /// the next has its entry in the event list, or is due at once.
    pub(crate) fn take_head(&mut self, lane: u32, now: Instant) -> Option<(P, bool)> {
        let line = &mut self.parts.lanes[lane as usize].line;
        let departure = line.take(now)?;
        let next = line.next_wake();
        if let Some(next) = next.filter(|next| *next > now) {
            self.events.push(next, lane);
        }
        Some((departure.packet, next.is_none()))
    }

    /// What was on a flow's first lane comes to the end of it.
    pub(crate) fn come_over(&mut self, ends: &mut impl Ends<P>, lane: u32, now: Instant, packet: P) {
        self.deliver(ends, self.parts.lanes[lane as usize].to, now, packet);
    }

    /// Whether of two lanes that are due at `at` the first wakes before the other.
    #[cold]
    pub(crate) fn wakes_before(&self, at: Instant, lane: u32, other: u32) -> bool {
        self.events.is_before(at, lane, other)
    }

    /// The head of a lane is due at `at`.
    #[inline(always)]
    pub(crate) fn schedule_lane(&mut self, lane: u32, at: Instant) {
        self.events.push(at, lane);
    }

    /// The head of a line that the ends keep, in the place of `lane`, is due at `at` where that leads: there has been none before.
    #[cold]
    #[inline(never)]
    pub(crate) fn schedule_head(&mut self, lane: u32, to: &Place, at: Instant) {
        match *to {
            Place::Gate(node, line) => self.expect(node, line, at),
            _ => self.schedule_lane(lane, at),
        }
    }

    /// Whether what is due at `at` comes before all that is in the event list, so that it may be served at once, as long as so many
    /// events may be served.
    #[inline(always)]
    pub(crate) fn comes_first(&mut self, at: Instant) -> bool {
        let is_first = self.served < self.stop && self.events.is_before_all(at);
        self.served += u64::from(is_first);
        is_first
    }

    /// When a packet of `size` that comes to the link `node` at `now` has left it, if it does and the link foresees that.
    #[inline(always)]
    pub(crate) fn foresee(&mut self, node: u32, now: Instant, size: Bytes) -> Option<Instant> {
        let Node::Link(link) = &mut self.parts.nodes[node as usize] else { return None };
        link.foresee(now, size)
    }

    /// What has crossed its flow's first lane comes to the end of it.
    #[inline]
    pub(crate) fn come(&mut self, ends: &mut impl Ends<P>, to: Place, now: Instant, mut packet: P) {
        packet.set_station(self.parts.routes[packet.stream() as usize].station);
        packet.set_hop(1);
        self.deliver(ends, to, now, packet);
    }

    /// The packet, which will be home at `at`, waits for that on its lane.
    pub(crate) fn wait(&mut self, waiting: &mut Waiting, at: Instant, packet: P) {
        if waiting.count == 0 {
            self.events.push(at, waiting.lane);
        }
        waiting.count += 1;
        self.parts.lanes[waiting.lane as usize].line.put(at, packet);
    }

    #[inline(always)]
    fn schedule(&mut self, id: u32, at: Option<Instant>) {
        if let Some(at) = at
            && let pending = &mut self.pending[id as usize]
            && at < *pending
        {
            *pending = at;
            self.events.push(at, id);
        }
    }

    #[inline]
    fn wake_lane(&mut self, ends: &mut impl Ends<P>, id: u32, now: Instant) {
        let number = self.parts.kept_for[id as usize];
        if number != NOBODY {
            return ends.feed(self, number, now);
        }
        if self.parts.lanes[id as usize].to == Place::EarlyHost {
            return self.wake_lane_home(ends, id);
        }
        loop {
            let lane = &mut self.parts.lanes[id as usize];
            let Some(departure) = lane.line.take(now) else { break };
            let next = lane.line.next_wake();
            let to = lane.to;
            // The lane's next wake goes in first, as it may be what comes next of all.
            if let Some(next) = next.filter(|next| *next > now) {
                self.events.push(next, id);
            }
            self.deliver(ends, to, departure.at, departure.packet);
            if next != Some(now) {
                break;
            }
        }
    }

    /// The head of a lane is due at its host. What is behind it need not wait for its own time unless the host has something
    /// to do before; else one that had to wait would hold up all that ever follow.
    #[inline]
    fn wake_lane_home(&mut self, ends: &mut impl Ends<P>, id: u32) {
        while let Some(Departure { at, packet }) = self.parts.lanes[id as usize].line.take(Instant::MAX) {
            ends.take(self, Place::Host, at, packet);
            let Some(next) = self.parts.lanes[id as usize].line.head() else { break };
            if !ends.may_hear(next.packet.stream(), next.at) {
                self.events.push(next.at, id);
                break;
            }
        }
    }

    #[inline]
    fn deliver(&mut self, ends: &mut impl Ends<P>, to: Place, now: Instant, packet: P) {
        match to {
            Place::Host | Place::EarlyHost => ends.take(self, Place::Host, now, packet),
            Place::Receiver | Place::Gateway(_) => ends.take(self, to, now, packet),
            Place::Node(node) | Place::Gate(node, _) => self.enter(ends, node, now, packet),
            Place::Wlan(node, direction) => self.enter_wlan(ends, node, direction, now, packet),
            Place::Proxy(node) => self.pass_proxy(ends, node, now, packet),
            Place::Through(node) => {
                if let Some(at) = self.foresee(node, now, packet.size()) {
                    ends.answer(self, at, &packet);
                }
            }
        }
    }

    #[inline(never)]
    fn wake(&mut self, ends: &mut impl Ends<P>, id: u32, now: Instant, until: Instant) {
        let Numbers { end, node, last } = self.first;
        if id < node {
            ends.wake(self, id - end, now);
        } else if id < last {
            self.wake_node(ends, id, now, until);
        } else {
            ends.wake(self, node - end, now);
        }
    }

    /// Where a packet goes that leaves an element.
    #[inline(always)]
    fn hop_of(&self, packet: &P) -> Hop {
        let route = &self.parts.routes[packet.stream() as usize];
        self.parts.hops[route.base as usize + usize::from(packet.hop())]
    }

    /// The packet leaves an element at `at` and goes where its route says, as far as it need not wait for others: onto a
    /// lane, or ahead of time through links and to the receiver or the host.
    #[inline(always)]
    fn forward(&mut self, ends: &mut impl Ends<P>, mut at: Instant, mut packet: P) {
        loop {
            let hop = self.hop_of(&packet);
            packet.set_hop(packet.hop() + 1);
            match hop {
                Hop::Lane(id) => return self.board(id, at, packet),
                Hop::Host(id) => return self.go_home(ends, id, at, packet),
                Hop::Over(lane) => {
                    let Some(out) = self.pass_over(lane, at, packet.size()) else { return };
                    at = out;
                }
                Hop::Receiver => return ends.answer(self, at, &packet),
            }
        }
    }

    /// The packet goes to its host. Where it overtakes nothing, the host may take it at once.
    #[inline]
    fn go_home(&mut self, ends: &mut impl Ends<P>, lane: u32, now: Instant, packet: P) {
        let line = &mut self.parts.lanes[lane as usize].line;
        if !line.is_empty() {
            return line.receive(now, packet);
        }
        let Some(at) = line.transit(now, packet.size()) else { return };
        if ends.may_hear(packet.stream(), at) {
            return ends.take(self, Place::Host, at, packet);
        }
        line.put(at, packet);
        self.events.push(at, lane);
    }

    /// The packet goes onto a lane.
    #[inline(always)]
    fn board(&mut self, lane: u32, now: Instant, packet: P) {
        let line = &mut self.parts.lanes[lane as usize].line;
        let Some(at) = line.transit(now, packet.size()) else { return };
        if line.is_empty() {
            self.events.push(at, lane);
        }
        line.put(at, packet);
    }
}
