// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws in integers: what a kernel's program runs, and can be called from Rust.
//!
//! ```text
//!   c/arith.h ◄── c/estimate.h ◄── c/clamp.h, c/share.h ◄── c/desk.h      c/window.h, c/gamma.h, c/qfcp.h ◄── c/xcp.h, c/wire.h
//!                                       ▲                        ▲
//!    c/state.h, c/state_desk.h ◄── c/station.h, c/bearing.h, c/flow.h, c/seats.h ◄── c/proxy.h, c/passer.h, c/receiver.h
//!                    ┌──────────────────┬────────────────────────┘
//!                    ▼                                           ▼
//!      programs of the agent (clang, BPF)           this crate (cc, the host)
//!                                                    against `lasthop_core`'s f64
//! ```
//!
//! The headers are the only place where the arithmetic is written down: one function for each of a law's equations, the
//! scale of a number in its name, the domain in its comment. What the programs keep of a connection and of a queue, and what
//! they do with it at each packet, stands here too. This crate compiles all that for the host, so that tests hold it against the
//! simulator's equations over their whole domain, and the simulator runs it.

pub mod arith;
pub mod clamp;
pub mod desk;
pub mod estimate;
pub mod gamma;
pub mod passer;
pub mod pool;
pub mod proxy;
pub mod qfcp;
pub mod receiver;
pub mod share;
pub mod state;
pub mod station;
pub mod vector;
pub mod window;
pub mod wire;
pub mod xcp;
