// SPDX-License-Identifier: MIT OR Apache-2.0
//! QFCP's equations. At the router bytes, seconds, bytes/s; at the sender segments.

/// N: how many flows make an `input` where each was told `rate`.
#[inline]
pub fn flows(input: f64, rate: f64) -> f64 {
    //= qfcp#3  N(t) = y(t)/R(t − T)
    input / rate
}

/// C after an interval: what left, if at least a packet always waited, and α more than before otherwise.
#[inline]
pub fn probed_capacity(capacity: f64, output: f64, queue_packets: f64, alpha: f64) -> f64 {
    //= qfcp#6  C = output if q ≥ 1, else (1 + α)C
    if queue_packets >= 1.0 { output } else { (1.0 + alpha) * capacity }
}

/// α where C is near what the link carries: a half, a fourth or an eighth, by how many intervals of care are left. Beyond the paper.
#[inline]
pub fn careful_growth(alpha: f64, left: u32) -> f64 {
    alpha / f64::from(1 << left.min(8))
}

/// C after an interval of a medium whose time tells what it would carry if it were never idle: that, if it is busy; otherwise 2α
/// more than before, but α above that at most. It need not grow by small steps, as in the dark; nor at once, as the number of flows
/// is told by what comes, a round trip late. It does not fall, as the few short packets of an idle medium tell little. Beyond the
/// paper.
#[inline]
pub fn medium_capacity(capacity: f64, carried: f64, is_busy: bool, alpha: f64) -> f64 {
    if is_busy { carried } else { ((1.0 + 2.0 * alpha) * capacity).min((1.0 + alpha) * carried).max(capacity) }
}

/// An average of what left or of what waited, a new interval weighing `weight`.
#[inline]
pub fn average(before: f64, measured: f64, weight: f64) -> f64 {
    //= qfcp#7  output_avg = w·output + (1 − w)·output_avg
    //= qfcp#8  q_avg = w·q + (1 − w)·q_avg
    weight * measured + (1.0 - weight) * before
}

/// Weight of an interval that a delay within it has made longer, where one without weighs `weight`: that of as many of those
/// as it lasts. Beyond the paper.
#[inline]
pub fn weight_over(weight: f64, intervals: f64) -> f64 {
    1.0 - libm::pow(1.0 - weight, intervals)
}

/// R of each of `flows` flows, where the queue should come to `aim_bytes` within 1/β intervals of `interval_s`: none by
/// the first equation, a packet by the second.
#[inline]
pub fn fair_rate(capacity: f64, queue_bytes: f64, aim_bytes: f64, beta: f64, interval_s: f64, flows: f64) -> f64 {
    //= qfcp#4  R(t) = (C − βq(t)/T)/N(t)
    //= qfcp#9  R(t) = (C − (βq(t) − MSS)/T)/N(t)
    (capacity - beta * (queue_bytes - aim_bytes) / interval_s) / flows
}

/// The queue that would have been with room for all.
#[inline]
pub fn virtual_queue(queue: f64, dropped: f64) -> f64 {
    //= qfcp#11  q_virtual = q + num_drop
    queue + dropped
}

/// The sender's window \[segments\] at a fair rate \[segments/s\].
#[inline]
pub fn window(rate: f64, rtt_s: f64) -> f64 {
    //= qfcp#5  cwnd = max(feedback·RTT, MSS)
    (rate * rtt_s).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_interval_weighs_as_several() {
        // Two of a quarter each: what was before counts (3/4)² = 9/16.
        assert_eq!([weight_over(0.25, 1.0), weight_over(0.25, 2.0), weight_over(1.0, 3.0)], [0.25, 0.4375, 1.0]);
    }

    #[test]
    fn an_idle_medium_is_probed_up_to_a_little_more_than_it_carries() {
        let probed = |capacity, is_busy| medium_capacity(capacity, 400.0, is_busy, 0.5);
        // Twice as much, then half more than what it carries; and no less where more was told.
        assert_eq!([100.0, 200.0, 400.0, 900.0].map(|capacity| probed(capacity, false)), [200.0, 400.0, 600.0, 900.0]);
        assert_eq!([100.0, 900.0].map(|capacity| probed(capacity, true)), [400.0, 400.0]);
    }

    #[test]
    fn the_window_is_rate_times_round_trip() {
        //= qfcp#5
        assert_eq!([400.0, 1.0].map(|rate| window(rate, 0.25)), [100.0, 1.0]);
    }
}
