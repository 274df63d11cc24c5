/* SPDX-License-Identifier: Dual MIT/GPL */
/* From a packet to what of it matters. */
#ifndef LASTHOP_PACKET_H
#define LASTHOP_PACKET_H

#include "kernel.h"
#include "price.h"
#include "segments.h"
#include "state.h"

#define OPTION_MSS 2
#define OPTION_SCALE 3
#define OPTION_STAMP 8
#define OPTION_MD5 19
#define OPTION_AO 29
#define OPTION_MPTCP 30
#define OPTIONS_MOST 40

/* What nearly all segments have: NOP, NOP and a time stamp. */
#define STAMP_BYTES 12
#define STAMP_ALONE 0x0101080aU

/* Into how many headers before TCP's a packet is followed: VLAN tags, extensions of IPv6. */
#define TAGS_MOST 2
#define EXTENSIONS_MOST 4

struct tcp_header {
	u16 source;
	u16 dest;
	u32 seq;
	u32 ack;
	u8 data_offset;
	u8 flags;
	u16 window;
	u16 check;
	u16 urgent;
};

struct ipv4_header {
	u8 version_length;
	u8 tos;
	u16 length;
	u16 id;
	u16 fragment;
	u8 ttl;
	u8 protocol;
	u16 check;
	u32 source;
	u32 dest;
};

struct ipv6_header {
	u32 version_flow;
	u16 length;
	u8 next;
	u8 hops;
	u32 source[4];
	u32 dest[4];
};

/* Where the IP header begins, and its EtherType; 0 if there is none that is known. */
static __always_inline u16 network_of(struct __sk_buff *skb, u32 link_header_bytes, u32 *at)
{
	u16 type = skb->protocol;

	*at = link_header_bytes;
	if (!link_header_bytes)
		return bpf_ntohs(type);
	if (bpf_skb_load_bytes(skb, link_header_bytes - 2, &type, 2))
		return 0;
	for (int i = 0; i < TAGS_MOST; i++) {
		if (type != bpf_htons(0x8100) && type != bpf_htons(0x88a8))
			break;
		if (bpf_skb_load_bytes(skb, *at + 2, &type, 2))
			return 0;
		*at += 4;
	}
	return bpf_ntohs(type);
}

/* The length that an IP header says, or what is there of a super-packet of more than 64 kB, which says 0. */
static __always_inline u32 length_of(struct __sk_buff *skb, u32 said, u32 at)
{
	return !said && skb->gso_size && skb->len - at > 0xffff ? skb->len - at : said;
}

/* What the options say. */
struct options {
	u8 bytes[OPTIONS_MOST];
	u32 length;
	u32 at; /* the next one */
	u32 stamp;
	u32 echo;
	u32 mss_at;
	u16 mss;
	u8 scale;
	u8 has_scale;
	u8 has_stamp;
	u8 is_foreign;
	u8 is_malformed;
};

/* Four bytes from i on; i at most OPTIONS_MOST - 4. */
static __always_inline u32 four(const u8 *bytes, u32 i)
{
	return (u32)bytes[i] << 24 | (u32)bytes[i + 1] << 16 | (u32)bytes[i + 2] << 8 | bytes[i + 3];
}

/* Reads one option; 1 if it was the last. */
static long next_option(u64 n, struct options *o)
{
	u32 i = o->at, kind, size;

	(void)n;
	if (i >= o->length || i >= OPTIONS_MOST)
		return 1;
	kind = o->bytes[i];
	if (kind == 0)
		return 1;
	if (kind == 1) {
		o->at = i + 1;
		return 0;
	}
	size = i + 1 < OPTIONS_MOST ? o->bytes[i + 1] : 0;
	if (size < 2 || i + size > o->length) {
		o->is_malformed = 1;
		return 1;
	}
	o->at = i + size;
	if (kind == OPTION_MSS && size == 4 && i <= OPTIONS_MOST - 4) {
		o->mss = (u16)o->bytes[i + 2] << 8 | o->bytes[i + 3];
		o->mss_at = i;
	} else if (kind == OPTION_SCALE && size == 3 && i <= OPTIONS_MOST - 3) {
		o->has_scale = 1;
		/* RFC 7323, 2.3: more than 14 counts as 14. */
		o->scale = o->bytes[i + 2] > 14 ? 14 : o->bytes[i + 2];
	} else if (kind == OPTION_STAMP && size == 10 && i <= OPTIONS_MOST - 10) {
		o->has_stamp = 1;
		o->stamp = four(o->bytes, i + 2);
		o->echo = four(o->bytes, i + 6);
	} else if (kind == OPTION_MD5 || kind == OPTION_AO || kind == OPTION_MPTCP) {
		o->is_foreign = 1;
	}
	return 0;
}

