// SPDX-License-Identifier: MIT OR Apache-2.0
//! HyStart: slow start ends before the queue is full (Ha, Rhee 2011; tcp_cubic.c).

use crate::estimator::RoundTrips;
use crate::units::{Duration, Instant};

/// Segments below which slow start goes on (hystart_low_window).
const LOW_WINDOW: u32 = 16;
/// Acknowledgements so close to each other are of one train (hystart_ack_delta_us).
const TRAIN_SPACING: Duration = Duration::from_millis(2);
/// By how much the acknowledgement of an aggregate may be late (hystart_ack_delay, below 2 Gbit/s).
const ACK_DELAY: Duration = Duration::from_millis(1);
/// Samples whose least is a round trip's delay (HYSTART_MIN_SAMPLES).
const SAMPLES: u32 = 8;
/// By how much the delay must rise: an eighth of the least, within these (HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const RISE: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));

/// What HyStart knows of a round trip.
#[derive(Clone, Debug)]
pub(super) struct Hystart {
    round: RoundTrips,
    /// The last acknowledgement of the train that began with it.
    train: Instant,
    least: Duration,
    samples: u32,
}

impl Hystart {
    pub(super) fn new() -> Self {
        Self::in_round(RoundTrips::since(Instant::ZERO))
    }

    fn in_round(round: RoundTrips) -> Self {
        Self { round, train: round.began(), least: Duration::MAX, samples: 0 }
    }

    /// An acknowledgement in slow start, of a segment sent at `sent`, with the least delay of all so far: true if slow
    /// start is to end.
    pub(super) fn on_ack(&mut self, now: Instant, sent: Instant, delay: Duration, cwnd: u32, floor: Duration) -> bool {
        if self.round.is_over(sent, now) {
            *self = Self::in_round(self.round);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        let mut found = false;
        if now.saturating_since(self.train) <= TRAIN_SPACING {
            self.train = now;
            found = now.saturating_since(self.round.began()) > (floor + ACK_DELAY) / 2;
        }
        self.least = self.least.min(delay);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            found |= self.least > floor + (floor / 8).clamp(RISE.0, RISE.1);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(ms / 1e3)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Acknowledgements every `spacing` ms from 100 ms on, delayed by `delay`: how many until slow start ends.
    fn acks_until_found(spacing: f64, delay: Duration, cwnd: u32) -> Option<u32> {
        let mut hystart = Hystart::new();
        (0..200).find(|n| {
            let now = at(100.0 + spacing * f64::from(*n));
            // All of one round trip: sent before it began.
            let sent = at(50.0);
            hystart.on_ack(now, sent, delay, cwnd, ms(40))
        })
    }

    #[test]
    fn a_train_longer_than_half_the_least_delay_ends_it() {
        // (40 + 1)/2 = 20.5 ms: at 1 ms apart the 21st after the first, at 2 ms the 11th; at 3 ms it is no train.
        assert_eq!(acks_until_found(1.0, ms(40), 16), Some(21));
        assert_eq!(acks_until_found(2.0, ms(40), 16), Some(11));
        assert_eq!(acks_until_found(3.0, ms(40), 16), None);
        assert_eq!(acks_until_found(1.0, ms(40), 15), None);
    }

    #[test]
    fn a_delay_an_eighth_above_the_least_ends_it() {
        // 40/8 = 5 ms: after eight samples, if all are above 45 ms.
        assert_eq!(acks_until_found(3.0, ms(45), 16), None);
        assert_eq!(acks_until_found(3.0, ms(46), 16), Some(8));
    }

    #[test]
    fn each_round_trip_counts_anew() {
        // 30 ms of one train would be enough, but a segment sent in the middle of it begins another.
        let mut hystart = Hystart::new();
        let found = (0..30).any(|n| {
            let now = at(100.0 + f64::from(n));
            let sent = if n == 15 { at(101.0) } else { at(50.0) };
            hystart.on_ack(now, sent, ms(40), 16, ms(40))
        });
        assert!(!found);
    }
}
