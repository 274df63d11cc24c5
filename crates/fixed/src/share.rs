// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share window.

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Horizons of 25 ms · 2^i.
pub const HORIZONS: usize = 7;
/// The shortest span that [`rate_add`] takes in without loss \[ns\].
pub const LEAST_SPAN_NS: u64 = 65_536;

/// Of less busy time than this a rate is not known \[ns\].
pub const KNOWN_NS: u64 = 1_000_000;

/// Busy time and what left in it, each forgotten with its horizon: `struct share_rate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct BusyRate {
    /// Busy time of each horizon.
    pub busy_ns: [u64; HORIZONS],
    /// Bytes that left in it.
    pub bytes_q4: [u64; HORIZONS],
}

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// Horizon i, of 25 ms · 2^i.
    #[link_name = "lasthop_share_horizon_of_ns"]
    pub safe fn horizon_of_ns(i: u32) -> u64;

    /// A busy span of 64 us to 6.4 s in which so many bytes left, up to 2^35.
    #[link_name = "lasthop_share_rate_add"]
    pub safe fn rate_add(r: &mut BusyRate, span_ns: u64, bytes: u64);

    /// The rate of busy time over the horizon i; 0 as long as it is unknown.
    #[link_name = "lasthop_share_rate_over"]
    pub safe fn rate_over(r: &BusyRate, i: u32) -> u64;

    /// The rate is at least that: what was delivered while the queue was empty shows it. Where none is known, for a horizon's time.
    #[link_name = "lasthop_share_rate_raise"]
    pub safe fn rate_raise(r: &mut BusyRate, rate: u64);

    /// Whether so much in such a time shows more than the rate that is known.
    #[link_name = "lasthop_share_outruns"]
    pub safe fn outruns(bytes: u64, t_ns: u64, rate: u64) -> i32;

    /// How wrong a forecast was: min((ln rate - ln forecast)^2, 4) in the square of log2, in Q20; both logs in Q16.
    #[link_name = "lasthop_share_error_q20"]
    pub safe fn error_q20(rate_log_q16: u64, forecast_log_q16: u64) -> u64;

    /// What a horizon has been wrong by of late: L + (e - L)(1 - e^(-.01)).
    #[link_name = "lasthop_share_loss_q20"]
    pub safe fn loss_q20(before_q20: u64, error_q20: u64) -> u64;

    /// Whether a horizon is better than the present one by enough: below .97 of its loss.
    #[link_name = "lasthop_share_is_better"]
    pub safe fn is_better(loss_q20: u64, present_q20: u64) -> i32;

    /// mu/Phi, the rate of a flow of weight 1.
    #[link_name = "lasthop_share_fair"]
    pub safe fn fair(rate: u64, weights_q8: u64) -> u64;

    /// rho with those apart who take less than their part: `taken` is theirs, and of the weights `limited_q8`.
    #[link_name = "lasthop_share_of_rest"]
    pub safe fn of_rest(rate: u64, weights_q8: u64, taken: u64, limited_q8: u64) -> u64;

    /// rho smoothed over 1.5 d upwards and 1.25 d downwards; the first is its value. Up to 2^34 B/s.
    #[link_name = "lasthop_share_smoothed"]
    pub safe fn smoothed(before: u64, fair: u64, gap_ns: u64, delay_ns: u64) -> u64;

    /// y, how long the queue lasts.
    #[link_name = "lasthop_share_wait_ns"]
    pub safe fn wait_ns(queue_bytes: u64, rate: u64) -> u64;

    /// kappa = theta/(theta + d), how much of what the queue is too short or too long is made up for at once. Each up to 2^36 ns.
    #[link_name = "lasthop_share_kappa_q10"]
    pub safe fn kappa_q10(theta_ns: u64, delay_ns: u64) -> u32;

    /// r = T + kappa (T - y), less than nothing where y asks for that. T may be y*. Each up to 2^36 ns.
    #[link_name = "lasthop_share_room_ns"]
    pub safe fn room_ns(target_ns: u64, wait_ns: u64, kappa_q10: u32) -> i64;

    /// m = min((1 - g) d, T): what one that knows nothing of others leaves empty of its path (beyond#13). d up to 2^36 ns.
    #[link_name = "lasthop_share_short_ns"]
    pub safe fn short_ns(target_ns: u64, delay_ns: u64, g_q10: u32) -> u64;

    /// min(.3 d, 10 ms), by which a lead is shorter than its path (station#7).
    #[link_name = "lasthop_share_lead_short_ns"]
    pub safe fn lead_short_ns(delay_ns: u64) -> u64;

    /// m/(1 + kappa), of the means of m and kappa: by what y* is short of T (beyond#15).
    #[link_name = "lasthop_share_lacking_ns"]
    pub safe fn lacking_ns(short_ns: u64, kappa_q10: u32) -> u64;

    /// y*. T up to 2^36 ns.
    #[link_name = "lasthop_share_rest_ns"]
    pub safe fn rest_ns(target_ns: u64, lacking_ns: u64) -> u64;

    /// d + r, and 0 where that is less. d up to 2^36 ns.
    #[link_name = "lasthop_share_horizon_ns"]
    pub safe fn horizon_ns(delay_ns: u64, room_ns: i64) -> u64;

    /// phi rho times the horizon, as bytes on the wire. Up to 2^34 B.
    #[link_name = "lasthop_share_window_bytes"]
    pub safe fn window_bytes(phi_q8: u32, fair: u64, horizon_ns: u64) -> u64;

    /// Whether a path so long holds so many bytes at that rate: [`window_bytes`] for a weight of 1 is no less.
    #[link_name = "lasthop_share_holds"]
    pub safe fn holds(rate: u64, horizon_ns: u64, bytes: u64) -> i32;

    /// What steered flows have at least beside others: half, or of what is left by what is of no connection that is known, their part by weight beside
    /// connections that nobody steers. Weights up to 2^40.
    #[link_name = "lasthop_share_least_part_q10"]
    pub safe fn least_part_q10(weights_q8: u64, unsteered_q8: u64, rest_q10: u64) -> u32;

    /// How much of the wait is others': as much as of the traffic, but all, and up to four times that, as connections that nobody steers have the part
    /// that is theirs by weight, and up to twice that; by the square.
    /// Weights up to 2^40.
    #[link_name = "lasthop_share_theirs_q10"]
    pub safe fn theirs_q10(others_q10: u32, unsteered_part_q10: u64, weights_q8: u64, unsteered_q8: u64) -> u32;

    /// The rate that steered flows share beside others: what those leave, and no less than that part of all. `is_all`: the rate is that of all, else that of the steered alone.
    #[link_name = "lasthop_share_rate_beside"]
    pub safe fn rate_beside(rate: u64, others_q10: u64, least_part_q10: u32, is_all: i32) -> u64;

    /// T beside others: as what is theirs of the wait y goes from 3T to 4T, T goes on to 15/16 of y.
    #[link_name = "lasthop_share_target_beside_ns"]
    pub safe fn target_beside_ns(target_ns: u64, wait_ns: u64, theirs_q10: u64) -> u64;

    /// What a flow asks the queue to be that loses its share beside it: no longer than its path, then a 16th shorter than it is to be at present; T/8 at least.
    #[link_name = "lasthop_share_borne_ns"]
    pub safe fn borne_ns(path_ns: u64, present_ns: u64, target_ns: u64) -> u64;

    /// What a window of less than a few segments is multiplied by: 1 + 2 (even - taken)/even, from 1/2 to 2; 1 where the others' mean is not known.
    #[link_name = "lasthop_share_lean_q10"]
    pub safe fn lean_q10(taken: u64, even: u64) -> u32;

    /// What of it is payload, where a full segment of mss bytes takes so much more on the wire.
    #[link_name = "lasthop_share_payload"]
    pub safe fn payload(wire_bytes: u64, mss_bytes: u32, header_bytes: u32) -> u64;

    /// A path has changed if both of two half seconds saw nothing faster than d + 2T: what the faster one saw is d then.
    #[link_name = "lasthop_share_path_changed"]
    pub safe fn path_changed(least_ns: u64, before_ns: u64, delay_ns: u64, target_ns: u64) -> i32;

    /// Whether the least delay has grown so much that the queue may be hidden in it, and not noise alone: a drain tells.
    #[link_name = "lasthop_share_wants_probe"]
    pub safe fn wants_probe(least_ns: u64, last_ns: u64) -> i32;
}