/* Reads the options. 0 if they are not well formed. A function of its own, so that it is verified once. */
__noinline int read_options(struct __sk_buff *skb, struct packet *packet, u32 at, u32 length)
{
	struct options o = {};

	if (!packet || !length)
		return !!packet;
	/* Apart from the other, or clang makes one comparison of them, by which Linux before 6.18 knows no bounds. */
	barrier_var(length);
	if (length > OPTIONS_MOST)
		return 0;
	if (bpf_skb_load_bytes(skb, at, o.bytes, length))
		return 0;
	o.length = length;
	if (length == STAMP_BYTES && four(o.bytes, 0) == STAMP_ALONE) {
		o.has_stamp = 1;
		o.stamp = four(o.bytes, 4);
		o.echo = four(o.bytes, 8);
	} else {
		bpf_loop(OPTIONS_MOST, next_option, &o, 0);
	}
	packet->stamp = o.stamp;
	packet->echo = o.echo;
	packet->mss = o.mss;
	packet->mss_at = at + o.mss_at;
	packet->scale = o.scale;
	packet->has_scale = o.has_scale;
	packet->has_stamp = o.has_stamp;
	packet->is_foreign = o.is_foreign;
	return !o.is_malformed;
}

/* In how many segments a packet goes, whose payload is known. Of what is no TCP all is taken for that. */
static __always_inline u32 segments_of(const struct __sk_buff *skb, const struct packet *packet)
{
	return segments_in(packet->payload ? packet->payload : skb->len, skb->gso_size, skb->gso_segs);
}

/* What is common to all TCP, its header at `at`: so many bytes of it and its payload, so many of options, which are not read. */
static __always_inline void keep_tcp(const struct __sk_buff *skb, struct packet *packet, const struct tcp_header *tcp, u32 at,
				     u32 length, u32 options, int to_client)
{
	u32 segments;

	packet->key.client_port = to_client ? tcp->dest : tcp->source;
	packet->key.server_port = to_client ? tcp->source : tcp->dest;
	packet->tcp_at = at;
	packet->payload = length - sizeof(*tcp) - options;
	packet->header_bytes = at + sizeof(*tcp) + options;
	packet->segment = packet->payload;
	packet->size_bytes = skb->len;
	segments = segments_of(skb, packet);
	if (segments > 1) {
		packet->segment = skb->gso_size;
		packet->size_bytes += (segments - 1) * packet->header_bytes;
	}
	packet->seq = bpf_ntohl(tcp->seq);
	packet->ack = bpf_ntohl(tcp->ack);
	packet->flags = tcp->flags;
	packet->ace = (tcp->data_offset & 1) << 2 | tcp->flags >> 6;
	packet->window_raw = tcp->window;
	packet->window = bpf_ntohs(tcp->window);
	packet->check_raw = tcp->check;
}

/*
 * Reads what nearly all packets are, without a call: TCP right behind the fixed part of an IP header or the price behind that, in
 * one piece with it, without options or with a time stamp alone. 0, and nothing is kept, if it is any other or not well formed.
 */
