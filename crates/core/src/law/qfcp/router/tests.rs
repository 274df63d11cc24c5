// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router with a pencil.

use super::*;

/// No averaging; α = 0.5, packets of 1000 B, 100 kB/s told, up to 1 MB/s.
fn params() -> QfcpRouterParams {
    QfcpRouterParams {
        alpha: 0.5,
        weight: 1.0,
        packet: Bytes::new(1000),
        ..QfcpRouterParams::new(Rate::from_bps(800_000), Rate::from_bps(8_000_000))
    }
}

fn router(params: QfcpRouterParams) -> QfcpRouter {
    QfcpRouter::new(params).unwrap()
}

fn measured(input: f64, output: f64, queue_packets: f64) -> Measured {
    let queue_bytes = queue_packets * 1000.0;
    Measured { input, output, queue_bytes, queue_packets, interval_s: 0.1, weight: 1.0, medium: None }
}

#[test]
fn a_busy_link_tells_its_capacity_and_an_idle_one_is_probed() {
    //= qfcp#6
    let mut router = router(params());
    router.control(&measured(1e5, 1e5, 0.0));
    assert_eq!(router.capacity(), 1.5e5);
    router.control(&measured(1e5, 4e5, 1.0));
    assert_eq!(router.capacity(), 4e5);
    for _ in 0..5 {
        router.control(&measured(1e5, 1e5, 0.0));
    }
    assert_eq!(router.capacity(), 1e6, "no more than the medium carries");
    let mut told = QfcpRouter::new(QfcpRouterParams { probing: false, ..params() }).unwrap();
    told.control(&measured(1e5, 4e5, 1.0));
    assert_eq!(told.capacity(), 1e5);
}

#[test]
fn near_what_was_found_the_capacity_grows_with_care() {
    // Busy at 100 kB/s; then idle: by 1/16, 1/8, 1/4 and from then on by α = 1/2.
    let grown = |careful| {
        let mut router = router(QfcpRouterParams { careful, ..params() });
        router.control(&measured(1e5, 1e5, 1.0));
        [(); 5].map(|()| {
            let before = router.capacity();
            router.control(&measured(1e5, 1e5, 0.0));
            router.capacity() / before - 1.0
        })
    };
    let near = |found: [f64; 5], wanted: [f64; 5]| found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-9);
    assert!(near(grown(true), [0.0625, 0.125, 0.25, 0.5, 0.5]), "{:?}", grown(true));
    assert!(near(grown(false), [0.5; 5]), "{:?}", grown(false));
}

#[test]
fn a_queue_that_stood_holds_the_capacity_before_the_average_says_busy() {
    // Of 2 packets a quarter is averaged, over none: 0.5, which is idle; C stays, and then grows by an eighth of α.
    let after = |careful| {
        let mut router = router(QfcpRouterParams { careful, ..params() });
        [0.0, 2.0, 0.0].map(|packets| {
            router.control(&Measured { weight: 0.25, ..measured(1e5, 1e5, packets) });
            router.capacity()
        })
    };
    assert_eq!(after(true), [1.5e5, 1.5e5, 1.5e5 * 1.0625]);
    assert_eq!(after(false), [1.5e5, 2.25e5, 3.375e5]);
}

#[test]
fn flows_share_what_the_queue_leaves() {
    // Four flows at the old rate of 100 kB/s; 6 packets wait, 5 too many, of which β = 0.5 are to go in 0.1 s:
    // (400 − 25) kB/s over 4.
    //= qfcp#3
    //= qfcp#4
    //= qfcp#9
    let mut router = router(params());
    router.control(&measured(4e5, 4e5, 6.0));
    assert_eq!((router.flows(), router.rate()), (4.0, 93_750.0));
    // Aiming at none, 30 kB/s less.
    let mut empty = QfcpRouter::new(QfcpRouterParams { resident: false, ..params() }).unwrap();
    empty.control(&measured(4e5, 4e5, 6.0));
    assert_eq!(empty.rate(), 92_500.0);
}

#[test]
fn output_and_queue_are_averaged() {
    //= qfcp#7
    //= qfcp#8
    let mut router = router(params());
    router.control(&Measured { weight: 0.25, ..measured(1e5, 1e5, 4.0) });
    router.control(&Measured { weight: 0.25, ..measured(1e5, 2e5, 8.0) });
    assert_eq!((router.capacity(), router.average_bytes()), (1.25e5, 5000.0));
}

#[test]
fn a_rate_is_heeded_by_halves() {
    // Two flows were told 100 kB/s, and then 25: in the next interval half of what comes heeds the old rate,
    // 2 · (100 + 25)/2 = 125 kB/s. Taken by itself that is 5 flows; with the 2 of before 3.5.
    let second = |average_flows| {
        let mut router = QfcpRouter::new(QfcpRouterParams { average_flows, probing: false, ..params() }).unwrap();
        router.control(&measured(2e5, 1e5, 11.0));
        assert_eq!((router.flows(), router.rate()), (2.0, 25_000.0));
        router.control(&measured(1.25e5, 1e5, 11.0));
        router.flows()
    };
    assert_eq!([second(true), second(false)], [3.5, 5.0]);
}

