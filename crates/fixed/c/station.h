/* SPDX-License-Identifier: Dual MIT/GPL */
/* What shares a queue: its rate, its flows, its path. All under the station's lock. */
#ifndef LASTHOP_STATION_H
#define LASTHOP_STATION_H

#include "path.h"
#include "share.h"
#include "state.h"

/* The rate that the law goes by; 0 as long as it is unknown. */
LASTHOP_INLINE u64 station_rate(const struct station *s)
{
	return s->known_rate;
}

/* It is another one: to find it takes a division, and packets ask for it several times each. */
LASTHOP_INLINE void station_find_rate(struct station *s)
{
	s->known_rate = share_rate_over(&s->rate, s->chosen);
}

/* Whether flows are those of the last epoch: whichever had more, that or the running one. */
LASTHOP_INLINE int station_goes_by_last(const struct station *s)
{
	return s->last_weights_q8 >= s->weights_q8;
}

/* Phi. */
LASTHOP_INLINE u64 station_weights(const struct station *s)
{
	return station_goes_by_last(s) ? s->last_weights_q8 : s->weights_q8;
}

/* What has passed in a tick: how much of it is others', and what is left beside that. */
LASTHOP_APART int station_find_others(struct station *s)
{
	u64 unsteered_q8;

	if (!s || !s->passed_bytes)
		return 0;
	s->others_q10 = (u32)smoothed(s->others_q10, (s->other_bytes << 10) / s->passed_bytes, 2);
	s->unsteered_part_q10 = (u32)smoothed(s->unsteered_part_q10, (s->unsteered_bytes << 10) / s->passed_bytes, 2);
	unsteered_q8 = most(s->unsteered_q8, s->last_unsteered_q8);
	s->least_part_q10 = share_least_part_q10(station_weights(s), unsteered_q8, excess(s->others_q10, s->unsteered_part_q10));
	s->theirs_q10 = share_theirs_q10(s->others_q10, s->unsteered_part_q10, station_weights(s), unsteered_q8);
	s->passed_bytes = s->other_bytes = s->unsteered_bytes = 0;
	return 0;
}

/* A tick is over: it judges the forecasts, or bounds the rate from below where the queue was mostly empty. */
LASTHOP_APART int station_tick(struct station *s, u64 now_ns)
{
	u64 tick_ns;

	if (!s)
		return 0;
	tick_ns = now_ns - s->tick_ns;
	if (s->tick_busy_ns >= TICK_BUSY_NS && s->tick_busy_bytes) {
		u64 found_q16 = log2_q16(rate_of(s->tick_busy_bytes, s->tick_busy_ns));
		u64 best_q20 = ~0ULL;
		u32 best = 0;

		UNROLLED
		for (u32 i = 0; i < SHARE_HORIZONS; i++) {
			u64 loss_q20 = s->loss_q20[i];

			if (s->forecast_q16[i])
				loss_q20 = share_loss_q20(loss_q20, share_error_q20(found_q16, s->forecast_q16[i]));
			s->loss_q20[i] = loss_q20;
			if (loss_q20 < best_q20) {
				best_q20 = loss_q20;
				best = i;
			}
		}
		if (s->chosen < SHARE_HORIZONS && share_is_better(best_q20, s->loss_q20[s->chosen]))
			s->chosen = best;
		station_find_rate(s);
	}
	if (2 * s->tick_busy_ns < tick_ns) {
		u64 rate = rate_of(s->tick_bytes, tick_ns), more = rate + (rate >> 2);

		/* Windows that do not fill the line at the rate that is known would keep it at that: by so much more they would. */
		if (s->short_q10)
			more = least(more, 1ULL << 34) * s->short_q10 >> 10;
		if ((s->short_q10 ? more : rate) > station_rate(s))
			share_rate_raise(&s->rate, more);
		station_find_rate(s);
	}
	UNROLLED
	for (u32 i = 0; i < SHARE_HORIZONS; i++)
		s->forecast_q16[i] = log2_q16(share_rate_over(&s->rate, i));
	station_find_others(s);
	s->tick_ns = now_ns;
	s->tick_bytes = 0;
	s->tick_busy_ns = 0;
	s->tick_busy_bytes = 0;
	return 0;
}

