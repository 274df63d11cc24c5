// SPDX-License-Identifier: MIT OR Apache-2.0
//! Binomial congestion control (Bansal and Balakrishnan, INFOCOM 2001): the window grows by α/wᵏ a round trip and falls by
//! βwˡ on a loss.
//!
//! k = 0, l = 1 is TCP's own law; k = l = ½ is SQRT and k = 1, l = 0 is IIAD, which fall less on a loss and grow more
//! slowly after it.

use crate::error::{ParameterError, ensure};

/// The law's four numbers; [`Default`] is SQRT with TCP's α and β.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinomialParams {
    /// k, 0 or more: how much slower a large window grows.
    pub k: f64,
    /// l, in \[0, 1\]: how much further a large window falls.
    pub l: f64,
    /// α, above 0: segments that a window of 1 gains in a round trip.
    pub alpha: f64,
    /// β, in (0, 1): segments that a window of 1 loses on a loss.
    pub beta: f64,
}

impl Default for BinomialParams {
    fn default() -> Self {
        Self { k: 0.5, l: 0.5, alpha: 1.0, beta: 0.5 }
    }
}

/// Binomial congestion control, windows in segments.
#[derive(Clone, Debug)]
pub struct Binomial {
    params: BinomialParams,
}

impl Binomial {
    /// Sets the law up.
    ///
    /// # Errors
    /// A number outside its domain, or k and l both 0: flows would never come to share fairly.
    pub fn new(params: BinomialParams) -> Result<Self, ParameterError> {
        let BinomialParams { k, l, alpha, beta } = params;
        ensure(k >= 0.0 && k.is_finite(), "k", k, "a number of 0 or more")?;
        ensure((0.0..=1.0).contains(&l), "l", l, "a number from 0 to 1")?;
        ensure(k + l > 0.0, "k", k, "a number above 0 where l = 0")?;
        ensure(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "a number above 0")?;
        ensure(beta > 0.0 && beta < 1.0, "beta", beta, "a number between 0 and 1")?;
        Ok(Self { params })
    }

    /// Congestion avoidance, one acknowledgement: its share 1/w of the α/wᵏ of a round trip, less if it acknowledges
    /// less than a segment.
    #[inline]
    pub fn increase(&self, cwnd: f64, acked: f64) -> f64 {
        cwnd + self.params.alpha * acked.min(1.0) / libm::pow(cwnd, self.params.k + 1.0)
    }

    /// The slow-start threshold after a loss: what the decrease leaves of the window, or of what was in use of it. A
    /// flight is of whole segments, and its missing fraction must not count as a decrease; one of more than a window
    /// tells of a long recovery, not of a path with more room.
    pub fn decrease(&self, cwnd: f64, flight: f64) -> f64 {
        let w = cwnd.min(flight + 1.0);
        w - self.params.beta * libm::pow(w, self.params.l)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(k: f64, l: f64) -> Binomial {
        Binomial::new(BinomialParams { k, l, ..BinomialParams::default() }).unwrap()
    }

    #[test]
    fn sqrt_at_a_window_of_16() {
        // An ACK adds 1/(16·√16) = 1/64, half a segment half of it; a loss takes √16/2 = 2.
        let sqrt = law(0.5, 0.5);
        assert_eq!(sqrt.increase(16.0, 1.0), 16.015625);
        assert_eq!(sqrt.increase(16.0, 2.0), 16.015625);
        assert_eq!(sqrt.increase(16.0, 0.5), 16.0078125);
        assert_eq!(sqrt.decrease(16.0, 16.0), 14.0);
        // A flight of 15 and one of 40 count as the window; one of 8 uses 9 at most, of which a loss takes √9/2 = 1.5.
        assert_eq!([15.0, 40.0, 8.0].map(|flight| sqrt.decrease(16.0, flight)), [14.0, 14.0, 7.5]);
    }

    #[test]
    fn iiad_at_a_window_of_16() {
        // An ACK adds 1/16² = 1/256; a loss takes ½, whatever the window.
        let iiad = law(1.0, 0.0);
        assert_eq!(iiad.increase(16.0, 1.0), 16.00390625);
        assert_eq!((iiad.decrease(16.0, 16.0), iiad.decrease(64.0, 64.0)), (15.5, 63.5));
    }

    #[test]
    fn tcps_own_law_is_one_of_them() {
        let tcp = law(0.0, 1.0);
        assert_eq!((tcp.increase(8.0, 1.0), tcp.decrease(8.0, 8.0)), (8.125, 4.0));
    }

    #[test]
    fn what_is_no_binomial_law_is_refused() {
        for (k, l, alpha, beta) in [
            (-0.5, 0.5, 1.0, 0.5),
            (f64::INFINITY, 0.5, 1.0, 0.5),
            (0.5, 1.5, 1.0, 0.5),
            (0.0, 0.0, 1.0, 0.5),
            (0.5, 0.5, 0.0, 0.5),
            (0.5, 0.5, 1.0, 1.0),
            (0.5, f64::NAN, 1.0, 0.5),
        ] {
            assert!(Binomial::new(BinomialParams { k, l, alpha, beta }).is_err(), "({k}, {l}, {alpha}, {beta})");
        }
    }
}
