/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The price in a packet, as docs/price-option.md lays it out: eight bytes right behind the fixed part of the IP header.
 * Elsewhere, or in another form, it is none.
 */
#ifndef LASTHOP_PRICE_H
#define LASTHOP_PRICE_H

#include "packet.h"

#define PRICE_BYTES 8
#define PRICE_KIND 158 /* IPv4, of experiments (RFC 4727): copied into fragments */
#define PRICE_TAG 0x4c50 /* which experiment */
#define PRICE_TYPE 0x3e /* IPv6, of experiments: skipped by who does not know it, and may change on the way */
#define DESTINATION_OPTIONS 60

struct price_v4 {
	u8 kind;
	u8 length;
	u16 tag;
	u32 price_q30;
};

/* A header of destination options with nothing else in it. */
struct price_v6 {
	u8 next;
	u8 length;
	u8 type;
	u8 size;
	u32 price_q30;
};

#define V4_BYTES 20
#define V6_BYTES 40
#define V4_CHECK 10
#define V6_LENGTH 4
/* What of an IPv4 header changes with the option: up to its checksum. */
#define V4_HEAD 12

/* Where a price's number is in the packet; 0: there is none. */
static __always_inline u32 price_at(struct __sk_buff *skb, const struct packet *packet, u32 *price_q30)
{
	u32 at = packet->ip_at;

	if (packet->is_plain)
		return 0;
	if (packet->ip_version == 4) {
		struct price_v4 price;
		u8 head[4];
		u32 header;

		if (bpf_skb_load_bytes(skb, at, head, sizeof(head)))
			return 0;
		header = (head[0] & 15) * 4;
		if (header < V4_BYTES + PRICE_BYTES || length_of(skb, head[2] << 8 | head[3], at) < header)
			return 0;
		/* It may be cut off. */
		if (skb->len < at + header)
			return 0;
		at += V4_BYTES;
		if (bpf_skb_load_bytes(skb, at, &price, sizeof(price)))
			return 0;
		if (price.kind != PRICE_KIND || price.length != PRICE_BYTES || price.tag != bpf_htons(PRICE_TAG))
			return 0;
		*price_q30 = bpf_ntohl(price.price_q30);
	} else if (packet->ip_version == 6) {
		struct price_v6 price;
		u8 head[4];

		if (bpf_skb_load_bytes(skb, at + V6_LENGTH, head, sizeof(head)) || head[2] != DESTINATION_OPTIONS)
			return 0;
		if (length_of(skb, head[0] << 8 | head[1], at + V6_BYTES) < PRICE_BYTES)
			return 0;
		at += V6_BYTES;
		if (bpf_skb_load_bytes(skb, at, &price, sizeof(price)))
			return 0;
		if (price.length || price.type != PRICE_TYPE || price.size != sizeof(u32))
			return 0;
		*price_q30 = bpf_ntohl(price.price_q30);
	} else {
		return 0;
	}
	return at + PRICE_BYTES - sizeof(u32);
}

/* Puts another number in its place. 0 if it is done. */
static __always_inline long price_replace(struct __sk_buff *skb, const struct packet *packet, u32 at, u32 before_q30,
					  u32 price_q30)
{
	u32 before = bpf_htonl(before_q30), raw = bpf_htonl(price_q30);
	long failed;

	if (packet->ip_version == 6)
		return bpf_skb_store_bytes(skb, at, &raw, sizeof(raw), BPF_F_RECOMPUTE_CSUM);
	/* The sum of the header stays what it was, and with it that of the packet. */
	failed = bpf_l3_csum_replace(skb, packet->ip_at + V4_CHECK, before, raw, sizeof(raw));
	return failed ? failed : bpf_skb_store_bytes(skb, at, &raw, sizeof(raw), 0);
}

/* Begins an IPv4 header of another length: `by` bytes more, among them `words` at `added`, or as many less. */
static __always_inline long put_head(struct __sk_buff *skb, u32 at, int by, const struct price_v4 *removed,
				     const struct price_v4 *added)
{
	u8 head[V4_HEAD];
	u32 before, after;
	u16 length;
	s64 sum;

	if (bpf_skb_load_bytes(skb, at, head, sizeof(head)))
		return -1;
	__builtin_memcpy(&before, head, sizeof(before));
	__builtin_memcpy(&length, head + 2, sizeof(length));
	length = bpf_htons(bpf_ntohs(length) + by);
	head[0] += by / 4;
	__builtin_memcpy(head + 2, &length, sizeof(length));
	__builtin_memcpy(&after, head, sizeof(after));
	__builtin_memcpy(&length, head + V4_CHECK, sizeof(length));
	sum = bpf_csum_diff(&before, sizeof(before), &after, sizeof(after), (u16)~length);
	sum = removed ? bpf_csum_diff((u32 *)removed, sizeof(*removed), 0, 0, sum) :
			bpf_csum_diff(0, 0, (u32 *)added, sizeof(*added), sum);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff);
	sum = (sum & 0xffff) + (sum >> 16);
	length = ~(u16)sum;
	__builtin_memcpy(head + V4_CHECK, &length, sizeof(length));
	return bpf_skb_store_bytes(skb, at, head, sizeof(head), BPF_F_RECOMPUTE_CSUM);
}

