/* SPDX-License-Identifier: Dual MIT/GPL */
/* CLAMP's receiver: a connection's window from the prices in its data. All under its lock. */
#ifndef LASTHOP_RECEIVER_H
#define LASTHOP_RECEIVER_H

#include "clamp.h"
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
	r->rtt_ns = smoothed(r->rtt_ns, sample_ns, 3);
	recent_least_add(&r->path, now_ns, sample_ns, LEAST_SPAN_NS);
	/* clamp#4.3: d begins as the time from the handshake to the first answer. */
	if (!r->delay_ns)
		r->delay_ns = sample_ns;
}

/* Nothing is known of the queue any more: its ACKs pass as they are. */
LASTHOP_INLINE void receiver_let_go(struct receiver *r)
{
	if (r->window_q16)
		r->flags |= RECEIVER_STARTED;
	r->window_q16 = 0;
}

/* The window ends slow start: half, but not less than fills the path by what arrives, or refilling it takes many round trips. */
LASTHOP_INLINE u64 receiver_end_of_slow_start_q16(const struct receiver *r)
{
	u64 filling_q16 = 0;

	if (r->rtt_ns)
		filling_q16 = least(receiver_round_bytes(r), 1ULL << 30) * least(recent_least(&r->path), r->rtt_ns) / r->rtt_ns << 16;
	return most(clamp_end_of_slow_start_q16(r->window_q16), least(r->window_q16, filling_q16));
}

/* The law, at a packet with so much payload that came with a price, gap after the one before. */
LASTHOP_INLINE void receiver_window(struct receiver *r, u64 gap_ns, u32 payload, u32 tau_bytes)
{
	u64 rate = binned_rate(&r->arrivals), least_q16 = (u64)2 * r->mss << 16, round = receiver_round_bytes(r), window, hold;
	s64 change_q16;

	if (!r->window_q16)
		r->window_q16 = most((u64)FIRST_SEGMENTS * r->mss, r->flags & RECEIVER_STARTED ? least(round, 1ULL << 30) : 0) << 16;
	window = r->window_q16 >> 16;
	r->delay_ns = clamp_delay_ns(r->delay_ns, clamp_advertised(window, r->own_bytes), rate);
	change_q16 = clamp_force_q16(r->weight_q8, tau_bytes, r->price_q30, rate);
	change_q16 = clamp_scaled_change_q16(change_q16, r->delay_ns, gap_ns);
	/* What its sender does not fill grows no further: twice what arrives, and slow start's is twice that by itself. */
	hold = most(round, least(rate, 1ULL << 30) * least(r->rtt_ns, 16 * NS_PER_S) / NS_PER_S) * (r->flags & RECEIVER_STARTED ? 2 : 4);
	if (r->flags & RECEIVER_STARTED) {
		change_q16 = clamp_clipped_q16(change_q16, payload, window > hold ? 0 : CLAMP_MOST_BYTES);
		r->window_q16 = clamp_floored_q16(r->window_q16, change_q16, least_q16 >> 16);
	} else if (change_q16 < 0 || r->duplicates >= 3) {
		r->flags |= RECEIVER_STARTED;
		r->window_q16 = receiver_end_of_slow_start_q16(r);
	} else if (window <= hold) {
		/* A segment more for each of this packet. */
		r->window_q16 = clamp_slow_start_q16(r->window_q16, payload);
	}
	r->window_q16 = least(most(r->window_q16, least_q16), 1ULL << 46);
}

#endif
