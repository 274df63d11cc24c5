// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws: small pure state machines in the units of their papers.
//!
//! ```text
//!   law/<name>/equations.rs    one function of plain numbers for each equation, cited as `gamma#16`
//!   law/<name>/mod.rs          parameters, a state, and one impl: what the law hears, by the trait of its role
//! ```
//!
//! | role | laws | what they decide |
//! |---|---|---|
//! | sender ([`SenderLaw`](crate::role::SenderLaw)) | [`aimd`], [`binomial`], [`cubic`], [`gamma`], [`linux`], [`qfcp`], [`vegas`], [`veno`], [`westwood`], [`xcp`] | the congestion window |
//! | rate-based sender | [`tfrc`] | the rate |
//! | receiver | [`clamp`] | the advertised window |
//! | router | [`clamp`], [`qfcp`], [`xcp`] | what passing packets are told |
//! | queue | [`codel`], [`red`] | what is dropped before it must |

pub mod aimd;
pub mod binomial;
pub mod clamp;
pub mod codel;
pub mod cubic;
pub mod gamma;
pub mod linux;
pub mod qfcp;
pub mod red;
pub mod tfrc;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod xcp;

use crate::error::ParameterError;
use crate::units::{Bytes, Duration, Instant};

/// Which law a receiver follows when it chooses the window to advertise.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum ReceiverLaw {
    /// The operating system's: all the buffer that is free.
    #[default]
    Plain,
    /// CLAMP.
    Clamp(clamp::ReceiverParams),
}

/// What a receiver's law is told of an arrival.
#[derive(Clone, Copy, Debug)]
pub struct DataSample {
    /// When the packet came.
    pub now: Instant,
    /// Size on the wire.
    pub size: Bytes,
    /// Payload \[B\].
    pub payload: u32,
    /// Price that the routers on the path stamped, if any \[s\].
    pub price_s: Option<f64>,
    /// Round-trip time that the packet's echo gives, if any.
    pub rtt: Option<Duration>,
}

/// A receiver's law at work.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// Advertises what the operating system would.
    Plain,
    /// CLAMP.
    Clamp(Box<clamp::Receiver>),
}

impl Receiver {
    /// Sets the law up.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(law: ReceiverLaw) -> Result<Self, ParameterError> {
        Ok(match law {
            ReceiverLaw::Plain => Self::Plain,
            ReceiverLaw::Clamp(params) => Self::Clamp(Box::new(clamp::Receiver::new(params)?)),
        })
    }

    /// The window of the SYN-ACK, before any data.
    pub fn first_window(&self, os_window: Bytes) -> Bytes {
        match self {
            Self::Plain => os_window,
            Self::Clamp(law) => whole_bytes(law.window_bytes()).min(os_window),
        }
    }

    /// The first data came `d0` after the SYN-ACK left.
    pub fn start(&mut self, d0: Duration) {
        match self {
            Self::Plain => {}
            Self::Clamp(law) => law.start(d0.as_secs_f64()),
        }
    }

    /// A data packet came, in order or not. Gives the window to advertise, `os_window` at most.
    #[inline]
    pub fn on_packet(&mut self, sample: &DataSample, os_window: Bytes) -> Bytes {
        match self {
            Self::Plain => os_window,
            Self::Clamp(law) => {
                let arrival = clamp::Arrival {
                    t_s: seconds(sample.now.as_nanos()),
                    size_bytes: sample.size.as_f64(),
                    payload_bytes: f64::from(sample.payload),
                    price_s: sample.price_s.unwrap_or(0.0),
                    rtt_s: sample.rtt.map(|rtt| seconds(rtt.as_nanos())),
                };
                whole_bytes(law.on_packet(&arrival, os_window.as_f64())).min(os_window)
            }
        }
    }

    /// The receiver sent its third duplicate acknowledgement in a row.
    pub fn on_three_duplicate_acks(&mut self) {
        match self {
            Self::Plain => {}
            Self::Clamp(law) => law.on_three_duplicate_acks(),
        }
    }
}

/// Rounds down to whole bytes.
#[inline]
fn whole_bytes(bytes: f64) -> Bytes {
    Bytes::new(bytes as u64)
}

/// Nanoseconds in seconds, by a multiplication: a packet's path has no room for a division.
#[inline]
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
