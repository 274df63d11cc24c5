/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * A price is written into a packet, or taken out of it. What makes or closes the gap is a call of the kernel; all the rest is
 * written in place, and by a call where the header is not in one piece.
 */
#ifndef LASTHOP_PRICING_H
#define LASTHOP_PRICING_H

#include "packet.h"
#include "price.h"

#define GAP_FLAGS (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)

/* What of an IPv6 header changes with the price: from its length on. */
struct v6_follows {
	u16 length;
	u8 next;
	u8 hops;
};

#define V6_FOLLOWS_AT __builtin_offsetof(struct ipv6_header, length)

/* What is added up of words that come; of words that go it is what is gone. */
static __always_inline u32 sum_of(const void *words, u32 count)
{
	u16 word;
	u32 sum = 0;

	UNROLLED
	for (u32 i = 0; i < count; i++) {
		__builtin_memcpy(&word, (const u8 *)words + 2 * i, sizeof(word));
		sum += word;
	}
	return sum;
}

/* A sum over all of a packet, if its device made one, is told by how much words that were changed have changed it. */
static __always_inline void mend_sum(struct __sk_buff *skb, u32 sum)
{
	if (is_summed(skb))
		bpf_csum_update(skb, folded(sum));
}

/* Changes an IPv4 header's length, and its own sum by that and by what `sum` says of options. */
static __always_inline void lengthen(struct ipv4_header *ip, int by, u32 sum)
{
	sum += gone(ip->check) + gone(sum_of(ip, 2));
	ip->version_length += by / 4;
	ip->length = bpf_htons(bpf_ntohs(ip->length) + by);
	ip->check = gone(sum + sum_of(ip, 2));
}

/* The same of one in a packet. 0 if it is done. */
static __always_inline long put_length(struct __sk_buff *skb, u32 at, int by, u32 sum)
{
	struct ipv4_header *ip = in_place(skb, at, sizeof(*ip)), copy;

	if (ip) {
		lengthen(ip, by, sum);
		return 0;
	}
	if (bpf_skb_load_bytes(skb, at, &copy, sizeof(copy)))
		return -1;
	lengthen(&copy, by, sum);
	return bpf_skb_store_bytes(skb, at, &copy, sizeof(copy), 0);
}

/* Changes an IPv6 header's length, and what follows. 0 if it is done. */
static __always_inline long put_next(struct __sk_buff *skb, u32 at, int by, u8 next, u8 *before, u32 *sum)
{
	struct v6_follows *in = in_place(skb, at + V6_FOLLOWS_AT, sizeof(*in)), copy;

	if (in)
		__builtin_memcpy(&copy, in, sizeof(copy));
	else if (bpf_skb_load_bytes(skb, at + V6_FOLLOWS_AT, &copy, sizeof(copy)))
		return -1;
	*before = copy.next;
	*sum = gone(sum_of(&copy, 2));
	copy.length = bpf_htons(bpf_ntohs(copy.length) + by);
	copy.next = next;
	*sum += sum_of(&copy, 2);
	if (!in)
		return bpf_skb_store_bytes(skb, at + V6_FOLLOWS_AT, &copy, sizeof(copy), 0);
	__builtin_memcpy(in, &copy, sizeof(copy));
	return 0;
}

/* Writes what is new. 0 if it is done. */
static __always_inline long put_price(struct __sk_buff *skb, u32 at, const void *price)
{
	void *in = in_place(skb, at, PRICE_BYTES);

	if (!in)
		return bpf_skb_store_bytes(skb, at, price, PRICE_BYTES, 0);
	__builtin_memcpy(in, price, PRICE_BYTES);
	return 0;
}

/* Puts another number in the place of one that is there. 0 if it is done. */
static __always_inline long price_replace(struct __sk_buff *skb, const struct packet *packet, u32 price_q30)
{
	u32 before = bpf_htonl(packet->price_q30), raw = bpf_htonl(price_q30), at = packet->price_at;
	long failed;

	if (packet->ip_version == 6)
		return bpf_skb_store_bytes(skb, at, &raw, sizeof(raw), BPF_F_RECOMPUTE_CSUM);
	/* The sum of the header stays what it was, and with it that of the packet. */
	failed = bpf_l3_csum_replace(skb, packet->ip_at + __builtin_offsetof(struct ipv4_header, check), before, raw, sizeof(raw));
	return failed ? failed : bpf_skb_store_bytes(skb, at, &raw, sizeof(raw), 0);
}

