// SPDX-License-Identifier: MIT OR Apache-2.0
//! TFRC (RFC 5348): packets leave at a rate, nothing is sent again.
//!
//! ```text
//!   application ── open, write, close ──► TfrcSender ── data (number, R) ──► … network … ──► Receiver
//!                                           ▲                                               │
//!                                           └────── feedback (p, X_recv, echo, t_delay) ◄───┘
//!   TfrcSender   = pacing + no-feedback timer + law::tfrc::RateControl
//!   TfrcReceiver = loss detection + feedback timer + law::tfrc::LossHistory
//! ```
//!
//! There is no handshake: the first packet leaves at once, and what it brings back is the first measurement. A packet that
//! is lost is lost: goodput is the payload that arrives, in whatever order. Each end is driven as every other element
//! is, and both keep timers of their own.

mod config;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use config::{TfrcParams, TfrcReceiverConfig, TfrcSenderConfig};
pub use receiver::TfrcReceiver;
pub use sender::TfrcSender;
