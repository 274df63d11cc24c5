// SPDX-License-Identifier: MIT OR Apache-2.0
//! XCP's equations (qfcp §II).

/// The sender's window \[segments\] after an acknowledgement that grants a change of `granted` segments.
//= qfcp#2  cwnd = max(cwnd + feedback·RTT, MSS)
#[inline]
pub fn window(cwnd: f64, granted: f64) -> f64 {
    (cwnd + granted).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_always_left() {
        //= qfcp#2
        assert_eq!([2.5, -4.0, -20.0].map(|granted| window(10.0, granted)), [12.5, 6.0, 1.0]);
    }
}
