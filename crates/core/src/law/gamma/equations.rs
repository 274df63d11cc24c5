// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion avoidance by round-trip times (gamma §IV).
//!
//! All of them are of ratios of times, which are the same in any one unit. The law hands in whole nanoseconds, so that what
//! is exactly the threshold passes it.

/// The queueing delay as a share of the greatest: 0 at the knee, 1 at the cliff; 0 while all times are alike.
#[inline]
pub fn queue_share(rtt: f64, min_rtt: f64, max_rtt: f64) -> f64 {
    let span = max_rtt - min_rtt;
    if span > 0.0 { (rtt - min_rtt) / span } else { 0.0 }
}

/// Whether the queue is so full that γ lowers the window.
#[inline]
pub fn is_above(threshold: f64, rtt: f64, min_rtt: f64, max_rtt: f64) -> bool {
    //= gamma#15  (RTT(t) − minRTT)/(maxRTT − minRTT) ≥ Th_upper
    queue_share(rtt, min_rtt, max_rtt) >= threshold
}

/// γ as a share of the window: what takes it to the knee.
pub fn gamma(threshold: f64, min_rtt: f64, max_rtt: f64) -> f64 {
    //= gamma#16  γ = minRTT / (Th·maxRTT + (1 − Th)·minRTT)
    min_rtt / (threshold * max_rtt + (1.0 - threshold) * min_rtt)
}

/// Whether the queue is so empty that the window grows by δ.
#[inline]
pub fn is_below(threshold: f64, rtt: f64, min_rtt: f64, max_rtt: f64) -> bool {
    //= gamma#17  (RTT(t) − minRTT)/(maxRTT − minRTT) ≤ Th_lower
    queue_share(rtt, min_rtt, max_rtt) <= threshold
}

/// What [`CutRule::Drain`](super::CutRule::Drain) leaves of the window: (minRTT/RTT)³, RTT being the least of a round trip.
///
/// One factor takes a path that all flows share to the knee. With a queue short against the path the two others take
/// twice as much again, so that a third of the windows empties the queue, and every flow learns the true minRTT.
pub fn drain(min_rtt: f64, standing_rtt: f64) -> f64 {
    let knee = min_rtt / standing_rtt;
    knee * knee * knee
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_a_share_of_the_greatest() {
        assert_eq!([100.0, 150.0, 200.0].map(|rtt| queue_share(rtt, 100.0, 200.0)), [0.0, 0.5, 1.0]);
        assert_eq!(queue_share(100.0, 100.0, 100.0), 0.0, "nothing is known of it yet");
    }

    #[test]
    fn thresholds_belong_to_what_is_beyond_them() {
        //= gamma#15
        //= gamma#17
        let at = |rtt| (is_above(0.5, rtt, 100.0, 200.0), is_below(0.5, rtt, 100.0, 200.0));
        assert_eq!([149.0, 150.0, 151.0].map(at), [(false, true), (true, true), (true, false)]);
    }

    #[test]
    fn gamma_is_two_thirds_with_a_buffer_of_one_product() {
        //= gamma#16
        // k = 1, so maxRTT = 2·minRTT: 1/(1 + 0.5·1). With k = 3 and Th = 1: back from the cliff, 1/(1 + 3) = β of
        // eq. 13.
        assert_eq!(gamma(0.5, 100.0, 200.0), 1.0 / 1.5);
        assert_eq!(gamma(1.0, 100.0, 400.0), 0.25);
    }

    #[test]
    fn draining_takes_the_cube() {
        assert_eq!(drain(100.0, 200.0), 0.125);
    }
}
