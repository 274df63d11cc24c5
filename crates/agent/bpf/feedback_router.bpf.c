/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * A router that tells senders what they may have, their rate (QFCP) or a change of it (XCP): what is about to be queued at a
 * device is counted, and its option says what its flow may have, if that is less than what it says already.
 *
 *     senders ──► to_queue ──► qdisc ──► device ──► receivers
 *                 (option)
 *
 * What is told changes when a control interval ends, which the first packet after its end finds: a rate that no packet
 * carries tells nobody. So there is no timer, and the law takes the steps of the simulator's.
 */
#include "kernel.h"
#include "option.h"
#include "packet.h"
#include "feedback.h"

/* Where a packet's headers end at the latest. */
#define HEADERS_MOST 1024

const volatile struct router_settings settings = {};

/* What a device's root qdisc holds, has let go and has had no room for. */
struct sight_of_queue {
	u64 bytes;
	u64 packets;
	u64 departed_bytes;
	u64 dropped_packets;
	u32 tells; /* it counts what leaves */
};

/* TCQ_F_CPUSTATS: each processor counts for itself. */
#define COUNTS_BY_PROCESSOR 0x20

static __always_inline struct sight_of_queue queue_of(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);
	struct Qdisc *qdisc = bpf_rdonly_cast(kernel->dev->qdisc, bpf_core_type_id_kernel(struct Qdisc));
	struct sight_of_queue found = {
		.bytes = qdisc->qstats.backlog,
		.packets = qdisc->q.qlen,
		.departed_bytes = *(u64 *)&qdisc->bstats.bytes,
		.dropped_packets = qdisc->qstats.drops,
	};

	found.tells = !(qdisc->flags & COUNTS_BY_PROCESSOR) && found.departed_bytes;
	return found;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct router);
} router SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tally);
} tallies SEC(".maps");

#define MOST_PROCESSORS 8192

static long add_processor(u64 processor, void *unused)
{
	u32 key = 0;
	struct router *r = bpf_map_lookup_elem(&router, &key);
	struct tally *c = bpf_map_lookup_percpu_elem(&tallies, &key, processor);

	(void)unused;
	if (!r || !c)
		return 1;
	if (settings.is_xcp) {
		r->sums[0] += c->xcp.input_bytes;
		r->sums[1] += c->xcp.shares_ns;
		r->sums[2] += c->xcp.rtt_shares;
	} else {
		r->sums[0] += c->qfcp.input_bytes;
		r->sums[1] += c->qfcp.rtts_us;
		r->sums[2] += c->qfcp.rtt_count;
	}
	if (c->turn != r->turns)
		return 0;
	r->least_bytes = least(r->least_bytes, settings.is_xcp ? c->xcp.least_bytes : c->qfcp.least_bytes);
	r->least_packets_q16 = least(r->least_packets_q16, c->qfcp.least_packets_q16);
	return 0;
}

/*
 * Bytes of a packet where they lie: no call, where they are linear, as headers all but always are. 0 if they are not there.
 * What was had before is not valid any more.
 */
static __always_inline const void *look(struct __sk_buff *skb, u32 at, u32 size)
{
	const void *found;

	if (at > HEADERS_MOST)
		return 0;
	found = (void *)(long)skb->data + at;
	/* The verifier knows of the pointer that was compared. */
	barrier_var(found);
	if (found + size <= (void *)(long)skb->data_end)
		return found;
	if (bpf_skb_pull_data(skb, at + size))
		return 0;
	found = (void *)(long)skb->data + at;
	barrier_var(found);
	return found + size <= (void *)(long)skb->data_end ? found : 0;
}

/* The EtherType as it is in the packet, and where the IP header begins; 0 if there is none. */
static __always_inline u16 type_of(struct __sk_buff *skb, u32 *at)
{
	u16 type = skb->protocol;
	const u16 *there;

	*at = settings.link_header_bytes;
	if (!*at)
		return type;
	there = look(skb, *at - 2, 2);
	if (!there)
		return 0;
	type = *there;
	for (int i = 0; i < TAGS_MOST; i++) {
		if (type != bpf_htons(0x8100) && type != bpf_htons(0x88a8))
			break;
		there = look(skb, *at + 2, 2);
		if (!there)
			return 0;
		type = *there;
		*at += 4;
	}
	return type;
}