/* So many bytes have left since the last look, the queue having been busy all the while or not. */
LASTHOP_INLINE void station_served(struct station *s, u64 now_ns, u64 elapsed_ns, u64 bytes, int busy)
{
	if (!s->tick_ns) {
		s->tick_ns = now_ns;
		s->chosen = SHARE_FIRST_HORIZON;
		return;
	}
	s->tick_bytes += bytes;
	if (busy) {
		s->tick_busy_ns += elapsed_ns;
		s->tick_busy_bytes += bytes;
		s->span_ns += elapsed_ns;
		s->span_bytes += bytes;
		if (s->span_ns >= SHARE_LEAST_SPAN_NS) {
			share_rate_add(&s->rate, s->span_ns, s->span_bytes);
			station_find_rate(s);
			s->span_ns = 0;
			s->span_bytes = 0;
		}
	}
	if (now_ns - s->tick_ns >= TICK_NS)
		station_tick(s, now_ns);
}

/*
 * Whether the time since the last look counts as busy: surely if something waited all the while. Where the queue may have run empty
 * within it, that is when a line is fast, but for how long it rested is not seen. Such time tells of the rate from below alone, and a
 * burst at its end of no rate at all: it counts where all since the queue was last empty, that rest included, shows more than the
 * rate that is known. Of late, for the rate of a minute ago says nothing.
 */
LASTHOP_INLINE int station_is_busy(struct station *s, u64 elapsed_ns, u64 bytes, int surely)
{
	if (!s->queue_bytes) {
		s->period_ns = 0;
		s->period_bytes = 0;
	} else if (s->period_ns > TICK_NS) {
		s->period_ns >>= 1;
		s->period_bytes >>= 1;
	}
	s->period_ns += elapsed_ns;
	s->period_bytes += bytes;
	return surely || (s->queue_bytes && share_outruns(s->period_bytes, s->period_ns, station_rate(s)));
}

/* A look at the qdisc's backlog: surely busy if it held something at this look and at the one before. */
LASTHOP_INLINE void station_look(struct station *s, u64 now_ns, u64 queue_bytes, u64 departed_bytes)
{
	/* Two processors may look in either order. */
	if (s->seen_ns && (now_ns <= s->seen_ns || departed_bytes < s->departed_bytes)) {
		if (departed_bytes + (1ULL << 32) < s->departed_bytes)
			s->seen_ns = s->slot = 0; /* another qdisc */
		return;
	}
	if (s->seen_ns) {
		u64 elapsed_ns = now_ns - s->seen_ns, bytes = departed_bytes - s->departed_bytes;

		station_served(s, now_ns, elapsed_ns, bytes,
			       station_is_busy(s, elapsed_ns, bytes, s->queue_bytes && queue_bytes));
	}
	s->seen_ns = now_ns;
	s->queue_bytes = queue_bytes;
	s->departed_bytes = departed_bytes;
}

/* The look of now is kept, if the last that is was a millisecond ago. */
LASTHOP_INLINE void station_keep_look(struct station *s, u64 now_ns)
{
	u32 now = (u32)(now_ns >> 10), last = ((u32)s->slot - 1) & (LOOKS - 1), next = (u32)s->slot & (LOOKS - 1);

	if (s->seen_ns != now_ns || (s->slot && now - s->ring[2 * last] < LOOK_UNITS))
		return;
	s->ring[2 * next] = now;
	s->ring[2 * next + 1] = (u32)s->departed_bytes;
	s->slot++;
}

