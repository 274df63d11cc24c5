// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sender's law: how its window grows, how far it falls, and what it asks and hears of the routers.
//!
//! When the window falls, and what is sent again, is the business of loss recovery ([`crate::tcp`]), which is one engine for
//! all laws.

use core::fmt::Debug;

use super::{AckSample, Feedback, Window};
use crate::error::ParameterError;
use crate::law::{aimd, binomial, cubic, gamma, linux, qfcp, vegas, veno, westwood, xcp};
use crate::packet::Signal;
use crate::units::Instant;

/// What a sender's law may hear. Windows are in segments; a law sets them, and the sender obeys.
pub trait SenderLaw: Sized {
    /// Its parameters.
    type Params: Copy + Debug + PartialEq;

    /// Whether the sender is to remember when it sent each segment, so that round-trip times are those of segments.
    const TRACKS_SEGMENTS: bool = false;

    /// Sets the law up.
    ///
    /// # Errors
    /// A parameter outside its domain.
    fn new(params: Self::Params) -> Result<Self, ParameterError>;

    /// New data was acknowledged outside loss recovery, while the window limits the sender: it may grow.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample);

    /// Duplicate acknowledgements tell of a loss. Gives the slow-start threshold, in segments, before RFC 5681's floor of two
    /// is put under it; `flight` is FlightSize.
    fn on_loss(&mut self, window: &Window, flight: f64) -> f64;

    /// The retransmission timer tells of a loss. Gives the slow-start threshold as [`on_loss`](Self::on_loss) does, and by
    /// default the same.
    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        self.on_loss(window, flight)
    }

    /// New data was acknowledged that had not been sent again, whatever limits the sender. Only where segments are tracked.
    fn observe(&mut self, _window: &mut Window, _ack: &AckSample) {}

    /// A duplicate acknowledgement came: one more segment has arrived.
    fn on_duplicate(&mut self, _now: Instant) {}

    /// `acked` segments of new data were acknowledged in loss recovery, where windows do not grow.
    fn on_ack_in_recovery(&mut self, _now: Instant, _acked: f64) {}

    /// An acknowledgement brings what the routers of the path say.
    fn on_feedback(&mut self, _window: &mut Window, _told: &Feedback) {}

    /// What the next segments, of `wire_bytes` on the wire, ask the routers of the path, of which `queues` could speak;
    /// `srtt_s` is the smoothed round-trip time \[s\], 0 before the first measurement.
    fn request(&self, _window: &Window, _wire_bytes: f64, _queues: u8, _srtt_s: f64) -> Signal {
        Signal::None
    }
}

/// Makes the enums of the laws. Those in boxes are large, and a sender of another law need not carry their size.
macro_rules! laws {
    (in place: $($small:ident => $plain:ty),+; in boxes: $($large:ident => $boxed:ty),+;) => {
        /// The parameters of a sender's law, and which one it is. [`Default`] is TCP's own.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum SenderParams {
            $(#[doc = concat!("Those of [`", stringify!($plain), "`].")] $small(<$plain as SenderLaw>::Params),)+
            $(#[doc = concat!("Those of [`", stringify!($boxed), "`].")] $large(<$boxed as SenderLaw>::Params),)+
        }

        /// A sender's law at work, whichever it is; each method is [`SenderLaw`]'s of that name.
        #[derive(Clone, Debug)]
        pub enum AnySender {
            $(#[doc = concat!("[`", stringify!($plain), "`].")] $small($plain),)+
            $(#[doc = concat!("[`", stringify!($boxed), "`].")] $large(Box<$boxed>),)+
        }

        impl SenderParams {
            /// Whether the law wants segments tracked ([`SenderLaw::TRACKS_SEGMENTS`]).
            pub fn tracks_segments(&self) -> bool {
                match self {
                    $(Self::$small(_) => <$plain>::TRACKS_SEGMENTS,)+
                    $(Self::$large(_) => <$boxed>::TRACKS_SEGMENTS,)+
                }
            }
        }

        impl AnySender {
            /// Sets the law up.
            ///
            /// # Errors
            /// A parameter outside its domain.
            pub fn new(params: SenderParams) -> Result<Self, ParameterError> {
                Ok(match params {
                    $(SenderParams::$small(params) => Self::$small(<$plain>::new(params)?),)+
                    $(SenderParams::$large(params) => Self::$large(Box::new(<$boxed>::new(params)?)),)+
                })
            }
        }

        /// Evaluates an expression with whichever law it is.
        macro_rules! with {
            ($any:ident, $law:ident => $heard:expr) => {
                match $any {
                    $(Self::$small($law) => $heard,)+
                    $(Self::$large($law) => $heard,)+
                }
            };
        }
    };
}

laws! {
    in place:
        Aimd => aimd::Aimd,
        Binomial => binomial::Binomial,
        Cubic => cubic::Cubic,
        LinuxReno => linux::Reno;
    in boxes:
        Gamma => gamma::Gamma,
        LinuxCubic => linux::Cubic,
        Vegas => vegas::Vegas,
        Veno => veno::Veno,
        Westwood => westwood::Westwood,
        Xcp => xcp::Xcp,
        Qfcp => qfcp::Qfcp;
}

impl Default for SenderParams {
    fn default() -> Self {
        Self::Aimd(aimd::AimdParams::default())
    }
}

impl AnySender {
    /// New data was acknowledged.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        with!(self, law => law.on_ack(window, ack));
    }

    /// Duplicate acknowledgements tell of a loss.
    pub fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        with!(self, law => law.on_loss(window, flight))
    }

    /// The retransmission timer tells of a loss.
    pub fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        with!(self, law => law.on_timeout(window, flight))
    }

    /// New data was acknowledged that had not been sent again.
    #[inline]
    pub fn observe(&mut self, window: &mut Window, ack: &AckSample) {
        with!(self, law => law.observe(window, ack));
    }

    /// A duplicate acknowledgement came.
    #[inline]
    pub fn on_duplicate(&mut self, now: Instant) {
        with!(self, law => law.on_duplicate(now));
    }

    /// New data was acknowledged in loss recovery.
    #[inline]
    pub fn on_ack_in_recovery(&mut self, now: Instant, acked: f64) {
        with!(self, law => law.on_ack_in_recovery(now, acked));
    }

    /// The routers of the path have spoken.
    pub fn on_feedback(&mut self, window: &mut Window, told: &Feedback) {
        with!(self, law => law.on_feedback(window, told));
    }

    /// What the next segments ask the routers.
    pub fn request(&self, window: &Window, wire_bytes: f64, queues: u8, srtt_s: f64) -> Signal {
        with!(self, law => law.request(window, wire_bytes, queues, srtt_s))
    }
}
