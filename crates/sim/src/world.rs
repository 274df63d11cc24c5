// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop: virtual time, and who gets which packet.
//!
//! ```text
//!            lane            lane             exit path
//!   host ──► ════ ──► link ► ════ ──► ap ───► ──────── ──► receiver      data
//!   host ◄── ════════════════════════════════════════════ receiver      acknowledgements
//! ```
//!
//! A lane is a line and the element at its end; its head alone is in the event list. A receiver that keeps no timer
//! is an answer to its packets and nothing else: it is asked as soon as a departure towards it is known, ahead of
//! time, and its acknowledgement goes into the lane back with its own stamp. So is a link that foresees its departures, if
//! all that comes to it comes in order of time out of one such chain. That leaves two events a packet on a dumbbell.

use lasthop_core::ap::AccessPoint;
use lasthop_core::element::{Departure, Element};
use lasthop_core::line::{Line, Path};
use lasthop_core::link::Link;
use lasthop_core::packet::{Kind, Packet, Parcel};
use lasthop_core::units::{Duration, Instant};
use lasthop_core::wlan::{Direction, Wlan};

use crate::capture::{Capture, Point};
use crate::events::EventList;
use crate::host::{Host, Receiver};
use crate::probe::Recorder;

/// Where a lane ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
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
pub(crate) enum Hop {
    /// Onto a lane.
    Lane(u32),
    /// To the flow's receiver, ahead of time.
    Receiver,
    /// To a link behind a delay, ahead of time.
    Link(u32, Duration),
}

/// A line and what is at its end.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) line: Line<Packet>,
    pub(crate) end: End,
}

/// The hops of a flow: first those of the data, from `back` on those of the acknowledgements.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) hops: Vec<Hop>,
    pub(crate) back: u8,
    /// The station to which the data goes.
    pub(crate) station: u16,
    /// The station from which the data comes.
    pub(crate) source: u16,
}

/// All elements of a run, before it starts.
#[derive(Debug, Default)]
pub(crate) struct Network {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) links: Vec<Link<Packet>>,
    pub(crate) aps: Vec<AccessPoint<Packet>>,
    pub(crate) wlans: Vec<Wlan<Packet>>,
    pub(crate) receivers: Vec<Receiver>,
    /// The private links of each flow in front of a receiver that is asked ahead of time.
    pub(crate) exits: Vec<Path>,
    pub(crate) routes: Vec<Route>,
}

/// A run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Network,
    events: EventList,
    /// For every element but lanes: the instant of its entry in the event list that counts.
    pending: Vec<Instant>,
    first: Ids,
    /// The hops of all flows, one after the other.
    hops: Vec<Hop>,
    ways: Vec<Way>,
    pub(crate) end: Instant,
    pub(crate) count: Count,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) capture: Option<Capture>,
}

/// Where a flow's hops are among those of all flows.
#[derive(Clone, Copy, Debug)]
struct Way {
    base: u32,
    back: u8,
    station: u16,
}

/// What a run went through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) events: u64,
    /// Data packets that reached their receivers.
    pub(crate) packets: u64,
}

/// The first number of each kind of element in the event list.
#[derive(Clone, Copy, Debug)]
struct Ids {
    host: u32,
    receiver: u32,
    link: u32,
    ap: u32,
    wlan: u32,
    recorder: u32,
}

impl World {
    pub(crate) fn new(network: Network, end: Instant, recorder: Option<Recorder>, capture: Option<Capture>) -> Self {
        let host = network.lanes.len() as u32;
        let receiver = host + network.hosts.len() as u32;
        let link = receiver + network.receivers.len() as u32;
        let ap = link + network.links.len() as u32;
        let wlan = ap + network.aps.len() as u32;
        let recorder_id = wlan + network.wlans.len() as u32;
        let (mut hops, mut ways) = (vec![], vec![]);
        for route in &network.routes {
            ways.push(Way { base: hops.len() as u32, back: route.back, station: route.station });
            hops.extend_from_slice(&route.hops);
        }
        let mut world = Self {
            pending: vec![Instant::MAX; recorder_id as usize + 1],
            first: Ids { host, receiver, link, ap, wlan, recorder: recorder_id },
            events: EventList::default(),
            hops,
            ways,
            end,
            count: Count::default(),
            network,
            recorder,
            capture,
        };
        for flow in 0..world.network.hosts.len() {
            world.schedule(host + flow as u32, world.network.hosts[flow].next_wake());
        }
        world.schedule(recorder_id, world.recorder.as_ref().map(Recorder::first));
        world
    }

