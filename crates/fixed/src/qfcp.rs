// SPDX-License-Identifier: MIT OR Apache-2.0
//! QFCP: its equations, and the router that they make up.

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What a router is told: `struct qfcp_settings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct QfcpSettings {
    /// C at the start \[B/s\].
    pub capacity: u64,
    /// The most that it is probed up to \[B/s\].
    pub max_capacity: u64,
    /// −ln(1 − w).
    pub forgets_q24: u64,
    /// α.
    pub alpha_q16: u32,
    /// β.
    pub beta_q16: u32,
    /// MSS on the wire.
    pub packet_bytes: u32,
    /// 1: C is probed for.
    pub probing: u8,
    /// 1: the aim is a queue of one packet.
    pub resident: u8,
    /// 1: what was dropped counts as queue.
    pub virtual_queue: u8,
    /// 1: each packet of the queue counts as one of MSS.
    pub in_packets: u8,
    /// 1: N has bounds.
    pub bounded: u8,
    /// 1: N is averaged with that of the interval before.
    pub average_flows: u8,
    /// 1: C is held where there is nothing left to drain.
    pub hold: u8,
    /// 1: what the queue has made longer weighs more.
    pub time_weighted: u8,
    /// 1: near what was found C grows with care.
    pub careful: u8,
    /// Nothing.
    pub pad: [u8; 3],
}

/// What a router keeps: `struct qfcp_router`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct QfcpRouter {
    /// C \[B/s\].
    pub capacity: u64,
    /// R \[B/s\].
    pub rate: u64,
    /// N.
    pub flows_q16: u64,
    /// T.
    pub interval_ns: u64,
    /// `output_avg` \[B/s\].
    pub output: u64,
    /// `q_avg` \[B\].
    pub queue_q4: u64,
    /// The same in packets.
    pub packets_q16: u64,
    /// Control intervals so far.
    pub intervals: u64,
    /// In so many more C grows with care.
    pub careful: u64,
    /// When the running interval began.
    pub began_ns: u64,
    /// The sum of the round trips that packets told in it; at a processor that counts for a router, so far, as what follows.
    pub rtts_us: u64,
    /// How many told one.
    pub rtt_count: u64,
    /// What has come.
    pub input_bytes: u64,
    /// What had left when it began.
    pub departed_bytes: u64,
    /// Packets that had found no room then.
    pub dropped_packets: u64,
    /// The least queue in it.
    pub least_bytes: u64,
    /// The same in packets.
    pub least_packets_q16: u64,
}

/// What a packet finds: `struct qfcp_sight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct QfcpSight {
    /// When it comes; more than 0.
    pub now_ns: u64,
    /// What waits before it.
    pub queue_bytes: u64,
    /// The same in packets.
    pub queue_packets: u64,
    /// What has left so far.
    pub departed_bytes: u64,
    /// Packets that have found no room so far.
    pub dropped_packets: u64,
}

/// What was measured in an interval: `struct qfcp_measured`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct QfcpMeasured {
    /// y \[B/s\].
    pub input: u64,
    /// What left \[B/s\].
    pub output: u64,
    /// What always waited \[B\].
    pub queue_q4: u64,
    /// The same in packets.
    pub packets_q16: u64,
    /// What the averages keep of before.
    pub keep_q31: u64,
}

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// qfcp#3: N = y/R. Rounds down.
    #[link_name = "lasthop_qfcp_flows_q16"]
    pub safe fn flows_q16(input: u64, rate: u64) -> u64;

    /// qfcp#6: C, output if at least a packet always waited, and alpha more than before otherwise. alpha up to 2^8.
    #[link_name = "lasthop_qfcp_probed_capacity"]
    pub safe fn probed_capacity(capacity: u64, output: u64, packets_q16: u64, alpha_q16: u32) -> u64;

    /// alpha where C is near what the link carries: a half, a fourth or an eighth, by the intervals of care that are left.
    #[link_name = "lasthop_qfcp_careful_growth_q16"]
    pub safe fn careful_growth_q16(alpha_q16: u32, left: u64) -> u32;

    /// qfcp#7, qfcp#8: what an average keeps of before in an interval that counts as so many of those in which it keeps
    /// e^-forgets: (1 - w)^n with forgets = -ln(1 - w). Intervals up to 2^4.
    #[link_name = "lasthop_qfcp_keep_q31"]
    pub safe fn keep_q31(forgets_q24: u64, intervals_q16: u64) -> u64;

    /// qfcp#4, qfcp#9: R of each of so many flows, where the queue should come to the aim within 1/beta intervals. beta up to
    /// 2^4. Rounds down.
    #[link_name = "lasthop_qfcp_fair_rate"]
    pub safe fn fair_rate(
        capacity: u64,
        queue_q4: u64,
        aim_bytes: u64,
        beta_q16: u32,
        interval_ns: u64,
        flows_q16: u64,
    ) -> u64;

    /// qfcp#11: the queue that would have been with room for all.
    #[link_name = "lasthop_qfcp_virtual_queue"]
    pub safe fn virtual_queue(queue: u64, dropped: u64) -> u64;

    /// qfcp#5: cwnd = max(feedback RTT, MSS), in segments of so many bytes on the wire. Rounds down.
    #[link_name = "lasthop_qfcp_window_q16"]
    pub safe fn window_q16(rate: u64, rtt_us: u32, wire_bytes: u32) -> u64;

    /// The rate for the next interval, from what was measured in this one.
    #[link_name = "lasthop_qfcp_control"]
    pub safe fn control(router: &mut QfcpRouter, settings: &QfcpSettings, measured: &QfcpMeasured);

    /// Ends the interval if it is over, and those without a packet that have passed since.
    #[link_name = "lasthop_qfcp_turn"]
    pub safe fn turn(router: &mut QfcpRouter, settings: &QfcpSettings, sight: &QfcpSight);

    /// A packet of so many bytes comes, whose header tells a round-trip time, or 0.
    #[link_name = "lasthop_qfcp_count"]
    pub safe fn count(router: &mut QfcpRouter, sight: &QfcpSight, size_bytes: u64, rtt_us: u32);
}
