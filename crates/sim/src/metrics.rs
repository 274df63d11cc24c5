// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fairness and smoothness.

/// Jain's index `(Σx)² / (n Σx²)`: 1 if all are equal, 1/n if one has all. None without a positive value.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Coefficient of variation: standard deviation over mean (of the whole population). None without a positive mean.
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    (mean > 0.0).then(|| libm::sqrt(variance) / mean)
}

/// The mean over intervals of Jain's index within the interval; `samples[flow][interval]`. Intervals in which nobody
/// got anything are left out.
pub fn short_term_fairness(samples: &[&[f64]]) -> Option<f64> {
    let intervals = samples.iter().map(|s| s.len()).min()?;
    let indices: Vec<f64> =
        (0..intervals).filter_map(|i| jain(&samples.iter().map(|s| s[i]).collect::<Vec<_>>())).collect();
    (!indices.is_empty()).then(|| indices.iter().sum::<f64>() / indices.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_at_its_ends() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 3)² / (2 · (1 + 9)) = 0.8.
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain(&[0.0]), None);
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn variation_is_deviation_over_mean() {
        // Mean 2, deviation 1.
        assert_eq!(coefficient_of_variation(&[1.0, 3.0]), Some(0.5));
        assert_eq!(coefficient_of_variation(&[2.0, 2.0]), Some(0.0));
        assert_eq!(coefficient_of_variation(&[]), None);
    }

    #[test]
    fn flows_that_take_turns_are_fair_in_the_long_run_only() {
        let (a, b) = ([1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(short_term_fairness(&[&a, &b]), Some(0.5));
        assert_eq!(jain(&[a.iter().sum(), b.iter().sum()]), Some(1.0));
    }
}
