// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stations whose flows have one agent: what comes for any of them may move the windows of all.

use lasthop_core::law::station::{Grant, Known, StationAgent, StationArrival};
use lasthop_core::packet::{Packet, Parcel, StationStamp};
use lasthop_core::units::Instant;

use crate::host::ReceivingEnd;
use crate::hosts::Hosts;
use crate::network::Network;

/// A station's agent, and its flows by their numbers at the agent.
#[derive(Debug)]
pub(crate) struct StationEnd {
    pub(crate) agent: StationAgent,
    pub(crate) flows: Vec<u32>,
}

/// A flow's place among the flows of its station.
#[derive(Clone, Debug)]
pub(crate) enum Seat {
    /// One agent sets the windows of all.
    Agent(Box<AgentSeat>),
    /// Each has its own law, and they meet in the pool of this number.
    Pool(u32),
}

/// A flow's place at an agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentSeat {
    /// The station among those of its world, and the flow's number at its agent.
    pub(crate) station: u32,
    pub(crate) number: u32,
    /// What the flow's last acknowledgement echoes.
    pub(crate) echo: Instant,
}

impl AgentSeat {
    /// The place of number `number` at station `station`, before anything has come.
    pub(crate) fn new(station: u32, number: u32) -> Self {
        Self { station, number, echo: Instant::ZERO }
    }
}

/// Data of a flow with an agent, as its receiver gets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StationTold {
    sent: Instant,
    echo: Instant,
    size_bytes: f64,
    payload_bytes: f64,
    stamp: StationStamp,
}

impl StationTold {
    /// What a packet tells its station's agent: nothing without data and a stamp.
    pub(crate) fn of(packet: &Packet) -> Option<Self> {
        let stamp = packet.signal.station()?;
        (packet.payload() > 0).then(|| Self {
            sent: packet.sent,
            echo: packet.echo,
            size_bytes: packet.size().as_f64(),
            payload_bytes: f64::from(packet.payload()),
            stamp,
        })
    }
}

impl Hosts {
    /// The receiver of a flow has taken in what `told` the agent of its station: windows move, and updates of them go home.
    pub(crate) fn renew(&mut self, network: &mut Network<Packet>, flow: u32, now: Instant, told: StationTold) {
        let ends = &mut self.flows[flow as usize];
        let (Some(Seat::Agent(seat)), ReceivingEnd::Tcp(receiver)) = (&mut ends.seat, &ends.receiver) else { return };
        seat.echo = told.sent;
        let arrival = StationArrival {
            t_s: now.as_secs_f64(),
            size_bytes: told.size_bytes,
            payload_bytes: told.payload_bytes,
            told: Known::Stamped {
                stamp: told.stamp,
                rtt_s: (told.echo != Instant::ZERO).then(|| now.saturating_since(told.echo).as_secs_f64()),
            },
            received: receiver.received(),
            edge: receiver.edge(),
            most_edge: receiver.most_edge(),
            is_acknowledged: receiver.is_acknowledging(),
        };
        let (station, number) = (seat.station as usize, seat.number as usize);
        let grants = self.stations[station].agent.received(number, &arrival);
        let thins = self.stations[station].agent.thins_acks();
        if let ReceivingEnd::Tcp(receiver) = &mut self.flows[flow as usize].receiver {
            receiver.thin(thins);
        }
        for Grant { flow, edge } in grants {
            let flow = self.stations[station].flows[flow];
            let ends = &mut self.flows[flow as usize];
            if let (Some(Seat::Agent(seat)), ReceivingEnd::Tcp(receiver)) = (&ends.seat, &mut ends.receiver) {
                receiver.grant(now, edge, seat.echo);
            }
            self.pump_receiver(network, flow);
        }
    }
}
