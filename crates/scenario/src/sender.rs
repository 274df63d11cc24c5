// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders: the window law, its parameters, and what all senders have.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read::kinds;
use super::with::With;
use crate::quantity::{Amount, BitRate, Size, Time};

/// A sender: its window law and its loss recovery, or its rate.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
pub enum Sender {
    /// RFC 5681 with the recovery of RFC 6582.
    Newreno(SenderOptions),
    /// RFC 5681 with the recovery of RFC 5681.
    Reno(SenderOptions),
    /// TCP(α, β), with γ and δ where they are given (gamma), by the rules of ns-2: the window is halved at the first
    /// decrease and in slow start.
    Aimd(With<Aimd, SenderOptions>),
    /// RFC 9438, with the recovery of RFC 6675 unless told otherwise.
    Cubic(With<Cubic, SenderOptions>),
    /// Reno as in Linux 6.18: SACK, RACK and tail loss probes (RFC 8985), proportional rate reduction (RFC 6937), timestamps,
    /// an initial window of 10 (RFC 6928), a least time-out of 200 ms, growth by whole segments while the window is full.
    LinuxReno(SenderOptions),
    /// CUBIC as in Linux 6.18: HyStart, arithmetic in whole segments and ticks, and all that `linux-reno` has.
    LinuxCubic(With<LinuxCubic, SenderOptions>),
    /// Vegas (Brakmo, Peterson 1995), with the recovery of RFC 6582.
    Vegas(With<Vegas, SenderOptions>),
    /// Veno (Fu, Liew 2003), with the recovery of RFC 6582.
    Veno(With<Veno, SenderOptions>),
    /// Westwood+ (Mascolo, Grieco et al. 2004), with the recovery of RFC 6582.
    Westwood(With<Westwood, SenderOptions>),
    /// Binomial congestion control: SQRT unless told otherwise, with the recovery of RFC 6582.
    Binomial(With<Binomial, SenderOptions>),
    /// XCP, with the recovery of RFC 5681: routers say by how much the window changes, and a loss halves it. Where no router
    /// speaks it is TCP.
    Xcp(SenderOptions),
    /// QFCP (qfcp), with the recovery of RFC 6675 and lost retransmissions found: routers tell the rate, and a loss says
    /// nothing. Where a queue of the path does not speak, a TCP runs beside and the lesser window holds.
    Qfcp(With<Qfcp, SenderOptions>),
    /// TCP-friendly rate control (RFC 5348): packets leave at a rate, and what is lost is not sent again. It comes with a
    /// receiver of its own (`receiver = "plain"`).
    Tfrc(Tfrc),
    /// A congestion control of the kernel by its name, such as `bbr`: for `lasthop emu` alone.
    Kernel(Kernel),
}

/// A congestion control of the kernel.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its name, one of those in `/proc/sys/net/ipv4/tcp_available_congestion_control`.
    pub congestion_control: String,
}

/// TCP(α, β) and its recovery.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aimd {
    /// α: segments that the window gains in a round trip; by default 4(1 − β²)/3, which is TCP-friendly (gamma eq. 3).
    #[serde(default)]
    pub alpha: Option<f64>,
    /// β: the share of the window that is left after a loss.
    #[serde(default = "half")]
    pub beta: f64,
    /// What is left after a time-out.
    #[serde(default)]
    pub after_timeout: AfterTimeout,
    /// How losses are repaired.
    #[serde(default)]
    pub recovery: Recovery,
    /// γ: cut the window before packets are lost (gamma eq. 15, 16); never by default.
    #[serde(default)]
    pub gamma: Option<Gamma>,
    /// δ: grow faster while the queue is short (gamma eq. 17); never by default.
    #[serde(default)]
    pub delta: Option<Delta>,
    /// From when on γ and δ act.
    #[serde(default)]
    pub arming: Arming,
}

/// The share of the window that becomes the slow-start threshold after a time-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterTimeout {
    /// Half, as ns-2 has it.
    #[default]
    Half,
    /// β; half where the last decrease was a time-out too.
    Beta,
}

/// How losses are repaired that duplicate acknowledgements tell of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Fast recovery that ends with the first acknowledgement of new data (RFC 5681).
    #[default]
    Reno,
    /// Fast recovery that stays until all is acknowledged that was outstanding at its start (RFC 6582).
    Newreno,
    /// By selective acknowledgements (RFC 6675).
    Sack,
}

/// γ: the window falls to the knee when the queue is so full.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gamma {
    /// Th_upper: queueing delay over the greatest at which the window is cut.
    #[serde(default = "half")]
    pub threshold: f64,
    /// How deep the cut is, and what the greatest round-trip time is.
    #[serde(default)]
    pub variant: GammaVariant,
}

