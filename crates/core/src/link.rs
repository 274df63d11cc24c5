// SPDX-License-Identifier: MIT OR Apache-2.0
//! A link that streams share: a buffer and a transmitter of constant rate.
//!
//! As in a network card, the packet in transmission has left the buffer: the limit, the mean queue and the queueing
//! delay speak of those that wait. What arrives in the very instant in which a transmission ends comes before its end: it
//! finds the buffer as it was, and no flow can live on landing exactly in the place that another's packet has freed.
//!
//! If the buffer judges packets as they come, as drop-tail and RED do, and nobody marks, nothing that happens later can
//! change when a waiting packet leaves. Then the link sends every packet on the instant it comes, with the stamp of its
//! departure, and keeps nothing but the stamps of those that wait: no event at all. Otherwise the packets wait in a
//! [`Queue`], and the link wakes for each.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::element::{Departure, Element};
use crate::error::{ParameterError, ensure};
use crate::loss::{Loss, LossConfig};
use crate::packet::Parcel;
use crate::queue::{Queue, QueueConfig, admits};
use crate::rng::Streams;
use crate::role::{AnyAqm, Held};
use crate::stats::{Meter, Span};
use crate::units::{Amount, Bytes, Duration, Instant, Rate};

/// A link's parameters.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Rate of the transmitter.
    pub rate: Rate,
    /// The buffer.
    pub queue: QueueConfig,
    /// What is lost after the transmitter.
    pub loss: LossConfig,
}

/// A buffer and a transmitter.
#[derive(Debug)]
pub struct Link<P> {
    name: String,
    rate: Rate,
    sending: (Bytes, Duration),
    buffer: Waiting<P>,
    loss: Loss,
    departures: VecDeque<Departure<P>>,
}

#[derive(Debug)]
enum Waiting<P> {
    Foreseen(Foreseen<P>),
    Held { queue: Queue<P>, in_transmission: Option<Departure<P>> },
}

/// The stamps of the packets that wait, where the packets themselves have been sent on.
#[derive(Debug)]
struct Foreseen<P> {
    limit: Option<Amount>,
    aqm: AnyAqm<P>,
    /// What waits, and perhaps some that have gone; of what waits behind the first, how much that is.
    first: Train,
    behind: VecDeque<Train>,
    held_behind: Held,
    busy_until: Instant,
    /// Until when somebody waits.
    held_until: Instant,
    meter: Meter,
}

/// Packets of one size that wait one behind the other. Most buffers hold nothing else, and then one such is all that is kept, where
/// a stamp for each would fill the cache.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// When the transmission of the first starts, and how much later that of each that follows.
    start: Instant,
    sending: Duration,
    size: Bytes,
    packets: u64,
    /// How long a buffer full of such takes.
    full: Duration,
}

impl Train {
    /// Nothing waits, for ever.
    const NONE: Self =
        Self { start: Instant::MAX, sending: Duration::ZERO, size: Bytes::MAX, packets: 0, full: Duration::ZERO };

    /// A train of one.
    fn new(start: Instant, sending: Duration, size: Bytes, limit: Option<Amount>) -> Self {
        let most = match limit {
            None => u64::MAX,
            Some(Amount::Bytes(limit)) => limit.get() / size.get().max(1),
            Some(Amount::Packets(limit)) => limit,
        };
        let full = Duration::from_nanos(sending.as_nanos().saturating_mul(most));
        Self { start, sending, size, packets: 1, full }
    }

    /// How much waits.
    fn held(self) -> Held {
        Held { packets: self.packets as usize, bytes: Bytes::new(self.size.get() * self.packets) }
    }

    /// When the transmission of each starts that waits at `now`.
    fn starts(self, now: Instant) -> impl Iterator<Item = Instant> {
        let gone = now.saturating_since(self.start).as_nanos().div_ceil(self.sending.as_nanos().max(1));
        (gone..self.packets).map(move |before| self.start + self.sending * before)
    }
}

