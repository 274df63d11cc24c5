/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The access point: on the device towards the stations, one program writes the price of the queue into what is about to
 * join it, the other has the stations ask for segments with room for that, and routers behind it for packets. Both look who passes: many connections on a slow
 * link raise a, and senders that keep less under way than their windows, as BBR does near by, lower it.
 *
 *     servers ──► to_client ──► qdisc ──► device ──► stations
 *                 (price)
 *             ◄── to_server ◄──────────── device ◄──
 *                 (MSS, MTU)
 */
#include "counts.h"
#include "kernel.h"
#include "packet.h"
#include "passer.h"
#include "pricing.h"
#include "queue.h"
#include "state.h"
#include "station.h"
#include "station_clamp.h"
#include "too_big.h"

const volatile struct settings settings = {};
const struct passer unmet = {};

/* Those of late: in a crowd the oldest make room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow_key);
	__type(value, struct passer);
} passers SEC(".maps");

/* Whose packet it is; a SYN begins anew, unless it is said again. */
static __always_inline struct passer *passer_of(const struct packet *p)
{
	int begins = (p->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
	struct passer *f = bpf_map_lookup_elem(&passers, &p->key);

	if (f && (!begins || opens_again(p, f->opened_seq)))
		return f;
	bpf_map_update_elem(&passers, &p->key, &unmet, BPF_ANY);
	return bpf_map_lookup_elem(&passers, &p->key);
}

/* One who was counted: more data in the same epoch tell nothing new of it, and it need not be looked for. Under the queue's lock. */
struct counted_one {
	struct flow_key key;
	u32 counted; /* as its passer has it */
	u32 mss;
	u32 sent; /* its trial's, or later by now */
	u32 rests_bytes; /* as its trial does, so long: */
	u64 sent_ns;
	u64 rests_until_ns;
};

#define COUNTED_ONES 1024

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNTED_ONES);
	__type(key, u32);
	__type(value, struct counted_one);
} counted_ones SEC(".maps");

/* The place in which a connection would be, by a hash of its key: whoever comes later has it. */
static __always_inline struct counted_one *counted_at(const struct flow_key *key)
{
	u32 words[sizeof(*key) / sizeof(u32)], sum = 0, at;

	__builtin_memcpy(words, key, sizeof(words));
	UNROLLED
	for (u32 i = 0; i < sizeof(words) / sizeof(u32); i++)
		sum += words[i] * (2654435769U * (2 * i + 1));
	at = (sum ^ sum >> 16) & (COUNTED_ONES - 1);
	return bpf_map_lookup_elem(&counted_ones, &at);
}

