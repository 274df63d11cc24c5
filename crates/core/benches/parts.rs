// SPDX-License-Identifier: MIT OR Apache-2.0
//! What single laws and elements cost: `cargo bench -p lasthop-core`.
//!
//! `laws/…` is one packet's or acknowledgement's worth of a law, `elements/…` a packet through an element, `tcp/…` a
//! segment and its acknowledgement through both ends.
#![allow(missing_docs)]
#![forbid(unsafe_code)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lasthop_core::ap::{AccessPoint, ApConfig, ApStationConfig};
use lasthop_core::element::Element;
use lasthop_core::error::ParameterError;
use lasthop_core::fading::Kinds;
use lasthop_core::law::clamp::{ClampArrival, ClampParams, ClampReceiver, ClampRouter, PriceForm, PriceParams};
use lasthop_core::law::codel::CodelParams;
use lasthop_core::law::fq_codel::FqParams;
use lasthop_core::law::proportional_fair::ProportionalFairParams;
use lasthop_core::law::red::{Red, RedParams};
use lasthop_core::link::{Link, LinkConfig};
use lasthop_core::loss::LossConfig;
use lasthop_core::packet::Packet;
use lasthop_core::parameter::With;
use lasthop_core::queue::{Buffer, QueueConfig};
use lasthop_core::radio::{ErrorModel, FadingRadio, RadioConfig};
use lasthop_core::rng::Streams;
use lasthop_core::role::{AckSample, AnySender, AqmParams, SchedulerParams, SenderParams, Window};
use lasthop_core::stats::Span;
use lasthop_core::tcp::{self, ReceiverConfig, Sender, SenderConfig};
use lasthop_core::units::{Amount, Bytes, Duration, Frequency, Instant, Rate};

criterion_group!(parts, senders, routers, elements, ends);
criterion_main!(parts);

/// Any set-up that a parameter's domain refuses is a mistake of this file.
fn right<T>(made: Result<T, ParameterError>) -> T {
    made.unwrap_or_else(|error| panic!("{error}"))
}

fn senders(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("laws/sender");
    for params in SenderParams::defaults() {
        let name = format!("{params:?}");
        let name = name.split(['(', ' ']).next().unwrap_or_default().to_lowercase();
        let mut law = right(AnySender::new(&params));
        let mut window = Window { cwnd: 20.0, ssthresh: 10.0 };
        let mut now = Instant::ZERO;
        let rtt = Duration::from_millis(50);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                now += Duration::from_millis(2);
                let ack = AckSample { now, acked: 1.0, flight: window.cwnd, rtt, srtt_s: 0.05 };
                law.on_ack(&mut window, black_box(&ack));
                if window.cwnd > 100.0 {
                    window.ssthresh = law.on_loss(&window, window.cwnd);
                    window.cwnd = window.ssthresh;
                }
                window.cwnd
            });
        });
    }
    group.finish();
}

fn routers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("laws");
    let mut router = right(ClampRouter::new(PriceForm::Linear.of(PriceParams::new(Bytes::new(6500)))));
    let mut t_s = 0.0;
    group.bench_function("clamp-router", |bencher| {
        bencher.iter(|| {
            t_s += 0.001;
            router.arrived(t_s, black_box(9000.0));
            router.departed(t_s, 1500.0, black_box(7500.0));
            router.price_s()
        });
    });
    let mut receiver = right(ClampReceiver::new(ClampParams::new(Bytes::new(500)), 1460));
    receiver.started(0.05);
    let mut t_s = 0.0;
    group.bench_function("clamp-receiver", |bencher| {
        bencher.iter(|| {
            t_s += 0.003;
            let arrival =
                ClampArrival { t_s, size_bytes: 1500.0, payload_bytes: 1460.0, price_s: 0.001, rtt_s: Some(0.05) };
            receiver.received(black_box(&arrival), 64e3)
        });
    });
    let mut red = right(Red::new(RedParams::default(), 1.25e6));
    let mut draw = 0.0;
    group.bench_function("red", |bencher| {
        bencher.iter(|| {
            draw = (draw + 0.618) % 1.0;
            red.observe(12, 18e3, 0.0);
            red.judge(12, black_box(18e3), 1500.0, draw)
        });
    });
    group.finish();
}

