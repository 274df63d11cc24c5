// SPDX-License-Identifier: MIT OR Apache-2.0

use super::equations as eq;
use super::line::StationLine;
use super::*;
use crate::packet::StationStamp;
use crate::role::MarkerLaw;

fn close(value: f64, wanted: f64) {
    assert!((value - wanted).abs() <= 1e-6 * wanted.abs().max(1e-3), "{value}, wanted {wanted}");
}

//= station#1
#[test]
fn busy_time_is_known_from_stamps() {
    assert_eq!([eq::busy(0.1, 1.0, 0.02), eq::busy(0.1, 0.0, 0.02), eq::busy(0.1, 0.0, 0.3)], [0.1, 0.02, 0.1]);
}

//= station#3
//= station#4
//= station#5
#[test]
fn what_is_granted_is_on_its_way_or_waits() {
    // 9000 B until now, 5000 of them a round trip ago: 4000 on their way. Of 10,000 held 6000 wait; 2/3 if only 12 of 18 kB do.
    close(eq::pipe(9000.0, 5000.0), 4000.0);
    close(eq::scale(12e3, 18e3), 2.0 / 3.0);
    assert_eq!(eq::scale(18e3, 12e3), 1.0);
    close(eq::waiting(10e3, 4000.0, 2.0 / 3.0), 4000.0);
    assert_eq!(eq::waiting(3000.0, 4000.0, 1.0), 0.0);
    close(eq::arriving(6500.0, 5000.0), 1500.0);
}

//= station#6
//= station#7
//= station#8
//= station#9
#[test]
fn the_fast_fill_what_the_slow_leave() {
    assert!(eq::is_slower(0.032, 0.02) && !eq::is_slower(0.031, 0.02));
    close(eq::lead(0.02, true), 0.014);
    close(eq::lead(0.1, true), 0.09);
    close(eq::lead(0.1, false), 0.09);
    close(eq::lead(0.2, false), 0.18);
    // 1 MB/s for 90 + 10 ms, and a quarter of the 4 kB that the queue is too short.
    close(eq::room(1e6, 0.09, 0.01, 0.25, 6e3), 101e3);
    close(eq::window(0.5, 101e3, 41e3), 30e3);
    assert_eq!(eq::window(0.5, 101e3, 102e3), 0.0);
}

//= station#14
//= station#15
#[test]
fn who_has_no_more_to_send_has_what_it_takes() {
    close(eq::held_by_limited(1e5, 0.04, 0.01), 5e3);
    close(eq::limited_window(0.5, 1e6, 0.04, 0.01), 25e3);
}

//= station#24
#[test]
fn who_has_a_faster_one_beside_him_may_have_more_than_the_room() {
    // Of two of weight 1 that lean to 2 and to 1/2.
    close(eq::weights_beside(2.5, 1.5, true), 2.5);
    close(eq::weights_beside(2.5, 1.5, false), 1.5);
}

//= station#27
#[test]
fn who_is_new_counts_twice() {
    assert_eq!([eq::counted(0.0), eq::counted(99_999.0), eq::counted(100e3)], [2.0, 2.0, 1.0]);
}

//= station#16
//= station#17
#[test]
fn a_station_fills_its_own_part_and_leaves_a_thin_uplink_alone() {
    assert_eq!([eq::own_part(95.0, 100.0), eq::own_part(0.0, 0.0)], [1.0, 1.0]);
    // Two fill the line once, drawn to one half each; who comes has a twentieth at least.
    close(eq::own_part(50.0, 100.0), 0.5);
    close(eq::own_part(80.0, 100.0), 0.77);
    close(eq::own_part(20.0, 100.0), 0.23);
    close(eq::own_part(0.0, 100.0), 0.05);
    assert!(eq::is_crowded(0.021) && !eq::is_crowded(0.02));
}

