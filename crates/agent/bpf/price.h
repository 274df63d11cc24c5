/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The price in a packet, as docs/price-option.md lays it out: eight bytes right behind the fixed part of the IP header.
 * Elsewhere, or in another form, it is none.
 */
#ifndef LASTHOP_PRICE_H
#define LASTHOP_PRICE_H

#include "kernel.h"
#include "state.h"

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

static __always_inline int is_price_v4(const struct price_v4 *price)
{
	return price->kind == PRICE_KIND && price->length == PRICE_BYTES && price->tag == bpf_htons(PRICE_TAG);
}

static __always_inline int is_price_v6(const struct price_v6 *price)
{
	return !price->length && price->type == PRICE_TYPE && price->size == sizeof(u32);
}

/* Keeps what is behind the fixed part of an IP header, if it is a price. */
static __always_inline void keep_price_v4(struct __sk_buff *skb, struct packet *packet, u32 at)
{
	struct price_v4 price;

	if (bpf_skb_load_bytes(skb, at, &price, sizeof(price)) || !is_price_v4(&price))
		return;
	packet->price_at = at + __builtin_offsetof(struct price_v4, price_q30);
	packet->price_q30 = bpf_ntohl(price.price_q30);
}

static __always_inline void keep_price_v6(struct __sk_buff *skb, struct packet *packet, u32 at)
{
	struct price_v6 price;

	if (bpf_skb_load_bytes(skb, at, &price, sizeof(price)) || !is_price_v6(&price))
		return;
	packet->price_at = at + __builtin_offsetof(struct price_v6, price_q30);
	packet->price_q30 = bpf_ntohl(price.price_q30);
}

#endif