/*
 * What must be left of the MTU beside the payload of an IPv6 segment with a price. A Linux that forwards takes what lies behind the fixed
 * header for TCP's (ip6_rcv_core), and of a super-packet, into which it may have joined segments, it reads the length of that header
 * (skb_gso_transport_seglen): where an option lies there, from the first bits of the sequence number, up to 60 B.
 */
#define PRICED_HEADERS_V6 (sizeof(struct ipv6_header) + 60)

/* Whether a segment, each of a super-packet's, has room for a price, and its header as well. */
static __always_inline int price_fits(struct __sk_buff *skb, const struct packet *packet, u32 mtu)
{
	u32 at = packet->ip_at;
	u8 head[8];

	if (packet->ip_version == 6 && packet->segment + PRICED_HEADERS_V6 > mtu)
		return 0;

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
	long failed = bpf_skb_adjust_room(skb, PRICE_BYTES, BPF_ADJ_ROOM_NET, GAP_FLAGS);
	u32 at = packet->ip_at, sum = 0;

	if (failed)
		return failed;
	if (packet->ip_version == 4) {
		struct price_v4 price = { PRICE_KIND, PRICE_BYTES, bpf_htons(PRICE_TAG), bpf_htonl(price_q30) };

		/* The sum of the header stays what it was, and with it that of the packet. */
		failed = put_length(skb, at, PRICE_BYTES, sum_of(&price, 4));
		return failed ? failed : put_price(skb, at + sizeof(struct ipv4_header), &price);
	} else {
		struct price_v6 price = { 0, 0, PRICE_TYPE, sizeof(u32), bpf_htonl(price_q30) };

		failed = put_next(skb, at, PRICE_BYTES, DESTINATION_OPTIONS, &price.next, &sum);
		if (!failed)
			failed = put_price(skb, at + sizeof(struct ipv6_header), &price);
		mend_sum(skb, sum + sum_of(&price, 4));
		return failed;
	}
}

/* Takes the price out again. 0 if it is done. */
static __always_inline long price_remove(struct __sk_buff *skb, const struct packet *packet)
{
	u32 at = packet->ip_at, sum = 0;
	u8 next, before;
	long failed;

	if (packet->ip_version == 4) {
		struct price_v4 price = { PRICE_KIND, PRICE_BYTES, bpf_htons(PRICE_TAG), bpf_htonl(packet->price_q30) };

		failed = bpf_skb_adjust_room(skb, -PRICE_BYTES, BPF_ADJ_ROOM_NET, GAP_FLAGS);
		if (failed)
			return failed;
		/* What the kernel has taken off the packet's sum, the header's makes up for. */
		sum = sum_of(&price, 4);
		failed = put_length(skb, at, -PRICE_BYTES, gone(sum));
	} else {
		const u8 *in = in_place(skb, at + sizeof(struct ipv6_header), 1);

		if (in)
			next = *in;
		else if (bpf_skb_load_bytes(skb, at + sizeof(struct ipv6_header), &next, 1))
			return -1;
		failed = bpf_skb_adjust_room(skb, -PRICE_BYTES, BPF_ADJ_ROOM_NET, GAP_FLAGS);
		if (failed)
			return failed;
		failed = put_next(skb, at, -PRICE_BYTES, next, &before, &sum);
	}
	mend_sum(skb, sum);
	return failed;
}

/* No MSS is made smaller than that. */
#define LEAST_MSS 100

/* The MSS that leaves room for a price on a link of so large packets, and on the station's own, of which its MSS tells (RFC 9293, 3.7.1). */
static __always_inline u32 mss_with_price(const struct packet *packet, u32 mss, u32 mtu)
{
	u32 plain = sizeof(struct tcp_header), priced = PRICED_HEADERS_V6;

	if (packet->ip_version == 4) {
		plain += sizeof(struct ipv4_header);
		priced = plain + PRICE_BYTES;
	} else {
		plain += sizeof(struct ipv6_header);
	}
	mtu = least(mtu, mss + plain);
	return mtu < priced + LEAST_MSS ? LEAST_MSS : mtu - priced;
}

/* Has the station ask for segments with room for a price. 1 if it did not already. */
static __always_inline int make_room(struct __sk_buff *skb, const struct packet *packet, u32 mtu)
{
	u32 room = mss_with_price(packet, packet->mss, mtu);
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
