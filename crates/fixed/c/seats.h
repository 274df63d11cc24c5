/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The connections of a station at its desk. At each ACK of something new, but not more often than once a millisecond, the
 * windows of all of them are found anew; those of others than the ACK's move by window updates.
 *
 *     desk_enter ──► desk_step ──► desk_finish ──► desk_update for each that has moved
 *
 * A step goes on without the station's lock, by one processor at a time; the others are done under it.
 */
#ifndef LASTHOP_SEATS_H
#define LASTHOP_SEATS_H

#include "desk.h"
#include "flow.h"
#include "newcomer.h"
#include "state_desk.h"

/* How often windows are found anew, at most. */
#define STEP_NS (1ULL << 20)
/* How often weights move. */
#define LEAN_NS (NS_PER_S / 20)
/* The longest pause that counts in averages of what connections take. */
#define PAUSE_NS (NS_PER_S / 10)
/* One that has sat down later is still on its way to its share. */
#define SETTLED_NS (2 * NS_PER_S)
/* How long one that sends nothing keeps its part: so long at least, and two of its round trips. */
#define ABSENT_NS (3 * NS_PER_S / 10)
/* The times over which it is counted what connections take. */
#define OF_SHARE_NS (20 * NS_PER_S)
#define AT_PRESENT_NS NS_PER_S
/* Spans of the least that ACKs wait. */
#define CROWD_NS (NS_PER_S / 10)

/* What is kept of window edges has that of now in its last row. */
LASTHOP_INLINE void seat_grant(struct desk *d, u32 i, u32 edge)
{
	d->seats[i & (SEATS - 1)].edge = edge;
	d->rows[d->row & (ROWS - 1)].edge[i & (SEATS - 1)] = edge;
}

/* On to the row of now. */
LASTHOP_INLINE void desk_advance(struct desk *d, u64 now_ns)
{
	/* Read anew each time, so that the verifier has nothing to tell one round from the next by. */
	const volatile u64 *present = &d->row;
	u64 row = now_ns >> ROW_SHIFT;

	if (*present + ROWS < row) {
		d->rows[(row - ROWS) & (ROWS - 1)] = d->rows[*present & (ROWS - 1)];
		d->row = row - ROWS;
	}
	for (u32 n = 0; n < ROWS; n++) {
		u64 here = *present;

		if (here >= row)
			return;
		d->rows[(here + 1) & (ROWS - 1)] = d->rows[here & (ROWS - 1)];
		d->row = here + 1;
	}
}

/* E: where the window of a seat ended then, evenly between what rows tell. Of what is older than all rows, the oldest counts. */
LASTHOP_INLINE u32 seat_edge_at(const struct desk *d, u32 i, u64 then_ns)
{
	const struct seat *seat = &d->seats[i & (SEATS - 1)];
	u64 row = then_ns >> ROW_SHIFT, part = then_ns & ((1 << ROW_SHIFT) - 1);
	u32 before, after;

	if (row >= d->row)
		return seat->edge;
	if (row + ROWS < d->row + 2) {
		row = d->row + 2 - ROWS;
		part = 0;
	}
	if (row < seat->first_row)
		return seat->first_edge;
	after = d->rows[row & (ROWS - 1)].edge[i & (SEATS - 1)];
	before = row == seat->first_row ? seat->first_edge : d->rows[(row - 1) & (ROWS - 1)].edge[i & (SEATS - 1)];
	return before + (u32)(desk_between(after, before) * part >> ROW_SHIFT);
}

/* What so much payload takes in the queue. */
LASTHOP_INLINE u64 seat_wire_bytes(const struct seat *seat, u64 payload_bytes)
{
	return payload_bytes * seat->wire_q10 >> 10;
}

LASTHOP_INLINE int is_same_client(const struct flow_key *a, const struct flow_key *b)
{
	u32 other = 0;

	UNROLLED
	for (int i = 0; i < 4; i++)
		other |= a->client[i] ^ b->client[i];
	return !other;
}

LASTHOP_INLINE int is_same_key(const struct flow_key *a, const struct flow_key *b)
{
	u32 other = (u32)(a->client_port ^ b->client_port) | (u32)(a->server_port ^ b->server_port);

	UNROLLED
	for (int i = 0; i < 4; i++)
		other |= a->server[i] ^ b->server[i];
	return !other && is_same_client(a, b);
}

