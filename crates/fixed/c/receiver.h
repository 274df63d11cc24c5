/* SPDX-License-Identifier: Dual MIT/GPL */
/* CLAMP's receiver: a connection's window from the prices in its data. All under its lock. */
#ifndef LASTHOP_RECEIVER_H
#define LASTHOP_RECEIVER_H

#include "clamp.h"
#include "handshake.h"
#include "pool.h"
#include "state.h"
#include "window.h"

#define RECEIVER_STARTED FLOW_STARTED

/* The larger of what arrived in this round trip and in the one before. */
LASTHOP_INLINE u64 receiver_round_bytes(const struct receiver *r)
{
	return most(r->round_bytes, r->last_round_bytes);
}

/* A packet of so many bytes arrived. */
LASTHOP_INLINE void receiver_arrival(struct receiver *r, u64 now_ns, u32 bytes, u32 segments)
{
	u64 since_ns = now_ns - r->round_ns;

	binned_rate_add(&r->arrivals, now_ns, bytes);
	/* A super-packet counts for what it holds. */
	r->arrivals.packets += (u16)least(excess(segments, 1), 1024);
	if (since_ns >= r->rtt_ns) {
		r->last_round_bytes = since_ns < 2 * r->rtt_ns ? r->round_bytes : 0;
		r->round_bytes = 0;
		r->round_ns = now_ns;
	}
	r->round_bytes += bytes;
}

/* A round trip was measured. */
LASTHOP_INLINE void receiver_rtt(struct receiver *r, u64 now_ns)
{
	u64 sample_ns = most(now_ns - r->asked_ns, 1);

	r->asked_ns = 0;
	/* Where the server rested for most of so long a time, it tells of that. */
	if (sample_ns > NS_PER_S && recent_least(&r->path) && is_mostly_rest(now_ns, r->arrived_ns, sample_ns))
		return;
	r->rtt_ns = smoothed(r->rtt_ns, sample_ns, 3);
	r->last_rtt_ns = sample_ns;
	recent_least_add(&r->path, now_ns, sample_ns, LEAST_SPAN_NS);
	/* clamp#4.3: d begins as the time from the handshake to the first answer. */
	if (!r->delay_ns)
		r->delay_ns = sample_ns;
}

/* A SYN or SYN-ACK of the server: what it offers. */
LASTHOP_INLINE void receiver_server_begins(struct receiver *r, const struct packet *p, u64 now_ns)
{
	r->seen_ns = now_ns;
	/* What was said again tells nothing. */
	if (r->flags & FLOW_ESTABLISHED && (p->seq + 1 == r->ack || r->field || r->arrived_bytes))
		return;
	if (p->has_scale)
		r->flags |= FLOW_SERVER_SCALES;
	if (!(p->flags & TCP_ACK)) {
		r->opened_seq = p->seq;
		return;
	}
	r->flags |= FLOW_ESTABLISHED;
	r->ack = r->arrived = r->reached = p->seq + 1;
	r->edge = r->ack + (u32)r->own_bytes;
	if (r->asked_ns && is_last_likely_answered(r->flags, r->asked_stamp, p))
		receiver_rtt(r, now_ns);
	r->asked_ns = 0;
}

/* The same of its station, with so much payload in a segment. */
LASTHOP_INLINE void receiver_station_begins(struct receiver *r, const struct packet *p, u32 segment, u64 now_ns)
{
	int is_open = r->flags & FLOW_ESTABLISHED;

	r->seen_ns = now_ns;
	/* What was said again came behind its answer, or the answer itself was. */
	if (is_open && !(p->flags & TCP_ACK && r->asked_ns))
		return;
	r->flags = asks_by(r->flags, p, r->asked_ns != 0);
	r->asked_ns = now_ns;
	r->asked_stamp = p->stamp;
	if (is_open)
		return;
	if (p->has_scale)
		r->flags |= FLOW_CLIENT_SCALES;
	r->scale = p->scale;
	r->mss = segment;
	r->own_bytes = p->window;
	if (p->flags & TCP_ACK) {
		r->flags |= FLOW_ESTABLISHED;
		r->ack = r->arrived = r->reached = p->ack;
		r->edge = p->ack + p->window;
	} else {
		r->opened_seq = p->seq;
	}
}

/* Whether a number of the server's may be what its station expects. */
LASTHOP_INLINE int receiver_expects(const struct receiver *r, u32 seq)
{
	return is_expected(seq, r->ack, r->edge, r->reached);
}

/* Whether a RST of the server ends a connection: see proxy_is_reset. */
LASTHOP_INLINE int receiver_is_reset(const struct receiver *r, const struct packet *p)
{
	return r->flags & FLOW_ESTABLISHED ? receiver_expects(r, p->seq) : is_refused(p, r->opened_seq);
}

