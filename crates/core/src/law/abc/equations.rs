// SPDX-License-Identifier: MIT OR Apache-2.0
//! ABC's equations (Goyal et al., NSDI 2020). Bytes/s, seconds, packets.

/// The most tokens that are kept for later.
const MOST_TOKENS: f64 = 5.0;
/// The least window \[packets\].
const LEAST_WINDOW: f64 = 2.0;

/// The rate that a queue aims at \[B/s\], in front of a line of `rate`, where packets wait for `wait_s`.
#[inline]
pub fn target_rate(rate: f64, eta: f64, delta_s: f64, wait_s: f64, target_s: f64) -> f64 {
    //= abc#1  tr = ημ − (μ/δ)(x − d_t)⁺
    eta * rate - rate / delta_s * (wait_s - target_s).max(0.0)
}

/// The share of packets that are told to accelerate, where `departing` B/s leave: each brings two more, the others none.
#[inline]
pub fn accelerating(target_rate: f64, departing: f64) -> f64 {
    //= abc#2  f = clip(tr/(2 cr), 0, 1)
    if departing > 0.0 { (target_rate / (2.0 * departing)).clamp(0.0, 1.0) } else { 1.0 }
}

/// Whether a packet is told to accelerate, and the tokens behind it.
#[inline]
pub fn token(before: f64, accelerating: f64) -> (bool, f64) {
    //= abc#3  token = min(token + f, 5); if token > 1 accelerate and token = token − 1, else brake
    let tokens = (before + accelerating).min(MOST_TOKENS);
    if tokens > 1.0 { (true, tokens - 1.0) } else { (false, tokens) }
}

/// The window after what the routers told of some packets, `told` being how many more accelerate than brake \[packets\].
#[inline]
pub fn steered(window: f64, told: f64) -> f64 {
    //= abc#4  w = w + 1/w ± 1, at least 2
    (window + told).max(LEAST_WINDOW)
}

/// The additive part for `acked` packets, which makes windows alike.
#[inline]
pub fn increased(window: f64, acked: f64) -> f64 {
    //= abc#4  w = w + 1/w ± 1, at least 2
    window + acked / window
}

/// The most that either window may hold, with `flight` packets in flight: the one that does not bind is not to run away.
#[inline]
pub fn most(flight: f64) -> f64 {
    //= abc#5  both windows are at most 2 × the packets in flight, and the lesser holds
    (2.0 * flight).max(LEAST_WINDOW)
}
