// SPDX-License-Identifier: MIT OR Apache-2.0
//! QFCP in integers against the simulator's, and numbers of 16 bits against what they stand for.

use lasthop_core::law::qfcp::{Measured, QfcpRouter as Exact, QfcpRouterParams, equations};
use lasthop_core::units::Rate;
use lasthop_fixed::qfcp::{self, QfcpMeasured, QfcpRouter, QfcpSettings, QfcpSight};
use lasthop_fixed::wire;
use proptest::prelude::*;

const Q4: f64 = 16.0;
const Q8: f64 = 256.0;
const Q16: f64 = 65_536.0;
const Q24: f64 = 16_777_216.0;
const Q31: f64 = 2_147_483_648.0;
/// Of what is above such a rate, B/s are whole.
const WHOLE: f64 = 2.0;

/// Numbers of up to so many bits, small ones as often as large ones.
fn sized(bits: u32) -> impl Strategy<Value = u64> {
    (1..=bits, any::<u64>()).prop_map(|(bits, x)| x >> (64 - bits))
}

#[track_caller]
fn near(found: f64, exact: f64, share: f64, beside: f64) {
    assert!((found - exact).abs() <= exact.abs() * share + beside, "{found}, wanted {exact}");
}

/// The settings of the router of the simulator with these parameters.
fn settings(params: &QfcpRouterParams) -> QfcpSettings {
    let rate = |rate: Option<Rate>| rate.unwrap().as_bytes_per_sec() as u64;
    QfcpSettings {
        capacity: rate(params.capacity),
        max_capacity: rate(params.max_capacity),
        forgets_q24: ((-(1.0 - params.weight).ln()).min(16.0) * Q24) as u64,
        alpha_q16: (params.alpha * Q16).round() as u32,
        beta_q16: (params.beta * Q16).round() as u32,
        packet_bytes: params.packet.get() as u32,
        probing: params.probing.into(),
        resident: params.resident.into(),
        virtual_queue: params.virtual_queue.into(),
        in_packets: 0,
        bounded: params.bounded.into(),
        average_flows: params.average_flows.into(),
        hold: params.hold.into(),
        time_weighted: params.time_weighted.into(),
        careful: params.careful.into(),
        pad: [0; 3],
    }
}

