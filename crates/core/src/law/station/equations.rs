// SPDX-License-Identifier: MIT OR Apache-2.0
//! The station window's equations. Bytes on the wire, seconds, bytes/s.
//!
//! Of each flow the agent knows all that it has granted, E(t), and so what is on its way ([`pipe`]), what waits ([`waiting`]) and what
//! will come ([`arriving`]) within the round trip of a flow that is faster. Each has the [`room`] of its own lead, less what
//! the slower ones take of it ([`window`]).

pub use crate::law::balance::equations::{is_limited, lean, leaning, shortfall};
pub use crate::law::share::equations::{advertised, follow, next_dither, propagation, share_of_rest};

/// What makes a flow slower than another: so many times its round trip, and so much more \[s\].
const SLOWER: f64 = 1.3;
const SLOWER_S: f64 = 0.005;
/// What the fastest do not count on of their round trip: a part, and at most so much \[s\].
const SPARED: f64 = 0.3;
const MOST_SPARED_S: f64 = 0.01;
/// The part of their round trip that others count on.
const COUNTED: f64 = 0.9;
/// The part of the line from which on it is the station's alone; how far another one is drawn to one half.
const ALONE: f64 = 0.95;
const DRAWN: f64 = 0.1;
/// A line's window must be so much less than that of the line before for the flow to be bound there.
const CLEARLY: f64 = 0.95;
/// How many of the windows of a receiver that delays acknowledgements are of two segments at least, for the path to be seen.
const SEEN: f64 = 1.0 / 16.0;
/// What comes of a flow while it is new \[B\], and as how many it counts.
const NEW_BYTES: f64 = 100e3;
const NEW_COUNTS: f64 = 2.0;
/// The wait of acknowledgements from which on updates are in their way \[s\].
const CROWDED_S: f64 = 0.02;
/// For how long after that acknowledgements are thinned \[s\].
const THINNED_S: f64 = 10.0;

/// For how long a line was busy \[s\] in the `gap_s` before a packet that has waited for `waited_s`, where the packet before left
/// `before_bytes`.
#[inline]
pub fn busy(gap_s: f64, before_bytes: f64, waited_s: f64) -> f64 {
    //= station#1  b = gap if q′ > 0, else min(gap, x)
    if before_bytes > 0.0 { gap_s } else { gap_s.min(waited_s) }
}

/// O \[B\]: what was granted since `edge_then`, a round trip ago.
#[inline]
pub fn pipe(edge_now: f64, edge_then: f64) -> f64 {
    //= station#3  O_i = E_i(t) − E_i(t − d_i)
    edge_now - edge_then
}

/// The part of what flows are thought to have waiting, `thought_bytes` in all, that waits where the queue is of `queue_bytes`.
#[inline]
pub fn scale(queue_bytes: f64, thought_bytes: f64) -> f64 {
    if thought_bytes > queue_bytes { queue_bytes / thought_bytes } else { 1.0 }
}

/// What a flow has waiting \[B\]: what it holds and is not in its pipe, as far as there is such a queue.
#[inline]
pub fn waiting(held_bytes: f64, pipe_bytes: f64, scale: f64) -> f64 {
    //= station#4  q_i = (I_i − O_i)⁺·min(1, q/Σ(I_j − O_j)⁺)
    (held_bytes - pipe_bytes).max(0.0) * scale
}

/// A \[B\]: what comes of a flow within the time for which `edge_ahead` looks further than `edge_then`, a round trip ago.
#[inline]
pub fn arriving(edge_ahead: f64, edge_then: f64) -> f64 {
    //= station#5  A_j(d) = E_j(t − d_j + d) − E_j(t − d_j)
    edge_ahead - edge_then
}

/// Whether a flow of `other_s` is slower than one of `delay_s`.
#[inline]
pub fn is_slower(other_s: f64, delay_s: f64) -> bool {
    //= station#6  S_i = {j: d_j > 1.3 d_i + 5 ms}
    other_s > SLOWER * delay_s + SLOWER_S
}

/// ℓ \[s\]: how far ahead a flow fills the line.
#[inline]
pub fn lead(delay_s: f64, is_fastest: bool) -> f64 {
    //= station#7  ℓ_i = d_i − min(.3 d_i, 10 ms) if nobody is faster, else .9 d_i
    if is_fastest { delay_s - (SPARED * delay_s).min(MOST_SPARED_S) } else { COUNTED * delay_s }
}

/// What there may be within a lead and in the queue \[B\].
#[inline]
pub fn room(rate: f64, lead_s: f64, target_s: f64, kappa: f64, queue_bytes: f64) -> f64 {
    //= station#8  room_i = ρ̄_i (ℓ_i + T) + κ(ρ̄_i T − q)
    rate * (lead_s + target_s) + kappa * (rate * target_s - queue_bytes)
}

/// w \[B\]: a flow's `part` of the `room` that the slower ones, who take `slower_bytes`, leave.
#[inline]
pub fn window(part: f64, room_bytes: f64, slower_bytes: f64) -> f64 {
    //= station#9  w_i = p_i/Σ_F p·[room_i − Σ_S (q_j + A_j(d_i))]⁺
    part * (room_bytes - slower_bytes).max(0.0)
}

