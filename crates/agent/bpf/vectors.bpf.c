/* SPDX-License-Identifier: Dual MIT/GPL */
/* The laws' functions by themselves, a program each: tests give them numbers, and compare with the host's build. */
#include "kernel.h"
#include "vectors.h"

#define ONE_OF(what) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(max_entries, 1); \
		__type(key, u32); \
		__type(value, struct what); \
	}

ONE_OF(vector) vectors SEC(".maps");
ONE_OF(flow) flows SEC(".maps");
ONE_OF(station) stations SEC(".maps");
ONE_OF(receiver) receivers SEC(".maps");
ONE_OF(desk) desks SEC(".maps");

const volatile struct settings settings = {};

#define CASE(name, call) \
	SEC("tc") int vector_##name(struct __sk_buff *skb) \
	{ \
		const volatile struct settings *set = &settings; \
		u32 key = 0; \
		struct vector *x = bpf_map_lookup_elem(&vectors, &key); \
		struct flow *f = bpf_map_lookup_elem(&flows, &key); \
		struct station *s = bpf_map_lookup_elem(&stations, &key); \
		struct receiver *r = bpf_map_lookup_elem(&receivers, &key); \
		struct desk *d = bpf_map_lookup_elem(&desks, &key); \
\
		(void)skb; \
		if (x && f && s && r && d) \
			x->result = VECTOR(call); \
		return 0; \
	}
#include "cases.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
