// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips, and what passes in one.

use crate::units::Instant;

/// Round trips as a sender sees them: one ends, and the next begins, with an acknowledgement of what was sent at its
/// beginning or later.
///
/// ```
/// use lasthop_core::estimator::RoundTrips;
/// use lasthop_core::units::{Duration, Instant};
///
/// let at = |ms| Instant::ZERO + Duration::from_millis(ms);
/// let mut round = RoundTrips::since(at(100));
/// assert!(!round.is_over(at(90), at(190)));
/// assert!(round.is_over(at(110), at(210)));
/// assert_eq!(round.began(), at(210));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTrips(Instant);

impl RoundTrips {
    /// A round trip begins.
    pub fn since(began: Instant) -> Self {
        Self(began)
    }

    /// When the running one began.
    #[inline]
    pub fn began(&self) -> Instant {
        self.0
    }

    /// Whether the acknowledgement that comes `now`, of what was sent at `sent`, ends the round trip.
    #[inline]
    pub fn is_over(&mut self, sent: Instant, now: Instant) -> bool {
        let is_over = sent >= self.0;
        if is_over {
            self.0 = now;
        }
        is_over
    }
}

/// Bytes that come in one round-trip time, counted round by round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundBytes {
    began_s: f64,
    bytes: f64,
    before_bytes: f64,
}

impl RoundBytes {
    /// Counts a packet of `size_bytes` at `t_s`; a round lasts `rtt_s`.
    #[inline]
    pub fn push(&mut self, t_s: f64, size_bytes: f64, rtt_s: f64) {
        if t_s - self.began_s >= rtt_s {
            *self = Self { began_s: t_s, bytes: 0.0, before_bytes: self.bytes };
        }
        self.bytes += size_bytes;
    }

    /// The bytes of the running round so far.
    #[inline]
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// The bytes of the round before.
    #[inline]
    pub fn before_bytes(&self) -> f64 {
        self.before_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_the_first_packet_after_it() {
        let mut round = RoundBytes::default();
        [0.0, 0.5, 0.9, 1.0, 1.9].iter().for_each(|&t_s| round.push(t_s, 10.0, 1.0));
        assert_eq!((round.before_bytes(), round.bytes()), (30.0, 20.0));
    }
}
