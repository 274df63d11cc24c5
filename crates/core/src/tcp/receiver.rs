// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver: in-order delivery, acknowledgements, the advertised window.
//!
//! Without delayed acknowledgements it has no timer and may be told of arrivals ahead of time: its acknowledgements
//! depend on the arrivals and their instants alone.

use std::collections::VecDeque;
use std::sync::Arc;

use super::autotuning::Autotuning;
use super::config::ReceiverConfig;
use super::delay::{AckClock, AckDelay};
use super::ranges::Ranges;
use super::segment::Segment;
use super::stats::ReceiverStats;
use crate::element::{Departure, Element};
use crate::error::ParameterError;
use crate::packet::{Ack, Kind, Packet, SackBlocks, Signal};
use crate::role::{AnyReceiver, DataSample, Pools};
use crate::stats::Span;
use crate::units::{Bytes, Duration, Instant};

/// Bytes on the wire of a SACK option without its blocks, padding included (RFC 2018 §3).
const SACK_OPTION: u32 = 4;
/// Bytes on the wire of a SACK block (RFC 2018 §3).
const SACK_BLOCK: u32 = 8;
/// Duplicate acknowledgements that the law is told of.
const DUP_THRESH: u32 = 3;

/// Acknowledgements after a repeated segment that are not delayed (Linux: TCP_MAX_QUICKACKS).
const MAX_QUICK_ACKS: u32 = 16;

/// How many segments are acknowledged together where acknowledgements are [thinned](Receiver::thin) (RFC 5681 §4.2), and how long the
/// first of them waits (Linux: TCP_DELACK_MIN).
const THINNED_EVERY: u32 = 2;
const THINNED_TIMEOUT: Duration = Duration::from_millis(40);

/// Acknowledgements of what is out of order that go at once, before they are compressed (TCP_FASTRETRANS_THRESH).
const UNCOMPRESSED: u32 = 3;
/// How many are one at most (tcp_comp_sack_nr), and how long the first of them waits: a share of the round-trip time, and no
/// longer (tcp_comp_sack_delay_ns).
const COMPRESSED: u32 = 44;
const COMPRESSION_SHARE: u64 = 20;
const COMPRESSION: Duration = Duration::from_millis(1);

/// The receiving side of a connection. Its fields stay in this order, as a [`Sender`](super::Sender)'s do: what each segment touches
/// fills the first two cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    /// Next byte expected (RCV.NXT).
    next: u64,
    /// The window's right edge, which never moves left: what lies beyond is refused.
    edge: u64,
    ranges: Ranges,
    sample_end: Instant,

    config: Arc<ReceiverConfig>,
    span: Span,
    law: AnyReceiver,
    duplicate_acks: u32,
    has_started: bool,
    /// Whether the next acknowledgement tells of the routers' [feedback](Self::feedback).
    tells: bool,
    /// Of these the first two numbers.
    stats: ReceiverStats,

    feedback: Signal,
    /// What had been delivered when the sampling interval began.
    sampled: Bytes,
    flow: u32,
    /// Segments in order that are not acknowledged yet, and what the first of them echoes.
    delayed: u32,
    delayed_echo: Instant,
    /// How long they wait, where that is not the same for all.
    delay: AckDelay,
    /// The window's right edge, as the last acknowledgement told it where they are delayed.
    told: u64,
    /// Of what is out of order: acknowledgements since the next byte expected last moved, and those of them that wait.
    repeated: (u64, u32),
    compressed: u32,
    /// The round-trip time of the handshake; without one that of a long way.
    rtt: Duration,
    /// What came twice, until an acknowledgement tells of it.
    twice: Option<(u64, u64)>,
    /// How far the window has grown; none: it is the buffer.
    tuning: Option<Box<Autotuning>>,
    /// Acknowledgements that are not to be delayed.
    quick: u32,
    /// Whether every second segment is acknowledged at once, and not all, for as long as somebody says so.
    is_thinned: bool,
    /// When the delayed acknowledgement is due; [`Instant::MAX`]: none is.
    deadline: Instant,
    /// The acknowledgement that is due now.
    due: Option<Due>,
    syn_ack_sent: Option<Instant>,
    outbox: VecDeque<Departure<Packet>>,
}