impl<P: Parcel> Link<P> {
    /// An idle link, measured over `span`; `name` names its streams of random numbers.
    ///
    /// # Errors
    /// A rate of zero, or a queue or an error model with a parameter outside its domain.
    pub fn new(name: &str, config: &LinkConfig, streams: &Streams, span: Span) -> Result<Self, ParameterError> {
        ensure(config.rate > Rate::from_bps(0), "rate", format_args!("{:?}", config.rate), "more than 0 bit/s")?;
        let stream = |purpose: &str| streams.stream(name, purpose);
        let queue = Queue::new(&config.queue, config.rate, stream, span).map_err(|e| e.within("queue"))?;
        let buffer = if queue.judges_on_arrival() {
            Waiting::Foreseen(Foreseen::new(queue, span))
        } else {
            Waiting::Held { queue, in_transmission: None }
        };
        Ok(Self {
            name: name.to_owned(),
            rate: config.rate,
            sending: (Bytes::ZERO, Duration::ZERO),
            buffer,
            loss: Loss::new(&config.loss, streams, name).map_err(|e| e.within("loss"))?,
            departures: VecDeque::with_capacity(4),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Rate of the transmitter.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The packets that wait: how many, and their bytes.
    pub fn waiting(&self, now: Instant) -> (usize, Bytes) {
        match &self.buffer {
            Waiting::Foreseen(foreseen) => {
                foreseen.waiting_at(now).fold((0, Bytes::ZERO), |(n, bytes), (_, size)| (n + 1, bytes + size))
            }
            Waiting::Held { queue, .. } => (queue.len(), queue.bytes()),
        }
    }

    /// The queue, where the packets wait in one (see the module's text).
    pub fn queue(&self) -> Option<&Queue<P>> {
        match &self.buffer {
            Waiting::Foreseen(_) => None,
            Waiting::Held { queue, .. } => Some(queue),
        }
    }

    /// What the buffer went through.
    pub fn meter(&self) -> &Meter {
        match &self.buffer {
            Waiting::Foreseen(foreseen) => &foreseen.meter,
            Waiting::Held { queue, .. } => queue.meter(),
        }
    }

    /// Bytes that have left by `now`, in the measured span. The meter of a link that [foresees](Self::foresees) is ahead of
    /// it by those that wait.
    pub fn departed(&self, now: Instant) -> Bytes {
        let waiting = match &self.buffer {
            Waiting::Foreseen(foreseen) => foreseen.waiting_at(now),
            Waiting::Held { queue, .. } => return queue.meter().departed,
        };
        let counted = |(start, size): (Instant, Bytes)| self.meter().part_of(start, start + size / self.rate, size);
        self.meter().departed - waiting.map(counted).fold(Bytes::ZERO, |sum, part| sum + part)
    }

    /// A flow has another weight than 1, which is told to the routers that mark.
    pub fn weigh(&mut self, flow: u64, weight: f64) {
        if let Waiting::Held { queue, .. } = &mut self.buffer {
            queue.weigh(flow, weight);
        }
    }

    /// The line has a number among those that one path crosses.
    pub fn call_line(&mut self, number: u8) {
        if let Waiting::Held { queue, .. } = &mut self.buffer {
            queue.call_line(number);
        }
    }

    /// Flow `n` is number `names[n]` of the whole network, of which this is a part.
    pub fn call_flows(&mut self, names: &Arc<[u32]>) {
        if let Waiting::Held { queue, .. } = &mut self.buffer {
            queue.call_flows(names);
        }
    }

    /// Brings the meter up to the end of the run.
    pub fn finish(&mut self, now: Instant) {
        match &mut self.buffer {
            Waiting::Foreseen(foreseen) => foreseen.finish(now),
            Waiting::Held { queue, .. } => queue.finish(now),
        }
    }

    #[inline]
    fn sending_time(&mut self, size: Bytes) -> Duration {
        if self.sending.0 != size {
            self.sending = (size, size / self.rate);
        }
        self.sending.1
    }

    /// Whether all departures are known on arrival, so that [`receive`](Element::receive) never has to be waited for.
    pub fn foresees(&self) -> bool {
        matches!(self.buffer, Waiting::Foreseen(_))
    }

    /// Whether all that it sends takes some time.
    pub fn takes_time(&self) -> bool {
        !(Bytes::new(1) / self.rate).is_zero()
    }

    /// When a packet of `size` that comes at `now` will have left, if the link foresees that; none if it is dropped or
    /// lost. The short way of [`receive`](Element::receive) and one [`poll_departure`](Element::poll_departure), which
    /// leaves the packet where it is.
    #[inline(always)]
    pub fn foresee(&mut self, now: Instant, size: Bytes) -> Option<Instant> {
        let sending = self.sending_time(size);
        let Waiting::Foreseen(foreseen) = &mut self.buffer else { return None };
        let at = foreseen.admit(now, size, sending)?;
        self.survives(at).then_some(at)
    }

    fn hold(&mut self, now: Instant, packet: P) {
        self.serve(|due| due < now);
        let Waiting::Held { queue, in_transmission } = &mut self.buffer else { return };
        if queue.push(now, packet) && in_transmission.is_none() {
            self.start(now);
        }
    }

    /// Whether the error model lets pass what departs at `at`.
    #[inline(always)]
    fn survives(&mut self, at: Instant) -> bool {
        let lost = self.loss.strikes(at);
        if lost {
            self.meter_mut().lose(at);
        }
        !lost
    }

    fn meter_mut(&mut self) -> &mut Meter {
        match &mut self.buffer {
            Waiting::Foreseen(foreseen) => &mut foreseen.meter,
            Waiting::Held { queue, .. } => queue.meter_mut(),
        }
    }

    /// Ends the transmissions that are due, each at its instant, and starts the next.
    fn serve(&mut self, is_due: impl Fn(Instant) -> bool) {
        while let Waiting::Held { in_transmission, .. } = &mut self.buffer {
            let Some(departure) = in_transmission.take_if(|departure| is_due(departure.at)) else { break };
            let at = departure.at;
            if self.survives(at) {
                self.departures.push_back(departure);
            }
            self.start(at);
        }
    }

    /// Puts the next waiting packet, if any, into transmission at `at`.
    fn start(&mut self, at: Instant) {
        let Waiting::Held { queue, .. } = &mut self.buffer else { return };
        let next = queue.pop(at).map(|packet| (packet.size(), packet));
        if next.is_none() {
            queue.rest(at);
        }
        let next = next.map(|(size, packet)| (size, Departure { at: at + self.sending_time(size), packet }));
        if let Waiting::Held { queue, in_transmission } = &mut self.buffer {
            *in_transmission = next.map(|(size, departure)| {
                queue.meter_mut().send(at, departure.at, size);
                departure
            });
        }
    }
}

impl<P: Parcel> Element<P> for Link<P> {
    #[inline]
    fn receive(&mut self, now: Instant, packet: P) {
        if self.foresees() {
            let departure = self.foresee(now, packet.size()).map(|at| Departure { at, packet });
            self.departures.extend(departure);
        } else {
            self.hold(now, packet);
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        match &self.buffer {
            Waiting::Foreseen(_) => None,
            Waiting::Held { in_transmission, .. } => in_transmission.as_ref().map(|departure| departure.at),
        }
    }

    fn wake(&mut self, now: Instant) {
        self.serve(|due| due <= now);
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<P>> {
        self.departures.pop_front()
    }
}

impl<P: Parcel> Foreseen<P> {
    fn new(queue: Queue<P>, span: Span) -> Self {
        let (limit, aqm) = queue.into_judges();
        Self {
            limit,
            aqm,
            first: Train::NONE,
            behind: VecDeque::new(),
            held_behind: Held { packets: 0, bytes: Bytes::ZERO },
            busy_until: Instant::ZERO,
            held_until: Instant::ZERO,
            meter: Meter::new(span),
        }
    }

    /// When the packet will have left, if it is let in.
    #[inline(always)]
    fn admit(&mut self, now: Instant, size: Bytes, sending: Duration) -> Option<Instant> {
        Some(if self.first.size == size && self.busy_until >= now && self.behind.is_empty() && self.is_drop_tail() {
            self.join_train(now, size, sending)?
        } else if self.busy_until >= now || self.first.packets > 0 || !self.is_drop_tail() {
            self.admit_behind_others(now, size, sending)?
        } else {
            self.busy_until = now + sending;
            self.meter.pass_at_once(now, self.busy_until, size);
            self.busy_until
        })
    }

    /// The same where all that wait are as long as the packet. How many they are follows from the time that they take from now on, or
    /// from the first of them, so those that have gone are taken out later, if ever.
    #[inline(always)]
    fn join_train(&mut self, now: Instant, size: Bytes, sending: Duration) -> Option<Instant> {
        let start = self.busy_until;
        if start.saturating_since(now.max(self.first.start)) >= self.first.full {
            // Those that take no time are counted.
            if sending == Duration::ZERO {
                return self.admit_behind_others(now, size, sending);
            }
            self.meter.arrive(now, false);
            return None;
        }
        self.hold(now, start);
        self.first.packets += 1;
        Some(self.send(now, start, size, sending))
    }

    /// The same where something is in transmission, or was when the last came, or more than the room decides.
    #[inline(never)]
    fn admit_behind_others(&mut self, now: Instant, size: Bytes, sending: Duration) -> Option<Instant> {
        while self.first.start < now {
            self.first.start += self.first.sending;
            self.first.packets -= 1;
            if self.first.packets == 0 {
                self.end_train();
            }
        }
        // What comes as a transmission ends waits for that, if for no time. A packet that need not wait needs no room.
        let start = self.busy_until.max(now);
        let waits = start > now || (self.busy_until == now && now > Instant::ZERO);
        let held = self.held();
        let is_room = !waits || admits(self.limit, held.packets, held.bytes, size);
        let accepted = if self.is_drop_tail() { is_room } else { self.judge(now, size, is_room) };
        if !accepted {
            self.meter.arrive(now, false);
            return None;
        }
        if waits {
            self.hold(now, start);
            self.join(Train::new(start, sending, size, self.limit));
        }
        Some(self.send(now, start, size, sending))
    }

    /// Somebody waits from `now` until `start`.
    #[inline(always)]
    fn hold(&mut self, now: Instant, start: Instant) {
        if self.held_until < now {
            self.meter.hold(self.held_until, now, Bytes::ZERO);
        }
        self.held_until = start;
    }

    /// What has come at `now` is sent from `start` on; gives when it has left.
    #[inline(always)]
    fn send(&mut self, now: Instant, start: Instant, size: Bytes, sending: Duration) -> Instant {
        self.busy_until = (start + sending).min(Instant::LATEST);
        self.meter.pass(now, start, self.busy_until, size);
        self.busy_until
    }

    /// Whether room alone decides.
    #[inline(always)]
    fn is_drop_tail(&self) -> bool {
        matches!(self.aqm, AnyAqm::DropTail(_))
    }

    /// Whether the management lets the packet in. It hears first of the rest that the line has had; who ends it is let in.
    #[inline(never)]
    fn judge(&mut self, now: Instant, size: Bytes, is_room: bool) -> bool {
        if self.busy_until < now {
            self.aqm.on_rest(self.busy_until);
        }
        self.aqm.admits(now, self.held(), size, is_room)
    }

    /// What waits.
    fn held(&self) -> Held {
        let (first, Held { packets, bytes }) = (self.first.held(), self.held_behind);
        Held { packets: first.packets + packets, bytes: first.bytes + bytes }
    }

    /// A packet, a train of its own, waits behind all others.
    fn join(&mut self, new: Train) {
        if self.first.packets == 0 {
            self.first = new;
        } else if self.behind.is_empty() && self.first.size == new.size {
            self.first.packets += 1;
        } else {
            self.held_behind.packets += 1;
            self.held_behind.bytes += new.size;
            match self.behind.back_mut() {
                Some(last) if last.size == new.size => last.packets += 1,
                _ => self.behind.push_back(new),
            }
        }
    }

    /// Nothing waits any more of the first.
    fn end_train(&mut self) {
        self.first = self.behind.pop_front().unwrap_or(Train::NONE);
        let Held { packets, bytes } = self.first.held();
        self.held_behind.packets -= packets;
        self.held_behind.bytes -= bytes;
    }

    /// The start of the transmission and the size of each that waits at `now`.
    fn waiting_at(&self, now: Instant) -> impl Iterator<Item = (Instant, Bytes)> {
        let all = core::iter::once(&self.first).chain(&self.behind);
        all.flat_map(move |train| train.starts(now).map(|start| (start, train.size)))
    }

    fn finish(&mut self, now: Instant) {
        if self.held_until < now {
            self.meter.hold(self.held_until, now, Bytes::ZERO);
            self.held_until = now;
        }
        self.meter.close(now);
    }
}

#[cfg(test)]
mod tests;
