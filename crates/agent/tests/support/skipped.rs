// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is left out, with the reason, where a kernel or its rights do not allow it.

use anyhow::Result;

/// Something of the kernel's; none, and a line, where the kernel does not give it.
pub(crate) fn or_skipped<T>(given: Result<T>) -> Option<T> {
    if let Err(error) = &given {
        // Programs that are more than the verifier follows are no matter of rights.
        let is_ours = format!("{error:#}").contains("Argument list too long");
        assert!(!is_ours && std::env::var_os("LASTHOP_REQUIRE_ROOT").is_none(), "{error:#}");
        eprintln!("SKIPPED: {error:#}");
    }
    given.ok()
}
