/* SPDX-License-Identifier: Dual MIT/GPL */
/* What shares the device's own queue: all of its connections. */
#ifndef LASTHOP_QUEUE_H
#define LASTHOP_QUEUE_H

#include "kernel.h"
#include "state.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct station);
} whole_queue SEC(".maps");

static __always_inline struct station *device_queue(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&whole_queue, &key);
}

#endif
