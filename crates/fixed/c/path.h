/* SPDX-License-Identifier: Dual MIT/GPL */
/* A path to a client and back, by samples of its round trip. Under its station's lock. */
#ifndef LASTHOP_PATH_H
#define LASTHOP_PATH_H

#include "share.h"
#include "state.h"

/* What separates one path from another: less is noise. */
LASTHOP_INLINE u64 path_margin_ns(u64 client_ns)
{
	return (client_ns >> 4) + 2 * NS_PER_MS;
}

/*
 * What the least of a span counts as in the next one. Where the queue is hidden it is no longer than the one before by what no drain
 * has looked at: a queue that is never quite empty would become a part of the path, a bit in each span.
 */
LASTHOP_INLINE u64 path_settled_ns(u64 before_ns, u64 now_ns, u32 is_hidden)
{
	return is_hidden && before_ns && now_ns > before_ns && !share_wants_probe(now_ns, before_ns) ? before_ns : now_ns;
}

/* A sample of the path to the nearest client. */
LASTHOP_INLINE void path_add(struct path *p, u64 now_ns, u64 sample_ns, u32 is_hidden)
{
	u64 before_ns = p->least.last_least_ns, began_ns = p->least.began_ns;

	recent_least_add(&p->least, now_ns, sample_ns, LEAST_SPAN_NS);
	if (p->least.began_ns != began_ns)
		p->least.last_least_ns = path_settled_ns(before_ns, p->least.last_least_ns, is_hidden);
}

/* Whether a sample of now ends the running half second. */
LASTHOP_INLINE int path_turns(const struct path *p, u64 now_ns)
{
	return now_ns - p->look_ns >= PATH_NS;
}

/* The least of the last two half seconds, the queue included; 0: one of them saw nothing. */
LASTHOP_INLINE u64 path_seen_ns(const struct path *p)
{
	return p->now_ns && p->last_ns ? least(p->now_ns, p->last_ns) : 0;
}

/* It is so long from now on. */
LASTHOP_INLINE void path_becomes(struct path *p, u64 client_ns)
{
	p->least.now_least_ns = client_ns;
	p->least.last_least_ns = 0;
}

/* A sample of a path, the queue included: its least, and whether it is another path now. Not where the queue cannot be short. */
LASTHOP_INLINE int path_sample(struct path *p, u64 now_ns, u64 sample_ns, u64 target_ns, int is_floored)
{
	int has_changed = 0;

	if (path_turns(p, now_ns)) {
		if (!is_floored && share_path_changed(p->now_ns, p->last_ns, recent_least(&p->least), target_ns)) {
			path_becomes(p, path_seen_ns(p));
			has_changed = 1;
		}
		p->last_ns = now_ns - p->look_ns < 2 * PATH_NS ? p->now_ns : 0;
		p->now_ns = 0;
		p->look_ns = now_ns;
	}
	if (!p->now_ns || sample_ns < p->now_ns)
		p->now_ns = most(sample_ns, 1);
	return has_changed;
}

/* A path is so much longer than all samples of it so far tell. */
LASTHOP_INLINE void path_longer(struct path *p, u64 by_ns)
{
	u64 *samples_ns[] = { &p->least.now_least_ns, &p->least.last_least_ns, &p->now_ns, &p->last_ns };

	UNROLLED
	for (u32 i = 0; i < 4; i++)
		*samples_ns[i] += *samples_ns[i] ? by_ns : 0;
}

#endif
