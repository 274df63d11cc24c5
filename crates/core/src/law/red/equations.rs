// SPDX-License-Identifier: MIT OR Apache-2.0
//! RED's equations (Floyd and Jacobson 1993, §4; `gentle`, `wait` and bytes are ns-2's). Queues in one unit, packets or
//! bytes; times in seconds.

/// avg after a packet that finds a queue of `queue`: avg ← (1 − w_q)·avg + w_q·q, after `idle_packets` packets that an
/// idle line could have carried, each of which would have found nobody: avg ← (1 − w_q)^m·avg.
#[inline]
pub fn average(before: f64, queue: f64, weight: f64, idle_packets: f64) -> f64 {
    //= red#average  if the queue is nonempty avg ← (1 − w_q)avg + w_q·q; else m ← f(time − q_time), avg ← (1 − w_q)^m·avg
    let kept = if idle_packets > 0.0 { libm::pow(1.0 - weight, idle_packets) } else { 1.0 };
    (1.0 - weight) * kept * before + weight * queue
}

/// w_q for a line of C = `packets_per_s`: 1 − e^(−1/C), an average over a second.
pub fn automatic_weight(packets_per_s: f64) -> f64 {
    //= red#weight  w_q = 1 − exp(−1/C)
    1.0 - libm::exp(-1.0 / packets_per_s)
}

/// min_th for a line of C = `packets_per_s`: half of what it carries in the delay aimed at, and at least 5.
pub fn automatic_threshold(packets_per_s: f64, target_delay_s: f64) -> f64 {
    //= red#min_th  min_th = max[5, delay_target·C/2]
    (target_delay_s * packets_per_s / 2.0).max(5.0)
}

/// p_b between the thresholds: max_p·(avg − min_th)/(max_th − min_th); above, gently from max_p to 1 at 2·max_th, or 1 at
/// once.
#[inline]
pub fn base_probability(average: f64, min: f64, max: f64, max_p: f64, gentle: bool) -> f64 {
    //= red#p_b  p_b ← max_p(avg − min_th)/(max_th − min_th)
    //= red#gentle  p_b = max_p + (1 − max_p)(avg − max_th)/max_th from max_th to 2max_th
    let p = if average < max {
        max_p * (average - min) / (max - min)
    } else if gentle {
        max_p + (1.0 - max_p) * (average - max) / max
    } else {
        1.0
    };
    p.clamp(0.0, 1.0)
}

/// p_a of the packet that is the `count`-th since the last drop: p_b/(1 − count·p_b), so that every gap is as likely. With
/// `wait` none goes before 1/p_b packets have passed: p_b/(2 − count·p_b) then.
#[inline]
pub fn spread(p: f64, count: f64, wait: bool) -> f64 {
    //= red#p_a  p_a ← p_b/(1 − count·p_b)
    //= red#wait  if (count*p < 1.0) p = 0.0; else if (count*p < 2.0) p /= (2 - count*p); else p = 1.0
    match wait {
        true if count * p < 1.0 => 0.0,
        true if count * p < 2.0 => p / (2.0 - count * p),
        false if count * p < 1.0 => p / (1.0 - count * p),
        _ => 1.0,
    }
}

/// p_a of a packet of `size_bytes` where the queue is measured in bytes: in proportion to its size.
#[inline]
pub fn by_size(p: f64, size_bytes: f64, mean_packet_bytes: f64) -> f64 {
    //= red#size  p = p*size/mean_pktsize
    p * size_bytes / mean_packet_bytes
}
