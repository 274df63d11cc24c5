/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * CASE(name, call) for each function: of `v` and `now_ns`, of a state, of a connection `f`, a station `s`, a receiver `r`,
 * a desk `d`, settings `set`.
 */
#define FACE(type, name, list, call) CASE(name, GIVEN(COUNT_OF list, name))
#include "numbers.h"
#undef FACE

CASE(busy_window_add, (busy_window_add(STATE_OF(busy_window), now_ns, v[0]), STATE_OF(busy_window)->rate))
CASE(busy_window_rest, (busy_window_rest(STATE_OF(busy_window)), STATE_OF(busy_window)->rate))
CASE(binned_rate_add, (binned_rate_add(STATE_OF(binned_rate), now_ns, v[0]), binned_rate(STATE_OF(binned_rate))))
CASE(recent_least_add, (recent_least_add(STATE_OF(recent_least), now_ns, v[0], v[1]), recent_least(STATE_OF(recent_least))))
CASE(share_rate_add, (share_rate_add(STATE_OF(share_rate), v[0], v[1]), share_rate_over(STATE_OF(share_rate), v[2] & 7)))
CASE(share_rate_raise, (share_rate_raise(STATE_OF(share_rate), v[0]), share_rate_over(STATE_OF(share_rate), v[2] & 7)))

CASE(station_look, (station_look(s, now_ns, v[0], v[1]), station_rate(s)))
CASE(station_keep_look, (station_look(s, now_ns, v[0], v[1]), station_keep_look(s, now_ns), s->ring[2 * (((u32)s->slot - 1) & (LOOKS - 1)) + 1]))
CASE(station_there, station_there_ns(s, now_ns, s->departed_bytes - (v[0] & 0xffff)))
CASE(station_hear, (station_reach(s, v[1]), s->is_late = v[2] & 1, station_hear(s, now_ns, v[0], v[2] >> 1), station_rate(s)))
CASE(station_forward, (station_forward(s, now_ns, v[0], v[1]), s->due_bytes))
CASE(station_arrival, (station_arrival(s, now_ns, v[0], v[1], v[2]), s->average_q16))
CASE(station_pass, (station_pass(s, v[0], v[1] & 1), s->other_bytes))
CASE(station_price, station_price_q30(s, now_ns, v[2], v[3]))
CASE(passer_comes, ({
	struct packet p = vector_packet(v);
	station_turn(s, now_ns);
	passer_comes(set, STATE_OF(passer), s, &p, now_ns);
	station_a_of(set, s, v[3]);
}))
CASE(passer_stamps, ({
	struct packet p = vector_packet(v);
	int stamps = passer_stamps(STATE_OF(passer), &p, now_ns, v[14] & 1);
	stamps | STATE_OF(passer)->trial.lost << 1 | (u64)STATE_OF(passer)->trial.sent << 16;
}))
CASE(passer_goes, ({
	struct packet p = vector_packet(v);
	passer_goes(STATE_OF(passer), s, &p, now_ns);
	STATE_OF(passer)->path_ns + STATE_OF(passer)->use.used;
}))

CASE(receiver_arrival, (receiver_arrival(r, now_ns, v[0], v[1]), r->round_bytes))
CASE(receiver_rtt, (r->asked_ns = now_ns - v[0], receiver_rtt(r, now_ns), r->rtt_ns))
CASE(receiver_server_begins, ({
	struct packet p = vector_packet(v);
	receiver_server_begins(r, &p, now_ns);
	r->edge;
}))
CASE(receiver_station_begins, ({
	struct packet p = vector_packet(v);
	/* It is another connection as often as not. */
	if (v[14] & 1)
		r->flags = r->arrived_bytes = 0;
	receiver_station_begins(r, &p, v[3] & 65535, now_ns);
	r->edge + r->asked_ns;
}))
CASE(receiver_is_reset, ({
	struct packet p = vector_packet(v);
	p.seq = r->ack - 2 + (v[0] & 3);
	receiver_is_reset(r, &p);
}))
CASE(receiver_let_go, (receiver_let_go(r), r->window_q16))
CASE(receiver_window, ({
	r->mss = 1 + (u16)v[0];
	r->weight_q8 = (u16)v[1];
	r->price_q30 = v[2];
	r->own_bytes = v[3];
	receiver_window(r, v[4], v[5], v[6], v[7] & 1023);
	r->window_q16;
}))

CASE(pool_turn, (pool_turn(STATE_OF(pool), now_ns), STATE_OF(pool)->mean))
CASE(pool_add, ({
	struct pool_part part = { v[0], v[1], v[2], v[3], 0 };
	pool_add(STATE_OF(pool), &part);
	STATE_OF(pool)->rates;
}))
CASE(receiver_pools, ({
	struct pool_part part = {};
	r->own_bytes = v[3];
	receiver_pools(r, STATE_OF(pool), &part) ? part.rate : (u64)r->drift;
}))

