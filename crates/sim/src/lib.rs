// SPDX-License-Identifier: MIT OR Apache-2.0
//! lasthop in virtual time: the network of a scenario, the event loop, results.
//!
//! ```text
//!   TOML ─► lasthop-scenario ─► assemble ─┬─► network: nodes, lanes, routes ◄─► events
//!                                         │      ▲ send      │ take, answer
//!                                         └─► hosts: applications, senders, receivers
//!                                                │
//!                              run ◄─────────────┴─► summary, table, probe, capture
//! ```
//!
//! A packet's way: a host's sender hands it over, and its route says where it hops. First it boards a *lane*, a pure delay or
//! a private link, whose head alone is in the event list. At the lane's end it enters a *node*, which flows share: a link, an
//! access point, a WLAN. The node says when it leaves, and the next hop follows, until it is at its receiver, whose
//! acknowledgement takes the rest of the route back to the host. Whatever is bound to happen happens ahead of time, without
//! an event of its own: see [`network`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`assemble`] | from a scenario to nodes, lanes, routes and ends |
//! | [`network`] | who gets which packet, and when |
//! | [`node`] | links, access points and WLANs as one list, of which results are read |
//! | [`events`] | the event list |
//! | `hosts`, `host`, `stations` | the simulated ends of the flows, and the agents of those whose station has one |
//! | `world`, `worlds` | the loop in virtual time; one for each part of the network that shares nothing with the others |
//! | `run` | from a scenario's text to its result |
//! | `summary`, [`metrics`] | the figures of a run |
//! | `trace` | files of recorded capacity |
//! | `probe`, `capture`, [`table`] | samples over time, packets, columns |
//!
//! ```
//! use std::path::Path;
//!
//! let text = r#"
//!     duration = "10 s"
//!     [[link]]
//!     name = "bottleneck"
//!     from = "server"
//!     to = "home"
//!     rate = "10 Mbit/s"
//!     delay = "5 ms"
//!     [[flow]]
//!     name = "download"
//!     path = ["server", "home"]
//!     rtt = "20 ms"
//! "#;
//! let outcome = lasthop_sim::Run::new(text, Path::new("."), &[], Some(1))?.finish();
//! let flow = &outcome.summary.flows[0];
//! assert!(flow.goodput_bps < 10e6 && flow.goodput_bps > 8e6);
//! # Ok::<(), lasthop_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

pub mod assemble;
mod capture;
pub mod events;
mod host;
mod hosts;
mod merge;
pub mod metrics;
pub mod network;
pub mod node;
mod probe;
mod run;
mod stations;
mod summary;
pub mod table;
mod trace;
mod world;
mod worlds;

pub use capture::Point;
use lasthop_scenario as scenario;
pub use probe::{FlowSample, Recorder};
pub use run::{Outcome, Run};
pub use summary::{
    CountedFlow, CountedRun, Fairness, FlowLabel, FlowSummary, Labels, QueueSummary, Summary, System,
    schema as summary_schema,
};
pub use trace::read_trace;
