/* SPDX-License-Identifier: Dual MIT/GPL */
/* What the kernel gives the programs, on the host: enough of it to run them under sanitizers. */
#ifndef HOST_BPF_HELPERS_H
#define HOST_BPF_HELPERS_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SEC(name)
#define __ksym
#define __noinline __attribute__((noinline))
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define barrier_var(x) ((void)(x))

/* A packet: allocated as long as it is, so that a byte too far is found. */
struct host_packet {
	struct __sk_buff seen;
	unsigned char *bytes;
	unsigned int link_header_bytes;
	unsigned int piece; /* so many bytes, or all, are in one with the first */
	unsigned int sum; /* what its device has added up from its link header on, and who changes it has been told */
};

/* Behind a link header words are aligned, as the kernel has it (NET_IP_ALIGN). */
#define HOST_ALIGN 2

static unsigned char *host_bytes(unsigned int bytes)
{
	return (unsigned char *)calloc(1, HOST_ALIGN + bytes) + HOST_ALIGN;
}

static void host_free(unsigned char *bytes)
{
	free(bytes - HOST_ALIGN);
}

#define first_bytes(skb) ((const void *)host_packet.bytes)
#define first_end(skb) ((const void *)(host_packet.bytes + (host_packet.seen.len < host_packet.piece ? host_packet.seen.len : host_packet.piece)))

static struct host_packet host_packet;
static unsigned long long host_now_ns = 1000000000;
static unsigned int host_random = 1;

/* What a map holds, in a list: each value by itself. */
struct host_entry {
	struct host_entry *next;
	const void *map;
	void *key;
	void *value;
};

#define HOST_ENTRIES_MOST 64
static struct host_entry *host_entries;

static struct host_entry *host_find(const void *map, size_t key_bytes, const void *key)
{
	for (struct host_entry *e = host_entries; e; e = e->next)
		if (e->map == map && !memcmp(e->key, key, key_bytes))
			return e;
	return NULL;
}

static void host_remove(struct host_entry *gone)
{
	for (struct host_entry **e = &host_entries; *e; e = &(*e)->next) {
		if (*e == gone) {
			*e = gone->next;
			free(gone->key);
			free(gone->value);
			free(gone);
			return;
		}
	}
}

static long host_update(const void *map, size_t key_bytes, const void *key, size_t value_bytes, const void *value,
			unsigned long long flags)
{
	struct host_entry *e = host_find(map, key_bytes, key);
	int held = 0;

	if (e && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!e) {
		for (struct host_entry *other = host_entries; other; other = other->next)
			held += other->map == map;
		if (held >= HOST_ENTRIES_MOST)
			return -E2BIG;
		e = calloc(1, sizeof(*e));
		e->map = map;
		e->key = malloc(key_bytes);
		memcpy(e->key, key, key_bytes);
		e->value = malloc(value_bytes);
		e->next = host_entries;
		host_entries = e;
	}
	memcpy(e->value, value, value_bytes);
	return 0;
}

/* An array has all its values from the start. */
static void *host_lookup(const void *map, int is_array, size_t key_bytes, const void *key, size_t value_bytes)
{
	struct host_entry *e = host_find(map, key_bytes, key);

	if (!e && is_array) {
		void *zero = calloc(1, value_bytes);

		host_update(map, key_bytes, key, value_bytes, zero, BPF_ANY);
		free(zero);
		e = host_find(map, key_bytes, key);
	}
	return e ? e->value : NULL;
}

#define HOST_TYPE(map) (sizeof(*(map)->type) / sizeof(int))
#define HOST_IS_ARRAY(map) (HOST_TYPE(map) == BPF_MAP_TYPE_ARRAY || HOST_TYPE(map) == BPF_MAP_TYPE_PERCPU_ARRAY)
#define bpf_map_lookup_elem(map, at) host_lookup(map, HOST_IS_ARRAY(map), sizeof(*(map)->key), at, sizeof(*(map)->value))
#define bpf_map_update_elem(map, at, from, flags) \
	host_update(map, sizeof(*(map)->key), at, sizeof(*(map)->value), from, flags)
