// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both ends over a path that a test chooses.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::element::{Departure, Element};
use crate::law::tfrc::throughput;
use crate::packet::{Kind, Packet, Parcel, RateReport};
use crate::rng::{Stream, Streams};
use crate::stats::Span;
use crate::tfrc::{TfrcParams, TfrcReceiver, TfrcReceiverConfig, TfrcSender, TfrcSenderConfig};
use crate::units::{Bytes, Duration, Instant, Rate};

const MS: Duration = Duration::from_millis(1);

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS * ms
}

fn told(params: TfrcParams) -> TfrcSenderConfig {
    TfrcSenderConfig { params, ..TfrcSenderConfig::default() }
}

fn sender(config: TfrcSenderConfig) -> TfrcSender {
    TfrcSender::new(0, TfrcSenderConfig { payload: 1000, ..config }, Span::ALWAYS).unwrap()
}

fn receiver(config: TfrcReceiverConfig) -> TfrcReceiver {
    TfrcReceiver::new(0, TfrcReceiverConfig { payload: 1000, ..config }, Span::ALWAYS).unwrap()
}

fn all<E: Element<Packet>>(end: &mut E) -> Vec<Departure<Packet>> {
    std::iter::from_fn(|| end.poll_departure()).collect()
}

/// Packet `number`, sent at `sent` by a sender that takes the round trip for `rtt_ms`.
fn data(number: u64, sent: Instant, rtt_ms: u64) -> Packet {
    let mut packet = Packet::data(0, number, 1000, 40, sent);
    if rtt_ms > 0 {
        packet.echo = Instant::ZERO + ((sent - Instant::ZERO) - MS * rtt_ms);
    }
    packet
}

/// Packets each 10 ms from 1 s on, those in `lost` left out; gives the times of the feedback \[ms\] and what it tells.
fn feedback(receiver: &mut TfrcReceiver, count: u64, lost: &[u64]) -> Vec<(u64, RateReport)> {
    let mut told = vec![];
    for number in (0..count).filter(|number| !lost.contains(number)) {
        let now = at(1000 + 10 * number);
        receiver.receive(now, data(number, now, 100));
        told.extend(all(receiver).iter().map(|d| ((d.at - Instant::ZERO).as_nanos() / 1_000_000, d.packet.report())));
    }
    told
}

//= RFC 5348 §6.2
#[test]
fn feedback_comes_once_a_round_trip() {
    let told = feedback(&mut receiver(TfrcReceiverConfig::default()), 41, &[]);
    let times: Vec<u64> = told.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [1000, 1100, 1200, 1300, 1400], "at once, and then each 100 ms");
    // What is due in the instant of an arrival goes before it: nine packets after the first in the first interval.
    let rates: Vec<f64> = told.iter().map(|(_, report)| report.receive_rate).collect();
    assert_eq!(rates[1..], [90_000.0, 100_000.0, 100_000.0, 100_000.0]);
    assert!(told[1..].iter().all(|(_, report)| report.hold == MS * 10 && report.loss_event_rate == 0.0));
}

//= RFC 5348 §5.1, §6.1, §6.3.1
#[test]
fn a_loss_is_told_at_once_after_three_later_packets() {
    let mut receiver = receiver(TfrcReceiverConfig::default());
    let told = feedback(&mut receiver, 41, &[32]);
    // Packet 32 is missing at 1330, and lost with 35 at 1350; the timer starts anew there.
    let times: Vec<u64> = told.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [1000, 1100, 1200, 1300, 1350]);
    // The first interval is the one with which the equation gives the 100 kB/s that were received.
    let p = told[4].1.loss_event_rate;
    let x = throughput(1000.0, 0.1, p, 4.0);
    assert!((x / 100_000.0 - 1.0).abs() < 1e-5, "{x}");
    assert_eq!(receiver.loss_events(), 1);
}

