// SPDX-License-Identifier: MIT OR Apache-2.0

use super::equations as eq;
use super::*;
use crate::packet::ShareStamp;
use crate::units::Duration;
use proptest::prelude::*;

fn close(value: f64, wanted: f64) {
    assert!((value - wanted).abs() <= 1e-6 * wanted.abs().max(1e-3), "{value}, wanted {wanted}");
}

//= beyond#6
//= beyond#7
//= beyond#8
#[test]
fn the_room_is_the_target_and_part_of_what_the_queue_lacks() {
    // 1 MB/s for weights of 4; 20 kB take 20 ms, 5 ms less than wanted: half of that more.
    close(eq::share(1e6, 4.0), 250e3);
    close(eq::wait(20e3, 1e6), 0.02);
    close(eq::room(0.025, 0.5, 0.02), 0.0275);
    close(eq::room(0.025, 0.5, 0.125), -0.025);
}

//= beyond#24
#[test]
fn what_is_made_up_for_late_is_made_up_for_less() {
    assert_eq!([0.0, 0.05, 0.15].map(|delay_s| eq::kappa(0.05, delay_s)), [1.0, 0.5, 0.25]);
    // In θ, of n round trips, κⁿ is left: an e-th, about, whatever the delay.
    for delay_s in [0.001, 0.002, 0.005] {
        assert!((eq::kappa(0.05, delay_s).powf(0.05 / delay_s) / libm::exp(-1.0) - 1.0).abs() < 0.06);
    }
    assert_eq!((eq::kappa(0.0, 0.1), eq::kappa(0.0, 0.0)), (0.0, 0.0));
}

//= beyond#9
//= beyond#10
#[test]
fn one_number_holds_both() {
    // T + 60 ms = 80 ms: 16 ms too much take a fifth off, and the clips are at a fifth and 1.6.
    close(eq::one_number(1000.0, 0.02, 0.036), 800.0);
    close(eq::one_number(1000.0, 0.02, 1.0), 200.0);
    close(eq::one_number(1000.0, 0.2, 0.0), 1600.0);
    // 2^(80/8) = 1024, and half a step is 4.4 %.
    assert_eq!((eq::code(1024.0), eq::code(1069.0), eq::code(1070.0)), (80, 80, 81));
    assert_eq!((eq::code(0.01), eq::code(1e30)), (0, 255));
    close(eq::rate_of(88), 2048.0);
}

//= beyond#11
//= beyond#12
#[test]
fn the_share_is_followed_in_round_trips() {
    close(eq::propagation(0.12, 0.02), 0.1);
    assert_eq!(eq::propagation(0.12, 0.2), 0.0);
    // After ln 2 time constants half of the way.
    let gap_s = 0.2 * libm::log(2.0);
    close(eq::follow(100.0, 300.0, gap_s, 2.0, 0.1), 200.0);
    close(eq::follow(300.0, 100.0, gap_s / 1.6, 1.25, 0.1), 200.0);
    close(eq::follow(300.0, 100.0, 0.001, 0.0, 0.1), 100.0);
}

//= beyond#25
#[test]
fn who_knows_where_the_queue_rests_gives_even_shares_whatever_the_paths() {
    let rest_s = 0.02;
    for delay_s in [0.005, 0.2] {
        let rate = |wait_s: f64| {
            let kappa = eq::kappa(0.05, delay_s);
            eq::even_window(2.0, 1e6, delay_s, rest_s, kappa, wait_s, 0.8) / (delay_s + wait_s)
        };
        close(rate(rest_s), 1.6e6);
        assert!(rate(2.0 * rest_s) < 1.6e6, "a longer queue asks for less");
    }
    // Of flows that are alike it is the window that each would have by itself.
    let (target_s, g, delay_s, wait_s) = (0.025, 0.88, 0.1, 0.013);
    let kappa = eq::kappa(0.05, delay_s);
    let rest_s = crate::model::standing::share_wait(target_s, g, kappa, delay_s).unwrap();
    let alone = eq::window(1.0, 1e6, eq::counted_path(g, delay_s, target_s), eq::room(target_s, kappa, wait_s), 1.0);
    close(eq::even_window(1.0, 1e6, delay_s, rest_s, kappa, wait_s, 1.0), alone);
}

