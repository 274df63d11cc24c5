// SPDX-License-Identifier: MIT OR Apache-2.0
//! The radio of one station: which rate it chooses, and whether what was sent gets through.

mod log2;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::capacity::Trace;
use crate::error::{ParameterError, ensure};
use crate::fading::{Fading, FadingParams, Kinds};
use crate::kinds;
use crate::rng::{Stream, Streams};
use crate::units::{Duration, Rate};
use log2::Log2;

/// Bounds of 1 − m: where no margin gives the wanted error rate, it stops there.
/// Least length of a slot, so that a run of seconds ends.
const LEAST_SLOT: Duration = Duration::from_micros(1);

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
    Constant {
        /// The rate.
        rate: Rate,
    },
    /// The delivery opportunities of a recorded trace. All stations of an access point share one.
    Trace(Arc<Trace>),
}

impl RadioConfig {
    /// The rate that a queue's management and its router reckon with: of a fading channel the highest, of a trace the mean.
    pub fn line_rate(&self) -> Rate {
        match self {
            Self::Fading(fading) => fading.max_rate,
            Self::Constant { rate } => *rate,
            Self::Trace(trace) => trace.mean_rate(),
        }
    }

    /// The most that it carries: of a trace, within a tenth of a second.
    pub fn top_rate(&self) -> Rate {
        match self {
            Self::Trace(trace) => trace.top_rate(Duration::from_millis(100)),
            Self::Fading(_) | Self::Constant { .. } => self.line_rate(),
        }
    }
}

/// How a fading channel is used (clamp §5.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FadingRadio {
    /// The SNR as a process.
    pub fading: FadingParams,
    /// T: one transmission attempt lasts a slot.
    pub slot: Duration,
    /// W₀ \[Hz\], more than 0: the rate is W₀ log₂(1 + (1 − m)N).
    pub bandwidth_hz: f64,
    /// C_max: the highest rate that the channel is used at.
    pub max_rate: Rate,
    /// How packets are cut into transmissions.
    pub frames: Frames,
    /// Attempts after which what was sent is given up, at least 1.
    pub attempts: u32,
    /// When an attempt fails.
    pub errors: ErrorModel,
}

impl Default for FadingRadio {
    /// The TMC paper's slow fading: 3 ms, 4.3 MHz, 10 Mbit/s, 5 attempts, a packet error rate of 10⁻³.
    fn default() -> Self {
        Self {
            fading: FadingParams::default(),
            slot: Duration::from_millis(3),
            bandwidth_hz: 4.3e6,
            max_rate: Rate::from_bps(10_000_000),
            frames: Frames::Shared,
            attempts: 5,
            errors: ErrorModel::default(),
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

/// When an attempt fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorModel {
    /// Never.
    None,
    /// If the SNR at its end cannot carry the rate that was chosen at its start (clamp §5.2); coded anew at the next.
    Outage {
        /// The margin m.
        margin: Margin,
        /// The packet error rate to which the margin adapts, in (0, 1).
        packet_error_rate: f64,
        /// Gain of the adaptation per packet, more than 0: ln(1 − m) −= gain·(lost − packet_error_rate). With 0.1 and
        /// 10⁻³, ln(1 − m) grows by 1 in 10⁴ packets without loss.
        margin_gain: f64,
    },
    /// With a probability that falls linearly in the SNR at its start, from `p_low` at `snr_low` to 0 at `snr_high`,
    /// and is 1 below `snr_low`; repeated as it was, at the same probability (clamp-report §V, Fig. 2).
    Linear {
        /// P_l, in [0, 1].
        p_low: f64,
        /// SNR_l, at least 0.
        snr_low: f64,
        /// SNR_u, more than SNR_l.
        snr_high: f64,
    },
}

impl Default for ErrorModel {
    fn default() -> Self {
        Self::Outage { margin: Margin::Signed, packet_error_rate: 1e-3, margin_gain: 0.1 }
    }
}

/// The backoff margin m: the rate is chosen for an SNR of (1 − m)N.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Margin {
    /// Adapts to the packet error rate, also below 0: with many attempts it pays to try more than the SNR carries.
    #[default]
    Signed,
    /// Adapts, but not below 0.
    NonNegative,
    /// Stays as it is, less than 1.
    Fixed(f64),
}

/// The radio of one station.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    pub(crate) fading: Fading,
    bandwidth_hz: f64,
    max_rate: f64,
    /// The SNR that just carries `max_rate`.
    max_snr: f64,
    slot_s: f64,
    least_snr: f64,
    log2: &'static Log2,
    errors: Errors,
}

#[derive(Clone, Debug)]
enum Errors {
    None,
    Outage { factor: f64, on_success: f64, on_loss: f64, most: f64 },
    Linear { p_low: f64, snr_low: f64, slope: f64, stream: Stream },
}

/// One transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// The SNR at its start.
    pub(crate) snr: f64,
    /// The SNR that its rate needs.
    needed_snr: f64,
    /// Its rate \[bit/s\].
    pub(crate) rate: f64,
}