/// The most that a packet can tell of.
const LARGEST_BUFFER: Bytes = Bytes::new(u32::MAX as u64);

/// An acknowledgement to send.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    echo: Instant,
    kind: Kind,
}

impl Receiver {
    /// A receiver of flow `flow` that counts within `span`. Many may share what they are told.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(flow: u32, config: impl Into<Arc<ReceiverConfig>>, span: Span) -> Result<Self, ParameterError> {
        let mut config = config.into();
        config.validate()?;
        if config.buffer > LARGEST_BUFFER {
            Arc::make_mut(&mut config).buffer = LARGEST_BUFFER;
        }
        let law = AnyReceiver::new(&config.law, config.mss)?;
        Ok(Self {
            next: 0,
            edge: 0,
            ranges: Ranges::default(),
            due: None,
            delayed: 0,
            delayed_echo: Instant::ZERO,
            delay: AckDelay::default(),
            told: 0,
            repeated: (0, 0),
            compressed: 0,
            rtt: Duration::MAX,
            twice: None,
            tuning: config.autotuning.then(|| Box::new(Autotuning::new(config.mss, config.buffer))),
            quick: config.quick_acks,
            is_thinned: false,
            deadline: Instant::MAX,
            duplicate_acks: 0,
            feedback: Signal::None,
            syn_ack_sent: None,
            has_started: false,
            law,
            flow,
            span,
            sample_end: config.sample_interval.map_or(Instant::MAX, |interval| span.from + interval),
            sampled: Bytes::ZERO,
            tells: false,
            config,
            stats: ReceiverStats::default(),
            outbox: VecDeque::new(),
        })
    }

    /// Whether the receiver may have something to do by itself: only with delayed acknowledgements.
    pub fn has_timer(&self) -> bool {
        self.every() > 1
    }

    /// Every how many segments it acknowledges.
    fn every(&self) -> u32 {
        if self.is_thinned { self.config.ack_every.max(THINNED_EVERY) } else { self.config.ack_every }
    }

    /// From now on every second segment in order is acknowledged at once, and not all, or as before.
    pub fn thin(&mut self, is_thinned: bool) {
        self.is_thinned = is_thinned;
    }

    /// The size on the wire of all its acknowledgements, if all are as large and its window is never short.
    pub fn size_of_all(&self) -> Option<Bytes> {
        let is_never_short = self.law.is_plain() && self.tuning.is_none() && self.config.buffer >= LARGEST_BUFFER;
        (is_never_short && !self.config.sack).then(|| Bytes::new(u64::from(self.config.ack_size)))
    }

    /// Payload delivered to the application in all.
    pub fn delivered(&self) -> Bytes {
        Bytes::new(self.next)
    }

    /// The window that an acknowledgement would advertise now.
    pub fn window(&self) -> Bytes {
        Bytes::new(self.edge - self.next)
    }

    /// The law that chooses the window.
    pub fn law(&self) -> &AnyReceiver {
        &self.law
    }

    /// The law has heard what came at `now`, and meets the others of its station in their `pool`.
    pub fn meet_others(&mut self, now: Instant, pool: &mut Pools) {
        self.law.meet_others(now, pool);
    }

    /// Payload that has come in all, in order or not.
    pub fn received(&self) -> u64 {
        self.next + self.ranges.bytes()
    }

    /// The right edge of the window, as a byte of payload.
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// How far right the window may end: the buffer has no room for more.
    pub fn most_edge(&self) -> u64 {
        self.next.saturating_add(self.config.buffer.get())
    }

    /// Whether an acknowledgement is to go now.
    pub fn is_acknowledging(&self) -> bool {
        self.due.is_some()
    }

    /// The window ends at byte `edge` from `now` on, or further right, within the buffer. The acknowledgement that is to go now tells of
    /// it, otherwise a window update, which takes along what waits for a delayed one and else echoes `echo`, as the last one did.
    pub fn grant(&mut self, now: Instant, edge: u64, echo: Instant) {
        let edge = edge.min(self.most_edge());
        if edge <= self.edge {
            return;
        }
        self.edge = edge;
        if self.due.is_none() {
            let waits = self.delayed > 0 || self.compressed > 0;
            let (echo, kind) = if waits { (self.delayed_echo, Kind::Ack) } else { (echo, Kind::Update) };
            (self.delayed, self.compressed, self.deadline) = (0, 0, Instant::MAX);
            self.due = Some(Due { at: now, echo, kind });
        }
    }

    /// What was counted.
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// Ends the sampling of goodput: intervals that end by `now` are complete, even if nothing came in them.
    pub fn finish(&mut self, now: Instant) {
        self.close_samples(now);
    }

    #[cold]
    #[inline(never)]
    fn on_syn(&mut self, now: Instant) {
        let window = self.tuned().map_or_else(|| self.law.first_window(self.config.buffer), Autotuning::window);
        if self.syn_ack_sent.is_none() {
            self.edge = window.get();
        }
        self.syn_ack_sent = Some(now);
    }

    /// Takes data in; true if it is simply the next segment.
    #[inline(always)]
    fn on_data(&mut self, now: Instant, data: &Segment, signal: &Signal) -> bool {
        if !self.has_started {
            self.start(now, &{ *data }); // a copy, so that others need not be in memory
        }
        let (start, end) = (data.seq, data.seq + u64::from(data.payload));
        let is_plain = start == self.next && end <= self.edge && self.ranges.is_empty();
        let brought = if is_plain {
            self.next = end;
            u64::from(data.payload)
        } else {
            self.take_irregular(now, start, end)
        };
        self.advertise(now, data, signal);
        if self.span.contains(now) {
            if now >= self.sample_end {
                self.close_samples(now);
            }
            self.stats.packets += 1;
            self.stats.delivered += Bytes::new(brought);
        }
        if brought > 0 {
            self.duplicate_acks = 0;
        } else {
            self.duplicate_acks += 1;
            if self.duplicate_acks == DUP_THRESH {
                self.law.on_three_duplicate_acks();
            }
        }
        if signal.is_request() {
            self.take_feedback(signal);
        }
        is_plain
    }

    /// What the routers have told is sent back.
    fn take_feedback(&mut self, signal: &Signal) {
        let echo = signal.echo();
        self.feedback = if self.delayed > 0 { self.feedback.joined(echo) } else { echo };
        self.tells = true;
    }

    /// What is not simply the next segment: a repetition, one that comes too early, one that fills a gap, one beyond
    /// the window. Gives by how much the next byte expected moves on.
    #[cold]
    fn take_irregular(&mut self, now: Instant, start: u64, end: u64) -> u64 {
        let before = self.next;
        let counts = u64::from(self.span.contains(now));
        if end > self.edge {
            self.stats.refused += counts;
        } else if end <= self.next {
            self.stats.duplicates += counts;
            let quick = self.config.quick_acks.min(MAX_QUICK_ACKS);
            self.quick = self.quick.max(quick);
            if let Some(clock) = self.clock() {
                self.delay.reset(clock);
            }
            self.tell_twice(start, end);
        } else if start <= self.next {
            self.next = self.ranges.deliver(end);
        } else if self.ranges.insert(start, end) {
            self.stats.out_of_order += counts;
        } else {
            self.stats.duplicates += counts;
            self.tell_twice(start, end);
        }
        self.next - before
    }

    fn tell_twice(&mut self, start: u64, end: u64) {
        if self.config.dsack {
            self.twice = Some((start, end));
        }
    }

    /// Lets the law choose the window and moves the right edge, never to the left (RFC 9293 §3.8.6).
    #[inline(always)]
    fn advertise(&mut self, now: Instant, data: &Segment, signal: &Signal) {
        let buffer = self.config.buffer;
        let window = if self.law.is_plain() {
            if self.config.autotuning { self.tune(now, &{ *data }) } else { buffer }
        } else {
            self.law.on_packet(
                &DataSample {
                    now,
                    size: data.size(),
                    payload: data.payload.into(),
                    signal: *signal,
                    rtt: (data.echo != Instant::ZERO).then(|| now.saturating_since(data.echo)),
                    delayed: f64::from(self.every().saturating_sub(1)) / 2.0,
                },
                buffer,
            )
        };
        self.edge = self.edge.max(self.next + window.get());
    }

    /// What lets a plain window grow.
    fn tuned(&self) -> Option<&Autotuning> {
        self.tuning.as_deref().filter(|_| self.law.is_plain())
    }

    /// The window, grown by a segment; while it grows nothing is delayed (tcp_grow_window).
    #[cold]
    fn tune(&mut self, now: Instant, data: &Segment) -> Bytes {
        let Some(tuning) = &mut self.tuning else { return self.config.buffer };
        let rtt = (data.echo != Instant::ZERO).then(|| now.saturating_since(data.echo));
        if tuning.receive(now, rtt, (data.payload.into(), self.next, self.ranges.highest())) {
            self.quick |= 1; // it stays what it is if it is odd
        }
        tuning.window()
    }

    #[cold]
    fn start(&mut self, now: Instant, first: &Segment) {
        self.has_started = true;
        match self.syn_ack_sent {
            Some(sent) => {
                self.rtt = now.saturating_since(sent);
                self.law.on_start(self.rtt);
            }
            None => self.edge = first.seq + self.tuned().map_or(self.config.buffer, Autotuning::window).get(),
        }
    }

    /// Acknowledges at once or later (RFC 5681 §4.2): out of order, repeated or filling a gap, at once.
    #[inline]
    fn acknowledge(&mut self, now: Instant, echo: Instant, is_plain: bool) {
        if self.every() > 1 || self.delayed > 0 {
            self.acknowledge_later(now, echo, is_plain);
        } else {
            self.due = Some(Due { at: now, echo, kind: Kind::Ack });
        }
    }

    fn acknowledge_later(&mut self, now: Instant, echo: Instant, is_plain: bool) {
        let clock = self.clock();
        if clock.is_some_and(|clock| self.delay.hear(now, self.next, clock)) {
            self.quick = self.quick.max(self.config.quick_acks.min(MAX_QUICK_ACKS));
        }
        // RFC 7323 §4.3: an acknowledgement of several segments echoes the first of them.
        let echo = if self.delayed > 0 { self.delayed_echo } else { echo };
        let another_comes = !self.is_thinned || self.edge - self.next >= u64::from(self.config.mss);
        if is_plain && self.delayed + 1 < self.every() && self.quick == 0 && another_comes && !self.is_pressed() {
            if self.delayed == 0 {
                self.delayed_echo = echo;
                let timeout = if self.config.delays() { self.config.ack_timeout } else { THINNED_TIMEOUT };
                self.deadline = clock.map_or(now + timeout, |clock| self.delay.until(now, clock));
            }
            self.delayed += 1;
        } else if !is_plain && self.may_compress() {
            self.compressed += 1;
            self.delayed_echo = echo;
            if self.compressed == 1 {
                self.deadline = now + (self.rtt / COMPRESSION_SHARE).min(COMPRESSION);
            }
        } else {
            if let (1, Some(clock)) = (self.quick, clock) {
                self.delay.reset(clock);
            }
            self.quick = self.quick.saturating_sub(1);
            self.delayed = 0;
            self.compressed = 0;
            self.deadline = Instant::MAX;
            self.told = self.edge;
            self.due = Some(Due { at: now, echo, kind: Kind::Ack });
        }
    }

    /// By which acknowledgements wait; none: all as long.
    fn clock(&self) -> Option<AckClock> {
        AckClock::new(&self.config, self.rtt)
    }

    /// Whether the sender needs to know the window now: it has grown by two segments (RFC 1122 §4.2.3.3), or the sender must wait for
    /// it before it has sent as many.
    fn is_pressed(&self) -> bool {
        let two = 2 * u64::from(self.config.mss);
        self.law.is_prompt() && (self.edge - self.told >= two || self.edge - self.next < two)
    }

    /// Whether the acknowledgement of something out of order may wait for those of more (__tcp_ack_snd_check): not the first three
    /// at each gap, and not if something came twice.
    fn may_compress(&mut self) -> bool {
        let waits = self.config.sack_compression && self.config.sack && !self.ranges.is_empty();
        if !waits || self.quick > 0 || self.twice.is_some() || self.compressed >= COMPRESSED {
            return false;
        }
        let (next, count) = self.repeated;
        let count = if next == self.next { count } else { 0 };
        self.repeated = (self.next, (count + 1).min(UNCOMPRESSED + 1));
        count >= UNCOMPRESSED
    }

    /// Completes the sampling intervals that end by `now`.
    #[cold]
    fn close_samples(&mut self, now: Instant) {
        if let Some(interval) = self.config.sample_interval {
            while self.sample_end <= now.min(self.span.until) {
                self.stats.samples.push((self.stats.delivered - self.sampled).get());
                self.sampled = self.stats.delivered;
                self.sample_end += interval;
            }
        }
    }

    /// Serves what earlier arrivals and the timer have left before an arrival at `now`.
    #[cold]
    fn catch_up(&mut self, now: Instant) {
        self.send_due();
        if self.deadline <= now {
            if let (0, Some(clock)) = (self.compressed, self.clock()) {
                self.delay.missed(clock);
            }
            self.told = self.edge;
            self.due = Some(Due { at: self.deadline, echo: self.delayed_echo, kind: Kind::Ack });
            self.deadline = Instant::MAX;
            self.delayed = 0;
            self.compressed = 0;
            self.send_due();
        }
    }

    fn send_due(&mut self) {
        if let Some(departure) = self.take_due() {
            self.outbox.push_back(departure);
        }
    }

    #[inline]
    fn take_due(&mut self) -> Option<Departure<Packet>> {
        let due = self.due.take()?;
        Some(Departure { at: due.at, packet: self.build(due).into_packet(self.flow) })
    }

    #[inline(always)]
    fn build(&mut self, due: Due) -> Ack {
        let Due { at: sent, echo, kind } = due;
        let (mut size, mut sack) = (self.config.ack_size, None);
        if self.config.sack && (!self.ranges.is_empty() || self.twice.is_some()) && kind != Kind::SynAck {
            let blocks = self.select();
            size += SACK_OPTION + SACK_BLOCK * blocks.iter().count() as u32;
            sack = Some(blocks);
        }
        Ack {
            number: if kind == Kind::SynAck { 0 } else { self.next },
            window: (self.edge - self.next).min(u64::from(u32::MAX)) as u32,
            size,
            sent,
            echo,
            signal: if self.tells { self.feedback } else { Signal::None },
            sack,
            kind,
        }
    }

    #[cold]
    fn select(&mut self) -> Box<SackBlocks> {
        let held = self.ranges.sack_blocks();
        let Some((start, end)) = self.twice.take() else { return Box::new(held) };
        // RFC 2883 §4: what came twice goes first, and once.
        let mut blocks = SackBlocks::default();
        blocks.push(start, end);
        held.iter().for_each(|(start, end)| blocks.push(start, end));
        Box::new(blocks)
    }

    /// Takes a SYN or data and answers at once: the short way of [`receive`](Element::receive) and one
    /// [`poll_departure`](Element::poll_departure) for a receiver without a [timer](Self::has_timer).
    #[inline(always)]
    pub fn answer(&mut self, now: Instant, heard: &Segment, signal: &Signal) -> Ack {
        let kind = if heard.is_data() {
            self.on_data(now, heard, signal);
            Kind::Ack
        } else {
            self.on_syn(now);
            Kind::SynAck
        };
        self.build(Due { at: now, echo: heard.sent, kind })
    }
}

impl Element<Packet> for Receiver {
    /// Takes a SYN or data. A delayed acknowledgement that is due at `now` goes before.
    #[inline]
    fn receive(&mut self, now: Instant, packet: Packet) {
        if self.due.is_some() || self.deadline <= now {
            self.catch_up(now);
        }
        let heard = Segment::of(&packet);
        if heard.is_data() {
            let is_plain = self.on_data(now, &heard, &packet.signal);
            self.acknowledge(now, heard.sent, is_plain && !(heard.is_pushed && self.config.ack_pushed));
        } else {
            self.on_syn(now);
            self.due = Some(Due { at: now, echo: heard.sent, kind: Kind::SynAck });
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        (self.deadline != Instant::MAX).then_some(self.deadline)
    }

    #[inline]
    fn wake(&mut self, now: Instant) {
        if self.deadline <= now {
            self.catch_up(now);
        }
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<Packet>> {
        match self.outbox.pop_front() {
            None => self.take_due(),
            departure => departure,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn what_each_segment_touches_fills_two_cache_lines() {
        assert_eq!(offset_of!(Receiver, config), 64);
        assert!(offset_of!(Receiver, stats) + offset_of!(ReceiverStats, duplicates) <= 128);
    }
}
