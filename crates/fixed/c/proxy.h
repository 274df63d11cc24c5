/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The proxy's law: what it makes of each packet that it sees, as functions of a connection, of what shares its queue, and
 * of the queue where it is seen. The programs look these up, and hold the lock of what shares the queue around all of it;
 * where the queue is hidden, ACKs alone tell.
 */
#ifndef LASTHOP_PROXY_H
#define LASTHOP_PROXY_H

#include "drain.h"
#include "flow.h"
#include "handshake.h"
#include "newcomer.h"
#include "proxy_clamp.h"
#include "proxy_share.h"
#include "seats.h"
#include "state.h"
#include "station.h"
#include "station_clamp.h"
#include "unheard.h"
#include "window.h"

/* A qdisc at a glance; nothing where the queue is hidden. */
struct glance {
	u64 bytes;
	u64 departed_bytes;
};

/* What a packet towards a client finds at its station. */
struct found {
	u64 nearest_ns; /* to the nearest client and back, without the queue */
	u64 wait_ns; /* y, as a handshake takes it */
	u32 epoch;
	u32 pad;
};

/* A SYN or SYN-ACK of the server's side: what it offers. */
LASTHOP_INLINE void proxy_server_begins(struct flow *f, const struct packet *p, u64 now_ns, u64 wait_ns)
{
	f->seen_ns = now_ns;
	/* Said again, it may be another one that is answered (Karn). With another number it is the one that counts, unless its client has gone on. */
	flow_forget_samples(f);
	if (f->flags & FLOW_ESTABLISHED && (p->seq + 1 == f->ack || f->window || f->forwarded_bytes))
		return;
	if (p->has_scale)
		f->flags |= FLOW_SERVER_SCALES;
	f->flags |= counts_marks(p);
	if (f->flags & FLOW_FROM_CLIENT) {
		f->flags |= FLOW_ESTABLISHED;
		/* The client's SYN opened a window from here. */
		f->sent = f->ack = f->delivered = p->seq + 1;
		flow_sample(f, now_ns, p->seq + 1, 0);
		f->begin_wait_ns = wait_ns;
		f->edge = p->seq + 1 + (u32)f->window_bytes;
		if (f->asked_ns && is_last_likely_answered(f->flags, f->asked_stamp, p))
			recent_least_add(&f->upstream, now_ns, now_ns - f->asked_ns, LEAST_SPAN_NS);
		f->asked_ns = 0;
	} else if (!(p->flags & TCP_ACK)) {
		if (f->begin_ns)
			f->flags |= FLOW_UNTOLD;
		f->begin_ns = f->flags & FLOW_UNTOLD ? 0 : now_ns;
		f->begin_wait_ns = wait_ns;
		f->opened_seq = p->seq;
	}
}

/* The same of the client's side; returns the window that it may begin with. */
LASTHOP_INLINE u16 proxy_client_begins(struct flow *f, const struct packet *p, u64 now_ns)
{
	int is_open = f->flags & FLOW_ESTABLISHED;
	u64 first;

	f->seen_ns = now_ns;
	if (!is_open) {
		f->flags |= p->has_scale ? FLOW_CLIENT_SCALES : 0;
		f->flags |= counts_marks(p);
		f->scale = p->scale;
		/* What is left of it for data (RFC 6691, RFC 9293: 536 B where nothing is said). */
		f->mss = most(p->mss ? p->mss : 536, 100) - (p->has_stamp ? 12 : 0);
	}
	first = least((u64)FIRST_SEGMENTS * f->mss, p->window);
	/* What was said again came behind its answer, or the answer itself was. */
	if (is_open && !(p->flags & TCP_ACK && f->asked_ns))
		return (u16)first;
	f->flags = asks_by(f->flags, p, f->asked_ns != 0);
	f->asked_ns = now_ns;
	f->asked_stamp = p->stamp;
	if (is_open)
		return (u16)first;
	f->window_bytes = first;
	f->said = p->seq + 1;
	if (p->flags & TCP_ACK) {
		if (f->begin_ns)
			f->begin_ns = now_ns - f->begin_ns;
		f->flags |= FLOW_ESTABLISHED;
		f->sent = f->ack = f->delivered = p->ack;
		f->edge = p->ack + (u32)first;
	} else {
		f->flags |= FLOW_FROM_CLIENT;
		f->opened_seq = p->seq;
	}
	return (u16)first;
}

