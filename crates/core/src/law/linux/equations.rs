// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUBIC's equations as tcp_cubic.c has them: whole segments, and times in 2^−10 s.

/// β in 1/1024: what a loss leaves of the window.
const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// C·2^40/1024 in segments/s³: 0.4.
const CUBE_SCALE: u64 = 410;
/// Units of time in a second, as a power of two (BICTCP_HZ).
pub const TIME_BITS: u32 = 10;
/// Acknowledged eighths of a window for which Reno of this β grows by one: 8(1 + β)/3(1 − β).
const FRIENDLY: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// On the plateau one segment more is for so many windows acknowledged.
const PLATEAU: u32 = 100;
/// What no slow-start threshold falls below, in segments.
const LEAST_SSTHRESH: u32 = 2;

/// K \[2^−10 s\]: the time to a plateau that is so many segments above (RFC 9438 eq. 2). The kernel's root is good to 0.2 %.
pub fn k(segments_below: u32) -> u64 {
    let cube = (1u64 << (10 + 3 * TIME_BITS)) / CUBE_SCALE * u64::from(segments_below);
    libm::cbrt(cube as f64) as u64
}

/// The window of the cubic `t` after the beginning of an epoch \[2^−10 s\] (RFC 9438 eq. 1).
pub fn w_cubic(t: u64, k: u64, w_max: u32) -> i64 {
    // Beyond this the cube would not fit 64 bits, and the window would grow by half a round trip anyway.
    let offset = t.abs_diff(k).min(1 << 17);
    let delta = ((CUBE_SCALE * offset * offset * offset) >> (10 + 3 * TIME_BITS)) as i64;
    i64::from(w_max) + if t < k { -delta } else { delta }
}

/// For how many acknowledged segments the window grows by one, to be at `target` in a round trip.
pub fn count(cwnd: u32, target: i64) -> u32 {
    match target - i64::from(cwnd) {
        gap @ 1.. => (i64::from(cwnd) / gap) as u32,
        _ => PLATEAU * cwnd,
    }
}

/// For how many acknowledged segments Reno of this β grows by one.
pub fn reno_count(cwnd: u32) -> u32 {
    (cwnd * FRIENDLY) >> 3
}

/// W_max after a loss below the last one: a flow makes room for others by fast convergence (RFC 9438 §4.7).
pub fn converged_w_max(cwnd: u32) -> u32 {
    cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
}

/// The slow-start threshold after a loss, by CUBIC.
pub fn decrease(cwnd: u32) -> u32 {
    (cwnd * BETA / BETA_SCALE).max(LEAST_SSTHRESH)
}

/// The slow-start threshold after a loss, by Reno (tcp_reno_ssthresh).
pub fn halve(cwnd: u32) -> u32 {
    (cwnd / 2).max(LEAST_SSTHRESH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1 << TIME_BITS;

    #[test]
    fn the_plateau_is_k_away() {
        // C is 410/1024: ∛(30/0.4004) = 4.2158 s; there the window is 100. A second before, 0.4 less is nothing in whole segments; 3 s before,
        // 10.8 less is 10, and 3 s past it 10 more.
        let at = k(30);
        assert_eq!(at, (4.2158 * 1024.0) as u64);
        assert_eq!([0, 1, 3].map(|s| w_cubic(at - s * SECOND, at, 100)), [100, 100, 90]);
        assert_eq!([1, 3].map(|s| w_cubic(at + s * SECOND, at, 100)), [100, 110]);
        // An hour past it the cube is bounded: 128 s, of which 0.4·128³ = 838,860.8 come; 410/1024 is a little more.
        assert_eq!(w_cubic(at + 3600 * SECOND, at, 0), 839_680);
    }

    #[test]
    fn the_window_grows_by_its_share_of_the_way() {
        // Ten segments in a round trip of 100: one for ten. On the plateau, or above it, one for a hundred windows.
        assert_eq!([110, 100, 90].map(|target| count(100, target)), [10, 10_000, 10_000]);
    }

    #[test]
    fn reno_gains_a_segment_for_fifteen_eighths_of_a_window() {
        // 8·1741/3/307 = 15.1.
        assert_eq!(reno_count(80), 150);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_or_half() {
        // 100·717/1024 = 70.02; and with room for others 90·1.7002/2 = 76.5.
        assert_eq!([decrease(100), decrease(2), converged_w_max(90)], [70, 2, 76]);
        assert_eq!([halve(21), halve(3)], [10, 2]);
    }
}
