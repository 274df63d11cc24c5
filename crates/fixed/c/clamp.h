/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * CLAMP's equations, each by the name that it has in the simulator. Rates up to 2^32 B/s, queues and windows up to
 * 2^32 B, weights phi up to 256.
 */
#ifndef LASTHOP_CLAMP_H
#define LASTHOP_CLAMP_H

#include "estimate.h"

/* beta = .001 of a new sample in the round-trip time. */
#define CLAMP_BETA_Q20 1049
/* The largest growth by a packet. */
#define CLAMP_MOST_BYTES 10000
/* A round trip that is longer than the path by less still tells of an empty queue. */
#define CLAMP_EMPTY_NS (2 * NS_PER_MS)

/* clamp#13: what of an averaged queue is too much, b = 1. */
LASTHOP_INLINE u64 clamp_linear_q16(u64 queue_q16, u64 a_bytes)
{
	return excess(queue_q16, a_bytes << 16);
}

/*
 * What of a queue is priced beside others. What they fill, however far the steered flows withdraw, is not: as what is theirs goes from 3a to
 * 4a, the less of that is, and none in the end.
 */
LASTHOP_INLINE u64 clamp_beside_q16(u64 queue_q16, u32 theirs_q10, u64 a_bytes)
{
	u64 a_q16 = least(a_bytes, 1ULL << 32) << 16, part_q16 = least(queue_q16, 1ULL << 50) >> 10;
	u64 over_q16 = least(excess(part_q16 * least(theirs_q10, 4096), 3 * a_q16), a_q16);

	return over_q16 ? queue_q16 - part_q16 * least(theirs_q10, 1024) / 1024 * (over_q16 / (a_q16 >> 10)) : queue_q16;
}

/* clamp-report#1: a parabola up to 2a, which the line goes on from. q^2/4a as (q/2a) * (q/2), the quotient in Q31. */
LASTHOP_INLINE u64 clamp_smooth_q16(u64 queue_q16, u64 a_bytes)
{
	u64 a_q16 = a_bytes << 16;

	if (queue_q16 > 2 * a_q16 || !a_bytes)
		return queue_q16 - a_q16;
	return times_q31(queue_q16, (queue_q16 << 14) / a_bytes) >> 1;
}

/* The price: excess/rate; 0 as long as the rate is unknown. At most 4 s. Its scale is that of the wire. */
LASTHOP_INLINE u32 clamp_price_q30(u64 excess_q16, u64 rate)
{
	u64 price;

	if (!rate)
		return 0;
	price = (least(excess_q16, 1ULL << 48) << 14) / rate;
	return (u32)least(price, 0xffffffff);
}

/* What a flow wants more in the queue than it has there: phi tau - p mu. */
LASTHOP_INLINE s64 clamp_force_q16(u32 phi_q8, u32 tau_bytes, u32 price_q30, u64 rate)
{
	u64 held_q16 = ((u64)price_q30 * (u32)least(rate, 0xffffffff)) >> 14;

	return (s64)(((u64)phi_q8 * tau_bytes) << 8) - (s64)held_q16;
}

/* clamp#14: (tau - p mu)/d * gap; none while d is unknown. The gap counts for one round trip at most. */
LASTHOP_INLINE s64 clamp_scaled_change_q16(s64 force_q16, u64 delay_ns, u64 gap_ns)
{
	u64 share_q20;

	if (!delay_ns)
		return 0;
	share_q20 = gap_ns >= delay_ns ? 1 << 20 : (gap_ns << 20) / delay_ns;
	if (force_q16 < 0)
		return -(s64)(((u64)-force_q16 >> 8) * share_q20 >> 12);
	return (s64)(((u64)force_q16 >> 8) * share_q20 >> 12);
}

/* beyond#19: gamma w/RTT * gap, for windows up to 2^30 B. The gap counts for one round trip at most. */
LASTHOP_INLINE u64 clamp_refill_q16(u64 window_q16, u32 gamma_q10, u64 rtt_ns, u64 gap_ns)
{
	u64 share_q20;

	if (!rtt_ns)
		return 0;
	share_q20 = gap_ns >= rtt_ns ? 1 << 20 : (gap_ns << 20) / rtt_ns;
	return (least(window_q16, 1ULL << 46) >> 8) * share_q20 / 1024 * gamma_q10 >> 12;
}

/* Whether a round trip tells of an empty queue: it is the least, but for a 32nd or 2 ms. */
LASTHOP_INLINE int clamp_is_empty(u64 rtt_ns, u64 least_ns)
{
	return rtt_ns <= least_ns + most(least_ns >> 5, CLAMP_EMPTY_NS);
}

/* clamp#16: d <- (1 - beta) d + beta AWND/mu; the first sample is its value. Up to 2^34 ns. */
LASTHOP_INLINE u64 clamp_delay_ns(u64 before_ns, u64 awnd_bytes, u64 rate)
{
	u64 sample_ns = least(lasts_ns(awnd_bytes, rate), 1ULL << 34);

	if (!rate)
		return before_ns;
	if (!before_ns)
		return sample_ns;
	if (sample_ns > before_ns)
		return before_ns + ((sample_ns - before_ns) * CLAMP_BETA_Q20 >> 20);
	return before_ns - ((before_ns - sample_ns) * CLAMP_BETA_Q20 >> 20);
}

/* clamp-report#5: down by the packet's payload at most, up by 10 kB. */
LASTHOP_INLINE s64 clamp_clipped_q16(s64 change_q16, u32 payload_bytes, u32 most_bytes)
{
	s64 down = -((s64)payload_bytes << 16), up = (s64)most_bytes << 16;

	return change_q16 < down ? down : change_q16 > up ? up : change_q16;
}

/* clamp#4.3: a segment more for each packet of slow start, and half of it at its end. */
LASTHOP_INLINE u64 clamp_slow_start_q16(u64 window_q16, u32 mss_bytes)
{
	return window_q16 + ((u64)mss_bytes << 16);
}

LASTHOP_INLINE u64 clamp_end_of_slow_start_q16(u64 window_q16)
{
	return window_q16 >> 1;
}

/* The window after a change: never below so many bytes. Below one segment a Linux sender stops. */
LASTHOP_INLINE u64 clamp_floored_q16(u64 window_q16, s64 change_q16, u64 floor_bytes)
{
	u64 floor_q16 = floor_bytes << 16;
	s64 next = (s64)window_q16 + change_q16;

	return next < (s64)floor_q16 ? floor_q16 : (u64)next;
}

/* clamp#17: min(w, AWND). */
LASTHOP_INLINE u64 clamp_advertised(u64 window_bytes, u64 own_bytes)
{
	return least(window_bytes, own_bytes);
}

#endif
