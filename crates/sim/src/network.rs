// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network between the ends of the flows: shared elements, the lanes between them, and who gets which packet. The
//! simulator and the emulator drive the same one.
//!
//! ```text
//!            lane            lane             exit path
//!   host ──► ════ ──► link ► ════ ──► ap ───► ──────── ──► receiver      data
//!   host ◄── ════════════════════════════════════════════ receiver      acknowledgements
//! ```
//!
//! A lane is a line and the element at its end; its head alone is in the event list. In virtual time a receiver that
//! keeps no timer is an answer to its packets and nothing else: it is asked as soon as a departure towards it is known,
//! ahead of time, and its acknowledgement goes into the lane back with its own stamp. So is a link that foresees its
//! departures, if all that comes to it comes in order of time out of one such chain. That leaves two events a packet on a
//! dumbbell.

use lasthop_core::ap::AccessPoint;
use lasthop_core::capacity::Trace;
use lasthop_core::element::{Departure, Element};
use lasthop_core::line::Line;
use lasthop_core::link::Link;
use lasthop_core::packet::{Packet, Parcel};
use lasthop_core::units::{Bytes, Duration, Instant};
use lasthop_core::wlan::{Direction, Wlan};

use crate::events::EventList;

/// A packet that finds its way: which flow it belongs to, and how many hops it has travelled.
pub trait Traveller: Parcel {
    /// The flow whose route it takes.
    fn stream(&self) -> u32;
    /// Hops travelled, the index into the flow's route.
    fn hop(&self) -> u8;
    /// Sets the hops travelled.
    fn set_hop(&mut self, hop: u8);
    /// Sets the station at the next access point or WLAN.
    fn set_station(&mut self, station: u16);
}

impl Traveller for Packet {
    #[inline]
    fn stream(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn hop(&self) -> u8 {
        self.hop
    }

    #[inline]
    fn set_hop(&mut self, hop: u8) {
        self.hop = hop;
    }

    #[inline]
    fn set_station(&mut self, station: u16) {
        self.station = station;
    }
}

/// What stands at the ends of the flows: simulated hosts, or devices of a kernel.
pub trait Ends<P: Traveller> {
    /// A packet comes to its flow's host or receiver.
    fn take(&mut self, network: &mut Network<P>, end: End, now: Instant, packet: P);
    /// A packet leaves for its receiver at `at`, which is to be asked ahead of time; what it answers goes on.
    fn answer(&mut self, at: Instant, packet: P) -> Option<Departure<P>>;
    /// A packet comes to an access point.
    #[inline]
    fn enters(&mut self, _at: Instant, _ap: u32, _packet: &mut P) {}
    /// On the arrival of a packet of `size`, an access point has dropped so many.
    #[inline]
    fn drops(&mut self, _at: Instant, _ap: u32, _packets: u64, _size: Bytes) {}
    /// A packet leaves an access point.
    #[inline]
    fn leaves(&mut self, _at: Instant, _ap: u32, _packet: &P) {}
    /// The wake that was [scheduled](Network::schedule_end) as number `who`.
    fn wake(&mut self, network: &mut Network<P>, who: u32, now: Instant);
}

/// Where a lane ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The flow's host.
    Host,
    /// The flow's receiver.
    Receiver,
    /// A shared link.
    Link(u32),
    /// An access point.
    Ap(u32),
    /// A WLAN, at its base station or at the flow's station.
    Wlan(u32, Direction),
}

/// Where a packet goes from an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Onto a lane.
    Lane(u32),
    /// To the flow's receiver, ahead of time.
    Receiver,
    /// To a link behind a delay, ahead of time.
    Link(u32, Duration),
}

/// A line and what is at its end.
#[derive(Debug)]
pub struct Lane<P> {
    pub(crate) line: Line<P>,
    pub(crate) end: End,
}

/// The hops of a flow: first those of the data, from `back` on those of the acknowledgements.
#[derive(Clone, Debug)]
pub struct Route {
    pub(crate) hops: Vec<Hop>,
    pub(crate) back: u8,
    /// The station to which the data goes.
    pub(crate) station: u16,
    /// The station from which the data comes.
    pub(crate) source: u16,
}

/// All elements of a network, before it starts.
#[derive(Debug)]
pub(crate) struct Parts<P> {
    pub(crate) lanes: Vec<Lane<P>>,
    pub(crate) links: Vec<Link<P>>,
    pub(crate) aps: Vec<AccessPoint<P>>,
    pub(crate) wlans: Vec<Wlan<P>>,
    pub(crate) routes: Vec<Route>,
}

/// A network with its event list.
#[derive(Debug)]
pub struct Network<P> {
    lanes: Vec<Lane<P>>,
    pub(crate) links: Vec<Link<P>>,
    pub(crate) aps: Vec<AccessPoint<P>>,
    pub(crate) wlans: Vec<Wlan<P>>,
    events: EventList,
    /// For every element but lanes: the instant of its entry in the event list that counts.
    pending: Vec<Instant>,
    first: Ids,
    /// The hops of all flows, one after the other.
    hops: Vec<Hop>,
    ways: Vec<Way>,
    /// Events served.
    pub(crate) served: u64,
}

