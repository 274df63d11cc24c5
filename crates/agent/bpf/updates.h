/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The station window's updates, which are made of the ACK at hand: for a moment its headers are those of an update, and a copy of
 * it comes in at the device behind the ACK. There it passes as it is.
 */
#ifndef LASTHOP_UPDATES_H
#define LASTHOP_UPDATES_H

#include "kernel.h"
#include "packet.h"
#include "proxy.h"
#include "state_desk.h"

/* Each object has its own. */
extern const volatile struct settings settings;

/* What an update is known by when it comes in: "lh". */
#define UPDATE_MARK 0x6c68

/* An IPv6 header, and TCP's with a time stamp. */
#define HEADERS_MOST 72

/* The headers of the ACK at hand and of an update, from IP's on, and what that is to say. */
struct letter {
	u16 at_hand[HEADERS_MOST / 2];
	u16 update[HEADERS_MOST / 2];
	struct update told;
	u32 moved; /* the seats that are still to be told, a bit each */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct letter);
} letters SEC(".maps");

/* An update comes in, behind the ACK that it was made of. 1 if it is one. */
static __always_inline int is_update(struct __sk_buff *skb)
{
	if (skb->tc_index != UPDATE_MARK)
		return 0;
	skb->tc_index = 0;
	/* The hash was that ACK's. */
	bpf_set_hash_invalid(skb);
	return 1;
}

/* Two bytes of a packet, if they are in one piece with what precedes them. */
static __always_inline u64 two_at(struct __sk_buff *skb, u32 at)
{
	const u16 *found = in_place(skb, at, sizeof(*found));

	return found ? *found : 0;
}

/* Which way a packet goes from here: to whom on the link, and by which VLANs. */
static __always_inline u64 way_of(struct __sk_buff *skb, const struct packet *p)
{
	u64 vlans = skb->vlan_tci;

	if (!settings.link_header_bytes)
		return 0;
	for (u32 i = 0; i < TAGS_MOST; i++) {
		if (p->ip_at > settings.link_header_bytes + 4 * i)
			vlans = vlans << 4 ^ two_at(skb, settings.link_header_bytes + 4 * i);
	}
	return two_at(skb, 0) << 48 | two_at(skb, 2) << 32 | two_at(skb, 4) << 16 | (vlans & 0xffff);
}

/* Where TCP's header begins in those of an update of a form, and how long they are. */
static __always_inline u32 tcp_at_of(u32 form)
{
	return (form & 15) == 4 ? sizeof(struct ipv4_header) : sizeof(struct ipv6_header);
}

static __always_inline u32 headers_of(u32 form)
{
	return tcp_at_of(form) + sizeof(struct tcp_header) + (form >> 4 ? STAMP_BYTES : 0);
}

/* Reads the headers of the ACK at hand. 0 if no update can be made of it. */
__noinline int open_letter(struct __sk_buff *skb, struct letter *l, u32 ip_at, u32 form)
{
	u32 bytes = headers_of(form), options = 0;

	if (!l)
		return 0;
	barrier_var(bytes);
	if (bytes - 1 >= HEADERS_MOST || bpf_skb_load_bytes(skb, ip_at, l->at_hand, bytes))
		return 0;
	if (!(form >> 4))
		return 1;
	__builtin_memcpy(&options, l->at_hand + (tcp_at_of(form) + sizeof(struct tcp_header)) / 2, sizeof(options));
	return options == bpf_htonl(STAMP_ALONE);
}

/* The ACK at hand is as it was. */
__noinline int close_letter(struct __sk_buff *skb, struct letter *l, u32 ip_at, u32 form)
{
	u32 bytes = headers_of(form);

	if (!l)
		return 0;
	barrier_var(bytes);
	return bytes - 1 < HEADERS_MOST && !bpf_skb_store_bytes(skb, ip_at, l->at_hand, bytes, BPF_F_RECOMPUTE_CSUM);
}

