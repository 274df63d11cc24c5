// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parameter moves something.
use super::*;
use crate::law::proportional_fair::ProportionalFairParams;

/// Departures and margins of ten busy seconds, with three stations.
fn outcome(config: &ApConfig) -> (Log, Vec<Option<f64>>) {
    let mut ap = ap(config);
    let log = saturate(&mut ap, 10, 1500, Instant::ZERO, ms(10_000));
    (log, ap.stations().iter().map(Station::margin).collect())
}

fn differs(what: &str, usual: FadingRadio, other: FadingRadio) {
    let scheduler = SchedulerParams::default();
    let run = |radio| outcome(&config(scheduler, 3, &RadioConfig::Fading(radio)));
    assert_ne!(run(usual), run(other), "{what}");
}

#[test]
fn each_parameter_of_the_radio() {
    let usual = fast();
    let hz = Frequency::from_hz;
    differs("doppler", usual, FadingRadio { doppler: hz(50.0), ..usual });
    differs("generators", usual, FadingRadio { generators: 8, ..usual });
    differs("snr", usual, FadingRadio { snr: 5.0, ..usual });
    differs("slot", usual, FadingRadio { slot: Duration::from_millis(2), ..usual });
    differs("bandwidth", usual, FadingRadio { bandwidth: hz(4e6), ..usual });
    differs("max_rate", usual, FadingRadio { max_rate: Rate::from_bps(9_000_000), ..usual });
    differs("attempts", usual, FadingRadio { attempts: 2, ..usual });
    differs("packet_error_rate", usual, FadingRadio { packet_error_rate: 1e-2, ..usual });
    differs("margin_gain", usual, FadingRadio { margin_gain: 0.2, ..usual });
    // Falls with losses, which there are with few attempts.
    let lossy = FadingRadio { attempts: 2, ..usual };
    differs("margin_halving", lossy, FadingRadio { margin_halving: 1e9, ..lossy });
    differs("margin", usual, FadingRadio { margin: Margin::NonNegative, ..usual });
    differs("fixed margin", usual, FadingRadio { margin: Margin::Fixed(FixedMargin { value: 0.5 }), ..usual });
    differs("errors", usual, FadingRadio { errors: ErrorModel::None, ..usual });
    differs("errors", usual, FadingRadio { errors: ErrorModel::IncrementalRedundancy, ..usual });
    differs("beams", usual, FadingRadio { beams: Some(hz(10.0)), ..usual });
    let beams = FadingRadio { beams: Some(hz(10.0)), ..usual };
    differs("speed of beams", beams, FadingRadio { beams: Some(hz(20.0)), ..usual });
    differs("frames", usual, FadingRadio { frames: Frames::PerPacket, ..usual });
    differs("frames", usual, FadingRadio { frames: Frames::Whole, ..usual });
    let usual = report(Frames::PerPacket);
    let linear = |errors| FadingRadio { errors: ErrorModel::Linear(errors), ..usual };
    differs("worst", usual, linear(LinearErrors::new(0.8)));
    differs("lower_snr", usual, linear(LinearErrors { lower_snr: 0.4, ..LinearErrors::new(0.44) }));
    differs("upper_snr", usual, linear(LinearErrors { upper_snr: 3.0, ..LinearErrors::new(0.44) }));
}

#[test]
fn the_scheduler_and_its_memory() {
    let radio = RadioConfig::Fading(fast());
    let run = |scheduler| outcome(&config(scheduler, 3, &radio));
    let usual = run(SchedulerParams::default());
    let fair = |memory, failed_slots_count| {
        run(SchedulerParams::ProportionalFair(ProportionalFairParams { memory, failed_slots_count }))
    };
    assert_ne!(usual, fair(0.9, true));
    assert_ne!(usual, fair(0.97, false));
    assert_ne!(usual, run(SchedulerParams::BestSnr));
    assert_ne!(usual, run(SchedulerParams::RoundRobin));
}

#[test]
fn the_name_the_seed_and_the_loss() {
    let usual = config(SchedulerParams::default(), 3, &RadioConfig::Fading(fast()));
    let run = |name, config: &ApConfig, seed| {
        let mut ap = AccessPoint::new(name, config, &Streams::new(seed), Span::ALWAYS, &mut Kinds::default()).unwrap();
        saturate(&mut ap, 10, 1500, Instant::ZERO, ms(1000))
    };
    let usual_log = run("ap", &usual, 1);
    assert_eq!(usual_log, run("ap", &usual, 1));
    assert_ne!(usual_log, run("ap2", &usual, 1));
    assert_ne!(usual_log, run("ap", &usual, 2));
    let mut lossy = usual.clone();
    lossy.stations[0].loss = bernoulli(0.1);
    assert_ne!(usual_log, run("ap", &lossy, 1));
}

#[test]
fn the_queue_and_its_marker() {
    let mut usual = config(SchedulerParams::default(), 1, &RadioConfig::Fading(fast()));
    usual.stations[0].queue = QueueConfig {
        buffer: Buffer { limit: Some(Amount::Bytes(Bytes::new(4500))), ..Buffer::default() },
        marker: MarkerParams::Linear(PriceForm::Linear.of(PriceParams::new(Bytes::ZERO))),
    };
    let mut ap = ap(&usual);
    let mut prices = 0.0;
    for n in 0..100 {
        ap.receive(ms(10 * n), packet(0, n, 1500));
        ap.receive(ms(10 * n), packet(0, n, 1500));
        while let Some(Departure { packet, .. }) = ap.poll_departure() {
            prices += packet.signal.price().expect("every packet that leaves carries a price");
        }
    }
    assert!(prices > 0.0);
    // One fills what three leave room for.
    (0..9).for_each(|n| ap.receive(ms(2000), packet(0, n, 1500)));
    assert_eq!(ap.stations()[0].queue().len(), 3);
    assert!(ap.stations()[0].queue().meter().drops >= 6);
    let probe = ap.probe(0, ms(2000));
    assert_eq!(probe.queue, Bytes::new(4500));
    assert!(probe.price_s.is_some() && probe.snr.is_some() && probe.rate.is_some() && probe.margin.is_some());
}