#define bpf_map_delete_elem(map, at) host_remove(host_find(map, sizeof(*(map)->key), at))

/* Queues of numbers: those that are nobody's. */
#define HOST_SPARE 16
#define HOST_QUEUES 2
static struct host_queue {
	const void *map;
	unsigned int numbers[HOST_SPARE];
	unsigned int held;
} host_queues[HOST_QUEUES];

static struct host_queue *host_queue(const void *map)
{
	for (unsigned int i = 0; i < HOST_QUEUES; i++) {
		if (!host_queues[i].map)
			host_queues[i].map = map;
		if (host_queues[i].map == map)
			return &host_queues[i];
	}
	abort();
}

static long host_push(const void *map, const unsigned int *number)
{
	struct host_queue *queue = host_queue(map);

	if (queue->held == HOST_SPARE)
		return -E2BIG;
	queue->numbers[queue->held++] = *number;
	return 0;
}

static long host_pop(const void *map, unsigned int *number)
{
	struct host_queue *queue = host_queue(map);

	*number = queue->held ? queue->numbers[--queue->held] : 0;
	return *number ? 0 : -ENOENT;
}

#define bpf_map_push_elem(map, number, flags) host_push(map, number)
#define bpf_map_pop_elem(map, number) host_pop(map, number)

/* The map of the agent's own whose entries one program looks through. */
static long bpf_for_each_map_elem(void *map, void *each, void *context, unsigned long long flags)
{
	long (*call)(void *, void *, void *, void *) = each;

	(void)flags;
	for (struct host_entry *e = host_entries; e; e = e->next)
		if (e->map == map)
			call(map, e->key, e->value, context);
	return 0;
}

static long bpf_loop(unsigned int count, void *each, void *context, unsigned long long flags)
{
	long (*call)(unsigned long long, void *) = each;

	(void)flags;
	for (unsigned int i = 0; i < count; i++)
		if (call(i, context))
			break;
	return 0;
}

/* A lock that is taken twice would hang a processor. */
static void bpf_spin_lock(struct bpf_spin_lock *lock)
{
	if (lock->val++)
		abort();
}

static void bpf_spin_unlock(struct bpf_spin_lock *lock)
{
	if (--lock->val)
		abort();
}

/* That of queues, in the place of lock.h. Now and then another processor has it for too long. */
#define LASTHOP_LOCK_H

static int take(unsigned int *lock)
{
	if (*lock)
		abort();
	host_random = host_random * 1664525 + 1013904223;
	*lock = host_random >> 26 > 0;
	return *lock;
}

static void give(unsigned int *lock)
{
	if (!*lock)
		abort();
	*lock = 0;
}

static unsigned long long bpf_ktime_get_ns(void)
{
	return host_now_ns += 1 + host_now_ns % 3000000;
}

static unsigned int bpf_get_prandom_u32(void)
{
	return host_random = host_random * 1664525 + 1013904223;
}

static int host_within(unsigned int at, unsigned int bytes)
{
	return at <= host_packet.seen.len && bytes <= host_packet.seen.len - at;
}

static long bpf_skb_load_bytes(const void *skb, unsigned int at, void *to, unsigned int bytes)
{
	(void)skb;
	if (!host_within(at, bytes)) {
		memset(to, 0, bytes);
		return -EFAULT;
	}
	memcpy(to, host_packet.bytes + at, bytes);
	return 0;
}

