// SPDX-License-Identifier: MIT OR Apache-2.0
//! Active queue management: which packets a queue drops before it must, and in which order the others leave.
//!
//! ```text
//!   arrival ─► RED: drop? ─► [ first in, first out ] ───────────────────────► departure
//!   arrival ─► [ CoDel's backlog ] ─► drop at its head? ─► [ let go ] ──────► departure
//!   arrival ─► hash ─► [ FQ-CoDel's flows, each with a CoDel, or DRR's without ] ─► [ let go ] ─► departure
//!   arrival ─► [ two queues, served in turns ] ─► [ let go ] ────────────────► departure
//! ```
//!
//! What CoDel and FQ-CoDel have let go is being sent: it stays at the head in its order, is never dropped, and takes room
//! until it is through.

use core::fmt::Debug;
use std::sync::Arc;

use super::Held;
use crate::error::ParameterError;
use crate::law;
use crate::packet::Parcel;
use crate::parameter::With;
use crate::rng::Stream;
use crate::units::{Bytes, Instant, Rate};

/// Packets and bytes that were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: Bytes,
}

impl Dropped {
    /// Counts a packet of `size`.
    pub fn count(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

/// What a queue's management may hear, and what it may decide. Where it does not [keep](Self::keeps) packets, those that
/// it admits wait in the queue, first in, first out.
///
/// ```
/// use lasthop_core::error::ParameterError;
/// use lasthop_core::packet::Parcel;
/// use lasthop_core::parameter::Parameter;
/// use lasthop_core::parameters;
/// use lasthop_core::rng::Stream;
/// use lasthop_core::role::{AqmLaw, Held};
/// use lasthop_core::units::{Bytes, Instant, Rate};
///
/// parameters! {
///     /// One packet in so many is dropped on arrival.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub struct EveryParams {
///         /// In how many.
///         pub every: u32 = 100, in 2..;
///     }
/// }
///
/// /// One packet in so many is dropped.
/// #[derive(Clone, Debug)]
/// pub struct Every {
///     every: u32,
///     seen: u32,
/// }
///
/// impl<P: Parcel> AqmLaw<P> for Every {
///     type Params = EveryParams;
///
///     fn set_up(params: EveryParams, _rate: Rate, _stream: &dyn Fn(&str) -> Stream) -> Result<Self, ParameterError> {
///         params.validate()?;
///         Ok(Self { every: params.every, seen: 0 })
///     }
///
///     fn admits(&mut self, _now: Instant, _held: Held, _size: Bytes, is_room: bool) -> bool {
///         self.seen = (self.seen + 1) % self.every;
///         is_room && self.seen != 0
///     }
/// }
/// # use lasthop_core::{packet::Packet, rng::Streams};
/// # let stream = |purpose: &str| Streams::new(1).stream("queue", purpose);
/// # let mut law = <Every as AqmLaw<Packet>>::set_up(EveryParams { every: 3 }, Rate::from_bps(1), &stream).unwrap();
/// # let held = Held { packets: 0, bytes: Bytes::ZERO };
/// # let admits = [(); 6].map(|()| AqmLaw::<Packet>::admits(&mut law, Instant::ZERO, held, Bytes::new(1500), true));
/// # assert_eq!(admits, [true, true, false, true, true, false]);
/// # assert!(<Every as AqmLaw<Packet>>::set_up(EveryParams { every: 1 }, Rate::from_bps(1), &stream).is_err());
/// ```
pub trait AqmLaw<P: Parcel>: Sized {
    /// Its parameters.
    type Params: Copy + Debug + PartialEq;

    /// Sets the management of an empty queue up, in front of a line of `rate`; `stream` gives a stream of random numbers by
    /// its purpose.
    ///
    /// # Errors
    /// A parameter outside its domain.
    fn set_up(params: Self::Params, rate: Rate, stream: &dyn Fn(&str) -> Stream) -> Result<Self, ParameterError>;

    /// Whether a packet of `size` may join a queue that holds `held`, where there `is_room`.
    fn admits(&mut self, _now: Instant, _held: Held, _size: Bytes, is_room: bool) -> bool {
        is_room
    }

    /// The line has nothing to send from `now` on.
    fn on_rest(&mut self, _now: Instant) {}

    /// Whether it keeps packets of its own until it lets them go.
    fn keeps(&self) -> bool {
        false
    }

    /// Keeps a packet.
    fn enqueue(&mut self, _now: Instant, _packet: P) {}

    /// Lets the next packet go, with the instant of its arrival; those that it drops instead are counted.
    fn dequeue(&mut self, _now: Instant, _dropped: &mut Dropped) -> Option<(Instant, P)> {
        None
    }

    /// What it keeps: packets and bytes.
    fn kept(&self) -> (usize, Bytes) {
        (0, Bytes::ZERO)
    }

    /// What is held of packets that speak to routers, where these have a queue of their own; XCP's and QFCP's routers then
    /// hear of it alone.
    fn apart(&self) -> Option<Held> {
        None
    }

    /// Whether packets are taken in whatever there is, and room is made by dropping others.
    fn makes_room(&self) -> bool {
        false
    }

    /// Drops some of the packets that it keeps; none: there are none.
    fn make_room(&mut self) -> Dropped {
        Dropped::default()
    }

    /// Whether the packet that came last may still be among those that it keeps.
    fn keeps_last(&self) -> bool {
        true
    }

    /// Flow `n` is number `names[n]` of the whole network, of which this is a part: what hangs on a flow's number takes that.
    fn call_flows(&mut self, _names: &Arc<[u32]>) {}
}

/// Drops packets when they find no room.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl<P: Parcel> AqmLaw<P> for DropTail {
    type Params = ();

    fn set_up((): (), _rate: Rate, _stream: &dyn Fn(&str) -> Stream) -> Result<Self, ParameterError> {
        Ok(Self)
    }
}

laws! {
    /// How a queue is managed.
    #[derive(Default)]
    params AqmParams;
    /// A queue's management at work, whichever it is, with the packets that it has not let go yet; each method is
    /// [`AqmLaw`]'s of that name.
    #[derive(Debug)]
    any AnyAqm[P: Parcel]: AqmLaw<P>, set_up(rate: Rate, stream: &dyn Fn(&str) -> Stream) by (rate, stream);
    bare:
        /// Packets are dropped when they find no room.
        #[default]
        DropTail = "drop-tail" => DropTail;
    in boxes:
        /// Random early detection, by ns-2's rules: packets are dropped on arrival.
        Red(law::red::RedParams) = "red" => law::red::RedQueue,
        /// Controlled delay (RFC 8289): packets are dropped at the head.
        Codel(law::codel::CodelParams) = "codel" => law::codel::Backlog<P>,
        /// Fair queueing with a CoDel for each flow (RFC 8290). Without a limit the queue holds 10240 packets; when it is full,
        /// the flow with the most bytes loses.
        FqCodel(With<law::fq_codel::FqParams, law::codel::CodelParams>) = "fq-codel" => law::fq_codel::FqCodel<P>,
        /// Fair queueing alone: deficit round robin of flows, nothing dropped before there is no room.
        Drr(law::fq_codel::FqParams) = "drr" => law::fq_codel::Drr<P>,
        /// Packets that speak to routers, XCP's and QFCP's, in one queue, all others in another, served in turns (Katabi,
        /// Handley, Rohrs 2002, §6). When there is no room the longer one loses. XCP is to be told its share of the capacity;
        /// QFCP finds it. A WLAN's base station and stations then all have two, each of `limit`, that contend for the medium and
        /// share its time, both ways together, not bytes: of the two kinds of packets, the one that has had less of it contends
        /// alone while it waits anywhere. Those that speak wait in "NAME (speaking)".
        TwoQueues(law::two_queues::TwoQueuesParams) = "two-queues" => law::two_queues::TwoQueues<P>;
}

impl<P: Parcel> AnyAqm<P> {
    /// Whether a packet may join the queue.
    #[inline]
    pub fn admits(&mut self, now: Instant, held: Held, size: Bytes, is_room: bool) -> bool {
        with!(mut self, law => AqmLaw::<P>::admits(law, now, held, size, is_room))
    }

