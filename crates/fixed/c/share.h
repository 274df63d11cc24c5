/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The share window where one agent has all flows of a queue: beyond#25 w = phi rho (d + y* + kappa (y* - y)), kappa = theta/(theta + d).
 * Rates up to 2^34 B/s (137 Gbit/s), from 10 kB/s on; times up to 2^36 ns (68 s); weights in Q8; g and kappa in Q10.
 */
#ifndef LASTHOP_SHARE_H
#define LASTHOP_SHARE_H

#include "estimate.h"

/* Horizons of 25 ms * 2^i. */
#define SHARE_HORIZONS 7
/* The one to start with: 50 ms. */
#define SHARE_FIRST_HORIZON 1
/* A rate of less busy time is not known yet. */
#define SHARE_KNOWN_NS NS_PER_MS
/* Spans shorter than that are put together: with less, time is lost to rounding. */
#define SHARE_LEAST_SPAN_NS 65536

LASTHOP_INLINE u64 share_horizon_of_ns(u32 i)
{
	return 25 * NS_PER_MS << i;
}

/* Busy time and what left in it, each forgotten with its horizon. */
struct share_rate {
	u64 busy_ns[SHARE_HORIZONS];
	u64 bytes_q4[SHARE_HORIZONS];
};

/* A busy span of 64 us to 6.4 s in which so many bytes left, up to 2^35. */
LASTHOP_INLINE void share_rate_add(struct share_rate *r, u64 span_ns, u64 bytes)
{
	u64 rate_q28 = span_ns ? (least(bytes, 1ULL << 35) << 28) / span_ns : 0;
	u64 keep_q31 = decay_1600ms_q31(span_ns);

	UNROLLED
	for (int i = SHARE_HORIZONS - 1; i >= 0; i--) {
		u64 more_ns = (share_horizon_of_ns(i) * (ONE_Q31 - keep_q31)) >> 31;

		r->busy_ns[i] = times_q31(r->busy_ns[i], keep_q31) + more_ns;
		r->bytes_q4[i] = times_q31(r->bytes_q4[i], keep_q31) + (rate_q28 * more_ns >> 24);
		keep_q31 = squared_q31(keep_q31);
	}
}

/* The rate of busy time over the horizon i; 0 as long as it is unknown. */
LASTHOP_INLINE u64 share_rate_over(const struct share_rate *r, u32 i)
{
	if (i >= SHARE_HORIZONS || r->busy_ns[i] < SHARE_KNOWN_NS)
		return 0;
	return rate_of(r->bytes_q4[i], r->busy_ns[i]) >> 4;
}

/* The rate is at least that: what was delivered while the queue was empty shows it. Where none is known, for a
 * horizon's time. */
LASTHOP_INLINE void share_rate_raise(struct share_rate *r, u64 rate)
{
	UNROLLED
	for (int i = 0; i < SHARE_HORIZONS; i++) {
		u64 bytes_q4;

		if (r->busy_ns[i] < SHARE_KNOWN_NS) {
			r->busy_ns[i] = share_horizon_of_ns(i);
			r->bytes_q4[i] = 0;
		}
		/* B = rate * time: time in 1024 ns, at most 2^21 of them. */
		bytes_q4 = (least(rate, 1ULL << 34) * (r->busy_ns[i] >> 10) / (NS_PER_S >> 10)) << 4;
		if (bytes_q4 > r->bytes_q4[i])
			r->bytes_q4[i] = bytes_q4;
	}
}

/* Whether so much in such a time shows more than the rate that is known. */
LASTHOP_INLINE int share_outruns(u64 bytes, u64 t_ns, u64 rate)
{
	/* Mostly there is room for the products: b/t > r as b > r t. */
	if (t_ns && !(t_ns >> 30 | bytes >> 34 | rate >> 34))
		return bytes * NS_PER_S >= (rate + 1) * t_ns;
	return rate_of(bytes, t_ns) > rate;
}

/* How wrong a forecast was: min((ln rate - ln forecast)^2, 4) in the square of log2, in Q20; both logs in Q16. */
LASTHOP_INLINE u64 share_error_q20(u64 rate_log_q16, u64 forecast_log_q16)
{
	u64 apart = rate_log_q16 > forecast_log_q16 ? rate_log_q16 - forecast_log_q16 : forecast_log_q16 - rate_log_q16;

	/* 2/ln 2 */
	apart = least(apart, 189095);
	return apart * apart >> 12;
}

/* What a horizon has been wrong by of late: L + (e - L)(1 - e^(-.01)). */
LASTHOP_INLINE u64 share_loss_q20(u64 before_q20, u64 error_q20)
{
	if (error_q20 > before_q20)
		return before_q20 + ((error_q20 - before_q20) * 652 >> 16);
	return before_q20 - ((before_q20 - error_q20) * 652 >> 16);
}

/* Whether a horizon is better than the present one by enough: below .97 of its loss. */
LASTHOP_INLINE int share_is_better(u64 loss_q20, u64 present_q20)
{
	return 33 * loss_q20 < 32 * present_q20;
}

