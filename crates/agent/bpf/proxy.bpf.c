/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The proxy: on the device towards the clients, one program sees data before they are queued, the other ACKs as they
 * come, and lowers their windows. Senders follow, and the queue stays short.
 *
 *     servers ──► to_client ──► qdisc ──► device ──► clients
 *             ◄── to_server ◄──────────── device ◄──
 *                 (windows)
 */
#include "clamp.h"
#include "counts.h"
#include "flow.h"
#include "kernel.h"
#include "packet.h"
#include "state.h"
#include "station.h"
#include "weight.h"
#include "window.h"

const volatile struct settings settings = {};
const struct flow blank = {};
const struct station empty = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

/* By the client's address where the queue is hidden; else all by ::. */
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

	if (settings.is_hidden)
		__builtin_memcpy(key.client, flow->client, sizeof(key.client));
	return bpf_map_lookup_elem(&stations, &key);
}

/* A connection ends: nothing of it is under way any more. */
static __always_inline void close_flow(struct flow *f, const struct flow_key *key)
{
	struct station *s = station_of(key);
	u32 rest;

	bpf_spin_lock(&f->lock);
	rest = flow_rest(f);
	bpf_spin_unlock(&f->lock);
	if (s && rest) {
		bpf_spin_lock(&s->lock);
		s->delivered_bytes += rest;
		bpf_spin_unlock(&s->lock);
	}
	bpf_map_delete_elem(&flows, key);
}

/* A SYN or SYN-ACK of the server's side: what it offers. */
static __always_inline void hear_server_begin(struct flow *f, const struct packet *p, u64 now_ns, u64 wait_ns)
{
	bpf_spin_lock(&f->lock);
	if (p->has_scale)
		f->flags |= FLOW_SERVER_SCALES;
	if (f->flags & FLOW_FROM_CLIENT) {
		f->flags |= FLOW_ESTABLISHED;
		/* The client's SYN opened a window from here. */
		f->sent = f->ack = f->delivered = p->seq + 1;
		flow_sample(f, now_ns, p->seq + 1);
		f->there_ns = now_ns;
		f->begin_wait_ns = wait_ns;
		f->edge = p->seq + 1 + (u32)f->window_bytes;
		if (f->asked_ns)
			recent_least_add(&f->upstream, now_ns, now_ns - f->asked_ns, LEAST_SPAN_NS);
		f->asked_ns = 0;
	}
	f->seen_ns = now_ns;
	bpf_spin_unlock(&f->lock);
}

