// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic against libm, each over its whole domain and within the bound that its header states.

use lasthop_fixed::arith::*;
use proptest::prelude::*;

const ONE_Q31: f64 = (1u64 << 31) as f64;

/// Numbers of up to `bits` bits, each length as likely as the next.
fn any_length(bits: u32) -> impl Strategy<Value = u64> {
    (1..=bits, any::<u64>()).prop_map(|(bits, x)| (x | 1 << 63) >> (64 - bits))
}

proptest! {
    #[test]
    fn a_factor_rounds_to_nearest(x in any_length(63), factor in 0..=1u64 << 31) {
        let exact = (u128::from(x) * u128::from(factor) + (1 << 30)) >> 31;
        prop_assert_eq!(u128::from(times_q31(x, factor)), exact);
        if x <= 1 << 31 {
            prop_assert_eq!(times_q31(x, x), squared_q31(x));
        }
    }

    #[test]
    fn products_divide(x in any_length(32)) {
        for x in [x, u64::from(u32::MAX) - x, x / 6 * 6, (x / 6 * 6).saturating_sub(1), x / 10 * 10, (x / 10 * 10).saturating_sub(1)] {
            prop_assert_eq!(sixth(x), x / 6);
            prop_assert_eq!(tenth(x), x / 10);
        }
    }

    #[test]
    fn the_decay_of_1600_ms_and_its_squares(t_ns in 65_536..6_400_000_000u64) {
        let mut found = decay_1600ms_q31(t_ns);
        for halvings in 0..7 {
            let horizon_ns = 1.6e9 / f64::from(1 << halvings);
            let x = t_ns as f64 / horizon_ns;
            let (kept, lost) = (found as f64 / ONE_Q31, 1.0 - found as f64 / ONE_Q31);
            prop_assert!((kept - libm::exp(-x)).abs() <= 1e-3, "{kept} at {x}");
            prop_assert!((lost / -libm::expm1(-x) - 1.0).abs() <= 1e-3, "{lost} at {x}");
            found = squared_q31(found);
        }
    }

    #[test]
    fn decay_is_exponential(x_q24 in any_length(30)) {
        let exact = libm::exp(-(x_q24 as f64) / f64::from(1 << 24));
        prop_assert!((decay_q31(x_q24) as f64 / ONE_Q31 - exact).abs() <= 2e-4);
    }

    #[test]
    fn decay_over_a_span(t_ns in any_length(40), span_ns in any_length(40)) {
        let exact = libm::exp(-(t_ns as f64) / span_ns as f64);
        prop_assert!((decay_over_q31(t_ns, span_ns) as f64 / ONE_Q31 - exact).abs() <= 2e-4);
    }

    #[test]
    fn logarithm(x in any_length(64)) {
        let found = log2_q16(x) as f64 / 65_536.0;
        prop_assert!((found - libm::log2(x as f64)).abs() <= 0.009, "{found}");
    }

    #[test]
    fn time_of_bytes(bytes in 0..=1u64 << 34, rate in any_length(36)) {
        prop_assert_eq!(u128::from(lasts_ns(bytes, rate)), u128::from(bytes) * 1_000_000_000 / u128::from(rate));
    }

    #[test]
    fn rate_of_bytes(bytes in any_length(50), t_ns in 10_000_000..6_400_000_000u64) {
        let exact = bytes as f64 / t_ns as f64 * 1e9;
        prop_assert!((rate_of(bytes, t_ns) as f64 - exact).abs() <= 1.0 + 1e-2 * exact);
        if bytes < 1 << 34 {
            prop_assert!((rate_of(bytes, t_ns) as f64 - exact).abs() <= 1.0);
        }
    }
}

#[test]
fn ends_of_the_domains() {
    assert_eq!(decay_1600ms_q31(0), 1 << 31);
    assert_eq!(decay_1600ms_q31(u64::MAX), decay_1600ms_q31(6_400_000_000));
    assert_eq!((decay_q31(0), decay_q31(u64::MAX)), (1 << 31, 0));
    assert_eq!((decay_over_q31(0, 1), decay_over_q31(1, 0), decay_over_q31(u64::MAX, 5)), (1 << 31, 0, 0));
    assert_eq!((log2_q16(0), log2_q16(1), log2_q16(1 << 63)), (0, 0, 63 << 16));
    assert_eq!((lasts_ns(1, 0), rate_of(1, 0)), (0, 0));
}