    /// The line has nothing to send.
    #[inline]
    pub fn on_rest(&mut self, now: Instant) {
        with!(mut self, law => AqmLaw::<P>::on_rest(law, now));
    }

    /// Whether it keeps packets of its own.
    #[inline]
    pub fn keeps(&self) -> bool {
        with!(ref self, law => AqmLaw::<P>::keeps(law))
    }

    /// Keeps a packet.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, packet: P) {
        with!(mut self, law => AqmLaw::<P>::enqueue(law, now, packet));
    }

    /// Lets the next packet go.
    pub fn dequeue(&mut self, now: Instant, dropped: &mut Dropped) -> Option<(Instant, P)> {
        with!(mut self, law => AqmLaw::<P>::dequeue(law, now, dropped))
    }

    /// What it keeps.
    #[inline]
    pub fn kept(&self) -> (usize, Bytes) {
        with!(ref self, law => AqmLaw::<P>::kept(law))
    }

    /// What is held of packets that speak to routers, where these have a queue of their own.
    #[inline]
    pub fn apart(&self) -> Option<Held> {
        with!(ref self, law => AqmLaw::<P>::apart(law))
    }

    /// Whether packets are taken in whatever there is.
    #[inline]
    pub fn makes_room(&self) -> bool {
        with!(ref self, law => AqmLaw::<P>::makes_room(law))
    }

    /// Drops some of the packets that it keeps.
    pub fn make_room(&mut self) -> Dropped {
        with!(mut self, law => AqmLaw::<P>::make_room(law))
    }

    /// Whether the packet that came last may still be there.
    pub fn keeps_last(&self) -> bool {
        with!(ref self, law => AqmLaw::<P>::keeps_last(law))
    }

    /// What flows are called in the whole network.
    pub fn call_flows(&mut self, names: &Arc<[u32]>) {
        with!(mut self, law => AqmLaw::<P>::call_flows(law, names));
    }
}
