// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fading: the signal-to-noise ratio of a mobile by Jakes' model, at the instants at which slots begin.
//!
//! No cosine is taken per slot. Slots are cut into blocks of 128. A block starts from the oscillators' phases at its
//! middle, and its slots follow, in pairs k before and k after the middle, from
//! cos(φ ± kx) = cos φ cos kx ∓ sin φ sin kx with tables of cos kx and sin kx: the whole block is a small matrix
//! product, whose tables all mobiles of a kind share. So the SNR of a slot depends on the slot's number alone, whatever was asked before: mobiles that are
//! idle cost nothing, and late wakes change nothing.

use core::f64::consts::PI;
use std::collections::BTreeMap;
use std::sync::Arc;

use pulp::{Arch, NullaryFnOnce};

use crate::rng::Stream;
use crate::units::{Duration, Frequency};

/// Slots on either side of a block's middle.
const HALF: usize = 64;
/// Slots per block.
const BLOCK: u64 = 2 * HALF as u64;
/// Slots that are computed side by side.
const LANES: usize = 4;
/// Oscillators of the two waves by which a beam wanders: of different numbers, so that no two have one frequency and a phase between
/// them that stays.
const STEERING_GENERATORS: [u32; 2] = [20, 23];

/// The SNR of one mobile, N(t) = SNR·|√(2/G) Σ cos(ω_n t + θ_n) e^(jπn/G)|² over n = 0 … G−1, where
/// ω_n = 2π f_d cos(π(n + ½)/(2G)) (clamp §5.2) at t = slot·T.
///
/// The phases θ_n are independent and uniform: the printed formula has none, and would have all mobiles fade alike.
/// Its n = 1 … G gives each mobile another mean; n = 0 … G−1 gives all of them `snr`.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Fading {
    // These two first: they are all that most slots touch.
    /// SNRs of the block whose number is `cached`.
    block: Box<[f64; BLOCK as usize]>,
    cached: u64,
    path: Path,
    scale: f64,
    beam: Option<Box<Beam>>,
}

/// What comes from one antenna: a sum of oscillators.
#[derive(Clone, Debug)]
struct Path {
    kind: Arc<Kind>,
    /// Each oscillator's phase at slot 0, in turns.
    phases: Vec<f64>,
}

/// A second antenna, and how the power and the phase of both wander.
#[derive(Clone, Debug)]
struct Beam {
    antenna: Path,
    /// Two waves: their ratio is that of the antennas' amplitudes.
    steering: [Path; 2],
    /// A block of each: of the first and the second antenna, and of the steering.
    blocks: [Vec<Wave>; 4],
}

/// A complex amplitude.
type Wave = [f64; 2];

/// The kinds of mobiles there are so far: what differs in phases and mean SNR alone is computed once.
#[derive(Clone, Debug, Default)]
pub struct Kinds(BTreeMap<(u64, u32, Duration), Arc<Kind>>);

impl Kinds {
    /// Mobiles with this Doppler shift and so many oscillators, sampled every `slot`.
    fn of(&mut self, doppler_hz: f64, generators: u32, slot: Duration) -> Arc<Kind> {
        let kind = self.0.entry((doppler_hz.to_bits(), generators, slot));
        Arc::clone(kind.or_insert_with(|| Arc::new(Kind::new(doppler_hz, generators, slot))))
    }
}

/// What mobiles of one Doppler shift have in common.
#[derive(Debug)]
struct Kind {
    oscillators: Vec<Oscillator>,
    /// For each group of LANES slots, one entry per oscillator.
    table: Vec<Turn>,
}

#[derive(Clone, Copy, Debug)]
struct Oscillator {
    /// Advance of the phase by one slot, in turns.
    step: f64,
    /// cos and sin of πn/G.
    real: f64,
    imaginary: f64,
}

/// How far an oscillator turns in k + ½ slots, for LANES successive k.
#[derive(Clone, Copy, Debug)]
struct Turn {
    cos: [f64; LANES],
    sin: [f64; LANES],
}

