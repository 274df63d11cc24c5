/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * A host whose connections ask routers and obey them: one program writes the option into segments and reads it in those that
 * come, and a congestion control makes the window of it.
 *
 *     routers ──► data ──► on_socket ── echo ──► acknowledgements ──► on_socket ── rate ──► told ──► window, pacing
 *                          (receiver)                                 (sender)
 *
 * Both ends offer the option in SYN and SYN-ACK, and write no other where the far end did not. A connection has the window
 * that it would have had until a router speaks; where none speaks any more it is Reno.
 */
#include <bpf/bpf_endian.h>

#include "kernel_tcp.h"
#include "option.h"
#include "segments.h"
#include "feedback.h"

#define AF_INET6 10
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define SK_PACING_NEEDED 1

#define TCP_FLAG_SYN 2

/* Of a segment with a time stamp and our option, over IPv4; what IPv6 has more. */
#define HEADER_BYTES (20 + 32 + OPTION_LONG)
#define MORE_OF_IPV6 20

/* TCP_CA_…: from here on a loss is being repaired. */
#define CA_CWR 2
#define CA_LOSS 4

/* A router that was not heard for so long, or four round trips, does not speak any more. */
#define DEAF_US 1000000

/* TCP_DELACK_MIN */
#define DELAYED_ACK_US 40000

/* How many quarters of its rate a connection may send at most: what goes faster comes in bursts, which wait. */
#define PACING_QUARTERS 5

const volatile struct host_settings settings = {};
struct host_counts counts;

