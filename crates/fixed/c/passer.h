/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What an access point makes of connections whose windows others lower: their number and their paths, by which a is raised, and what
 * queue their senders bear, by which it is lowered; and which of their segments bear a price. All under the station's lock.
 */
#ifndef LASTHOP_PASSER_H
#define LASTHOP_PASSER_H

#include "bearing.h"
#include "handshake.h"
#include "state.h"
#include "station.h"
#include "station_clamp.h"
#include "trial.h"
#include "window.h"

/* Its station's windows end there; both sides are known from here on. Once: it may be said again. */
LASTHOP_INLINE void passer_begins(struct passer *f, u32 ack)
{
	if (f->flags & FLOW_ESTABLISHED)
		return;
	f->flags |= FLOW_ESTABLISHED;
	f->ack = f->edge = ack;
}

/* Nothing of it was under way of late where so long ago nothing new was acknowledged. */
LASTHOP_INLINE void passer_rests(struct passer *f, u64 now_ns, u64 wait_ns)
{
	if (excess(now_ns, f->use.heard_ns) > f->path_ns + wait_ns + RESTED_NS)
		f->bearing.rested_ns = now_ns;
}

/* A part of its path, or that it cannot be told: more than one was said of what is answered now (Karn). */
LASTHOP_INLINE void passer_learns(struct passer *f, u64 part_ns, int is_told)
{
	if (!is_told)
		f->flags |= FLOW_UNTOLD;
	f->path_ns = f->flags & FLOW_UNTOLD ? 0 : f->path_ns + part_ns;
}

/* It takes part in an epoch, its round trip being so much longer than its path: the longest queue that its sender bears. */
LASTHOP_INLINE u64 passer_bears_ns(struct passer *f, const struct station *s, const struct packet *p, u64 now_ns, u64 wait_ns,
				   u64 target_ns)
{
	u32 open_bytes = after_by(f->edge, f->ack);
	u64 due = 0;

	/* The first data after a pause come before what they are answered with. */
	passer_rests(f, now_ns, wait_ns);
	bearing_joins(&f->bearing, &f->use, now_ns);
	/* Of one whose handshake was not seen neither path nor windows are known. */
	if (f->flags & FLOW_ESTABLISHED && f->path_ns)
		due = share_payload(station_due(s, 1 << 8, 1), f->mss, p->header_bytes);
	return bearing_bears_ns(&f->bearing, now_ns, target_ns, station_last_target_ns(s, target_ns), due, f->path_ns + wait_ns, f->path_ns,
				open_bytes > FILLED_SEGMENTS * (u64)f->mss);
}

/* A packet of the server: data count the connection, and an answer to its station's SYN tells the path on that side. */
LASTHOP_INLINE void passer_comes(const volatile struct settings *settings, struct passer *f, struct station *s, const struct packet *p,
				 u64 now_ns)
{
	u64 wait_ns = share_wait_ns(s->queue_bytes, station_rate(s));

	u32 begins = p->flags & (TCP_SYN | TCP_ACK);

	if (f->asked_ns && is_next_step(f->flags, p)) {
		passer_learns(f, most(excess(now_ns, f->asked_ns), 1), is_last_answered(f->flags, f->asked_stamp, p));
		f->asked_ns = 0;
	} else if (begins == (TCP_SYN | TCP_ACK) && !(f->flags & FLOW_ESTABLISHED)) {
		/* The SYN went another way. */
		passer_learns(f, 0, 0);
	}
	if (begins & TCP_SYN && f->told_ns)
		passer_learns(f, 0, 0);
	/* Said again, it would tell the same part of the path again. */
	if (begins & TCP_SYN && !(f->flags & FLOW_ESTABLISHED)) {
		if (!(begins & TCP_ACK))
			f->opened_seq = p->seq;
		f->told_ns = now_ns;
		f->wait_ns = wait_ns;
		f->flags |= p->has_scale ? FLOW_SERVER_SCALES : 0;
		if (p->flags & TCP_ACK)
			passer_begins(f, p->seq + 1);
	}
	if (!p->payload)
		return;
	f->mss = most(f->mss, p->segment);
	if (f->counted != s->epoch + 1) {
		u64 target_ns = station_usual_ns(settings, s, f->mss);

		f->counted = s->epoch + 1;
		station_join(s, 1 << 8, f->path_ns + wait_ns, f->path_ns);
		/* Windows that nobody lowers tell nothing of senders. */
		if (!settings->observe_only)
			station_bear(s, passer_bears_ns(f, s, p, now_ns, wait_ns, target_ns),
				     station_last_target_ns(s, target_ns));
	}
}

