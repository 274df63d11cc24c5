// SPDX-License-Identifier: MIT OR Apache-2.0
use proptest::prelude::*;

use super::*;
use crate::law::codel::CodelParams;
use crate::law::fq_codel::FqParams;
use crate::law::red::RedParams;
use crate::law::two_queues::TwoQueuesParams;
use crate::loss::tests::bernoulli;
use crate::packet::Packet;
use crate::parameter::With;
use crate::queue::Buffer;
use crate::role::AqmParams;
use crate::units::Packets;

const SPAN: Span = Span { from: Instant::ZERO, until: Instant::from_nanos(1_000_000_000) };

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn packet(seq: u64, payload: u32) -> Packet {
    Packet::data(0, seq, payload, 40, Instant::ZERO)
}

fn link(limit: Option<Amount>) -> Link<Packet> {
    measured_link(limit, SPAN)
}

fn measured_link(limit: Option<Amount>, span: Span) -> Link<Packet> {
    let config = LinkConfig {
        rate: Rate::from_bps(10_000_000),
        queue: QueueConfig { buffer: Buffer { limit, ..Buffer::default() }, ..QueueConfig::default() },
        loss: LossConfig::default(),
    };
    Link::new("link", &config, &Streams::new(1), span).unwrap()
}

/// A link made to hold its packets although it could foresee their departures.
fn holding(limit: Option<Amount>) -> Link<Packet> {
    made_to_hold(link(limit), limit, AqmParams::DropTail)
}

fn made_to_hold(mut link: Link<Packet>, limit: Option<Amount>, aqm: AqmParams) -> Link<Packet> {
    let stream = |purpose: &str| Streams::new(1).stream("link", purpose);
    let config = QueueConfig { buffer: Buffer { limit, aqm }, ..QueueConfig::default() };
    let queue = Queue::new(&config, Rate::from_bps(10_000_000), stream, link.meter().span()).unwrap();
    link.buffer = Waiting::Held { queue, in_transmission: None };
    link
}

fn drain(link: &mut Link<Packet>, departures: &mut Vec<(Instant, u64)>) {
    while let Some(departure) = link.poll_departure() {
        departures.push((departure.at, departure.packet.seq()));
    }
}

#[test]
fn packets_leave_one_sending_time_apart_and_the_last_finds_no_room() {
    for mut link in [link(Some(Amount::Packets(2))), holding(Some(Amount::Packets(2)))] {
        // One in transmission, two wait, the fourth is dropped. 1500 B take 1200 µs at 10 Mbit/s.
        for i in 0..4 {
            link.receive(at(0), packet(i, 1460));
        }
        link.wake(at(10_000));
        link.finish(at(1_000_000));
        let mut departures = vec![];
        drain(&mut link, &mut departures);
        assert_eq!(departures, [(at(1200), 0), (at(2400), 1), (at(3600), 2)]);
        assert_eq!(link.meter().drops, 1);
        // Waits of 0, 1200 and 2400 µs.
        assert_eq!(link.meter().delay.mean_s(), Some(0.0012));
        // 3600 µs of waiting, in packets of 1500 B, over a second; somebody waits for 2400 µs of it.
        assert!((link.meter().mean_bytes() - 5.4).abs() < 1e-9);
        assert!((link.meter().empty_fraction() - 0.9976).abs() < 1e-12);
    }
}

#[test]
fn what_leaves_is_counted_while_it_is_sent() {
    // 1500 B take 1200 µs: of a busy line 1250 B fall into each ms, however the packets lie in it.
    let span = Span { from: at(1000), until: at(3000) };
    let foreseen = measured_link(None, span);
    let held = made_to_hold(measured_link(None, span), None, AqmParams::DropTail);
    for mut link in [foreseen, held] {
        for i in 0..4 {
            link.receive(at(0), packet(i, 1460));
        }
        // The first packet has 200 µs of the second ms, and the second the rest.
        link.wake(at(1500));
        assert_eq!(link.departed(at(1500)), Bytes::new(250 + 1500));
        link.wake(at(5000));
        assert_eq!(link.meter().departed, Bytes::new(2500));
        assert_eq!(link.departed(at(5000)), Bytes::new(2500));
        // Those that left the buffer within it are two all the same: at 1200 and 2400 µs.
        assert_eq!(link.meter().departures(), 2);
    }
}

