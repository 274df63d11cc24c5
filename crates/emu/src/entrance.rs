// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long packets wait before they are read.
//!
//! A device does not tell when a packet came, but it was empty when it was last read to its end, when a look before a wait
//! did not find it, or when a wait ended without it; what is read afterwards came later. And a wait that lasted ended when
//! something came, unless the timer was first. So there is an instant before which no packet can have come, and the time
//! since is what it waited at most.
//!
//! ```text
//!     drained        asleep             came, woke          read
//!   ─────┼──────────────┼───────────────────┼─────────────────┼───►   a wait that lasted
//!                                           └──── waited ─────┘
//!     drained  came  asleep, woke          read
//!   ─────┼──────┼───────┼────────────────────┼───►                    a wait that ended at once
//!        └────────── waited ─────────────────┘
//! ```

use lasthop_core::units::{Duration, Instant};

/// A wait that took longer did not end at once.
const AT_ONCE: Duration = Duration::from_micros(50);

/// When each device was last empty.
#[derive(Debug)]
pub(crate) struct Entrance {
    /// An instant at which the device was empty, and the number of the wait after which that was found.
    empty: Vec<(Instant, u64)>,
    /// How many waits there have been.
    waits: u64,
    /// Where the last wait found those devices empty that it did not name, and the last but one.
    woke: Instant,
    woke_before: Instant,
    /// When all devices were last found empty.
    all_empty: Instant,
    /// Before which nothing came that ended the last wait, if it lasted.
    lasted: Option<Instant>,
}

impl Entrance {
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            empty: vec![(Instant::ZERO, 0); devices],
            waits: 0,
            woke: Instant::ZERO,
            woke_before: Instant::ZERO,
            all_empty: Instant::ZERO,
            lasted: None,
        }
    }

    /// All devices were empty after this instant.
    pub(crate) fn found_empty(&mut self, at: Instant) {
        self.all_empty = at;
    }

    /// A wait that began at `asleep` and was to end at `due` ended at `woke`.
    pub(crate) fn wake(&mut self, asleep: Instant, due: Instant, woke: Instant) {
        self.waits += 1;
        self.woke_before = self.woke;
        self.woke = woke;
        // Had it come before the timer was due, it would have ended the wait by itself.
        self.lasted = (woke.saturating_since(asleep) > AT_ONCE).then(|| woke.min(due).max(asleep));
    }

    /// The last wait found that a device has packets; before the instant that is given none of them can have come.
    pub(crate) fn ready(&mut self, device: u16) -> Instant {
        let (at, found) = self.empty[usize::from(device)];
        // One that was not ready at the last wait but one was empty then.
        let known = if found + 1 >= self.waits { at } else { self.woke_before }.max(self.all_empty);
        let since = self.lasted.map_or(known, |lasted| lasted.max(known));
        self.empty[usize::from(device)] = (since, self.waits);
        since
    }

    /// A device was read to its end by a read that began at this instant.
    pub(crate) fn drained(&mut self, device: u16, at: Instant) {
        self.empty[usize::from(device)] = (at, self.waits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn what_ends_a_long_wait_came_then() {
        let mut entrance = Entrance::new(1);
        entrance.wake(us(100), us(5000), us(3000));
        assert_eq!(entrance.ready(0), us(3000));
    }

    #[test]
    fn what_is_found_after_a_late_timer_may_have_come_when_it_was_due() {
        let mut entrance = Entrance::new(1);
        entrance.wake(us(100), us(1000), us(901_000));
        assert_eq!(entrance.ready(0), us(1000));
    }

    #[test]
    fn what_is_found_at_once_came_after_the_device_was_empty() {
        let mut entrance = Entrance::new(2);
        entrance.wake(us(0), us(5000), us(1000));
        assert_eq!(entrance.ready(0), us(1000));
        entrance.drained(0, us(1020));
        entrance.wake(us(1400), us(5000), us(1401));
        // One was drained at 1020; the other was not ready at the wait before.
        assert_eq!((entrance.ready(0), entrance.ready(1)), (us(1020), us(1000)));
    }

    #[test]
    fn what_comes_in_a_short_wait_came_after_the_look_before_it() {
        let mut entrance = Entrance::new(1);
        entrance.wake(us(0), us(5000), us(1000));
        entrance.ready(0);
        entrance.drained(0, us(1010));
        entrance.found_empty(us(1040));
        entrance.wake(us(1040), us(1080), us(1060));
        assert_eq!(entrance.ready(0), us(1040));
    }

    #[test]
    fn what_is_not_drained_waits_on() {
        let mut entrance = Entrance::new(1);
        entrance.wake(us(0), us(5000), us(1000));
        entrance.ready(0);
        for round in 1..5 {
            entrance.wake(us(1000 * round), us(9000), us(1000 * round + 1));
            assert_eq!(entrance.ready(0), us(1000));
        }
    }
}
