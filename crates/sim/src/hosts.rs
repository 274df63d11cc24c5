// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of the flows in virtual time: simulated hosts and receivers.

use lasthop_core::element::{Departure, Element};
use lasthop_core::line::Path;
use lasthop_core::packet::{Kind, Packet, Parcel};
use lasthop_core::units::Instant;

use crate::capture::{Capture, Point};
use crate::host::{self, Host, Receiver, Sender};
use crate::network::{Ends, Home, Network, Place};
use crate::probe::Recorder;
use crate::summary::CountedFlow;

/// The simulated ends of all flows. Number `n` of the wakes is the host of flow `n`, then come the receivers, and at last
/// the recorder.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) flows: Vec<Flow>,
    /// The end of the run.
    pub(crate) end: Instant,
    /// Data packets that reached their receivers.
    pub(crate) packets: u64,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) capture: Option<Capture>,
}

/// The ends of a flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) host: Host,
    pub(crate) receiver: Receiver,
    /// The private links in front of a receiver that is asked ahead of time.
    pub(crate) exit: Path,
    /// The way back to the host, if that may be asked ahead of time and no surprise lies on it.
    pub(crate) home: Option<Home>,
}

impl Ends<Packet> for Hosts {
    #[inline]
    fn take(&mut self, network: &mut Network<Packet>, place: Place, now: Instant, packet: Packet) {
        let flow = packet.flow;
        if place == Place::Host {
            self.capture(now, Point::Sender, &packet);
            self.flows[flow as usize].host.receive(now, packet);
            self.pump_host(network, flow);
        } else {
            self.arrive(now, &packet);
            self.flows[flow as usize].receiver.receive(now, packet);
            self.pump_receiver(network, flow);
        }
    }

    #[inline(always)]
    fn answer(&mut self, network: &mut Network<Packet>, at: Instant, packet: &Packet) {
        let number = packet.flow;
        let flow = &mut self.flows[number as usize];
        let Some(out) = flow.exit.transit(at, packet.size()) else { return };
        let Receiver::Tcp(receiver) = &mut flow.receiver else {
            unreachable!("only TCP's receivers are without a timer")
        };
        let ack = receiver.answer(out, packet);
        let (Some(home), Sender::Tcp(sender)) = (&flow.home, &mut flow.host.sender) else {
            self.arrive(out, packet);
            let ack = ack.into_packet(number);
            self.capture(out, Point::Receiver, &ack);
            return network.send_back(self, out, ack);
        };
        // Nobody records packets where hosts may be asked ahead of time.
        self.packets += u64::from(packet.kind() == Kind::Data && out < self.end);
        let Some((at, overtakes_nothing)) = network.come_home(home, out, ack.size) else { return };
        let is_free = flow.host.app.next_wake().is_none_or(|wake| wake > at) && sender.is_free_until(at);
        if !(overtakes_nothing && is_free && at < self.end) {
            return network.wait(home, at, ack.into_packet(number));
        }
        sender.hear(at, &ack);
        while let Some(departure) = sender.poll_departure() {
            network.depart(home, departure);
        }
        // The application's next wake has been scheduled before.
        network.schedule_end(number, sender.next_wake());
    }

    #[inline]
    fn hear(&mut self, network: &mut Network<Packet>, at: Instant, packet: Packet) -> Option<Packet> {
        let host = &mut self.flows[packet.flow as usize].host;
        if at >= self.end || !host.is_free_until(at) {
            return Some(packet);
        }
        let flow = packet.flow;
        host.receive(at, packet);
        self.pump_host(network, flow);
        None
    }

    fn wake(&mut self, network: &mut Network<Packet>, who: u32, now: Instant) {
        let flows = self.flows.len() as u32;
        if who < flows {
            self.flows[who as usize].host.wake(now);
            self.pump_host(network, who);
        } else if who < 2 * flows {
            self.flows[(who - flows) as usize].receiver.wake(now);
            self.pump_receiver(network, who - flows);
        } else if let Some(recorder) = &mut self.recorder {
            let flows = (0..).zip(&self.flows);
            recorder.extend_flows(flows.map(|(i, flow)| host::sample(now, i, &flow.host.sender, &flow.receiver)));
            recorder.sample_queues(now, network.nodes_mut());
            network.schedule_end(who, Some(recorder.next(now)));
        }
    }
}

impl Hosts {
    /// What the ends of each flow counted.
    pub(crate) fn counted(&self) -> Vec<CountedFlow<'_>> {
        let flows = self.flows.iter().map(|Flow { host, receiver, .. }| CountedFlow {
            sender: host.sender.stats(),
            receiver: receiver.stats(),
            windows: match &host.sender {
                Sender::Tcp(sender) => sender.mean_windows(self.end),
                Sender::Tfrc(_) => None,
            },
        });
        flows.collect()
    }

    #[inline]
    fn pump_host(&mut self, network: &mut Network<Packet>, flow: u32) {
        while let Some(Departure { at, packet }) = self.flows[flow as usize].host.poll_departure() {
            self.capture(at, Point::Sender, &packet);
            network.send(self, at, packet);
        }
        network.schedule_end(flow, self.flows[flow as usize].host.next_wake());
    }

    #[inline]
    fn pump_receiver(&mut self, network: &mut Network<Packet>, flow: u32) {
        while let Some(Departure { at, packet }) = self.flows[flow as usize].receiver.poll_departure() {
            self.capture(at, Point::Receiver, &packet);
            network.send_back(self, at, packet);
        }
        let wake = self.flows[flow as usize].receiver.next_wake();
        network.schedule_end(self.flows.len() as u32 + flow, wake);
    }

    /// A packet comes to its receiver.
    #[inline]
    fn arrive(&mut self, at: Instant, packet: &Packet) {
        self.packets += u64::from(packet.kind() == Kind::Data && at < self.end);
        self.capture(at, Point::Receiver, packet);
    }

    #[inline]
    fn capture(&mut self, at: Instant, point: Point, packet: &Packet) {
        if let Some(capture) = &mut self.capture
            && at < self.end
        {
            capture.record(at, point, packet);
        }
    }
}
