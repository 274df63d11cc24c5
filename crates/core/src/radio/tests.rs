// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

fn radio(config: FadingRadio) -> Radio {
    Radio::new(&config, "ap/m", &Streams::new(1), &mut Kinds::default()).unwrap()
}

fn with_margin(margin: Margin) -> FadingRadio {
    let errors = ErrorModel::Outage { margin, packet_error_rate: 1e-3, margin_gain: 0.1 };
    FadingRadio { errors, ..FadingRadio::default() }
}

//= clamp#18
#[test]
fn the_rate_is_shannons_up_to_the_maximum() {
    let mut radio = radio(with_margin(Margin::Fixed(0.5)));
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
    let mut radio = radio(with_margin(Margin::Fixed(0.0)));
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

#[test]
fn the_linear_model_falls_from_p_low_to_nothing() {
    let errors = ErrorModel::Linear { p_low: 0.44, snr_low: 0.004, snr_high: 4.0 };
    let mut radio = radio(FadingRadio { errors, ..FadingRadio::default() });
    let mut share = |snr| {
        let attempt = Attempt { snr, needed_snr: snr, rate: 1e6 };
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
    let mut radio = radio(with_margin(Margin::Signed));
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
fn the_kinds_of_margin_differ() {
    let mut floor = radio(with_margin(Margin::NonNegative));
    let mut fixed = radio(with_margin(Margin::Fixed(0.25)));
    for _ in 0..1000 {
        floor.adapt(false);
        fixed.adapt(true);
    }
    assert_eq!((floor.margin(), fixed.margin()), (Some(0.0), Some(0.25)));
}

#[test]
fn what_it_cannot_take_is_refused_by_name() {
    let usual = FadingRadio::default();
    let key = |config| Radio::new(&config, "ap/m", &Streams::new(1), &mut Kinds::default()).unwrap_err().key;
    let outage = |margin, packet_error_rate, margin_gain| FadingRadio {
        errors: ErrorModel::Outage { margin, packet_error_rate, margin_gain },
        ..usual
    };
    let linear =
        |p_low, snr_low, snr_high| FadingRadio { errors: ErrorModel::Linear { p_low, snr_low, snr_high }, ..usual };
    assert_eq!(key(FadingRadio { bandwidth_hz: 0.0, ..usual }), "bandwidth");
    assert_eq!(key(FadingRadio { max_rate: Rate::from_bps(0), ..usual }), "max_rate");
    assert_eq!(key(FadingRadio { attempts: 0, ..usual }), "attempts");
    assert_eq!(key(FadingRadio { slot: Duration::ZERO, ..usual }), "slot");
    assert_eq!(key(outage(Margin::Fixed(1.0), 1e-3, 0.1)), "margin.value");
    assert_eq!(key(outage(Margin::Signed, 0.0, 0.1)), "packet_error_rate");
    assert_eq!(key(outage(Margin::Signed, 1e-3, 0.0)), "margin_gain");
    assert_eq!(key(linear(1.1, 0.0, 1.0)), "errors.worst");
    assert_eq!(key(linear(0.5, -1.0, 1.0)), "errors.lower_snr");
    assert_eq!(key(linear(0.5, 1.0, 1.0)), "errors.upper_snr");
}