/* Where TCP begins, and how long its options are; 0 if it is no TCP, or not its first fragment. */
static __always_inline u32 tcp_of(struct __sk_buff *skb, u32 *options)
{
	u32 at, length;
	u16 type = type_of(skb, &at);
	const struct tcp_header *tcp;

	if (type == bpf_htons(0x0800)) {
		const struct ipv4_header *ip = look(skb, at, sizeof(*ip));

		if (!ip)
			return 0;
		length = (ip->version_length & 15) * 4;
		if (ip->version_length >> 4 != 4 || length < 20 || ip->protocol != 6 || ip->fragment & bpf_htons(0x1fff))
			return 0;
		at += length;
	} else if (type == bpf_htons(0x86dd)) {
		const struct ipv6_header *ip = look(skb, at, sizeof(*ip));
		u8 next;

		if (!ip)
			return 0;
		next = ip->next;
		at += sizeof(*ip);
		for (int i = 0; i < EXTENSIONS_MOST; i++) {
			const u8 *extension;

			/* hop-by-hop, routing, destination */
			if (next != 0 && next != 43 && next != 60)
				break;
			extension = look(skb, at, 2);
			if (!extension)
				return 0;
			next = extension[0];
			at += (extension[1] + 1) * 8;
		}
		if (next != 6)
			return 0;
	} else {
		return 0;
	}
	tcp = look(skb, at, sizeof(*tcp));
	if (!tcp || tcp->data_offset >> 4 < 5)
		return 0;
	*options = (tcp->data_offset >> 4) * 4 - sizeof(*tcp);
	return at;
}

/* A time stamp's kind and length. */
#define STAMP 0x080a

/* Where the option may be that asks. */
struct search {
	u8 bytes[OPTIONS_MOST];
	u32 length;
	u32 at;
	u32 found; /* 1 more than where it begins; 0: nowhere */
};

static __always_inline int asks(const u8 *option)
{
	return option[0] == OPTION_KIND && option[1] == OPTION_LONG && option[2] == settings.exid >> 8 &&
	       option[3] == (settings.exid & 0xff);
}

static long next_search(u64 n, struct search *s)
{
	u32 i = s->at, size;

	(void)n;
	if (i >= s->length || i > OPTIONS_MOST - OPTION_LONG || s->bytes[i] == 0)
		return 1;
	if (s->bytes[i] == 1) {
		s->at = i + 1;
		return 0;
	}
	if (asks(s->bytes + i)) {
		s->found = i + 1;
		return 1;
	}
	size = s->bytes[i + 1];
	if (size < 2)
		return 1;
	s->at = i + size;
	return 0;
}

/* Where the option begins that asks; 0 if there is none. */
static __always_inline u32 option_of(struct __sk_buff *skb, u32 tcp_at, u32 length, struct feedback_option *option)
{
	u32 at = tcp_at + sizeof(struct tcp_header);
	const struct feedback_option *last;
	struct search s = {};

	if (length < OPTION_LONG || length > OPTIONS_MOST)
		return 0;
	/* Linux writes it last. */
	last = look(skb, at + length - OPTION_LONG, sizeof(*last));
	if (!last)
		return 0;
	*option = *last;
	if (asks((u8 *)option))
		return at + length - OPTION_LONG;
	/* Nothing but two bytes of padding and a time stamp, as most have (RFC 7323, appendix A): no search. */
	if (length == OPTION_LONG && option->kind == 1 && option->length == 1 && option->exid == bpf_htons(STAMP))
		return 0;
	if (bpf_skb_load_bytes(skb, at, s.bytes, length & 63 ? length : 1))
		return 0;
	s.length = length;
	bpf_loop(OPTIONS_MOST, next_search, &s, 0);
	if (!s.found || s.found > OPTIONS_MOST)
		return 0;
	at += s.found - 1;
	return bpf_skb_load_bytes(skb, at, option, sizeof(*option)) ? 0 : at;
}

/* Puts another grant into the option. 0 if it is done. */
static __always_inline long grant(struct __sk_buff *skb, u32 tcp_at, u32 option_at, u16 before, u16 granted)
{
	u32 check_at = tcp_at + __builtin_offsetof(struct tcp_header, check);
	u16 raw = bpf_htons(granted);
	long failed = 0;

	/* A device that computes the sum is told that of the addresses alone. */
	if (!is_unsummed(skb))
		failed = bpf_l4_csum_replace(skb, check_at, before, raw, sizeof(raw));
	return failed ? failed
		      : bpf_skb_store_bytes(skb, option_at + __builtin_offsetof(struct feedback_option, granted), &raw,
					    2, 0);
}

