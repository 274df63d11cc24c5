// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of recorded capacity.

use std::fs;
use std::io::Error;
use std::path::Path;

use lasthop_core::capacity::Trace;

/// Bytes of the largest file that is read.
const LARGEST: u64 = 1 << 28;

/// Reads a trace: mahimahi's, or rows `time_s,rate_bps`.
///
/// # Errors
/// What is wrong with the file, in one line: it cannot be read, is no regular file (which may never end), is too large, is no
/// text, or is no trace.
pub fn read_trace(path: &Path) -> Result<Trace, String> {
    let about = fs::metadata(path).map_err(|e| reason(&e))?;
    if !about.is_file() {
        return Err("wanted a regular file".into());
    }
    if about.len() > LARGEST {
        return Err(format!("{} B: wanted at most {LARGEST} B", about.len()));
    }
    let bytes = fs::read(path).map_err(|e| reason(&e))?;
    let text = String::from_utf8(bytes).map_err(|_| "not a text file: wanted a trace".to_owned())?;
    Trace::parse(&text).map_err(|e| e.to_string())
}

/// What the system says of a file, without its number.
fn reason(error: &Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
