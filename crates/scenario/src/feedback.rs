// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers that tell senders their window or their rate: XCP, XCP-b, QFCP.

use super::kinds::Unit;
use super::{Queue, ScenarioError};
use lasthop_core::law::{qfcp, xcp};
use lasthop_core::units::{Bytes, Rate};
use lasthop_core::{kinds, parameters};

kinds! {
    /// What a router writes into the packets of senders that ask.
    #[derive(Clone, Copy, Debug)]
    pub enum Feedback {
        /// XCP (Katabi, Handley, Rohrs 2002), with a capacity that it is told.
        Xcp(Xcp) = "xcp",
        /// XCP-b (Abrantes, Ricardo 2006), which knows no capacity and steers by its queue.
        XcpB(XcpB) = "xcp-b",
        /// QFCP with its wireless enhancements (qfcp).
        Qfcp(Qfcp) = "qfcp",
    }
}

parameters! {
    /// An XCP router.
    #[derive(Clone, Copy, Debug)]
    pub struct Xcp {
        /// C: the capacity that it is told; by default the line's rate, of a radio or WLAN its highest.
        pub capacity: Option<Rate> = None;
        /// α: gain on the spare rate (qfcp eq. 1).
        pub alpha: f64 = 0.4;
        /// β: gain on the queue (qfcp eq. 1).
        pub beta: f64 = 0.226;
        /// γ: share of the traffic that changes hands in an interval at least.
        pub gamma: f64 = 0.1;
    }
}

parameters! {
    /// An XCP-b router.
    #[derive(Clone, Copy, Debug)]
    pub struct XcpB {
        /// α: gain on the growth of the queue.
        pub alpha: f64 = 0.4;
        /// β: gain on the queue.
        pub beta: f64 = 0.226;
        /// γ: share of the traffic that changes hands in an interval at least.
        pub gamma: f64 = 0.1;
        /// Q_max: the buffer, in proportion to which an idle link is filled; by default the queue's limit, of `packet` each where
        /// it is in packets.
        pub buffer: Option<Bytes> = None;
        /// Size of a packet on the wire.
        pub packet: Bytes = Bytes::new(1500);
        /// χ: share of the buffer that is offered in an interval while the link is idle; at most 1/(5 − α − β).
        pub chi: f64 = 0.2286;
        /// κ: the queue aimed at. The primary text could not be had: chosen.
        pub kappa: Bytes = Bytes::new(3000);
        /// Intervals with an empty queue before the link counts as idle. Chosen, as κ.
        pub patience: u32 = 2;
    }
}

parameters! {
    /// A QFCP router.
    #[derive(Clone, Copy, Debug)]
    pub struct Qfcp {
        /// C at the start; by default the line's rate, of a radio or WLAN its highest, of a trace its mean. While it is probed, no
        /// more than `max_capacity` by default.
        pub capacity: Option<Rate> = None;
        /// The most that C is probed up to (qfcp §III-A: the highest rate of the medium), at least `capacity`; by default the line's
        /// rate, of a radio or WLAN its highest, of a trace its most within 100 ms.
        pub max_capacity: Option<Rate> = None;
        /// α: share by which C grows in an interval while the link is idle now and then (qfcp eq. 6).
        pub alpha: f64 = 0.1;
        /// β: gain on the queue (qfcp eq. 4, 9).
        pub beta: f64 = 0.5;
        /// w: weight of a new interval in the averages of output and queue (qfcp eq. 7, 8).
        pub weight: f64 = 0.2;
        /// MSS: a packet on the wire, the queue aimed at.
        pub packet: Bytes = Bytes::new(1500);
        /// Probe for C (qfcp eq. 6); otherwise it stays as it is at the start.
        pub probing: bool = true;
        /// Aim at a queue of one packet (qfcp eq. 9); otherwise at none (qfcp eq. 4).
        pub resident: bool = true;
        /// Count packets dropped by overflow as queue (qfcp eq. 11).
        pub virtual_queue: bool = true;
        /// On a WLAN, let the base station count what the stations send, and stamp it too (qfcp §III-A).
        pub simplex: bool = true;
        /// What the queue is drained by. In packets, each counts as one of `packet`, whatever its size.
        pub unit: Unit = Unit::Bytes;
        /// Bound the number of flows by what the least windows allow. Beyond the paper.
        pub bounded: bool = true;
        /// Average the number of flows with that of the interval before, as what comes in heeds the last two rates. Beyond the
        /// paper.
        pub average_flows: bool = true;
        /// Do not lower C by an interval in which nothing waited and nothing was dropped, though the averaged queue still says
        /// busy. Beyond the paper.
        pub hold: bool = true;
    }
}

impl Xcp {
    /// The router in front of a line of `rate`.
    pub fn router(&self, rate: Rate) -> xcp::RouterParams {
        let capacity = bytes_per_s(self.capacity.unwrap_or(rate));
        let efficiency = xcp::Efficiency::Told { capacity };
        xcp::RouterParams { efficiency, alpha: self.alpha, beta: self.beta, gamma: self.gamma }
    }
}

impl XcpB {
    /// The router behind a buffer.
    ///
    /// # Errors
    /// If the buffer has no end, and none is given.
    pub fn router(&self, queue: &Queue) -> Result<xcp::RouterParams, ScenarioError> {
        let buffer = match (self.buffer, queue.limit) {
            (Some(buffer), _) => buffer,
            (None, Some(limit)) => limit.in_bytes(self.packet),
            (None, None) => {
                return Err(ScenarioError::at("buffer", "missing: wanted, as the queue has no limit"));
            }
        };
        Ok(xcp::RouterParams {
            efficiency: xcp::Efficiency::Queue {
                buffer_bytes: buffer.as_f64(),
                chi: self.chi,
                kappa_bytes: self.kappa.as_f64(),
                patience: self.patience,
            },
            alpha: self.alpha,
            beta: self.beta,
            gamma: self.gamma,
        })
    }
}

impl Qfcp {
    /// The router in front of a line of `rate`, and of `top` at most.
    ///
    /// # Errors
    /// If C starts above what it is bounded by.
    pub fn router(&self, rate: Rate, top: Rate) -> Result<qfcp::RouterParams, ScenarioError> {
        let told = self.capacity.unwrap_or(rate);
        let (capacity, bound) = match self.max_capacity {
            Some(bound) if bound < told => {
                let mbps = |rate: Rate| rate.as_bps() as f64 / 1e6;
                let wanted = format!("at least `capacity`, {} Mbit/s", mbps(told));
                return Err(ScenarioError::refused("max_capacity", format!("\"{} Mbit/s\"", mbps(bound)), wanted));
            }
            Some(bound) => (told, bound),
            None if self.probing => (told.min(top), top),
            None => (told, top.max(told)),
        };
        Ok(qfcp::RouterParams {
            capacity: bytes_per_s(capacity),
            max_capacity: bytes_per_s(bound),
            alpha: self.alpha,
            beta: self.beta,
            weight: self.weight,
            packet_bytes: self.packet.as_f64(),
            probing: self.probing,
            resident: self.resident,
            virtual_queue: self.virtual_queue,
            simplex: self.simplex,
            in_packets: self.unit == Unit::Packets,
            bounded: self.bounded,
            average_flows: self.average_flows,
            hold: self.hold,
        })
    }
}

fn bytes_per_s(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 8.0
}
