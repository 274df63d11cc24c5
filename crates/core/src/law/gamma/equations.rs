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

/// What [`CutRule::Drain`](super::CutRule::Drain) leaves of the window: (minRTT/RTT)⁴, RTT being the least of a round trip.
///
/// One factor takes a path that all flows share to the knee. With a queue short against the path the three others take
/// three times as much again, so that a quarter of the windows empties the queue, and every flow learns the true minRTT.
pub fn drain(min_rtt: f64, standing_rtt: f64) -> f64 {
    let knee = min_rtt / standing_rtt;
    knee * knee * (knee * knee)
}

/// maxRTT of [`CutRule::Drain`](super::CutRule::Drain) after a round trip whose least time was `standing_rtt`: each brings it
/// nearer by a 64th of what it is longer.
///
/// Flows that share a queue see the same crests of it, but one that was there for a higher crest would give way later than the
/// others for ever, and keep what they leave.
pub fn fading_maximum(max_rtt: f64, standing_rtt: f64) -> f64 {
    if standing_rtt >= max_rtt { standing_rtt } else { max_rtt - (max_rtt - standing_rtt) / 64.0 }
}

/// Whether a flow with so many segments under way has one of them at least in the queue: else times differ by chance alone.
///
/// Where the greatest fades and a flow is alone, it comes down to the noise of a host's clock. Slow start would end at once.
#[inline]
pub fn waits(rtt: f64, min_rtt: f64, window: f64) -> bool {
    (rtt - min_rtt) * window >= rtt
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
    fn draining_takes_the_fourth_power() {
        assert_eq!(drain(100.0, 200.0), 0.0625);
    }

    #[test]
    fn a_segment_waits_where_the_path_holds_one_less() {
        // 10 segments in 110 ms: 10 of these 110 ms hold 10/11 of one, 11 of 111 the whole of it.
        assert_eq!([110.0, 111.0, 112.0].map(|rtt| waits(rtt, 100.0, 10.0)), [false, false, true]);
        assert!(!waits(100.0, 100.0, 1e6));
    }

    #[test]
    fn the_maximum_fades_by_a_64th() {
        assert_eq!([264.0, 200.0, 300.0].map(|standing| fading_maximum(264.0, standing)), [264.0, 263.0, 300.0]);
    }
}
