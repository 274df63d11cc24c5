// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fair queueing (RFC 8290): deficit round robin in which flows that have just come are served before those that stay, with a
//! CoDel for each flow, or with nothing that drops before there is no room.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::ParameterError;
use crate::law::codel::{Backlog, Codel, CodelParams, HeadLaw};
use crate::packet::Parcel;
use crate::parameter::{Parameter, With};
use crate::parameters;
use crate::rng::Stream;
use crate::role::{AqmLaw, Dropped};
use crate::units::{Bytes, Instant, Rate};

parameters! {
    /// Fair queueing, without each flow's CoDel; the defaults are RFC 8290's, and Linux's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FqParams {
        /// Queues that flows are hashed into (RFC 8290 §5.2.2).
        pub queues: u32 = 1024, in 1..=65_536;
        /// Bytes that a queue may send in a round (RFC 8290 §5.2.1).
        pub quantum: Bytes = Bytes::new(1514), in Bytes::new(1)..=Bytes::new(1 << 30);
        /// Most packets dropped at once, from the flow with the most bytes, when the queue is full.
        pub batch: u32 = 64, in 1..;
    }
}

/// What watches the head of each flow's queue.
pub trait FlowLaw: HeadLaw + Sized {
    /// The parameters of the whole.
    type Params: Copy + core::fmt::Debug + PartialEq;

    /// Those of fair queueing among them.
    fn queueing(params: Self::Params) -> FqParams;

    /// The law of a flow's queue.
    ///
    /// # Errors
    /// A parameter outside its domain.
    fn of_flow(params: Self::Params) -> Result<Self, ParameterError>;
}

impl FlowLaw for Codel {
    type Params = With<FqParams, CodelParams>;

    fn queueing(params: Self::Params) -> FqParams {
        params.own
    }

    fn of_flow(params: Self::Params) -> Result<Self, ParameterError> {
        Self::new(params.common)
    }
}

/// Lets every packet pass.
#[derive(Clone, Copy, Debug)]
pub struct Patience;

impl HeadLaw for Patience {
    fn drops(&mut self, _now_s: f64, _waited_s: f64, _behind_bytes: f64) -> bool {
        false
    }
}

impl FlowLaw for Patience {
    type Params = FqParams;

    fn queueing(params: FqParams) -> FqParams {
        params
    }

    fn of_flow(_params: FqParams) -> Result<Self, ParameterError> {
        Ok(Self)
    }
}

/// Fair queueing with a CoDel for each flow.
pub type FqCodel<P> = FairQueues<P, Codel>;

/// Deficit round robin of flows alone: they wait for no others' packets, and nobody drops theirs before there is no room.
pub type Drr<P> = FairQueues<P, Patience>;

/// The flows' queues.
#[derive(Debug)]
pub struct FairQueues<P, L> {
    flows: Vec<Flow<P, L>>,
    /// Queues that wait for their turn, by their place: those that have just become active, and the others.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
    bytes: Bytes,
    quantum: i64,
    batch: usize,
    /// Makes the hash another in each run.
    perturbation: u64,
    /// What flows are called in the whole network, if this is a part of it.
    names: Option<Arc<[u32]>>,
    /// The queue that the last packet joined.
    last: usize,
}

#[derive(Debug)]
struct Flow<P, L> {
    backlog: Backlog<P, L>,
    /// Bytes that it may still send in its turn.
    credit: i64,
    /// Whether it is on one of the lists.
    is_active: bool,
}

impl<P: Parcel, L: FlowLaw> FairQueues<P, L> {
    pub(super) fn new(all: L::Params, stream: &mut Stream) -> Result<Self, ParameterError> {
        let params = L::queueing(all);
        params.validate()?;
        let flow = |_| Ok(Flow { backlog: Backlog::under(L::of_flow(all)?), credit: 0, is_active: false });
        Ok(Self {
            flows: (0..params.queues).map(flow).collect::<Result<_, ParameterError>>()?,
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: Bytes::ZERO,
            quantum: params.quantum.get() as i64,
            batch: params.batch as usize,
            perturbation: (stream.uniform() * 9_007_199_254_740_992.0) as u64,
            names: None,
            last: 0,
        })
    }

    /// The queue of a flow: the finish of splitmix64 over its number, modulo the number of queues.
    fn place(&self, flow: u64) -> usize {
        let name = self.names.as_ref().and_then(|names| names.get(flow as usize));
        let mut hash = name.map_or(flow, |&name| u64::from(name));
        hash = hash.wrapping_add(self.perturbation).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((hash ^ (hash >> 31)) % self.flows.len() as u64) as usize
    }
}

impl<P: Parcel, L: FlowLaw> AqmLaw<P> for FairQueues<P, L> {
    type Params = L::Params;

    fn set_up(params: Self::Params, _rate: Rate, stream: &dyn Fn(&str) -> Stream) -> Result<Self, ParameterError> {
        Self::new(params, &mut stream("perturbation"))
    }

