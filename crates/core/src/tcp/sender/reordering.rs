// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far segments may overtake each other: the reordering window, which grows while repetitions turn out to be needless
//! (RFC 8985 §6.2 step 4; Linux: tcp_rack_update_reo_wnd).

use crate::units::{Duration, Instant};

/// Recoveries for which a window stays that has grown (TCP_RACK_RECOVERY_THRESH).
const RECOVERIES: u32 = 16;
/// The widest, in quarters of the least round-trip time.
const MOST_STEPS: u64 = 255;

/// What is known of reordering.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    /// The latest time of sending of all that has arrived.
    latest: Instant,
    /// Whether something has arrived before what was sent earlier.
    pub(super) is_seen: bool,
    /// The window, in quarters of the least round-trip time.
    steps: u64,
    /// For how many more recoveries it stays so wide.
    persist: u32,
    /// Whether something came twice that widens it, and when it was last widened.
    came_twice: bool,
    widened: Instant,
}

impl Default for Reordering {
    fn default() -> Self {
        Self { latest: Instant::ZERO, is_seen: false, steps: 1, persist: 0, came_twice: false, widened: Instant::ZERO }
    }
}

impl Reordering {
    /// The window, with the least and the smoothed round-trip time.
    pub(super) fn window(&self, least: Duration, srtt: Duration) -> Duration {
        (least / 4 * self.steps).min(srtt.max(least / 4))
    }

    /// Something that was sent again came twice: where nothing was reordered that tells nothing.
    pub(super) fn came_twice(&mut self) {
        self.came_twice = self.is_seen;
    }

    /// What was sent at `sent` has arrived; whether nothing has that was sent later. The window is widened once a round trip at most.
    pub(super) fn arrived(&mut self, sent: Instant, now: Instant) -> bool {
        let is_latest = sent >= self.latest;
        self.is_seen |= !is_latest;
        self.latest = self.latest.max(sent);
        let is_pending = std::mem::take(&mut self.came_twice) && sent >= self.widened;
        if is_pending {
            self.steps = (self.steps + 1).min(MOST_STEPS);
            self.persist = RECOVERIES;
            self.widened = now;
        } else if self.persist == 0 {
            self.steps = 1;
        }
        is_latest
    }

    /// A recovery has ended, and its response stands.
    pub(super) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The window [ms] where the least round-trip time is 100 ms and the smoothed one 120 ms.
    fn window_ms(reordering: &Reordering) -> u64 {
        reordering.window(Duration::from_millis(100), Duration::from_millis(120)).as_nanos() / 1_000_000
    }

    #[test]
    fn each_round_trip_with_a_needless_repetition_adds_a_quarter() {
        let mut reordering = Reordering::default();
        // Without reordering nothing is learnt from what came twice.
        reordering.came_twice();
        reordering.arrived(at(10), at(110));
        assert_eq!((window_ms(&reordering), reordering.is_seen), (25, false));
        reordering.arrived(at(5), at(115));
        reordering.came_twice();
        reordering.arrived(at(20), at(120));
        assert_eq!((window_ms(&reordering), reordering.is_seen), (50, true));
        // What was sent before the window grew speaks of the round trip before.
        reordering.came_twice();
        reordering.arrived(at(119), at(219));
        assert_eq!(window_ms(&reordering), 50);
        for round in 1..5 {
            reordering.came_twice();
            reordering.arrived(at(120 * round), at(120 * round + 100));
        }
        // Six quarters are more than the smoothed round-trip time.
        assert_eq!(window_ms(&reordering), 120);
    }

    #[test]
    fn after_sixteen_recoveries_it_is_a_quarter_again() {
        let mut reordering = Reordering { is_seen: true, ..Reordering::default() };
        reordering.came_twice();
        reordering.arrived(at(10), at(110));
        let widths = (0..17).map(|n| {
            reordering.arrived(at(200 + n), at(300 + n));
            reordering.recovered();
            window_ms(&reordering)
        });
        assert_eq!(widths.collect::<Vec<_>>(), [[50; 16].as_slice(), &[25]].concat());
    }
}
