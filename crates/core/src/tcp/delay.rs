// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a receiver by Linux's rules waits with an acknowledgement: by ticks, and by how far apart segments have come.

use super::config::ReceiverConfig;
use super::wheel::go_off;
use crate::units::{Duration, Instant};

/// How long an acknowledgement waits at most (TCP_DELACK_MAX), less a tick (tcp_delack_max).
const MOST: Duration = Duration::from_millis(200);
/// The same before a tick is taken off, if no round-trip time is known (HZ / 2 in tcp_send_delayed_ack).
const UNKNOWN_RTT: Duration = Duration::from_millis(500);
/// The receiver's own time-out, of which the handshake tells (tcp_rtt_estimator): a round-trip time and what it varies, of which two
/// are taken at first, and this at least; this before any is known (TCP_TIMEOUT_INIT).
const LEAST_VARIATION: Duration = Duration::from_millis(200);
const UNKNOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// What Linux remembers of the segments that came in order (icsk_ack): all times in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckDelay {
    /// How long the next acknowledgement waits (ato); 0: nothing has come.
    wait: u32,
    /// When the last segment came in order (lrcvtime).
    last: u32,
    /// The next byte expected after it.
    next: u64,
}

/// The clock of a receiver, and the round-trip time that its handshake took; [`Duration::MAX`]: it had none.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckClock {
    tick: Duration,
    /// TCP_ATO_MIN.
    least: u32,
    rtt: Duration,
}

impl AckClock {
    /// None: an acknowledgement waits as long as it is told.
    pub(super) fn new(config: &ReceiverConfig, rtt: Duration) -> Option<Self> {
        let tick = config.timer_tick;
        let clock = Self { tick, least: 0, rtt };
        (!tick.is_zero()).then(|| Self { least: clock.ticks(config.ack_timeout), ..clock })
    }

    /// Rounded up (usecs_to_jiffies).
    fn ticks(self, time: Duration) -> u32 {
        u32::try_from(time.as_nanos().div_ceil(self.tick.as_nanos())).unwrap_or(u32::MAX)
    }

    fn timeout(self) -> u32 {
        self.ticks(match self.rtt {
            Duration::MAX => UNKNOWN_TIMEOUT,
            rtt => rtt + (rtt * 2).max(LEAST_VARIATION),
        })
    }
}

impl AckDelay {
    /// Something came at `now`, and `next` is the next byte expected. True if it came in order and later than the sender's
    /// time-out, so that acknowledgements are quick for a while (tcp_event_data_recv).
    pub(super) fn hear(&mut self, now: Instant, next: u64, clock: AckClock) -> bool {
        if next == self.next {
            return false;
        }
        let at = (now.as_nanos() / clock.tick.as_nanos()) as u32;
        let gap = at.saturating_sub(self.last);
        let is_first = self.wait == 0;
        (self.last, self.next) = (at, next);
        if is_first {
            self.reset(clock);
        } else if gap <= clock.least / 2 {
            self.wait = self.wait / 2 + clock.least / 2;
        } else if gap < self.wait {
            self.wait = (self.wait / 2 + gap).min(clock.timeout());
        } else {
            return gap > clock.timeout();
        }
        false
    }

    /// Acknowledgements are quick, or cease to be (tcp_enter_quickack_mode, tcp_dec_quickack_mode).
    pub(super) fn reset(&mut self, clock: AckClock) {
        self.wait = clock.least;
    }

    /// An acknowledgement has waited in vain (tcp_delack_timer_handler).
    pub(super) fn missed(&mut self, clock: AckClock) {
        self.wait = self.wait.saturating_mul(2).min(clock.timeout());
    }

    /// Until when an acknowledgement waits that is due at `now` (tcp_send_delayed_ack).
    pub(super) fn until(self, now: Instant, clock: AckClock) -> Instant {
        let bound = match clock.rtt {
            Duration::MAX => clock.ticks(UNKNOWN_RTT),
            rtt => clock.ticks(rtt).max(clock.least),
        };
        let most = clock.ticks(MOST).max(2) - 1;
        let wait = if self.wait > clock.least { self.wait.min(bound) } else { self.wait };
        go_off(now, clock.tick * u64::from(wait.min(most)), clock.tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn clock(rtt: Duration) -> AckClock {
        let config = ReceiverConfig { timer_tick: MS * 4, ack_timeout: MS * 40, ..ReceiverConfig::default() };
        AckClock::new(&config, rtt).unwrap()
    }

    /// How long acknowledgements wait of segments that come at these times \[ms\].
    fn waits(rtt: Duration, times: &[u64]) -> Vec<u64> {
        let (clock, mut delay) = (clock(rtt), AckDelay::default());
        let segments = (1..).zip(times);
        let wait = segments.map(|(n, &ms)| {
            let now = Instant::ZERO + MS * ms;
            delay.hear(now, n, clock);
            (delay.until(now, clock).as_nanos() - now.as_nanos()) / 1_000_000
        });
        wait.collect()
    }

    #[test]
    fn it_waits_for_the_tick_after_the_least_time() {
        // Ten ticks after the one before, and one more.
        assert_eq!(waits(MS * 40, &[4, 5, 6, 7, 8]), [44, 43, 42, 41, 44]);
    }

    #[test]
    fn segments_that_are_far_apart_make_it_wait_longer_within_a_round_trip() {
        // Eight ticks apart: 10, 5 + 8, 6 + 8, 7 + 8, and near ones shorten it again: 7 + 5, 6 + 5, 5 + 5. A round trip of 46 ms
        // has no more than 12.
        let times = [0, 32, 64, 96, 97, 98, 99];
        assert_eq!(waits(MS * 200, &times), [44, 56, 60, 64, 51, 46, 41]);
        assert_eq!(waits(MS * 46, &times), [44, 52, 52, 52, 51, 46, 41]);
    }

    #[test]
    fn one_that_waits_in_vain_makes_the_next_wait_twice_as_long() {
        let (clock, mut delay) = (clock(MS * 100), AckDelay::default());
        delay.hear(Instant::ZERO, 1, clock);
        delay.missed(clock);
        assert_eq!(delay.until(Instant::ZERO, clock), Instant::ZERO + MS * 84 + Duration::from_nanos(1));
        // 200 ms less a tick and one more at most, and no more than a round trip.
        (0..9).for_each(|_| delay.missed(clock));
        assert_eq!(delay.until(Instant::ZERO, clock), Instant::ZERO + MS * 104 + Duration::from_nanos(1));
        let far = self::clock(MS * 400);
        assert_eq!(delay.until(Instant::ZERO, far), Instant::ZERO + MS * 200 + Duration::from_nanos(1));
        delay.reset(clock);
        assert_eq!(delay.until(Instant::ZERO, clock), Instant::ZERO + MS * 44 + Duration::from_nanos(1));
    }

    #[test]
    fn after_a_time_out_acknowledgements_are_quick() {
        // A round trip of 40 ms and 200 more: 60 ticks. What is out of order tells nothing.
        let (clock, mut delay) = (clock(MS * 40), AckDelay::default());
        let at = |ticks: u64| Instant::ZERO + MS * 4 * ticks;
        assert!(!delay.hear(at(0), 1, clock));
        assert!(!delay.hear(at(60), 2, clock));
        assert!(!delay.hear(at(121), 2, clock));
        assert!(delay.hear(at(121), 3, clock));
    }
}
