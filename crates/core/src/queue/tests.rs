// SPDX-License-Identifier: MIT OR Apache-2.0
use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::law::clamp::{PriceForm, PriceParams};
use crate::law::codel::CodelParams;
use crate::law::fq_codel::FqParams;
use crate::law::red::RedParams;
use crate::law::two_queues::TwoQueuesParams;
use crate::packet::{Packet, Signal};
use crate::parameter::With;
use crate::rng::Streams;
use crate::units::{Duration, Packets};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn packet(seq: u64) -> Packet {
    Packet::data(0, seq, 1460, 40, Instant::ZERO)
}

const RATE: Rate = Rate::from_bps(10_000_000);

fn managed(limit: Option<Amount>, aqm: AqmParams) -> Queue<Packet> {
    let config = QueueConfig { buffer: Buffer { limit, aqm }, marker: MarkerParams::None };
    let stream = |purpose: &str| Streams::new(1).stream("queue", purpose);
    Queue::new(&config, RATE, stream, Span { from: at(0), until: at(100) }).unwrap()
}

fn queue(limit: Option<Amount>) -> Queue<Packet> {
    managed(limit, AqmParams::DropTail)
}

#[test]
fn a_limit_in_bytes_counts_whole_packets() {
    let mut queue = queue(Some(Amount::Bytes(Bytes::new(4499))));
    assert!(queue.push(at(0), packet(0)));
    assert!(queue.push(at(0), packet(1)));
    assert!(!queue.push(at(0), packet(2)), "three packets are 4500 B");
    assert_eq!((queue.len(), queue.bytes(), queue.meter().drops), (2, Bytes::new(3000), 1));
}

#[test]
fn a_limit_in_packets_ignores_their_size() {
    let mut queue = queue(Some(Amount::Packets(1)));
    assert!(queue.push(at(0), packet(0)));
    assert!(!queue.push(at(0), packet(1)));
}

#[test]
fn what_has_been_sent_of_the_head_takes_no_room() {
    let mut queue = queue(Some(Amount::Bytes(Bytes::new(3000))));
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
    let mut queue = queue(None);
    for i in 0..10 {
        queue.push(at(2 * i), packet(i));
    }
    for i in 0..10 {
        assert_eq!(queue.pop(at(50 + 3 * i)).unwrap().seq(), i);
    }
    queue.finish(at(100));
    // Delays are 50 + 3i − 2i = 50…59 ms, 54.5 ms in the mean; 15 kB left in 100 ms: L = λW.
    let rate = 1500.0 * queue.meter().departures() as f64 / 0.1;
    assert_eq!(queue.meter().delay.mean_s(), Some(0.0545));
    assert!((queue.meter().mean_bytes() - rate * 0.0545).abs() < 1e-9);
}

#[test]
fn nothing_fits_is_refused() {
    let buffer = Buffer { limit: Some(Amount::Packets(0)), ..Buffer::default() };
    let config = QueueConfig { buffer, ..QueueConfig::default() };
    let stream = |purpose: &str| Streams::new(1).stream("queue", purpose);
    let error = Queue::<Packet>::new(&config, RATE, stream, Span::ALWAYS).unwrap_err();
    assert_eq!(error.to_string(), "limit = 0 packets: wanted more than 0 B");
}

/// Every management, with settings at which it acts within a hundred milliseconds.
fn managements() -> [AqmParams; 6] {
    let codel =
        CodelParams { target: Duration::from_millis(1), interval: Duration::from_millis(5), mtu: Bytes::new(1500) };
    let red = RedParams {
        min_threshold: Packets(2.0),
        max_threshold: Packets(6.0),
        queue_weight: 0.3,
        ..RedParams::default()
    };
    let fair = With { own: FqParams { queues: 3, quantum: Bytes::new(800), batch: 2 }, common: codel };
    let two = AqmParams::TwoQueues(TwoQueuesParams::default());
    [
        AqmParams::DropTail,
        AqmParams::Red(red),
        AqmParams::Codel(codel),
        AqmParams::FqCodel(fair),
        AqmParams::Drr(fair.own),
        two,
    ]
}

/// A packet that says when it is gone.
struct Tracked {
    packet: Packet,
    number: usize,
    gone: Rc<RefCell<Vec<usize>>>,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.gone.borrow_mut().push(self.number);
    }
}

impl Parcel for Tracked {
    fn size(&self) -> Bytes {
        self.packet.size()
    }
    fn station(&self) -> usize {
        0
    }
    fn flow(&self) -> u64 {
        self.packet.flow()
    }
    fn signal(&self) -> &Signal {
        self.packet.signal()
    }
    fn signal_mut(&mut self) -> &mut Signal {
        self.packet.signal_mut()
    }
}

