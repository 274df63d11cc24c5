// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that take less than their share, by their application's doing or another queue's: what they leave is for the others.

use std::collections::BTreeMap;

use super::equations;
use crate::estimator::Present;

/// The time over which what a flow takes is averaged \[s\].
const OVER_S: f64 = 1.0;
/// A flow that has come only lately is still on its way to its share \[s\].
const AT_LEAST_S: f64 = 2.0;
/// For how long a flow that sends nothing is known: one that sends now and then is away in between, and is no new one each time \[s\].
const KNOWN_S: f64 = 10.0;
/// How often it is looked who takes less \[s\].
const EVERY_S: f64 = 0.1;

/// What flows take of the line, and which of them take less than a part of their share.
#[derive(Clone, Debug)]
pub(super) struct Limited {
    /// The part of its share below which a flow counts for what it takes.
    part: f64,
    taking: BTreeMap<u64, Taking>,
    next_s: f64,
    /// Those who take less, and what all of them take \[B/s\].
    limited: Vec<u64>,
    taken: f64,
    /// μ̂/Φ \[B/s\] over a second, and until when.
    even: f64,
    even_s: f64,
}

#[derive(Clone, Copy, Debug)]
struct Taking {
    since_s: f64,
    last_s: f64,
    rate: f64,
}

impl Limited {
    pub(super) fn new(part: f64) -> Self {
        Self {
            part,
            taking: BTreeMap::new(),
            next_s: 0.0,
            limited: vec![],
            taken: 0.0,
            even: 0.0,
            even_s: f64::NEG_INFINITY,
        }
    }

    /// A packet of `flow` leaves at `t_s`, on a line of `line_rate`, of which `flows` have parts.
    pub(super) fn departed(&mut self, t_s: f64, (flow, size_bytes): (u64, f64), line_rate: f64, flows: &Present) {
        let taking = self.taking.entry(flow).or_insert(Taking { since_s: t_s, last_s: t_s, rate: 0.0 });
        taking.rate = taking.rate * libm::exp((taking.last_s - t_s) / OVER_S) + size_bytes / OVER_S;
        taking.last_s = t_s;
        self.even =
            equations::follow(self.even, equations::share(line_rate, flows.weights()), t_s - self.even_s, 1.0, OVER_S);
        self.even_s = t_s;
        if t_s >= self.next_s {
            self.next_s = t_s + EVERY_S;
            self.taking.retain(|_, taking| t_s - taking.last_s <= KNOWN_S);
            self.look(t_s, flows);
        }
    }

    /// What a flow of weight 1 may have of a line of `line_rate`. Who is away will be back for what it takes, and has no part of the weights.
    pub(super) fn share(&self, line_rate: f64, flows: &Present) -> f64 {
        let there = self.limited.iter().filter(|&&flow| flows.is_there(flow));
        let theirs: f64 = there.map(|&flow| flows.weight(flow)).sum();
        equations::share_of_rest(line_rate, flows.weights(), self.taken, theirs)
    }

    /// Whose rate has been less than their part of an even share, both over a second: a line that becomes faster finds nobody limited.
    fn look(&mut self, t_s: f64, flows: &Present) {
        let found = self.taking.iter().filter_map(|(&flow, taking)| {
            let rate = taking.rate * libm::exp((taking.last_s - t_s) / OVER_S);
            let is_limited = t_s - taking.since_s >= AT_LEAST_S && rate < self.part * flows.weight(flow) * self.even;
            is_limited.then_some((flow, rate))
        });
        let (limited, rates): (Vec<_>, Vec<f64>) = found.unzip();
        (self.limited, self.taken) = (limited, rates.iter().sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1000 B: flow 1 each 10 ms, flow 2 each 100 ms.
    fn after(seconds: u32) -> (Limited, f64) {
        with_each(seconds, 100)
    }

    /// The same, flow 2 each so many milliseconds.
    fn with_each(seconds: u32, each_ms: u32) -> (Limited, f64) {
        let (mut limited, mut flows) = (Limited::new(0.5), Present::new(0.3));
        for ms in (10..=seconds * 1000).step_by(10) {
            let t_s = f64::from(ms) * 1e-3;
            for flow in [1, 2].into_iter().filter(|&flow| flow == 1 || ms % each_ms == 0) {
                flows.see(t_s, flow);
                limited.departed(t_s, (flow, 1000.0), 110e3, &flows);
            }
        }
        let share = limited.share(110e3, &flows);
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
    fn who_sends_now_and_then_is_known() {
        // It is away for half of the time, and takes 1.7 kB/s.
        let (_, share) = with_each(30, 600);
        assert!((share / 108.3e3 - 1.0).abs() < 0.02, "{share}");
    }

    #[test]
    fn who_has_gone_is_forgotten() {
        let (mut limited, _) = after(10);
        let mut flows = Present::new(0.3);
        flows.see(21.0, 1);
        limited.departed(21.0, (1, 1000.0), 110e3, &flows);
        assert_eq!(limited.share(110e3, &flows), 110e3);
    }
}