static __always_inline int is_same(const struct flow_key *one, const struct flow_key *other)
{
	u32 a[sizeof(*one) / sizeof(u32)], b[sizeof(*one) / sizeof(u32)], differs = 0;

	__builtin_memcpy(a, one, sizeof(a));
	__builtin_memcpy(b, other, sizeof(b));
	UNROLLED
	for (u32 i = 0; i < sizeof(a) / sizeof(u32); i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

/* Whether a packet is of one who was counted in this epoch and tells nothing new, as far as can be known without the lock. */
static __always_inline int is_known(const struct counted_one *one, const struct station *s, const struct packet *p, u64 now_ns)
{
	return p->payload && !(p->flags & TCP_SYN) && one->counted == s->epoch + 1 && p->segment <= one->rests_bytes && p->seq == one->sent &&
	       now_ns < one->rests_until_ns && is_same(&one->key, &p->key);
}

/* What has gone on since its passer last saw it becomes known to it. */
static __always_inline void catch_up(struct passer *f, const struct counted_one *one, const struct packet *p)
{
	if (f->counted == one->counted && is_same(&one->key, &p->key))
		trial_goes_on(&f->trial, one->sent, one->sent_ns);
}

/* One of the server comes, and what its passer makes of it is kept at hand: whether it is to be stamped, if there is room. Under the queue's lock. */
static __always_inline int meet(struct passer *f, struct counted_one *one, struct station *s, const struct packet *p, u64 now_ns, int has_room)
{
	int stamps;

	catch_up(f, one, p);
	passer_comes(&settings, f, s, p, now_ns);
	stamps = passer_stamps(f, p, now_ns, has_room);
	one->key = p->key;
	one->counted = f->counted;
	one->mss = f->mss;
	one->sent = f->trial.sent;
	one->sent_ns = f->trial.sent_ns;
	one->rests_bytes = trial_rests_bytes(&f->trial);
	one->rests_until_ns = trial_rests_until_ns(&f->trial);
	return stamps;
}

/* A segment that was watched is watched no more. */
static __always_inline void rest_until(const struct packet *p, u64 until_ns)
{
	struct counted_one *one = counted_at(&p->key);

	if (one && is_same(&one->key, &p->key))
		one->rests_until_ns = until_ns;
}

/* Whether a packet is one into which prices are put, and has none yet and room for one. */
static __always_inline int takes_price(struct __sk_buff *skb, const struct packet *p, int kind)
{
	return kind == COUNTED_DATA && p->payload && !(p->flags & TCP_SYN) && !p->price_at && !settings.observe_only &&
	       price_fits(skb, p, mtu_of(skb));
}

SEC("tcx/egress")
int to_client(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 1, &p);
	struct backlog queue = backlog_of(skb);
	struct station *s = queue_of(0);
	u64 now_ns = bpf_ktime_get_ns(), a_bytes;
	struct counted_one *one = kind == COUNTED_DATA ? counted_at(&p.key) : 0;
	struct passer *f = 0;
	u32 price_q30, mss = 0;
	int stamps = takes_price(skb, &p, kind);

	if (!s)
		return TCX_PASS_ON;
	if (one && is_known(one, s, &p, now_ns))
		mss = one->mss;
	else if (one)
		f = passer_of(&p);
	if (take(&s->lock)) {
		station_look(s, now_ns, queue.bytes, queue.departed_bytes);
		station_arrival(s, now_ns, skb->len, segments_of(skb, &p), settings.average_ns);
		station_pass(s, skb->len, kind != COUNTED_DATA);
		station_turn(s, now_ns);
		/* What tells no segment leaves a as it is. */
		a_bytes = s->a_bytes ? s->a_bytes : settings.a_bytes;
		if (f) {
			stamps = meet(f, one, s, &p, now_ns, stamps);
			mss = f->mss;
		} else if (one && mss) {
			one->sent = p.seq + p.payload;
			one->sent_ns = now_ns;
		}
		if (mss)
			a_bytes = station_a_of(&settings, s, mss);
		price_q30 = station_price_q30(s, now_ns, a_bytes, settings.average_ns);
		give(&s->lock);
	} else {
		price_q30 = s->price_q30;
		/* Whether it is sent again is not known. */
		stamps = stamps && !f;
	}

	count(kind, kind == COUNTED_DATA ? p.size_bytes : skb->len);
	if (settings.observe_only)
		return TCX_PASS_ON;
	/* Whoever wrote one into it, on its way here or in a server: nobody's price but ours goes on. */
	if (p.price_at) {
		if (!price_replace(skb, &p, price_q30))
			count(COUNTED_OVERWRITTEN, 0);
		return TCX_PASS_ON;
	}
	if (kind != COUNTED_DATA || !p.payload || p.flags & TCP_SYN)
		return TCX_PASS_ON;
	if (stamps && !price_insert(skb, &p, price_q30))
		count(COUNTED_STAMPED, p.size_bytes);
	else
		count(COUNTED_UNSTAMPED, p.size_bytes);
	return TCX_PASS_ON;
}

SEC("tcx/ingress")
int to_server(struct __sk_buff *skb)
{
	struct packet p = {};
	int kind = read_packet(skb, settings.link_header_bytes, 0, &p);
	u64 now_ns = bpf_ktime_get_ns();
	struct station *s = queue_of(0);
	struct counted_one *one;
	struct passer *f;
	u32 watched;

	if (kind != COUNTED_DATA) {
		if (kind == COUNTED_OTHER && !settings.observe_only && leave_room(skb, p.ip_at, p.ip_version))
			count(COUNTED_MTU, 0);
		count(kind, skb->len);
		return TCX_PASS_ON;
	}
	f = passer_of(&p);
	if (f && s && take(&s->lock)) {
		watched = f->trial.segment;
		one = watched && is_after(p.ack, f->trial.sent) ? counted_at(&p.key) : 0;
		if (one)
			catch_up(f, one, &p);
		passer_goes(f, s, &p, now_ns);
		if (watched && !f->trial.segment)
			rest_until(&p, trial_rests_until_ns(&f->trial));
		give(&s->lock);
	}
	if (p.flags & TCP_SYN && !settings.observe_only && make_room(skb, &p, mtu_of(skb)))
		count(COUNTED_MSS, 0);
	count(COUNTED_ACK, p.size_bytes);
	return TCX_PASS_ON;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
