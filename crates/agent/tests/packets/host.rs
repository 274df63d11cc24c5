// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutated packets through the programs' build for the host, under sanitizers of addresses and of undefined behaviour.

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, ensure};
use lasthop_agent::mode::Mode;

use crate::frames::{Exchange, mutate, packets, seeds};
use crate::oracle::judge;
use crate::support::{Random, or_skipped};

/// Compiles an agent's programs for the host.
fn built(mode: Mode) -> Result<PathBuf> {
    let program = format!("-DPROGRAM=\"{}.bpf.c\"", mode.name());
    let defines: &[&str] = match mode {
        Mode::Proxy => &["-DLOOKS_THROUGH", &program],
        Mode::Ap | Mode::Client => &[&program],
    };
    compiled("harness.c", mode.name(), defines)
}

/// Compiles a file of `tests/host`, with the programs that it includes.
pub(crate) fn compiled(source: &str, name: &str, defines: &[&str]) -> Result<PathBuf> {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("host-{name}"));
    let output = Command::new(&clang)
        .current_dir(package)
        .args(["-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-w"])
        // Helpers call what the programs give them, whatever it takes.
        .arg("-fno-sanitize=function")
        .args(["-Itests/host", "-I../fixed/c", "-Ibpf"])
        .args(defines)
        .args([&format!("tests/host/{source}"), "-o"])
        .arg(&binary)
        .output()
        .with_context(|| format!("cannot run {clang}"))?;
    ensure!(output.status.success(), "{clang}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(binary)
}

/// Runs what was just built; gives it and what it reads.
pub(crate) fn started(binary: &Path, words: &[&str]) -> (Child, BufWriter<ChildStdin>) {
    let command = Command::new(binary).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = command.expect("what was just built runs");
    let to = BufWriter::with_capacity(1 << 16, child.stdin.take().unwrap());
    (child, to)
}

/// Sends packets through it, and judges what comes back; gives how many changed.
fn run(mode: Mode, binary: &Path, words: &[&str], count: usize) -> usize {
    let (mut child, mut to) = started(binary, words);
    let mut from = BufReader::with_capacity(1 << 16, child.stdout.take().unwrap());
    // What is sent is made again where it is judged. Updates are made of what goes on.
    let goes_on = words.contains(&"station");
    let frames = || {
        let (seeds, mut random, mut exchange) = (seeds(), Random::new(), Exchange::new());
        (0..count).map(move |_| {
            if goes_on && let Some((to_client, frame)) = exchange.next() {
                return (u8::from(to_client), random.below(10_000) == 0, frame);
            }
            let mut frame = seeds[random.below(seeds.len())].clone();
            mutate(&mut frame, &mut random);
            (random.below(2) as u8, random.below(1000) == 0, frame)
        })
    };
    let sender = std::thread::spawn({
        let frames = frames();
        move || -> std::io::Result<()> {
            for (program, looks, frame) in frames {
                if looks {
                    to.write_all(&[0; 3])?;
                }
                to.write_all(&[program])?;
                to.write_all(&(frame.len() as u16).to_be_bytes())?;
                to.write_all(&frame)?;
            }
            to.flush()
        }
    });
    let mut changed = 0;
    for (number, (program, _, frame)) in frames().enumerate() {
        let (mut head, program) = ([0; 3], ["to_server", "to_client"][usize::from(program)]);
        from.read_exact(&mut head).unwrap_or_else(|error| panic!("{mode:?} {program} {number} {frame:02x?}: {error}"));
        let mut left = vec![0; u16::from_be_bytes([head[1], head[2]]).into()];
        from.read_exact(&mut left).unwrap();
        let judged = judge(mode, program, &frame, &left);
        changed += usize::from(judged.unwrap_or_else(|wrong| panic!("{wrong}: {mode:?} {program} {frame:02x?}")));
    }
    sender.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    changed
}

#[test]
fn mutated_packets_find_no_fault_in_the_hosts_build() {
    for (mode, settings) in [
        (
            Mode::Proxy,
            &[&["qdisc"][..], &["hidden"], &["clamp"], &["hidden", "clamp"], &["station"], &["hidden", "station"]][..],
        ),
        (Mode::Ap, &[&[]]),
        (Mode::Client, &[&[]]),
    ] {
        let Some(binary) = or_skipped(built(mode)) else { return };
        for words in settings {
            let count = packets() / settings.len();
            let changed = run(mode, &binary, words, count);
            assert!(changed > count / 1000, "{mode:?} {words:?}: {changed} of {count}");
        }
    }
}