/// How deep γ cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GammaVariant {
    /// To the knee, as the paper has it (gamma eq. 16).
    #[default]
    Knee,
    /// Below it, by (minRTT/RTT)³ with the least RTT of the round trip of waiting, so that the queue empties and late-comers
    /// learn the true minRTT. The greatest round-trip time is that of the least ones of round trips; `arming` has no say.
    Drain,
}

/// δ: the window grows faster while the queue is so empty.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    /// Th_lower: queueing delay over the greatest up to which δ rules.
    #[serde(default = "tenth")]
    pub threshold: f64,
    /// δ: segments that the window gains in a round trip.
    #[serde(default = "two")]
    pub increase: f64,
}

/// From when on the greatest round-trip time is taken for that of a full queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arming {
    /// After the flow's first loss.
    #[default]
    AfterLoss,
    /// At once, on the greatest so far.
    RunningMaximum,
}

/// CUBIC.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cubic {
    /// C, in segments/s³.
    #[serde(default = "cubic_c")]
    pub c: f64,
    /// β_cubic: the share of the window that is left after a loss.
    #[serde(default = "cubic_beta")]
    pub beta: f64,
    /// Make room for new flows: a flow that loses before it is back at its last maximum aims lower (RFC 9438 §4.7).
    #[serde(default = "yes")]
    pub fast_convergence: bool,
    /// Keep up with the window that Reno would have (RFC 9438 §4.3).
    #[serde(default = "yes")]
    pub reno_friendly: bool,
}

/// Linux's CUBIC: tcp_cubic.c with C = 0.4 and β = 717/1024.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinuxCubic {
    /// Make room for new flows: a flow that loses before it is back at its last maximum aims lower (fast_convergence).
    #[serde(default = "yes")]
    pub fast_convergence: bool,
    /// Keep up with the window that Reno would have (tcp_friendliness).
    #[serde(default = "yes")]
    pub reno_friendly: bool,
    /// Leave slow start when acknowledgements come in a long train, or late (hystart).
    #[serde(default = "yes")]
    pub hystart: bool,
    /// The kernel's tick, 1 ms to 10 ms: 4 ms with CONFIG_HZ=250.
    #[serde(default = "four_ms")]
    pub tick: Time,
}

/// Vegas, with the numbers of ns-2.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vegas {
    /// α: with fewer segments in the queue the window grows.
    #[serde(default = "one")]
    pub alpha: f64,
    /// β: with more segments in the queue the window falls.
    #[serde(default = "three")]
    pub beta: f64,
    /// γ: with more segments in the queue slow start ends.
    #[serde(default = "one")]
    pub gamma: f64,
    /// The share of the window that is left after a loss.
    #[serde(default = "three_quarters")]
    pub loss_share: f64,
}

/// Veno.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Veno {
    /// β: with fewer of its segments in the queue the flow takes a loss for one of the air.
    #[serde(default = "three")]
    pub beta: f64,
    /// The share of the window that is left after a loss of the air.
    #[serde(default = "four_fifths")]
    pub random_loss_share: f64,
    /// Learn the least round-trip time anew after each loss.
    #[serde(default = "yes")]
    pub reset_base_rtt: bool,
}

/// Westwood+.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Westwood {
    /// Weight of the past in the filter of the bandwidth.
    #[serde(default = "nine_tenths")]
    pub filter: f64,
    /// Least time between two samples of the bandwidth.
    #[serde(default = "fifty_ms")]
    pub least_interval: Time,
}

/// Binomial congestion control (Bansal and Balakrishnan 2001): α/wᵏ more in a round trip, βwˡ less on a loss.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Binomial {
    /// k, 0 or more: ½ is SQRT, 1 is IIAD.
    #[serde(default = "half")]
    pub k: f64,
    /// l, from 0 to 1: ½ is SQRT, 0 is IIAD.
    #[serde(default = "half")]
    pub l: f64,
    /// α, above 0: segments that a window of 1 gains in a round trip.
    #[serde(default = "one")]
    pub alpha: f64,
    /// β, between 0 and 1: segments that a window of 1 loses on a loss.
    #[serde(default = "half")]
    pub beta: f64,
}

/// QFCP's sender.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Qfcp {
    /// Halve the window after a loss until it is repaired, as without the paper's enhancement.
    #[serde(default)]
    pub heed_loss: bool,
}

