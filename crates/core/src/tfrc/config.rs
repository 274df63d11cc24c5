// SPDX-License-Identifier: MIT OR Apache-2.0
//! What both ends are told when they are made.

use crate::error::{ParameterError, ensure};
use crate::law::tfrc::RateParams;
use crate::parameter::{Parameter, above, above_to};
use crate::parameters;
use crate::units::{Duration, Rate};

parameters! {
    /// TCP-friendly rate control (RFC 5348): what its two ends have.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TfrcParams {
        /// Weight of the old round-trip estimate (RFC 5348 §4.3, q).
        pub rtt_memory: f64 = 0.9, in 0.0..1.0;
        /// Time-out over round-trip time in the throughput equation (RFC 5348 §3.1).
        pub rto_factor: f64 = 4.0, in 0.0..;
        /// Rate of payload once a round-trip time is known; by default 2 to 4 packets a round trip (RFC 5348 §4.2).
        pub initial_rate: Option<Rate> = None, in above(Rate::from_bps(0));
        /// Long times without losses discount what was before (RFC 5348 §5.5).
        pub discounting: bool = true;
        /// The share of its weight that discounting leaves at least (RFC 5348 §5.5, THRESHOLD).
        pub discount_floor: f64 = 0.25, in above_to(0.0, 1.0);
        /// Packets are spaced by the root of the latest round-trip time, so that the rate falls while a queue grows
        /// (RFC 5348 §4.5).
        pub damping: bool = false;
        /// Most packets that leave at once to make up for time in which there was nothing to send; 1 makes up for none
        /// (RFC 5348 §4.6).
        pub burst: u32 = 1, in 1..;
        /// Longest time between two packets (RFC 5348 §4.3, t_mbi).
        pub max_backoff: Duration = Duration::from_secs(64), in above(Duration::ZERO);
    }
}

/// What a sender is told. [`Default`] is RFC 5348's, with 1500-byte packets.
#[derive(Clone, Debug, PartialEq)]
pub struct TfrcSenderConfig {
    /// Payload of a full packet \[B\], 1 to 65,535 (s).
    pub payload: u32,
    /// Headers of a data packet \[B\].
    pub header: u32,
    /// The law's parameters.
    pub params: TfrcParams,
}

/// Weight of the old mean of √R where oscillations are damped (RFC 5348 §4.5, q2).
const ROOT_MEMORY: f64 = 0.9;

impl Default for TfrcSenderConfig {
    fn default() -> Self {
        Self { payload: 1460, header: 40, params: TfrcParams::default() }
    }
}

impl TfrcSenderConfig {
    /// Refuses what no sender can be.
    ///
    /// # Errors
    /// The first parameter outside its domain.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check_payload(self.payload)?;
        self.params.validate()
    }

    pub(super) fn rate_params(&self) -> RateParams {
        RateParams {
            s: f64::from(self.payload),
            q: self.params.rtt_memory,
            rto_factor: self.params.rto_factor,
            initial_rate: self.params.initial_rate.map(|rate| rate.as_bytes_per_sec()),
            t_mbi: self.params.max_backoff.as_secs_f64(),
            damping: self.params.damping.then_some(ROOT_MEMORY),
        }
    }
}

fn check_payload(payload: u32) -> Result<(), ParameterError> {
    ensure((1..=65_535).contains(&payload), "payload", payload, "1 B to 65535 B")
}

/// What a receiver is told. [`Default`] is RFC 5348's.
#[derive(Clone, Debug, PartialEq)]
pub struct TfrcReceiverConfig {
    /// Payload of a full packet \[B\], 1 to 65,535 (s).
    pub payload: u32,
    /// Size of a feedback packet on the wire \[B\].
    pub feedback_size: u32,
    /// The law's parameters.
    pub params: TfrcParams,
    /// Length of the intervals whose goodput is sampled; `None`: no samples.
    pub sample_interval: Option<Duration>,
}

impl Default for TfrcReceiverConfig {
    fn default() -> Self {
        Self { payload: 1460, feedback_size: 64, params: TfrcParams::default(), sample_interval: None }
    }
}

impl TfrcReceiverConfig {
    /// Refuses what no receiver can be.
    ///
    /// # Errors
    /// The first parameter outside its domain.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check_payload(self.payload)?;
        self.params.validate()?;
        ensure(self.sample_interval.is_none_or(|d| !d.is_zero()), "sample_interval", "0 s", "more than 0 s")
    }
}