/* Any packet towards a client, in so many segments: what of it its station counts. */
LASTHOP_INLINE struct found proxy_meets(const volatile struct settings *settings, struct station *s, u64 now_ns,
					struct glance queue, u32 bytes, u32 segments, int is_other, int begins)
{
	struct found found = {};

	if (!settings->is_hidden) {
		station_look(s, now_ns, queue.bytes, queue.departed_bytes);
		station_keep_look(s, now_ns);
	}
	if (settings->is_clamp)
		station_arrival(s, now_ns, bytes, segments, settings->average_ns);
	station_pass(s, bytes, is_other);
	station_turn(s, now_ns);
	found.epoch = s->epoch;
	found.nearest_ns = recent_least(&s->path.least);
	if (begins)
		/* Beside others it is not sure that there was none. */
		found.wait_ns = most(share_wait_ns(s->queue_bytes, station_rate(s)), station_weights(s) > 0);
	return found;
}

/* What is due to a connection, of payload. */
LASTHOP_INLINE u64 proxy_due(const volatile struct settings *settings, const struct flow *f, const struct station *s)
{
	u64 due = station_due(s, f->weight_q8, !settings->is_hidden);

	return settings->is_hidden ? due : share_payload(due, f->mss, f->header_bytes);
}

/* How long a queue is wanted, as long as all senders bear it. */
LASTHOP_INLINE u64 proxy_target_ns(const volatile struct settings *settings, const struct station *s, u32 mss)
{
	return settings->is_clamp ? station_usual_ns(settings, s, mss) : settings->target_ns;
}