/* When not yet so much had left the queue, at the last look that is kept; 0: at none. */
LASTHOP_APART u64 station_there_ns(const struct station *s, u64 now_ns, u64 leaves_bytes)
{
	/* So many of the last looks were later. */
	u32 later = 0, count, at;

	if (!s)
		return 0;
	count = (u32)least(s->slot, LOOKS);
	for (u32 step = LOOKS / 2; step; step /= 2) {
		at = ((u32)s->slot - later - step) & (LOOKS - 1);
		if (later + step <= count && s->ring[2 * at + 1] - (u32)leaves_bytes < 1U << 31)
			later += step;
	}
	at = ((u32)s->slot - later - 1) & (LOOKS - 1);
	/* The first one that is kept may be later, too. */
	if (later >= count || s->ring[2 * at + 1] - (u32)leaves_bytes < 1U << 31)
		return 0;
	return now_ns - ((u64)((u32)(now_ns >> 10) - s->ring[2 * at]) << 10);
}

/* On to a slot: what was due before it counts as due. */
LASTHOP_APART int station_advance(struct station *s, u64 slot)
{
	/* Read anew each time, so that the verifier has nothing to tell one round from the next by. */
	const volatile u64 *present;

	if (!s)
		return 0;
	present = &s->slot;
	for (u32 i = 0; i < SLOTS; i++) {
		u64 here = *present;
		u32 at = here & (SLOTS - 1);

		if (here >= slot)
			return 0;
		s->due_bytes += s->ring[at];
		s->ring[at] = 0;
		s->slot = here + 1;
	}
	s->slot = slot;
	return 0;
}

/*
 * So many new bytes went on to a client: without a queue they are acknowledged once the path there and back is gone. Each
 * connection has a path of its own, so only sums tell the queue: hosts behind one address may be at different distances.
 */
LASTHOP_INLINE void station_forward(struct station *s, u64 now_ns, u32 bytes, u64 client_ns)
{
	u64 slot = (now_ns + client_ns) >> SLOT_SHIFT;

	s->forwarded_bytes += bytes;
	s->farthest_slot = most(s->farthest_slot, slot);
	if (slot >= s->slot + SLOTS)
		station_advance(s, slot - SLOTS + 1);
	if (slot < s->slot)
		s->due_bytes += bytes;
	else
		s->ring[slot & (SLOTS - 1)] += bytes;
}

/* The place of a segment in what goes on to the clients; 0 where that of a client farther away is due after it. */
LASTHOP_INLINE u32 station_place(const struct station *s, u64 now_ns, u32 bytes, u64 client_ns)
{
	return (now_ns + client_ns) >> SLOT_SHIFT < s->farthest_slot ? 0 : s->forwarded_bytes + bytes;
}

/* The segment of that place has arrived, and with it what went on before: a queue keeps the order. */
LASTHOP_INLINE void station_reach(struct station *s, u32 place_bytes)
{
	u32 farther = place_bytes - (u32)s->reached_bytes;

	if (place_bytes && farther < 1U << 31)
		s->reached_bytes += farther;
}

/* What was due by t and has not arrived yet; t in `slot` or the one after, in which bytes lie evenly. A duplicate that was
 * counted too early makes it less than nothing. */
LASTHOP_INLINE u64 station_left_at(const struct station *s, u64 t_ns)
{
	u64 slot = t_ns >> SLOT_SHIFT, part = t_ns & ((1 << SLOT_SHIFT) - 1), due = s->due_bytes;

	if (slot > s->slot)
		due += s->ring[s->slot & (SLOTS - 1)];
	if (slot >= s->slot)
		due += s->ring[slot & (SLOTS - 1)] * part >> SLOT_SHIFT;
	return excess(due, s->arrived_bytes);
}

/* Of the weights of Phi, those that count for what they take, and what that is. */
LASTHOP_INLINE u64 station_limited(const struct station *s)
{
	return station_goes_by_last(s) ? s->last_limited_q8 : s->limited_q8;
}

LASTHOP_INLINE u64 station_taken(const struct station *s)
{
	return station_goes_by_last(s) ? s->last_taken : s->taken;
}

/* T in the last epoch. */
LASTHOP_INLINE u64 station_last_target_ns(const struct station *s, u64 target_ns)
{
	return s->last_bears_ns ? least(target_ns, s->last_bears_ns) : target_ns;
}

