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

/* F so far, into the slots up to now. */
LASTHOP_INLINE void station_fill(struct station *s, u64 now_ns)
{
	u64 slot = now_ns >> SLOT_SHIFT;

	if (s->slot + SLOTS < slot)
		s->slot = slot - SLOTS;
	for (u32 i = 0; i < SLOTS; i++) {
		if (s->slot >= slot)
			break;
		s->slot++;
		s->ring[s->slot & (SLOTS - 1)] = (u32)s->forwarded_bytes;
	}
}

/* So many new bytes went on to the clients. */
LASTHOP_INLINE void station_forward(struct station *s, u64 now_ns, u32 bytes)
{
	station_fill(s, now_ns);
	s->forwarded_bytes += bytes;
}

/* F(t), as low 32 bits, even within a slot; what is longer ago than the ring reaches counts as its oldest. */
LASTHOP_INLINE u32 station_forwarded_at(const struct station *s, u64 t_ns)
{
	u64 slot = t_ns >> SLOT_SHIFT;
	u32 here, next;

	if (slot > s->slot)
		return (u32)s->forwarded_bytes;
	if (slot + SLOTS <= s->slot)
		return s->ring[(s->slot + 1) & (SLOTS - 1)];
	here = s->ring[slot & (SLOTS - 1)];
	next = slot == s->slot ? (u32)s->forwarded_bytes : s->ring[(slot + 1) & (SLOTS - 1)];
	return here + (u32)((u64)(next - here) * (t_ns & ((1 << SLOT_SHIFT) - 1)) >> SLOT_SHIFT);
}

/* What was forwarded by t and is not delivered yet; a duplicate that was counted too early makes it less than nothing. */
LASTHOP_INLINE u64 station_left_at(const struct station *s, u64 t_ns)
{
	u32 left = station_forwarded_at(s, t_ns) - (u32)s->delivered_bytes;

	return (int)left > 0 ? left : 0;
}

/* A sample of the path to the client and back, the queue included: its least, and whether it is another path now. */
LASTHOP_INLINE void station_sample(struct station *s, u64 now_ns, u64 sample_ns, u64 target_ns)
{
	recent_least_add(&s->client, now_ns, sample_ns, LEAST_SPAN_NS);
	if (now_ns - s->path_ns >= PATH_NS) {
		if (share_path_changed(s->path_least_ns, s->path_last_ns, recent_least(&s->client), target_ns)) {
			s->client.now_least_ns = least(s->path_least_ns, s->path_last_ns);
			s->client.last_least_ns = 0;
			s->client.began_ns = now_ns;
		}
		s->path_last_ns = now_ns - s->path_ns < 2 * PATH_NS ? s->path_least_ns : 0;
		s->path_least_ns = 0;
		s->path_ns = now_ns;
	}
	if (!s->path_least_ns || sample_ns < s->path_least_ns)
		s->path_least_ns = most(sample_ns, 1);
}

/* Where no sample of late was near the least one of before, the queue may be in all of them: it is drained once a span. */
LASTHOP_INLINE void station_probe(struct station *s, u64 now_ns, u64 delay_ns, u64 target_ns)
{
	if (now_ns - s->client.began_ns < PROBE_AFTER_NS || s->probe_until_ns > s->client.began_ns)
		return;
	if (share_wants_probe(s->client.now_least_ns, s->client.last_least_ns))
		s->probe_until_ns = now_ns + delay_ns + delay_ns / 2 + target_ns;
}

/* An ACK of time t: what was delivered since the last one, and what is left behind it. */
LASTHOP_INLINE void station_hear(struct station *s, u64 t_ns, u64 bytes)
{
	u64 client_ns = recent_least(&s->client);

	t_ns = most(t_ns, s->seen_ns);
	if (s->seen_ns)
		station_served(s, t_ns, t_ns - s->seen_ns, bytes, s->is_busy);
	s->delivered_bytes += bytes;
	s->seen_ns = t_ns;
	s->queue_bytes = station_left_at(s, excess(t_ns, client_ns));
	/* A slot more: what went within it may or may not have come by now. */
	s->is_busy = station_left_at(s, excess(t_ns, client_ns + (1 << SLOT_SHIFT))) > 0;
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
