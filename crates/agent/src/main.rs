// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent`: see [`lasthop_agent::cli`].
#![forbid(unsafe_code)]

use std::process::ExitCode;

use lasthop_agent::cli::Cli;
use lasthop_agent::service;

fn main() -> ExitCode {
    match Cli::read().and_then(Cli::run) {
        Ok(code) => code,
        Err(error) => ExitCode::from(service::failed(&error)),
    }
}
