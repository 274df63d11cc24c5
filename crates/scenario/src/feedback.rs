// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers that tell senders their window or their rate: XCP, XCP-b, QFCP.

use lasthop_core::kinds;
use lasthop_core::law::{qfcp, xcp};
use lasthop_core::parameter::With;

kinds! {
    /// What a router writes into the packets of senders that ask.
    #[derive(Clone, Copy, Debug)]
    pub enum Feedback {
        /// XCP (Katabi, Handley, Rohrs 2002), with a capacity that it is told.
        Xcp(With<xcp::Told, xcp::Gains>) = "xcp",
        /// XCP-b (Abrantes, Ricardo 2006), which knows no capacity and steers by its queue.
        XcpB(With<xcp::Blind, xcp::Gains>) = "xcp-b",
        /// QFCP with its wireless enhancements (qfcp).
        Qfcp(qfcp::RouterParams) = "qfcp",
    }
}
