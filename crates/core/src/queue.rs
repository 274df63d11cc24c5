// SPDX-License-Identifier: MIT OR Apache-2.0
//! The queue in front of a link or of a station's radio: packets under a management, with a limit, a marker and a meter.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::ParameterError;
use crate::packet::{Parcel, Signal};
use crate::parameter::{Parameter, above};
use crate::parameters;
use crate::rng::Stream;
use crate::role::{AnyAqm, AnyMarker, AqmParams, Dropped, Held, MarkerParams, Passing};
use crate::stats::{Meter, Span};
use crate::units::{Amount, Bytes, Duration, Instant, Rate};

parameters! {
    /// A buffer.
    #[derive(Clone, Copy, Debug)]
    pub struct Buffer {
        /// How much it holds: a packet that would pass the limit is dropped on arrival, and FQ-CoDel drops others. Endless by
        /// default; with FQ-CoDel 10240 packets (RFC 8290 §5.2.3).
        pub limit: Option<Amount> = None, in above(Amount::Bytes(Bytes::ZERO));
        /// Which packets are dropped before it is full.
        pub aqm: AqmParams = AqmParams::default();
    }
}

/// RFC 8290 §5.2.3.
const FQ_CODEL_LIMIT: Amount = Amount::Packets(10_240);

impl Buffer {
    /// How much it holds; none: any amount.
    pub fn holds(&self) -> Option<Amount> {
        self.limit.or(matches!(self.aqm, AqmParams::FqCodel(_)).then_some(FQ_CODEL_LIMIT))
    }
}

/// Whether a packet of `size` may join `packets` packets of `bytes` in all within `limit`.
#[inline]
pub(crate) fn admits(limit: Option<Amount>, packets: usize, bytes: Bytes, size: Bytes) -> bool {
    match limit {
        None => true,
        Some(Amount::Bytes(limit)) => bytes + size <= limit,
        Some(Amount::Packets(limit)) => (packets as u64) < limit,
    }
}

/// A queue's parameters.
#[derive(Clone, Debug, Default)]
pub struct QueueConfig {
    /// What it holds, and what it drops.
    pub buffer: Buffer,
    /// What the router writes into passing packets.
    pub marker: MarkerParams,
}

/// A queue that owns its packets. Its fields stay in this order: whether it is empty is asked far more often than anything else.
#[derive(Debug)]
#[repr(C)]
pub struct Queue<P> {
    /// In the order in which they leave: those that the management has let go, all unless it picks at the head.
    packets: VecDeque<(Instant, P)>,
    /// Whether the management keeps packets of its own. Asked once: few do.
    keeps: bool,
    /// Whether the marker hears of those packets alone that speak to routers, which have a queue of their own.
    apart: bool,
    /// Bytes of all packets, without the part of the head that has been sent.
    bytes: Bytes,
    /// The part of the head that has been sent already, and takes no room any more.
    head_sent: Bytes,
    /// Until when `meter` knows what was held.
    held_until: Instant,
    limit: Option<Amount>,
    aqm: AnyAqm<P>,
    marker: AnyMarker,
    meter: Meter,
}

impl<P: Parcel> Queue<P> {
    /// How much of it is touched by who asks whether it is empty.
    #[cfg(test)]
    pub(crate) const ASKED_BYTES: usize = std::mem::offset_of!(Self, bytes);

    /// An empty queue in front of a line of `rate`, measured over `span`; `stream` gives a stream of random numbers by
    /// its purpose.
    ///
    /// # Errors
    /// A limit of nothing, or a management or a marker with a parameter outside its domain.
    pub fn new(
        config: &QueueConfig,
        rate: Rate,
        stream: impl Fn(&str) -> Stream,
        span: Span,
    ) -> Result<Self, ParameterError> {
        config.buffer.validate()?;
        let aqm = AnyAqm::new(&config.buffer.aqm, rate, &stream).map_err(|error| error.within("aqm"))?;
        let marker = AnyMarker::new(&config.marker);
        let marker = marker.map_err(|error| error.within(config.marker.key().unwrap_or_default()))?;
        Ok(Self {
            packets: VecDeque::new(),
            keeps: aqm.keeps(),
            apart: aqm.apart().is_some() && config.marker.key() == Some("feedback"),
            bytes: Bytes::ZERO,
            head_sent: Bytes::ZERO,
            held_until: Instant::ZERO,
            limit: config.buffer.holds(),
            aqm,
            marker,
            meter: Meter::new(span),
        })
    }

    /// Whether nothing that happens after a packet's arrival can change when it leaves: it is judged as it comes, and nobody
    /// marks.
    pub(crate) fn judges_on_arrival(&self) -> bool {
        !self.keeps && self.marker.is_none()
    }

    /// What judges arriving packets: the limit and the management.
    pub(crate) fn into_judges(self) -> (Option<Amount>, AnyAqm<P>) {
        (self.limit, self.aqm)
    }

