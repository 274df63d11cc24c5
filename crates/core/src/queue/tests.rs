// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::packet::Packet;
use crate::rng::Streams;
use crate::units::Duration;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn packet(seq: u64) -> Packet {
    Packet::data(0, seq, 1460, 40, Instant::ZERO)
}

const RATE: Rate = Rate::from_bps(10_000_000);

fn managed(limit: Limit, aqm: AqmConfig) -> Queue<Packet> {
    let config = QueueConfig { limit, aqm, marker: MarkerConfig::None };
    let stream = |purpose: &str| Streams::new(1).stream("queue", purpose);
    Queue::new(&config, RATE, stream, Span { from: at(0), until: at(100) }).unwrap()
}

fn queue(limit: Limit) -> Queue<Packet> {
    managed(limit, AqmConfig::DropTail)
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
    let config = QueueConfig { limit: Limit::Packets(0), ..QueueConfig::default() };
    let stream = |purpose: &str| Streams::new(1).stream("queue", purpose);
    let error = Queue::<Packet>::new(&config, RATE, stream, Span::ALWAYS).unwrap_err();
    assert_eq!(error.to_string(), "limit = 0: wanted at least 1 packet");
}
