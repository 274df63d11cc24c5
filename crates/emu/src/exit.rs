// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where packets leave the network: who writes them into the kernels' devices.
//!
//! What a kernel does with a packet that it is handed, up to the receiving TCP and what that sends in return, is done by the
//! thread that hands it over, and takes longer than all that the network does. So a thread of its own writes where there is
//! a second processor, and the relay goes on. A few packets are not worth waking it: those the relay writes itself, unless
//! the other has some yet, which must leave first.
//!
//! ```text
//!   network ──► leaving ──┬── a few ─────────────────────────► device
//!                         └── more ──► batches ──► writer ───► device
//! ```

use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use lasthop_core::stats::LogHistogram;
use lasthop_core::units::{Duration, Instant};
use lasthop_linux::clock::{Clock, thread_cpu_s};
use lasthop_linux::tun::{Joining, TunDevice};

use crate::frame::Frame;
use crate::keeper::Keeper;
use crate::stalls::Stalls;

/// So many packets that leave together the relay writes itself: less work than to wake another thread.
const A_FEW: usize = 2;
/// When so many are to leave the other thread gets them, though more may come: so both work at once.
const BATCH: usize = 8;

/// The devices, as one thread writes to them, and what it counts there.
#[derive(Debug)]
pub(crate) struct Exit {
    clock: Clock,
    devices: Arc<[TunDevice]>,
    /// What is kept to be joined, by device; empty where nothing is.
    joining: Vec<Joining>,
    pub(crate) counts: ExitCounts,
}

/// What is counted where packets leave.
#[derive(Debug, Default)]
pub(crate) struct ExitCounts {
    /// How much later than due packets left, with what they had waited at the entrance.
    pub(crate) lag: LogHistogram,
    pub(crate) longest_lag: Duration,
    /// Packets that a kernel has not taken.
    pub(crate) refused: u64,
    /// Why a device could not be written.
    pub(crate) failure: Option<io::Error>,
}

impl ExitCounts {
    /// These and those of another thread.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.lag.merge(&other.lag);
        Self {
            lag: self.lag,
            longest_lag: self.longest_lag.max(other.longest_lag),
            refused: self.refused + other.refused,
            failure: self.failure.or(other.failure),
        }
    }
}

impl Exit {
    fn new(clock: Clock, devices: Arc<[TunDevice]>, joins: bool) -> Self {
        let joining = if joins { devices.iter().map(|_| Joining::default()).collect() } else { vec![] };
        Self { clock, devices, joining, counts: ExitCounts::default() }
    }

    /// Writes what leaves together; the buffers are free then.
    fn write(&mut self, leaving: &mut Vec<(Instant, Frame)>, free: &mut Vec<Vec<u8>>) {
        for (due, frame) in leaving.drain(..) {
            let lag = self.clock.now().saturating_since(due) + frame.waited;
            self.counts.lag.record(lag);
            self.counts.longest_lag = self.counts.longest_lag.max(lag);
            let device = usize::from(frame.exit);
            if let Some(joining) = self.joining.get_mut(device) {
                joining.keep(frame.bytes);
                continue;
            }
            let written = self.devices[device].write(&frame.bytes);
            free.push(frame.bytes);
            self.note(written);
        }
        for device in 0..self.joining.len() {
            let written = self.devices[device].write_joined(&mut self.joining[device], free);
            self.note(written);
        }
    }

    fn note(&mut self, written: io::Result<()>) {
        let Err(error) = written else { return };
        match error.raw_os_error() {
            // What is no packet; a device that was taken down from inside; no memory now.
            Some(libc::EINVAL | libc::EIO | libc::ENOBUFS | libc::ENOMEM) => self.counts.refused += 1,
            // The first reason counts.
            _ => _ = self.counts.failure.get_or_insert(error),
        }
    }
}

/// What goes between the threads, to and fro.
#[derive(Debug, Default)]
struct Batch {
    leaving: Vec<(Instant, Frame)>,
    /// When it was handed over.
    handed: Instant,
    free: Vec<Vec<u8>>,
}

/// What both threads look at.
#[derive(Debug, Default)]
struct Unwritten {
    /// Batches that are not written yet.
    unwritten: AtomicUsize,
    has_failed: AtomicBool,
}

/// The relay's side: what is to leave, and the way to the thread that writes.
#[derive(Debug)]
pub(crate) struct Exits {
    own: Exit,
    leaving: Vec<(Instant, Frame)>,
    free: Vec<Vec<u8>>,
    other: Option<Other>,
}

#[derive(Debug)]
struct Other {
    batches: Sender<Batch>,
    written: Receiver<Batch>,
    spare: Vec<Batch>,
    progress: Arc<Unwritten>,
}

