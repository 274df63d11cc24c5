// SPDX-License-Identifier: MIT OR Apache-2.0
//! The queue in front of a link or of a station's radio: a FIFO with a limit, a marker and a meter.

use std::collections::VecDeque;

use crate::error::{ParameterError, ensure};
use crate::marker::{Marker, MarkerConfig};
use crate::packet::Parcel;
use crate::stats::{Meter, Span};
use crate::units::{Bytes, Instant};

/// How much a queue may hold. A packet that would pass the limit is dropped on arrival (drop-tail).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Limit {
    /// No limit.
    #[default]
    None,
    /// At most so many bytes.
    Bytes(Bytes),
    /// At most so many packets.
    Packets(usize),
}

impl Limit {
    /// Whether a packet of `size` may join `packets` packets of `bytes` in all.
    #[inline]
    pub fn admits(&self, packets: usize, bytes: Bytes, size: Bytes) -> bool {
        match *self {
            Limit::None => true,
            Limit::Bytes(limit) => bytes + size <= limit,
            Limit::Packets(limit) => packets < limit,
        }
    }
}

/// A queue's parameters.
#[derive(Clone, Debug, Default)]
pub struct QueueConfig {
    /// The size of the buffer.
    pub limit: Limit,
    /// What the router writes into passing packets.
    pub marker: MarkerConfig,
}

/// A FIFO that owns its packets.
#[derive(Debug)]
pub struct Queue<P> {
    packets: VecDeque<(Instant, P)>,
    bytes: Bytes,
    /// The part of the head that has been sent already, and takes no room any more.
    head_sent: Bytes,
    /// Until when `meter` knows what was held.
    held_until: Instant,
    limit: Limit,
    marker: Marker,
    meter: Meter,
}

impl<P: Parcel> Queue<P> {
    /// An empty queue, measured over `span`.
    ///
    /// # Errors
    /// A limit of nothing, or a marker with a parameter outside its domain.
    pub fn new(config: &QueueConfig, span: Span) -> Result<Self, ParameterError> {
        match config.limit {
            Limit::None => {}
            Limit::Bytes(limit) => ensure(limit > Bytes::ZERO, "limit", format!("{limit:?}"), "more than 0 B")?,
            Limit::Packets(limit) => ensure(limit > 0, "limit", limit, "at least 1 packet")?,
        }
        Ok(Self {
            packets: VecDeque::with_capacity(64),
            bytes: Bytes::ZERO,
            head_sent: Bytes::ZERO,
            held_until: Instant::ZERO,
            limit: config.limit,
            marker: Marker::new(&config.marker)?,
            meter: Meter::new(span),
        })
    }

    /// Takes a packet in; false if there was no room and it was dropped.
    #[inline]
    pub fn push(&mut self, now: Instant, packet: P) -> bool {
        let size = packet.size();
        let accepted = self.limit.admits(self.packets.len(), self.bytes, size);
        self.meter.arrive(now, accepted);
        if accepted {
            self.account(now);
            self.bytes += size;
            self.packets.push_back((now, packet));
            self.marker.on_arrival(now, self.bytes);
        }
        accepted
    }

    /// The head leaves: the marker stamps it and the meter counts it.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        let (arrived, mut packet) = self.remove(now)?;
        let size = packet.size();
        self.meter.depart(arrived, now, size);
        self.marker.on_departure(now, size, self.bytes, packet.signal_mut());
        Some(packet)
    }

    /// The head is lost on its way out: taken from the queue and counted as lost.
    pub fn discard(&mut self, now: Instant) -> Option<P> {
        let (_, packet) = self.remove(now)?;
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
    fn remove(&mut self, now: Instant) -> Option<(Instant, P)> {
        self.account(now);
        let (arrived, packet) = self.packets.pop_front()?;
        self.bytes -= packet.size() - core::mem::take(&mut self.head_sent);
        Some((arrived, packet))
    }

    #[inline]
    fn account(&mut self, now: Instant) {
        // A packet waits as a whole until it leaves: only so does Little's law hold.
        self.meter.hold(self.held_until, now, self.bytes + self.head_sent);
        self.held_until = now;
    }

    /// The part of the head that has been sent.
    #[inline]
    pub fn head_sent(&self) -> Bytes {
        self.head_sent
    }

    /// The packet that leaves next.
    #[inline]
    pub fn front(&self) -> Option<&P> {
        self.packets.front().map(|(_, packet)| packet)
    }

    /// Packets held.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Bytes held, without the part of the head that has been sent.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// What the router writes into passing packets.
    pub fn marker(&self) -> &Marker {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::units::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn packet(seq: u64) -> Packet {
        Packet::data(0, seq, 1460, 40, Instant::ZERO)
    }

    fn queue(limit: Limit) -> Queue<Packet> {
        Queue::new(&QueueConfig { limit, marker: MarkerConfig::None }, Span { from: at(0), until: at(100) }).unwrap()
    }

    #[test]
    fn a_limit_in_bytes_counts_whole_packets() {
        let mut queue = queue(Limit::Bytes(Bytes::new(4499)));
        assert!(queue.push(at(0), packet(0)));
        assert!(queue.push(at(0), packet(1)));
        assert!(!queue.push(at(0), packet(2)), "three packets are 4500 B");
        assert_eq!((queue.len(), queue.bytes(), queue.meter().drops), (2, Bytes::new(3000), 1));
    }

    #[test]
    fn a_limit_in_packets_ignores_their_size() {
        let mut queue = queue(Limit::Packets(1));
        assert!(queue.push(at(0), packet(0)));
        assert!(!queue.push(at(0), packet(1)));
    }

    #[test]
    fn what_has_been_sent_of_the_head_takes_no_room() {
        let mut queue = queue(Limit::Bytes(Bytes::new(3000)));
        assert!(queue.push(at(0), packet(0)) && queue.push(at(0), packet(1)));
        queue.send_part(at(1), Bytes::new(1000));
        queue.send_part(at(2), Bytes::new(1499));
        assert_eq!(queue.bytes(), Bytes::new(1501));
        assert!(!queue.push(at(2), packet(2)), "1501 B and 1500 B do not fit into 3000 B");
        assert_eq!(queue.pop(at(3)).map(|head| head.seq()), Some(0));
        assert_eq!((queue.bytes(), queue.head_sent()), (Bytes::new(1500), Bytes::ZERO));
        assert!(queue.push(at(3), packet(3)));
    }

    #[test]
    fn littles_law_holds() {
        let mut queue = queue(Limit::None);
        for i in 0..10 {
            queue.push(at(2 * i), packet(i));
        }
        for i in 0..10 {
            assert_eq!(queue.pop(at(50 + 3 * i)).unwrap().seq(), i);
        }
        queue.finish(at(100));
        // Delays are 50 + 3i − 2i = 50…59 ms, 54.5 ms in the mean; 15 kB left in 100 ms: L = λW.
        let rate = queue.meter().departed.as_f64() / 0.1;
        assert_eq!(queue.meter().delay.mean_s(), Some(0.0545));
        assert!((queue.meter().mean_bytes() - rate * 0.0545).abs() < 1e-9);
    }

    #[test]
    fn nothing_fits_is_refused() {
        let config = QueueConfig { limit: Limit::Packets(0), marker: MarkerConfig::None };
        let error = Queue::<Packet>::new(&config, Span::ALWAYS).unwrap_err();
        assert_eq!(error.to_string(), "limit = 0: wanted at least 1 packet");
    }
}
