// SPDX-License-Identifier: MIT OR Apache-2.0
//! QFCP with its wireless enhancements (Pu, Hamdi 2008): routers tell all flows one fair rate, and probe for their capacity.

mod airtime;
pub mod equations;
mod router;
mod sender;

pub use airtime::Medium;
pub use equations::{fair_rate, probed_capacity};
pub use router::{Measured, QfcpRouter, QfcpRouterParams};
pub use sender::{Qfcp, QfcpParams};
