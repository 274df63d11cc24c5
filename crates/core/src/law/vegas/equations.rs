// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Vegas and Veno reckon of a queue, windows in segments.

/// Segments of the flow's own that wait in the queue: (Expected − Actual)·BaseRTT, which is Actual·(RTT − BaseRTT); 0 where
/// a round trip takes no time. Times in any one unit.
#[inline]
pub fn backlog(cwnd: f64, base_rtt: f64, rtt: f64) -> f64 {
    //= vegas#diff  Diff = Expected − Actual, Expected = WindowSize/BaseRTT
    if rtt > 0.0 { cwnd * (1.0 - base_rtt / rtt) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= vegas#diff
    #[test]
    fn a_quarter_of_the_time_is_a_quarter_of_the_window() {
        // Expected 20/75, actual 20/100 segments a millisecond: the difference times 75 ms is 5 segments.
        assert_eq!(backlog(20.0, 75.0, 100.0), 5.0);
        assert_eq!((backlog(20.0, 100.0, 100.0), backlog(20.0, 0.0, 0.0)), (0.0, 0.0));
    }
}