/// Where a flow's hops are among those of all flows.
#[derive(Clone, Copy, Debug)]
struct Way {
    base: u32,
    back: u8,
    station: u16,
    source: u16,
}

/// The first number of each kind of element in the event list.
#[derive(Clone, Copy, Debug)]
struct Ids {
    end: u32,
    link: u32,
    ap: u32,
    wlan: u32,
    /// The last of those of the ends, behind all others.
    last: u32,
}

impl<P> Default for Parts<P> {
    fn default() -> Self {
        Self { lanes: vec![], links: vec![], aps: vec![], wlans: vec![], routes: vec![] }
    }
}

impl<P: Traveller> Network<P> {
    /// A network whose ends may be woken by the numbers `0..=ends`.
    pub(crate) fn new(parts: Parts<P>, ends: u32) -> Self {
        let Parts { lanes, links, aps, wlans, routes } = parts;
        let end = lanes.len() as u32;
        let link = end + ends;
        let ap = link + links.len() as u32;
        let wlan = ap + aps.len() as u32;
        let last = wlan + wlans.len() as u32;
        let (mut hops, mut ways) = (vec![], vec![]);
        for Route { hops: own, back, station, source } in routes {
            ways.push(Way { base: hops.len() as u32, back, station, source });
            hops.extend(own);
        }
        Self {
            pending: vec![Instant::MAX; last as usize + 1],
            first: Ids { end, link, ap, wlan, last },
            events: EventList::default(),
            lanes,
            links,
            aps,
            wlans,
            hops,
            ways,
            served: 0,
        }
    }

    /// When something next happens by itself, unless something comes in.
    pub fn next_wake(&self) -> Option<Instant> {
        self.events.earliest()
    }

    /// Serves at most `most` events before `until`; false when there are no more.
    #[inline]
    pub fn serve(&mut self, ends: &mut impl Ends<P>, until: Instant, most: u64) -> bool {
        for _ in 0..most {
            let Some((at, id)) = self.events.pop_before(until) else { return false };
            self.served += 1;
            if id < self.first.end {
                self.wake_lane(ends, id, at);
            } else if self.pending[id as usize] == at {
                self.pending[id as usize] = Instant::MAX;
                self.wake(ends, id, at);
            }
        }
        true
    }

    /// Brings all meters up to `now`.
    pub fn finish(&mut self, now: Instant) {
        for link in &mut self.links {
            link.finish(now);
        }
        for ap in &mut self.aps {
            ap.finish(now);
        }
        for wlan in &mut self.wlans {
            wlan.finish(now);
        }
    }

    /// The ends are to be woken at `at` under the number `who`, unless they are woken earlier under it.
    #[inline]
    pub fn schedule_end(&mut self, who: u32, at: Option<Instant>) {
        let id = self.first.end + who;
        self.schedule(if id < self.first.link { id } else { self.first.last }, at);
    }

    /// The recorded channel of an access point, if it has one.
    pub fn trace(&self, ap: u32) -> Option<&Trace> {
        self.aps.get(ap as usize)?.trace()
    }

    /// A flow's host sends a packet.
    #[inline]
    pub fn send(&mut self, ends: &mut impl Ends<P>, at: Instant, mut packet: P) {
        packet.set_station(self.ways[packet.stream() as usize].station);
        self.forward(ends, at, packet);
    }

    /// A flow's receiver sends a packet back.
    #[inline]
    pub fn send_back(&mut self, ends: &mut impl Ends<P>, at: Instant, mut packet: P) {
        self.turn(&mut packet);
        self.forward(ends, at, packet);
    }

    /// The packet goes back from here.
    #[inline]
    fn turn(&self, packet: &mut P) {
        let way = &self.ways[packet.stream() as usize];
        packet.set_hop(way.back);
        packet.set_station(way.station);
    }

    #[inline]
    fn schedule(&mut self, id: u32, at: Option<Instant>) {
        if let Some(at) = at
            && at < self.pending[id as usize]
        {
            self.pending[id as usize] = at;
            self.events.push(at, id);
        }
    }

    #[inline]
    fn wake_lane(&mut self, ends: &mut impl Ends<P>, id: u32, now: Instant) {
        loop {
            let lane = &mut self.lanes[id as usize];
            let Some(departure) = lane.line.take(now) else { break };
            let next = lane.line.next_wake();
            let end = lane.end;
            // The lane's next wake goes in first: it takes the place of the one that is being served.
            if let Some(next) = next.filter(|next| *next > now) {
                self.events.push(next, id);
            }
            self.deliver(ends, end, departure.at, departure.packet);
            if next != Some(now) {
                break;
            }
        }
    }

