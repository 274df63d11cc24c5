/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Arithmetic of the laws, in integers alone: the kernel's programs have no floating point, no signed division and no
 * 128-bit numbers. The last part of a name is the scale: _q31 counts 2^-31, _ns nanoseconds. Domains are what tests
 * cover; outside them a result is capped, never undefined.
 */
#ifndef LASTHOP_ARITH_H
#define LASTHOP_ARITH_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define LASTHOP_INLINE static inline __attribute__((always_inline, unused))

/* Programs of the kernel have these as functions that are verified by themselves, once. What they give is any number to the rest: most give 0. */
#ifdef __bpf__
#define LASTHOP_APART __attribute__((noinline))
#else
#define LASTHOP_APART LASTHOP_INLINE
#endif

/* The verifier follows no loop that it need not. */
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED
#endif

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL
#define ONE_Q24 (1ULL << 24)
#define ONE_Q31 (1ULL << 31)

LASTHOP_INLINE u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

LASTHOP_INLINE u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* a - b, and 0 where b is more. */
LASTHOP_INLINE u64 excess(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* x times a factor of at most 1, rounded to nearest. Any x. */
LASTHOP_INLINE u64 times_q31(u64 x, u64 factor_q31)
{
	return (x >> 31) * factor_q31 + (((x & (ONE_Q31 - 1)) * factor_q31 + (ONE_Q31 >> 1)) >> 31);
}

/* The square of a factor of at most 1. */
LASTHOP_INLINE u64 squared_q31(u64 factor_q31)
{
	return (factor_q31 * factor_q31 + (ONE_Q31 >> 1)) >> 31;
}

/* x/6 and x/10 for x below 2^32, by a product: a program of the kernel is compiled to divide by a constant, too. */
LASTHOP_INLINE u64 sixth(u64 x)
{
	return x * 0xaaaaaaabULL >> 34;
}

LASTHOP_INLINE u64 tenth(u64 x)
{
	return x * 0xcccccccdULL >> 35;
}

/*
 * e^(-t/1.6 s) for t up to 6.4 s, more counting as 6.4 s; within 1e-3. Its square is that of 800 ms, the square of
 * that one of 400 ms, and so on: one cubic for all horizons.
 */
LASTHOP_INLINE u64 decay_1600ms_q31(u64 t_ns)
{
	/* u = t/(8 * 1.6 s), at most 1/2: 2^31 * 2^20/12.8e9 = 175,922. */
	u64 u = (least(t_ns, 6400 * NS_PER_MS) * 175922) >> 20;
	u64 u2 = squared_q31(u);
	u64 u3 = times_q31(u2, u);
	u64 e = ONE_Q31 - u + (u2 >> 1) - sixth(u3);

	return squared_q31(squared_q31(squared_q31(e)));
}

/*
 * e^(-x) for x in Q24, any; within 2e-4 below 16, and 0 beyond. By halving until x is at most 1/8, a cubic, and as many
 * squarings.
 */
LASTHOP_INLINE u64 decay_q31(u64 x_q24)
{
	u32 halvings = 0;
	u64 u, u2, u3, e;

	if (x_q24 >= 16 * ONE_Q24)
		return 0;
	UNROLLED
	for (u32 i = 0; i < 7; i++) {
		if (x_q24 > ONE_Q24 >> 3 << i)
			halvings = i + 1;
	}
	u = (x_q24 << 7) >> halvings;
	u2 = squared_q31(u);
	u3 = times_q31(u2, u);
	e = ONE_Q31 - u + (u2 >> 1) - sixth(u3);
	UNROLLED
	for (u32 i = 0; i < 7; i++) {
		if (i < halvings)
			e = squared_q31(e);
	}
	return e;
}

/* e^(-t/span) for t and span up to 2^40 ns; 0 where span is 0. Within 2e-4. */
LASTHOP_INLINE u64 decay_over_q31(u64 t_ns, u64 span_ns)
{
	if (t_ns >> 40 || !span_ns || t_ns >= 16 * span_ns)
		return 0;
	return decay_q31((t_ns << 24) / span_ns);
}

/* log2 x for x of 1 and more, and 0 for 0; within .009: between powers of two f + .3436 f(1 - f). */
LASTHOP_INLINE u64 log2_q16(u64 x)
{
	u64 whole = 0, f;

	UNROLLED
	for (u32 step = 32; step; step >>= 1) {
		if (x >> whole >> step)
			whole += step;
	}
	f = (whole >= 16 ? x >> (whole - 16) : x << (16 - whole)) & 0xffff;
	return (whole << 16) + f + ((f * (0x10000 - f) >> 16) * 22518 >> 16);
}

/* a/b in so many ns, for sizes up to 2^34 B and rates of 1 B/s and more; 0 at rate 0. Rounds down. */
LASTHOP_INLINE u64 lasts_ns(u64 bytes, u64 rate)
{
	return rate ? least(bytes, 1ULL << 34) * NS_PER_S / rate : 0;
}

/* The rate of so many bytes in t, for sizes up to 2^50 B; 0 at 0 ns. Rounds down; from 10 ms on within 3e-5 below 2^42 B and 1 % above. */
LASTHOP_INLINE u64 rate_of(u64 bytes, u64 t_ns)
{
	/* bytes * 10^9 has room below 2^34. */
	if (bytes >> 34) {
		bytes >>= 8;
		t_ns >>= 8;
	}
	if (bytes >> 34) {
		bytes >>= 8;
		t_ns >>= 8;
	}
	return t_ns ? least(bytes, 1ULL << 34) * NS_PER_S / t_ns : 0;
}

#endif
