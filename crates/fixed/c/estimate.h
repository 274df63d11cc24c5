/* SPDX-License-Identifier: Dual MIT/GPL */
/* What the laws measure. */
#ifndef LASTHOP_ESTIMATE_H
#define LASTHOP_ESTIMATE_H

#include "arith.h"

/* An average that keeps so much of what it was. Any values below 2^63. */
LASTHOP_INLINE u64 towards(u64 before, u64 sample, u64 keep_q31)
{
	if (sample > before)
		return sample - times_q31(sample - before, keep_q31);
	return sample + times_q31(before - sample, keep_q31);
}

/*
 * The average queue after an arrival, gap after the one before: clamp#4.1 q <- e^(-gap/span) q + (1 - e^(-gap/span)) Q. It also
 * tells the average of now where none arrives any more: Q is what stands in the queue then. The paper's span is half a second. With that, and
 * a price of when a packet joins the queue, not of when it leaves, the loop is stable for b below 1.04 with round trips of 125 ms, so that
 * b = 1 is next to the edge, and many connections swing together. With 50 ms the edge is at 1.26, and of 30 ms at 1.09.
 */
LASTHOP_INLINE u64 over_arrivals_q16(u64 before_q16, u64 queue_q16, u64 gap_ns, u64 span_ns)
{
	return towards(before_q16, queue_q16, decay_over_q31(gap_ns, span_ns));
}

/* An average in which a new sample weighs 2^-shift; the first, where there is none before, is its value. */
LASTHOP_INLINE u64 smoothed(u64 before, u64 sample, u32 shift)
{
	if (!before)
		return sample;
	return sample > before ? before + ((sample - before) >> shift) : before - ((before - sample) >> shift);
}

/* The rate while there is something to pass: means over windows of at least 50 ms, a new one weighing 1/8. */
struct busy_window {
	u64 began_ns; /* 0: at rest */
	u64 bytes;
	u64 rate; /* B/s; 0: unknown */
};

/* Counts what has left by now. The first call after a rest lends its time but not its bytes. */
LASTHOP_INLINE void busy_window_add(struct busy_window *w, u64 now_ns, u64 bytes)
{
	if (!w->began_ns) {
		w->began_ns = now_ns;
		w->bytes = 0;
		return;
	}
	w->bytes += bytes;
	if (now_ns - w->began_ns >= 50 * NS_PER_MS) {
		w->rate = smoothed(w->rate, rate_of(w->bytes, now_ns - w->began_ns), 3);
		w->began_ns = now_ns;
		w->bytes = 0;
	}
}

/* There is nothing to pass: the window is broken off. */
LASTHOP_INLINE void busy_window_rest(struct busy_window *w)
{
	w->began_ns = 0;
}

#define BINS 16
#define BIN_PACKETS 64

/* The rate of the last packets: 15 to 16 bins of 64, the running one among them. All 0 at the start. */
struct binned_rate {
	u64 opened_ns[BINS];
	u32 bytes[BINS];
	u64 sum_bytes;
	u64 last_ns;
	u16 packets; /* in the running bin */
	u16 running; /* which it is */
	u32 used; /* bins that hold something */
};

/* Counts a packet of up to 64 kB, later than 0 ns. */
LASTHOP_INLINE void binned_rate_add(struct binned_rate *r, u64 now_ns, u32 bytes)
{
	u32 at = r->running & (BINS - 1);

	if (!r->used) {
		/* The first packet lends its time, but not its bytes. */
		r->used = 1;
		r->opened_ns[at] = now_ns;
		r->last_ns = now_ns;
		return;
	}
	if (r->packets >= BIN_PACKETS) {
		at = (at + 1) & (BINS - 1);
		r->running = at;
		if (r->used >= BINS)
			r->sum_bytes -= r->bytes[at];
		else
			r->used++;
		r->opened_ns[at] = r->last_ns;
		r->bytes[at] = 0;
		r->packets = 0;
	}
	r->bytes[at] += bytes;
	r->sum_bytes += bytes;
	r->packets++;
	r->last_ns = now_ns;
}

/* B/s; 0 as long as it is unknown. */
LASTHOP_INLINE u64 binned_rate(const struct binned_rate *r)
{
	u32 oldest = r->used >= BINS ? (r->running + 1) & (BINS - 1) : 0;

	return rate_of(r->sum_bytes, r->last_ns - r->opened_ns[oldest]);
}

/*
 * The least of the last one to two spans: this span's and the one before. 0: no sample yet. Samples of 0 count as 1 ns.
 */
struct recent_least {
	u64 began_ns;
	u64 now_least_ns;
	u64 last_least_ns;
};

LASTHOP_INLINE u64 recent_least(const struct recent_least *l)
{
	if (!l->now_least_ns)
		return l->last_least_ns;
	return l->last_least_ns ? least(l->now_least_ns, l->last_least_ns) : l->now_least_ns;
}

/* Opens the next span where this one is over. */
LASTHOP_INLINE void recent_least_turn(struct recent_least *l, u64 now_ns, u64 span_ns)
{
	if (!l->began_ns)
		l->began_ns = now_ns;
	if (now_ns - l->began_ns < span_ns || !l->now_least_ns)
		return;
	l->last_least_ns = l->now_least_ns;
	l->now_least_ns = 0;
	l->began_ns = now_ns;
}

LASTHOP_INLINE void recent_least_add(struct recent_least *l, u64 now_ns, u64 sample_ns, u64 span_ns)
{
	recent_least_turn(l, now_ns, span_ns);
	sample_ns = most(sample_ns, 1);
	if (!l->now_least_ns || sample_ns < l->now_least_ns)
		l->now_least_ns = sample_ns;
}

#endif
