// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sender and a receiver with a path between them whose delays and losses a test chooses.

use std::collections::BTreeMap;

use crate::element::Element;
use crate::packet::{Kind, Packet};
use crate::tcp::{Receiver, Sender};
use crate::units::{Duration, Instant};

/// A connection and the packets on their way, by the instant at which they arrive.
pub(super) struct Network<F> {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) now: Instant,
    packets: BTreeMap<(Instant, u64), Packet>,
    count: u64,
    /// How long a packet takes; none: it is lost.
    delay: F,
}

impl<F: FnMut(&Packet) -> Option<Duration>> Network<F> {
    pub(super) fn new(sender: Sender, receiver: Receiver, delay: F) -> Self {
        Self { sender, receiver, now: Instant::ZERO, packets: BTreeMap::new(), count: 0, delay }
    }

    /// Takes out what the ends have to send.
    pub(super) fn collect(&mut self) {
        while let Some(departure) = self.sender.poll_departure() {
            self.launch(departure.at, departure.packet);
        }
        while let Some(departure) = self.receiver.poll_departure() {
            self.launch(departure.at, departure.packet);
        }
    }

    fn launch(&mut self, at: Instant, packet: Packet) {
        if let Some(delay) = (self.delay)(&packet) {
            self.count += 1;
            self.packets.insert((at + delay, self.count), packet);
        }
    }

    /// Serves the next event up to `until`; false if there is none.
    pub(super) fn step(&mut self, until: Instant) -> bool {
        self.step_and_tell(until, |_, _| {})
    }

    /// The same, and shows the packet that arrives, if one does.
    pub(super) fn step_and_tell(&mut self, until: Instant, mut tell: impl FnMut(Instant, &Packet)) -> bool {
        self.collect();
        let arrival = self.packets.first_key_value().map(|(&(at, _), _)| at);
        let timers = self.sender.next_wake().into_iter().chain(self.receiver.next_wake());
        let Some(at) = timers.chain(arrival).min().filter(|at| *at <= until) else {
            return false;
        };
        self.now = at;
        self.sender.wake(at);
        self.receiver.wake(at);
        self.collect();
        if arrival == Some(at)
            && let Some((_, packet)) = self.packets.pop_first()
        {
            tell(at, &packet);
            match packet.kind() {
                Kind::Data | Kind::Syn => self.receiver.receive(at, packet),
                Kind::Ack | Kind::Update | Kind::SynAck | Kind::Feedback => self.sender.receive(at, packet),
            }
        }
        true
    }

    pub(super) fn run(&mut self, until: Instant) {
        while self.step(until) {}
        self.now = until;
    }
}
