// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread that keeps time does for it: it watches when it stood still, and naps rather than be stopped.

use lasthop_core::units::{Duration, Instant};
use lasthop_linux::clock::{Clock, thread_cpu_s};

use crate::stalls::{CpuShare, Stalls};

/// A real-time thread that hardly sleeps is stopped by the kernel for 50 ms a second. So it owes so many thousandths of its
/// time to others, and naps when it owes a nap, which is over before anybody takes note.
const OWED: u64 = 60;
const NAP: Duration = Duration::from_micros(100);
/// How much it may sleep in advance.
const MOST_CREDIT: Duration = Duration::from_millis(20);
/// How long a wait takes that ends at once.
const ASKING: Duration = Duration::from_micros(10);

/// The watch of one thread, over itself.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) stalls: Stalls,
    clock: Clock,
    /// Whether the kernel may stop the thread for want of sleep.
    realtime: bool,
    share: CpuShare,
    rest: Rest,
}

impl Keeper {
    /// That of a thread that begins its work now.
    pub(crate) fn new(clock: Clock, realtime: bool) -> Self {
        let rest = Rest::new(clock.now());
        Self { stalls: Stalls::default(), clock, realtime, share: CpuShare::default(), rest }
    }

    /// The thread has done nothing else, or nothing at all, for a stretch that ends now.
    pub(crate) fn still(&mut self, now: Instant, stretch: Duration) {
        match self.realtime {
            true => self.stalls.note_with(stretch, || self.share.before(now, stretch, thread_cpu_s())),
            false => _ = self.stalls.note(stretch),
        }
    }

    /// Naps, if that is due by `now`; gives the instant that it is then.
    pub(crate) fn nap(&mut self, now: Instant) -> Instant {
        if !self.realtime || !self.rest.is_due(now) {
            return now;
        }
        std::thread::sleep(std::time::Duration::from_nanos(NAP.as_nanos()));
        let after = self.clock.now();
        self.still(after, after.saturating_since(now + NAP));
        self.rest.slept(now, after);
        after
    }

    /// A wait took so long.
    pub(crate) fn slept(&mut self, from: Instant, until: Instant) {
        self.rest.slept(from, until);
        self.share.roll(until, thread_cpu_s);
    }
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
