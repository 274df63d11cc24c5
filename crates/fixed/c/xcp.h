/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * XCP's equations, each by the name that it has in the simulator, and the router that they make up. Rates in B/s up to 2^34
 * and their changes in 2^-8 B/s, sizes up to 2^30 B, round-trip times up to 1 s: longer ones count as that.
 */
#ifndef LASTHOP_XCP_H
#define LASTHOP_XCP_H

#include "qfcp.h"
#include "wire.h"

#define XCP_LONGEST_US 1000000U
/* The span over which the queue that stands is looked at: at the start, and at least. */
#define STANDING_FIRST_NS (50 * NS_PER_MS)
#define STANDING_LEAST_NS (2 * NS_PER_MS)
/* More than any router grants: nothing is asked for less. */
#define XCP_ANY_Q8 (1LL << 46)

/* qfcp#1: alpha (C - y) d - beta q [2^-8 B]. alpha and beta up to 2^4. Rounds towards 0. */
LASTHOP_INLINE s64 xcp_told_change_q8(u32 alpha_q16, u32 beta_q16, u64 capacity, u64 input, u64 queue_bytes, u64 d_ns)
{
	u64 c = least(capacity, QFCP_MOST_RATE), y = least(input, QFCP_MOST_RATE), d_us = least(d_ns, NS_PER_S) / 1000;
	u64 apart_q8 = ((c > y ? c - y : y - c) * d_us << 8) / 1000000;
	s64 spare = (s64)(apart_q8 * least(alpha_q16, 1U << 20) >> 16);
	s64 drain = (s64)((least(queue_bytes, QFCP_MOST_BYTES) << 8) * least(beta_q16, 1U << 20) >> 16);

	return (c > y ? spare : -spare) - drain;
}

/* What is dealt out anew of an interval's traffic even with nothing to change [2^-8 B]. gamma up to 1. */
LASTHOP_INLINE u64 xcp_shuffled_q8(u32 gamma_q16, u64 input, u64 d_ns, s64 change_q8)
{
	u64 traffic_q8 = (least(input, QFCP_MOST_RATE) * (least(d_ns, NS_PER_S) / 1000) << 8) / 1000000;

	return excess(traffic_q8 * least(gamma_q16, 1U << 16) >> 16, (u64)(change_q8 < 0 ? -change_q8 : change_q8));
}

/* What packets stand for of their flow: rtt s/cwnd. Rounds down. */
LASTHOP_INLINE u64 xcp_share_ns(u32 rtt_us, u64 size_bytes, u64 cwnd_bytes)
{
	u64 size = least(size_bytes, QFCP_MOST_BYTES);

	return (u64)least(rtt_us, XCP_LONGEST_US) * 1000 * size / most(most(cwnd_bytes, size), 1);
}

/* A change that is dealt out: so much of it to each of so many units, ns of flows or bytes. */
struct xcp_pot {
	u64 left_q8; /* [2^-8 B/s] */
	u64 each; /* of the whole to a unit, in 2^-shift of 2^-8 B/s */
	u64 units;
	u64 shift;
};

/* Nothing is dealt where there is nobody. */
LASTHOP_INLINE void xcp_fill(struct xcp_pot *pot, u64 amount_q8, u64 units)
{
	pot->left_q8 = least(amount_q8, 1ULL << 46);
	pot->shift = 62 - wire_log2(pot->left_q8);
	pot->units = units;
	pot->each = units ? (pot->left_q8 << pot->shift) / units : 0;
}

/* The part of so many units: at most what was in it. Rounds down. */
LASTHOP_INLINE u64 xcp_part_q8(const struct xcp_pot *pot, u64 units)
{
	return least(pot->each * least(units, pot->units) >> (pot->shift & 63), pot->left_q8);
}

