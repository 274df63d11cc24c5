// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses that have nothing to do with a full buffer.

mod bursts;
mod handoff;

pub use bursts::{BurstChain, Bursts, GilbertElliott};
pub use handoff::{Handoff, HandoffTimes};

use crate::error::ParameterError;
use crate::parameter::Parameter;
use crate::rng::{Stream, Streams};
use crate::units::Instant;
use crate::{kinds, parameters};

kinds! {
    /// What is lost whatever the queue.
    #[derive(Clone, Debug, PartialEq)]
    pub enum LossParams {
        /// Each packet with the same probability.
        Bernoulli(Bernoulli) = "bernoulli",
        /// In bursts, by a chain of two states that moves with each packet.
        GilbertElliott(GilbertElliott) = "gilbert-elliott",
        /// All packets of both directions, while a handoff is on.
        Handoff(HandoffTimes) = "handoff",
    }
}

parameters! {
    /// Independent losses.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Bernoulli {
        /// Probability of a loss.
        pub p: f64, in 0.0..1.0;
    }
}

/// What an element loses. [`Default`] loses nothing.
#[derive(Clone, Debug, Default)]
pub struct LossConfig {
    /// How it loses.
    pub model: Option<LossParams>,
    /// Whose handoffs it meets: those that name the same chain meet the same ones, as the two directions of a link do.
    pub chain: String,
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
        let Some(model) = &config.model else { return Ok(Self::None) };
        model.validate()?;
        match model {
            LossParams::Bernoulli(bernoulli) => {
                Ok(Self::Bernoulli { p: bernoulli.p, stream: streams.stream(name, "loss") })
            }
            LossParams::GilbertElliott(params) => {
                Ok(Self::GilbertElliott(Box::new(Bursts::new(params.chain()?, streams.stream(name, "loss")))))
            }
            LossParams::Handoff(times) => {
                Ok(Self::Handoff(Box::new(Handoff::new(times, streams.stream(&config.chain, "handoff"))?)))
            }
        }
    }

    /// Whether the next packet, which passes at `now`, is lost. Instants must not decrease.
    #[inline(always)]
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
pub(crate) mod tests {
    use super::*;

    pub(crate) fn bernoulli(p: f64) -> LossConfig {
        LossConfig { model: Some(LossParams::Bernoulli(Bernoulli { p })), ..LossConfig::default() }
    }

    fn share(p: f64) -> f64 {
        let mut loss = Loss::new(&bernoulli(p), &Streams::new(3), "link").unwrap();
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
        let error = Loss::new(&bernoulli(1.0), &Streams::new(3), "link").unwrap_err();
        assert_eq!(error.key, "p");
    }

    #[test]
    fn an_error_model_keeps_a_link_small() {
        // A PCG64 and a probability; what is larger is boxed.
        assert!(size_of::<Loss>() <= 48, "{} bytes", size_of::<Loss>());
    }
}
