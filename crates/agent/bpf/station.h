/* SPDX-License-Identifier: Dual MIT/GPL */
/* What shares a queue: its rate, its flows, its path. All under the station's lock. */
#ifndef LASTHOP_STATION_H
#define LASTHOP_STATION_H

#include "state.h"

/* The rate that the law goes by; 0 as long as it is unknown. */
LASTHOP_INLINE u64 station_rate(const struct station *s)
{
	return share_rate_over(&s->rate, s->chosen);
}

/* A tick is over: it judges the forecasts, or bounds the rate from below where the queue was mostly empty. */
LASTHOP_INLINE void station_tick(struct station *s, u64 now_ns)
{
	u64 tick_ns = now_ns - s->tick_ns;

	if (s->tick_busy_ns >= TICK_BUSY_NS && s->tick_busy_bytes) {
		u64 found_q16 = log2_q16(rate_of(s->tick_busy_bytes, s->tick_busy_ns));
		u64 best_q20 = ~0ULL;
		u32 best = 0;

		UNROLLED
		for (u32 i = 0; i < SHARE_HORIZONS; i++) {
			u64 loss_q20 = s->loss_q20[i];

			if (s->forecast_q16[i])
				loss_q20 = share_loss_q20(loss_q20, share_error_q20(found_q16, s->forecast_q16[i]));
			s->loss_q20[i] = loss_q20;
			if (loss_q20 < best_q20) {
				best_q20 = loss_q20;
				best = i;
			}
		}
		if (s->chosen < SHARE_HORIZONS && share_is_better(best_q20, s->loss_q20[s->chosen]))
			s->chosen = best;
	}
	if (2 * s->tick_busy_ns < tick_ns) {
		u64 rate = rate_of(s->tick_bytes, tick_ns);

		if (rate > station_rate(s))
			share_rate_raise(&s->rate, rate + (rate >> 2));
	}
	UNROLLED
	for (u32 i = 0; i < SHARE_HORIZONS; i++)
		s->forecast_q16[i] = log2_q16(share_rate_over(&s->rate, i));
	s->tick_ns = now_ns;
	s->tick_bytes = 0;
	s->tick_busy_ns = 0;
	s->tick_busy_bytes = 0;
}

/* So many bytes have left since the last look, the queue having been busy all the while or not. */
LASTHOP_INLINE void station_served(struct station *s, u64 now_ns, u64 elapsed_ns, u64 bytes, int busy)
{
	if (!s->tick_ns) {
		s->tick_ns = now_ns;
		s->chosen = SHARE_FIRST_HORIZON;
		return;
	}
	s->tick_bytes += bytes;
	if (busy) {
		s->tick_busy_ns += elapsed_ns;
		s->tick_busy_bytes += bytes;
		s->span_ns += elapsed_ns;
		s->span_bytes += bytes;
		if (s->span_ns >= SHARE_LEAST_SPAN_NS) {
			share_rate_add(&s->rate, s->span_ns, s->span_bytes);
			s->span_ns = 0;
			s->span_bytes = 0;
		}
	}
	if (now_ns - s->tick_ns >= TICK_NS)
		station_tick(s, now_ns);
}

/* A look at the qdisc's backlog: busy if it held something at this look and at the one before. */
LASTHOP_INLINE void station_look(struct station *s, u64 now_ns, u64 queue_bytes, u64 departed_bytes)
{
	/* Two processors may look in either order. */
	if (s->seen_ns && (now_ns <= s->seen_ns || departed_bytes < s->departed_bytes)) {
		if (departed_bytes + (1ULL << 32) < s->departed_bytes)
			s->seen_ns = 0; /* another qdisc */
		return;
	}
	if (s->seen_ns)
		station_served(s, now_ns, now_ns - s->seen_ns, departed_bytes - s->departed_bytes,
			       s->queue_bytes && queue_bytes);
	s->seen_ns = now_ns;
	s->queue_bytes = queue_bytes;
	s->departed_bytes = departed_bytes;
}

/* Opens another epoch where the running one is over. */
LASTHOP_INLINE void station_turn(struct station *s, u64 now_ns)
{
	u64 epoch_ns = most(EPOCH_NS, 2 * s->delay_most_ns);
	u64 since_ns = now_ns - s->epoch_ns;

	if (since_ns < epoch_ns || now_ns < s->epoch_ns)
		return;
	s->last_weights_q8 = since_ns < 2 * epoch_ns ? s->weights_q8 : 0;
	s->weights_q8 = 0;
	s->delay_most_ns = 0;
	s->epoch_ns = now_ns;
	s->epoch++;
}

/* Phi: of the flows seen in this epoch or in the last, whichever were more. */
LASTHOP_INLINE u64 station_weights(const struct station *s)
{
	return most(s->last_weights_q8, s->weights_q8);
}

#endif
