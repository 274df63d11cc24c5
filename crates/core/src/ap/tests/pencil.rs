// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases that a pencil can follow.
use super::*;

#[test]
fn packets_share_and_span_slots_and_leave_at_their_end() {
    // 3750 B a slot. Three packets of 1500 B at 1 ms: the slot from 3 to 6 ms takes two and a half, the next the rest.
    let mut ap = ap(&config(SchedulerParams::default(), 1, &RadioConfig::Fading(perfect())));
    (0..3).for_each(|n| ap.receive(ms(1), packet(0, n, 1500)));
    assert_eq!(ap.next_wake(), Some(ms(3)));
    let mut log = Log::new();
    run_until(&mut ap, ms(100), &mut log);
    assert_eq!(log, [(ms(6), 0, 0), (ms(6), 0, 1), (ms(9), 0, 2)]);
    assert_eq!(ap.next_wake(), None);
    let air = ap.stations()[0].air();
    assert_eq!((air.attempts, air.failures, air.carried_bits), (2, 0, 36_000));
    assert_eq!(ap.capacity(0), Some(Rate::from_bps(10_000_000)));
}

#[test]
fn what_comes_during_a_slot_waits_for_the_next() {
    let mut ap = ap(&config(SchedulerParams::default(), 1, &RadioConfig::Fading(perfect())));
    let mut log = Log::new();
    // At a boundary an idle access point starts at once; the second comes too late for that slot.
    ap.receive(ms(3), packet(0, 0, 1500));
    ap.receive(ms(3), packet(0, 1, 1500));
    run_until(&mut ap, ms(100), &mut log);
    assert_eq!(log, [(ms(6), 0, 0), (ms(9), 0, 1)]);
}

#[test]
fn after_its_attempts_a_slot_loses_the_packets_it_would_have_completed() {
    // 1 − m = 999: the end of a slot never carries what its start promised, and a frame takes all that waits, up to
    // 3 ms · 10 Mbit/s = 30,000 bit: two packets of 1500 B and 6000 bit of the third.
    let margin = Margin::Fixed(FixedMargin { value: -998.0 });
    let hopeless = FadingRadio { snr: 1e-1, doppler: Frequency::from_hz(1.0), margin, attempts: 3, ..slow() };
    let mut ap = ap(&config(SchedulerParams::default(), 1, &RadioConfig::Fading(hopeless)));
    (0..3).for_each(|n| ap.receive(ms(1), packet(0, n, 1500)));
    let mut log = Log::new();
    run_until(&mut ap, ms(11), &mut log);
    assert_eq!((ap.stations()[0].queue().len(), ap.stations()[0].queue().meter().losses), (3, 0));
    run_until(&mut ap, ms(12), &mut log);
    assert_eq!((ap.stations()[0].queue().len(), ap.stations()[0].queue().meter().losses), (1, 2));
    run_until(&mut ap, ms(100), &mut log);
    assert_eq!(ap.stations()[0].queue().meter().losses, 3);
    assert_eq!((log.len(), ap.next_wake()), (0, None));
    assert_eq!(ap.stations()[0].air().failures, 6);
    assert_eq!(ap.capacity(0), Some(Rate::from_bps(0)));
}

#[test]
fn attempts_add_up_however_packets_are_cut() {
    // A still channel that carries r = W₀ log₂(1 + N) and is tried at 10 Mbit/s (1 − m = 999): ⌈10 Mbit/s / r⌉ attempts for each frame.
    // Two stations take turns, and their attempts add up each for itself.
    let margin = Margin::Fixed(FixedMargin { value: -998.0 });
    let errors = ErrorModel::IncrementalRedundancy;
    let still = FadingRadio { doppler: Frequency::from_hz(0.0), snr: 1.0, attempts: 50, margin, errors, ..slow() };
    for frames in [Frames::Shared, Frames::PerPacket, Frames::Whole] {
        let radio = RadioConfig::Fading(FadingRadio { frames, ..still });
        let mut ap = ap(&config(SchedulerParams::RoundRobin, 2, &radio));
        let log = saturate(&mut ap, 10, 1250, Instant::ZERO, ms(10_000));
        assert!(log.len() > 100, "{frames:?}: {}", log.len());
        for station in ap.stations() {
            let air = station.air();
            let snr = air.mean_snr().unwrap();
            let wanted = (1e7 / (4.3e6 * libm::log2(1.0 + snr))).ceil();
            let through = (air.attempts - air.failures) as f64;
            assert!((air.attempts as f64 / through - wanted).abs() < 0.1, "{frames:?}, {wanted}: {air:?}");
            assert_eq!(station.queue().meter().losses, 0, "{frames:?}");
        }
    }
}

