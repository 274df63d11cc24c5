// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real time: a clock that starts with the run, a timer, and what the thread that keeps them needs of the system.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use lasthop_core::units::{Duration, Instant};
use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;

/// Priority among real-time threads: above none, below the system's own.
const PRIORITY: i32 = 10;

/// The monotonic clock since the run's start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start_ns: u64,
}

impl Clock {
    /// A clock that shows zero `delay` from now.
    pub(crate) fn starting_in(delay: Duration) -> Self {
        Self { start_ns: monotonic_ns() + delay.as_nanos() }
    }

    /// The time since the start; zero before it.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.start_ns))
    }

    /// Waits for the start.
    pub(crate) fn wait_for_start(&self) {
        let ahead = self.start_ns.saturating_sub(monotonic_ns());
        std::thread::sleep(std::time::Duration::from_nanos(ahead));
    }
}

fn monotonic_ns() -> u64 {
    // The monotonic clock is there on every Linux.
    clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
        .map_or(0, |now| now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// Milliseconds of wall-clock time since 1970.
pub(crate) fn unix_ms() -> u64 {
    clock_gettime(nix::time::ClockId::CLOCK_REALTIME)
        .map_or(0, |now| now.tv_sec() as u64 * 1000 + now.tv_nsec() as u64 / 1_000_000)
}

/// Processor time that the calling thread has used \[s\].
pub(crate) fn thread_cpu_s() -> f64 {
    clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0.0, |used| used.tv_sec() as f64 + used.tv_nsec() as f64 / 1e9)
}

/// A timer for instants of a [`Clock`].
#[derive(Debug)]
pub(crate) struct Timer {
    clock: Clock,
    fd: TimerFd,
    set: Option<Instant>,
}

impl Timer {
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self { clock, fd: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?, set: None })
    }

    /// Becomes readable at `at`, and stays so until it is set anew.
    pub(crate) fn set(&mut self, at: Instant) -> io::Result<()> {
        if self.set != Some(at) {
            let ns = self.clock.start_ns + at.as_nanos();
            let at_time = TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
            self.fd.set(Expiration::OneShot(at_time), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            self.set = Some(at);
        }
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// All memory stays where it is as long as this lives.
#[derive(Debug)]
pub(crate) struct LockedMemory(bool);

impl LockedMemory {
    /// Locks it, where the system allows.
    pub(crate) fn new() -> Self {
        Self(mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).is_ok())
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.0
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // What cannot be unlocked stays locked: that does no harm.
        let _ = munlockall();
    }
}

/// Makes this thread a real-time one (SCHED_FIFO), where the system allows; whether it does.
pub(crate) fn become_realtime() -> bool {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the call reads `parameters` and changes the calling thread's scheduling alone.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters) == 0 }
}