/* T at present: what is wanted of the queue, or the longest that all flows bear. */
LASTHOP_INLINE u64 station_target_ns(const struct station *s, u64 target_ns)
{
	return station_last_target_ns(s, s->bears_ns ? least(target_ns, s->bears_ns) : target_ns);
}

/* What of the rate, of all or of the steered alone, the steered share. */
LASTHOP_INLINE u64 station_rate_beside(const struct station *s, int is_all)
{
	return share_rate_beside(station_rate(s), s->others_q10, s->least_part_q10, is_all);
}

/*
 * The rate that is due to a connection of this weight if all take their shares, of that of all or of the steered alone; nothing as long as
 * there is no other that could take it.
 */
LASTHOP_INLINE u64 station_due(const struct station *s, u32 weight_q8, int is_all)
{
	u64 rate = station_rate_beside(s, is_all), weights_q8 = station_weights(s);

	return weights_q8 > weight_q8 ? share_fair(rate, weights_q8) * weight_q8 >> 8 : 0;
}

/* Whether a segment of each connection is more than the path, which takes so long with what is wanted of the queue, holds at this rate. */
LASTHOP_INLINE int station_is_floored(const struct station *s, u64 rate, u32 mss, u64 span_ns)
{
	return !share_holds(rate, span_ns, (station_weights(s) >> 8) * mss);
}

/* What receivers can hold back: of each connection a segment, and another one that has come since. */
LASTHOP_INLINE u64 station_held_bytes(const struct station *s, u32 mss)
{
	return (most(station_weights(s), 256) >> 7) * mss;
}

/* What of a round trip neither the path nor a queue of so much accounts for. */
LASTHOP_INLINE u64 station_waited_ns(const struct station *s, u64 sample_ns, u64 path_ns, u64 queue_bytes)
{
	return excess(excess(sample_ns, path_ns), share_wait_ns(queue_bytes, station_rate(s)));
}

/* What was alone under way has waited so long, for its receiver's timer, which is known from all that have: gives what counts of it. */
LASTHOP_INLINE u64 station_timed(struct station *s, u64 waited_ns)
{
	/* Beside a queue a part of that is taken for it. */
	u32 shift = s->is_part && !s->queue_bytes && waited_ns > s->timer_ns ? 4 : 6;

	s->timer_ns = smoothed(s->timer_ns, least(waited_ns, TIMER_NS), shift);
	return least(waited_ns, s->timer_ns);
}

/*
 * What has arrived beyond what is known of that: beyond what is acknowledged it is as much as when an ACK told that exactly, as the one at
 * hand may do.
 */
LASTHOP_APART u32 station_kept(struct station *s)
{
	if (!s)
		return 0;
	if (s->is_exact) {
		s->kept_bytes = (u32)smoothed(s->kept_bytes, least(s->arrived_bytes - s->delivered_bytes, s->most_keeps_bytes), 2);
		return 0;
	}
	return s->kept_bytes ? (u32)least(excess(s->delivered_bytes + s->kept_bytes, s->arrived_bytes), ~0U) : 0;
}

/*
 * An ACK of time t: what it acknowledges, and what is left behind it. One that was held back tells nothing of the time between. The last of what
 * it tells of stood in the queue for so long, as far as is known.
 */
