// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders: the window law, its parameters, and what all senders have.

use lasthop_core::parameter::With;
use lasthop_core::units::{Amount, Bytes, Duration, Rate};
use lasthop_core::{kinds, parameters};

kinds! {
    /// A sender: its window law and its loss recovery, or its rate.
    #[derive(Clone, Debug)]
    pub enum Sender {
        /// RFC 5681 with the recovery of RFC 6582.
        Newreno(SenderOptions) = "newreno",
        /// RFC 5681 with the recovery of RFC 5681.
        Reno(SenderOptions) = "reno",
        /// TCP(α, β), with γ and δ where they are given (gamma), by the rules of ns-2: the window is halved at the first
        /// decrease and in slow start.
        Aimd(With<Aimd, SenderOptions>) = "aimd",
        /// RFC 9438, with the recovery of RFC 6675 unless told otherwise.
        Cubic(With<Cubic, SenderOptions>) = "cubic",
        /// Reno as in Linux 6.18: SACK, RACK and tail loss probes (RFC 8985), proportional rate reduction (RFC 6937), timestamps,
        /// an initial window of 10 (RFC 6928), a least time-out of 200 ms, growth by whole segments while the window is full.
        LinuxReno(SenderOptions) = "linux-reno",
        /// CUBIC as in Linux 6.18: HyStart, arithmetic in whole segments and ticks, and all that `linux-reno` has.
        LinuxCubic(With<LinuxCubic, SenderOptions>) = "linux-cubic",
        /// Vegas (Brakmo, Peterson 1995), with the recovery of RFC 6582.
        Vegas(With<Vegas, SenderOptions>) = "vegas",
        /// Veno (Fu, Liew 2003), with the recovery of RFC 6582.
        Veno(With<Veno, SenderOptions>) = "veno",
        /// Westwood+ (Mascolo, Grieco et al. 2004), with the recovery of RFC 6582.
        Westwood(With<Westwood, SenderOptions>) = "westwood",
        /// Binomial congestion control: SQRT unless told otherwise, with the recovery of RFC 6582.
        Binomial(With<Binomial, SenderOptions>) = "binomial",
        /// XCP, with the recovery of RFC 5681: routers say by how much the window changes, and a loss halves it. Where no router
        /// speaks it is TCP.
        Xcp(SenderOptions) = "xcp",
        /// QFCP (qfcp), with the recovery of RFC 6675 and lost retransmissions found: routers tell the rate, and a loss says
        /// nothing. Where a queue of the path does not speak, a TCP runs beside and the lesser window holds.
        Qfcp(With<Qfcp, SenderOptions>) = "qfcp",
        /// TCP-friendly rate control (RFC 5348): packets leave at a rate, and what is lost is not sent again. It comes with a
        /// receiver of its own (`receiver = "plain"`).
        Tfrc(Tfrc) = "tfrc",
        /// A congestion control of the kernel by its name, such as `bbr`: for `lasthop emu` alone.
        Kernel(Kernel) = "kernel",
    }
    or "newreno"
}

parameters! {
    /// A congestion control of the kernel.
    #[derive(Clone, Debug)]
    pub struct Kernel {
        /// Its name, one of those in `/proc/sys/net/ipv4/tcp_available_congestion_control`.
        pub congestion_control: String;
    }
}

parameters! {
    /// TCP(α, β) and its recovery.
    #[derive(Clone, Debug)]
    pub struct Aimd {
        /// α: segments that the window gains in a round trip; by default 4(1 − β²)/3, which is TCP-friendly (gamma eq. 3).
        pub alpha: Option<f64> = None;
        /// β: the share of the window that is left after a loss.
        pub beta: f64 = 0.5;
        /// What is left after a time-out.
        pub after_timeout: AfterTimeout = AfterTimeout::default();
        /// How losses are repaired.
        pub recovery: Recovery = Recovery::default();
        /// γ: cut the window before packets are lost (gamma eq. 15, 16); never by default.
        pub gamma: Option<Gamma> = None;
        /// δ: grow faster while the queue is short (gamma eq. 17); never by default.
        pub delta: Option<Delta> = None;
        /// From when on γ and δ act.
        pub arming: Arming = Arming::default();
    }
}

