// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender and a receiver are told when they are made.

use super::rules::{Rules, Switch, switches};
use crate::error::{ParameterError, ensure};
use crate::parameter::{above, above_to, ensure_within};
use crate::role::{ReceiverParams, SenderParams};
use crate::units::{Bytes, Duration};
use crate::{kinds, parameters};

/// The longest that an acknowledgement may wait (RFC 1122 §4.2.3.2).
const LONGEST_DELAY: Duration = Duration::from_millis(500);

kinds! {
    /// How a sender repairs losses that duplicate acknowledgements tell of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum Recovery {
        /// Fast recovery that ends with the first acknowledgement of new data (RFC 5681 §3.2).
        Reno = "reno",
        /// Fast recovery that stays until all is acknowledged that was outstanding at its start (RFC 6582).
        #[default]
        NewReno = "newreno",
        /// Recovery by selective acknowledgements (RFC 6675). The receiver must send them.
        Sack = "sack",
    }
}

kinds! {
    /// When the congestion window may grow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum Validation {
        /// With each acknowledgement of new data (RFC 5681).
        #[default]
        Always = "always",
        /// If it was full when the acknowledgement came (RFC 7661 §1, RFC 9438 §5.8).
        Full = "full",
        /// If it was full at any time in the last round trip, or, in slow start, less than twice what was outstanding
        /// (Linux: tcp_is_cwnd_limited, tcp_cwnd_validate).
        Linux = "linux",
    }
}

kinds! {
    /// How the retransmission time-out follows from round-trip times.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum RttEstimator {
        /// SRTT + 4 RTTVAR, at least the least time-out (RFC 6298).
        #[default]
        Rfc6298 = "rfc6298",
        /// SRTT + RTTVAR, where RTTVAR is the greatest mean deviation of the last round trips, falls slowly, and is at
        /// least the least time-out (Linux: tcp_rtt_estimator). Times are those of the segments themselves, not of
        /// echoes.
        Linux = "linux",
        /// That of RFC 6298 as ns-2 has it (tcp.cc): with timestamps each measurement weighs as one a round trip does;
        /// partial ACKs measure nothing, and what they have sent again does not end the timing of a segment; a back-off
        /// to 16 times and more makes the next measurement the first.
        Ns2 = "ns-2",
    }
}