/* Of its own, so that it is verified once; so it cannot hold the lock. */
__noinline int close_interval(struct qfcp_router *r, const struct qfcp_sight *sight)
{
	struct qfcp_settings law = settings.qfcp;

	if (!r || !sight)
		return 0;
	qfcp_close(r, &law, sight);
	return 0;
}

static __always_inline void close_one(struct qfcp_router *r, const struct qfcp_settings *law, const struct qfcp_sight *sight)
{
	(void)law;
	close_interval(r, sight);
}

/* Begins a turn, if no other processor is at one: what is counted from then on counts for the next. */
static __always_inline int begin_turn(struct router *r)
{
	int is_ours;

	bpf_spin_lock(&r->lock);
	is_ours = !r->is_turning;
	r->is_turning = 1;
	bpf_spin_unlock(&r->lock);
	if (!is_ours)
		return 0;
	r->sums[0] = r->sums[1] = r->sums[2] = 0;
	r->least_bytes = r->least_packets_q16 = ~0ULL;
	bpf_loop(MOST_PROCESSORS, add_processor, 0, 0);
	return 1;
}

/* Ends it, under the lock. */
static __always_inline void end_turn(struct router *r)
{
	for (u32 i = 0; i < 3; i++)
		r->collected[i] = r->sums[i];
	r->turns++;
	r->is_turning = 0;
}

/* Ends the interval on a copy. Only who is at a turn writes QFCP's. */
static __always_inline void turn(struct router *r, struct qfcp_sight *sight, int tells)
{
	struct qfcp_settings law = settings.qfcp;
	struct qfcp_router *next = &r->next_qfcp;

	if (!begin_turn(r))
		return;
	*next = r->qfcp;
	next->input_bytes += r->sums[0] - r->collected[0];
	next->rtts_us += r->sums[1] - r->collected[1];
	next->rtt_count += r->sums[2] - r->collected[2];
	next->least_bytes = least(next->least_bytes, r->least_bytes);
	next->least_packets_q16 = least(next->least_packets_q16, r->least_packets_q16);
	/* A device without a queue sends what it gets. */
	if (!tells)
		sight->departed_bytes = r->sums[0];

	qfcp_turn(next, &law, sight, close_one);

	bpf_spin_lock(&r->lock);
	r->qfcp = *next;
	r->told = wire_of(next->rate);
	end_turn(r);
	bpf_spin_unlock(&r->lock);
}

/* As close_interval. */
__noinline int end_interval(struct xcp_router *r, u64 now_ns, u64 queue_bytes)
{
	struct xcp_settings law = settings.xcp;

	if (!r)
		return 0;
	xcp_turn(r, &law, now_ns, queue_bytes);
	return 0;
}

/* As turn; what is dealt out meanwhile others write. */
static __always_inline void turn_xcp(struct router *r, const struct qfcp_sight *sight)
{
	struct xcp_router *next = &r->next_xcp;
	u64 intervals;

	if (!begin_turn(r))
		return;
	bpf_spin_lock(&r->lock);
	*next = r->xcp;
	bpf_spin_unlock(&r->lock);
	intervals = next->intervals;
	next->input_bytes += r->sums[0] - r->collected[0];
	next->shares_ns += r->sums[1] - r->collected[1];
	next->rtt_shares += r->sums[2] - r->collected[2];
	next->least_bytes = least(next->least_bytes, r->least_bytes);

	end_interval(next, sight->now_ns, sight->queue_bytes);

	bpf_spin_lock(&r->lock);
	if (next->intervals == intervals) {
		next->raise = r->xcp.raise;
		next->lower = r->xcp.lower;
	}
	r->xcp = *next;
	end_turn(r);
	bpf_spin_unlock(&r->lock);
}

/* Of so many segments with a header each that is as this one: what they ask for together. */
static __always_inline struct xcp_header header_of(const struct feedback_option *option, u32 size_bytes, u32 segments)
{
	u16 asked = bpf_ntohs(option->granted);
	struct xcp_header header = {
		.change_q8 = asked == WIRE_ANY_CHANGE ? XCP_ANY_Q8 : wire_change_q8(asked) * segments,
		.cwnd_bytes = wire_value(bpf_ntohs(option->window)),
		.size_bytes = size_bytes,
		.rtt_us = (u32)least(wire_value(bpf_ntohs(option->rtt)), XCP_LONGEST_US),
	};

	return header;
}