    /// Serves at most `events` events; false when the run is over.
    pub(crate) fn advance(&mut self, events: u64) -> bool {
        for _ in 0..events {
            let Some((at, id)) = self.events.pop_before(self.end) else {
                self.finish();
                return false;
            };
            self.count.events += 1;
            if id < self.first.host {
                self.wake_lane(id, at);
            } else if self.pending[id as usize] == at {
                self.pending[id as usize] = Instant::MAX;
                self.wake(id, at);
            }
        }
        true
    }

    /// Serves all events.
    pub(crate) fn run(&mut self) {
        while self.advance(u64::MAX) {}
    }

    fn finish(&mut self) {
        for receiver in &mut self.network.receivers {
            receiver.finish(self.end);
        }
        for link in &mut self.network.links {
            link.finish(self.end);
        }
        for ap in &mut self.network.aps {
            ap.finish(self.end);
        }
        for wlan in &mut self.network.wlans {
            wlan.finish(self.end);
        }
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
    fn wake_lane(&mut self, id: u32, now: Instant) {
        loop {
            let lane = &mut self.network.lanes[id as usize];
            let Some(departure) = lane.line.take(now) else { break };
            let next = lane.line.next_wake();
            let end = lane.end;
            // The lane's next wake goes in first: it takes the place of the one that is being served.
            if let Some(next) = next.filter(|next| *next > now) {
                self.events.push(next, id);
            }
            self.deliver(end, departure.at, departure.packet);
            if next != Some(now) {
                break;
            }
        }
    }

    #[inline]
    fn deliver(&mut self, end: End, now: Instant, packet: Packet) {
        match end {
            End::Host => {
                self.capture(now, Point::Sender, &packet);
                let flow = packet.flow;
                self.network.hosts[flow as usize].receive(now, packet);
                self.pump_host(flow);
            }
            End::Link(link) => self.enter_link(link, now, packet),
            End::Ap(ap) => {
                self.network.aps[ap as usize].receive(now, packet);
                self.pump_ap(ap);
            }
            End::Wlan(wlan, direction) => self.enter_wlan(wlan, direction, now, packet),
            End::Receiver => {
                let flow = packet.flow;
                self.arrive(now, &packet);
                self.network.receivers[flow as usize].receive(now, packet);
                self.pump_receiver(flow);
                self.schedule(self.first.receiver + flow, self.network.receivers[flow as usize].next_wake());
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&mut self, id: u32, now: Instant) {
        let Ids { host, receiver, link, ap, wlan, recorder } = self.first;
        if id < receiver {
            self.network.hosts[(id - host) as usize].wake(now);
            self.pump_host(id - host);
        } else if id < link {
            let flow = id - receiver;
            self.network.receivers[flow as usize].wake(now);
            self.pump_receiver(flow);
            self.schedule(id, self.network.receivers[flow as usize].next_wake());
        } else if id < ap {
            self.network.links[(id - link) as usize].wake(now);
            self.pump_link(id - link);
        } else if id < wlan {
            self.network.aps[(id - ap) as usize].wake(now);
            self.pump_ap(id - ap);
        } else if id < recorder {
            self.network.wlans[(id - wlan) as usize].wake(now);
            self.pump_wlan(id - wlan);
        } else if let Some(recorder) = &mut self.recorder {
            let next = recorder.sample(now, &mut self.network);
            self.schedule(id, Some(next));
        }
    }

    #[inline]
    fn pump_host(&mut self, flow: u32) {
        while let Some(departure) = self.network.hosts[flow as usize].poll_departure() {
            let mut packet = departure.packet;
            packet.station = self.ways[flow as usize].station;
            self.capture(departure.at, Point::Sender, &packet);
            self.forward(departure.at, packet);
        }
        self.schedule(self.first.host + flow, self.network.hosts[flow as usize].next_wake());
    }

    #[inline]
    fn enter_link(&mut self, id: u32, now: Instant, packet: Packet) {
        let link = &mut self.network.links[id as usize];
        if link.foresees() {
            if let Some(at) = link.foresee(now, packet.size()) {
                self.forward(at, packet);
            }
        } else {
            link.receive(now, packet);
            self.pump_link(id);
        }
    }

    #[inline]
    fn pump_link(&mut self, link: u32) {
        while let Some(departure) = self.network.links[link as usize].poll_departure() {
            self.forward(departure.at, departure.packet);
        }
        self.schedule(self.first.link + link, self.network.links[link as usize].next_wake());
    }

    #[inline]
    fn pump_ap(&mut self, ap: u32) {
        while let Some(departure) = self.network.aps[ap as usize].poll_departure() {
            self.forward(departure.at, departure.packet);
        }
        self.schedule(self.first.ap + ap, self.network.aps[ap as usize].next_wake());
    }

    /// Data goes up from its source and down to its station, acknowledgements the other way round.
    #[inline(never)]
    fn enter_wlan(&mut self, id: u32, direction: Direction, now: Instant, mut packet: Packet) {
        let route = &self.network.routes[packet.flow as usize];
        let is_data = packet.hop <= route.back;
        let station = if is_data == (direction == Direction::Down) { route.station } else { route.source };
        let wlan = &mut self.network.wlans[id as usize];
        packet.station = wlan.port(usize::from(station), direction) as u16;
        wlan.receive(now, packet);
        self.pump_wlan(id);
    }

    fn pump_wlan(&mut self, wlan: u32) {
        while let Some(departure) = self.network.wlans[wlan as usize].poll_departure() {
            let mut packet = departure.packet;
            packet.station = self.ways[packet.flow as usize].station;
            self.forward(departure.at, packet);
        }
        self.schedule(self.first.wlan + wlan, self.network.wlans[wlan as usize].next_wake());
    }

    #[inline]
    fn pump_receiver(&mut self, flow: u32) {
        while let Some(mut departure) = self.network.receivers[flow as usize].poll_departure() {
            self.answer(flow, &mut departure);
            self.forward(departure.at, departure.packet);
        }
    }

    /// A packet leaves a receiver.
    #[inline]
    fn answer(&mut self, flow: u32, departure: &mut Departure<Packet>) {
        departure.packet.hop = self.ways[flow as usize].back;
        self.capture(departure.at, Point::Receiver, &departure.packet);
    }

    /// The packet leaves an element at `at` and goes where its route says, as far as it need not wait for others: onto a
    /// lane, or ahead of time through links and to the receiver, whose answer goes on in its place.
    #[inline]
    fn forward(&mut self, mut at: Instant, mut packet: Packet) {
        loop {
            let hop = self.hops[self.ways[packet.flow as usize].base as usize + usize::from(packet.hop)];
            packet.hop += 1;
            match hop {
                Hop::Lane(id) => return self.board(id, at, packet),
                Hop::Link(link, delay) => match self.network.links[link as usize].foresee(at + delay, packet.size()) {
                    Some(out) => at = out,
                    None => return,
                },
                Hop::Receiver => {
                    let flow = packet.flow;
                    let exit = &mut self.network.exits[flow as usize];
                    let Some(out) = exit.transit(at, packet.size()) else { return };
                    self.arrive(out, &packet);
                    let Receiver::Tcp(receiver) = &mut self.network.receivers[flow as usize] else {
                        unreachable!("only TCP's receivers are without a timer")
                    };
                    receiver.receive(out, packet);
                    let Some(mut ack) = receiver.poll_departure() else { return };
                    self.answer(flow, &mut ack);
                    (at, packet) = (ack.at, ack.packet);
                }
            }
        }
    }

    /// The packet goes onto a lane.
    #[inline]
    fn board(&mut self, lane: u32, now: Instant, packet: Packet) {
        let line = &mut self.network.lanes[lane as usize].line;
        let idle = line.is_empty();
        line.receive(now, packet);
        if idle && let Some(at) = line.next_wake() {
            self.events.push(at, lane);
        }
    }

    /// A packet comes to its receiver.
    #[inline]
    fn arrive(&mut self, at: Instant, packet: &Packet) {
        self.count.packets += u64::from(packet.kind() == Kind::Data && at < self.end);
        self.capture(at, Point::Receiver, packet);
    }

    #[inline]
    fn capture(&mut self, at: Instant, point: Point, packet: &Packet) {
        if let Some(capture) = &mut self.capture
            && at < self.end
        {
            capture.record(at, point, packet);
        }
    }

    /// How far the run has come, from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        let now = self.events.earliest().unwrap_or(self.end).min(self.end);
        (now - Instant::ZERO).as_secs_f64() / (self.end - Instant::ZERO + Duration::from_nanos(1)).as_secs_f64()
    }
}