/// The thread that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    exit: Exit,
    batches: Receiver<Batch>,
    written: Sender<Batch>,
    progress: Arc<Unwritten>,
}

impl Exits {
    /// Ways to the devices; a second thread has some, and writes with [`Writer::run`], if there `are_two`.
    pub(crate) fn new(clock: Clock, devices: Arc<[TunDevice]>, joins: bool, are_two: bool) -> (Self, Option<Writer>) {
        let own = Exit::new(clock, Arc::clone(&devices), joins);
        let (other, writer) = are_two.then(|| pair(Exit::new(clock, devices, joins))).unzip();
        (Self { own, leaving: vec![], free: vec![], other }, writer)
    }

    /// A packet is to leave now, `due` when it was.
    pub(crate) fn take(&mut self, due: Instant, frame: Frame) {
        self.leaving.push((due, frame));
        if self.leaving.len() >= BATCH
            && let Some(other) = &mut self.other
        {
            other.hand_over(&mut self.leaving, self.own.clock.now());
        }
    }

    /// Lets out what is to leave; gives the buffers that have become free since the last time.
    pub(crate) fn flush(&mut self) -> &mut Vec<Vec<u8>> {
        if let Some(other) = &mut self.other {
            other.collect(&mut self.free);
            if !self.leaving.is_empty() && (self.leaving.len() > A_FEW || other.is_busy()) {
                other.hand_over(&mut self.leaving, self.own.clock.now());
            }
        }
        if !self.leaving.is_empty() {
            self.own.write(&mut self.leaving, &mut self.free);
        }
        &mut self.free
    }

    /// Whether a device could not be written.
    pub(crate) fn has_failed(&self) -> bool {
        let other = self.other.as_ref().is_some_and(|other| other.progress.has_failed.load(Ordering::Relaxed));
        other || self.own.counts.failure.is_some()
    }

    /// Nothing leaves any more: the other thread ends when it has written what it has.
    pub(crate) fn close(&mut self) {
        self.other = None;
    }

    /// What the relay has counted.
    pub(crate) fn take_counts(&mut self) -> ExitCounts {
        mem::take(&mut self.own.counts)
    }
}

/// Both ends of the way to the thread that writes.
fn pair(exit: Exit) -> (Other, Writer) {
    let ((batches, to_write), (written, back)) = (channel(), channel());
    let progress = Arc::new(Unwritten::default());
    let writer = Writer { exit, batches: to_write, written, progress: Arc::clone(&progress) };
    (Other { batches, written: back, spare: vec![], progress }, writer)
}

impl Other {
    fn is_busy(&self) -> bool {
        self.progress.unwritten.load(Ordering::Acquire) > 0
    }

    fn hand_over(&mut self, leaving: &mut Vec<(Instant, Frame)>, now: Instant) {
        let mut batch = self.spare.pop().unwrap_or_default();
        batch.handed = now;
        mem::swap(&mut batch.leaving, leaving);
        self.progress.unwritten.fetch_add(1, Ordering::Relaxed);
        // Who writes no longer has failed, and says why.
        let _ = self.batches.send(batch);
    }

    fn collect(&mut self, free: &mut Vec<Vec<u8>>) {
        for mut batch in self.written.try_iter() {
            free.append(&mut batch.free);
            self.spare.push(batch);
        }
    }
}

impl Writer {
    /// Writes what it is handed, until there is no more; gives what it counted, when it stood still, and the processor time
    /// that it took \[s\].
    pub(crate) fn run(mut self, realtime: bool) -> (ExitCounts, Stalls, f64) {
        let clock = self.exit.clock;
        let mut keeper = Keeper::new(clock, realtime);
        let mut idle = clock.now();
        while let Some(mut batch) = self.next(&mut keeper) {
            let began = clock.now();
            keeper.still(began, began.saturating_since(batch.handed.max(idle)));
            self.exit.write(&mut batch.leaving, &mut batch.free);
            self.progress.unwritten.fetch_sub(1, Ordering::Release);
            self.progress.has_failed.fetch_or(self.exit.counts.failure.is_some(), Ordering::Relaxed);
            let now = clock.now();
            keeper.still(now, now.saturating_since(began));
            // The relay may have ended: then nobody wants the buffers.
            let _ = self.written.send(batch);
            idle = keeper.nap(now);
        }
        (self.exit.counts, keeper.stalls, thread_cpu_s())
    }

    /// The next batch, when there is one; none if there will be no more.
    fn next(&self, keeper: &mut Keeper) -> Option<Batch> {
        match self.batches.try_recv() {
            Ok(batch) => Some(batch),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                let asleep = self.exit.clock.now();
                let batch = self.batches.recv().ok();
                keeper.slept(asleep, self.exit.clock.now());
                batch
            }
        }
    }
}
