// SPDX-License-Identifier: MIT OR Apache-2.0
//! TFRC's equations (RFC 5348). Payload in bytes, seconds, bytes/s.

/// X_Bps \[B/s\]: what a TCP with segments of `s` bytes and round-trip time `r` seconds gets at a loss event rate `p`, with
/// a time-out of `rto_factor` round trips and an acknowledgement a packet (b = 1).
pub fn throughput(s: f64, r: f64, p: f64, rto_factor: f64) -> f64 {
    //= tfrc#3.1  X_Bps = s/(R*sqrt(2*b*p/3) + (t_RTO * (3*sqrt(3*b*p/8)*p*(1+32*p^2))))
    s / (r * denominator(p, rto_factor))
}

/// f(p) = √(2p/3) + t_RTO/R · 3√(3p/8) · p · (1 + 32p²); it grows with p.
fn denominator(p: f64, rto_factor: f64) -> f64 {
    libm::sqrt(2.0 * p / 3.0) + rto_factor * 3.0 * libm::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p)
}

/// Least loss event rate that the inverse gives.
const LEAST: f64 = 1e-12;

/// The loss event rate at which the equation gives `x` B/s: its inverse, from 10⁻¹² to 1.
///
/// //= RFC 5348 §6.3.1
pub fn loss_event_rate(s: f64, r: f64, x: f64, rto_factor: f64) -> f64 {
    let wanted = s / (r * x);
    let (mut low, mut high) = (LEAST, 1.0);
    // Halving the ratio: from twelve decades down to a part in 10¹⁵.
    while high > low * (1.0 + 1e-15) {
        let middle = libm::sqrt(low * high);
        if middle <= low || middle >= high {
            break;
        }
        if denominator(middle, rto_factor) < wanted { low = middle } else { high = middle }
    }
    high
}

/// R \[s\] after a sample, the old value weighing `q`.
pub fn smoothed_rtt(before_s: f64, sample_s: f64, q: f64) -> f64 {
    //= tfrc#4.3.R  R = q*R + (1-q)*R_sample
    q * before_s + (1.0 - q) * sample_s
}

/// R_sqmean \[√s\] after a sample, the old value weighing `q2`.
pub fn root_mean(before: f64, sample_s: f64, q2: f64) -> f64 {
    //= tfrc#4.5  R_sqmean = q2*R_sqmean + (1-q2)*sqrt(R_sample)
    q2 * before + (1.0 - q2) * libm::sqrt(sample_s)
}

/// W_init/R \[B/s\] with RFC 3390's window: min(4s, max(2s, 4380))/R.
pub fn initial_rate(s: f64, r: f64) -> f64 {
    //= tfrc#4.2  W_init = min(4*MSS, max(2*MSS, 4380))
    (4.0 * s).min((2.0 * s).max(4380.0)) / r
}

/// How long a sender waits for feedback before it cuts its rate \[s\]: max(4R, 2s/X), and 2s/X before R is known.
pub fn no_feedback_timeout(s: f64, x: f64, r: Option<f64>) -> f64 {
    //= tfrc#4.3.RTO  RTO = max(4*R, 2*s/X)
    let packets = 2.0 * s / x;
    r.map_or(packets, |r| packets.max(4.0 * r))
}

/// DF: by how much the closed loss intervals are discounted while the open one, of `open` packets, is more than twice
/// their mean.
pub fn discount(open: f64, mean: f64, floor: f64) -> f64 {
    //= tfrc#5.5  if (I_0 > 2 * I_mean) { DF = 2 * I_mean/I_0; if (DF < THRESHOLD) DF = THRESHOLD }
    if open > 2.0 * mean { (2.0 * mean / open).max(floor) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= tfrc#3.1
    #[test]
    fn the_equation_with_a_pencil() {
        // p = 0.06: 2p/3 = 0.04, its root 0.2; 3p/8 = 0.0225, its root 0.15; 1 + 32·0.0036 = 1.1152.
        // f = 0.2 + 4·3·0.15·0.06·1.1152 = 0.3204416; s/(R f) = 1000/(0.1·0.3204416).
        let x = throughput(1000.0, 0.1, 0.06, 4.0);
        assert!((x - 31_206.934_430_486).abs() < 1e-6, "{x}");
        // Without time-outs only the root is left.
        assert!((throughput(1000.0, 0.1, 0.06, 0.0) - 50_000.0).abs() < 1e-9);
    }

    #[test]
    fn the_inverse_leads_back() {
        for p in [1e-8, 1e-4, 0.003, 0.06, 0.4, 0.99] {
            let x = throughput(1460.0, 0.05, p, 4.0);
            let back = loss_event_rate(1460.0, 0.05, x, 4.0);
            assert!((back / p - 1.0).abs() < 1e-9, "{p} became {back}");
        }
        assert_eq!(loss_event_rate(1460.0, 0.05, 1e-3, 4.0), 1.0, "slower than any loss makes it");
        assert!(loss_event_rate(1460.0, 0.05, 1e30, 4.0) < 2e-12, "faster than the least");
    }
}
