// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a running queue does, on a page of this machine alone.
//!
//! ```text
//!   whoever drives packets ── Sample ──► History ──┐
//!                                                  ├──► Server ──► a browser: page/, samples.json
//!                          pages of its own ───────┘
//! ```
//!
//! The agent shows a device by it, the emulator a scenario.
#![forbid(unsafe_code)]

mod history;
mod server;

pub use history::{History, LiveQueue, LiveStation, Sample};
pub use server::{Answer, Server, loopback};
