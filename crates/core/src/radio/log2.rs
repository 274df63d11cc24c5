// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logarithms to base 2 by table: a slot of an access point takes several, and `libm::log2` would be half its cost.

use std::sync::LazyLock;

/// Bits of the mantissa that index the table.
const INDEX_BITS: u32 = 7;
const MANTISSA_BITS: u32 = 52;

static TABLE: LazyLock<Log2> = LazyLock::new(Log2::new);

/// For each of 128 parts of [1, 2): the reciprocal of its middle c, and log₂ c.
#[derive(Debug)]
pub(super) struct Log2([(f64, f64); 1 << INDEX_BITS]);

impl Log2 {
    fn new() -> Self {
        Self(core::array::from_fn(|part| {
            let middle = 1.0 + (part as f64 + 0.5) / f64::from(1 << INDEX_BITS);
            // The logarithm of the reciprocal as it was rounded.
            let reciprocal = 1.0 / middle;
            (reciprocal, -libm::log2(reciprocal))
        }))
    }

    /// The table, made at its first use.
    pub(super) fn table() -> &'static Self {
        &TABLE
    }

    /// log₂ x for a normal x of 1 or more, to 10⁻¹⁵ absolutely for the numbers of a radio.
    #[inline]
    pub(super) fn of(&self, x: f64) -> f64 {
        let bits = x.to_bits();
        let exponent = (bits >> MANTISSA_BITS) as i64 - 1023;
        let part = (bits >> (MANTISSA_BITS - INDEX_BITS)) as usize & ((1 << INDEX_BITS) - 1);
        let mantissa = f64::from_bits(bits & ((1 << MANTISSA_BITS) - 1) | 1023 << MANTISSA_BITS);
        let (reciprocal, log2) = self.0[part];
        // mantissa = c(1 + r) with |r| < 2⁻⁸: five terms of the series leave r⁶/6 < 10⁻¹⁵.
        let r = mantissa * reciprocal - 1.0;
        let r2 = r * r;
        let ln = r - r2 * (0.5 - r * (1.0 / 3.0)) - r2 * r2 * (0.25 - r * 0.2);
        exponent as f64 + (log2 + ln * core::f64::consts::LOG2_E)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_logarithm() {
        let log2 = Log2::table();
        for step in 0..200_000 {
            let x = 1.0 + libm::exp2(f64::from(step) / 5000.0 - 20.0);
            let (value, wanted) = (log2.of(x), libm::log2(x));
            assert!((value - wanted).abs() < 2e-15 * wanted.max(1.0), "log2({x}) = {value}, wanted {wanted}");
        }
    }

    #[test]
    fn it_is_zero_at_one_and_whole_at_powers() {
        for power in 0..30 {
            assert!((Log2::table().of(libm::exp2(f64::from(power))) - f64::from(power)).abs() < 1e-14);
        }
    }
}
