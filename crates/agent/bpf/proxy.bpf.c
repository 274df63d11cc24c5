/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The proxy: on the device towards the clients, one program sees data before they are queued, the other ACKs as they
 * come, and lowers their windows. Senders follow, and the queue stays short.
 *
 *     servers ──► to_client ──► qdisc ──► device ──► clients
 *             ◄── to_server ◄──────────── device ◄──
 *                 (windows)
 */
#include "counts.h"
#include "kernel.h"
#include "packet.h"
#include "proxy.h"
#include "queue.h"
#include "state.h"
#include "weight.h"

const volatile struct settings settings = {};
const struct flow blank = {};
const struct station empty = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

/* Where the queue is hidden: what shares one, by the client's address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct station_key);
	__type(value, struct station);
} stations SEC(".maps");

/* What a packet's client shares its queue with. */
static __always_inline struct station *station_of(const struct flow_key *flow)
{
	struct station_key key = {};

	if (!settings.is_hidden)
		return device_queue();
	__builtin_memcpy(key.client, flow->client, sizeof(key.client));
	return bpf_map_lookup_elem(&stations, &key);
}

/* A connection ends: nothing of it is under way any more. */
static __always_inline void close_flow(struct flow *f, const struct flow_key *key)
{
	struct station *s = station_of(key);

	if (s) {
		bpf_spin_lock(&s->lock);
		proxy_rests(f, s);
		bpf_spin_unlock(&s->lock);
	}
	bpf_map_delete_elem(&flows, key);
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

/* The flow of a SYN: a new one, unless it has options that forbid to touch it. */
static __always_inline struct flow *open_flow(const struct packet *p)
{
	struct flow *f;

	if (p->is_foreign) {
		count(COUNTED_FOREIGN, 0);
		bpf_map_delete_elem(&flows, &p->key);
		return 0;
	}
	if (settings.is_hidden && !station_of(&p->key)) {
		struct station_key key = {};

		__builtin_memcpy(key.client, p->key.client, sizeof(key.client));
		bpf_map_update_elem(&stations, &key, &empty, BPF_NOEXIST);
	}
	/* What was under way on one that is opened anew. */
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (f)
		close_flow(f, &p->key);
	if (bpf_map_update_elem(&flows, &p->key, &blank, BPF_ANY)) {
		count(COUNTED_FULL, 0);
		return 0;
	}
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (f) {
		f->weight_q8 = weight_of(p);
		f->dscp = p->dscp;
	}
	return f;
}

/* The flow of a SYN or SYN-ACK, if it is to be known, and its station. */
static __always_inline struct flow *begin_flow(const struct packet *p, struct station **s)
{
	struct flow *f = p->flags & TCP_ACK ? bpf_map_lookup_elem(&flows, &p->key) : open_flow(p);

	if (f && p->is_foreign) {
		close_flow(f, &p->key);
		return 0;
	}
	*s = station_of(&p->key);
	return f;
}

/* What is no segment of a connection that goes on: it is met, and may begin or end one. */
static __always_inline void meet(struct __sk_buff *skb, const struct packet *p, int kind, u64 now_ns, struct glance queue,
				 struct station *s)
{
	struct found found = {};
	struct flow *f;

	if (s) {
		bpf_spin_lock(&s->lock);
		found = proxy_meets(&settings, s, now_ns, queue, skb->len, kind != COUNTED_DATA, p->flags & TCP_SYN);
		bpf_spin_unlock(&s->lock);
	}
	if (kind != COUNTED_DATA) {
		count(kind, skb->len);
	} else if (p->flags & TCP_SYN) {
		f = begin_flow(p, &s);
		if (f && s) {
			bpf_spin_lock(&s->lock);
			proxy_server_begins(f, p, now_ns, found.wait_ns);
			bpf_spin_unlock(&s->lock);
		}
	} else {
		f = bpf_map_lookup_elem(&flows, &p->key);
		if (f && s) {
			close_flow(f, &p->key);
			return;
		}
		if (s) {
			bpf_spin_lock(&s->lock);
			s->other_bytes += skb->len;
			bpf_spin_unlock(&s->lock);
		}
		count(COUNTED_MIDSTREAM, p->size_bytes);
	}
}

SEC("tcx/egress")
int to_client(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 1, &p);
	struct glance queue = glance_of(skb);
	u64 now_ns = bpf_ktime_get_ns();
	struct station *s = station_of(&p.key);
	struct found found;
	struct flow *f;
	u32 weight_q8;

	if (kind != COUNTED_DATA || p.flags & (TCP_SYN | TCP_RST)) {
		meet(skb, &p, kind, now_ns, queue, s);
		return TCX_PASS_ON;
	}
	f = bpf_map_lookup_elem(&flows, &p.key);
	weight_q8 = f && settings.has_dscp && p.dscp != f->dscp ? weight_of(&p) : 0;
	if (s) {
		bpf_spin_lock(&s->lock);
		found = proxy_meets(&settings, s, now_ns, queue, skb->len, 0, 0);
		if (f)
			proxy_forwards(&settings, f, s, &p, now_ns, queue, found, weight_q8);
		else
			s->other_bytes += skb->len;
		bpf_spin_unlock(&s->lock);
	}
	count(f && s ? COUNTED_DATA : COUNTED_MIDSTREAM, p.size_bytes);
	return TCX_PASS_ON;
}

SEC("tcx/ingress")
int to_server(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 0, &p);
	struct glance queue = glance_of(skb);
	u64 now_ns = bpf_ktime_get_ns();
	struct station *s;
	struct flow *f;
	u16 window;

	if (kind != COUNTED_DATA) {
		count(kind, skb->len);
		return TCX_PASS_ON;
	}
	if (p.flags & TCP_SYN) {
		f = begin_flow(&p, &s);
		if (!f || !s)
			return TCX_PASS_ON;
		bpf_spin_lock(&s->lock);
		window = proxy_client_begins(f, &p, now_ns);
		bpf_spin_unlock(&s->lock);
		if (window < p.window && !settings.observe_only)
			put_window(skb, &p, window);
		return TCX_PASS_ON;
	}
	f = bpf_map_lookup_elem(&flows, &p.key);
	s = station_of(&p.key);
	if (!f || !s) {
		count(COUNTED_MIDSTREAM, p.size_bytes);
		return TCX_PASS_ON;
	}
	if (p.flags & TCP_RST) {
		close_flow(f, &p.key);
		return TCX_PASS_ON;
	}
	if (!(p.flags & TCP_ACK) || !(f->flags & FLOW_ESTABLISHED))
		return TCX_PASS_ON;
	bpf_spin_lock(&s->lock);
	window = proxy_hears(&settings, f, s, &p, now_ns, queue, chance(now_ns));
	bpf_spin_unlock(&s->lock);
	if (window < p.window && !settings.observe_only && !put_window(skb, &p, window))
		count(COUNTED_LOWERED, 0);
	count(COUNTED_ACK, p.size_bytes);
	return TCX_PASS_ON;
}

/* What is silent is at rest. */
static long rest_one(void *map, struct flow_key *key, struct flow *f, u64 *now_ns)
{
	struct station *s;

	(void)map;
	if (f->delivered == f->sent || !proxy_is_silent(f, *now_ns))
		return 0;
	s = station_of(key);
	if (s) {
		bpf_spin_lock(&s->lock);
		proxy_rests(f, s);
		bpf_spin_unlock(&s->lock);
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
