// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emulates a scenario file: `cargo run --release --example emu -- FILE [COMMAND…]`. For profilers.
#![allow(missing_docs)]

use std::path::Path;

use lasthop_emu::{EmulationOptions, Figures, Report, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let file = args.next().ok_or("wanted the name of a scenario file")?;
    let file = Path::new(&file);
    let command: Vec<_> = args.collect();
    let mut options =
        EmulationOptions { command: (!command.is_empty()).then_some(command), ..EmulationOptions::default() };
    options.offload = std::env::var_os("OFFLOAD").is_some();
    options.congestion_control = std::env::var("CC").ok();
    let directory = file.parent().unwrap_or(Path::new("."));
    let Report { outcome, emulation, ended, complaints } =
        run(&std::fs::read_to_string(file)?, directory, &[], &options, &|| None)?;
    let figures = Figures { summary: &outcome.summary, emulation: Some(&emulation) };
    println!("{}", serde_json::to_string_pretty(&figures)?);
    eprintln!("{ended:?} {complaints:?}");
    Ok(())
}