//= RFC 5348 §5.2
#[test]
fn losses_within_a_round_trip_are_one_event() {
    for (lost, events) in
        [(vec![32], 1), (vec![32, 33, 34], 1), (vec![32, 41], 1), (vec![32, 42], 1), (vec![32, 43], 2)]
    {
        let mut receiver = receiver(TfrcReceiverConfig::default());
        feedback(&mut receiver, 60, &lost);
        assert_eq!(receiver.loss_events(), events, "{lost:?}");
    }
}

//= RFC 5348 §5.1
#[test]
fn packets_that_come_late_are_not_lost() {
    let mut receiver = receiver(TfrcReceiverConfig::default());
    for (i, number) in [0, 1, 4, 5, 2, 3, 6, 7, 8, 9].into_iter().enumerate() {
        receiver.receive(at(1000 + 10 * i as u64), data(number, at(1000), 100));
    }
    assert_eq!((receiver.loss_events(), receiver.stats().out_of_order), (0, 2));
    assert_eq!(receiver.delivered(), Bytes::new(10_000));
}

#[test]
fn after_a_pause_the_next_packet_is_answered_at_once() {
    let mut receiver = receiver(TfrcReceiverConfig::default());
    feedback(&mut receiver, 5, &[]);
    receiver.wake(at(5000));
    assert_eq!(all(&mut receiver).len(), 1, "what came before the pause");
    assert_eq!(receiver.next_wake(), None);
    receiver.receive(at(5050), data(5, at(5000), 100));
    let told = all(&mut receiver);
    assert_eq!(told.len(), 1);
    // 1000 B in the 3950 ms since 1100.
    assert_eq!(told[0].packet.report().receive_rate, (1000.0_f64 / 3.95).floor());
}

/// Feedback that is sent and answered without delay, `rtt_ms` after the packet.
fn answer(p: f64, rate: f64, echo: Instant, now: Instant) -> Packet {
    let report = RateReport { loss_event_rate: p, receive_rate: rate, hold: Duration::ZERO };
    let mut packet = Packet::feedback(0, report, 64, now);
    packet.echo = echo;
    packet
}

//= RFC 5348 §4.2, §4.6
#[test]
fn packets_are_spaced_by_the_rate() {
    let mut sender = sender(TfrcSenderConfig::default());
    sender.open(at(0));
    sender.write(at(0), Bytes::MAX);
    sender.wake(at(100));
    assert_eq!(all(&mut sender).len(), 1, "a packet a second");
    assert_eq!(sender.next_wake(), Some(at(1000)));
    sender.receive(at(100), answer(0.0, 0.0, at(0), at(100)));
    // min(4·1000, max(2·1000, 4380))/100 ms = 40 kB/s: a packet each 25 ms, and the next is overdue.
    sender.wake(at(200));
    let sent: Vec<Instant> = all(&mut sender).iter().map(|departure| departure.at).collect();
    assert_eq!(sent, [at(100), at(125), at(150), at(175), at(200)]);
    assert_eq!((sender.rtt(), sender.window()), (Some(MS * 100), Bytes::new(4000)));
}

//= RFC 5348 §4.6
#[test]
fn a_pause_earns_the_burst_and_no_more() {
    for (burst, wanted) in [(1, vec![1000, 1025, 1050]), (3, vec![1000, 1000, 1000, 1025, 1050])] {
        let mut sender = sender(told(TfrcParams { burst, ..TfrcParams::default() }));
        sender.open(at(0));
        sender.write(at(0), Bytes::new(1000));
        sender.wake(at(0));
        sender.receive(at(100), answer(0.0, 0.0, at(0), at(100)));
        all(&mut sender);
        sender.write(at(1000), Bytes::MAX);
        sender.wake(at(1060));
        let sent: Vec<u64> = all(&mut sender).iter().map(|d| (d.at - Instant::ZERO).as_nanos() / 1_000_000).collect();
        assert_eq!(sent, wanted, "burst {burst}");
    }
}

