// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that take less than their share, by their application's doing or another queue's: what they leave is for the others.

use std::collections::BTreeMap;

use super::equations;
use crate::estimator::Present;

/// The times over which what a flow takes is averaged \[s\]. It takes less if it does over each: one that has more to send again shows it
/// within the shortest, and one that is only slow to follow the line takes its share over the longest.
const OVER_S: [f64; 3] = [0.05, 1.0, 4.0];
/// So many packets within the shortest show nothing: one that sends now and then sends one or two.
const PACKETS: f64 = 3.0;
/// A flow that has come only lately is still on its way to its share \[s\].
const AT_LEAST_S: f64 = 2.0;
/// For how long a flow that sends nothing is known: one that sends now and then is away in between, and is no new one each time \[s\].
const KNOWN_S: f64 = 10.0;
/// Who takes less than this part of an even share over a second leaves the rest of it.
const LEAVES: f64 = 0.9;
/// How often it is looked who takes less \[s\].
const EVERY_S: f64 = 0.1;

/// What flows take of the line, and which of them take less than a part of their share.
#[derive(Clone, Debug)]
pub(super) struct Limited {
    /// The part of its share below which a flow counts for what it takes.
    part: f64,
    taking: BTreeMap<u64, Taking>,
    /// When it was looked last \[s\].
    looked_s: f64,
    /// Those that are there and count in full.
    in_full: Present,
    /// What all others take \[B/s\].
    taken: f64,
    /// What those take that leave a part of their shares at present \[B/s\].
    leavers_take: f64,
    /// And the sum of their weights.
    leavers_weigh: f64,
    /// μ̂/Φ \[B/s\] over these times.
    even: [f64; 3],
    even_s: f64,
}

/// What a flow takes.
#[derive(Clone, Copy, Debug)]
struct Taking {
    since_s: f64,
    last_s: f64,
    /// Over each of these times \[B/s\], at `last_s`.
    rates: [f64; 3],
    largest_bytes: f64,
    /// What it counts for where it takes less \[B/s\]: the less of the longer two.
    counts_for: Option<f64>,
}

/// What is left after so long of an average over each of [`OVER_S`]: one exponential, as 4 s are four times the second and 80 times the
/// shortest.
fn left(gap_s: f64) -> [f64; 3] {
    let fourth = |x: f64| (x * x) * (x * x);
    let four = libm::exp(-gap_s / OVER_S[2]);
    let one = fourth(four);
    [fourth(fourth(one)) * fourth(one), one, four]
}

impl Taking {
    fn new(t_s: f64) -> Self {
        Self { since_s: t_s, last_s: t_s, rates: [0.0; 3], largest_bytes: 0.0, counts_for: None }
    }

    fn rates(&self, t_s: f64) -> [f64; 3] {
        let left = left(t_s - self.last_s);
        std::array::from_fn(|i| self.rates[i] * left[i])
    }

    fn push(&mut self, t_s: f64, size_bytes: f64) {
        self.rates = self.rates(t_s);
        self.last_s = t_s;
        self.largest_bytes = self.largest_bytes.max(size_bytes);
        for (rate, over_s) in self.rates.iter_mut().zip(OVER_S) {
            *rate += size_bytes / over_s;
        }
    }

    /// Whether what it took over the shortest time, by its last packet, is less than this rate \[B/s\], or shows nothing.
    fn is_thin(&self, than: f64) -> bool {
        self.rates[0] < than.max(PACKETS * self.largest_bytes / OVER_S[0])
    }

    /// What it counts for if it takes less than these rates, each over its time, over the shortest one by its last packet: a line that
    /// becomes faster finds nobody limited.
    fn less_than(&self, t_s: f64, rates: [f64; 3]) -> Option<f64> {
        let taken = self.rates(t_s);
        let is_less =
            t_s - self.since_s >= AT_LEAST_S && self.is_thin(rates[0]) && taken[1] < rates[1] && taken[2] < rates[2];
        is_less.then_some(taken[1].min(taken[2]))
    }
}

