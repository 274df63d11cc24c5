// SPDX-License-Identifier: MIT OR Apache-2.0
//! XCP in integers against the simulator's.

use lasthop_core::law::xcp::{Efficiency, Gains, Header, Told, XcpRouter as Exact, XcpRouterParams, equations};
use lasthop_core::units::Rate;
use lasthop_fixed::xcp::{self, ANY_Q8, XcpHeader, XcpPot, XcpRouter, XcpSettings};
use proptest::prelude::*;

const Q8: f64 = 256.0;
const Q16: f64 = 65_536.0;
const S: f64 = 1e9;
/// What lies so near an end may be on either side of it.
const EDGE_NS: u64 = 100_000;

/// Numbers of up to so many bits, small ones as often as large ones.
fn sized(bits: u32) -> impl Strategy<Value = u64> {
    (1..=bits, any::<u64>()).prop_map(|(bits, x)| x >> (64 - bits))
}

#[track_caller]
fn near(found: f64, exact: f64, share: f64, beside: f64) {
    assert!((found - exact).abs() <= exact.abs() * share + beside, "{found}, wanted {exact}");
}

fn settings(capacity: u64, gains: &Gains) -> XcpSettings {
    let q16 = |gain: f64| (gain * Q16).round() as u32;
    XcpSettings {
        capacity,
        alpha_q16: q16(gains.alpha),
        beta_q16: q16(gains.beta),
        gamma_q16: q16(gains.gamma),
        pad: 0,
    }
}

