// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses in bursts: the two-state Markov chain of Gilbert and Elliott, which moves with each packet.

use crate::error::{ParameterError, ensure};
use crate::parameter::above_to;
use crate::parameters;
use crate::rng::Stream;

parameters! {
    /// Losses in bursts: either by the probabilities of the chain, or by `mean_loss` and `mean_burst`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GilbertElliott {
        /// Probability that the chain turns bad behind a packet.
        pub good_to_bad: Option<f64> = None, in 0.0..=1.0;
        /// Probability that it turns good again.
        pub bad_to_good: Option<f64> = None, in above_to(0.0, 1.0);
        /// Probability of a loss in the good state; 0 by default.
        pub loss_good: Option<f64> = None, in 0.0..=1.0;
        /// Probability of a loss in the bad state; 1 by default.
        pub loss_bad: Option<f64> = None, in 0.0..=1.0;
        /// Share of packets lost, all in the bad state and none in the good one.
        pub mean_loss: Option<f64> = None, in 0.0..1.0;
        /// Mean number of packets lost in a row.
        pub mean_burst: Option<f64> = None, in 1.0..;
    }
    check(p) {
        p.chain()?;
    }
}

/// The probabilities of a chain, a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstChain {
    /// That a good state is followed by a bad one.
    pub to_bad: f64,
    /// That a bad state is followed by a good one.
    pub to_good: f64,
    /// Of a loss in the good state.
    pub loss_good: f64,
    /// Of a loss in the bad state.
    pub loss_bad: f64,
}

impl GilbertElliott {
    /// The chain with a share `mean_loss` of packets lost, in bursts of `mean_burst` packets in the mean.
    pub fn of_bursts(mean_loss: f64, mean_burst: f64) -> Self {
        Self { mean_loss: Some(mean_loss), mean_burst: Some(mean_burst), ..Self::default() }
    }

    /// The chain's probabilities.
    ///
    /// # Errors
    /// Neither all of one way nor all of the other is given, or bursts are too short for their share.
    pub fn chain(&self) -> Result<BurstChain, ParameterError> {
        let states = (self.loss_good, self.loss_bad);
        match (self.good_to_bad, self.bad_to_good, self.mean_loss, self.mean_burst) {
            (Some(to_bad), Some(to_good), None, None) => Ok(BurstChain {
                to_bad,
                to_good,
                loss_good: self.loss_good.unwrap_or(0.0),
                loss_bad: self.loss_bad.unwrap_or(1.0),
            }),
            (None, None, Some(loss), Some(burst)) if states == (None, None) => {
                // Bursts are geometric, 1/to_good long; in balance (1 − loss)·to_bad = loss·to_good.
                let to_good = 1.0 / burst;
                let to_bad = loss * to_good / (1.0 - loss);
                ensure(to_bad <= 1.0, "mean_burst", burst, "at least mean_loss/(1 - mean_loss) packets")?;
                Ok(BurstChain { to_bad, to_good, loss_good: 0.0, loss_bad: 1.0 })
            }
            _ => {
                let wanted = "good_to_bad and bad_to_good beside it, or mean_loss and mean_burst";
                Err(ParameterError::new("kind", "\"gilbert-elliott\"", wanted))
            }
        }
    }
}

/// The chain at work, with its own stream of random numbers, drawn twice a packet.
#[derive(Clone, Debug)]
pub struct Bursts {
    chain: BurstChain,
    bad: bool,
    stream: Stream,
}

impl Bursts {
    pub(super) fn new(chain: BurstChain, mut stream: Stream) -> Self {
        // In balance from the first packet on.
        let bad = stream.uniform() < chain.to_bad / (chain.to_bad + chain.to_good);
        Self { chain, bad, stream }
    }

