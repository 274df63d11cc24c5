/* SPDX-License-Identifier: Dual MIT/GPL */
/* What a congestion control knows of the kernel: a few fields of its structures, found by their names when it is loaded. */
#ifndef LASTHOP_KERNEL_TCP_H
#define LASTHOP_KERNEL_TCP_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define TCP_CONG_NON_RESTRICTED 1

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	unsigned short skc_family;
};

struct sock {
	struct sock_common __sk_common;
	unsigned int sk_pacing_status;
	unsigned long sk_pacing_rate;
};

/* Each begins with the one before, so that a pointer to one is a pointer to all. */
struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	unsigned char icsk_ca_state : 5;
	unsigned long long icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	unsigned int snd_cwnd;
	unsigned int snd_cwnd_clamp;
	unsigned int snd_ssthresh;
	unsigned int prior_cwnd;
	unsigned int max_packets_out;
	unsigned char is_cwnd_limited : 1;
	unsigned long long tcp_mstamp; /* when this acknowledgement came [us] */
	unsigned short tcp_header_len; /* without options of programs */
	unsigned int mss_cache;
	unsigned int srtt_us; /* in eighths */
	unsigned int delivered;
};

struct sk_buff {
	unsigned char *head;
	unsigned int end;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
};

struct bpf_sock_ops_kern {
	struct sk_buff *skb;
};

struct ack_sample {
	unsigned int pkts_acked;
	int rtt_us;
	unsigned int in_flight;
};

#pragma clang attribute pop

/* Of the kernel's, what we fill in: the loader finds each by its name. */
struct tcp_congestion_ops {
	unsigned int (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, unsigned int ack, unsigned int acked);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*cong_control)(struct sock *sk, unsigned int ack, int flag, const void *sample);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	unsigned int (*undo_cwnd)(struct sock *sk);
	unsigned int (*sndbuf_expand)(struct sock *sk);
	char name[16];
	unsigned int flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;
extern unsigned int tcp_slow_start(struct tcp_sock *tp, unsigned int acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, unsigned int w, unsigned int acked) __ksym;

/* What was taken for a loss was none. */
SEC("struct_ops")
int undo_cwnd(unsigned long long *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

/* The agent gives it its name. Any namespace may have it for its default, and any user for a socket. */
#define CONTROL(variable, ...) \
	SEC(".struct_ops.link") \
	struct tcp_congestion_ops variable = { \
		.undo_cwnd = (void *)undo_cwnd, \
		.flags = TCP_CONG_NON_RESTRICTED, \
		.name = "lasthop", \
		__VA_ARGS__ \
	}

#endif