fn link(aqm: AqmParams) -> Link<Packet> {
    let queue = QueueConfig { buffer: Buffer { limit: Some(Amount::Packets(50)), aqm }, ..QueueConfig::default() };
    let config = LinkConfig { rate: Rate::from_bps(10_000_000), queue, loss: LossConfig::default() };
    right(Link::new("link", &config, &Streams::new(1), Span::ALWAYS))
}

fn elements(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("elements");
    let codel =
        CodelParams { target: Duration::from_millis(5), interval: Duration::from_millis(100), mtu: Bytes::new(1500) };
    let fair = With { own: FqParams { queues: 1024, quantum: Bytes::new(1514), batch: 64 }, common: codel };
    for (name, aqm) in [
        ("link-droptail", AqmParams::DropTail),
        ("link-red", AqmParams::Red(RedParams::default())),
        ("link-codel", AqmParams::Codel(codel)),
        ("link-fq-codel", AqmParams::FqCodel(fair)),
    ] {
        let mut link = link(aqm);
        let (mut now, mut number) = (Instant::ZERO, 0);
        // A packet comes every 1.2 ms, as fast as they are sent; 20 are ahead of it.
        for _ in 0..20 {
            link.receive(now, Packet::data(0, number, 1460, 40, now));
        }
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                now += Duration::from_micros(1200);
                number += 1460;
                link.receive(now, Packet::data((number % 7) as u32, number, 1460, 40, now));
                while let Some(departure) = link.poll_departure() {
                    black_box(departure);
                }
            });
        });
    }
    let fading = FadingRadio::new(Frequency::from_hz(60.0), Frequency::from_hz(4.3e6), Rate::from_bps(10_000_000), 5);
    let radio = RadioConfig::Fading(FadingRadio { errors: ErrorModel::None, ..fading });
    let station = |name: &str| ApStationConfig {
        name: name.to_owned(),
        queue: QueueConfig::default(),
        radio: radio.clone(),
        loss: LossConfig::default(),
    };
    let config = ApConfig {
        scheduler: SchedulerParams::ProportionalFair(ProportionalFairParams::default()),
        stations: ["m1", "m2", "m3"].map(station).into(),
    };
    let mut kinds = Kinds::default();
    let mut ap = right(AccessPoint::new("ap", &config, &Streams::new(1), Span::ALWAYS, &mut kinds));
    let mut number = 0;
    for _ in 0..60 {
        send(&mut ap, Instant::ZERO, &mut number);
    }
    // A packet for each that leaves, and none is lost, so that somebody always waits.
    group.bench_function("access-point-slot", |bencher| {
        bencher.iter(|| {
            let Some(now) = ap.next_wake() else { return };
            ap.wake(now);
            while ap.poll_departure().is_some() {
                send(&mut ap, now, &mut number);
            }
        });
    });
    group.finish();
}

fn send(ap: &mut AccessPoint<Packet>, now: Instant, number: &mut u64) {
    *number += 1;
    let mut packet = Packet::data(0, *number, 1460, 40, now);
    packet.station = (*number % 3) as u16;
    ap.receive(now, packet);
}

fn ends(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tcp");
    let config = SenderConfig { handshake: false, ..SenderConfig::default() };
    let mut sender = right(Sender::new(0, config, Span::ALWAYS));
    let mut receiver = right(tcp::Receiver::new(0, ReceiverConfig::default(), Span::ALWAYS));
    let mut now = Instant::ZERO;
    sender.open(now);
    sender.write(now, Bytes::new(u64::MAX / 2));
    // A round trip of 1 ms, and now and then a loss, so that the window stays within bounds.
    let mut sent = 0_u64;
    group.bench_function("segment-and-ack", |bencher| {
        bencher.iter(|| {
            let Some(departure) = sender.poll_departure() else {
                now += Duration::from_millis(1);
                if let Some(due) = sender.next_wake().filter(|&due| due <= now) {
                    sender.wake(due);
                }
                while let Some(departure) = receiver.poll_departure() {
                    sender.receive(now, departure.packet);
                }
                return;
            };
            sent += 1;
            if !sent.is_multiple_of(200) {
                receiver.receive(now, departure.packet);
            }
        });
    });
    group.finish();
}