    /// Whether the next packet is lost; then the chain moves.
    pub(super) fn strike(&mut self) -> bool {
        let BurstChain { to_bad, to_good, loss_good, loss_bad } = self.chain;
        let (loss, leave) = if self.bad { (loss_bad, to_good) } else { (loss_good, to_bad) };
        let strikes = self.stream.uniform() < loss;
        self.bad ^= self.stream.uniform() < leave;
        strikes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Parameter;
    use crate::rng::Streams;

    const PACKETS: usize = 1_000_000;

    fn losses(params: GilbertElliott) -> Vec<bool> {
        let mut bursts = Bursts::new(params.chain().unwrap(), Streams::new(5).stream("link", "loss"));
        (0..PACKETS).map(|_| bursts.strike()).collect()
    }

    fn chain(good_to_bad: f64, bad_to_good: f64, loss_good: f64, loss_bad: f64) -> GilbertElliott {
        GilbertElliott {
            good_to_bad: Some(good_to_bad),
            bad_to_good: Some(bad_to_good),
            loss_good: Some(loss_good),
            loss_bad: Some(loss_bad),
            ..GilbertElliott::default()
        }
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn losses_have_their_share_and_their_length() {
        let lost = losses(GilbertElliott::of_bursts(0.02, 5.0));
        // Losses come 5 at a time: about 4000 bursts. Both figures are within 1/√4000·√2 = 2.2 % (one deviation).
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let length = share(&lost) * PACKETS as f64 / bursts;
        assert!((share(&lost) / 0.02 - 1.0).abs() < 0.07, "{}", share(&lost));
        assert!((length / 5.0 - 1.0).abs() < 0.05, "{length}");
    }

    #[test]
    fn each_state_has_its_loss() {
        // In the bad state 1 of 4 packets; there 30 % are lost, else 2 %: 0.25·0.3 + 0.75·0.02 = 9 %.
        let lost = losses(chain(0.05, 0.15, 0.02, 0.3));
        assert!((share(&lost) / 0.09 - 1.0).abs() < 0.03, "{}", share(&lost));
        // Two in a row: the state stays bad with 0.85, good with 0.95:
        // 0.25·0.3·(0.85·0.3 + 0.15·0.02) + 0.75·0.02·(0.95·0.02 + 0.05·0.3) = 1.986 %.
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / PACKETS as f64;
        assert!((pairs / 0.01986 - 1.0).abs() < 0.05, "{pairs}");
    }

    #[test]
    fn each_probability_moves_the_losses() {
        let usual = losses(chain(0.05, 0.15, 0.02, 0.3));
        for other in [
            chain(0.06, 0.15, 0.02, 0.3),
            chain(0.05, 0.2, 0.02, 0.3),
            chain(0.05, 0.15, 0.03, 0.3),
            chain(0.05, 0.15, 0.02, 0.4),
            GilbertElliott::of_bursts(0.09, 5.0),
            GilbertElliott::of_bursts(0.09, 6.0),
            GilbertElliott::of_bursts(0.1, 5.0),
        ] {
            assert_ne!(usual, losses(other), "{other:?}");
        }
        assert_ne!(losses(GilbertElliott::of_bursts(0.09, 5.0)), losses(GilbertElliott::of_bursts(0.1, 5.0)));
        assert_ne!(losses(GilbertElliott::of_bursts(0.09, 5.0)), losses(GilbertElliott::of_bursts(0.09, 6.0)));
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let key = |params: GilbertElliott| params.validate().unwrap_err().key;
        assert_eq!(key(chain(1.1, 0.15, 0.0, 1.0)), "good_to_bad");
        assert_eq!(key(chain(0.05, 0.0, 0.0, 1.0)), "bad_to_good");
        assert_eq!(key(chain(0.05, 0.15, 0.0, f64::NAN)), "loss_bad");
        assert_eq!(key(GilbertElliott::of_bursts(0.9, 2.0)), "mean_burst");
        assert_eq!(key(GilbertElliott::default()), "kind");
        assert_eq!(key(GilbertElliott { mean_loss: Some(0.1), ..chain(0.05, 0.15, 0.0, 1.0) }), "kind");
        assert_eq!(key(GilbertElliott { loss_bad: Some(0.5), ..GilbertElliott::of_bursts(0.1, 5.0) }), "kind");
    }
}
