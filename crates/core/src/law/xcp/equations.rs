// SPDX-License-Identifier: MIT OR Apache-2.0
//! XCP's equations (qfcp §II), and XCP-b's. At the router bytes, seconds, bytes/s; at the sender segments.

/// By how much the traffic of an interval of `d` seconds is to change \[B\], where `input` of a `capacity` is used and
/// `queue` bytes stand: F·d.
#[inline]
pub fn told_change(alpha: f64, beta: f64, capacity: f64, input: f64, queue: f64, d: f64) -> f64 {
    //= qfcp#1  F = α(C − y) − βq/d
    alpha * (capacity - input) * d - beta * queue
}

/// The same by XCP-b \[B\], which knows no capacity: from the queue's growth in an interval, and what it is above κ.
#[inline]
pub fn queue_change(alpha: f64, beta: f64, queue: f64, old_queue: f64, kappa: f64) -> f64 {
    -alpha * (queue - old_queue) - beta * (queue - kappa)
}

/// What is dealt out anew of the traffic of an interval even with nothing to change \[B\]: a share γ of it, less what
/// changes anyway.
#[inline]
pub fn shuffled(gamma: f64, input: f64, d: f64, change: f64) -> f64 {
    (gamma * input * d - change.abs()).max(0.0)
}

/// What a packet stands for of its flow \[s\]: rtt·s/cwnd. Over an interval the packets of a flow come to the interval.
#[inline]
pub fn share(rtt_s: f64, size_bytes: f64, cwnd_bytes: f64) -> f64 {
    rtt_s * size_bytes / cwnd_bytes.max(size_bytes)
}

/// What a packet gets of the raise \[B/s\], ξ_p being `raise` \[B/s²\]: as much a flow.
#[inline]
pub fn raised(raise: f64, share_s: f64) -> f64 {
    raise * share_s
}

/// What is taken of a packet \[B/s\], ξ_n being `lower` \[1/s\]: in proportion to the flow's rate.
#[inline]
pub fn lowered(lower: f64, size_bytes: f64) -> f64 {
    lower * size_bytes
}

/// The sender's window \[segments\] after an acknowledgement whose feedback changes its rate by as many segments a second.
#[inline]
pub fn window(cwnd: f64, feedback: f64, rtt_s: f64) -> f64 {
    //= qfcp#2  cwnd = max(cwnd + feedback·RTT, MSS)
    (cwnd + feedback * rtt_s).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_always_left() {
        //= qfcp#2
        assert_eq!([10.0, -16.0, -80.0].map(|feedback| window(10.0, feedback, 0.25)), [12.5, 6.0, 1.0]);
    }
}