/* mu/Phi, the rate of a flow of weight 1. */
LASTHOP_INLINE u64 share_fair(u64 rate, u64 weights_q8)
{
	return weights_q8 ? (rate << 8) / weights_q8 : 0;
}

/* rho with those apart who take less than their part: `taken` is theirs, and of the weights `limited_q8`. */
LASTHOP_INLINE u64 share_of_rest(u64 rate, u64 weights_q8, u64 taken, u64 limited_q8)
{
	/* beyond#18 */
	return weights_q8 > limited_q8 ? share_fair(excess(rate, taken), weights_q8 - limited_q8) : share_fair(rate, weights_q8);
}

/* rho smoothed over 1.5 d upwards and 1.25 d downwards; the first is its value. Up to 2^34 B/s. */
LASTHOP_INLINE u64 share_smoothed(u64 before, u64 fair, u64 gap_ns, u64 delay_ns)
{
	u64 span_ns = delay_ns + (fair > before ? delay_ns / 2 : delay_ns / 4);

	return before ? towards(before, fair, decay_over_q31(gap_ns, span_ns)) : fair;
}

/* y, how long the queue lasts. */
LASTHOP_INLINE u64 share_wait_ns(u64 queue_bytes, u64 rate)
{
	return lasts_ns(queue_bytes, rate);
}

/* kappa = theta/(theta + d), how much of what the queue is too short or too long is made up for at once. Each up to 2^36 ns. */
LASTHOP_INLINE u32 share_kappa_q10(u64 theta_ns, u64 delay_ns)
{
	u64 theta = least(theta_ns, 1ULL << 36);

	return theta ? (u32)least((theta << 10) / (theta + least(delay_ns, 1ULL << 36)), 1023) : 0;
}

/* r = T + kappa (T - y), less than nothing where y asks for that. T may be y*. Each up to 2^36 ns. */
LASTHOP_INLINE s64 share_room_ns(u64 target_ns, u64 wait_ns, u32 kappa_q10)
{
	return (s64)(target_ns + (kappa_q10 * target_ns >> 10)) - (s64)(kappa_q10 * least(wait_ns, 1ULL << 36) >> 10);
}

/* m = min((1 - g) d, T): what one that knows nothing of others leaves empty of its path (beyond#13). d up to 2^36 ns. */
LASTHOP_INLINE u64 share_short_ns(u64 target_ns, u64 delay_ns, u32 g_q10)
{
	return least(excess(1024, g_q10) * least(delay_ns, 1ULL << 36) >> 10, target_ns);
}

/* min(.3 d, 10 ms), by which a lead is shorter than its path (station#7). */
LASTHOP_INLINE u64 share_lead_short_ns(u64 delay_ns)
{
	/* From a third of .1 s on it is 10 ms. */
	return tenth(3 * least(delay_ns, 33333334));
}

/* m/(1 + kappa), of the means of m and kappa: by what y* is short of T (beyond#15). */
LASTHOP_INLINE u64 share_lacking_ns(u64 short_ns, u32 kappa_q10)
{
	return (least(short_ns, 1ULL << 36) << 10) / (1024 + kappa_q10);
}

/* y*. T up to 2^36 ns. */
LASTHOP_INLINE u64 share_rest_ns(u64 target_ns, u64 lacking_ns)
{
	return excess(target_ns, lacking_ns);
}

/* d + r, and 0 where that is less. d up to 2^36 ns. */
LASTHOP_INLINE u64 share_horizon_ns(u64 delay_ns, s64 room_ns)
{
	s64 horizon_ns = (s64)delay_ns + room_ns;

	return horizon_ns > 0 ? (u64)horizon_ns : 0;
}

/* phi rho times the horizon of 2^36 ns at most, as bytes on the wire. Up to 2^34 B. */
LASTHOP_INLINE u64 share_window_bytes(u32 phi_q8, u64 fair, u64 horizon_ns)
{
	/* rate/1024 * ns/1024 * 2^20/10^9: below 2^24 * 2^26 * 2^... in two steps, to keep small rates exact. */
	u64 rate_q4 = least((fair * phi_q8) >> 4, (1ULL << 38) - 1);

	if (rate_q4 >> 28)
		return least((rate_q4 >> 10) * least(horizon_ns, 1ULL << 36) / (16 * NS_PER_S >> 10), 1ULL << 34);
	return rate_q4 * least(horizon_ns, 1ULL << 36) / (16 * NS_PER_S);
}

/* Whether a path so long holds so many bytes at that rate: share_window_bytes for a weight of 1 is no less. */
LASTHOP_INLINE int share_holds(u64 rate, u64 horizon_ns, u64 bytes)
{
	/* 2^30 ns are more than a second: mostly no division is needed to see it. */
	if (bytes <= 1ULL << 34 && (least(rate, 1ULL << 34) >> 10) * (least(horizon_ns, 1ULL << 36) >> 20) >= bytes)
		return 1;
	return share_window_bytes(256, rate, horizon_ns) >= bytes;
}

