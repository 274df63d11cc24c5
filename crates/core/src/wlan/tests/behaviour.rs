// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds whatever comes.
use super::*;
use crate::law::codel::CodelParams;
use crate::law::two_queues::TwoQueuesParams;
use crate::law::{qfcp, xcp};
use crate::packet::{QfcpHeader, Signal, XcpHeader};
use crate::parameter::With;
use crate::role::AqmParams;

fn kinds() -> Vec<WlanConfig> {
    let mut noisy = config(3);
    for station in &mut noisy.stations {
        station.loss = bernoulli(0.1);
        station.frame_errors = bernoulli(0.3);
        station.queue.buffer.limit = Some(Amount::Packets(4));
    }
    noisy.mac.short_attempts = 2;
    // Collisions all the time, and slots that arrivals hit.
    let mut crowded = config(3);
    crowded.mac.cw_min = 1;
    crowded.mac.cw_max = 3;
    crowded.mac.slot = Duration::from_micros(50);
    crowded.queue.buffer.limit = Some(Amount::Bytes(Bytes::new(6000)));
    let mut stepped = with_rts(3);
    let rates = [11 * MBIT, MBIT, 5_500_000, 2 * MBIT];
    let steps: Vec<_> = (1..40).map(|i| step(3000 * i, rates[i as usize % 4])).collect();
    stepped.stations[1].rate = RateSteps::new(Rate::from_bps(rates[0]), &steps).unwrap();
    stepped.mac.rts_threshold = Some(Bytes::new(500));
    let mut managed = config(3);
    let codel =
        CodelParams { target: Duration::from_millis(2), interval: Duration::from_millis(10), mtu: Bytes::new(100) };
    managed.queue.buffer.aqm = AqmParams::Codel(codel);
    managed.stations[0].queue.buffer.aqm = AqmParams::FqCodel(With { common: codel, ..With::default() });
    managed.stations[0].queue.buffer.limit = Some(Amount::Packets(3));
    let mut shared = crowded.clone();
    shared.queue.buffer.aqm = two_queues(0.3);
    shared.stations[0].queue.buffer.aqm = two_queues(0.3);
    shared.stations[1].queue.buffer.aqm = AqmParams::Codel(codel);
    vec![config(3), with_rts(3), noisy, crowded, stepped, managed, shared]
}

fn two_queues(share: f64) -> AqmParams {
    AqmParams::TwoQueues(TwoQueuesParams { share, ..TwoQueuesParams::default() })
}

/// A packet that speaks to routers if it is from or to the second station.
fn of(port: usize, number: u64, size: u32) -> Packet {
    let mut packet = packet(port, number, size);
    if port % 3 == 1 {
        packet.signal = Signal::Change(1.0);
    }
    packet
}

/// (after how many 50 µs, port, size) of an arrival, and whether and how late it is woken before that.
type Arrival = (u64, usize, u32, Option<u64>);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![4 => 0..8_u64, 4 => 8..80_u64, 1 => 80..1000_u64];
    prop::collection::vec((gap, 0..6_usize, 41..1500_u32, prop::option::of(0..60_u64)), 1..150)
}

const STEP: Duration = Duration::from_micros(50);
const END: Instant = Instant::from_nanos(60_000_000_000);

/// What may not depend on when the element is woken.
type Outcome = (Log, Vec<(AccessMeter, u64, u64, f64, Option<f64>)>);

fn outcome(mut wlan: Wlan<Packet>, log: Log) -> Outcome {
    wlan.finish(END);
    let of = |interface: &Interface<Packet>| {
        let meter = interface.queue().meter();
        (*interface.access(), meter.drops, meter.losses, meter.mean_bytes(), meter.delay.mean_s())
    };
    (log, wlan.interfaces().iter().map(of).collect())
}

fn measured(config: &WlanConfig) -> Wlan<Packet> {
    let span = Span { from: us(5000), until: END };
    Wlan::new("wlan", config, &Streams::new(1), span).unwrap()
}

