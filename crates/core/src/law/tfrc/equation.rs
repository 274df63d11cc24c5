// SPDX-License-Identifier: MIT OR Apache-2.0
//! The throughput equation and its inverse.

/// X_Bps \[B/s\]: what a TCP with segments of `s` bytes and round-trip time `r` seconds gets at a loss event rate `p`, with
/// a time-out of `rto_factor` round trips and an acknowledgement a packet (b = 1).
///
/// //= RFC 5348 §3.1
pub fn throughput(s: f64, r: f64, p: f64, rto_factor: f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

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
