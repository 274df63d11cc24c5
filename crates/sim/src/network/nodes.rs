// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes to a node, and what leaves it: links, access points and what stands before them, WLANs.

use std::collections::VecDeque;

use lasthop_core::element::{Departure, Element};
use lasthop_core::units::Instant;
use lasthop_core::wlan::Direction;

use super::{Ends, Hop, Network, Traveller};
use crate::node::Node;

impl<P: Traveller> Network<P> {
    /// A node wakes, again and again while nothing else comes before: slots of an access point follow each other so.
    #[inline]
    pub(super) fn wake_node(&mut self, ends: &mut impl Ends<P>, id: u32, mut now: Instant, until: Instant) {
        let node = id - self.first.node;
        loop {
            if self.due_at_gate(node).is_some_and(|at| at <= now) {
                self.admit(ends, node, now);
            }
            self.parts.nodes[node as usize].wake(now);
            let next = self.pump(ends, node);
            let next = next.or_else(|| self.due_at_gate(node));
            match next.filter(|next| *next < until && self.comes_first(*next)) {
                Some(next) => now = next,
                None => return self.schedule(id, next),
            }
        }
    }

    /// A packet comes to a link or an access point.
    #[inline]
    pub(super) fn enter(&mut self, ends: &mut impl Ends<P>, node: u32, now: Instant, mut packet: P) {
        match &mut self.parts.nodes[node as usize] {
            Node::Link(link) if link.foresees() => {
                if let Some(at) = link.foresee(now, packet.size()) {
                    self.forward(ends, at, packet);
                }
                return;
            }
            Node::AccessPoint(ap) => {
                let (size, station) = (packet.size(), packet.station());
                ends.enters(now, node, &mut packet, ap.stations()[station].queue().bytes());
                let before = (ap.next_wake(), ap.stations()[station].queue().meter().drops);
                ap.receive(now, packet);
                ends.drops(now, node, ap.stations()[station].queue().meter().drops - before.1, size);
                if ap.next_wake() == before.0 {
                    return; // it waits for its turn
                }
            }
            other => other.receive(now, packet),
        }
        let wake = self.pump(ends, node);
        self.schedule(self.first.node + node, wake);
    }

    /// What leaves a node goes on. Gives the node's next wake.
    #[inline]
    fn pump(&mut self, ends: &mut impl Ends<P>, node: u32) -> Option<Instant> {
        loop {
            match &mut self.parts.nodes[node as usize] {
                Node::Link(link) => match link.poll_departure() {
                    Some(Departure { at, packet }) => self.forward(ends, at, packet),
                    None => break link.next_wake(),
                },
                Node::AccessPoint(ap) => match ap.take_departures() {
                    Some(leaving) => self.leave_access_point(ends, node, leaving),
                    None => break ap.next_wake(),
                },
                Node::Wlan(wlan) => match wlan.poll_departure() {
                    Some(Departure { at, mut packet }) => {
                        packet.set_station(self.parts.routes[packet.stream() as usize].station);
                        self.forward(ends, at, packet);
                    }
                    None => break wlan.next_wake(),
                },
            }
        }
    }

    /// What leaves an access point goes on. A receiver that is asked ahead of time is shown it where it is, as a packet is large.
    #[inline]
    fn leave_access_point(&mut self, ends: &mut impl Ends<P>, node: u32, mut leaving: VecDeque<Departure<P>>) {
        while let Some(Departure { at, packet }) = leaving.front() {
            ends.leaves(*at, node, packet);
            if self.hop_of(packet) == Hop::Receiver {
                ends.answer(self, *at, packet);
                leaving.pop_front();
            } else if let Some(Departure { at, packet }) = leaving.pop_front() {
                self.forward(ends, at, packet);
            }
        }
        if let Node::AccessPoint(ap) = &mut self.parts.nodes[node as usize] {
            ap.reuse(leaving);
        }
    }

    /// An acknowledgement comes by a proxy, and goes on at once.
    #[cold]
    pub(super) fn pass_proxy(&mut self, ends: &mut impl Ends<P>, node: u32, now: Instant, mut packet: P) {
        let mut updates = vec![];
        if let Node::AccessPoint(ap) = &self.parts.nodes[node as usize] {
            let queued = ap.stations()[packet.station()].queue().bytes();
            updates = ends.returns(now, node, &mut packet, queued);
        }
        self.forward(ends, now, packet);
        for update in updates {
            self.forward(ends, now, update);
        }
    }

    /// Data goes up from its source and down to its station, acknowledgements the other way round.
    #[inline(never)]
    pub(super) fn enter_wlan(
        &mut self,
        ends: &mut impl Ends<P>,
        node: u32,
        direction: Direction,
        now: Instant,
        mut packet: P,
    ) {
        let route = &self.parts.routes[packet.stream() as usize];
        let is_data = packet.hop() <= route.back;
        let station = if is_data == (direction == Direction::Down) { route.station } else { route.source };
        if let Node::Wlan(wlan) = &mut self.parts.nodes[node as usize] {
            packet.set_station(wlan.port(usize::from(station), direction) as u16);
            wlan.receive(now, packet);
        }
        let wake = self.pump(ends, node);
        self.schedule(self.first.node + node, wake);
    }
}
