// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::rng::Streams;

const SLOT: Duration = Duration::from_millis(3);

fn fading(doppler_hz: f64, generators: u32, name: &str) -> Fading {
    let mut stream = Streams::new(1).stream(name, "fading");
    Fading::new(Frequency::from_hz(doppler_hz), generators, 4.0, SLOT, &mut Kinds::default(), &mut stream)
}

/// The formula as it stands in the paper, with the same phases.
fn formula(doppler_hz: f64, generators: u32, name: &str, slot: u64) -> f64 {
    let mut stream = Streams::new(1).stream(name, "fading");
    let (g, t_s) = (f64::from(generators), slot as f64 * 0.003);
    let (mut re, mut im) = (0.0, 0.0);
    for n in 0..generators {
        let n = n as f64;
        let omega = 2.0 * PI * doppler_hz * libm::cos(PI * (n + 0.5) / (2.0 * g));
        let wave = libm::cos(omega * t_s + 2.0 * PI * stream.uniform());
        re += wave * libm::cos(PI * n / g);
        im += wave * libm::sin(PI * n / g);
    }
    4.0 * 2.0 / g * (re * re + im * im)
}

//= clamp#5.2
#[test]
fn the_blocks_give_the_formula() {
    for (doppler_hz, generators) in [(60.0, 20), (0.6, 20), (0.6, 8), (17.0, 5), (0.0, 1)] {
        let mut fading = fading(doppler_hz, generators, "m");
        for slot in (0..2000).chain(100_000..100_200) {
            let (value, wanted) = (fading.snr(slot), formula(doppler_hz, generators, "m", slot));
            assert!((value - wanted).abs() < 1e-9, "{doppler_hz} Hz, slot {slot}: {value}, wanted {wanted}");
        }
    }
}

#[test]
fn the_order_of_asking_does_not_matter() {
    let in_order: Vec<u64> = {
        let mut fading = fading(60.0, 20, "m");
        (0..1000).map(|slot| fading.snr(slot).to_bits()).collect()
    };
    let mut fading = fading(60.0, 20, "m");
    // 389 is coprime to 1000, so this visits every slot, in jumps.
    for slot in (0..1000).map(|n| n * 389 % 1000) {
        assert_eq!(fading.snr(slot).to_bits(), in_order[slot as usize]);
    }
}

/// Mean, and the normalised autocovariance of the power at a lag of one slot, over `mobiles` mobiles.
fn moments(doppler_hz: f64, generators: u32, mobiles: usize, slots: u64) -> (f64, f64) {
    let (mut sum, mut square, mut product, mut count) = (0.0, 0.0, 0.0, 0.0);
    for mobile in 0..mobiles {
        let mut fading = fading(doppler_hz, generators, &format!("m{mobile}"));
        for slot in 0..slots {
            let (this, next) = (fading.snr(slot), fading.snr(slot + 1));
            sum += this;
            square += this * this;
            product += this * next;
            count += 1.0;
        }
    }
    let mean = sum / count;
    (mean, (product / count - mean * mean) / (square / count - mean * mean))
}

#[test]
fn the_mean_is_the_stated_snr_and_the_power_correlates_as_the_square_of_a_bessel_function() {
    // The gain's autocorrelation over 3 ms at 60 Hz is J0(2π · 60 · 0.003) = J0(1.131) = 0.705; the power's, its
    // square: 0.497.
    let (mean, correlation) = moments(60.0, 20, 20, 100_000);
    assert!((3.95..4.05).contains(&mean), "{mean}");
    assert!((0.49..0.505).contains(&correlation), "{correlation}");
    let (mean, _) = moments(60.0, 8, 20, 100_000);
    assert!((3.95..4.05).contains(&mean), "{mean}");
}

#[test]
fn the_power_is_nearly_exponential() {
    // P(N > x) = e^(−x/4), within what 20 oscillators allow.
    let mut above = [0.0; 4];
    let levels = [0.4, 1.0, 4.0, 12.0];
    let total = 20.0 * 100_000.0;
    for mobile in 0..20 {
        let mut fading = fading(60.0, 20, &format!("m{mobile}"));
        for slot in 0..100_000 {
            let snr = fading.snr(slot);
            for (count, level) in above.iter_mut().zip(levels) {
                *count += f64::from(u8::from(snr > level)) / total;
            }
        }
    }
    for (share, level) in above.into_iter().zip(levels) {
        assert!((share - libm::exp(-level / 4.0)).abs() < 0.01, "P(N > {level}) = {share}");
    }
}

#[test]
fn mobiles_fade_independently() {
    let (mut a, mut b) = (fading(60.0, 20, "m1"), fading(60.0, 20, "m2"));
    let slots = 200_000;
    let (mut mean_a, mut mean_b, mut product) = (0.0, 0.0, 0.0);
    for slot in 0..slots {
        let (x, y) = (a.snr(slot), b.snr(slot));
        mean_a += x / slots as f64;
        mean_b += y / slots as f64;
        product += x * y / slots as f64;
    }
    // Variances are 16 each.
    let correlation = (product - mean_a * mean_b) / 16.0;
    assert!(correlation.abs() < 0.03, "{correlation}");
}

#[test]
fn every_parameter_is_live() {
    let at_500 = |doppler_hz, generators, snr, slot| {
        let mut stream = Streams::new(1).stream("m", "fading");
        let doppler = Frequency::from_hz(doppler_hz);
        Fading::new(doppler, generators, snr, slot, &mut Kinds::default(), &mut stream).snr(500)
    };
    let usual = at_500(60.0, 20, 4.0, SLOT);
    assert_eq!(at_500(60.0, 20, 8.0, SLOT), 2.0 * usual);
    assert_ne!(at_500(30.0, 20, 4.0, SLOT), usual);
    assert_ne!(at_500(60.0, 8, 4.0, SLOT), usual);
    assert_ne!(at_500(60.0, 20, 4.0, Duration::from_millis(2)), usual);
}
