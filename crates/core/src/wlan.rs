// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contention WLAN: 802.11b's distributed coordination function on one medium that all hear.
//!
//! ```text
//! to stations ──► queue of the base station ─► MAC ─┐
//! from m1     ──► queue of m1 ───────────────► MAC ─┼─► medium: one at a time, or a collision ──► departures
//! from m2     ──► queue of m2 ───────────────► MAC ─┘
//! ```
//!
//! Base station and stations contend alike. A MAC holds one packet; its attempt starts when the medium has been idle
//! for a DIFS (an EIFS after a frame that nobody understood) and for the slots that are left of its back-off. Attempts
//! that start at one instant collide. After each success and failure a new back-off is drawn, whether there is
//! another packet or not; a packet that comes to an idle medium after that back-off goes at once.
//!
//! Whatever comes while a frame is on the air waits until it is over. So the outcome of an attempt is known when it
//! starts: the element wakes once an exchange, sends the packet on with the stamp of its last bit, and computes when
//! slots count again. What happens at one instant happens in this order: the end of an exchange, the next attempt,
//! arrivals.
//!
//! Where the base station's queue is two queues ([`two_queues`](crate::law::two_queues)), each node has an interface for packets
//! that speak to routers and one for all others, and these two classes share the medium's time: the one that has had less of it
//! contends alone while it waits anywhere.
//!
//! What is left out: hidden stations, capture, fragments, beacons, propagation delay. After a failed attempt all wait
//! for an EIFS: for those who sent, that is their time-out for the ACK and a DIFS.

mod interface;
#[cfg(test)]
mod tests;
mod timing;
mod turns;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

pub use interface::{AccessMeter, Interface};
pub use timing::{MacConfig, RateStep, RateSteps};

use crate::element::{Departure, Element};
use crate::error::{ParameterError, ensure};
use crate::loss::{Loss, LossConfig};
use crate::packet::Parcel;
use crate::queue::{Buffer, QueueConfig};
use crate::rng::Streams;
use crate::role::{AqmParams, MarkerParams};
use crate::stats::Span;
use crate::units::{Duration, Instant};
use interface::Failure;
use timing::Timing;
use turns::Turns;

/// A WLAN's parameters.
#[derive(Clone, Debug)]
pub struct WlanConfig {
    /// The medium access, the same for all.
    pub mac: MacConfig,
    /// The base station's queue, for the packets to all stations.
    pub queue: QueueConfig,
    /// The stations, in the order of their index.
    pub stations: Vec<WlanStationConfig>,
}

/// A station's parameters.
#[derive(Clone, Debug)]
pub struct WlanStationConfig {
    /// Its name within the WLAN.
    pub name: String,
    /// Its queue, for the packets to the base station.
    pub queue: QueueConfig,
    /// Data rate between it and the base station, both ways.
    pub rate: RateSteps,
    /// Packets lost above the MAC, which has acknowledged them; drawn once a packet, each way on its own.
    pub loss: LossConfig,
    /// Data frames received in error, which the MAC sends again; drawn once an attempt that does not collide, each way
    /// on its own.
    pub frame_errors: LossConfig,
}

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the base station to a station.
    Down,
    /// From a station to the base station.
    Up,
}

/// A WLAN.
///
/// A packet's [`station`](Parcel::station) is the [port](Wlan::port) at which it comes in.
#[derive(Debug)]
pub struct Wlan<P> {
    timing: Timing,
    /// The base station, then the stations; where two classes take turns, those of all others and then those that speak.
    interfaces: Vec<Interface<P>>,
    /// Whose turn it is, where packets that speak to routers have queues of their own.
    turns: Option<Turns>,
    /// The ways between the base station and each station: all those down, then all those up.
    ways: Vec<Way>,
    /// Until when a frame or its answer is on the air.
    busy_until: Instant,
    /// Whether MACs have still to take their next packets when that is over.
    unsettled: bool,
    /// From when on slots count.
    free: Instant,
    /// When the next attempt starts.
    next: Option<Instant>,
    /// From when on somebody has wanted the medium: so long was it busy when the next exchange is over, back-offs included.
    wanted: Instant,
    /// Packets of each class that wait at stations, as each told with what it sent last.
    waiting: [usize; 2],
    departures: VecDeque<Departure<P>>,
    span: Span,
}