//= station#28
#[test]
fn acknowledgements_are_thinned_for_ten_seconds_after_a_crowd() {
    assert!(eq::thins_acks(9.9) && !eq::thins_acks(10.0));
    // A packet each 10 ms, whose round trip is 30 ms longer from the first second to the second.
    let thinned = |keys: StationKeys| {
        let mut agent = StationAgent::new(keys).unwrap();
        let (flow, mut edge) = (agent.add(1.0, 1000), 10_000);
        let mut seconds = vec![];
        for n in 1..=1500_u32 {
            let t_s = 0.01 * f64::from(n);
            let late_s = if (100..200).contains(&n) { 0.03 } else { 0.0 };
            let told = Known::Stamped { stamp: stamp(1250 * n, 1250.0, 0.02), rtt_s: Some(0.125 + late_s) };
            let (size_bytes, payload_bytes, received) = (1250.0, 1000.0, u64::from(1000 * n));
            let (most_edge, is_acknowledged) = (u64::MAX, true);
            let arrival =
                StationArrival { t_s, size_bytes, payload_bytes, told, received, edge, most_edge, is_acknowledged };
            for grant in agent.received(flow, &arrival) {
                edge = grant.edge;
            }
            if agent.thins_acks() {
                seconds.push(t_s);
            }
        }
        (seconds.first().copied(), seconds.last().copied())
    };
    let (first, last) = thinned(PLAIN());
    assert!((1.1..1.25).contains(&first.unwrap()) && (11.9..12.1).contains(&last.unwrap()), "{first:?} {last:?}");
    assert_eq!(thinned(StationKeys { thin_acks: false, ..PLAIN() }), (None, None));
}

//= station#19
#[test]
fn the_line_of_the_least_window_binds() {
    assert!(eq::is_bound(94.0, 100.0) && !eq::is_bound(95.0, 100.0));
}

fn stamp(sent_bytes: u32, behind_bytes: f32, waited_s: f32) -> StationStamp {
    StationStamp { sent_bytes, behind_bytes, waited_s, ..StationStamp::default() }
}

//= station#2
#[test]
fn a_line_is_known_by_its_stamps_alone() {
    // Each second 20 packets of 1500 B in 120 ms, every other one lost behind the queue; nothing for the rest.
    let (mut line, mut sent) = (StationLine::default(), u32::MAX - 10_000);
    for n in 0..200 {
        let (second, place) = (n / 20, n % 20);
        sent = sent.wrapping_add(1500);
        if place % 2 == 1 {
            let t_s = f64::from(second) + 0.006 * f64::from(place + 1);
            line.see(t_s, 1500.0, stamp(sent, 1500.0 * (19 - place) as f32, (0.006 * f64::from(place + 1)) as f32));
        }
    }
    assert!((line.rate().unwrap() / 250e3 - 1.0).abs() < 0.02, "{:?}", line.rate());
    let mut even = StationLine::default();
    for n in 1..=200_u32 {
        let (second, place) = (f64::from(n / 20), n % 20);
        let t_s = second + 0.006 * f64::from(place + 1);
        even.see(t_s, 1500.0, stamp(n * 1500, 1500.0 * (19 - place) as f32, (0.006 * f64::from(place + 1)) as f32));
    }
    assert!((even.rate().unwrap() / 250e3 - 1.0).abs() < 0.02, "{:?}", even.rate());
    // One that comes late, overtaken by others, changes nothing.
    let before = even.rate();
    even.see(11.0, 1500.0, stamp(1500, 9000.0, 0.5));
    assert_eq!((even.rate(), even.queue_bytes()), (before, 28_500.0));
}

#[test]
fn what_others_send_in_a_gap_is_no_rate_of_the_line() {
    // 125 kB/s: each 20 ms a packet of ours that does not wait, right behind another's in every second gap. Their bytes within our
    // packet's own wait would be twice the rate.
    let (mut line, mut sent) = (StationLine::default(), 0);
    for n in 0..50 {
        sent += if n % 2 == 0 { 1250 } else { 2500 };
        line.see(0.02 * f64::from(n), 1250.0, stamp(sent, 0.0, 0.01));
    }
    assert!((line.rate().unwrap() / 125e3 - 1.0).abs() < 0.01, "{:?}", line.rate());
    // A gap in which more was sent than that rate explains tells of a faster line.
    let before = line.rate().unwrap();
    assert_eq!(line.see(1.0, 1250.0, stamp(sent + 12_500, 0.0, 0.01)), 12_500.0);
    assert!(line.rate().unwrap() > 1.3 * before, "{:?} after {before}", line.rate());
}

