// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random streams named by (seed, element, purpose).
//!
//! A stream depends on its name alone: two protocols compared under one seed meet the same fading and the same
//! losses, whatever else draws. The generator is `rand_pcg`'s PCG64, whose values are stable.

use core::cell::Cell;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// The streams of one run.
#[derive(Clone, Debug)]
pub struct Streams {
    seed: u64,
    /// Whether a stream was asked for.
    are_used: Cell<bool>,
}

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

impl Streams {
    /// The streams of the run with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, are_used: Cell::new(false) }
    }

    /// Whether anything has asked for a stream: if not, nothing depends on the seed.
    pub fn are_used(&self) -> bool {
        self.are_used.get()
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The stream of one element for one purpose, say `("ap/m1", "fading")`.
    pub fn stream(&self, element: &str, purpose: &str) -> Stream {
        self.are_used.set(true);
        // FNV-1a over the name; the zero byte keeps ("a", "bc") apart from ("ab", "c").
        let name = element.bytes().chain([0]).chain(purpose.bytes());
        let hash = name.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut seed = [0u8; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[16..24].copy_from_slice(&hash.to_le_bytes());
        let mut rng = Pcg64::from_seed(seed);
        // PCG's first outputs of neighbouring seeds are alike; let them part.
        for _ in 0..8 {
            rng.next_u64();
        }
        Stream(rng)
    }
}

impl Stream {
    /// A number of \[0, 1), uniform over multiples of 2⁻⁵³.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A draw from a distribution of `rand_distr`.
    #[inline]
    pub fn sample<T, D: rand_distr::Distribution<T>>(&mut self, distribution: &D) -> T {
        distribution.sample(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, element: &str, purpose: &str) -> f64 {
        Streams::new(seed).stream(element, purpose).uniform()
    }

    #[test]
    fn a_stream_depends_on_its_whole_name_and_on_nothing_else() {
        assert_eq!(first(1, "ap/m1", "fading"), first(1, "ap/m1", "fading"));
        assert_ne!(first(1, "ap/m1", "fading"), first(2, "ap/m1", "fading"));
        assert_ne!(first(1, "ap/m1", "fading"), first(1, "ap/m2", "fading"));
        assert_ne!(first(1, "ap/m1", "fading"), first(1, "ap/m1", "loss"));
        assert_ne!(first(1, "ab", "c"), first(1, "a", "bc"));
    }

    #[test]
    fn they_know_whether_anybody_draws() {
        let streams = Streams::new(1);
        assert!(!streams.are_used());
        let _ = streams.stream("ap", "fading");
        assert!(streams.are_used());
    }

    #[test]
    fn neighbouring_seeds_are_uncorrelated() {
        // Mean of products of 4000 pairs of independent U(−½, ½): standard deviation 1/12/√4000 = 0.0013.
        let product: f64 = (0..4000).map(|s| (first(s, "x", "y") - 0.5) * (first(s + 1, "x", "y") - 0.5)).sum();
        assert!((product / 4000.0).abs() < 0.006, "{}", product / 4000.0);
    }

    #[test]
    fn uniform_has_the_right_mean_and_variance() {
        let mut stream = Streams::new(7).stream("test", "uniform");
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.uniform()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.004, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.001, "{variance}");
        assert!(draws.iter().all(|x| (0.0..1.0).contains(x)));
    }
}