LASTHOP_INLINE void station_hear(struct station *s, u64 t_ns, u64 bytes, u64 stood_ns)
{
	u64 before = s->arrived_bytes, kept_bytes;

	t_ns = most(t_ns, s->seen_ns);
	s->delivered_bytes += bytes;
	s->arrived_bytes = most(s->delivered_bytes, s->reached_bytes);
	bytes = s->arrived_bytes - before;
	if (s->is_late && !bytes)
		return;
	if (s->seen_ns) {
		u64 elapsed_ns = t_ns - s->seen_ns;

		int surely = s->surely_bytes > 0;

		/* ACKs come far apart: what was there must have been all that came, or have lasted until what came last stood there. */
		if (surely && s->most_keeps_bytes)
			surely = s->surely_bytes > bytes || stood_ns >= elapsed_ns ||
				 share_outruns(s->surely_bytes, elapsed_ns - stood_ns, station_rate(s));
		station_served(s, t_ns, elapsed_ns, bytes, station_is_busy(s, elapsed_ns, bytes, surely) && !s->is_late);
	}
	s->seen_ns = t_ns;
	station_advance(s, (t_ns >> SLOT_SHIFT) - 1);
	s->left_bytes = (u32)least(station_left_at(s, t_ns), ~0U);
	kept_bytes = s->most_keeps_bytes ? station_kept(s) : 0;
	s->queue_bytes = excess(s->left_bytes, kept_bytes);
	/* A slot more: what was due within it may or may not have come by now. */
	s->surely_bytes = (u32)least(excess(station_left_at(s, t_ns - (1 << SLOT_SHIFT)), 2 * kept_bytes), ~0U);
}

/* Where the queue rests, by the means of m and kappa of all flows of the epoch so far that take their share. */
LASTHOP_INLINE void station_take_means(struct station *s)
{
	u64 weights_q8 = s->weights_q8 - s->limited_q8;

	if (!weights_q8)
		return;
	s->lacking_ns = share_lacking_ns(s->short_q8_ns / weights_q8, (u32)(s->kappa_q18 / weights_q8));
}

/* So long an epoch lasts at least in which the longest round trip is that. */
LASTHOP_INLINE u64 station_epoch_ns(u64 longest_ns)
{
	return most(EPOCH_NS, 2 * longest_ns);
}

/* Opens another epoch where the running one is over. */
LASTHOP_INLINE void station_turn(struct station *s, u64 now_ns)
{
	u64 epoch_ns = station_epoch_ns(s->delay_most_ns);
	u64 since_ns = now_ns - s->epoch_ns;

	if (since_ns < epoch_ns || now_ns < s->epoch_ns)
		return;
	station_take_means(s);
	s->short_q8_ns = s->kappa_q18 = 0;
	s->last_pooled_weights_q8 = since_ns < 2 * epoch_ns ? s->pooled_weights_q8 : 0;
	s->last_pooled = since_ns < 2 * epoch_ns ? s->pooled : 0;
	s->pooled_weights_q8 = s->pooled = 0;
	s->most_keeps_bytes = since_ns < 2 * epoch_ns ? s->keeps_bytes : 0;
	s->keeps_bytes = 0;
	if (!s->most_keeps_bytes)
		s->kept_bytes = 0;
	s->last_limited_q8 = since_ns < 2 * epoch_ns ? s->limited_q8 : 0;
	s->last_taken = since_ns < 2 * epoch_ns ? s->taken : 0;
	s->limited_q8 = s->taken = 0;
	s->last_weights_q8 = since_ns < 2 * epoch_ns ? s->weights_q8 : 0;
	s->weights_q8 = 0;
	s->last_unsteered_q8 = since_ns < 2 * epoch_ns ? s->unsteered_q8 : 0;
	s->unsteered_q8 = 0;
	s->last_delay_most_ns = since_ns < 2 * epoch_ns ? s->delay_most_ns : 0;
	s->delay_most_ns = 0;
	s->last_taker_most_ns = since_ns < 2 * epoch_ns ? s->taker_most_ns : 0;
	s->taker_most_ns = 0;
	s->last_delay_least_ns = s->delay_least_ns;
	s->delay_least_ns = 0;
	s->last_bears_ns = since_ns < 2 * epoch_ns ? s->bears_ns : 0;
	s->bears_ns = 0;
	s->epoch_ns = now_ns;
	s->epoch++;
}

/* Something goes to the clients. */
LASTHOP_INLINE void station_pass(struct station *s, u64 bytes, int is_other)
{
	s->passed_bytes += bytes;
	if (is_other)
		s->other_bytes += bytes;
}

/* So much of it is of a connection that nobody steers; its weight, if it is the first of it in the epoch: beside such ones the steered have their part. */
LASTHOP_INLINE void station_pass_unsteered(struct station *s, u64 bytes, u64 weight_q8)
{
	s->unsteered_bytes += bytes;
	s->unsteered_q8 += weight_q8;
}

