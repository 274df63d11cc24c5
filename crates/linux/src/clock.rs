// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real time: a clock that starts with a run.

use lasthop_core::units::{Duration, Instant};
use nix::time::clock_gettime;

/// The monotonic clock since the run's start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: u64,
}

impl Clock {
    /// A clock that shows zero `delay` from now.
    pub fn starting_in(delay: Duration) -> Self {
        Self { start_ns: monotonic_ns() + delay.as_nanos() }
    }

    /// The time since the start; zero before it.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.start_ns))
    }

    /// Waits for the start.
    pub fn wait_for_start(&self) {
        let ahead = self.start_ns.saturating_sub(monotonic_ns());
        std::thread::sleep(std::time::Duration::from_nanos(ahead));
    }
}

/// The monotonic clock itself, as the kernel's programs read it \[ns\].
pub fn monotonic_ns() -> u64 {
    // The monotonic clock is there on every Linux.
    clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
        .map_or(0, |now| now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// Milliseconds of wall-clock time since 1970.
pub fn unix_ms() -> u64 {
    clock_gettime(nix::time::ClockId::CLOCK_REALTIME)
        .map_or(0, |now| now.tv_sec() as u64 * 1000 + now.tv_nsec() as u64 / 1_000_000)
}

/// Processor time that the calling thread has used \[s\].
pub fn thread_cpu_s() -> f64 {
    clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0.0, |used| used.tv_sec() as f64 + used.tv_nsec() as f64 / 1e9)
}