/// cos φ and sin φ at a block's middle, times cos πn/G and sin πn/G: an oscillator's factors in the sum's real part, of cosines and
/// sines, and in its imaginary part. Each LANES times, as processors multiply many at once.
type Weights = [[f64; LANES]; 4];

impl Kind {
    fn new(doppler_hz: f64, generators: u32, slot: Duration) -> Self {
        let count = f64::from(generators);
        let oscillator = |n: u32| {
            let n = f64::from(n);
            //= clamp#5.2  N(t) = SNR·|√(2/G) Σ_n cos(ω_n t) e^(jπn/G)|², ω_n = 2πf_d cos(π(n + ½)/(2G))
            let frequency_hz = doppler_hz * libm::cos(PI / (2.0 * count) * (n + 0.5));
            Oscillator {
                step: frequency_hz * slot.as_secs_f64(),
                real: libm::cos(PI * n / count),
                imaginary: libm::sin(PI * n / count),
            }
        };
        let oscillators: Vec<Oscillator> = (0..generators).map(oscillator).collect();
        let turn = |first: usize, oscillator: &Oscillator| {
            let angle = |lane| 2.0 * PI * oscillator.step * ((first + lane) as f64 + 0.5);
            let lanes: [usize; LANES] = core::array::from_fn(|lane| lane);
            Turn { cos: lanes.map(|lane| libm::cos(angle(lane))), sin: lanes.map(|lane| libm::sin(angle(lane))) }
        };
        let firsts = (0..HALF).step_by(LANES);
        let table = firsts.flat_map(|first| oscillators.iter().map(move |o| turn(first, o))).collect();
        Self { oscillators, table }
    }
}

impl Fading {
    /// The fading of one mobile with a Doppler shift f_d, G oscillators (`generators`, at least 1) and a mean `snr`, sampled every
    /// `slot` (more than 0), with phases drawn from `stream`; it shares with its like among `kinds` what they have in common.
    pub fn new(
        doppler: Frequency,
        generators: u32,
        snr: f64,
        slot: Duration,
        kinds: &mut Kinds,
        stream: &mut Stream,
    ) -> Self {
        Self {
            block: Box::new([0.0; BLOCK as usize]),
            cached: u64::MAX,
            path: Path::new(kinds.of(doppler.as_hz(), generators, slot), stream),
            scale: snr * 2.0 / f64::from(generators),
            beam: None,
        }
    }

    /// The same mobile before two antennas, which send the same with powers and phases that wander as fast as a channel with a Doppler
    /// shift `speed` fades (Viswanath, Tse, Laroia, IEEE Trans. Information Theory 48, 2002): the beam is as likely to point anywhere, so
    /// that the SNR has the same mean and distribution as of one antenna. The second antenna's phases are drawn from `antenna`, those of
    /// the beam from `steering`, which is the same for all mobiles of the antennas.
    #[must_use]
    pub fn beamed(
        self,
        speed: Frequency,
        slot: Duration,
        kinds: &mut Kinds,
        antenna: &mut Stream,
        steering: &mut Stream,
    ) -> Self {
        let antenna = Path::new(Arc::clone(&self.path.kind), antenna);
        let steering = STEERING_GENERATORS.map(|count| Path::new(kinds.of(speed.as_hz(), count, slot), steering));
        let blocks = [(); 4].map(|()| vec![[0.0; 2]; BLOCK as usize]);
        Self { beam: Some(Box::new(Beam { antenna, steering, blocks })), ..self }
    }

    /// The SNR at the start of slot number `slot`, as a plain ratio.
    #[inline]
    pub fn snr(&mut self, slot: u64) -> f64 {
        if slot / BLOCK != self.cached {
            self.fill(slot / BLOCK);
        }
        self.block[(slot % BLOCK) as usize]
    }

    #[inline(never)]
    fn fill(&mut self, number: u64) {
        let Self { path, scale, block, cached, beam } = self;
        let scale = *scale;
        match beam {
            None => path.fill(number, block.as_mut_slice(), |re, im| scale * (re * re + im * im)),
            Some(beam) => beam.fill(path, number, scale, block.as_mut_slice()),
        }
        *cached = number;
    }
}