/* What is known of a connection. */
struct connection {
	u64 told_us; /* when a router was last heard of */
	u64 rate; /* QFCP: what it may have [B/s]; 0: no router speaks */
	s64 owed_q8; /* XCP: what came and was not sent back yet [B/s] */
	s64 change_q8; /* XCP: what was granted and not taken yet [B/s] */
	u16 echo; /* QFCP: what came last */
	u8 is_agreed;
	u8 is_told; /* it has our control */
	u8 has_heard; /* XCP: there is something to send back */
	u8 is_unasked; /* XCP: no router has lowered what came */
	u8 reserved; /* bytes of the option that is to be written */
	u8 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

static __always_inline void add(u64 *to)
{
	__sync_fetch_and_add(to, 1);
}

static __always_inline struct connection *connection_at(struct bpf_sock_ops *ops, u64 flags)
{
	struct bpf_sock *sk = ops->sk;

	return sk ? bpf_sk_storage_get(&connections, sk, 0, flags) : 0;
}

/* The option of that number that comes with a segment; 0 if none does. */
static __always_inline int load_of(struct bpf_sock_ops *ops, struct feedback_option *option, u32 exid, u64 flags)
{
	option->kind = OPTION_KIND;
	option->length = 4; /* of what is looked for */
	option->exid = bpf_htons(exid);
	return bpf_load_hdr_opt(ops, option, sizeof(*option), flags) >= OPTION_SHORT;
}

/* What comes with a segment; 0 if nothing does. */
static __always_inline int load(struct bpf_sock_ops *ops, struct feedback_option *option, u64 flags)
{
	return load_of(ops, option, settings.exid, flags);
}

static __always_inline u64 now_us(void)
{
	return bpf_ktime_get_ns() / 1000;
}

/* Whether an acknowledgement says nothing new: the TCP header begins what the program sees. */
static __always_inline int is_repeated(struct bpf_sock_ops *ops)
{
	void *data = ops->skb_data, *end = ops->skb_data_end;
	u32 *acknowledged = data + 8;

	return (void *)(acknowledged + 1) > end || bpf_ntohl(*acknowledged) == ops->snd_una;
}

/* How many segments lie in what came, from the TCP header on: each had an option such as this. */
static __always_inline u32 segments_of(struct bpf_sock_ops *ops)
{
	const u8 *end = ops->skb_data_end, *data_offset = (const u8 *)ops->skb_data + 12;
	u32 header = data_offset + 1 > end ? 0 : (*data_offset >> 4) * 4;
	struct bpf_sock_ops_kern *kernel = bpf_cast_to_kern_ctx(ops);
	struct sk_buff *skb = kernel->skb;
	struct skb_shared_info *shared = bpf_core_cast(skb->head + skb->end, struct skb_shared_info);

	return segments_in((u32)excess(ops->skb_len, header), shared->gso_size, shared->gso_segs);
}

/* A segment with the option came, or several in one. */
static __always_inline void hear(struct bpf_sock_ops *ops, struct connection *c, const struct feedback_option *option)
{
	u16 echo = bpf_ntohs(option->echo), granted = bpf_ntohs(option->granted);
	char name[16];

	add(&counts.options);
	if (option->length == OPTION_LONG) {
		c->echo = granted;
		c->has_heard = 1;
		c->is_unasked = granted == WIRE_ANY_CHANGE;
		if (!c->is_unasked)
			c->owed_q8 += wire_change_q8(granted) * segments_of(ops);
	}
	if (echo == (settings.is_xcp ? XCP_UNHEARD : QFCP_UNHEARD))
		return;
	if (echo == (settings.is_xcp ? WIRE_ANY_CHANGE : WIRE_ALL)) {
		c->rate = 0;
		c->told_us = 0;
		return;
	}
	c->told_us = now_us();
	if (!settings.is_xcp)
		c->rate = most(wire_value(echo), 1);
	else if (!is_repeated(ops))
		c->change_q8 += wire_change_q8(echo);
	if (c->is_told)
		return;
	c->is_told = 1;
	add(&counts.told);
	for (u32 i = 0; i < sizeof(name); i++)
		name[i] = settings.name[i];
	bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
}

/* What is sent back. */
static __always_inline u16 echo_of(struct connection *c)
{
	u16 echo;

	if (!settings.is_xcp)
		return c->echo;
	if (!c->has_heard)
		return XCP_UNHEARD;
	if (c->is_unasked)
		return WIRE_ANY_CHANGE;
	echo = wire_change_of(c->owed_q8);
	c->owed_q8 -= wire_change_q8(echo);
	/* Minus nothing stands for what was not heard. */
	return echo == XCP_UNHEARD ? 0 : echo;
}

static __always_inline u32 wire_bytes_of(struct bpf_sock_ops *ops)
{
	return ops->mss_cache - OPTION_LONG + HEADER_BYTES + (ops->family == AF_INET6 ? MORE_OF_IPV6 : 0);
}

static __always_inline void write(struct bpf_sock_ops *ops)
{
	struct feedback_option option = {
		.kind = OPTION_KIND,
		.length = OPTION_LONG,
		.exid = bpf_htons(settings.exid),
		.granted = bpf_htons(settings.is_xcp ? WIRE_ANY_CHANGE : WIRE_ALL),
	};
	struct connection *c = ops->is_fullsock ? connection_at(ops, 0) : 0;
	struct feedback_option asked = {};

	/* The room may be that of another program of the group. */
	if (ops->is_fullsock ? !c || !c->reserved : !load(ops, &asked, BPF_LOAD_HDR_OPT_TCP_SYN))
		return;
	option.echo = bpf_htons(c ? echo_of(c) : settings.is_xcp ? XCP_UNHEARD : QFCP_UNHEARD);
	if (c && c->reserved == OPTION_SHORT) {
		option.length = OPTION_SHORT;
		option.granted = 0;
		bpf_store_hdr_opt(ops, &option, OPTION_SHORT, 0);
		return;
	}
	if (c) {
		option.rtt = bpf_htons(wire_of(ops->srtt_us >> 3));
		if (settings.is_xcp)
			option.window = bpf_htons(wire_of((u64)ops->snd_cwnd * wire_bytes_of(ops)));
	}
	bpf_store_hdr_opt(ops, &option, OPTION_LONG, 0);
}

/* Says how much of a segment's options we want. */
static __always_inline void reserve(struct bpf_sock_ops *ops)
{
	struct feedback_option option = {};
	struct connection *c;
	int asks;

	if (!ops->is_fullsock) {
		/* A SYN-ACK: if its SYN had it. */
		if (load(ops, &option, BPF_LOAD_HDR_OPT_TCP_SYN))
			bpf_reserve_hdr_opt(ops, OPTION_LONG, 0);
		return;
	}
	c = connection_at(ops, 0);
	if (!c)
		return;
	asks = ops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS || ops->skb_len > 0 || ops->skb_tcp_flags & TCP_FLAG_SYN;
	c->reserved = asks ? OPTION_LONG : OPTION_SHORT;
	if (!bpf_reserve_hdr_opt(ops, c->reserved, 0))
		return;
	c->reserved = asks && !bpf_reserve_hdr_opt(ops, OPTION_SHORT, 0) ? OPTION_SHORT : 0;
	if (!c->reserved)
		add(&counts.cramped);
}

#define CALLS (BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)

static __always_inline void listen_to(struct bpf_sock_ops *ops)
{
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | CALLS);
}

