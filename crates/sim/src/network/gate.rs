// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gate of an access point: the lines that lead to it, and which of them brings something next.
//!
//! What comes between two choices of an access point matters to nobody before the second: until then it waits in its queue,
//! and an arrival in the very instant of a choice comes too late for it. So arrivals need no events of their own. An access point
//! that is about to choose takes first what has come, in order of time, and one at rest wakes with the first to come. This
//! wants all that comes to cross lines which their flows' ends keep, and nobody to look at the queues between choices: no
//! probe, no proxy.

use std::cmp::Ordering;

use lasthop_core::element::Element;
use lasthop_core::units::Instant;

use super::{Ends, Network, Traveller};
use crate::events::EventList;
use crate::node::Node;

/// Most lines of a gate: all of them are looked at for each packet, and of more than so many an event list finds the next as fast.
pub(crate) const MOST_LINES: usize = 12;

/// The lines that lead to an access point; without any, what comes there comes by events.
#[derive(Debug)]
pub(crate) struct Gate {
    /// When something is next out, and on which line: what comes in one instant comes in the order in which the lanes would wake;
    /// [`Instant::MAX`]: all lines are empty.
    next: (Instant, usize),
    /// For each line: when its head is out; [`Instant::MAX`]: it is empty.
    due: Vec<Instant>,
    /// For each line: the number under which the ends keep it, and the lane whose place it takes.
    lines: Vec<(u32, u32)>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new(vec![])
    }
}

impl Gate {
    /// The gate of these lines, all empty.
    pub(crate) fn new(lines: Vec<(u32, u32)>) -> Self {
        Self { next: (Instant::MAX, 0), due: vec![Instant::MAX; lines.len()], lines }
    }

    /// The head of line `line` is out at `at`; none: the line is empty.
    #[inline]
    fn set(&mut self, line: usize, at: Option<Instant>, events: &EventList) {
        self.due[line] = at.unwrap_or(Instant::MAX);
        let mut next = (Instant::MAX, 0);
        for (line, &at) in self.due.iter().enumerate() {
            match at.cmp(&next.0) {
                Ordering::Less => next = (at, line),
                Ordering::Equal if at < Instant::MAX && self.is_before(events, at, line, next.1) => next = (at, line),
                Ordering::Equal | Ordering::Greater => {}
            }
        }
        self.next = next;
    }

    #[cold]
    fn is_before(&self, events: &EventList, at: Instant, line: usize, other: usize) -> bool {
        events.is_before(at, self.lines[line].1, self.lines[other].1)
    }
}

impl<P: Traveller> Network<P> {
    /// The head of a line is due at a gate at `at`, where there has been none before: an access point at rest must wake for it.
    pub(super) fn expect(&mut self, node: u32, line: u8, at: Instant) {
        self.parts.gates[node as usize].set(line.into(), Some(at), &self.events);
        if self.parts.nodes[node as usize].next_wake().is_none() {
            self.schedule(self.first.node + node, Some(at));
        }
    }

    /// An access point takes what is out at its gate by `now`, and comes before its next choice.
    #[inline]
    pub(super) fn admit(&mut self, ends: &mut impl Ends<P>, node: u32, now: Instant) {
        let Some(gate) = self.parts.gates.get_mut(node as usize) else { return };
        let Node::AccessPoint(ap) = &mut self.parts.nodes[node as usize] else { return };
        while gate.next.0 <= now
            && ap.next_wake().is_none_or(|choice| gate.next.0 < choice)
            && let (at, line) = gate.next
            && let Some((mut packet, next)) = ends.fetch(gate.lines[line].0)
        {
            gate.set(line, next, &self.events);
            packet.set_station(self.parts.routes[packet.stream() as usize].station);
            packet.set_hop(1);
            ap.receive(at, packet);
        }
    }

    /// What is out at gates before `until`, though no choice comes before, is taken in.
    pub(super) fn admit_all(&mut self, ends: &mut impl Ends<P>, until: Instant) {
        let last = Instant::from_nanos(until.as_nanos().saturating_sub(1));
        for node in 0..self.parts.gates.len() as u32 {
            self.admit(ends, node, last);
        }
    }

    /// When something is next out at the gate of a node.
    #[inline]
    pub(super) fn due_at_gate(&self, node: u32) -> Option<Instant> {
        let (at, _) = self.parts.gates.get(node as usize)?.next;
        (at < Instant::MAX).then_some(at)
    }
}