/* qfcp#2: the window after the rate has changed by so much, in segments of so many bytes on the wire; one at least. */
LASTHOP_INLINE u64 xcp_window_q16(u64 window_q16, s64 change_q8, u32 rtt_us, u32 wire_bytes)
{
	u64 size_q8 = least((u64)(change_q8 < 0 ? -change_q8 : change_q8), 1ULL << 42);
	u64 bytes_q8 = size_q8 * least(rtt_us, 1U << 21) / 1000000;
	u64 segments_q16 = wire_bytes ? (bytes_q8 << 8) / wire_bytes : 0;

	window_q16 = least(window_q16, 1ULL << 40);
	return most(change_q8 < 0 ? excess(window_q16, segments_q16) : window_q16 + segments_q16, QFCP_ONE_Q16);
}

/* What a router is told: `XcpSettings`. */
struct xcp_settings {
	u64 capacity;
	u32 alpha_q16;
	u32 beta_q16;
	u32 gamma_q16;
	u32 pad;
};

/* What it keeps of its queue: `XcpRouter`. All 0 at the start. */
struct xcp_router {
	u64 interval_ns; /* d */
	u64 standing_bytes; /* the queue that stands */
	u64 input; /* y of the last interval */
	u64 intervals; /* so far */
	struct xcp_pot raise; /* xi_p, and what is left to raise */
	struct xcp_pot lower; /* xi_n */
	/* Of the running interval. */
	u64 began_ns; /* 0: nothing has passed */
	u64 shares_ns;
	u64 rtt_shares; /* [us ns] */
	u64 input_bytes;
	/* Of the running span of the queue that stands. */
	u64 span_began_ns;
	u64 span_ns;
	u64 least_bytes;
};

/* What a packet, or several alike, tells: `XcpHeader`. */
struct xcp_header {
	s64 change_q8; /* asked for, or granted so far */
	u64 cwnd_bytes;
	u64 size_bytes;
	u32 rtt_us; /* 0: not known yet */
	u32 pad;
};

/* The least queue of half the time that a round trip takes without it, by a clock of its own (ns-2's Tq). */
LASTHOP_INLINE void xcp_stand(struct xcp_router *r, const struct xcp_settings *s, u64 now_ns, u64 queue_bytes)
{
	u64 silent;

	if (now_ns - r->span_began_ns < r->span_ns)
		return;
	r->standing_bytes = r->least_bytes;
	r->least_bytes = queue_bytes;
	r->span_began_ns += r->span_ns;
	r->span_ns = most(excess(r->interval_ns, lasts_ns(queue_bytes, s->capacity)) / 2, STANDING_LEAST_NS);
	silent = now_ns > r->span_began_ns ? (now_ns - r->span_began_ns) / r->span_ns : 0;
	if (silent) {
		r->standing_bytes = queue_bytes;
		r->span_began_ns += silent * r->span_ns;
	}
}

/* d: the mean round-trip time, of a sum in us ns by a sum of shares. */
LASTHOP_INLINE u64 xcp_mean_ns(u64 rtt_shares, u64 shares_ns)
{
	u64 whole_us = least(rtt_shares / shares_ns, XCP_LONGEST_US), rest = least(rtt_shares % shares_ns, 1ULL << 50);

	return most(least(whole_us * 1000 + rest * 1000 / shares_ns, INTERVAL_LONGEST_NS), INTERVAL_LEAST_NS);
}

