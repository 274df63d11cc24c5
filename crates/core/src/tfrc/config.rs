// SPDX-License-Identifier: MIT OR Apache-2.0
//! What both ends are told when they are made.

use crate::error::{ParameterError, ensure};
use crate::law::tfrc::RateParams;
use crate::units::{Duration, Rate};

/// A sender's parameters. [`Default`] is RFC 5348's, with 1500-byte packets.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// Payload of a full packet \[B\], 1 to 65,535 (s).
    pub payload: u32,
    /// Headers of a data packet \[B\].
    pub header: u32,
    /// Weight of the old round-trip estimate, in \[0, 1) (RFC 5348 §4.3, q).
    pub rtt_memory: f64,
    /// t_RTO over R in the throughput equation, 0 or more (RFC 5348 §3.1).
    pub rto_factor: f64,
    /// Rate of payload once a round-trip time is known; `None`: RFC 3390's window each round trip (RFC 5348 §4.2).
    pub initial_rate: Option<Rate>,
    /// Whether the packets' spacing follows √R, so that the rate falls while a queue grows (RFC 5348 §4.5).
    pub damping: bool,
    /// Most packets that leave at once to make up for time in which there was nothing to send, at least 1, which makes
    /// up for nothing (RFC 5348 §4.6).
    pub burst: u32,
    /// Longest time between two packets, more than 0 (RFC 5348 §4.3, t_mbi).
    pub max_backoff: Duration,
}

/// Weight of the old mean of √R where oscillations are damped (RFC 5348 §4.5, q2).
const ROOT_MEMORY: f64 = 0.9;

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            payload: 1460,
            header: 40,
            rtt_memory: 0.9,
            rto_factor: 4.0,
            initial_rate: None,
            damping: false,
            burst: 1,
            max_backoff: Duration::from_secs(64),
        }
    }
}

impl SenderConfig {
    /// Refuses what no sender can be.
    ///
    /// # Errors
    /// The first parameter outside its domain.
    pub fn validate(&self) -> Result<(), ParameterError> {
        ensure((1..=65_535).contains(&self.payload), "payload", self.payload, "1 B to 65535 B")?;
        ensure((0.0..1.0).contains(&self.rtt_memory), "rtt_memory", self.rtt_memory, "from 0 up to, but not, 1")?;
        check_rto_factor(self.rto_factor)?;
        ensure(
            self.initial_rate.is_none_or(|rate| rate > Rate::from_bps(0)),
            "initial_rate",
            "0 bit/s",
            "more than 0 bit/s",
        )?;
        ensure(self.burst >= 1, "burst", self.burst, "at least 1")?;
        ensure(!self.max_backoff.is_zero(), "max_backoff", format!("{:?}", self.max_backoff), "more than 0 s")
    }

    pub(super) fn rate_params(&self) -> RateParams {
        RateParams {
            s: f64::from(self.payload),
            q: self.rtt_memory,
            rto_factor: self.rto_factor,
            initial_rate: self.initial_rate.map(|rate| rate.as_bytes_per_sec()),
            t_mbi: self.max_backoff.as_secs_f64(),
            damping: self.damping.then_some(ROOT_MEMORY),
        }
    }
}

fn check_rto_factor(factor: f64) -> Result<(), ParameterError> {
    ensure(factor.is_finite() && factor >= 0.0, "rto_factor", factor, "0 or more")
}

/// Whether a long time without losses discounts what was before (RFC 5348 §5.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discounting {
    /// All loss intervals keep their weights.
    Off,
    /// Older intervals keep at least this share of their weights, more than 0 and at most 1.
    Floor(f64),
}

/// A receiver's parameters. [`Default`] is RFC 5348's.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// Payload of a full packet \[B\], 1 to 65,535 (s).
    pub payload: u32,
    /// Size of a feedback packet on the wire \[B\].
    pub feedback_size: u32,
    /// t_RTO over R in the throughput equation, 0 or more (RFC 5348 §3.1).
    pub rto_factor: f64,
    /// History discounting.
    pub discounting: Discounting,
    /// Length of the intervals whose goodput is sampled; `None`: no samples.
    pub sample_interval: Option<Duration>,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            payload: 1460,
            feedback_size: 64,
            rto_factor: 4.0,
            discounting: Discounting::Floor(0.25),
            sample_interval: None,
        }
    }
}

impl ReceiverConfig {
    /// Refuses what no receiver can be.
    ///
    /// # Errors
    /// The first parameter outside its domain.
    pub fn validate(&self) -> Result<(), ParameterError> {
        ensure((1..=65_535).contains(&self.payload), "payload", self.payload, "1 B to 65535 B")?;
        check_rto_factor(self.rto_factor)?;
        if let Discounting::Floor(floor) = self.discounting {
            ensure(floor > 0.0 && floor <= 1.0, "discount_floor", floor, "more than 0 and at most 1")?;
        }
        ensure(self.sample_interval.is_none_or(|d| !d.is_zero()), "sample_interval", "0 s", "more than 0 s")
    }
}