//= RFC 5348 §4.4
#[test]
fn without_feedback_the_sender_slows_down() {
    let mut sender = sender(TfrcSenderConfig::default());
    sender.open(at(0));
    sender.write(at(0), Bytes::MAX);
    sender.wake(at(20_000));
    // 1000 B/s until 2 s, 500 until 2 + 2·1000/500 = 6 s, 250 until 6 + 8 = 14 s, then 125 B/s.
    let sent: Vec<u64> = all(&mut sender).iter().map(|d| (d.at - Instant::ZERO).as_nanos() / 1_000_000_000).collect();
    assert_eq!(sent, [0, 1, 2, 4, 6, 10, 14]);
    assert_eq!((sender.rate(), sender.stats().timeouts), (125.0, 3));
}

#[test]
fn a_flow_that_is_done_rests() {
    let mut sender = sender(TfrcSenderConfig::default());
    sender.open(at(0));
    sender.write(at(0), Bytes::new(2500));
    sender.close(at(0));
    sender.wake(at(5000));
    let payloads: Vec<u32> = all(&mut sender).iter().map(|departure| departure.packet.payload()).collect();
    assert_eq!(payloads, [1000, 1000, 500]);
    assert_eq!(sender.next_wake(), None);
    assert_eq!(sender.stats().payload, Bytes::new(2500));
}

/// Both ends and the packets on their way.
struct Network<F> {
    sender: TfrcSender,
    receiver: TfrcReceiver,
    packets: BTreeMap<(Instant, u64), Packet>,
    count: u64,
    delay: F,
}

impl<F: FnMut(&Packet) -> Option<Duration>> Network<F> {
    fn new(sender: TfrcSender, receiver: TfrcReceiver, delay: F) -> Self {
        Self { sender, receiver, packets: BTreeMap::new(), count: 0, delay }
    }

    fn run(&mut self, until: Instant, mut tell: impl FnMut(Instant, &Packet)) {
        loop {
            for departure in all(&mut self.sender).into_iter().chain(all(&mut self.receiver)) {
                if let Some(delay) = (self.delay)(&departure.packet) {
                    self.count += 1;
                    self.packets.insert((departure.at + delay, self.count), departure.packet);
                }
            }
            let arrival = self.packets.first_key_value().map(|(&(at, _), _)| at);
            let timers = self.sender.next_wake().into_iter().chain(self.receiver.next_wake());
            let Some(now) = timers.chain(arrival).min().filter(|now| *now <= until) else { break };
            if arrival == Some(now)
                && let Some((_, packet)) = self.packets.pop_first()
            {
                tell(now, &packet);
                match packet.kind() {
                    Kind::Data => self.receiver.receive(now, packet),
                    _ => self.sender.receive(now, packet),
                }
            } else {
                self.sender.wake(now);
                self.receiver.wake(now);
            }
        }
    }
}

/// A path of `one_way` that loses data with probability `p`.
fn lossy(mut stream: Stream, one_way: Duration, p: f64) -> impl FnMut(&Packet) -> Option<Duration> {
    move |packet| (packet.kind() != Kind::Data || stream.uniform() >= p).then_some(one_way)
}

