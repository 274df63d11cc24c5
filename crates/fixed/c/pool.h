/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What the connections of a station tell each other. The law makes their rates even by tau in a round trip d, so in d^2 C/(k tau):
 * for four of them, 100 ms away with a queue of 25 ms and tau = 500 B, 10 s at 10 Mbit/s and 100 s at 100. One agent knows
 * all of them, so it moves window from those that have more than the mean to those that have less. The sum stays what it is,
 * and at the law's fixed point nothing moves. All under the pool's lock.
 */
#ifndef LASTHOP_POOL_H
#define LASTHOP_POOL_H

#include "state.h"

/* What a connection adds to an epoch. */
struct pool_part {
	u64 rate; /* that its window allows, B/s */
	u64 rtt_ns;
	u64 queue_ns; /* by how much that is more than its least */
	u32 weight_q8;
	u32 pad;
};

LASTHOP_INLINE int pool_is_over(const struct pool *p, u64 now_ns)
{
	return excess(now_ns, p->began_ns) >= p->length_ns;
}

/* The next epoch, if this one is over: of two round trips at least, in which windows that were moved show. */
LASTHOP_INLINE void pool_turn(struct pool *p, u64 now_ns)
{
	if (!pool_is_over(p, now_ns))
		return;
	/* After a rest nobody took part in the one before. */
	p->epoch += excess(now_ns, p->began_ns) < 2 * p->length_ns ? 1 : 2;
	p->began_ns = now_ns;
	p->length_ns = most(EPOCH_NS, 2 * least(p->rtt_ns, 4 * NS_PER_S));
	p->mean = p->weights_q8 ? (p->rates << 8) / p->weights_q8 : 0;
	p->last_queue_ns = p->queue_ns;
	p->rates = p->weights_q8 = p->rtt_ns = p->queue_ns = 0;
}

/* What a connection of such a weight would have if all were even: rates up to 2^32 B/s. */
LASTHOP_INLINE u64 pool_even(const struct pool *p, u32 weight_q8)
{
	return least(p->mean, 1ULL << 32) * weight_q8 >> 8;
}

/* A connection takes part in the running epoch. */
LASTHOP_INLINE void pool_add(struct pool *p, const struct pool_part *part)
{
	p->rates += least(part->rate, 1ULL << 32);
	p->weights_q8 += part->weight_q8;
	p->rtt_ns = most(p->rtt_ns, part->rtt_ns);
	/* The queue that all share is that of those who have their part. */
	if (part->rate >= pool_even(p, part->weight_q8))
		p->queue_ns = most(p->queue_ns, part->queue_ns);
}

/*
 * How fast a window moves, in B/s, so that a quarter of what is between two rates is made up in an epoch: without swinging no more
 * can be, for the rates are an epoch old when they are known. Rates up to 2^32 B/s.
 */
LASTHOP_INLINE u64 pool_drift(u64 between, u64 rtt_ns, u64 length_ns)
{
	u64 share_q20 = length_ns ? (least(rtt_ns, 16 * NS_PER_S) << 20) / length_ns : 0;

	return least(between, 1ULL << 32) * least(share_q20, 1 << 20) >> 22;
}

/* The same of one that had so much in an epoch in which its part would have been `even`. */
LASTHOP_INLINE s64 pool_moves(u64 rate, u64 even, u64 rtt_ns, u64 length_ns)
{
	return rate > even ? -(s64)pool_drift(rate - even, rtt_ns, length_ns) : (s64)pool_drift(even - rate, rtt_ns, length_ns);
}

/* What comes of it by the next packet, up to 2^30 B/s either way. The gap counts for a second at most, and 2^30 ns for one. */
LASTHOP_INLINE s64 pool_moved_q16(s64 drift, u64 gap_ns)
{
	return (s64)((u64)drift * least(gap_ns, 1ULL << 30)) >> 14;
}

/* Whether a queue elsewhere holds a connection up: more window would make that queue longer, and take from others for nothing. */
LASTHOP_INLINE int pool_is_elsewhere(const struct pool *p, u64 queue_ns)
{
	return queue_ns > p->last_queue_ns + p->last_queue_ns / 4 + 10 * NS_PER_MS;
}

#endif