    fn keeps(&self) -> bool {
        true
    }

    fn kept(&self) -> (usize, Bytes) {
        (self.packets, self.bytes)
    }

    /// The packet joins its flow's queue.
    ///
    /// //= RFC 8290 §4.1
    fn enqueue(&mut self, now: Instant, packet: P) {
        let place = self.place(packet.flow());
        self.packets += 1;
        self.bytes += packet.size();
        let flow = &mut self.flows[place];
        flow.backlog.enqueue(now, packet);
        if !flow.is_active {
            flow.is_active = true;
            flow.credit = self.quantum;
            self.new.push_back(place);
        }
        self.last = place;
    }

    /// The packet whose turn it is.
    ///
    /// //= RFC 8290 §4.2
    fn dequeue(&mut self, now: Instant, dropped: &mut Dropped) -> Option<(Instant, P)> {
        loop {
            let is_new = !self.new.is_empty();
            let place = if is_new { self.new.pop_front() } else { self.old.pop_front() }?;
            let flow = &mut self.flows[place];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                self.old.push_back(place);
                continue;
            }
            let before = Dropped { packets: flow.backlog.len(), bytes: flow.backlog.bytes() };
            let taken = flow.backlog.dequeue(now, dropped);
            self.packets -= before.packets - flow.backlog.len();
            self.bytes -= before.bytes - flow.backlog.bytes();
            match taken {
                Some((arrived, packet)) => {
                    flow.credit -= packet.size().get() as i64;
                    if is_new {
                        self.new.push_front(place)
                    } else {
                        self.old.push_front(place)
                    }
                    return Some((arrived, packet));
                }
                // A new queue that runs empty goes through the old ones once, so that nobody stays new for ever.
                None if is_new => self.old.push_back(place),
                None => flow.is_active = false,
            }
        }
    }

    fn makes_room(&self) -> bool {
        true
    }

    /// Packets are dropped from the head of the queue with the most bytes: the oldest, whose senders will know soonest. Linux
    /// drops half of its packets at once, and at least one; a batch of 1 is the RFC's rule.
    ///
    /// //= RFC 8290 §4.1
    fn make_room(&mut self) -> Dropped {
        let mut dropped = Dropped::default();
        let has_some = |place: &usize| !self.flows[*place].backlog.is_empty();
        let bytes_of = |place: &usize| self.flows[*place].backlog.bytes();
        // Of queues alike the first in turn. Empty ones may wait their turn out beside packets of no bytes.
        let fattest = self.new.iter().chain(&self.old).copied().rev().filter(has_some).max_by_key(bytes_of);
        let Some(place) = fattest else { return dropped };
        let backlog = &mut self.flows[place].backlog;
        for _ in 0..(backlog.len() / 2).clamp(1, self.batch) {
            if let Some((_, packet)) = backlog.take_head() {
                dropped.count(packet.size());
            }
        }
        self.packets -= dropped.packets;
        self.bytes -= dropped.bytes;
        dropped
    }

    // Drops come from the head, and the last packet is at the tail.
    fn keeps_last(&self) -> bool {
        !self.flows[self.last].backlog.is_empty()
    }

    fn call_flows(&mut self, names: &Arc<[u32]>) {
        self.names = Some(Arc::clone(names));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::rng::Streams;
    use crate::units::Duration;

    fn fq(params: FqParams) -> FqCodel<Packet> {
        FqCodel::new(With { own: params, ..With::default() }, &mut Streams::new(1).stream("link", "perturbation"))
            .unwrap()
    }

    fn packet(flow: u32, seq: u64, size: u32) -> Packet {
        Packet::data(flow, seq, size - 40, 40, Instant::ZERO)
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn order(fq: &mut FqCodel<Packet>) -> Vec<(u32, u64)> {
        let mut dropped = Dropped::default();
        let order = std::iter::from_fn(|| fq.dequeue(at(1), &mut dropped)).map(|(_, p)| (p.flow, p.seq())).collect();
        assert_eq!((dropped, fq.kept()), (Dropped::default(), (0, Bytes::ZERO)));
        order
    }

    //= RFC 8290 §4.2
    #[test]
    fn queues_take_turns_by_bytes() {
        let mut fq = fq(FqParams { quantum: Bytes::new(1500), ..FqParams::default() });
        (0..3).for_each(|seq| fq.enqueue(at(0), packet(1, seq, 1500)));
        (0..6).for_each(|seq| fq.enqueue(at(0), packet(2, seq, 750)));
        // 1500 B a turn: a packet of the first, two of the second.
        let wanted = [(1, 0), (2, 0), (2, 1), (1, 1), (2, 2), (2, 3), (1, 2), (2, 4), (2, 5)];
        assert_eq!(order(&mut fq), wanted);
    }

    #[test]
    fn packets_of_no_bytes_make_room_beside_an_empty_queue() {
        let mut fq = fq(FqParams::default());
        let empty = |flow| Packet::data(flow, 0, 0, 0, Instant::ZERO);
        fq.enqueue(at(0), empty(1));
        assert!(fq.dequeue(at(0), &mut Dropped::default()).is_some());
        // That queue waits its turn out, empty and first.
        fq.enqueue(at(0), empty(2));
        assert_eq!(fq.make_room(), Dropped { packets: 1, bytes: Bytes::ZERO });
    }

    //= RFC 8290 §4.1, §4.2
    #[test]
    fn who_has_just_come_goes_first_and_only_once() {
        let mut fq = fq(FqParams::default());
        let mut dropped = Dropped::default();
        (0..4).for_each(|seq| fq.enqueue(at(0), packet(1, seq, 1500)));
        // Two packets use up the first quantum of 1514 B, and the queue is an old one.
        for wanted in [0, 1] {
            assert_eq!(fq.dequeue(at(0), &mut dropped).unwrap().1.seq(), wanted);
        }
        fq.enqueue(at(0), packet(2, 0, 100));
        assert_eq!(fq.dequeue(at(0), &mut dropped).unwrap().1.flow, 2);
        // Empty now, but on its way through the old ones: a further packet waits until the first has used its quantum.
        assert_eq!(fq.dequeue(at(0), &mut dropped).unwrap().1.seq(), 2);
        (1..4).for_each(|seq| fq.enqueue(at(0), packet(2, seq, 1000)));
        assert_eq!(order(&mut fq), [(2, 1), (2, 2), (1, 3), (2, 3)]);
    }

    //= RFC 8290 §4.1
    #[test]
    fn the_queue_with_the_most_bytes_pays_for_the_lack_of_room() {
        let mut fq = fq(FqParams { batch: 3, ..FqParams::default() });
        (0..4).for_each(|seq| fq.enqueue(at(0), packet(1, seq, 1500)));
        (0..10).for_each(|seq| fq.enqueue(at(0), packet(2, seq, 100)));
        assert_eq!(fq.make_room(), Dropped { packets: 2, bytes: Bytes::new(3000) }, "half of four");
        assert_eq!(fq.make_room(), Dropped { packets: 1, bytes: Bytes::new(1500) }, "half of two");
        assert_eq!(fq.make_room(), Dropped { packets: 1, bytes: Bytes::new(1500) }, "half of one is one");
        assert_eq!(fq.make_room(), Dropped { packets: 3, bytes: Bytes::new(300) }, "three at most");
        assert_eq!(order(&mut fq), [3, 4, 5, 6, 7, 8, 9].map(|seq| (2, seq)), "from the head");
    }

    #[test]
    fn without_codel_nobody_is_dropped_and_turns_are_the_same() {
        let (mut drr, mut managed) = (
            Drr::<Packet>::new(FqParams::default(), &mut Streams::new(1).stream("link", "perturbation")).unwrap(),
            fq(FqParams::default()),
        );
        for (flow, seq) in [(1, 0), (1, 1), (2, 0), (1, 2), (2, 1)] {
            drr.enqueue(at(0), packet(flow, seq, 1500));
            managed.enqueue(at(0), packet(flow, seq, 1500));
        }
        let mut dropped = Dropped::default();
        let late = std::iter::from_fn(|| drr.dequeue(at(60_000), &mut dropped)).map(|(_, p)| (p.flow, p.seq()));
        assert_eq!(late.collect::<Vec<_>>(), order(&mut managed));
        assert_eq!(dropped, Dropped::default());
    }

    #[test]
    fn the_hash_spreads_flows_and_depends_on_the_run() {
        let fq_of = |seed| FqCodel::<Packet>::new(With::default(), &mut Streams::new(seed).stream("l", "p"));
        let places = |seed| (0..1024).map(|flow| fq_of(seed).as_ref().unwrap().place(flow)).collect::<Vec<_>>();
        let (mut one, other) = (places(1), places(2));
        assert_ne!(one, other);
        one.sort_unstable();
        one.dedup();
        // 1024 balls in 1024 bins fill 1 − 1/e of them, 647 ± 10.
        assert!((607..687).contains(&one.len()), "{}", one.len());
    }

    #[test]
    fn what_is_no_fq_codel_is_refused() {
        let key = |params| FqCodel::<Packet>::new(params, &mut Streams::new(1).stream("l", "p")).unwrap_err().key;
        let usual = FqParams::default();
        let with = |own| With { own, ..With::default() };
        assert_eq!(key(with(FqParams { queues: 0, ..usual })), "queues");
        assert_eq!(key(with(FqParams { quantum: Bytes::ZERO, ..usual })), "quantum");
        assert_eq!(key(with(FqParams { batch: 0, ..usual })), "batch");
        let common = CodelParams { target: Duration::ZERO, ..CodelParams::default() };
        assert_eq!(key(With { common, own: usual }), "target");
    }
}
