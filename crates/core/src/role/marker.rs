// SPDX-License-Identifier: MIT OR Apache-2.0
//! A router's law: what it writes into passing packets, of one queue.

use core::fmt::Debug;

use crate::error::ParameterError;
use crate::kinds;
use crate::law;
use crate::law::clamp::PriceForm;
use crate::packet::Signal;
use crate::parameter::With;
use crate::units::{Amount, Bytes, Duration, Instant, Rate};

/// What a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Packets.
    pub packets: usize,
    /// Bytes, without what has been sent of the head.
    pub bytes: Bytes,
}

/// A packet as it passes a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Its size.
    pub size: Bytes,
    /// Its flow ([`Parcel::flow`](crate::packet::Parcel::flow)).
    pub flow: u64,
    /// When it joined the queue.
    pub arrived: Instant,
}

/// What a router's law may hear of its queue, and what it may be asked.
///
/// ```
/// use lasthop_core::error::ParameterError;
/// use lasthop_core::packet::Signal;
/// use lasthop_core::parameter::Parameter;
/// use lasthop_core::parameters;
/// use lasthop_core::role::{Held, MarkerLaw, Passing};
/// use lasthop_core::units::{Duration, Instant};
///
/// parameters! {
///     /// A packet's wait as a price.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub struct WaitParams {
///         /// The wait that costs nothing.
///         pub free: Duration = Duration::from_millis(5);
///     }
/// }
///
/// /// What a packet has waited, beyond what is free, is its price.
/// #[derive(Clone, Debug)]
/// pub struct Wait {
///     free_s: f64,
///     price_s: f64,
/// }
///
/// impl MarkerLaw for Wait {
///     type Params = WaitParams;
///
///     fn set_up(params: WaitParams) -> Result<Self, ParameterError> {
///         params.validate()?;
///         Ok(Self { free_s: params.free.as_secs_f64(), price_s: 0.0 })
///     }
///
///     fn on_departure(&mut self, now: Instant, packet: Passing, _held: Held, signal: &mut Signal) {
///         self.price_s = ((now - packet.arrived).as_secs_f64() - self.free_s).max(0.0);
///         signal.raise_price(self.price_s);
///     }
///
///     fn price(&self) -> Option<f64> {
///         Some(self.price_s)
///     }
/// }
/// # use lasthop_core::units::Bytes;
/// # let mut law = Wait::set_up(WaitParams { free: Duration::from_millis(250) }).unwrap();
/// # let (packet, held) = (Passing { size: Bytes::new(1500), flow: 0, arrived: Instant::ZERO }, Held { packets: 0, bytes: Bytes::ZERO });
/// # let mut signal = Signal::None;
/// # law.on_departure(Instant::ZERO + Duration::from_secs(1), packet, held, &mut signal);
/// # assert_eq!((signal.price(), law.price()), (Some(0.75), Some(0.75)));
/// ```
pub trait MarkerLaw: Sized {
    /// Its parameters.
    type Params: Copy + Debug + PartialEq;

    /// Sets the law up for an empty queue.
    ///
    /// # Errors
    /// A parameter outside its domain.
    fn set_up(params: Self::Params) -> Result<Self, ParameterError>;

    /// The parameters at a place: what by default depends on that is given.
    ///
    /// # Errors
    /// What the place does not give, or what is at odds with it.
    fn at(params: Self::Params, _site: &Site) -> Result<Self::Params, ParameterError> {
        Ok(params)
    }

    /// A flow has another weight than 1.
    fn weigh(&mut self, _flow: u64, _weight: f64) {}

    /// The line has a number among those that one path crosses.
    fn call_line(&mut self, _number: u8) {}

    /// A packet joins the queue, which holds `held` with it.
    fn on_arrival(&mut self, _now: Instant, _packet: Passing, _held: Held, _signal: &Signal) {}

    /// A packet of `size` came and found no room in the queue, which holds `held`.
    fn on_overflow(&mut self, _now: Instant, _size: Bytes, _held: Held, _signal: &Signal) {}

    /// Packets have been dropped from the queue, which holds `queued` without them.
    fn on_drop(&mut self, _now: Instant, _queued: Bytes) {}

    /// A packet leaves, `held` are behind it; what the law has to say is written into `signal`. A link's packet leaves as its
    /// transmission starts, a radio's when it is through.
    fn on_departure(&mut self, _now: Instant, _packet: Passing, _held: Held, _signal: &mut Signal) {}

    /// The line has nothing to send from `now` on.
    fn on_rest(&mut self, _now: Instant) {}

    /// For how long it remembers what the line could have sent and did not; none: it need not be told.
    fn remembers_unused(&self) -> Option<Duration> {
        None
    }