/* A segment of a connection that is known goes on to its client; weight_q8 is 0 where its weight stays. */
LASTHOP_INLINE void proxy_forwards(const volatile struct settings *settings, struct flow *f, struct station *s,
				   const struct packet *p, u64 now_ns, struct glance queue, struct found found, u32 weight_q8)
{
	u64 counted_q8 = 0, delay_ns = 0, shortest_ns = 0, client_ns = 0, own_ns, target_ns, present_ns;
	u32 fresh = 0, was_there = 0, was_limited = 0, is_settled = 0, is_limited;

	f->seen_ns = now_ns;
	if (weight_q8) {
		f->weight_q8 = weight_q8;
		f->dscp = p->dscp;
	}
	if (f->asked_ns && f->flags & FLOW_ESTABLISHED && is_answered(f->flags, f->asked_stamp, p))
		flow_answered(f, now_ns);
	if (p->payload && f->flags & FLOW_ESTABLISHED) {
		u32 end = p->seq + p->payload;

		f->mss = largest_segment(&f->alike, f->mss, p, after_by(f->sent, f->ack));
		f->header_bytes = p->header_bytes;
		if (is_after(f->sent, p->seq)) {
			flow_forget_samples(f);
		} else if (settings->is_hidden) {
			flow_sample(f, now_ns, end, station_place(s, now_ns, p->payload, flow_client_ns(f, found.nearest_ns)));
		} else if (!f->sample.only.sent_ns) {
			f->sample.only.sent_ns = now_ns;
			f->sample_end[0] = end;
			f->sample.only.leaves_bytes = queue.departed_bytes + queue.bytes + p->size_bytes;
		}
		if (is_after(end, f->sent)) {
			fresh = end - f->sent;
			if (!is_after(f->sent, f->ack))
				f->bearing.rested_ns = now_ns;
			f->forwarded_bytes += fresh;
			if (settings->is_hidden && flow_is_left(f, s, now_ns, found.nearest_ns))
				f->flags |= FLOW_WAITS;
			if (settings->is_hidden)
				flow_apart(f, now_ns, end, p->payload, !is_after(f->sent, f->ack));
			else
				f->forwarded_ns = now_ns;
			f->sent = end;
			client_ns = flow_client_ns(f, found.nearest_ns);
		}
		if (f->epoch != found.epoch || !(f->flags & FLOW_COUNTED)) {
			was_there = f->flags & FLOW_COUNTED && f->epoch + 1 == found.epoch;
			was_limited = was_there && f->flags & FLOW_LIMITED_NOW;
			is_settled = was_there && bearing_is_settled(&f->bearing, now_ns);
			f->epoch = found.epoch;
			f->flags |= FLOW_COUNTED;
			counted_q8 = newcomer_joins(f, now_ns, settings->is_clamp);
			delay_ns = f->rtt_ns + recent_least(&f->upstream);
			shortest_ns = flow_client_ns(f, found.nearest_ns) + recent_least(&f->upstream);
		}
	}
	if (p->flags & TCP_FIN && is_expected(p->seq + p->payload, f->ack, f->edge, f->sent))
		f->flags |= FLOW_SERVER_ENDED;
	READ_ANEW();
	if (counted_q8) {
		station_join(s, counted_q8, delay_ns, shortest_ns);
		if (flow_waits_long(f)) {
			s->keeps_bytes += flow_waits_bytes(f);
			s->most_keeps_bytes = (u32)most(s->most_keeps_bytes, s->keeps_bytes);
		}
		own_ns = flow_delay_ns(f, found.nearest_ns);
		f->flags &= ~(FLOW_LIMITED_NOW | FLOW_LIMITED_BEFORE);
		f->flags |= was_limited ? FLOW_LIMITED_BEFORE : 0;
		/* By what it took in the epoch that the mean is of: while the line becomes slower all have less than they had. */
		bearing_leans(&f->bearing, now_ns, is_settled && !was_limited ? station_even(s, counted_q8) : 0);
		READ_ANEW();
		is_limited = bearing_joins(&f->bearing, &f->use, now_ns);
		/* Who is held up elsewhere keeps little of the queue, however long its round trip has become there. */
		if (settings->is_hidden && (!is_settled || f->bearing.taken >= proxy_due(settings, f, s) / 2))
			s->taker_most_ns = most(s->taker_most_ns, least(delay_ns, NS_PER_S));
		READ_ANEW();
		if (!settings->is_station) {
			target_ns = proxy_target_ns(settings, s, f->mss);
			present_ns = station_last_target_ns(s, target_ns);
			station_bear(s,
				     bearing_bears_ns(&f->bearing, now_ns, target_ns, present_ns, proxy_due(settings, f, s), delay_ns,
						      own_ns, f->window_bytes > FILLED_SEGMENTS * (u64)f->mss && !(f->flags & FLOW_SMALL)),
				     present_ns);
		}
		READ_ANEW();
		if (is_limited)
			station_limit(s, f, counted_q8);
		else
			station_weigh(s, counted_q8,
				      share_short_ns(station_target_ns(s, settings->target_ns), own_ns, settings->g_q10),
				      share_kappa_q10(settings->theta_ns, own_ns));
		READ_ANEW();
		if (settings->is_clamp)
			proxy_pools(f, s, delay_ns, (int)was_there);
		else if (is_limited)
			f->bearing.lean_q10 = 0;
		else if (is_settled && f->flags & FLOW_SMALL && !f->seat)
			station_pool(s, counted_q8, f->bearing.taken);
	}
	READ_ANEW();
	if (f->flags & (FLOW_LIMITED_NOW | FLOW_LIMITED_BEFORE) && fresh && flow_fills(f))
		station_unlimit(s, f);
	newcomer_goes_on(f, s, found.nearest_ns, settings->target_ns);
	READ_ANEW();
	if (settings->is_hidden && (counted_q8 || fresh))
		station_forward(s, now_ns, fresh, client_ns);
}

/* The field that an ACK is to say, once it has been heard; or else, where the lock was not to be had. */
LASTHOP_INLINE u16 proxy_field(struct flow *f, const struct packet *p)
{
	int is_current = p->ack - f->ack <= f->sent - f->ack;
	u16 window = field_said(&f->edge, p, is_current, f->window_bytes, f->mss, flow_scale(f));

	if (window < p->window)
		f->flags |= FLOW_LIMITED;
	return window;
}

/* What the path holds at the rate that the law goes by over its windows as long as no queue is seen; 0 where that is no more. */
LASTHOP_INLINE u32 proxy_falls_short_q10(const volatile struct settings *settings, const struct flow *f, const struct station *s)
{
	u64 delay_ns = flow_delay_ns(f, recent_least(&s->path.least));
	u64 target_ns = station_target_ns(s, settings->target_ns);
	u64 short_ns = share_short_ns(target_ns, delay_ns, settings->g_q10);
	u64 lacking_ns = excess(share_lead_short_ns(delay_ns), short_ns);
	u64 rest_ns = share_rest_ns(target_ns, s->lacking_ns);
	s64 room_ns;

	if (settings->is_clamp)
		return 0;
	if (settings->is_station) {
		room_ns = share_room_ns(target_ns, 0, settings->kappa_q10) - (s64)short_ns;
	} else {
		/* The room is no less than where the queue rests. */
		if (rest_ns >= lacking_ns)
			return 0;
		room_ns = share_room_ns(rest_ns, 0, share_kappa_q10(settings->theta_ns, delay_ns));
	}
	if (room_ns >= (s64)lacking_ns)
		return 0;
	return (u32)((delay_ns << 10) / most(delay_ns - lacking_ns + (u64)room_ns, 1));
}

