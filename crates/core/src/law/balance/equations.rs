// SPDX-License-Identifier: MIT OR Apache-2.0
//! The balance's equations. Bytes, seconds, bytes/s; z and shortfalls are plain numbers.

/// By how much a share may fall short, and be exceeded, before the weight of a flow moves that nobody has told from others.
const SHORT: f64 = 0.15;
const OVER: f64 = 0.4;
/// How long what one flow is told speaks for what others might be \[s\], and the part of that which a flow is told whom the same line binds.
const SPEAKS_S: f64 = 0.05;
const SAME_LINE: f64 = 0.95;
/// How far z goes.
const MOST_LEAN: f64 = 1.5;

/// p: a weight that leans to those who have got less.
#[inline]
pub fn leaning(weight: f64, lean: f64, mean_lean: f64) -> f64 {
    //= station#10  p_i = φ_i e^(z_i − z̄)
    weight * libm::exp(lean - mean_lean)
}

/// e: how far a flow's rate falls short of its share, as a part of that.
#[inline]
pub fn shortfall(rate: f64, share: f64) -> f64 {
    //= station#11  e_i = 1 − r_i/share_i
    1.0 - rate / share
}

/// z after `elapsed_s` where shares need not be exact, with a gain of `gain_per_s`.
#[inline]
pub fn lean(before: f64, shortfall: f64, gain_per_s: f64, elapsed_s: f64) -> f64 {
    //= station#12  dz/dt = .05 s⁻¹·(e − .15 if e > .15; e + .4 if e < −.4; else 0), |z| ≤ 1.5
    let excess = (shortfall - SHORT).max(0.0) + (shortfall + OVER).min(0.0);
    (before + gain_per_s * excess * elapsed_s).clamp(-MOST_LEAN, MOST_LEAN)
}

/// z where they are: a flow was due `due_bytes`, has had `had_bytes` since, and is due `usual_bytes` in a second as a rule.
#[inline]
pub fn lean_exactly(before: f64, (due_bytes, had_bytes): (f64, f64), usual_bytes: f64, gain_per_s: f64) -> f64 {
    //= station#22  Δz = .25 s⁻¹·(due − had)/r̄ where weights differ, |z| ≤ 1.5
    (before + gain_per_s * (due_bytes - had_bytes) / usual_bytes).clamp(-MOST_LEAN, MOST_LEAN)
}

/// z̄, with which the weights of all that are there, `weights`, stay as they are where they come to `leaning` with z alone.
#[inline]
pub fn mean_lean(leaning: f64, weights: f64) -> f64 {
    //= station#23  z̄ = ln(Σ φ e^z/Σ φ)
    libm::log(leaning / weights)
}

/// Whether a flow that uses `used` of what it holds, `held`, by Little's law, has no more to send: less than a part `least`.
#[inline]
pub fn is_limited(used: f64, held: f64, least: f64) -> bool {
    //= station#13  u = Σ s (d + x) over 1 s; limited: u < ¼ Ī
    used < least * held
}

/// The most that a flow of weight 1 is told to be its share \[B/s\], where it was `before` so long ago and one is told `share` now.
#[inline]
pub fn most_share(before: f64, elapsed_s: f64, share: f64) -> f64 {
    //= station#25  M ← max(ρ, M e^(−gap/50 ms))
    share.max(before * libm::exp(-elapsed_s / SPEAKS_S))
}

/// Whether another line binds a flow than others of its host: it is told a part `told` of the most, and they are up to `most` of it.
#[inline]
pub fn is_elsewhere(told: f64, most: f64) -> bool {
    //= station#26  bound elsewhere: the mean of ρ/M over 5 s below .95 of the greatest of them
    told < SAME_LINE * most
}