/*
 * Whether data of the server are to bear a price, if there is room for one. What lies beyond the window is no packet of the connection's, and tells
 * nothing of what was sent, unless its ACKs take another way.
 */
LASTHOP_INLINE int passer_stamps(struct passer *f, const struct packet *p, u64 now_ns, int has_room)
{
	if (!p->payload || p->flags & TCP_SYN)
		return 0;
	if (f->flags & FLOW_ESTABLISHED && is_after(p->seq + p->payload, f->edge) && excess(now_ns, f->use.heard_ns) <= SILENT_NS)
		return has_room;
	return trial_sends(&f->trial, p, now_ns, has_room);
}

/*
 * An ACK of its station, by the windows that it says: what of them the sender uses. What lies beyond them, or is older than the last one,
 * tells nothing; where nothing else comes for long, the connection went another way meanwhile.
 */
LASTHOP_INLINE void passer_hears(struct passer *f, const struct station *s, const struct packet *p, u64 now_ns)
{
	u32 edge = p->ack + ((u32)p->window << window_scale(f->flags, f->scale));
	u32 acked = p->ack - f->ack, open_bytes = after_by(f->edge, f->ack);
	u64 wait_ns = share_wait_ns(s->queue_bytes, station_rate(s));

	/* A FIN may stand behind the window. */
	if (acked > open_bytes + 1) {
		if (excess(now_ns, f->use.heard_ns) > SILENT_NS) {
			f->ack = p->ack;
			f->edge = edge;
		}
		return;
	}
	if (acked) {
		passer_rests(f, now_ns, wait_ns);
		use_add(&f->use, now_ns, acked, f->path_ns + wait_ns, open_bytes);
		f->ack = p->ack;
	}
	if (is_after(edge, f->edge))
		f->edge = edge;
}

/* One of the station. */
LASTHOP_INLINE void passer_goes(struct passer *f, const struct station *s, const struct packet *p, u64 now_ns)
{
	u32 begins = p->flags & (TCP_SYN | TCP_ACK);

	if (f->told_ns && is_next_step(f->flags, p)) {
		passer_learns(f, excess(excess(now_ns, f->told_ns), f->wait_ns), 1);
		f->told_ns = 0;
	} else if (begins == (TCP_SYN | TCP_ACK) && !(f->flags & FLOW_ESTABLISHED)) {
		/* The server's SYN did. */
		passer_learns(f, 0, 0);
	}
	if (begins & TCP_SYN && (f->asked_ns || !(f->flags & FLOW_ESTABLISHED))) {
		f->flags = asks_by(f->flags, p, f->asked_ns != 0);
		f->asked_ns = now_ns;
		f->asked_stamp = p->stamp;
	}
	if (begins & TCP_SYN && !(f->flags & FLOW_ESTABLISHED)) {
		if (!(begins & TCP_ACK))
			f->opened_seq = p->seq;
		f->scale = p->scale;
		f->flags |= p->has_scale ? FLOW_CLIENT_SCALES : 0;
		if (p->flags & TCP_ACK)
			passer_begins(f, p->ack);
	} else if (!(p->flags & TCP_SYN) && p->flags & TCP_ACK && f->flags & FLOW_ESTABLISHED) {
		passer_hears(f, s, p, now_ns);
	}
	if (!(p->flags & TCP_SYN) && p->flags & TCP_ACK)
		trial_hears(&f->trial, p->ack, now_ns);
}

#endif
