// SPDX-License-Identifier: MIT OR Apache-2.0
//! lasthop in real time: the network of a scenario between real kernels.
//!
//! ```text
//!   servers' namespace          this process                 hosts' namespaces
//!   sockets, commands ── TUN ──► network of core's elements ──► TUN ── sockets, COMMAND
//!                     ◄────────  driven by a monotonic timer ◄──
//! ```
//!
//! One thread relays the packets, in real time where the system allows; another runs the scenario's flows over sockets;
//! the caller's waits for the end and for signals.

mod clock;
mod command;
mod device;
mod driver;
mod edge;
mod error;
mod flows;
mod frame;
mod house;
mod log;
mod plan;
mod rtnetlink;
mod run;
mod tcp_info;

pub use error::Error;
pub use run::{Ended, Options, run};
