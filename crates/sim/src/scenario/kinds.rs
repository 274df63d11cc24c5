// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that take one of several kinds: radio, scheduler, price, loss.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::kinds;
use crate::quantity::{BitRate, Frequency, Size, Time};

/// The radio channel of a station.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Radio {
    /// Rayleigh fading by Jakes' model, rate adaptation, link-layer ARQ (clamp §5.2).
    Jakes(Jakes),
    /// One rate for all stations, packet by packet.
    Constant(Constant),
    /// Delivery opportunities of 1504 bytes at the times of a mahimahi trace.
    Trace(Trace),
}

/// A fading channel.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jakes {
    /// Doppler frequency: 60 Hz at 10 m/s and 1.8 GHz.
    pub doppler: Frequency,
    /// Oscillators G of the model.
    #[serde(default = "twenty")]
    pub generators: u32,
    /// Mean signal-to-noise ratio, as a plain ratio.
    #[serde(default = "four")]
    pub snr: f64,
    /// Bandwidth W₀ of `W₀ log₂(1 + SNR)`.
    pub bandwidth: Frequency,
    /// Rate that the radio never passes.
    pub max_rate: BitRate,
    /// Length of a slot: one transmission attempt.
    #[serde(default = "three_ms")]
    pub slot: Time,
    /// Attempts before the packets of a slot are lost.
    pub attempts: u32,
    /// Share of packets lost after all attempts that the margin is adapted to.
    #[serde(default = "per_mille")]
    pub packet_error_rate: f64,
    /// How the back-off margin is found.
    #[serde(default)]
    pub margin: Margin,
    /// Gain of the margin's adaptation, a packet: `ln(1 − m)` falls by it on a loss.
    #[serde(default = "tenth")]
    pub margin_gain: f64,
    /// How packets are cut into transmissions.
    #[serde(default)]
    pub frames: Frames,
    /// When an attempt fails.
    #[serde(default)]
    pub errors: Errors,
}

/// The back-off margin m of clamp eq. 18.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Margin {
    /// Adapted, of either sign.
    #[default]
    Signed,
    /// Adapted, never below nothing.
    NonNegative,
    /// Not adapted.
    Fixed(FixedMargin),
}

/// A margin that stays.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedMargin {
    /// Its value, below 1.
    pub value: f64,
}

/// How packets are cut into transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frames {
    /// Each slot goes to one station; packets share and span slots (clamp §5.2).
    #[default]
    Shared,
    /// Packet by packet: a packet takes as many whole slots as it needs (clamp-report §V, clamp-mice §4.1).
    PerPacket,
    /// Packet by packet, each in one piece at the rate of the SNR at its start, whatever the slots.
    Whole,
}

/// When an attempt fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Errors {
    /// If the SNR at its end cannot carry the rate that was chosen at its start (clamp §5.2).
    #[default]
    Outage,
    /// With a probability that falls linearly with the SNR (clamp-report §V).
    Linear(LinearErrors),
    /// Never.
    None,
}

/// The report's frame errors.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearErrors {
    /// Probability of a frame error at the lower SNR.
    pub worst: f64,
    /// SNR below which every frame fails.
    #[serde(default = "lower_snr")]
    pub lower_snr: f64,
    /// SNR from which no frame fails.
    #[serde(default = "four")]
    pub upper_snr: f64,
}

/// A radio of constant rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Its rate.
    pub rate: BitRate,
}

/// A radio that follows a recording.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// A mahimahi trace: one time stamp in ms a line; looked for beside the scenario.
    pub file: String,
}

/// Who is served next.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Scheduler {
    /// The greatest ratio of current to mean rate (clamp eq. 19).
    ProportionalFair(ProportionalFair),
    /// The best channel.
    BestSnr,
    /// One after the other.
    RoundRobin,
}

/// Proportional fairness.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProportionalFair {
    /// Weight of the past in the moving average of rates, a slot.
    #[serde(default = "memory")]
    pub memory: f64,
    /// Whether a slot whose transmission fails counts as obtained.
    #[serde(default = "yes")]
    pub failed_slots_count: bool,
}

impl Default for Scheduler {
    fn default() -> Self {
        Scheduler::ProportionalFair(ProportionalFair { memory: memory(), failed_slots_count: yes() })
    }
}

/// CLAMP's price at a router.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Price {
    /// `max((b·q − a)/μ_c, 0)` (clamp eq. 13).
    Linear(PriceOptions),
    /// `max(b·(q − a)/μ_c, 0)` (clamp-mice).
    Mice(PriceOptions),
    /// Quadratic up to 2a/b, then as the linear one without its bound (clamp-report eq. 1).
    Smooth(PriceOptions),
}

/// The parameters of a price.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceOptions {
    /// Queue below which nothing is asked.
    pub a: Size,
    /// Gain.
    #[serde(default = "unity")]
    pub b: f64,
    /// How the queue is averaged.
    #[serde(default)]
    pub average: Average,
    /// Departures over which the service rate is measured.
    #[serde(default = "hundred")]
    pub departures: u32,
}

/// How a router averages its queue.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Average {
    /// `q ← e^(−gI) q + (1 − e^(−gI)) Q` at each arrival, I seconds after the last (clamp §4.1).
    AtArrivals(AtArrivals),
    /// The queue itself (clamp-report).
    Raw,
    /// An exponential average over time, idle time included (clamp-mice).
    OverTime(OverTime),
}

/// An average over arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtArrivals {
    /// Its gain g a second.
    #[serde(default = "two")]
    pub gain: f64,
}

/// An average over time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverTime {
    /// Its time constant.
    pub time_constant: Time,
}

impl Default for Average {
    fn default() -> Self {
        Average::AtArrivals(AtArrivals { gain: two() })
    }
}

/// What is lost whatever the queue.
#[derive(Clone, Copy, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Loss {
    /// Each packet with the same probability.
    Bernoulli(Bernoulli),
}

/// Independent losses.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {
    /// Probability of a loss.
    pub p: f64,
}

kinds!(Radio: "jakes" => Jakes(_), "constant" => Constant(_), "trace" => Trace(_));
kinds!(Margin: "signed" => Signed, "non-negative" => NonNegative, "fixed" => Fixed(_));
kinds!(Errors: "outage" => Outage, "linear" => Linear(_), "none" => None);
kinds!(Scheduler: "proportional-fair" => ProportionalFair(_), "best-snr" => BestSnr, "round-robin" => RoundRobin);
kinds!(Price: "linear" => Linear(_), "mice" => Mice(_), "smooth" => Smooth(_));
kinds!(Average: "at-arrivals" => AtArrivals(_), "raw" => Raw, "over-time" => OverTime(_));
kinds!(Loss: "bernoulli" => Bernoulli(_));

fn twenty() -> u32 {
    20
}

fn four() -> f64 {
    4.0
}

fn tenth() -> f64 {
    0.1
}

fn yes() -> bool {
    true
}

fn lower_snr() -> f64 {
    0.004
}

fn three_ms() -> Time {
    Time(lasthop_core::units::Duration::from_millis(3))
}

fn per_mille() -> f64 {
    1e-3
}

fn memory() -> f64 {
    0.97
}

fn unity() -> f64 {
    1.0
}

fn two() -> f64 {
    2.0
}

fn hundred() -> u32 {
    100
}