/* The four bytes of an IPv6 header from its length on: `by` more, and what follows. */
static __always_inline long put_next(struct __sk_buff *skb, u32 at, int by, u8 next, u8 *before)
{
	u8 head[4];
	u16 length;

	if (bpf_skb_load_bytes(skb, at + V6_LENGTH, head, sizeof(head)))
		return -1;
	__builtin_memcpy(&length, head, sizeof(length));
	length = bpf_htons(bpf_ntohs(length) + by);
	__builtin_memcpy(head, &length, sizeof(length));
	*before = head[2];
	head[2] = next;
	return bpf_skb_store_bytes(skb, at + V6_LENGTH, head, sizeof(head), BPF_F_RECOMPUTE_CSUM);
}

/* Whether a segment, each of a super-packet's, has room for a price, and its header as well. */
static __always_inline int price_fits(struct __sk_buff *skb, const struct packet *packet, u32 mtu)
{
	u32 at = packet->ip_at;
	u8 head[8];

	/* Super-packets of more than 64 kB say no length. */
	if (packet->header_bytes - at + packet->segment + PRICE_BYTES > mtu || skb->len - at + PRICE_BYTES > 0xffff)
		return 0;
	if (packet->is_plain)
		return 1;
	if (bpf_skb_load_bytes(skb, at, head, sizeof(head)))
		return 0;
	if (packet->ip_version == 4)
		return (head[0] & 15) * 4 + PRICE_BYTES <= 60;
	/* Options of hops must stay the first (RFC 8200, 4.1), and what is behind others is not looked for. */
	return head[6] == 6;
}

/* Writes a price into a packet that has none. 0 if it is done. */
static __always_inline long price_insert(struct __sk_buff *skb, const struct packet *packet, u32 price_q30)
{
	u64 how = BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET;
	long failed = bpf_skb_adjust_room(skb, PRICE_BYTES, BPF_ADJ_ROOM_NET, how);
	u32 at = packet->ip_at;

	if (failed)
		return failed;
	if (packet->ip_version == 4) {
		struct price_v4 price = { PRICE_KIND, PRICE_BYTES, bpf_htons(PRICE_TAG), bpf_htonl(price_q30) };

		failed = put_head(skb, at, PRICE_BYTES, 0, &price);
		return failed ? failed : bpf_skb_store_bytes(skb, at + V4_BYTES, &price, sizeof(price), BPF_F_RECOMPUTE_CSUM);
	} else {
		struct price_v6 price = { 0, 0, PRICE_TYPE, sizeof(u32), bpf_htonl(price_q30) };

		failed = put_next(skb, at, PRICE_BYTES, DESTINATION_OPTIONS, &price.next);
		return failed ? failed : bpf_skb_store_bytes(skb, at + V6_BYTES, &price, sizeof(price), BPF_F_RECOMPUTE_CSUM);
	}
}

/* Takes the price out again. 0 if it is done. */
static __always_inline long price_remove(struct __sk_buff *skb, const struct packet *packet)
{
	u64 how = BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET;
	u32 at = packet->ip_at;

	if (packet->ip_version == 4) {
		struct price_v4 price;
		long failed = bpf_skb_load_bytes(skb, at + V4_BYTES, &price, sizeof(price));

		if (!failed)
			failed = bpf_skb_adjust_room(skb, -PRICE_BYTES, BPF_ADJ_ROOM_NET, how);
		return failed ? failed : put_head(skb, at, -PRICE_BYTES, &price, 0);
	} else {
		struct price_v6 price;
		u8 before;
		long failed = bpf_skb_load_bytes(skb, at + V6_BYTES, &price, sizeof(price));

		if (!failed)
			failed = bpf_skb_adjust_room(skb, -PRICE_BYTES, BPF_ADJ_ROOM_NET, how);
		return failed ? failed : put_next(skb, at, -PRICE_BYTES, price.next, &before);
	}
}

/* The largest MSS that leaves room for a price. */
static __always_inline u32 mss_with_price(const struct packet *packet, u32 mtu)
{
	u32 headers = (packet->ip_version == 4 ? V4_BYTES : V6_BYTES) + sizeof(struct tcp_header) + PRICE_BYTES;

	return mtu < headers + 100 ? 100 : mtu - headers;
}

/* Has the station ask for segments with room for a price. 1 if it did not already. */
static __always_inline int make_room(struct __sk_buff *skb, const struct packet *packet, u32 mtu)
{
	u32 room = mss_with_price(packet, mtu);
	u32 check_at = packet->tcp_at + __builtin_offsetof(struct tcp_header, check);
	u16 before = bpf_htons(packet->mss), after, sums[2];

	if (!packet->mss || packet->mss <= room)
		return 0;
	sums[0] = before;
	sums[1] = after = bpf_htons(room);
	if ((packet->mss_at - packet->tcp_at) & 1) {
		/* It lies across two words of the sum. */
		sums[0] = __builtin_bswap16(before);
		sums[1] = __builtin_bswap16(after);
	}
	return !bpf_l4_csum_replace(skb, check_at, sums[0], sums[1], sizeof(u16)) &&
	       !bpf_skb_store_bytes(skb, packet->mss_at + 2, &after, sizeof(after), 0);
}

#endif