/* How far the client has spoken, and whether it has ended. Whoever does not know what it acknowledges is not the client. */
LASTHOP_APART int proxy_listens(struct flow *f, const struct packet *p)
{
	u32 end;

	if (!f || !p || is_after(f->ack, p->ack))
		return 0;
	end = p->seq + p->payload + (p->flags & TCP_FIN);
	if (is_after(end, f->said))
		f->said = end;
	if (p->flags & TCP_FIN)
		f->flags |= FLOW_CLIENT_ENDED;
	return 0;
}

/*
 * An ACK of a connection that is established: what it tells, and where its window is to end. 0 if nobody heeds it, and its field is none of
 * the law's.
 */
LASTHOP_INLINE int proxy_heeds(const volatile struct settings *settings, struct flow *f, struct station *s,
			       const struct packet *p, u64 now_ns, struct glance queue, u32 random)
{
	u64 sample_ns, there_ns, longest_ns, nearest_ns, waited_ns = 0;
	int is_prompt = 0;
	u32 mss;
	struct told told = {};

	s->newly_bytes = 0;
	/* What was neither sent nor allowed is acknowledged by no client, and no server heeds it. A FIN may stand behind the window. */
	if (is_after(p->ack, f->sent) && is_after(p->ack, f->edge + 1))
		return 0;
	/* What the ACK tells of the path. */
	s->sample_ns = 0;
	s->wants_probe = 0;
	f->seen_ns = now_ns;
	proxy_listens(f, p);
	READ_ANEW();
	if (is_after(p->ack, f->sent)) {
		/* What went another way was not counted, and does not count as delivered. */
		f->delivered += p->ack - f->sent;
		f->sent = p->ack;
	}
	s->sent_ns = flow_sent_at(f, s, p, now_ns);
	READ_ANEW();
	if (settings->is_hidden) {
		u64 forwarded_ns = flow_sampled(f, s, p->ack);

		s->newly_bytes = flow_delivered(f, p);
		READ_ANEW();
		if (forwarded_ns && f->delivered == f->sent) {
			u64 beyond_ns = excess(excess(s->sent_ns, forwarded_ns), flow_client_ns(f, recent_least(&s->path.least)));

			waited_ns = station_waited_ns(s, beyond_ns, 0, s->queue_bytes);
			is_prompt = beyond_ns <= LATE_NS;
		}
		flow_told(f, s, s->newly_bytes, waited_ns, is_prompt);
		READ_ANEW();
		if (s->newly_bytes)
			flow_was_apart(f, now_ns, p->ack, s->newly_bytes, station_rate(s));
		READ_ANEW();
		if (forwarded_ns) {
			f->rtt_ns = now_ns - forwarded_ns;
			s->sample_ns = most(excess(s->sent_ns, forwarded_ns), 1);
			s->wants_probe = flow_wants_probe(f, now_ns);
			if (s->is_alone) {
				u64 timed_ns = 0;

				if (recent_least(&s->path.least))
					timed_ns = station_timed(s, station_waited_ns(s, s->sample_ns, recent_least(&s->path.least),
										      flow_waits_long(f) ? s->queue_bytes : s->left_bytes));
				/* Of others' segments it tells what it tells now. */
				if (!flow_waits_long(f))
					s->sent_ns -= timed_ns;
				READ_ANEW();
				s->sample_ns = flow_alone_ns(f, s->sample_ns, s->timer_ns, recent_least(&s->path.least));
			}
		}
		/* A handshake that the server began ended when nothing could be told yet: its sample counts with the first one. */
		if (f->begin_ns && !s->is_alone) {
			s->sample_ns = f->begin_ns;
			f->begin_ns = 0;
		}
	} else {
		s->newly_bytes = flow_delivered(f, p);
	}
	if (!settings->is_hidden && f->sample.only.sent_ns && !is_after(f->sample_end[0], p->ack)) {
		f->rtt_ns = now_ns - f->sample.only.sent_ns;
		/* It stood in the queue for so long at least. */
		there_ns = most(f->sample.only.there_ns, station_there_ns(s, now_ns, f->sample.only.leaves_bytes));
		READ_ANEW();
		s->sample_ns = most(excess(s->sent_ns, most(f->sample.only.sent_ns, there_ns)), 1);
		f->sample.only.sent_ns = 0;
		waited_ns = station_waited_ns(s, s->sample_ns, flow_client_ns(f, recent_least(&s->path.least)), 0);
	} else if (!settings->is_hidden && f->sample.only.sent_ns && queue.departed_bytes < f->sample.only.leaves_bytes) {
		f->sample.only.there_ns = now_ns;
	}
	READ_ANEW();
	if (!settings->is_hidden) {
		flow_told(f, s, s->newly_bytes, waited_ns, s->sample_ns && waited_ns <= LATE_NS);
		/* What has waited for a timer tells no more of the path than is known. */
		if (s->sample_ns && s->is_part) {
			station_timed(s, waited_ns);
			s->sample_ns = 0;
		}
	}
	if (p->has_stamp && (!f->asked_ns || now_ns - f->asked_ns > ECHO_NS)) {
		f->asked_ns = now_ns;
		f->asked_stamp = p->stamp;
		f->flags |= FLOW_BY_STAMP;
	}

	/* What the queue does. */
	READ_ANEW();
	sample_ns = s->sample_ns;
	told.random = random;
	/* Now and then it has more than what its receiver waits for, to see the queue without the timer. */
	f->look_bytes = flow_look_bytes(f, random);
	mss = f->mss;
	longest_ns = most(settings->target_ns, proxy_target_ns(settings, s, mss));
	if (settings->is_hidden) {
		/* What waited for a timer tells no more of the nearest client than is known. */
		nearest_ns = recent_least(&s->path.least);
		if (s->is_alone)
			nearest_ns = flow_waits_long(f) ? least(sample_ns, nearest_ns) : 0;
		else
			nearest_ns = sample_ns;
		if (nearest_ns)
			path_add(&s->path, now_ns, nearest_ns, 1);
		READ_ANEW();
		if (sample_ns && !s->is_alone && path_turns(&s->path, now_ns))
			station_doubts(s, now_ns, longest_ns,
				       share_rest_ns(longest_ns, s->lacking_ns) / 2 + share_wait_ns(2 * mss, station_rate(s)),
				       station_is_floored(s, s->sure_rate, mss,
							  flow_delay_ns(f, recent_least(&s->path.least)) + longest_ns));
		READ_ANEW();
		if (sample_ns && !s->is_alone && path_sample(&s->path, now_ns, sample_ns, longest_ns, s->is_floored))
			s->has_moved = 1;
		READ_ANEW();
		s->is_floored = (u8)station_is_floored(s, station_rate(s), f->mss,
							flow_delay_ns(f, recent_least(&s->path.least)) + longest_ns +
								(flow_holds(f) ? s->timer_ns : 0));
		READ_ANEW();
		s->short_q10 = proxy_falls_short_q10(settings, f, s);
		s->short_q10 = most(s->short_q10, flow_tried_q10(f, s));
		READ_ANEW();
		station_hear(s, s->sent_ns, s->newly_bytes,
			     s->is_exact ? excess(sample_ns, flow_client_ns(f, recent_least(&s->path.least))) : 0);
		if (s->wants_probe || s->has_moved)
			station_probe(s, now_ns, longest_ns, s->has_moved || f->flags & FLOW_UNSURE);
		told.is_probing = now_ns < s->probe_until_ns;
		if (told.is_probing)
			station_drains(s);
	} else {
		s->short_q10 = flow_tried_q10(f, s);
		READ_ANEW();
		station_look(s, now_ns, queue.bytes, queue.departed_bytes);
		station_keep_look(s, now_ns);
		if (sample_ns) {
			path_add(&s->path, now_ns, sample_ns, 0);
			path_sample(&s->path, now_ns, sample_ns, longest_ns, 0);
		}
	}
	station_turn(s, now_ns);
	told.rate = station_rate(s);
	told.others_q10 = s->others_q10;
	told.least_part_q10 = s->least_part_q10;
	told.theirs_q10 = s->theirs_q10;
	if (settings->is_clamp)
		station_price_q30(s, now_ns, station_a_of(settings, s, mss), settings->average_ns);
	told.wait_ns = share_wait_ns(s->queue_bytes, told.rate);
	told.weights_q8 = station_weights(s);
	if (!settings->is_clamp) {
		told.limited_q8 = station_limited(s);
		told.taken = station_taken(s);
	}
	told.target_ns = station_target_ns(s, proxy_target_ns(settings, s, mss));
	told.lacking_ns = s->lacking_ns;
	told.nearest_ns = recent_least(&s->path.least);
	told.span_began_ns = s->path.least.began_ns;
	told.timer_ns = s->timer_ns;

	/*
	 * The window. Duplicates of an ACK stay duplicates: only an ACK that advances gets another one, and one that tells what arrived
	 * behind a hole ends it later, for its sender goes by that.
	 */
	if (sample_ns)
		flow_path_sample(f, now_ns, sample_ns, told.span_began_ns, told.nearest_ns,
				 settings->is_hidden ? told.wait_ns : 0, longest_ns, settings->is_hidden,
				 told.is_probing, s->is_floored);
	if (is_after(p->ack, f->ack)) {
		u32 acked = p->ack - f->ack;

		flow_uses(f, now_ns, acked);
		READ_ANEW();
		f->acknowledged_bytes += acked;
		f->ack = p->ack;
		f->duplicates = 0;
		unheard_ends(f, p);
		newcomer_rests(f, s);
		READ_ANEW();
		/* Who has a seat at a desk, and keeps it, has its window from there. */
		if (!settings->is_station || !f->seat || f->flags & FLOW_LIMITED_NOW || flow_is_over(f)) {
			if (told.rate && f->mss && settings->is_clamp)
				f->window_bytes = whole_segments(proxy_clamp_window(f, s, acked, settings->tau_bytes,
										    told.wait_ns < told.target_ns / 8 ? settings->refill_q10 : 0),
								 f->mss, random);
			else if (told.rate && f->mss)
				f->window_bytes = proxy_share_window(settings, f, now_ns, &told);
			f->edge = right_edge(window_from(p, f->delivered), most(f->window_bytes, f->look_bytes), f->edge);
		}
	} else if (p->ack == f->ack && !p->payload) {
		f->duplicates++;
		if (is_after(window_from(p, f->delivered), p->ack) && (!settings->is_station || !f->seat))
			f->edge = right_edge(f->delivered, f->window_bytes, f->edge);
	}
	return 1;
}

