/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * For how much of its weight a connection counts that is known since a moment ago. It may be a short one, which takes little of its share and
 * is gone: were all such counted in full for an epoch, most of the line would be kept for them. All under its station's lock.
 */
#ifndef LASTHOP_NEWCOMER_H
#define LASTHOP_NEWCOMER_H

#include "flow.h"
#include "station.h"

/* By how much what it has under way may grow before others have made room: see newcomer_goes_on. */
#define NEWCOMER_GROWS 4

/* Of its weight it counts for so much; 256: for all. */
LASTHOP_INLINE u32 newcomer_counted_part_q8(const struct flow *f)
{
	return f->counted_q8 && f->counted_q8 < f->weight_q8 ? (u32)most((f->counted_q8 << 8) / f->weight_q8, 1) : 256;
}

/* Its part of its weight, where of what its share would be so much is its own. At least a 256th. */
LASTHOP_INLINE u32 newcomer_part_q8(const struct flow *f, u64 own_bytes, u64 share_bytes)
{
	if (own_bytes >= share_bytes)
		return f->weight_q8;
	return (u32)most(own_bytes * f->weight_q8 / share_bytes, 1);
}

/* What its share would be in such a time. */
LASTHOP_INLINE u64 newcomer_share_bytes(const struct flow *f, const struct station *s, u64 t_ns)
{
	return share_window_bytes(f->weight_q8, share_fair(station_rate(s), most(station_weights(s), 256)), t_ns);
}

/* It joins an epoch, and counts for so much as yet. */
LASTHOP_APART u32 newcomer_joins(struct flow *f, u64 now_ns, u32 is_clamp)
{
	if (!f)
		return 0;
	f->counted_q8 = !is_clamp && !bearing_is_settled(&f->bearing, now_ns);
	return f->counted_q8 ? f->counted_q8 : f->weight_q8;
}

/* It counts for so much in the epoch that it has joined, and the means of those that do stay what they are. */
LASTHOP_INLINE void newcomer_counts(struct flow *f, struct station *s, u32 counted_q8)
{
	u64 *weights_q8 = f->epoch == s->epoch ? &s->weights_q8 : &s->last_weights_q8;
	u64 before_q8 = *weights_q8;

	*weights_q8 = excess(before_q8 + counted_q8, f->counted_q8);
	f->counted_q8 = counted_q8;
	if (f->epoch != s->epoch || before_q8 <= s->limited_q8 || *weights_q8 <= s->limited_q8)
		return;
	before_q8 -= s->limited_q8;
	s->short_q8_ns = least(s->short_q8_ns, 1ULL << 44) * (*weights_q8 - s->limited_q8) / before_q8;
	s->kappa_q18 = least(s->kappa_q18, 1ULL << 44) * (*weights_q8 - s->limited_q8) / before_q8;
}

/*
 * What it counts for once more of it has gone on: slow start will have twice as much under way a round trip later, and twice that once
 * others have heard of it and what they have under way is less.
 */
LASTHOP_APART int newcomer_grows(struct flow *f, struct station *s, u64 nearest_ns, u64 target_ns)
{
	u64 round_ns;
	u32 counted_q8;

	if (!f || !s)
		return 0;
	round_ns = flow_delay_ns(f, nearest_ns) + target_ns;
	counted_q8 = newcomer_part_q8(f, NEWCOMER_GROWS * (u64)after_by(f->sent, f->ack), newcomer_share_bytes(f, s, round_ns));
	if (counted_q8 > f->counted_q8)
		newcomer_counts(f, s, counted_q8);
	return 0;
}

/* More of it has gone on. */
LASTHOP_INLINE void newcomer_goes_on(struct flow *f, struct station *s, u64 nearest_ns, u64 target_ns)
{
	if (f->counted_q8 && f->counted_q8 < f->weight_q8)
		newcomer_grows(f, s, nearest_ns, target_ns);
}

/* All of it has arrived: for now it counts for what it took in its epoch. */
LASTHOP_APART int newcomer_rests(struct flow *f, struct station *s)
{
	u32 counted_q8;

	if (!f || !s || !f->counted_q8 || f->sent != f->ack || f->epoch + 1 < s->epoch)
		return 0;
	counted_q8 = newcomer_part_q8(f, f->use.bytes, newcomer_share_bytes(f, s, station_epoch_ns(s->delay_most_ns)));
	if (counted_q8 < f->counted_q8)
		newcomer_counts(f, s, counted_q8);
	return 0;
}

#endif
