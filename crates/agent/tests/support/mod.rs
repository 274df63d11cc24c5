// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of programs share.

use anyhow::Result;

/// Something of the kernel's; none, and a line, where the kernel does not give it.
pub(crate) fn or_skipped<T>(given: Result<T>) -> Option<T> {
    if let Err(error) = &given {
        assert!(std::env::var_os("LASTHOP_REQUIRE_ROOT").is_none(), "{error:#}");
        eprintln!("SKIPPED: {error:#}");
    }
    given.ok()
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