/// TCP-friendly rate control (RFC 5348).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tfrc {
    /// Weight of the old round-trip estimate, from 0 up to, but not, 1 (RFC 5348 §4.3, q).
    #[serde(default = "rtt_memory")]
    pub rtt_memory: f64,
    /// Time-out over round-trip time in the throughput equation, 0 or more (RFC 5348 §3.1).
    #[serde(default = "four")]
    pub rto_factor: f64,
    /// Rate of payload once a round-trip time is known; by default 2 to 4 packets a round trip (RFC 5348 §4.2).
    #[serde(default)]
    pub initial_rate: Option<BitRate>,
    /// Long times without losses discount what was before (RFC 5348 §5.5).
    #[serde(default = "yes")]
    pub discounting: bool,
    /// The share of its weight that discounting leaves at least, more than 0 and at most 1 (RFC 5348 §5.5, THRESHOLD).
    #[serde(default = "quarter")]
    pub discount_floor: f64,
    /// Packets are spaced by the root of the latest round-trip time, to damp oscillations (RFC 5348 §4.5).
    #[serde(default)]
    pub damping: bool,
    /// Most packets that leave at once after a pause, at least 1, which makes up for none (RFC 5348 §4.6).
    #[serde(default = "one_packet")]
    pub burst: u32,
    /// Longest time between two packets (RFC 5348 §4.3, t_mbi).
    #[serde(default = "max_backoff")]
    pub max_backoff: Time,
}

/// What every sender of TCP has.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SenderOptions {
    /// Payload of a full segment; by default `packet` of the flow less 40 bytes, and with `linux-reno` and `linux-cubic`
    /// less the 12 bytes of timestamps, so that packets are `packet` long.
    #[serde(default)]
    pub mss: Option<Size>,
    /// IP and TCP header of a data segment, without the 12 bytes of timestamps; 40 B by default.
    #[serde(default)]
    pub header: Option<Size>,
    /// Selective acknowledgements (RFC 2018, 6675); on for CUBIC, QFCP and Linux's senders, off for the others.
    #[serde(default)]
    pub sack: Option<bool>,
    /// Timestamps (RFC 7323): an RTT sample from every ACK. On for Linux's senders, off for the others.
    #[serde(default)]
    pub timestamps: Option<bool>,
    /// Limited transmit (RFC 3042).
    #[serde(default)]
    pub limited_transmit: bool,
    /// Initial window in segments; 10 for Linux's senders (RFC 6928), otherwise RFC 5681's by default.
    #[serde(default)]
    pub initial_window: Option<u32>,
    /// Initial slow-start threshold; unlimited by default.
    #[serde(default)]
    pub initial_ssthresh: Option<Amount>,
    /// A bound on the window besides the receiver's; none by default.
    #[serde(default)]
    pub window_limit: Option<Amount>,
    /// Least retransmission time-out; 200 ms for Linux's senders (TCP_RTO_MIN), otherwise 1 s (RFC 6298) by default.
    #[serde(default)]
    pub rto_min: Option<Time>,
    /// Retransmission time-out before the first RTT sample; 1 s (RFC 6298) by default.
    #[serde(default)]
    pub rto_initial: Option<Time>,
    /// Greatest retransmission time-out; 120 s for Linux's senders (TCP_RTO_MAX), otherwise 60 s by default.
    #[serde(default)]
    pub rto_max: Option<Time>,
    /// Count an ACK as a duplicate only if its window is that of the last (RFC 5681 to the letter). CLAMP changes the
    /// window on every ACK, and loses its fast retransmits under this rule.
    #[serde(default)]
    pub strict_duplicate_acks: bool,
    /// Let each time-out set the slow-start threshold, so that two in a row bring it to its floor of two segments
    /// (ns-2); otherwise a segment that times out again leaves it (RFC 5681). On for `aimd`, off for the others.
    #[serde(default)]
    pub cut_at_each_timeout: Option<bool>,
    /// With Reno's recovery, let a further loss in a window that has had its fast retransmit wait for the timer (ns-2's
    /// Reno); otherwise it gets a fast retransmit of its own (RFC 5681). On for `aimd`, off for the others.
    #[serde(default)]
    pub one_fast_retransmit: Option<bool>,
    /// A loss leaves a share of the congestion window, not of what is in flight, which is less where the application is the
    /// slower; on for `aimd`, as ns-2 has it, off for the others (RFC 5681).
    #[serde(default)]
    pub cut_of_window: Option<bool>,
    /// Let the ACK that ends a fast recovery leave the slow-start threshold as the window
    /// and grow it as any other does (ns-2; RFC 6582 §3.2 step 3 option 2); otherwise it grows nothing, and with NewReno
    /// leaves no more than what is in flight and a segment (option 1).
    #[serde(default)]
    pub grow_at_recovery_end: bool,
    /// With selective acknowledgements, find a retransmission lost when something sent later has arrived (RFC 8985);
    /// otherwise it waits for the time-out. On for QFCP, off for the others.
    #[serde(default)]
    pub find_lost_retransmissions: Option<bool>,
    /// With selective acknowledgements, find anything lost when something sent later has arrived, at once or after a
    /// quarter of the least round-trip time, and keep what was SACKed after a time-out (RFC 8985 §6.2, as Linux has it).
    /// On for Linux's senders, off for the others.
    #[serde(default)]
    pub rack: Option<bool>,
    /// With `rack`, send a segment when no acknowledgement has come for two round trips (RFC 8985 §7). On for Linux's
    /// senders, off for the others.
    #[serde(default)]
    pub tail_loss_probe: Option<bool>,
    /// With selective acknowledgements, let the window fall in recovery in proportion to what arrives (RFC 6937). On for
    /// Linux's senders, off for the others.
    #[serde(default)]
    pub rate_reduction: Option<bool>,
    /// How the time-out follows from round-trip times; `linux` for Linux's senders, otherwise `rfc6298`.
    #[serde(default)]
    pub rtt_estimator: Option<RttEstimator>,
    /// When the window may grow; `linux` for Linux's senders, otherwise `always`.
    #[serde(default)]
    pub validation: Option<Validation>,
    /// Open with SYN and SYN-ACK, as by default; otherwise data goes at once.
    #[serde(default)]
    pub handshake: Option<bool>,
}

