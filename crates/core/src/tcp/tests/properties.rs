// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds whatever happens: transfers complete, late wakes change nothing, every parameter matters.

use std::cell::Cell;

use proptest::prelude::*;

use super::network::Network;
use crate::element::Element;
use crate::law::aimd::AimdParams;
use crate::law::binomial::BinomialParams;
use crate::law::clamp::ClampParams;
use crate::law::cubic::CubicParams;
use crate::law::gamma::{Boost, Cut, GammaParams};
use crate::law::linux;
use crate::packet::{Kind, Packet, Parcel};
use crate::rng::{Stream, Streams};
use crate::role;
use crate::role::SenderParams;
use crate::stats::Span;
use crate::tcp::{Receiver, ReceiverConfig, Recovery, RttEstimator, Sender, SenderConfig, Validation};
use crate::units::{Bytes, Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// A path that loses each packet with probability `loss` and takes 10 to 10 + `spread` ms, so that packets overtake.
pub(super) fn rough(mut stream: Stream, loss: f64, spread: f64) -> impl FnMut(&Packet) -> Option<Duration> {
    move |_| {
        let delay = Duration::from_secs_f64((10.0 + spread * stream.uniform()) / 1e3);
        (stream.uniform() >= loss).then_some(delay)
    }
}

fn senders() -> impl Strategy<Value = SenderConfig> {
    let recovery = prop_oneof![Just(Recovery::Reno), Just(Recovery::NewReno), Just(Recovery::Sack)];
    let law = prop_oneof![
        proptest::sample::select(SenderParams::defaults()),
        Just(SenderParams::Aimd(AimdParams { alpha: 0.31, beta: 0.875, ..AimdParams::default() })),
        Just(SenderParams::Gamma(GammaParams {
            gamma: Some(Cut::default()),
            delta: Some(Boost::default()),
            ..GammaParams::default()
        })),
    ];
    let early = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let undo = (any::<bool>(), any::<bool>(), any::<bool>());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (recovery, law, flags, early, undo, 1u32..1600, proptest::option::of(1u64..20)).prop_map(
        |(recovery, law, (limited_transmit, timestamps, handshake, validation, cut), early, undo, mss, limit)| {
            SenderConfig {
                timer_tick: if undo.0 == undo.1 { MS * 4 } else { Duration::ZERO },
                eifel: undo.0,
                frto: undo.1,
                dsack: undo.2,
                rack: early.0 && recovery == Recovery::Sack,
                tail_loss_probe: early.0 && early.1 && recovery == Recovery::Sack,
                rate_reduction: early.2 && recovery == Recovery::Sack,
                rtt_estimator: if early.3 { RttEstimator::Linux } else { RttEstimator::Rfc6298 },
                recovery,
                law,
                limited_transmit,
                timestamps,
                handshake,
                validation: match (validation, early.3) {
                    (false, _) => Validation::Always,
                    (true, false) => Validation::Full,
                    (true, true) => Validation::Linux,
                },
                cut_at_each_timeout: cut,
                keep_sacked: !early.1,
                mss,
                window_limit: limit.map(|segments| Bytes::new(segments * u64::from(mss))),
                rto_min: Duration::from_millis(50),
                ..SenderConfig::default()
            }
        },
    )
}

fn receivers(sack: bool) -> impl Strategy<Value = ReceiverConfig> {
    let law = prop_oneof![
        Just(role::ReceiverParams::Plain),
        Just(role::ReceiverParams::Clamp(ClampParams::new(Bytes::new(500))))
    ];
    (law, any::<bool>(), any::<bool>(), 500u64..50_000).prop_map(move |(law, delayed, dsack, buffer)| ReceiverConfig {
        dsack,
        law,
        mss: 1000,
        ack_every: if delayed { 2 } else { 1 },
        buffer: Bytes::new(buffer),
        sack,
        ..ReceiverConfig::default()
    })
}

pub(super) fn connections() -> impl Strategy<Value = (SenderConfig, ReceiverConfig)> {
    senders().prop_flat_map(|sender| (Just(sender.clone()), receivers(sender.recovery == Recovery::Sack)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is lost and overtaken, the transfer ends, and exactly what was written is delivered. The window in use
    /// never exceeds what the receiver offers.
    #[test]
    fn every_transfer_completes(
        (sender, receiver) in connections(),
        seed: u64,
        loss in 0.0..0.3,
        spread in 0.0..30.0,
        size in 1u64..60_000,
    ) {
        let mut network = Network::new(
            Sender::new(0, sender, Span::ALWAYS).unwrap(),
            Receiver::new(0, receiver, Span::ALWAYS).unwrap(),
            rough(Streams::new(seed).stream("path", "all"), loss, spread),
        );
        network.sender.open(Instant::ZERO);
        network.sender.write(Instant::ZERO, Bytes::new(size));
        network.sender.close(Instant::ZERO);
        let mut edge = 0;
        while !network.sender.is_done() {
            let limit = Instant::ZERO + Duration::from_secs(1_000_000);
            prop_assert!(network.step(limit), "stuck at {:?}: {:?}", network.now, network.sender.state());
            let delivered = network.receiver.delivered().get();
            prop_assert!(network.sender.acknowledged().get() <= delivered && delivered <= size);
            let right = delivered + network.receiver.window().get();
            prop_assert!(right >= edge, "the right edge moved left");
            edge = right;
        }
        prop_assert_eq!(network.receiver.delivered(), Bytes::new(size));
        let stats = network.sender.stats();
        prop_assert_eq!(stats.original(), Bytes::new(size));
        prop_assert!(network.receiver.stats().delivered == Bytes::new(size));
    }

    /// However late a sender and a receiver are woken, and however late they are polled, they send the same.
    #[test]
    fn late_wakes_change_nothing(
        (sender, receiver) in connections(),
        seed: u64,
        loss in 0.0..0.2,
        size in 1000u64..60_000,
    ) {
        // What the ends of a rough connection are told, and when.
        let mut told = Vec::new();
        let mut network = Network::new(
            Sender::new(0, sender.clone(), Span::ALWAYS).unwrap(),
            Receiver::new(0, receiver.clone(), Span::ALWAYS).unwrap(),
            rough(Streams::new(seed).stream("path", "all"), loss, 5.0),
        );
        network.sender.open(Instant::ZERO);
        network.sender.write(Instant::ZERO, Bytes::new(size));
        let end = Instant::ZERO + Duration::from_secs(20);
        while network.step_and_tell(end, |at, packet| told.push((at, packet.clone()))) {}

        let (mut in_time, mut late) = (Vec::new(), Vec::new());
        for (sent, is_late) in [(&mut in_time, false), (&mut late, true)] {
            let mut tx = Sender::new(0, sender.clone(), Span::ALWAYS).unwrap();
            let mut rx = Receiver::new(0, receiver.clone(), Span::ALWAYS).unwrap();
            let mut stream = Streams::new(seed).stream("test", "late");
            tx.open(Instant::ZERO);
            tx.write(Instant::ZERO, Bytes::new(size));
            for (at, packet) in &told {
                if is_late {
                    // Some wakes at odd times, most of them missed; polled now and then.
                    let before = Instant::from_nanos((at.as_nanos() as f64 * stream.uniform()) as u64);
                    if stream.uniform() < 0.2 {
                        tx.wake(before.max(*at));
                        rx.wake(before.max(*at));
                    }
                } else {
                    while let Some(due) = tx.next_wake().filter(|due| due <= at) {
                        tx.wake(due);
                        drain(&mut tx, sent);
                    }
                    while let Some(due) = rx.next_wake().filter(|due| due <= at) {
                        rx.wake(due);
                        drain(&mut rx, sent);
                    }
                }
                match packet.kind() {
                    Kind::Data | Kind::Syn => rx.receive(*at, packet.clone()),
                    Kind::Ack | Kind::Update | Kind::SynAck | Kind::Feedback => tx.receive(*at, packet.clone()),
                }
                if !is_late || stream.uniform() < 0.3 {
                    drain(&mut tx, sent);
                    drain(&mut rx, sent);
                }
            }
            tx.wake(end);
            rx.wake(end);
            drain(&mut tx, sent);
            drain(&mut rx, sent);
            sent.sort();
        }
        prop_assert!(!in_time.is_empty());
        let first = in_time.iter().zip(&late).find(|(a, b)| a != b);
        prop_assert!(in_time == late, "{} and {} departures; {first:?}", in_time.len(), late.len());
    }
}

/// Takes out what `end` has to send, as time, kind and numbers.
fn drain(end: &mut impl Element<Packet>, sent: &mut Vec<(Instant, String)>) {
    while let Some(departure) = end.poll_departure() {
        sent.push((departure.at, format!("{:?}", departure.packet)));
    }
}

/// A fingerprint of what happens on a fixed rough path with an application that writes three times.
fn outcome(sender: SenderConfig, receiver: ReceiverConfig) -> String {
    let mut losses = Streams::new(3).stream("path", "loss");
    let sizes = Cell::new(0);
    let delay = |packet: &Packet| {
        sizes.set(sizes.get() + packet.size().get());
        let is_lost = packet.kind() == Kind::Data && losses.uniform() < 0.02;
        (!is_lost).then_some(MS * 20)
    };
    let mut network = Network::new(
        Sender::new(0, sender, Span::ALWAYS).unwrap(),
        Receiver::new(0, receiver, Span::ALWAYS).unwrap(),
        delay,
    );
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    network.sender.open(at(0));
    for (start, size) in [(0, 20_000), (10, 300_000), (80, 300_000), (160, 301_234)] {
        network.run(at(start));
        network.sender.write(at(start), Bytes::new(size));
    }
    network.run(at(400));
    let stats = (network.sender.stats().clone(), network.receiver.stats().clone());
    let windows = network.sender.mean_windows(at(400));
    format!("{stats:?} {windows:?} {sizes:?}")
}

#[test]
fn every_parameter_of_a_sender_matters() {
    let base = SenderConfig { rto_min: MS * 100, ..SenderConfig::default() };
    let some = |n| Some(Bytes::new(n));
    let aimd = |params| SenderParams::Aimd(params);
    let tcp = AimdParams::default();
    let cubic = |params| SenderParams::Cubic(params);
    let sqrt = BinomialParams::default();
    let binomial = |params| SenderConfig { law: SenderParams::Binomial(params), ..base.clone() };
    let variants = [
        ("mss", SenderConfig { mss: 1000, ..base.clone() }),
        ("header", SenderConfig { header: 60, ..base.clone() }),
        ("alpha", SenderConfig { law: aimd(AimdParams { alpha: 0.5, ..tcp }), ..base.clone() }),
        ("beta", SenderConfig { law: aimd(AimdParams { beta: 0.7, ..tcp }), ..base.clone() }),
        ("recovery", SenderConfig { recovery: Recovery::Reno, ..base.clone() }),
        ("limited_transmit", SenderConfig { limited_transmit: true, ..base.clone() }),
        ("whole_threshold", SenderConfig { whole_threshold: true, ..base.clone() }),
        ("timestamps", SenderConfig { timestamps: true, ..base.clone() }),
        ("initial_window", SenderConfig { initial_window: Some(10), ..base.clone() }),
        ("initial_ssthresh", SenderConfig { initial_ssthresh: some(8000), ..base.clone() }),
        ("window_limit", SenderConfig { window_limit: some(8000), ..base.clone() }),
        ("validation", SenderConfig { validation: Validation::Full, ..base.clone() }),
        ("restart_after_idle", SenderConfig { restart_after_idle: false, ..base.clone() }),
        ("rto_min", SenderConfig { rto_min: MS * 500, ..base.clone() }),
        ("rto_granularity", SenderConfig { rto_granularity: MS * 500, ..base.clone() }),
        ("timer_tick", SenderConfig { timer_tick: MS * 4, ..base.clone() }),
        ("handshake", SenderConfig { handshake: false, ..base.clone() }),
        ("syn_size", SenderConfig { syn_size: 60, ..base.clone() }),
        ("binomial", binomial(sqrt)),
        ("k", binomial(BinomialParams { k: 1.0, ..sqrt })),
        ("l", binomial(BinomialParams { l: 0.0, ..sqrt })),
        ("binomial alpha", binomial(BinomialParams { alpha: 2.0, ..sqrt })),
        ("binomial beta", binomial(BinomialParams { beta: 0.25, ..sqrt })),
        ("cubic", SenderConfig { law: cubic(CubicParams::default()), ..base.clone() }),
        ("c", SenderConfig { law: cubic(CubicParams { c: 4.0, ..CubicParams::default() }), ..base.clone() }),
        (
            "beta_cubic",
            SenderConfig { law: cubic(CubicParams { beta: 0.5, ..CubicParams::default() }), ..base.clone() },
        ),
        ("fast_convergence", {
            let law = cubic(CubicParams { fast_convergence: false, ..CubicParams::default() });
            SenderConfig { law, ..base.clone() }
        }),
        ("reno_friendly", {
            let law = cubic(CubicParams { reno_friendly: false, ..CubicParams::default() });
            SenderConfig { law, ..base.clone() }
        }),
    ];
    let mut outcomes = vec![("as it is", outcome(base, ReceiverConfig::default()))];
    for (name, config) in variants {
        let new = outcome(config, ReceiverConfig::default());
        if let Some((other, _)) = outcomes.iter().find(|(_, old)| *old == new) {
            panic!("{name} changes nothing against: {other}");
        }
        outcomes.push((name, new));
    }
}

#[test]
fn the_remaining_parameters_of_a_sender_matter() {
    // The strict rule for duplicates: only where windows change. SACK: only where the receiver sends it.
    let clamp = ReceiverConfig {
        law: role::ReceiverParams::Clamp(ClampParams::new(Bytes::new(500))),
        ..ReceiverConfig::default()
    };
    let base = SenderConfig::default();
    let strict = SenderConfig { strict_duplicate_acks: true, ..base.clone() };
    assert_ne!(outcome(base.clone(), clamp.clone()), outcome(strict, clamp));
    let sack = ReceiverConfig { sack: true, ..ReceiverConfig::default() };
    let with_sack = SenderConfig { recovery: Recovery::Sack, ..base.clone() };
    assert_ne!(outcome(base.clone(), sack.clone()), outcome(with_sack, sack));
    // What goes by the times of segments, each on top of the one before.
    let sack = ReceiverConfig { sack: true, ..ReceiverConfig::default() };
    let rack = SenderConfig { recovery: Recovery::Sack, rack: true, rto_min: MS * 100, ..base.clone() };
    let reno = SenderConfig { law: SenderParams::LinuxReno, ..rack.clone() };
    let cubic = |params| SenderConfig { law: SenderParams::LinuxCubic(params), ..rack.clone() };
    let usual = linux::LinuxCubicParams::default();
    let mut idle = vec![];
    let mut outcomes = vec![outcome(SenderConfig { rack: false, ..rack.clone() }, sack.clone())];
    for config in [
        rack.clone(),
        SenderConfig { rate_reduction: true, ..rack.clone() },
        SenderConfig { pieces: true, ..rack.clone() },
        reno,
        cubic(usual),
        cubic(linux::LinuxCubicParams { reno_friendly: false, ..usual }),
        cubic(linux::LinuxCubicParams { tick: MS * 10, ..usual }),
    ] {
        let new = outcome(config.clone(), sack.clone());
        if outcomes.contains(&new) {
            idle.push(config);
        }
        outcomes.push(new);
    }
    assert!(idle.is_empty(), "changes nothing: {idle:?}");
    // The initial and the greatest time-out: only where nothing is answered.
    let timeouts = |config| {
        let mut end = Sender::new(0, config, Span::ALWAYS).unwrap();
        end.open(Instant::ZERO);
        end.wake(Instant::ZERO + Duration::from_secs(100));
        std::iter::from_fn(|| end.poll_departure()).map(|departure| departure.at).collect::<Vec<_>>()
    };
    let usual = timeouts(base.clone());
    assert_ne!(usual, timeouts(SenderConfig { rto_initial: Duration::from_secs(3), ..base.clone() }));
    assert_ne!(usual, timeouts(SenderConfig { rto_max: Duration::from_secs(10), ..base.clone() }));
}

#[test]
fn every_parameter_of_a_receiver_matters() {
    let base = ReceiverConfig::default();
    let clamp = |tau, mss| ReceiverConfig {
        law: role::ReceiverParams::Clamp(ClampParams::new(Bytes::new(tau))),
        mss,
        ..base.clone()
    };
    let delayed = ReceiverConfig { ack_every: 2, ..base.clone() };
    let variants = [
        ("buffer", ReceiverConfig { buffer: Bytes::new(8000), ..base.clone() }),
        ("ack_size", ReceiverConfig { ack_size: 60, ..base.clone() }),
        ("delayed", delayed.clone()),
        ("ack_timeout", ReceiverConfig { ack_timeout: MS * 5, ..delayed.clone() }),
        ("ack_every", ReceiverConfig { ack_every: 3, ..base.clone() }),
        ("quick_acks", ReceiverConfig { quick_acks: 16, ..delayed }),
        ("sack", ReceiverConfig { sack: true, ..base.clone() }),
        ("sample_interval", ReceiverConfig { sample_interval: Some(MS * 100), ..base.clone() }),
        ("law", clamp(500, 1460)),
        ("tau", clamp(100, 1460)),
        ("mss", clamp(500, 500)),
    ];
    let mut outcomes = vec![("as it is", outcome(SenderConfig::default(), base.clone()))];
    for (name, config) in variants {
        let new = outcome(SenderConfig::default(), config);
        if let Some((other, _)) = outcomes.iter().find(|(_, old)| *old == new) {
            panic!("{name} changes nothing against: {other}");
        }
        outcomes.push((name, new));
    }
}

#[test]
fn parameters_outside_their_domain_are_refused_by_name() {
    let base = SenderConfig::default();
    let none = Duration::ZERO;
    let wrong = [
        ("mss", SenderConfig { mss: 0, ..base.clone() }),
        ("initial_window", SenderConfig { initial_window: Some(0), ..base.clone() }),
        ("initial_ssthresh", SenderConfig { initial_ssthresh: Some(Bytes::new(2919)), ..base.clone() }),
        ("window_limit", SenderConfig { window_limit: Some(Bytes::new(1459)), ..base.clone() }),
        ("rto_min", SenderConfig { rto_min: none, ..base.clone() }),
        ("rto_max", SenderConfig { rto_max: MS, ..base.clone() }),
        ("rto_initial", SenderConfig { rto_initial: none, ..base.clone() }),
        ("rto_granularity", SenderConfig { rto_granularity: Duration::from_secs(61), ..base.clone() }),
        ("rack", SenderConfig { rack: true, ..base.clone() }),
        ("rtt_tick", SenderConfig { rtt_tick: MS * 1001, rtt_estimator: RttEstimator::Ns2, ..base.clone() }),
        ("rtt_tick", SenderConfig { rtt_tick: MS, ..base.clone() }),
        ("timer_tick", SenderConfig { timer_tick: MS * 11, ..base.clone() }),
        ("rate_reduction", SenderConfig { rate_reduction: true, ..base.clone() }),
        ("tail_loss_probe", SenderConfig { tail_loss_probe: true, ..base.clone() }),
        (
            "beta",
            SenderConfig { law: SenderParams::Aimd(AimdParams { beta: 1.0, ..AimdParams::default() }), ..base.clone() },
        ),
    ];
    for (key, config) in wrong {
        assert_eq!(Sender::new(0, config, Span::ALWAYS).unwrap_err().key, key);
    }
    let base = ReceiverConfig::default();
    let wrong = [
        ("buffer", ReceiverConfig { buffer: Bytes::ZERO, ..base.clone() }),
        ("ack_timeout", ReceiverConfig { ack_timeout: MS * 501, ..base.clone() }),
        ("ack_every", ReceiverConfig { ack_every: 0, ..base.clone() }),
        ("sample_interval", ReceiverConfig { sample_interval: Some(none), ..base.clone() }),
        ("tau", ReceiverConfig { law: role::ReceiverParams::Clamp(ClampParams::new(Bytes::ZERO)), ..base.clone() }),
    ];
    for (key, config) in wrong {
        assert_eq!(Receiver::new(0, config, Span::ALWAYS).unwrap_err().key, key);
    }
}