//= beyond#13
//= beyond#14
#[test]
fn the_window_is_advertised_in_segments() {
    // 2 · 1 MB/s · (0.9 · 100 + 35) ms · 1000/1250.
    close(eq::window(2.0, 1e6, 0.09, 0.035, 0.8), 200e3);
    close(eq::counted_path(0.9, 0.1, 0.025), 0.09);
    close(eq::counted_path(0.9, 0.3, 0.025), 0.275);
    assert_eq!(eq::advertised(2500.0, 1000.0, 0.49), 2000.0);
    assert_eq!(eq::advertised(2500.0, 1000.0, 0.5), 3000.0);
    assert_eq!(eq::advertised(-7.0, 1000.0, 0.99), 1000.0);
    // Its mean is the window.
    let mut dither = 0.0;
    let mut draw = |_| {
        dither = eq::next_dither(dither);
        eq::advertised(2300.0, 1000.0, dither)
    };
    let mean = (0..1000).map(&mut draw).sum::<f64>() / 1000.0;
    assert!((mean - 2300.0).abs() < 3.0, "{mean}");
}

/// A router that has seen packets of 1000 B of flows 1 and 2 leave each 10 ms, up to `t_s` = 0.1.
fn router(params: ShareRouterParams) -> ShareRouter {
    let mut router = ShareRouter::new(params).unwrap();
    router.arrived(0.0, 1, true);
    router.arrived(0.0, 2, false);
    (1..=10).for_each(|n| router.departed(0.01 * f64::from(n), (1 + n as u64 % 2, 1000.0), 0.0));
    router
}

#[test]
fn a_router_stamps_what_it_measures() {
    let stamp = router(ShareRouterParams::default()).stamp(1, 1500.0, 0.04);
    // 100 kB/s for two; 15 ms wait.
    close(f64::from(stamp.share), 50e3);
    close(f64::from(stamp.target_s), 0.025);
    close(f64::from(stamp.wait_s), 0.015);
    close(f64::from(stamp.waited_s), 0.04);
    let fresh = ShareRouter::new(ShareRouterParams::default()).unwrap();
    assert_eq!(fresh.stamp(1, 1500.0, 0.04).share, 0.0, "nothing has left yet");
}

#[test]
fn each_parameter_of_a_router_is_live() {
    let told = |params| router(params).stamp(1, 1500.0, 0.04);
    let usual = ShareRouterParams::default();
    close(f64::from(told(ShareRouterParams { target: Duration::from_millis(45), ..usual }).target_s), 0.045);
    close(f64::from(told(usual).wait_s), 0.015);
    close(f64::from(told(ShareRouterParams { fair: true, ..usual }).wait_s), 0.025);
    let one = told(ShareRouterParams { form: Form::OneInteger, ..usual });
    // 50 kB/s · (1 + 10/85) = 55,882 B/s: the 126th eighth of an octave.
    close(f64::from(one.share), libm::exp2(126.0 / 8.0));
    assert_eq!((one.target_s, one.wait_s, one.waited_s), (0.025, 0.025, 0.0));
    // 50 ms later one flow is gone, if the memory is so short.
    let later = |memory| {
        let mut router = router(ShareRouterParams { memory, ..usual });
        router.departed(0.15, (1, 5000.0), 0.14);
        router.weights()
    };
    assert_eq!((later(usual.memory), later(Duration::from_millis(40))), (2.0, 1.0));
    // 1000 B in the next 5 ms: 200 kB/s with e^(−5/h) kept.
    let faster = |horizon| {
        let mut router = router(ShareRouterParams { horizon, ..usual });
        router.departed(0.105, (1, 1000.0), 0.0);
        router.line_rate().unwrap()
    };
    assert!(faster(Some(Duration::from_millis(25))) > faster(None));
}

#[test]
fn weights_are_counted_and_not_flows() {
    let mut router = ShareRouter::new(ShareRouterParams::default()).unwrap();
    crate::role::MarkerLaw::weigh(&mut router, 1, 3.0);
    router.arrived(0.0, 1, true);
    router.arrived(0.0, 2, false);
    router.departed(0.01, (1, 1000.0), 0.0);
    assert_eq!(router.weights(), 4.0);
    close(f64::from(router.stamp(1, 0.0, 0.01).share), 25e3);
}

fn receiver(keys: ReceiverKeys) -> ShareReceiver {
    ShareReceiver::new(keys, 1000).unwrap()
}

fn packet(t_s: f64, share: f32) -> ShareArrival {
    let stamp = Some(ShareStamp { share, target_s: 0.025, wait_s: 0.005, waited_s: 0.02 });
    ShareArrival { t_s, size_bytes: 1250.0, payload_bytes: 1000.0, stamp, rtt_s: Some(0.12) }
}

