// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share window: the router says what a flow's share of the line is and how long its queue takes, the receiver makes its
//! window of that at once.
//!
//! ```text
//!   router:    bytes, busy time ─► μ̂ ─┬─► ρ = μ̂/Φ ─┐
//!              flows seen ────────► Φ ─┘             ├─► stamp: ρ, T, y, x
//!              bytes behind the packet ─► y = q/μ̂ ──┘
//!   receiver:  RTT − x ─► d;  ρ ─► ρ̄;  r = T + κ(T − y), κ = θ/(θ + d);  w = φρ̄(max(g d, d − T) + r) ─► whole segments
//! ```
//!
//! With feedback one round trip late, the queue of a round trip later is the windows in force less what the line carries until
//! then: no law can foretell more than that, and this one does not try to find it in small steps.
//!
//! At rest the queue holds [T − min((1 − g)d, T)/(1 + κ)](crate::model::standing::share_wait) of the line's rate, whatever the number of
//! flows.
//! Of a disturbance, −Σ κ_i s_i comes back, after d_i each, s_i being the flows' parts of the line: less than all of it, so that it fades
//! for every set of delays and weights.

pub mod equations;
mod limited;
mod overbooked;
mod receiver;
mod router;

#[cfg(test)]
mod tests;

pub use receiver::{FALL, G, RISE, ReceiverKeys, ShareArrival, ShareReceiver, THETA};
pub use router::{Form, ShareRouter, ShareRouterParams, TARGET};
