// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws in integers: what a kernel's program runs, and can be called from Rust.
//!
//! ```text
//!   c/arith.h ◄── c/estimate.h ◄── c/clamp.h, c/share.h      c/window.h, c/gamma.h, c/qfcp.h, c/wire.h
//!                                       │                        │
//!                    ┌──────────────────┴────────────────────────┤
//!                    ▼                                           ▼
//!      programs of the agent (clang, BPF)           this crate (cc, the host)
//!                                                    against `lasthop_core`'s f64
//! ```
//!
//! The headers are the only place where the arithmetic is written down: one function for each of a law's equations, the
//! scale of a number in its name, the domain in its comment. This crate compiles them for the host, so that tests hold
//! them against the simulator's equations over their whole domain.

pub mod arith;
pub mod clamp;
pub mod estimate;
pub mod gamma;
pub mod qfcp;
pub mod share;
pub mod window;
pub mod wire;
