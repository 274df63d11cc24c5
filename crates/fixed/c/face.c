/* SPDX-License-Identifier: Dual MIT/GPL */
/* What Rust calls: each function of the headers by a name of its own. */
#include "arith.h"
#include "estimate.h"
#include "clamp.h"
#include "share.h"
#include "gamma.h"
#include "qfcp.h"
#include "window.h"
#include "wire.h"
#include "passer.h"
#include "proxy.h"
#include "unheard.h"
#include "receiver.h"
#include "xcp.h"
#include "vectors.h"

#define FACE(type, name, list, call) \
	type lasthop_##name list; \
	type lasthop_##name list { return name call; }
#define FACE_DO(name, list, call) \
	void lasthop_##name list; \
	void lasthop_##name list { name call; }

#include "numbers.h"

FACE_DO(busy_window_add, (struct busy_window *w, u64 now_ns, u64 bytes), (w, now_ns, bytes))
FACE_DO(busy_window_rest, (struct busy_window *w), (w))
FACE_DO(binned_rate_add, (struct binned_rate *r, u64 now_ns, u32 bytes), (r, now_ns, bytes))
FACE(u64, binned_rate, (const struct binned_rate *r), (r))
FACE(u64, recent_least, (const struct recent_least *l), (l))
FACE_DO(recent_least_turn, (struct recent_least *l, u64 now_ns, u64 span_ns), (l, now_ns, span_ns))
FACE_DO(recent_least_add, (struct recent_least *l, u64 now_ns, u64 sample_ns, u64 span_ns), (l, now_ns, sample_ns, span_ns))
FACE_DO(share_rate_add, (struct share_rate *r, u64 span_ns, u64 bytes), (r, span_ns, bytes))
FACE(u64, share_rate_over, (const struct share_rate *r, u32 i), (r, i))
FACE_DO(share_rate_raise, (struct share_rate *r, u64 rate), (r, rate))
FACE_DO(qfcp_control, (struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_measured *m), (r, s, m))
FACE_DO(qfcp_count, (struct qfcp_router *r, const struct qfcp_sight *sight, u64 size_bytes, u32 rtt_us), (r, sight, size_bytes, rtt_us))
void lasthop_qfcp_turn(struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_sight *sight);
void lasthop_qfcp_turn(struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_sight *sight) { qfcp_turn(r, s, sight, qfcp_close); }
FACE_DO(xcp_fill, (struct xcp_pot *pot, u64 amount_q8, u64 units), (pot, amount_q8, units))
FACE(u64, xcp_part_q8, (const struct xcp_pot *pot, u64 units), (pot, units))
FACE_DO(xcp_turn, (struct xcp_router *r, const struct xcp_settings *s, u64 now_ns, u64 queue_bytes), (r, s, now_ns, queue_bytes))
FACE_DO(xcp_count, (struct xcp_router *r, u64 queue_bytes, const struct xcp_header *h, u64 share_ns), (r, queue_bytes, h, share_ns))
FACE(s64, xcp_deal_q8, (struct xcp_router *r, const struct xcp_header *h, u64 share_ns), (r, h, share_ns))

FACE_DO(station_look, (struct station *s, u64 now_ns, u64 queue_bytes, u64 departed_bytes), (s, now_ns, queue_bytes, departed_bytes))
FACE_DO(station_arrival, (struct station *s, u64 now_ns, u32 bytes, u32 segments, u64 average_ns),
	(s, now_ns, bytes, segments, average_ns))
FACE_DO(station_pass, (struct station *s, u64 bytes, int is_other), (s, bytes, is_other))
FACE(u32, station_price_q30, (struct station *s, u64 now_ns, u64 a_bytes, u64 average_ns), (s, now_ns, a_bytes, average_ns))
FACE(u64, station_rate, (const struct station *s), (s))
FACE(u64, station_weights, (const struct station *s), (s))
FACE_DO(station_turn, (struct station *s, u64 now_ns), (s, now_ns))
FACE(u64, station_a_of, (const struct settings *set, const struct station *s, u32 mss), (set, s, mss))
FACE_DO(passer_comes, (const struct settings *set, struct passer *f, struct station *s, const struct packet *p, u64 now_ns), (set, f, s, p, now_ns))
FACE(int, passer_stamps, (struct passer *f, const struct packet *p, u64 now_ns, int has_room), (f, p, now_ns, has_room))
FACE_DO(passer_goes, (struct passer *f, const struct station *s, const struct packet *p, u64 now_ns), (f, s, p, now_ns))
FACE_DO(receiver_arrival, (struct receiver *r, u64 now_ns, u32 bytes, u32 segments), (r, now_ns, bytes, segments))
FACE_DO(receiver_rtt, (struct receiver *r, u64 now_ns), (r, now_ns))
FACE_DO(receiver_server_begins, (struct receiver *r, const struct packet *p, u64 now_ns), (r, p, now_ns))
FACE_DO(receiver_station_begins, (struct receiver *r, const struct packet *p, u32 segment, u64 now_ns), (r, p, segment, now_ns))
FACE(int, receiver_is_reset, (const struct receiver *r, const struct packet *p), (r, p))
FACE_DO(receiver_let_go, (struct receiver *r), (r))
FACE_DO(receiver_window, (struct receiver *r, u64 gap_ns, u32 payload, u32 tau_bytes, u32 refill_q10),
	(r, gap_ns, payload, tau_bytes, refill_q10))
