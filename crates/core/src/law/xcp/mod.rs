// SPDX-License-Identifier: MIT OR Apache-2.0
//! XCP (Katabi, Handley, Rohrs 2002) and XCP-b (Abrantes, Ricardo 2006): routers tell each packet by how much its
//! sender's window is to change.

pub mod equations;
mod router;
mod sender;
mod standing;

pub use router::{Blind, Efficiency, Gains, Header, Told, XcpRouter, XcpRouterParams};
pub use sender::{Xcp, XcpParams};