/// What a flow's part is of, where weights come to `leaning` as they lean, and to `crowding` where none leans up. Of the fastest there is
/// one room for all. Who has a faster one beside him may have more than the room, for that one leaves it to him.
#[inline]
pub fn weights_beside(leaning: f64, crowding: f64, is_fastest: bool) -> f64 {
    //= station#24  Σ_F p if nobody is faster, else Σ_F φ e^min(z, 0)
    if is_fastest { leaning } else { crowding }
}

/// As how many a flow counts of which `received_bytes` have come: one that is new has been served least, and may be over soon.
#[inline]
pub fn counted(received_bytes: f64) -> f64 {
    //= station#27  p_i ← 2 p_i until 100 kB of i have come
    if received_bytes < NEW_BYTES { NEW_COUNTS } else { 1.0 }
}

/// What a flow rounds by, of [0, 1): its `dither` less the segments by which the others hold more than their windows, or the dithers of
/// many flows that round up at once are a queue.
#[inline]
pub fn rounding(dither: f64, over_segments: f64) -> f64 {
    //= station#21  V_i = U_i − Σ_j≠i (I_j − max(w_j, MSS))/MSS, in [0, 1)
    (dither - over_segments).clamp(0.0, 1.0 - f64::EPSILON)
}

/// What a limited flow of `rate` has within `delay_s` and in a queue that takes `wait_s` \[B\].
#[inline]
pub fn held_by_limited(rate: f64, delay_s: f64, wait_s: f64) -> f64 {
    //= station#14  what a limited flow holds: r (d + q/μ̂)
    rate * (delay_s + wait_s)
}

/// The window of a limited flow \[B\], whose part of the weights is `part`.
#[inline]
pub fn limited_window(part: f64, line_rate: f64, delay_s: f64, target_s: f64) -> f64 {
    //= station#15  a limited flow's own: w = φ/Φ μ̂ (d + T)
    part * line_rate * (delay_s + target_s)
}

/// The window of a flow \[B\], whose part of the weights is `part`, while the queue is drained to see the path without it.
#[inline]
pub fn draining_window(part: f64, line_rate: f64, delay_s: f64) -> f64 {
    //= station#18  w = φ/Φ μ̂ d/2 for 1.5 d + T
    part * line_rate * delay_s / 2.0
}

/// F: the part of the room that a station may fill, of whose line `own_bytes` of `all_bytes` were for its own flows of late. Who has
/// less than half is drawn up, who has more down; two have the whole of it.
#[inline]
pub fn own_part(own_bytes: f64, all_bytes: f64) -> f64 {
    //= station#16  F = 1 if f ≥ .95, else .9 f + .05, f the station's part of the line over 1 s
    if own_bytes >= ALONE * all_bytes { 1.0 } else { (1.0 - DRAWN) * own_bytes / all_bytes + DRAWN / 2.0 }
}

/// Whether a flow is bound at a line that leaves it a window of `window_bytes` in the mean, where so far it was at one that leaves it
/// `bound_bytes`.
#[inline]
pub fn is_bound(window_bytes: f64, bound_bytes: f64) -> bool {
    //= station#19  the line of the least mean w_i, where that is less than .95 of that of the line before
    window_bytes < CLEARLY * bound_bytes
}

/// The window \[B\] of a flow with segments of `mss_bytes` whose receiver acknowledges once it has `waits_bytes`, k segments, two at least,
/// and holds back `held_bytes` in the mean: half of k − 1 segments where they come evenly, and next to nothing where they come at once. Below
/// four segments senders let single ones go, and one that makes no pair is held for a round trip: half a segment there. Fewer than k wait for
/// the receiver's timer, while which `timed_bytes` would go at the flow's rate: where the window is less than k − 1 segments with that, so it
/// is. Where it would be more, it is of k − 1 or k in turn for that rate to come out.
pub fn beside_held(window_bytes: f64, mss_bytes: f64, held_bytes: f64, waits_bytes: f64, timed_bytes: f64) -> f64 {
    let half = mss_bytes / 2.0;
    let (held, fewer, all) = (held_bytes.max(half), waits_bytes - mss_bytes, window_bytes + timed_bytes);
    if window_bytes + held >= waits_bytes {
        return (window_bytes + held_bytes.max(half.min((4.0 * mss_bytes - window_bytes) / 2.0))).max(waits_bytes);
    }
    //= station#20  w ← s (k − 1 + (w + h − (k − 1) s)/(s − u + h)) if w < k s − u, where that is less than (k − 1) s: w + h; else w + u
    let more = if all > fewer { fewer + (all - fewer) * mss_bytes / (mss_bytes - held + timed_bytes) } else { all };
    more.max(mss_bytes * (1.0 + SEEN))
}

/// The same while the queue is drained: no more than it takes for the path to be seen.
pub fn beside_held_draining(window_bytes: f64, mss_bytes: f64) -> f64 {
    window_bytes.max(mss_bytes * (1.0 + SEEN))
}

/// Whether every second segment is acknowledged, and not all, where acknowledgements last waited for each other `ago_s` ago: they do no
/// more once that is done.
#[inline]
pub fn thins_acks(ago_s: f64) -> bool {
    //= station#28  every second segment is acknowledged until 10 s after min(RTT − x − d) > 20 ms
    ago_s < THINNED_S
}

/// Whether acknowledgements wait for each other, where no round trip of late came nearer than `excess_s` to the least.
#[inline]
pub fn is_crowded(excess_s: f64) -> bool {
    //= station#17  no updates while min(RTT − x − d) > 20 ms
    excess_s > CROWDED_S
}