/* What one of so many segments is granted of a change; there is no division of signed numbers. */
static __always_inline u16 change_of_one(s64 change_q8, u32 segments)
{
	u64 one_q8 = (u64)(change_q8 < 0 ? -change_q8 : change_q8) / segments;

	return wire_change_of(change_q8 < 0 ? -(s64)one_q8 : (s64)one_q8);
}

/* XCP: counts a piece, and gives what each of its segments is granted. */
static __always_inline u16 pass_xcp(struct router *r, struct tally *c, const struct qfcp_sight *sight,
				    const struct feedback_option *option, int asks, u32 size_bytes, u32 segments)
{
	struct xcp_header header = header_of(option, size_bytes, segments);
	u64 share_ns = header.rtt_us ? xcp_share_ns(header.rtt_us, size_bytes, header.cwnd_bytes) : 0;
	u16 asked = bpf_ntohs(option->granted);
	s64 granted_q8 = header.change_q8;

	if (xcp_is_over(&r->xcp, sight->now_ns))
		turn_xcp(r, sight);
	if (c->turn != r->turns) {
		c->turn = r->turns;
		c->xcp.least_bytes = ~0ULL;
	}
	xcp_count(&c->xcp, sight->queue_bytes, &header, share_ns);
	if (!asks)
		return asked;
	bpf_spin_lock(&r->lock);
	granted_q8 = xcp_deal_q8(&r->xcp, &header, share_ns);
	bpf_spin_unlock(&r->lock);
	return granted_q8 < header.change_q8 ? change_of_one(granted_q8, segments) : asked;
}

/* The same by QFCP: its rate, if it asks for more. */
static __always_inline u16 pass_qfcp(struct router *r, struct tally *c, struct qfcp_sight *sight, int tells,
				     const struct feedback_option *option, int asks, u32 size_bytes)
{
	u32 rtt_us = asks ? (u32)least(wire_value(bpf_ntohs(option->rtt)), 1U << 27) : 0;

	if (qfcp_is_over(&r->qfcp, sight->now_ns))
		turn(r, sight, tells);
	if (c->turn != r->turns) {
		c->turn = r->turns;
		c->qfcp.least_bytes = c->qfcp.least_packets_q16 = ~0ULL;
	}
	qfcp_count(&c->qfcp, sight, size_bytes, rtt_us);
	return (u16)least(r->told, bpf_ntohs(option->granted));
}

SEC("tcx/egress")
int to_queue(struct __sk_buff *skb)
{
	struct feedback_option option = {};
	u32 options = 0, tcp_at = tcp_of(skb, &options), option_at = 0, size_bytes = skb->len, key = 0;
	u32 headers = tcp_at ? tcp_at + sizeof(struct tcp_header) + options : 0;
	u32 segments = segments_in((u32)excess(skb->len, headers), skb->gso_size, skb->gso_segs);
	struct router *r = bpf_map_lookup_elem(&router, &key);
	struct tally *c = bpf_map_lookup_elem(&tallies, &key);
	struct sight_of_queue queue = queue_of(skb);
	struct qfcp_sight sight = {
		.now_ns = bpf_ktime_get_ns(),
		.queue_bytes = queue.bytes,
		.queue_packets = queue.packets,
		.departed_bytes = queue.departed_bytes,
		.dropped_packets = queue.dropped_packets,
	};
	u16 granted;

	if (!r || !c)
		return TCX_PASS_ON;
	if (tcp_at) {
		option_at = option_of(skb, tcp_at, options, &option);
		/* As the qdisc counts it: each segment has headers of its own. */
		size_bytes += (segments - 1) * headers;
	}
	if (settings.is_xcp)
		granted = pass_xcp(r, c, &sight, &option, option_at > 0, size_bytes, segments);
	else
		granted = pass_qfcp(r, c, &sight, queue.tells, &option, option_at > 0, size_bytes);
	c->packets += segments;
	if (!option_at)
		return TCX_PASS_ON;
	c->asked++;
	if (granted == bpf_ntohs(option.granted))
		return TCX_PASS_ON;
	c->lowered++;
	if (!settings.observe_only)
		grant(skb, tcp_at, option_at, option.granted, granted);
	return TCX_PASS_ON;
}

char _license[] SEC("license") = "Dual MIT/GPL";