impl Limited {
    pub(super) fn new(part: f64, memory_s: f64) -> Self {
        Self {
            part,
            taking: BTreeMap::new(),
            looked_s: f64::NEG_INFINITY,
            in_full: Present::new(memory_s),
            taken: 0.0,
            leavers_take: 0.0,
            leavers_weigh: 0.0,
            even: [0.0; 3],
            even_s: f64::NEG_INFINITY,
        }
    }

    /// A flow has a weight other than 1.
    pub(super) fn weigh(&mut self, flow: u64, weight: f64) {
        self.in_full.weigh(flow, weight);
    }

    /// Whether a flow counts for what it takes.
    fn is_limited(&self, flow: u64) -> bool {
        self.taking.get(&flow).is_some_and(|taking| taking.counts_for.is_some())
    }

    /// A packet of `flow` has joined the queue at `t_s`.
    pub(super) fn arrived(&mut self, t_s: f64, flow: u64) {
        if !self.is_limited(flow) {
            self.in_full.see(t_s, flow);
        }
    }

    /// A packet of `flow` that came at `arrived_s` leaves at `t_s`, on a line of which each flow of weight 1 has `even`.
    pub(super) fn departed(&mut self, t_s: f64, (flow, size_bytes): (u64, f64), arrived_s: f64, even: f64) {
        for (mean, left) in self.even.iter_mut().zip(left(t_s - self.even_s)) {
            *mean = even + left * (*mean - even);
        }
        self.even_s = t_s;
        let least = self.even.map(|mean| self.part * self.in_full.weight(flow) * mean);
        let taking = self.taking.entry(flow).or_insert_with(|| Taking::new(t_s));
        // Who went while it had its share is on its way to it again.
        if t_s - taking.last_s > self.in_full.memory_s() && taking.counts_for.is_none() && !taking.is_thin(least[0]) {
            taking.since_s = t_s;
        }
        taking.push(t_s, size_bytes);
        // Who has more to send again counts in full at once.
        if let Some(counted) = taking.counts_for
            && taking.less_than(t_s, least).is_none()
        {
            taking.counts_for = None;
            self.taken = (self.taken - counted).max(0.0);
        }
        if taking.counts_for.is_none() {
            self.in_full.see(t_s, flow);
        }
        self.in_full.forget(t_s, arrived_s);
        if t_s >= self.looked_s + EVERY_S {
            self.look(t_s);
            self.looked_s = t_s;
        }
    }

    /// What a flow may have for each of its weight, on a line of `line_rate` of which `weights` have parts: who takes less may have an even
    /// share, and others what is left of that, so many `times` as far as others leave that at present.
    pub(super) fn share(&self, flow: Option<u64>, line_rate: f64, weights: f64, times: f64) -> f64 {
        if flow.is_some_and(|flow| self.is_limited(flow)) {
            return equations::share(line_rate, weights);
        }
        let share = equations::share_of_rest(line_rate, weights, self.taken, weights - self.in_full.weights());
        let left = equations::share_of_rest(line_rate, weights, self.leavers_take, self.leavers_weigh.min(weights));
        equations::overbooked(share, left, times)
    }

    /// Who takes less than their part now.
    fn look(&mut self, t_s: f64) {
        self.taking.retain(|_, taking| t_s - taking.last_s <= KNOWN_S);
        self.taken = 0.0;
        (self.leavers_take, self.leavers_weigh) = (0.0, 0.0);
        for (&flow, taking) in &mut self.taking {
            let part = self.part * self.in_full.weight(flow);
            // Who has gone with its share leaves all of it, and comes back with it.
            if taking.counts_for.is_some() || taking.last_s > self.looked_s {
                taking.counts_for = taking.less_than(t_s, self.even.map(|mean| part * mean));
            }
            self.taken += taking.counts_for.unwrap_or(0.0);
            let (taken, weight) = (taking.rates(t_s)[1], self.in_full.weight(flow));
            if t_s - taking.last_s <= self.in_full.memory_s() && taken < LEAVES * weight * self.even[1] {
                self.leavers_take += taken;
                self.leavers_weigh += weight;
            }
        }
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
        let (mut limited, mut flows) = (Limited::new(0.5, 0.3), Present::new(0.3));
        for ms in (10..=seconds * 1000).step_by(10) {
            let t_s = f64::from(ms) * 1e-3;
            for flow in [1, 2].into_iter().filter(|&flow| flow == 1 || ms % each_ms == 0) {
                flows.see(t_s, flow);
                flows.forget(t_s, t_s);
                limited.departed(t_s, (flow, 1000.0), t_s, 110e3 / flows.weights());
            }
        }
        let share = limited.share(Some(1), 110e3, flows.weights(), 1.0);
        (limited, share)
    }

