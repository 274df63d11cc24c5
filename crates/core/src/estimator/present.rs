// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which flows are there.

use std::collections::{BTreeMap, VecDeque};

/// The sum of the weights of the flows that were seen lately.
#[derive(Clone, Debug)]
pub struct Present {
    memory_s: f64,
    /// Flows with another weight than 1.
    weights: BTreeMap<u64, f64>,
    /// The flows that are there: when each was last seen \[s\].
    seen: BTreeMap<u64, f64>,
    /// Sightings in their order \[s, flow\]; of each flow the last one counts.
    sightings: VecDeque<(f64, u64)>,
    sum: f64,
}

impl Present {
    /// Flows are there for `memory_s` after they were seen.
    pub fn new(memory_s: f64) -> Self {
        Self { memory_s, weights: BTreeMap::new(), seen: BTreeMap::new(), sightings: VecDeque::new(), sum: 0.0 }
    }

    /// For how long a flow that is not seen is there \[s\].
    pub fn memory_s(&self) -> f64 {
        self.memory_s
    }

    /// A flow, which is not there yet, has a weight other than 1.
    pub fn weigh(&mut self, flow: u64, weight: f64) {
        self.weights.insert(flow, weight);
    }

    /// A flow is seen at `t_s`.
    pub fn see(&mut self, t_s: f64, flow: u64) {
        match self.seen.insert(flow, t_s) {
            // More than one sighting an instant tells nothing.
            Some(before_s) if before_s == t_s => return,
            Some(_) => {}
            None => self.sum += self.weight(flow),
        }
        self.sightings.push_back((t_s, flow));
    }

    /// Forgets whom nobody has seen lately: neither within the memory nor since `since_s`.
    pub fn forget(&mut self, t_s: f64, since_s: f64) {
        let from_s = (t_s - self.memory_s).min(since_s);
        while let Some(&(seen_s, flow)) = self.sightings.front()
            && seen_s < from_s
        {
            self.sightings.pop_front();
            if self.seen.get(&flow) == Some(&seen_s) {
                self.seen.remove(&flow);
                // Nobody's weight is left behind by rounding.
                self.sum = if self.seen.is_empty() { 0.0 } else { self.sum - self.weight(flow) };
            }
        }
    }

    /// The sum of their weights.
    pub fn weights(&self) -> f64 {
        self.sum
    }

    /// Whether a flow is there.
    pub fn is_there(&self, flow: u64) -> bool {
        self.seen.contains_key(&flow)
    }

    /// The weight of a flow.
    pub fn weight(&self, flow: u64) -> f64 {
        self.weights.get(&flow).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_there_until_its_last_sighting_is_forgotten() {
        let mut present = Present::new(0.5);
        present.weigh(7, 2.5);
        present.see(1.0, 7);
        present.see(1.0, 3);
        present.see(1.25, 3);
        assert_eq!(present.weights(), 3.5);
        present.forget(1.5, 1.5);
        assert_eq!(present.weights(), 3.5, "half a second is just within the memory");
        present.forget(1.625, 1.625);
        assert_eq!(present.weights(), 1.0);
        assert!(present.is_there(3) && !present.is_there(7));
        present.forget(2.0, 2.0);
        assert_eq!(present.weights(), 0.0);
    }

    #[test]
    fn whoever_was_seen_since_then_is_not_forgotten() {
        // A packet that waited for two seconds leaves: those behind it are still there.
        let mut present = Present::new(0.5);
        [(1.0, 1), (1.1, 2), (1.2, 3)].iter().for_each(|&(t_s, flow)| present.see(t_s, flow));
        present.forget(3.1, 1.1);
        assert_eq!(present.weights(), 2.0);
    }
}