#[test]
fn a_link_that_rests_lowers_no_capacity() {
    // 40 packets waited, then none for an interval in which 50 kB/s left. The average of the queue, 20 packets, says
    // busy; that of the output is 75 kB/s.
    let second = |hold, dropped| {
        let mut router = QfcpRouter::new(QfcpRouterParams { hold, ..params() }).unwrap();
        router.control(&Measured { weight: 0.5, ..measured(1e5, 1e5, 40.0) });
        router.control(&Measured { weight: 0.5, ..measured(5e4, 5e4, dropped) });
        (router.capacity(), router.average_bytes())
    };
    assert_eq!([second(true, 0.0), second(false, 0.0)], [(1e5, 0.0), (7.5e4, 2e4)]);
    // Where packets were dropped, the line was too short.
    assert_eq!(second(true, 3.0), (7.5e4, 21_500.0));
}

#[test]
fn an_interval_that_the_queue_has_made_longer_weighs_more() {
    // 16 packets left in the interval, and as many as given always waited: 8 make half of it, so it weighs as two of a
    // quarter do, and 16 as eight at most.
    let weight = |time_weighted, packets| {
        let mut router = QfcpRouter::new(QfcpRouterParams { weight: 0.25, time_weighted, ..params() }).unwrap();
        for _ in 0..16 {
            router.departed(1.0, 1000.0, (packets, 1000.0));
        }
        router.weight(Queue { packets: packets as f64, bytes: 0.0, others: 0.0 })
    };
    assert_eq!([0, 8].map(|packets| weight(true, packets)), [0.25, 1.0 - 0.75 * 0.75]);
    assert!((weight(true, 16) - (1.0 - 0.75_f64.powi(8))).abs() < 1e-12);
    assert_eq!(weight(false, 8), 0.25);
}

#[test]
fn a_full_medium_tells_its_capacity_and_one_that_rests_is_probed() {
    let second = |is_full, queue_packets| {
        let mut router = router(params());
        let medium = Medium { capacity: 3e5, packet_bytes: 300.0, other_bytes: 1000.0, is_full };
        router.control(&Measured { medium: Some(medium), ..measured(1e5, 1e5, queue_packets) });
        router.capacity()
    };
    // Nothing waits at the base station, but stations have packets all the time.
    assert_eq!([second(true, 0.0), second(false, 0.0)], [3e5, 2e5]);
    assert_eq!([second(true, 2.0), second(false, 2.0)], [3e5, 3e5]);
}

#[test]
fn dropped_packets_count_as_queue() {
    //= qfcp#11
    let queue = |virtual_queue, unit| {
        let mut router = QfcpRouter::new(QfcpRouterParams { virtual_queue, unit, ..params() }).unwrap();
        router.arrived(1.0, 1000.0, (2, 600.0), None);
        router.departed(1.01, 1000.0, (2, 600.0));
        router.overflowed(500.0);
        router.departed(1.02, 500.0, (3, 700.0));
        router.turn(1.06, Queue { packets: 3.0, bytes: 700.0, others: 0.0 });
        router.average_bytes()
    };
    // 2 packets or 600 B were there at least, and one of 500 B was dropped.
    assert_eq!([queue(false, QueueUnit::Packets), queue(true, QueueUnit::Packets)], [2000.0, 3000.0]);
    assert_eq!([queue(false, QueueUnit::Bytes), queue(true, QueueUnit::Bytes)], [600.0, 1100.0]);
}

#[test]
fn the_interval_is_the_mean_round_trip_time() {
    let mut router = router(params());
    router.arrived(0.01, 1000.0, (0, 0.0), Some(0.1));
    router.arrived(0.02, 1000.0, (1, 1000.0), Some(0.3));
    router.arrived(0.03, 1000.0, (2, 2000.0), None);
    // The first interval, of 50 ms, has begun with the first packet.
    router.departed(0.059, 1000.0, (2, 2000.0));
    assert_eq!(router.interval.length_s(), 0.05);
    router.departed(0.061, 1000.0, (2, 2000.0));
    assert_eq!(router.interval.length_s(), 0.2);
}

#[test]
fn an_interval_ends_at_its_end() {
    // Bursts of two packets 44 ms apart, and intervals of 42 ms: most have one burst each. An interval that lasted until
    // the next packet would have the first of the next burst besides.
    let mut router = QfcpRouter::new(QfcpRouterParams { probing: false, ..params() }).unwrap();
    router.interval.see(0.042, 1.0);
    router.interval.turn();
    for burst in 0..4 {
        for packet in 0..2 {
            router.arrived(0.044 * f64::from(burst) + 0.001 * f64::from(packet), 1000.0, (0, 0.0), Some(0.042));
        }
    }
    assert!((router.began_s.unwrap() - 3.0 * 0.042).abs() < 1e-12, "{:?}", router.began_s);
    assert_eq!(router.input_bytes, 2000.0);
}