static __always_inline int read_plain(struct __sk_buff *skb, u32 link_header_bytes, int to_client, struct packet *packet)
{
	const u8 *bytes = first_bytes(skb), *end = first_end(skb), *ip_bytes = bytes + link_header_bytes;
	u32 source[4] = {}, dest[4] = {};
	u32 at = link_header_bytes, length, options, price_at = 0, price_raw = 0;
	const struct tcp_header *tcp;
	u16 type = skb->protocol;
	u8 version, dscp;

	if (link_header_bytes) {
		if (ip_bytes > end)
			return 0;
		type = *(const u16 *)(ip_bytes - 2);
	}
	if (type == bpf_htons(0x0800)) {
		const struct ipv4_header *ip = (const void *)ip_bytes;
		const struct price_v4 *price = (const void *)(ip + 1);

		tcp = (const void *)price;
		if ((const u8 *)(tcp + 1) > end)
			return 0;
		if (ip->fragment & bpf_htons(0x3fff) || ip->protocol != 6)
			return 0;
		/* The header's less than its length makes a length that no packet has. */
		length = length_of(skb, bpf_ntohs(ip->length), at) - sizeof(*ip);
		at += sizeof(*ip);
		if (ip->version_length == 0x47 && is_price_v4(price)) {
			tcp = (const void *)(price + 1);
			price_at = at + __builtin_offsetof(struct price_v4, price_q30);
			price_raw = price->price_q30;
		} else if (ip->version_length != 0x45) {
			return 0;
		}
		version = 4;
		dscp = ip->tos >> 2;
		source[2] = dest[2] = bpf_htonl(0xffff);
		source[3] = ip->source;
		dest[3] = ip->dest;
	} else if (type == bpf_htons(0x86dd)) {
		const struct ipv6_header *ip = (const void *)ip_bytes;
		const struct price_v6 *price = (const void *)(ip + 1);

		tcp = (const void *)price;
		if ((const u8 *)(tcp + 1) > end)
			return 0;
		if (bpf_ntohl(ip->version_flow) >> 28 != 6)
			return 0;
		at += sizeof(*ip);
		length = length_of(skb, bpf_ntohs(ip->length), at);
		if (ip->next == DESTINATION_OPTIONS && price->next == 6 && is_price_v6(price)) {
			tcp = (const void *)(price + 1);
			price_at = at + __builtin_offsetof(struct price_v6, price_q30);
			price_raw = price->price_q30;
		} else if (ip->next != 6) {
			return 0;
		}
		version = 6;
		dscp = bpf_ntohl(ip->version_flow) >> 22 & 63;
		__builtin_memcpy(source, ip->source, 16);
		__builtin_memcpy(dest, ip->dest, 16);
	} else {
		return 0;
	}
	if (price_at) {
		if ((const u8 *)(tcp + 1) > end)
			return 0;
		length -= PRICE_BYTES;
		at += PRICE_BYTES;
	}
	options = (tcp->data_offset >> 4) * 4 - sizeof(*tcp);
	if (length > skb->len - at || length < sizeof(*tcp) + options)
		return 0;
	if (options == STAMP_BYTES) {
		const u32 *words = (const void *)(tcp + 1);

		if ((const u8 *)(words + 3) > end || words[0] != bpf_htonl(STAMP_ALONE))
			return 0;
		packet->has_stamp = 1;
		packet->stamp = bpf_ntohl(words[1]);
		packet->echo = bpf_ntohl(words[2]);
	} else if (options) {
		return 0;
	}
	packet->is_plain = !price_at;
	packet->price_at = price_at;
	packet->price_q30 = bpf_ntohl(price_raw);
	packet->ip_version = version;
	packet->ip_at = link_header_bytes;
	packet->dscp = dscp;
	packet->mss_at = options ? at + sizeof(*tcp) : 0;
	__builtin_memcpy(packet->key.client, to_client ? dest : source, 16);
	__builtin_memcpy(packet->key.server, to_client ? source : dest, 16);
	keep_tcp(skb, packet, tcp, at, length, options, to_client);
	return 1;
}

/* Reads the headers of any packet, TCP's options apart; COUNTED_DATA if it is TCP, else what it is. Verified once as well. */
__noinline int read_headers(struct __sk_buff *skb, u32 link_header_bytes, int to_client, struct packet *packet)
{
	u32 at, length, options;
	u32 source[4] = {}, dest[4] = {};
	struct tcp_header tcp;
	u16 type;
	u8 protocol;

	if (!packet)
		return COUNTED_MALFORMED;
	type = network_of(skb, link_header_bytes, &at);
	packet->ip_at = at;
	if (type == 0x0800) {
		struct ipv4_header ip;
		u32 header;

		if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)))
			return COUNTED_MALFORMED;
		header = (ip.version_length & 15) * 4;
		if (ip.version_length >> 4 != 4 || header < 20)
			return COUNTED_MALFORMED;
		packet->ip_version = 4;
		length = length_of(skb, bpf_ntohs(ip.length), at);
		/* It may be cut off. */
		if (header >= sizeof(ip) + PRICE_BYTES && header <= length && at + header <= skb->len)
			keep_price_v4(skb, packet, at + sizeof(ip));
		if (ip.fragment & bpf_htons(0x3fff))
			return COUNTED_FRAGMENT;
		protocol = ip.protocol;
		source[2] = dest[2] = bpf_htonl(0xffff);
		source[3] = ip.source;
		dest[3] = ip.dest;
		if (length < header)
			return COUNTED_MALFORMED;
		length -= header;
		at += header;
		packet->dscp = ip.tos >> 2;
	} else if (type == 0x86dd) {
		struct ipv6_header ip;

		if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)))
			return COUNTED_MALFORMED;
		if ((bpf_ntohl(ip.version_flow) >> 28) != 6)
			return COUNTED_MALFORMED;
		packet->ip_version = 6;
		protocol = ip.next;
		at += sizeof(ip);
		length = length_of(skb, bpf_ntohs(ip.length), at);
		if (protocol == DESTINATION_OPTIONS && length >= PRICE_BYTES)
			keep_price_v6(skb, packet, at);
		__builtin_memcpy(source, ip.source, 16);
		__builtin_memcpy(dest, ip.dest, 16);
		for (int i = 0; i < EXTENSIONS_MOST; i++) {
			u8 extension[2];
			u32 size;

			/* hop-by-hop, the first alone (RFC 8200, 4.1); routing, destination */
			if ((protocol != 0 || i) && protocol != 43 && protocol != 60)
				break;
			if (bpf_skb_load_bytes(skb, at, extension, 2))
				return COUNTED_MALFORMED;
			size = (extension[1] + 1) * 8;
			if (length < size)
				return COUNTED_MALFORMED;
			protocol = extension[0];
			at += size;
			length -= size;
		}
		packet->dscp = bpf_ntohl(ip.version_flow) >> 22 & 63;
	} else {
		return COUNTED_OTHER;
	}
	__builtin_memcpy(packet->key.client, to_client ? dest : source, 16);
	__builtin_memcpy(packet->key.server, to_client ? source : dest, 16);
	if (protocol == 17)
		return COUNTED_UDP;
	if (protocol == 44)
		return COUNTED_FRAGMENT;
	if (protocol == 50 || protocol == 51)
		return COUNTED_IPSEC;
	if (protocol != 6)
		return COUNTED_OTHER;

	if (length < sizeof(tcp) || at + length > skb->len || bpf_skb_load_bytes(skb, at, &tcp, sizeof(tcp)))
		return COUNTED_MALFORMED;
	options = tcp.data_offset >> 4;
	if (options < 5 || length < options * 4)
		return COUNTED_MALFORMED;
	options = options * 4 - sizeof(tcp);
	packet->is_plain = at == packet->ip_at + (packet->ip_version == 4 ? sizeof(struct ipv4_header) : sizeof(struct ipv6_header));
	keep_tcp(skb, packet, &tcp, at, length, options, to_client);
	return COUNTED_DATA;
}

