// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where CLAMP comes to rest: the queue of a router and the shares of its flows.
//!
//! At rest no flow's window changes, so p μ_i = φ_i τ for each; with Σμ_i = μ_c the price is Στ φ_i/μ_c, and the queue
//! is the one that has this price.

use crate::error::{ParameterError, ensure};
use crate::law::clamp::PriceForm;

/// The queue at which a price comes to rest \[B\], where `a_bytes` and `b` are the router's, `tau_bytes` each flow's, and
/// `flows` is how many there are: k, or Σφ where they have weights.
///
/// # Errors
/// A number outside its domain.
pub fn queue(kind: PriceForm, a_bytes: f64, b: f64, tau_bytes: f64, flows: f64) -> Result<f64, ParameterError> {
    ensure(a_bytes >= 0.0 && a_bytes.is_finite(), "a", a_bytes, "at least 0 B")?;
    ensure(b > 0.0 && b.is_finite(), "b", b, "more than 0")?;
    ensure(tau_bytes >= 0.0 && tau_bytes.is_finite(), "tau", tau_bytes, "at least 0 B")?;
    ensure(flows >= 0.0 && flows.is_finite(), "flows", flows, "0 or more")?;
    let wanted = flows * tau_bytes;
    Ok(match kind {
        PriceForm::Mice => a_bytes + wanted / b,
        // On the parabola b²q²/(4a) = kτ, which ends where kτ = a.
        PriceForm::Smooth if wanted < a_bytes => 2.0 * libm::sqrt(a_bytes * wanted) / b,
        //= clamp#3  q* = τ/b
        //= clamp#11  q* = (kτ + a)/b
        PriceForm::Linear | PriceForm::Smooth => (wanted + a_bytes) / b,
    })
}

/// What each flow gets of the queue's service rate, by its weight φ: φ_i/Σφ.
///
/// # Errors
/// A weight of 0 or less.
pub fn shares(weights: &[f64]) -> Result<Vec<f64>, ParameterError> {
    for &phi in weights {
        ensure(phi > 0.0 && phi.is_finite(), "phi", phi, "more than 0")?;
    }
    //= clamp#10  Σ_i μ_i = μ_c
    let total: f64 = weights.iter().sum();
    Ok(weights.iter().map(|phi| phi / total).collect())
}

/// Whether the queue of flows of equal delays comes to rest at all.
pub fn is_stable(b: f64) -> bool {
    //= clamp#4  b < π/2
    b < core::f64::consts::FRAC_PI_2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::clamp::{ClampRouter, PriceForm, PriceParams};
    use crate::units::Bytes;

    #[test]
    fn three_flows_and_the_papers_numbers() {
        //= clamp#3
        //= clamp#11
        // Fig. 2: τ = 500 B, a = 5500 B, b = 1: 6000, 6500 and 7000 B. Half of b doubles the queue.
        let rest = |b, k| queue(PriceForm::Linear, 5500.0, b, 500.0, k).unwrap();
        assert_eq!([1.0, 2.0, 3.0].map(|k| rest(1.0, k)), [6000.0, 6500.0, 7000.0]);
        assert_eq!(rest(0.5, 1.0), 12_000.0);
        // Without a one flow keeps its target: 500 B, or 250 B with b = 2.
        assert_eq!([1.0, 2.0].map(|b| queue(PriceForm::Linear, 0.0, b, 500.0, 1.0).unwrap()), [500.0, 250.0]);
    }

    #[test]
    fn the_other_prices() {
        let rest = |kind, k| queue(kind, 2000.0, 2.0, 500.0, k).unwrap();
        // a + kτ/b = 2000 + 1000/2.
        assert_eq!(rest(PriceForm::Mice, 2.0), 2500.0);
        // One flow: 2·√(2000·500)/2 = 1000. At kτ = a = 2000 both pieces have 2a/b = 2000; beyond, the line.
        assert_eq!(rest(PriceForm::Smooth, 1.0), 1000.0);
        assert_eq!((rest(PriceForm::Smooth, 4.0), rest(PriceForm::Smooth, 6.0)), (2000.0, 2500.0));
    }

    #[test]
    fn at_rest_the_router_asks_k_tau_over_its_rate() {
        let params = PriceParams { b: 2.0, ..PriceParams::new(Bytes::new(2000)) };
        for price in [PriceForm::Linear.of(params), PriceForm::Mice.of(params), PriceForm::Smooth.of(params)] {
            let at_rest = queue(price.form, params.a.as_f64(), params.b, 500.0, 3.0).unwrap();
            let mut router = ClampRouter::new(price).unwrap();
            (0..3).for_each(|n| router.departed(f64::from(n), 1000.0, at_rest));
            router.arrived(1e6, at_rest);
            // 3 · 500 B / 1000 B/s.
            assert!((router.price_s() - 1.5).abs() < 1e-9, "{:?}: {}", price.form, router.price_s());
        }
    }

    #[test]
    fn it_is_stable_up_to_half_of_pi() {
        //= clamp#4
        assert_eq!([1.0, 1.57, 1.58].map(is_stable), [true, true, false]);
    }

    #[test]
    fn weights_share() {
        //= clamp#10
        assert_eq!(shares(&[1.0, 3.0]).unwrap(), [0.25, 0.75]);
        assert_eq!(shares(&[1.0, 0.0]).unwrap_err().key, "phi");
    }

    #[test]
    fn what_has_no_rest_is_refused() {
        let refused = |a, b, tau, k| queue(PriceForm::Linear, a, b, tau, k).unwrap_err().key;
        assert_eq!(refused(-1.0, 1.0, 1.0, 1.0), "a");
        assert_eq!(refused(1.0, 0.0, 1.0, 1.0), "b");
        assert_eq!(refused(1.0, 1.0, f64::NAN, 1.0), "tau");
        assert_eq!(refused(1.0, 1.0, 1.0, -1.0), "flows");
    }
}
