// SPDX-License-Identifier: MIT OR Apache-2.0
//! Additive increase, multiplicative decrease (RFC 5681 §3.1), windows in segments.

/// The window after an acknowledgement in congestion avoidance: α/cwnd more (RFC 5681 eq. 3), less if it acknowledges less
/// than a segment.
#[inline]
pub fn increase(alpha: f64, cwnd: f64, acked: f64) -> f64 {
    //= aimd#3  cwnd += SMSS*SMSS/cwnd
    cwnd + alpha * acked.min(1.0) / cwnd
}

/// The slow-start threshold after a loss: β of the flight (RFC 5681 eq. 4).
#[inline]
pub fn decrease(beta: f64, flight: f64) -> f64 {
    //= aimd#4  ssthresh = max (FlightSize / 2, 2*SMSS)
    beta * flight
}

/// α \[segments a round trip\] that makes TCP(α, β) as fast as TCP.
pub fn friendly_alpha(beta: f64) -> f64 {
    //= gamma#3  α = 4(1 − β²)/3
    4.0 * (1.0 - beta * beta) / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    //= aimd#3
    #[test]
    fn a_window_of_acks_adds_alpha_segments() {
        // Ten ACKs at a window of 10: each adds 1/cwnd with cwnd in [10, 11], so between 10/11 and 1 in all.
        let cwnd = (0..10).fold(10.0, |cwnd, _| increase(1.0, cwnd, 1.0));
        assert!((10.909..11.0).contains(&cwnd), "{cwnd}");
        // One ACK at 8: 1/8 exactly; a delayed one that covers two segments adds no more; half a segment adds half.
        assert_eq!([1.0, 2.0, 0.5].map(|acked| increase(1.0, 8.0, acked)), [8.125, 8.125, 8.0625]);
    }

    //= aimd#4
    #[test]
    fn alpha_and_beta_scale_growth_and_fall() {
        assert_eq!((increase(0.25, 8.0, 1.0), decrease(0.875, 16.0)), (8.03125, 14.0));
    }

    #[test]
    fn friendly_numbers_are_the_papers() {
        //= gamma#3
        // 4(1 − 1/4)/3 = 1; 4(1 − 9/16)/3 = 7/12; 4(1 − 1/16)/3 = 5/4; 4(1 − 49/64)/3 = 5/16.
        for (beta, alpha) in [(0.5, 1.0), (0.75, 0.583), (0.25, 1.25), (0.875, 0.3125)] {
            assert!((friendly_alpha(beta) - alpha).abs() < 5e-4, "{beta}");
        }
    }
}