proptest! {
    #[test]
    fn told_change(
        (alpha_q16, beta_q16) in (0..=1u32 << 20, 0..=1u32 << 20), (capacity, input) in (sized(34), sized(34)),
        queue in sized(30), d_us in 1_000..=1_000_000u64,
    ) {
        let (alpha, beta) = (f64::from(alpha_q16) / Q16, f64::from(beta_q16) / Q16);
        let d = d_us as f64 / 1e6;
        let exact = equations::told_change(alpha, beta, capacity as f64, input as f64, queue as f64, d);
        let found = xcp::told_change_q8(alpha_q16, beta_q16, capacity, input, queue, d_us * 1000) as f64 / Q8;
        // A 2^-8 B of what is apart, alpha times, and one of each sum; f64 has 53 bits of it.
        let sizes = alpha * (capacity.max(input) as f64) * d + beta * queue as f64;
        near(found, exact, 0.0, (alpha + 2.0) / Q8 + sizes * 1e-15);
    }

    #[test]
    fn shuffled(gamma_q16 in 0..=1u32 << 16, input in sized(34), d_us in 1_000..=1_000_000u64, change in sized(40), down in any::<bool>()) {
        let signed = if down { -(change as i64) } else { change as i64 };
        let exact = equations::shuffled(f64::from(gamma_q16) / Q16, input as f64, d_us as f64 / 1e6, signed as f64 / Q8);
        near(xcp::shuffled_q8(gamma_q16, input, d_us * 1000, signed) as f64 / Q8, exact, 1e-12, 2.0 / Q8);
    }

    #[test]
    fn share(rtt_us in 1..=1_000_000u32, size in 40..=1u64 << 20, cwnd in sized(34)) {
        let exact = equations::share(f64::from(rtt_us) / 1e6, size as f64, cwnd as f64);
        near(xcp::share_ns(rtt_us, size, cwnd) as f64, exact * S, 1e-12, 1.0);
    }

    /// xi_p of the raise times a packet's share, and xi_n times its bytes.
    #[test]
    fn parts_of_a_change(amount in sized(46), units in sized(40), part in sized(30)) {
        let units = units.max(1);
        let mut pot = XcpPot::default();
        xcp::fill(&mut pot, amount, units);
        let each = amount as f64 / units as f64;
        let raised = equations::raised(each, part as f64).min(amount as f64);
        let lowered = equations::lowered(each, part as f64).min(amount as f64);
        let found = xcp::part_q8(&pot, part) as f64;
        // Of a unit's part 2^-shift is lost, of 2^16 at least: a part of at most 2^30 units loses as many.
        let beside = 1.0 + part.min(units) as f64 / (1u64 << pot.shift.min(62)) as f64;
        near(found, raised, 1e-12, beside);
        near(found, lowered, 1e-12, beside);
        prop_assert!(found <= amount as f64);
    }

    /// What is dealt out is what there was, and no more, whoever takes it.
    #[test]
    fn no_more_is_dealt_than_there_was(amount in sized(40), parts in prop::collection::vec(1..1_000_000u64, 1..60)) {
        let (mut pot, all) = (XcpPot::default(), parts.iter().sum::<u64>());
        xcp::fill(&mut pot, amount, all);
        let dealt = parts.iter().map(|part| xcp::part_q8(&pot, *part)).sum::<u64>();
        prop_assert!(dealt <= amount);
        near(dealt as f64, amount as f64, 1e-6, 2.0 * parts.len() as f64);
    }

    #[test]
    fn window(window_q16 in 1u64 << 16..1 << 36, change in sized(41), down in any::<bool>(), rtt_us in 1..=1_000_000u32, wire in 40..9000u32) {
        let signed = if down { -(change as i64) } else { change as i64 };
        let feedback = signed as f64 / Q8 / f64::from(wire);
        let exact = equations::window(window_q16 as f64 / Q16, feedback, f64::from(rtt_us) / 1e6);
        let found = xcp::window_q16(window_q16, signed, rtt_us, wire) as f64 / Q16;
        near(found, exact, 1e-12, 1.0 / f64::from(wire) / Q8 + 2.0 / Q16);
    }

    /// The router by both, from the start, at packets of some flows with round trips, pauses and a queue that comes and goes.
    #[test]
    fn a_router(
        (alpha, beta, gamma) in (0.05..1.0f64, 0.01..1.0f64, 0.0..=1.0f64), capacity in 10_000..1u64 << 32,
        packets in prop::collection::vec(
            (1_000..40_000_000u64, 0..300_000u64, prop_oneof![Just(0u32), 2_000..=400_000u32], 1..500u64, any::<bool>()), 1..80,
        ),
    ) {
        let gains = Gains { alpha, beta, gamma };
        let told = settings(capacity, &gains);
        // As the integers have them.
        let gains = Gains {
            alpha: f64::from(told.alpha_q16) / Q16,
            beta: f64::from(told.beta_q16) / Q16,
            gamma: f64::from(told.gamma_q16) / Q16,
        };
        let efficiency = Efficiency::Told(Told { capacity: Some(Rate::from_bps(8 * capacity)) });
        let mut exact = Exact::new(XcpRouterParams { efficiency, gains }).unwrap();
        let mut own = XcpRouter::default();
        let (size, first_ns) = (1500u64, 1u64);
        let mut now_ns = first_ns;
        let (mut given, mut given_exact, mut greatest) = (0.0, 0.0, 0.0f64);
        for (gap_ns, queue, rtt_us, window, asks_less) in packets {
            // Who leaves is with those who wait.
            let queue = queue + size;
            let asked = if asks_less { 2000 << 8 } else { ANY_Q8 };
            let header = XcpHeader { change_q8: asked, cwnd_bytes: window * size, size_bytes: size, rtt_us, pad: 0 };
            let as_exact = Header {
                cwnd_bytes: (window * size) as f64,
                rtt_s: f64::from(rtt_us) / 1e6,
                change: if asks_less { 2000.0 } else { f64::INFINITY },
            };
            // Times are rounded: a packet at the very end of an interval, or of the queue's span, would be on either side of it.
            let is_late = |began_ns: u64, length_ns: u64| {
                let into_ns = now_ns.saturating_sub(began_ns) % length_ns.max(1);
                length_ns > 0 && (into_ns < EDGE_NS || length_ns - into_ns < EDGE_NS)
            };
            if is_late(own.began_ns, own.interval_ns) || is_late(own.span_began_ns, own.span_ns) {
                now_ns += 2 * EDGE_NS;
                continue;
            }
            // At its own zero it begins.
            let t_s = (now_ns - first_ns) as f64 / S;
            let share_ns = xcp::share_ns(rtt_us, size, header.cwnd_bytes);
            xcp::turn(&mut own, &told, now_ns, queue);
            xcp::count(&mut own, queue, &header, share_ns);
            let found = xcp::deal_q8(&mut own, &header, share_ns) as f64 / Q8;
            exact.arrived(t_s, size as f64, queue as f64, Some(&as_exact));
            let wanted = exact.departed(t_s, size as f64, (queue - size) as f64, Some(&as_exact)).unwrap();
            near(own.interval_ns as f64 / S, exact.interval_s(), 1e-6, 2e-6);
            given += found;
            given_exact += wanted;
            // What there is to deal: all that is spare, or the whole queue in an interval.
            greatest = greatest.max(wanted.abs()).max(own.raise.left_q8.max(own.lower.left_q8) as f64 / Q8);
            near(found, wanted, 1e-3, greatest * 1e-4 + 4.0);
            now_ns += gap_ns;
        }
        near(given, given_exact, 1e-3, greatest * 1e-2 + 400.0);
    }
}

