// SPDX-License-Identifier: MIT OR Apache-2.0
//! Long runs against what theory says of them.

use super::network::Network;
use crate::law::aimd::AimdParams;
use crate::law::binomial::BinomialParams;
use crate::law::cubic::CubicParams;
use crate::packet::Kind;
use crate::rng::Streams;
use crate::role::SenderParams;
use crate::stats::Span;
use crate::tcp::{Receiver, ReceiverConfig, Recovery, Sender, SenderConfig};
use crate::units::{Bytes, Duration, Instant};

const RTT_S: f64 = 0.1;
const RTO_MIN_S: f64 = 0.2;
const MSS: u32 = 1000;

/// Rate \[packets/s\] and mean congestion window \[packets\] of a flow that loses each data packet with probability `p`.
fn measure(config: SenderConfig, p: f64, seconds: u64) -> (f64, f64) {
    let span = Span { from: Instant::ZERO + Duration::from_secs(20), until: Instant::MAX };
    let config = SenderConfig { mss: MSS, rto_min: Duration::from_secs_f64(RTO_MIN_S), ..config };
    let receiver = ReceiverConfig { sack: config.recovery == Recovery::Sack, ..ReceiverConfig::default() };
    let rtt = Duration::from_secs_f64(RTT_S);
    let mut losses = Streams::new(1).stream("pipe", "loss");
    let mut network =
        Network::new(Sender::new(0, config, span).unwrap(), Receiver::new(0, receiver, span).unwrap(), |packet| {
            match packet.kind() {
                Kind::Data => (losses.uniform() >= p).then_some(rtt),
                _ => Some(Duration::ZERO),
            }
        });
    network.sender.open(Instant::ZERO);
    network.sender.write(Instant::ZERO, Bytes::MAX);
    let end = span.from + Duration::from_secs(seconds);
    network.run(end);
    let rate = network.receiver.stats().delivered.as_f64() / f64::from(MSS) / seconds as f64;
    (rate, network.sender.mean_windows(end).unwrap().cwnd / f64::from(MSS))
}

/// Seconds until some 400,000 packets, and 400 losses at least, so that the rate is known to 3 % or better.
fn long_enough(p: f64) -> u64 {
    (4e5 / pftk(p)) as u64
}

/// PFTK: packets/s at loss rate p with one ACK a packet (Padhye et al. 1998, eq. 32, b = 1).
fn pftk(p: f64) -> f64 {
    let timeouts = RTO_MIN_S * (3.0 * (3.0 * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (RTT_S * (2.0 * p / 3.0).sqrt() + timeouts)
}

#[test]
fn rate_and_window_under_random_loss_are_what_theory_says() {
    // At p = 3·10⁻² Reno is 14 % below: it needs a fast retransmit for each of several losses in a window, where PFTK
    // takes them for one.
    let all = [1e-3, 1e-2, 3e-2];
    for (recovery, ps) in [(Recovery::Reno, &all[..2]), (Recovery::NewReno, &all), (Recovery::Sack, &all)] {
        for &p in ps {
            let config = SenderConfig { recovery, ..SenderConfig::default() };
            let (rate, cwnd) = measure(config, p, long_enough(p));
            let off = rate / pftk(p) - 1.0;
            assert!(off.abs() < 0.10, "{recovery:?}, p = {p}: {rate} packets/s is {off:+.3} off PFTK");
            // The square-root law leaves time-outs out, so it holds up to p = 10⁻².
            let off = cwnd / (1.5 / p).sqrt() - 1.0;
            assert!(p > 1e-2 || off.abs() < 0.15, "{recovery:?}, p = {p}: a mean window of {cwnd} is {off:+.3} off");
        }
    }
}

#[test]
fn aimd_follows_the_square_root_law_of_its_numbers() {
    // Mean window √(α(1 + β)/(2(1 − β)p)) with β the share that is left: α = 0.31, β = 7/8 are TCP-friendly.
    let law = SenderParams::Aimd(AimdParams { alpha: 0.31, beta: 0.875, ..AimdParams::default() });
    let (_, cwnd) = measure(SenderConfig { law, ..SenderConfig::default() }, 3e-3, 500);
    let theory = (0.31 * 1.875 / (2.0 * 0.125 * 3e-3_f64)).sqrt();
    assert!((cwnd / theory - 1.0).abs() < 0.15, "{cwnd} against {theory}");
}

#[test]
fn binomial_laws_with_k_plus_l_of_one_share_one_mean_window() {
    // Where the window stays, α/wᵏ a round trip make up for the pw losses of a round trip, βwˡ each: with k + l = 1,
    // w = √(α/βp), whatever k. It starts there, since IIAD takes minutes to come down from slow start. With SACK, since
    // NewReno's recovery ends in a step or two of slow start, which may go past the threshold by more than IIAD falls.
    let p = 3e-3_f64;
    let theory = (1.0 / (0.5 * p)).sqrt();
    let ssthresh = Some(Bytes::new((theory * f64::from(MSS)) as u64));
    for (name, k, l) in [("SQRT", 0.5, 0.5), ("IIAD", 1.0, 0.0)] {
        let law = SenderParams::Binomial(BinomialParams { k, l, ..BinomialParams::default() });
        let recovery = Recovery::Sack;
        let config = SenderConfig { law, recovery, initial_ssthresh: ssthresh, ..SenderConfig::default() };
        let (_, cwnd) = measure(config, p, 2000);
        assert!((cwnd / theory - 1.0).abs() < 0.10, "{name}: {cwnd} against {theory}");
    }
}

#[test]
fn cubics_mean_window_is_that_of_its_response_function() {
    // RFC 9438 §5.1 eq. 6, periodic loss, no Reno-friendly region, no fast convergence (which periodic loss would not
    // call for): W = (C(3 + β)/(4(1 − β)))^¼ · RTT^¾ / p^¾ with β what is left. Here every 2500th packet is lost.
    let params = CubicParams { reno_friendly: false, fast_convergence: false, ..CubicParams::default() };
    let span = Span { from: Instant::ZERO + Duration::from_secs(300), until: Instant::MAX };
    let config = SenderConfig {
        mss: MSS,
        law: SenderParams::Cubic(params),
        recovery: Recovery::Sack,
        ..SenderConfig::default()
    };
    let rtt = Duration::from_secs_f64(RTT_S);
    let mut sent = 0u32;
    let mut network = Network::new(
        Sender::new(0, config, span).unwrap(),
        Receiver::new(0, ReceiverConfig { sack: true, ..ReceiverConfig::default() }, span).unwrap(),
        |packet| match packet.kind() {
            Kind::Data => {
                sent += 1;
                (!sent.is_multiple_of(2500)).then_some(rtt)
            }
            _ => Some(Duration::ZERO),
        },
    );
    network.sender.open(Instant::ZERO);
    network.sender.write(Instant::ZERO, Bytes::MAX);
    let end = span.from + Duration::from_secs(300);
    network.run(end);
    let cwnd = network.sender.mean_windows(end).unwrap().cwnd / f64::from(MSS);
    let theory = (0.4 * 3.7 / (4.0 * 0.3_f64)).powf(0.25) * (RTT_S * 2500.0).powf(0.75);
    assert!((cwnd / theory - 1.0).abs() < 0.10, "{cwnd} against {theory}");
}
