// SPDX-License-Identifier: MIT OR Apache-2.0
//! What commands print.

use std::io::{self, Write};

use anyhow::{Context, Result};

/// Prints what was asked for. Who closes the pipe has had enough of it.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn print(text: impl AsRef<str>) -> Result<()> {
    let mut out = io::stdout();
    match out.write_all(text.as_ref().as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("cannot write"),
        _ => Ok(()),
    }
}