static unsigned int host_folded(unsigned long long sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* What bytes of a packet add up to, each in the place that it has in a word. */
static unsigned int host_sum(unsigned int at, unsigned int bytes)
{
	unsigned long long sum = 0;

	for (unsigned int i = at; i < at + bytes; i++)
		sum += (i - host_packet.link_header_bytes) & 1 ? host_packet.bytes[i] << 8 : host_packet.bytes[i];
	return host_folded(sum);
}

static long long bpf_csum_update(void *skb, unsigned int sum)
{
	(void)skb;
	return host_packet.sum = host_folded((unsigned long long)host_packet.sum + sum);
}

static long bpf_skb_store_bytes(void *skb, unsigned int at, const void *from, unsigned int bytes, unsigned long long flags)
{
	unsigned int before;

	(void)skb;
	if (!host_within(at, bytes))
		return -EFAULT;
	before = host_sum(at, bytes);
	memcpy(host_packet.bytes + at, from, bytes);
	if (flags & BPF_F_RECOMPUTE_CSUM)
		bpf_csum_update(skb, (0xffff - before) + host_sum(at, bytes));
	return 0;
}

/* A copy that comes in. How many there were, and what is looked at in each. */
static unsigned int host_copies;
static void (*host_look)(void *skb);

static long bpf_clone_redirect(void *skb, unsigned int device, unsigned long long flags)
{
	(void)device;
	if (flags != BPF_F_INGRESS)
		return -EINVAL;
	host_copies++;
	if (host_look)
		host_look(skb);
	/* Now and then there is no room for it. */
	host_random = host_random * 1664525 + 1013904223;
	return host_random >> 28 ? 0 : -ENOMEM;
}

static void bpf_set_hash_invalid(void *skb)
{
	(void)skb;
}

/* RFC 1624. */
static long host_replace(unsigned int at, unsigned int before, unsigned int after, int bytes)
{
	unsigned short check;

	if (at & 1 || at > 0xffff || bpf_skb_load_bytes(NULL, at, &check, 2))
		return -EFAULT;
	if (bytes != 2 && bytes != 4)
		return -EINVAL;
	check = ~host_folded((unsigned short)~check + 0ULL + host_folded(after) +
			     (0xffff - host_folded(before)));
	return bpf_skb_store_bytes(NULL, at, &check, 2, 0);
}

static long bpf_l3_csum_replace(void *skb, unsigned int at, unsigned long long before, unsigned long long after,
				unsigned long long bytes)
{
	(void)skb;
	return host_replace(at, before, after, bytes);
}

static long bpf_l4_csum_replace(void *skb, unsigned int at, unsigned long long before, unsigned long long after,
				unsigned long long flags)
{
	(void)skb;
	return host_replace(at, before, after, flags & 15);
}

/* Room behind the fixed part of the network header, or none any more there; as net/core/filter.c checks it. */
static long bpf_skb_adjust_room(void *skb, int by, unsigned int mode, unsigned long long flags)
{
	unsigned int type = host_packet.seen.protocol, base = type == __builtin_bswap16(0x0800) ? 20 : 40, at, bytes;
	unsigned char *moved;

	(void)flags;
	if (mode != BPF_ADJ_ROOM_NET || by > 0xfff || by < -0xfff)
		return -EINVAL;
	if (type != __builtin_bswap16(0x0800) && type != __builtin_bswap16(0x86dd))
		return -ENOTSUP;
	at = host_packet.link_header_bytes + base;
	if (!host_within(at, by < 0 ? (unsigned int)-by : 0))
		return -ENOTSUP;
	/* What is made is zero. */
	if (by < 0)
		bpf_csum_update(skb, 0xffff - host_sum(at, -by));
	bytes = host_packet.seen.len + by;
	moved = host_bytes(bytes);
	memcpy(moved, host_packet.bytes, at);
	if (by >= 0)
		memcpy(moved + at + by, host_packet.bytes + at, host_packet.seen.len - at);
	else
		memcpy(moved + at, host_packet.bytes + at - by, bytes - at);
	host_free(host_packet.bytes);
	host_packet.bytes = moved;
	host_packet.seen.len = bytes;
	return 0;
}

#endif
