/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The proxy: on the device towards the clients, one program sees data before they are queued, the other ACKs as they
 * come, and lowers their windows. Senders follow, and the queue stays short. Under the station window an ACK also moves windows of
 * others, by updates that come in behind it.
 *
 *     servers ──► to_client ──► qdisc ──► device ──► clients
 *             ◄── to_server ◄──────────── device ◄──
 *                 (windows)
 */
#include "counts.h"
#include "desks.h"
#include "kernel.h"
#include "packet.h"
#include "proxy.h"
#include "queue.h"
#include "state.h"
#include "unheard.h"
#include "updates.h"
#include "weight.h"

const volatile struct settings settings = {};
const struct flow blank = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

/* Where queues are hidden: the number of each client's. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct station_key);
	__type(value, u32);
} clients SEC(".maps");

/* The numbers that are nobody's; the agent fills it. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 4096);
	__type(value, u32);
} spare SEC(".maps");

/*
 * Connections that began before the agent did, and those that must not be touched, by the epoch in which they last counted. In a crowd the oldest
 * make room.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct flow_key);
	__type(value, u32);
} strangers SEC(".maps");

#define NO_NUMBER (~0U)
/* A connection that has been silent for so long has no seat at a desk. */
#define AWAY_NS (10 * NS_PER_S)

/* The number of what a packet's client shares its queue with. */
static __always_inline u32 number_of(const struct station_key *key)
{
	u32 *number = settings.by_client ? bpf_map_lookup_elem(&clients, key) : 0;

	return number ? *number : settings.by_client ? NO_NUMBER : 0;
}

/* The same for a connection that begins: a client that is new gets one, if there is any left. */
static __always_inline u32 new_number_of(const struct station_key *key)
{
	u32 number = number_of(key);

	if (number != NO_NUMBER)
		return number;
	if (bpf_map_pop_elem(&spare, &number))
		return NO_NUMBER;
	if (!bpf_map_update_elem(&clients, key, &number, BPF_NOEXIST))
		return number;
	/* Another processor was first, or there is no room. */
	bpf_map_push_elem(&spare, &number, 0);
	return number_of(key);
}

/* A packet's client. */
static __always_inline struct station_key client_of(const struct packet *p)
{
	struct station_key key;

	__builtin_memcpy(key.client, p->key.client, sizeof(key.client));
	return key;
}

/* A connection ends: nothing of it is under way any more. 0: it is not over yet, and goes once it has been silent. */
static __always_inline int close_flow(struct flow *f, const struct flow_key *key)
{
	struct station *s = queue_of(f->station);

	if (!s || !take(&s->lock))
		return 0;
	proxy_rests(f, s);
	leave_desk(f, key);
	give(&s->lock);
	bpf_map_delete_elem(&flows, key);
	return 1;
}

/* The queue where it is seen. */
static __always_inline struct glance glance_of(struct __sk_buff *skb)
{
	struct glance glance = {};

	if (!settings.is_hidden) {
		struct backlog queue = backlog_of(skb);

		glance.bytes = queue.bytes;
		glance.departed_bytes = queue.departed_bytes;
	}
	return glance;
}

/* The flow of a SYN: a new one, unless that is said again or has options that forbid to touch it. */
static __always_inline struct flow *open_flow(const struct packet *p)
{
	struct station_key client = client_of(p);
	struct flow *f;
	u32 number;

	if (p->is_foreign)
		count(COUNTED_FOREIGN, 0);
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (f && !p->is_foreign && opens_again(p, f->opened_seq))
		return f;
	/* What was under way on one that is opened anew. */
	if (f && !close_flow(f, &p->key))
		return 0;
	if (p->is_foreign)
		return 0;
	number = new_number_of(&client);
	if (number == NO_NUMBER || bpf_map_update_elem(&flows, &p->key, &blank, BPF_ANY)) {
		count(COUNTED_FULL, 0);
		return 0;
	}
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (f) {
		f->station = number;
		f->weight_q8 = weight_of(p);
		f->dscp = p->dscp;
	}
	return f;
}