/// How the time-out follows from round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttEstimator {
    /// SRTT + 4 RTTVAR, at least the least time-out (RFC 6298).
    Rfc6298,
    /// SRTT + RTTVAR, which is at least the least time-out (tcp_rtt_estimator).
    Linux,
}

/// When the congestion window may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Validation {
    /// With each acknowledgement of new data (RFC 5681).
    Always,
    /// If it was full when the acknowledgement came (RFC 7661).
    Full,
    /// If it was full in the last round trip, or in slow start less than twice what was outstanding (tcp_cwnd_validate).
    Linux,
}

kinds!(
    Sender or "newreno":
    "newreno" => Newreno(_), "reno" => Reno(_), "aimd" => Aimd(_), "cubic" => Cubic(_),
    "linux-reno" => LinuxReno(_), "linux-cubic" => LinuxCubic(_),
    "vegas" => Vegas(_), "veno" => Veno(_), "westwood" => Westwood(_), "binomial" => Binomial(_),
    "xcp" => Xcp(_), "qfcp" => Qfcp(_), "tfrc" => Tfrc(_),
    "kernel" => Kernel(_)
);

impl Default for Sender {
    fn default() -> Self {
        Sender::Newreno(SenderOptions::default())
    }
}

impl Sender {
    /// What every sender of TCP has; none where it is another's.
    pub fn options(&self) -> Option<&SenderOptions> {
        match self {
            Self::Newreno(options) | Self::Reno(options) | Self::Xcp(options) | Self::LinuxReno(options) => {
                Some(options)
            }
            Self::LinuxCubic(with) => Some(&with.common),
            Self::Aimd(with) => Some(&with.common),
            Self::Cubic(with) => Some(&with.common),
            Self::Vegas(with) => Some(&with.common),
            Self::Veno(with) => Some(&with.common),
            Self::Westwood(with) => Some(&with.common),
            Self::Binomial(with) => Some(&with.common),
            Self::Qfcp(with) => Some(&with.common),
            Self::Tfrc(_) | Self::Kernel(_) => None,
        }
    }

    /// Whether it is one of Linux's.
    pub fn is_linux(&self) -> bool {
        matches!(self, Self::LinuxReno(_) | Self::LinuxCubic(_))
    }

    /// Whether its segments carry timestamps.
    pub fn has_timestamps(&self) -> bool {
        self.options().and_then(|options| options.timestamps).unwrap_or(self.is_linux())
    }
}

fn four_ms() -> Time {
    Time(lasthop_core::units::Duration::from_millis(4))
}

fn quarter() -> f64 {
    0.25
}

fn four() -> f64 {
    4.0
}

fn rtt_memory() -> f64 {
    0.9
}

fn max_backoff() -> Time {
    Time(lasthop_core::units::Duration::from_secs(64))
}

fn one_packet() -> u32 {
    1
}

fn half() -> f64 {
    0.5
}

fn tenth() -> f64 {
    0.1
}

fn one() -> f64 {
    1.0
}

fn two() -> f64 {
    2.0
}

fn three() -> f64 {
    3.0
}

fn three_quarters() -> f64 {
    0.75
}

fn four_fifths() -> f64 {
    0.8
}

fn nine_tenths() -> f64 {
    0.9
}

fn fifty_ms() -> Time {
    Time(lasthop_core::units::Duration::from_millis(50))
}

fn cubic_c() -> f64 {
    0.4
}

fn cubic_beta() -> f64 {
    0.7
}

fn yes() -> bool {
    true
}