/* Whether it has sent something new of late: if not, its seat may be taken. */
LASTHOP_INLINE int seat_is_there(const struct seat *seat, u64 now_ns, u64 wait_ns)
{
	return seat->last_ns && now_ns <= seat->last_ns + most(ABSENT_NS, 2 * seat->delay_ns) + wait_ns;
}

/* Whether a connection has the seat still that it had. */
LASTHOP_INLINE int desk_has(const struct desk *d, const struct flow *f, const struct flow_key *key)
{
	return f->seat && is_same_key(&d->seats[(f->seat - 1) & (SEATS - 1)].key, key);
}

/* A connection ends, or has no more to send: nobody sends updates for it, and its seat is free. */
LASTHOP_INLINE void desk_leave(struct desk *d, struct flow *f, const struct flow_key *key)
{
	struct seat *seat = &d->seats[(f->seat - 1) & (SEATS - 1)];

	if (desk_has(d, f, key)) {
		seat->last_ns = 0;
		/* What it was granted stands. */
		if (is_after(seat->edge, f->edge))
			f->edge = seat->edge;
	}
	f->seat = 0;
}

/*
 * The seat of a connection and one, at an ACK that tells of so much: its own, or one that is free, or that of who has been silent for
 * longest; 0: none is left, or it takes none.
 */
LASTHOP_INLINE u32 desk_sit(struct desk *d, struct flow *f, const struct packet *p, u64 now_ns, u64 wait_ns, u32 newly_bytes)
{
	/* Kept there, so that the verifier does not go on with each seat by itself. */
	volatile u32 *found = &d->found;
	u64 oldest_ns = ~0ULL;
	struct seat *seat;
	u32 best;

	if (desk_has(d, f, &p->key))
		return f->seat;
	/* What is idle has no use for one: its ACKs, those of keepalives, tell of nothing that has come. */
	f->seat = 0;
	if (!newly_bytes)
		return 0;
	*found = SEATS;
	for (u32 i = 0; i < SEATS; i++) {
		const struct seat *other = &d->seats[i];
		u64 last_ns = other->last_ns;

		if (last_ns && is_same_key(&other->key, &p->key))
			last_ns = 0;
		else if (seat_is_there(other, now_ns, wait_ns))
			continue;
		if (last_ns < oldest_ns) {
			oldest_ns = last_ns;
			*found = i;
		}
	}
	best = *found;
	if (best >= SEATS) {
		d->refused_ns = now_ns;
		return 0;
	}
	seat = &d->seats[best & (SEATS - 1)];
	*seat = (struct seat){};
	seat->key = p->key;
	seat->first_edge = f->edge;
	seat->first_row = d->row;
	seat->first_ns = seat->last_ns = now_ns;
	seat->wire_q10 = 1024;
	seat_grant(d, best, f->edge);
	f->seat = best + 1;
	return best + 1;
}

/* What the ACK at hand says of its own connection; gives what is newly delivered. */
LASTHOP_INLINE u64 seat_hear(const volatile struct settings *settings, struct seat *seat, struct flow *f, const struct packet *p)
{
	u32 received = settings->is_hidden ? f->delivered : f->ack;
	u64 bytes = seat->received ? desk_between(received, seat->received) : 0;

	seat->scale = flow_scale(f);
	seat->mss = f->mss;
	seat->receiver_held_bytes = flow_allows_for_held(settings, f) ? flow_held_bytes(f) + 1 : 0;
	seat->receiver_waits_bytes = flow_waits_bytes(f);
	seat->weight_q8 = f->weight_q8;
	seat->part_q8 = newcomer_counted_part_q8(f);
	if (!settings->is_hidden && f->mss)
		seat->wire_q10 = (f->mss + f->header_bytes) * 1024 / f->mss;
	seat->received = received;
	seat->is_closing |= (f->flags & (FLOW_SERVER_ENDED | FLOW_CLIENT_ENDED)) != 0;
	if (p->ack == f->ack) {
		seat->ack = p->ack;
		seat->seq = p->seq + p->payload;
		seat->stamp = p->stamp;
		seat->echo = p->echo;
		seat->own = p->window;
		seat->own_bytes = (u32)p->window << (seat->scale & 15);
		seat->form = (p->has_stamp << 4) | p->ip_version;
		/* A count of marks that is said again is none of more (RFC 9768, 3.2.2). By RFC 3168 each of these bits is said once it is due. */
		seat->ace = f->flags & FLOW_ACCURATE ? p->ace : 0;
	}
	return seat_wire_bytes(seat, bytes);
}