/* The flow of a SYN or SYN-ACK, if it is to be known. */
static __always_inline struct flow *begin_flow(const struct packet *p)
{
	struct flow *f = p->flags & TCP_ACK ? bpf_map_lookup_elem(&flows, &p->key) : open_flow(p);

	if (f && p->is_foreign) {
		close_flow(f, &p->key);
		return 0;
	}
	return f;
}

/* Whether a packet towards a client begins a connection, or its answer does. */
static __always_inline int begins(const struct packet *p, int kind)
{
	return kind == COUNTED_DATA && p->flags & TCP_SYN;
}

/* The weight of one whose data nobody knows, once in each epoch of its station. */
static __noinline u32 stranger_counts(const struct packet *p, const struct station *s)
{
	u32 counted = s ? s->epoch + 1 : 0, *before = p ? bpf_map_lookup_elem(&strangers, &p->key) : 0;

	if (!p || (before && *before == counted))
		return 0;
	bpf_map_update_elem(&strangers, &p->key, &counted, BPF_ANY);
	return weight_of(p);
}

/*
 * What is no segment of a connection that goes on is met; returns what it has to wait. This and the next are functions of their own
 * because to_client's stack has no room for them.
 */
static __noinline u64 meet(struct __sk_buff *skb, const struct packet *p, int kind, u64 now_ns, const struct glance *queue)
{
	int is_other = !begins(p, kind) && !(kind == COUNTED_DATA && bpf_map_lookup_elem(&flows, &p->key));
	struct station_key client = client_of(p);
	struct station *s = queue_of(number_of(&client));
	struct found found = {};
	int is_stranger = is_other && kind == COUNTED_DATA && p->payload;
	u32 weight_q8 = s && is_stranger ? stranger_counts(p, s) : 0;

	if (s && take(&s->lock)) {
		if (is_stranger)
			station_pass_unsteered(s, p->size_bytes, weight_q8);
		found = proxy_meets(&settings, s, now_ns, *queue, skb->len, segments_of(skb, p), is_other, begins(p, kind));
		give(&s->lock);
	}
	return found.wait_ns;
}

/* It may begin or end a connection. */
static __noinline void begin_or_end(struct __sk_buff *skb, const struct packet *p, int kind, u64 now_ns, u64 wait_ns)
{
	struct station *s;
	struct flow *f;

	if (kind != COUNTED_DATA) {
		count(kind, skb->len);
	} else if (begins(p, kind)) {
		f = begin_flow(p);
		s = f ? queue_of(f->station) : 0;
		if (s && take(&s->lock)) {
			proxy_server_begins(f, p, now_ns, wait_ns);
			give(&s->lock);
		}
	} else {
		f = bpf_map_lookup_elem(&flows, &p->key);
		if (!f || !(p->flags & TCP_RST))
			count(COUNTED_MIDSTREAM, p->size_bytes);
		else if (proxy_is_reset(f, p, 1))
			close_flow(f, &p->key);
	}
}

SEC("tcx/egress")
int to_client(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 1, &p);
	int goes_on = kind == COUNTED_DATA && !(p.flags & (TCP_SYN | TCP_RST));
	struct glance queue = glance_of(skb);
	u64 now_ns = bpf_ktime_get_ns();
	struct flow *f = goes_on ? bpf_map_lookup_elem(&flows, &p.key) : 0;
	struct station *s = f ? queue_of(f->station) : 0;
	struct found found;
	u32 weight_q8;
	int is_unheard = 0;

	if (!s) {
		begin_or_end(skb, &p, kind, now_ns, meet(skb, &p, kind, now_ns, &queue));
		return TCX_PASS_ON;
	}
	weight_q8 = settings.has_dscp && p.dscp != f->dscp ? weight_of(&p) : 0;
	if (take(&s->lock)) {
		/* Windows that nobody lowers bound no server. */
		is_unheard = !settings.observe_only && unheard_goes_on(f, s, &p, now_ns);
		found = proxy_meets(&settings, s, now_ns, queue, skb->len, segments_of(skb, &p), is_unheard, 0);
		if (!is_unheard)
			proxy_forwards(&settings, f, s, &p, now_ns, queue, found, weight_q8);
		give(&s->lock);
	}
	count(is_unheard ? COUNTED_UNHEARD : COUNTED_DATA, p.size_bytes);
	return TCX_PASS_ON;
}

