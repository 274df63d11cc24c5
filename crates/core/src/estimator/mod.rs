// SPDX-License-Identifier: MIT OR Apache-2.0
//! Estimators: the measured values that laws are composed of.
//!
//! ```text
//!   packets ─► a rate   ──┐
//!   a queue ─► an average ├─► a law's equations
//!   samples ─► a least   ─┘
//! ```
//!
//! A law asks for what it needs by a trait, so that it runs with the estimator of its paper or with one that a kernel can
//! afford. Times are seconds since any fixed instant and never decrease.
//!
//! | value | as the papers have it | with less memory and arithmetic |
//! |---|---|---|
//! | [`RateEstimator`] | [`SlidingRate`]: the last n packets | [`BinnedRate`]: bins of packets; [`BusyWindowRate`]: busy windows, then an average |
//! | [`QueueEstimator`] | [`QueueAverage`]: at arrivals, over time, or none | any that keeps to the trait |

mod average;
mod interval;
mod least;
mod rate;
mod round;

pub use average::{QueueAverage, QueueEstimator, Smoothed, over_arrivals, over_time};
pub use interval::ControlInterval;
pub use least::Least;
pub use rate::{BinnedRate, BusyWindowRate, RateEstimator, SlidingRate, rate};
pub use round::{RoundBytes, RoundTrips};