#[test]
fn a_count_that_has_come_round_stops_nothing() {
    for (bits, far) in [(32, u32::MAX / 2 + 1), (24, 1 << 23)] {
        let mut line = StationLine::new(0, bits);
        let sees = |line: &mut StationLine, from_s: f64, from: u32| {
            for n in 1..=40_u32 {
                let sent = from.wrapping_add(1250 * n) & (u32::MAX >> (32 - bits));
                line.see(from_s + 0.01 * f64::from(n), 1250.0, stamp(sent, 1250.0, 0.02));
            }
        };
        sees(&mut line, 0.0, far.wrapping_mul(2).wrapping_sub(10_000));
        assert!((line.rate().unwrap() / 125e3 - 1.0).abs() < 0.01, "{bits}: {:?}", line.rate());
        // A pause, in which others send half of what the count holds; then a line of the same rate, and a faster one.
        let later = 40_000_u32.wrapping_add(far);
        assert_eq!(line.see(60.0, 1250.0, stamp(later & (u32::MAX >> (32 - bits)), 1250.0, 0.02)), 1250.0);
        for n in 1..=40_u32 {
            let sent = later.wrapping_add(2500 * n) & (u32::MAX >> (32 - bits));
            line.see(60.0 + 0.01 * f64::from(n), 2500.0, stamp(sent, 1250.0, 0.02));
        }
        assert!(line.rate().unwrap() > 200e3, "{bits}: {:?}", line.rate());
    }
}

#[test]
fn a_coarse_stamp_is_within_half_a_step() {
    let mut router = StationRouter::set_up(StationRouterParams { coarse: true }).unwrap();
    let told = router.stamp(1500, 30e3, 0.05);
    assert_eq!(told.sent_bytes, 1280);
    // Half of an eighth of an octave is 4.4 %.
    assert!((f64::from(told.behind_bytes) / 30e3 - 1.0).abs() < 0.044, "{told:?}");
    // A wait is rounded down, by up to an eighth of an octave.
    assert!((0.917..1.0).contains(&(f64::from(told.waited_s) / 0.05)), "{told:?}");
    assert_eq!(router.stamp(1500, 0.0, 0.0), stamp(2816, 0.0, 0.0));
    // Its count has 16 bits.
    assert_eq!(router.sent_bits(), 24);
    assert_eq!(router.stamp((1 << 24) - 3000, 0.0, 0.0).sent_bytes, 0);
    assert_eq!(router.stamp(1500, 0.0, 0.0).sent_bytes, 1280);
    let mut exact = StationRouter::set_up(StationRouterParams::default()).unwrap();
    assert_eq!(exact.stamp(1500, 30e3, 0.05), stamp(1500, 30e3, 0.05));
}

/// A line of 125 kB/s: of two flows with `rtts_s` packets of 1250 B come each 10 ms, with 1000 B of payload, for as many seconds; `takes`
/// says whose the n-th is, and the queue behind it. Gives how far the edges are from what has come, in segments, and how many updates
/// of other flows' windows there were.
fn two_flows(
    keys: StationKeys,
    rtts_s: [f64; 2],
    seconds: u32,
    takes: impl Fn(u32) -> (usize, f32),
) -> ([f64; 2], usize) {
    let mut agent = StationAgent::new(keys).unwrap();
    let (mut received, mut edges, mut updates) = ([0; 2], [10_000; 2], 0);
    [0, 1].iter().for_each(|_| _ = agent.add(1.0, 1000));
    for n in 1..=100 * seconds {
        let (flow, behind_bytes) = takes(n);
        received[flow] += 1000;
        let packet = StationArrival {
            t_s: 0.01 * f64::from(n),
            size_bytes: 1250.0,
            payload_bytes: 1000.0,
            told: Known::Stamped { stamp: stamp(1250 * n, behind_bytes, 0.02), rtt_s: Some(rtts_s[flow] + 0.02) },
            received: received[flow],
            edge: edges[flow],
            most_edge: u64::MAX,
            is_acknowledged: true,
        };
        for grant in agent.received(flow, &packet) {
            assert!(grant.edge > edges[grant.flow], "never left");
            edges[grant.flow] = grant.edge;
            updates += usize::from(grant.flow != flow);
        }
    }
    ([0, 1].map(|i| (edges[i] - received[i]) as f64 / 1000.0), updates)
}

const PLAIN: fn() -> StationKeys = || StationKeys { dither: false, ..StationKeys::default() };

