// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender on the general way, where it is an element that takes and gives packets.

use super::Sender;
use crate::element::{Departure, Element};
use crate::packet::Packet;
use crate::units::Instant;

impl Element<Packet> for Sender {
    /// Takes a SYN-ACK or an acknowledgement.
    #[inline]
    fn receive(&mut self, now: Instant, packet: Packet) {
        self.hear(now, &packet.into_ack().lend());
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        (self.deadline != Instant::MAX).then_some(self.deadline)
    }

    #[inline]
    fn wake(&mut self, now: Instant) {
        if !self.settled || self.deadline <= now {
            self.catch_up(now);
        }
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<Packet>> {
        let (segment, request) = self.poll()?;
        Some(Departure { at: segment.sent, packet: segment.into_packet(self.flow, request) })
    }
}