/* Both ends have spoken: the option stays if the far one has it. */
static __always_inline void agree(struct bpf_sock_ops *ops)
{
	struct feedback_option option = {};
	struct connection *c;

	if (!load(ops, &option, 0)) {
		if (settings.exid_beside && load_of(ops, &option, settings.exid_beside, 0))
			return;
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags & ~CALLS);
		return;
	}
	listen_to(ops);
	c = connection_at(ops, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c)
		return;
	c->is_agreed = 1;
	add(&counts.agreed);
	hear(ops, c, &option);
}

/* Whether a connection that is to be opened offers it. */
static __always_inline int offers(struct bpf_sock_ops *ops)
{
	char name[16] = {};

	if (settings.offers_all)
		return 1;
	if (bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
		return 0;
	for (u32 i = 0; i < sizeof(name); i++) {
		if (name[i] != settings.name[i])
			return 0;
		if (!name[i])
			break;
	}
	return 1;
}

SEC("sockops")
int on_socket(struct bpf_sock_ops *ops)
{
	struct feedback_option option = {};
	struct connection *c;

	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		if (!offers(ops) || !connection_at(ops, BPF_SK_STORAGE_GET_F_CREATE))
			break;
		add(&counts.offered);
		listen_to(ops);
		break;
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		listen_to(ops);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		reserve(ops);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		write(ops);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		/* What was open before we came has not offered it. */
		if (ops->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG)
			agree(ops);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		c = connection_at(ops, 0);
		if (c && c->is_agreed && load(ops, &option, 0))
			hear(ops, c, &option);
		break;
	}
	return 1;
}

/* What the control keeps of a connection, in the 104 bytes that a socket has for it. */
struct control {
	u32 delivered;
	u32 part_q16; /* XCP: what of a segment the window has beside whole ones */
};

static __always_inline struct control *control_of(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* What a router has told of late; 0 if none has. */
static __always_inline struct connection *told_of(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);

	if (!c || !c->told_us || tp->tcp_mstamp > c->told_us + most(DEAF_US, tp->srtt_us / 2))
		return 0;
	return c;
}

static __always_inline u8 state_of(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
}

