/* SPDX-License-Identifier: Dual MIT/GPL */
/* When a hidden queue is drained, to see the path without it. Under its station's lock. */
#ifndef LASTHOP_DRAIN_H
#define LASTHOP_DRAIN_H

#include "station.h"

/*
 * Drains the queue for as long as the longest path takes to show it: once a span at most, but for a connection whose path is
 * not sure.
 */
LASTHOP_INLINE void station_probe(struct station *s, u64 now_ns, u64 target_ns, int is_unsure)
{
	/* An epoch that has just begun has seen few of the connections. */
	u64 delay_ns = most(s->taker_most_ns, s->last_taker_most_ns);

	if (s->probe_until_ns <= s->path.least.began_ns ||
	    (is_unsure && now_ns - s->probe_until_ns < 1ULL << 63 && now_ns - s->probe_until_ns > UNSURE_NS)) {
		s->probe_until_ns = now_ns + delay_ns + delay_ns / 2 + target_ns;
		s->has_moved = 0;
	}
}

/* What may have made all that comes slower than where the queue rests. */
#define DOUBT_NONE 0
#define DOUBT_BEGUN 1 /* the queue or the path: a drain is to tell */
#define DOUBT_DRAINED 2 /* less was under way meanwhile */

/* What has gone on and is not known to have arrived. */
LASTHOP_INLINE u32 station_under_way(const struct station *s)
{
	return (u32)least(excess(s->forwarded_bytes, s->delivered_bytes), ~0U);
}

/* An ACK in a drain: senders that go by their windows have a quarter less under way by then than before the doubt. */
LASTHOP_INLINE void station_drains(struct station *s)
{
	if (s->doubt == DOUBT_BEGUN && !s->has_moved && station_under_way(s) <= s->sure_bytes / 4 * 3)
		s->doubt = DOUBT_DRAINED;
}

/* No doubt, at this rate. */
LASTHOP_INLINE void station_is_sure(struct station *s, u64 rate)
{
	s->doubt = DOUBT_NONE;
	s->sure_rate = rate;
	s->sure_bytes = station_under_way(s);
}

/*
 * A half second is over. While a queue is longer than it rests, windows become smaller, and it with them. Where nothing was faster for two of
 * them, beyond the path, than T, or than `slow_ns` where the rate has fallen by a quarter besides, the path may have become longer: then the
 * rate falls for as long as that is taken for a queue. What a drain leaves of it is the path. Not where the queue could not have been short
 * at the rate of before.
 */
LASTHOP_APART int station_doubts(struct station *s, u64 now_ns, u64 target_ns, u64 slow_ns, u32 is_floored)
{
	u64 seen_ns, client_ns, rate;
	u32 is_slower;

	if (!s)
		return 0;
	seen_ns = path_seen_ns(&s->path);
	client_ns = recent_least(&s->path.least);
	rate = station_rate(s);
	if (!seen_ns || !client_ns)
		return 0;
	is_slower = rate < s->sure_rate / 4 * 3;
	/* Beyond 2 T it is seen without a drain. */
	if (seen_ns <= client_ns + slow_ns || seen_ns > client_ns + 2 * target_ns || is_floored) {
		station_is_sure(s, rate);
	} else if (!s->doubt && (seen_ns > client_ns + target_ns || is_slower)) {
		s->doubt = DOUBT_BEGUN;
		s->has_moved = 1;
	} else if (!s->doubt) {
		station_is_sure(s, most(rate, s->sure_rate));
	} else if (!s->has_moved && now_ns >= s->probe_until_ns) {
		if (s->doubt == DOUBT_DRAINED)
			path_becomes(&s->path, seen_ns);
		station_is_sure(s, rate);
	}
	return 0;
}

#endif