/// What packets meet between the base station and a station.
#[derive(Debug)]
struct Way {
    rate: RateSteps,
    loss: Loss,
    frame_errors: Loss,
}

/// Most stations: a packet's port has 16 bits.
const MOST_STATIONS: usize = 1 << 15;

impl<P: Parcel> Wlan<P> {
    /// An idle WLAN, measured over `span`. Its stations' names and streams are `<name>/<station>`.
    ///
    /// # Errors
    /// If there is no station, or a parameter lies outside its domain.
    pub fn new(name: &str, config: &WlanConfig, streams: &Streams, span: Span) -> Result<Self, ParameterError> {
        let stations = &config.stations;
        let wanted = "1 to 32768, flows' stations included";
        ensure((1..=MOST_STATIONS).contains(&stations.len()), "station", stations.len(), wanted)?;
        let timing = Timing::new(&config.mac)?;
        // What a managed queue takes for the rate of its line; the base station's is that of its fastest station.
        let first_rate = |station: &WlanStationConfig| station.rate.at(Instant::ZERO);
        let fastest = stations.iter().map(first_rate).max().unwrap_or_default();
        let turns = Turns::new(&config.queue.buffer.aqm).map_err(|error| error.within("aqm").within("queue"))?;
        let mut interfaces = vec![];
        for class in 0..1 + usize::from(turns.is_some()) {
            let interface = |name: &str, queue: &QueueConfig, rate| {
                let class = turns.map(|_| class);
                let queue = queue_of(queue, class, &config.queue.buffer.aqm)?;
                Interface::new(class_name(name, class), &queue, rate, &config.mac, streams, span)
            };
            interfaces.push(interface(name, &config.queue, fastest)?);
            for station in stations {
                let built = interface(&format!("{name}/{}", station.name), &station.queue, first_rate(station));
                interfaces.push(built.map_err(|error| error.within(&station.name))?);
            }
        }
        let mut ways = vec![];
        for direction in ["down", "up"] {
            for (station, interface) in stations.iter().zip(&interfaces[1..]) {
                let way = Way::new(station, interface.name(), direction, streams);
                ways.push(way.map_err(|error| error.within(&station.name))?);
            }
        }
        Ok(Self {
            timing,
            interfaces,
            turns,
            ways,
            busy_until: Instant::ZERO,
            unsettled: false,
            free: Instant::ZERO,
            next: None,
            wanted: Instant::ZERO,
            waiting: [0; 2],
            departures: VecDeque::with_capacity(4),
            span,
        })
    }

    /// What [`Parcel::station`] has to be for a packet from or to a station.
    pub fn port(&self, station: usize, direction: Direction) -> usize {
        match direction {
            Direction::Down => station,
            Direction::Up => self.stations() + station,
        }
    }

    /// How many stations there are.
    pub fn stations(&self) -> usize {
        self.ways.len() / 2
    }

    /// The base station, then the stations in the order of their index: with two classes first those of packets that do not
    /// speak to routers, and then as many of those that do, called "NAME (speaking)".
    pub fn interfaces(&self) -> &[Interface<P>] {
        &self.interfaces
    }

    /// A flow has another weight than 1, which is told to the routers that mark.
    pub fn weigh(&mut self, flow: u64, weight: f64) {
        self.interfaces.iter_mut().for_each(|interface| interface.queue.weigh(flow, weight));
    }

    /// Its queues have a number among the lines that one path crosses.
    pub fn call_line(&mut self, number: u8) {
        self.interfaces.iter_mut().for_each(|interface| interface.queue.call_line(number));
    }

    /// Flow `n` is number `names[n]` of the whole network, of which this is a part.
    pub fn call_flows(&mut self, names: &Arc<[u32]>) {
        self.interfaces.iter_mut().for_each(|interface| interface.queue.call_flows(names));
    }

    /// Brings the meters up to the end of the run.
    pub fn finish(&mut self, now: Instant) {
        self.wake(now);
        for interface in &mut self.interfaces {
            interface.queue.finish(now);
        }
    }