/// Flows of 10 segments at first over a line of 1.25 MB/s with a round trip of 40 ms, by the integers alone.
#[test]
fn flows_find_the_capacity_and_share_it() {
    let told = settings(1_250_000, &Gains::default());
    let (mut router, line, size, rtt_ns) = (XcpRouter::default(), 1_250_000u64, 1500u64, 40_000_000u64);
    // Window, when its next packet goes, and feedback on its way home.
    let mut windows = [1u64 << 16, 40 << 16];
    let mut next_ns = [1u64, 7_000_000];
    let mut home: Vec<(u64, usize, i64)> = vec![];
    let (mut queue, mut last_ns, mut late) = (0u64, 0u64, [0u64; 2]);
    loop {
        let flow = usize::from(next_ns[1] < next_ns[0]);
        let now_ns = next_ns[flow];
        if now_ns > 20 * 1_000_000_000 {
            break;
        }
        home.retain(|(at_ns, to, change)| {
            let is_here = *at_ns <= now_ns;
            if is_here {
                windows[*to] = xcp::window_q16(windows[*to], *change, 40_000, size as u32);
            }
            !is_here
        });
        queue = queue.saturating_sub((now_ns - last_ns) * line / 1_000_000_000);
        last_ns = now_ns;
        let header = XcpHeader {
            change_q8: ANY_Q8,
            cwnd_bytes: (windows[flow] * size) >> 16,
            size_bytes: size,
            rtt_us: 40_000,
            pad: 0,
        };
        let share_ns = xcp::share_ns(40_000, size, header.cwnd_bytes);
        xcp::turn(&mut router, &told, now_ns, queue);
        xcp::count(&mut router, queue, &header, share_ns);
        home.push((now_ns + rtt_ns, flow, xcp::deal_q8(&mut router, &header, share_ns)));
        queue += size;
        if now_ns > 10 * 1_000_000_000 {
            late[flow] += size;
        }
        next_ns[flow] = now_ns + (rtt_ns << 16) / windows[flow];
    }
    let rates = late.map(|bytes| bytes as f64 / 10.0);
    near(rates[0] + rates[1], line as f64, 0.03, 0.0);
    near(rates[0], rates[1], 0.05, 0.0);
    assert!(queue < 5 * size, "{queue}");
}

#[test]
fn what_is_outside_is_capped() {
    assert_eq!(xcp::window_q16(5 << 16, i64::MIN + 1, 1_000_000, 1500), 1 << 16);
    assert_eq!((xcp::window_q16(5 << 16, 1 << 20, 1000, 0), xcp::share_ns(1000, 0, 0)), (5 << 16, 0));
    let mut pot = XcpPot::default();
    assert_eq!(xcp::part_q8(&pot, 7), 0);
    xcp::fill(&mut pot, u64::MAX, 0);
    assert_eq!((xcp::part_q8(&pot, 7), pot.left_q8), (0, 1 << 46));
    // Without a round-trip time nothing is dealt, and what is less stays.
    let mut router = XcpRouter::default();
    let header = |change_q8| XcpHeader { change_q8, cwnd_bytes: 1500, size_bytes: 1500, rtt_us: 0, pad: 0 };
    assert_eq!([ANY_Q8, -7].map(|change| xcp::deal_q8(&mut router, &header(change), 0)), [0, -7]);
}