switches! {
    /// The switches of recovery.
    Switches
    /// A sender's parameters. [`Default`] is a NewReno sender by the RFCs' defaults, 1500-byte packets.
    for SenderConfig {
        config {
            /// Payload of a full segment \[B\], 1 to 65,535 (SMSS).
            mss: u32 = 1460;
            /// IP and TCP header of a data segment \[B\].
            header: u32 = 40;
            /// How the congestion window grows and falls.
            law: SenderParams = SenderParams::default();
            /// How losses are repaired.
            recovery: Recovery = Recovery::default();
            /// Initial slow-start threshold; `None`: none (RFC 5681 §3.1).
            initial_ssthresh: Option<Bytes> = None;
            /// Most bytes outstanding, whatever the windows say (a send buffer); `None`: no such limit.
            window_limit: Option<Bytes> = None;
            /// Queues of the path that could speak QFCP: what the difference of two hop counts tells, one that every
            /// router lowers and one that only QFCP's do (as in RFC 4782 §3).
            queues: u8 = 0;
            /// Size of a SYN on the wire \[B\].
            syn_size: u32 = 40;
            /// Whether the law is a control that has the window to itself (Linux: cong_control), as in `lasthop-agent`'s hosts of
            /// QFCP and XCP. Its window is of whole segments, and routers hear of these; by QFCP two at least where one would
            /// wait longer for a delayed acknowledgement than a round trip takes. TCP then sets no pacing rate, so that a
            /// piece is as large as there is room (tcp_cong_control, tcp_tso_autosize).
            takes_over: bool = false;
        }
        own {
            /// By whose rules the sender recovers; each switch departs from them. By default those of its kind.
            rules: Rules;
            /// How losses are repaired; by default as its kind says, and `sack` by Linux's rules.
            recovery: Recovery;
            /// Selective acknowledgements (RFC 2018, 6675): whether `recovery` is `sack`.
            sack: bool;
        }
        /// Timestamps (RFC 7323): an RTT sample from every ACK, for 12 bytes more in each segment; otherwise one
        /// segment a round trip is timed (RFC 6298 §3).
        timestamps: bool = [false, false, true];
        /// Limited transmit: each of the first two duplicate ACKs lets a new segment go (RFC 3042).
        limited_transmit: bool = [false, true, false];
        /// With `limited_transmit`, let it go on after a time-out, where it repeats what may have arrived (ns-2); otherwise
        /// it waits until all is acknowledged that was outstanding then.
        limited_transmit_after_timeout: bool = [false, true, false];
        /// Initial window in segments; 2 to 4 by their size where the rules leave it open (RFC 5681; 10: RFC 6928).
        initial_window: Option<u32> = [None, Some(2), Some(10)], in 1..;
        /// Least retransmission time-out (RFC 6298: 1 s; TCP_RTO_MIN).
        rto_min: Duration = [Duration::from_secs(1), Duration::from_millis(200), Duration::from_millis(200)],
            in above(Duration::ZERO);
        /// Retransmission time-out before the first RTT sample.
        rto_initial: Duration = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(1)],
            in above(Duration::ZERO);
        /// Greatest retransmission time-out (TCP_RTO_MAX).
        rto_max: Duration = [Duration::from_secs(60), Duration::from_secs(60), Duration::from_secs(120)],
            in ..=Duration::from_secs(1_000_000);
        /// Clock granularity G: the least that the variation of round-trip times counts for (RFC 6298 §2).
        rto_granularity: Duration = [Duration::ZERO, Duration::ZERO, Duration::ZERO];
        /// Let the window fall back to the initial one when nothing was sent for longer than the time-out (RFC 5681
        /// §4.1).
        restart_after_idle: bool = [true, true, true];
        /// Count an ACK as a duplicate only if its window is that of the last (RFC 5681 §2 (e)). CLAMP changes the
        /// window on every ACK, and loses its fast retransmits under this rule.
        strict_duplicate_acks: bool = [false, false, false];
        /// Let each time-out set the slow-start threshold, so that two in a row bring it to its floor of two segments
        /// (ns-2); otherwise a segment that times out again leaves it (RFC 5681).
        cut_at_each_timeout: bool = [false, true, false];
        /// With Reno's recovery, let a further loss in a window that has had its fast retransmit wait for the timer
        /// (the fix of RFC 2582 §5, ns-2's Reno); otherwise it gets a fast retransmit of its own (RFC 5681 §3.2).
        one_fast_retransmit: bool = [false, true, false];
        /// A loss leaves a share of the congestion window (ns-2), not of what is in flight (RFC 5681), which is less
        /// where the application is the slower.
        cut_of_window: bool = [false, true, false];
        /// Cut the slow-start threshold to whole segments, and let the window itself fall below it by a fast retransmit, to
        /// what the law leaves (ns-2); otherwise the two are the same.
        whole_threshold: bool = [false, true, false];
        /// Let the ACK that ends a fast recovery leave the slow-start threshold as the window and grow it as any other
        /// does, by what it tells to have arrived since the last (ns-2; RFC 6582 §3.2 step 3 option 2; Linux: tcp_cong_control);
        /// otherwise it grows nothing, and with NewReno leaves no more than what is in flight and a segment (option 1). With NewReno a partial ACK of more than duplicates have inflated
        /// the window by then lowers the congestion window itself (ns-2).
        grow_at_recovery_end: bool = [false, true, true];
        /// Let any ACK of new data end a time-out's back-off (as in QUIC, RFC 9002 §6.2.1); otherwise a measurement
        /// does (RFC 6298, ns-2, Linux), which without timestamps takes data that is sent for the first time after it.
        /// Where losses are many and windows small, time-outs then follow each other faster than such data comes
        /// through.
        new_ack_ends_back_off: bool = [false, false, false];
        /// With timestamps, let any measurement end a time-out's back-off (RFC 6298, Linux); otherwise the ACK of data that is
        /// sent for the first time after it does, as without timestamps (ns-2).
        echo_ends_back_off: bool = [true, false, true];
        /// With selective acknowledgements, keep what was SACKed after a time-out, unless the receiver has reneged, and send only
        /// the rest again (RFC 6675 §5.1); otherwise forget it and send all again (RFC 2018 §8; ns-2's Sack1). With `rack` it is
        /// kept in any case.
        keep_sacked: bool = [true, false, true];
        /// With selective acknowledgements, find a retransmission lost when something sent later has arrived (RFC
        /// 8985); otherwise it waits for the time-out.
        find_lost_retransmissions: bool = [false, false, false];
        /// With selective acknowledgements, find anything lost when something sent later has arrived, at once or after
        /// a quarter of the least round-trip time (RFC 8985 §6.2; as Linux has it, at once in recovery or with three
        /// segments SACKed, as long as no reordering was seen).
        rack: bool = [false, false, true];
        /// With `rack`, send a new segment, or the last again, when no acknowledgement has come for two round trips
        /// (RFC 8985 §7).
        tail_loss_probe: bool = [false, false, true];
        /// With selective acknowledgements, let the window fall in recovery in proportion to what arrives (RFC 6937,
        /// with Linux's reduction bound).
        rate_reduction: bool = [false, false, true];
        /// With `timestamps`, take the response to a loss back when an acknowledgement echoes a time before the first
        /// retransmission (Eifel: RFC 3522, 4015; Linux: tcp_packet_delayed).
        eifel: bool = [false, false, true];
        /// Take the response to a time-out back when data arrives that it has not sent again; after the first
        /// retransmission new data tells (F-RTO: RFC 5682).
        frto: bool = [false, false, true];
        /// With `sack`, let the receiver tell of what came twice (RFC 2883), and take the response to a loss back when
        /// all that was sent again came twice (RFC 3708 §3.3; Linux: tcp_try_undo_dsack).
        dsack: bool = [false, false, true];
        /// Send segments in pieces, as a kernel hands them to its network card: of what goes in a millisecond at 1.2 times
        /// the present rate, two at least. A piece waits for more room if the last one left less than a millisecond ago and
        /// the next ACK is as near; the last segment of a piece of several is pushed (Linux: tcp_tso_autosize,
        /// tcp_tso_should_defer).
        pieces: bool = [false, false, true];
        /// Let new segments leave at so many times cwnd/SRTT, one by one; 0: as soon as the windows allow.
        pacing: f64 = [0.0, 0.0, 0.0], in 0.0..;
        /// Speak with routers in segments (ns-2): the window that they are told is of whole ones, in fast recovery with those
        /// that duplicates let go, and the bytes that they speak of are taken for payload; otherwise they are bytes on the
        /// wire.
        feedback_in_segments: bool = [false, true, false];
        /// How the time-out follows from round-trip times.
        rtt_estimator: RttEstimator = [RttEstimator::Rfc6298, RttEstimator::Ns2, RttEstimator::Linux];
        /// The tick of the clock by which `rtt_estimator = "ns-2"` measures (tcpTick_), in its integers: round-trip times are whole
        /// ticks, and steady ones leave the time-out three above them; 0 s: no ticks.
        rtt_tick: Duration = [Duration::ZERO, Duration::from_millis(10), Duration::ZERO], in ..=Duration::from_secs(1);
        /// The tick of the clock by which timers go off: after it has ticked, and what is set for 63 ticks and more
        /// ahead up to an eighth late (Linux: the timer wheel, calc_wheel_index in kernel/time/timer.c, with
        /// CONFIG_HZ=250); 0 s: in time.
        timer_tick: Duration = [Duration::ZERO, Duration::ZERO, Duration::from_millis(4)], in ..=Duration::from_millis(10);
        /// When the congestion window may grow.
        validation: Validation = [Validation::Always, Validation::Always, Validation::Linux];
        /// Open with SYN and SYN-ACK; otherwise data goes at once, and the receiver's window is unlimited until its
        /// first ACK.
        handshake: bool = [true, true, true];
    }
}