/* What of its own counts beside others: a newcomer has been granted more than it has under way. */
LASTHOP_INLINE u64 seat_counts(const struct seat *seat, u64 own)
{
	return own * seat->part_q8 >> 8;
}

/* What has come of it counts. */
LASTHOP_INLINE void seat_count(struct seat *seat, u64 now_ns, u64 bytes, u64 there_ns)
{
	seat->last_ns = now_ns;
	seat->of_share_q8 += bytes << 8;
	seat->at_present_q8 += bytes << 8;
	/* Time in 1024 ns. */
	seat->used_q8 += (least(bytes, 1 << 20) << 8) * (least(there_ns, 1ULL << 36) >> 10) / (AT_PRESENT_NS >> 10);
	seat->dither += 0x9e3779b9;
}

/* Its own part of a step: what it holds, and whether it has more to send. */
LASTHOP_APART int seat_look(struct desk *d, u32 i)
{
	struct seat *seat;
	struct round *r;

	if (!d)
		return 0;
	seat = &d->seats[i & (SEATS - 1)];
	r = &d->round;
	seat->is_there = seat_is_there(seat, r->now_ns, r->wait_ns + r->timer_ns);
	READ_ANEW();
	if (!seat->is_there)
		return 0;
	seat->then_edge = seat_edge_at(d, i, excess(r->now_ns, seat->delay_ns));
	READ_ANEW();
	r->held = seat_wire_bytes(seat, desk_between(seat->edge, seat->received));
	r->pipe = seat_wire_bytes(seat, desk_between(seat->edge, seat->then_edge));
	READ_ANEW();
	seat->held_q8 = towards(seat->held_q8, r->held << 8, r->kept_second_q31);
	seat->used_q8 = times_q31(seat->used_q8, r->kept_second_q31);
	seat->at_present_q8 = times_q31(seat->at_present_q8, r->kept_second_q31);
	seat->of_share_q8 = times_q31(seat->of_share_q8, r->kept_share_q31);
	READ_ANEW();
	seat->rate = desk_followed(seat->rate, r->rate, r->elapsed_ns, seat->delay_ns);
	READ_ANEW();
	seat->is_limited = r->now_ns - seat->first_ns >= SETTLED_NS && desk_is_limited(seat->used_q8, seat->held_q8);
	seat->waiting_bytes = seat_counts(seat, desk_waiting(r->held, r->pipe, 1 << 16));
	r->weights_q8 += seat_counts(seat, seat->weight_q8);
	READ_ANEW();
	if (!seat->is_limited)
		r->thought += seat->waiting_bytes;
	return 0;
}

/* r over 20 s, or as long as it has been there. */
LASTHOP_INLINE u64 seat_mean_rate(const struct seat *seat, u64 now_ns)
{
	u64 passed_q24 = (ONE_Q31 - decay_over_q31(now_ns - seat->first_ns, OF_SHARE_NS)) >> 7;

	return (least(seat->of_share_q8 >> 8, 1ULL << 39) << 24) / (20 * most(passed_q24, 1));
}

/* Whether it takes part in the balance of shares. */
LASTHOP_INLINE int seat_is_settled(const struct seat *seat, u64 now_ns)
{
	return seat->is_there && !seat->is_limited && now_ns - seat->first_ns >= SETTLED_NS;
}

/* What a seat is of all rates and weights. */
LASTHOP_APART int seat_count_rate(struct desk *d, u32 i)
{
	const struct seat *seat;

	if (!d)
		return 0;
	seat = &d->seats[i & (SEATS - 1)];
	if (seat_is_settled(seat, d->round.now_ns)) {
		d->round.rates += seat_mean_rate(seat, d->round.now_ns);
		d->round.weights_q8 += seat->weight_q8;
	}
	return 0;
}

