// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender and a receiver are told when they are made.

use crate::error::{ParameterError, ensure};
use crate::kinds;
use crate::role::ReceiverParams;
use crate::role::SenderParams;
use crate::units::{Bytes, Duration};

/// The longest that an acknowledgement may wait (RFC 1122 §4.2.3.2).
pub(super) const LONGEST_DELAY: Duration = Duration::from_millis(500);

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
        /// If it was full at any time in the last round trip, or, in slow start, less than twice what was outstanding (Linux:
        /// tcp_is_cwnd_limited, tcp_cwnd_validate).
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
        /// SRTT + RTTVAR, where RTTVAR is the greatest mean deviation of the last round trips, falls slowly, and is at least the
        /// least time-out (Linux: tcp_rtt_estimator). Times are those of the segments themselves, not of echoes.
        Linux = "linux",
    }
}

/// A sender's parameters. [`Default`] is a NewReno sender by the RFCs' defaults, 1500-byte packets.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// Payload of a full segment \[B\], 1 to 65,535 (SMSS).
    pub mss: u32,
    /// IP and TCP header of a data segment \[B\].
    pub header: u32,
    /// How the congestion window grows and falls.
    pub law: SenderParams,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whether each of the first two duplicate acknowledgements lets a new segment go (RFC 3042).
    pub limited_transmit: bool,
    /// Whether every acknowledgement of new data is a round-trip measurement (RFC 7323 §4); otherwise one segment
    /// a round trip is timed (RFC 6298 §3). Adds 12 bytes to each segment.
    pub timestamps: bool,
    /// Initial window in segments; `None`: 2 to 4 by segment size (RFC 5681 eq. 1).
    pub initial_window: Option<u32>,
    /// Initial slow-start threshold; `None`: none (RFC 5681 §3.1).
    pub initial_ssthresh: Option<Bytes>,
    /// Most bytes outstanding, whatever the windows say (a send buffer); `None`: no such limit.
    pub window_limit: Option<Bytes>,
    /// When the congestion window may grow.
    pub validation: Validation,
    /// Whether the window falls back to the initial one when nothing was sent for longer than the time-out
    /// (RFC 5681 §4.1).
    pub restart_after_idle: bool,
    /// Whether an acknowledgement that changes the window is no duplicate (RFC 5681 §2 (e)). Receivers that
    /// steer by the window, as CLAMP's, need `false`.
    pub strict_duplicate_acks: bool,
    /// Whether each time-out sets the slow-start threshold, so that two in a row bring it to its floor of 2 segments
    /// (ns-2); otherwise a segment that times out again leaves it (RFC 5681 §3.1).
    pub cut_at_each_timeout: bool,
    /// Whether, with Reno's recovery, a further loss in a window that has had its fast retransmit waits for the timer
    /// (the fix of RFC 2582 §5, ns-2's Reno); otherwise it gets a fast retransmit of its own (RFC 5681 §3.2).
    pub one_fast_retransmit: bool,
    /// Whether a loss leaves a share of the congestion window, as far as its limits let it be used (ns-2); otherwise of
    /// what is in flight (RFC 5681 §3.1). An application that fills its window sees no difference.
    pub cut_of_window: bool,
    /// Whether the acknowledgement that ends a fast recovery leaves the slow-start threshold as the window and grows it as
    /// any other does (ns-2; RFC 6582 §3.2 step 3 option 2); otherwise it grows nothing, and with NewReno leaves no more
    /// than what is in flight and a segment (option 1). With NewReno a partial acknowledgement of more than duplicates have
    /// inflated the window by then lowers the congestion window itself (ns-2).
    pub grow_at_recovery_end: bool,
    /// Whether any acknowledgement of new data ends a back-off (as RFC 9002 §6.2.1 has it for QUIC); otherwise a measurement
    /// does (RFC 6298 §5), which without timestamps takes data that is sent for the first time after the time-out. Where
    /// losses are many and windows small, time-outs then follow each other faster than such data comes through.
    pub new_ack_ends_back_off: bool,
    /// Whether a retransmission is found lost when something sent later has arrived (RFC 8985 §6.2), with
    /// [`Recovery::Sack`]; otherwise it waits for the timer.
    pub find_lost_retransmissions: bool,
    /// Whether anything is found lost when something sent later has arrived, at once or after a reordering window of a
    /// quarter of the least round-trip time (RFC 8985 §6.2; as Linux has it, at once in recovery or with three segments
    /// SACKed, as long as no reordering was seen), and a time-out keeps what is SACKed. With [`Recovery::Sack`] only; it
    /// implies `find_lost_retransmissions`.
    pub rack: bool,
    /// Whether the last segment is repeated, or a new one sent, when no acknowledgement has come for two round trips
    /// (RFC 8985 §7). With `rack` only.
    pub tail_loss_probe: bool,
    /// Whether the window falls in proportion to what arrives in recovery, and not at once (RFC 6937, with Linux's
    /// reduction bound). With [`Recovery::Sack`] only.
    pub rate_reduction: bool,
    /// Whether the response to a loss is taken back when an acknowledgement echoes a time before the first retransmission
    /// (RFC 3522, 4015). With `timestamps` only.
    pub eifel: bool,
    /// Whether the response to a time-out is taken back when data arrives that it has not sent again (RFC 5682).
    pub frto: bool,
    /// Whether the response to a loss is taken back when all that was sent again came twice (RFC 3708 §3.3). The receiver must
    /// tell: [`ReceiverConfig::dsack`].
    pub dsack: bool,
    /// How the time-out follows from round-trip times.
    pub rtt_estimator: RttEstimator,
    /// The tick of the clock by which timers go off, at most 10 ms; zero: in time. Linux's timer wheel rounds up to ticks, from 63
    /// of them on to 8 ticks, from 504 on to 64 (kernel/time/timer.c, calc_wheel_index).
    pub timer_tick: Duration,
    /// Queues of the path that could speak QFCP: what the difference of two hop counts tells, one that every router
    /// lowers and one that only QFCP's do (as in RFC 4782 §3).
    pub queues: u8,
    /// Least retransmission time-out (RFC 6298 §2.4).
    pub rto_min: Duration,
    /// Time-out before the first measurement (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// Greatest time-out (RFC 6298 §2.5).
    pub rto_max: Duration,
    /// Clock granularity G (RFC 6298 §2).
    pub rto_granularity: Duration,
    /// Whether a connection starts with SYN and SYN-ACK; otherwise it is established at once, with an unlimited
    /// window until the first acknowledgement.
    pub handshake: bool,
    /// Size of a SYN on the wire \[B\].
    pub syn_size: u32,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            mss: 1460,
            header: 40,
            law: SenderParams::default(),
            recovery: Recovery::default(),
            limited_transmit: false,
            timestamps: false,
            initial_window: None,
            initial_ssthresh: None,
            window_limit: None,
            validation: Validation::default(),
            restart_after_idle: true,
            strict_duplicate_acks: false,
            cut_at_each_timeout: false,
            find_lost_retransmissions: false,
            rack: false,
            tail_loss_probe: false,
            rate_reduction: false,
            eifel: false,
            frto: false,
            dsack: false,
            rtt_estimator: RttEstimator::default(),
            timer_tick: Duration::ZERO,
            queues: 0,
            one_fast_retransmit: false,
            cut_of_window: false,
            grow_at_recovery_end: false,
            new_ack_ends_back_off: false,
            rto_min: Duration::from_secs(1),
            rto_initial: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            rto_granularity: Duration::ZERO,
            handshake: true,
            syn_size: 40,
        }
    }
}

