// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP's equations. Bytes, seconds, bytes/s.
//!
//! At the router: an [average](over_arrivals) of the queue, what of it is too much ([`linear`], [`mice`], [`smooth`]),
//! and the [`price`] of that. At the receiver: the [rate], the [`force`] that the price leaves, the [`delay`], and what
//! becomes of the window.

pub use crate::estimator::{over_arrivals, over_time, rate};

/// σ: within which a line that rests shows that what the integral price has put together is too much \[s\].
const AT_REST_S: f64 = 0.5;

/// What of an averaged queue of `q` bytes is too much \[B\], with `a` in bytes: the price times μ_c.
#[inline]
pub fn linear(q: f64, a: f64, b: f64) -> f64 {
    //= clamp#7  p(q) = (bq − a)/μ_c
    //= clamp#13  p_s(q) = max((q − a)/μ_c, 0)
    (b * q - a).max(0.0)
}

/// What of the queue is too much \[B\], where a is taken from the queue itself.
#[inline]
pub fn mice(q: f64, a: f64, b: f64) -> f64 {
    //= clamp-mice#1  p_s(q) = max(0, b(q − a)/μ_c)
    (b * (q - a)).max(0.0)
}

/// What of the queue is too much \[B\]: a parabola up to 2a/b, which the line goes on from. With a = 0 it is the line.
#[inline]
pub fn smooth(q: f64, a: f64, b: f64) -> f64 {
    //= clamp-report#1  p(q) = (bq − a)/μ_c if q > 2a/b, else b²q²/(4aμ_c)
    if b * q > 2.0 * a {
        b * q - a
    } else if a > 0.0 {
        b * q * b * q / (4.0 * a)
    } else {
        0.0
    }
}

/// The price of `excess_bytes` too much \[s\], the queue having passed on `bytes` in `elapsed_s`: excess/μ_c, with one
/// division and none while there is nothing to ask for. 0 as long as the rate is unknown.
#[inline]
pub fn price(excess_bytes: f64, bytes: f64, elapsed_s: f64) -> f64 {
    if excess_bytes > 0.0 && bytes > 0.0 { excess_bytes * elapsed_s / bytes } else { 0.0 }
}

/// The integral price's own part \[s\], `gap_s` later, of a queue that takes `wait_s` where `target_s` are wanted. What is more than
/// twice the target counts as twice, or a fade would be paid for long after it.
#[inline]
pub fn integral(before_s: f64, wait_s: f64, target_s: f64, gain: f64, gap_s: f64) -> f64 {
    //= beyond#17  dI/dt = g·min(q/μ_c − T, T), I ≥ 0
    (before_s + gain * (wait_s - target_s).min(target_s) * gap_s).max(0.0)
}

/// What is left of that part \[s\] after a line has rested for `rest_s`: of what there would be a price for on an empty queue.
#[inline]
pub fn integral_at_rest(before_s: f64, target_s: f64, b: f64, rest_s: f64) -> f64 {
    //= beyond#26  I ← bT + (I − bT) e^(−t/σ) where I > bT, σ = ½ s
    let most_s = b * target_s;
    if before_s > most_s { most_s + (before_s - most_s) * libm::exp(-rest_s / AT_REST_S) } else { before_s }
}

/// What is held in place of the target \[s\], after a packet that waited for `waited_s`.
#[inline]
pub fn corrected(before_s: f64, waited_s: f64, target_s: f64, epsilon: f64) -> f64 {
    //= beyond#22  S ← S + ε(T − x), T/4 ≤ S ≤ 4T
    (before_s + epsilon * (target_s - waited_s)).clamp(target_s / 4.0, 4.0 * target_s)
}

/// The integral price \[s\].
#[inline]
pub fn integral_price(wait_s: f64, target_s: f64, b: f64, integral_s: f64) -> f64 {
    //= beyond#16  p = max(b(q/μ_c − T) + I, 0)
    (b * (wait_s - target_s) + integral_s).max(0.0)
}

/// What a flow of weight φ wants more in the queue than it has there \[B\]: 0 at rest.
#[inline]
pub fn force(phi: f64, tau_bytes: f64, price_s: f64, rate: f64) -> f64 {
    phi * tau_bytes - price_s * rate
}