/* The same of the client's side; returns the window that it may begin with. */
static __always_inline u16 hear_client_begin(struct flow *f, const struct packet *p, u64 now_ns)
{
	u64 first;

	bpf_spin_lock(&f->lock);
	if (p->has_scale)
		f->flags |= FLOW_CLIENT_SCALES;
	f->scale = p->scale;
	/* What is left of it for data (RFC 6691, RFC 9293: 536 B where nothing is said). */
	f->mss = most(p->mss ? p->mss : 536, 100) - (p->has_stamp ? 12 : 0);
	first = least((u64)FIRST_SEGMENTS * f->mss, p->window);
	f->window_bytes = first;
	if (p->flags & TCP_ACK) {
		f->flags |= FLOW_ESTABLISHED;
		f->sent = f->ack = f->delivered = p->ack;
		f->edge = p->ack + (u32)first;
	} else {
		f->flags |= FLOW_FROM_CLIENT;
	}
	f->asked_ns = now_ns;
	f->by_stamp = 0;
	f->seen_ns = now_ns;
	bpf_spin_unlock(&f->lock);
	return (u16)first;
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

SEC("tcx/egress")
int to_client(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 1, &p);
	struct backlog queue = {};
	u64 now_ns = bpf_ktime_get_ns();
	u64 counted_q8 = 0, delay_ns = 0, shortest_ns = 0, nearest_ns = 0, client_ns = 0, wait_ns = 0;
	u32 epoch = 0, fresh = 0, weight_q8 = 0;
	struct station *s = station_of(&p.key);
	struct flow *f;

	if (!settings.is_hidden)
		queue = backlog_of(skb);
	if (s) {
		bpf_spin_lock(&s->lock);
		if (!settings.is_hidden)
			station_look(s, now_ns, queue.bytes, queue.departed_bytes);
		if (settings.is_clamp) {
			s->average_q16 = station_average_q16(s, now_ns);
			s->average_ns = now_ns;
		}
		station_pass(s, skb->len, kind != COUNTED_DATA);
		station_turn(s, now_ns);
		epoch = s->epoch;
		nearest_ns = recent_least(&s->path.least);
		if (p.flags & TCP_SYN)
			/* Beside others it is not sure that there was none. */
			wait_ns = most(share_wait_ns(s->queue_bytes, station_rate(s)), station_weights(s) > 0);
		bpf_spin_unlock(&s->lock);
	}
	if (kind != COUNTED_DATA) {
		count(kind, skb->len);
		return TCX_PASS_ON;
	}

	if (p.flags & TCP_SYN) {
		f = p.flags & TCP_ACK ? bpf_map_lookup_elem(&flows, &p.key) : open_flow(&p);
		if (f && p.is_foreign)
			close_flow(f, &p.key);
		else if (f)
			hear_server_begin(f, &p, now_ns, wait_ns);
		return TCX_PASS_ON;
	}
	f = bpf_map_lookup_elem(&flows, &p.key);
	if (!f || !s) {
		if (s) {
			bpf_spin_lock(&s->lock);
			s->other_bytes += skb->len;
			bpf_spin_unlock(&s->lock);
		}
		count(COUNTED_MIDSTREAM, p.size_bytes);
		return TCX_PASS_ON;
	}
	if (p.flags & TCP_RST) {
		close_flow(f, &p.key);
		return TCX_PASS_ON;
	}
	if (settings.has_dscp && p.dscp != f->dscp)
		weight_q8 = weight_of(&p);

	bpf_spin_lock(&f->lock);
	f->seen_ns = now_ns;
	if (weight_q8) {
		f->weight_q8 = weight_q8;
		f->dscp = p.dscp;
	}
	if (p.flags & TCP_FIN)
		f->flags |= FLOW_CLOSING;
	if (f->asked_ns && (!f->by_stamp || (p.has_stamp && !is_after(f->asked_stamp, p.echo)))) {
		recent_least_add(&f->upstream, now_ns, now_ns - f->asked_ns, LEAST_SPAN_NS);
		f->asked_ns = 0;
	}
	if (p.payload && f->flags & FLOW_ESTABLISHED) {
		u32 end = p.seq + p.payload;

		if (p.segment > f->mss)
			f->mss = p.segment;
		f->header_bytes = p.header_bytes;
		if (is_after(f->sent, p.seq)) {
			flow_forget_samples(f);
		} else if (settings.is_hidden) {
			flow_sample(f, now_ns, end);
		} else if (!f->samples[0].sent_ns) {
			f->samples[0].sent_ns = f->there_ns = now_ns;
			f->samples[0].end = end;
			f->leaves_bytes = queue.departed_bytes + queue.bytes + p.size_bytes;
		}
		if (is_after(end, f->sent)) {
			fresh = end - f->sent;
			f->forwarded_bytes += fresh;
			f->sent = end;
			client_ns = flow_client_ns(f, nearest_ns);
		}
		if (f->epoch != epoch || !f->is_counted) {
			f->epoch = epoch;
			f->is_counted = 1;
			counted_q8 = f->weight_q8;
			delay_ns = f->rtt_ns + recent_least(&f->upstream);
			shortest_ns = flow_client_ns(f, nearest_ns) + recent_least(&f->upstream);
		}
	}
	bpf_spin_unlock(&f->lock);
	if (counted_q8 || (fresh && settings.is_hidden)) {
		bpf_spin_lock(&s->lock);
		if (counted_q8)
			station_join(s, counted_q8, delay_ns, shortest_ns);
		if (settings.is_hidden)
			station_forward(s, now_ns, fresh, client_ns);
		bpf_spin_unlock(&s->lock);
	}
	count(COUNTED_DATA, p.size_bytes);
	return TCX_PASS_ON;
}

/* What the law is told of the queue. */
struct told {
	u64 rate; /* mu */
	u64 wait_ns; /* y */
	u64 weights_q8; /* Phi */
	u64 nearest_ns; /* to the nearest client and back, without the queue */
	u64 span_began_ns; /* of its minima */
	u64 others_q10; /* what of the traffic is not steered */
	u32 random;
	u32 price_q30; /* CLAMP's */
	u32 is_probing;
};

/* CLAMP's a: windows of two segments must not hold more than what is wanted, or flows starve unequally. */
static __always_inline u64 a_of(const struct station *s, u64 rate, u64 weights_q8, u32 mss)
{
	u64 shortest_ns = s->delay_least_ns ? s->delay_least_ns : s->last_delay_least_ns;
	u64 count = most(weights_q8 >> 8, 1);
	u64 held = count * settings.tau_bytes + least(rate, 1ULL << 30) * shortest_ns / NS_PER_S;

	return most(settings.a_bytes, excess(2 * count * mss, held));
}