/* The update's headers are those of the ACK at hand. */
static __always_inline void copy_headers(struct letter *l)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < HEADERS_MOST / 2; i++)
		l->update[i] = l->at_hand[i];
}

/* What the update's headers add up to beyond those of the ACK at hand. A function of its own, as it needs no stack of its caller's. */
__noinline int change_of(const struct letter *l)
{
	u32 sum = 0;

	if (!l)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < HEADERS_MOST / 2; i++)
		sum += l->update[i] + (u16)~l->at_hand[i];
	return folded(sum);
}

/* What is TCP's of an update, with the checksum that an IP header's new address has left it. */
static __always_inline void write_tcp(struct letter *l, u32 tcp_at, int has_stamp, u16 check, int is_unsummed)
{
	struct tcp_header *tcp = (void *)((u8 *)l->update + tcp_at);
	u32 *stamp = (void *)(tcp + 1);

	tcp->source = l->told.key.client_port;
	tcp->dest = l->told.key.server_port;
	tcp->seq = bpf_htonl(l->told.seq);
	tcp->ack = bpf_htonl(l->told.ack);
	/* What the ACK at hand tells of congestion is another connection's. */
	tcp->data_offset = (tcp->data_offset & 0xf0) | (l->told.ace >> 2 & 1);
	tcp->flags = TCP_ACK | (u8)(l->told.ace << 6);
	tcp->window = bpf_htons(l->told.window);
	if (has_stamp) {
		stamp[1] = bpf_htonl(l->told.stamp);
		stamp[2] = bpf_htonl(l->told.echo);
	}
	READ_ANEW();
	/* Where it is still to be computed, its field has the sum of the pseudo-header, of which that address is a part. */
	tcp->check = is_unsummed ? check : gone((u16)~tcp->check + (u32)change_of(l));
}

/* Writes the headers of an update. */
__noinline int write_update(struct letter *l, u32 form, int is_unsummed)
{
	struct ipv4_header *v4;
	struct ipv6_header *v6;
	u32 sum, has_stamp = form >> 4;

	if (!l)
		return 0;
	copy_headers(l);
	READ_ANEW();
	v4 = (void *)l->update;
	v6 = (void *)l->update;
	if ((form & 15) == 4)
		v4->dest = l->told.key.server[3];
	else
		__builtin_memcpy(v6->dest, l->told.key.server, sizeof(v6->dest));
	READ_ANEW();
	sum = change_of(l);
	if ((form & 15) == 4) {
		struct tcp_header *tcp = (void *)(v4 + 1);

		write_tcp(l, sizeof(*v4), has_stamp, folded(tcp->check + sum), is_unsummed);
		/* Its mark, and whether it could bear one, are of the ACK at hand. */
		v4->tos &= 0xfc;
		v4->check = gone((u16)~v4->check + sum + l->update[0] + (u16)~l->at_hand[0]);
	} else {
		struct tcp_header *tcp = (void *)(v6 + 1);

		write_tcp(l, sizeof(*v6), has_stamp, folded(tcp->check + sum), is_unsummed);
		v6->version_flow &= bpf_htonl(~(3U << 20));
	}
	return 0;
}

/* Makes an update of the ACK at hand, which comes in behind it. 0 if it is on its way. */
__noinline int send_update(struct __sk_buff *skb, struct letter *l, u32 ip_at, u32 form)
{
	u32 bytes = headers_of(form), index = skb->tc_index;
	int failed;

	if (!l)
		return -1;
	write_update(l, form, is_unsummed(skb));
	barrier_var(bytes);
	if (bytes - 1 >= HEADERS_MOST || bpf_skb_store_bytes(skb, ip_at, l->update, bytes, BPF_F_RECOMPUTE_CSUM))
		return -1;
	skb->tc_index = UPDATE_MARK;
	failed = bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
	skb->tc_index = index;
	return failed;
}

#endif
