/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * QFCP's equations, each by the name that it has in the simulator, and the router that they make up. Rates in B/s up to
 * 2^34, sizes up to 2^30 B, times up to 2^36 ns.
 */
#ifndef LASTHOP_QFCP_H
#define LASTHOP_QFCP_H

#include "estimate.h"

#define QFCP_ONE_Q16 (1ULL << 16)
#define QFCP_MOST_RATE (1ULL << 34)
#define QFCP_MOST_BYTES (1ULL << 30)

/* The control interval before any packet has told a round-trip time, and its bounds. */
#define INTERVAL_FIRST_NS (50 * NS_PER_MS)
#define INTERVAL_LEAST_NS (1 * NS_PER_MS)
#define INTERVAL_LONGEST_NS NS_PER_S

/* qfcp#3: N = y/R. Rounds down. */
LASTHOP_INLINE u64 qfcp_flows_q16(u64 input, u64 rate)
{
	return rate ? (least(input, QFCP_MOST_RATE) << 16) / rate : 0;
}

/* qfcp#6: C, output if at least a packet always waited, and alpha more than before otherwise. alpha up to 2^8. */
LASTHOP_INLINE u64 qfcp_probed_capacity(u64 capacity, u64 output, u64 packets_q16, u32 alpha_q16)
{
	if (packets_q16 >= QFCP_ONE_Q16)
		return output;
	capacity = least(capacity, QFCP_MOST_RATE);
	return capacity + (capacity * least(alpha_q16, 1U << 24) >> 16);
}

/* After a busy interval the capacity grows with care in so many. */
#define QFCP_CAREFUL 3

/* alpha where C is near what the link carries: a half, a fourth or an eighth, by the intervals of care that are left. */
LASTHOP_INLINE u32 qfcp_careful_growth_q16(u32 alpha_q16, u64 left)
{
	return alpha_q16 >> least(left, 8);
}

/*
 * qfcp#7, qfcp#8: what an average keeps of before in an interval that counts as so many of those in which it keeps
 * e^-forgets: (1 - w)^n with forgets = -ln(1 - w). Intervals up to 2^4.
 */
LASTHOP_INLINE u64 qfcp_keep_q31(u64 forgets_q24, u64 intervals_q16)
{
	return decay_q31(least(forgets_q24, 16 * ONE_Q24) * least(intervals_q16, 1U << 20) >> 16);
}

/*
 * qfcp#4, qfcp#9: R of each of so many flows, where the queue should come to the aim within 1/beta intervals. beta up
 * to 2^4. Rounds down.
 */
LASTHOP_INLINE u64 qfcp_fair_rate(u64 capacity, u64 queue_q4, u64 aim_bytes, u32 beta_q16, u64 interval_ns, u64 flows_q16)
{
	u64 queue = least(queue_q4, QFCP_MOST_BYTES << 4), aim = least(aim_bytes, QFCP_MOST_BYTES) << 4;
	u64 apart_q4 = queue > aim ? queue - aim : aim - queue;
	u64 change = rate_of(apart_q4 * least(beta_q16, 1U << 20) >> 16, interval_ns) >> 4;
	u64 all = queue > aim ? excess(capacity, change) : least(capacity, QFCP_MOST_RATE) + change;

	return flows_q16 ? (least(all, 2 * QFCP_MOST_RATE) << 16) / flows_q16 : 0;
}

/* qfcp#11: the queue that would have been with room for all. */
LASTHOP_INLINE u64 qfcp_virtual_queue(u64 queue, u64 dropped)
{
	return queue + dropped;
}

/* qfcp#5: cwnd = max(feedback RTT, MSS), in segments of so many bytes on the wire. Rounds down. */
LASTHOP_INLINE u64 qfcp_window_q16(u64 rate, u32 rtt_us, u32 wire_bytes)
{
	u64 bytes = least(rate, QFCP_MOST_RATE) * least(rtt_us, 1U << 27) / 1000000;

	return most(wire_bytes ? (bytes << 16) / wire_bytes : 0, QFCP_ONE_Q16);
}

/* What a router is told: `QfcpSettings`. */
struct qfcp_settings {
	u64 capacity; /* C at the start */
	u64 max_capacity;
	u64 forgets_q24; /* -ln(1 - w) */
	u32 alpha_q16;
	u32 beta_q16;
	u32 packet_bytes;
	u8 probing;
	u8 resident;
	u8 virtual_queue;
	u8 in_packets;
	u8 bounded;
	u8 average_flows;
	u8 hold;
	u8 time_weighted;
	u8 careful;
	u8 pad[3];
};