/* The same, and the field that it is to say. */
LASTHOP_INLINE u16 proxy_hears(const volatile struct settings *settings, struct flow *f, struct station *s,
			       const struct packet *p, u64 now_ns, struct glance queue, u32 random)
{
	return proxy_heeds(settings, f, s, p, now_ns, queue, random) ? proxy_field(f, p) : p->window;
}

/* The same of a connection whose station has a desk. `updates`: the seats of others whose windows may move, a bit each. */
LASTHOP_INLINE u16 proxy_hears_at_desk(const volatile struct settings *settings, struct desk *d, struct flow *f, struct station *s,
				       const struct packet *p, u64 now_ns, struct glance queue, u32 random, u32 *updates)
{
	u32 own = 0, entered;
	u16 window;

	*updates = 0;
	if (!proxy_heeds(settings, f, s, p, now_ns, queue, random))
		return p->window;
	entered = desk_enter(settings, d, f, s, p, now_ns, &own);
	if (entered & DESK_STEPS)
		desk_step(d, own);
	if (entered)
		*updates = desk_finish(d, f, own, entered);
	window = proxy_field(f, p);
	if (entered)
		desk_said(d, f);
	return window;
}

/* A connection that is silent has nothing under way: a client that vanished must not leave its station throttled. */
LASTHOP_INLINE int proxy_is_silent(const struct flow *f, u64 now_ns)
{
	return now_ns > f->seen_ns + most(SILENT_NS, 4 * f->rtt_ns);
}

/*
 * Whether a RST ends a connection. One that its other end does not expect is nobody's: it changes nothing there (RFC 5961, 3.2), nor here.
 * What the server has sent may still be on its way to where that is known; what the client has said is.
 */
LASTHOP_INLINE int proxy_is_reset(const struct flow *f, const struct packet *p, int is_servers)
{
	if (!(f->flags & FLOW_ESTABLISHED))
		return is_refused(p, f->opened_seq);
	return is_servers ? is_expected(p->seq, f->ack, f->edge, f->sent) : p->seq == f->said;
}

/* A connection ends: nothing of it is under way any more. */
LASTHOP_INLINE void proxy_rests(struct flow *f, struct station *s)
{
	s->delivered_bytes += flow_rest(f);
}

#endif