/*
 * What follows is done at the desk of an ACK's station, by functions that are verified by themselves, once. That has a desk from now on,
 * if there is any left: without one a connection's window is the share window's.
 */
__noinline int come_to_desk(struct flow *f)
{
	if (f && !new_desk_of(f->station))
		f->seat = 0;
	return 0;
}

/* An ACK that has been heard takes its seat, under the station's lock: DESK_..., and from bit 8 on the seat. */
__noinline int enter_desk(struct flow *f, struct station *s, const struct packet *p, u64 now_ns, u64 way)
{
	struct post *post = f ? desk_of(f->station) : 0;
	u32 own = 0, entered;

	if (!post || !s || !p)
		return 0;
	entered = desk_enter(&settings, &post->desk, f, s, p, now_ns, &own);
	own &= SEATS - 1;
	if (entered)
		post->ways[own] = way;
	return entered | own << 8;
}

/* Windows are found anew, without the lock. */
__noinline int step_desk(struct post *post, u32 own)
{
	if (post)
		desk_step(&post->desk, own);
	return 0;
}

/* The field that the ACK is to say, and from bit 16 on the seats of others whose windows may move. */
__noinline int ask_desk(struct flow *f, struct station *s, const struct packet *p, u32 entered)
{
	struct post *post = f ? desk_of(f->station) : 0;
	u32 own = entered >> 8 & (SEATS - 1), moved;
	u16 window;

	if (!post || !s || !p)
		return f && p ? proxy_field(f, p) : 0;
	if (entered & DESK_STEPS)
		step_desk(post, own);
	if (!take(&s->lock)) {
		/* Nobody else ends its step. */
		if (entered & DESK_STEPS)
			give(&post->desk.is_busy);
		return proxy_field(f, p);
	}
	/* It may have lost its seat meanwhile. */
	if (!is_same_key(&post->desk.seats[own].key, &p->key)) {
		if (entered & DESK_STEPS)
			post->desk.is_busy = 0;
		give(&s->lock);
		return proxy_field(f, p);
	}
	moved = desk_finish(&post->desk, f, own, entered & 255);
	READ_ANEW();
	window = proxy_field(f, p);
	desk_said(&post->desk, f);
	give(&s->lock);
	return moved << 16 | window;
}

/* Whether the window of a seat is told by an update, the way of the ACK at hand, and what that says. */
__noinline int told_of(const struct flow *own, struct station *s, u32 i, u64 way, struct update *u)
{
	struct post *post = own ? desk_of(own->station) : 0;
	struct flow *f = 0;
	u32 edge;

	if (!post || !s || !u || !take(&s->lock))
		return 0;
	i &= SEATS - 1;
	if (post->ways[i] == way && desk_update(&post->desk, i, u)) {
		edge = post->desk.seats[i].edge;
		f = bpf_map_lookup_elem(&flows, &u->key);
		/* Should it lose its seat, its window still ends where it was told. */
		if (f && is_after(edge, f->edge))
			f->edge = edge;
	}
	give(&s->lock);
	return !!f;
}

