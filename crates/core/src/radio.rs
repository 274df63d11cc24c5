// SPDX-License-Identifier: MIT OR Apache-2.0
//! The radio of one station: which rate it chooses, and whether what was sent gets through.

mod log2;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use crate::capacity::Trace;
use crate::error::{ParameterError, ensure};
use crate::fading::{Fading, Kinds};
use crate::parameter::{Parameter, above, between};
use crate::rng::{Stream, Streams};
use crate::units::{Duration, Frequency, Rate};
use crate::{kinds, parameters};
use log2::Log2;

/// Least length of a slot, so that a run of seconds ends.
const LEAST_SLOT: Duration = Duration::from_micros(1);
/// Bounds of 1 − m: where no margin gives the wanted error rate, it stops there.
const LEAST_FACTOR: f64 = 1e-3;
const MOST_FACTOR: f64 = 1e3;
/// A packet that is sent in one piece is coded for no less than this (clamp-report's lowest tolerated SNR).
const LEAST_SNR: f64 = 0.004;

/// A station's channel.
#[derive(Clone, Debug)]
pub enum RadioConfig {
    /// Rayleigh fading, with the rate matched to the SNR.
    Fading(FadingRadio),
    /// A constant rate without errors.
    Constant(ConstantRadio),
    /// The delivery opportunities of a recorded trace. All stations of an access point share one.
    Trace(Arc<Trace>),
}

impl RadioConfig {
    /// The rate that a queue's management and its router reckon with: of a fading channel the highest, of a trace the mean.
    pub fn line_rate(&self) -> Rate {
        match self {
            Self::Fading(fading) => fading.max_rate,
            Self::Constant(constant) => constant.rate,
            Self::Trace(trace) => trace.mean_rate(),
        }
    }

    /// The most that it carries: of a trace, within a tenth of a second.
    pub fn top_rate(&self) -> Rate {
        match self {
            Self::Trace(trace) => trace.top_rate(Duration::from_millis(100)),
            Self::Fading(_) | Self::Constant(_) => self.line_rate(),
        }
    }
}

parameters! {
    /// A radio of constant rate.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ConstantRadio {
        /// Its rate.
        pub rate: Rate, in above(Rate::from_bps(0));
    }
}

parameters! {
    /// A fading channel, and how it is used (clamp §5.2).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FadingRadio {
        /// Doppler frequency f_d: 60 Hz at 10 m/s and 1.8 GHz.
        pub doppler: Frequency;
        /// Oscillators G of the model; the papers take 20 and 8.
        pub generators: u32 = 20, in 1..=4096;
        /// Mean signal-to-noise ratio, as a plain ratio.
        pub snr: f64 = 4.0, in above(0.0);
        /// Bandwidth W₀: the rate is W₀ log₂(1 + (1 − m) SNR).
        pub bandwidth: Frequency, in above(Frequency::from_hz(0.0));
        /// Rate that the radio never passes.
        pub max_rate: Rate, in above(Rate::from_bps(0));
        /// Length T of a slot: one transmission attempt.
        pub slot: Duration = Duration::from_millis(3), in LEAST_SLOT..;
        /// Attempts before the packets of a slot are lost.
        pub attempts: u32, in 1..;
        /// Share of packets lost after all attempts that the margin is adapted to.
        pub packet_error_rate: f64 = 1e-3, in between(0.0, 1.0);
        /// How the back-off margin is found.
        pub margin: Margin = Margin::default();
        /// Gain of the margin's adaptation at first, a packet: ln(1 − m) −= gain · (lost − `packet_error_rate`). With 0.3 and
        /// 10⁻³, ln(1 − m) grows by 1 in 3300 packets without loss.
        pub margin_gain: f64 = 0.3, in above(0.0);
        /// Losses after which that gain has halved: after k of them it is `margin_gain` / (1 + k / `margin_halving`), so that the
        /// margin settles (Robbins and Monro, Annals of Mathematical Statistics 22, 1951). With a gain that stays, as with a very
        /// large number here, it wanders, and is larger in the mean than the packet error rate needs.
        pub margin_halving: f64 = 3.0, in above(0.0);
        /// How packets are cut into transmissions.
        pub frames: Frames = Frames::default();
        /// When an attempt fails.
        pub errors: ErrorModel = ErrorModel::default();
        /// Opportunistic beamforming (Viswanath, Tse, Laroia 2002): the access point sends from two antennas, whose powers and phases
        /// wander at random as fast as a channel with this Doppler frequency fades, so that mobiles that stand still fade too; the
        /// same for all stations. One antenna by default.
        pub beams: Option<Frequency> = None, in above(Frequency::from_hz(0.0));
    }
}

