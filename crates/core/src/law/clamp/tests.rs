// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::estimator::{BinnedRate, BusyWindowRate, QueueAverage, QueueEstimator, RateEstimator};
use crate::units::{Bytes, Duration};

fn close(value: f64, wanted: f64) {
    assert!((value - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{value}, wanted {wanted}");
}

/// A router whose queue is 0 until a long silence ends with `queue_bytes`, served at 1000 B/s.
fn priced(price: PriceLaw, queue_bytes: f64) -> f64 {
    let mut router = ClampRouter::new(price).unwrap();
    for n in 0..3 {
        router.departed(f64::from(n), 1000.0, queue_bytes);
    }
    router.arrived(1e6, queue_bytes);
    router.price_s()
}

//= clamp#7
//= clamp#13
#[test]
fn the_linear_price_is_the_excess_over_a_in_seconds() {
    // (2 · 3000 − 2000)/1000 = 4 s; below a/b it is 0.
    let price = PriceForm::Linear.of(PriceParams { b: 2.0, ..PriceParams::new(Bytes::new(2000)) });
    close(priced(price, 3000.0), 4.0);
    assert_eq!(priced(price, 999.0), 0.0);
}

//= clamp-mice#1
#[test]
fn the_mice_price_takes_a_from_the_queue() {
    // 2 · (3000 − 2000)/1000 = 2 s.
    let price = PriceForm::Mice.of(PriceParams { b: 2.0, ..PriceParams::new(Bytes::new(2000)) });
    close(priced(price, 3000.0), 2.0);
    assert_eq!(priced(price, 1999.0), 0.0);
}

//= clamp-report#1
#[test]
fn the_smooth_price_is_a_parabola_that_becomes_a_line() {
    let price = PriceForm::Smooth.of(PriceParams { b: 2.0, ..PriceParams::new(Bytes::new(2000)) });
    // Below 2a/b = 2000: 4 · 1000²/(4 · 2000 · 1000) = 0.5 s. At 2000 both give 2 s. Above: (2 · 3000 − 2000)/1000.
    close(priced(price, 1000.0), 0.5);
    close(priced(price, 2000.0), 2.0);
    close(priced(price, 2000.0 + 1e-6), 2.0 + 2e-9);
    close(priced(price, 3000.0), 4.0);
}

#[test]
fn without_a_the_smooth_price_is_linear_and_finite() {
    let price = PriceForm::Smooth.of(PriceParams::new(Bytes::ZERO));
    assert_eq!(priced(price, 0.0), 0.0);
    close(priced(price, 500.0), 0.5);
}

#[test]
fn the_gain_of_the_average_is_live() {
    let average = Average::AtArrivals(AtArrivals { gain: 4.0 });
    let mut router =
        ClampRouter::new(PriceForm::Linear.of(PriceParams { average, ..PriceParams::new(Bytes::ZERO) })).unwrap();
    router.arrived(libm::log(2.0) / 2.0, 1000.0);
    close(router.average_bytes(), 750.0);
}

#[test]
fn the_average_is_the_one_that_was_asked_for() {
    let last = |average| {
        let mut router =
            ClampRouter::new(PriceForm::Linear.of(PriceParams { average, ..PriceParams::new(Bytes::ZERO) })).unwrap();
        router.arrived(1.0, 1500.0);
        router.departed(2.0, 1000.0, 500.0);
        router.average_bytes()
    };
    close(last(Average::Raw), 500.0);
    // Half is forgotten each second: empty to 1 s, then 1500 B; e^(−2) of the distance to 1500 is left at arrivals.
    close(last(Average::OverTime(OverTime { time_constant: Duration::from_secs_f64(1.0 / libm::log(2.0)) })), 750.0);
    close(last(Average::default()), 1500.0 * (1.0 - libm::exp(-2.0)));
}

//= clamp-report#V
//= clamp-mice#4.1
#[test]
fn the_service_rate_is_of_the_last_hundred_departures_idle_time_included() {
    let mut router = ClampRouter::new(PriceForm::Linear.of(PriceParams::new(Bytes::ZERO))).unwrap();
    router.departed(0.0, 999.0, 0.0);
    assert_eq!(router.service_rate(), None);
    // 100 packets of 10 B, one a second; the first gap is 1 s too: 1000 B in 100 s.
    for n in 1..=100 {
        router.departed(f64::from(n), 10.0, 0.0);
    }
    close(router.service_rate().unwrap(), 10.0);
    // After 400 s of silence: 100 packets in t = 1 … 500 s, with 10·99 + 509 = 1499 B in 499 s.
    router.departed(500.0, 509.0, 0.0);
    close(router.service_rate().unwrap(), 1499.0 / 499.0);
}

#[test]
fn the_span_of_the_service_rate_is_live() {
    let mut router =
        ClampRouter::new(PriceForm::Linear.of(PriceParams { departures: 1, ..PriceParams::new(Bytes::ZERO) })).unwrap();
    for (t_s, size_bytes) in [(0.0, 10.0), (1.0, 20.0), (3.0, 30.0)] {
        router.departed(t_s, size_bytes, 0.0);
    }
    close(router.service_rate().unwrap(), 15.0);
}

#[test]
fn a_router_refuses_what_it_cannot_take() {
    let good = PriceParams::new(Bytes::ZERO);
    let key = |params| ClampRouter::new(PriceForm::Linear.of(params)).unwrap_err().key;
    assert_eq!(key(PriceParams { b: f64::NAN, ..good }), "b");
    assert_eq!(key(PriceParams { departures: 0, ..good }), "departures");
    assert_eq!(key(PriceParams { average: Average::AtArrivals(AtArrivals { gain: 0.0 }), ..good }), "average.gain");
    let average = Average::OverTime(OverTime { time_constant: Duration::ZERO });
    assert_eq!(key(PriceParams { average, ..good }), "average.time_constant");
}

const MSS: f64 = 1000.0;
const OPEN: f64 = 1e9;

fn params() -> ClampParams {
    ClampParams { slow_start: ReceiverSlowStart::Off, hold: 0.0, ..ClampParams::new(Bytes::new(500)) }
}

fn packet(t_s: f64, price_s: f64) -> ClampArrival {
    ClampArrival { t_s, size_bytes: MSS, payload_bytes: MSS, price_s, rtt_s: None }
}

/// A receiver with d̂ = `d0_s` whose packets come once a second: μ̂ = 1000 B/s at t = 1 s.
fn steady(params: ClampParams, d0_s: f64) -> ClampReceiver {
    begun(receiver_of(params), d0_s)
}

fn receiver_of(params: ClampParams) -> ClampReceiver {
    ClampReceiver::new(params, 1000).unwrap()
}

fn begun(mut receiver: ClampReceiver, d0_s: f64) -> ClampReceiver {
    receiver.started(d0_s);
    receiver.received(&packet(0.0, 0.0), OPEN);
    receiver
}

//= clamp#14
//= clamp-report#2
#[test]
fn the_window_changes_by_the_force_over_the_round_trip() {
    // d̂ starts at 1 s and AWND/μ̂ is 1 s: it stays. (500 − 0.25 · 1000)/1 · 1 s = +250 B.
    let mut receiver = steady(params(), 1.0);
    close(receiver.received(&packet(1.0, 0.25), OPEN), MSS + 250.0);
    // (500 − 0.6 · 1000) · 1/d̂, where d̂ = 1 + 0.001 · (1.25 − 1).
    close(receiver.received(&packet(2.0, 0.6), OPEN), 1250.0 - 100.0 / 1.00025);
}

//= beyond#19
//= beyond#23
#[test]
fn an_empty_queue_is_refilled_by_a_share_of_the_window() {
    assert_eq!(equations::refill(8000.0, 0.25, 0.5, 0.1), 400.0);
    assert!(equations::is_empty(0.1125, 0.1, 0.125) && !equations::is_empty(0.113, 0.1, 0.125));
    assert_eq!([0.5, 1.0, 1.25, 1.5, 3.0].map(|w| equations::refill_part(w, 1.0)), [1.0, 0.125, 0.5, 1.0, 1.0]);
    assert_eq!(equations::refill_part(1.0, 0.0), 1.0, "nothing is known");
    // A round trip is a second. The first packet without a price is that at 0; from 1 s on three quarters of the window a second.
    let mut receiver = receiver_of(ClampParams { refill: 0.75, ..params() });
    receiver.started(1.0);
    let mut see = |t_s, price_s, rtt_s| {
        let before = receiver.window_bytes();
        receiver.received(&ClampArrival { rtt_s: Some(rtt_s), ..packet(t_s, price_s) }, OPEN);
        (receiver.window_bytes() / before - 1.0, (receiver.window_bytes() - before) * receiver.delay_s())
    };
    see(0.0, 0.0, 1.0);
    close(see(1.0, 0.0, 1.0).0, 0.75);
    // One longer round trip tells of no queue, eight of them do: the law alone, + 500/d̂. So does a price.
    close(see(2.0, 0.0, 1.2).0, 0.75 / 1.2);
    let waited = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0].map(|t_s| see(t_s, 0.0, 1.2).1);
    close(waited[8], 500.0);
    close(see(12.0, 0.25, 1.0).1, 250.0);
    // And again only after a round trip without one.
    close(see(12.5, 0.0, 1.0).1, 0.5 * 500.0);
}

//= beyond#23
#[test]
fn near_what_has_filled_the_path_it_is_refilled_slowly() {
    // 1000 B a second on a path of one second: a window of MSS fills it, and there is a price.
    let arrival = |t_s, price_s| ClampArrival { rtt_s: Some(1.0), ..packet(t_s, price_s) };
    let mut receiver = receiver_of(ClampParams { tau: Bytes::new(1), refill: 0.4, hold: 0.0, ..params() });
    receiver.started(1.0);
    receiver.received(&arrival(0.0, 1e-3), OPEN);
    receiver.received(&arrival(1.0, 1e-3), OPEN);
    assert_eq!(receiver.rate(), MSS);
    receiver.received(&arrival(2.0, 0.0), OPEN);
    // An eighth of 0.4, at first.
    let mut before = receiver.window_bytes();
    close(receiver.received(&arrival(3.0, 0.0), OPEN), 1.05 * before);
    // And all of it from one and a half of what has filled the path.
    for t_s in 4..12 {
        before = receiver.window_bytes();
        receiver.received(&arrival(f64::from(t_s), 0.0), OPEN);
    }
    assert!(before > 1.5 * MSS);
    close(receiver.window_bytes(), 1.4 * before);
}

#[test]
fn phi_weighs_the_target() {
    let mut receiver = steady(ClampParams { phi: 3.0, ..params() }, 1.0);
    close(receiver.received(&packet(1.0, 0.25), OPEN), MSS + 1250.0);
    // At the price where the force is zero, weights 3 and 1 carry 3 to 1: φτ = pμ.
    let mut receiver = steady(ClampParams { phi: 3.0, ..params() }, 1.0);
    close(receiver.received(&packet(1.0, 1.5), OPEN), MSS);
}

//= clamp#15
#[test]
fn the_rate_is_of_the_last_alpha_packets() {
    let mut receiver = receiver_of(ClampParams { packets: 2, ..params() });
    receiver.received(&packet(0.0, 0.0), OPEN);
    assert_eq!(receiver.rate(), 0.0);
    receiver.received(&packet(2.0, 0.0), OPEN);
    close(receiver.rate(), 500.0);
    receiver.received(&packet(4.0, 0.0), OPEN);
    receiver.received(&packet(5.0, 0.0), OPEN);
    // The packets at 4 and 5 s, since 2 s.
    close(receiver.rate(), 2000.0 / 3.0);
}

#[test]
fn packets_of_one_instant_keep_the_old_rate() {
    let mut receiver = steady(params(), 1.0);
    receiver.received(&packet(1.0, 0.0), OPEN);
    let before = receiver.window_bytes();
    receiver.received(&packet(1.0, 0.0), OPEN);
    close(receiver.rate(), 1000.0);
    assert_eq!(receiver.window_bytes(), before);
}

//= clamp#16
//= clamp#17
#[test]
fn the_delay_follows_the_window_that_is_advertised() {
    // The operating system offers 600 B < w: AWND/μ̂ = 0.6 s.
    let mut receiver = steady(params(), 2.0);
    receiver.received(&packet(1.0, 0.5), 600.0);
    close(receiver.delay_s(), 0.999 * 2.0 + 0.001 * 0.6);
    let mut receiver = steady(ClampParams { beta: 0.5, ..params() }, 2.0);
    receiver.received(&packet(1.0, 0.5), OPEN);
    close(receiver.delay_s(), 0.5 * 2.0 + 0.5 * 1.0);
}

#[test]
fn without_a_handshake_the_delay_starts_as_the_first_sample() {
    let mut receiver = steady(params(), 0.0);
    receiver.received(&packet(1.0, 0.5), OPEN);
    close(receiver.delay_s(), 1.0);
}

//= clamp-report#5
#[test]
fn the_change_is_clipped() {
    // A price of 100 s would take 99,500 B: only the packet's bytes go, and the least window stands.
    let wide = |least| {
        let params = ClampParams { min_window: Some(Bytes::new(least)), ..params() };
        let mut receiver = begun(ClampReceiver::new(params, 5000).unwrap(), 5.0);
        receiver.received(&packet(1.0, 100.0), OPEN)
    };
    assert_eq!((wide(1000), wide(4500)), (4000.0, 4500.0));
    // 100 s of silence would add 50 kB: 10 kB it is.
    let mut receiver = steady(params(), 1.0);
    receiver.received(&packet(1.0, 0.5), OPEN);
    assert_eq!(receiver.received(&packet(101.0, 0.0), OPEN), MSS + 10_000.0);
    let mut receiver = steady(ClampParams { max_increase: Bytes::new(7), ..params() }, 1.0);
    assert_eq!(receiver.received(&packet(1.0, 0.0), OPEN), MSS + 7.0);
}

//= clamp-report#10b
#[test]
fn the_old_law_has_no_round_trip_in_it() {
    let old = ClampParams { unscaled: true, ..params() };
    for d0_s in [0.1, 1.0, 10.0] {
        let mut receiver = steady(old, d0_s);
        close(receiver.received(&packet(1.0, 0.25), OPEN), MSS + 250.0);
    }
}

//= clamp#4.3
#[test]
fn slow_start_adds_a_segment_a_packet_and_ends_by_halving() {
    let params = ClampParams { slow_start: ReceiverSlowStart::On, ..params() };
    let mut receiver = steady(params, 1.0);
    assert_eq!(receiver.window_bytes(), 2.0 * MSS);
    for n in 1..10 {
        receiver.received(&packet(f64::from(n), 0.0), OPEN);
    }
    assert_eq!(receiver.window_bytes(), 11.0 * MSS);
    let mut lost = receiver.clone();
    // A price that makes Δw negative.
    assert_eq!(receiver.received(&packet(10.0, 1.0), OPEN), 5.5 * MSS);
    assert!(!receiver.in_slow_start());
    // Or a loss, once.
    lost.lost();
    lost.lost();
    assert_eq!(lost.window_bytes(), 5.5 * MSS);
    assert!(!lost.in_slow_start());
}

/// `rounds` round trips of 100 ms with `per_round` packets each, evenly spaced.
fn limited_sender(receiver: &mut ClampReceiver, rounds: usize, per_round: usize) {
    for n in 0..rounds * per_round {
        let t_s = n as f64 * 0.1 / per_round as f64;
        receiver.received(&ClampArrival { rtt_s: Some(0.1), ..packet(t_s, 0.0) }, OPEN);
    }
}

#[test]
fn growth_is_held_while_the_sender_does_not_follow() {
    // Ten packets a round trip, eleven where rounding lets the next in. Without a price w gains τ a round trip until
    // it passes twice that.
    let mut held = receiver_of(ClampParams { hold: 2.0, ..params() });
    held.started(0.1);
    limited_sender(&mut held, 1000, 10);
    assert!((20.0 * MSS..22.2 * MSS).contains(&held.window_bytes()), "{}", held.window_bytes());
    let mut free = receiver_of(params());
    free.started(0.1);
    limited_sender(&mut free, 1000, 10);
    assert!(free.window_bytes() > 40.0 * MSS, "{}", free.window_bytes());
    // Slow start, too: at four times.
    let mut starting = receiver_of(ClampParams { slow_start: ReceiverSlowStart::On, hold: 2.0, ..params() });
    starting.started(0.1);
    limited_sender(&mut starting, 1000, 10);
    assert!((40.0 * MSS..46.0 * MSS).contains(&starting.window_bytes()), "{}", starting.window_bytes());
}

#[test]
fn the_hold_lets_slow_start_double() {
    // Round n brings a burst of 2^n packets, 1 ms apart: what a sender that follows the window sends.
    let params = ClampParams { slow_start: ReceiverSlowStart::On, hold: 2.0, ..params() };
    let mut receiver = receiver_of(params);
    receiver.started(0.1);
    let mut received = 0.0;
    for round in 0..7 {
        for n in 0..1 << round {
            let t_s = 0.1 * f64::from(round) + 0.001 * f64::from(n);
            received += 1.0;
            let window_bytes = receiver.received(&ClampArrival { rtt_s: Some(0.1), ..packet(t_s, 0.0) }, OPEN);
            assert_eq!(window_bytes, (1.0 + received) * MSS, "round {round}");
        }
    }
}

#[test]
fn a_receiver_refuses_what_it_cannot_take() {
    let good = params();
    let key = |params| ClampReceiver::new(params, 1000).unwrap_err().key;
    assert_eq!(key(ClampParams { tau: Bytes::new(0), ..good }), "tau");
    assert_eq!(key(ClampParams { phi: -1.0, ..good }), "phi");
    assert_eq!(key(ClampParams { packets: 0, ..good }), "packets");
    assert_eq!(key(ClampParams { beta: 1.5, ..good }), "beta");
    assert_eq!(key(ClampParams { max_increase: Bytes::new(0), ..good }), "max_increase");
    assert_eq!(key(ClampParams { min_window: Some(Bytes::new(0)), ..good }), "min_window");
    assert_eq!(key(ClampParams { hold: 0.5, ..good }), "hold");
}

/// One bottleneck served at 10⁶ B/s whose router and receivers are the law, windows kept by self-clocking: a packet
/// is sent for each that arrives, more or fewer as the window moved.
fn equilibrium<Q: QueueEstimator, S: RateEstimator, R: RateEstimator>(
    mut router: ClampRouter<Q, S>,
    mut receivers: Vec<ClampReceiver<R>>,
) -> (f64, Vec<f64>) {
    use std::collections::VecDeque;
    const SERVICE_S: f64 = 0.001;
    let flows = receivers.len();
    let mut outstanding = vec![0.0; flows];
    let mut carried = vec![0.0; flows];
    let mut queue: VecDeque<(usize, f64)> = VecDeque::new();
    let mut wire: VecDeque<(f64, usize)> = VecDeque::new();
    receivers.iter_mut().for_each(|r| r.started(0.05));
    let (mut mean, mut counted) = (0.0, 0.0);
    for step in 0..300_000 {
        let t_s = f64::from(step) * SERVICE_S;
        for flow in 0..flows {
            while outstanding[flow] + MSS <= receivers[flow].window_bytes() {
                outstanding[flow] += MSS;
                wire.push_back((t_s + 0.05, flow));
            }
        }
        while wire.front().is_some_and(|&(due_s, _)| due_s <= t_s) {
            let (_, flow) = wire.pop_front().unwrap();
            queue.push_back((flow, t_s));
            router.arrived(t_s, queue.len() as f64 * MSS);
        }
        if let Some((flow, _)) = queue.pop_front() {
            router.departed(t_s, MSS, queue.len() as f64 * MSS);
            receivers[flow].received(&packet(t_s, router.price_s()), OPEN);
            outstanding[flow] -= MSS;
            if step > 150_000 {
                carried[flow] += 1.0;
                mean += router.average_bytes();
                counted += 1.0;
            }
        }
    }
    (mean / counted, carried)
}

fn routed(b: f64) -> ClampRouter {
    ClampRouter::new(PriceForm::Linear.of(PriceParams { b, ..PriceParams::new(Bytes::new(8000)) })).unwrap()
}

fn received(phis: &[f64]) -> Vec<ClampReceiver> {
    phis.iter().map(|&phi| receiver_of(ClampParams { phi, ..params() })).collect()
}

#[test]
fn the_queue_settles_at_k_tau_plus_a_over_b_and_is_shared_by_weight() {
    //= clamp#11
    // b = 1: (3 · 500 + 8000)/1 = 9500 B.
    let (mean_bytes, carried) = equilibrium(routed(1.0), received(&[1.0, 1.0, 1.0]));
    assert!((mean_bytes / 9500.0 - 1.0).abs() < 0.02, "{mean_bytes}");
    let total: f64 = carried.iter().sum();
    for share in &carried {
        assert!((3.0 * share / total - 1.0).abs() < 0.1, "{carried:?}");
    }
    // b = 0.5 doubles it; weights 1 and 3 make kτ four flows' worth: (4 · 500 + 8000)/0.5 = 20,000 B.
    let (mean_bytes, carried) = equilibrium(routed(0.5), received(&[1.0, 3.0]));
    assert!((mean_bytes / 20_000.0 - 1.0).abs() < 0.02, "{mean_bytes}");
    assert!((carried[1] / carried[0] / 3.0 - 1.0).abs() < 0.15, "{carried:?}");
}

#[test]
fn it_settles_there_with_what_a_kernel_can_afford() {
    // Busy windows of 50 ms at the router, 16 bins of 64 packets at the receivers.
    let price = PriceForm::Linear.of(PriceParams::new(Bytes::new(8000)));
    let router = ClampRouter::with(price, QueueAverage::at_arrivals(2.0), BusyWindowRate::new(0.05, 0.125)).unwrap();
    let receiver = |_| ClampReceiver::with(self::params(), 1000, BinnedRate::new(16, 64)).unwrap();
    let (mean_bytes, carried) = equilibrium(router, (0..3).map(receiver).collect());
    assert!((mean_bytes / 9500.0 - 1.0).abs() < 0.02, "{mean_bytes}");
    let total: f64 = carried.iter().sum();
    assert!(carried.iter().all(|share| (3.0 * share / total - 1.0).abs() < 0.1), "{carried:?}");
}
