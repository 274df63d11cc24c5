/* SPDX-License-Identifier: Dual MIT/GPL */
/* CLAMP's price and a of what shares a queue. Under the station's lock. */
#ifndef LASTHOP_STATION_CLAMP_H
#define LASTHOP_STATION_CLAMP_H

#include "clamp.h"
#include "state.h"
#include "station.h"

/* CLAMP's average where the queue holds so much now. */
LASTHOP_INLINE u64 station_average_q16(const struct station *s, u64 now_ns, u64 queue_bytes, u64 average_ns)
{
	return over_arrivals_q16(s->average_q16, queue_bytes << 16, excess(now_ns, s->average_ns), average_ns);
}

/*
 * It is that from now on: clamp#4.1 counts the packet that joins the queue. Of n segments, the i-th finds i of them there: in the mean
 * (n + 1)/2n of all their bytes.
 */
LASTHOP_INLINE void station_arrival(struct station *s, u64 now_ns, u32 bytes, u32 segments, u64 average_ns)
{
	u64 joined_bytes = segments > 1 ? (u64)bytes * ((u64)segments + 1) / (2 * (u64)segments) : bytes;

	s->average_q16 = station_average_q16(s, now_ns, s->queue_bytes + joined_bytes, average_ns);
	s->average_ns = now_ns;
}

/* What of the queue is priced, beside what others fill. */
LASTHOP_APART u64 station_steered_q16(struct station *s, u64 queue_q16, u64 a_bytes)
{
	return s ? clamp_beside_q16(queue_q16, s->theirs_q10, a_bytes) : 0;
}

/* CLAMP's price, of what is not others'. */
LASTHOP_INLINE u32 station_price_q30(struct station *s, u64 now_ns, u64 a_bytes, u64 average_ns)
{
	u64 queue_q16 = s->average_q16;

	/* Where a packet has just joined it, it is known. */
	if (now_ns != s->average_ns)
		queue_q16 = station_average_q16(s, now_ns, s->queue_bytes, average_ns);
	READ_ANEW();
	s->a_bytes = a_bytes;
	queue_q16 = station_steered_q16(s, queue_q16, a_bytes);
	s->price_q30 = clamp_price_q30(clamp_linear_q16(queue_q16, a_bytes), station_rate(s));
	return s->price_q30;
}

/* By how much CLAMP's queue is longer than a: tau of each connection. */
LASTHOP_INLINE u64 station_taus(const volatile struct settings *settings, const struct station *s)
{
	return most(station_weights(s) >> 8, 1) * settings->tau_bytes;
}

/* The shortest path without the queue, of the epoch that tells Phi: one that has just begun has seen few; 0: not known. */
LASTHOP_INLINE u64 station_shortest_ns(const struct station *s)
{
	u64 last_ns = s->last_delay_least_ns, now_ns = s->delay_least_ns;

	return (station_goes_by_last(s) && last_ns) || !now_ns ? last_ns : now_ns;
}

/* CLAMP's a at least: windows of two segments must not hold more than what is wanted, or flows starve unequally. */
LASTHOP_INLINE u64 station_least_a(const volatile struct settings *settings, const struct station *s, u32 mss)
{
	u64 held = station_taus(settings, s) + least(station_rate(s), 1ULL << 30) * station_shortest_ns(s) / NS_PER_S;

	return excess(2 * most(station_weights(s) >> 8, 1) * mss, held);
}

/* How long CLAMP's queue is as long as all senders bear it. */
LASTHOP_INLINE u64 station_usual_ns(const volatile struct settings *settings, const struct station *s, u32 mss)
{
	u64 a_bytes = most(settings->a_bytes, station_least_a(settings, s, mss));

	return share_wait_ns(a_bytes + station_taus(settings, s), station_rate(s));
}

/* CLAMP's a: the usual one, or less where some sender bears no queue so long, an eighth of what is set at least. */
LASTHOP_INLINE u64 station_a_of(const volatile struct settings *settings, const struct station *s, u32 mss)
{
	u64 bears_ns = station_target_ns(s, ~0ULL), a_bytes = settings->a_bytes, borne_bytes;

	if (bears_ns != ~0ULL) {
		borne_bytes = excess(share_window_bytes(256, station_rate(s), bears_ns), station_taus(settings, s));
		a_bytes = least(a_bytes, most(borne_bytes, a_bytes / 8));
	}
	return most(a_bytes, station_least_a(settings, s, mss));
}

#endif
