/* SPDX-License-Identifier: Dual MIT/GPL */
/* Packets and bytes by what became of them. */
#ifndef LASTHOP_COUNTS_H
#define LASTHOP_COUNTS_H

#include "kernel.h"
#include "state.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTED_KINDS);
	__type(key, u32);
	__type(value, struct count);
} counts SEC(".maps");

static __always_inline void count(enum counted kind, u32 bytes)
{
	u32 key = kind;
	struct count *c = bpf_map_lookup_elem(&counts, &key);

	if (c) {
		c->packets++;
		c->bytes += bytes;
	}
}

#endif
