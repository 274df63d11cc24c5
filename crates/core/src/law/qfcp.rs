// SPDX-License-Identifier: MIT OR Apache-2.0
//! QFCP with its wireless enhancements (Pu, Hamdi 2008): routers tell all flows one fair rate, and probe for their capacity.

pub mod equations;
mod router;
mod sender;

pub use router::{Measured, Router, RouterParams, fair_rate, probed_capacity};
pub use sender::{Qfcp, QfcpParams};
