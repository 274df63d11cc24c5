/* SPDX-License-Identifier: Dual MIT/GPL */
/* CLAMP's window at the proxy, which is the receiver of all connections. Under their station's lock. */
#ifndef LASTHOP_PROXY_CLAMP_H
#define LASTHOP_PROXY_CLAMP_H

#include "clamp.h"
#include "flow.h"
#include "pool.h"
#include "station.h"

/* What CLAMP's window allows. */
LASTHOP_INLINE u64 proxy_allowed(const struct flow *f, u64 delay_ns)
{
	return least(rate_of(f->clamp_q16 >> 16, delay_ns), 1ULL << 32);
}

/*
 * CLAMP's connections are compared, as a client compares its own (pool.h): at its first segment of an epoch one moves towards the mean of
 * the last epoch, if it took part in that, and takes part in this one.
 */
LASTHOP_APART int proxy_pools(struct flow *f, struct station *s, u64 delay_ns, int was_there)
{
	u64 even;

	if (!f || !s)
		return 0;
	even = was_there ? station_even(s, f->weight_q8) : 0;
	f->drift = f->pooled && even ? pool_moves(f->pooled, even, delay_ns, station_epoch_ns(s->last_delay_most_ns)) : 0;
	f->pooled = 0;
	/* Whose sender leaves more of its window than delayed ACKs and whole segments explain has less to send. */
	if (!(f->flags & FLOW_STARTED) || f->bearing.used_mean < f->bearing.held_mean / 8 * 5) {
		f->allowed = 0;
		return 0;
	}
	if (!f->allowed)
		f->allowed = proxy_allowed(f, delay_ns);
	/* Who has the least window gives none. */
	if (f->clamp_q16 >> 17 > f->mss || f->allowed <= even)
		f->pooled = station_pool(s, f->weight_q8, f->allowed);
	return 0;
}

/*
 * CLAMP's window after an ACK, which came when the connection was last seen, of so many bytes. What is empty is refilled with gamma; 0: it
 * is not empty.
 */
LASTHOP_APART u64 proxy_clamp_window(struct flow *f, const struct station *s, u32 acked, u32 tau_bytes, u32 refill_q10)
{
	u64 delay_ns, gap_ns, rate, filled, fair;
	u32 flight;
	s64 change_q16;

	if (!f || !s)
		return 0;
	delay_ns = f->rtt_ns + recent_least(&f->upstream);
	gap_ns = f->seen_ns - f->clamp_ns;
	flight = f->sent - f->ack + acked;
	f->fair = fair = share_fair(station_rate(s), most(station_weights(s), f->weight_q8));
	/*
	 * What was under way until now between here and the client, for a round trip there: of a thousand packets it would be
	 * that of minutes ago. As much again is under way between here and the server as that path is long.
	 */
	f->delivery = smoothed(f->delivery, rate_of(flight, f->rtt_ns), 3);
	filled = most(flight, share_window_bytes(256, f->delivery, delay_ns));
	/* Few segments go in bursts, of which that says too much: where its sender fills it, its window says it better. */
	if (f->allowed)
		f->allowed = smoothed(f->allowed, proxy_allowed(f, delay_ns), 3);
	rate = f->allowed ? f->allowed : f->delivery;
	if (!f->clamp_q16)
		f->clamp_q16 = (u64)FIRST_SEGMENTS * f->mss << 16;
	f->clamp_ns = f->seen_ns;
	READ_ANEW();
	/* A drain of the queue, by which its path is seen, is none of the law's. */
	if (f->seen_ns < s->probe_until_ns)
		return least(f->clamp_q16 >> 16,
			     share_window_bytes(f->weight_q8, fair, flow_delay_ns(f, recent_least(&s->path.least)) / 2));
	READ_ANEW();
	change_q16 = clamp_force_q16(f->weight_q8, tau_bytes, s->price_q30, rate);
	change_q16 = clamp_scaled_change_q16(change_q16, delay_ns, gap_ns);
	READ_ANEW();
	change_q16 += pool_moved_q16(f->drift, gap_ns);
	/* What is empty would take tau many round trips to refill. */
	if (f->flags & FLOW_STARTED && !s->price_q30)
		change_q16 += (s64)clamp_refill_q16(f->clamp_q16, refill_q10, delay_ns, gap_ns);
	change_q16 = clamp_clipped_q16(change_q16, acked, CLAMP_MOST_BYTES);
	if (f->flags & FLOW_STARTED) {
		/* A window that its sender does not fill grows no further. */
		if (change_q16 < 0 || f->clamp_q16 >> 17 <= filled)
			f->clamp_q16 = clamp_floored_q16(f->clamp_q16, change_q16, 2 * f->mss);
	} else if (change_q16 < 0 || f->duplicates >= 3) {
		/* Half, but not less than its part of the rate for a round trip: refilling that takes many. */
		u64 part_q16 = share_window_bytes(f->weight_q8, fair, delay_ns) << 16;

		f->flags |= FLOW_STARTED;
		f->clamp_q16 = most(clamp_end_of_slow_start_q16(f->clamp_q16), least(f->clamp_q16, part_q16));
	} else if (f->clamp_q16 >> 18 <= filled) {
		/* Slow start's is twice what its sender fills by itself. */
		f->clamp_q16 += (u64)acked << 16;
	}
	f->clamp_q16 = least(f->clamp_q16, 1ULL << 46);
	READ_ANEW();
	return most(f->clamp_q16 >> 16, 2 * f->mss);
}

#endif