/* Nothing is known of the queue any more: its ACKs pass as they are. */
LASTHOP_INLINE void receiver_let_go(struct receiver *r)
{
	if (r->window_q16)
		r->flags |= RECEIVER_STARTED;
	r->window_q16 = 0;
	r->surplus_bytes = 0;
	r->unpriced_ns = 0;
}

/*
 * What fills the path, once data come without a pause for three quarters of its round trip: slow start's next round trip
 * would have no pause at all. Its queue would tell of that too, but a round trip later, and twice as long. 0: not yet, or not
 * any more. Data came with so much payload: on with the train that they belong to, or another one after a pause.
 */
LASTHOP_INLINE u64 receiver_filled(struct receiver *r, u64 gap_ns, u32 payload)
{
	u64 least_ns = recent_least(&r->path), train_ns;

	if (r->flags & RECEIVER_STARTED)
		return 0;
	if (!r->train_ns || gap_ns > least_ns >> 2) {
		r->train_ns = r->arrived_ns;
		r->train_bytes = 0;
	} else {
		r->train_bytes += payload;
	}
	train_ns = r->arrived_ns - r->train_ns;
	if (!least_ns || !train_ns || train_ns < least_ns / 4 * 3)
		return 0;
	return least(r->train_bytes, 1ULL << 30) * least_ns / train_ns;
}

/* What fills the path by all that arrives: half of the first window at least, for there may have been hardly any yet. */
LASTHOP_INLINE u64 receiver_filling(const struct receiver *r)
{
	u64 filling = 0;

	if (r->rtt_ns)
		filling = least(receiver_round_bytes(r), 1ULL << 30) * least(recent_least(&r->path), r->rtt_ns) / r->rtt_ns;
	return most(filling, (u64)FIRST_SEGMENTS * r->mss / 2);
}

/*
 * Slow start ends with a window of so many bytes. What the one before has allowed stays allowed, for an edge never moves
 * left: until that has come, the queue is no work of the new one.
 */
LASTHOP_INLINE void receiver_end_slow_start(struct receiver *r, u64 window_bytes)
{
	r->flags |= RECEIVER_STARTED;
	r->surplus_bytes = excess(r->window_q16 >> 16, window_bytes);
	r->unpriced_ns = 0;
	r->window_q16 = least(r->window_q16, window_bytes << 16);
}

/* What the price remembers of a queue, by the usual average. */
#define RECEIVER_PRICE_NS (NS_PER_S / 10)
/* Gamma, in 1024ths, where slow start may have ended too soon, and for how many round trips without a price. */
#define MAY_PACE_Q10 256
#define MAY_PACE_ROUNDS 32
/* For so long a window is refilled by an eighth of gamma once that made a buffer overflow. */
#define OVERFLOWN_NS (30 * NS_PER_S)

/*
 * By how much the window grows at least while the queue is empty, which tau would take many round trips to fill: beyond#19, or phi
 * segments in a round trip where that is more, so that small windows gain on large ones. The queue is empty once no price has come for
 * a round trip and that is the path's; but where the sender does not fill its window, more of it would help nothing. 0: not so.
 * Until there has been a queue, or for some round trips, slow start may have ended too soon, and it grows by a quarter in each. So many
 * bytes came in the last one.
 */
LASTHOP_INLINE u64 receiver_refill_q16(struct receiver *r, u64 round_bytes, u64 gap_ns, u32 refill_q10)
{
	u64 window = r->window_q16 >> 16, least_ns = recent_least(&r->path), used = window - window / 8;

	if (r->price_q30 || r->duplicates >= 3)
		r->flags &= ~FLOW_MAY_PACE;
	/* What is lost soon after tells of a buffer that is too short for that. */
	if (r->duplicates >= 3 && r->refilled_ns && r->arrived_ns - r->refilled_ns < NS_PER_S + 4 * r->last_rtt_ns) {
		r->overflown_ns = r->arrived_ns;
		r->refilled_ns = 0;
	}
	if (r->price_q30) {
		r->unpriced_ns = 0;
		return 0;
	}
	if (!r->unpriced_ns)
		r->unpriced_ns = r->arrived_ns;
	if (!refill_q10 || !r->last_rtt_ns || r->arrived_ns - r->unpriced_ns < most(r->last_rtt_ns, RECEIVER_PRICE_NS))
		return 0;
	if (r->arrived_ns - r->unpriced_ns > MAY_PACE_ROUNDS * least_ns)
		r->flags &= ~FLOW_MAY_PACE;
	if (r->flags & FLOW_MAY_PACE) {
		refill_q10 = (u32)most(refill_q10, MAY_PACE_Q10);
		/* So much of it is what it was a round trip ago. */
		used = window / 2;
	}
	if (!clamp_is_empty(r->last_rtt_ns, least_ns) || round_bytes < used)
		return 0;
	if (r->flags & RECEIVER_STARTED)
		r->refilled_ns = r->arrived_ns;
	if (r->overflown_ns && r->arrived_ns - r->overflown_ns < OVERFLOWN_NS)
		return clamp_refill_q16(r->window_q16, refill_q10 / 8, r->last_rtt_ns, gap_ns);
	return most(clamp_refill_q16(r->window_q16, refill_q10, r->last_rtt_ns, gap_ns),
		    clamp_refill_q16((u64)r->mss * r->weight_q8 << 8, 1024, r->last_rtt_ns, gap_ns));
}

