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

/// A mobile before two antennas whose beam wanders.
fn beamed(doppler_hz: f64, beam_hz: f64, name: &str) -> Fading {
    let stream = |element: &str, purpose: &str| Streams::new(1).stream(element, purpose);
    fading(doppler_hz, 20, name).beamed(
        Frequency::from_hz(beam_hz),
        SLOT,
        &mut Kinds::default(),
        &mut stream(name, "second antenna"),
        &mut stream("ap", "beam"),
    )
}

//= beyond#20
#[test]
fn the_power_of_two_antennas() {
    // All from the first antenna, whatever its phase: |3 + 4j|² = 25. Half from each, in phase and against each other:
    // |3 + 1|²/2 = 8 and |3 − 1|²/2 = 2; a quarter of a turn between them, |3 + j|²/2 = 5.
    assert_eq!(beamed_power([[3.0, 4.0], [7.0, 7.0]], [[0.0, 2.0], [0.0, 0.0]]), 25.0);
    let half = |other| beamed_power([[3.0, 0.0], [1.0, 0.0]], [[2.0, 0.0], other]);
    assert_eq!([half([2.0, 0.0]), half([-2.0, 0.0]), half([0.0, 2.0])], [8.0, 2.0, 5.0]);
    assert_eq!(beamed_power([[3.0, 0.0], [1.0, 0.0]], [[0.0; 2]; 2]), 0.0, "no beam, and no division by 0");
}

#[test]
fn a_beam_moves_a_still_channel_and_keeps_its_distribution() {
    // Channels that stand still: under the beam each has the mean (|h₁|² + |h₂|²)/2 · SNR, from 0 up to twice that. Over the mobiles that
    // mean is the SNR, with a variance of SNR²/2: ±0.2 for 200.
    let (mut mean, mobiles, slots) = (0.0, 200, 20_000);
    for mobile in 0..mobiles {
        let mut fading = beamed(0.0, 20.0, &format!("m{mobile}"));
        let snrs: Vec<f64> = (0..slots).map(|slot| fading.snr(slot)).collect();
        let own = snrs.iter().sum::<f64>() / slots as f64;
        let most = snrs.iter().copied().fold(0.0, f64::max);
        let least = snrs.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least < 0.1 * own && (1.6..2.4).contains(&(most / own)), "{least}, {own}, {most}");
        mean += own / f64::from(mobiles);
    }
    assert!((3.5..4.5).contains(&mean), "{mean}");
}

#[test]
fn all_mobiles_share_the_beam_and_its_speed_is_live() {
    // Two mobiles whose channels are the same meet the same.
    let at = |beam_hz, name: &str| (0..200).map(|slot| beamed(0.6, beam_hz, name).snr(slot)).collect::<Vec<_>>();
    assert_eq!(at(10.0, "m"), at(10.0, "m"));
    assert_ne!(at(10.0, "m"), at(20.0, "m"));
    assert_ne!(at(10.0, "m"), at(10.0, "n"));
    let mut without = fading(0.6, 20, "m");
    assert_ne!(at(10.0, "m"), (0..200).map(|slot| without.snr(slot)).collect::<Vec<_>>());
}