    /// The MACs that are done with their packets take the next ones as the exchange ends.
    #[inline]
    fn settle(&mut self, now: Instant) {
        if self.unsettled && self.busy_until <= now {
            self.unsettled = false;
            let mut held_back = false;
            for interface in self.interfaces.iter_mut().filter(|interface| interface.ending) {
                held_back |= interface.load(self.busy_until);
            }
            if held_back {
                self.next = self.earliest();
            }
        }
    }

    /// When the next attempt starts.
    fn earliest(&self) -> Option<Instant> {
        let contenders = &self.interfaces[self.contenders()];
        contenders.iter().filter_map(|interface| interface.start(self.free, self.timing.slot)).min()
    }

    /// The interfaces that contend: all, or those whose class has its turn.
    #[inline]
    fn contenders(&self) -> Range<usize> {
        match &self.turns {
            None => 0..self.interfaces.len(),
            Some(turns) => self.of_class(turns.next(self.waits())),
        }
    }

    /// The interfaces of a class: all, or half of them.
    #[inline]
    fn of_class(&self, class: usize) -> Range<usize> {
        let nodes = 1 + self.stations();
        class * nodes..(class + 1) * nodes
    }

    /// Which classes wait anywhere.
    fn waits(&self) -> [bool; 2] {
        [0, 1].map(|class| self.interfaces[self.of_class(class)].iter().any(Interface::has_packet))
    }

    /// One attempt starts at `now`, or several do.
    fn transmit(&mut self, now: Instant) {
        let (free, slot) = (self.free, self.timing.slot);
        let idle_slots = (now - free).as_nanos() / slot.as_nanos();
        let mut senders = 0;
        let mut sender = 0;
        let contenders = self.contenders();
        let base = contenders.start;
        let waits = self.turns.map(|_| self.waits());
        for (i, interface) in (contenders.clone()).zip(&mut self.interfaces[contenders.clone()]) {
            interface.sends = interface.start(free, slot) == Some(now);
            if interface.sends {
                senders += 1;
                sender = i;
            } else {
                interface.freeze(idle_slots);
            }
        }
        if senders == 1 {
            self.exchange(now, sender, base);
        } else {
            self.collide(now, contenders);
        }
        let airtime = self.free - self.wanted;
        let sends = self.interfaces[base].sends;
        self.interfaces[base].queue.occupy(airtime, sends);
        if let (Some(turns), Some(waits)) = (&mut self.turns, waits) {
            let (class, nodes) = (usize::from(base > 0), 1 + self.ways.len() / 2);
            turns.have(class, airtime, waits);
            self.interfaces[nodes - base].queue.give_way(airtime, turns.share(1 - class));
        }
        self.wanted = self.free;
        self.unsettled = true;
        self.next = self.earliest();
    }

    /// One interface has the medium to itself; `base` is the base station's of its class.
    fn exchange(&mut self, now: Instant, sender: usize, base: usize) {
        let Self { timing, interfaces, ways, waiting, span, .. } = self;
        let interface = &mut interfaces[sender];
        let Some((port, size)) = interface.held.as_ref().map(|packet| (packet.station(), packet.size())) else {
            return;
        };
        let way = &mut ways[port];
        let reserves = timing.reserves(size);
        let lead = if reserves { timing.reservation } else { Duration::ZERO };
        let through = now + lead + timing.data(size, way.rate.at(now));
        let failed = way.frame_errors.strikes(through);
        if failed {
            interface.fail(if reserves { Failure::Long } else { Failure::Short }, through);
            self.busy_until = through;
            self.free = through + timing.eifs;
        } else {
            let mut packet = interface.succeed();
            if let (true, Some(packet)) = (sender > base, &mut packet) {
                let waiting = &mut waiting[usize::from(base > 0)];
                *waiting -= core::mem::replace(&mut interface.told, interface.queue.len());
                *waiting += interface.told;
                // What stations send comes in over the medium that the base station's queue waits for.
                interfaces[base].queue.pass(now, size, *waiting, packet.signal_mut());
            }
            if way.loss.strikes(through) {
                interfaces[sender].queue.meter_mut().lose(through);
            } else {
                self.departures.extend(packet.map(|packet| Departure { at: through, packet }));
            }
            self.busy_until = through + timing.answer;
            self.free = self.busy_until + timing.difs;
        }
        let counted = u64::from(span.contains(now));
        let access = &mut interfaces[sender].access;
        access.attempts += counted;
        access.errors += counted * u64::from(failed);
        access.airtime += span.overlap(now, self.busy_until);
    }