fn punctual(config: &WlanConfig, arrivals: &[Arrival]) -> Outcome {
    let (mut wlan, mut log, mut now) = (measured(config), Log::new(), Instant::ZERO);
    for (number, &(gap, port, size, _)) in arrivals.iter().enumerate() {
        now += STEP * gap;
        run_until(&mut wlan, now, &mut log);
        wlan.receive(now, of(port, number as u64, size));
    }
    run_until(&mut wlan, END, &mut log);
    outcome(wlan, log)
}

fn late(config: &WlanConfig, arrivals: &[Arrival]) -> Outcome {
    let (mut wlan, mut log, mut now) = (measured(config), Log::new(), Instant::ZERO);
    for (number, &(gap, port, size, wake)) in arrivals.iter().enumerate() {
        let before = now;
        now += STEP * gap;
        if let Some(after) = wake {
            // Not when it asked for it, and perhaps needlessly.
            wlan.wake((before + STEP * after).min(now));
            collect(&mut wlan, &mut log);
        }
        wlan.receive(now, of(port, number as u64, size));
    }
    wlan.wake(END);
    collect(&mut wlan, &mut log);
    outcome(wlan, log)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn late_wakes_change_nothing(arrivals in arrivals()) {
        for config in kinds() {
            prop_assert_eq!(punctual(&config, &arrivals), late(&config, &arrivals));
        }
    }

    /// Delivered, dropped, lost or waiting: at any time, all that came.
    #[test]
    fn nothing_is_made_or_forgotten_and_each_way_keeps_its_order(arrivals in arrivals(), stop in 0..100_000_u64) {
        for config in kinds() {
            let (mut wlan, mut log, mut now) = (wlan_of(&config, 1), Log::new(), Instant::ZERO);
            for (number, &(gap, port, size, _)) in arrivals.iter().enumerate() {
                now += STEP * gap;
                wlan.receive(now, of(port, number as u64, size));
            }
            wlan.wake(now + Duration::from_micros(stop));
            collect(&mut wlan, &mut log);
            let held: usize = wlan.interfaces().iter().map(Interface::packets).sum();
            let lost: u64 = wlan.interfaces().iter().map(|i| i.queue().meter().drops + i.queue().meter().losses).sum();
            prop_assert_eq!(log.len() + held + lost as usize, arrivals.len());
            prop_assert!(log.windows(2).all(|pair| pair[0].0 < pair[1].0), "one medium, one frame at a time");
            for port in 0..6 {
                prop_assert!(log.iter().filter(|(_, from, _)| *from == port).is_sorted_by_key(|(_, _, number)| *number));
            }
            wlan.finish(END);
            prop_assert_eq!(wlan.interfaces().iter().map(Interface::packets).sum::<usize>(), 0);
        }
    }
}

#[test]
fn nothing_happens_while_nothing_waits() {
    let mut wlan = wlan_of(&config(2), 1);
    assert_eq!(wlan.next_wake(), None);
    wlan.receive(us(10), packet(0, 0, 1500));
    wlan.wake(us(10));
    assert_eq!(wlan.next_wake(), None, "one wake an exchange, and none after the last");
    wlan.wake(us(1_000_000));
    assert!(wlan.poll_departure().is_some() && wlan.poll_departure().is_none());
}

#[test]
fn loss_above_the_mac_takes_the_medium_and_no_retry() {
    let mut lossy = config(1);
    lossy.stations[0].loss = bernoulli(0.5);
    let mut wlan = wlan_of(&lossy, 1);
    let mut log = Log::new();
    (0..1000).for_each(|n| wlan.receive(us(0), packet((n % 2) as usize, n, 1500)));
    wlan.finish(us(1_000_000_000));
    collect(&mut wlan, &mut log);
    for (port, interface) in wlan.interfaces().iter().enumerate() {
        let through = log.iter().filter(|(_, from, _)| *from == port).count();
        // Binomial: 250 ± 11.
        assert!((200..300).contains(&through), "{through}");
        assert_eq!(interface.queue().meter().losses as usize, 500 - through);
        assert_eq!((interface.access().errors, interface.access().given_up), (0, 0));
        assert_eq!(interface.access().attempts - interface.access().collisions, 500);
    }
}