CASE(proxy_server_begins, ({
	struct packet p = vector_packet(v);
	proxy_server_begins(f, &p, now_ns, v[14]);
	f->edge;
}))
CASE(proxy_client_begins, ({
	struct packet p = vector_packet(v);
	/* It is another connection as often as not. */
	if (v[14] & 1)
		f->flags = f->forwarded_bytes = 0;
	f->weight_q8 = 256;
	proxy_client_begins(f, &p, now_ns);
}))
CASE(unheard_goes_on, ({
	struct packet p = vector_packet(v);
	/* Mostly of one that is known. */
	f->flags |= v[14] & 3 ? FLOW_ESTABLISHED : 0;
	unheard_goes_on(f, s, &p, now_ns) + f->edge;
}))
CASE(proxy_meets, (*STATE_OF(found) = proxy_meets(set, s, now_ns, vector_glance(v), v[0], v[3], v[1] & 1, v[2] & 1), s->passed_bytes))
CASE(proxy_forwards, ({
	struct packet p = vector_packet(v);
	proxy_forwards(set, f, s, &p, now_ns, vector_glance(v), *STATE_OF(found), v[9] & 1023);
	f->forwarded_bytes;
}))
CASE(proxy_hears, ({
	struct packet p = vector_packet(v);
	proxy_hears(set, f, s, &p, now_ns, vector_glance(v), v[9]);
}))
CASE(proxy_is_reset, ({
	struct packet p = vector_packet(v);
	p.seq = (v[14] & 1 ? f->ack : f->said) - 2 + (v[0] & 3);
	proxy_is_reset(f, &p, v[14] & 1);
}))
CASE(proxy_rests, (proxy_rests(f, s), proxy_is_silent(f, now_ns)))

CASE(desk_enter, ({
	struct packet p = vector_packet(v);
	u32 own = 0, entered;
	p.key.client_port = v[9] & 31;
	/* Updates may be made of it. */
	p.ip_version = 4;
	p.is_plain = 1;
	p.flags = TCP_ACK;
	p.payload = 0;
	p.header_bytes = 32;
	p.tcp_at = p.has_stamp ? 0 : 12;
	/* Mostly it goes on. */
	if (v[14] & 7)
		f->flags &= ~(FLOW_SERVER_ENDED | FLOW_CLIENT_ENDED);
	/* Others tell of nothing new. */
	s->newly_bytes = v[2] & 0xffff;
	entered = desk_enter(set, d, f, s, &p, now_ns, &own);
	entered | own << 8 | (d->round.wait_ns ^ d->round.now_ns) << 16;
}))
CASE(desk_step, (desk_step(d, v[0] & (SEATS - 1)), d->seats[v[1] & (SEATS - 1)].window_bytes))
CASE(desk_finish, (desk_finish(d, f, v[0] & (SEATS - 1), v[1] & 7) | (u64)f->edge << 16))
CASE(desk_said, (desk_said(d, f), f->edge))
CASE(desk_update, ({
	struct update u = {};
	desk_update(d, v[0] & (SEATS - 1), &u);
	(u64)d->seats[v[0] & (SEATS - 1)].edge << 16 | u.window;
}))
CASE(desk_leave, ({
	struct flow_key key = { .client_port = v[9] & 31 };
	desk_leave(d, f, &key);
	f->seat;
}))

/* What qfcp_turn does at an interval's end; its loop of those without a packet would be followed round by round. */
CASE(qfcp_close, ({
	struct qfcp_settings set = vector_qfcp(v);
	struct qfcp_sight sight = vector_sight(now_ns, v);
	qfcp_close(STATE_OF(qfcp_router), &set, &sight);
	STATE_OF(qfcp_router)->output;
}))
CASE(qfcp_count, ({
	struct qfcp_sight sight = vector_sight(now_ns, v);
	qfcp_count(STATE_OF(qfcp_router), &sight, v[4], v[5]);
	STATE_OF(qfcp_router)->input_bytes;
}))
CASE(xcp_turn, ({
	struct xcp_settings set = vector_xcp(v);
	xcp_turn(STATE_OF(xcp_router), &set, now_ns, v[0]);
	STATE_OF(xcp_router)->raise.left_q8;
}))
CASE(xcp_count, ({
	struct xcp_header header = vector_header(v);
	xcp_count(STATE_OF(xcp_router), v[0], &header, v[5]);
	STATE_OF(xcp_router)->input_bytes;
}))
CASE(xcp_deal, ({
	struct xcp_header header = vector_header(v);
	xcp_deal_q8(STATE_OF(xcp_router), &header, v[5]);
}))
