// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long frames and the gaps between them last.

use crate::error::{ParameterError, ensure};
use crate::parameter::{Parameter, above};
use crate::parameters;
use crate::units::{Bytes, Duration, Instant, Rate};

/// MAC header and check sum in front of and behind a packet \[B\] (IEEE 802.11, data frame).
const DATA_OVERHEAD: Bytes = Bytes::new(28);
/// An ACK frame.
const ACK: Bytes = Bytes::new(14);
/// A CTS frame.
const CTS: Bytes = Bytes::new(14);
/// An RTS frame.
const RTS: Bytes = Bytes::new(20);

parameters! {
    /// The parameters of the medium access; the defaults are those of 802.11b with the long preamble.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct MacConfig {
        /// Length of a back-off slot.
        pub slot: Duration = Duration::from_micros(20), in above(Duration::ZERO);
        /// Gap between the frames of an exchange.
        pub sifs: Duration = Duration::from_micros(10);
        /// Idle time before back-off slots count.
        pub difs: Duration = Duration::from_micros(50);
        /// PLCP preamble and header in front of every frame.
        pub preamble: Duration = Duration::from_micros(192);
        /// Rate of RTS, CTS and ACK frames.
        pub control_rate: Rate = Rate::from_bps(1_000_000), in above(Rate::from_bps(0));
        /// First contention window: a back-off is uniform over 0 to so many slots.
        pub cw_min: u32 = 31, in 1..;
        /// Largest contention window, reached by doubling after each failure.
        pub cw_max: u32 = 1023, in 1..=1 << 20;
        /// Attempts of an RTS, or of data without RTS, before the packet is lost.
        pub short_attempts: u32 = 7, in 1..;
        /// Attempts of data after RTS and CTS before the packet is lost.
        pub long_attempts: u32 = 4, in 1..;
        /// Data frames of more bytes than this, 28 B of MAC header and check sum included, are sent after RTS and CTS:
        /// "0 B" for all. By default none is.
        pub rts_threshold: Option<Bytes> = None;
    }
    check(mac) {
        ensure(mac.difs >= mac.sifs, "difs", format!("{:?}", mac.difs), "at least the SIFS")?;
        ensure(mac.cw_max >= mac.cw_min, "cw_max", mac.cw_max, "at least cw_min")?;
    }
}

/// The times that follow from the parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) slot: Duration,
    pub(super) difs: Duration,
    /// Idle time after a frame that nobody understood: room for the ACK that it might have been given.
    pub(super) eifs: Duration,
    pub(super) rts: Duration,
    /// From the start of an RTS to that of its data.
    pub(super) reservation: Duration,
    /// From the end of the data to that of its ACK.
    pub(super) answer: Duration,
    preamble: Duration,
    rts_threshold: Option<Bytes>,
}

impl Timing {
    pub(super) fn new(config: &MacConfig) -> Result<Self, ParameterError> {
        config.validate()?;
        let frame = |size: Bytes| config.preamble + size / config.control_rate;
        let answer = config.sifs + frame(ACK);
        Ok(Self {
            slot: config.slot,
            difs: config.difs,
            eifs: answer + config.difs,
            rts: frame(RTS),
            reservation: frame(RTS) + config.sifs + frame(CTS) + config.sifs,
            answer,
            preamble: config.preamble,
            rts_threshold: config.rts_threshold,
        })
    }

    /// The time that a packet of `size` takes on the air at `rate`.
    #[inline]
    pub(super) fn data(&self, size: Bytes, rate: Rate) -> Duration {
        self.preamble + (size + DATA_OVERHEAD) / rate
    }

    /// Whether a packet of `size` goes after RTS and CTS.
    #[inline]
    pub(super) fn reserves(&self, size: Bytes) -> bool {
        self.rts_threshold.is_some_and(|threshold| size + DATA_OVERHEAD > threshold)
    }
}

/// A data rate that may change while the run goes on: each step holds from its instant to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps(Vec<(Instant, Rate)>);

impl RateSteps {
    /// One rate for all time.
    pub fn constant(rate: Rate) -> Self {
        Self(vec![(Instant::ZERO, rate)])
    }

    /// Steps in order of time, the first at the start of the run.
    ///
    /// # Errors
    /// No step, a first one that is not at the start, one that is not after its predecessor, or a rate of zero.
    pub fn new(steps: Vec<(Instant, Rate)>) -> Result<Self, ParameterError> {
        let at = |step: &(Instant, Rate)| format!("{:?}", step.0);
        let Some(first) = steps.first() else {
            return Err(ParameterError::new("rate", "[]", "at least one"));
        };
        ensure(first.0 == Instant::ZERO, "rate", at(first), "the first rate from 0 s on")?;
        for (i, step) in steps.iter().enumerate() {
            // The scenario's steps are those behind the first rate.
            let key = |part: &str| if i == 0 { "rate".to_owned() } else { format!("rate_steps[{}].{part}", i - 1) };
            let in_order = i == 0 || steps[i - 1].0 < step.0;
            ensure(in_order, &key("at"), at(step), "steps in order, after 0 s")?;
            ensure(step.1 > Rate::from_bps(0), &key("rate"), format!("{:?}", step.1), "more than 0 bit/s")?;
        }
        Ok(Self(steps))
    }

    /// The highest of its rates.
    pub fn highest(&self) -> Rate {
        self.0.iter().map(|(_, rate)| *rate).max().unwrap_or_default()
    }

    /// The rate at `now`.
    #[inline]
    pub fn at(&self, now: Instant) -> Rate {
        match &self.0[..] {
            [(_, only)] => *only,
            steps => steps[steps.partition_point(|(from, _)| *from <= now) - 1].1,
        }
    }
}
