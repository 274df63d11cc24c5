// SPDX-License-Identifier: MIT OR Apache-2.0
//! The station window: one agent sets the windows of all flows of a station, so that any packet of the station may move the window
//! of any of its flows.
//!
//! ```text
//!   router:  bytes sent, q behind the packet, x its wait ─► stamp
//!   agent:   stamps ─► line: μ̂ ─► ρ̄_i ─► room_i = ρ̄_i(ℓ_i + T) + κ(ρ̄_i T − q) ──┐
//!            each flow: RTT − x ─► d_i;  grants ─► what is on its way, what waits, what will come ─┴─► w_i ─► window updates
//! ```
//!
//! A flow of a long round trip takes its part of a slow mean. A faster one fills what the slower ones will leave free within its own
//! round trip, which the agent knows, as it has granted all of it. A flow that is to be cut to one packet and filled up again has no
//! packets of its own to learn that by: windows of others are moved by acknowledgements that repeat the last one.
//!
//! Where a path crosses several lines, they tell of themselves in turn: each has a clock of its own, and of the windows at them the least
//! stands.
//!
//! Each step can be left out: without the station's clock each flow's window moves by its own packets; without the residual the
//! windows are those of the [share window](crate::law::share); without demand flows that have no more to send count in full;
//! without the balance of shares a flow has what the others leave.

mod agent;
mod arrival;
pub mod equations;
mod flow;
mod grants;
mod line;
mod passage;
mod receiver;
mod router;

#[cfg(test)]
mod tests;

pub use agent::{Grant, KAPPA, StationAgent, StationKeys, TARGET};
pub use arrival::{Found, Known, StationArrival};
pub use receiver::StationReceiver;
pub use router::{StationRouter, StationRouterParams};
