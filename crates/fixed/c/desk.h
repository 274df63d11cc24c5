/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The station window: a desk sets the windows of all connections of a station. Each fills what the slower ones will leave of
 * the line within its own round trip. Rates, times, weights and kappa as in share.h; sizes up to 2^34 B; parts in Q16, z in
 * Q24.
 */
#ifndef LASTHOP_DESK_H
#define LASTHOP_DESK_H

#include "share.h"

/* |z| at most. */
#define DESK_MOST_LEAN_Q24 (3LL << 23)
/* e from which on a weight rises, and -e from which on it falls: .15 and .4. */
#define DESK_SHORT_Q16 9830
#define DESK_OVER_Q16 26214

/* x, where it is within +-most. */
LASTHOP_INLINE s64 desk_within(s64 x, s64 most)
{
	if (x > most)
		return most;
	return x < -most ? -most : x;
}

/* What was granted between two edges of a window: station#3 O = E(t) - E(t - d), station#5 A = E(t - d + d') - E(t - d). */
LASTHOP_INLINE u64 desk_between(u32 edge_later, u32 edge_then)
{
	return (int)(edge_later - edge_then) > 0 ? edge_later - edge_then : 0;
}

/* The part of what is thought to wait that does, in a queue of so many bytes: min(1, q/thought). */
LASTHOP_INLINE u64 desk_scale_q16(u64 queue_bytes, u64 thought_bytes)
{
	return thought_bytes > queue_bytes ? (least(queue_bytes, 1ULL << 34) << 16) / thought_bytes : 1 << 16;
}

/* q: station#4 (I - O)+ times that scale. */
LASTHOP_INLINE u64 desk_waiting(u64 held_bytes, u64 pipe_bytes, u64 scale_q16)
{
	return least(excess(held_bytes, pipe_bytes), 1ULL << 34) * scale_q16 >> 16;
}

/* Whether another is slower: station#6 d_j > 1.3 d_i + 5 ms. */
LASTHOP_INLINE int desk_is_slower(u64 other_ns, u64 delay_ns)
{
	return 10 * other_ns > 13 * delay_ns + 50 * NS_PER_MS;
}

/* How far ahead a flow fills the line: station#7 l = d - min(.3 d, 10 ms) if nobody is faster, else .9 d. */
LASTHOP_INLINE u64 desk_lead_ns(u64 delay_ns, int is_fastest)
{
	return is_fastest ? delay_ns - share_lead_short_ns(delay_ns) : 9 * delay_ns / 10;
}

/* What there may be within a lead and in the queue: station#8 rho (l + T) + kappa (rho T - q). */
LASTHOP_INLINE s64 desk_room(u64 rate, u64 lead_ns, u64 target_ns, u32 kappa_q10, u64 queue_bytes)
{
	u64 full = share_window_bytes(256, rate, lead_ns + target_ns + (kappa_q10 * target_ns >> 10));

	return (s64)full - (s64)(kappa_q10 * least(queue_bytes, 1ULL << 34) >> 10);
}

/* One of several, which are below 2^47 in all. */
LASTHOP_INLINE u64 desk_part_q16(u64 one, u64 all)
{
	return all ? (least(one, all) << 16) / all : 0;
}

/* w: station#9 its part of the room that the slower ones leave. */
LASTHOP_INLINE u64 desk_window(u64 part_q16, s64 room_bytes, u64 slower_bytes)
{
	return room_bytes > 0 ? least(excess((u64)room_bytes, slower_bytes), 1ULL << 34) * part_q16 >> 16 : 0;
}

/* p: station#10 phi e^(z - 1.5). Only ratios count, so that no mean of z need be known. */
LASTHOP_INLINE u64 desk_leaning_q24(u32 phi_q8, s64 lean_q24)
{
	return phi_q8 * decay_q31((u64)(DESK_MOST_LEAN_Q24 - desk_within(lean_q24, DESK_MOST_LEAN_Q24))) >> 15;
}

/* e: station#11 1 - r/share, down to -63. */
LASTHOP_INLINE s64 desk_shortfall_q16(u64 rate, u64 share)
{
	return share ? 65536 - (s64)least((least(rate, 1ULL << 34) << 16) / share, 64 << 16) : 0;
}

/* z after so long: station#12 dz/dt = .05/s (e - .15 if e > .15; e + .4 if e < -.4; else 0), |z| <= 1.5. Up to 100 ms. */
LASTHOP_INLINE s64 desk_lean_q24(s64 before_q24, s64 shortfall_q16, u64 elapsed_ns)
{
	/* .05 e-9 * 2^8, in Q16: 880/2^20. */
	s64 step_q16 = (s64)(least(elapsed_ns, NS_PER_S / 10) * 880 >> 20), over_q16 = 0;

	shortfall_q16 = desk_within(shortfall_q16, 64 << 16);
	if (shortfall_q16 > DESK_SHORT_Q16)
		over_q16 = shortfall_q16 - DESK_SHORT_Q16;
	else if (shortfall_q16 < -DESK_OVER_Q16)
		over_q16 = shortfall_q16 + DESK_OVER_Q16;
	before_q24 = desk_within(before_q24, DESK_MOST_LEAN_Q24);
	return desk_within(before_q24 + (over_q16 * step_q16 >> 16), DESK_MOST_LEAN_Q24);
}

/* Whether a flow has no more to send: station#13 u < I/4. In any unit. */
LASTHOP_INLINE int desk_is_limited(u64 used, u64 held)
{
	return used < held >> 2;
}

/* What a limited flow holds: station#14 r (d + q/mu). */
LASTHOP_INLINE u64 desk_held_by_limited(u64 rate, u64 delay_ns, u64 wait_ns)
{
	return share_window_bytes(256, rate, delay_ns + wait_ns);
}

/* A limited flow's own window: station#15 phi/Phi mu (d + T). */
LASTHOP_INLINE u64 desk_limited_window(u64 part_q16, u64 rate, u64 delay_ns, u64 target_ns)
{
	return share_window_bytes(256, rate, delay_ns + target_ns) * part_q16 >> 16;
}

/* A window while the queue is drained: station#18 phi/Phi mu d/2. */
LASTHOP_INLINE u64 desk_draining_window(u64 part_q16, u64 rate, u64 delay_ns)
{
	return share_window_bytes(256, rate, delay_ns / 2) * part_q16 >> 16;
}

/* rho smoothed over 1.2 d upwards and .3 d downwards; the first is its value. Up to 2^34 B/s. */
LASTHOP_INLINE u64 desk_followed(u64 before, u64 rate, u64 gap_ns, u64 delay_ns)
{
	u64 span_ns = rate > before ? 6 * delay_ns / 5 : 3 * delay_ns / 10;

	return before ? towards(before, rate, decay_over_q31(gap_ns, span_ns)) : rate;
}

/* Whether ACKs wait for each other, so that updates would be in their way: station#17. */
LASTHOP_INLINE int desk_is_crowded(u64 excess_ns)
{
	return excess_ns > 20 * NS_PER_MS;
}

#endif