impl FadingRadio {
    /// 1 − m at first; 1 where the error model has no margin.
    fn first_factor(&self) -> f64 {
        match (self.errors, self.margin) {
            (ErrorModel::Outage | ErrorModel::IncrementalRedundancy, Margin::Fixed(FixedMargin { value })) => {
                1.0 - value
            }
            _ => 1.0,
        }
    }
}

kinds! {
    /// How packets are cut into transmissions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Frames {
        /// Each slot goes to one station; packets share and span slots (clamp §5.2).
        #[default]
        Shared = "shared",
        /// Packet by packet: a packet takes as many whole slots as it needs (clamp-report §V, clamp-mice §4.1).
        PerPacket = "per-packet",
        /// Packet by packet, each in one piece at the rate of the SNR at its start, whatever the slots.
        Whole = "whole",
    }
}

kinds! {
    /// When an attempt fails.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub enum ErrorModel {
        /// If the SNR at its end cannot carry the rate that was chosen at its start (clamp §5.2); coded anew at the next.
        #[default]
        Outage = "outage",
        /// As an outage, but what failed is kept and the next attempt sends more redundancy of the same: it gets through once the
        /// attempts have together carried what one alone would have to (incremental redundancy, hybrid ARQ of type II).
        IncrementalRedundancy = "incremental-redundancy",
        /// With a probability that falls linearly with the SNR at its start, and is 1 below `lower_snr`; repeated as it was, at
        /// the same probability (clamp-report §V, Fig. 2).
        Linear(LinearErrors) = "linear",
        /// Never.
        None = "none",
    }
}

parameters! {
    /// The report's frame errors.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct LinearErrors {
        /// Probability P_l of a frame error at the lower SNR.
        pub worst: f64, in 0.0..=1.0;
        /// SNR below which every frame fails.
        pub lower_snr: f64 = 0.004, in 0.0..;
        /// SNR from which no frame fails, more than `lower_snr`.
        pub upper_snr: f64 = 4.0, in above(0.0);
    }
    check(p) {
        ensure(p.upper_snr > p.lower_snr, "upper_snr", p.upper_snr, "more than `lower_snr`")?;
    }
}

impl LinearErrors {
    /// The probability of a frame error at a signal-to-noise ratio `snr`, a plain ratio (clamp-report §V, Fig. 2).
    #[inline]
    pub fn probability(&self, snr: f64) -> f64 {
        if snr < self.lower_snr { 1.0 } else { (self.worst - self.slope() * (snr - self.lower_snr)).max(0.0) }
    }

    fn slope(&self) -> f64 {
        self.worst / (self.upper_snr - self.lower_snr)
    }
}

kinds! {
    /// The back-off margin m of clamp eq. 18: the rate is chosen for an SNR of (1 − m)N.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub enum Margin {
        /// Adapted, of either sign: with many attempts it pays to try more than the SNR carries.
        #[default]
        Signed = "signed",
        /// Adapted, never below nothing.
        NonNegative = "non-negative",
        /// Not adapted.
        Fixed(FixedMargin) = "fixed",
    }
}

parameters! {
    /// A margin that stays.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FixedMargin {
        /// Its value.
        pub value: f64, in 1.0 - MOST_FACTOR..=1.0 - LEAST_FACTOR;
    }
}

