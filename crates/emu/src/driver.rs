// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver in real time: the network with kernels at its ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_core::units::{Duration, Instant};
use lasthop_sim::network::Network;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::clock::Timer;
use crate::edge::{Edge, SERVERS};
use crate::frame::Frame;

/// Packets read from one device before the others are looked at.
const BATCH: usize = 64;
/// How long the driver sleeps at most, and so how late it notices that it is to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// The timer's number among the devices'.
const TIMER: u64 = u64::MAX;

/// The network, the devices at its edge, and what wakes it.
pub(crate) struct Driver {
    pub(crate) network: Network<Frame>,
    pub(crate) edge: Edge,
    timer: Timer,
    epoll: Epoll,
}

impl Driver {
    pub(crate) fn new(network: Network<Frame>, edge: Edge) -> io::Result<Self> {
        let (timer, epoll) = (Timer::new(edge.clock)?, Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        for (number, device) in edge.devices.iter().enumerate() {
            epoll.add(device, EpollEvent::new(EpollFlags::EPOLLIN, number as u64))?;
        }
        Ok(Self { network, edge, timer, epoll })
    }

    /// Relays until `end`, or until it is told to stop; gives the instant at which it did.
    pub(crate) fn run(&mut self, end: Instant, stop: &AtomicBool) -> Instant {
        let mut ready = [EpollEvent::empty(); 64];
        loop {
            let now = self.edge.clock.now();
            self.network.serve(&mut self.edge, now + Duration::from_nanos(1), u64::MAX);
            self.edge.flush();
            if now >= end || stop.load(Ordering::Relaxed) || self.edge.failure.is_some() {
                return now;
            }
            let latest = (now + LONGEST_SLEEP).min(end);
            let wake = self.network.next_wake().map_or(latest, |at| at.min(latest));
            let waited = self.timer.set(wake).and_then(|()| Ok(self.epoll.wait(&mut ready, EpollTimeout::NONE)?));
            match waited {
                Ok(count) => {
                    for event in ready[..count].iter().filter(|event| event.data() != TIMER) {
                        self.read(event.data() as u16);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.edge.failure = Some(error),
            }
        }
    }

    /// Takes in what a kernel has sent.
    fn read(&mut self, from: u16) {
        for _ in 0..BATCH {
            let mut packets = [const { None }; 128];
            let mut count = 0;
            let Edge { devices, pool, .. } = &mut self.edge;
            let read = devices[usize::from(from)].read(
                || pool.pop().unwrap_or_default(),
                |bytes| {
                    packets[count] = Some(bytes);
                    count += 1;
                },
            );
            let now = self.edge.clock.now();
            for bytes in packets.iter_mut().take(count).filter_map(Option::take) {
                self.enter(from, now, bytes);
            }
            match read {
                Ok(Some(())) => {}
                Ok(None) => return,
                Err(error) => return self.edge.failure = Some(error),
            }
        }
    }

    /// A packet comes into the network.
    fn enter(&mut self, from: u16, now: Instant, bytes: Vec<u8>) {
        let Some((stream, exit, addresses)) = self.edge.route(from, &bytes) else {
            return self.edge.pool.push(bytes);
        };
        let is_data = self.edge.uploads[stream as usize] == (from != SERVERS);
        let frame = Frame::new(bytes, &addresses, stream, exit);
        match is_data {
            true => self.network.send(&mut self.edge, now, frame),
            false => self.network.send_back(&mut self.edge, now, frame),
        }
    }
}
