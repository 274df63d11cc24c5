// SPDX-License-Identifier: MIT OR Apache-2.0
//! The face of every network element, the same in virtual and in real time.

use crate::units::Instant;

/// A packet that leaves an element, with the instant at which it is (or was) due.
///
/// The instant may lie before `now`, when a late wake catches up, and after it, when an element already knows
/// that nothing can change the departure any more (a line, a drop-tail link of constant rate). The departures of one
/// element are in order of time.
#[derive(Debug)]
pub struct Departure<P> {
    /// When the packet leaves.
    pub at: Instant,
    /// What leaves.
    pub packet: P,
}

/// An element owns its packets and is driven from outside: no clock, no I/O, no randomness but its own streams.
///
/// Late wakes change nothing: however late `wake` comes, the departures and their instants are the same.
pub trait Element<P> {
    /// Takes a packet in, after serving what was due before `now`.
    fn receive(&mut self, now: Instant, packet: P);
    /// When the element next has something to do by itself; `None`: never, unless something arrives.
    fn next_wake(&self) -> Option<Instant>;
    /// Serves all that is due by `now`, each departure stamped with the instant it was due.
    fn wake(&mut self, now: Instant);
    /// The next departure, in order of time. Extra calls are harmless.
    fn poll_departure(&mut self) -> Option<Departure<P>>;
}
