// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of programs share.

mod skipped;

use std::os::fd::AsFd;

use libbpf_rs::Program;
use libbpf_rs::query::ProgInfoIter;
pub(crate) use skipped::or_skipped;

/// A program is far from what the verifier follows, a million instructions: what is near it with one compiler is beyond it with
/// another.
pub(crate) fn assert_verified_with_ease(program: &Program<'_>) {
    let id = Program::id_from_fd(program.as_fd()).unwrap();
    let info = ProgInfoIter::default().find(|info| info.id == id).unwrap();
    let steps = info.verified_insns;
    assert!(steps < 550_000, "{}: {steps} instructions of verification", program.name().display());
}

/// Numbers that look random, the same each time.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(1)
    }

    /// 32 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        // Knuth's constants.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    /// One below `most`.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.bits() as usize % most
    }
}
