// SPDX-License-Identifier: MIT OR Apache-2.0
//! lasthop in virtual time: the network of a scenario, the event loop, results.
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
mod run;
pub mod stage;
mod summary;
pub mod table;
mod world;

pub use lasthop_scenario::{self as scenario, quantity};
pub use probe::{FlowSample, Recorder};
pub use run::{Outcome, Run};
pub use summary::{Emulation, Fairness, FlowSummary, QueueSummary, Summary, System};
