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
        /// First contention window: a back-off is uniform over 0 to this many slots.
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
        ensure(mac.difs >= mac.sifs, "difs", format_args!("{:?}", mac.difs), "at least the SIFS")?;
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

parameters! {
    /// A change of rate.
    #[derive(Clone, Copy, Debug)]
    pub struct RateStep {
        /// When: frames that start from then on have the new rate.
        pub at: Duration, in above(Duration::ZERO);
        /// The new rate.
        pub rate: Rate, in above(Rate::from_bps(0));
    }
}

/// A data rate that may change while the run goes on: each step holds from its instant to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps(Vec<(Instant, Rate)>);

impl RateSteps {
    /// One rate, more than 0, for all time.
    pub fn constant(rate: Rate) -> Self {
        Self(vec![(Instant::ZERO, rate)])
    }

    /// A rate at the start, more than 0, and its changes in order of time.
    ///
    /// # Errors
    /// A step that is not after its predecessor, or has no rate.
    pub fn new(first: Rate, steps: &[RateStep]) -> Result<Self, ParameterError> {
        let key = |i: usize| format!("rate_steps[{i}]");
        let mut rates = vec![(Instant::ZERO, first)];
        let mut before = Duration::ZERO;
        for (i, step) in steps.iter().enumerate() {
            step.validate().map_err(|e| e.within(&key(i)))?;
            ensure(step.at > before, "at", step.at, "more than that of the step before")
                .map_err(|e| e.within(&key(i)))?;
            before = step.at;
            rates.push((Instant::ZERO + step.at, step.rate));
        }
        Ok(Self(rates))
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