/* Its weight leans, if it has got less than its share or much more. */
LASTHOP_APART int seat_lean(struct desk *d, u32 i)
{
	struct round *r;
	struct seat *seat;

	if (!d)
		return 0;
	r = &d->round;
	seat = &d->seats[i & (SEATS - 1)];
	if (!r->rates || !r->weights_q8 || !seat_is_settled(seat, r->now_ns))
		return 0;
	r->held = seat_mean_rate(seat, r->now_ns);
	r->pipe = least(r->rates, 1ULL << 34) * seat->weight_q8 / r->weights_q8;
	READ_ANEW();
	r->short_q16 = desk_shortfall_q16(r->held, r->pipe);
	READ_ANEW();
	seat->lean_q24 = desk_lean_q24(seat->lean_q24, r->short_q16, d->lean_ns);
	return 0;
}

/* What of what it was thought to have waiting does wait; its weight. */
LASTHOP_APART int seat_scale(struct desk *d, u32 i)
{
	struct seat *seat;

	if (!d)
		return 0;
	seat = &d->seats[i & (SEATS - 1)];
	seat->waiting_bytes = desk_waiting(seat->waiting_bytes, 0, d->round.thought);
	seat->leaning_q24 = desk_leaning_q24(seat->weight_q8, seat->lean_q24);
	return 0;
}

/* What j is to the window of i. */
LASTHOP_APART int seat_beside(struct desk *d, u32 i, u32 j)
{
	const struct seat *seat, *other;
	struct round *r;

	if (!d)
		return 0;
	seat = &d->seats[i & (SEATS - 1)];
	other = &d->seats[j & (SEATS - 1)];
	r = &d->round;
	if (!other->is_there)
		return 0;
	if (other->is_limited) {
		r->others += desk_held_by_limited(other->at_present_q8 >> 8, seat->delay_ns, r->wait_ns);
	} else if (desk_is_slower(other->delay_ns, seat->delay_ns)) {
		u64 then_ns = excess(r->now_ns + seat->delay_ns, other->delay_ns);

		r->others += other->waiting_bytes;
		r->others += seat_counts(other, seat_wire_bytes(other, desk_between(seat_edge_at(d, j, then_ns), other->then_edge)));
	} else {
		r->leaning_q24 += i == j ? other->leaning_q24 : seat_counts(other, other->leaning_q24);
		r->is_behind |= (u32)desk_is_slower(seat->delay_ns, other->delay_ns);
	}
	return 0;
}

/* Where its window is to end: so far right as its client lets it, and never further left. */
LASTHOP_INLINE u32 seat_wanted(const struct seat *seat, u64 window_bytes)
{
	u32 wanted = right_edge(seat->received, whole_segments(window_bytes, seat->mss, seat->dither), seat->edge);
	u32 farthest = seat->ack + seat->own_bytes;

	if (is_after(wanted, farthest))
		wanted = farthest;
	return is_after(wanted, seat->edge) ? wanted : seat->edge;
}

/* w of a seat, of payload; whether an update may tell it, if it is not that of the ACK at hand. */
LASTHOP_APART int seat_conclude(struct desk *d, u32 i, u32 own)
{
	const struct seat *mine;
	struct seat *seat;
	struct round *r;
	u64 wire_bytes;

	if (!d)
		return 0;
	seat = &d->seats[i & (SEATS - 1)];
	mine = &d->seats[own & (SEATS - 1)];
	r = &d->round;
	r->held = desk_part_q16(seat->weight_q8, d->weights_q8);
	READ_ANEW();
	if (r->is_draining)
		wire_bytes = desk_draining_window(r->held, r->rate, seat->delay_ns);
	else if (seat->is_limited)
		wire_bytes = desk_limited_window(r->held, r->rate, seat->delay_ns, r->target_ns);
	else
		wire_bytes = desk_window(desk_part_q16(seat->leaning_q24, r->leaning_q24),
					 desk_room(seat->rate, desk_lead_ns(seat->delay_ns, !r->is_behind), r->target_ns,
						   r->kappa_q10, r->queue_bytes),
					 r->others);
	seat->window_bytes = most((wire_bytes << 10) / most(seat->wire_q10, 1), 1);
	if (seat->receiver_held_bytes)
		seat->window_bytes = flow_window_beside_held(seat->window_bytes, seat->mss, seat->receiver_held_bytes - 1,
							     seat->receiver_waits_bytes, r->is_draining, 256,
							     r->held * least(seat->rate, 1ULL << 34) >> 16, r->timer_ns);
	READ_ANEW();
	if (r->is_hidden)
		seat->window_bytes = most(window_before_rounding(seat->window_bytes, seat->scale), 1);
	if (i != own && is_same_client(&seat->key, &mine->key) && seat->form && seat->form == r->form && !seat->is_closing && seat->own)
		r->moved |= 1U << (i & 31);
	return 0;
}

