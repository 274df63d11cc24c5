// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line as those see it whom its packets reach.

use super::equations;
use crate::estimator::{BusyRate, RateEstimator};
use crate::packet::StationStamp;

/// Packets of which a rate can be told: one that comes just before it may leave says nothing.
const LEAST_PACKETS: u32 = 10;

/// The rate of a line over its busy time, from stamps alone. What others have sent over it counts, and what was lost behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct StationLine {
    rate: BusyRate,
    /// The last packet's arrival \[s\] and stamp.
    last: Option<(f64, StationStamp)>,
    /// Packets so far, as far as it matters.
    packets: u32,
}

impl StationLine {
    /// A packet of `size_bytes` has come at `t_s`. One that was overtaken behind the queue tells nothing new.
    pub(super) fn see(&mut self, t_s: f64, size_bytes: f64, stamp: StationStamp) {
        let waited_s = f64::from(stamp.waited_s);
        let bytes = match self.last {
            None => {
                self.rate.begin(t_s - waited_s);
                size_bytes
            }
            Some((last_s, before)) => {
                let bytes = stamp.sent_bytes.wrapping_sub(before.sent_bytes);
                if bytes.cast_signed() <= 0 {
                    return;
                }
                let gap_s = t_s - last_s;
                let busy_s = equations::busy(gap_s, f64::from(before.behind_bytes), waited_s);
                if busy_s < gap_s {
                    self.rate.rest(last_s);
                    self.rate.begin(t_s - busy_s);
                }
                f64::from(bytes)
            }
        };
        self.rate.push(t_s, bytes);
        self.last = Some((t_s, stamp));
        self.packets = (self.packets + 1).min(LEAST_PACKETS);
    }

    /// μ̂ \[B/s\]; none before it is known.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.rate().filter(|&rate| rate > 0.0 && self.packets == LEAST_PACKETS)
    }

    /// What a flow of `delay_s` goes by \[B/s\].
    pub(super) fn rate_for(&self, delay_s: f64) -> f64 {
        self.rate.rate_over(equations::horizon(delay_s, self.rate.horizon_s()))
    }

    /// The queue that the last packet left \[B\].
    pub(super) fn queue_bytes(&self) -> f64 {
        self.last.map_or(0.0, |(_, stamp)| f64::from(stamp.behind_bytes))
    }
}
