/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * A congestion control: TCP(alpha, beta) with gamma and delta, or with the cut that drains the queue.
 *
 * Only the window is ours. When it falls for a loss, what is sent again, proportional rate reduction, pacing and the
 * size of bursts are the kernel's, as for its own Reno: cong_avoid leaves them where cong_control would take them over.
 * The simulator's twin is lasthop_core::law::linux::LinuxAimd.
 */
#include "kernel_tcp.h"
#include "gamma.h"

/* Windows in ssthresh of a connection that has not lost yet. */
#define MOST_SEGMENTS (1 << 20)

/* Where gamma stands. */
enum phase {
	WATCHING,
	DUE, /* the threshold was passed: the window is cut a round trip later */
	RESTING, /* it was cut: times tell of before */
	RECOVERING, /* a loss cut it */
};

/* What the last decrease answered. */
enum decrease {
	NONE,
	DUPLICATE_ACKS,
	TIMEOUT,
};

/* What the agent tells, and may change at any time: `Settings` in src/cc/settings.rs. */
struct settings {
	u32 magic;
	u32 link; /* its number, once it is registered */
	u32 pid; /* whose process holds it; 0: it is pinned */
	u32 alpha_q16;
	u32 alpha_is_friendly; /* it follows beta */
	u32 beta_q16;
	u32 gamma_q16; /* 0: no gamma */
	u32 drains;
	u32 delta_q16; /* 0: no delta */
	u32 delta_threshold_q16;
	u32 running_maximum; /* gamma and delta act before the first loss */
	u32 beta_after_timeout;
	char name[16];
	char law[16];
} settings = { .magic = 0x6c686363 };

/* What it is told: `Counts`. */
struct counts {
	u64 connections; /* of now */
	u64 opened;
	u64 cuts;
	u64 losses;
	u64 timeouts;
} counts;

/* What is kept of a connection, in the 104 bytes that a socket has for it. */
struct connection {
	u64 due_us; /* DUE: since when the window may be cut; RESTING: since when it rests */
	u64 round_us; /* when the running round trip began */
	u32 least_us; /* its least time so far; 0: none */
	u32 rtt_us; /* of the segment that caused this acknowledgement; 0: none */
	u32 standing_us; /* the least time of the round trip that it ends; 0: it ends none */
	u32 min_us;
	u32 max_us;
	u32 part_q16; /* what of a segment the window has beside whole ones */
	u32 window_before; /* at the last decrease */
	u8 phase;
	u8 is_armed;
	u8 last_decrease;
	u8 before_last; /* the one before it */
	u8 was_starting; /* whether it came in slow start */
	u8 is_counted;
};

_Static_assert(sizeof(struct connection) <= 104, "ICSK_CA_PRIV_SIZE");

