// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows: path, sender, receiver, application.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kinds::Loss;
use super::read::kinds;
use super::sender::Sender;
use crate::quantity::{Amount, BitRate, PerSecond, Size, Time};

/// One connection, or several alike.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name; with `count` the names are `NAME-1`, `NAME-2`, …
    pub name: String,
    /// How many flows there are of this kind.
    #[serde(default = "one")]
    pub count: u32,
    /// Each further flow of `count` starts so much later.
    #[serde(default)]
    pub stagger: Time,
    /// Each flow starts later by a time uniform from nothing to this, drawn from the seed.
    #[serde(default)]
    pub spread: Time,
    /// The nodes that the data crosses, joined by links; it may end at an access point or a WLAN, and start at a WLAN.
    #[serde(default)]
    pub path: Vec<String>,
    /// The station of the access point or WLAN at the path's end (of the only one, where there is no path) to which the
    /// data goes.
    #[serde(default)]
    pub station: Option<String>,
    /// The station of the WLAN at the path's start (of the only WLAN, where there is no path) from which the data comes.
    #[serde(default)]
    pub source: Option<String>,
    /// Two-way propagation delay of the flow's private part of the path, besides that of links and access point: at the
    /// sender, or at the receiver if the sender is a WLAN's station.
    #[serde(default)]
    pub rtt: Time,
    /// Each further flow of `count` has so much more `rtt`.
    #[serde(default)]
    pub rtt_step: Time,
    /// Rate of the sender's private access link; unlimited by default.
    #[serde(default)]
    pub access: Option<BitRate>,
    /// The receiver's private access link.
    #[serde(default)]
    pub sink: Option<Sink>,
    /// Size of a full data packet on the wire, with 40 bytes of headers, 52 with `linux-reno` and `linux-cubic`.
    #[serde(default = "mtu")]
    pub packet: Size,
    /// Each packet leaves its sender after a time uniform from nothing to this.
    #[serde(default)]
    pub jitter: Time,
    /// The sender.
    #[serde(default)]
    pub sender: Sender,
    /// The receiver.
    #[serde(default)]
    pub receiver: Receiver,
    /// What is sent.
    #[serde(default)]
    pub app: App,
    /// Who reads at a constant rate what arrives; where the application writes at one, a reader wants the same.
    #[serde(default)]
    pub reader: Option<Reader>,
    /// When the flow starts.
    #[serde(default)]
    pub start: Time,
    /// When it stops sending new data, if it has not finished before; at the end of the run by default.
    #[serde(default)]
    pub stop: Option<Time>,
}

/// A reader that wants a constant bit rate: in each sample it succeeds or fails (gamma §II-A).
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reader {
    /// What it wants; the rate of a `cbr` application by default.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// The share of it that must be exceeded for success; 0.9 by default.
    #[serde(default)]
    pub share: Option<f64>,
}

/// A receiver's private access link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sink {
    /// Its rate; unlimited by default.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// Its propagation delay, one way.
    #[serde(default)]
    pub delay: Time,
    /// Data packets lost on it; a handoff takes acknowledgements too.
    #[serde(default)]
    pub loss: Option<Loss>,
}

/// A receiver: what it advertises, and when it acknowledges.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Receiver {
    /// Advertises its free buffer.
    Plain(Plain),
    /// Advertises its free buffer, and acknowledges as Linux does: the first segments each, then every second one.
    Linux(Linux),
    /// Advertises CLAMP's window (clamp eq. 14–17).
    Clamp(Clamp),
}

/// What every receiver has.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plain {
    /// Its buffer: the most that it ever advertises; 4 GiB by default.
    #[serde(default)]
    pub buffer: Option<Size>,
    /// Acknowledge every second segment (RFC 1122); every segment at once by default.
    #[serde(default)]
    pub delayed_acks: Option<DelayedAcks>,
    /// Size of an ACK on the wire, without SACK blocks; 40 B by default, 52 B if the sender is Linux's and has timestamps.
    #[serde(default)]
    pub ack_size: Option<Size>,
}

/// The receiver of Linux.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Linux {
    /// The most that it ever advertises; 6 MB by default (tcp_rmem).
    #[serde(default)]
    pub buffer: Option<Size>,
    /// How many segments one ACK is for, at least 2; more where the network card joins segments (GRO).
    #[serde(default)]
    pub ack_every: Option<u32>,
    /// How many ACKs at the start are not delayed; 300 by default, as measured with Linux 6.18: 16 by themselves
    /// (TCP_MAX_QUICKACKS), the others because a sender whose socket buffer is still growing pushes each segment. HyStart
    /// takes them for a train. After a repeated segment 16 more, if so many are allowed at the start.
    #[serde(default)]
    pub quick_acks: Option<u32>,
    /// The longest that an ACK waits for a further segment; 40 ms by default (TCP_ATO_MIN).
    #[serde(default)]
    pub ack_timeout: Option<Time>,
    /// Size of an ACK on the wire, without SACK blocks; 40 B by default, 52 B if the sender is Linux's and has timestamps.
    #[serde(default)]
    pub ack_size: Option<Size>,
}

