// SPDX-License-Identifier: MIT OR Apache-2.0
//! QFCP's equations.

/// The sender's window \[segments\] at a fair rate \[segments/s\].
//= qfcp#5  cwnd = max(feedback·RTT, MSS)
#[inline]
pub fn window(rate: f64, rtt_s: f64) -> f64 {
    (rate * rtt_s).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_rate_times_round_trip() {
        //= qfcp#5
        assert_eq!([400.0, 1.0].map(|rate| window(rate, 0.25)), [100.0, 1.0]);
    }
}
