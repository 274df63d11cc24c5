// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two rules of binomial congestion control, windows in segments.

/// The window after an acknowledgement: its share 1/w of the α/wᵏ of a round trip more, less if it acknowledges less than a
/// segment.
#[inline]
pub fn increase(alpha: f64, k: f64, cwnd: f64, acked: f64) -> f64 {
    //= binomial#increase  I: w_{t+R} ← w_t + α/w_t^k
    cwnd + alpha * acked.min(1.0) / libm::pow(cwnd, k + 1.0)
}

/// What a loss leaves of a window w: βwˡ less.
pub fn decrease(beta: f64, l: f64, w: f64) -> f64 {
    //= binomial#decrease  D: w_{t+δt} ← w_t − βw_t^l
    w - beta * libm::pow(w, l)
}

#[cfg(test)]
mod tests {
    use super::*;

    //= binomial#increase
    //= binomial#decrease
    #[test]
    fn sqrt_at_a_window_of_16() {
        // k = l = ½. An ACK adds 1/(16·√16) = 1/64, half a segment half of it; a loss takes √16/2 = 2.
        let grown = [1.0, 2.0, 0.5].map(|acked| increase(1.0, 0.5, 16.0, acked));
        assert_eq!(grown, [16.015625, 16.015625, 16.0078125]);
        assert_eq!(decrease(0.5, 0.5, 16.0), 14.0);
    }

    #[test]
    fn iiad_at_a_window_of_16() {
        // k = 1, l = 0. An ACK adds 1/16² = 1/256; a loss takes ½, whatever the window.
        assert_eq!(increase(1.0, 1.0, 16.0, 1.0), 16.00390625);
        assert_eq!([16.0, 64.0].map(|w| decrease(0.5, 0.0, w)), [15.5, 63.5]);
    }

    #[test]
    fn tcps_own_law_is_one_of_them() {
        // k = 0, l = 1.
        assert_eq!((increase(1.0, 0.0, 8.0, 1.0), decrease(0.5, 1.0, 8.0)), (8.125, 4.0));
    }
}