/// The radio of one station. Its fields stay in this order: a scheduler asks all stations in each slot, and what that touches fills
/// two cache lines at the front.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct FadingChannel {
    /// The attempt of the slot that was asked for last: the scheduler asks for those of all, and one is made.
    asked: (u64, RadioAttempt),
    /// 1 − m; 1 where the error model has no margin.
    factor: f64,
    bandwidth_hz: f64,
    pub(crate) max_rate: f64,
    /// The SNR that just carries `max_rate`.
    max_snr: f64,
    least_snr: f64,
    log2: &'static Log2,
    pub(crate) fading: Fading,
    slot_s: f64,
    errors: Errors,
}

#[derive(Clone, Debug)]
enum Errors {
    None,
    /// `gathered` is what the attempts so far have carried \[bit/s per Hz\]; none where each is for itself.
    Outage {
        most: f64,
        on_success: f64,
        gain: FallingGain,
        gathered: Option<f64>,
    },
    Linear {
        law: LinearErrors,
        stream: Stream,
    },
}

/// The gain of the margin's adaptation, and what 1 − m is multiplied by with it.
#[derive(Clone, Copy, Debug)]
struct FallingGain {
    at_first: f64,
    halving: f64,
    target: f64,
    losses: f64,
}

impl FallingGain {
    fn now(&self) -> f64 {
        self.at_first / (1.0 + self.losses / self.halving)
    }

    fn on_success(&self) -> f64 {
        libm::exp(self.now() * self.target)
    }

    fn on_loss(&self) -> f64 {
        libm::exp(-self.now() * (1.0 - self.target))
    }
}

/// One transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RadioAttempt {
    /// The SNR at its start.
    pub(crate) snr: f64,
    /// The SNR that its rate needs.
    needed_snr: f64,
    /// Its rate \[bit/s\].
    pub(crate) rate: f64,
}

impl RadioAttempt {
    /// The same code, at another SNR.
    pub(crate) fn met(self, snr: f64) -> Self {
        Self { snr, ..self }
    }
}

impl FadingChannel {
    /// The radio of the station called `name` of an access point, whose fading is of one of `kinds`.
    pub(crate) fn new(
        config: &FadingRadio,
        (ap, name): (&str, &str),
        streams: &Streams,
        kinds: &mut Kinds,
    ) -> Result<Self, ParameterError> {
        config.validate()?;
        let &FadingRadio { slot, max_rate, .. } = config;
        let (bandwidth_hz, max_rate) = (config.bandwidth.as_hz(), max_rate.as_bps() as f64);
        let mut phases = streams.stream(name, "fading");
        let mut fading = Fading::new(config.doppler, config.generators, config.snr, slot, kinds, &mut phases);
        if let Some(speed) = config.beams {
            let [mut antenna, mut beam] = [streams.stream(name, "second antenna"), streams.stream(ap, "beam")];
            fading = fading.beamed(speed, slot, kinds, &mut antenna, &mut beam);
        }
        Ok(Self {
            asked: (u64::MAX, RadioAttempt { snr: 0.0, needed_snr: 0.0, rate: 0.0 }),
            factor: config.first_factor(),
            bandwidth_hz,
            max_rate,
            max_snr: libm::exp2(max_rate / bandwidth_hz) - 1.0,
            least_snr: if config.frames == Frames::Whole { LEAST_SNR } else { 0.0 },
            log2: Log2::table(),
            fading,
            slot_s: slot.as_secs_f64(),
            errors: Errors::new(config, || streams.stream(name, "errors")),
        })
    }

    /// What an attempt in this slot would be.
    #[inline(always)]
    pub(crate) fn attempt(&mut self, slot: u64) -> RadioAttempt {
        if self.asked.0 != slot {
            self.asked = (slot, self.attempt_anew(slot));
        }
        self.asked.1
    }

    #[inline(always)]
    fn attempt_anew(&mut self, slot: u64) -> RadioAttempt {
        let snr = self.fading.snr(slot);
        let wanted_snr = self.factor * snr;
        let wanted_snr = if wanted_snr > self.least_snr { wanted_snr } else { self.least_snr };
        //= clamp#18  B(s) = τ_slot · min(W₀ log(1 + (1 − m)N(sτ_slot)), C_max)
        // The logarithm always, and bare minima: whether the rate caps is a toss-up that no branch predictor foresees.
        let shannon = self.bandwidth_hz * self.log2.of(1.0 + wanted_snr);
        let rate = if shannon < self.max_rate { shannon } else { self.max_rate };
        let needed_snr = if wanted_snr < self.max_snr { wanted_snr } else { self.max_snr };
        RadioAttempt { snr, needed_snr, rate }
    }

