// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP: one sender and one receiver, used by every window law.
//!
//! ```text
//!   application ── open, write, close ──► Sender ── SYN, data ──► … network … ──► Receiver
//!                                           ▲                                        │
//!                                           └──── SYN-ACK, ACK (window, SACK) ◄──────┘
//!   Sender   = sequence space + timer (rto) + loss recovery (scoreboard) + law::Sender
//!   Receiver = sequence space (ranges) + delayed ACKs + law::Receiver, which chooses the window
//! ```
//!
//! Sequence numbers count payload bytes from 0, in 64 bits, and never wrap; a SYN takes no sequence space. The
//! window law works in segments and everything else in bytes. RFC 5681 (congestion control), 6298 (timer), 6582
//! (NewReno), 6675 (SACK), 3042 (limited transmit), 7323 (timestamps), 9293 (windows and probes); as options 8985
//! (RACK-TLP), 6937 (proportional rate reduction) and what Linux does otherwise.

mod config;
mod ranges;
mod receiver;
mod rto;
mod scoreboard;
mod sender;
mod stats;
#[cfg(test)]
mod tests;

pub use config::{DelayedAck, ReceiverConfig, Recovery, RttEstimator, SenderConfig, TIMESTAMPS_OPTION, Validation};
pub use receiver::Receiver;
pub use sender::{Sender, State};
pub use stats::{ReceiverStats, SenderStats, WindowMeans};
