// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interval in which a router takes its decisions.

/// Bounds of the control interval \[s\] (ns-2's `XCP_MIN_INTERVAL` and `XCP_MAX_INTERVAL`).
const LEAST_S: f64 = 1e-3;
const LONGEST_S: f64 = 1.0;
/// The control interval before any packet has told a round-trip time \[s\] (ns-2's `INITIAL_Te_VALUE`).
const FIRST_S: f64 = 0.05;

/// A control interval: as long as the mean round-trip time that packets told in the one before, within bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlInterval {
    length_s: f64,
    /// Σ of the weighted round-trip times \[s\], and of their weights.
    rtts: f64,
    weights: f64,
}

impl Default for ControlInterval {
    fn default() -> Self {
        Self { length_s: FIRST_S, rtts: 0.0, weights: 0.0 }
    }
}

impl ControlInterval {
    /// The longest that it may be \[s\].
    pub const LONGEST_S: f64 = LONGEST_S;

    /// A packet tells a round-trip time, which counts with its weight.
    #[inline]
    pub fn see(&mut self, rtt_s: f64, weight: f64) {
        self.rtts += rtt_s * weight;
        self.weights += weight;
    }

    /// Its length \[s\].
    #[inline]
    pub fn length_s(&self) -> f64 {
        self.length_s
    }

    /// The weights of the round-trip times that were told in it.
    #[inline]
    pub fn weights(&self) -> f64 {
        self.weights
    }

    /// It is over, and the next one begins. Gives the length of the one that is over \[s\].
    pub fn turn(&mut self) -> f64 {
        let elapsed_s = self.length_s;
        if self.weights > 0.0 {
            self.length_s = (self.rtts / self.weights).clamp(LEAST_S, LONGEST_S);
        }
        (self.rtts, self.weights) = (0.0, 0.0);
        elapsed_s
    }

    /// Nothing was told in the one that is over: the next is as long as the first was (ns-2).
    pub fn forget(&mut self) {
        self.length_s = FIRST_S;
    }

    /// For how many whole intervals nothing has been heard at `t_s`, if the running one began at `began_s`.
    #[inline]
    pub fn silent(&self, began_s: f64, t_s: f64) -> f64 {
        ((t_s - began_s) / self.length_s).floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_weighted_mean_round_trip_time() {
        let mut interval = ControlInterval::default();
        interval.see(0.1, 3.0);
        interval.see(0.3, 1.0);
        assert_eq!((interval.weights(), interval.turn()), (4.0, 0.05));
        // (0.3 + 0.3)/4.
        assert!((interval.length_s() - 0.15).abs() < 1e-12);
        // Nothing told: as before.
        interval.turn();
        assert!((interval.length_s() - 0.15).abs() < 1e-12);
        assert_eq!(interval.silent(1.0, 1.5), 3.0);
        interval.forget();
        assert_eq!(interval.length_s(), 0.05);
    }

    #[test]
    fn it_has_bounds() {
        for (told_s, wanted_s) in [(1e-6, 1e-3), (7.0, 1.0)] {
            let mut interval = ControlInterval::default();
            interval.see(told_s, 1.0);
            interval.turn();
            assert_eq!(interval.length_s(), wanted_s);
        }
    }
}
