// SPDX-License-Identifier: MIT OR Apache-2.0
use std::mem::{offset_of, size_of};

use super::*;

#[test]
fn what_a_scheduler_asks_of_a_radio_fills_two_cache_lines() {
    // Of the fading the block and its number.
    assert!(offset_of!(FadingChannel, fading) + size_of::<(usize, u64)>() <= 2 * 64);
    assert_eq!(align_of::<FadingChannel>(), 64);
}

fn radio(config: FadingRadio) -> FadingChannel {
    FadingChannel::new(&config, ("ap", "ap/m"), &Streams::new(1), &mut Kinds::default()).unwrap()
}

/// The TMC paper's slow fading: 0.6 Hz (0.1 m/s at 1.8 GHz), 4.3 MHz, 10 Mbit/s, 5 attempts (clamp §5.2).
pub(crate) fn slow() -> FadingRadio {
    FadingRadio::new(Frequency::from_hz(0.6), Frequency::from_hz(4.3e6), Rate::from_bps(10_000_000), 5)
}

fn with_margin(margin: Margin) -> FadingRadio {
    FadingRadio { margin, ..slow() }
}

fn fixed(value: f64) -> Margin {
    Margin::Fixed(FixedMargin { value })
}

//= clamp#18
#[test]
fn the_rate_is_shannons_up_to_the_maximum() {
    let mut radio = radio(with_margin(fixed(0.5)));
    let mut capped = 0;
    for slot in 0..3000 {
        let attempt = radio.attempt(slot * 100);
        let shannon = 4.3e6 * libm::log2(1.0 + 0.5 * attempt.snr);
        assert!((attempt.rate - shannon.min(1e7)).abs() < 1e-3, "{attempt:?}");
        assert_eq!(radio.bits(&attempt), (0.003 * attempt.rate) as u64);
        capped += u32::from(attempt.rate == 1e7);
    }
    // Half the SNR is past 2^(10/4.3) − 1 = 4.013 in e^(−8.026/4) = 13 % of all slots.
    assert!((250..550).contains(&capped), "{capped}");
}

#[test]
fn an_attempt_fails_if_its_end_cannot_carry_it() {
    let mut radio = radio(with_margin(fixed(0.0)));
    let mut failures = 0;
    for slot in 0..10_000 {
        let attempt = radio.attempt(slot);
        let carried = 4.3e6 * libm::log2(1.0 + radio.fading.snr(slot + 1));
        // Where both ends exceed the cap they are equal up to rounding; look only at clear cases.
        if (attempt.rate / carried - 1.0).abs() > 1e-9 {
            assert_eq!(radio.succeeds(&attempt, slot + 1), attempt.rate <= carried);
        }
        failures += u32::from(!radio.succeeds(&attempt, slot + 1));
    }
    // Below the cap the SNR falls as often as it rises; P(N < 4.01) = 63 %, half of which is 32 %.
    assert!((2000..4000).contains(&failures), "{failures}");
}

//= beyond#21
#[test]
fn attempts_that_add_up_get_through_together() {
    // A channel that stands still and carries log₂(1 + N) bit/s per Hz: what needs two and a half times as much takes three attempts.
    let still = FadingRadio { doppler: Frequency::from_hz(0.0), errors: ErrorModel::IncrementalRedundancy, ..slow() };
    let mut radio = radio(still);
    let snr = radio.attempt(0).snr;
    let attempt = RadioAttempt { snr, needed_snr: libm::pow(1.0 + snr, 2.5) - 1.0, rate: 1e6 };
    let outcomes: Vec<bool> = (0..9).map(|slot| radio.succeeds(&attempt, slot + 1)).collect();
    assert_eq!(outcomes, [false, false, true].repeat(3));
    // What is given up is lost.
    radio.succeeds(&attempt, 1);
    radio.succeeds(&attempt, 2);
    radio.forget();
    assert!(!radio.succeeds(&attempt, 3) && radio.repeats());
}

