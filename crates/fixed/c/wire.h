/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Numbers as headers carry them, in 16 bits: m * 2^e, the upper 5 bits being e and the others m, which has its own upper bit
 * set unless e is 0. So they are in the order of what they stand for. Sizes, rates and times take the same form.
 */
#ifndef LASTHOP_WIRE_H
#define LASTHOP_WIRE_H

#include "arith.h"

/* A rate that no router has lowered. */
#define WIRE_ALL 0xffffU
/* A change that no router has lowered, and the bit that makes a change one downwards. */
#define WIRE_ANY_CHANGE 0x7fffU
#define WIRE_DOWN 0x8000U

/* floor(log2 x); 0 for 0. */
LASTHOP_INLINE u32 wire_log2(u64 x)
{
	u32 whole = 0;

	UNROLLED
	for (u32 step = 32; step; step >>= 1) {
		if (x >> whole >> step)
			whole += step;
	}
	return whole;
}

/* m * 2^e with so many bits of m, to nearest; at most that of e = 31 less one. */
LASTHOP_INLINE u32 wire_coded(u64 x, u32 bits)
{
	u32 last = (32U << bits) - 2, whole, e, m;

	if (x >> bits == 0)
		return (u32)x;
	whole = wire_log2(x);
	if (whole > 31 + bits - 1)
		return last;
	e = whole - (bits - 1);
	m = (u32)((x + (1ULL << e >> 1)) >> e);
	if (m >> bits) {
		m >>= 1;
		e++;
	}
	return e > 31 ? last : (u32)least(e << bits | m, last);
}

LASTHOP_INLINE u64 wire_decoded(u32 coded, u32 bits)
{
	return (u64)(coded & ((1U << bits) - 1)) << (coded >> bits & 31);
}

/* A number up to 2^42 within 2^-11 of it; more counts as that. WIRE_ALL stands for none. */
LASTHOP_INLINE u16 wire_of(u64 x)
{
	return (u16)wire_coded(x, 11);
}

LASTHOP_INLINE u64 wire_value(u16 coded)
{
	return wire_decoded(coded, 11);
}

/* A change of a window, in either direction, within 2^-10 of it. WIRE_ANY_CHANGE stands for none. */
LASTHOP_INLINE u16 wire_change_of(s64 change_q8)
{
	u32 coded = wire_coded(change_q8 < 0 ? -(u64)change_q8 : (u64)change_q8, 10);

	return (u16)(change_q8 < 0 ? coded | WIRE_DOWN : coded);
}

LASTHOP_INLINE s64 wire_change_q8(u16 coded)
{
	s64 size = (s64)wire_decoded(coded & (WIRE_DOWN - 1), 10);

	return coded & WIRE_DOWN ? -size : size;
}

#endif