/// Delayed acknowledgements.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedAcks {
    /// The longest that an ACK waits for a second segment.
    pub timeout: Time,
}

/// The receiver of CLAMP.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clamp {
    /// Bytes that the flow aims to keep in the queue.
    pub tau: Size,
    /// Weight: the flow's share of the queue's rate is φ/Σφ.
    #[serde(default = "unity")]
    pub phi: f64,
    /// Packets over which the received rate is measured (α).
    #[serde(default = "thousand")]
    pub packets: u32,
    /// Gain of the round-trip estimate (β).
    #[serde(default = "per_mille")]
    pub beta: f64,
    /// Most that the window grows on one packet.
    #[serde(default = "ten_kb")]
    pub max_increase: Size,
    /// Least window; one segment by default.
    #[serde(default)]
    pub min_window: Option<Size>,
    /// The older law, without 1/d and with `tau` a second (clamp-report eq. 10b).
    #[serde(default)]
    pub unscaled: bool,
    /// How the window opens.
    #[serde(default)]
    pub slow_start: ReceiverSlowStart,
    /// Growth is held while the window is so many times what arrives in a round trip; 0 never holds.
    #[serde(default = "two")]
    pub hold: f64,
    /// The receiver's buffer: the most that it ever advertises; 4 GiB by default.
    #[serde(default)]
    pub buffer: Option<Size>,
    /// Acknowledge every second segment (RFC 1122); every segment at once by default.
    #[serde(default)]
    pub delayed_acks: Option<DelayedAcks>,
}

/// How a CLAMP receiver's window opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiverSlowStart {
    /// Doubles each round trip until the price or a loss ends it (clamp §4.3).
    #[default]
    On,
    /// By the law alone.
    Off,
}

/// What a flow sends.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum App {
    /// Endless data.
    #[default]
    Bulk,
    /// One transfer.
    Fixed(Fixed),
    /// Bursts at a rate, with pauses.
    OnOff(OnOff),
    /// Transfers that arrive by a Poisson process, each on a connection of its own: `NAME#1`, `NAME#2`, …
    Poisson(Poisson),
    /// A constant bit rate.
    Cbr(Cbr),
}

/// One transfer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Its payload.
    pub size: Amount,
}

/// Bursts and pauses.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Rate of payload within a burst.
    pub rate: BitRate,
    /// Mean length of a burst.
    pub on: Time,
    /// Mean length of a pause.
    pub off: Time,
    /// Exponential lengths; otherwise all are of the mean.
    #[serde(default = "yes")]
    pub exponential: bool,
    /// Bytes written at once; a segment by default.
    #[serde(default)]
    pub chunk: Option<Size>,
}

/// Transfers that come and go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Arrivals a second.
    pub rate: PerSecond,
    /// When the last may arrive; by default at the end of the run.
    #[serde(default)]
    pub until: Option<Time>,
    /// Their sizes.
    pub size: Sizes,
}

/// How sizes are distributed.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Sizes {
    /// All alike.
    Constant(ConstantSize),
    /// A triangle.
    Triangular(Triangular),
    /// Pareto.
    Pareto(Pareto),
}

/// One size.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantSize {
    /// The size.
    pub value: Amount,
}

/// Sizes in a triangle.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Triangular {
    /// Least size.
    pub min: Amount,
    /// Greatest size.
    pub max: Amount,
    /// Most likely size; the middle by default.
    #[serde(default)]
    pub mode: Option<Amount>,
}

/// Sizes by Pareto.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// Least size.
    pub min: Amount,
    /// Shape.
    pub shape: f64,
}

/// A constant bit rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Rate of payload.
    pub rate: BitRate,
    /// Bytes written at once; a segment by default.
    #[serde(default)]
    pub chunk: Option<Size>,
}

kinds!(Receiver or "plain": "plain" => Plain(_), "linux" => Linux(_), "clamp" => Clamp(_));
kinds!(App: "bulk" => Bulk, "fixed" => Fixed(_), "on-off" => OnOff(_), "poisson" => Poisson(_), "cbr" => Cbr(_));
kinds!(Sizes: "constant" => Constant(_), "triangular" => Triangular(_), "pareto" => Pareto(_));

impl Plain {
    /// Whether it is told nothing.
    pub fn is_bare(&self) -> bool {
        self.buffer.is_none() && self.delayed_acks.is_none() && self.ack_size.is_none()
    }
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver::Plain(Plain::default())
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn unity() -> f64 {
    1.0
}

fn two() -> f64 {
    2.0
}

fn thousand() -> u32 {
    1000
}

fn per_mille() -> f64 {
    1e-3
}

fn bytes(n: u64) -> Size {
    Size(lasthop_core::units::Bytes::new(n))
}

fn mtu() -> Size {
    bytes(1500)
}

fn ten_kb() -> Size {
    bytes(10_000)
}
