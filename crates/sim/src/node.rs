// SPDX-License-Identifier: MIT OR Apache-2.0
//! What flows share: links, access points and WLANs, in one list of which results and samples are read.

use std::sync::Arc;

use lasthop_core::ap::AccessPoint;
use lasthop_core::element::{Departure, Element};
use lasthop_core::link::Link;
use lasthop_core::packet::Parcel;
use lasthop_core::queue::Queue;
use lasthop_core::role::AnyMarker;
use lasthop_core::stats::Meter;
use lasthop_core::units::{Bytes, Instant};
use lasthop_core::wlan::{Direction, Wlan};

/// An element that flows share.
#[derive(Debug)]
pub enum Node<P> {
    /// One direction of a link.
    Link(Link<P>),
    /// An access point, or the uplink of one.
    AccessPoint(AccessPoint<P>),
    /// A WLAN.
    Wlan(Wlan<P>),
}

/// Calls a method of whichever element it is.
macro_rules! each {
    ($node:expr, $element:ident => $call:expr) => {
        match $node {
            Node::Link($element) => $call,
            Node::AccessPoint($element) => $call,
            Node::Wlan($element) => $call,
        }
    };
}

/// What a queue is called and went through.
pub(crate) struct QueueTotals<'a> {
    pub(crate) name: &'a str,
    pub(crate) meter: &'a Meter,
    /// What could have left \[bit/s\].
    pub(crate) capacity_bps: Option<f64>,
    /// Share of time in which the exchanges of its interface were on the air.
    pub(crate) air_share: Option<f64>,
}

/// A queue and its channel at an instant.
pub(crate) struct QueueState<'a> {
    pub(crate) packets: usize,
    pub(crate) bytes: Bytes,
    pub(crate) marker: Option<&'a AnyMarker>,
    /// What has left so far, in the measured span.
    pub(crate) departed: Bytes,
    /// SNR as a plain ratio, and the backoff margin m.
    pub(crate) snr: Option<f64>,
    pub(crate) margin: Option<f64>,
}

/// A queue as a page shows it. Looking changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueLook {
    /// Its name.
    pub name: String,
    /// What waits in it.
    pub bytes: Bytes,
    /// What has left so far, in the measured span.
    pub departed: Bytes,
    /// Its price \[s\], where it asks one.
    pub price_s: Option<f64>,
}

impl<'a> QueueState<'a> {
    fn of<P: Parcel>(queue: &'a Queue<P>) -> Self {
        Self {
            packets: queue.len(),
            bytes: queue.bytes(),
            marker: Some(queue.marker()),
            departed: queue.meter().departed,
            snr: None,
            margin: None,
        }
    }
}