/* What is to change in the next interval, by what the last one was. */
LASTHOP_INLINE void xcp_decide(struct xcp_router *r, const struct xcp_settings *s)
{
	u64 elapsed_ns = r->interval_ns, shuffled_q8;
	s64 change_q8;

	/* Where nobody told a round-trip time, the next is as long as the first (ns-2). */
	r->interval_ns = r->shares_ns ? xcp_mean_ns(r->rtt_shares, r->shares_ns) : INTERVAL_FIRST_NS;
	r->input = rate_of(r->input_bytes, elapsed_ns);
	change_q8 = xcp_told_change_q8(s->alpha_q16, s->beta_q16, s->capacity, r->input, r->standing_bytes, r->interval_ns);
	shuffled_q8 = xcp_shuffled_q8(s->gamma_q16, r->input, r->interval_ns, change_q8);
	/* The sums are those of the time that has passed, however long the next interval is (ns-2). */
	xcp_fill(&r->raise, rate_of(shuffled_q8 + (change_q8 > 0 ? (u64)change_q8 : 0), r->interval_ns), r->shares_ns);
	xcp_fill(&r->lower, rate_of(shuffled_q8 + (change_q8 < 0 ? (u64)-change_q8 : 0), r->interval_ns), r->input_bytes);
	r->began_ns += elapsed_ns;
	r->shares_ns = r->rtt_shares = r->input_bytes = 0;
	r->intervals++;
}

/* Ends the interval at its own end, if it is over. Of a silence, the second and those after it last as the very first (ns-2). */
LASTHOP_INLINE void xcp_turn(struct xcp_router *r, const struct xcp_settings *s, u64 now_ns, u64 queue_bytes)
{
	if (!r->began_ns) {
		r->interval_ns = INTERVAL_FIRST_NS;
		r->span_ns = STANDING_FIRST_NS;
		r->began_ns = r->span_began_ns = now_ns;
	}
	xcp_stand(r, s, least(now_ns, r->began_ns + r->interval_ns), queue_bytes);
	if (now_ns - r->began_ns < r->interval_ns)
		return;
	xcp_decide(r, s);
	if (now_ns > r->began_ns && now_ns - r->began_ns >= r->interval_ns) {
		xcp_stand(r, s, r->began_ns + r->interval_ns, queue_bytes);
		xcp_decide(r, s);
		if (now_ns > r->began_ns)
			r->began_ns += (now_ns - r->began_ns) / r->interval_ns * r->interval_ns;
	}
	xcp_stand(r, s, now_ns, queue_bytes);
}

/* Whether the running interval is over, or the span of the queue that stands. */
LASTHOP_INLINE int xcp_is_over(const struct xcp_router *r, u64 now_ns)
{
	return !r->began_ns || now_ns - r->began_ns >= r->interval_ns || now_ns - r->span_began_ns >= r->span_ns;
}

/* Packets come to a queue, and are counted. Other protocols' have no header: round-trip time 0. */
LASTHOP_INLINE void xcp_count(struct xcp_router *r, u64 queue_bytes, const struct xcp_header *h, u64 share_ns)
{
	r->least_bytes = least(r->least_bytes, queue_bytes);
	r->input_bytes += h->size_bytes;
	r->shares_ns += share_ns;
	r->rtt_shares += least(h->rtt_us, XCP_LONGEST_US) * share_ns;
}

/* The fairness controller: by how much more the flow may send at most, of the raise and of the reduction. */
LASTHOP_INLINE s64 xcp_deal_q8(struct xcp_router *r, const struct xcp_header *h, u64 share_ns)
{
	u64 raised_q8 = xcp_part_q8(&r->raise, share_ns), lowered_q8 = xcp_part_q8(&r->lower, h->size_bytes);
	s64 change_q8 = (s64)raised_q8 - (s64)lowered_q8, taken_q8;

	if (!h->rtt_us)
		return h->change_q8 < 0 ? h->change_q8 : 0;
	if (h->change_q8 < change_q8)
		change_q8 = h->change_q8;
	/* What a bottleneck elsewhere keeps the flow from taking, others may have. */
	taken_q8 = change_q8 + (s64)lowered_q8;
	r->raise.left_q8 = excess(r->raise.left_q8, taken_q8 > 0 ? (u64)taken_q8 : 0);
	r->lower.left_q8 = excess(r->lower.left_q8, most(lowered_q8, change_q8 < 0 ? (u64)-change_q8 : 0));
	return change_q8;
}

#endif