#[test]
fn packet_by_packet_takes_whole_slots() {
    // 1.44 Mbit/s: 4320 bit a slot. A packet of 500 B takes one, one of 1500 B (12,000 bit) takes three.
    let radio = FadingRadio { frames: Frames::PerPacket, max_rate: Rate::from_bps(1_440_000), ..perfect() };
    let mut ap = ap(&config(SchedulerParams::RoundRobin, 2, &RadioConfig::Fading(radio)));
    let mut log = Log::new();
    ap.receive(ms(1), packet(0, 0, 1500));
    ap.receive(ms(1), packet(1, 1, 500));
    ap.receive(ms(1), packet(0, 2, 500));
    run_until(&mut ap, ms(100), &mut log);
    assert_eq!(log, [(ms(12), 0, 0), (ms(15), 1, 1), (ms(18), 0, 2)]);
}

#[test]
fn packet_by_packet_in_one_piece_ends_with_its_last_bit() {
    let radio = FadingRadio { frames: Frames::Whole, ..perfect() };
    let mut ap = ap(&config(SchedulerParams::BestSnr, 1, &RadioConfig::Fading(radio)));
    let mut log = Log::new();
    // 12,000 bit at 10 Mbit/s: 1.2 ms each, from the start.
    ap.receive(ms(1), packet(0, 0, 1500));
    ap.receive(ms(2), packet(0, 1, 1500));
    run_until(&mut ap, ms(100), &mut log);
    let us = |us| Instant::ZERO + Duration::from_micros(us);
    assert_eq!(log, [(us(2200), 0, 0), (us(3400), 0, 1)]);
}

#[test]
fn what_is_given_up_packet_by_packet_is_lost_when_it_is_through() {
    // Certain failure: 1500 B are three frames of 4320, 4320 and 3360 bit, each tried three times.
    let errors = ErrorModel::Linear(LinearErrors { worst: 1.0, lower_snr: 1e9, upper_snr: 2e9 });
    let radio = FadingRadio {
        frames: Frames::PerPacket,
        max_rate: Rate::from_bps(1_440_000),
        attempts: 3,
        errors,
        ..perfect()
    };
    let mut ap = ap(&config(SchedulerParams::BestSnr, 1, &RadioConfig::Fading(radio)));
    let mut log = Log::new();
    ap.receive(ms(0), packet(0, 0, 1500));
    run_until(&mut ap, ms(26), &mut log);
    assert_eq!(ap.stations()[0].queue().meter().losses, 0);
    run_until(&mut ap, ms(27), &mut log);
    assert_eq!((ap.stations()[0].queue().meter().losses, log.len()), (1, 0));
    assert_eq!(ap.stations()[0].air().failures, 9);
}

#[test]
fn a_constant_rate_serves_packet_by_packet() {
    // 1 Mbit/s: 12 ms for 1500 B; the second station's turn comes between the first's two packets.
    let radio = constant(1_000_000);
    let mut ap = ap(&config(SchedulerParams::RoundRobin, 2, &radio));
    let mut log = Log::new();
    ap.receive(ms(5), packet(0, 0, 1500));
    ap.receive(ms(6), packet(0, 1, 1500));
    ap.receive(ms(7), packet(1, 2, 750));
    run_until(&mut ap, ms(100), &mut log);
    assert_eq!(log, [(ms(17), 0, 0), (ms(23), 1, 2), (ms(35), 0, 1)]);
    assert_eq!(ap.capacity(0), Some(Rate::from_bps(1_000_000)));
}

