/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What routers behind the access point say of packets that were too big (RFC 792, RFC 1191, RFC 4443). What of them was its price the server
 * does not know: it would send as much as the message names, and each time that would be too much again.
 */
#ifndef LASTHOP_TOO_BIG_H
#define LASTHOP_TOO_BIG_H

#include "packet.h"
#include "pricing.h"

#define PROTOCOL_ICMP 1
#define PROTOCOL_ICMP_V6 58

/* No MTU is made smaller than that: hosts of IPv4 heed no less, and IPv6 has no less (RFC 8200, 5). */
#define LEAST_MTU_V4 576
#define LEAST_MTU_V6 1280

/* A message; of IPv4 the MTU is the second half alone. */
struct too_big {
	u8 type;
	u8 code;
	u16 check;
	u16 mtu[2];
};

/* Whether what is quoted at `at` has a price, and was TCP. */
static __always_inline int is_quoted_with_price(struct __sk_buff *skb, u32 at, u32 version)
{
	if (version == 4) {
		struct {
			struct ipv4_header ip;
			struct price_v4 price;
		} quoted;

		return !bpf_skb_load_bytes(skb, at, &quoted, sizeof(quoted)) && (quoted.ip.version_length & 15) * 4U >= sizeof(quoted) &&
		       quoted.ip.protocol == 6 && is_price_v4(&quoted.price);
	} else {
		struct {
			struct ipv6_header ip;
			struct price_v6 price;
		} quoted;

		return !bpf_skb_load_bytes(skb, at, &quoted, sizeof(quoted)) && quoted.ip.next == DESTINATION_OPTIONS &&
		       quoted.price.next == 6 && is_price_v6(&quoted.price);
	}
}

/* Has such a message name what leaves room for a price, in a packet whose IP header is at `at`. 1 if it did not. Verified once. */
__noinline int leave_room(struct __sk_buff *skb, u32 at, u32 version)
{
	struct too_big said;
	u16 after;
	u32 mtu, room, length;
	u8 head[20];

	if (bpf_skb_load_bytes(skb, at, head, sizeof(head)))
		return 0;
	if (version == 4 && head[9] == PROTOCOL_ICMP) {
		length = excess((u32)head[2] << 8 | head[3], (head[0] & 15) * 4);
		at += (head[0] & 15) * 4;
	} else if (version == 6 && head[6] == PROTOCOL_ICMP_V6) {
		length = (u32)head[4] << 8 | head[5];
		at += sizeof(struct ipv6_header);
	} else {
		return 0;
	}
	/* What lies behind its end is nothing of it. */
	if (length < sizeof(said) + PRICE_BYTES + (version == 4 ? sizeof(struct ipv4_header) : sizeof(struct ipv6_header)))
		return 0;
	if (bpf_skb_load_bytes(skb, at, &said, sizeof(said)) || !is_quoted_with_price(skb, at + sizeof(said), version))
		return 0;
	mtu = bpf_ntohs(said.mtu[1]);
	if (version == 4) {
		if (said.type != 3 || said.code != 4 || mtu < LEAST_MTU_V4 + PRICE_BYTES)
			return 0;
		room = mtu - PRICE_BYTES;
	} else {
		/* None is as large as 64 kB where it was too small. */
		if (said.type != 2 || said.code || said.mtu[0] || mtu <= LEAST_MTU_V6)
			return 0;
		room = most(excess(mtu, PRICED_HEADERS_V6 - sizeof(struct ipv6_header) - sizeof(struct tcp_header)), LEAST_MTU_V6);
	}
	after = bpf_htons(room);
	return !bpf_l4_csum_replace(skb, at + __builtin_offsetof(struct too_big, check), said.mtu[1], after, sizeof(u16)) &&
	       !bpf_skb_store_bytes(skb, at + __builtin_offsetof(struct too_big, mtu[1]), &after, sizeof(u16), 0);
}

#endif
