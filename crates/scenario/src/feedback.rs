// SPDX-License-Identifier: MIT OR Apache-2.0
//! What routers write into passing packets: prices for receivers, and what senders ask for (XCP, XCP-b, QFCP).

use lasthop_core::kinds;
use lasthop_core::law::{clamp, qfcp, share, xcp};
use lasthop_core::parameter::With;

kinds! {
    /// What a router writes into passing packets for their receivers.
    #[derive(Clone, Copy, Debug)]
    pub enum Price {
        /// `max((b·q − a)/μ_c, 0)` (clamp eq. 13).
        Linear(clamp::PriceParams) = "linear",
        /// `max(b·(q − a)/μ_c, 0)` (clamp-mice).
        Mice(clamp::PriceParams) = "mice",
        /// Quadratic up to 2a/b, then as the linear one without its bound (clamp-report eq. 1).
        Smooth(clamp::PriceParams) = "smooth",
        /// Each flow's share of the line, and the room in its queue, for receivers of kind `share`.
        Share(share::RouterParams) = "share",
    }
}

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
