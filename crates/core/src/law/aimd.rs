// SPDX-License-Identifier: MIT OR Apache-2.0
//! Additive increase, multiplicative decrease: TCP's own law (RFC 5681) and its relatives TCP(α, β).

use crate::error::{ParameterError, ensure};

/// The law's two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdParams {
    /// α, above 0: segments that the window gains in a round trip.
    pub alpha: f64,
    /// β, in (0, 1): the share of the flight that is left after a loss.
    pub beta: f64,
}

impl Default for AimdParams {
    fn default() -> Self {
        Self { alpha: 1.0, beta: 0.5 }
    }
}

/// TCP(α, β).
#[derive(Clone, Debug)]
pub struct Aimd {
    params: AimdParams,
}

impl Aimd {
    /// Sets the law up.
    ///
    /// # Errors
    /// α or β outside its domain.
    pub fn new(params: AimdParams) -> Result<Self, ParameterError> {
        let AimdParams { alpha, beta } = params;
        ensure(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "a number above 0")?;
        ensure(beta > 0.0 && beta < 1.0, "beta", beta, "a number between 0 and 1")?;
        Ok(Self { params })
    }

    /// Congestion avoidance, one acknowledgement: α/cwnd more (RFC 5681 eq. 3), less if it acknowledges less than
    /// a segment.
    #[inline]
    pub fn increase(&self, cwnd: f64, acked: f64) -> f64 {
        cwnd + self.params.alpha * acked.min(1.0) / cwnd
    }

    /// The slow-start threshold after a loss: β of the flight (RFC 5681 eq. 4).
    pub fn decrease(&self, flight: f64) -> f64 {
        self.params.beta * flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_acks_adds_alpha_segments() {
        // Ten ACKs at a window of 10: each adds 1/cwnd with cwnd in [10, 11], so between 10/11 and 1 in all.
        let law = Aimd::new(AimdParams::default()).unwrap();
        let cwnd = (0..10).fold(10.0, |cwnd, _| law.increase(cwnd, 1.0));
        assert!((10.909..11.0).contains(&cwnd), "{cwnd}");
        // One ACK at 8: 1/8 exactly; a delayed one that covers two segments adds no more; half a segment adds half.
        assert_eq!(law.increase(8.0, 1.0), 8.125);
        assert_eq!(law.increase(8.0, 2.0), 8.125);
        assert_eq!(law.increase(8.0, 0.5), 8.0625);
    }

    #[test]
    fn alpha_and_beta_scale_growth_and_fall() {
        let law = Aimd::new(AimdParams { alpha: 0.25, beta: 0.875 }).unwrap();
        assert_eq!(law.increase(8.0, 1.0), 8.03125);
        assert_eq!(law.decrease(16.0), 14.0);
    }

    #[test]
    fn what_is_no_aimd_is_refused() {
        for (alpha, beta) in [(0.0, 0.5), (-1.0, 0.5), (f64::NAN, 0.5), (1.0, 0.0), (1.0, 1.0), (1.0, f64::NAN)] {
            assert!(Aimd::new(AimdParams { alpha, beta }).is_err(), "({alpha}, {beta})");
        }
    }
}
