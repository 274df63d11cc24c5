/* SPDX-License-Identifier: Dual MIT/GPL */
/* What the programs know of the kernel: a few fields of its structures, found by their names when they are loaded. */
#ifndef LASTHOP_KERNEL_H
#define LASTHOP_KERNEL_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Eight bytes on every machine of 64 bits. */
typedef struct {
	unsigned long long v;
} u64_stats_t;

struct gnet_stats_basic_sync {
	u64_stats_t bytes;
};

struct gnet_stats_queue {
	unsigned int qlen;
	unsigned int backlog;
	unsigned int drops;
};

struct qdisc_skb_head {
	unsigned int qlen;
};

struct Qdisc {
	unsigned int flags;
	struct qdisc_skb_head q;
	struct gnet_stats_basic_sync bstats;
	struct gnet_stats_queue qstats;
};

struct net_device {
	unsigned int mtu;
	struct Qdisc *qdisc;
};

struct sk_buff {
	struct net_device *dev;
	unsigned char ip_summed : 2;
};

#pragma clang attribute pop

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

#define TCX_PASS_ON (-1) /* TCX_NEXT: whatever other program is there has its say */

/* A packet's first bytes, and the end of those that are in one piece with them. */
#ifndef first_bytes
#define first_bytes(skb) ((const void *)(long)(skb)->data)
#define first_end(skb) ((const void *)(long)(skb)->data_end)
#endif

#define CHECKSUM_COMPLETE 2
#define CHECKSUM_PARTIAL 3

static __always_inline unsigned int sums_of(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);

	return BPF_CORE_READ_BITFIELD(kernel, ip_summed);
}

/* Whether a packet's checksum is still to be computed: its field has that of the pseudo-header alone. */
static __always_inline int is_unsummed(struct __sk_buff *skb)
{
	return sums_of(skb) == CHECKSUM_PARTIAL;
}

/* Whether a device has added up all of a packet, by which its checksum will be judged. */
static __always_inline int is_summed(struct __sk_buff *skb)
{
	return sums_of(skb) == CHECKSUM_COMPLETE;
}

/* What whole segments are rounded by: the clock's nanoseconds times the golden ratio, mod 1 (Knuth, 6.4). */
static __always_inline unsigned int chance(unsigned long long now_ns)
{
	return (unsigned int)now_ns * 2654435769U;
}

/* What a packet of the device may have from its IP header on. */
static __always_inline unsigned int mtu_of(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);

	return kernel->dev->mtu;
}

/* What a device's root qdisc holds, and what has left it so far. */
struct backlog {
	unsigned long long bytes;
	unsigned long long departed_bytes;
};

static __always_inline struct backlog backlog_of(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);
	struct Qdisc *qdisc = bpf_rdonly_cast(kernel->dev->qdisc, bpf_core_type_id_kernel(struct Qdisc));
	struct backlog found = {
		.bytes = qdisc->qstats.backlog,
		.departed_bytes = *(unsigned long long *)&qdisc->bstats.bytes,
	};

	return found;
}

#endif