/// Bytes that RFC 7323's timestamps option adds to a segment, padding included.
pub const TIMESTAMPS_OPTION: u32 = 12;

impl SenderConfig {
    /// The initial window in segments (RFC 5681 eq. 1 unless told otherwise).
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
            || self.law.tracks_segments()
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
        let bytes = |b: Option<Bytes>| b.map_or(0, Bytes::get);
        let mss = u64::from(self.mss);
        ensure((1..=65_535).contains(&self.mss), "mss", self.mss, "1 B to 65535 B")?;
        ensure(self.header <= 65_535, "header", self.header, "at most 65535 B")?;
        ensure(self.initial_window != Some(0), "initial_window", 0, "at least 1 segment")?;
        ensure(
            self.initial_ssthresh.is_none_or(|b| b.get() >= 2 * mss),
            "initial_ssthresh",
            format!("{} B", bytes(self.initial_ssthresh)),
            "at least 2 segments, in bytes",
        )?;
        ensure(
            self.window_limit.is_none_or(|b| b.get() >= mss),
            "window_limit",
            format!("{} B", bytes(self.window_limit)),
            "at least 1 segment, in bytes",
        )?;
        ensure(
            self.timer_tick <= Duration::from_millis(10),
            "timer_tick",
            format!("{:?}", self.timer_tick),
            "at most 10 ms",
        )?;
        ensure(!self.rto_min.is_zero(), "rto_min", format!("{:?}", self.rto_min), "more than 0 s")?;
        ensure(
            self.rto_max >= self.rto_min && self.rto_max <= Duration::from_secs(1_000_000),
            "rto_max",
            format!("{:?}", self.rto_max),
            "at least `rto_min` and at most 1000000 s",
        )?;
        ensure(
            !self.rto_initial.is_zero() && self.rto_initial <= self.rto_max,
            "rto_initial",
            format!("{:?}", self.rto_initial),
            "more than 0 s and at most `rto_max`",
        )?;
        ensure(
            self.rto_granularity <= self.rto_max,
            "rto_granularity",
            format!("{:?}", self.rto_granularity),
            "at most `rto_max`",
        )
    }
}