kinds! {
    /// The share of the window that becomes the slow-start threshold after a time-out.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum AfterTimeout {
        /// Half, as ns-2 has it.
        #[default]
        Half = "half",
        /// β; half where the last decrease was a time-out too.
        Beta = "beta",
    }
}

kinds! {
    /// How losses are repaired that duplicate acknowledgements tell of.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Recovery {
        /// Fast recovery that ends with the first acknowledgement of new data (RFC 5681).
        #[default]
        Reno = "reno",
        /// Fast recovery that stays until all is acknowledged that was outstanding at its start (RFC 6582).
        Newreno = "newreno",
        /// By selective acknowledgements (RFC 6675).
        Sack = "sack",
    }
}

parameters! {
    /// γ: the window falls to the knee when the queue is so full.
    #[derive(Clone, Copy, Debug)]
    pub struct Gamma {
        /// Th_upper: queueing delay over the greatest at which the window is cut.
        pub threshold: f64 = 0.5;
        /// How deep the cut is, and what the greatest round-trip time is.
        pub variant: GammaVariant = GammaVariant::default();
    }
}

kinds! {
    /// How deep γ cuts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum GammaVariant {
        /// To the knee, as the paper has it (gamma eq. 16).
        #[default]
        Knee = "knee",
        /// Below it, by (minRTT/RTT)³ with the least RTT of the round trip of waiting, so that the queue empties and late-comers
        /// learn the true minRTT. The greatest round-trip time is that of the least ones of round trips; `arming` has no say.
        Drain = "drain",
    }
}

parameters! {
    /// δ: the window grows faster while the queue is so empty.
    #[derive(Clone, Copy, Debug)]
    pub struct Delta {
        /// Th_lower: queueing delay over the greatest up to which δ rules.
        pub threshold: f64 = 0.1;
        /// δ: segments that the window gains in a round trip.
        pub increase: f64 = 2.0;
    }
}

kinds! {
    /// From when on the greatest round-trip time is taken for that of a full queue.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Arming {
        /// After the flow's first loss.
        #[default]
        AfterLoss = "after-loss",
        /// At once, on the greatest so far.
        RunningMaximum = "running-maximum",
    }
}

parameters! {
    /// CUBIC.
    #[derive(Clone, Copy, Debug)]
    pub struct Cubic {
        /// C, in segments/s³.
        pub c: f64 = 0.4;
        /// β_cubic: the share of the window that is left after a loss.
        pub beta: f64 = 0.7;
        /// Make room for new flows: a flow that loses before it is back at its last maximum aims lower (RFC 9438 §4.7).
        pub fast_convergence: bool = true;
        /// Keep up with the window that Reno would have (RFC 9438 §4.3).
        pub reno_friendly: bool = true;
    }
}

parameters! {
    /// Linux's CUBIC: tcp_cubic.c with C = 0.4 and β = 717/1024.
    #[derive(Clone, Copy, Debug)]
    pub struct LinuxCubic {
        /// Make room for new flows: a flow that loses before it is back at its last maximum aims lower (fast_convergence).
        pub fast_convergence: bool = true;
        /// Keep up with the window that Reno would have (tcp_friendliness).
        pub reno_friendly: bool = true;
        /// Leave slow start when acknowledgements come in a long train, or late (hystart).
        pub hystart: bool = true;
        /// The kernel's tick, 1 ms to 10 ms: 4 ms with CONFIG_HZ=250.
        pub tick: Duration = Duration::from_millis(4);
    }
}

parameters! {
    /// Vegas, with the numbers of ns-2.
    #[derive(Clone, Copy, Debug)]
    pub struct Vegas {
        /// α: with fewer segments in the queue the window grows.
        pub alpha: f64 = 1.0;
        /// β: with more segments in the queue the window falls.
        pub beta: f64 = 3.0;
        /// γ: with more segments in the queue slow start ends.
        pub gamma: f64 = 1.0;
        /// The share of the window that is left after a loss.
        pub loss_share: f64 = 0.75;
    }
}

