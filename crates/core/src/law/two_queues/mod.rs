// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two queues with shared service (Katabi, Handley, Rohrs 2002, §6): one for packets that speak to routers, XCP's and QFCP's
//! with their acknowledgements, and one for all others, so that these do not fill the queue that those keep short.
//!
//! ```text
//!   speaks to routers ─► [ first in, first out ] ─┐ in turns, by bytes
//!   all others ────────► [ first in, first out ] ─┴─► departure
//! ```
//!
//! XCP's and QFCP's routers hear of their own queue alone. QFCP's finds the share of the service that it is left. On a
//! [WLAN](crate::wlan) this law does not act: there packets cost time, which the medium itself shares between the two.

use std::collections::VecDeque;

use crate::error::ParameterError;
use crate::packet::Parcel;
use crate::parameter::{Parameter, between};
use crate::parameters;
use crate::rng::Stream;
use crate::role::{AqmLaw, Dropped, Held};
use crate::units::{Bytes, Instant, Rate};

parameters! {
    /// Two queues, served in turns.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TwoQueuesParams {
        /// Share of the service, on a WLAN of the time, of packets that speak to routers; what one queue leaves the other has.
        pub share: f64 = 0.5, in between(0.0, 1.0);
        /// Bytes that both queues together send in a round; on a WLAN turns are by packets, and it does not matter.
        pub quantum: Bytes = Bytes::new(3028), in Bytes::new(1)..=Bytes::new(1 << 30);
    }
}

/// The two queues.
#[derive(Debug)]
pub struct TwoQueues<P> {
    /// That of all others, and that of those that speak.
    queues: [Line<P>; 2],
    /// Whose turn it is.
    turn: usize,
    /// Whether the packet that came last has been dropped.
    dropped_last: bool,
    /// Where it is.
    last: usize,
}

#[derive(Debug)]
struct Line<P> {
    packets: VecDeque<(Instant, P)>,
    bytes: Bytes,
    /// Bytes that it may send in a round, and still in this one.
    quantum: f64,
    credit: f64,
}

impl<P: Parcel> Line<P> {
    fn new(quantum: f64) -> Self {
        Self { packets: VecDeque::new(), bytes: Bytes::ZERO, quantum, credit: 0.0 }
    }

    fn held(&self) -> Held {
        Held { packets: self.packets.len(), bytes: self.bytes }
    }
}

impl<P: Parcel> AqmLaw<P> for TwoQueues<P> {
    type Params = TwoQueuesParams;

    fn set_up(params: TwoQueuesParams, _: Rate, _: &dyn Fn(&str) -> Stream) -> Result<Self, ParameterError> {
        params.validate()?;
        let TwoQueuesParams { share, quantum } = params;
        let queues = [1.0 - share, share].map(|share| Line::new(share * quantum.as_f64()));
        Ok(Self { queues, turn: 0, dropped_last: false, last: 0 })
    }

    fn keeps(&self) -> bool {
        true
    }

    fn apart(&self) -> Option<Held> {
        Some(self.queues[1].held())
    }

    fn kept(&self) -> (usize, Bytes) {
        let [others, speaking] = &self.queues;
        (others.packets.len() + speaking.packets.len(), others.bytes + speaking.bytes)
    }

    fn enqueue(&mut self, now: Instant, packet: P) {
        self.last = usize::from(packet.signal().speaks());
        self.dropped_last = false;
        let queue = &mut self.queues[self.last];
        queue.bytes += packet.size();
        queue.packets.push_back((now, packet));
    }

    /// Deficit round robin; an empty queue saves nothing up.
    fn dequeue(&mut self, _now: Instant, _dropped: &mut Dropped) -> Option<(Instant, P)> {
        if self.queues.iter().all(|queue| queue.packets.is_empty()) {
            self.queues.iter_mut().for_each(|queue| queue.credit = 0.0);
            return None;
        }
        loop {
            let queue = &mut self.queues[self.turn];
            if queue.packets.is_empty() {
                queue.credit = 0.0;
            } else if queue.credit > 0.0 {
                let taken = queue.packets.pop_front();
                if let Some((_, packet)) = &taken {
                    queue.bytes -= packet.size();
                    queue.credit -= packet.size().as_f64();
                }
                return taken;
            }
            self.turn = 1 - self.turn;
            let next = &mut self.queues[self.turn];
            next.credit += next.quantum;
        }
    }