/* A flow of this weight takes part in the epoch; its round trip with the queue and without, 0 where it is not known yet. */
LASTHOP_INLINE void station_join(struct station *s, u64 weight_q8, u64 delay_ns, u64 shortest_ns)
{
	s->weights_q8 += weight_q8;
	s->delay_most_ns = most(s->delay_most_ns, least(delay_ns, NS_PER_S));
	if (shortest_ns && (!s->delay_least_ns || shortest_ns < s->delay_least_ns))
		s->delay_least_ns = least(shortest_ns, NS_PER_S);
}

/* The flow that has joined bears a queue of so long, 0: any, where T was `present_ns` in the last epoch. */
LASTHOP_INLINE void station_bear(struct station *s, u64 bears_ns, u64 present_ns)
{
	/* Beside others that have more than their part it has less than its own for that. */
	if (!bears_ns || s->theirs_q10 > 1024 || (s->bears_ns && s->bears_ns <= bears_ns))
		return;
	s->bears_ns = bears_ns;
	/* By what the queue rests below a T that was much longer says nothing of this one: until it is known, half of it. */
	if (bears_ns < present_ns - present_ns / 8)
		s->lacking_ns = least(s->lacking_ns, bears_ns / 2);
}

/* The flow that has joined counts for what it takes. */
LASTHOP_INLINE void station_limit(struct station *s, struct flow *f, u64 weight_q8)
{
	f->flags |= FLOW_LIMITED_NOW;
	f->bearing.taken = least(f->bearing.taken, station_rate(s) * weight_q8 / most(station_weights(s), weight_q8));
	s->limited_q8 += weight_q8;
	s->taken += f->bearing.taken;
}

/* It has its share at once. */
LASTHOP_INLINE void station_unlimit(struct station *s, struct flow *f)
{
	u32 is_last = f->epoch + 1 == s->epoch, is_now = f->epoch == s->epoch;

	if (is_now && f->flags & FLOW_LIMITED_NOW) {
		s->limited_q8 = excess(s->limited_q8, f->weight_q8);
		s->taken = excess(s->taken, f->bearing.taken);
	}
	if (is_last ? f->flags & FLOW_LIMITED_NOW : is_now && f->flags & FLOW_LIMITED_BEFORE) {
		s->last_limited_q8 = excess(s->last_limited_q8, f->weight_q8);
		s->last_taken = excess(s->last_taken, f->bearing.taken);
	}
	f->flags &= ~(FLOW_LIMITED_NOW | FLOW_LIMITED_BEFORE);
	f->bearing.used_mean = most(f->bearing.used_mean, f->bearing.held_mean);
	f->use.used = most(f->use.used, f->use.held);
}

/* What one of this weight would have had in the last epoch if those that were compared had had the same; 0: not known. */
LASTHOP_INLINE u64 station_even(const struct station *s, u64 weight_q8)
{
	u64 weights_q8 = s->last_pooled_weights_q8;

	return weights_q8 > weight_q8 ? least(s->last_pooled, 1ULL << 34) * weight_q8 / weights_q8 : 0;
}

/* One that has so much is compared with others; returns what counts of that. */
LASTHOP_INLINE u64 station_pool(struct station *s, u64 weight_q8, u64 rate)
{
	rate = least(rate, MOST_SHARES * share_fair(station_rate(s), station_weights(s)) * weight_q8 >> 8);
	s->pooled_weights_q8 += weight_q8;
	s->pooled += rate;
	return rate;
}

/* The m and kappa of one that takes its share: by their means the queue rests. */
LASTHOP_INLINE void station_weigh(struct station *s, u64 weight_q8, u64 short_ns, u32 kappa_q10)
{
	s->short_q8_ns += weight_q8 * least(short_ns, NS_PER_S);
	s->kappa_q18 += weight_q8 * kappa_q10;
	if (!station_goes_by_last(s))
		station_take_means(s);
}

#endif
