// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic: exponentials, logarithm, quotients.

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// x times a factor of at most 1, rounded to nearest. Any x.
    #[link_name = "lasthop_times_q31"]
    pub safe fn times_q31(x: u64, factor_q31: u64) -> u64;

    /// The square of a factor of at most 1.
    #[link_name = "lasthop_squared_q31"]
    pub safe fn squared_q31(factor_q31: u64) -> u64;

    /// e^(-t/1.6 s) for t up to 6.4 s, more counting as 6.4 s; within 1e-3. Its square is that of 800 ms, the square of that one of 400 ms, and so on: one cubic for all horizons.
    #[link_name = "lasthop_decay_1600ms_q31"]
    pub safe fn decay_1600ms_q31(t_ns: u64) -> u64;

    /// x/6 for x below 2^32.
    #[link_name = "lasthop_sixth"]
    pub safe fn sixth(x: u64) -> u64;

    /// x/10 for x below 2^32.
    #[link_name = "lasthop_tenth"]
    pub safe fn tenth(x: u64) -> u64;

    /// e^(-x) for x in Q24, any; within 2e-4 below 16, and 0 beyond. By halving until x is at most 1/8, a cubic, and as many squarings.
    #[link_name = "lasthop_decay_q31"]
    pub safe fn decay_q31(x_q24: u64) -> u64;

    /// e^(-t/span) for t and span up to 2^40 ns; 0 where span is 0. Within 2e-4.
    #[link_name = "lasthop_decay_over_q31"]
    pub safe fn decay_over_q31(t_ns: u64, span_ns: u64) -> u64;

    /// log2 x for x of 1 and more, and 0 for 0; within .009: between powers of two f + .3436 f(1 - f).
    #[link_name = "lasthop_log2_q16"]
    pub safe fn log2_q16(x: u64) -> u64;

    /// a/b in so many ns, for sizes up to 2^34 B and rates of 1 B/s and more; 0 at rate 0. Rounds down.
    #[link_name = "lasthop_lasts_ns"]
    pub safe fn lasts_ns(bytes: u64, rate: u64) -> u64;

    /// The rate of so many bytes in t, for sizes up to 2^50 B; 0 at 0 ns. Rounds down; within 1e-4 from 10 ms on.
    #[link_name = "lasthop_rate_of"]
    pub safe fn rate_of(bytes: u64, t_ns: u64) -> u64;
}
