// SPDX-License-Identifier: MIT OR Apache-2.0
//! Additive increase, multiplicative decrease: TCP's own law (RFC 5681) and its relatives TCP(α, β) (GAIMD).

pub mod equations;

use crate::error::{ParameterError, ensure};
use crate::kinds;
use crate::parameter::{above_to, ensure_within};
use crate::role::{AckSample, SenderLaw, Window};

/// What is left of the window where TCP(α, β) behaves as TCP: at the first decrease, in slow start, after a time-out.
const HALF: f64 = 0.5;

/// The most that a window may gain in a round trip \[segments\], and the most that the law counts in a kernel: a window of so many or
/// fewer grows no faster in slow start.
pub const MOST_INCREASE: f64 = 256.0;

/// The law's numbers as it works with them. [`Default`] is TCP. Files give them as
/// [`GammaParams`](crate::law::gamma::GammaParams), where α may be left to β; here it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdParams {
    /// α, above 0 and at most [`MOST_INCREASE`]: segments that the window gains in a round trip.
    pub alpha: f64,
    /// β, in (0, 1): the share of the flight that is left after a loss.
    pub beta: f64,
    /// What is left after a time-out.
    pub after_timeout: AfterTimeout,
}

kinds! {
    /// The share of the flight that becomes the slow-start threshold after a time-out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum AfterTimeout {
        /// Half, as ns-2 has it.
        #[default]
        Half = "half",
        /// β; half where the last decrease was a time-out too.
        Beta = "beta",
    }
}

impl Default for AimdParams {
    fn default() -> Self {
        Self::friendly(0.5)
    }
}

impl AimdParams {
    /// The numbers with which a flow of this β is TCP-friendly.
    pub fn friendly(beta: f64) -> Self {
        Self { alpha: equations::friendly_alpha(beta), beta, after_timeout: AfterTimeout::default() }
    }
}

/// TCP(α, β), by the rules of ns-2: the window is halved, whatever β, at the first decrease of a connection and while
/// it is in slow start.
#[derive(Clone, Debug)]
pub struct Aimd {
    alpha: f64,
    beta: f64,
    after_timeout: AfterTimeout,
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

impl SenderLaw for Aimd {
    type Params = AimdParams;

    fn set_up(params: AimdParams) -> Result<Self, ParameterError> {
        let AimdParams { alpha, beta, after_timeout } = params;
        ensure(beta > 0.0 && beta < 1.0, "beta", beta, "a number between 0 and 1")?;
        ensure_within("alpha", &alpha, &above_to(0.0, MOST_INCREASE))?;
        Ok(Self { alpha, beta, after_timeout, last_decrease: Decrease::None })
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        window.grow(ack.acked, |cwnd| equations::increase(self.alpha, cwnd, ack.acked));
    }

    fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        let is_first = self.last_decrease == Decrease::None;
        self.last_decrease = Decrease::DuplicateAcks;
        let share = if is_first || window.in_slow_start() { HALF } else { self.beta };
        equations::decrease(share, flight)
    }

    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        let last = std::mem::replace(&mut self.last_decrease, Decrease::Timeout);
        let is_beta =
            self.after_timeout == AfterTimeout::Beta && last == Decrease::DuplicateAcks && !window.in_slow_start();
        let share = if is_beta { self.beta } else { HALF };
        equations::decrease(share, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    const AVOIDING: Window = Window { cwnd: 16.0, ssthresh: 8.0 };
    const STARTING: Window = Window { cwnd: 16.0, ssthresh: 32.0 };

    fn law(alpha: f64, beta: f64) -> Aimd {
        Aimd::set_up(AimdParams { alpha, beta, ..AimdParams::default() }).unwrap()
    }

    #[test]
    fn the_window_doubles_and_then_grows_by_alpha() {
        let ack = AckSample { now: Instant::ZERO, acked: 1.0, flight: 16.0, rtt: Duration::ZERO, srtt_s: 0.1 };
        for (mut window, cwnd) in [(STARTING, 17.0), (AVOIDING, 16.03125)] {
            law(0.5, 0.875).on_ack(&mut window, &ack);
            assert_eq!(window.cwnd, cwnd);
        }
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
            let mut law = Aimd::set_up(AimdParams { alpha: 0.31, beta: 0.875, after_timeout }).unwrap();
            law.on_loss(&AVOIDING, 16.0);
            assert_eq!(law.on_timeout(&AVOIDING, 16.0), left);
            // Again, without a loss told by duplicate ACKs in between; and in slow start.
            assert_eq!(law.on_timeout(&AVOIDING, 16.0), 8.0);
            law.on_loss(&AVOIDING, 16.0);
            assert_eq!(law.on_timeout(&STARTING, 16.0), 8.0);
        }
    }

    #[test]
    fn the_friendly_numbers_of_one_half_are_tcps() {
        assert_eq!(AimdParams::default(), AimdParams { alpha: 1.0, beta: 0.5, after_timeout: AfterTimeout::Half });
    }

    #[test]
    fn what_is_no_aimd_is_refused() {
        for (alpha, beta) in [(0.0, 0.5), (-1.0, 0.5), (f64::NAN, 0.5), (1.0, 0.0), (1.0, 1.0), (1.0, f64::NAN)] {
            assert!(Aimd::set_up(AimdParams { alpha, beta, ..AimdParams::default() }).is_err(), "({alpha}, {beta})");
        }
    }
}
