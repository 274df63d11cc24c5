/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The programs of a host on the host: events of a connection come by the standard input, each as many random bytes as
 * `struct event` has. What a program may not do ends the run.
 */
#include <linux/bpf.h>
#include <stdio.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct sock;
struct tcp_sock;
static void *bpf_sk_storage_get(void *map, void *sk, void *value, unsigned long long flags);
static long bpf_load_hdr_opt(struct bpf_sock_ops *ops, void *to, unsigned int bytes, unsigned long long flags);
static long bpf_store_hdr_opt(struct bpf_sock_ops *ops, const void *from, unsigned int bytes, unsigned long long flags);
static long bpf_reserve_hdr_opt(struct bpf_sock_ops *ops, unsigned int bytes, unsigned long long flags);
static long bpf_sock_ops_cb_flags_set(struct bpf_sock_ops *ops, int flags);
static long bpf_getsockopt(void *from, int level, int name, void *to, int bytes);
static long bpf_setsockopt(void *of, int level, int name, void *from, int bytes);
#define bpf_core_cast(from, type) ((type *)(void *)(from))

/* What programs are told is constant for them alone. */
#define const
#include "feedback_host.bpf.c"
#undef const

/* What happens to the connection, and what its segment has. */
struct event {
	u8 op;
	u8 is_fullsock;
	u8 has_option;
	u8 has_chosen;
	u8 room; /* for options */
	u8 state;
	u8 segments;
	u8 repeats;
	struct feedback_option option;
	u32 skb_len;
	u32 srtt_us;
	u32 cwnd;
	u32 clamp;
	u32 delivered;
	u16 mss;
	u16 ssthresh;
	u8 tcp_flags;
	u8 family;
	u8 limited;
	u8 clock;
};

_Static_assert(sizeof(struct event) == 48, "as tests/packets/sockets.rs writes it");

/* One connection, in the kernel and in the programs' storage. */
static struct tcp_sock kernel;
static struct connection *held;
static struct event event;
static unsigned int reserved;
static int is_written;

static void *bpf_sk_storage_get(void *map, void *sk, void *value, unsigned long long flags)
{
	(void)map, (void)sk, (void)value;
	if (!held && flags)
		held = calloc(1, sizeof(*held));
	return held;
}

/* As net/core/filter.c has it; the kernel reads no option that goes beyond its header. */
static long bpf_load_hdr_opt(struct bpf_sock_ops *ops, void *to, unsigned int bytes, unsigned long long flags)
{
	struct feedback_option *found = to;
	unsigned int length = event.option.length;

	(void)ops, (void)flags;
	if (!event.has_option || length < 4 || length > 40 || event.option.exid != found->exid)
		return -ENOMSG;
	event.option.kind = OPTION_KIND;
	memcpy(to, &event.option, length < bytes ? length : bytes);
	return length > bytes ? -ENOSPC : (long)length;
}

static long bpf_reserve_hdr_opt(struct bpf_sock_ops *ops, unsigned int bytes, unsigned long long flags)
{
	(void)ops, (void)flags;
	if (bytes > event.room)
		return -ENOSPC;
	reserved = bytes;
	return 0;
}

static long bpf_store_hdr_opt(struct bpf_sock_ops *ops, const void *from, unsigned int bytes, unsigned long long flags)
{
	const struct feedback_option *option = from;

	(void)ops, (void)flags;
	if (option->kind != OPTION_KIND || option->length != bytes || (bytes != OPTION_SHORT && bytes != OPTION_LONG))
		abort();
	if (bytes == OPTION_SHORT && option->granted)
		abort();
	/* Twice in one segment is one too many. */
	if (is_written++)
		abort();
	return bytes > reserved ? -ENOSPC : 0;
}

static long bpf_sock_ops_cb_flags_set(struct bpf_sock_ops *ops, int flags)
{
	if (flags & ~BPF_SOCK_OPS_ALL_CB_FLAGS)
		abort();
	ops->bpf_sock_ops_cb_flags = flags;
	return 0;
}

static long bpf_getsockopt(void *from, int level, int name, void *to, int bytes)
{
	(void)from, (void)level, (void)name;
	memset(to, 0, bytes);
	memcpy(to, event.has_chosen & 1 ? "lasthop" : "cubic", event.has_chosen & 1 ? 7 : 5);
	return 0;
}

static long bpf_setsockopt(void *of, int level, int name, void *from, int bytes)
{
	(void)of, (void)level, (void)name;
	return memcmp(from, "lasthop", 8) || bytes != 16 ? -EINVAL : 0;
}

unsigned int tcp_slow_start(struct tcp_sock *tp, unsigned int acked)
{
	unsigned int cwnd = tp->snd_cwnd + acked < tp->snd_ssthresh ? tp->snd_cwnd + acked : tp->snd_ssthresh;

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? cwnd : tp->snd_cwnd_clamp;
	return acked;
}

void tcp_cong_avoid_ai(struct tcp_sock *tp, unsigned int w, unsigned int acked)
{
	if (!w || !acked)
		abort();
	if (tp->snd_cwnd < tp->snd_cwnd_clamp)
		tp->snd_cwnd++;
}

