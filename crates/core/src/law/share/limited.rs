// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that take less than their share, by their application's doing or another queue's: what they leave is for the others.

use std::collections::BTreeMap;

use super::equations;
use crate::estimator::Present;

/// The time over which what a flow takes is averaged \[s\].
const OVER_S: f64 = 1.0;
/// A flow that has come only lately is still on its way to its share \[s\].
const AT_LEAST_S: f64 = 2.0;
/// How often it is looked who takes less \[s\].
const EVERY_S: f64 = 0.1;

/// What flows take of the line, and which of them take less than a part of their share.
#[derive(Clone, Debug)]
pub(super) struct Limited {
    /// The part of its share below which a flow counts for what it takes.
    part: f64,
    taking: BTreeMap<u64, Taking>,
    next_s: f64,
    /// What those take who take less \[B/s\], and their weights.
    taken: (f64, f64),
}

#[derive(Clone, Copy, Debug)]
struct Taking {
    since_s: f64,
    last_s: f64,
    rate: f64,
}

impl Limited {
    pub(super) fn new(part: f64) -> Self {
        Self { part, taking: BTreeMap::new(), next_s: 0.0, taken: (0.0, 0.0) }
    }

    /// A packet of `flow` leaves at `t_s`, on a line of `line_rate`, of which `flows` have parts.
    pub(super) fn departed(&mut self, t_s: f64, (flow, size_bytes): (u64, f64), line_rate: f64, flows: &Present) {
        let taking = self.taking.entry(flow).or_insert(Taking { since_s: t_s, last_s: t_s, rate: 0.0 });
        taking.rate = taking.rate * libm::exp((taking.last_s - t_s) / OVER_S) + size_bytes / OVER_S;
        taking.last_s = t_s;
        if t_s >= self.next_s {
            self.next_s = t_s + EVERY_S;
            self.taking.retain(|&flow, _| flows.is_there(flow));
            self.taken = self.look(t_s, line_rate, flows);
        }
    }

    /// What a flow of weight 1 may have of a line of `line_rate`.
    pub(super) fn share(&self, line_rate: f64, weights: f64) -> f64 {
        let (taken, theirs) = self.taken;
        equations::share_of_rest(line_rate, weights, taken, theirs)
    }

    /// Water is filled in: with those apart who take less, the share of the others is larger, and more may take less than that.
    fn look(&self, t_s: f64, line_rate: f64, flows: &Present) -> (f64, f64) {
        let mut taken = (0.0, 0.0);
        loop {
            let share = equations::share_of_rest(line_rate, flows.weights(), taken.0, taken.1);
            let mut found = (0.0, 0.0);
            for (&flow, taking) in &self.taking {
                let weight = flows.weight(flow);
                let rate = taking.rate * libm::exp((taking.last_s - t_s) / OVER_S);
                if t_s - taking.since_s >= AT_LEAST_S && rate < self.part * weight * share {
                    found = (found.0 + rate, found.1 + weight);
                }
            }
            if found.1 <= taken.1 {
                return taken;
            }
            taken = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1000 B: flow 1 each 10 ms, flow 2 each 100 ms.
    fn after(seconds: u32) -> (Limited, f64) {
        let (mut limited, mut flows) = (Limited::new(0.5), Present::new(0.3));
        for ms in (10..=seconds * 1000).step_by(10) {
            let t_s = f64::from(ms) * 1e-3;
            for flow in [1, 2].into_iter().filter(|&flow| flow == 1 || ms % 100 == 0) {
                flows.see(t_s, flow);
                limited.departed(t_s, (flow, 1000.0), 110e3, &flows);
            }
        }
        let share = limited.share(110e3, flows.weights());
        (limited, share)
    }

    //= beyond#18
    #[test]
    fn what_one_leaves_is_the_others() {
        assert_eq!(equations::share_of_rest(110e3, 2.0, 10e3, 1.0), 100e3);
        assert_eq!(equations::share_of_rest(110e3, 2.0, 20e3, 2.0), 55e3, "nobody is left to have the rest");
        // Of 55 kB/s flow 2 takes 10: flow 1 may have 100.
        let (_, share) = after(10);
        assert!((share / 100e3 - 1.0).abs() < 0.01, "{share}");
    }

    #[test]
    fn who_has_come_lately_has_a_share() {
        let (_, share) = after(2);
        assert_eq!(share, 55e3);
    }

    #[test]
    fn who_has_gone_is_forgotten() {
        let (mut limited, _) = after(10);
        let mut flows = Present::new(0.3);
        flows.see(20.0, 1);
        limited.departed(20.0, (1, 1000.0), 110e3, &flows);
        assert_eq!(limited.share(110e3, flows.weights()), 110e3);
    }
}