FACE_DO(pool_turn, (struct pool *p, u64 now_ns), (p, now_ns))
FACE_DO(pool_add, (struct pool *p, const struct pool_part *part), (p, part))
FACE(int, receiver_pools, (struct receiver *r, const struct pool *p, struct pool_part *part), (r, p, part))
FACE_DO(proxy_server_begins, (struct flow *f, const struct packet *p, u64 now_ns, u64 wait_ns), (f, p, now_ns, wait_ns))
FACE(u16, proxy_client_begins, (struct flow *f, const struct packet *p, u64 now_ns), (f, p, now_ns))
FACE(struct found, proxy_meets, (const struct settings *set, struct station *s, u64 now_ns, const struct glance *queue, u32 bytes, u32 segments, int is_other, int begins), (set, s, now_ns, *queue, bytes, segments, is_other, begins))
FACE_DO(proxy_forwards, (const struct settings *set, struct flow *f, struct station *s, const struct packet *p, u64 now_ns, const struct glance *queue, const struct found *found, u32 weight_q8), (set, f, s, p, now_ns, *queue, *found, weight_q8))
FACE(int, unheard_goes_on, (struct flow *f, struct station *s, const struct packet *p, u64 now_ns), (f, s, p, now_ns))
FACE(u32, largest_segment, (struct alike *a, u32 mss_bytes, const struct packet *p, u64 under_way_bytes), (a, mss_bytes, p, under_way_bytes))
FACE(u16, proxy_hears, (const struct settings *set, struct flow *f, struct station *s, const struct packet *p, u64 now_ns, const struct glance *queue, u32 random), (set, f, s, p, now_ns, *queue, random))
FACE(u16, proxy_field, (struct flow *f, const struct packet *p), (f, p))
FACE(u16, proxy_hears_at_desk, (const struct settings *set, struct desk *d, struct flow *f, struct station *s, const struct packet *p, u64 now_ns, const struct glance *queue, u32 random, u32 *updates), (set, d, f, s, p, now_ns, *queue, random, updates))
FACE(int, desk_update, (struct desk *d, u32 i, struct update *u), (d, i, u))
FACE(u64, flow_delay_ns, (const struct flow *f, u64 nearest_ns), (f, nearest_ns))
FACE(int, flow_holds, (const struct flow *f), (f))
FACE_DO(flow_apart, (struct flow *f, u64 now_ns, u32 end, u32 payload, int is_first), (f, now_ns, end, payload, is_first))
FACE_DO(flow_was_apart, (struct flow *f, u64 now_ns, u32 ack, u32 told_bytes, u64 rate), (f, now_ns, ack, told_bytes, rate))
FACE(u32, flow_held_bytes, (const struct flow *f), (f))
FACE(int, proxy_is_reset, (const struct flow *f, const struct packet *p, int is_servers), (f, p, is_servers))
FACE_DO(proxy_rests, (struct flow *f, struct station *s), (f, s))
FACE(int, proxy_is_silent, (const struct flow *f, u64 now_ns), (f, now_ns))

/* The size of a structure that Rust mirrors. */
u32 lasthop_size_of(u32 which);
u32 lasthop_size_of(u32 which)
{
	static const u32 sizes[] = { sizeof(struct settings), sizeof(struct packet), sizeof(struct flow), sizeof(struct station),
				     sizeof(struct receiver), sizeof(struct glance), sizeof(struct found),
				     sizeof(struct passer), sizeof(struct pool), sizeof(struct pool_part),
				     sizeof(struct desk), sizeof(struct update) };

	return which < sizeof(sizes) / sizeof(*sizes) ? sizes[which] : 0;
}

#undef FACE

#define VECTOR_PARTS struct vector *x, const struct settings *set, struct flow *f, struct station *s, struct receiver *r, struct desk *d

/* The cases of vectors.h by their numbers. */
#define CASE(name, call) \
	static u64 vector_##name(VECTOR_PARTS) { return VECTOR(call); }
#include "cases.h"
#undef CASE

static const struct {
	const char *name;
	u64 (*run)(VECTOR_PARTS);
} vectors[] = {
#define CASE(name, call) { #name, vector_##name },
#include "cases.h"
};

/* The name of a case; 0 behind the last. */
const char *lasthop_vector_name(u32 which);
const char *lasthop_vector_name(u32 which)
{
	return which < sizeof(vectors) / sizeof(*vectors) ? vectors[which].name : 0;
}

void lasthop_vector_run(u32 which, VECTOR_PARTS);
void lasthop_vector_run(u32 which, VECTOR_PARTS)
{
	if (which < sizeof(vectors) / sizeof(*vectors))
		x->result = vectors[which].run(x, set, f, s, r, d);
}
