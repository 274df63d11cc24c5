// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sender's law: how its window grows, how far it falls, and what it asks and hears of the routers.
//!
//! When the window falls, and what is sent again, is the business of loss recovery ([`crate::tcp`]), which is one engine for
//! all laws. It calls [`SenderLaw`]'s methods; so can anybody:
//!
//! ```
//! use lasthop_core::law::binomial::BinomialParams;
//! use lasthop_core::role::{AckSample, AnySender, SenderParams, Window};
//! use lasthop_core::units::{Duration, Instant};
//!
//! # fn main() -> Result<(), lasthop_core::error::ParameterError> {
//! let mut law = AnySender::new(&SenderParams::Binomial(BinomialParams::default()))?;
//! let mut window = Window { cwnd: 16.0, ssthresh: 8.0 };
//! let rtt = Duration::from_millis(100);
//! let ack = AckSample { now: Instant::ZERO + rtt, acked: 1.0, flight: 16.0, rtt, srtt_s: 0.1 };
//! law.on_ack(&mut window, &ack);
//! assert_eq!(window.cwnd, 16.0 + 1.0 / (16.0 * 4.0)); // SQRT: α/w√w
//! window.cwnd = 25.0;
//! assert_eq!(law.on_loss(&window, 25.0), 25.0 - 0.5 * 5.0); // and β√w
//! # Ok(())
//! # }
//! ```

use core::fmt::Debug;

use super::{AckSample, FeedbackSample, Window};
use crate::error::ParameterError;
use crate::law;
use crate::packet::Signal;
use crate::units::Instant;

/// What a sender's law may hear. Windows are in segments; a law sets them, and the sender obeys.
pub trait SenderLaw: Sized {
    /// Its parameters, and their defaults.
    type Params: Copy + Debug + Default + PartialEq;

    /// Whether the sender is to remember when it sent each segment, so that round-trip times are those of segments.
    const TRACKS_SEGMENTS: bool = false;

    /// Whether it [asks](Self::request) the routers of the path anything.
    const ASKS_ROUTERS: bool = false;

    /// Sets the law up.
    ///
    /// # Errors
    /// A parameter outside its domain.
    fn set_up(params: Self::Params) -> Result<Self, ParameterError>;

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
    fn on_feedback(&mut self, _window: &mut Window, _told: &FeedbackSample) {}

    /// What the next segments, of `wire_bytes` on the wire, ask the routers of the path (nothing unless it
    /// [asks](Self::ASKS_ROUTERS) at all), of which `queues` could speak;
    /// `srtt_s` is the smoothed round-trip time \[s\], 0 before the first measurement.
    fn request(&self, _window: &Window, _wire_bytes: f64, _queues: u8, _srtt_s: f64) -> Signal {
        Signal::None
    }
}

laws! {
    /// The parameters of a sender's law, and which one it is. [`Default`] is TCP's own.
    params SenderParams;
    /// A sender's law at work, whichever it is; each method is [`SenderLaw`]'s of that name.
    #[derive(Clone, Debug)]
    any AnySender: SenderLaw, set_up() by ();
    bare:
        /// Linux's Reno.
        LinuxReno => law::linux::Reno;
    in place:
        /// Additive increase, multiplicative decrease; Reno's and NewReno's with α = 1, β = ½.
        Aimd(law::aimd::AimdParams) => law::aimd::Aimd;
    in boxes:
        /// Binomial congestion control (SQRT, IIAD).
        Binomial(law::binomial::BinomialParams) => law::binomial::Binomial,
        /// CUBIC (RFC 9438).
        Cubic(law::cubic::CubicParams) => law::cubic::Cubic,
        /// α and β, with γ and δ.
        Gamma(law::gamma::GammaParams) => law::gamma::Gamma,
        /// α and β, with γ and δ, as a congestion control of Linux.
        LinuxAimd(law::gamma::GammaParams) => law::linux::LinuxAimd,
        /// Linux's CUBIC.
        LinuxCubic(law::linux::LinuxCubicParams) => law::linux::LinuxCubic,
        /// Vegas.
        Vegas(law::vegas::VegasParams) => law::vegas::Vegas,
        /// Veno.
        Veno(law::veno::VenoParams) => law::veno::Veno,
        /// Westwood+.
        Westwood(law::westwood::WestwoodParams) => law::westwood::Westwood,
        /// CLAMP at the sender.
        Clamp(law::clamp::ClampParams) => law::clamp::ClampSender,
        /// ABC.
        Abc(law::abc::AbcParams) => law::abc::Abc,
        /// XCP.
        Xcp(law::xcp::XcpParams) => law::xcp::Xcp,
        /// QFCP.
        Qfcp(law::qfcp::QfcpParams) => law::qfcp::Qfcp;
}

impl Default for SenderParams {
    fn default() -> Self {
        Self::Aimd(law::aimd::AimdParams::default())
    }
}

impl SenderParams {
    /// Each law with its defaults.
    pub fn defaults() -> Vec<Self> {
        with!(defaults)
    }

