// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proportional fairness's equations. Rates in any one unit.

/// Whether a station of (μ_i, r_i) is of more use than another: with the larger ratio, compared without dividing so that
/// averages of zero compare, too.
#[inline]
pub fn is_more_useful((rate, average): (f64, f64), (other_rate, other_average): (f64, f64)) -> bool {
    //= clamp#19  U_i = μ_i/r_i
    rate * other_average > other_rate * average
}

/// What a slot leaves of every station's average: memory·r.
#[inline]
pub fn unserved(average: f64, memory: f64) -> f64 {
    average * memory
}

/// What a slot adds to the average of who was served in it: (1 − memory)·μ.
#[inline]
pub fn served(rate: f64, memory: f64) -> f64 {
    (1.0 - memory) * rate
}