static __always_inline struct connection *connection_of(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline u64 window_of(const struct tcp_sock *tp, const struct connection *c)
{
	return ((u64)least(tp->snd_cwnd, MOST_SEGMENTS) << 16) + c->part_q16;
}

static __always_inline void set_window(struct tcp_sock *tp, struct connection *c, u64 window_q16)
{
	u64 whole = most(window_q16 >> 16, 1);

	if (whole > tp->snd_cwnd_clamp) {
		whole = most(tp->snd_cwnd_clamp, 1);
		window_q16 = 0;
	}
	tp->snd_cwnd = whole;
	c->part_q16 = window_q16 & 0xffff;
}

static __always_inline int is_starting(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* tcp_is_cwnd_limited */
static __always_inline int is_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return is_starting(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* gamma: cuts the window a round trip after the threshold was passed. */
static __always_inline void watch(struct tcp_sock *tp, struct connection *c)
{
	u64 now_us = tp->tcp_mstamp, share_q24;
	u32 threshold_q16 = settings.gamma_q16, standing_us = c->standing_us;

	switch (c->phase) {
	case WATCHING:
		if (settings.drains && !gamma_waits(c->rtt_us, c->min_us, window_of(tp, c)))
			return;
		/* While the least times of all round trips are alike, they tell nothing of the crests; one that waits is above them. */
		if (!(settings.drains && c->max_us <= c->min_us) &&
		    !gamma_is_above(threshold_q16, c->rtt_us, c->min_us, c->max_us))
			return;
		c->phase = DUE;
		c->due_us = now_us + c->rtt_us;
		c->round_us = now_us;
		c->least_us = 0;
		return;
	case DUE:
		if (settings.drains ? !standing_us : now_us < c->due_us)
			return;
		if (settings.drains && !gamma_waits(standing_us, c->min_us, window_of(tp, c))) {
			/* No more than a train of the flow's own has waited, or what was there has gone. */
			c->phase = WATCHING;
			return;
		}
		share_q24 = settings.drains ? gamma_drain_q24(c->min_us, standing_us)
					  : gamma_share_q24(threshold_q16, c->min_us, c->max_us);
		set_window(tp, c, gamma_cut_q16(window_of(tp, c), share_q24));
		/* Slow start would take it back at once. */
		tp->snd_ssthresh = least(tp->snd_ssthresh, tp->snd_cwnd);
		c->phase = RESTING;
		c->due_us = now_us;
		__sync_fetch_and_add(&counts.cuts, 1);
		return;
	case RESTING:
		if (now_us - c->rtt_us >= c->due_us)
			c->phase = WATCHING;
		return;
	default:
		c->phase = RESTING;
		c->due_us = now_us;
	}
}

SEC("struct_ops")
int pkts_acked(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	const struct ack_sample *sample = (void *)ctx[1];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);
	u32 rtt_us = sample->rtt_us;
	u64 now_us = tp->tcp_mstamp;

	c->rtt_us = 0;
	c->standing_us = 0;
	/* What was SACKed before has no time, and what was sent again that of its timestamp, in whole milliseconds. */
	if (sample->rtt_us <= 0 || !sample->pkts_acked || rtt_us % 1000 == 0)
		return 0;
	c->rtt_us = rtt_us;
	if (!c->min_us || rtt_us < c->min_us)
		c->min_us = rtt_us;
	if (!c->least_us || rtt_us < c->least_us)
		c->least_us = rtt_us;
	if (now_us - rtt_us >= c->round_us) {
		c->standing_us = c->least_us;
		c->least_us = 0;
		c->round_us = now_us;
	}
	if (!settings.drains)
		c->max_us = most(c->max_us, rtt_us);
	else if (c->standing_us)
		c->max_us = gamma_fading_maximum(c->max_us, c->standing_us);
	return 0;
}

SEC("struct_ops")
int cong_avoid(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	u32 acked = ctx[2];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);
	int is_armed = c->is_armed || settings.running_maximum || settings.drains;
	u32 rate_q16 = settings.alpha_q16;

	if (!is_limited(tp))
		return 0;
	if (c->rtt_us && is_armed && settings.gamma_q16)
		watch(tp, c);
	if (is_starting(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return 0;
	}
	if (c->rtt_us && is_armed && settings.delta_q16 &&
	    gamma_is_below(settings.delta_threshold_q16, c->rtt_us, c->min_us, c->max_us))
		rate_q16 = settings.delta_q16;
	set_window(tp, c, gaimd_increase_q16(window_of(tp, c), rate_q16, least(acked, 1 << 16)));
	return 0;
}

/* Half at a connection's first decrease and in slow start, else beta. */
static __always_inline u32 threshold_of(const struct connection *c, int is_beta)
{
	u64 window_q16 = (u64)least(c->window_before, MOST_SEGMENTS) << 16;

	return most(gaimd_decrease_q16(window_q16, is_beta && !c->was_starting ? settings.beta_q16 : 1 << 15) >> 16, 2);
}

SEC("struct_ops")
int ssthresh(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);

	c->window_before = tp->snd_cwnd;
	c->was_starting = is_starting(tp);
	c->before_last = c->last_decrease;
	c->last_decrease = DUPLICATE_ACKS;
	c->is_armed = 1;
	c->phase = RECOVERING;
	c->part_q16 = 0;
	__sync_fetch_and_add(&counts.losses, 1);
	return threshold_of(c, c->before_last != NONE);
}

/* The decrease of a moment ago answers a time-out. */
SEC("struct_ops")
int cwnd_event(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	u32 event = ctx[1];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);

	if (event != CA_EVENT_LOSS || c->last_decrease != DUPLICATE_ACKS)
		return 0;
	c->last_decrease = TIMEOUT;
	tp->snd_ssthresh = threshold_of(c, settings.beta_after_timeout && c->before_last == DUPLICATE_ACKS);
	__sync_fetch_and_add(&counts.timeouts, 1);
	return 0;
}

SEC("struct_ops")
int init(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct connection *c = connection_of(sk);

	__builtin_memset(c, 0, sizeof(*c));
	c->is_counted = 1;
	__sync_fetch_and_add(&counts.connections, 1);
	__sync_fetch_and_add(&counts.opened, 1);
	return 0;
}

SEC("struct_ops")
int release(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct connection *c = connection_of(sk);

	if (!c->is_counted)
		return 0;
	c->is_counted = 0;
	__sync_fetch_and_sub(&counts.connections, 1);
	return 0;
}

CONTROL(lasthop, .init = (void *)init, .release = (void *)release, .ssthresh = (void *)ssthresh,
	.cong_avoid = (void *)cong_avoid, .pkts_acked = (void *)pkts_acked, .cwnd_event = (void *)cwnd_event);

char _license[] SEC("license") = "Dual MIT/GPL";
