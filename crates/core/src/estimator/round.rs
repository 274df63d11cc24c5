// SPDX-License-Identifier: MIT OR Apache-2.0
//! What passes in a round trip.

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