    fn makes_room(&self) -> bool {
        true
    }

    /// The last packet of the longer queue finds no room.
    fn make_room(&mut self) -> Dropped {
        let place = usize::from(self.queues[1].bytes > self.queues[0].bytes);
        let mut dropped = Dropped::default();
        if let Some((_, packet)) = self.queues[place].packets.pop_back() {
            self.queues[place].bytes -= packet.size();
            dropped.count(packet.size());
            self.dropped_last |= place == self.last;
        }
        dropped
    }

    fn keeps_last(&self) -> bool {
        !self.dropped_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Packet, QfcpHeader, Signal};
    use crate::rng::Streams;

    fn two(params: TwoQueuesParams) -> Result<TwoQueues<Packet>, ParameterError> {
        let stream = |purpose: &str| Streams::new(1).stream("link", purpose);
        TwoQueues::set_up(params, Rate::from_bps(1), &stream)
    }

    fn packet(speaks: bool, seq: u64, size: u32) -> Packet {
        let signal = Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate: 1.0, silent: 1 });
        let mut packet = Packet::data(u32::from(speaks), seq, size - 40, 40, Instant::ZERO);
        if speaks {
            packet.signal = signal;
        }
        packet
    }

    fn order(queues: &mut TwoQueues<Packet>) -> Vec<(u32, u64)> {
        let mut dropped = Dropped::default();
        std::iter::from_fn(|| queues.dequeue(Instant::ZERO, &mut dropped)).map(|(_, p)| (p.flow, p.seq())).collect()
    }

    #[test]
    fn they_take_turns_by_bytes() {
        let mut queues = two(TwoQueuesParams { quantum: Bytes::new(3000), ..TwoQueuesParams::default() }).unwrap();
        (0..3).for_each(|seq| queues.enqueue(Instant::ZERO, packet(false, seq, 1500)));
        (0..5).for_each(|seq| queues.enqueue(Instant::ZERO, packet(true, seq, 750)));
        assert_eq!(queues.apart(), Some(Held { packets: 5, bytes: Bytes::new(3750) }));
        // 1500 B a turn: two packets of those that speak, one of the others.
        assert_eq!(order(&mut queues), [(1, 0), (1, 1), (0, 0), (1, 2), (1, 3), (0, 1), (1, 4), (0, 2)]);
        // A share of 0.75: 2250 B against 750, of which two rounds make a packet.
        let mut queues = two(TwoQueuesParams { quantum: Bytes::new(3000), share: 0.75 }).unwrap();
        (0..2).for_each(|seq| queues.enqueue(Instant::ZERO, packet(false, seq, 1500)));
        (0..8).for_each(|seq| queues.enqueue(Instant::ZERO, packet(true, seq, 750)));
        let speaking = order(&mut queues).iter().take(8).filter(|(flow, _)| *flow == 1).count();
        assert_eq!(speaking, 7);
    }

    #[test]
    fn the_longer_one_pays_for_the_lack_of_room() {
        let mut queues = two(TwoQueuesParams::default()).unwrap();
        (0..3).for_each(|seq| queues.enqueue(Instant::ZERO, packet(false, seq, 1500)));
        queues.enqueue(Instant::ZERO, packet(true, 0, 1500));
        assert_eq!(queues.make_room(), Dropped { packets: 1, bytes: Bytes::new(1500) });
        assert!(queues.keeps_last(), "the others' last was dropped");
        assert_eq!(order(&mut queues), [(1, 0), (0, 0), (0, 1)]);
        queues.enqueue(Instant::ZERO, packet(true, 1, 1500));
        assert_eq!((queues.make_room().packets, queues.keeps_last(), queues.kept().0), (1, false, 0));
    }

    #[test]
    fn what_is_no_share_is_refused() {
        assert_eq!(two(TwoQueuesParams { share: 1.0, ..TwoQueuesParams::default() }).unwrap_err().key, "share");
        let none = TwoQueuesParams { quantum: Bytes::ZERO, ..TwoQueuesParams::default() };
        assert_eq!(two(none).unwrap_err().key, "quantum");
    }
}
