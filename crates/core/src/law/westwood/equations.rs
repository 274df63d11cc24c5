// SPDX-License-Identifier: MIT OR Apache-2.0
//! Westwood+'s estimate of the bandwidth, in segments and seconds.

/// The bandwidth \[segments/s\] after a sample of `delivered` segments in `elapsed_s`, with the weight `filter` of the past.
pub fn bandwidth(before: f64, delivered: f64, elapsed_s: f64, filter: f64) -> f64 {
    //= westwood#bandwidth  b̂_k = α·b̂_{k−1} + (1 − α)·b_k, b_k = d_k/Δ_k
    let sample = delivered / elapsed_s;
    filter * before + (1.0 - filter) * sample
}

/// What the path holds without a queue \[segments\]: the slow-start threshold after a loss.
pub fn path(bandwidth: f64, min_rtt_s: f64) -> f64 {
    //= westwood#ssthresh  ssthresh = max(2, (BWE·RTT_min)/seg_size)
    bandwidth * min_rtt_s
}

#[cfg(test)]
mod tests {
    use super::*;

    //= westwood#bandwidth
    //= westwood#ssthresh
    #[test]
    fn a_sample_counts_with_what_the_filter_leaves() {
        // 40 in 0.2 s are 200 segments/s: ¾ of 100 and ¼ of 200 are 125, which in 0.5 s are 62.5.
        assert_eq!(bandwidth(100.0, 40.0, 0.2, 0.75), 125.0);
        assert_eq!(path(125.0, 0.5), 62.5);
    }
}
