// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP's equations.

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// clamp#13: what of an averaged queue is too much, b = 1.
    #[link_name = "lasthop_clamp_linear_q16"]
    pub safe fn linear_q16(queue_q16: u64, a_bytes: u64) -> u64;

    /// What of a queue is priced beside others: as what is theirs goes from 3a to 4a, the less of that is. a up to 2^32 B.
    #[link_name = "lasthop_clamp_beside_q16"]
    pub safe fn beside_q16(queue_q16: u64, theirs_q10: u32, a_bytes: u64) -> u64;

    /// clamp-report#1: a parabola up to 2a, which the line goes on from. q^2/4a as (q/2a) * (q/2), the quotient in Q31.
    #[link_name = "lasthop_clamp_smooth_q16"]
    pub safe fn smooth_q16(queue_q16: u64, a_bytes: u64) -> u64;

    /// The price: excess/rate; 0 as long as the rate is unknown. At most 4 s. Its scale is that of the wire.
    #[link_name = "lasthop_clamp_price_q30"]
    pub safe fn price_q30(excess_q16: u64, rate: u64) -> u32;

    /// What a flow wants more in the queue than it has there: phi tau - p mu.
    #[link_name = "lasthop_clamp_force_q16"]
    pub safe fn force_q16(phi_q8: u32, tau_bytes: u32, price_q30: u32, rate: u64) -> i64;

    /// clamp#14: (tau - p mu)/d * gap; none while d is unknown. The gap counts for one round trip at most.
    #[link_name = "lasthop_clamp_scaled_change_q16"]
    pub safe fn scaled_change_q16(force_q16: i64, delay_ns: u64, gap_ns: u64) -> i64;

    /// beyond#19: gamma w/RTT * gap, for windows up to 2^30 B. The gap counts for one round trip at most.
    #[link_name = "lasthop_clamp_refill_q16"]
    pub safe fn refill_q16(window_q16: u64, gamma_q10: u32, rtt_ns: u64, gap_ns: u64) -> u64;

    /// Whether a round trip tells of an empty queue: it is the least, but for a 32nd or 2 ms.
    #[link_name = "lasthop_clamp_is_empty"]
    pub safe fn is_empty(rtt_ns: u64, least_ns: u64) -> i32;

    /// clamp#16: d <- (1 - beta) d + beta AWND/mu; the first sample is its value. Up to 2^34 ns.
    #[link_name = "lasthop_clamp_delay_ns"]
    pub safe fn delay_ns(before_ns: u64, awnd_bytes: u64, rate: u64) -> u64;

    /// clamp-report#5: down by the packet's payload at most, up by 10 kB.
    #[link_name = "lasthop_clamp_clipped_q16"]
    pub safe fn clipped_q16(change_q16: i64, payload_bytes: u32, most_bytes: u32) -> i64;

    /// clamp#4.3: a segment more for each packet of slow start, and half of it at its end.
    #[link_name = "lasthop_clamp_slow_start_q16"]
    pub safe fn slow_start_q16(window_q16: u64, mss_bytes: u32) -> u64;

    /// Half of the window, at the end of slow start.
    #[link_name = "lasthop_clamp_end_of_slow_start_q16"]
    pub safe fn end_of_slow_start_q16(window_q16: u64) -> u64;

    /// The window after a change: never below so many bytes. Below one segment a Linux sender stops.
    #[link_name = "lasthop_clamp_floored_q16"]
    pub safe fn floored_q16(window_q16: u64, change_q16: i64, floor_bytes: u64) -> u64;

    /// clamp#17: min(w, AWND).
    #[link_name = "lasthop_clamp_advertised"]
    pub safe fn advertised(window_bytes: u64, own_bytes: u64) -> u64;
}
