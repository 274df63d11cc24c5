// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws: small pure state machines in the units of their papers.
//!
//! A law decides how a window grows and how far it falls; when it falls is the business of loss recovery
//! ([`crate::tcp`]), which is one engine for all of them. Each role is a closed enum, so that adding a law the
//! compiler lists the places to touch.

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
use crate::packet::{QfcpHeader, RateFeedback, Signal, XcpHeader};
use crate::units::{Bytes, Duration, Instant};
pub use aimd::{AfterTimeout, Aimd, AimdParams};
pub use binomial::{Binomial, BinomialParams};
pub use cubic::{Cubic, CubicParams};
pub use gamma::{Gamma, GammaParams};
pub use qfcp::{Qfcp, QfcpParams};
pub use vegas::{Vegas, VegasParams};
pub use veno::{Veno, VenoParams};
pub use westwood::{Westwood, WestwoodParams};
pub use xcp::{Xcp, XcpParams};

/// Which law a sender follows. [`Default`] is TCP's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderLaw {
    /// Additive increase, multiplicative decrease; Reno's and NewReno's with α = 1, β = ½.
    Aimd(AimdParams),
    /// The same with γ and δ.
    Gamma(GammaParams),
    /// Binomial congestion control (SQRT, IIAD).
    Binomial(BinomialParams),
    /// CUBIC (RFC 9438).
    Cubic(CubicParams),
    /// Linux's Reno.
    LinuxReno,
    /// Linux's CUBIC.
    LinuxCubic(linux::CubicParams),
    /// Vegas.
    Vegas(VegasParams),
    /// Veno.
    Veno(VenoParams),
    /// Westwood+.
    Westwood(WestwoodParams),
    /// XCP.
    Xcp(XcpParams),
    /// QFCP.
    Qfcp(QfcpParams),
}

impl Default for SenderLaw {
    fn default() -> Self {
        Self::Aimd(AimdParams::default())
    }
}

/// The congestion window of a sender, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold: below it the window is in slow start.
    pub ssthresh: f64,
}

impl Window {
    /// Whether the window grows by slow start (RFC 5681 §3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start, one acknowledgement: by what it acknowledges, one segment at most (RFC 5681 eq. 2).
    #[inline]
    pub fn slow_start(&mut self, acked: f64) {
        self.cwnd += acked.min(1.0);
    }
}

/// What a sender's law is told of an acknowledgement of new data outside loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When the acknowledgement came.
    pub now: Instant,
    /// Segments that it acknowledges.
    pub acked: f64,
    /// Segments that were outstanding when it came.
    pub flight: f64,
    /// Round-trip time of the segment that caused it.
    pub rtt: Duration,
    /// Smoothed round-trip time \[s\] (RFC 6298's SRTT); 0 before the first measurement.
    pub srtt_s: f64,
}

/// What an acknowledgement brings from the routers of the path.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// What they said.
    pub signal: Signal,
    /// Whether it acknowledges nothing new.
    pub is_duplicate: bool,
    /// Whether it comes in fast recovery.
    pub in_recovery: bool,
    /// Round-trip time of the segment that caused it \[s\].
    pub rtt_s: f64,
}

impl AckSample {
    /// When the segment that caused the acknowledgement left.
    #[inline]
    pub fn sent(&self) -> Instant {
        Instant::from_nanos(self.now.as_nanos().saturating_sub(self.rtt.as_nanos()))
    }
}

/// A sender's law at work.
#[derive(Clone, Debug)]
pub enum Sender {
    /// Additive increase, multiplicative decrease.
    Aimd(Aimd),
    /// The same with γ and δ.
    Gamma(Box<Gamma>),
    /// Binomial congestion control.
    Binomial(Binomial),
    /// CUBIC.
    Cubic(Cubic),
    /// Linux's Reno.
    LinuxReno(linux::Reno),
    /// Linux's CUBIC.
    LinuxCubic(Box<linux::Cubic>),
    /// Vegas.
    Vegas(Box<Vegas>),
    /// Veno.
    Veno(Box<Veno>),
    /// Westwood+.
    Westwood(Box<Westwood>),
    /// XCP.
    Xcp(Box<Xcp>),
    /// QFCP.
    Qfcp(Box<Qfcp>),
}

