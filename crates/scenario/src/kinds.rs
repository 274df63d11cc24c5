// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that take one of several kinds: radio, scheduler, price, management of a queue, loss.

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

/// How a queue is managed.
#[derive(Clone, Copy, Debug, Default, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Aqm {
    /// Packets are dropped when they find no room.
    #[default]
    DropTail,
    /// Random early detection, by ns-2's rules.
    Red(Red),
    /// Controlled delay (RFC 8289).
    Codel(Codel),
    /// Fair queueing with a CoDel for each flow (RFC 8290). Without a limit the queue holds 10240 packets; when it is full,
    /// the flow with the most bytes loses.
    FqCodel(FqCodel),
}

/// Random early detection. It drops and never marks. The line's rate is the link's; at an access point that of the station's
/// radio: its constant rate, its highest rate, or its trace's mean rate.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Average queue in packets from which packets are dropped. 0: half of what the line carries in `target_delay`, and
    /// at least 5 (ns-2's `thresh_`).
    #[serde(default)]
    pub min_threshold: f64,
    /// Average queue in packets at which the probability reaches `max_p`. 0: three times the lower one (ns-2's
    /// `maxthresh_`).
    #[serde(default)]
    pub max_threshold: f64,
    /// Weight w_q of a new sample in the average, up to 1. 0: 1 - exp(-1/C), with C packets a second on the line (ns-2's
    /// `q_weight_`).
    #[serde(default = "two_per_mille")]
    pub queue_weight: f64,
    /// Probability of a drop at the upper threshold (ns-2's 1/`linterm_`).
    #[serde(default = "tenth")]
    pub max_p: f64,
    /// Whether at least 1/p packets pass between two drops (ns-2's `wait_`).
    #[serde(default = "yes")]
    pub wait: bool,
    /// Whether the probability rises to 1 up to twice the upper threshold; otherwise it jumps there (ns-2's `gentle_`).
    #[serde(default = "yes")]
    pub gentle: bool,
    /// What the queue is measured in. In bytes, a packet is dropped with a probability in proportion to its size (ns-2's
    /// `bytes_` and `queue_in_bytes_`).
    #[serde(default)]
    pub unit: Unit,
    /// Mean size of a packet: what counts as one in bytes, and while the line is idle (ns-2's `mean_pktsize_`).
    #[serde(default = "half_kb")]
    pub mean_packet: Size,
    /// Delay that the automatic lower threshold aims at (ns-2's `targetdelay_`).
    #[serde(default = "five_ms")]
    pub target_delay: Time,
}

/// What a queue is measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Packets.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
}

/// Controlled delay.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// Time that packets may always wait (RFC 8289 §4.3).
    #[serde(default = "five_ms")]
    pub target: Time,
    /// How long the wait must be above the target before a packet is dropped: about the longest round-trip time (RFC
    /// 8289 §4.2).
    #[serde(default = "hundred_ms")]
    pub interval: Time,
    /// Nothing is dropped with so little behind it.
    #[serde(default = "mtu")]
    pub mtu: Size,
}

/// Fair queueing with a CoDel for each flow.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// Time that packets may always wait.
    #[serde(default = "five_ms")]
    pub target: Time,
    /// How long the wait must be above the target before a packet is dropped.
    #[serde(default = "hundred_ms")]
    pub interval: Time,
    /// Nothing is dropped with so little behind it in its flow's queue.
    #[serde(default = "mtu")]
    pub mtu: Size,
    /// Queues that flows are hashed into (RFC 8290 §5.2.2).
    #[serde(default = "kilo")]
    pub queues: u32,
    /// Bytes that a queue may send in a round (RFC 8290 §5.2.1).
    #[serde(default = "quantum")]
    pub quantum: Size,
    /// Most packets dropped at once, from the flow with the most bytes, when the queue is full.
    #[serde(default = "sixty_four")]
    pub batch: u32,
}

/// What is lost whatever the queue.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Loss {
    /// Each packet with the same probability.
    Bernoulli(Bernoulli),
    /// In bursts, by a chain of two states that moves with each packet.
    GilbertElliott(GilbertElliott),
    /// All packets of both directions, while a handoff is on.
    Handoff(Handoff),
}

/// Independent losses.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {
    /// Probability of a loss.
    pub p: f64,
}

/// Losses in bursts: either by the probabilities of the chain, or by `mean_loss` and `mean_burst`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that the chain turns bad behind a packet.
    #[serde(default)]
    pub good_to_bad: Option<f64>,
    /// Probability that it turns good again.
    #[serde(default)]
    pub bad_to_good: Option<f64>,
    /// Probability of a loss in the good state; 0 by default.
    #[serde(default)]
    pub loss_good: Option<f64>,
    /// Probability of a loss in the bad state; 1 by default.
    #[serde(default)]
    pub loss_bad: Option<f64>,
    /// Share of packets lost, all in the bad state and none in the good one.
    #[serde(default)]
    pub mean_loss: Option<f64>,
    /// Mean number of packets lost in a row.
    #[serde(default)]
    pub mean_burst: Option<f64>,
}

/// Handoffs: either a chain with stays `on` and `off`, or fixed ones `at` instants. Both directions meet the same ones.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handoff {
    /// Mean length of a handoff; lengths are exponential.
    #[serde(default)]
    pub on: Option<Time>,
    /// Mean time from the end of a handoff to the start of the next; exponential. A run starts with one.
    #[serde(default)]
    pub off: Option<Time>,
    /// Whether the time between handoffs is always `off`.
    #[serde(default)]
    pub regular: bool,
    /// Starts of fixed handoffs, in order.
    #[serde(default)]
    pub at: Vec<Time>,
    /// Length of fixed handoffs.
    #[serde(default)]
    pub length: Option<Time>,
}

kinds!(Radio: "jakes" => Jakes(_), "constant" => Constant(_), "trace" => Trace(_));
kinds!(Margin: "signed" => Signed, "non-negative" => NonNegative, "fixed" => Fixed(_));
kinds!(Errors: "outage" => Outage, "linear" => Linear(_), "none" => None);
kinds!(Scheduler: "proportional-fair" => ProportionalFair(_), "best-snr" => BestSnr, "round-robin" => RoundRobin);
kinds!(Price: "linear" => Linear(_), "mice" => Mice(_), "smooth" => Smooth(_));
kinds!(Average: "at-arrivals" => AtArrivals(_), "raw" => Raw, "over-time" => OverTime(_));
kinds!(Aqm: "drop-tail" => DropTail, "red" => Red(_), "codel" => Codel(_), "fq-codel" => FqCodel(_));
kinds!(Loss: "bernoulli" => Bernoulli(_), "gilbert-elliott" => GilbertElliott(_), "handoff" => Handoff(_));

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

fn five_ms() -> Time {
    Time(lasthop_core::units::Duration::from_millis(5))
}

fn hundred_ms() -> Time {
    Time(lasthop_core::units::Duration::from_millis(100))
}

fn half_kb() -> Size {
    Size(lasthop_core::units::Bytes::new(500))
}

fn mtu() -> Size {
    Size(lasthop_core::units::Bytes::new(1500))
}

fn quantum() -> Size {
    Size(lasthop_core::units::Bytes::new(1514))
}

fn kilo() -> u32 {
    1024
}

fn sixty_four() -> u32 {
    64
}

fn two_per_mille() -> f64 {
    2e-3
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
