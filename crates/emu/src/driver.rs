// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver in real time: the network with kernels at its ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_core::units::{Duration, Instant};
use lasthop_linux::clock::thread_cpu_s;
use lasthop_linux::wait::Waiter;
use lasthop_sim::network::Network;
use nix::sys::epoll::{EpollEvent, EpollFlags};

use crate::edge::{Edge, SERVERS};
use crate::entrance::Entrance;
use crate::frame::Frame;
use crate::stalls::{CpuShare, Stalls};

/// Pieces read from one device before the others are looked at.
const BATCH: usize = 16;
/// How long the driver sleeps at most: so late it notices that it is to stop, and so much of a freeze it may miss while
/// nothing is due.
const LONGEST_SLEEP: Duration = Duration::from_millis(5);
/// How long after a wake the next one is due at the earliest. A wait costs as much as several packets: where packets are
/// nearer to each other, several leave at once, late by so much at most.
const GRAIN: Duration = Duration::from_micros(40);
/// A real-time thread that hardly sleeps is stopped by the kernel for 50 ms a second. So it owes so many thousandths of its
/// time to others, and naps when it owes a nap, which is over before anybody takes note.
const OWED: u64 = 60;
const NAP: Duration = Duration::from_micros(100);
/// How much it may sleep in advance.
const MOST_CREDIT: Duration = Duration::from_millis(20);
/// How long a wait takes that ends at once.
const ASKING: Duration = Duration::from_micros(10);

/// The network, the devices at its edge, and what wakes it.
pub(crate) struct Driver {
    pub(crate) network: Network<Frame>,
    pub(crate) edge: Edge,
    pub(crate) stalls: Stalls,
    waiter: Waiter,
    entrance: Entrance,
    /// Packets that have been read and are to enter.
    arrived: Vec<Vec<u8>>,
}

/// How much sleep a thread owes.
#[derive(Clone, Copy, Debug)]
struct Rest {
    since: Instant,
    owed: Duration,
    credit: Duration,
}

impl Rest {
    fn new(now: Instant) -> Self {
        Self { since: now, owed: Duration::ZERO, credit: Duration::ZERO }
    }

    /// Whether a nap is due.
    fn is_due(&mut self, now: Instant) -> bool {
        let share = Duration::from_nanos(now.saturating_since(self.since).as_nanos() * OWED / 1000);
        self.since = now;
        self.owed += share.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(share);
        self.owed >= NAP
    }

    /// A wait took so long; what it takes to ask for it is no rest.
    fn slept(&mut self, from: Instant, until: Instant) {
        let asleep = until.saturating_since(from + ASKING);
        self.credit = (self.credit + asleep.saturating_sub(self.owed)).min(MOST_CREDIT);
        self.owed = self.owed.saturating_sub(asleep);
    }
}

impl Driver {
    pub(crate) fn new(network: Network<Frame>, edge: Edge) -> io::Result<Self> {
        let waiter = Waiter::new(edge.clock)?;
        for (number, device) in edge.devices.iter().enumerate() {
            waiter.watch(device, EpollFlags::EPOLLIN, number as u64)?;
        }
        let entrance = Entrance::new(edge.devices.len());
        Ok(Self { network, edge, stalls: Stalls::default(), waiter, entrance, arrived: vec![] })
    }

    /// Relays until `end`, or until it is told to stop; gives the instant at which it did. A `realtime` thread naps rather
    /// than be stopped.
    pub(crate) fn run(&mut self, end: Instant, realtime: bool, stop: &AtomicBool) -> Instant {
        let mut ready = [EpollEvent::empty(); 64];
        let mut served = Instant::ZERO;
        let mut woke = self.edge.clock.now();
        let (mut rest, mut share) = (Rest::new(woke), CpuShare::default());
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
            let mut asleep = self.edge.clock.now();
            self.still(asleep, asleep.saturating_since(woke), realtime, &share);
            if realtime && rest.is_due(asleep) {
                std::thread::sleep(std::time::Duration::from_nanos(NAP.as_nanos()));
                let after = self.edge.clock.now();
                self.still(after, after.saturating_since(asleep + NAP), realtime, &share);
                rest.slept(asleep, after);
                asleep = after;
            }
            let waited = self.waiter.wait(wake, &mut ready);
            woke = self.edge.clock.now();
            rest.slept(asleep, woke);
            self.still(woke, woke.saturating_since(wake.max(asleep)), realtime, &share);
            share.roll(woke, thread_cpu_s);
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

    /// The thread has done nothing else, or nothing at all, for so long.
    fn still(&mut self, now: Instant, stretch: Duration, realtime: bool, share: &CpuShare) {
        match realtime {
            true => self.stalls.note_with(stretch, || share.before(now, stretch, thread_cpu_s())),
            false => _ = self.stalls.note(stretch),
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
        let is_data = self.edge.uploads[stream as usize] == (from != SERVERS);
        self.edge.waits.record(waited);
        let frame = Frame::new(bytes, room, &addresses, (stream, exit), waited);
        match is_data {
            true => self.network.send(&mut self.edge, now, frame),
            false => self.network.send_back(&mut self.edge, now, frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// Naps that are due in a second of waits of so many µs, one each 40 µs.
    fn naps_a_second(wait_us: u64) -> u64 {
        let (mut rest, mut now, mut naps) = (Rest::new(us(0)), us(0), 0);
        while now < us(1_000_000) {
            if rest.is_due(now) {
                naps += 1;
                rest.slept(now, now + NAP);
                now += NAP;
            }
            rest.slept(now, now + Duration::from_micros(wait_us));
            now += Duration::from_micros(40);
        }
        naps
    }

    #[test]
    fn who_never_sleeps_naps_for_more_than_the_kernel_takes() {
        // 40 waits of 5 µs are no sleep; 50 ms of each second are the kernel's.
        let asleep = naps_a_second(5) * (NAP.as_nanos() - ASKING.as_nanos());
        assert!((50_000_000..100_000_000).contains(&asleep), "{asleep} ns");
    }

    #[test]
    fn who_sleeps_enough_never_naps() {
        // 5 µs of 40.
        assert_eq!(naps_a_second(15), 0);
    }
}
