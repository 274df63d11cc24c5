/* SPDX-License-Identifier: Dual MIT/GPL */
/* What a connection tells of its path. All under its station's lock. */
#ifndef LASTHOP_FLOW_H
#define LASTHOP_FLOW_H

#include "bearing.h"
#include "handshake.h"
#include "state.h"
#include "station.h"
#include "window.h"

/* For how much its receiver waits unless a timer ends that. */
LASTHOP_INLINE u32 flow_waits_bytes(const struct flow *f)
{
	return (u32)most(f->waits_segments, 2) * f->mss;
}

/* Whether that is more than two segments. */
LASTHOP_INLINE int flow_waits_long(const struct flow *f)
{
	return flow_waits_bytes(f) > 2 * f->mss;
}

LASTHOP_INLINE void flow_keep_sample(struct flow *f, u32 i, u64 now_ns, u32 end, u32 place_bytes)
{
	f->sample.sent_ns[i] = now_ns;
	f->sample_end[i] = end;
	f->sample_place_bytes[i] = place_bytes;
}

/*
 * A segment went on to the client, with what was forwarded up to `place_bytes`: its round trip is measured. Of those that go at once it is
 * the first, or where a receiver waits for many, the one with which it has what it waits for: its ACK comes as that arrives.
 */
LASTHOP_INLINE void flow_sample(struct flow *f, u64 now_ns, u32 end, u32 place_bytes)
{
	int is_next = now_ns - f->sampled_ns >= NS_PER_MS;

	if (!is_next && (!flow_waits_long(f) || (end - f->ack) % flow_waits_bytes(f)))
		return;
	UNROLLED
	for (u32 i = 0; i < SAMPLES; i++) {
		if (is_next ? !f->sample.sent_ns[i] : f->sample.sent_ns[i] >= f->sampled_ns) {
			flow_keep_sample(f, i, now_ns, end, place_bytes);
			if (is_next)
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
		f->sample.sent_ns[i] = 0;
}

/* When the latest of the segments was sent that an ACK tells of; 0: none. What went on before one of them has arrived as well. */
LASTHOP_INLINE u64 flow_sampled(struct flow *f, struct station *s, u32 ack)
{
	u64 latest_ns = 0;
	u32 is_exact = 0;

	UNROLLED
	for (u32 i = 0; i < SAMPLES; i++) {
		if (f->sample.sent_ns[i] && !is_after(f->sample_end[i], ack)) {
			is_exact |= f->sample_end[i] == ack && f->sample_place_bytes[i];
			latest_ns = most(latest_ns, f->sample.sent_ns[i]);
			station_reach(s, f->sample_place_bytes[i]);
			f->sample.sent_ns[i] = 0;
		}
	}
	s->is_exact = (u8)is_exact;
	return latest_ns;
}

/*
 * An ACK came so long after its stamp: what of that counts as its way. A way that is longer than it was is taken for one that
 * ACKs wait on until the least of late says so, and then bit by bit: all at once, nothing would seem to arrive for so long.
 * What they do not wait any more is a part of the path, and of that to the nearest client, which is not longer than any other.
 */
LASTHOP_INLINE u64 flow_base(struct flow *f, struct station *s, u64 now_ns, u64 offset_ns)
{
	struct clock *c = &f->clock;
	u64 nearest_ns = recent_least(&s->path.least), least_ns, rise_ns, own_ns;

	recent_least_add(&c->offset, now_ns, offset_ns, LEAST_SPAN_NS);
	least_ns = recent_least(&c->offset);
	if (!c->base_ns || least_ns <= c->base_ns) {
		c->base_ns = least_ns;
	} else {
		/* Two processors may come in either order. */
		rise_ns = least(excess(now_ns, c->based_ns), CLOCK_PAUSE_NS) >> CLOCK_SLEW_SHIFT;
		rise_ns = least(least_ns - c->base_ns, rise_ns);
		c->base_ns += rise_ns;
		path_longer(&f->path, rise_ns);
		own_ns = recent_least(&f->path.least);
		if (own_ns <= nearest_ns + rise_ns + path_margin_ns(nearest_ns))
			path_longer(&s->path, least(rise_ns, excess(own_ns, nearest_ns)));
		f->ack_delay_ns = excess(f->ack_delay_ns, rise_ns);
	}
	c->based_ns = most(c->based_ns, now_ns);
	return c->base_ns;
}

/* What its client's clock counts goes on from this stamp: gives how long after it the ACK came, and the bias. */
LASTHOP_INLINE u64 flow_clock_anew(struct flow *f, u64 now_ns, u32 stamp)
{
	struct recent_least none = {};

	f->clock.began_ns = now_ns;
	f->clock.first = stamp;
	f->clock.offset = none;
	f->clock.base_ns = 0;
	return CLOCK_BIAS_NS;
}

/*
 * When an ACK was sent, by the client's own clock and as if the quickest of late had come at once; z follows. Its arrival
 * where the clock is not known to count milliseconds.
 */
LASTHOP_INLINE u64 flow_sent_at(struct flow *f, struct station *s, const struct packet *p, u64 now_ns)
{
	u64 ticks_ns, elapsed_ns, offset_ns, base_ns, late_ns;

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
		/* ACKs that wait longer than they did in the beginning hide what the clock counts, but not for long. */
		if (ticks_ns > elapsed_ns / 8 * 6 && ticks_ns < elapsed_ns / 8 * 10)
			f->clock.state = CLOCK_MILLISECONDS;
		else if (elapsed_ns > CLOCK_LAST_NS)
			f->clock.state = CLOCK_OTHER;
		if (f->clock.state != CLOCK_MILLISECONDS)
			return now_ns;
	}
	/* A stamp from before the first one. */
	if (p->stamp - f->clock.first > 1U << 31)
		return now_ns;
	offset_ns = elapsed_ns + CLOCK_BIAS_NS - ticks_ns;
	/* Behind a pause it is so late: the clock has stood still meanwhile, as that of a client does that sleeps. It goes on from here. */
	if (f->clock.base_ns && excess(now_ns, f->clock.based_ns) > TIMER_NS && offset_ns > f->clock.base_ns + TIMER_NS)
		offset_ns = flow_clock_anew(f, now_ns, p->stamp);
	base_ns = flow_base(f, s, now_ns, offset_ns);
	late_ns = least(offset_ns - base_ns, NS_PER_S);
	f->ack_delay_ns = late_ns > f->ack_delay_ns ? f->ack_delay_ns + (late_ns - f->ack_delay_ns) / 16 :
						      f->ack_delay_ns - (f->ack_delay_ns - late_ns) / 16;
	return now_ns - late_ns;
}

/*
 * The path to its client and back: its own where that is another one than to the nearest client of the address. Until anything has told
 * it, as the handshake had it.
 */
LASTHOP_INLINE u64 flow_client_ns(const struct flow *f, u64 nearest_ns)
{
	u64 own_ns = recent_least(&f->path.least);

	if (!own_ns && !nearest_ns)
		return f->begin_ns;
	return own_ns > nearest_ns + path_margin_ns(nearest_ns) ? own_ns : nearest_ns;
}

/*
 * The round trip of a segment that was alone under way, without what it waited for its receiver's timer. That may be more or less than such
 * ones wait in the mean: a path that is known for sure is as it was, if it is no longer than all the round trip.
 */
LASTHOP_INLINE u64 flow_alone_ns(const struct flow *f, u64 sample_ns, u64 timer_ns, u64 nearest_ns)
{
	u64 own_ns = recent_least(&f->path.least);

	if (own_ns && !(f->flags & FLOW_UNSURE))
		return least(sample_ns, own_ns);
	return most(excess(sample_ns, timer_ns), nearest_ns);
}

/* By so much more than twice a path may seem longer before a rest of the server is looked for. */
#define LONGER_NS (NS_PER_S / 10)

/*
 * The server has answered what its client said. Where it rested meanwhile, it had nothing to send: an answer that came so late that the
 * path would be twice as long as it is known, and behind a silence for most of that time, tells nothing of it.
 */
LASTHOP_INLINE void flow_answered(struct flow *f, u64 now_ns)
{
	u64 sample_ns = excess(now_ns, f->asked_ns), known_ns = recent_least(&f->upstream);

	f->asked_ns = 0;
	if (!known_ns || !f->forwarded_ns || sample_ns <= 2 * known_ns + LONGER_NS || !is_mostly_rest(now_ns, f->forwarded_ns, sample_ns))
		recent_least_add(&f->upstream, now_ns, sample_ns, LEAST_SPAN_NS);
}

/* An ACK of so much that is new: what of its window it uses. */
LASTHOP_APART int flow_uses(struct flow *f, u64 now_ns, u32 acked)
{
	if (f)
		use_add(&f->use, now_ns, acked, f->rtt_ns + recent_least(&f->upstream), after_by(f->edge, f->ack));
	return 0;
}

/* Whether one of its ends has ended, and all that was sent has arrived. */
LASTHOP_INLINE int flow_is_over(const struct flow *f)
{
	return f->flags & (FLOW_SERVER_ENDED | FLOW_CLIENT_ENDED) && !is_after(f->sent, f->ack);
}

/* Whether it has filled three quarters of a window of more than a few segments: it has more to send after all. */
LASTHOP_INLINE int flow_fills(const struct flow *f)
{
	u32 under_way = f->sent - f->ack, open_bytes = after_by(f->edge, f->ack);

	return under_way > FILLED_SEGMENTS * f->mss && under_way >= open_bytes - open_bytes / 4;
}

/* d: its round trip without the queue, and with what its ACKs wait for each other. */
LASTHOP_INLINE u64 flow_delay_ns(const struct flow *f, u64 nearest_ns)
{
	return flow_client_ns(f, nearest_ns) + recent_least(&f->upstream) + f->ack_delay_ns;
}

/*
 * A sample of that path. Spans are those of all connections of the station, so that one drain serves them all. The
 * handshake's is taken without the queue that stood there before and after it, but not as less than the nearest client's.
 */
LASTHOP_INLINE void flow_path_sample(struct flow *f, u64 now_ns, u64 sample_ns, u64 span_began_ns, u64 nearest_ns, u64 wait_ns,
				     u64 target_ns, u32 is_hidden, u32 is_probing, u32 is_floored)
{
	struct recent_least *l = &f->path.least;

	if (l->began_ns != span_began_ns) {
		if (l->now_least_ns)
			l->last_least_ns = path_settled_ns(l->last_least_ns, l->now_least_ns, is_hidden);
		l->now_least_ns = 0;
		l->began_ns = span_began_ns;
	}
	if (is_probing && f->flags & FLOW_UNSURE) {
		f->flags &= ~FLOW_UNSURE;
		l->now_least_ns = 0;
	}
	path_sample(&f->path, now_ns, sample_ns, target_ns, is_floored);
	if (f->begin_wait_ns && !f->begin_ns) {
		sample_ns = most(excess(sample_ns, least(f->begin_wait_ns, wait_ns)), nearest_ns);
		f->begin_wait_ns = 0;
		if (sample_ns > nearest_ns + path_margin_ns(nearest_ns))
			f->flags |= FLOW_UNSURE;
	}
	if (!l->now_least_ns || sample_ns < l->now_least_ns)
		l->now_least_ns = most(sample_ns, 1);
}

/* Whether a drain of the queue would tell more of the path. */
LASTHOP_INLINE int flow_wants_probe(const struct flow *f, u64 now_ns)
{
	if (f->flags & FLOW_UNSURE)
		return f->acknowledged_bytes > WORTHY_BYTES;
	return now_ns - f->path.least.began_ns >= PROBE_AFTER_NS &&
	       share_wants_probe(f->path.least.now_least_ns, f->path.least.last_least_ns);
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

/* Of its windows. */
LASTHOP_INLINE u32 flow_scale(const struct flow *f)
{
	return window_scale(f->flags, f->scale);
}

/* Its window where that is small. While little waits nobody is kept from the line. */
LASTHOP_INLINE u64 flow_leans(struct flow *f, u64 window_bytes, int is_short)
{
	u64 lean_q10 = f->bearing.lean_q10;

	if (window_bytes >= LEANING_SEGMENTS * (u64)f->mss) {
		f->flags &= ~FLOW_SMALL;
		return window_bytes;
	}
	f->flags |= FLOW_SMALL;
	if (!lean_q10 || is_short)
		return window_bytes;
	return window_bytes * lean_q10 >> 10;
}

/* Whether its receiver holds ACKs back, for a second segment or for its timer. */
LASTHOP_INLINE int flow_holds(const struct flow *f)
{
	/* More than one and a half segments in the mean. */
	return (u64)f->told_bytes_q8 * 2 > ((u64)f->mss * 3) << 8;
}

/*
 * New payload goes on; nothing else is under way where it is the first. One segment at a time is looked at: how long after the one
 * before it comes. ACKs come between pairs, so that the next after one would always be the first of a pair: after one that no ACK
 * ended with, it is another one.
 */
LASTHOP_INLINE void flow_apart(struct flow *f, u64 now_ns, u32 end, u32 payload, int is_first)
{
	u64 gap_ns = payload > f->mss ? 0 : excess(now_ns, f->forwarded_ns);

	if (is_first) {
		/* What comes after a pause was not held back in it. */
		f->heard_ns = 0;
		f->flags &= ~FLOW_APART;
	} else if (!(f->flags & FLOW_APART) && f->passed_segments++ >= f->pass_segments) {
		f->second_end = end;
		f->second_ns = (u32)least(gap_ns, NS_PER_S);
		f->flags |= FLOW_APART;
	}
	f->forwarded_ns = now_ns;
}

/*
 * An ACK tells of so much. Where that ends with the segment that is looked at, the one before was held back for as long as it came
 * after that, and for its own time on the line at least: so pairs leave little with a receiver, and segments that are paced half of one.
 */
LASTHOP_INLINE void flow_was_apart(struct flow *f, u64 now_ns, u32 ack, u32 told_bytes, u64 rate)
{
	if (f->heard_ns)
		f->told_ns = (u32)smoothed(f->told_ns, most(least(excess(now_ns, f->heard_ns), NS_PER_S), 1), 5);
	f->heard_ns = now_ns;
	if (!(f->flags & FLOW_APART) || is_after(f->second_end, ack))
		return;
	f->flags &= ~FLOW_APART;
	f->passed_segments = 0;
	if (f->second_end == ack) {
		u64 segment_ns = least(lasts_ns(f->mss, rate), NS_PER_S);

		f->apart_ns = (u32)smoothed(f->apart_ns, told_bytes > f->mss ? most(f->second_ns, segment_ns) : 1, 5);
	} else {
		f->pass_segments = (f->pass_segments + 1) & (PASS_SEGMENTS - 1);
	}
}

/*
 * What its receiver holds back in the mean: of n segments that an ACK tells of, n (n - 1)/2 times the part of the time that lies between
 * two of them, and (n - 1)/2 at most, as where they come evenly.
 */
LASTHOP_INLINE u32 flow_held_bytes(const struct flow *f)
{
	u64 told_bytes = least(f->told_bytes_q8 >> 8, 1 << 20), over_bytes = excess(told_bytes, f->mss), half_bytes = f->mss / 2;
	u64 apart_bytes;

	if (!f->told_ns || !f->apart_ns)
		return (u32)half_bytes;
	apart_bytes = most(told_bytes * over_bytes / most(2 * f->mss, 1), f->mss);
	return (u32)least(apart_bytes * f->apart_ns / f->told_ns, most(over_bytes / 2, half_bytes));
}

/*
 * What an ACK tells of in the mean: for so many segments it waits. Rather for one too many: ACKs of fewer than it waits for make that mean
 * less. It takes a division to find, and mostly is what it was.
 */
LASTHOP_INLINE void flow_find_waits(struct flow *f)
{
	u32 most_bytes = (f->told_bytes_q8 >> 8) + f->mss / 4 * 3, waits_bytes = flow_waits_bytes(f);

	if (most_bytes >= waits_bytes + f->mss || (most_bytes < waits_bytes && f->waits_segments > 2))
		f->waits_segments = (u8)least(most_bytes / most(f->mss, 1), 255);
}

/* Whether it is seen to wait for more than two. */
LASTHOP_INLINE int flow_waits(const struct flow *f)
{
	return f->flags & FLOW_WAITS && flow_waits_long(f);
}

/*
 * How much more is tried while nothing waits in the queue and its receiver waits for many segments, for its timer or with what it was
 * given: what lies beyond the last ACK of a round trip is told in the next one, of which it takes the room. 0: no more.
 */
LASTHOP_INLINE u32 flow_tried_q10(const struct flow *f, const struct station *s)
{
	u32 waits_bytes = flow_waits_bytes(f), window_bytes = (u32)least(f->window_bytes, 1 << 20);
	u32 is_given_little = f->flags & FLOW_COUNTS && !(f->flags & FLOW_LIMITED_NOW);

	if (!flow_waits_long(f) || s->queue_bytes >= waits_bytes || !(f->flags & FLOW_WAITS || is_given_little))
		return 0;
	return window_bytes > waits_bytes ? TRIED_Q10 * window_bytes / (window_bytes - window_bytes % waits_bytes) : TRIED_Q10;
}

/*
 * What a connection has now and then, whatever its window: a segment more than its receiver waits for, whose ACK comes without the timer. As
 * long as it is not known for how many that waits, it has half as much again, and more often.
 */
LASTHOP_INLINE u32 flow_look_bytes(const struct flow *f, u32 random)
{
	u32 waits_bytes = flow_waits_bytes(f);

	if (!flow_waits(f))
		return 0;
	if (f->flags & FLOW_COUNTS)
		return random >> 28 ? 0 : waits_bytes + f->mss;
	return random >> 30 ? 0 : waits_bytes + waits_bytes / 2;
}

/* New payload goes on beside what is under way, and that for longer than its path and the queue account for: it waits for more. */
LASTHOP_INLINE int flow_is_left(const struct flow *f, const struct station *s, u64 now_ns, u64 nearest_ns)
{
	u64 gap_ns = excess(now_ns, f->forwarded_ns);

	return gap_ns > LATE_NS && is_after(f->sent, f->ack) && gap_ns > LATE_NS + flow_client_ns(f, nearest_ns) &&
	       gap_ns > LATE_NS + flow_client_ns(f, nearest_ns) + share_wait_ns(s->left_bytes, station_rate(s));
}

/* Whether its window is to allow for what its receiver holds back. Where the queue is seen, whole segments make up for half of one. */
LASTHOP_INLINE int flow_allows_for_held(const volatile struct settings *settings, const struct flow *f)
{
	return flow_holds(f) && (settings->is_hidden || flow_waits_long(f));
}

/* The window of such a receiver's connection, with so much of the line for a weight of 1. A drain leaves what it takes to see the path. */
LASTHOP_INLINE u64 flow_window_beside_held(u64 window_bytes, u32 mss_bytes, u32 held_bytes, u32 waits_bytes, u32 is_draining, u32 phi_q8,
					   u64 fair, u64 timer_ns)
{
	if (is_draining)
		return most(window_bytes, mss_bytes + mss_bytes / 16);
	if (window_is_waited_for(window_bytes, mss_bytes, held_bytes, waits_bytes))
		return window_beside_held(window_bytes, mss_bytes, held_bytes, waits_bytes, 0);
	return window_beside_held(window_bytes, mss_bytes, held_bytes, waits_bytes, share_window_bytes(phi_q8, fair, timer_ns));
}

/* A connection's window with what its receiver holds back. */
LASTHOP_INLINE u64 flow_with_held(const struct flow *f, u64 window_bytes, u32 is_draining, u64 timer_ns)
{
	return flow_window_beside_held(window_bytes, f->mss, flow_held_bytes(f), flow_waits_bytes(f), is_draining, f->weight_q8, f->fair,
				       timer_ns);
}

/*
 * Whether it is known for how many its receiver waits. What an ACK tells beside which more is under way was counted; where it has waited with
 * all of more than that, it waits for more. Gives whether that is news.
 */
LASTHOP_INLINE int flow_counts(struct flow *f, u32 delivered, int is_all, int has_waited)
{
	u32 told_bytes = f->told_bytes_q8 >> 8, counts = f->flags & FLOW_COUNTS;

	if (!is_all && delivered + f->mss / 2 >= told_bytes) {
		f->flags |= FLOW_COUNTS;
		return !counts;
	}
	if (!is_all || !has_waited || delivered <= told_bytes + f->mss / 2)
		return 0;
	f->flags &= ~FLOW_COUNTS;
	return 1;
}

/*
 * What ACKs tell of, smoothed: 1/16 of it is new each time. Where a receiver waits for many segments, so many are counted as fast as they are
 * more, or as they come sooner than a timer would have ended their ACK; those of a timer are fewer.
 */
LASTHOP_INLINE void flow_tells(struct flow *f, const struct station *s, u32 told_bytes, int is_news)
{
	u32 shift = 4;

	if (flow_waits_long(f) && is_news)
		shift = 0;
	else if (flow_waits_long(f) && (told_bytes > f->told_bytes_q8 >> 8 || excess(f->seen_ns, f->heard_ns) < s->timer_ns / 4 * 3))
		shift = 2;
	f->told_bytes_q8 = (u32)smoothed(f->told_bytes_q8, least(told_bytes, 1 << 20) << 8, shift);
}

/*
 * An ACK tells of so much, and has waited so long beyond what its path and the queue account for, or come with the path: whether that was for
 * the timer. Of a segment that was under way alone it does not tell whether another would have been waited for. While more is in the queue
 * than receivers can hold back, ACKs come at the line's pace, and one of a single segment as well: to leave out what it ends, but not what
 * began with that segment, would make the line seem slower.
 */
LASTHOP_INLINE void flow_told(struct flow *f, struct station *s, u32 delivered, u64 waited_ns, int is_prompt)
{
	u32 under_way = f->sent - f->delivered + delivered, told_bytes = f->told_bytes_q8 >> 8;
	int is_all = delivered == under_way, is_single = delivered && delivered <= f->mss && flow_holds(f), is_news;
	/* All that was under way, more than one segment, and less than its receiver waits for. */
	int is_part = is_all && delivered > f->mss && delivered + f->mss / 2 < told_bytes;

	if (is_all && delivered > f->mss && waited_ns > LATE_NS)
		f->flags |= FLOW_WAITS;
	else if (is_part && is_prompt)
		f->flags &= ~FLOW_WAITS;
	is_news = flow_counts(f, delivered, is_all, waited_ns > LATE_NS);
	s->is_part = (u8)is_part;
	READ_ANEW();
	s->is_exact &= flow_waits_long(f) && f->flags & FLOW_COUNTS && delivered + f->mss / 2 >= told_bytes;
	s->is_alone = (is_single && under_way <= f->mss) || is_part;
	s->is_late = (is_single || is_part) && s->surely_bytes <= station_held_bytes(s, most(f->mss, told_bytes / 2));
	READ_ANEW();
	if (!delivered)
		return;
	if (under_way > f->mss) {
		/*
		 * Where it has waited with all that there was, its receiver waits for more than that, unless it is known for how many. All
		 * that there was says nothing of more where its ACK may have waited, though a queue would account for that as well.
		 */
		if (is_all && waited_ns > LATE_NS && !(f->flags & FLOW_COUNTS))
			delivered = most(delivered + f->mss, told_bytes);
		else if (is_all && !is_prompt && flow_waits_long(f))
			delivered = most(delivered, told_bytes);
		flow_tells(f, s, delivered, is_news);
	} else if (!(f->flags & FLOW_LOOKED_AT) && f->acknowledged_bytes > QUICK_SEGMENTS * (u64)f->mss) {
		/*
		 * Receivers acknowledge the first segments of a connection each, and then may hold back. One that was under way alone does
		 * not show it: after some of these it is looked at once more, by windows of two now and then.
		 */
		f->told_bytes_q8 = smoothed(f->told_bytes_q8, (u64)2 * f->mss << 8, 4);
		if (flow_holds(f))
			f->flags |= FLOW_LOOKED_AT;
	}
	flow_find_waits(f);
}

/* It has nothing under way any more: what is left of it counts as delivered. */
LASTHOP_INLINE u32 flow_rest(struct flow *f)
{
	u32 rest = after_by(f->sent, f->delivered);

	f->delivered = f->sent;
	return rest;
}

#endif