proptest! {
    #[test]
    fn numbers_of_sixteen_bits(x in sized(42)) {
        near(wire::value(wire::of(x)) as f64, x as f64, 1.0 / 2048.0, 0.0);
        prop_assert!(wire::of(x) < wire::ALL);
    }

    #[test]
    fn they_are_in_the_order_of_what_they_stand_for(x in sized(42), y in sized(42)) {
        let (low, high) = (x.min(y), x.max(y));
        prop_assert!(wire::of(low) <= wire::of(high));
        prop_assert!(wire::value(wire::of(low)) <= wire::value(wire::of(high)));
    }

    #[test]
    fn changes_have_a_direction(x in sized(40), down in any::<bool>()) {
        let change = if down { -(x as i64) } else { x as i64 };
        near(wire::change_q8(wire::change_of(change)) as f64, change as f64, 1.0 / 1024.0, 0.0);
        prop_assert!(wire::change_of(change) != wire::ANY_CHANGE);
    }

    #[test]
    fn flows(input in sized(34), rate in sized(34)) {
        let rate = rate.max(1);
        let exact = equations::flows(input as f64, rate as f64);
        near(qfcp::flows_q16(input, rate) as f64 / Q16, exact, 0.0, 1.0 / Q16);
    }

    #[test]
    fn probed_capacity(capacity in sized(34), output in sized(34), packets in sized(24), alpha in 0.0..256.0f64) {
        let alpha_q16 = (alpha * Q16) as u32;
        let exact = equations::probed_capacity(
            capacity as f64, output as f64, packets as f64 / Q16, f64::from(alpha_q16) / Q16,
        );
        near(qfcp::probed_capacity(capacity, output, packets, alpha_q16) as f64, exact, 0.0, 1.0);
    }

    #[test]
    fn careful_growth(alpha in 0.0..256.0f64, left in 0..4u32) {
        let alpha_q16 = (alpha * Q16) as u32;
        let exact = equations::careful_growth(f64::from(alpha_q16) / Q16, left);
        near(f64::from(qfcp::careful_growth_q16(alpha_q16, left.into())) / Q16, exact, 0.0, 1.0 / Q16);
    }

    #[test]
    fn weight_over(weight in 0.001..0.999f64, intervals in 1.0..8.0f64) {
        let found = qfcp::keep_q31((-(1.0 - weight).ln() * Q24) as u64, (intervals * Q16) as u64) as f64 / Q31;
        near(1.0 - found, equations::weight_over(weight, intervals), 1e-4, 3e-4);
    }

    #[test]
    fn fair_rate(
        capacity in sized(34), queue in sized(34), aim in 0..65_535u64, beta in 0.0..16.0f64,
        interval_us in 1_000..=1_000_000u64, flows in 1.0..10_000.0f64,
    ) {
        let (beta_q16, flows_q16) = ((beta * Q16) as u32, (flows * Q16) as u64);
        let (interval_s, n) = (interval_us as f64 / 1e6, flows_q16 as f64 / Q16);
        let beta = f64::from(beta_q16) / Q16;
        let exact = equations::fair_rate(capacity as f64, queue as f64 / Q4, aim as f64, beta, interval_s, n).max(0.0);
        let found = qfcp::fair_rate(capacity, queue, aim, beta_q16, interval_us * 1000, flows_q16) as f64;
        // The change for the queue's sake is rounded to a sixteenth of a byte in an interval, and above 2^30 B to parts of it.
        let change = beta * (queue as f64 / Q4 - aim as f64).abs() / interval_s;
        let beside = (1.0 / Q4 / interval_s + 1.0 + change * 1e-4) / n + 1.0;
        if exact < 2f64.powi(34) / n {
            near(found, exact, 1e-6, beside);
        }
    }

    #[test]
    fn window(rate in sized(34), rtt_us in 1..1u32 << 27, wire in 40..9000u32) {
        let exact = equations::window(rate as f64 / f64::from(wire), f64::from(rtt_us) / 1e6);
        let found = qfcp::window_q16(rate, rtt_us, wire) as f64 / Q16;
        near(found, exact, 1e-12, 1.0 / f64::from(wire) + 2.0 / Q16);
    }

    /// A step of the router from the same state, by both.
    #[test]
    fn a_step(
        (input, output) in (sized(27), sized(27)), queue in 0..200_000u64, packets in 0..200u64,
        interval_us in 1_000..=1_000_000u64, first in any::<bool>(),
        (probing, resident, bounded) in any::<(bool, bool, bool)>(),
        (average_flows, hold, careful) in any::<(bool, bool, bool)>(), idle in 0..5,
    ) {
        let params = QfcpRouterParams {
            probing, resident, bounded, average_flows, hold, careful,
            ..QfcpRouterParams::new(Rate::from_bps(10_000_000), Rate::from_bps(1_000_000_000))
        };
        let told = settings(&params);
        let measure = |input: u64, output: u64, queue: u64, packets: u64| Measured {
            input: input as f64, output: output as f64, queue_bytes: queue as f64, queue_packets: packets as f64,
            interval_s: interval_us as f64 / 1e6, weight: params.weight, medium: None,
        };
        let in_integers = |input, output, queue_bytes: u64, packets: u64| QfcpMeasured {
            input, output, queue_q4: queue_bytes << 4, packets_q16: packets << 16,
            keep_q31: qfcp::keep_q31(told.forgets_q24, 1 << 16),
        };
        let mut exact = Exact::new(params).unwrap();
        let mut own = QfcpRouter {
            capacity: told.capacity, rate: told.capacity, flows_q16: 1 << 16, interval_ns: interval_us * 1000,
            ..QfcpRouter::default()
        };
        if !first {
            // One in which everything is as it should be.
            exact.control(&measure(1_000_000, 1_200_000, 3000, 2));
            qfcp::control(&mut own, &told, &in_integers(1_000_000, 1_200_000, 3000, 2));
            // And some with a queue now and then.
            for _ in 0..idle {
                exact.control(&measure(1_000_000, 1_200_000, 0, 0));
                qfcp::control(&mut own, &told, &in_integers(1_000_000, 1_200_000, 0, 0));
            }
        }
        exact.control(&measure(input, output, queue, packets));
        qfcp::control(&mut own, &told, &in_integers(input, output, queue, packets));
        near(own.capacity as f64, exact.capacity(), 1e-3, WHOLE);
        near(own.flows_q16 as f64 / Q16, exact.flows(), 2e-3, 2.0 / Q16);
        near(own.queue_q4 as f64 / Q4, exact.average_bytes(), 1e-3, 1.0);
        // What the queue takes of the rate may be as much as the rate: its error counts.
        let drains = params.beta * exact.average_bytes() / (interval_us as f64 / 1e6);
        let error = 2e-3 * (exact.capacity() + drains) / exact.flows();
        near(own.rate as f64, exact.rate(), 2e-3, error + WHOLE);
    }
}

