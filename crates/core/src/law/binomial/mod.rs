// SPDX-License-Identifier: MIT OR Apache-2.0
//! Binomial congestion control (Bansal and Balakrishnan, INFOCOM 2001): the window grows by α/wᵏ a round trip and falls by
//! βwˡ on a loss.
//!
//! k = 0, l = 1 is TCP's own law; k = l = ½ is SQRT and k = 1, l = 0 is IIAD, which fall less on a loss and grow more
//! slowly after it.

pub mod equations;

use crate::error::{ParameterError, ensure};
use crate::parameter::{Parameter, above, between};
use crate::parameters;
use crate::role::{AckSample, SenderLaw, Window};

parameters! {
    /// The law's four numbers; [`Default`] is SQRT with TCP's α and β.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BinomialParams {
        /// k, 0 or more: ½ is SQRT, 1 is IIAD.
        pub k: f64 = 0.5, in 0.0..;
        /// l, from 0 to 1: ½ is SQRT, 0 is IIAD.
        pub l: f64 = 0.5, in 0.0..=1.0;
        /// α, above 0: segments that a window of 1 gains in a round trip.
        pub alpha: f64 = 1.0, in above(0.0);
        /// β, between 0 and 1: segments that a window of 1 loses on a loss.
        pub beta: f64 = 0.5, in between(0.0, 1.0);
    }
    check(p) {
        ensure(p.k + p.l > 0.0, "k", p.k, "a number above 0 where l = 0")?;
    }
}

/// Binomial congestion control, windows in segments.
#[derive(Clone, Debug)]
pub struct Binomial {
    params: BinomialParams,
}

impl SenderLaw for Binomial {
    type Params = BinomialParams;

    /// Sets the law up.
    ///
    /// # Errors
    /// A number outside its domain, or k and l both 0: flows would never come to share fairly.
    fn set_up(params: BinomialParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self { params })
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        window.grow(ack.acked, |cwnd| equations::increase(self.params.alpha, self.params.k, cwnd, ack.acked));
    }

    /// What the decrease leaves of the window, or of what was in use of it. A flight is of whole segments, and its missing
    /// fraction must not count as a decrease; one of more than a window tells of a long recovery, not of a path with more
    /// room.
    fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        equations::decrease(self.params.beta, self.params.l, window.cwnd.min(flight + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    #[test]
    fn the_window_doubles_and_then_grows_by_the_law() {
        let ack = AckSample { now: Instant::ZERO, acked: 1.0, flight: 16.0, rtt: Duration::ZERO, srtt_s: 0.1 };
        let mut sqrt = Binomial::set_up(BinomialParams::default()).unwrap();
        for (ssthresh, cwnd) in [(32.0, 17.0), (8.0, 16.015625)] {
            let mut window = Window { cwnd: 16.0, ssthresh };
            sqrt.on_ack(&mut window, &ack);
            assert_eq!(window.cwnd, cwnd);
        }
    }

    #[test]
    fn a_loss_takes_of_the_window_or_of_what_was_used_of_it() {
        // A flight of 15 and one of 40 count as the window of 16; one of 8 uses 9 at most, of which a loss takes √9/2 = 1.5.
        let mut sqrt = Binomial::set_up(BinomialParams::default()).unwrap();
        let window = Window { cwnd: 16.0, ssthresh: 8.0 };
        assert_eq!([16.0, 15.0, 40.0, 8.0].map(|flight| sqrt.on_loss(&window, flight)), [14.0, 14.0, 14.0, 7.5]);
        assert_eq!(sqrt.on_timeout(&window, 8.0), 7.5);
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
            assert!(Binomial::set_up(BinomialParams { k, l, alpha, beta }).is_err(), "({k}, {l}, {alpha}, {beta})");
        }
    }
}