#[test]
fn two_classes_share_the_time_whoever_sends() {
    // The second station speaks, both ways; the others' packets are short or long, from one node or from three.
    let airtime = |share: f64, ports: &[usize], size: u32| {
        let mut config = config(3);
        config.queue.buffer.aqm = two_queues(share);
        let mut wlan = wlan_of(&config, 1);
        for n in 0..2000 {
            ports.iter().for_each(|port| wlan.receive(us(0), of(*port, n, if port % 3 == 1 { 1500 } else { size })));
        }
        wlan.wake(us(2_000_000));
        let classes = wlan.interfaces().chunks(4);
        let [others, speaking] = [0, 1].map(|i| {
            let class = classes.clone().nth(i).unwrap().iter();
            class.map(|interface| interface.access().airtime.as_secs_f64()).sum::<f64>()
        });
        speaking / (others + speaking)
    };
    for share in [0.5, 0.25] {
        for ports in [&[0, 1][..], &[0, 4], &[3, 1], &[3, 4], &[0, 2, 3, 5, 4], &[1, 4, 3]] {
            for size in [1500, 100] {
                // Idle slots are somebody's, too, which are more beside a short packet; and a collision is that of each sender here.
                let found = airtime(share, ports, size);
                let most = if size == 1500 { 0.04 } else { 0.11 };
                assert!((found - share).abs() < most, "{share} {ports:?} {size}: {found}");
            }
        }
    }
    assert_eq!((airtime(0.5, &[0, 3], 1500), airtime(0.5, &[1, 4], 1500)), (0.0, 1.0), "what one leaves the other has");
}

#[test]
fn a_router_speaks_at_the_queue_of_those_that_listen() {
    let mut config = config(3);
    config.queue.buffer.aqm = two_queues(0.5);
    let capacity = Rate::from_bps(1_000_000);
    config.queue.marker = MarkerParams::Qfcp(qfcp::QfcpRouterParams::new(capacity, Rate::from_bps(11 * MBIT)));
    let wlan = wlan_of(&config, 1);
    let marked = |wlan: &Wlan<Packet>| -> Vec<String> {
        let marked = wlan.interfaces().iter().filter(|interface| !interface.queue().marker().is_none());
        marked.map(|interface| interface.name().to_owned()).collect()
    };
    assert_eq!(marked(&wlan), ["wlan (speaking)"]);
    config.queue.marker = MarkerParams::Linear(PriceForm::Linear.of(PriceParams::new(Bytes::new(1000))));
    assert_eq!(marked(&wlan_of(&config, 1)), ["wlan"]);
}