#[test]
fn opportunities_are_shared_spanned_and_lost() {
    let trace = Arc::new(Trace::parse("10\n20\n20\n30\n100\n").unwrap());
    let mut ap = ap(&config(SchedulerParams::RoundRobin, 1, &RadioConfig::Trace(trace)));
    let mut log = Log::new();
    // 10 ms: nobody there. 20 ms, twice: 700 + 700 + 104 of 1700 B; 1504 of the other 1596. 30 ms: 92, the rest is lost.
    for (n, size) in [(0, 700), (1, 700), (2, 1700)] {
        ap.receive(ms(10), packet(0, n, size));
    }
    run_until(&mut ap, ms(35), &mut log);
    assert_eq!(log, [(ms(20), 0, 0), (ms(20), 0, 1), (ms(30), 0, 2)]);
    // The trace starts over at 100 ms: the next are at 100 and 110 ms.
    ap.receive(ms(100), packet(0, 3, 1504));
    run_until(&mut ap, ms(200), &mut log);
    assert_eq!(log[3], (ms(110), 0, 3));
    // 5 · 1504 B in 100 ms.
    assert_eq!(ap.capacity(0), Some(Rate::from_bps(601_600)));
}

#[test]
fn a_router_is_told_of_opportunities_that_nobody_used() {
    // The share of a thousand packets, `size` bytes each and one a period, that are told to accelerate.
    let told = |trace: &str, size, opportunities| {
        let params = AbcRouterParams { eta: 0.5, opportunities, ..AbcRouterParams::default() };
        let trace = Arc::new(Trace::parse(trace).unwrap());
        let period_ms = trace.period().as_nanos() / 1_000_000;
        let mut config = config(SchedulerParams::RoundRobin, 1, &RadioConfig::Trace(trace));
        config.stations[0].queue.marker = MarkerParams::Abc(params);
        let mut ap = ap(&config);
        let mut accelerated = 0;
        for n in 0..1100 {
            let mut asking = packet(0, n, size);
            asking.signal = Signal::Steering(Steering::Asked);
            ap.receive(ms(n * period_ms), asking);
            ap.wake(ms((n + 1) * period_ms));
            while let Some(Departure { packet, .. }) = ap.poll_departure() {
                accelerated += u32::from(n >= 100 && packet.signal == Signal::Steering(Steering::Accelerate));
            }
        }
        f64::from(accelerated) / 1e3
    };
    // f = η μ/(2 cr): a quarter of each opportunity is left; two of three are, and two of four, each later than the one used. Where a
    // period does not go into the window, it holds a packet more or less.
    assert!((told("1\n", 1128, true) - 1.0 / 3.0).abs() < 0.01);
    assert!((told("1\n2\n2\n", 1504, true) - 0.75).abs() < 0.01);
    assert!((told("1\n1\n2\n4\n", 3008, true) - 0.5).abs() < 0.02);
    // Measured while a packet waits, a millisecond of two, the line is twice as fast as they come.
    assert!((told("1\n2\n2\n", 1504, false) - 0.5).abs() < 0.01);
}

#[test]
fn channels_that_do_not_go_together_are_refused() {
    let error = |radios: &[RadioConfig]| {
        let stations = radios.iter().enumerate().map(|(n, radio)| station(&format!("m{n}"), radio.clone())).collect();
        let config = ApConfig { scheduler: SchedulerParams::default(), stations };
        AccessPoint::<Packet>::new("ap", &config, &Streams::new(1), Span::ALWAYS, &mut Kinds::default()).unwrap_err()
    };
    let fading = RadioConfig::Fading(slow());
    let steady = constant(1);
    let traces = ["1", "2"].map(|text| RadioConfig::Trace(Arc::new(Trace::parse(text).unwrap())));
    assert_eq!(error(&[]).key, "station");
    assert_eq!(error(&[fading.clone(), steady.clone()]).key, "m1.radio");
    assert_eq!(error(&[steady, fading.clone()]).key, "m1.radio");
    assert_eq!(error(&traces).key, "m1.radio");
    let longer = FadingRadio { slot: Duration::from_millis(4), ..slow() };
    assert_eq!(error(&[fading.clone(), RadioConfig::Fading(longer)]).key, "m1.radio");
    let whole = FadingRadio { frames: Frames::Whole, ..slow() };
    assert_eq!(error(&[fading.clone(), RadioConfig::Fading(whole)]).key, "m1.radio");
    let beams = FadingRadio { beams: Some(Frequency::from_hz(10.0)), ..slow() };
    assert_eq!(error(&[fading, RadioConfig::Fading(beams)]).key, "m1.radio");
    assert_eq!(error(&[constant(0)]).key, "m0.radio.rate");
}
