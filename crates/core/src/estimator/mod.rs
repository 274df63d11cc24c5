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
//! ```
//! use lasthop_core::estimator::{BusyWindowRate, QueueAverage};
//! use lasthop_core::law::clamp::{PriceForm, ClampRouter, PriceParams};
//! use lasthop_core::units::Bytes;
//!
//! // CLAMP's router with a rate that a kernel can afford: busy windows of 50 ms, each new one an eighth of the average.
//! let service = BusyWindowRate::new(0.05, 0.125);
//! let price = PriceForm::Linear.of(PriceParams::new(Bytes::new(6500)));
//! let mut router = ClampRouter::with(price, QueueAverage::at_arrivals(2.0), service)?;
//! // 1500 B each 12 ms are 125 kB/s; the queue is never empty.
//! (0..100).for_each(|n| router.departed(0.012 * f64::from(n), 1500.0, 9000.0));
//! assert!((router.service_rate().unwrap() / 125e3 - 1.0).abs() < 1e-9);
//! # Ok::<(), lasthop_core::error::ParameterError>(())
//! ```
//!
//! | value | as the papers have it | with less memory and arithmetic |
//! |---|---|---|
//! | [`RateEstimator`] | [`SlidingRate`]: the last n packets | [`BinnedRate`]: bins of packets; [`BusyWindowRate`]: busy windows, then an average; [`BusyRate`]: exponentially, over a horizon of its own choice |
//! | [`QueueEstimator`] | [`QueueAverage`]: at arrivals, over time, or none | any that keeps to the trait |

mod average;
mod busy;
mod interval;
mod least;
mod present;
mod rate;
mod round;

pub use average::{QueueAverage, QueueEstimator, Smoothed, over_arrivals, over_time};
pub use busy::{BusyRate, horizon_bytes, horizon_changes, horizon_error, horizon_loss, horizon_time, kept, outruns};
pub use interval::ControlInterval;
pub use least::{Least, RecentLeast};
pub use present::Present;
pub use rate::{BinnedRate, BusyWindowRate, RateEstimator, SlidingRate, WindowRate, rate};
pub use round::{RoundBytes, RoundTrips};