parameters! {
    /// Veno.
    #[derive(Clone, Copy, Debug)]
    pub struct Veno {
        /// β: with fewer of its segments in the queue the flow takes a loss for one of the air.
        pub beta: f64 = 3.0;
        /// The share of the window that is left after a loss of the air.
        pub random_loss_share: f64 = 0.8;
        /// Learn the least round-trip time anew after each loss.
        pub reset_base_rtt: bool = true;
    }
}

parameters! {
    /// Westwood+.
    #[derive(Clone, Copy, Debug)]
    pub struct Westwood {
        /// Weight of the past in the filter of the bandwidth.
        pub filter: f64 = 0.9;
        /// Least time between two samples of the bandwidth.
        pub least_interval: Duration = Duration::from_millis(50);
    }
}

parameters! {
    /// Binomial congestion control (Bansal and Balakrishnan 2001): α/wᵏ more in a round trip, βwˡ less on a loss.
    #[derive(Clone, Copy, Debug)]
    pub struct Binomial {
        /// k, 0 or more: ½ is SQRT, 1 is IIAD.
        pub k: f64 = 0.5;
        /// l, from 0 to 1: ½ is SQRT, 0 is IIAD.
        pub l: f64 = 0.5;
        /// α, above 0: segments that a window of 1 gains in a round trip.
        pub alpha: f64 = 1.0;
        /// β, between 0 and 1: segments that a window of 1 loses on a loss.
        pub beta: f64 = 0.5;
    }
}

parameters! {
    /// QFCP's sender.
    #[derive(Clone, Copy, Debug)]
    pub struct Qfcp {
        /// Halve the window after a loss until it is repaired, as without the paper's enhancement.
        pub heed_loss: bool = false;
    }
}

parameters! {
    /// TCP-friendly rate control (RFC 5348).
    #[derive(Clone, Debug)]
    pub struct Tfrc {
        /// Weight of the old round-trip estimate, from 0 up to, but not, 1 (RFC 5348 §4.3, q).
        pub rtt_memory: f64 = 0.9;
        /// Time-out over round-trip time in the throughput equation, 0 or more (RFC 5348 §3.1).
        pub rto_factor: f64 = 4.0;
        /// Rate of payload once a round-trip time is known; by default 2 to 4 packets a round trip (RFC 5348 §4.2).
        pub initial_rate: Option<Rate> = None;
        /// Long times without losses discount what was before (RFC 5348 §5.5).
        pub discounting: bool = true;
        /// The share of its weight that discounting leaves at least, more than 0 and at most 1 (RFC 5348 §5.5, THRESHOLD).
        pub discount_floor: f64 = 0.25;
        /// Packets are spaced by the root of the latest round-trip time, to damp oscillations (RFC 5348 §4.5).
        pub damping: bool = false;
        /// Most packets that leave at once after a pause, at least 1, which makes up for none (RFC 5348 §4.6).
        pub burst: u32 = 1;
        /// Longest time between two packets (RFC 5348 §4.3, t_mbi).
        pub max_backoff: Duration = Duration::from_secs(64);
    }
}

