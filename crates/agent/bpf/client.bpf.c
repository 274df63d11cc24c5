/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The client: on the device by which a station is connected, one program takes the access point's price out of what
 * comes, the other lowers the windows of what goes.
 *
 *     access point ──► device ──► to_client ──► the station's stack
 *                                 (price)
 *                  ◄── device ◄── to_server ◄──
 *                                 (windows)
 */
#include "counts.h"
#include "handshake.h"
#include "kernel.h"
#include "lock.h"
#include "packet.h"
#include "pricing.h"
#include "receiver.h"
#include "state.h"
#include "weight.h"
#include "window.h"

const volatile struct settings settings = {};
const struct receiver blank = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct flow_key);
	__type(value, struct receiver);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pool);
} pools SEC(".maps");

/* The connection of a SYN: a new one, unless that is said again or has options that forbid to touch it. */
static __always_inline struct receiver *open_receiver(const struct packet *p)
{
	struct receiver *r;

	if (p->is_foreign) {
		count(COUNTED_FOREIGN, 0);
		bpf_map_delete_elem(&flows, &p->key);
		return 0;
	}
	r = bpf_map_lookup_elem(&flows, &p->key);
	if (r && opens_again(p, r->opened_seq))
		return r;
	if (bpf_map_update_elem(&flows, &p->key, &blank, BPF_ANY)) {
		count(COUNTED_FULL, 0);
		return 0;
	}
	r = bpf_map_lookup_elem(&flows, &p->key);
	if (r)
		r->weight_q8 = weight_of(p);
	return r;
}

/* The connection of a SYN or SYN-ACK, if it is to be known. */
static __always_inline struct receiver *begin_receiver(const struct packet *p)
{
	struct receiver *r;

	if (!(p->flags & TCP_ACK))
		return open_receiver(p);
	r = bpf_map_lookup_elem(&flows, &p->key);
	if (r && p->is_foreign) {
		bpf_map_delete_elem(&flows, &p->key);
		return 0;
	}
	return r;
}

/* A SYN or SYN-ACK of the server. */
static __always_inline void hear_server(struct receiver *r, const struct packet *p, u64 now_ns)
{
	if (!take(&r->lock))
		return;
	receiver_server_begins(r, p, now_ns);
	give(&r->lock);
}

/* What a SYN leaves for data: 536 B where it says nothing (RFC 9293), and as much less as options take (RFC 6691). */
static __always_inline u32 segment_of(const struct packet *p, u32 mtu)
{
	u32 mss = p->mss ? p->mss : 536;

	return mss_with_price(p, mss, mtu) - (p->has_stamp ? 12 : 0);
}

/* One of the station. */
static __always_inline void hear_station(struct receiver *r, const struct packet *p, u32 segment, u64 now_ns)
{
	if (!take(&r->lock))
		return;
	receiver_station_begins(r, p, segment, now_ns);
	give(&r->lock);
}

/* So much payload came, up to a sequence number. What is sent again fills a hole; what came twice moves nothing beyond what was sent. */
static __always_inline void receive(struct receiver *r, u32 payload, u32 end)
{
	if (is_after(end, r->reached))
		r->reached = end;
	r->arrived += payload;
	if (is_after(r->arrived, r->reached))
		r->arrived = r->reached;
}

/* Data of a connection that is known; 1 if the law heard their price. */
static __always_inline int hear_data(struct receiver *r, const struct packet *p, u64 now_ns, u32 segments)
{
	int has_price = p->price_at != 0, is_within;
	u32 end = p->seq + p->payload;
	u64 gap_ns;

	if (!take(&r->lock))
		return has_price;
	r->seen_ns = now_ns;
	if (r->asked_ns && is_answered(r->flags, r->asked_stamp, p))
		receiver_rtt(r, now_ns);
	/* What lies outside the window is no packet of this connection's (RFC 9293, 3.10.7.4): nor is its price. */
	is_within = p->payload && is_after(end, r->ack) && (settings.observe_only || !is_after(end, r->edge));
	has_price = has_price && is_within;
	if (is_within)
		receive(r, p->payload, end);
	if (p->flags & TCP_FIN && receiver_expects(r, end))
		r->flags |= FLOW_SERVER_ENDED;
	if (p->payload) {
		r->mss = largest_segment(&r->alike, r->mss, p, receiver_round_bytes(r));
		gap_ns = r->arrived_ns ? now_ns - r->arrived_ns : 0;
		r->arrived_ns = now_ns;
		r->arrived_bytes += p->payload;
		receiver_arrival(r, now_ns, p->size_bytes, segments);
		if (has_price) {
			r->price_q30 = p->price_q30;
			r->priced_ns = now_ns;
			receiver_window(r, gap_ns, p->payload, settings.tau_bytes, settings.refill_q10);
		} else if (now_ns - r->priced_ns > STALE_NS) {
			receiver_let_go(r);
		}
	}
	give(&r->lock);
	return has_price;
}

/* The station's connections: all that come by this device. */
static __always_inline struct pool *the_pool(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&pools, &key);
}

/* Once an epoch a connection meets the others. Verified by itself, as a part of `to_client` it has too many branches. */
__attribute__((noinline)) int meet_others(const struct flow_key *key, u64 now_ns)
{
	struct receiver *r = key ? bpf_map_lookup_elem(&flows, key) : 0;
	struct pool *pool = the_pool();
	struct pool_part part = {};
	int is_pooled;

	if (!r || !pool)
		return 0;
	if (!take(&pool->lock))
		return 0;
	pool_turn(pool, now_ns);
	is_pooled = take(&r->lock);
	if (is_pooled) {
		is_pooled = receiver_pools(r, pool, &part);
		give(&r->lock);
	}
	if (is_pooled)
		pool_add(pool, &part);
	give(&pool->lock);
	return is_pooled;
}