/* Windows are found anew, by the connection at the seat `own`. */
LASTHOP_INLINE void desk_step(struct desk *d, u32 own)
{
	struct round *r = &d->round;
	u64 counted_ns = least(r->elapsed_ns, PAUSE_NS);

	r->kept_second_q31 = decay_over_q31(counted_ns, AT_PRESENT_NS);
	r->kept_share_q31 = decay_over_q31(counted_ns, OF_SHARE_NS);
	d->lean_ns += counted_ns;
	r->moved = 0;
	r->thought = r->weights_q8 = 0;
	for (u32 i = 0; i < SEATS; i++)
		seat_look(d, i);
	READ_ANEW();
	d->weights_q8 = r->weights_q8;
	if (d->lean_ns >= LEAN_NS) {
		r->rates = r->weights_q8 = 0;
		for (u32 i = 0; i < SEATS; i++)
			seat_count_rate(d, i);
		for (u32 i = 0; i < SEATS; i++)
			seat_lean(d, i);
		d->lean_ns = 0;
	}
	READ_ANEW();
	r->thought = desk_scale_q16(r->queue_bytes, r->thought);
	for (u32 i = 0; i < SEATS; i++)
		seat_scale(d, i);
	for (u32 i = 0; i < SEATS; i++) {
		READ_ANEW();
		if (!d->seats[i].is_there)
			continue;
		r->others = r->leaning_q24 = r->is_behind = 0;
		for (u32 j = 0; j < SEATS; j++)
			seat_beside(d, i, j);
		seat_conclude(d, i, own);
	}
}

/* Of which form updates can be made of an ACK: 0: of none. */
LASTHOP_INLINE u32 updates_form_of(const struct packet *p)
{
	if (!p->is_plain || p->payload || (p->flags & ~TCP_OF_CONGESTION) != TCP_ACK || p->header_bytes != p->tcp_at + 20 + (p->has_stamp ? 12 : 0))
		return 0;
	return (p->has_stamp << 4) | p->ip_version;
}

#define DESK_SEATED 1
#define DESK_NEWS 2 /* its ACK has told something new */
#define DESK_STEPS 4 /* a step is due, and nobody else makes one */