#[test]
fn a_receiver_turns_a_stamp_into_a_window() {
    let mut receiver = receiver(ReceiverKeys::default());
    assert_eq!(receiver.first_window_bytes(), 10_000.0);
    assert_eq!(
        (receiver.received(&ShareArrival { stamp: None, ..packet(0.0, 0.0) }), receiver.advertise(0.0)),
        (None, None)
    );
    assert_eq!(receiver.received(&packet(0.0, 0.0)), None, "a router that knows no rate yet");
    // d = 100 ms, a third of 20 ms: 100 kB/s · (0.88 · 100 + 25 + 20/3) ms · 0.8.
    close(receiver.received(&packet(1.0, 1e5)).unwrap(), 9573.0 + 1.0 / 3.0);
    close(receiver.delay_s().unwrap(), 0.1);
    // Up with one and a half round trips, down with one and a quarter.
    let (up_s, down_s) = (0.15 * libm::log(2.0), 0.125 * libm::log(2.0));
    receiver.received(&packet(1.0 + up_s, 3e5));
    close(receiver.share().unwrap(), 2e5);
    receiver.received(&packet(1.0 + up_s + down_s, 1e5));
    close(receiver.share().unwrap(), 1.5e5);
    // A packet that no router has stamped changes nothing.
    let before = receiver.received(&packet(2.0, 1.5e5)).unwrap();
    receiver.received(&ShareArrival { stamp: None, ..packet(3.0, 0.0) });
    assert_eq!(receiver.advertise(0.0), Some(eq::advertised(before, 1000.0, eq::next_dither(0.0))));
}

#[test]
fn each_parameter_of_a_receiver_is_live() {
    let window = |keys| receiver(keys).received(&packet(1.0, 1e5)).unwrap();
    let usual = ReceiverKeys::default();
    close(window(ReceiverKeys { weight: 3.0, ..usual }), 28_720.0);
    close(window(ReceiverKeys { g: Some(0.8), ..usual }), 8933.0 + 1.0 / 3.0);
    // What is lacking of the path is T at most: (75 + 25 + 20/3) ms.
    close(window(ReceiverKeys { g: Some(0.63), ..usual }), 8533.0 + 1.0 / 3.0);
    close(window(ReceiverKeys { theta: Some(Duration::from_millis(100)), ..usual }), 9_840.0);
    close(window(ReceiverKeys { fair: true, ..usual }), 10_000.0);
    let followed = |keys, share| {
        let mut receiver = receiver(keys);
        receiver.received(&packet(1.0, 1e5));
        receiver.received(&packet(1.0 + 0.2 * libm::log(2.0), share));
        receiver.share().unwrap()
    };
    close(followed(ReceiverKeys { rise: Some(0.0), ..usual }, 3e5), 3e5);
    close(followed(ReceiverKeys { fall: Some(1.0), ..usual }, 5e4), 62_500.0);
    close(followed(ReceiverKeys { fair: true, ..usual }, 5e4), 75_000.0);
    close(followed(ReceiverKeys { fair: true, ..usual }, 2e5), 150_000.0);
    let mut rounded = receiver(ReceiverKeys { dither: false, ..usual });
    rounded.received(&packet(1.0, 1.14e5));
    assert!((0..10).all(|_| rounded.advertise(0.0) == Some(10_000.0)));
    let delay_s = |memory| {
        let mut receiver = receiver(ReceiverKeys { memory, ..usual });
        receiver.received(&packet(1.0, 1e5));
        for t_s in [2.5, 4.0] {
            receiver.received(&ShareArrival { rtt_s: Some(0.22), ..packet(t_s, 1e5) });
        }
        receiver.delay_s().unwrap()
    };
    close(delay_s(usual.memory), 0.1);
    close(delay_s(Duration::from_secs(1)), 0.2);
}

#[test]
fn what_is_no_share_window_is_refused() {
    let router = |params| ShareRouter::new(params).unwrap_err().key;
    let usual = ShareRouterParams::default();
    assert_eq!(router(ShareRouterParams { target: Duration::ZERO, ..usual }), "target");
    assert_eq!(router(ShareRouterParams { target: Duration::from_secs(4), ..usual }), "target");
    assert_eq!(router(ShareRouterParams { memory: Duration::ZERO, ..usual }), "memory");
    assert_eq!(router(ShareRouterParams { horizon: Some(Duration::ZERO), ..usual }), "horizon");
    let receiver = |keys| ShareReceiver::new(keys, 1000).unwrap_err().key;
    let usual = ReceiverKeys::default();
    assert_eq!(receiver(ReceiverKeys { weight: 0.0, ..usual }), "weight");
    assert_eq!(receiver(ReceiverKeys { g: Some(1.5), ..usual }), "g");
    assert_eq!(receiver(ReceiverKeys { rise: Some(-1.0), ..usual }), "rise");
    assert_eq!(receiver(ReceiverKeys { fall: Some(f64::NAN), ..usual }), "fall");
    assert_eq!(receiver(ReceiverKeys { memory: Duration::ZERO, ..usual }), "memory");
}