#[test]
fn a_link_without_rate_is_refused() {
    let config = LinkConfig { rate: Rate::from_bps(0), queue: QueueConfig::default(), loss: bernoulli(0.5) };
    let error = Link::<Packet>::new("link", &config, &Streams::new(1), SPAN).unwrap_err();
    assert_eq!(error.to_string(), "rate = 0 bit/s: wanted more than 0 bit/s");
}

#[test]
fn losses_come_after_the_transmitter() {
    let config = LinkConfig { rate: Rate::from_bps(10_000_000), queue: QueueConfig::default(), loss: bernoulli(0.25) };
    let mut link = Link::new("link", &config, &Streams::new(1), SPAN).unwrap();
    let mut departures = vec![];
    for i in 0..400 {
        link.receive(at(2000 * i), packet(i, 1460));
        drain(&mut link, &mut departures);
    }
    assert_eq!(departures.len() as u64 + link.meter().losses, 400);
    assert_eq!(link.meter().departures(), 400);
    // Binomial: 100 ± 8.7.
    assert!((65..135).contains(&link.meter().losses), "{}", link.meter().losses);
}

/// RED with settings at which it acts soon.
fn red() -> AqmParams {
    AqmParams::Red(RedParams {
        min_threshold: Packets(2.0),
        max_threshold: Packets(6.0),
        queue_weight: 0.2,
        ..RedParams::default()
    })
}

/// Every management that cannot be foreseen, with settings at which it acts soon.
fn managements() -> [AqmParams; 4] {
    let codel =
        CodelParams { target: Duration::from_millis(2), interval: Duration::from_millis(10), mtu: Bytes::new(1500) };
    let fair = With { own: FqParams { queues: 3, quantum: Bytes::new(800), batch: 2 }, common: codel };
    let two = AqmParams::TwoQueues(TwoQueuesParams::default());
    [AqmParams::Codel(codel), AqmParams::FqCodel(fair), AqmParams::Drr(fair.own), two]
}

fn managed(limit: Option<Amount>, aqm: AqmParams) -> Link<Packet> {
    let queue = QueueConfig { buffer: Buffer { limit, aqm }, ..QueueConfig::default() };
    let config = LinkConfig { rate: Rate::from_bps(10_000_000), queue, loss: LossConfig::default() };
    Link::new("link", &config, &Streams::new(1), SPAN).unwrap()
}

proptest! {
    /// Whatever the management: late wakes change nothing, and the link is never idle while somebody waits.
    #[test]
    fn late_wakes_change_no_management(
        which in 0..managements().len(),
        arrivals in prop::collection::vec((0u64..2000, 0u32..1461, 0..4_u32), 1..300),
        limit in prop_oneof![Just(None), (1u64..30).prop_map(|n| Some(Amount::Packets(n)))],
        late in prop::collection::vec(any::<bool>(), 300),
    ) {
        let aqm = managements()[which];
        let (mut in_time, mut held) = (managed(limit, aqm), managed(limit, aqm));
        prop_assert!(!in_time.foresees());
        let (mut a, mut b) = (vec![], vec![]);
        let mut now = Instant::ZERO;
        for (i, &(gap_us, payload, flow)) in arrivals.iter().enumerate() {
            now += Duration::from_micros(gap_us);
            let packet = Packet::data(flow, i as u64, payload, 40, Instant::ZERO);
            while let Some(due) = in_time.next_wake().filter(|due| *due < now) {
                in_time.wake(due);
                drain(&mut in_time, &mut a);
            }
            while let Some(due) = held.next_wake().filter(|due| *due < now && !late[i]) {
                held.wake(due);
            }
            in_time.receive(now, packet.clone());
            held.receive(now, packet);
            drain(&mut held, &mut b);
        }
        while let Some(due) = in_time.next_wake() {
            in_time.wake(due);
            drain(&mut in_time, &mut a);
        }
        held.wake(SPAN.until);
        drain(&mut held, &mut b);
        prop_assert_eq!(&a, &b);
        in_time.finish(SPAN.until);
        held.finish(SPAN.until);
        let figures = |link: &Link<Packet>| {
            let meter = link.meter();
            (meter.drops, meter.departures(), meter.mean_bytes(), meter.empty_fraction(), meter.delay.mean_s())
        };
        prop_assert_eq!(figures(&in_time), figures(&held));
        prop_assert_eq!(a.len() as u64 + in_time.meter().drops, arrivals.len() as u64);
        // The gap behind a departure is the sending time of the next, unless that came to an idle link.
        let size = |number: u64| Bytes::new(u64::from(arrivals[number as usize].1) + 40);
        let came: Vec<Instant> = arrivals
            .iter()
            .scan(Instant::ZERO, |clock, (gap_us, ..)| { *clock += Duration::from_micros(*gap_us); Some(*clock) })
            .collect();
        for pair in a.windows(2) {
            let start = pair[0].0.max(came[pair[1].1 as usize]);
            prop_assert_eq!(pair[1].0, start + size(pair[1].1) / Rate::from_bps(10_000_000));
        }
    }
}