/// One flow that sends by what it was told, over a line of 1.25 MB/s with a round trip of 40 ms.
#[test]
fn it_finds_the_line_as_the_simulators_router_does() {
    let params = QfcpRouterParams::new(Rate::from_bps(1_000_000), Rate::from_bps(100_000_000));
    let told = settings(&params);
    let (line, size, rtt_s) = (1_250_000.0, 1500.0, 0.04);
    let mut exact = Exact::new(params).unwrap();
    let mut own = QfcpRouter { rate: told.capacity, ..QfcpRouter::default() };
    let means = [false, true].map(|by_integers| {
        let (mut t_s, mut queue, mut left, mut sent) = (1.0, 0.0f64, 0.0f64, 0.0f64);
        let mut told_at = vec![];
        while t_s < 21.0 {
            let packets = (queue / size) as usize;
            let rate = if by_integers {
                let sight = QfcpSight {
                    now_ns: (t_s * 1e9) as u64,
                    queue_bytes: queue as u64,
                    queue_packets: packets as u64,
                    departed_bytes: left as u64,
                    dropped_packets: 0,
                };
                qfcp::turn(&mut own, &told, &sight);
                qfcp::count(&mut own, &sight, size as u64, (rtt_s * 1e6) as u32);
                own.rate as f64
            } else {
                exact.departed(t_s, sent, (packets, queue));
                exact.arrived(t_s, size, (packets, queue), Some(rtt_s));
                exact.rate()
            };
            told_at.push((t_s, rate));
            // What was told a round trip ago is heeded now.
            let heeded =
                told_at.iter().rev().find(|(at_s, _)| *at_s <= t_s - rtt_s).map_or(125_000.0, |(_, rate)| *rate);
            let gap_s = size / heeded;
            sent = (queue + size).min(line * gap_s);
            (queue, left, t_s) = (queue + size - sent, left + sent, t_s + gap_s);
        }
        assert!(queue < 20.0 * size, "{queue} {by_integers}");
        let last: Vec<_> = told_at.iter().filter(|(at_s, _)| *at_s > 11.0).map(|(_, rate)| *rate).collect();
        last.iter().sum::<f64>() / last.len() as f64
    });
    near(means[1], means[0], 0.02, 0.0);
    near(means[1], line, 0.1, 0.0);
}

#[test]
fn what_is_outside_is_capped() {
    assert_eq!([wire::of(u64::MAX), wire::change_of(i64::MAX)], [wire::ALL - 1, wire::ANY_CHANGE - 1]);
    assert_eq!(
        (qfcp::flows_q16(5, 0), qfcp::window_q16(0, 40_000, 1500), qfcp::window_q16(9, 9, 0)),
        (0, 1 << 16, 1 << 16)
    );
    assert_eq!(qfcp::fair_rate(1000, 1 << 60, 0, 1 << 15, 1_000_000, 1 << 16), 0);
    assert_eq!((qfcp::fair_rate(1000, 0, 0, 1 << 15, 1_000_000, 0), qfcp::virtual_queue(5, 7)), (0, 12));
    let q8 = wire::change_q8(wire::change_of(-3)) as f64 / Q8;
    assert_eq!(q8, -3.0 / Q8);
}
