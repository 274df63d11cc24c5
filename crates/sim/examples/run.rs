// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a scenario file and prints its figures, for profilers:
//! `cargo run --release --example run -- FILE [SEED] [PATH=VALUE]…`.
#![allow(missing_docs, clippy::disallowed_types)]

use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("wanted the name of a scenario file")?;
    let (overrides, seed): (Vec<_>, Vec<_>) = args.partition(|word| word.contains('='));
    let seed = seed.first().map(|seed| seed.parse()).transpose()?;
    let overrides: Vec<_> = overrides.iter().filter_map(|word| word.split_once('=')).map(owned).collect();
    let directory = Path::new(&file).parent().unwrap_or(Path::new("."));
    let text = std::fs::read_to_string(&file)?;
    let start = Instant::now();
    let run = lasthop_sim::Run::new(&text, directory, &overrides, seed)?;
    let set_up = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let outcome = run.finish();
    let seconds = start.elapsed().as_secs_f64();
    println!("{}", serde_json::to_string_pretty(&outcome.summary)?);
    let packets = outcome.summary.packets as f64;
    eprintln!(
        "{set_up:.3} s to set up, {seconds:.3} s, {:.3} µs a packet, {:.2} events a packet",
        seconds / packets * 1e6,
        outcome.summary.events as f64 / packets
    );
    Ok(())
}

fn owned((path, value): (&str, &str)) -> (String, String) {
    (path.to_owned(), value.to_owned())
}