    /// Whether the law wants segments tracked ([`SenderLaw::TRACKS_SEGMENTS`]).
    pub fn tracks_segments(&self) -> bool {
        with!(type of self, Law => Law::TRACKS_SEGMENTS)
    }

    /// Whether the law asks the routers anything ([`SenderLaw::ASKS_ROUTERS`]).
    pub fn asks_routers(&self) -> bool {
        with!(type of self, Law => Law::ASKS_ROUTERS)
    }
}

impl AnySender {
    /// New data was acknowledged.
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        match self {
            // TCP's own looks at little of the sample: so the rest is not made for it.
            Self::Aimd(law) => law.on_ack(window, ack),
            others => others.on_ack_of_others(window, &{ *ack }),
        }
    }

    #[inline(never)]
    fn on_ack_of_others(&mut self, window: &mut Window, ack: &AckSample) {
        with!(mut self, law => law.on_ack(window, ack));
    }

    /// Duplicate acknowledgements tell of a loss.
    pub fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        with!(mut self, law => law.on_loss(window, flight))
    }

    /// The retransmission timer tells of a loss.
    pub fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        with!(mut self, law => law.on_timeout(window, flight))
    }

    /// New data was acknowledged that had not been sent again.
    #[inline]
    pub fn observe(&mut self, window: &mut Window, ack: &AckSample) {
        with!(mut self, law => law.observe(window, ack));
    }

    /// A duplicate acknowledgement came.
    #[inline]
    pub fn on_duplicate(&mut self, now: Instant) {
        with!(mut self, law => law.on_duplicate(now));
    }

    /// New data was acknowledged in loss recovery.
    #[inline]
    pub fn on_ack_in_recovery(&mut self, now: Instant, acked: f64) {
        with!(mut self, law => law.on_ack_in_recovery(now, acked));
    }

    /// The routers of the path have spoken.
    pub fn on_feedback(&mut self, window: &mut Window, told: &FeedbackSample) {
        with!(mut self, law => law.on_feedback(window, told));
    }

    /// What the next segments ask the routers.
    pub fn request(&self, window: &Window, wire_bytes: f64, queues: u8, srtt_s: f64) -> Signal {
        with!(ref self, law => law.request(window, wire_bytes, queues, srtt_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::RateFeedback;
    use crate::units::Duration;

    fn all() -> impl Iterator<Item = (AnySender, SenderParams)> {
        SenderParams::defaults().into_iter().map(|params| (AnySender::new(&params).unwrap(), params))
    }

    /// An acknowledgement of one segment each 10 ms, after 100 ms: nothing waits anywhere.
    fn ack(count: u32) -> AckSample {
        let now = Instant::ZERO + Duration::from_millis(100 + 10 * u64::from(count));
        AckSample { now, acked: 1.0, flight: 10.0, rtt: Duration::from_millis(100), srtt_s: 0.1 }
    }

    #[test]
    fn every_law_grows_while_nothing_waits() {
        // On a path without routers that speak, which XCP and QFCP are told by what comes back.
        let [change, rate] =
            [Signal::Change(f32::INFINITY), Signal::Rate(RateFeedback { rate: f32::INFINITY, silent: 1 })];
        let told = |signal| FeedbackSample {
            signal,
            rtt_s: 0.1,
            wire_bytes: 1500.0,
            mss_bytes: 1460.0,
            ..FeedbackSample::default()
        };
        for ssthresh in [f64::INFINITY, 2.0] {
            for (mut law, params) in all() {
                let mut window = Window { cwnd: 10.0, ssthresh };
                law.on_feedback(&mut window, &told(change));
                law.on_feedback(&mut window, &told(rate));
                for count in 0..30 {
                    law.on_ack(&mut window, &ack(count));
                }
                assert!(window.cwnd > 10.0, "{params:?}, {window:?}");
            }
        }
    }

    #[test]
    fn no_law_keeps_more_than_it_had() {
        let window = Window { cwnd: 20.0, ssthresh: 2.0 };
        for (mut law, params) in all() {
            for threshold in [law.on_loss(&window, 20.0), law.on_timeout(&window, 20.0)] {
                assert!((0.0..20.0).contains(&threshold), "{params:?}: {threshold}");
            }
        }
    }

    #[test]
    fn only_those_who_speak_to_routers_ask_them() {
        let window = Window { cwnd: 10.0, ssthresh: 2.0 };
        for (law, params) in all() {
            let speaks = matches!(
                params,
                SenderParams::Abc(_) | SenderParams::Xcp(_) | SenderParams::Qfcp(_) | SenderParams::Clamp(_)
            );
            assert_eq!(law.request(&window, 1500.0, 1, 0.1) != Signal::None, speaks, "{params:?}");
            assert_eq!(params.asks_routers(), speaks, "{params:?}");
        }
    }

    #[test]
    fn boxes_keep_a_law_small() {
        assert!(size_of::<AnySender>() <= 24, "{}", size_of::<AnySender>());
    }
}
