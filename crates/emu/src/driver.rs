// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver in real time: the network with kernels at its ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_core::units::{Duration, Instant};
use lasthop_linux::clock::Timer;
use lasthop_sim::network::Network;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::edge::{Edge, SERVERS};
use crate::frame::Frame;

/// Pieces read from one device before the others are looked at.
const BATCH: usize = 16;
/// How long the driver sleeps at most, and so how late it notices that it is to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// How long after a wake the next one is due at the earliest. A timer costs as much as several packets: where packets are
/// nearer to each other, several leave at once, late by so much at most.
const GRAIN: Duration = Duration::from_micros(40);
/// The timer's number among the devices'.
const TIMER: u64 = u64::MAX;

/// The network, the devices at its edge, and what wakes it.
pub(crate) struct Driver {
    pub(crate) network: Network<Frame>,
    pub(crate) edge: Edge,
    timer: Timer,
    epoll: Epoll,
    /// Packets that have been read and are to enter.
    arrived: Vec<Vec<u8>>,
}

impl Driver {
    pub(crate) fn new(network: Network<Frame>, edge: Edge) -> io::Result<Self> {
        let (timer, epoll) = (Timer::new(edge.clock)?, Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        for (number, device) in edge.devices.iter().enumerate() {
            epoll.add(device, EpollEvent::new(EpollFlags::EPOLLIN, number as u64))?;
        }
        Ok(Self { network, edge, timer, epoll, arrived: vec![] })
    }

    /// Relays until `end`, or until it is told to stop; gives the instant at which it did.
    pub(crate) fn run(&mut self, end: Instant, stop: &AtomicBool) -> Instant {
        let mut ready = [EpollEvent::empty(); 64];
        let mut served = Instant::ZERO;
        loop {
            let now = self.edge.clock.now();
            if self.network.next_wake().is_some_and(|at| at <= now) {
                self.network.serve(&mut self.edge, now + Duration::from_nanos(1), u64::MAX);
                served = now;
            }
            self.edge.flush();
            if now >= end || stop.load(Ordering::Relaxed) || self.edge.failure.is_some() {
                return now;
            }
            let latest = (now + LONGEST_SLEEP).min(end);
            let wake = self.network.next_wake().map_or(latest, |at| at.max(served + GRAIN).min(latest));
            let waited = self.timer.set(wake).and_then(|()| Ok(self.epoll.wait(&mut ready, EpollTimeout::NONE)?));
            match waited {
                Ok(count) => {
                    for event in ready[..count].iter().filter(|event| event.data() != TIMER) {
                        self.read(event.data() as u16);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.edge.fail(error),
            }
        }
    }

    /// Takes in what a kernel has sent.
    fn read(&mut self, from: u16) {
        for _ in 0..BATCH {
            let Edge { devices, splitter, .. } = &mut self.edge;
            let arrived = &mut self.arrived;
            let read = devices[usize::from(from)].read(splitter, |bytes| arrived.push(bytes));
            let now = self.edge.clock.now();
            let mut arrived = std::mem::take(&mut self.arrived);
            arrived.drain(..).for_each(|bytes| self.enter(from, now, bytes));
            self.arrived = arrived;
            match read {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.edge.fail(error),
            }
        }
    }

    /// A packet comes into the network.
    fn enter(&mut self, from: u16, now: Instant, bytes: Vec<u8>) {
        let Some((stream, exit, addresses)) = self.edge.route(from, &bytes) else {
            return self.edge.splitter.recycle(bytes);
        };
        let Some(room) = self.edge.memory.take(bytes.len()) else {
            self.edge.refused += 1;
            return self.edge.splitter.recycle(bytes);
        };
        let is_data = self.edge.uploads[stream as usize] == (from != SERVERS);
        let frame = Frame::new(bytes, room, &addresses, stream, exit);
        match is_data {
            true => self.network.send(&mut self.edge, now, frame),
            false => self.network.send_back(&mut self.edge, now, frame),
        }
    }
}