    /// Takes a packet in; false if it was dropped.
    #[inline(always)]
    pub fn push(&mut self, now: Instant, packet: P) -> bool {
        if self.keeps {
            return self.push_to_management(now, packet);
        }
        // Of the signal a copy is shown, so that the packet need not be in memory but at its place in the queue.
        let accepted = self.judge(now, packet.size(), packet.flow(), &{ *packet.signal() });
        if accepted {
            self.packets.push_back((now, packet));
        }
        accepted
    }

    /// The same, where the management keeps packets.
    #[inline(never)]
    fn push_to_management(&mut self, now: Instant, packet: P) -> bool {
        if self.aqm.makes_room() {
            return self.push_and_make_room(now, packet);
        }
        let accepted = self.judge(now, packet.size(), packet.flow(), packet.signal());
        if accepted {
            self.aqm.enqueue(now, packet);
        }
        accepted
    }

    /// Whether a packet may join; it is counted, and the marker hears of it.
    #[inline(always)]
    fn judge(&mut self, now: Instant, size: Bytes, flow: u64, signal: &Signal) -> bool {
        let held = self.held();
        let is_room = admits(self.limit, held.packets, held.bytes, size);
        let accepted = self.aqm.admits(now, held, size, is_room);
        self.meter.arrive(now, accepted);
        if accepted {
            self.account(now);
            self.bytes += size;
            if !self.marker.is_none() {
                let held = Held { packets: held.packets + 1, bytes: self.bytes };
                self.marker.on_arrival(now, Passing { size, flow, arrived: now }, held, signal);
            }
        } else {
            self.marker.on_overflow(now, size, held, signal);
        }
        accepted
    }

    /// Takes a packet in whatever there is, and then drops what the management says until all find room.
    fn push_and_make_room(&mut self, now: Instant, packet: P) -> bool {
        self.account(now);
        let (size, signal) = (packet.size(), *packet.signal());
        let passing = Passing { size, flow: packet.flow(), arrived: now };
        self.bytes += size;
        self.aqm.enqueue(now, packet);
        let mut dropped = 0;
        while self.aqm.kept().0 > 0 && !admits(self.limit, self.len() - 1, self.bytes, Bytes::ZERO) {
            let Dropped { packets, bytes } = self.aqm.make_room();
            self.bytes -= bytes;
            dropped += packets;
        }
        let accepted = self.aqm.keeps_last();
        self.meter.arrive(now, true);
        self.meter.drop_held(now, dropped);
        if let Some(heard) = self.heard(&signal) {
            if accepted {
                self.marker.on_arrival(now, passing, heard, &signal);
            } else if self.apart {
                self.marker.on_overflow(now, size, heard, &signal);
            } else {
                self.marker.on_drop(now, self.bytes);
            }
        }
        accepted
    }

    /// Lets packets go until those at the head make `bytes`, what has been sent of the first included, or no more are
    /// there. They leave in this order whatever comes. Returns how many were dropped instead.
    ///
    /// A line must call it before it sends what makes the head, or more than was let go; where the management drops
    /// nothing at the head, nothing happens.
    #[inline]
    pub fn let_go(&mut self, now: Instant, bytes: Bytes) -> usize {
        if self.keeps { self.let_go_kept(now, bytes) } else { 0 }
    }

    fn let_go_kept(&mut self, now: Instant, bytes: Bytes) -> usize {
        let mut dropped = Dropped::default();
        let mut ready = self.ready_bytes();
        while ready < bytes {
            let Some(picked) = self.aqm.dequeue(now, &mut dropped) else { break };
            ready += picked.1.size();
            self.packets.push_back(picked);
        }
        if dropped.packets > 0 {
            self.account(now);
            self.bytes -= dropped.bytes;
            self.meter.drop_held(now, dropped.packets);
            self.marker.on_drop(now, self.bytes);
        }
        dropped.packets
    }

    /// The line has nothing to send from `now` on.
    #[inline]
    pub fn rest(&mut self, now: Instant) {
        self.aqm.on_rest(now);
        self.marker.on_rest(now);
    }

    /// For how long its marker remembers what the line could have sent and did not; none: it need not be told.
    pub fn remembers_unused(&self) -> Option<Duration> {
        self.marker.remembers_unused()
    }

    /// At `at` the line could have sent `size` more than was there.
    pub fn unused(&mut self, at: Instant, size: Bytes) {
        self.marker.on_unused(at, size);
    }

