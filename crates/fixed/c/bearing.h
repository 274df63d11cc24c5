/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What of its window a connection uses, what it takes of the line, and beside how long a queue its sender takes its share. All
 * under its station's lock.
 */
#ifndef LASTHOP_BEARING_H
#define LASTHOP_BEARING_H

#include "share.h"
#include "state.h"

/*
 * An ACK of so much that is new, after a round trip of so long: by Little's law what it acknowledges was under way for that, and since the
 * last one the window was open.
 */
LASTHOP_INLINE void use_add(struct use *u, u64 now_ns, u32 acked, u64 round_ns, u32 open_bytes)
{
	u64 gap_ns = u->heard_ns ? least(excess(now_ns, u->heard_ns), NS_PER_S) : 0;

	u->used += acked * (round_ns >> 10);
	u->held += open_bytes * (gap_ns >> 10);
	u->heard_ns = now_ns;
	u->bytes += acked;
}

/* Whether it has had the time to get its share. */
LASTHOP_INLINE int bearing_is_settled(const struct bearing *b, u64 now_ns)
{
	return b->joined_ns && now_ns - b->known_ns > SETTLING_NS;
}

/*
 * It joins an epoch: whether it has no more to send, as it has used less than half of its window over a second (station#13). Who is
 * known since two seconds ago or less is on its way to its share.
 */
LASTHOP_INLINE int bearing_joins(struct bearing *b, struct use *u, u64 now_ns)
{
	u64 gap_ns = now_ns - b->joined_ns, keep_q31 = decay_over_q31(gap_ns, TAKEN_NS);

	/* What it bore before a pause is not known of what it sends now. */
	if (gap_ns > 2 * SETTLING_NS)
		b->bears_ns = 0;
	if (b->joined_ns) {
		b->taken = towards(b->taken, rate_of(u->bytes, gap_ns), keep_q31);
		b->used_mean = times_q31(b->used_mean, keep_q31) + u->used;
		b->held_mean = times_q31(b->held_mean, keep_q31) + u->held;
	} else {
		b->known_ns = now_ns;
	}
	b->joined_ns = now_ns;
	u->bytes = u->used = u->held = 0;
	return b->used_mean < b->held_mean / 2 && bearing_is_settled(b, now_ns);
}

/*
 * What its window is multiplied by in the epoch that it is to join, where that is small. After a longer one by less, for what it takes follows
 * within a second.
 */
LASTHOP_INLINE void bearing_leans(struct bearing *b, u64 now_ns, u64 even)
{
	u64 part_q10 = (EPOCH_NS << 10) / most(now_ns - b->joined_ns, EPOCH_NS);

	b->lean_q10 = (u32)((share_lean_q10(b->taken, even) * part_q10 + 1024 * (1024 - part_q10)) >> 10);
}

/*
 * It has joined an epoch; its share is `due`, 0 as long as nobody else could take it, T was `present_ns` in the one before, its round
 * trip is that with the queue and without, and its window is of more than a few segments or not: the longest queue that its sender bears, 0
 * where that is any. BBR keeps two of its rate times its least round trip under way: where the queue is longer than its path, that is less
 * than its window, and it loses its share to others. Who has neither its share nor fills its window, of more than a few segments, but an
 * eighth of it or a quarter of its share at least, has had something under way for three seconds, and finds a queue of more than half of
 * its path, asks for one no longer than its path; as long as it still does, for a shorter one. Whom that has not helped after a while has
 * a pace of its own, and bears any: as often as it is well it may ask again. Otherwise what it bears grows, bit by bit, until T is wanted
 * of it.
 */
LASTHOP_INLINE u64 bearing_bears_ns(struct bearing *b, u64 now_ns, u64 target_ns, u64 present_ns, u64 due, u64 round_ns, u64 path_ns,
				    int is_large)
{
	int is_well = b->taken >= due - due / 16 || b->used_mean >= b->held_mean - b->held_mean / 4;
	/* What slow start has left of a window may be a dozen times what its sender needs for a third of its share. */
	int sends = b->used_mean > b->held_mean / 8 || b->taken > due / 4;
	int asks = !is_well && sends && is_large && round_ns > path_ns + path_ns / 2 &&
		   excess(now_ns, b->rested_ns) > ASKING_NS;

	if (!due) {
		b->bears_ns = 0;
		return 0;
	}
	if (is_well)
		b->asked -= b->asked > 0;
	else if ((asks || b->bears_ns) && b->asked < PATIENCE)
		b->asked++;
	if (b->asked >= PATIENCE)
		b->bears_ns = 0;
	else if (asks)
		b->bears_ns = share_borne_ns(path_ns, present_ns, target_ns);
	else
		b->bears_ns += b->bears_ns / 64;
	if (b->bears_ns >= target_ns)
		b->bears_ns = 0;
	return b->bears_ns;
}

#endif
