// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs of routers and hosts are told and tell, as `bpf/feedback.h` and `lasthop-fixed` lay it out.

use lasthop_core::law::qfcp::QfcpRouterParams;
use lasthop_core::law::red::QueueUnit;
use lasthop_core::law::xcp::{Gains, Told};
use lasthop_core::parameter::With;
use lasthop_core::units::Rate;
use lasthop_fixed::qfcp::{QfcpRouter, QfcpSettings};
use lasthop_fixed::xcp::{XcpRouter, XcpSettings};
use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// C at the start where nobody says: it is probed for.
pub const FIRST_CAPACITY: Rate = Rate::from_bps(1_000_000);

const ONE_Q16: f64 = 65_536.0;
const ONE_Q24: f64 = 16_777_216.0;

/// What a QFCP router is told, of parameters whose capacities are given.
pub fn qfcp_settings(params: &QfcpRouterParams) -> QfcpSettings {
    let rate = |rate: Option<Rate>| rate.map_or(0, |rate| rate.as_bytes_per_sec() as u64).max(1);
    let q16 = |value: f64| (value * ONE_Q16).round() as u32;
    QfcpSettings {
        capacity: rate(params.capacity),
        max_capacity: rate(params.max_capacity),
        // All of it, where the new one is all.
        forgets_q24: (-(1.0 - params.weight).ln()).min(16.0).mul_add(ONE_Q24, 0.5) as u64,
        alpha_q16: q16(params.alpha),
        beta_q16: q16(params.beta),
        packet_bytes: params.packet.get() as u32,
        probing: params.probing.into(),
        resident: params.resident.into(),
        virtual_queue: params.virtual_queue.into(),
        in_packets: (params.unit == QueueUnit::Packets).into(),
        bounded: params.bounded.into(),
        average_flows: params.average_flows.into(),
        hold: params.hold.into(),
        time_weighted: params.time_weighted.into(),
        careful: params.careful.into(),
        pad: [0; 3],
    }
}

/// What an XCP router is told, by parameters of which the capacity is given.
pub fn xcp_settings(params: &With<Told, Gains>) -> XcpSettings {
    let q16 = |value: f64| (value * ONE_Q16).round() as u32;
    XcpSettings {
        capacity: params.own.capacity.map_or(0, |rate| rate.as_bytes_per_sec() as u64).max(1),
        alpha_q16: q16(params.common.alpha),
        beta_q16: q16(params.common.beta),
        gamma_q16: q16(params.common.gamma),
        pad: 0,
    }
}

/// What a router's programs are told: `struct router_settings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RouterSettings {
    /// QFCP, if it is that.
    pub qfcp: QfcpSettings,
    /// XCP, if it is that.
    pub xcp: XcpSettings,
    /// What stands before the IP header.
    pub link_header_bytes: u32,
    /// Of the option.
    pub exid: u32,
    /// 1: nothing is written into packets.
    pub observe_only: u32,
    /// 1: XCP; 0: QFCP.
    pub is_xcp: u32,
}

/// A router's queue: `struct router`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RouterRecord {
    lock: u32,
    is_turning: u32,
    told: u32,
    pad: u32,
    turns: u64,
    collected: [u64; 3],
    sums: [u64; 3],
    least_bytes: u64,
    least_packets_q16: u64,
    /// QFCP's, without what is counted of the running interval.
    pub qfcp: QfcpRouter,
    /// XCP's, likewise.
    pub xcp: XcpRouter,
    next_qfcp: QfcpRouter,
    next_xcp: XcpRouter,
}

/// What a processor has counted: `struct tally`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TallyRecord {
    turn: u64,
    /// Packets that have come.
    pub packets: u64,
    /// Pieces that asked, of one or more packets.
    pub asked: u64,
    /// Those that asked for more than they were granted.
    pub lowered: u64,
    /// QFCP's sums.
    pub qfcp: QfcpRouter,
    /// XCP's.
    pub xcp: XcpRouter,
}

impl TallyRecord {
    /// Bytes that have come.
    pub fn bytes(&self) -> u64 {
        // Those of the law that is not told are 0.
        self.qfcp.input_bytes + self.xcp.input_bytes
    }
}

/// What all processors have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterCounts {
    /// Bytes that have come.
    pub bytes: u64,
    /// Packets of them.
    pub packets: u64,
    /// Pieces that asked, of one or more packets.
    pub asked: u64,
    /// Those that asked for more than they were granted.
    pub lowered: u64,
}

/// What a host's programs are told: `struct host_settings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct HostSettings {
    /// Of the option.
    pub exid: u32,
    /// 1: XCP.
    pub is_xcp: u32,
    /// 1: all connections offer it; 0: those that have chosen the control.
    pub offers_all: u32,
    /// 1: a loss halves the window until it is repaired.
    pub heeds_loss: u32,
    /// 1: segments are paced by 1.25 of the rate.
    pub paces: u32,
    /// Of another option that connections of the group may have in this one's place; 0: none.
    pub exid_beside: u32,
    /// The control's name.
    pub name: [u8; 16],
}