#[test]
fn silence_tells_nothing_of_the_capacity() {
    // The flow's packet, then a second without any: 20 intervals. The flow is forgotten, the capacity is not.
    let mut router = router(params());
    router.arrived(1.0, 20_000.0, (0, 0.0), None);
    router.arrived(1.06, 1000.0, (0, 0.0), None);
    assert_eq!((router.flows(), router.capacity()), (4.0, 1.5e5));
    router.arrived(2.06, 1000.0, (0, 0.0), None);
    assert_eq!((router.flows(), router.capacity()), (1.0, 2.25e5));
}

#[test]
fn what_crosses_the_other_way_is_traffic() {
    // An interval of an eighth of a second that begins at 1 s: 3 kB cross, 1 kB goes the queue's way, which has never
    // less than 2 packets.
    let mut router = router(params());
    router.interval.see(0.125, 1.0);
    router.interval.turn();
    (router.began_s, router.least) = (Some(1.0), Least::new(Queue { packets: 2.0, bytes: 2000.0, others: 0.0 }));
    for i in 0..3 {
        router.crossed(1.0 + f64::from(i) / 64.0, 1000.0, (2, 2000.0), 0, Some(0.125));
    }
    router.arrived(1.0625, 1000.0, (2, 2000.0), Some(0.125));
    router.departed(1.09375, 1000.0, (2, 2000.0));
    router.departed(1.125, 1000.0, (2, 2000.0));
    // 4 kB in and out in an eighth of a second: 32 kB/s. That is less than R, so one flow.
    assert_eq!((router.capacity(), router.flows()), (32_000.0, 1.0));
}

#[test]
fn what_waits_at_the_stations_counts_by_its_time() {
    // An interval of an eighth of a second, 16 packets down of 4 ms each and 16 acknowledgements up of 2 ms, the medium always
    // busy. A packet always waits here, and at the stations as many as they tell; an acknowledgement counts for a third of
    // what crosses in the 6 ms of an exchange.
    let drained = |told: u8| {
        let mut router = router(params());
        router.interval.see(0.125, 1.0);
        router.interval.turn();
        let others = f64::from(told);
        (router.began_s, router.others) = (Some(1.0), others);
        router.least = Least::new(Queue { packets: 1.0, bytes: 1000.0, others });
        for i in 0..16 {
            let t_s = 1.0 + f64::from(i) / 128.0;
            router.arrived(t_s, 976.0, (1, 1000.0), Some(0.125));
            router.departed(t_s, 976.0, (1, 1000.0));
            router.airtime.busy(1.0 / 192.0, true);
            router.crossed(t_s, 24.0, (1, 1000.0), told.into(), None);
            router.airtime.busy(1.0 / 384.0, false);
        }
        router.turn(1.125, Queue { packets: 1.0, bytes: 1000.0, others });
        router.average_bytes()
    };
    let of_one = 1000.0 * 2.0 / 3.0;
    assert!((drained(0) - of_one).abs() < 1e-9, "{}", drained(0));
    assert!((drained(8) - (of_one + 8.0 * 1000.0 / 3.0)).abs() < 1e-9, "{}", drained(8));
}

#[test]
fn rates_that_nobody_can_obey_stop_falling() {
    // Flows at the least window send 1 MB/s whatever they are told, and the queue stands at 50 packets.
    let settled = |bounded| {
        let mut router = QfcpRouter::new(QfcpRouterParams { bounded, ..params() }).unwrap();
        for _ in 0..200 {
            router.control(&measured(1e6, 1e6, 50.0));
        }
        (router.rate(), router.flows())
    };
    // A packet in 0.1 s, and 100 flows that send so much.
    assert_eq!(settled(true), (10_000.0, 100.0));
    assert!(settled(false).0 < 1e-6);
}

#[test]
fn an_idle_link_offers_no_more_than_it_has() {
    let mut router = router(params());
    for _ in 0..100 {
        router.control(&measured(100.0, 100.0, 0.0));
    }
    assert_eq!(router.flows(), 1.0);
    assert_eq!(router.rate(), 1e6 + 0.5 * 1000.0 / 0.1);
}

#[test]
fn errors_name_the_key() {
    let refused = |params| QfcpRouter::new(params).unwrap_err().key;
    assert_eq!(refused(QfcpRouterParams::new(Rate::from_bps(0), Rate::from_bps(1))), "capacity");
    assert_eq!(refused(QfcpRouterParams::new(Rate::from_bps(2), Rate::from_bps(1))), "max_capacity");
    assert_eq!(refused(QfcpRouterParams { alpha: 0.0, ..params() }), "alpha");
    assert_eq!(refused(QfcpRouterParams { beta: f64::NAN, ..params() }), "beta");
    assert_eq!(refused(QfcpRouterParams { weight: 0.0, ..params() }), "weight");
    assert_eq!(refused(QfcpRouterParams { packet: Bytes::ZERO, ..params() }), "packet");
}
