// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent`: see [`lasthop_agent::cli`].
#![forbid(unsafe_code)]

use std::process::ExitCode;

use lasthop_agent::cli::Cli;

fn main() -> ExitCode {
    match Cli::read().and_then(Cli::run) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("lasthop-agent: {error:#}");
            ExitCode::from(2)
        }
    }
}
