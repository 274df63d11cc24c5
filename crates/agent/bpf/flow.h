/* SPDX-License-Identifier: Dual MIT/GPL */
/* What a connection tells of its path. All under the flow's lock. */
#ifndef LASTHOP_FLOW_H
#define LASTHOP_FLOW_H

#include "packet.h"
#include "state.h"
#include "window.h"

/* A segment went on to the client: its round trip is measured. */
LASTHOP_INLINE void flow_sample(struct flow *f, u64 now_ns, u32 end)
{
	if (now_ns - f->sampled_ns < NS_PER_MS)
		return;
	UNROLLED
	for (u32 i = 0; i < SAMPLES; i++) {
		if (!f->samples[i].sent_ns) {
			f->samples[i].sent_ns = now_ns;
			f->samples[i].end = end;
			f->sampled_ns = now_ns;
			return;
		}
	}
}

/* Which of two an ACK is for is not known (Karn). */
LASTHOP_INLINE void flow_forget_samples(struct flow *f)
{
	UNROLLED
	for (u32 i = 0; i < SAMPLES; i++)
		f->samples[i].sent_ns = 0;
}

/* When the latest of the segments was sent that an ACK tells of; 0: none. */
LASTHOP_INLINE u64 flow_sampled(struct flow *f, u32 ack)
{
	u64 latest_ns = 0;

	UNROLLED
	for (u32 i = 0; i < SAMPLES; i++) {
		if (f->samples[i].sent_ns && !is_after(f->samples[i].end, ack)) {
			latest_ns = most(latest_ns, f->samples[i].sent_ns);
			f->samples[i].sent_ns = 0;
		}
	}
	return latest_ns;
}

/*
 * When an ACK was sent, by the client's own clock and as if the quickest of late had come at once; z follows. Its arrival
 * where the clock is not known to count milliseconds.
 */
LASTHOP_INLINE u64 flow_sent_at(struct flow *f, const struct packet *p, u64 now_ns)
{
	u64 ticks_ns, elapsed_ns, offset_ns, late_ns;

	if (!p->has_stamp || f->clock.state == CLOCK_OTHER)
		return now_ns;
	if (!f->clock.began_ns) {
		f->clock.began_ns = now_ns;
		f->clock.first = p->stamp;
	}
	elapsed_ns = now_ns - f->clock.began_ns;
	ticks_ns = (u64)(u32)(p->stamp - f->clock.first) * NS_PER_MS;
	if (f->clock.state == CLOCK_UNKNOWN) {
		if (elapsed_ns < CLOCK_NS)
			return now_ns;
		/* Delays of up to the second eighth do not hide what the clock counts. */
		f->clock.state = ticks_ns > elapsed_ns / 8 * 6 && ticks_ns < elapsed_ns / 8 * 10 ? CLOCK_MILLISECONDS :
												    CLOCK_OTHER;
		if (f->clock.state == CLOCK_OTHER)
			return now_ns;
	}
	/* A stamp from before the first one. */
	if (p->stamp - f->clock.first > 1U << 31)
		return now_ns;
	offset_ns = elapsed_ns + CLOCK_BIAS_NS - ticks_ns;
	recent_least_add(&f->clock.offset, now_ns, offset_ns, LEAST_SPAN_NS);
	late_ns = least(offset_ns - recent_least(&f->clock.offset), NS_PER_S);
	f->ack_delay_ns = late_ns > f->ack_delay_ns ? f->ack_delay_ns + (late_ns - f->ack_delay_ns) / 16 :
						      f->ack_delay_ns - (f->ack_delay_ns - late_ns) / 16;
	return now_ns - late_ns;
}

/* What has arrived since the last ACK: what it acknowledges, and a segment for a duplicate (RFC 5681, 2). */
LASTHOP_INLINE u32 flow_delivered(struct flow *f, const struct packet *p)
{
	u32 by = f->delivered;

	if (is_after(p->ack, by))
		by = p->ack;
	else if (p->ack == f->ack && !p->payload && p->window == f->window && is_after(f->sent, f->ack))
		by += f->mss;
	if (is_after(by, f->sent))
		by = f->sent;
	f->window = p->window;
	if (!is_after(by, f->delivered))
		return 0;
	by -= f->delivered;
	f->delivered += by;
	return by;
}

/* It has nothing under way any more: what is left of it counts as delivered. */
LASTHOP_INLINE u32 flow_rest(struct flow *f)
{
	u32 rest = is_after(f->sent, f->delivered) ? f->sent - f->delivered : 0;

	f->delivered = f->sent;
	return rest;
}

#endif
