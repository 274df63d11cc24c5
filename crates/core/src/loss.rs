// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses that have nothing to do with a full buffer.

mod bursts;
mod handoff;

pub use bursts::{Bursts, GilbertElliott};
pub use handoff::{Handoff, HandoffTimes};

use crate::error::{ParameterError, ensure};
use crate::rng::{Stream, Streams};
use crate::units::Instant;

/// An error model's parameters.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum LossConfig {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost with probability `p`, whatever happened to the others.
    Bernoulli {
        /// Probability of \[0, 1).
        p: f64,
    },
    /// Losses in bursts, by a chain that moves with each packet.
    GilbertElliott(GilbertElliott),
    /// Times in which everything is lost.
    Handoff {
        /// When they are.
        times: HandoffTimes,
        /// Error models that name the same chain meet the same times: the two directions of a link.
        chain: String,
    },
}

/// An error model at work.
#[derive(Clone, Debug)]
pub enum Loss {
    /// Nothing is lost.
    None,
    /// Independent losses.
    Bernoulli {
        /// Probability of \[0, 1).
        p: f64,
        /// One draw a packet.
        stream: Stream,
    },
    /// Losses in bursts.
    GilbertElliott(Box<Bursts>),
    /// Times in which everything is lost.
    Handoff(Box<Handoff>),
}

impl Loss {
    /// The error model of the element `name`.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(config: &LossConfig, streams: &Streams, name: &str) -> Result<Self, ParameterError> {
        match config {
            LossConfig::None => Ok(Self::None),
            LossConfig::Bernoulli { p } => {
                ensure((0.0..1.0).contains(p), "p", p, "a probability from 0 up to, but not, 1")?;
                Ok(Self::Bernoulli { p: *p, stream: streams.stream(name, "loss") })
            }
            LossConfig::GilbertElliott(params) => {
                Ok(Self::GilbertElliott(Box::new(Bursts::new(*params, streams.stream(name, "loss"))?)))
            }
            LossConfig::Handoff { times, chain } => {
                Ok(Self::Handoff(Box::new(Handoff::new(times, streams.stream(chain, "handoff"))?)))
            }
        }
    }

    /// Whether the next packet, which passes at `now`, is lost. Instants must not decrease.
    #[inline]
    pub fn strikes(&mut self, now: Instant) -> bool {
        match self {
            Self::None => false,
            Self::Bernoulli { p, stream } => stream.uniform() < *p,
            Self::GilbertElliott(_) | Self::Handoff(_) => self.strikes_by_state(now),
        }
    }

    /// Out of the way of links that lose nothing, which are on every packet's path.
    #[cold]
    #[inline(never)]
    fn strikes_by_state(&mut self, now: Instant) -> bool {
        match self {
            Self::None | Self::Bernoulli { .. } => false,
            Self::GilbertElliott(bursts) => bursts.strike(),
            Self::Handoff(handoff) => handoff.covers(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(p: f64) -> f64 {
        let mut loss = Loss::new(&LossConfig::Bernoulli { p }, &Streams::new(3), "link").unwrap();
        (0..100_000).filter(|_| loss.strikes(Instant::ZERO)).count() as f64 / 1e5
    }

    #[test]
    fn bernoulli_loses_its_share() {
        assert_eq!(share(0.0), 0.0);
        // Standard deviation √(0.01·0.99/10⁵) = 0.0003.
        assert!((share(0.01) - 0.01).abs() < 0.001);
    }

    #[test]
    fn a_probability_is_below_one() {
        let error = Loss::new(&LossConfig::Bernoulli { p: 1.0 }, &Streams::new(3), "link").unwrap_err();
        assert_eq!(error.key, "p");
    }

    #[test]
    fn an_error_model_keeps_a_link_small() {
        // A PCG64 and a probability; what is larger is boxed.
        assert!(size_of::<Loss>() <= 48, "{} bytes", size_of::<Loss>());
    }
}