static __always_inline int is_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Reno, where no router speaks. */
static __always_inline void without_routers(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u8 state = state_of(sk);

	sk->sk_pacing_rate = ~0UL;
	if (state >= CA_CWR && state < CA_LOSS) {
		tp->snd_cwnd = most(least(tp->snd_cwnd, tp->snd_ssthresh), 2);
		return;
	}
	if (!acked || !is_limited(tp))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* Paces by a quarter more than what a window allows in a round trip. */
static __always_inline void pace(struct sock *sk, u64 rate)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (!settings.paces) {
		sk->sk_pacing_rate = ~0UL;
		return;
	}
	/* What the window allows is what is paced, if it is more: a window has a segment at least. 0 would be no pace at all. */
	sk->sk_pacing_rate = most(most(PACING_QUARTERS * rate / 4, 1),
				  (u64)tp->snd_cwnd * tp->mss_cache * 1000000 / most(tp->srtt_us >> 3, 1));
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Segments of a window at least: one alone waits for a delayed acknowledgement, which takes longer than a short path. */
static __always_inline u32 least_window(const struct tcp_sock *tp)
{
	return tp->srtt_us >> 3 < DELAYED_ACK_US ? 2 : 1;
}

/* Bytes of a full segment on the wire. */
static __always_inline u32 wire_bytes(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	return tp->mss_cache + tp->tcp_header_len + 20 + (sk->__sk_common.skc_family == AF_INET6 ? MORE_OF_IPV6 : 0);
}

SEC("struct_ops")
int qfcp_cong_control(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct control *own = control_of(sk);
	struct connection *c = told_of(sk);
	u32 acked = tp->delivered - own->delivered, wire;
	u64 window;

	own->delivered = tp->delivered;
	if (!c || !c->rate) {
		without_routers(sk, acked);
		return 0;
	}
	wire = wire_bytes(sk);
	window = qfcp_window_q16(c->rate, most(tp->srtt_us >> 3, 1), wire) >> 16;
	/* TCP would go on from here. */
	tp->snd_ssthresh = most(window, 2);
	if (settings.heeds_loss && state_of(sk) >= CA_CWR)
		window = most(window / 2, 1);
	tp->snd_cwnd = most(least(window, tp->snd_cwnd_clamp), least_window(tp));
	pace(sk, c->rate * (tp->mss_cache - OPTION_LONG) / most(wire, 1));
	return 0;
}

/* A loss tells nothing where routers do. */
SEC("struct_ops")
int qfcp_ssthresh(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (told_of(sk) && !settings.heeds_loss)
		return most(tp->snd_cwnd, 2);
	return most(tp->snd_cwnd / 2, 2);
}

/* The window changes by what routers grant, and a loss halves it. */
SEC("struct_ops")
int xcp_cong_control(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct control *own = control_of(sk);
	struct connection *c = told_of(sk);
	u32 acked = tp->delivered - own->delivered, rtt_us = most(tp->srtt_us >> 3, 1);
	u64 window_q16 = ((u64)tp->snd_cwnd << 16) + own->part_q16;
	u8 state = state_of(sk);

	own->delivered = tp->delivered;
	if (!c) {
		own->part_q16 = 0;
		without_routers(sk, acked);
		return 0;
	}
	if (state >= CA_CWR && state < CA_LOSS)
		window_q16 = least(window_q16, (u64)tp->snd_ssthresh << 16);
	window_q16 = xcp_window_q16(window_q16, c->change_q8, rtt_us, wire_bytes(sk));
	c->change_q8 = 0;
	window_q16 = least(window_q16, (u64)tp->snd_cwnd_clamp << 16);
	tp->snd_cwnd = most(window_q16 >> 16, 1);
	own->part_q16 = window_q16 & 0xffff;
	/* TCP would go on from here. */
	tp->snd_ssthresh = most(tp->snd_cwnd, 2);
	pace(sk, (u64)tp->snd_cwnd * tp->mss_cache * 1000000 / rtt_us);
	return 0;
}

/* Half. */
SEC("struct_ops")
int xcp_ssthresh(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	return most(tp->snd_cwnd / 2, 2);
}

/*
 * Windows that the send buffer holds. A window that stays as it is while a loss is repaired sends as much again each round trip, all
 * of which is kept until the hole is filled: for two round trips, and for four where the repair is lost twice.
 * With the two that TCP has room for the sender ran dry, and a burst followed the repair.
 */
SEC("struct_ops")
int sndbuf_expand(u64 *ctx)
{
	(void)ctx;
	return 4;
}

SEC("struct_ops")
int init(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct control *own = control_of(sk);

	__builtin_memset(own, 0, sizeof(*own));
	own->delivered = tp->delivered;
	return 0;
}

CONTROL(lasthop_qfcp, .init = (void *)init, .sndbuf_expand = (void *)sndbuf_expand, .ssthresh = (void *)qfcp_ssthresh,
	.cong_control = (void *)qfcp_cong_control);
CONTROL(lasthop_xcp, .init = (void *)init, .sndbuf_expand = (void *)sndbuf_expand, .ssthresh = (void *)xcp_ssthresh,
	.cong_control = (void *)xcp_cong_control);

char _license[] SEC("license") = "Dual MIT/GPL";
