// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP(α, β) with γ and δ.

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// gamma#3: alpha = 4(1 - beta^2)/3, for beta up to 1. Rounds down.
    #[link_name = "lasthop_gaimd_friendly_alpha_q16"]
    pub safe fn friendly_alpha_q16(beta_q16: u32) -> u32;

    /// aimd#3: the window after so many acknowledged segments, alpha/w for each. alpha up to 2^8, acked up to 2^16. Rounds down.
    #[link_name = "lasthop_gaimd_increase_q16"]
    pub safe fn increase_q16(window_q16: u64, alpha_q16: u32, acked: u32) -> u64;

    /// aimd#4: beta of the window. Rounds down.
    #[link_name = "lasthop_gaimd_decrease_q16"]
    pub safe fn decrease_q16(window_q16: u64, beta_q16: u32) -> u64;

    /// gamma#15: whether the queue is at least so much of the greatest; never while all times are alike.
    #[link_name = "lasthop_gamma_is_above"]
    pub safe fn is_above(threshold_q16: u32, rtt: u32, min_rtt: u32, max_rtt: u32) -> i32;

    /// gamma#17: whether it is at most so much; always while all times are alike.
    #[link_name = "lasthop_gamma_is_below"]
    pub safe fn is_below(threshold_q16: u32, rtt: u32, min_rtt: u32, max_rtt: u32) -> i32;

    /// gamma#16: minRTT/(Th maxRTT + (1 - Th) minRTT), at most 1. Rounds down.
    #[link_name = "lasthop_gamma_share_q24"]
    pub safe fn share_q24(threshold_q16: u32, min_rtt: u32, max_rtt: u32) -> u64;

    /// What `CutRule::Drain` leaves: (minRTT/RTT)^4, RTT being the least of a round trip. Rounds down.
    #[link_name = "lasthop_gamma_drain_q24"]
    pub safe fn drain_q24(min_rtt: u32, standing_rtt: u32) -> u64;

    /// maxRTT of `CutRule::Drain` after a round trip of so much at least: nearer by a 64th of what it is longer. Rounds up.
    #[link_name = "lasthop_gamma_fading_maximum"]
    pub safe fn fading_maximum(max_rtt: u32, standing_rtt: u32) -> u32;

    /// Whether a flow with so many segments under way has one of them at least in the queue.
    #[link_name = "lasthop_gamma_waits"]
    pub safe fn waits(rtt: u32, min_rtt: u32, window_q16: u64) -> i32;

    /// The window after a cut to such a share: one segment at least. Rounds down.
    #[link_name = "lasthop_gamma_cut_q16"]
    pub safe fn cut_q16(window_q16: u64, share_q24: u64) -> u64;
}
