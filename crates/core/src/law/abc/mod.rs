// SPDX-License-Identifier: MIT OR Apache-2.0
//! ABC, accelerate–brake control (Goyal et al., NSDI 2020): a router tells each packet's sender to send two packets for it, or
//! none.
//!
//! The paper's router knows its line's opportunities, as this one does on a recorded trace of a single station; on other
//! lines it measures the rate over busy time. Beside the window that routers steer the sender has CUBIC's, for queues that say
//! nothing; the lesser holds.

pub mod equations;
mod router;
mod sender;

pub use router::{AbcRouter, AbcRouterParams};
pub use sender::{Abc, AbcParams};