    /// At `at` the line could have sent `size` more, and nothing was there to be sent: an opportunity of a recorded trace, or the
    /// rest of one. It is told before the next packet leaves.
    fn on_unused(&mut self, _at: Instant, _size: Bytes) {}

    /// A packet of `size` has crossed a medium that both directions share, against the queue's own, which holds `held`;
    /// `waiting` packets are left at all that send this way, as each told with what it sent last.
    fn on_crossing(&mut self, _now: Instant, _size: Bytes, _held: Held, _waiting: usize, _signal: &mut Signal) {}

    /// A medium that both directions share was busy for `airtime`, what stations wait before they send included: with the
    /// queue's own packet, or with another's.
    fn on_airtime(&mut self, _airtime: Duration, _is_own: bool) {}

    /// The medium was busy for `airtime` with packets of the other of two classes, which leaves this one's `share` of its time.
    fn on_others_turn(&mut self, _airtime: Duration, _share: f64) {}

    /// The queue as the law averages it \[B\].
    fn average_bytes(&self) -> Option<f64> {
        None
    }

    /// The price \[s\].
    fn price(&self) -> Option<f64> {
        None
    }

    /// The rate that a flow may have, and the capacity that the law reckons with \[B/s\].
    fn fair_rate(&self) -> Option<(f64, f64)> {
        None
    }
}

/// Lets packets pass unmarked.
#[derive(Clone, Copy, Debug)]
pub struct Unmarked;

impl MarkerLaw for Unmarked {
    type Params = ();

    fn set_up((): ()) -> Result<Self, ParameterError> {
        Ok(Self)
    }
}

/// Where a router stands: what it takes of its place unless it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The line's rate, of a radio or WLAN its highest, of a trace its mean.
    pub rate: Rate,
    /// The most that the line carries: of a trace, within a tenth of a second.
    pub top: Rate,
    /// What the queue holds at most.
    pub limit: Option<Amount>,
    /// Whether the line knows what it could have sent while nothing was there: one that is recorded, and nobody else's, does.
    pub knows_unused: bool,
}

/// What a kind's keys come to: themselves, or what `by` makes of them.
macro_rules! params_of {
    ($keys:ident) => {
        $keys
    };
    ($keys:ident, $params:expr) => {
        ($params)($keys)
    };
}