/* An ACK has been heard of a connection whose station has a desk; gives DESK_..., and its seat by `own`. */
LASTHOP_INLINE u32 desk_enter(const volatile struct settings *settings, struct desk *d, struct flow *f, struct station *s,
			      const struct packet *p, u64 now_ns, u32 *own)
{
	u64 weights_q8 = station_weights(s) - station_limited(s), delay_ns, rtt_ns, bytes, rate;
	struct round *r = &d->round;
	struct seat *seat;
	u32 sits;

	delay_ns = flow_delay_ns(f, recent_least(&s->path.least));
	rtt_ns = f->rtt_ns + recent_least(&f->upstream);
	/* Seats are for those that have more to send. */
	if (f->flags & FLOW_LIMITED_NOW || flow_is_over(f)) {
		desk_leave(d, f, &p->key);
		return 0;
	}
	desk_advance(d, now_ns);
	READ_ANEW();
	sits = desk_sit(d, f, p, now_ns, most(excess(rtt_ns, delay_ns), s->timer_ns), s->newly_bytes);
	if (!sits)
		return 0;
	*own = sits - 1;
	seat = &d->seats[*own & (SEATS - 1)];
	seat->delay_ns = delay_ns;
	bytes = seat_hear(settings, seat, f, p);
	/* What a flow has been granted where the desk was not asked. */
	if (is_after(f->edge, seat->edge))
		seat_grant(d, *own, f->edge);
	if (!bytes)
		return DESK_SEATED;
	seat_count(seat, now_ns, bytes, most(rtt_ns, delay_ns));
	recent_least_add(&d->crowd, now_ns, f->ack_delay_ns, CROWD_NS);
	READ_ANEW();
	/* What others leave, and those that count for what they take; beyond those with a seat, each has its part. */
	rate = excess(station_rate_beside(s, !settings->is_hidden), station_taken(s));
	if (d->refused_ns && now_ns - d->refused_ns < NS_PER_S && d->weights_q8 && d->weights_q8 < weights_q8)
		rate = least(rate, 1ULL << 34) * d->weights_q8 / weights_q8;
	if (!rate || d->is_busy || (now_ns - d->stepped_ns < STEP_NS && seat->window_bytes))
		return DESK_SEATED | DESK_NEWS;
	d->is_busy = 1;
	r->now_ns = now_ns;
	r->rate = rate;
	r->kappa_q10 = settings->kappa_q10;
	r->queue_bytes = s->queue_bytes;
	r->wait_ns = share_wait_ns(s->queue_bytes, rate);
	READ_ANEW();
	r->target_ns = share_target_beside_ns(settings->target_ns, r->wait_ns, s->theirs_q10);
	r->timer_ns = s->timer_ns;
	r->is_hidden = settings->is_hidden;
	r->is_draining = settings->is_hidden && now_ns < s->probe_until_ns;
	r->form = settings->moves_others && !desk_is_crowded(recent_least(&d->crowd)) ? updates_form_of(p) : 0;
	r->elapsed_ns = d->stepped_ns ? now_ns - d->stepped_ns : 0;
	d->stepped_ns = now_ns;
	return DESK_SEATED | DESK_NEWS | DESK_STEPS;
}

/* The window of the ACK's connection moves; gives the seats of others whose windows may, a bit each. */
LASTHOP_INLINE u32 desk_finish(struct desk *d, struct flow *f, u32 own, u32 entered)
{
	const struct seat *seat = &d->seats[own & (SEATS - 1)];
	u32 moved = 0;

	if (entered & DESK_STEPS) {
		moved = d->round.moved;
		d->is_busy = 0;
	}
	if (entered & DESK_NEWS) {
		u64 window_bytes = seat->window_bytes ? seat->window_bytes : (u64)FIRST_SEGMENTS * seat->mss;

		seat_grant(d, own, seat_wanted(seat, most(window_bytes, f->look_bytes)));
		READ_ANEW();
		f->window_bytes = window_bytes;
		f->fair = desk_part_q16(256, d->weights_q8) * least(seat->rate, 1ULL << 34) >> 16;
	}
	f->edge = seat->edge;
	return moved;
}

/* What was said of the window at hand stands: see field_said. */
LASTHOP_INLINE void desk_said(struct desk *d, const struct flow *f)
{
	if (f->seat)
		seat_grant(d, f->seat - 1, f->edge);
}

/* The window of a seat moves by an update, if by a segment at least; 0 if there is none to send. */
LASTHOP_INLINE int desk_update(struct desk *d, u32 i, struct update *u)
{
	struct seat *seat = &d->seats[i & (SEATS - 1)];
	u32 edge = seat_wanted(seat, seat->window_bytes), said;
	u16 window;

	if (!seat->last_ns || desk_between(edge, seat->edge) < most(seat->mss, 1))
		return 0;
	window = window_field(seat->ack, edge, seat->scale, seat->own);
	if (!window || !is_after(edge, seat->ack))
		return 0;
	said = seat->ack + ((u32)window << (seat->scale & 15));
	seat_grant(d, i, is_after(said, edge) ? said : edge);
	u->key = seat->key;
	u->seq = seat->seq;
	u->ack = seat->ack;
	u->stamp = seat->stamp;
	u->echo = seat->echo;
	u->window = window;
	u->ace = (u8)seat->ace;
	u->pad = 0;
	return 1;
}

#endif