/// Bytes that RFC 7323's timestamps option adds to a segment, padding included.
pub const TIMESTAMPS_OPTION: u32 = 12;

/// Bytes of the option by which a host of `lasthop-agent` asks routers, in each segment with data (bpf/option.h).
pub const ASKING_OPTION: u32 = 12;
/// Bytes of the option in an acknowledgement, which only tells what came of it.
pub const TELLING_OPTION: u32 = 8;

impl SenderConfig {
    /// The initial window in segments (RFC 5681 eq. 1 by default).
    pub fn initial_window_segments(&self) -> u32 {
        self.initial_window.unwrap_or(match self.mss {
            2191.. => 2,
            1096..=2190 => 3,
            _ => 4,
        })
    }

    /// Header of a data segment with its options \[B\].
    pub fn header_size(&self) -> u32 {
        self.header + if self.timestamps { TIMESTAMPS_OPTION } else { 0 }
    }

    /// Whether a response to a loss may be taken back.
    pub(super) fn takes_back(&self) -> bool {
        self.eifel || self.frto || self.dsack
    }

    /// Whether a rule goes by when each segment was sent.
    pub(super) fn tracks_segments(&self) -> bool {
        self.rack
            || self.rate_reduction
            || self.takes_back()
            || !self.timer_tick.is_zero()
            || self.rtt_estimator == RttEstimator::Linux
            || self.validation == Validation::Linux
            || self.pieces
            || self.pacing > 0.0
            || self.law.tracks_segments()
    }