/* What it keeps of its queue: `QfcpRecord`. All 0 at the start. */
struct qfcp_router {
	u64 capacity; /* C; 0: nothing has passed */
	u64 rate; /* R */
	u64 flows_q16; /* N */
	u64 interval_ns; /* T */
	u64 output; /* output_avg */
	u64 queue_q4; /* q_avg [B] */
	u64 packets_q16; /* the same in packets */
	u64 intervals; /* so far */
	u64 careful; /* in so many more C grows with care */
	/* Of the running interval. */
	u64 began_ns;
	u64 rtts_us; /* the sum of those that packets told */
	u64 rtt_count;
	u64 input_bytes;
	u64 departed_bytes; /* what had left, and found no room, when it began */
	u64 dropped_packets;
	u64 least_bytes;
	u64 least_packets_q16;
};

/* What a packet finds. */
struct qfcp_sight {
	u64 now_ns;
	u64 queue_bytes; /* what waits before it */
	u64 queue_packets;
	u64 departed_bytes; /* what has left so far, and has found no room */
	u64 dropped_packets;
};

/* What was measured in an interval. */
struct qfcp_measured {
	u64 input;
	u64 output;
	u64 queue_q4;
	u64 packets_q16;
	u64 keep_q31;
};

/* The rate for the next interval, from what was measured in this one. */
LASTHOP_INLINE void qfcp_control(struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_measured *m)
{
	int is_silent = !m->input && !m->output && !m->packets_q16, rests;
	u64 least_rate, flows_q16, rate, spare;

	if (!r->intervals) {
		r->output = m->output;
		r->queue_q4 = m->queue_q4;
		r->packets_q16 = m->packets_q16;
	} else {
		r->output = towards(r->output, m->output, m->keep_q31);
		r->queue_q4 = towards(r->queue_q4, m->queue_q4, m->keep_q31);
		r->packets_q16 = towards(r->packets_q16, m->packets_q16, m->keep_q31);
	}
	/* After a surge the average stays above a packet while the line already rests: nothing is left to drain. */
	rests = s->hold && r->packets_q16 >= QFCP_ONE_Q16 && m->packets_q16 < QFCP_ONE_Q16;
	if (rests)
		r->queue_q4 = m->queue_q4;
	if (s->probing && !is_silent) {
		int is_busy = r->packets_q16 >= QFCP_ONE_Q16, waits = s->careful && m->packets_q16 >= QFCP_ONE_Q16;
		u32 growth_q16 = qfcp_careful_growth_q16(s->alpha_q16, r->careful);
		u64 found = qfcp_probed_capacity(r->capacity, r->output, r->packets_q16, growth_q16);

		/* What leaves a line that rests is no capacity. */
		if (rests)
			found = most(r->capacity, r->output);
		else if (waits && !is_busy)
			found = r->capacity;
		r->capacity = most(least(found, s->max_capacity), 1);
		r->careful = s->careful && (is_busy || waits) ? QFCP_CAREFUL : excess(r->careful, 1);
	}
	/* A flow has at least one packet in the network, and all together no more than the link. */
	least_rate = s->bounded ? most(rate_of(s->packet_bytes, r->interval_ns), 1) : 1;
	flows_q16 = qfcp_flows_q16(m->input, most(r->rate, least_rate));
	if (s->average_flows && r->intervals)
		flows_q16 = (r->flows_q16 + flows_q16) / 2;
	r->flows_q16 = most(flows_q16, s->bounded ? QFCP_ONE_Q16 : 1);
	rate = qfcp_fair_rate(r->capacity, r->queue_q4, s->resident ? s->packet_bytes : 0, s->beta_q16, r->interval_ns,
			      r->flows_q16);
	spare = rate_of(s->packet_bytes * (u64)least(s->beta_q16, 1U << 20) >> 16, r->interval_ns);
	r->rate = least(most(rate, least_rate), r->capacity + spare);
	r->intervals++;
}

