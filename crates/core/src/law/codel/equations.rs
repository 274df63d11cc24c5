// SPDX-License-Identifier: MIT OR Apache-2.0
//! CoDel's equations. Seconds.

/// The control law of RFC 8289: when the drop is due that comes after one at `t_s`, which was the `count`-th of its row:
/// t + interval/√count.
#[inline]
pub fn next_drop(t_s: f64, interval_s: f64, count: u32) -> f64 {
    //= codel#control_law  return t + INTERVAL / sqrt(count)
    t_s + interval_s / libm::sqrt(f64::from(count))
}

/// With which count a row of drops begins, where the one before began with `last_count` and came to `count`: soon after
/// it, at the rate where that was left (RFC 8289 §5.5).
#[inline]
pub fn first_count(count: u32, last_count: u32, soon: bool) -> u32 {
    //= codel#count  delta = count_ - lastcount_; count_ = 1; if ((delta > 1) && (now - drop_next_ < 16*INTERVAL)) count_ = delta
    let delta = count - last_count;
    if delta > 1 && soon { delta } else { 1 }
}