impl Radio {
    /// The radio of the station called `name`, whose fading is of one of `kinds`.
    pub(crate) fn new(
        config: &FadingRadio,
        name: &str,
        streams: &Streams,
        kinds: &mut Kinds,
    ) -> Result<Self, ParameterError> {
        let &FadingRadio { bandwidth_hz, max_rate, slot, attempts, .. } = config;
        ensure(bandwidth_hz.is_finite() && bandwidth_hz > 0.0, "bandwidth", bandwidth_hz, "more than 0 Hz")?;
        ensure(max_rate > Rate::from_bps(0), "max_rate", max_rate.as_bps(), "more than 0 bit/s")?;
        ensure(attempts > 0, "attempts", attempts, "at least 1")?;
        ensure(slot >= LEAST_SLOT, "slot", format!("{slot:?}"), "at least 1 µs")?;
        let max_rate = max_rate.as_bps() as f64;
        Ok(Self {
            fading: Fading::new(config.fading, slot, kinds, &mut streams.stream(name, "fading"))?,
            bandwidth_hz,
            max_rate,
            max_snr: libm::exp2(max_rate / bandwidth_hz) - 1.0,
            slot_s: slot.as_secs_f64(),
            least_snr: if config.frames == Frames::Whole { LEAST_SNR } else { 0.0 },
            log2: Log2::table(),
            errors: Errors::new(&config.errors, || streams.stream(name, "errors"))?,
        })
    }

    /// What an attempt in this slot would be.
    #[inline]
    pub(crate) fn attempt(&mut self, slot: u64) -> Attempt {
        let snr = self.fading.snr(slot);
        let wanted_snr = match self.errors {
            Errors::Outage { factor, .. } => factor * snr,
            _ => snr,
        };
        let wanted_snr = if wanted_snr > self.least_snr { wanted_snr } else { self.least_snr };
        //= clamp#18  B(s) = τ_slot · min(W₀ log(1 + (1 − m)N(sτ_slot)), C_max)
        // The logarithm always, and bare minima: whether the rate caps is a toss-up that no branch predictor foresees.
        let shannon = self.bandwidth_hz * self.log2.of(1.0 + wanted_snr);
        let rate = if shannon < self.max_rate { shannon } else { self.max_rate };
        let needed_snr = if wanted_snr < self.max_snr { wanted_snr } else { self.max_snr };
        Attempt { snr, needed_snr, rate }
    }

    /// The whole bits that an attempt carries in one slot.
    #[inline]
    pub(crate) fn bits(&self, attempt: &Attempt) -> u64 {
        //= clamp#18  B(s) = τ_slot · min(W₀ log(1 + (1 − m)N(sτ_slot)), C_max)
        (self.slot_s * attempt.rate) as u64
    }

    /// Whether an attempt that ended at the start of `end_slot` got through.
    #[inline]
    pub(crate) fn succeeds(&mut self, attempt: &Attempt, end_slot: u64) -> bool {
        match &mut self.errors {
            Errors::None => true,
            // B > T·W₀ log₂(1 + N) is an error; the logarithm is monotonic, so SNRs compare as well.
            Errors::Outage { .. } => attempt.needed_snr <= self.fading.snr(end_slot),
            Errors::Linear { p_low, snr_low, slope, stream } => {
                let p =
                    if attempt.snr < *snr_low { 1.0 } else { (*p_low - *slope * (attempt.snr - *snr_low)).max(0.0) };
                stream.uniform() >= p
            }
        }
    }

    /// Whether an attempt that failed is repeated as it was, not coded anew.
    #[inline]
    pub(crate) fn repeats(&self) -> bool {
        matches!(self.errors, Errors::Linear { .. })
    }

    /// A packet has been delivered, or given up: the margin adapts.
    #[inline]
    pub(crate) fn adapt(&mut self, lost: bool) {
        if let Errors::Outage { factor, on_success, on_loss, most } = &mut self.errors {
            *factor = (*factor * if lost { *on_loss } else { *on_success }).clamp(LEAST_FACTOR, *most);
        }
    }

    /// The margin m, where the error model has one.
    pub(crate) fn margin(&self) -> Option<f64> {
        match self.errors {
            Errors::Outage { factor, .. } => Some(1.0 - factor),
            Errors::None | Errors::Linear { .. } => None,
        }
    }
}

impl Errors {
    fn new(config: &ErrorModel, stream: impl FnOnce() -> Stream) -> Result<Self, ParameterError> {
        match *config {
            ErrorModel::None => Ok(Self::None),
            ErrorModel::Outage { margin, packet_error_rate: target, margin_gain: gain } => {
                ensure(target > 0.0 && target < 1.0, "packet_error_rate", target, "more than 0 and less than 1")?;
                ensure(gain.is_finite() && gain > 0.0, "margin_gain", gain, "more than 0")?;
                let (on_success, on_loss) = (libm::exp(gain * target), libm::exp(-gain * (1.0 - target)));
                Ok(match margin {
                    Margin::Signed => Self::Outage { factor: 1.0, on_success, on_loss, most: MOST_FACTOR },
                    Margin::NonNegative => Self::Outage { factor: 1.0, on_success, on_loss, most: 1.0 },
                    Margin::Fixed(m) => {
                        let factor = 1.0 - m;
                        let fits = (LEAST_FACTOR..=MOST_FACTOR).contains(&factor);
                        ensure(fits, "margin.value", m, "from −999 to 0.999")?;
                        Self::Outage { factor, on_success: 1.0, on_loss: 1.0, most: MOST_FACTOR }
                    }
                })
            }
            ErrorModel::Linear { p_low, snr_low, snr_high } => {
                ensure((0.0..=1.0).contains(&p_low), "errors.worst", p_low, "from 0 to 1")?;
                ensure(
                    snr_low.is_finite() && snr_low >= 0.0,
                    "errors.lower_snr",
                    snr_low,
                    "at least 0, a plain ratio",
                )?;
                ensure(
                    snr_high.is_finite() && snr_high > snr_low,
                    "errors.upper_snr",
                    snr_high,
                    "more than lower_snr",
                )?;
                Ok(Self::Linear { p_low, snr_low, slope: p_low / (snr_high - snr_low), stream: stream() })
            }
        }
    }
}
