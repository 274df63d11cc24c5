// SPDX-License-Identifier: MIT OR Apache-2.0
//! How well flows fare: the metrics of the paper `gamma` (§II-A), in its own words and units.
//!
//! *Allotted* is what was measured in one short interval; everything else is of the whole measured span.

use std::ops::Range;

use lasthop_core::model::fairness::jain;

/// What a flow got in each interval of the measured span.
#[derive(Clone, Debug, PartialEq)]
pub struct Allotted {
    /// Goodput in each interval \[bit/s\].
    pub goodput_bps: Vec<f64>,
    /// The intervals throughout which the flow took part: it had started, and it had neither stopped nor finished.
    pub active: Range<usize>,
}

impl Allotted {
    /// The goodput in the intervals throughout which the flow took part.
    pub fn active(&self) -> &[f64] {
        let end = self.active.end.min(self.goodput_bps.len());
        &self.goodput_bps[self.active.start.min(end)..end]
    }

    /// The goodput in one interval; none if the flow did not take part in all of it.
    fn at(&self, interval: usize) -> Option<f64> {
        self.active.contains(&interval).then(|| self.goodput_bps.get(interval).copied()).flatten()
    }
}

/// Bytes that reached the application over the time that it took \[bit/s\].
pub fn goodput_bps(delivered_bytes: u64, seconds: f64) -> f64 {
    delivered_bytes as f64 * 8.0 / seconds
}

/// Share of the bytes sent, headers counted, that is not payload delivered for the first time. None if nothing was sent.
pub fn overhead(sent_bytes: f64, original_bytes: f64) -> Option<f64> {
    (sent_bytes > 0.0).then(|| (sent_bytes - original_bytes) / sent_bytes)
}

/// Coefficient of variation: standard deviation over mean (of the whole population). None without a positive mean, and of a
/// single value, which cannot vary.
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    (values.len() > 1 && mean > 0.0).then(|| libm::sqrt(variance) / mean)
}

/// Goodput of all flows together in each interval \[bit/s\], of those too that started or ended within it.
pub fn allotted_system_goodput(flows: &[Allotted]) -> Vec<f64> {
    let intervals = flows.iter().map(|flow| flow.goodput_bps.len()).max().unwrap_or(0);
    (0..intervals).map(|i| flows.iter().filter_map(|flow| flow.goodput_bps.get(i)).sum()).collect()
}

/// Jain's index in each interval, over the flows that took part in all of it.
pub fn allotted_fairness(flows: &[Allotted]) -> Vec<Option<f64>> {
    let intervals = flows.iter().map(|flow| flow.goodput_bps.len()).max().unwrap_or(0);
    (0..intervals).map(|i| jain(&flows.iter().filter_map(|flow| flow.at(i)).collect::<Vec<_>>())).collect()
}

/// The mean over the intervals of the allotted fairness. Intervals in which nobody got anything are left out.
pub fn short_term_fairness(flows: &[Allotted]) -> Option<f64> {
    mean(allotted_fairness(flows))
}

/// Share of a reader's attempts that succeed: of the intervals in which more than `share` of the wanted rate came.
/// None without an interval.
pub fn application_success(goodput_bps: &[f64], wanted_bps: f64, share: f64) -> Option<f64> {
    let successes = goodput_bps.iter().filter(|&&got| got > share * wanted_bps).count();
    (!goodput_bps.is_empty()).then(|| successes as f64 / goodput_bps.len() as f64)
}

/// The mean of the values that there are: of a metric over all flows to which it applies.
pub fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values.into_iter().flatten() {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throughout(goodput: &[f64]) -> Allotted {
        Allotted { goodput_bps: goodput.to_vec(), active: 0..goodput.len() }
    }

    #[test]
    fn goodput_is_bits_delivered_over_time() {
        // 125 kB in 2 s.
        assert_eq!(goodput_bps(125_000, 2.0), 500_000.0);
    }

    #[test]
    fn overhead_counts_headers_and_repetitions() {
        // Four packets of 1040 B carry 1000 B each, one of them for the second time: (4160 − 3000)/4160.
        assert_eq!(overhead(4160.0, 3000.0), Some(1160.0 / 4160.0));
        // Without a repetition the headers alone remain, 40/1040.
        assert_eq!(overhead(1040.0, 1000.0), Some(40.0 / 1040.0));
        assert_eq!(overhead(0.0, 0.0), None);
    }

    #[test]
    fn variation_is_deviation_over_mean() {
        // Mean 2, deviation 1.
        assert_eq!(coefficient_of_variation(&[1.0, 3.0]), Some(0.5));
        assert_eq!(coefficient_of_variation(&[2.0, 2.0]), Some(0.0));
        assert_eq!(coefficient_of_variation(&[]), None);
        // One value cannot vary, so it says nothing about how much they do.
        assert_eq!(coefficient_of_variation(&[2.0]), None);
    }

    #[test]
    fn flows_that_take_turns_are_fair_in_the_long_run_only() {
        let (a, b) = ([1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(short_term_fairness(&[throughout(&a), throughout(&b)]), Some(0.5));
        assert_eq!(jain(&[a.iter().sum(), b.iter().sum()]), Some(1.0));
    }

    #[test]
    fn the_system_gets_what_its_flows_get() {
        let flows = [throughout(&[1.0, 3.0]), throughout(&[2.0, 4.0])];
        assert_eq!(allotted_system_goodput(&flows), [3.0, 7.0]);
        // (1 + 2)² / (2 · 5) and (3 + 4)² / (2 · 25).
        assert_eq!(allotted_fairness(&flows), [Some(0.9), Some(0.98)]);
        assert_eq!(allotted_system_goodput(&[]), [0.0; 0]);
    }

    #[test]
    fn who_is_not_there_is_not_treated_unfairly() {
        let stays = throughout(&[2.0, 1.0, 1.0, 0.0]);
        // Joins within the second interval and leaves within the fourth: what it gets then counts for the system alone.
        let joins = Allotted { goodput_bps: vec![0.0, 0.5, 1.0, 0.5], active: 2..3 };
        assert_eq!(joins.active(), [1.0]);
        let flows = [stays, joins];
        assert_eq!(allotted_fairness(&flows), [Some(1.0), Some(1.0), Some(1.0), None]);
        assert_eq!(allotted_system_goodput(&flows), [2.0, 1.5, 2.0, 0.5]);
        assert_eq!(short_term_fairness(&flows), Some(1.0));
    }

    #[test]
    fn a_reader_succeeds_where_enough_came() {
        // 90 % of 1 Mbit/s must be exceeded.
        let got = [1.0e6, 0.9e6, 0.95e6, 0.1e6];
        assert_eq!(application_success(&got, 1e6, 0.9), Some(0.5));
        assert_eq!(application_success(&got, 1e6, 0.05), Some(1.0));
        assert_eq!(application_success(&[], 1e6, 0.9), None);
    }

    #[test]
    fn a_mean_is_of_those_to_whom_it_applies() {
        assert_eq!(mean([Some(1.0), None, Some(2.0)]), Some(1.5));
        assert_eq!(mean([None]), None);
    }
}
