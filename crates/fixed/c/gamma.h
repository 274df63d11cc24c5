/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The equations of TCP(alpha, beta), gamma and delta, each by the name that it has in the simulator. Windows up to 2^20
 * segments; times in microseconds up to 2^27 (134 s), or in any other unit, as only their ratios count.
 */
#ifndef LASTHOP_GAMMA_H
#define LASTHOP_GAMMA_H

#include "arith.h"

#define ONE_Q16 (1ULL << 16)
#define GAMMA_MOST_WINDOW_Q16 (1ULL << 36)

/* gamma#3: alpha = 4(1 - beta^2)/3, for beta up to 1. Rounds down. */
LASTHOP_INLINE u32 gaimd_friendly_alpha_q16(u32 beta_q16)
{
	u64 squared_q32 = (u64)beta_q16 * beta_q16;

	return (u32)((4 * excess(1ULL << 32, squared_q32) / 3) >> 16);
}

/* aimd#3: the window after so many acknowledged segments, alpha/w for each. alpha up to 2^8, acked up to 2^16. Rounds
 * down. */
LASTHOP_INLINE u64 gaimd_increase_q16(u64 window_q16, u32 alpha_q16, u32 acked)
{
	u64 window = least(window_q16, GAMMA_MOST_WINDOW_Q16);

	return window ? window_q16 + ((((u64)alpha_q16 * acked) << 16) / window) : window_q16;
}

/* aimd#4: beta of the window. Rounds down. */
LASTHOP_INLINE u64 gaimd_decrease_q16(u64 window_q16, u32 beta_q16)
{
	return (least(window_q16, GAMMA_MOST_WINDOW_Q16) * beta_q16) >> 16;
}

/* gamma#15: whether the queue is at least so much of the greatest; never while all times are alike. Thresholds up to 1. */
LASTHOP_INLINE int gamma_is_above(u32 threshold_q16, u32 rtt, u32 min_rtt, u32 max_rtt)
{
	if (max_rtt <= min_rtt)
		return 0;
	return excess(rtt, min_rtt) << 16 >= (u64)threshold_q16 * (max_rtt - min_rtt);
}

/* gamma#17: whether it is at most so much; always while all times are alike. */
LASTHOP_INLINE int gamma_is_below(u32 threshold_q16, u32 rtt, u32 min_rtt, u32 max_rtt)
{
	if (max_rtt <= min_rtt)
		return 1;
	return excess(rtt, min_rtt) << 16 <= (u64)threshold_q16 * (max_rtt - min_rtt);
}

/* gamma#16: minRTT/(Th maxRTT + (1 - Th) minRTT), at most 1. Rounds down. */
LASTHOP_INLINE u64 gamma_share_q24(u32 threshold_q16, u32 min_rtt, u32 max_rtt)
{
	u64 threshold = least(threshold_q16, ONE_Q16);
	u64 knee_q16 = threshold * max_rtt + (ONE_Q16 - threshold) * min_rtt;
	u64 min = min_rtt;

	/* There is room for min_rtt in Q40 below 2^24. */
	if (min >> 23) {
		min >>= 4;
		knee_q16 >>= 4;
	}
	return knee_q16 ? least((min << 40) / knee_q16, ONE_Q24) : ONE_Q24;
}

/* What CutRule::Drain leaves: (minRTT/RTT)^4, RTT being the least of a round trip. Rounds down. */
LASTHOP_INLINE u64 gamma_drain_q24(u32 min_rtt, u32 standing_rtt)
{
	u64 knee_q24 = standing_rtt ? least(((u64)min_rtt << 24) / standing_rtt, ONE_Q24) : ONE_Q24;

	knee_q24 = knee_q24 * knee_q24 >> 24;
	return knee_q24 * knee_q24 >> 24;
}

/* maxRTT of CutRule::Drain after a round trip of so much at least: nearer by a 64th of what it is longer. Rounds up. */
LASTHOP_INLINE u32 gamma_fading_maximum(u32 max_rtt, u32 standing_rtt)
{
	return standing_rtt >= max_rtt ? standing_rtt : max_rtt - ((max_rtt - standing_rtt) >> 6);
}

/* Whether a flow with so many segments under way has one of them at least in the queue. */
LASTHOP_INLINE int gamma_waits(u32 rtt, u32 min_rtt, u64 window_q16)
{
	return excess(rtt, min_rtt) * least(window_q16, GAMMA_MOST_WINDOW_Q16) >= (u64)rtt << 16;
}

/* The window after a cut to such a share: one segment at least. Rounds down. */
LASTHOP_INLINE u64 gamma_cut_q16(u64 window_q16, u64 share_q24)
{
	return most((least(window_q16, GAMMA_MOST_WINDOW_Q16) * least(share_q24, ONE_Q24)) >> 24, ONE_Q16);
}

#endif