impl Path {
    fn new(kind: Arc<Kind>, stream: &mut Stream) -> Self {
        let phases = kind.oscillators.iter().map(|_| stream.uniform()).collect();
        Self { kind, phases }
    }

    /// Fills a block with what is `made` of the real and the imaginary part of each slot.
    #[inline(always)]
    fn fill<T>(&self, number: u64, block: &mut [T], made: impl Fn(f64, f64) -> T) {
        let middle = (number * BLOCK) as f64 + (HALF as f64 - 0.5);
        let weights = |(oscillator, phase): (&Oscillator, &f64)| {
            let turns = phase + oscillator.step * middle;
            let (sin, cos) = libm::sincos(2.0 * PI * (turns - libm::floor(turns)));
            let Oscillator { real, imaginary, .. } = oscillator;
            [real * cos, real * sin, imaginary * cos, imaginary * sin].map(|factor| [factor; LANES])
        };
        let weights: Vec<Weights> = self.kind.oscillators.iter().zip(&self.phases).map(weights).collect();
        // In the widest registers that the processor has: products and sums are rounded one by one, so it gives the same bits with all.
        Arch::new().dispatch(Product { table: &self.kind.table, weights: &weights, block, made });
    }
}

/// The matrix product that gives a block.
struct Product<'a, T, F> {
    table: &'a [Turn],
    weights: &'a [Weights],
    block: &'a mut [T],
    made: F,
}

impl<T, F: Fn(f64, f64) -> T> NullaryFnOnce for Product<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { table, weights, block, made } = self;
        let (before, after) = block.split_at_mut(HALF);
        let groups = table.chunks_exact(weights.len());
        let slots = before.rchunks_exact_mut(LANES).zip(after.chunks_exact_mut(LANES));
        for (group, (before, after)) in groups.zip(slots) {
            // The even and odd parts, about the middle, of the sum's real and imaginary parts.
            let (mut re_even, mut re_odd) = ([0.0; LANES], [0.0; LANES]);
            let (mut im_even, mut im_odd) = ([0.0; LANES], [0.0; LANES]);
            for (turn, [re_cos, re_sin, im_cos, im_sin]) in group.iter().zip(weights) {
                for lane in 0..LANES {
                    re_even[lane] += re_cos[lane] * turn.cos[lane];
                    re_odd[lane] += re_sin[lane] * turn.sin[lane];
                    im_even[lane] += im_cos[lane] * turn.cos[lane];
                    im_odd[lane] += im_sin[lane] * turn.sin[lane];
                }
            }
            for lane in 0..LANES {
                after[lane] = made(re_even[lane] - re_odd[lane], im_even[lane] - im_odd[lane]);
                before[LANES - 1 - lane] = made(re_even[lane] + re_odd[lane], im_even[lane] + im_odd[lane]);
            }
        }
    }
}

impl Beam {
    #[cold]
    fn fill(&mut self, first: &Path, number: u64, scale: f64, block: &mut [f64]) {
        let Self { antenna, steering: [one, other], blocks } = self;
        for (path, waves) in [first, antenna, one, other].into_iter().zip(blocks.iter_mut()) {
            path.fill(number, waves, |re, im| [re, im]);
        }
        let [first, second, one, other] = blocks;
        for (slot, snr) in block.iter_mut().enumerate() {
            *snr = scale * beamed_power([first[slot], second[slot]], [one[slot], other[slot]]);
        }
    }
}

/// The power of what two antennas send, with amplitudes whose ratio is that of two waves, and a power of 1 in all.
fn beamed_power([first, second]: [Wave; 2], [one, other]: [Wave; 2]) -> f64 {
    //= beyond#20  h = √α h₁ + √(1 − α) e^(jθ) h₂, √α : √(1 − α) e^(jθ) = g₁ : g₂
    let re = one[0] * first[0] - one[1] * first[1] + other[0] * second[0] - other[1] * second[1];
    let im = one[0] * first[1] + one[1] * first[0] + other[0] * second[1] + other[1] * second[0];
    let power = one[0] * one[0] + one[1] * one[1] + other[0] * other[0] + other[1] * other[1];
    (re * re + im * im) / power.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests;