/* CLAMP's window after an ACK of so many bytes. Under the flow's lock. */
static __always_inline u64 clamp_window_of(struct flow *f, u64 now_ns, u32 acked, const struct told *told)
{
	u64 delay_ns = f->rtt_ns + recent_least(&f->upstream), gap_ns = now_ns - f->clamp_ns, rate;
	u32 flight = f->sent - f->ack + acked;
	s64 change_q16;

	/* What was under way until now, for a round trip: of a thousand packets it would be that of minutes ago. */
	f->delivery = rate = smoothed(f->delivery, rate_of(flight, delay_ns), 3);
	if (!f->clamp_q16)
		f->clamp_q16 = (u64)FIRST_SEGMENTS * f->mss << 16;
	f->clamp_ns = now_ns;
	change_q16 = clamp_force_q16(f->weight_q8, settings.tau_bytes, told->price_q30, rate);
	change_q16 = clamp_scaled_change_q16(change_q16, delay_ns, gap_ns);
	change_q16 = clamp_clipped_q16(change_q16, acked, CLAMP_MOST_BYTES);
	if (f->flags & FLOW_STARTED) {
		/* A window that its sender does not fill grows no further. */
		if (change_q16 < 0 || f->clamp_q16 >> 17 <= flight)
			f->clamp_q16 = clamp_floored_q16(f->clamp_q16, change_q16, 2 * f->mss);
	} else if (change_q16 < 0 || f->duplicates >= 3) {
		/* Half, but not less than its part of the rate for a round trip: refilling that takes many. */
		u64 fair = share_fair(told->rate, most(told->weights_q8, f->weight_q8));
		u64 part_q16 = share_window_bytes(f->weight_q8, fair, delay_ns) << 16;

		f->flags |= FLOW_STARTED;
		f->clamp_q16 = most(clamp_end_of_slow_start_q16(f->clamp_q16), least(f->clamp_q16, part_q16));
	} else {
		f->clamp_q16 += (u64)acked << 16;
	}
	f->clamp_q16 = least(f->clamp_q16, 1ULL << 46);
	return whole_segments(most(f->clamp_q16 >> 16, 2 * f->mss), f->mss, told->random);
}

/* The window that the law gives a flow now, in whole segments. Under the flow's lock. */
static __always_inline u64 window_of(struct flow *f, u64 now_ns, const struct told *told)
{
	u64 delay_ns = flow_client_ns(f, told->nearest_ns) + recent_least(&f->upstream) + f->ack_delay_ns;
	u64 rate = share_rate_beside(told->rate, told->others_q10, !settings.is_hidden);
	u64 target_ns = share_target_beside_ns(settings.target_ns, told->wait_ns, told->others_q10);
	u64 fair = share_fair(rate, most(told->weights_q8, f->weight_q8));
	u64 horizon_ns = share_horizon_ns(delay_ns, target_ns, told->wait_ns, settings.g_q10, settings.kappa_q10);
	u64 bytes;

	f->fair = share_smoothed(f->fair, fair, now_ns - f->fair_ns, delay_ns);
	f->fair_ns = now_ns;
	bytes = share_window_bytes(f->weight_q8, f->fair, told->is_probing ? delay_ns / 2 : horizon_ns);
	/* Where the queue is hidden, all rates are of payload. */
	if (!settings.is_hidden)
		bytes = share_payload(bytes, f->mss, f->header_bytes);
	return whole_segments(bytes, f->mss, told->random);
}

