// SPDX-License-Identifier: MIT OR Apache-2.0
//! The worlds of a run: what shares nothing is simulated apart, one after the other, so that each stays in the processor's cache,
//! or side by side on threads. Neither changes a bit of the results.

use std::sync::{Mutex, PoisonError};
use std::thread;

use lasthop_core::packet::Packet;
use lasthop_core::units::Instant;

use crate::capture::Capture;
use crate::probe::Recorder;
use crate::scenario::ScenarioError;
use crate::summary::CountedRun;
use crate::world::World;

/// Most packets on the lanes and in the queues at a time: some 3 GB.
const MOST_UNDER_WAY: usize = 20_000_000;

/// Most packets recorded, at both ends: some 2 GB.
const MOST_RECORDED: usize = 20_000_000;

/// All of a run: worlds that share nothing.
#[derive(Debug)]
pub(crate) struct Worlds {
    pub(crate) worlds: Vec<World>,
    /// The world of each flow and of each node, in the order of the results.
    of_flow: Vec<u32>,
    of_node: Vec<u32>,
}

impl Worlds {
    pub(crate) fn new(worlds: Vec<World>, of_flow: Vec<u32>, of_node: Vec<u32>) -> Self {
        Self { worlds, of_flow, of_node }
    }

    /// On each of so many `threads` serves at most `events` events; false when the run is over.
    pub(crate) fn advance(&mut self, threads: usize, events: u64) -> bool {
        let open: Vec<_> = self.worlds.iter_mut().filter(|world| !world.is_over()).collect();
        let threads = threads.clamp(1, open.len().max(1));
        let open = Mutex::new(open.into_iter());
        let work = || {
            let mut left = events;
            while left > 0 {
                let next = open.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(world) = next else { break };
                left -= world.advance(left);
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                // Where no more threads are to be had, the others do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        self.worlds.iter().any(|world| !world.is_over())
    }

    /// Refuses what fills the memory.
    pub(crate) fn check_memory(&self) -> Result<(), ScenarioError> {
        let under_way: Vec<_> = self.worlds.iter().map(World::under_way).collect();
        let recorded = self.worlds.iter().filter_map(|world| world.hosts.capture.as_ref()).map(Capture::len).sum();
        let fullest = self.worlds.iter().zip(&under_way).max_by_key(|(_, under_way)| **under_way);
        check_memory(fullest.map_or(Instant::ZERO, |(world, _)| world.now()), under_way.iter().sum(), recorded)
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.worlds.len()
    }

    /// The only one.
    #[cfg(test)]
    pub(crate) fn into_only(mut self) -> World {
        assert_eq!(self.worlds.len(), 1);
        self.worlds.remove(0)
    }

    /// How far the run has come, from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        let done = self.worlds.iter().map(|world| world.progress() * world.hosts.flows.len() as f64);
        done.sum::<f64>() / self.of_flow.len() as f64
    }

    /// What was recorded.
    pub(crate) fn take_records(&mut self) -> (Option<Recorder>, Option<Capture>) {
        // What is recorded is of one world.
        self.worlds.first_mut().map_or((None, None), |world| (world.hosts.recorder.take(), world.hosts.capture.take()))
    }

    /// What was counted, in the order of the results.
    pub(crate) fn counted(&self) -> CountedRun<'_, Packet> {
        let mut nodes: Vec<_> = self.worlds.iter().map(|world| world.network.nodes().iter()).collect();
        let mut flows: Vec<_> = self.worlds.iter().map(|world| world.hosts.counted().into_iter()).collect();
        CountedRun {
            nodes: self.of_node.iter().filter_map(|&world| nodes[world as usize].next()).collect(),
            events: self.worlds.iter().map(|world| world.network.served()).sum(),
            packets: self.worlds.iter().map(|world| world.hosts.packets).sum(),
            flows: self.of_flow.iter().filter_map(|&world| flows[world as usize].next()).collect(),
        }
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

    use lasthop_core::units::Duration;

    use super::*;
    use crate::assemble::{Shortcuts, simulation};
    use crate::scenario::parse;

    #[test]
    fn each_thread_serves_no_more_events_than_it_was_given() {
        // Where one flow has a link to itself, what its line brings next mostly comes before all else.
        let tables = ["a", "b"].map(|name| {
            format!(
                "[[link]]\nname = \"{name}\"\nfrom = \"{name}0\"\nto = \"{name}1\"\nrate = \"100 Mbit/s\"\n\
                 [[flow]]\nname = \"to-{name}\"\npath = [\"{name}0\", \"{name}1\"]\nrtt = \"40 ms\"\n"
            )
        });
        let scenario = parse(&format!("duration = \"2 s\"\n{}", tables.concat())).unwrap();
        let (mut worlds, _) = simulation(&scenario, 1, Path::new("."), Shortcuts::ALL).unwrap();
        let mut served = 0;
        while worlds.advance(1, 100) {
            served += 100;
            assert_eq!(worlds.counted().events, served);
        }
        assert!((served..=served + 100).contains(&worlds.counted().events));
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