/// Where losses are drawn, the rate follows the equation at the loss event rate met. The mean over a fluctuating estimate
/// of p need not be the rate at its mean; ±10 % leaves room for that.
#[test]
fn the_rate_follows_the_equation() {
    for (rtt_ms, p) in [
        (50, 1e-3),
        (100, 1e-3),
        (200, 1e-3),
        (50, 1e-2),
        (100, 1e-2),
        (200, 1e-2),
        (50, 0.03),
        (100, 0.03),
        (200, 0.03),
    ] {
        let delay = lossy(Streams::new(1).stream("path", "loss"), MS * (rtt_ms / 2), p);
        let mut network =
            Network::new(sender(TfrcSenderConfig::default()), receiver(TfrcReceiverConfig::default()), delay);
        network.sender.open(at(0));
        network.sender.write(at(0), Bytes::MAX);
        let seconds = 300.0_f64.max(30.0 * rtt_ms as f64 / 10.0 / (p / 1e-2));
        network.run(Instant::ZERO + Duration::from_secs_f64(seconds), |_, _| {});
        let packets = network.sender.stats().segments as f64;
        let met = network.receiver.loss_events() as f64 / packets;
        let rate = packets * 1000.0 / seconds;
        let ratio = rate / throughput(1000.0, rtt_ms as f64 / 1e3, met, 4.0);
        println!("{rtt_ms} ms, p = {p}: {:.1} packets/s, {ratio:.3} of the equation, events {met:.5}", rate / 1e3);
        assert!((0.9..1.1).contains(&ratio), "{rtt_ms} ms, p = {p}: {ratio}");
        assert!(met <= 1.1 * p, "no more events than losses");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However late both ends are woken and polled, they send the same.
    #[test]
    fn late_wakes_change_nothing(
        seed: u64, loss in 0.0..0.2, spread in 0.0..30.0, burst in 1u32..5, damping: bool, pause in 0u64..4000,
    ) {
        let config = told(TfrcParams { burst, damping, ..TfrcParams::default() });
        let mut stream = Streams::new(seed).stream("path", "all");
        let rough = move |_: &Packet| {
            let delay = Duration::from_secs_f64((10.0 + spread * stream.uniform()) / 1e3);
            (stream.uniform() >= loss).then_some(delay)
        };
        let mut told = Vec::new();
        let mut network = Network::new(sender(config.clone()), receiver(TfrcReceiverConfig::default()), rough);
        network.sender.open(at(0));
        network.sender.write(at(0), Bytes::new(200_000));
        network.run(at(15_000), |now, packet| told.push((now, packet.clone())));

        let play = |mut late: Option<Stream>| {
            let (mut tx, mut rx) = (sender(config.clone()), receiver(TfrcReceiverConfig::default()));
            let mut sent = Vec::new();
            let mut is_paused = true;
            tx.open(at(0));
            tx.write(at(0), Bytes::new(150_000));
            for (now, packet) in &told {
                if is_paused && *now >= at(pause) {
                    is_paused = false;
                    tx.write(at(pause), Bytes::new(50_000));
                }
                let poll = match &mut late {
                    Some(stream) => stream.uniform() < 0.2,
                    None => {
                        while let Some(due) = tx.next_wake().into_iter().chain(rx.next_wake()).min().filter(|due| due <= now) {
                            tx.wake(due);
                            rx.wake(due);
                        }
                        true
                    }
                };
                match packet.kind() {
                    Kind::Data => rx.receive(*now, packet.clone()),
                    _ => tx.receive(*now, packet.clone()),
                }
                if poll {
                    tx.wake(*now);
                    rx.wake(*now);
                    sent.extend(all(&mut tx).into_iter().chain(all(&mut rx)));
                }
            }
            tx.wake(at(20_000));
            rx.wake(at(20_000));
            sent.extend(all(&mut tx).into_iter().chain(all(&mut rx)));
            let mut shown: Vec<String> = sent.iter().map(|departure| format!("{departure:?}")).collect();
            shown.sort();
            shown
        };
        let in_time = play(None);
        prop_assume!(in_time.len() > 10);
        prop_assert_eq!(play(Some(Streams::new(seed).stream("test", "late"))), in_time);
    }
}

/// Departures of both ends of a lossy flow with a pause in it.
fn outcome(tx: TfrcSenderConfig, rx: TfrcReceiverConfig) -> String {
    // Losses thin out, so that the open interval outgrows the closed ones.
    let (mut sent, mut stream) = (0, Streams::new(3).stream("path", "loss"));
    let delay = move |packet: &Packet| {
        let size = packet.size().get();
        sent += u64::from(packet.kind() == Kind::Data);
        let lost = packet.kind() == Kind::Data && sent < 400 && stream.uniform() < 0.03;
        // A queue that grows.
        (!lost).then_some(MS * 30 + Duration::from_micros(20 * sent.min(5000)) + Duration::from_nanos(size))
    };
    let (tx, rx) = (TfrcSender::new(0, tx, Span::ALWAYS).unwrap(), TfrcReceiver::new(0, rx, Span::ALWAYS).unwrap());
    let mut network = Network::new(tx, rx, delay);
    network.sender.open(at(0));
    network.sender.write(at(0), Bytes::new(1_000));
    network.run(at(1000), |_, _| {});
    network.sender.write(at(1000), Bytes::MAX);
    let mut shown = String::new();
    network.run(at(20_000), |now, packet| shown.push_str(&format!("{now:?} {packet:?}\n")));
    network.sender.stop(at(20_000));
    format!("{shown}{:?}", network.receiver.stats())
}

#[test]
fn every_parameter_matters() {
    let (tx, rx, usual) = (TfrcSenderConfig::default(), TfrcReceiverConfig::default(), TfrcParams::default());
    let reference = outcome(tx.clone(), rx.clone());
    for (name, other) in [
        ("payload", TfrcSenderConfig { payload: 1000, ..tx.clone() }),
        ("header", TfrcSenderConfig { header: 60, ..tx.clone() }),
        ("rtt_memory", told(TfrcParams { rtt_memory: 0.5, ..usual })),
        ("rto_factor", told(TfrcParams { rto_factor: 1.0, ..usual })),
        ("initial_rate", told(TfrcParams { initial_rate: Some(Rate::from_bps(100_000)), ..usual })),
        ("damping", told(TfrcParams { damping: true, ..usual })),
        ("burst", told(TfrcParams { burst: 4, ..usual })),
    ] {
        assert!(outcome(other, rx.clone()) != reference, "{name} changes nothing");
    }
    let receiver = |params| TfrcReceiverConfig { params, ..TfrcReceiverConfig::default() };
    for (name, other) in [
        ("payload", TfrcReceiverConfig { payload: 500, ..rx.clone() }),
        ("feedback_size", TfrcReceiverConfig { feedback_size: 40, ..rx.clone() }),
        ("rto_factor", receiver(TfrcParams { rto_factor: 1.0, ..usual })),
        ("discounting", receiver(TfrcParams { discounting: false, ..usual })),
        ("discount_floor", receiver(TfrcParams { discount_floor: 0.5, ..usual })),
        ("sample_interval", TfrcReceiverConfig { sample_interval: Some(MS * 100), ..rx.clone() }),
    ] {
        assert!(outcome(tx.clone(), other) != reference, "{name} changes nothing");
    }
    // The longest time between packets matters where nothing comes back.
    let alone = |max_backoff| {
        let mut sender = sender(told(TfrcParams { max_backoff, ..TfrcParams::default() }));
        sender.open(at(0));
        sender.write(at(0), Bytes::MAX);
        sender.wake(at(600_000));
        all(&mut sender).len()
    };
    assert!(alone(Duration::from_secs(4)) > alone(Duration::from_secs(64)));
}

#[test]
fn what_cannot_be_is_refused() {
    let told = told(TfrcParams { rtt_memory: 1.0, ..TfrcParams::default() });
    for (key, config) in
        [("payload", TfrcSenderConfig { payload: 0, ..TfrcSenderConfig::default() }), ("rtt_memory", told)]
    {
        assert_eq!(TfrcSender::new(0, config, Span::ALWAYS).unwrap_err().key, key);
    }
    let rx = TfrcReceiverConfig::default();
    let params = TfrcParams { rto_factor: f64::NAN, ..TfrcParams::default() };
    for (key, config) in [
        ("payload", TfrcReceiverConfig { payload: 70_000, ..rx.clone() }),
        ("rto_factor", TfrcReceiverConfig { params, ..rx.clone() }),
        ("sample_interval", TfrcReceiverConfig { sample_interval: Some(Duration::ZERO), ..rx }),
    ] {
        assert_eq!(TfrcReceiver::new(0, config, Span::ALWAYS).unwrap_err().key, key);
    }
}