proptest! {
    /// Whatever the management and whoever is sent in parts: the head stays, the buffer is never passed, nothing is lost
    /// sight of, and Little's law holds, in that bytes over time are the sum over packets of size and stay.
    #[test]
    fn every_management_keeps_its_books(
        which in 0..6_usize,
        limit in prop_oneof![
            Just(None),
            (1..20_u64).prop_map(|n| Some(Amount::Packets(n))),
            (1500..20_000_u64).prop_map(|b| Some(Amount::Bytes(Bytes::new(b)))),
        ],
        steps in prop::collection::vec((0..900_u64, 0..5_u8, 0..4_u32, 1..1461_u32), 1..300),
    ) {
        let gone = Rc::new(RefCell::new(vec![]));
        let config = QueueConfig { buffer: Buffer { limit, aqm: managements()[which] }, ..QueueConfig::default() };
        let stream = |purpose: &str| Streams::new(1).stream("queue", purpose);
        let mut queue = Queue::new(&config, RATE, stream, Span { from: at(0), until: at(1000) }).unwrap();
        let mut now = Instant::ZERO;
        // Arrival and size of each packet; its stay while it has not gone.
        let mut packets: Vec<(Instant, Bytes)> = vec![];
        let mut area = 0.0;
        let (mut popped, mut sent) = (0, 0);
        for (gap_us, what, flow, payload) in steps {
            now += Duration::from_micros(gap_us);
            if what < 3 {
                let packet = Packet::data(flow, packets.len() as u64, payload, 40, now);
                packets.push((now, packet.size()));
                let held = queue.len();
                let tracked = Tracked { packet, number: packets.len() - 1, gone: Rc::clone(&gone) };
                let accepted = queue.push(now, tracked);
                prop_assert_eq!(accepted, !gone.borrow().contains(&(packets.len() - 1)));
                prop_assert!(queue.len() <= held + 1);
            } else if what == 3 {
                queue.let_go(now, Bytes::new(1));
                if let Some(head) = queue.front() {
                    let (number, size) = (head.number, head.size().get());
                    sent = sent.max(size / 2);
                    queue.send_part(now, Bytes::new(sent.min(size)));
                    prop_assert_eq!(queue.front().map(|head| head.number), Some(number));
                    prop_assert!(queue.ready_bytes() >= queue.head_sent());
                }
            } else {
                let head = queue.front().map(|head| head.number);
                let leaves = queue.pop(now);
                prop_assert!(head.is_none() || head == leaves.as_ref().map(|packet| packet.number), "the head stays");
                prop_assert!(leaves.is_some() || queue.is_empty(), "who waits is served");
                popped += u64::from(leaves.is_some());
                sent = 0;
            }
            for number in gone.borrow_mut().drain(..) {
                let (arrived, size) = packets[number];
                area += size.as_f64() * (now - arrived).as_secs_f64();
                packets[number].1 = Bytes::ZERO;
            }
            match limit {
                None => {}
                Some(Amount::Packets(limit)) => prop_assert!(queue.len() as u64 <= limit),
                Some(Amount::Bytes(limit)) => prop_assert!(queue.bytes() <= limit),
            }
            let held: u64 = packets.iter().map(|(_, size)| size.get()).sum();
            prop_assert_eq!(queue.bytes() + queue.head_sent(), Bytes::new(held));
        }
        queue.finish(at(1000));
        area += packets.iter().map(|(arrived, size)| size.as_f64() * (at(1000) - *arrived).as_secs_f64()).sum::<f64>();
        let meter = queue.meter();
        prop_assert!((meter.mean_bytes() - area).abs() < 1e-6, "{} and {area}", meter.mean_bytes());
        prop_assert_eq!(meter.arrivals, packets.len() as u64);
        prop_assert_eq!(meter.departures(), popped);
        prop_assert_eq!(meter.arrivals, meter.departures() + meter.drops + queue.len() as u64);
    }
}

#[test]
fn a_marker_goes_on_with_every_management() {
    for aqm in managements() {
        let config = QueueConfig {
            buffer: Buffer { aqm, ..Buffer::default() },
            marker: MarkerParams::Linear(PriceForm::Linear.of(PriceParams::new(Bytes::ZERO))),
        };
        let stream = |purpose: &str| Streams::new(1).stream("queue", purpose);
        let mut queue = Queue::new(&config, RATE, stream, Span::ALWAYS).unwrap();
        let mut prices = vec![];
        for i in 0..200 {
            queue.push(at(i), packet(i));
            queue.push(at(i), packet(i));
            prices.extend(queue.pop(at(i)).map(|packet| packet.signal.price()));
        }
        assert!(prices.iter().all(Option::is_some), "{aqm:?}");
        assert!(prices[prices.len() - 1] > Some(0.0), "{aqm:?}");
    }
}

#[test]
fn an_idle_line_lowers_reds_average() {
    // 200 arrivals bring the average well above 3; 98 idle milliseconds are 245 packets of 500 B at 10 Mbit/s, and 0.95²⁴⁵
    // is nothing.
    let red = RedParams {
        min_threshold: Packets(2.0),
        max_threshold: Packets(3.0),
        queue_weight: 0.05,
        gentle: false,
        ..RedParams::default()
    };
    let dropped = |rests: bool| {
        let mut queue = managed(None, AqmParams::Red(red));
        (0..200).for_each(|i| _ = queue.push(at(0), packet(i)));
        while queue.pop(at(1)).is_some() {}
        if rests {
            queue.rest(at(1));
        }
        let before = queue.meter().drops;
        (0..4).for_each(|i| _ = queue.push(at(99), packet(i)));
        queue.meter().drops - before
    };
    // Without the rest the third and the fourth, who find more than one packet, are dropped.
    assert_eq!((dropped(true), dropped(false)), (0, 2));
}
