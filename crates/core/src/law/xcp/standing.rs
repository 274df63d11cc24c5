// SPDX-License-Identifier: MIT OR Apache-2.0
//! The queue that stands, by a clock of its own (ns-2's `Tq_`): the least in half the time that a round trip takes without the
//! queue, where over a whole control interval, which counts the queue, a queue that overflows would still be found empty.

use crate::estimator::Least;

/// The first span \[s\] (ns-2's `INITIAL_Te_VALUE`).
const FIRST_S: f64 = 0.05;
/// The shortest \[s\].
const LEAST_S: f64 = 0.002;

/// The least queue of the span before.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    bytes: f64,
    least: Least<f64>,
    began_s: f64,
    length_s: f64,
}

impl Default for Standing {
    fn default() -> Self {
        Self { bytes: 0.0, least: Least::new(0.0), began_s: 0.0, length_s: FIRST_S }
    }
}

impl Standing {
    /// The queue that stands \[B\].
    pub(super) fn bytes(&self) -> f64 {
        self.bytes
    }

    /// The queue is seen to hold `bytes`.
    pub(super) fn see(&mut self, bytes: f64) {
        self.least.see(bytes);
    }

    /// Time has come to `t_s`, and the queue has held `bytes` since it was last seen; the mean round trip takes `rtt_s`, and
    /// `drain_s` of that is the queue's.
    pub(super) fn turn(&mut self, t_s: f64, bytes: f64, rtt_s: f64, drain_s: f64) {
        if t_s - self.began_s < self.length_s {
            return;
        }
        self.bytes = self.least.value();
        self.least = Least::new(bytes);
        self.began_s += self.length_s;
        self.length_s = ((rtt_s - drain_s) / 2.0).max(LEAST_S);
        // Spans in which nothing changes are all alike.
        let silent = ((t_s - self.began_s) / self.length_s).floor();
        if silent > 0.0 {
            self.bytes = bytes;
            self.began_s += silent * self.length_s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_least_of_the_span_before() {
        let mut standing = Standing::default();
        standing.turn(0.0625, 3000.0, 0.375, 0.125);
        assert_eq!((standing.bytes(), standing.length_s), (0.0, 0.125));
        // From 0.05 s on, for half of 375 ms less the 125 ms that the queue takes.
        for (t_s, bytes) in [(0.07, 9000.0), (0.08, 5000.0), (0.15, 8000.0)] {
            standing.turn(t_s, bytes, 0.375, 0.125);
            standing.see(bytes);
            assert_eq!(standing.bytes(), 0.0);
        }
        standing.turn(0.18, 8000.0, 0.375, 0.125);
        assert_eq!(standing.bytes(), 3000.0);
        // After a silence it is what has stood there all the time.
        standing.turn(9.0, 8000.0, 0.375, 0.125);
        assert_eq!(standing.bytes(), 8000.0);
        assert!(9.0 - standing.began_s < 0.125);
    }
}
