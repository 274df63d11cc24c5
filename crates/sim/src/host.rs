// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sending host: an application on a TCP sender.

use lasthop_core::app::{Action, App};
use lasthop_core::element::{Departure, Element};
use lasthop_core::packet::Packet;
use lasthop_core::tcp::Sender;
use lasthop_core::units::Instant;

/// An application and its connection.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) app: App,
    pub(crate) sender: Sender,
}

impl Element<Packet> for Host {
    #[inline]
    fn receive(&mut self, now: Instant, packet: Packet) {
        self.sender.receive(now, packet);
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        match (self.app.next_wake(), self.sender.next_wake()) {
            (Some(app), Some(sender)) => Some(app.min(sender)),
            (app, sender) => app.or(sender),
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some((at, action)) = self.app.poll(now) {
            match action {
                Action::Open => self.sender.open(at),
                Action::Write(bytes) => self.sender.write(at, bytes),
                Action::Close => self.sender.close(at),
                Action::Stop => self.sender.stop(at),
            }
        }
        self.sender.wake(now);
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<Packet>> {
        self.sender.poll_departure()
    }
}