#[test]
fn flows_of_equal_round_trips_share_the_room() {
    // 125 kB/s for 105 − 10 + 10 ms are 13.1 kB, 5.25 segments each.
    let (held, _) = two_flows(PLAIN(), [0.105; 2], 10, |n| ((n % 2) as usize, 1250.0));
    assert_eq!(held, [5.0, 5.0]);
    // Without the residual: 62.5 kB/s for .9 · 105 ms + (10 + ½ · (10 − 10)) ms: 5.2.
    let share = StationKeys { residual: false, ..PLAIN() };
    assert_eq!(two_flows(share, [0.105; 2], 10, |n| ((n % 2) as usize, 1250.0)).0, [5.0, 5.0]);
}

#[test]
fn the_station_keeps_the_clock_of_flows_without_packets() {
    // The second flow has one packet in ten, which leaves a long queue. Only by packets of the first it learns that it is gone.
    let takes = |n: u32| (usize::from(n % 10 == 9), if n / 5 % 2 == 1 { 12_500.0 } else { 1250.0 });
    let (_, updates) = two_flows(PLAIN(), [0.02, 0.2], 10, takes);
    assert!(updates > 10, "{updates}");
    let own = StationKeys { clock: false, ..PLAIN() };
    assert_eq!(two_flows(own, [0.02, 0.2], 10, takes).1, 0);
}

#[test]
fn a_flow_that_takes_little_is_found_by_littles_law() {
    // The second flow sends one packet in 25, and could send five in each round trip: u = 5 kB/s · 125 ms, a tenth of what it holds.
    let takes = |n: u32| (usize::from(n.is_multiple_of(25)), 1250.0);
    let (with, _) = two_flows(PLAIN(), [0.105; 2], 20, takes);
    let without = StationKeys { demand: false, balance: false, newcomers: false, ..PLAIN() };
    let (full, _) = two_flows(without, [0.105; 2], 20, takes);
    // Half of 10.5 segments, or all but the .6 kB that the other has on its way.
    assert!(full[0] == 5.0 && (9.0..=10.0).contains(&with[0]), "{full:?}, {with:?}");
}

#[test]
fn a_flow_that_is_new_has_two_parts() {
    // One packet in five is the second flow's: after 3 and 6 s it has had 60 and 120 kB. Of 13.1 kB two thirds, then a half.
    let takes = |n: u32| (usize::from(n.is_multiple_of(5)), 1250.0);
    let held = |seconds, keys| two_flows(keys, [0.105; 2], seconds, takes).0[1];
    let equal = StationKeys { demand: false, balance: false, ..PLAIN() };
    assert_eq!([held(3, equal), held(6, equal)], [7.0, 5.0]);
    assert_eq!(held(3, StationKeys { newcomers: false, ..equal }), 5.0);
}

#[test]
fn a_short_segment_does_not_change_what_a_window_weighs() {
    let edges = [1000.0, 1.0].map(|payload_bytes| {
        let mut agent = StationAgent::new(PLAIN()).unwrap();
        let (flow, mut edge, mut received) = (agent.add(1.0, 1000), 10_000, 0);
        for n in 1..=100_u32 {
            let size_bytes = if n == 100 { payload_bytes } else { 1000.0 } + 250.0;
            received += (size_bytes - 250.0) as u64;
            let packet = StationArrival {
                t_s: 0.01 * f64::from(n),
                size_bytes,
                payload_bytes: size_bytes - 250.0,
                told: Known::Stamped { stamp: stamp(1250 * n, 1250.0, 0.02), rtt_s: Some(0.125) },
                received,
                edge,
                most_edge: u64::MAX,
                is_acknowledged: true,
            };
            agent.received(flow, &packet).iter().for_each(|grant| edge = grant.edge);
        }
        edge
    });
    // Ten segments, from what has come.
    assert_eq!(edges, [110_000, 109_001]);
}

#[test]
fn beside_others_a_station_has_a_part_of_the_room() {
    // Of what the line sends three quarters go to another host: F = .9 · .25 + .05 of 13.1 kB are 2.9 segments.
    let mut agent = StationAgent::new(PLAIN()).unwrap();
    let (flow, mut edge) = (agent.add(1.0, 1000), 10_000);
    for n in 1..=500_u32 {
        let packet = StationArrival {
            t_s: 0.04 * f64::from(n),
            size_bytes: 1250.0,
            payload_bytes: 1000.0,
            told: Known::Stamped { stamp: stamp(5000 * n, 1250.0, 0.05), rtt_s: Some(0.155) },
            received: u64::from(1000 * n),
            edge,
            most_edge: u64::MAX,
            is_acknowledged: true,
        };
        agent.received(flow, &packet).iter().for_each(|grant| edge = grant.edge);
    }
    assert_eq!(edge, 502_000);
}