/// The change of the window by a packet that comes `gap_s` after the one before \[B\]; none while d̂ is unknown.
#[inline]
pub fn scaled_change(force: f64, delay_s: f64, gap_s: f64) -> f64 {
    //= clamp#14  Δw = (τ − pμ̂)/d̂ · (t_k − t_{k−1})
    //= clamp-report#2  Δw = (φτ − pμ̂)/d̂ · (t_k − t_{k−1})
    if delay_s > 0.0 { force * gap_s / delay_s } else { 0.0 }
}

/// The same in the law of 2002 and 2003, where τ is in bytes/s.
#[inline]
pub fn unscaled_change(force: f64, gap_s: f64) -> f64 {
    //= clamp-report#10b  g = φτ − pμ
    force * gap_s
}

/// The change of a window of `window_bytes` that fills a path again \[B\]: by a share γu of itself in a round trip.
#[inline]
pub fn refill(window_bytes: f64, gamma: f64, rtt_s: f64, gap_s: f64) -> f64 {
    //= beyond#19  Δw ≥ γuw/RTT · (t_k − t_{k−1}), after a round trip of p = 0, while RTT ≤ 17/16 of its least since
    gamma * window_bytes / rtt_s * gap_s
}

/// u: by what part of γ a window of `window_bytes` grows where `full_bytes` have filled the path without a queue; 0: not known.
#[inline]
pub fn refill_part(window_bytes: f64, full_bytes: f64) -> f64 {
    //= beyond#23  u = |2(w/P − 1)|, 1/8 ≤ u ≤ 1, P: μ̂ at the last price, for the least RTT since
    if full_bytes > 0.0 { (2.0 * (window_bytes / full_bytes - 1.0)).abs().clamp(0.125, 1.0) } else { 1.0 }
}

/// Whether a round-trip time tells of an empty queue: it is longer than the least by this part at most.
#[inline]
pub fn is_empty(rtt_s: f64, least_s: f64, part: f64) -> bool {
    //= beyond#19  Δw ≥ γuw/RTT · (t_k − t_{k−1}), after a round trip of p = 0, while RTT ≤ 17/16 of its least since
    rtt_s <= (1.0 + part) * least_s
}

/// d̂ \[s\] after a packet, a new sample weighing `beta`; the first one, where `before_s` is 0, is its value.
#[inline]
pub fn delay(before_s: f64, awnd_bytes: f64, rate: f64, beta: f64) -> f64 {
    //= clamp#16  d̂ = (1 − β)d̂ + β · AWND/μ̂
    let sample_s = awnd_bytes / rate;
    let beta = if before_s > 0.0 { beta } else { 1.0 };
    before_s + beta * (sample_s - before_s)
}

/// What is advertised \[B\], where the operating system would offer `os_window_bytes`.
#[inline]
pub fn advertised(window_bytes: f64, os_window_bytes: f64) -> f64 {
    //= clamp#17  AWND = min(w, AWND)
    if window_bytes < os_window_bytes { window_bytes } else { os_window_bytes }
}

/// The change as far as it is carried out \[B\]: down by the packet's `payload_bytes` at most, up by `most_bytes`.
#[inline]
pub fn clipped(change_bytes: f64, payload_bytes: f64, most_bytes: f64) -> f64 {
    //= clamp-report#5  w = w − s_k if Δw < −s_k; w + Δw if −s_k ≤ Δw ≤ Δ̄; w + Δ̄ if Δw > Δ̄
    change_bytes.clamp(-payload_bytes, most_bytes)
}

/// The window after a packet of slow start \[B\].
#[inline]
pub fn slow_start(window_bytes: f64, mss_bytes: f64) -> f64 {
    //= clamp#4.3  w(t_k) = w(t_k) + MSS, and w/2 at its end
    window_bytes + mss_bytes
}

/// The window after slow start \[B\].
#[inline]
pub fn end_of_slow_start(window_bytes: f64) -> f64 {
    //= clamp#4.3  w(t_k) = w(t_k) + MSS, and w/2 at its end
    window_bytes / 2.0
}
