/* SPDX-License-Identifier: Dual MIT/GPL */
/* What shares a queue, by the queue's number. 0 is the device's own; the agent makes room for more where queues are hidden. */
#ifndef LASTHOP_QUEUE_H
#define LASTHOP_QUEUE_H

#include "kernel.h"
#include "lock.h"
#include "state.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct station);
} queues SEC(".maps");

static __always_inline struct station *queue_of(u32 number)
{
	return bpf_map_lookup_elem(&queues, &number);
}

#endif