/* Sends updates for the seats that have moved. */
static __noinline void tell_others(struct __sk_buff *skb, const struct packet *p, const struct flow *f, struct station *s, u32 moved)
{
	u32 key = 0, form = updates_form_of(p);
	struct letter *l = bpf_map_lookup_elem(&letters, &key);
	const volatile u32 *left;
	u64 way;

	if (!l || !form || !open_letter(skb, l, p->ip_at, form))
		return;
	l->moved = moved;
	left = &l->moved;
	way = way_of(skb, p);
	for (u32 i = 0; i < SEATS; i++) {
		if (!(*left & 1U << (i & 31)) || !told_of(f, s, i, way, &l->told))
			continue;
		/* Meanwhile the seat may be another client's. */
		if (!is_same_client(&l->told.key, &p->key))
			continue;
		if (!send_update(skb, l, p->ip_at, form))
			count(COUNTED_UPDATED, skb->len);
	}
	close_letter(skb, l, p->ip_at, form);
}

SEC("tcx/ingress")
int to_server(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 0, &p);
	struct glance queue = glance_of(skb);
	u64 now_ns = bpf_ktime_get_ns();
	u32 entered = 0, said = 0;
	struct station *s;
	struct flow *f;
	u16 window = p.window;

	if (settings.is_station && is_update(skb))
		return TCX_PASS_ON;
	if (kind != COUNTED_DATA) {
		count(kind, skb->len);
		return TCX_PASS_ON;
	}
	if (p.flags & TCP_SYN) {
		f = begin_flow(&p);
		s = f ? queue_of(f->station) : 0;
		if (!s || !take(&s->lock))
			return TCX_PASS_ON;
		window = proxy_client_begins(f, &p, now_ns);
		give(&s->lock);
		if (window < p.window && !settings.observe_only)
			put_window(skb, &p, window);
		return TCX_PASS_ON;
	}
	f = bpf_map_lookup_elem(&flows, &p.key);
	s = f ? queue_of(f->station) : 0;
	if (!s) {
		count(COUNTED_MIDSTREAM, p.size_bytes);
		return TCX_PASS_ON;
	}
	if (p.flags & TCP_RST) {
		if (proxy_is_reset(f, &p, 0))
			close_flow(f, &p.key);
		return TCX_PASS_ON;
	}
	if (!(p.flags & TCP_ACK) || !(f->flags & FLOW_ESTABLISHED))
		return TCX_PASS_ON;
	if (settings.is_station)
		come_to_desk(f);
	if (take(&s->lock)) {
		if (proxy_heeds(&settings, f, s, &p, now_ns, queue, chance(now_ns))) {
			if (settings.is_station)
				entered = enter_desk(f, s, &p, now_ns, way_of(skb, &p));
			if (!entered)
				window = proxy_field(f, &p);
		}
		give(&s->lock);
	} else {
		window = proxy_field(f, &p);
	}
	if (settings.is_station && entered) {
		said = ask_desk(f, s, &p, entered);
		window = (u16)said;
	}
	if (window < p.window && !settings.observe_only && !put_window(skb, &p, window))
		count(COUNTED_LOWERED, 0);
	count(COUNTED_ACK, p.size_bytes);
	if (settings.is_station && said >> 16)
		tell_others(skb, &p, f, s, said >> 16);
	return TCX_PASS_ON;
}

/* What is silent is at rest; in the end it gives its seat back. */
static long rest_one(void *map, struct flow_key *key, struct flow *f, u64 *now_ns)
{
	int leaves = settings.is_station && f->seat && *now_ns > f->seen_ns + AWAY_NS;
	int rests = f->delivered != f->sent && proxy_is_silent(f, *now_ns);
	struct station *s;

	(void)map;
	if (!leaves && !rests)
		return 0;
	s = queue_of(f->station);
	if (s && take(&s->lock)) {
		if (rests)
			proxy_rests(f, s);
		if (leaves)
			leave_desk(f, key);
		give(&s->lock);
	}
	return 0;
}

/* Looks through the connections; the agent runs it now and then. */
SEC("tc")
int look_through(struct __sk_buff *skb)
{
	u64 now_ns = bpf_ktime_get_ns();

	(void)skb;
	bpf_for_each_map_elem(&flows, rest_one, &now_ns, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