    #[inline]
    fn deliver(&mut self, ends: &mut impl Ends<P>, end: End, now: Instant, packet: P) {
        match end {
            End::Host | End::Receiver => ends.take(self, end, now, packet),
            End::Link(link) => self.enter_link(ends, link, now, packet),
            End::Ap(ap) => self.enter_ap(ends, ap, now, packet),
            End::Wlan(wlan, direction) => self.enter_wlan(ends, wlan, direction, now, packet),
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&mut self, ends: &mut impl Ends<P>, id: u32, now: Instant) {
        let Ids { end, link, ap, wlan, last } = self.first;
        if id < link {
            ends.wake(self, id - end, now);
        } else if id < ap {
            self.links[(id - link) as usize].wake(now);
            self.pump_link(ends, id - link);
        } else if id < wlan {
            self.aps[(id - ap) as usize].wake(now);
            self.pump_ap(ends, id - ap);
        } else if id < last {
            self.wlans[(id - wlan) as usize].wake(now);
            self.pump_wlan(ends, id - wlan);
        } else {
            ends.wake(self, link - end, now);
        }
    }

    #[inline]
    fn enter_link(&mut self, ends: &mut impl Ends<P>, id: u32, now: Instant, packet: P) {
        let link = &mut self.links[id as usize];
        if link.foresees() {
            if let Some(at) = link.foresee(now, packet.size()) {
                self.forward(ends, at, packet);
            }
        } else {
            link.receive(now, packet);
            self.pump_link(ends, id);
        }
    }

    #[inline]
    fn pump_link(&mut self, ends: &mut impl Ends<P>, link: u32) {
        while let Some(departure) = self.links[link as usize].poll_departure() {
            self.forward(ends, departure.at, departure.packet);
        }
        self.schedule(self.first.link + link, self.links[link as usize].next_wake());
    }

    #[inline]
    fn enter_ap(&mut self, ends: &mut impl Ends<P>, id: u32, now: Instant, mut packet: P) {
        ends.enters(now, id, &mut packet);
        let (ap, size, station) = (&mut self.aps[id as usize], packet.size(), packet.station());
        let before = ap.stations()[station].queue().meter().drops;
        ap.receive(now, packet);
        ends.drops(now, id, ap.stations()[station].queue().meter().drops - before, size);
        self.pump_ap(ends, id);
    }

    #[inline]
    fn pump_ap(&mut self, ends: &mut impl Ends<P>, ap: u32) {
        while let Some(departure) = self.aps[ap as usize].poll_departure() {
            ends.leaves(departure.at, ap, &departure.packet);
            self.forward(ends, departure.at, departure.packet);
        }
        self.schedule(self.first.ap + ap, self.aps[ap as usize].next_wake());
    }

    /// Data goes up from its source and down to its station, acknowledgements the other way round.
    #[inline(never)]
    fn enter_wlan(&mut self, ends: &mut impl Ends<P>, id: u32, direction: Direction, now: Instant, mut packet: P) {
        let way = &self.ways[packet.stream() as usize];
        let is_data = packet.hop() <= way.back;
        let station = if is_data == (direction == Direction::Down) { way.station } else { way.source };
        let wlan = &mut self.wlans[id as usize];
        packet.set_station(wlan.port(usize::from(station), direction) as u16);
        wlan.receive(now, packet);
        self.pump_wlan(ends, id);
    }

    fn pump_wlan(&mut self, ends: &mut impl Ends<P>, wlan: u32) {
        while let Some(departure) = self.wlans[wlan as usize].poll_departure() {
            let mut packet = departure.packet;
            packet.set_station(self.ways[packet.stream() as usize].station);
            self.forward(ends, departure.at, packet);
        }
        self.schedule(self.first.wlan + wlan, self.wlans[wlan as usize].next_wake());
    }

    /// The packet leaves an element at `at` and goes where its route says, as far as it need not wait for others: onto a
    /// lane, or ahead of time through links and to the receiver, whose answer goes on in its place.
    #[inline]
    fn forward(&mut self, ends: &mut impl Ends<P>, mut at: Instant, mut packet: P) {
        loop {
            let hop = self.hops[self.ways[packet.stream() as usize].base as usize + usize::from(packet.hop())];
            packet.set_hop(packet.hop() + 1);
            match hop {
                Hop::Lane(id) => return self.board(id, at, packet),
                Hop::Link(link, delay) => match self.links[link as usize].foresee(at + delay, packet.size()) {
                    Some(out) => at = out,
                    None => return,
                },
                Hop::Receiver => {
                    let Some(mut ack) = ends.answer(at, packet) else { return };
                    self.turn(&mut ack.packet);
                    (at, packet) = (ack.at, ack.packet);
                }
            }
        }
    }

    /// The packet goes onto a lane.
    #[inline]
    fn board(&mut self, lane: u32, now: Instant, packet: P) {
        let line = &mut self.lanes[lane as usize].line;
        let idle = line.is_empty();
        line.receive(now, packet);
        if idle && let Some(at) = line.next_wake() {
            self.events.push(at, lane);
        }
    }
}