    /// Whether a time-out's slow start passes over what is SACKed.
    pub(super) fn fills_gaps(&self) -> bool {
        self.keep_sacked && self.recovery == Recovery::Sack && !self.rack
    }

    /// Refuses what no sender can be.
    ///
    /// # Errors
    /// The first parameter outside its domain.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let has_sack = self.recovery == Recovery::Sack;
        ensure(has_sack || !self.rack, "rack", true, "`sack` with it")?;
        ensure(has_sack || !self.rate_reduction, "rate_reduction", true, "`sack` with it")?;
        ensure(self.rack || !self.tail_loss_probe, "tail_loss_probe", true, "`rack` with it")?;
        let has_ticks = self.rtt_estimator == RttEstimator::Ns2;
        let ticks = format_args!("{:?}", self.rtt_tick);
        ensure(has_ticks || self.rtt_tick.is_zero(), "rtt_tick", ticks, "`rtt_estimator` = \"ns-2\" with it")?;
        ensure(!self.pieces || self.pacing == 0.0, "pacing", self.pacing, "0, or `pieces` = false with it")?;
        let bytes = |b: Option<Bytes>| b.map_or(0, Bytes::get);
        let mss = u64::from(self.mss);
        ensure((1..=65_535).contains(&self.mss), "mss", self.mss, "1 B to 65535 B")?;
        ensure(self.header <= 65_535, "header", self.header, "at most 65535 B")?;
        ensure(
            self.initial_ssthresh.is_none_or(|b| b.get() >= 2 * mss),
            "initial_ssthresh",
            format_args!("{} B", bytes(self.initial_ssthresh)),
            "at least 2 segments, in bytes",
        )?;
        ensure(
            self.window_limit.is_none_or(|b| b.get() >= mss),
            "window_limit",
            format_args!("{} B", bytes(self.window_limit)),
            "at least 1 segment, in bytes",
        )?;
        self.validate_switches()?;
        ensure(self.rto_max >= self.rto_min, "rto_max", format_args!("{:?}", self.rto_max), "at least `rto_min`")?;
        ensure(
            self.rto_initial <= self.rto_max,
            "rto_initial",
            format_args!("{:?}", self.rto_initial),
            "at most `rto_max`",
        )?;
        ensure(
            self.rto_granularity <= self.rto_max,
            "rto_granularity",
            format_args!("{:?}", self.rto_granularity),
            "at most `rto_max`",
        )
    }
}

parameters! {
    /// Delayed acknowledgements.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DelayedAcks {
        /// The longest that an ACK waits for a second segment (RFC 1122 §4.2.3.2).
        pub timeout: Duration, in above_to(Duration::ZERO, LONGEST_DELAY);
    }
}

