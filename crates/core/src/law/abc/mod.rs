// SPDX-License-Identifier: MIT OR Apache-2.0
//! ABC, accelerate–brake control (Goyal et al., NSDI 2020): a router tells each packet's sender to send two packets for it, or
//! none.
//!
//! The paper's router knows its line's opportunities; this one measures the line's rate over busy time. Senders are not paced, and
//! in place of the paper's second window, CUBIC's, for bottlenecks that say nothing, a loss halves the one that there is.

pub mod equations;
mod router;
mod sender;

pub use router::{AbcRouter, AbcRouterParams};
pub use sender::{Abc, AbcParams};