/// What a host's programs tell: `struct host_counts`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct HostCounts {
    /// Connections from here that have offered the option.
    pub offered: u64,
    /// Connections whose far end has it as well.
    pub agreed: u64,
    /// Those that a router has spoken to.
    pub told: u64,
    /// Options that came.
    pub options: u64,
    /// Segments without room for all or part of it.
    pub cramped: u64,
}

#[cfg(test)]
mod tests {
    use lasthop_fixed::xcp::XcpPot;
    use libbpf_rs::btf::Btf;

    use super::*;
    use crate::state::layout::alike;

    #[test]
    fn structures_lie_as_the_programs_have_them() {
        let btf = Btf::from_path(concat!(env!("OUT_DIR"), "/feedback_router.bpf.o")).unwrap();
        alike!(&btf, "qfcp_settings", QfcpSettings: "capacity" = capacity, "max_capacity" = max_capacity,
            "forgets_q24" = forgets_q24, "alpha_q16" = alpha_q16, "beta_q16" = beta_q16, "packet_bytes" = packet_bytes,
            "probing" = probing, "resident" = resident, "virtual_queue" = virtual_queue, "in_packets" = in_packets,
            "bounded" = bounded, "average_flows" = average_flows, "hold" = hold, "time_weighted" = time_weighted,
            "careful" = careful);
        alike!(&btf, "router_settings", RouterSettings: "qfcp" = qfcp, "xcp" = xcp,
            "link_header_bytes" = link_header_bytes, "exid" = exid, "observe_only" = observe_only, "is_xcp" = is_xcp);
        alike!(&btf, "xcp_settings", XcpSettings: "capacity" = capacity, "alpha_q16" = alpha_q16, "beta_q16" = beta_q16,
            "gamma_q16" = gamma_q16);
        alike!(&btf, "xcp_pot", XcpPot: "left_q8" = left_q8, "each" = each, "units" = units, "shift" = shift);
        alike!(&btf, "xcp_router", XcpRouter: "interval_ns" = interval_ns, "standing_bytes" = standing_bytes,
            "input" = input, "intervals" = intervals, "raise" = raise, "lower" = lower, "began_ns" = began_ns,
            "shares_ns" = shares_ns, "rtt_shares" = rtt_shares, "input_bytes" = input_bytes,
            "span_began_ns" = span_began_ns, "span_ns" = span_ns, "least_bytes" = least_bytes);
        alike!(&btf, "qfcp_router", QfcpRouter: "capacity" = capacity, "rate" = rate, "flows_q16" = flows_q16,
            "interval_ns" = interval_ns, "output" = output, "queue_q4" = queue_q4, "packets_q16" = packets_q16,
            "intervals" = intervals, "careful" = careful, "began_ns" = began_ns, "rtts_us" = rtts_us, "rtt_count" = rtt_count,
            "input_bytes" = input_bytes, "departed_bytes" = departed_bytes, "dropped_packets" = dropped_packets,
            "least_bytes" = least_bytes, "least_packets_q16" = least_packets_q16);
        alike!(&btf, "router", RouterRecord: "lock" = lock, "is_turning" = is_turning, "told" = told, "turns" = turns,
            "collected" = collected, "sums" = sums, "least_bytes" = least_bytes,
            "least_packets_q16" = least_packets_q16, "qfcp" = qfcp, "xcp" = xcp,
            "next_qfcp" = next_qfcp, "next_xcp" = next_xcp);
        alike!(&btf, "tally", TallyRecord: "turn" = turn, "packets" = packets, "asked" = asked,
            "lowered" = lowered, "qfcp" = qfcp, "xcp" = xcp);
        let btf = Btf::from_path(concat!(env!("OUT_DIR"), "/feedback_host.bpf.o")).unwrap();
        alike!(&btf, "host_settings", HostSettings: "exid" = exid, "is_xcp" = is_xcp, "offers_all" = offers_all,
            "heeds_loss" = heeds_loss, "paces" = paces, "exid_beside" = exid_beside, "name" = name);
        alike!(&btf, "host_counts", HostCounts: "offered" = offered, "agreed" = agreed, "told" = told,
            "options" = options, "cramped" = cramped);
    }

    #[test]
    fn parameters_are_those_of_the_simulator() {
        let params = QfcpRouterParams::new(FIRST_CAPACITY, Rate::from_bps(80_000_000));
        let settings = qfcp_settings(&params);
        assert_eq!((settings.capacity, settings.max_capacity, settings.packet_bytes), (125_000, 10_000_000, 1500));
        // α = 0.1, β = 0.5, and −ln(0.8) · 2²⁴.
        assert_eq!((settings.alpha_q16, settings.beta_q16, settings.forgets_q24), (6554, 32_768, 3_743_728));
        let told = With { own: Told { capacity: Some(Rate::from_bps(8_000_000)) }, common: Gains::default() };
        let xcp = xcp_settings(&told);
        // .4, .226 and .1.
        assert_eq!((xcp.capacity, xcp.alpha_q16, xcp.beta_q16, xcp.gamma_q16), (1_000_000, 26_214, 14_811, 6554));
        let all = qfcp_settings(&QfcpRouterParams { weight: 1.0, ..params });
        assert_eq!(all.forgets_q24, 16 << 24);
        assert_eq!((settings.probing, settings.in_packets, settings.hold), (1, 0, 1));
    }
}