    #[test]
    fn what_is_left_of_an_average_goes_by_its_time() {
        for gap_s in [0.0, 0.01, 0.3, 2.0] {
            for (found, over_s) in left(gap_s).into_iter().zip(OVER_S) {
                assert!((found - libm::exp(-gap_s / over_s)).abs() < 1e-14, "{gap_s} {over_s}");
            }
        }
        assert_eq!(left(f64::INFINITY), [0.0; 3]);
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
    fn who_takes_less_may_have_an_even_share_and_counts_in_full_once_it_has_more() {
        let (mut limited, _) = after(10);
        assert_eq!(limited.share(Some(2), 110e3, 2.0, 1.0), 55e3);
        // A packet each 20 ms is nearly an even share: after a quarter of a second nobody has more.
        for packet in 0..12 {
            let t_s = 10.0 + 0.02 * f64::from(packet);
            limited.departed(t_s, (2, 1000.0), t_s, 55e3);
        }
        assert_eq!(limited.share(Some(1), 110e3, 2.0, 1.0), 55e3);
        assert_eq!(limited.taken, 0.0);
    }

    //= beyond#27
    #[test]
    fn what_others_leave_at_present_may_be_had_as_well() {
        // Flow 2 takes three quarters of its share: that is not little, but it leaves the rest.
        let (mut limited, mut flows) = (Limited::new(0.5, 0.3), Present::new(0.3));
        for ms in (10..=10_000).step_by(10) {
            let t_s = f64::from(ms) * 1e-3;
            for flow in [1, 2].into_iter().filter(|&flow| flow == 1 || ms % 40 != 0) {
                flows.see(t_s, flow);
                flows.forget(t_s, t_s);
                limited.departed(t_s, (flow, 1000.0), t_s, 100e3);
            }
        }
        assert_eq!(limited.share(Some(1), 200e3, 2.0, 1.0), 100e3);
        assert!((limited.share(Some(1), 200e3, 2.0, 1.1) - 110e3).abs() < 1e-9);
        let most = limited.share(Some(1), 200e3, 2.0, 4.0);
        assert!((most / 125e3 - 1.0).abs() < 0.02, "{most}");
        assert_eq!(equations::overbooked(100e3, 50e3, 4.0), 100e3, "never less");
    }

    #[test]
    fn who_has_gone_with_a_share_leaves_all_of_it() {
        let (mut limited, mut flows) = (Limited::new(0.5, 0.3), Present::new(0.3));
        for ms in (10..=20_000).step_by(10) {
            let t_s = f64::from(ms) * 1e-3;
            for flow in (1..=16).filter(|&flow| flow == 1 || ms <= 10_000) {
                flows.see(t_s, flow);
                flows.forget(t_s, t_s);
                limited.departed(t_s, (flow, 1000.0), t_s, 1.6e6 / flows.weights());
            }
            if flows.weights() == 1.0 {
                assert_eq!(limited.share(Some(1), 1.6e6, 1.0, 1.0), 1.6e6, "{t_s}");
            }
        }
    }

    #[test]
    fn who_has_gone_is_forgotten() {
        let (mut limited, _) = after(10);
        limited.departed(21.0, (1, 1000.0), 21.0, 110e3);
        assert_eq!(limited.share(Some(1), 110e3, 1.0, 1.0), 110e3);
        assert_eq!(limited.taking.len(), 1);
    }
}
