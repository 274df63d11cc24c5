// SPDX-License-Identifier: MIT OR Apache-2.0
//! lasthop in virtual time: scenario files, the event loop, results.
//!
//! ```text
//!   TOML ──► scenario ──► assemble ──► world (events, core's elements) ──► summary, tables, pcapng
//! ```
#![forbid(unsafe_code)]

mod assemble;
mod capture;
pub mod events;
mod host;
mod hosts;
pub mod metrics;
pub mod network;
mod probe;
pub mod quantity;
mod run;
pub mod scenario;
pub mod stage;
mod summary;
pub mod table;
mod world;

pub use probe::{FlowSample, Recorder};
pub use run::{Outcome, Run};
pub use summary::{Emulation, Fairness, FlowSummary, QueueSummary, Summary, System};
