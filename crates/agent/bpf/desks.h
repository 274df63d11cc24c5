/* SPDX-License-Identifier: Dual MIT/GPL */
/* The station window's desks, and who has which. */
#ifndef LASTHOP_DESKS_H
#define LASTHOP_DESKS_H

#include "kernel.h"
#include "proxy.h"
#include "state_desk.h"

/* Each object has its own. */
extern const volatile struct settings settings;

/* A desk, and which way the ACKs of each seat go. */
struct post {
	struct desk desk;
	u64 ways[SEATS];
};

/* A desk is large: there is one, or where queues are hidden, as many as there are numbers for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct post);
} desks SEC(".maps");

/* By the number of what shares a queue: the number of its desk, and one; 0: it has none. As long as `queues`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} desk_numbers SEC(".maps");

/* The desks that are nobody's, each by its number and one; the agent fills it. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 256);
	__type(value, u32);
} spare_desks SEC(".maps");

/* The desk of what shares a queue; none if that has none. */
static __always_inline struct post *desk_of(u32 number)
{
	u32 *place = bpf_map_lookup_elem(&desk_numbers, &number), at;

	if (!place || !*place)
		return 0;
	at = *place - 1;
	return bpf_map_lookup_elem(&desks, &at);
}

/* The same; it gets one if it has none and there is any left. */
static __always_inline struct post *new_desk_of(u32 number)
{
	u32 *place = bpf_map_lookup_elem(&desk_numbers, &number), at;
	struct post *post;

	if (!place || *place || bpf_map_pop_elem(&spare_desks, &at))
		return desk_of(number);
	/* Where another processor was first, that one's stands. */
	if (__sync_val_compare_and_swap(place, 0, at)) {
		bpf_map_push_elem(&spare_desks, &at, 0);
		return desk_of(number);
	}
	post = desk_of(number);
	/* Whoever had it before may have been about to begin a step as it was taken from them. */
	if (post)
		post->desk.is_busy = 0;
	return post;
}

/* A connection has a seat no more. */
static __always_inline void leave_desk(struct flow *f, const struct flow_key *key)
{
	struct post *post = settings.is_station && f->seat ? desk_of(f->station) : 0;

	if (post)
		desk_leave(&post->desk, f, key);
}

#endif
