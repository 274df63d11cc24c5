// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP: a price at the router's queue and a window at the receiver, or at the sender, to which acknowledgements tell the price.
//!
//! Units are the papers': seconds, bytes, byte/s, `f64`. Nothing here knows a clock: each call brings its time,
//! and the times of one object never decrease. `clamp` is the TMC 2008 paper, `clamp-report` the 2004 report and
//! `clamp-mice` the paper on mice and elephants.
//!
//! At equilibrium k flows of one queue have q* = (kτ + a)/b (clamp eq. 11) and share its rate as φ_i/Σφ.

pub mod equations;
mod integral;
mod receiver;
mod router;
mod sender;

#[cfg(test)]
mod tests;

pub use integral::{IntegralParams, IntegralRouter};
pub use receiver::{ClampArrival, ClampParams, ClampReceiver, ReceiverSlowStart};
pub use router::{AtArrivals, Average, ClampRouter, OverTime, PriceForm, PriceLaw, PriceParams};
pub use sender::ClampSender;
