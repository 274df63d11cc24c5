// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver in virtual time: a network with simulated hosts and receivers at its ends.

use lasthop_core::element::Element;
use lasthop_core::packet::Packet;
use lasthop_core::units::{Duration, Instant};

use crate::hosts::Hosts;
use crate::network::{Network, Parts};
use crate::probe::Recorder;

/// A run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Network<Packet>,
    pub(crate) hosts: Hosts,
}

impl World {
    pub(crate) fn new(parts: Parts<Packet>, hosts: Hosts) -> Self {
        let flows = hosts.flows.len() as u32;
        let mut network = Network::new(parts, 2 * flows);
        for (number, flow) in (0..).zip(&hosts.flows) {
            network.schedule_end(number, flow.host.next_wake());
        }
        network.schedule_end(2 * flows, hosts.recorder.as_ref().map(Recorder::first));
        Self { network, hosts }
    }

    /// Serves at most `events` events; false when the run is over.
    pub(crate) fn advance(&mut self, events: u64) -> bool {
        let end = self.hosts.end;
        let goes_on = self.network.serve(&mut self.hosts, end, events);
        if !goes_on {
            for flow in &mut self.hosts.flows {
                flow.receiver.finish(end);
            }
            self.network.finish(end);
        }
        goes_on
    }

    /// Serves all events.
    pub(crate) fn run(&mut self) {
        while self.advance(u64::MAX) {}
    }

    /// How far the run has come, from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        let end = self.hosts.end;
        let now = self.network.next_wake().unwrap_or(end).min(end);
        (now - Instant::ZERO).as_secs_f64() / (end - Instant::ZERO + Duration::from_nanos(1)).as_secs_f64()
    }
}
