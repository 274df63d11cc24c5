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

/* It is found to be one: all that is under way is gone, as far as its station is concerned. */
LASTHOP_INLINE void unheard_begins(struct flow *f, struct station *s)
{
	s->delivered_bytes += flow_rest(f);
	flow_forget_samples(f);
	f->flags |= FLOW_UNHEARD;
}

/* Such data go on, or what may be: whether they are. */
LASTHOP_APART int unheard_looks(struct flow *f, struct station *s, const struct packet *p, u64 now_ns)
{
	u32 end;

	if (!f || !s || !p || !p->payload)
		return 0;
	/* Its client's side of the handshake took another way. */
	if (!(f->flags & FLOW_ESTABLISHED))
		return 1;
	end = p->seq + p->payload;
	if (!(f->flags & FLOW_UNHEARD)) {
		if (excess(now_ns, f->use.heard_ns) <= most(UNHEARD_NS, 2 * f->rtt_ns))
			return 0;
		unheard_begins(f, s);
	}
	f->seen_ns = now_ns;
	if (is_after(end, f->sent))
		f->sent = f->delivered = end;
	/* Its server has been allowed as much. */
	if (is_after(f->sent, f->edge))
		f->edge = f->sent;
	return 1;
}

/* Data of its server go on to its client: whether they are others'. */
LASTHOP_INLINE int unheard_goes_on(struct flow *f, struct station *s, const struct packet *p, u64 now_ns)
{
	u32 is_heard = (f->flags & (FLOW_ESTABLISHED | FLOW_UNHEARD)) == FLOW_ESTABLISHED;

	return is_heard && !is_after(p->seq + p->payload, f->edge) ? 0 : unheard_looks(f, s, p, now_ns);
}

#endif
