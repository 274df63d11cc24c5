// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue that CoDel manages, or another law of what is dropped at its head.

use std::collections::VecDeque;

use super::{Codel, CodelParams};
use crate::error::ParameterError;
use crate::packet::Parcel;
use crate::rng::Stream;
use crate::role::{AqmLaw, Dropped};
use crate::units::{Bytes, Instant, Rate};

/// Whether the packet at a queue's head is dropped.
pub trait HeadLaw {
    /// The head waited for `waited_s` and leaves `behind_bytes`; if it is dropped the next is judged in the same instant.
    fn drops(&mut self, now_s: f64, waited_s: f64, behind_bytes: f64) -> bool;
}

impl HeadLaw for Codel {
    fn drops(&mut self, now_s: f64, waited_s: f64, behind_bytes: f64) -> bool {
        self.drops(now_s, waited_s, behind_bytes)
    }
}

/// A FIFO whose head a law watches.
#[derive(Debug)]
pub struct Backlog<P, L = Codel> {
    packets: VecDeque<(Instant, P)>,
    bytes: Bytes,
    law: L,
}

impl<P: Parcel> Backlog<P> {
    /// An empty one under CoDel.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(params: CodelParams) -> Result<Self, ParameterError> {
        Ok(Self::under(Codel::new(params)?))
    }
}

impl<P: Parcel, L: HeadLaw> Backlog<P, L> {
    /// An empty one under a law.
    pub fn under(law: L) -> Self {
        Self { packets: VecDeque::new(), bytes: Bytes::ZERO, law }
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Their bytes.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Takes the head out, whatever CoDel says.
    pub fn take_head(&mut self) -> Option<(Instant, P)> {
        let (arrived, packet) = self.packets.pop_front()?;
        self.bytes -= packet.size();
        Some((arrived, packet))
    }
}

impl<P: Parcel, L: HeadLaw> Backlog<P, L> {
    /// A packet joins.
    pub fn enqueue(&mut self, now: Instant, packet: P) {
        self.bytes += packet.size();
        self.packets.push_back((now, packet));
    }

    /// The next packet that the law lets pass, with the instant of its arrival; those that it drops are counted.
    pub fn dequeue(&mut self, now: Instant, dropped: &mut Dropped) -> Option<(Instant, P)> {
        loop {
            let (arrived, packet) = self.take_head()?;
            let waited_s = (now - arrived).as_secs_f64();
            if !self.law.drops(now.as_secs_f64(), waited_s, self.bytes.as_f64()) {
                return Some((arrived, packet));
            }
            dropped.count(packet.size());
        }
    }
}

impl<P: Parcel> AqmLaw<P> for Backlog<P> {
    type Params = CodelParams;

    fn set_up(params: CodelParams, _rate: Rate, _stream: &dyn Fn(&str) -> Stream) -> Result<Self, ParameterError> {
        Self::new(params)
    }

    fn keeps(&self) -> bool {
        true
    }

    fn kept(&self) -> (usize, Bytes) {
        (self.packets.len(), self.bytes)
    }

    fn enqueue(&mut self, now: Instant, packet: P) {
        self.enqueue(now, packet);
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Dropped) -> Option<(Instant, P)> {
        self.dequeue(now, dropped)
    }
}