/*
 * What steered flows have at least beside others: half, or of what `rest_q10` leaves, which is of no connection that is known, their part by
 * weight beside connections that nobody steers.
 */
LASTHOP_INLINE u32 share_least_part_q10(u64 weights_q8, u64 unsteered_q8, u64 rest_q10)
{
	u64 ours_q8 = least(weights_q8, 1ULL << 40), all_q8 = ours_q8 + least(unsteered_q8, 1ULL << 40);

	return (u32)most(all_q8 ? excess(1024, rest_q10) * ours_q8 / all_q8 : 0, 512);
}

/*
 * How much of the wait is others', whose part of the traffic is that: as much of it, but all, and up to four times that, as connections that
 * nobody steers, known by their weight, have that part of the traffic that is theirs, and up to twice that; by the square. Such senders fill a
 * queue, however little of it their packets are, and however short it is at most.
 */
LASTHOP_INLINE u32 share_theirs_q10(u32 others_q10, u64 unsteered_part_q10, u64 weights_q8, u64 unsteered_q8)
{
	u64 theirs_q8 = least(unsteered_q8, 1ULL << 40), all_q8 = least(weights_q8, 1ULL << 40) + theirs_q8;
	u64 times_q10 = theirs_q8 ? least(least(unsteered_part_q10, 1024) * all_q8 / theirs_q8, 2048) : 0;

	return (u32)most(times_q10 * times_q10 >> 10, least(others_q10, 1024));
}

/*
 * The rate that steered flows share beside others, whose part of the traffic is known: what those leave, and no less than
 * share_least_part_q10. `is_all`: the rate is that of all, else that of the steered alone.
 */
LASTHOP_INLINE u64 share_rate_beside(u64 rate, u64 others_q10, u32 least_part_q10, int is_all)
{
	u64 left_q10 = excess(1024, others_q10), ours_q10 = most(left_q10, least(least_part_q10, 1024));

	if (!others_q10)
		return least(rate, 1ULL << 34);
	return least(rate, 1ULL << 34) * ours_q10 / (is_all ? 1024 : most(left_q10, 64));
}

/*
 * T beside others. A queue that they fill, however far the steered flows withdraw, is not priced: as what is theirs of the
 * wait y goes from 3T to 4T, T goes on to 15/16 of y.
 */
LASTHOP_INLINE u64 share_target_beside_ns(u64 target_ns, u64 wait_ns, u64 theirs_q10)
{
	u64 y_ns = least(wait_ns, 1ULL << 36);
	u64 over_ns = least(excess(y_ns * least(theirs_q10, 4096) >> 10, 3 * target_ns), target_ns);

	return over_ns ? target_ns + excess(y_ns, target_ns) / 16 * 15 / 1024 * (over_ns * 1024 / target_ns) : target_ns;
}

/*
 * What a flow asks the queue to be that loses its share beside it for its sender keeps less than its window under way, as BBR does: no
 * longer than its path, at first; then, each time that it asks, a 16th shorter than it is to be at present; T/8 at least.
 */
LASTHOP_INLINE u64 share_borne_ns(u64 path_ns, u64 present_ns, u64 target_ns)
{
	return most(least(path_ns, present_ns - present_ns / 16), target_ns / 8);
}

/*
 * What a window of less than a few segments is multiplied by, where those with such windows take `even` in the mean: 1 + 2 (even - taken)/even,
 * from 1/2 to 2, and 1 where that is not known. Such windows make no even shares by themselves, for what becomes of a segment or two is not
 * the same for each: BBR sends them apart, a receiver holds back the ACK of one.
 */
LASTHOP_INLINE u32 share_lean_q10(u64 taken, u64 even)
{
	if (!even)
		return 1024;
	return (u32)least(most(excess(3072, (least(taken, 1ULL << 34) << 11) / even), 512), 2048);
}

/* What of it is payload, where a full segment of mss bytes takes so much more on the wire. */
LASTHOP_INLINE u64 share_payload(u64 wire_bytes, u32 mss_bytes, u32 header_bytes)
{
	return mss_bytes ? least(wire_bytes, 1ULL << 34) * mss_bytes / (mss_bytes + header_bytes) : wire_bytes;
}

/* A path has changed if both of two half seconds saw nothing faster than d + 2T: what the faster one saw is d then. */
LASTHOP_INLINE int share_path_changed(u64 least_ns, u64 before_ns, u64 delay_ns, u64 target_ns)
{
	return least_ns && before_ns && least(least_ns, before_ns) > delay_ns + 2 * target_ns;
}

/* Whether the least delay has grown so much that the queue may be hidden in it, and not noise alone: a drain tells. */
LASTHOP_INLINE int share_wants_probe(u64 least_ns, u64 last_ns)
{
	return last_ns && least_ns > last_ns + (last_ns >> 6) + NS_PER_MS;
}

#endif