switches! {
    /// When a receiver acknowledges, and what it may advertise.
    ReceiverSwitches
    /// What a receiver is told. [`Default`] acknowledges each packet and advertises a buffer that is never short.
    for ReceiverConfig {
        config {
            /// Payload of a full segment \[B\], which the law may ask for.
            mss: u32 = 1460;
            /// Size of an acknowledgement on the wire \[B\], without SACK blocks.
            ack_size: u32 = 40;
            /// Whether acknowledgements carry up to three SACK blocks (RFC 2018), each of 8 bytes and 4 for the option.
            sack: bool = false;
            /// Whether the first of the blocks tells of what came twice (RFC 2883). With `sack` only.
            dsack: bool = false;
            /// How the advertised window is chosen.
            law: ReceiverParams = ReceiverParams::default();
            /// Length of the intervals whose goodput is sampled; `None`: no samples.
            sample_interval: Option<Duration> = None;
        }
        own {
            /// By whose rules the receiver acknowledges; each switch departs from them. By default those of its kind.
            rules: Rules;
            /// Acknowledge every second segment (RFC 1122): `ack_every = 2`, with its time-out.
            delayed_acks: DelayedAcks;
            /// Size of an ACK on the wire, without SACK blocks; 40 B by default, 52 B if the sender is Linux's and has
            /// timestamps, and 8 B more if it asks routers.
            ack_size: Bytes, in ..=Bytes::new(65_535);
        }
        /// The receiver's buffer: the most that it ever advertises (4 GiB; tcp_rmem).
        buffer: Bytes = [Bytes::new(u32::MAX as u64), Bytes::new(u32::MAX as u64), Bytes::new(6_291_456)], in Bytes::new(1)..;
        /// How many segments one ACK is for; 1: each is acknowledged at once. More than 2 where the network card joins
        /// segments (GRO).
        ack_every: u32 = [1, 1, 2], in 1..;
        /// Acknowledge at once what is pushed (PSH), as the application reads it then (Linux: tcp_cleanup_rbuf).
        ack_pushed: bool = [false, false, true];
        /// How many ACKs at the start are not delayed (TCP_MAX_QUICKACKS); after a repeated segment 16 more, if so many are
        /// allowed at the start.
        quick_acks: u32 = [0, 0, 16];
        /// Let the advertised window grow to the buffer, by two segments for each that comes, as far as what is read in a round
        /// trip says; while it grows no ACK is delayed, which HyStart may take for a train (Linux: tcp_grow_window,
        /// tcp_rcv_space_adjust). A law that chooses the window knows nothing of it.
        autotuning: bool = [false, false, true];
        /// Beyond the third at a gap, gather ACKs of what is out of order for a twentieth of the round-trip time, 1 ms at
        /// most (Linux: __tcp_ack_snd_check). With delayed ACKs only.
        sack_compression: bool = [false, false, true];
        /// The longest that an ACK waits for a further segment (RFC 1122 §4.2.3.2); with `timer_tick` it may become longer (TCP_ATO_MIN).
        ack_timeout: Duration = [Duration::from_millis(200), Duration::from_millis(200), Duration::from_millis(40)],
            in above_to(Duration::ZERO, LONGEST_DELAY);
        /// The tick of the clock by which ACKs wait: after it has ticked, and the longer the farther segments are apart, twice as
        /// long after one has waited in vain, for up to a round trip and 200 ms; what comes after a gap of a time-out is acknowledged
        /// at once as at the start (Linux: tcp_event_data_recv, tcp_send_delayed_ack, tcp_delack_timer_handler, with
        /// CONFIG_HZ=250); 0 s: in time, and all as long.
        timer_tick: Duration = [Duration::ZERO, Duration::ZERO, Duration::from_millis(4)], in ..=Duration::from_millis(10);
    }
}

impl ReceiverConfig {
    /// Whether acknowledgements may wait.
    pub fn delays(&self) -> bool {
        self.ack_every > 1
    }

    /// Refuses what no receiver can be.
    ///
    /// # Errors
    /// The first parameter outside its domain.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.validate_switches()?;
        ensure(
            self.sample_interval.is_none_or(|d| !d.is_zero()),
            "sample_interval",
            format!("{:?}", Duration::ZERO),
            "more than 0 s",
        )
    }
}
