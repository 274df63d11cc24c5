/* SPDX-License-Identifier: Dual MIT/GPL */
/* Whose weight is other than 1. */
#ifndef LASTHOP_WEIGHT_H
#define LASTHOP_WEIGHT_H

#include "packet.h"
#include "state.h"

/* Each object has its own. */
extern const volatile struct settings settings;

/* Whether the first bits of an address are a rule's. */
static __always_inline int has_prefix(const u32 *address, const volatile struct weight_rule *rule)
{
	u32 bits = rule->prefix_bits;

	UNROLLED
	for (u32 i = 0; i < 4; i++) {
		u32 here = bits > 32 * i ? least(bits - 32 * i, 32) : 0;
		u32 mask = here ? bpf_htonl(~0U << (32 - here)) : 0;

		if ((address[i] ^ rule->prefix[i]) & mask)
			return 0;
	}
	return 1;
}

/* phi, by the first rule that fits; else 1. A function of its own, so that it is verified once. */
__noinline int weight_of(const struct packet *p)
{
	if (!p)
		return 256;
	for (u32 i = 0; i < WEIGHT_RULES; i++) {
		const volatile struct weight_rule *rule = &settings.rules[i];

		if (i >= settings.rule_count)
			break;
		if (rule->port && rule->port != p->key.client_port && rule->port != p->key.server_port)
			continue;
		if (rule->has_dscp && rule->dscp != p->dscp)
			continue;
		if (has_prefix(p->key.client, rule) || has_prefix(p->key.server, rule))
			return rule->weight_q8;
	}
	return 256;
}

#endif