/* Whether it has window to give, or could use more: its sender fills what it has, and the least window is not too much already. */
LASTHOP_INLINE int receiver_is_poolable(const struct receiver *r, const struct pool *p, u64 window, u64 rate)
{
	if (!(r->flags & RECEIVER_STARTED) || r->surplus_bytes || !rate || receiver_round_bytes(r) < window - window / 4)
		return 0;
	return window > (u64)2 * r->mss || !p->mean || rate <= pool_even(p, r->weight_q8);
}

/*
 * At the first packet of each of the pool's epochs: the connection moves towards the mean of the last one, if it took part in that.
 * 1 if it takes part in this one.
 */
LASTHOP_INLINE int receiver_pools(struct receiver *r, const struct pool *p, struct pool_part *part)
{
	u64 rate = r->pooled, window = least(clamp_advertised(r->window_q16 >> 16, r->own_bytes), 1ULL << 30);

	if (r->epoch == p->epoch)
		return 0;
	part->weight_q8 = r->weight_q8;
	part->rtt_ns = r->rtt_ns;
	part->queue_ns = excess(r->rtt_ns, recent_least(&r->path));
	part->rate = rate_of(window, r->rtt_ns);
	r->drift = 0;
	if (rate && r->epoch + 1 == p->epoch && p->mean) {
		r->drift = pool_moves(rate, pool_even(p, r->weight_q8), r->rtt_ns, p->length_ns);
		if (r->drift > 0 && pool_is_elsewhere(p, part->queue_ns))
			r->drift = 0;
	}
	r->epoch = p->epoch;
	r->pooled = receiver_is_poolable(r, p, window, part->rate) ? part->rate : 0;
	return r->pooled != 0;
}

/* The law, at a packet with so much payload that came with a price, gap after the one before. */
LASTHOP_INLINE void receiver_window(struct receiver *r, u64 gap_ns, u32 payload, u32 tau_bytes, u32 refill_q10)
{
	u64 rate = binned_rate(&r->arrivals), floor_bytes = (u64)2 * r->mss, round = receiver_round_bytes(r), window, hold, filled;
	s64 change_q16, refill_q16;

	if (!r->window_q16)
		r->window_q16 = most((u64)FIRST_SEGMENTS * r->mss, r->flags & RECEIVER_STARTED ? least(round, 1ULL << 30) : 0) << 16;
	window = r->window_q16 >> 16;
	filled = receiver_filled(r, gap_ns, payload);
	r->delay_ns = clamp_delay_ns(r->delay_ns, clamp_advertised(window, r->own_bytes), rate);
	change_q16 = clamp_force_q16(r->weight_q8, tau_bytes, r->price_q30, rate);
	change_q16 = clamp_scaled_change_q16(change_q16, r->delay_ns, gap_ns);
	/* A rest of the sender counts in its smoothed round trip: more than one of the path's may have come in that. */
	if (r->flags & FLOW_MAY_PACE)
		round = receiver_filling(r);
	refill_q16 = (s64)receiver_refill_q16(r, round, gap_ns, refill_q10);
	/* What its sender does not fill grows no further: to a third more than what arrives, or, in slow start, four times that. */
	hold = round + round / 3;
	if (!(r->flags & RECEIVER_STARTED))
		hold = 4 * most(round, least(rate, 1ULL << 30) * least(r->rtt_ns, 16 * NS_PER_S) / NS_PER_S);
	if (r->surplus_bytes) {
		r->surplus_bytes = excess(r->surplus_bytes, payload);
	} else if (r->flags & RECEIVER_STARTED) {
		if (refill_q16 && change_q16 < refill_q16)
			change_q16 = refill_q16;
		change_q16 += pool_moved_q16(r->drift, gap_ns);
		change_q16 = clamp_clipped_q16(change_q16, payload, window > hold ? 0 : CLAMP_MOST_BYTES);
		r->window_q16 = clamp_floored_q16(r->window_q16, change_q16, floor_bytes);
	} else if (change_q16 < 0 || r->duplicates >= 3) {
		receiver_end_slow_start(r, receiver_filling(r));
	} else if (filled) {
		receiver_end_slow_start(r, filled);
		r->flags |= FLOW_MAY_PACE;
	} else if (window <= hold) {
		/* A segment more for each of this packet. */
		r->window_q16 = clamp_slow_start_q16(r->window_q16, payload);
	}
	r->window_q16 = least(most(r->window_q16, floor_bytes << 16), 1ULL << 46);
}

#endif
