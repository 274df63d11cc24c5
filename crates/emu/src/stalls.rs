// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a thread that is to keep time stood still: it woke late, or what it did between two waits took too long.

use lasthop_core::units::{Duration, Instant};

/// What is shorter is lateness, not a stall.
const LEAST: Duration = Duration::from_millis(1);
/// From here on a stall may be the kernel's doing, which takes the processor from real-time threads for 50 ms a second.
const THROTTLED: Duration = Duration::from_millis(5);
/// How often the thread's processor time is looked at.
const WINDOW: Duration = Duration::from_secs(1);
/// The share of a processor that real-time threads have at most, less a little.
const FULL: f64 = 0.9;

/// The stretches in which a thread stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stalls {
    pub(crate) count: u64,
    pub(crate) longest: Duration,
    pub(crate) total: Duration,
    /// Those that came when the thread had had the processor to itself.
    pub(crate) throttled: u64,
}

impl Stalls {
    /// The thread was so late, or so busy; whether that is a stall.
    pub(crate) fn note(&mut self, stretch: Duration) -> bool {
        if stretch <= LEAST {
            return false;
        }
        self.count += 1;
        self.longest = self.longest.max(stretch);
        self.total += stretch;
        true
    }

    /// These and those of a thread beside it, as if none was at the same time as another.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            count: self.count + other.count,
            longest: self.longest.max(other.longest),
            total: self.total + other.total,
            throttled: self.throttled + other.throttled,
        }
    }

    /// As [`note`](Self::note), for a real-time thread: a long one at a full processor is the kernel's doing.
    pub(crate) fn note_with(&mut self, stretch: Duration, share: impl FnOnce() -> f64) {
        if self.note(stretch) && stretch >= THROTTLED && share() >= FULL {
            self.throttled += 1;
        }
    }
}

/// What share of the processor a thread has had lately.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuShare {
    since: Instant,
    cpu_s: f64,
}

impl CpuShare {
    /// Begins a new window when the last is over; `cpu_s` tells the processor time that the thread has used.
    pub(crate) fn roll(&mut self, now: Instant, cpu_s: impl FnOnce() -> f64) {
        if now.saturating_since(self.since) >= WINDOW {
            *self = Self { since: now, cpu_s: cpu_s() };
        }
    }

    /// The share since the window began, a `stretch` that ends now left out.
    pub(crate) fn before(&self, now: Instant, stretch: Duration, cpu_s: f64) -> f64 {
        let window = now.saturating_since(self.since).saturating_sub(stretch).as_secs_f64();
        if window > 0.0 { (cpu_s - self.cpu_s) / window } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_millisecond_is_lateness_and_more_is_a_stall() {
        let mut stalls = Stalls::default();
        assert!(!stalls.note(ms(1)));
        assert!(stalls.note(ms(3)) && stalls.note(ms(2)));
        assert_eq!(stalls, Stalls { count: 2, longest: ms(3), total: ms(5), throttled: 0 });
    }

    #[test]
    fn a_hole_after_a_full_processor_is_throttling() {
        // 0.95 s of work, then 50 ms without the processor; and the same hole after 0.1 s of work.
        let end = Instant::ZERO + ms(1000);
        for (cpu_s, throttled) in [(0.95, 1), (0.1, 0)] {
            let mut stalls = Stalls::default();
            stalls.note_with(ms(50), || CpuShare::default().before(end, ms(50), cpu_s));
            assert_eq!(stalls.throttled, throttled);
        }
    }
}
