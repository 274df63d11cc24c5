/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Connections whose data pass the proxy and whose ACKs take another way: nobody lowers their windows, and what they have under way is never
 * seen to arrive. Their servers give them away, for they send beyond the last window that was said here. Such data are what others fill a
 * queue with, until an ACK comes this way again. All under the station's lock.
 */
#ifndef LASTHOP_UNHEARD_H
#define LASTHOP_UNHEARD_H

#include "flow.h"
#include "station.h"

/* For so long at least, and two round trips, nothing new has been acknowledged here: an ACK may have been overtaken by what it let go. */
#define UNHEARD_NS (NS_PER_S / 2)
/* TCP has none that is larger (RFC 7323, 2.3). */
#define MOST_WINDOW_BYTES (1U << 30)

/* It is found to be one: all that is under way is gone, as far as its station is concerned. */
LASTHOP_INLINE void unheard_begins(struct flow *f, struct station *s)
{
	s->delivered_bytes += flow_rest(f);
	flow_forget_samples(f);
	/* At a desk it sits down anew: what comes meanwhile is none of what it takes there. */
	f->seat = 0;
	f->counted_q8 = 0;
	f->flags |= FLOW_UNHEARD;
}

/* An ACK of something new has come this way again. Nobody's server was allowed more than its client's own window: what lay beyond that was not its. */
LASTHOP_INLINE void unheard_ends(struct flow *f, const struct packet *p)
{
	u32 farthest = p->ack + ((u32)p->window << flow_scale(f));

	if (!(f->flags & FLOW_UNHEARD))
		return;
	f->flags &= ~FLOW_UNHEARD;
	if (is_after(f->sent, farthest))
		f->sent = farthest;
	if (is_after(f->delivered, farthest))
		f->delivered = farthest;
	if (is_after(f->edge, farthest))
		f->edge = farthest;
}

/* So much of it goes on: it takes part in the epoch as one that nobody steers. */
LASTHOP_INLINE void unheard_counts(struct flow *f, struct station *s, const struct packet *p)
{
	int was_there = f->epoch == s->epoch && !(f->flags & FLOW_COUNTED);

	f->epoch = s->epoch;
	f->flags &= ~(FLOW_COUNTED | FLOW_LIMITED_NOW | FLOW_LIMITED_BEFORE);
	station_pass_unsteered(s, p->size_bytes, was_there ? 0 : f->weight_q8);
}

/* Such data go on, or what may be: whether they are. */
LASTHOP_APART int unheard_looks(struct flow *f, struct station *s, const struct packet *p, u64 now_ns)
{
	u32 end;

	if (!f || !s || !p || !p->payload)
		return 0;
	/* Its client's side of the handshake took another way. */
	if (!(f->flags & FLOW_ESTABLISHED)) {
		unheard_counts(f, s, p);
		return 1;
	}
	end = p->seq + p->payload;
	if (!(f->flags & FLOW_UNHEARD)) {
		/* Whose ACKs come this way sends nothing behind a hole there: somebody else does. */
		if (excess(now_ns, f->use.heard_ns) <= most(UNHEARD_NS, 2 * f->rtt_ns))
			return is_after(p->seq, f->sent);
		unheard_begins(f, s);
	}
	f->seen_ns = now_ns;
	unheard_counts(f, s, p);
	if (is_after(end, f->sent)) {
		int goes_on = !is_after(p->seq, f->sent);

		f->sent = f->delivered = end;
		/* By no more than the largest window an ACK that comes this way again is behind it. */
		if (goes_on && f->sent - f->ack > MOST_WINDOW_BYTES)
			f->ack = f->sent - MOST_WINDOW_BYTES;
	}
	/* Its server has been allowed as much. */
	if (is_after(f->sent, f->edge))
		f->edge = f->sent;
	return 1;
}

/* Data of its server go on to its client: whether they are others'. By a byte beyond it servers probe a window that is closed (RFC 9293, 3.8.6.1). */
LASTHOP_INLINE int unheard_goes_on(struct flow *f, struct station *s, const struct packet *p, u64 now_ns)
{
	u32 is_heard = (f->flags & (FLOW_ESTABLISHED | FLOW_UNHEARD)) == FLOW_ESTABLISHED;

	return is_heard && !is_after(p->seq + p->payload, f->edge + 1) ? 0 : unheard_looks(f, s, p, now_ns);
}

#endif
