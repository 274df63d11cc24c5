/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * PROGRAM's two programs on the host: packets come by the standard input, and leave by the standard output as the
 * programs leave them. Each is a program's number, a length of two bytes in network order, and as many bytes; a length of
 * 0 asks for a look through the connections.
 */
#include <linux/bpf.h>
#include <stdio.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* What programs are told is constant for them alone. */
#define const
#include PROGRAM
#undef const

#define LINK_HEADER_BYTES 14

static struct Qdisc qdisc;
static struct net_device device = { .mtu = 65536, .qdisc = &qdisc };
static struct sk_buff in_kernel = { .dev = &device };

void *bpf_cast_to_kern_ctx(void *skb)
{
	(void)skb;
	/* The queue comes and goes. */
	qdisc.qstats.backlog = bpf_get_prandom_u32() >> 14;
	qdisc.bstats.bytes.v += qdisc.qstats.backlog / 8;
	return &in_kernel;
}

static int taken(unsigned char *to, size_t bytes)
{
	return fread(to, 1, bytes, stdin) == bytes;
}

/* Whether a packet that can be read without a call is read as any other. */
static int reads_alike(struct __sk_buff *skb, int to_client)
{
	struct packet plain, any;

	memset(&plain, 0, sizeof(plain));
	memset(&any, 0, sizeof(any));
	if (!read_plain(skb, LINK_HEADER_BYTES, to_client, &plain))
		return 1;
	return read_any_packet(skb, LINK_HEADER_BYTES, to_client, &any) == COUNTED_DATA && !memcmp(&plain, &any, sizeof(any));
}

/* What of a packet its device has added up. */
static unsigned int all_of(const struct __sk_buff *skb)
{
	return skb->len > LINK_HEADER_BYTES ? host_sum(LINK_HEADER_BYTES, skb->len - LINK_HEADER_BYTES) : 0;
}

/* What the sums of plain TCP come to: that of an IPv4 header, and TCP's with its pseudo-header. Right ones come to 0. */
struct sums {
	unsigned int ip;
	unsigned int tcp;
};

static struct sums sums_of_packet(struct __sk_buff *skb)
{
	struct sums sums = {};
	unsigned int at, length, type = network_of(skb, LINK_HEADER_BYTES, &at);

	if (type == 0x0800 && host_within(at, 40)) {
		sums.ip = host_sum(at, 20) % 0xffff;
		sums.tcp = host_folded((unsigned long long)host_sum(at + 12, 8) + host_sum(at + 20, skb->len - at - 20)) % 0xffff;
	} else if (type == 0x86dd && host_within(at, 60)) {
		sums.tcp = host_folded((unsigned long long)host_sum(at + 8, 32) + host_sum(at + 40, skb->len - at - 40)) % 0xffff;
	}
	return sums;
}

#ifdef LOOKS_THROUGH
static struct sums at_hand;

/* An update's sums are as good as those of the ACK that it is made of, and its window is not closed. */
static void look_at_update(void *skb)
{
	struct sums sums = sums_of_packet(skb);
	struct packet update;

	memset(&update, 0, sizeof(update));
	if (read_packet(skb, LINK_HEADER_BYTES, 0, &update) != COUNTED_DATA || !updates_form_of(&update) || !update.window)
		abort();
	if (((struct __sk_buff *)skb)->tc_index != UPDATE_MARK || sums.ip != at_hand.ip)
		abort();
	if (in_kernel.ip_summed != CHECKSUM_PARTIAL && sums.tcp != at_hand.tcp)
		abort();
	if (in_kernel.ip_summed == CHECKSUM_COMPLETE && host_packet.sum % 0xffff != all_of(skb) % 0xffff)
		abort();
}
#endif

int main(int count, char **words)
{
	unsigned char head[3];
	unsigned int verdict;

	settings.link_header_bytes = LINK_HEADER_BYTES;
	settings.target_ns = 25000000;
	settings.theta_ns = 50000000;
	settings.g_q10 = 901;
	settings.a_bytes = 20000;
	settings.tau_bytes = 500;
	for (int i = 1; i < count; i++) {
		settings.is_hidden |= !strcmp(words[i], "hidden");
		settings.is_clamp |= !strcmp(words[i], "clamp");
		settings.is_station |= !strcmp(words[i], "station");
	}
	settings.by_client = settings.is_hidden;
	settings.kappa_q10 = 256;
	settings.moves_others = settings.is_station;
#ifdef LOOKS_THROUGH
	host_look = look_at_update;
	for (unsigned int number = 1; number <= HOST_SPARE; number++) {
		host_push(&spare, &number);
		host_push(&spare_desks, &number);
	}
#endif
	while (taken(head, sizeof(head))) {
		struct __sk_buff *skb = &host_packet.seen;
		unsigned int bytes = head[1] << 8 | head[2];
		unsigned short type = 0;

#ifdef LOOKS_THROUGH
		if (!bytes)
			look_through(skb);
#endif
		if (!bytes)
			continue;
		host_packet.bytes = host_bytes(bytes);
		host_packet.link_header_bytes = LINK_HEADER_BYTES;
		if (!taken(host_packet.bytes, bytes))
			return 1;
		if (bytes >= LINK_HEADER_BYTES)
			memcpy(&type, host_packet.bytes + LINK_HEADER_BYTES - 2, sizeof(type));
		/* Some have no more than a part of their headers there. */
		host_packet.piece = bpf_get_prandom_u32() >> 30 ? bytes : bpf_get_prandom_u32() >> 25;
		memset(skb, 0, sizeof(*skb));
		skb->len = bytes;
		skb->protocol = type;
		/* Some are super-packets, and of half of these nobody has counted the segments. */
		if (!(bpf_get_prandom_u32() >> 29)) {
			skb->gso_size = bpf_get_prandom_u32() >> 23;
			skb->gso_segs = bpf_get_prandom_u32() >> 31 ? bpf_get_prandom_u32() >> 25 : 0;
		}
		if (!reads_alike(skb, head[0]))
			return 1;
		/* One device makes no sums, another one those of the segments, a third one those of whole packets. */
		in_kernel.ip_summed = bpf_get_prandom_u32() >> 30;
		host_packet.sum = all_of(skb);
#ifdef LOOKS_THROUGH
		at_hand = sums_of_packet(skb);
#endif
		verdict = head[0] ? to_client(skb) : to_server(skb);
		if (verdict != (unsigned int)TCX_PASS_ON)
			return 1;
		/* The sum of a packet is as good as the packet was; 0 is 65,535. */
		if (in_kernel.ip_summed == CHECKSUM_COMPLETE && host_packet.sum % 0xffff != all_of(skb) % 0xffff)
			return 1;
		bytes = skb->len;
		head[1] = bytes >> 8;
		head[2] = bytes;
		fwrite(head, 1, sizeof(head), stdout);
		fwrite(host_packet.bytes, 1, bytes, stdout);
		host_free(host_packet.bytes);
	}
	while (host_entries)
		host_remove(host_entries);
	return fflush(stdout) || (settings.is_station && !host_copies) ? 1 : 0;
}