/// Declares the laws of routers under the key of a queue that names them: each with its keys, its name and its state. Where
/// several kinds have one state, `by` makes its parameters of the keys.
macro_rules! routers {
    ($(
        $(#[$($about_key:tt)*])*
        $Key:ident = $key:literal {
            $($(#[$($about:tt)*])* $variant:ident($Keys:ty) = $kind:literal => $Router:ty $(, by $params:expr)?;)+
        }
    )+) => {
        $(
            kinds! {
                $(#[$($about_key)*])*
                #[derive(Clone, Copy, Debug)]
                pub enum $Key {
                    $($(#[$($about)*])* $variant($Keys) = $kind,)+
                }
            }

            impl From<$Key> for MarkerParams {
                fn from(kind: $Key) -> Self {
                    match kind {
                        $($Key::$variant(keys) => Self::$variant(params_of!(keys $(, $params)?)),)+
                    }
                }
            }
        )+

        laws! {
            /// Which law a router follows at a queue. [`Default`] is none.
            #[derive(Default)]
            params MarkerParams;
            /// A router's law at work, whichever it is; each method is [`MarkerLaw`]'s of that name.
            #[derive(Clone, Debug)]
            any AnyMarker: MarkerLaw, set_up() by ();
            bare:
                /// Packets pass unmarked.
                #[default]
                None => Unmarked;
            in boxes:
                $($($(#[$($about)*])* $variant(<$Router as MarkerLaw>::Params) => $Router),+),+;
        }

        impl MarkerParams {
            /// The key of a queue that names such a law; none: packets pass unmarked.
            pub fn key(&self) -> Option<&'static str> {
                match self {
                    Self::None => None,
                    $($(Self::$variant(_) => Some($key),)+)+
                }
            }

            /// The same at a place: what by default depends on that is given.
            ///
            /// # Errors
            /// What the place does not give, or what is at odds with it; the key begins with the one that names the law.
            pub fn at(self, site: &Site) -> Result<Self, ParameterError> {
                Ok(match self {
                    Self::None => Self::None,
                    $($(Self::$variant(params) => {
                        let params = <$Router as MarkerLaw>::at(params, site);
                        Self::$variant(params.map_err(|error| error.within($key))?)
                    })+)+
                })
            }
        }
    };
}

routers! {
    /// What a router writes into passing packets for their receivers.
    Price = "price" {
        /// `max((b·q − a)/μ_c, 0)` (clamp eq. 13).
        Linear(law::clamp::PriceParams) = "linear" => law::clamp::ClampRouter, by |params| PriceForm::Linear.of(params);
        /// `max(b·(q − a)/μ_c, 0)` (clamp-mice).
        Mice(law::clamp::PriceParams) = "mice" => law::clamp::ClampRouter, by |params| PriceForm::Mice.of(params);
        /// Quadratic up to 2a/b, then as the linear one without its bound (clamp-report eq. 1).
        Smooth(law::clamp::PriceParams) = "smooth" => law::clamp::ClampRouter, by |params| PriceForm::Smooth.of(params);
        /// `max(b·(q/μ_c − T) + I, 0)`, where I integrates what the queue is too long: it is as long as is wanted for any number of
        /// flows, at any rate. Beyond the papers.
        Integral(law::clamp::IntegralParams) = "integral" => law::clamp::IntegralRouter;
        /// The linear price in integers, of the moment in which a packet comes: as `lasthop-agent ap` stamps it, but that many flows
        /// do not raise `a`.
        ClampKernel(law::kernel::ClampKernelPrice) = "clamp-kernel" => law::kernel::ClampKernelRouter;
        /// Each flow's share of the line, and the room in its queue, for receivers of kind `share`.
        Share(law::share::ShareRouterParams) = "share" => law::share::ShareRouter;
        /// What the queue has sent, what waits in it and how long each packet did, for receivers of kind `station`.
        Station(law::station::StationRouterParams) = "station" => law::station::StationRouter;
    }
    /// What a router writes into the packets of senders that ask.
    Feedback = "feedback" {
        /// XCP (Katabi, Handley, Rohrs 2002), with a capacity that it is told.
        Xcp(With<law::xcp::Told, law::xcp::Gains>) = "xcp" => law::xcp::XcpRouter, by law::xcp::XcpRouterParams::told;
        /// XCP-b (Abrantes, Ricardo 2006), which knows no capacity and steers by its queue.
        XcpB(With<law::xcp::Blind, law::xcp::Gains>) = "xcp-b" => law::xcp::XcpRouter, by law::xcp::XcpRouterParams::blind;
        /// ABC (Goyal et al. 2020): each packet's sender is told to accelerate or to brake.
        Abc(law::abc::AbcRouterParams) = "abc" => law::abc::AbcRouter;
        /// QFCP with its wireless enhancements (qfcp).
        Qfcp(law::qfcp::QfcpRouterParams) = "qfcp" => law::qfcp::QfcpRouter;
    }
}

impl AnyMarker {
    /// Whether packets pass unmarked, so that nothing need be told.
    #[inline]
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None(_))
    }

    /// A flow has another weight than 1.
    pub fn weigh(&mut self, flow: u64, weight: f64) {
        with!(mut self, law => MarkerLaw::weigh(law, flow, weight));
    }

    /// The line has a number.
    pub fn call_line(&mut self, number: u8) {
        with!(mut self, law => MarkerLaw::call_line(law, number));
    }

    /// A packet joins the queue.
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Instant, packet: Passing, held: Held, signal: &Signal) {
        with!(mut self, law => MarkerLaw::on_arrival(law, now, packet, held, signal));
    }

    /// A packet found no room.
    #[cold]
    pub fn on_overflow(&mut self, now: Instant, size: Bytes, held: Held, signal: &Signal) {
        with!(mut self, law => MarkerLaw::on_overflow(law, now, size, held, signal));
    }

    /// Packets have been dropped from the queue.
    pub fn on_drop(&mut self, now: Instant, queued: Bytes) {
        with!(mut self, law => MarkerLaw::on_drop(law, now, queued));
    }

    /// A packet leaves.
    #[inline(always)]
    pub fn on_departure(&mut self, now: Instant, packet: Passing, held: Held, signal: &mut Signal) {
        with!(mut self, law => MarkerLaw::on_departure(law, now, packet, held, signal));
    }

    /// The line has nothing to send.
    #[inline]
    pub fn on_rest(&mut self, now: Instant) {
        with!(mut self, law => MarkerLaw::on_rest(law, now));
    }

    /// For how long it remembers what the line could have sent.
    pub fn remembers_unused(&self) -> Option<Duration> {
        with!(ref self, law => MarkerLaw::remembers_unused(law))
    }

    /// The line could have sent more.
    pub fn on_unused(&mut self, at: Instant, size: Bytes) {
        with!(mut self, law => MarkerLaw::on_unused(law, at, size));
    }

    /// A packet has crossed the medium the other way.
    pub fn on_crossing(&mut self, now: Instant, size: Bytes, held: Held, waiting: usize, signal: &mut Signal) {
        with!(mut self, law => MarkerLaw::on_crossing(law, now, size, held, waiting, signal));
    }

    /// The medium was busy.
    #[inline]
    pub fn on_airtime(&mut self, airtime: Duration, is_own: bool) {
        with!(mut self, law => MarkerLaw::on_airtime(law, airtime, is_own));
    }

    /// The medium was busy with the other of two classes.
    pub fn on_others_turn(&mut self, airtime: Duration, share: f64) {
        with!(mut self, law => MarkerLaw::on_others_turn(law, airtime, share));
    }

    /// The queue as the law averages it \[B\].
    pub fn average_bytes(&self) -> Option<f64> {
        with!(ref self, law => MarkerLaw::average_bytes(law))
    }

    /// The price \[s\].
    pub fn price(&self) -> Option<f64> {
        with!(ref self, law => MarkerLaw::price(law))
    }

    /// The rate that a flow may have, and the capacity that the law reckons with \[B/s\].
    pub fn fair_rate(&self) -> Option<(f64, f64)> {
        with!(ref self, law => MarkerLaw::fair_rate(law))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::clamp::PriceParams;
    use crate::law::{qfcp, xcp};
    use crate::packet::QfcpHeader;

    fn held(packets: usize, bytes: u64) -> Held {
        Held { packets, bytes: Bytes::new(bytes) }
    }

    fn packet() -> Passing {
        Passing { size: Bytes::new(1500), flow: 0, arrived: Instant::ZERO }
    }

    #[test]
    fn a_packet_leaves_with_the_price_of_its_moment() {
        let config = MarkerParams::Linear(PriceForm::Linear.of(PriceParams::new(Bytes::new(1000))));
        let mut marker = AnyMarker::new(&config).unwrap();
        // The first arrival after a long silence sets the average to the queue: e^(−2·100) is nothing.
        marker.on_arrival(Instant::from_nanos(100_000_000_000), packet(), held(2, 3000), &Signal::None);
        let mut first = Signal::None;
        marker.on_departure(Instant::from_nanos(101_000_000_000), packet(), held(1, 1500), &mut first);
        assert_eq!(first, Signal::Price(0.0), "one departure gives no rate");
        let mut second = Signal::None;
        marker.on_departure(Instant::from_nanos(102_000_000_000), packet(), held(0, 0), &mut second);
        // (3000 − 1000) B / 1500 B/s.
        assert!((second.price().unwrap() - 4.0 / 3.0).abs() < 1e-12, "{second:?}");
        assert_eq!(marker.average_bytes(), Some(3000.0));
    }

    #[test]
    fn no_marker_writes_nothing() {
        let mut marker = AnyMarker::new(&MarkerParams::None).unwrap();
        let mut signal = Signal::None;
        marker.on_departure(Instant::ZERO, packet(), held(0, 0), &mut signal);
        assert_eq!((signal, marker.price(), marker.average_bytes()), (Signal::None, None, None));
    }

    #[test]
    fn a_router_that_speaks_for_both_directions_stamps_both() {
        let stamped = |simplex| {
            let params = qfcp::QfcpRouterParams {
                simplex,
                ..qfcp::QfcpRouterParams::new(Rate::from_bps(800_000), Rate::from_bps(8_000_000))
            };
            let mut marker = AnyMarker::new(&MarkerParams::Qfcp(params)).unwrap();
            let asked = Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate: f32::INFINITY, silent: 2 });
            let (mut own, mut other) = (asked, asked);
            marker.on_departure(Instant::ZERO, packet(), held(0, 0), &mut own);
            marker.on_crossing(Instant::ZERO, Bytes::new(1500), held(0, 0), 0, &mut other);
            [own, other]
        };
        let header = |rate, silent| Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate, silent });
        // The queue that the other left has spoken for itself.
        assert_eq!(stamped(true), [header(1e5, 1), header(1e5, 2)]);
        assert_eq!(stamped(false), [header(1e5, 1), header(f32::INFINITY, 2)]);
    }

    #[test]
    fn errors_name_the_key() {
        let lost = MarkerParams::Qfcp(qfcp::QfcpRouterParams::new(Rate::from_bps(0), Rate::from_bps(1)));
        assert_eq!(AnyMarker::new(&lost).unwrap_err().key, "capacity");
        let told = xcp::Efficiency::Told(xcp::Told { capacity: Some(Rate::from_bps(0)) });
        let lost = MarkerParams::Xcp(xcp::XcpRouterParams { efficiency: told, gains: xcp::Gains::default() });
        assert_eq!(AnyMarker::new(&lost).unwrap_err().key, "capacity");
        let bad = MarkerParams::Linear(PriceForm::Linear.of(PriceParams { b: 0.0, ..PriceParams::new(Bytes::ZERO) }));
        assert_eq!(AnyMarker::new(&bad).unwrap_err().key, "b");
        assert_eq!([lost.key(), bad.key(), MarkerParams::None.key()], [Some("feedback"), Some("price"), None]);
    }
}
