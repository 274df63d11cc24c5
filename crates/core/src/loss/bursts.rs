// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses in bursts: the two-state Markov chain of Gilbert and Elliott, which moves with each packet.

use crate::error::{ParameterError, ensure};
use crate::rng::Stream;

/// Gilbert and Elliott's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability that a good state is followed by a bad one, a packet.
    pub to_bad: f64,
    /// Probability that a bad state is followed by a good one, a packet.
    pub to_good: f64,
    /// Probability of a loss in the good state.
    pub loss_good: f64,
    /// Probability of a loss in the bad state.
    pub loss_bad: f64,
}

impl GilbertElliott {
    /// The chain that loses all in its bad state and nothing in its good one, with a share `mean_loss` of packets lost,
    /// in bursts of `mean_burst` packets in the mean.
    ///
    /// # Errors
    /// A share or a length that no chain has.
    pub fn of_bursts(mean_loss: f64, mean_burst: f64) -> Result<Self, ParameterError> {
        ensure((0.0..1.0).contains(&mean_loss), "mean_loss", mean_loss, "a probability from 0 up to, but not, 1")?;
        ensure(mean_burst >= 1.0 && mean_burst.is_finite(), "mean_burst", mean_burst, "1 packet or more")?;
        // Bursts are geometric, 1/to_good long; in balance (1 − loss)·to_bad = loss·to_good.
        let to_good = 1.0 / mean_burst;
        let to_bad = mean_loss * to_good / (1.0 - mean_loss);
        ensure(to_bad <= 1.0, "mean_burst", mean_burst, "at least mean_loss/(1 - mean_loss) packets")?;
        Ok(Self { to_bad, to_good, loss_good: 0.0, loss_bad: 1.0 })
    }

    /// The share of packets that are lost.
    pub fn mean_loss(&self) -> f64 {
        let sum = self.to_bad + self.to_good;
        let bad = if sum > 0.0 { self.to_bad / sum } else { 0.0 };
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// The chain at work, with its own stream of random numbers, drawn twice a packet.
#[derive(Clone, Debug)]
pub struct Bursts {
    params: GilbertElliott,
    bad: bool,
    stream: Stream,
}

impl Bursts {
    pub(super) fn new(params: GilbertElliott, mut stream: Stream) -> Result<Self, ParameterError> {
        let probability = |key: &str, p: f64| ensure((0.0..=1.0).contains(&p), key, p, "a probability from 0 to 1");
        probability("good_to_bad", params.to_bad)?;
        probability("bad_to_good", params.to_good)?;
        probability("loss_good", params.loss_good)?;
        probability("loss_bad", params.loss_bad)?;
        ensure(params.to_good > 0.0, "bad_to_good", params.to_good, "a probability above 0")?;
        // In balance from the first packet on.
        let bad = stream.uniform() < params.to_bad / (params.to_bad + params.to_good);
        Ok(Self { params, bad, stream })
    }

    /// Whether the next packet is lost; then the chain moves.
    pub(super) fn strike(&mut self) -> bool {
        let GilbertElliott { to_bad, to_good, loss_good, loss_bad } = self.params;
        let (loss, leave) = if self.bad { (loss_bad, to_good) } else { (loss_good, to_bad) };
        let strikes = self.stream.uniform() < loss;
        self.bad ^= self.stream.uniform() < leave;
        strikes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    const PACKETS: usize = 1_000_000;

    fn losses(params: GilbertElliott) -> Vec<bool> {
        let mut bursts = Bursts::new(params, Streams::new(5).stream("link", "loss")).unwrap();
        (0..PACKETS).map(|_| bursts.strike()).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn losses_have_their_share_and_their_length() {
        let lost = losses(GilbertElliott::of_bursts(0.02, 5.0).unwrap());
        // Losses come 5 at a time: about 4000 bursts. Both figures are within 1/√4000·√2 = 2.2 % (one deviation).
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let length = share(&lost) * PACKETS as f64 / bursts;
        assert!((share(&lost) / 0.02 - 1.0).abs() < 0.07, "{}", share(&lost));
        assert!((length / 5.0 - 1.0).abs() < 0.05, "{length}");
    }

    #[test]
    fn each_state_has_its_loss() {
        // In the bad state 1 of 4 packets; there 30 % are lost, else 2 %: 0.25·0.3 + 0.75·0.02 = 9 %.
        let params = GilbertElliott { to_bad: 0.05, to_good: 0.15, loss_good: 0.02, loss_bad: 0.3 };
        assert!((params.mean_loss() - 0.09).abs() < 1e-12);
        let lost = losses(params);
        assert!((share(&lost) / 0.09 - 1.0).abs() < 0.03, "{}", share(&lost));
        // Two in a row: the state stays bad with 0.85, good with 0.95:
        // 0.25·0.3·(0.85·0.3 + 0.15·0.02) + 0.75·0.02·(0.95·0.02 + 0.05·0.3) = 1.986 %.
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / PACKETS as f64;
        assert!((pairs / 0.01986 - 1.0).abs() < 0.05, "{pairs}");
    }

    #[test]
    fn each_probability_moves_the_losses() {
        let usual = GilbertElliott { to_bad: 0.05, to_good: 0.15, loss_good: 0.02, loss_bad: 0.3 };
        for other in [
            GilbertElliott { to_bad: 0.06, ..usual },
            GilbertElliott { to_good: 0.2, ..usual },
            GilbertElliott { loss_good: 0.03, ..usual },
            GilbertElliott { loss_bad: 0.4, ..usual },
        ] {
            assert_ne!(losses(usual), losses(other), "{other:?}");
        }
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let usual = GilbertElliott { to_bad: 0.05, to_good: 0.15, loss_good: 0.0, loss_bad: 1.0 };
        let key = |params| Bursts::new(params, Streams::new(5).stream("link", "loss")).unwrap_err().key;
        assert_eq!(key(GilbertElliott { to_bad: 1.1, ..usual }), "good_to_bad");
        assert_eq!(key(GilbertElliott { to_good: 0.0, ..usual }), "bad_to_good");
        assert_eq!(key(GilbertElliott { loss_good: -0.1, ..usual }), "loss_good");
        assert_eq!(key(GilbertElliott { loss_bad: f64::NAN, ..usual }), "loss_bad");
        assert_eq!(GilbertElliott::of_bursts(1.0, 5.0).unwrap_err().key, "mean_loss");
        assert_eq!(GilbertElliott::of_bursts(0.1, 0.5).unwrap_err().key, "mean_burst");
        assert_eq!(GilbertElliott::of_bursts(0.9, 2.0).unwrap_err().key, "mean_burst");
    }
}