void *bpf_cast_to_kern_ctx(void *ops)
{
	static struct skb_shared_info shared;
	static struct sk_buff skb = { .head = (void *)&shared };
	static struct bpf_sock_ops_kern seen = { .skb = &skb };

	(void)ops;
	shared.gso_size = event.repeats & 2 ? event.mss : 0;
	shared.gso_segs = event.repeats & 4 ? event.segments : 0;
	return &seen;
}

/* What the stack does between two events. */
static void happen(struct bpf_sock_ops *ops)
{
	struct sock *sk = &kernel.inet_conn.icsk_inet.sk;

	/* Now and then nothing was heard for long. */
	kernel.tcp_mstamp = bpf_ktime_get_ns() / 1000 + (event.clock < 16 ? 200000 * event.clock : 0);
	sk->__sk_common.skc_family = ops->family = event.family & 1 ? AF_INET6 : 2;
	kernel.inet_conn.icsk_ca_state = event.state % 5;
	kernel.snd_cwnd = ops->snd_cwnd = event.cwnd >> event.room % 32 | 1;
	kernel.snd_cwnd_clamp = event.clamp | 1;
	kernel.snd_ssthresh = event.ssthresh | 2;
	kernel.max_packets_out = event.cwnd >> 1;
	kernel.is_cwnd_limited = event.limited & 1;
	kernel.tcp_header_len = 20 + event.limited % 11 * 4;
	kernel.mss_cache = ops->mss_cache = event.mss | 64;
	kernel.srtt_us = ops->srtt_us = event.srtt_us >> event.state % 32;
	kernel.delivered += event.delivered >> event.segments % 32;
	ops->snd_una = event.repeats & 1 ? 7 : event.delivered;
	ops->is_fullsock = event.is_fullsock % 4 > 0;
	ops->skb_len = event.skb_len >> 8 & 1 ? event.skb_len >> 16 : 0;
	ops->skb_tcp_flags = event.tcp_flags;
	ops->args[0] = event.tcp_flags & 1 ? BPF_WRITE_HDR_TCP_CURRENT_MSS : 0;
	event.room %= 41;
	event.has_option %= 4;
	/* Most options are ours, and as long as they should be. */
	if (event.has_option > 1)
		event.option.exid = bpf_htons(settings.exid);
	if (event.has_option > 2)
		event.option.length = event.option.kind & 1 ? OPTION_SHORT : OPTION_LONG;
}

int main(int count, char **words)
{
	struct bpf_sock_ops ops = { .sk = (void *)&kernel };
	u64 context[1] = { (u64)(uintptr_t)&kernel };
	struct sock *sk = &kernel.inet_conn.icsk_inet.sk;

	memcpy(settings.name, "lasthop", 8);
	settings.exid = OPTION_QFCP;
	for (int i = 1; i < count; i++) {
		if (!strcmp(words[i], "xcp"))
			settings.is_xcp = 1, settings.exid = OPTION_XCP;
		settings.offers_all |= !strcmp(words[i], "all");
		settings.heeds_loss |= !strcmp(words[i], "heeds");
		settings.paces |= !strcmp(words[i], "paces");
	}
	if (!settings.offers_all)
		settings.exid_beside = settings.is_xcp ? OPTION_QFCP : OPTION_XCP;
	while (fread(&event, sizeof(event), 1, stdin) == 1) {
		unsigned int header = event.skb_len & 63;
		unsigned char *segment = malloc(header);

		happen(&ops);
		memset(segment, 0, header);
		if (header >= 12)
			segment[11] = 7;
		ops.skb_data = segment;
		ops.skb_data_end = segment + header;
		is_written = reserved = 0;
		switch (event.op % 16) {
		case 0:
			ops.op = BPF_SOCK_OPS_TCP_CONNECT_CB;
			on_socket(&ops);
			break;
		case 1:
			ops.op = BPF_SOCK_OPS_TCP_LISTEN_CB;
			on_socket(&ops);
			break;
		case 2:
		case 3:
			ops.op = event.op % 16 == 2 ? BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB : BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
			on_socket(&ops);
			break;
		case 4:
		case 5:
		case 6:
			ops.op = BPF_SOCK_OPS_HDR_OPT_LEN_CB;
			on_socket(&ops);
			/* The kernel asks as well where another program has reserved room, and that is not ours. */
			ops.op = BPF_SOCK_OPS_WRITE_HDR_OPT_CB;
			on_socket(&ops);
			if (is_written && !reserved && ops.is_fullsock)
				return 1;
			break;
		case 7:
		case 8:
		case 9:
			ops.op = BPF_SOCK_OPS_PARSE_HDR_OPT_CB;
			on_socket(&ops);
			break;
		case 10:
			init(context);
			break;
		case 11:
			if ((unsigned int)(settings.is_xcp ? xcp_ssthresh(context) : qfcp_ssthresh(context)) < 2)
				return 1;
			break;
		case 12:
			if (event.clock < 16) {
				free(held);
				held = NULL;
			}
			break;
		default:
			settings.is_xcp ? xcp_cong_control(context) : qfcp_cong_control(context);
			if (!kernel.snd_cwnd || !kernel.snd_ssthresh || !sk->sk_pacing_rate)
				return 1;
		}
		free(segment);
	}
	/* How often it was told something: a run in which nothing happens tests nothing. */
	printf("%llu %llu\n", (unsigned long long)counts.options, (unsigned long long)counts.told);
	free(held);
	return 0;
}