#[test]
fn the_linear_model_falls_from_its_worst_to_nothing() {
    let errors = ErrorModel::Linear(LinearErrors::new(0.44));
    let mut radio = radio(FadingRadio { errors, ..slow() });
    let mut share = |snr| {
        let attempt = RadioAttempt { snr, needed_snr: snr, rate: 1e6 };
        (0..20_000).filter(|_| !radio.succeeds(&attempt, 0)).count() as f64 / 20_000.0
    };
    assert_eq!(share(0.0039), 1.0);
    assert!((share(0.004) - 0.44).abs() < 0.015);
    // Half-way: 0.22.
    assert!((share(2.002) - 0.22).abs() < 0.015);
    assert_eq!(share(4.0), 0.0);
    assert_eq!(share(9.0), 0.0);
}

#[test]
fn the_margin_balances_losses_against_the_target() {
    let mut radio = radio(FadingRadio { margin_gain: 0.1, margin_halving: 1e15, ..slow() });
    assert_eq!(radio.margin(), Some(0.0));
    // One loss in a thousand is on target: ln(1 − m) = 0.1 · (999 · 0.001 − 0.999) = 0.
    radio.adapt(true);
    assert!(radio.margin().unwrap() > 0.0);
    (0..999).for_each(|_| radio.adapt(false));
    assert!(radio.margin().unwrap().abs() < 1e-9);
    // Without losses it goes below zero: 1 − m = e^(10⁴ · 10⁻⁴).
    (0..10_000).for_each(|_| radio.adapt(false));
    assert!((radio.margin().unwrap() - (1.0 - core::f64::consts::E)).abs() < 1e-9);
}

#[test]
fn the_margin_moves_less_and_less() {
    // At a loss ln(1 − m) falls by 0.999 of the gain: 0.08 at first, half of it after four losses, a tenth after 36.
    let mut radio = radio(FadingRadio { margin_gain: 0.08, margin_halving: 4.0, ..slow() });
    let mut steps = vec![];
    for _ in 0..40 {
        let before = (1.0 - radio.margin().unwrap()).ln();
        radio.adapt(true);
        steps.push(before - (1.0 - radio.margin().unwrap()).ln());
    }
    for (losses, gain) in [(0, 0.08), (4, 0.04), (36, 0.008)] {
        assert!((steps[losses] - 0.999 * gain).abs() < 1e-9, "{losses}: {}", steps[losses]);
    }
    // Without loss it comes back as much slower.
    let before = (1.0 - radio.margin().unwrap()).ln();
    radio.adapt(false);
    let back = (1.0 - radio.margin().unwrap()).ln() - before;
    assert!((back - 0.08 / 11.0 * 1e-3).abs() < 1e-12, "{back}");
}

#[test]
fn the_kinds_of_margin_differ() {
    let mut floor = radio(with_margin(Margin::NonNegative));
    let mut still = radio(with_margin(fixed(0.25)));
    for _ in 0..1000 {
        floor.adapt(false);
        still.adapt(true);
    }
    assert_eq!((floor.margin(), still.margin()), (Some(0.0), Some(0.25)));
}

#[test]
fn what_it_cannot_take_is_refused_by_name() {
    let key =
        |config| FadingChannel::new(&config, ("ap", "ap/m"), &Streams::new(1), &mut Kinds::default()).unwrap_err().key;
    let linear = |worst, lower_snr, upper_snr| FadingRadio {
        errors: ErrorModel::Linear(LinearErrors { worst, lower_snr, upper_snr }),
        ..slow()
    };
    assert_eq!(key(FadingRadio { generators: 0, ..slow() }), "generators");
    assert_eq!(key(FadingRadio { slot: Duration::ZERO, ..slow() }), "slot");
    assert_eq!(key(with_margin(fixed(1.0))), "margin.value");
    assert_eq!(key(FadingRadio { beams: Some(Frequency::from_hz(0.0)), ..slow() }), "beams");
    assert_eq!(key(linear(0.5, 1.0, 1.0)), "errors.upper_snr");
}
