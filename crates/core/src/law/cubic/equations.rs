// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUBIC's equations (RFC 9438 §4), windows in segments and times in seconds.

/// W_cubic: the window `t_s` after the beginning of an epoch (eq. 1).
#[inline]
pub fn w_cubic(c: f64, t_s: f64, k_s: f64, w_max: f64) -> f64 {
    //= cubic#1  W_cubic(t) = C * (t − K)³ + W_max
    let dt = t_s - k_s;
    c * dt * dt * dt + w_max
}

/// K \[s\]: the time from `cwnd` at the beginning of an epoch to the plateau at W_max (eq. 2).
pub fn k_s(c: f64, w_max: f64, cwnd: f64) -> f64 {
    //= cubic#2  K = ∛((W_max − cwnd_epoch)/C)
    libm::cbrt((w_max - cwnd) / c)
}

/// The window to aim at, which is no less than the present one and at most half as much again (§4.2).
#[inline]
pub fn target(w_cubic: f64, cwnd: f64) -> f64 {
    //= cubic#4.2  target = cwnd if W_cubic(t + RTT) < cwnd; 1.5 * cwnd if W_cubic(t + RTT) > 1.5 * cwnd; W_cubic(t + RTT) otherwise
    w_cubic.clamp(cwnd, 1.5 * cwnd)
}

/// The window after an acknowledgement: its share of the way to the target in a round trip (§4.4, §4.5), less if it
/// acknowledges less than a segment.
#[inline]
pub fn increase(cwnd: f64, target: f64, acked: f64) -> f64 {
    //= cubic#4.4  cwnd MUST be incremented by (target − cwnd)/cwnd for each received new ACK
    cwnd + (target - cwnd) * acked.min(1.0) / cwnd
}

/// α_cubic: segments a round trip with which Reno of this β has the mean window of Reno (§4.3).
pub fn alpha(beta: f64) -> f64 {
    //= cubic#4.3  α_cubic = 3 * (1 − β_cubic)/(1 + β_cubic)
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// W_est: the window that Reno would have after an acknowledgement (eq. 4).
#[inline]
pub fn w_est(before: f64, alpha: f64, cwnd: f64, acked: f64) -> f64 {
    //= cubic#4  W_est = W_est + α_cubic * segments_acked/cwnd
    before + alpha * acked / cwnd
}

/// W_max after a loss below the last one: a flow makes room for others by fast convergence (§4.7).
pub fn converged_w_max(beta: f64, cwnd: f64) -> f64 {
    //= cubic#4.7  W_max = cwnd * (1 + β_cubic)/2, if cwnd < W_max and fast convergence is enabled
    cwnd * (1.0 + beta) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    //= cubic#1
    //= cubic#2
    #[test]
    fn the_plateau_is_k_away() {
        // A loss at 36 leaves 28.2 with C = 0.2888…: (36 − 28.2)/C = 27, so that K = 3 s; there the window is 36, and 28.2
        // at 0 s.
        let c = 7.8 / 27.0;
        assert!((k_s(c, 36.0, 28.2) - 3.0).abs() < 1e-12);
        assert_eq!(w_cubic(c, 3.0, 3.0, 36.0), 36.0);
        assert!((w_cubic(c, 0.0, 3.0, 36.0) - 28.2).abs() < 1e-12);
        // 2 s past it, with C = ½: 4 more.
        assert_eq!(w_cubic(0.5, 5.0, 3.0, 36.0), 40.0);
    }

    //= cubic#4.2
    //= cubic#4.4
    #[test]
    fn the_target_is_between_the_window_and_half_as_much_again() {
        assert_eq!([8.0, 18.0, 99.0].map(|w| target(w, 16.0)), [16.0, 18.0, 24.0]);
        // An ACK takes a 16th of the way from 16 to 18; two segments no more, half a segment half of it.
        assert_eq!([1.0, 2.0, 0.5].map(|acked| increase(16.0, 18.0, acked)), [16.125, 16.125, 16.0625]);
    }

    //= cubic#4.3
    //= cubic#4
    #[test]
    fn renos_window_has_renos_numbers_at_one_half() {
        // 3·½/1.5 = 1; and 3·0.25/1.75 = 3/7.
        assert_eq!(alpha(0.5), 1.0);
        assert!((alpha(0.75) - 3.0 / 7.0).abs() < 1e-15);
        assert_eq!(w_est(20.0, 0.5, 16.0, 4.0), 20.125);
    }

    //= cubic#4.7
    #[test]
    fn a_second_loss_makes_room() {
        // 16·1.75/2 = 14.
        assert_eq!(converged_w_max(0.75, 16.0), 14.0);
    }
}