impl Sender {
    /// Sets the law up.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(law: SenderLaw) -> Result<Self, ParameterError> {
        Ok(match law {
            SenderLaw::Aimd(params) => Self::Aimd(Aimd::new(params)?),
            SenderLaw::Gamma(params) => Self::Gamma(Box::new(Gamma::new(params)?)),
            SenderLaw::Binomial(params) => Self::Binomial(Binomial::new(params)?),
            SenderLaw::Cubic(params) => Self::Cubic(Cubic::new(params)?),
            SenderLaw::LinuxReno => Self::LinuxReno(linux::Reno::default()),
            SenderLaw::LinuxCubic(params) => Self::LinuxCubic(Box::new(linux::Cubic::new(params)?)),
            SenderLaw::Vegas(params) => Self::Vegas(Box::new(Vegas::new(params)?)),
            SenderLaw::Veno(params) => Self::Veno(Box::new(Veno::new(params)?)),
            SenderLaw::Westwood(params) => Self::Westwood(Box::new(Westwood::new(params)?)),
            SenderLaw::Xcp(params) => Self::Xcp(Box::new(Xcp::new(params)?)),
            SenderLaw::Qfcp(params) => Self::Qfcp(Box::new(Qfcp::new(params)?)),
        })
    }

    /// New data was acknowledged: the window may grow.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        match self {
            Self::Aimd(law) => law.on_ack(window, ack),
            Self::Gamma(law) => law.on_ack(window, ack),
            Self::Binomial(_) | Self::Cubic(_) if window.in_slow_start() => window.slow_start(ack.acked),
            Self::Binomial(law) => window.cwnd = law.increase(window.cwnd, ack.acked),
            Self::Cubic(law) => window.cwnd = law.increase(window.cwnd, ack),
            Self::LinuxReno(law) => law.on_ack(window, ack),
            Self::LinuxCubic(law) => law.on_ack(window, ack),
            Self::Vegas(law) => law.on_ack(window, ack),
            Self::Veno(law) => law.on_ack(window, ack),
            Self::Westwood(law) => law.on_ack(window, ack),
            Self::Xcp(law) => law.on_ack(window, ack),
            Self::Qfcp(law) => law.on_ack(window, ack),
        }
    }

    /// New data was acknowledged that had not been sent again, whatever limits the sender: a law may learn from it.
    #[inline]
    pub fn observe(&mut self, window: &mut Window, ack: &AckSample) {
        if let Self::LinuxCubic(law) = self {
            law.observe(window, ack);
        }
    }

    /// An acknowledgement brings what the routers of the path say to segments of `wire_bytes` on the wire. Other laws have
    /// no ear for it.
    pub fn on_feedback(&mut self, window: &mut Window, told: &Feedback, wire_bytes: f64) {
        match (self, told.signal) {
            (Self::Xcp(law), Signal::Change(bytes)) => {
                law.on_feedback(window, f64::from(bytes) / wire_bytes, told.is_duplicate);
            }
            (Self::Qfcp(law), Signal::Rate(RateFeedback { rate, silent })) => {
                law.on_feedback(window, f64::from(rate) / wire_bytes, silent == 0, told);
            }
            _ => {}
        }
    }

    /// What the next segments ask the routers of the path, of which `queues` could speak.
    pub fn request(&self, window: &Window, wire_bytes: f64, queues: u8, srtt_s: f64) -> Signal {
        match self {
            Self::Xcp(_) => Signal::Xcp(XcpHeader {
                cwnd_bytes: (window.cwnd * wire_bytes) as f32,
                rtt_s: srtt_s as f32,
                change_bytes: f32::INFINITY,
            }),
            Self::Qfcp(law) => {
                let rtt_s = if law.rtt_s() > 0.0 { law.rtt_s() } else { srtt_s };
                Signal::Qfcp(QfcpHeader { rtt_s: rtt_s as f32, rate: f32::INFINITY, silent: queues })
            }
            _ => Signal::None,
        }
    }

    /// A duplicate acknowledgement came: one more segment has arrived.
    #[inline]
    pub fn on_duplicate(&mut self, now: Instant) {
        if let Self::Westwood(law) = self {
            law.on_duplicate(now);
        }
    }

    /// `acked` segments of new data were acknowledged in loss recovery, where windows do not grow.
    #[inline]
    pub fn on_ack_in_recovery(&mut self, now: Instant, acked: f64) {
        if let Self::Westwood(law) = self {
            law.on_progress(now, acked);
        }
    }

    /// Duplicate acknowledgements tell of a loss. Gives the slow-start threshold, in segments, before
    /// RFC 5681's floor of two is put under it; `flight` is FlightSize.
    pub fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        match self {
            Self::Aimd(law) => law.on_loss(window, flight),
            Self::Gamma(law) => law.on_loss(window, flight),
            Self::Binomial(law) => law.decrease(window.cwnd, flight),
            Self::Cubic(law) => law.on_loss(window.cwnd, flight),
            Self::LinuxReno(law) => law.on_loss(window.cwnd),
            Self::LinuxCubic(law) => law.on_loss(window.cwnd),
            Self::Vegas(law) => law.on_loss(flight),
            Self::Veno(law) => law.on_loss(flight),
            Self::Westwood(law) => law.on_loss(window),
            Self::Xcp(law) => law.on_loss(window, flight),
            Self::Qfcp(law) => law.on_loss(window, flight),
        }
    }

    /// The retransmission timer tells of a loss. Gives the slow-start threshold as [`on_loss`](Self::on_loss) does.
    pub fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        match self {
            Self::Aimd(law) => law.on_timeout(window, flight),
            Self::Gamma(law) => law.on_timeout(window, flight),
            Self::Binomial(law) => law.decrease(window.cwnd, flight),
            Self::Cubic(law) => law.on_timeout(window.cwnd, flight),
            Self::LinuxReno(law) => law.on_loss(window.cwnd),
            Self::LinuxCubic(law) => law.on_timeout(window.cwnd),
            Self::Vegas(law) => law.on_timeout(flight),
            Self::Veno(law) => law.on_timeout(flight),
            Self::Westwood(law) => law.on_timeout(window),
            Self::Xcp(law) => law.on_timeout(window, flight),
            Self::Qfcp(law) => law.on_timeout(window, flight),
        }
    }
}

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
