// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of the flows in virtual time: simulated hosts and receivers.

use lasthop_core::element::{Departure, Element};
use lasthop_core::line::Path;
use lasthop_core::packet::{Kind, Packet, Parcel};
use lasthop_core::units::{Bytes, Instant};

use crate::capture::{Capture, Point};
use crate::host::{self, Host, Receiver, Sender};
use crate::network::{Ends, Network, Place};
use crate::probe::Recorder;
use crate::summary::CountedFlow;

/// The simulated ends of all flows. Number `n` of the wakes is the host of flow `n`, then come the receivers, and at last
/// the recorder.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) hosts: Vec<Host>,
    pub(crate) receivers: Vec<Receiver>,
    /// The private links of each flow in front of a receiver that is asked ahead of time.
    pub(crate) exits: Vec<Path>,
    /// The end of the run.
    pub(crate) end: Instant,
    /// Data packets that reached their receivers.
    pub(crate) packets: u64,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) capture: Option<Capture>,
}

impl Ends<Packet> for Hosts {
    #[inline]
    fn take(&mut self, network: &mut Network<Packet>, place: Place, now: Instant, packet: Packet) {
        let flow = packet.flow;
        if place == Place::Host {
            self.capture(now, Point::Sender, &packet);
            self.hosts[flow as usize].receive(now, packet);
            self.pump_host(network, flow);
        } else {
            self.arrive(now, &packet);
            self.receivers[flow as usize].receive(now, packet);
            self.pump_receiver(network, flow);
        }
    }

    #[inline]
    fn answer(&mut self, network: &mut Network<Packet>, at: Instant, packet: Packet) {
        let flow = packet.flow;
        let Some(out) = self.exits[flow as usize].transit(at, packet.size()) else { return };
        self.arrive(out, &packet);
        let Receiver::Tcp(receiver) = &mut self.receivers[flow as usize] else {
            unreachable!("only TCP's receivers are without a timer")
        };
        let Some(ack) = receiver.answer(out, &packet) else { return };
        let Some(home) = network.way_home(flow) else {
            let packet = ack.into_packet(flow);
            self.capture(out, Point::Receiver, &packet);
            return network.send_back(self, out, packet);
        };
        let size = Bytes::new(u64::from(ack.size));
        let Some((at, overtakes_nothing)) = network.come_home(home, out, size) else { return };
        let host = &mut self.hosts[flow as usize];
        if overtakes_nothing
            && at < self.end
            && host.is_free_until(at)
            && let Sender::Tcp(sender) = &mut host.sender
        {
            sender.hear(at, &ack);
            self.pump_host(network, flow);
        } else {
            network.wait(home, at, ack.into_packet(flow));
        }
    }

    #[inline]
    fn hear(&mut self, network: &mut Network<Packet>, at: Instant, packet: Packet) -> Option<Packet> {
        let host = &mut self.hosts[packet.flow as usize];
        if at >= self.end || !host.is_free_until(at) {
            return Some(packet);
        }
        let flow = packet.flow;
        host.receive(at, packet);
        self.pump_host(network, flow);
        None
    }

    fn wake(&mut self, network: &mut Network<Packet>, who: u32, now: Instant) {
        let flows = self.hosts.len() as u32;
        if who < flows {
            self.hosts[who as usize].wake(now);
            self.pump_host(network, who);
        } else if who < 2 * flows {
            self.receivers[(who - flows) as usize].wake(now);
            self.pump_receiver(network, who - flows);
        } else if let Some(recorder) = &mut self.recorder {
            let ends = (0..).zip(self.hosts.iter().zip(&self.receivers));
            recorder.extend_flows(ends.map(|(flow, (h, r))| host::sample(now, flow, &h.sender, r)));
            recorder.sample_queues(now, network.nodes_mut());
            network.schedule_end(who, Some(recorder.next(now)));
        }
    }
}

impl Hosts {
    /// What the ends of each flow counted.
    pub(crate) fn counted(&self) -> Vec<CountedFlow<'_>> {
        let ends = self.hosts.iter().zip(&self.receivers);
        let flows = ends.map(|(host, receiver)| CountedFlow {
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
        while let Some(Departure { at, packet }) = self.hosts[flow as usize].poll_departure() {
            self.capture(at, Point::Sender, &packet);
            network.send(self, at, packet);
        }
        network.schedule_end(flow, self.hosts[flow as usize].next_wake());
    }

    #[inline]
    fn pump_receiver(&mut self, network: &mut Network<Packet>, flow: u32) {
        while let Some(Departure { at, packet }) = self.receivers[flow as usize].poll_departure() {
            self.capture(at, Point::Receiver, &packet);
            network.send_back(self, at, packet);
        }
        let wake = self.receivers[flow as usize].next_wake();
        network.schedule_end(self.hosts.len() as u32 + flow, wake);
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