/* The running interval begins with what a packet finds. */
LASTHOP_INLINE void qfcp_begin(struct qfcp_router *r, const struct qfcp_sight *sight)
{
	r->input_bytes = r->rtts_us = r->rtt_count = 0;
	r->departed_bytes = sight->departed_bytes;
	r->dropped_packets = sight->dropped_packets;
	r->least_bytes = sight->queue_bytes;
	r->least_packets_q16 = least(sight->queue_packets, 1U << 20) << 16;
}

/* Ends the interval at its own end. */
LASTHOP_INLINE void qfcp_close(struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_sight *sight)
{
	u64 elapsed_ns = r->interval_ns, gone_ns = sight->now_ns - r->began_ns;
	u64 departed = sight->departed_bytes - r->departed_bytes, dropped = sight->dropped_packets - r->dropped_packets;
	u64 counted = s->virtual_queue ? least(dropped, 1U << 20) : 0;
	u64 held = s->in_packets ? (r->least_packets_q16 * s->packet_bytes) >> 12 : r->least_bytes << 4;
	u64 in_packets_q16 = s->packet_bytes ? (least(departed, 1ULL << 40) << 16) / s->packet_bytes : 0, share_q16;
	struct qfcp_measured m = {};

	/* What leaves between its end and the packet that comes next is another's. */
	m.output = rate_of(departed, most(gone_ns, elapsed_ns));
	m.input = rate_of(r->input_bytes, elapsed_ns);
	m.queue_q4 = qfcp_virtual_queue(least(held, QFCP_MOST_BYTES << 4), counted * s->packet_bytes << 4);
	m.packets_q16 = qfcp_virtual_queue(r->least_packets_q16, counted << 16);
	/* An interval that the queue has made longer weighs as those that it would be without, up to 8. */
	share_q16 = s->time_weighted && in_packets_q16 ? least((r->least_packets_q16 << 16) / in_packets_q16, 57344) : 0;
	m.keep_q31 = qfcp_keep_q31(s->forgets_q24, (QFCP_ONE_Q16 << 16) / (QFCP_ONE_Q16 - share_q16));
	if (r->rtt_count)
		r->interval_ns = most(least(r->rtts_us / r->rtt_count * 1000, INTERVAL_LONGEST_NS), INTERVAL_LEAST_NS);
	qfcp_control(r, s, &m);
	r->began_ns += elapsed_ns;
	qfcp_begin(r, sight);
}

/* Intervals without a packet of which each is reckoned; after more of them the averages have forgotten what was before. */
#define QFCP_MOST_SILENT 16

/*
 * Ends the interval if it is over, and those without a packet that have passed since; `close` is qfcp_close. Where an
 * interval begins late, by a packet, the first packets of a burst a round trip apart would be counted twice.
 */
LASTHOP_INLINE void qfcp_turn(struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_sight *sight,
			      void (*close)(struct qfcp_router *, const struct qfcp_settings *, const struct qfcp_sight *))
{
	u64 silent;

	if (!r->began_ns) {
		r->capacity = r->rate = s->capacity;
		r->flows_q16 = QFCP_ONE_Q16;
		r->interval_ns = INTERVAL_FIRST_NS;
		r->began_ns = sight->now_ns;
		qfcp_begin(r, sight);
	}
	if (sight->now_ns - r->began_ns < r->interval_ns)
		return;
	close(r, s, sight);
	silent = sight->now_ns > r->began_ns ? (sight->now_ns - r->began_ns) / most(r->interval_ns, 1) : 0;
	for (u32 i = 0; i < QFCP_MOST_SILENT; i++) {
		if (i >= silent)
			return;
		close(r, s, sight);
	}
	r->began_ns += (silent - QFCP_MOST_SILENT) * r->interval_ns;
}

/* Whether the running interval is over. */
LASTHOP_INLINE int qfcp_is_over(const struct qfcp_router *r, u64 now_ns)
{
	return !r->began_ns || now_ns - r->began_ns >= r->interval_ns;
}

/* A packet of so many bytes comes, whose header tells a round-trip time, or 0. */
LASTHOP_INLINE void qfcp_count(struct qfcp_router *r, const struct qfcp_sight *sight, u64 size_bytes, u32 rtt_us)
{
	r->least_bytes = least(r->least_bytes, sight->queue_bytes);
	r->least_packets_q16 = least(r->least_packets_q16, least(sight->queue_packets, 1U << 20) << 16);
	r->input_bytes += size_bytes;
	if (rtt_us) {
		r->rtts_us += rtt_us;
		r->rtt_count++;
	}
}

#endif
