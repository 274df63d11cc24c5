// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share window's equations. Bytes on the wire, seconds, bytes/s.
//!
//! At the router: the rate of its line ([`horizon_bytes`] … [`horizon_changes`]), each flow's [`share`] of it and the [`wait`] behind
//! the packet that leaves, or both in [`one_number`]. At the receiver: the [`propagation`] delay, the share as it [`follow`]s, the
//! [`room`] that the queue leaves by the flow's [`kappa`], and the [`window`] that is [`advertised`].

pub use crate::estimator::{horizon_bytes, horizon_changes, horizon_error, horizon_loss, horizon_time, kept};

/// Beside T in the denominator of the one-number form \[s\], and its clips.
const ONE_NUMBER_S: f64 = 0.06;
const ONE_NUMBER_LEAST: f64 = 0.2;
const ONE_NUMBER_MOST: f64 = 1.6;
/// Steps of an octave.
const STEPS: f64 = 8.0;
/// The greatest code of 8 bits.
const MOST_CODE: f64 = 255.0;

/// ρ \[B/s\]: what a weight of 1 gets of a line of `rate`, of which `weights` want their part.
#[inline]
pub fn share(rate: f64, weights: f64) -> f64 {
    //= beyond#6  ρ = μ̂/Φ
    rate / weights
}

/// ρ \[B/s\] with those apart who take less than their part: they take `taken` B/s and weigh `theirs`.
#[inline]
pub fn share_of_rest(rate: f64, weights: f64, taken: f64, theirs: f64) -> f64 {
    //= beyond#18  ρ = (μ̂ − Σ_L r)/(Φ − Σ_L φ), L: r < ℓ φ μ̂/Φ
    if weights > theirs { share((rate - taken).max(0.0), weights - theirs) } else { share(rate, weights) }
}

/// A share that is raised by so many times, where others leave it `left` at present.
#[inline]
pub fn overbooked(share: f64, left: f64, times: f64) -> f64 {
    //= beyond#27  ρ ← max(ρ, min(f ρ, ρ′)), ρ′: ρ with L: r < .9 φ μ̂/Φ
    share.max(left.min(times * share))
}

/// y \[s\]: how long `queue_bytes` take.
#[inline]
pub fn wait(queue_bytes: f64, rate: f64) -> f64 {
    //= beyond#7  y = q/μ̂
    queue_bytes / rate
}

/// κ: how much of what the queue is too short or too long a flow makes up for at once. What it does comes `delay_s` later, when as
/// much of that is still there if such things last for `theta_s`.
#[inline]
pub fn kappa(theta_s: f64, delay_s: f64) -> f64 {
    //= beyond#24  κ = θ/(θ + d)
    if theta_s > 0.0 { theta_s / (theta_s + delay_s) } else { 0.0 }
}

/// r \[s\]: for how long of its share a flow may keep bytes in the queue, where `target_s` are wanted and `wait_s` found.
#[inline]
pub fn room(target_s: f64, kappa: f64, wait_s: f64) -> f64 {
    //= beyond#8  r = T + κ(T − y)
    target_s + kappa * (target_s - wait_s)
}

/// ρ′ \[B/s\]: share and wait in one number.
#[inline]
pub fn one_number(share: f64, target_s: f64, wait_s: f64) -> f64 {
    //= beyond#9  ρ′ = ρ·clip[1 + (T − y)/(T + 60 ms), .2, 1.6]
    share * (1.0 + (target_s - wait_s) / (target_s + ONE_NUMBER_S)).clamp(ONE_NUMBER_LEAST, ONE_NUMBER_MOST)
}

/// The code of a rate of at least 1 B/s in 8 bits: eighths of an octave.
#[inline]
pub fn code(rate: f64) -> u8 {
    //= beyond#10  n = 8 log2 ρ′, rounded
    libm::round(STEPS * libm::log2(rate)).clamp(0.0, MOST_CODE) as u8
}

/// The rate of a code \[B/s\].
#[inline]
pub fn rate_of(code: u8) -> f64 {
    libm::exp2(f64::from(code) / STEPS)
}

/// A sample of d \[s\]: the round trip without the wait in the queue that stamped the packet.
#[inline]
pub fn propagation(rtt_s: f64, waited_s: f64) -> f64 {
    //= beyond#11  d = min(RTT − x)
    (rtt_s - waited_s).max(0.0)
}

/// ρ̄ \[B/s\] after a packet that comes `gap_s` after the one before, with a time constant of `rounds` round trips.
#[inline]
pub fn follow(mean: f64, share: f64, gap_s: f64, rounds: f64, delay_s: f64) -> f64 {
    //= beyond#12  ρ̄ ← ρ̄ + (1 − e^(−gap/(c d)))(ρ − ρ̄), c = 1.5 upwards, 1.25 downwards
    let constant_s = rounds * delay_s;
    let weight = if constant_s > 0.0 { 1.0 - libm::exp(-gap_s / constant_s) } else { 1.0 };
    mean + weight * (share - mean)
}

/// w in bytes of payload: what a flow of weight `phi` may have on its way, of which the path counts for `path_s` ([`counted_path`]) and
/// the queue holds what the share carries in `room_s`. `payload` is the part of a packet's bytes that is payload.
#[inline]
pub fn window(phi: f64, share: f64, path_s: f64, room_s: f64, payload: f64) -> f64 {
    //= beyond#13  w = φ ρ̄ (max(g d, d − T) + r)·payload/size
    phi * share * (path_s + room_s) * payload
}

/// What of its path a flow counts on \[s\]: g of it, and all but the target at least, so that a queue stands whatever the path.
#[inline]
pub fn counted_path(g: f64, delay_s: f64, target_s: f64) -> f64 {
    //= beyond#13  w = φ ρ̄ (max(g d, d − T) + r)·payload/size
    (g * delay_s).max(delay_s - target_s)
}

/// w in bytes of payload where one agent has all flows of a queue, and knows for how long that lasts at rest, `rest_s`
/// ([`share_wait`](crate::model::standing::share_wait)). There each window is the path and the queue at the flow's share: none has more
/// of it because its path is short.
#[inline]
pub fn even_window(phi: f64, share: f64, delay_s: f64, rest_s: f64, kappa: f64, wait_s: f64, payload: f64) -> f64 {
    //= beyond#25  w = φ ρ̄ (d + y* + κ(y* − y))·payload/size
    window(phi, share, delay_s, room(rest_s, kappa, wait_s), payload)
}

/// What is advertised \[B\]: whole segments, so that the mean over `dither`s in [0, 1) is the window.
#[inline]
pub fn advertised(window_bytes: f64, mss_bytes: f64, dither: f64) -> f64 {
    //= beyond#14  AWND = MSS·⌊max(w, MSS)/MSS + U⌋
    mss_bytes * libm::floor((window_bytes / mss_bytes).max(1.0) + dither)
}

/// The dither after `before`: multiples of the golden ratio modulo 1, as even as a sequence can be.
#[inline]
pub fn next_dither(before: f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let next = before + GOLDEN;
    if next < 1.0 { next } else { next - 1.0 }
}
