// SPDX-License-Identifier: MIT OR Apache-2.0
//! XCP: its equations, and the router that they make up.

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What a router is told: `struct xcp_settings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct XcpSettings {
    /// C \[B/s\].
    pub capacity: u64,
    /// α.
    pub alpha_q16: u32,
    /// β.
    pub beta_q16: u32,
    /// γ.
    pub gamma_q16: u32,
    /// Nothing.
    pub pad: u32,
}

/// A change that is dealt out: `struct xcp_pot`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct XcpPot {
    /// What is left of it \[2⁻⁸ B/s\].
    pub left_q8: u64,
    /// What a unit of the whole has, in 2⁻ˢʰⁱᶠᵗ of that.
    pub each: u64,
    /// Units among which it is dealt out: ns of flows, or bytes.
    pub units: u64,
    /// Of `each`.
    pub shift: u64,
}

/// What a router keeps: `struct xcp_router`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct XcpRouter {
    /// d.
    pub interval_ns: u64,
    /// The queue that stands.
    pub standing_bytes: u64,
    /// y of the last interval \[B/s\].
    pub input: u64,
    /// Control intervals so far.
    pub intervals: u64,
    /// `ξ_p`, and what is left to raise.
    pub raise: XcpPot,
    /// `ξ_n`, and what is left to lower.
    pub lower: XcpPot,
    /// When the running interval began; 0: nothing has passed.
    pub began_ns: u64,
    /// Σ rtt · size / cwnd of what has come in it; at a processor that counts for a router, so far, as what follows.
    pub shares_ns: u64,
    /// The same, each times its round trip \[µs ns\].
    pub rtt_shares: u64,
    /// What has come.
    pub input_bytes: u64,
    /// When the running span of the queue that stands began.
    pub span_began_ns: u64,
    /// How long it is.
    pub span_ns: u64,
    /// The least queue in it.
    pub least_bytes: u64,
}

/// What packets tell: `struct xcp_header`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct XcpHeader {
    /// Asked for, or granted so far \[2⁻⁸ B/s\].
    pub change_q8: i64,
    /// The sender's window.
    pub cwnd_bytes: u64,
    /// Of all of them, on the wire.
    pub size_bytes: u64,
    /// The sender's round-trip time; 0: not known yet.
    pub rtt_us: u32,
    /// Nothing.
    pub pad: u32,
}

/// More than any router grants: nothing is asked for less.
pub const ANY_Q8: i64 = 1 << 46;

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// qfcp#1: alpha (C - y) d - beta q [2^-8 B]. alpha and beta up to 2^4. Rounds towards 0.
    #[link_name = "lasthop_xcp_told_change_q8"]
    pub safe fn told_change_q8(
        alpha_q16: u32,
        beta_q16: u32,
        capacity: u64,
        input: u64,
        queue_bytes: u64,
        d_ns: u64,
    ) -> i64;

    /// What is dealt out anew of an interval's traffic even with nothing to change [2^-8 B]. gamma up to 1.
    #[link_name = "lasthop_xcp_shuffled_q8"]
    pub safe fn shuffled_q8(gamma_q16: u32, input: u64, d_ns: u64, change_q8: i64) -> u64;

    /// What packets stand for of their flow: rtt s/cwnd. Rounds down.
    #[link_name = "lasthop_xcp_share_ns"]
    pub safe fn share_ns(rtt_us: u32, size_bytes: u64, cwnd_bytes: u64) -> u64;

    /// A change is there to be dealt out among so many units.
    #[link_name = "lasthop_xcp_fill"]
    pub safe fn fill(pot: &mut XcpPot, amount_q8: u64, units: u64);

    /// The part of so many units: at most what was in it. Rounds down.
    #[link_name = "lasthop_xcp_part_q8"]
    pub safe fn part_q8(pot: &XcpPot, units: u64) -> u64;

    /// qfcp#2: the window after the rate has changed by so much, in segments of so many bytes on the wire; one at least.
    #[link_name = "lasthop_xcp_window_q16"]
    pub safe fn window_q16(window_q16: u64, change_q8: i64, rtt_us: u32, wire_bytes: u32) -> u64;

    /// Ends the interval at its own end, if it is over.
    #[link_name = "lasthop_xcp_turn"]
    pub safe fn turn(router: &mut XcpRouter, settings: &XcpSettings, now_ns: u64, queue_bytes: u64);

    /// Packets with such a share come to a queue, and are counted.
    #[link_name = "lasthop_xcp_count"]
    pub safe fn count(router: &mut XcpRouter, queue_bytes: u64, header: &XcpHeader, share_ns: u64);

    /// By how much more the flow may send at most.
    #[link_name = "lasthop_xcp_deal_q8"]
    pub safe fn deal_q8(router: &mut XcpRouter, header: &XcpHeader, share_ns: u64) -> i64;
}