proptest! {
    /// A line of constant rate serves flows whose windows are in force a round trip later: the queue comes to rest where theory
    /// says, for any number of flows, delay and packet.
    #[test]
    fn the_queue_comes_to_rest_as_theory_says(
        flows in 1_usize..12,
        delay_ms in 20_u32..200,
        size_bytes in 200_u32..1500,
        g in 0.8..=1.0,
        theta_ms in 0_u32..300,
    ) {
        let (rate, target_s, delay_s) = (2.5e6, 0.025, f64::from(delay_ms) / 1000.0);
        let size_bytes = f64::from(size_bytes);
        let mut router = ShareRouter::new(ShareRouterParams::default()).unwrap();
        let theta = Duration::from_millis(theta_ms.into());
        let keys = ReceiverKeys { g: Some(g), theta: Some(theta), ..ReceiverKeys::default() };
        let mut receivers: Vec<_> = (0..flows).map(|_| receiver(keys)).collect();
        // Packets on their way back to the queue [s, flow], in their order; all delays are the same.
        let mut wire: std::collections::VecDeque<(f64, usize)> = (0..flows).map(|flow| (0.0, flow)).collect();
        let mut queue = wire.split_off(flows);
        let mut outstanding = vec![1.0; flows];
        let service_s = size_bytes / rate;
        let (mut t_s, mut sum, mut counted, mut dither) = (0.0_f64, 0.0, 0.0, 0.0);
        while t_s < 6.0 {
            if queue.is_empty() {
                t_s = t_s.max(wire[0].0);
            }
            t_s += service_s;
            while let Some(&(due_s, flow)) = wire.front()
                && due_s <= t_s
            {
                wire.pop_front();
                router.arrived(due_s, flow as u64, queue.is_empty());
                queue.push_back((due_s, flow));
            }
            let (arrived_s, flow) = queue.pop_front().unwrap();
            router.departed(t_s, (flow as u64, size_bytes), arrived_s);
            let behind_bytes = size_bytes * queue.len() as f64;
            let stamp = Some(router.stamp(1, behind_bytes, t_s - arrived_s));
            if queue.is_empty() {
                router.rested(t_s);
            }
            let rtt_s = Some(delay_s + t_s - arrived_s);
            let arrival = ShareArrival { t_s, size_bytes, payload_bytes: size_bytes, stamp, rtt_s };
            let window = receivers[flow].received(&arrival).unwrap();
            dither = eq::next_dither(dither);
            outstanding[flow] -= 1.0;
            while outstanding[flow] < eq::advertised(window, size_bytes, dither) / size_bytes {
                outstanding[flow] += 1.0;
                wire.push_back((t_s + delay_s, flow));
            }
            if t_s > 3.0 {
                (sum, counted) = (sum + behind_bytes / rate, counted + 1.0);
            }
        }
        let kappa = eq::kappa(theta.as_secs_f64(), delay_s);
        let wanted_s = crate::model::standing::share_wait(target_s, g, kappa, delay_s).unwrap();
        // Whole packets: half of one for each flow at most.
        let rounding_s = (0.5 * flows as f64 + 1.0) * service_s + 0.001;
        prop_assert!((sum / counted - wanted_s).abs() < rounding_s, "{} s, wanted {wanted_s} s", sum / counted);
    }

    /// Of a queue's disturbance each flow's window takes κ_i of its part s_i back, d_i later: it fades whatever the flows.
    #[test]
    fn a_disturbance_fades_for_every_set_of_delays(
        flows in proptest::collection::vec((1_u32..400, 1_u32..1000), 1..8),
        theta_ms in 1_u32..300,
        radians_per_s in 0.0..2000.0,
    ) {
        let weights: f64 = flows.iter().map(|&(_, weight)| f64::from(weight)).sum();
        let (mut re, mut im, mut bound) = (0.0, 0.0, 0.0);
        for &(delay_ms, weight) in &flows {
            let delay_s = f64::from(delay_ms) / 1000.0;
            let part = f64::from(weight) / weights * eq::kappa(f64::from(theta_ms) / 1000.0, delay_s);
            re += part * libm::cos(radians_per_s * delay_s);
            im -= part * libm::sin(radians_per_s * delay_s);
            bound += part;
        }
        // 1 + Σ κ_i s_i e^(−s d_i) is 0 nowhere on the imaginary axis, and so nowhere to the right of it.
        prop_assert!(libm::hypot(re, im) <= bound + 1e-12 && bound < 1.0);
    }
}