impl<P: Parcel> Node<P> {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Link(link) => link.name(),
            Self::AccessPoint(ap) => ap.name(),
            Self::Wlan(wlan) => wlan.interfaces()[0].name(),
        }
    }

    /// Its queues at `now`, once what was due by then has been served.
    pub fn look(&self, now: Instant) -> Vec<QueueLook> {
        let of = |name: &str, queue: &Queue<P>| QueueLook {
            name: name.to_owned(),
            bytes: queue.bytes(),
            departed: queue.meter().departed,
            price_s: queue.marker().price(),
        };
        match self {
            Self::Link(link) => vec![QueueLook {
                name: link.name().to_owned(),
                bytes: link.waiting(now).1,
                departed: link.departed(now),
                price_s: link.queue().and_then(|queue| queue.marker().price()),
            }],
            Self::AccessPoint(ap) => ap.stations().iter().map(|station| of(station.name(), station.queue())).collect(),
            Self::Wlan(wlan) => wlan.interfaces().iter().map(|each| of(each.name(), each.queue())).collect(),
        }
    }

    /// How many queues it has.
    pub(crate) fn queues(&self) -> usize {
        match self {
            Self::Link(_) => 1,
            Self::AccessPoint(ap) => ap.stations().len(),
            Self::Wlan(wlan) => wlan.interfaces().len(),
        }
    }

    /// What a queue is called and went through.
    pub(crate) fn totals(&self, queue: usize) -> QueueTotals<'_> {
        match self {
            Self::Link(link) => QueueTotals {
                name: link.name(),
                meter: link.meter(),
                capacity_bps: Some(link.rate().as_bps() as f64),
                air_share: None,
            },
            Self::AccessPoint(ap) => QueueTotals {
                name: ap.stations()[queue].name(),
                meter: ap.stations()[queue].queue().meter(),
                capacity_bps: ap.capacity(queue).map(|rate| rate.as_bps() as f64),
                air_share: None,
            },
            Self::Wlan(wlan) => {
                let interface = &wlan.interfaces()[queue];
                let meter = interface.queue().meter();
                let share = interface.access().airtime.as_secs_f64() / meter.span().length().as_secs_f64();
                QueueTotals { name: interface.name(), meter, capacity_bps: None, air_share: Some(share) }
            }
        }
    }

    /// A queue at `now`.
    pub(crate) fn state(&mut self, queue: usize, now: Instant) -> QueueState<'_> {
        match self {
            Self::Link(link) => {
                let (packets, bytes) = link.waiting(now);
                let marker = link.queue().map(|queue| queue.marker());
                QueueState { packets, bytes, marker, departed: link.departed(now), snr: None, margin: None }
            }
            Self::AccessPoint(ap) => {
                let radio = ap.probe(queue, now);
                QueueState { snr: radio.snr, margin: radio.margin, ..QueueState::of(ap.stations()[queue].queue()) }
            }
            Self::Wlan(wlan) => {
                // A MAC takes its next packet only when the element is asked again.
                wlan.wake(now);
                QueueState::of(wlan.interfaces()[queue].queue())
            }
        }
    }

    /// A flow has another weight than 1 at its queues.
    pub(crate) fn weigh(&mut self, flow: u64, weight: f64) {
        each!(self, element => element.weigh(flow, weight));
    }

    /// Its line has a number among those that one path crosses.
    pub(crate) fn call_line(&mut self, number: u8) {
        each!(self, element => element.call_line(number));
    }

    /// Flow `n` is number `names[n]` of the whole network, of which this is a part.
    pub(crate) fn call_flows(&mut self, names: &Arc<[u32]>) {
        each!(self, element => element.call_flows(names));
    }

    /// The law of the router at the queue of `station`, if there is one.
    pub(crate) fn marker(&self, station: u16) -> Option<&AnyMarker> {
        let station = usize::from(station);
        match self {
            Self::Link(link) => link.queue().map(Queue::marker),
            Self::AccessPoint(ap) => Some(ap.stations()[station].queue().marker()),
            Self::Wlan(wlan) => Some(wlan.interfaces()[wlan.port(station, Direction::Down)].queue().marker()),
        }
    }

    /// The laws of the routers that packets to `station` may pass here; on a WLAN they come from any of its stations.
    pub(crate) fn markers(&self, station: u16) -> impl Iterator<Item = &AnyMarker> {
        let of_wlan = match self {
            Self::Wlan(wlan) => wlan.interfaces(),
            _ => &[],
        };
        self.marker(station).into_iter().chain(of_wlan.iter().map(|interface| interface.queue().marker()))
    }

    /// Packets in its queues.
    pub(crate) fn waiting(&self) -> usize {
        match self {
            // What a link foresees waits on a lane.
            Self::Link(link) => link.queue().map_or(0, |queue| queue.len()),
            Self::AccessPoint(ap) => ap.stations().iter().map(|station| station.queue().len()).sum(),
            Self::Wlan(wlan) => wlan.interfaces().iter().map(|interface| interface.queue().len()).sum(),
        }
    }

    /// Brings all meters up to `now`.
    pub(crate) fn finish(&mut self, now: Instant) {
        each!(self, element => element.finish(now));
    }
}

impl<P: Parcel> Element<P> for Node<P> {
    #[inline]
    fn receive(&mut self, now: Instant, packet: P) {
        each!(self, element => element.receive(now, packet));
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        each!(self, element => element.next_wake())
    }

    #[inline]
    fn wake(&mut self, now: Instant) {
        each!(self, element => element.wake(now));
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<P>> {
        each!(self, element => element.poll_departure())
    }
}