parameters! {
    /// What every sender of TCP has.
    #[derive(Clone, Debug)]
    pub struct SenderOptions {
        /// Payload of a full segment; by default `packet` of the flow less 40 bytes, and with `linux-reno` and `linux-cubic`
        /// less the 12 bytes of timestamps, so that packets are `packet` long.
        pub mss: Option<Bytes> = None;
        /// IP and TCP header of a data segment, without the 12 bytes of timestamps; 40 B by default.
        pub header: Option<Bytes> = None;
        /// Selective acknowledgements (RFC 2018, 6675); on for CUBIC, QFCP and Linux's senders, off for the others.
        pub sack: Option<bool> = None;
        /// Timestamps (RFC 7323): an RTT sample from every ACK. On for Linux's senders, off for the others.
        pub timestamps: Option<bool> = None;
        /// Limited transmit (RFC 3042).
        pub limited_transmit: bool = false;
        /// Initial window in segments; 10 for Linux's senders (RFC 6928), otherwise RFC 5681's by default.
        pub initial_window: Option<u32> = None;
        /// Initial slow-start threshold; unlimited by default.
        pub initial_ssthresh: Option<Amount> = None;
        /// A bound on the window besides the receiver's; none by default.
        pub window_limit: Option<Amount> = None;
        /// Least retransmission time-out; 200 ms for Linux's senders (TCP_RTO_MIN), otherwise 1 s (RFC 6298) by default.
        pub rto_min: Option<Duration> = None;
        /// Retransmission time-out before the first RTT sample; 1 s (RFC 6298) by default.
        pub rto_initial: Option<Duration> = None;
        /// Greatest retransmission time-out; 120 s for Linux's senders (TCP_RTO_MAX), otherwise 60 s by default.
        pub rto_max: Option<Duration> = None;
        /// Count an ACK as a duplicate only if its window is that of the last (RFC 5681 to the letter). CLAMP changes the
        /// window on every ACK, and loses its fast retransmits under this rule.
        pub strict_duplicate_acks: bool = false;
        /// Let each time-out set the slow-start threshold, so that two in a row bring it to its floor of two segments
        /// (ns-2); otherwise a segment that times out again leaves it (RFC 5681). On for `aimd`, off for the others.
        pub cut_at_each_timeout: Option<bool> = None;
        /// With Reno's recovery, let a further loss in a window that has had its fast retransmit wait for the timer (ns-2's
        /// Reno); otherwise it gets a fast retransmit of its own (RFC 5681). On for `aimd`, off for the others.
        pub one_fast_retransmit: Option<bool> = None;
        /// A loss leaves a share of the congestion window, not of what is in flight, which is less where the application is the
        /// slower; on for `aimd`, as ns-2 has it, off for the others (RFC 5681).
        pub cut_of_window: Option<bool> = None;
        /// Let the ACK that ends a fast recovery leave the slow-start threshold as the window
        /// and grow it as any other does (ns-2; RFC 6582 §3.2 step 3 option 2); otherwise it grows nothing, and with NewReno
        /// leaves no more than what is in flight and a segment (option 1).
        pub grow_at_recovery_end: bool = false;
        /// Let any ACK of new data end a time-out's back-off (as in QUIC, RFC 9002); otherwise a measurement does (RFC 6298, ns-2,
        /// Linux), which without timestamps takes data that is sent for the first time after it. On for QFCP, off for the others.
        pub new_ack_ends_back_off: Option<bool> = None;
        /// With selective acknowledgements, find a retransmission lost when something sent later has arrived (RFC 8985);
        /// otherwise it waits for the time-out. On for QFCP, off for the others.
        pub find_lost_retransmissions: Option<bool> = None;
        /// With selective acknowledgements, find anything lost when something sent later has arrived, at once or after a
        /// quarter of the least round-trip time, and keep what was SACKed after a time-out (RFC 8985 §6.2, as Linux has it).
        /// On for Linux's senders, off for the others.
        pub rack: Option<bool> = None;
        /// With `rack`, send a segment when no acknowledgement has come for two round trips (RFC 8985 §7). On for Linux's
        /// senders, off for the others.
        pub tail_loss_probe: Option<bool> = None;
        /// With selective acknowledgements, let the window fall in recovery in proportion to what arrives (RFC 6937). On for
        /// Linux's senders, off for the others.
        pub rate_reduction: Option<bool> = None;
        /// How the time-out follows from round-trip times; `linux` for Linux's senders, otherwise `rfc6298`.
        pub rtt_estimator: Option<RttEstimator> = None;
        /// When the window may grow; `linux` for Linux's senders, otherwise `always`.
        pub validation: Option<Validation> = None;
        /// Open with SYN and SYN-ACK, as by default; otherwise data goes at once.
        pub handshake: Option<bool> = None;
    }
}

kinds! {
    /// How the time-out follows from round-trip times.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RttEstimator {
        /// SRTT + 4 RTTVAR, at least the least time-out (RFC 6298).
        Rfc6298 = "rfc6298",
        /// SRTT + RTTVAR, which is at least the least time-out (tcp_rtt_estimator).
        Linux = "linux",
    }
}

kinds! {
    /// When the congestion window may grow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Validation {
        /// With each acknowledgement of new data (RFC 5681).
        Always = "always",
        /// If it was full when the acknowledgement came (RFC 7661).
        Full = "full",
        /// If it was full in the last round trip, or in slow start less than twice what was outstanding (tcp_cwnd_validate).
        Linux = "linux",
    }
}

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
