// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the windows of a station become even, against what the rule says.

use lasthop_fixed::pool::{drift, moved_q16};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_quarter_of_the_difference_is_made_up_in_an_epoch(
        between in 1_000_u64..1 << 32, rtt_ms in 1_u64..4_000, longer in 1_u64..20,
    ) {
        // An epoch is of two round trips at least, and of 300 ms.
        let rtt_ns = rtt_ms * 1_000_000;
        let length_ns = (2 * rtt_ns).max(300_000_000) * longer;
        let slope = drift(between, rtt_ns, length_ns);
        let wanted = between as f64 * rtt_ms as f64 * 1e6 / (4.0 * length_ns as f64);
        // The quotient of the two times is in 2^-20.
        prop_assert!((slope as f64 - wanted).abs() <= 1.0 + between as f64 / f64::from(1 << 22), "{slope} {wanted}");
    }

    #[test]
    fn what_moves_is_the_slope_times_the_gap(slope in -(1_i64 << 30)..1 << 30, gap_ns in 0_u64..1 << 30) {
        // 2^30 ns count for a second.
        let wanted = slope as f64 * gap_ns as f64 * 65_536.0 / f64::from(1 << 30);
        let moved = moved_q16(slope, gap_ns) as f64;
        prop_assert!((wanted - 1.01..=wanted + 0.01).contains(&moved), "{moved} {wanted}");
    }
}