/// The first flow has 1000 B arrive each 10 ms, with round trips of 105 ms and another flow beside it; nothing is stamped. Gives what it
/// holds, in segments.
fn held_where_the_queue_is(found: Found) -> f64 {
    let mut agent = StationAgent::new(PLAIN()).unwrap();
    let flows = [agent.add(1.0, 1000), agent.add(1.0, 1000)];
    let (mut edges, mut received) = ([10_000; 2], [0_u64; 2]);
    for n in 1..=400_u32 {
        let flow = (n % 2) as usize;
        received[flow] += 1000;
        let packet = StationArrival {
            t_s: 0.01 * f64::from(n),
            size_bytes: 1000.0,
            payload_bytes: 1000.0,
            told: Known::Found(found),
            received: received[flow],
            edge: edges[flow],
            most_edge: u64::MAX,
            is_acknowledged: true,
        };
        agent.received(flows[flow], &packet).iter().for_each(|grant| edges[grant.flow] = grant.edge);
    }
    (edges[0] - received[0]) as f64 / 1000.0
}

//= station#18
#[test]
fn a_hidden_queue_is_as_good_as_a_stamped_one_and_is_drained_at_times() {
    close(eq::draining_window(0.5, 1e6, 0.04), 10e3);
    let found = Found {
        rate: Some(100e3),
        queue_bytes: 1000.0,
        waited_s: 0.02,
        delay_s: 0.105,
        ack_delay_s: 0.0,
        is_draining: false,
        holds: false,
        timer_s: 0.2,
    };
    // 100 kB/s for 105 − 10 + 10 ms are 10.5 kB, of which each has half; while it is drained, a quarter of 10.5 kB.
    assert_eq!(held_where_the_queue_is(found), 5.0);
    assert_eq!(held_where_the_queue_is(Found { is_draining: true, ..found }), 2.0);
    // 3 kB too long: a quarter of that less, for both.
    assert_eq!(held_where_the_queue_is(Found { queue_bytes: 5000.0, ..found }), 4.0);
    assert_eq!(held_where_the_queue_is(Found { rate: None, ..found }), 10.0);
}

//= station#21
#[test]
fn roundings_of_many_flows_do_not_add_up() {
    let close = |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-12, "{value}, wanted {wanted}");
    close(equations::rounding(0.75, 0.5), 0.25);
    close(equations::rounding(0.25, -0.5), 0.75);
    close(equations::rounding(0.25, 1.5), 0.0);
    let most = equations::rounding(0.75, -1.5);
    assert!(most < 1.0 && most > 0.999, "{most}");
    // Ten flows of 3.4 segments each, one after the other: the sum is theirs within a segment, where ten dithers alone are up to three off.
    let (mut dithers, mut over) = ([0.0; 10], [0.0; 10]);
    (0..10).for_each(|i| dithers[i] = 0.1 * i as f64);
    for n in 0..1000 {
        let i = n * 7 % 10;
        dithers[i] = equations::next_dither(dithers[i]);
        let others = over.iter().sum::<f64>() - over[i];
        over[i] = equations::advertised(3400.0, 1000.0, equations::rounding(dithers[i], others)) / 1000.0 - 3.4;
        let sum = over.iter().sum::<f64>();
        assert!(n < 10 || sum.abs() <= 1.0, "{sum}");
    }
}