/* Data of it came with a price: whether others are to be met. */
static __always_inline int has_others_to_meet(const struct receiver *r, u64 now_ns)
{
	const struct pool *pool = the_pool();

	return pool && (r->epoch != pool->epoch || pool_is_over(pool, now_ns));
}

/* The connection of what is no SYN, which a RST ends that is its station's or may be its server's; none for what needs no more than to be counted. */
static __always_inline struct receiver *known_receiver(const struct packet *p, int is_servers, int *kind)
{
	struct receiver *r = bpf_map_lookup_elem(&flows, &p->key);

	if (!r) {
		*kind = COUNTED_MIDSTREAM;
		return 0;
	}
	if (p->flags & TCP_RST) {
		if (!is_servers || receiver_is_reset(r, p))
			bpf_map_delete_elem(&flows, &p->key);
		return 0;
	}
	return r;
}

SEC("tcx/ingress")
int to_client(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 1, &p);
	u64 now_ns = bpf_ktime_get_ns();
	u32 segments = segments_of(skb, &p);
	struct receiver *r;

	if (kind == COUNTED_DATA && p.flags & TCP_SYN) {
		r = begin_receiver(&p);
		if (r)
			hear_server(r, &p, now_ns);
	} else if (kind == COUNTED_DATA) {
		r = known_receiver(&p, 1, &kind);
		if (r && !(r->flags & FLOW_ESTABLISHED))
			r->seen_ns = now_ns;
		else if (r && hear_data(r, &p, now_ns, segments)) {
			if (has_others_to_meet(r, now_ns))
				meet_others(&p.key, now_ns);
		} else if (r && p.payload)
			count(COUNTED_UNPRICED, p.size_bytes);
	}
	count(kind, p.size_bytes ? p.size_bytes : skb->len);
	/* What goes up is what the server has sent. */
	if (p.price_at && !settings.observe_only && !price_remove(skb, &p))
		count(COUNTED_PRICED, 0);
	return TCX_PASS_ON;
}

/* The field that an ACK is to say. */
static __always_inline u16 field_of(struct receiver *r, const struct packet *p, u32 scale)
{
	return field_said(&r->edge, p, !is_after(r->ack, p->ack), (r->window_q16 + 0xffff) >> 16, r->mss, scale);
}

/* An ACK of the station: the field that it is to say. */
static __always_inline u16 window_of(struct receiver *r, const struct packet *p, u64 now_ns, u32 random)
{
	u32 scale = window_scale(r->flags, r->scale), from;
	int moves;
	u16 window;

	if (!take(&r->lock))
		return field_of(r, p, scale);
	r->seen_ns = now_ns;
	r->own_bytes = (u64)p->window << scale;
	if (p->flags & TCP_FIN)
		r->flags |= FLOW_CLIENT_ENDED;
	if (p->has_stamp && (!r->asked_ns || now_ns - r->asked_ns > ECHO_NS)) {
		r->asked_ns = now_ns;
		r->asked_stamp = p->stamp;
		r->flags |= FLOW_BY_STAMP;
	}
	/* Duplicates of an ACK stay duplicates: only one that advances gets another window, or one that tells what arrived behind a hole. */
	moves = is_after(p->ack, r->ack);
	if (moves) {
		r->acknowledged_bytes += p->ack - r->ack;
		r->ack = p->ack;
		r->duplicates = 0;
		if (is_after(p->ack, r->arrived))
			r->arrived = p->ack;
	} else if (p->ack == r->ack && !p->payload && p->window == r->field) {
		r->duplicates++;
	}
	from = window_from(p, r->arrived);
	if (r->window_q16 && (moves || (p->ack == r->ack && is_after(from, p->ack))))
		r->edge = right_edge(from, whole_segments(r->window_q16 >> 16, r->mss, random), r->edge);
	r->field = p->window;
	window = field_of(r, p, scale);
	r->flags &= ~FLOW_LIMITED;
	if (window < p->window)
		r->flags |= FLOW_LIMITED;
	give(&r->lock);
	return window;
}

SEC("tcx/egress")
int to_server(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 0, &p);
	u64 now_ns = bpf_ktime_get_ns();
	struct receiver *r;
	u16 window;

	if (kind != COUNTED_DATA) {
		count(kind, skb->len);
		return TCX_PASS_ON;
	}
	if (p.flags & TCP_SYN) {
		r = begin_receiver(&p);
		if (r)
			hear_station(r, &p, segment_of(&p, mtu_of(skb)), now_ns);
		return TCX_PASS_ON;
	}
	r = known_receiver(&p, 0, &kind);
	if (kind == COUNTED_MIDSTREAM)
		count(kind, p.size_bytes);
	if (!r)
		return TCX_PASS_ON;
	if (!(p.flags & TCP_ACK) || !(r->flags & FLOW_ESTABLISHED))
		return TCX_PASS_ON;
	window = window_of(r, &p, now_ns, chance(now_ns));
	if (window < p.window && !settings.observe_only && !put_window(skb, &p, window))
		count(COUNTED_LOWERED, 0);
	count(COUNTED_ACK, p.size_bytes);
	return TCX_PASS_ON;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
