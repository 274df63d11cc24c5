/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Inputs for each function of the headers, in a form that tests give to a program of the kernel and to the host alike. What
 * a function keeps stays from one vector to the next. Settings are constants of a program, as they are of the agent's.
 */
#ifndef LASTHOP_VECTORS_H
#define LASTHOP_VECTORS_H

#include "gamma.h"
#include "passer.h"
#include "proxy.h"
#include "receiver.h"
#include "unheard.h"
#include "wire.h"
#include "xcp.h"

#define VECTOR_NUMBERS 16
#define VECTOR_STATE 64

struct vector {
	u64 now_ns;
	u64 result;
	u64 v[VECTOR_NUMBERS];
	u64 state[VECTOR_STATE]; /* of what has no lock; a result that is more than a number */
};

/* The state, as what it is a state of. */
#define STATE_OF(type) ((struct type *)x->state)

/* How many parameters a list in parentheses has, and a call with as many numbers. */
#define COUNTED_7(a, b, c, d, e, f, g, ...) g
#define COUNT_OF(...) COUNTED_7(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)
#define GIVEN_1(f) f(v[0])
#define GIVEN_2(f) f(v[0], v[1])
#define GIVEN_3(f) f(v[0], v[1], v[2])
#define GIVEN_4(f) f(v[0], v[1], v[2], v[3])
#define GIVEN_5(f) f(v[0], v[1], v[2], v[3], v[4])
#define GIVEN_6(f) f(v[0], v[1], v[2], v[3], v[4], v[5])
#define GIVEN_AS(count, f) GIVEN_##count(f)
#define GIVEN(count, f) GIVEN_AS(count, f)

/* A case's body: its numbers by their short names. */
#define VECTOR(call) \
	({ \
		const u64 *v = x->v; \
		u64 now_ns = x->now_ns; \
		(void)v, (void)now_ns, (void)set, (void)f, (void)s, (void)r, (void)d; \
		(u64)(call); \
	})

LASTHOP_INLINE struct packet vector_packet(const u64 *v)
{
	struct packet p = {
		.seq = v[0], .ack = v[1], .payload = v[2], .segment = v[3], .header_bytes = v[4], .size_bytes = v[5],
		.stamp = v[6], .echo = v[7], .window = v[8], .mss = v[9], .flags = v[10],
		.scale = v[11] & 15, .has_scale = v[12] & 1, .has_stamp = v[13] & 1,
		.ace = v[10] >> 8 & 7,
	};

	return p;
}

LASTHOP_INLINE struct glance vector_glance(const u64 *v)
{
	struct glance queue = { v[14], v[15] };

	return queue;
}

LASTHOP_INLINE struct qfcp_settings vector_qfcp(const u64 *v)
{
	struct qfcp_settings set = { .capacity = v[8], .max_capacity = v[9], .forgets_q24 = v[10], .alpha_q16 = v[11],
				     .beta_q16 = v[12], .packet_bytes = v[13], .probing = v[14] & 1,
				     .careful = v[14] >> 1 & 1, .hold = v[14] >> 2 & 1 };

	return set;
}

LASTHOP_INLINE struct qfcp_sight vector_sight(u64 now_ns, const u64 *v)
{
	struct qfcp_sight sight = { now_ns, v[0], v[1], v[2], v[3] };

	return sight;
}

LASTHOP_INLINE struct xcp_settings vector_xcp(const u64 *v)
{
	struct xcp_settings set = { v[8], v[9], v[10], v[11], 0 };

	return set;
}

LASTHOP_INLINE struct xcp_header vector_header(const u64 *v)
{
	struct xcp_header header = { v[1], v[2], v[3], v[4], 0 };

	return header;
}

#endif