/// What a receiver is told. [`Default`] acknowledges each packet and advertises a buffer that is never short.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// What the operating system advertises; at least 1 B.
    pub buffer: Bytes,
    /// Payload of a full segment \[B\], which the law may ask for.
    pub mss: u32,
    /// Size of an acknowledgement on the wire \[B\], without SACK blocks.
    pub ack_size: u32,
    /// How many segments one acknowledgement is for, at least 1: each is acknowledged at once (RFC 5681 §4.2: 2).
    pub ack_every: u32,
    /// How many acknowledgements at the start are not delayed, and up to 16 again after a repeated segment (Linux: quickack).
    pub quick_acks: u32,
    /// Longest delay, more than 0 and at most 500 ms (RFC 1122 §4.2.3.2).
    pub ack_timeout: Duration,
    /// Whether acknowledgements carry up to three SACK blocks (RFC 2018), each of 8 bytes and 4 for the option.
    pub sack: bool,
    /// Whether the first of the blocks tells of what came twice (RFC 2883). With `sack` only.
    pub dsack: bool,
    /// How the advertised window is chosen.
    pub law: ReceiverParams,
    /// Length of the intervals whose goodput is sampled; `None`: no samples.
    pub sample_interval: Option<Duration>,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            buffer: Bytes::new(u64::from(u32::MAX)),
            mss: 1460,
            ack_size: 40,
            ack_every: 1,
            quick_acks: 0,
            ack_timeout: Duration::from_millis(200),
            sack: false,
            dsack: false,
            law: ReceiverParams::default(),
            sample_interval: None,
        }
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
        ensure(self.buffer > Bytes::ZERO, "buffer", format!("{:?}", self.buffer), "at least 1 B")?;
        ensure(self.ack_every >= 1, "ack_every", self.ack_every, "at least 1")?;
        ensure(
            !self.ack_timeout.is_zero() && self.ack_timeout <= LONGEST_DELAY,
            "ack_timeout",
            self.ack_timeout,
            "more than 0 s and at most 500 ms",
        )?;
        ensure(
            self.sample_interval.is_none_or(|d| !d.is_zero()),
            "sample_interval",
            format!("{:?}", Duration::ZERO),
            "more than 0 s",
        )
    }
}