proptest! {
    /// A foreseen departure is the one that events would have given, late wakes change nothing, work is conserved
    /// and Little's law holds.
    #[test]
    fn foreseeing_changes_nothing(
        // Many come in the very instant in which a transmission ends.
        arrivals in prop::collection::vec(
            (prop_oneof![0u64..3000, Just(0), Just(1200)], prop_oneof![0u32..1461, Just(1460)]),
            1..200,
        ),
        limit in prop_oneof![
            Just(None),
            (1u64..20).prop_map(|n| Some(Amount::Packets(n))),
            (1500u64..20_000).prop_map(|b| Some(Amount::Bytes(Bytes::new(b)))),
        ],
        late in prop::collection::vec(any::<bool>(), 200),
        is_red in any::<bool>(),
    ) {
        let aqm = if is_red { red() } else { AqmParams::DropTail };
        let (mut foreseen, mut held) = (managed(limit, aqm), made_to_hold(managed(limit, aqm), limit, aqm));
        prop_assert!(foreseen.foresees() && !held.foresees());
        let (mut a, mut b) = (vec![], vec![]);
        let mut now = Instant::ZERO;
        let mut busy = Instant::ZERO;
        for (i, &(gap_us, payload)) in arrivals.iter().enumerate() {
            now += Duration::from_micros(gap_us);
            // Some wakes come in time, others not until the next arrival.
            while let Some(due) = held.next_wake().filter(|due| *due < now && !late[i]) {
                held.wake(due);
            }
            foreseen.receive(now, packet(i as u64, payload));
            held.receive(now, packet(i as u64, payload));
            drain(&mut foreseen, &mut a);
            drain(&mut held, &mut b);
        }
        let end = SPAN.until;
        held.wake(end);
        drain(&mut held, &mut b);
        foreseen.finish(end);
        held.finish(end);
        a.retain(|(at, _)| *at <= end);
        prop_assert_eq!(&a, &b);
        prop_assert_eq!(foreseen.meter().drops, held.meter().drops);
        prop_assert!((foreseen.meter().mean_bytes() - held.meter().mean_bytes()).abs() < 1e-6);
        prop_assert!((foreseen.meter().empty_fraction() - held.meter().empty_fraction()).abs() < 1e-9);
        // Work conservation: without drops the link is busy from an arrival until all that came has been sent.
        if held.meter().drops == 0 && now + Duration::from_millis(300) < end {
            let mut clock = Instant::ZERO;
            for &(gap_us, payload) in &arrivals {
                clock += Duration::from_micros(gap_us);
                busy = busy.max(clock) + Bytes::new(u64::from(payload) + 40) / Rate::from_bps(10_000_000);
            }
            prop_assert_eq!(b.last().map(|d| d.0), Some(busy));
        }
    }
}
