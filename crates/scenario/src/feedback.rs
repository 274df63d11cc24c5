// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers that tell senders their window or their rate: XCP, XCP-b, QFCP.

use lasthop_core::law::{qfcp, xcp};
use lasthop_core::queue::Limit;
use lasthop_core::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::Unit;
use super::read::kinds;
use super::{Queue, ScenarioError};
use crate::quantity::{BitRate, Size};

/// What a router writes into the packets of senders that ask.
#[derive(Clone, Copy, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Feedback {
    /// XCP (Katabi, Handley, Rohrs 2002), with a capacity that it is told.
    Xcp(Xcp),
    /// XCP-b (Abrantes, Ricardo 2006), which knows no capacity and steers by its queue.
    XcpB(XcpB),
    /// QFCP with its wireless enhancements (qfcp).
    Qfcp(Qfcp),
}

/// An XCP router.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Xcp {
    /// C: the capacity that it is told; by default the line's rate, of a radio or WLAN its highest.
    #[serde(default)]
    pub capacity: Option<BitRate>,
    /// α: gain on the spare rate (qfcp eq. 1).
    #[serde(default = "xcp_alpha")]
    pub alpha: f64,
    /// β: gain on the queue (qfcp eq. 1).
    #[serde(default = "xcp_beta")]
    pub beta: f64,
    /// γ: share of the traffic that changes hands in an interval at least.
    #[serde(default = "tenth")]
    pub gamma: f64,
}

/// An XCP-b router.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XcpB {
    /// α: gain on the growth of the queue.
    #[serde(default = "xcp_alpha")]
    pub alpha: f64,
    /// β: gain on the queue.
    #[serde(default = "xcp_beta")]
    pub beta: f64,
    /// γ: share of the traffic that changes hands in an interval at least.
    #[serde(default = "tenth")]
    pub gamma: f64,
    /// Q_max: the buffer, in proportion to which an idle link is filled; by default the queue's limit, of `packet` each where
    /// it is in packets.
    #[serde(default)]
    pub buffer: Option<Size>,
    /// Size of a packet on the wire.
    #[serde(default = "mtu")]
    pub packet: Size,
    /// χ: share of the buffer that is offered in an interval while the link is idle; at most 1/(5 − α − β).
    #[serde(default = "chi")]
    pub chi: f64,
    /// κ: the queue aimed at. The primary text could not be had: chosen.
    #[serde(default = "kappa")]
    pub kappa: Size,
    /// Intervals with an empty queue before the link counts as idle. Chosen, as κ.
    #[serde(default = "two")]
    pub patience: u32,
}

/// A QFCP router.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Qfcp {
    /// C at the start; by default the line's rate, of a radio or WLAN its highest, of a trace its mean. While it is probed, no
    /// more than `max_capacity` by default.
    #[serde(default)]
    pub capacity: Option<BitRate>,
    /// The most that C is probed up to (qfcp §III-A: the highest rate of the medium), at least `capacity`; by default the line's
    /// rate, of a radio or WLAN its highest, of a trace its most within 100 ms.
    #[serde(default)]
    pub max_capacity: Option<BitRate>,
    /// α: share by which C grows in an interval while the link is idle now and then (qfcp eq. 6).
    #[serde(default = "tenth")]
    pub alpha: f64,
    /// β: gain on the queue (qfcp eq. 4, 9).
    #[serde(default = "half")]
    pub beta: f64,
    /// w: weight of a new interval in the averages of output and queue (qfcp eq. 7, 8).
    #[serde(default = "fifth")]
    pub weight: f64,
    /// MSS: a packet on the wire, the queue aimed at.
    #[serde(default = "mtu")]
    pub packet: Size,
    /// Probe for C (qfcp eq. 6); otherwise it stays as it is at the start.
    #[serde(default = "yes")]
    pub probing: bool,
    /// Aim at a queue of one packet (qfcp eq. 9); otherwise at none (qfcp eq. 4).
    #[serde(default = "yes")]
    pub resident: bool,
    /// Count packets dropped by overflow as queue (qfcp eq. 11).
    #[serde(default = "yes")]
    pub virtual_queue: bool,
    /// On a WLAN, let the base station count what the stations send, and stamp it too (qfcp §III-A).
    #[serde(default = "yes")]
    pub simplex: bool,
    /// What the queue is drained by. In packets, each counts as one of `packet`, whatever its size.
    #[serde(default = "in_bytes")]
    pub unit: Unit,
    /// Bound the number of flows by what the least windows allow. Beyond the paper.
    #[serde(default = "yes")]
    pub bounded: bool,
    /// Average the number of flows with that of the interval before, as what comes in heeds the last two rates. Beyond the
    /// paper.
    #[serde(default = "yes")]
    pub average_flows: bool,
    /// Do not lower C by an interval in which nothing waited and nothing was dropped, though the averaged queue still says
    /// busy. Beyond the paper.
    #[serde(default = "yes")]
    pub hold: bool,
}

kinds!(Feedback: "xcp" => Xcp(_), "xcp-b" => XcpB(_), "qfcp" => Qfcp(_));

impl Xcp {
    /// The router in front of a line of `rate`.
    pub fn router(&self, rate: Rate) -> xcp::RouterParams {
        let capacity = bytes_per_s(self.capacity.map_or(rate, |capacity| capacity.0));
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
        let buffer = match (self.buffer, queue.limit.map(|limit| limit.limit())) {
            (Some(buffer), _) => buffer.0,
            (None, Some(Limit::Bytes(bytes))) => bytes,
            (None, Some(Limit::Packets(packets))) => Bytes::new(self.packet.0.get() * packets as u64),
            (None, Some(Limit::None) | None) => {
                return Err(ScenarioError::at("buffer", "missing: wanted, as the queue has no limit"));
            }
        };
        Ok(xcp::RouterParams {
            efficiency: xcp::Efficiency::Queue {
                buffer_bytes: buffer.as_f64(),
                chi: self.chi,
                kappa_bytes: self.kappa.0.as_f64(),
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
        let told = self.capacity.map_or(rate, |capacity| capacity.0);
        let (capacity, bound) = match self.max_capacity {
            Some(bound) if bound.0 < told => {
                let mbps = |rate: Rate| rate.as_bps() as f64 / 1e6;
                let wanted = format!("at least `capacity`, {} Mbit/s", mbps(told));
                return Err(ScenarioError::refused("max_capacity", format!("\"{} Mbit/s\"", mbps(bound.0)), wanted));
            }
            Some(bound) => (told, bound.0),
            None if self.probing => (told.min(top), top),
            None => (told, top.max(told)),
        };
        Ok(qfcp::RouterParams {
            capacity: bytes_per_s(capacity),
            max_capacity: bytes_per_s(bound),
            alpha: self.alpha,
            beta: self.beta,
            weight: self.weight,
            packet_bytes: self.packet.0.as_f64(),
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

fn xcp_alpha() -> f64 {
    0.4
}

fn xcp_beta() -> f64 {
    0.226
}

fn chi() -> f64 {
    0.2286
}

fn kappa() -> Size {
    Size(Bytes::new(3000))
}

fn mtu() -> Size {
    Size(Bytes::new(1500))
}

fn tenth() -> f64 {
    0.1
}

fn fifth() -> f64 {
    0.2
}

fn half() -> f64 {
    0.5
}

fn two() -> u32 {
    2
}

fn in_bytes() -> Unit {
    Unit::Bytes
}

fn yes() -> bool {
    true
}
