// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver in virtual time: a network with simulated hosts and receivers at its ends.

use lasthop_core::element::Element;
use lasthop_core::packet::Packet;
use lasthop_core::units::{Duration, Instant};

use crate::capture::Capture;
use crate::hosts::Hosts;
use crate::network::{Network, Parts};
use crate::probe::Recorder;
use crate::scenario::ScenarioError;

/// Most packets on the lanes and in the queues at a time: some 3 GB.
const MOST_UNDER_WAY: usize = 20_000_000;

/// Most packets recorded, at both ends: some 2 GB.
const MOST_RECORDED: usize = 20_000_000;

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

    /// Refuses what fills the memory.
    pub(crate) fn check_memory(&self) -> Result<(), ScenarioError> {
        let recorded = self.hosts.capture.as_ref().map_or(0, Capture::len);
        check_memory(self.now(), self.network.under_way() + self.hosts.under_way(), recorded)
    }

    fn now(&self) -> Instant {
        let end = self.hosts.end;
        self.network.next_wake().unwrap_or(end).min(end)
    }

    /// How far the run has come, from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        let end = self.hosts.end;
        (self.now() - Instant::ZERO).as_secs_f64() / (end - Instant::ZERO + Duration::from_nanos(1)).as_secs_f64()
    }
}

fn check_memory(at: Instant, under_way: usize, recorded: usize) -> Result<(), ScenarioError> {
    if under_way > MOST_UNDER_WAY {
        let message = format!("{under_way} packets are under way at {at:?}: wanted at most {MOST_UNDER_WAY}");
        return Err(ScenarioError::at("flow", message + ", by a window_limit, a receiver's buffer or a queue's limit"));
    }
    if recorded > MOST_RECORDED {
        let wanted = format!("a run of at most {MOST_RECORDED} packets; so many had been seen by {at:?}");
        return Err(ScenarioError::refused("probe.packets", "true", wanted));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::assemble::simulation;
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
            let (mut world, _) = simulation(&scenario, 1, Path::new("."), true).unwrap();
            while world.now() < Instant::ZERO + Duration::from_secs(1) && world.advance(1) {}
            let (under_way, recorded) =
                (world.network.under_way(), world.hosts.capture.as_ref().map_or(0, Capture::len));
            assert!(under_way.abs_diff(seen) < 5 && recorded >= seen, "{aqm}: {under_way}, {recorded}");
            assert!(world.check_memory().is_ok());
        }
    }

    #[test]
    fn segments_are_counted_on_the_lines_that_hosts_keep() {
        // Ahead of time: connected after 20 s, the window is on its way to the link until the 30th.
        let burst = BURST.replace("probe = { packets = true }", "").replace("codel", "drop-tail");
        let burst = burst.replace("20 ms", "20 s").replace("= 1000", "= 1000, rto_initial = \"30 s\"");
        let (mut world, _) = simulation(&parse(&burst).unwrap(), 1, Path::new("."), true).unwrap();
        while world.now() < Instant::ZERO + Duration::from_secs(21) && world.advance(1) {}
        assert_eq!((world.network.under_way(), world.hosts.under_way()), (0, 1000));
    }

    #[test]
    fn what_fills_the_memory_is_refused_in_one_line() {
        let at = Instant::ZERO + Duration::from_secs(3);
        assert!(check_memory(at, MOST_UNDER_WAY, MOST_RECORDED).is_ok());
        let says = |under_way, recorded| check_memory(at, under_way, recorded).unwrap_err().to_string();
        assert_eq!(
            says(20_000_001, 0),
            "flow: 20000001 packets are under way at 3 s: wanted at most 20000000, by a window_limit, a receiver's buffer or a \
             queue's limit"
        );
        assert_eq!(
            says(0, 20_000_001),
            "probe.packets = true: wanted a run of at most 20000000 packets; so many had been seen by 3 s"
        );
    }
}