    /// Several of `contenders` start at `now`, and nobody understands anything.
    fn collide(&mut self, now: Instant, contenders: Range<usize>) {
        let Self { timing, interfaces, ways, span, .. } = self;
        let interfaces = &mut interfaces[contenders];
        let mut end = now;
        let counted = u64::from(span.contains(now));
        for interface in interfaces.iter_mut().filter(|interface| interface.sends) {
            let Some((port, size)) = interface.held.as_ref().map(|packet| (packet.station(), packet.size())) else {
                continue;
            };
            let airtime = if timing.reserves(size) { timing.rts } else { timing.data(size, ways[port].rate.at(now)) };
            end = end.max(now + airtime);
            interface.access.attempts += counted;
            interface.access.collisions += counted;
            interface.access.airtime += span.overlap(now, now + airtime);
        }
        let senders = interfaces.iter_mut().filter(|interface| interface.sends);
        senders.for_each(|interface| interface.fail(Failure::Short, end));
        self.busy_until = end;
        self.free = end + timing.eifs;
    }
}

impl<P: Parcel> Element<P> for Wlan<P> {
    fn receive(&mut self, now: Instant, packet: P) {
        self.wake(now);
        let port = packet.station();
        let stations = self.stations();
        let class = usize::from(self.turns.is_some() && packet.signal().speaks());
        let node = if port < stations { 0 } else { port - stations + 1 };
        let interface = &mut self.interfaces[class * (stations + 1) + node];
        if !interface.queue.push(now, packet) {
            return;
        }
        if self.next.is_none() {
            self.wanted = now.max(self.free);
        }
        if interface.held.is_none() && !interface.ending {
            interface.load(now);
            if now < self.free && interface.backoff.is_none() {
                interface.back_off();
            }
        }
        if self.turns.is_some() {
            // Whose turn it is may hang on what has come.
            self.next = self.earliest();
            return;
        }
        let start = interface.start(self.free, self.timing.slot);
        self.next = match (self.next, start) {
            (Some(next), Some(start)) => Some(next.min(start)),
            (next, start) => next.or(start),
        };
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        self.next
    }

    fn wake(&mut self, now: Instant) {
        while let Some(due) = self.next.filter(|&due| due <= now) {
            self.settle(due);
            if self.next == Some(due) {
                self.transmit(due);
            }
        }
        self.settle(now);
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<P>> {
        self.departures.pop_front()
    }
}

/// What the interface `name` of a class is called.
fn class_name(name: &str, class: Option<usize>) -> String {
    if class == Some(1) { format!("{name} (speaking)") } else { name.to_owned() }
}

/// A node's queue, of a class where there are two: what tells senders that ask is at that of packets that speak, a price at the
/// others'. Its own management may be that of one queue, or the `shared` two.
fn queue_of(own: &QueueConfig, class: Option<usize>, shared: &AqmParams) -> Result<QueueConfig, ParameterError> {
    let is_two = matches!(own.buffer.aqm, AqmParams::TwoQueues(_));
    if is_two && own.buffer.aqm != *shared {
        let wanted = "those of the WLAN's queue, as all take turns on one medium";
        return Err(ParameterError::new("queue.aqm", "two queues of its own", wanted));
    }
    let Some(class) = class else { return Ok(own.clone()) };
    let aqm = if is_two { AqmParams::DropTail } else { own.buffer.aqm };
    let speaks = own.marker.key() == Some("feedback");
    let marker = if speaks == (class == 1) { own.marker } else { MarkerParams::None };
    Ok(QueueConfig { buffer: Buffer { aqm, ..own.buffer }, marker })
}

impl Way {
    fn new(station: &WlanStationConfig, name: &str, way: &str, streams: &Streams) -> Result<Self, ParameterError> {
        let model = |config: &LossConfig, key: &str| {
            Loss::new(config, streams, &format!("{name} ({key} {way})")).map_err(|error| error.within(key))
        };
        Ok(Self {
            rate: station.rate.clone(),
            loss: model(&station.loss, "loss")?,
            frame_errors: model(&station.frame_errors, "frame_errors")?,
        })
    }
}