    /// The whole bits that an attempt carries in one slot.
    #[inline]
    pub(crate) fn bits(&self, attempt: &RadioAttempt) -> u64 {
        //= clamp#18  B(s) = τ_slot · min(W₀ log(1 + (1 − m)N(sτ_slot)), C_max)
        (self.slot_s * attempt.rate) as u64
    }

    /// Whether an attempt that ended at the start of `end_slot` got through.
    #[inline]
    pub(crate) fn succeeds(&mut self, attempt: &RadioAttempt, end_slot: u64) -> bool {
        match &mut self.errors {
            Errors::None => true,
            // B > T·W₀ log₂(1 + N) is an error; the logarithm is monotonic, so SNRs compare as well.
            Errors::Outage { gathered: None, .. } => attempt.needed_snr <= self.fading.snr(end_slot),
            Errors::Outage { gathered: Some(gathered), .. } => {
                //= beyond#21  B ≤ T·W₀ Σ_l log₂(1 + N_l), l = 1 … the attempt
                *gathered += self.log2.of(1.0 + self.fading.snr(end_slot));
                let suffices = *gathered >= self.log2.of(1.0 + attempt.needed_snr);
                if suffices {
                    *gathered = 0.0;
                }
                suffices
            }
            Errors::Linear { law, stream } => stream.uniform() >= law.probability(attempt.snr),
        }
    }

    /// Whether an attempt that failed is repeated as it was, not coded anew.
    #[inline]
    pub(crate) fn repeats(&self) -> bool {
        matches!(self.errors, Errors::Linear { .. }) || self.is_redundant()
    }

    /// Whether attempts add up, so that a slot's frame goes again even if others were served in between.
    #[inline]
    pub(crate) fn is_redundant(&self) -> bool {
        matches!(self.errors, Errors::Outage { gathered: Some(_), .. })
    }

    /// What was tried is given up: what its attempts have carried is of no use.
    pub(crate) fn forget(&mut self) {
        if let Errors::Outage { gathered: Some(gathered), .. } = &mut self.errors {
            *gathered = 0.0;
        }
    }

    /// A packet has been delivered, or given up: the margin adapts.
    #[inline]
    pub(crate) fn adapt(&mut self, lost: bool) {
        if let Errors::Outage { most, on_success, gain, .. } = &mut self.errors {
            self.asked.0 = u64::MAX;
            let step = if lost { gain.on_loss() } else { *on_success };
            self.factor = (self.factor * step).clamp(LEAST_FACTOR, *most);
            if lost {
                gain.losses += 1.0;
                *on_success = gain.on_success();
            }
        }
    }

    /// The margin m, where the error model has one.
    pub(crate) fn margin(&self) -> Option<f64> {
        matches!(self.errors, Errors::Outage { .. }).then_some(1.0 - self.factor)
    }
}

impl Errors {
    fn new(config: &FadingRadio, stream: impl FnOnce() -> Stream) -> Self {
        match config.errors {
            ErrorModel::None => Self::None,
            ErrorModel::Outage | ErrorModel::IncrementalRedundancy => {
                let (most, at_first) = match config.margin {
                    Margin::Signed => (MOST_FACTOR, config.margin_gain),
                    Margin::NonNegative => (1.0, config.margin_gain),
                    Margin::Fixed(_) => (MOST_FACTOR, 0.0),
                };
                let (halving, target) = (config.margin_halving, config.packet_error_rate);
                let gain = FallingGain { at_first, halving, target, losses: 0.0 };
                let gathered = (config.errors == ErrorModel::IncrementalRedundancy).then_some(0.0);
                Self::Outage { most, on_success: gain.on_success(), gain, gathered }
            }
            ErrorModel::Linear(law) => Self::Linear { law, stream: stream() },
        }
    }
}