    /// The head leaves: the marker stamps it and the meter counts it. Its bytes are for the line to count, as it sends
    /// them.
    #[inline(always)]
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        self.let_go(now, Bytes::new(1));
        self.account(now);
        let held = self.held();
        let (arrived, head) = self.packets.front_mut()?;
        let (arrived, size) = (*arrived, head.size());
        self.bytes -= size - core::mem::take(&mut self.head_sent);
        self.meter.depart(arrived, now);
        // The head is stamped where it is, as a packet is large; what the marker hears of is behind it.
        if !self.marker.is_none()
            && let Some(heard) = match self.apart {
                false => Some(Held { packets: held.packets - 1, bytes: self.bytes }),
                true if head.signal().speaks() => self.aqm.apart(),
                true => None,
            }
        {
            let passing = Passing { size, flow: head.flow(), arrived };
            self.marker.on_departure(now, passing, heard, head.signal_mut());
        }
        self.packets.pop_front().map(|(_, packet)| packet)
    }

    /// A packet of `size` has crossed the medium the other way; `waiting` are left at all that send this way, as each told
    /// with what it sent last.
    pub fn pass(&mut self, now: Instant, size: Bytes, waiting: usize, signal: &mut Signal) {
        if let Some(heard) = self.heard(signal) {
            self.marker.on_crossing(now, size, heard, waiting, signal);
        }
    }

    /// A medium that both directions share was busy for `airtime` with this queue's packet, or with another's.
    #[inline]
    pub fn occupy(&mut self, airtime: Duration, is_own: bool) {
        if !self.marker.is_none() {
            self.marker.on_airtime(airtime, is_own);
        }
    }

    /// The medium was busy for `airtime` with packets of the other of two classes, which leaves this queue's `share` of its time.
    pub fn give_way(&mut self, airtime: Duration, share: f64) {
        if !self.marker.is_none() {
            self.marker.on_others_turn(airtime, share);
        }
    }

    /// What a marker hears of the queue with a packet of `signal`; none: it does not hear of the packet.
    #[inline]
    fn heard(&self, signal: &Signal) -> Option<Held> {
        if !self.apart {
            return Some(self.held());
        }
        if signal.speaks() { self.aqm.apart() } else { None }
    }

    #[inline]
    fn held(&self) -> Held {
        Held { packets: self.len(), bytes: self.bytes }
    }

    /// The head is lost on its way out: taken from the queue and counted as lost.
    pub fn discard(&mut self, now: Instant) -> Option<P> {
        self.let_go(now, Bytes::new(1));
        self.account(now);
        let (_, packet) = self.packets.pop_front()?;
        self.bytes -= packet.size() - core::mem::take(&mut self.head_sent);
        self.meter.lose(now);
        Some(packet)
    }

    /// The first `sent` bytes of the head have been sent in all: they take no room any more.
    ///
    /// # Panics
    /// If that is more than the head, or less than was sent before.
    #[inline]
    pub fn send_part(&mut self, now: Instant, sent: Bytes) {
        debug_assert!(self.front().is_some_and(|head| sent <= head.size()));
        self.account(now);
        self.bytes -= sent - self.head_sent;
        self.head_sent = sent;
    }

    #[inline]
    fn account(&mut self, now: Instant) {
        if now > self.held_until {
            // A packet waits as a whole until it leaves: only so does Little's law hold.
            self.meter.hold(self.held_until, now, self.bytes + self.head_sent);
            self.held_until = now;
        }
    }

    /// The part of the head that has been sent.
    #[inline]
    pub fn head_sent(&self) -> Bytes {
        self.head_sent
    }

    /// The packet that leaves next, if it has been [let go](Self::let_go).
    #[inline]
    pub fn front(&self) -> Option<&P> {
        self.packets.front().map(|(_, packet)| packet)
    }

    /// Packets held.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len() + self.kept().0
    }

    /// Whether nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held, without the part of the head that has been sent.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Bytes of the packets that have been [let go](Self::let_go), with what has been sent of the head.
    #[inline]
    pub fn ready_bytes(&self) -> Bytes {
        self.bytes + self.head_sent - self.kept().1
    }

    /// Packets and bytes that have not been let go.
    #[inline]
    fn kept(&self) -> (usize, Bytes) {
        if self.keeps { self.aqm.kept() } else { (0, Bytes::ZERO) }
    }

    /// A flow has another weight than 1, which is told to the router that marks.
    pub fn weigh(&mut self, flow: u64, weight: f64) {
        self.marker.weigh(flow, weight);
    }

    /// The line has a number among those that one path crosses.
    pub fn call_line(&mut self, number: u8) {
        self.marker.call_line(number);
    }

    /// Flow `n` is number `names[n]` of the whole network, of which this is a part.
    pub fn call_flows(&mut self, names: &Arc<[u32]>) {
        self.aqm.call_flows(names);
    }

    /// What the router writes into passing packets.
    pub fn marker(&self) -> &AnyMarker {
        &self.marker
    }

    /// What the queue went through so far.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Brings the meter up to the end of the run.
    pub fn finish(&mut self, now: Instant) {
        self.account(now);
        self.meter.close(now);
    }
}

#[cfg(test)]
mod tests;
