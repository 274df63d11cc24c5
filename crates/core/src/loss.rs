// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses that have nothing to do with a full buffer.

use crate::error::{ParameterError, ensure};
use crate::rng::Stream;

/// An error model's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum LossConfig {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost with probability `p`, whatever happened to the others.
    Bernoulli {
        /// Probability of \[0, 1).
        p: f64,
    },
}

/// An error model with its own stream of random numbers, drawn once a packet.
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
}

impl Loss {
    /// An error model.
    ///
    /// # Errors
    /// A probability outside \[0, 1).
    pub fn new(config: LossConfig, stream: impl FnOnce() -> Stream) -> Result<Self, ParameterError> {
        match config {
            LossConfig::None => Ok(Self::None),
            LossConfig::Bernoulli { p } => {
                ensure((0.0..1.0).contains(&p), "p", p, "a probability from 0 up to, but not, 1")?;
                Ok(Self::Bernoulli { p, stream: stream() })
            }
        }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn strikes(&mut self) -> bool {
        match self {
            Self::None => false,
            Self::Bernoulli { p, stream } => stream.uniform() < *p,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn share(p: f64) -> f64 {
        let mut loss = Loss::new(LossConfig::Bernoulli { p }, || Streams::new(3).stream("link", "loss")).unwrap();
        (0..100_000).filter(|_| loss.strikes()).count() as f64 / 1e5
    }

    #[test]
    fn bernoulli_loses_its_share() {
        assert_eq!(share(0.0), 0.0);
        // Standard deviation √(0.01·0.99/10⁵) = 0.0003.
        assert!((share(0.01) - 0.01).abs() < 0.001);
    }

    #[test]
    fn a_probability_is_below_one() {
        let error = Loss::new(LossConfig::Bernoulli { p: 1.0 }, || unreachable!()).unwrap_err();
        assert_eq!(error.key, "p");
    }
}
