// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver in virtual time: a network with simulated hosts and receivers at its ends.

use lasthop_core::element::Element;
use lasthop_core::packet::Packet;
use lasthop_core::units::{Duration, Instant};

use crate::hosts::Hosts;
use crate::network::{Network, Parts};
use crate::probe::Recorder;

/// A network and its ends, which share nothing with others.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Network<Packet>,
    pub(crate) hosts: Hosts,
    is_over: bool,
}

impl World {
    pub(crate) fn new(parts: Parts<Packet>, hosts: Hosts) -> Self {
        let flows = hosts.flows.len() as u32;
        let mut network = Network::new(parts, 2 * flows);
        for (number, flow) in (0..).zip(&hosts.flows) {
            network.schedule_end(number, flow.host.next_wake());
        }
        network.schedule_end(2 * flows, hosts.recorder.as_ref().map(Recorder::first));
        Self { network, hosts, is_over: false }
    }

    /// Serves at most `events` events; gives how many.
    pub(crate) fn advance(&mut self, events: u64) -> u64 {
        let (end, before) = (self.hosts.end, self.network.served());
        if !self.is_over && !self.network.serve(&mut self.hosts, end, events) {
            for flow in &mut self.hosts.flows {
                flow.host.finish(end);
                flow.receiver.finish(end);
            }
            self.network.finish(end);
            self.is_over = true;
        }
        self.network.served() - before
    }

    /// Whether nothing more happens.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Packets on the lanes and in the queues.
    pub(crate) fn under_way(&self) -> usize {
        self.network.under_way() + self.hosts.under_way()
    }

    /// When something next happens.
    pub(crate) fn now(&self) -> Instant {
        let end = self.hosts.end;
        self.network.next_wake().unwrap_or(end).min(end)
    }

    /// How far the run has come, from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        let end = self.hosts.end;
        (self.now() - Instant::ZERO).as_secs_f64() / (end - Instant::ZERO + Duration::from_nanos(1)).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::assemble::{Shortcuts, simulation};
    use crate::capture::Capture;
    use crate::scenario::parse;

    /// A window of 1000 segments on a line of 8 kbit/s.
    const BURST: &str = r#"
        duration = "60 s"
        probe = { packets = true }
        [[link]]
        name = "l"
        from = "a"
        to = "b"
        rate = "8 kbit/s"
        queue = { aqm = "codel" }
        [[flow]]
        name = "f"
        path = ["a", "b"]
        rtt = "20 ms"
        sender = { initial_window = 1000 }
    "#;

    #[test]
    fn packets_are_counted_wherever_they_wait() {
        for (aqm, seen) in [("codel", 1000), ("drop-tail", 1000)] {
            let scenario = parse(&BURST.replace("codel", aqm)).unwrap();
            let mut world = simulation(&scenario, 1, Path::new("."), Shortcuts::ALL).unwrap().0.into_only();
            while world.now() < Instant::ZERO + Duration::from_secs(1) && world.advance(1) > 0 {}
            let (under_way, recorded) =
                (world.network.under_way(), world.hosts.capture.as_ref().map_or(0, Capture::len));
            assert!(under_way.abs_diff(seen) < 5 && recorded >= seen, "{aqm}: {under_way}, {recorded}");
        }
    }

    #[test]
    fn segments_are_counted_on_the_lines_that_hosts_keep() {
        // Ahead of time: connected after 20 s, the window is on its way to the link until the 30th.
        let burst = BURST.replace("probe = { packets = true }", "").replace("codel", "drop-tail");
        let burst = burst.replace("20 ms", "20 s").replace("= 1000", "= 1000, rto_initial = \"30 s\"");
        let (worlds, _) = simulation(&parse(&burst).unwrap(), 1, Path::new("."), Shortcuts::ALL).unwrap();
        let mut world = worlds.into_only();
        while world.now() < Instant::ZERO + Duration::from_secs(21) && world.advance(1) > 0 {}
        assert_eq!((world.network.under_way(), world.hosts.under_way()), (0, 1000));
    }
}
