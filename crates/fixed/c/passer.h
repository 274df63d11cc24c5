/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What an access point makes of connections whose windows others lower: their number and their paths, by which a is raised.
 * All under the station's lock.
 */
#ifndef LASTHOP_PASSER_H
#define LASTHOP_PASSER_H

#include "state.h"
#include "station.h"

/* A packet of the server: data count the connection, and an answer to its station's SYN tells the path on that side. */
LASTHOP_INLINE void passer_comes(struct passer *f, struct station *s, const struct packet *p, u64 now_ns)
{
	u64 wait_ns = share_wait_ns(s->queue_bytes, station_rate(s));

	if (f->asked_ns)
		f->path_ns += most(excess(now_ns, f->asked_ns), 1);
	f->asked_ns = 0;
	if (p->flags & TCP_SYN) {
		f->told_ns = now_ns;
		f->wait_ns = wait_ns;
	}
	if (!p->payload)
		return;
	f->mss = most(f->mss, p->segment);
	if (f->counted != s->epoch + 1) {
		f->counted = s->epoch + 1;
		station_join(s, 1 << 8, f->path_ns + wait_ns, f->path_ns);
	}
}

/* One of the station. */
LASTHOP_INLINE void passer_goes(struct passer *f, const struct packet *p, u64 now_ns)
{
	if (f->told_ns)
		f->path_ns += excess(excess(now_ns, f->told_ns), f->wait_ns);
	f->told_ns = 0;
	if (p->flags & TCP_SYN)
		f->asked_ns = now_ns;
}

#endif