/* Reads any packet. Options are read after the headers, not within, because the stacks of both would add up. */
__noinline int read_any_packet(struct __sk_buff *skb, u32 link_header_bytes, int to_client, struct packet *packet)
{
	int kind;
	u32 at;

	if (!packet)
		return COUNTED_MALFORMED;
	kind = read_headers(skb, link_header_bytes, to_client, packet);
	at = packet->tcp_at + sizeof(struct tcp_header);
	return kind == COUNTED_DATA && !read_options(skb, packet, at, packet->header_bytes - at) ? COUNTED_MALFORMED : kind;
}

/* Reads a packet; COUNTED_DATA if it is TCP, else what it is. `to_client` says which of its ends is the client. */
static __always_inline int read_packet(struct __sk_buff *skb, u32 link_header_bytes, int to_client, struct packet *packet)
{
	return read_plain(skb, link_header_bytes, to_client, packet) ?
		       COUNTED_DATA :
		       read_any_packet(skb, link_header_bytes, to_client, packet);
}

/* How far in a packet what is written in place begins at most: the verifier wants a bound. */
#define IN_PLACE_MOST 255

/* So many bytes of a packet, if they are in one piece with what precedes them; else 0. */
static __always_inline void *in_place(struct __sk_buff *skb, u32 at, u32 bytes)
{
	u8 *found;

	if (at > IN_PLACE_MOST)
		return 0;
	found = (u8 *)first_bytes(skb) + at;
	return found + bytes <= (const u8 *)first_end(skb) ? found : 0;
}

/* What has been added up, in 16 bits; up to 2^32 - 2^16. */
static __always_inline u16 folded(u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (u16)((sum & 0xffff) + (sum >> 16));
}

static __always_inline u16 gone(u32 sum)
{
	return ~folded(sum);
}

/*
 * Puts another window into the header, and with it the checksum (RFC 1624) unless that is still to be computed: what
 * bpf_l4_csum_replace would do. In place where the header is in one piece with what precedes it: the call costs 35 ns where
 * returns are mitigated. A sum over all of the packet stays what it was. 0 if it is done.
 */
static __always_inline long put_window(struct __sk_buff *skb, const struct packet *packet, u16 window)
{
	u16 raw[2] = { bpf_htons(window), packet->check_raw };
	u32 sum = (u16)~packet->check_raw + (u16)~packet->window_raw + raw[0];
	u32 at = packet->tcp_at + __builtin_offsetof(struct tcp_header, window);
	void *field = in_place(skb, at, sizeof(raw));

	_Static_assert(__builtin_offsetof(struct tcp_header, check) == __builtin_offsetof(struct tcp_header, window) + 2, "");
	if (!is_unsummed(skb))
		raw[1] = ~folded(sum);
	if (!field)
		return bpf_skb_store_bytes(skb, at, raw, sizeof(raw), 0);
	__builtin_memcpy(field, raw, sizeof(raw));
	return 0;
}

#endif
