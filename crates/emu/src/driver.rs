// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver in real time: the network with kernels at its ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_core::units::{Duration, Instant};
use lasthop_linux::wait::Waiter;
use lasthop_sim::network::Network;
use nix::sys::epoll::{EpollEvent, EpollFlags};

use crate::edge::{Edge, SERVERS};
use crate::entrance::Entrance;
use crate::frame::Frame;
use crate::keeper::Keeper;
use crate::stalls::Stalls;
use crate::watch::Teller;

/// Pieces read from one device before the others are looked at.
const BATCH: usize = 16;
/// How long the driver sleeps at most: so late it notices that it is to stop, and so much of a freeze it may miss while
/// nothing is due.
const LONGEST_SLEEP: Duration = Duration::from_millis(5);
/// How long after a wake the next one is due at the earliest. A wait costs as much as several packets: where packets are
/// nearer to each other, several leave at once, late by so much at most.
const GRAIN: Duration = Duration::from_micros(40);

/// The network, the devices at its edge, and what wakes it.
pub(crate) struct Driver {
    pub(crate) network: Network<Frame>,
    pub(crate) edge: Edge,
    pub(crate) stalls: Stalls,
    /// Tells a page how the queues stand, if one is shown.
    pub(crate) teller: Option<Teller>,
    waiter: Waiter,
    entrance: Entrance,
    /// Packets that have been read and are to enter.
    arrived: Vec<Vec<u8>>,
}

impl Driver {
    pub(crate) fn new(network: Network<Frame>, edge: Edge) -> io::Result<Self> {
        let waiter = Waiter::new(edge.clock)?;
        for (number, device) in edge.devices.iter().enumerate() {
            waiter.watch(device, EpollFlags::EPOLLIN, number as u64)?;
        }
        let entrance = Entrance::new(edge.devices.len());
        Ok(Self { network, edge, stalls: Stalls::default(), teller: None, waiter, entrance, arrived: vec![] })
    }

    /// Relays until `end`, or until it is told to stop; gives the instant at which it did. A `realtime` thread naps rather
    /// than be stopped.
    pub(crate) fn run(&mut self, end: Instant, realtime: bool, stop: &AtomicBool) -> Instant {
        let mut ready = [EpollEvent::empty(); 64];
        let mut served = Instant::ZERO;
        let mut woke = self.edge.clock.now();
        let mut keeper = Keeper::new(self.edge.clock, realtime);
        loop {
            let now = self.edge.clock.now();
            if self.network.next_wake().is_some_and(|at| at <= now) {
                self.network.serve(&mut self.edge, now + Duration::from_nanos(1), u64::MAX);
                served = now;
            }
            self.edge.flush();
            if let Some(teller) = self.teller.as_mut().filter(|teller| teller.is_due(now)) {
                teller.queues(now, self.network.nodes().iter().flat_map(|node| node.look(now)).collect());
            }
            if now >= end || stop.load(Ordering::Relaxed) || self.edge.has_failed() {
                self.stalls = keeper.stalls;
                return now;
            }
            let latest = (now + LONGEST_SLEEP).min(end);
            let wake = self.network.next_wake().map_or(latest, |at| at.max(served + GRAIN).min(latest));
            let asleep = self.edge.clock.now();
            keeper.still(asleep, asleep.saturating_since(woke));
            let asleep = keeper.nap(asleep);
            let waited = self.wait(asleep, wake, &mut ready);
            woke = self.edge.clock.now();
            keeper.slept(asleep, woke);
            keeper.still(woke, woke.saturating_since(wake.max(asleep)));

            match waited {
                Ok(count) => {
                    self.entrance.wake(asleep, wake, woke);
                    for event in &ready[..count] {
                        self.read(event.data() as u16);
                    }
                }
                Err(error) => self.edge.fail(error),
            }
        }
    }

    /// Waits until a device has packets or `wake` has come, having looked at the devices first: what comes while we sleep
    /// came later than that.
    fn wait(&mut self, asleep: Instant, wake: Instant, ready: &mut [EpollEvent]) -> io::Result<usize> {
        match self.waiter.wait(Instant::ZERO, ready)? {
            0 => {
                self.entrance.found_empty(asleep);
                self.waiter.wait(wake, ready)
            }
            count => Ok(count),
        }
    }

    /// Takes in what a kernel has sent.
    fn read(&mut self, from: u16) {
        let since = self.entrance.ready(from);
        for _ in 0..BATCH {
            let Edge { devices, splitter, clock, .. } = &mut self.edge;
            let arrived = &mut self.arrived;
            let before = clock.now();
            let read = devices[usize::from(from)].read(splitter, |bytes| arrived.push(bytes));
            let now = self.edge.clock.now();
            let mut arrived = std::mem::take(&mut self.arrived);
            let waited = now.saturating_since(since);
            arrived.drain(..).for_each(|bytes| self.enter(from, now, waited, bytes));
            self.arrived = arrived;
            match read {
                // What is due goes first.
                Ok(true) if self.network.next_wake().is_some_and(|at| at <= now) => return,
                Ok(true) => {}
                Ok(false) => return self.entrance.drained(from, before),
                Err(error) => return self.edge.fail(error),
            }
        }
    }

    /// A packet comes into the network, `waited` after it came to the device at most.
    fn enter(&mut self, from: u16, now: Instant, waited: Duration, bytes: Vec<u8>) {
        let Some((stream, exit, addresses)) = self.edge.route(from, &bytes) else {
            return self.edge.splitter.recycle(bytes);
        };
        let Some(room) = self.edge.memory.take(bytes.len()) else {
            self.edge.refused += 1;
            return self.edge.splitter.recycle(bytes);
        };
        let is_data = self.edge.uploads[stream as usize] == (exit == SERVERS);
        self.edge.waits.record(waited);
        let mut frame = Frame::new(bytes, room, &addresses, (stream, exit), waited);
        if self.edge.asks {
            frame.ask();
        }
        if self.edge.is_gateway(from) {
            let goes_on = self.network.resume(&mut self.edge, now, is_data, frame);
            self.edge.strays += u64::from(!goes_on);
            return;
        }
        match is_data {
            true => self.network.send(&mut self.edge, now, frame),
            false => self.network.send_back(&mut self.edge, now, frame),
        }
    }
}
