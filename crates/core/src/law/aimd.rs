// SPDX-License-Identifier: MIT OR Apache-2.0
//! Additive increase, multiplicative decrease: TCP's own law (RFC 5681) and its relatives TCP(α, β) (GAIMD).

use crate::error::{ParameterError, ensure};
use crate::law::{AckSample, Window};

/// What is left of the window where TCP(α, β) behaves as TCP: at the first decrease, in slow start, after a time-out.
const HALF: f64 = 0.5;

/// The law's numbers. [`Default`] is TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdParams {
    /// α, above 0: segments that the window gains in a round trip.
    pub alpha: f64,
    /// β, in (0, 1): the share of the flight that is left after a loss.
    pub beta: f64,
    /// What is left after a time-out.
    pub after_timeout: AfterTimeout,
}

/// The share of the flight that becomes the slow-start threshold after a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AfterTimeout {
    /// Half, as ns-2 has it.
    #[default]
    Half,
    /// β; half where the last decrease was a time-out too.
    Beta,
}

impl Default for AimdParams {
    fn default() -> Self {
        Self::friendly(0.5)
    }
}

impl AimdParams {
    /// The numbers with which a flow of this β is TCP-friendly.
    pub fn friendly(beta: f64) -> Self {
        Self { alpha: friendly_alpha(beta), beta, after_timeout: AfterTimeout::default() }
    }
}

/// α \[segments a round trip\] that makes TCP(α, β) as fast as TCP: 4(1 − β²)/3.
pub fn friendly_alpha(beta: f64) -> f64 {
    //= gamma#3
    4.0 * (1.0 - beta * beta) / 3.0
}

/// TCP(α, β), by the rules of ns-2: the window is halved, whatever β, at the first decrease of a connection and while
/// it is in slow start.
#[derive(Clone, Debug)]
pub struct Aimd {
    params: AimdParams,
    last_decrease: Decrease,
}

/// What the last decrease answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decrease {
    /// There was none.
    None,
    DuplicateAcks,
    Timeout,
}

impl Aimd {
    /// Sets the law up.
    ///
    /// # Errors
    /// α or β outside its domain.
    pub fn new(params: AimdParams) -> Result<Self, ParameterError> {
        let AimdParams { alpha, beta, .. } = params;
        ensure(beta > 0.0 && beta < 1.0, "beta", beta, "a number between 0 and 1")?;
        ensure(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "a number above 0")?;
        Ok(Self { params, last_decrease: Decrease::None })
    }

    /// New data was acknowledged.
    #[inline]
    pub fn on_ack(&self, window: &mut Window, ack: &AckSample) {
        if window.in_slow_start() {
            window.slow_start(ack.acked);
        } else {
            window.cwnd = self.increase(window.cwnd, ack.acked);
        }
    }

    /// Congestion avoidance, one acknowledgement: α/cwnd more (RFC 5681 eq. 3), less if it acknowledges less than
    /// a segment.
    #[inline]
    pub fn increase(&self, cwnd: f64, acked: f64) -> f64 {
        cwnd + self.params.alpha * acked.min(1.0) / cwnd
    }

    /// The slow-start threshold after a loss: β of the flight (RFC 5681 eq. 4).
    pub fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        let is_first = self.last_decrease == Decrease::None;
        self.last_decrease = Decrease::DuplicateAcks;
        let share = if is_first || window.in_slow_start() { HALF } else { self.params.beta };
        share * flight
    }

    /// The slow-start threshold after a time-out.
    pub fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        let last = std::mem::replace(&mut self.last_decrease, Decrease::Timeout);
        let is_beta = self.params.after_timeout == AfterTimeout::Beta
            && last == Decrease::DuplicateAcks
            && !window.in_slow_start();
        let share = if is_beta { self.params.beta } else { HALF };
        share * flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AVOIDING: Window = Window { cwnd: 16.0, ssthresh: 8.0 };
    const STARTING: Window = Window { cwnd: 16.0, ssthresh: 32.0 };

    fn law(alpha: f64, beta: f64) -> Aimd {
        Aimd::new(AimdParams { alpha, beta, ..AimdParams::default() }).unwrap()
    }

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
        let mut law = law(0.25, 0.875);
        assert_eq!(law.increase(8.0, 1.0), 8.03125);
        law.on_loss(&AVOIDING, 16.0);
        assert_eq!(law.on_loss(&AVOIDING, 16.0), 14.0);
    }

    #[test]
    fn the_window_is_halved_at_first_and_in_slow_start() {
        let mut law = law(0.31, 0.875);
        assert_eq!(law.on_loss(&AVOIDING, 16.0), 8.0);
        assert_eq!(law.on_loss(&AVOIDING, 16.0), 14.0);
        assert_eq!(law.on_loss(&STARTING, 16.0), 8.0);
        assert_eq!(law.on_loss(&AVOIDING, 16.0), 14.0);
    }

    #[test]
    fn a_timeout_halves_or_leaves_beta() {
        for (after_timeout, left) in [(AfterTimeout::Half, 8.0), (AfterTimeout::Beta, 14.0)] {
            let mut law = Aimd::new(AimdParams { alpha: 0.31, beta: 0.875, after_timeout }).unwrap();
            law.on_loss(&AVOIDING, 16.0);
            assert_eq!(law.on_timeout(&AVOIDING, 16.0), left);
            // Again, without a loss told by duplicate ACKs in between; and in slow start.
            assert_eq!(law.on_timeout(&AVOIDING, 16.0), 8.0);
            law.on_loss(&AVOIDING, 16.0);
            assert_eq!(law.on_timeout(&STARTING, 16.0), 8.0);
        }
    }

    #[test]
    fn friendly_numbers_are_the_papers() {
        //= gamma#3
        // 4(1 − 1/4)/3 = 1; 4(1 − 9/16)/3 = 7/12; 4(1 − 1/16)/3 = 5/4; 4(1 − 49/64)/3 = 5/16.
        for (beta, alpha) in [(0.5, 1.0), (0.75, 0.583), (0.25, 1.25), (0.875, 0.3125)] {
            assert!((friendly_alpha(beta) - alpha).abs() < 5e-4, "{beta}");
        }
        assert_eq!(AimdParams::default(), AimdParams { alpha: 1.0, beta: 0.5, after_timeout: AfterTimeout::Half });
    }

    #[test]
    fn what_is_no_aimd_is_refused() {
        for (alpha, beta) in [(0.0, 0.5), (-1.0, 0.5), (f64::NAN, 0.5), (1.0, 0.0), (1.0, 1.0), (1.0, f64::NAN)] {
            assert!(Aimd::new(AimdParams { alpha, beta, ..AimdParams::default() }).is_err(), "({alpha}, {beta})");
        }
    }
}