//= station#20
#[test]
fn what_receivers_hold_back_is_allowed_for_and_singles_wait_for_their_timer() {
    // Half a segment in the mean.
    close(eq::beside_held(1500.0, 1000.0, 500.0, 2000.0, 0.0), 2000.0);
    close(eq::beside_held(1499.9999, 1000.0, 500.0, 2000.0, 0.0), 2000.0);
    close(eq::beside_held(20e3, 1000.0, 500.0, 2000.0, 500.0), 20.5e3);
    // Pairs leave little with the receiver, but not where windows are of single segments.
    close(eq::beside_held(20e3, 1000.0, 100.0, 2000.0, 500.0), 20.1e3);
    close(eq::beside_held(3000.0, 1000.0, 0.0, 2000.0, 500.0), 3500.0);
    close(eq::beside_held(3500.0, 1000.0, 100.0, 2000.0, 500.0), 3750.0);
    // Windows of one or two in turn, whose rate is that of the law's without a timer.
    close(eq::beside_held(1000.0, 1000.0, 500.0, 2000.0, 2000.0), 1800.0);
    close(eq::beside_held(500.0, 1000.0, 500.0, 2000.0, 1000.0), 1000.0 * (1.0 + 1.0 / 3.0));
    // Of one that waits for eight, and holds half of seven: as many, or seven and eight in turn, or what waits for the timer each time.
    close(eq::beside_held(4500.0, 1000.0, 3500.0, 8000.0, 9000.0), 8000.0);
    close(eq::beside_held(9000.0, 1000.0, 3500.0, 8000.0, 9000.0), 12500.0);
    close(eq::beside_held(3000.0, 1000.0, 3500.0, 8000.0, 5000.0), 7000.0 + 1000.0 / 2.5);
    close(eq::beside_held(3000.0, 1000.0, 3500.0, 8000.0, 4000.0), 7000.0);
    close(eq::beside_held(1500.0, 1000.0, 3500.0, 8000.0, 500.0), 2000.0);
    // They come at once: none is held, but eight there must be.
    close(eq::beside_held(7600.0, 1000.0, 0.0, 8000.0, 9000.0), 8000.0);
    // Fewer than can be: no more than it takes to see the path.
    close(eq::beside_held(500.0, 1000.0, 500.0, 2000.0, 500.0), 1062.5);
    close(eq::beside_held_draining(500.0, 1000.0), 1062.5);
    close(eq::beside_held_draining(5000.0, 1000.0), 5000.0);
    let (rate, waited_s, delay_s) = (Some(30e3), 0.02, 0.105);
    let (ack_delay_s, is_draining, timer_s) = (0.0, false, 0.2);
    let found = Found { rate, queue_bytes: 0.0, waited_s, delay_s, ack_delay_s, is_draining, holds: false, timer_s };
    // 1.6 segments, and half a one.
    assert_eq!(held_where_the_queue_is(found), 1.0);
    assert_eq!(held_where_the_queue_is(Found { holds: true, ..found }), 2.0);
    assert_eq!(held_where_the_queue_is(Found { holds: true, is_draining: true, ..found }), 1.0);
}

/// Two lines of `rate` B/s speak in turn in packets of 1250 B, which wait for 0.1 s at each and leave two of their kind behind. Gives what a
/// flow of 105 ms holds, in segments.
fn held_over_two_lines(rate: f64) -> f64 {
    let mut agent = StationAgent::new(PLAIN()).unwrap();
    let (flow, mut edge) = (agent.add(1.0, 1000), 10_000);
    for n in 1..=1000_u32 {
        let told = StationStamp { line: (n % 2) as u8, elsewhere_s: 0.1, ..stamp(1250 * n, 2500.0, 0.1) };
        let packet = StationArrival {
            t_s: 1250.0 / rate * f64::from(n),
            size_bytes: 1250.0,
            payload_bytes: 1000.0,
            told: Known::Stamped { stamp: told, rtt_s: Some(0.305) },
            received: u64::from(1000 * n),
            edge,
            most_edge: u64::MAX,
            is_acknowledged: true,
        };
        agent.received(flow, &packet).iter().for_each(|grant| edge = grant.edge);
    }
    (edge - 1_000_000) as f64 / 1000.0
}

#[test]
fn what_waits_for_another_line_is_on_its_way() {
    // 125 kB/s for 105 + 100 − 10 + 10 ms, and a quarter of the 1250 B that the queue is too long less: 25.3 kB, or 20.3 segments. At half
    // of the rate 12.8 kB less a quarter of 1875 B: 9.9 segments.
    assert_eq!([125e3, 62.5e3].map(held_over_two_lines), [20.0, 9.0]);
}

#[test]
fn balance_wants_demand() {
    let keys = StationKeys { demand: false, ..StationKeys::default() };
    let message = "balance = true: wanted false, or `demand` with it";
    assert_eq!(StationAgent::new(keys).unwrap_err().to_string(), message);
}