#[test]
fn what_cannot_be_is_refused() {
    let refuse = |config: &WlanConfig| {
        Wlan::<Packet>::new("wlan", config, &Streams::new(1), Span::ALWAYS).unwrap_err().to_string()
    };
    let with = |change: fn(&mut MacConfig)| {
        let mut config = config(1);
        change(&mut config.mac);
        refuse(&config)
    };
    assert_eq!(refuse(&config(0)), "station = 0: wanted 1 to 32768, flows' stations included");
    assert_eq!(with(|mac| mac.cw_min = 0), "cw_min = 0: wanted from 1 to 4294967295");
    assert_eq!(with(|mac| mac.cw_max = 30), "cw_max = 30: wanted at least cw_min");
    assert_eq!(with(|mac| mac.short_attempts = 0), "short_attempts = 0: wanted from 1 to 4294967295");
    assert_eq!(with(|mac| mac.long_attempts = 0), "long_attempts = 0: wanted from 1 to 4294967295");
    assert!(with(|mac| mac.slot = Duration::ZERO).starts_with("slot = "));
    assert!(with(|mac| mac.difs = Duration::from_micros(9)).starts_with("difs = "));
    assert!(with(|mac| mac.control_rate = Rate::from_bps(0)).starts_with("control_rate = "));
    let mut lossy = config(2);
    lossy.stations[1].loss = bernoulli(2.0);
    assert!(refuse(&lossy).starts_with("m2.loss.p = 2"));
    let mut own = config(2);
    own.stations[1].queue.buffer.aqm = two_queues(0.5);
    assert!(refuse(&own).starts_with("m2.queue.aqm = two queues of its own: wanted those of the WLAN"));
    own.queue.buffer.aqm = two_queues(1.0);
    assert!(refuse(&own).starts_with("queue.aqm.share = 1"));
    let rates = |steps: &[(u64, u64)]| {
        let steps: Vec<_> = steps.iter().map(|&(at, rate)| step(at, rate)).collect();
        RateSteps::new(Rate::from_bps(1), &steps).map_err(|error| error.to_string())
    };
    assert!(rates(&[(0, 1)]).unwrap_err().starts_with("rate_steps[0].at = 0"));
    assert_eq!(
        rates(&[(5, 1), (5, 2)]).unwrap_err(),
        "rate_steps[1].at = 5 \u{b5}s: wanted more than that of the step before"
    );
    assert!(rates(&[(5, 0)]).unwrap_err().starts_with("rate_steps[0].rate = 0 bit/s"));
    let steps = rates(&[(5, 2), (9, 3)]).unwrap();
    assert_eq!([0, 4, 5, 8, 9, 99].map(|at| steps.at(us(at)).as_bps()), [1, 1, 2, 2, 3, 3]);
}

/// What the routers on a WLAN stamp into the packets that arrive, and when these leave.
fn stamped(marker: MarkerParams, asked: Signal, arrivals: &[Arrival], is_late: bool) -> Vec<(Instant, Signal)> {
    let mut config = config(3);
    config.queue.buffer.limit = Some(Amount::Packets(20));
    config.queue.marker = marker;
    config.stations.iter_mut().for_each(|station| station.queue.marker = marker);
    let (mut wlan, mut now, mut stamps) = (wlan_of(&config, 1), Instant::ZERO, vec![]);
    for (number, &(gap, port, size, wake)) in arrivals.iter().enumerate() {
        let before = now;
        now += STEP * gap;
        if is_late {
            wake.iter().for_each(|after| wlan.wake((before + STEP * *after).min(now)));
        } else {
            while let Some(due) = wlan.next_wake().filter(|due| *due <= now) {
                wlan.wake(due);
            }
        }
        let mut packet = packet(port, number as u64, size);
        packet.signal = asked;
        wlan.receive(now, packet);
    }
    wlan.wake(END);
    while let Some(Departure { at, packet }) = wlan.poll_departure() {
        stamps.push((at, packet.signal));
    }
    stamps
}

proptest! {
    #[test]
    fn late_wakes_change_no_feedback(arrivals in arrivals()) {
        let qfcp = QfcpHeader { rtt_s: 0.02, rate: f32::INFINITY, silent: 1 };
        let xcp = XcpHeader { cwnd_bytes: 6000.0, rtt_s: 0.02, change: f32::INFINITY };
        let told = xcp::XcpRouterParams {
            efficiency: xcp::Efficiency::Told(xcp::Told { capacity: Some(Rate::from_bps(4_000_000)) }),
            gains: xcp::Gains::default(),
        };
        for (marker, asked) in [
            (MarkerParams::Qfcp(qfcp::QfcpRouterParams::new(Rate::from_bps(1_000_000), Rate::from_bps(11_000_000))), Signal::Qfcp(qfcp)),
            (MarkerParams::Xcp(told), Signal::Xcp(xcp)),
        ] {
            let punctual = stamped(marker, asked, &arrivals, false);
            prop_assert_eq!(&punctual, &stamped(marker, asked, &arrivals, true));
            prop_assert!(punctual.iter().all(|(_, signal)| *signal != asked), "each is told something");
        }
    }
}
