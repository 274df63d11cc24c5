// SPDX-License-Identifier: MIT OR Apache-2.0
//! TFRC (RFC 5348): a rate that follows TCP's throughput equation, in place of a window.
//!
//! ```text
//!   receiver: losses ──► LossHistory ──► p, X_recv ──► sender: RateControl ──► X [B/s]
//!                                                              └─ throughput(s, R, p)
//! ```
//!
//! Rates are bytes of payload a second, times seconds since any fixed instant, loss intervals packets. The elements
//! that measure and send are in [`crate::tfrc`].

pub mod equations;
mod history;
mod rate;

pub use equations::{loss_event_rate, throughput};
pub use history::LossHistory;
pub use rate::{RateControl, RateParams, TfrcFeedback};