SEC("tcx/ingress")
int to_server(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 0, &p);
	struct backlog queue = {};
	u64 now_ns = bpf_ktime_get_ns(), sent_ns = now_ns, sample_ns = 0;
	struct told told = {};
	u32 delivered = 0, wants_probe = 0, mss;
	struct station *s;
	struct flow *f;
	u16 window;

	if (kind != COUNTED_DATA) {
		count(kind, skb->len);
		return TCX_PASS_ON;
	}
	if (p.flags & TCP_SYN) {
		f = p.flags & TCP_ACK ? bpf_map_lookup_elem(&flows, &p.key) : open_flow(&p);
		if (f && p.is_foreign) {
			close_flow(f, &p.key);
		} else if (f) {
			window = hear_client_begin(f, &p, now_ns);
			if (window < p.window && !settings.observe_only)
				put_window(skb, &p, window);
		}
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
	if (!settings.is_hidden)
		queue = backlog_of(skb);

	/* What the ACK tells of the path. */
	bpf_spin_lock(&f->lock);
	f->seen_ns = now_ns;
	if (p.flags & TCP_FIN)
		f->flags |= FLOW_CLOSING;
	if (is_after(p.ack, f->sent)) {
		/* What went another way was not counted, and does not count as delivered. */
		f->delivered += p.ack - f->sent;
		f->sent = p.ack;
	}
	if (settings.is_hidden) {
		u64 forwarded_ns = flow_sampled(f, p.ack);

		sent_ns = flow_sent_at(f, &p, now_ns);
		delivered = flow_delivered(f, &p);
		if (forwarded_ns) {
			f->rtt_ns = now_ns - forwarded_ns;
			sample_ns = most(excess(sent_ns, forwarded_ns), 1);
			wants_probe = flow_wants_probe(f, now_ns);
		}
	} else if (f->samples[0].sent_ns && !is_after(f->samples[0].end, p.ack)) {
		f->rtt_ns = now_ns - f->samples[0].sent_ns;
		/* It stood in the queue for so long at least. */
		sample_ns = most(now_ns - f->there_ns, 1);
		f->samples[0].sent_ns = 0;
	} else if (f->samples[0].sent_ns && queue.departed_bytes < f->leaves_bytes) {
		f->there_ns = now_ns;
	}
	if (p.has_stamp && (!f->asked_ns || now_ns - f->asked_ns > ECHO_NS)) {
		f->asked_ns = now_ns;
		f->asked_stamp = p.stamp;
		f->by_stamp = 1;
	}
	bpf_spin_unlock(&f->lock);

	/* What the queue does. */
	told.random = bpf_get_prandom_u32();
	mss = f->mss;
	bpf_spin_lock(&s->lock);
	if (settings.is_hidden) {
		if (sample_ns) {
			recent_least_add(&s->path.least, now_ns, sample_ns, LEAST_SPAN_NS);
			path_sample(&s->path, now_ns, sample_ns, settings.target_ns);
		}
		station_hear(s, sent_ns, delivered);
		if (wants_probe)
			station_probe(s, now_ns, s->delay_most_ns, settings.target_ns,
				      f->flags & FLOW_UNSURE);
		told.is_probing = now_ns < s->probe_until_ns;
	} else {
		station_look(s, now_ns, queue.bytes, queue.departed_bytes);
		if (sample_ns)
			recent_least_add(&s->path.least, now_ns, sample_ns, LEAST_SPAN_NS);
	}
	station_turn(s, now_ns);
	told.rate = station_rate(s);
	told.others_q10 = s->others_q10;
	if (settings.is_clamp)
		told.price_q30 = station_price_q30(s, now_ns, a_of(s, told.rate, station_weights(s), mss));
	told.wait_ns = share_wait_ns(s->queue_bytes, told.rate);
	told.weights_q8 = station_weights(s);
	told.nearest_ns = recent_least(&s->path.least);
	told.span_began_ns = s->path.least.began_ns;
	bpf_spin_unlock(&s->lock);

	/* The window. Duplicates of an ACK stay duplicates: only an ACK that advances gets another one. */
	bpf_spin_lock(&f->lock);
	if (sample_ns)
		flow_path_sample(f, now_ns, sample_ns, told.span_began_ns, told.nearest_ns,
				 settings.is_hidden ? told.wait_ns : 0, settings.target_ns, told.is_probing,
				 settings.is_hidden);
	if (is_after(p.ack, f->ack)) {
		u32 acked = p.ack - f->ack;

		f->acknowledged_bytes += acked;
		f->ack = p.ack;
		if (told.rate && f->mss)
			f->window_bytes = settings.is_clamp ? clamp_window_of(f, now_ns, acked, &told) :
							      window_of(f, now_ns, &told);
		f->duplicates = 0;
		f->edge = right_edge(p.ack, f->window_bytes, f->edge);
	} else if (p.ack == f->ack && !p.payload) {
		f->duplicates++;
	}
	{
		u32 both = FLOW_CLIENT_SCALES | FLOW_SERVER_SCALES;
		u32 scale = (f->flags & both) == both ? f->scale : 0;
		u32 said;

		window = window_field(p.ack, f->edge, scale, p.window);
		said = p.ack + ((u32)window << (scale & 15));
		/* What was said stands, though it be the receiver's own field: rounded up, it may end later than the law's. */
		if (is_after(f->edge, p.ack) && is_after(said, f->edge))
			f->edge = said;
		if (window < p.window)
			f->flags |= FLOW_LIMITED;
	}
	bpf_spin_unlock(&f->lock);
	if (window < p.window && !settings.observe_only && !put_window(skb, &p, window))
		count(COUNTED_LOWERED, 0);
	count(COUNTED_ACK, p.size_bytes);
	return TCX_PASS_ON;
}

/* A connection that is silent has nothing under way: a client that vanished must not leave its station throttled. */
static long rest_one(void *map, struct flow_key *key, struct flow *f, u64 *now_ns)
{
	struct station *s = station_of(key);
	u32 rest = 0;

	(void)map;
	if (!s)
		return 0;
	bpf_spin_lock(&f->lock);
	if (*now_ns > f->seen_ns + most(SILENT_NS, 4 * f->rtt_ns))
		rest = flow_rest(f);
	bpf_spin_unlock(&f->lock);
	if (rest) {
		bpf_spin_lock(&s->lock);
		s->delivered_bytes += rest;
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
