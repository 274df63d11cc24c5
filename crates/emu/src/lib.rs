// SPDX-License-Identifier: MIT OR Apache-2.0
//! lasthop in real time: the network of a scenario between real kernels.
//!
//! ```text
//!   servers' namespace              this process                    hosts' namespaces
//!                        ┌─────────── driver ───────────┐
//!   sockets, commands ──►│ edge: frame, plan            │
//!            TUN         │   └► network of core's ──► edge ──► TUN ── sockets, COMMAND
//!                     ◄──│ edge ◄── elements            │◄──
//!                        └── log ───────────────────────┘
//! ```
//!
//! A packet's way: `driver` reads it from a device, `edge` asks `plan` whose it is, as `frame` it travels through the
//! network of `lasthop-sim`, which stamps it with the instants at which things are due, and `edge` writes it into the
//! device at its other end. One thread relays the packets, in real time where the system allows; where there is a second
//! processor, another writes them into the devices, which is most of the work, when there are more than a few. One more runs
//! the scenario's flows over sockets; the caller's waits for the end and for signals.
//!
//! Where an agent takes the place of an access point's price, packets leave the network in front of the access point, go through
//! the kernel of a gateway's namespace, at whose device the agent is, and come in again:
//!
//! ```text
//!   network: paths of flows ──► TUN ── gateway ── TUN ──► network: access points
//!                           ◄──      forwards          ◄──
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | an emulation from a scenario's text to its result |
//! | `stage` | a scenario set up for real time |
//! | `summary` | how well real time was kept |
//! | `ends`, `inside` | who stands at the ends: hosts and their laws, commands |
//! | `control` | the congestion controls of the flows |
//! | `agents` | who has the kernel's receivers obey the scenario's laws |
//! | `house` | the namespaces, fitted out |
//! | `plan` | who has which address, and which route packets take |
//! | `driver` | the loop in real time |
//! | `edge` | the network's ends: devices, and what is counted at them |
//! | `entrance` | how long packets wait before they are read |
//! | `exit` | how packets leave, and how late they are |
//! | `frame` | a packet with its real bytes |
//! | `option` | what packets ask of routers, and are granted |
//! | `price` | an access point's price in them |
//! | `flows` | the scenario's flows over sockets |
//! | `keeper` | what a thread does to keep time |
//! | `stalls`, `judge`, `endurance` | whether a run is to be believed |
//! | `log` | what happened at an access point, in mm-link's format |
//! | `watch` | the page of a run |
//!
//! What Linux gives stands in `lasthop-linux`.
#![forbid(unsafe_code)]

mod agents;
mod control;
mod driver;
mod edge;
mod ends;
mod endurance;
mod entrance;
mod error;
mod exit;
mod flows;
mod frame;
mod house;
mod inside;
mod judge;
mod keeper;
mod log;
mod option;
mod plan;
mod price;
mod run;
mod stage;
mod stalls;
mod summary;
mod watch;

pub use error::Error;
pub use frame::Addresses;
pub use run::{EmulationOptions, Ended, Report, run};
pub use stage::check;
pub use summary::{Emulation, Figures};
