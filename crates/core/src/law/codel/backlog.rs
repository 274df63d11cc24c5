// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue that CoDel manages.

use std::collections::VecDeque;

use super::{Codel, CodelParams};
use crate::error::ParameterError;
use crate::packet::Parcel;
use crate::rng::Stream;
use crate::role::{AqmLaw, Dropped};
use crate::units::{Bytes, Instant, Rate};

/// A FIFO whose head CoDel watches.
#[derive(Debug)]
pub struct Backlog<P> {
    packets: VecDeque<(Instant, P)>,
    bytes: Bytes,
    law: Codel,
}

impl<P: Parcel> Backlog<P> {
    /// An empty one.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(params: CodelParams) -> Result<Self, ParameterError> {
        Ok(Self { packets: VecDeque::new(), bytes: Bytes::ZERO, law: Codel::new(params)? })
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
        self.bytes += packet.size();
        self.packets.push_back((now, packet));
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Dropped) -> Option<(Instant, P)> {
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
