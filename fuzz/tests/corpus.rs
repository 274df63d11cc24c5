// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept for the fuzzer holds, and what is shipped is among what it starts from.
#![allow(missing_docs)]
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn scenarios_hold() {
    for file in files("corpus/scenario").into_iter().chain(files("../scenarios")) {
        lasthop_fuzz::scenario(&fs::read(file).unwrap());
    }
}

#[test]
fn traces_hold() {
    for file in files("corpus/trace").into_iter().chain(files("../scenarios/traces")) {
        lasthop_fuzz::trace(&fs::read(file).unwrap());
    }
}

#[test]
fn frames_hold_however_they_are_cut() {
    for file in files("corpus/frame") {
        let bytes = fs::read(file).unwrap();
        for length in 0..=bytes.len() {
            lasthop_fuzz::frame(&bytes[..length]);
        }
    }
}

#[test]
fn what_is_kept_gets_beyond_the_first_line_of_the_readers() {
    let is_right = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        lasthop_scenario::parse(&text).is_ok()
    };
    assert!(files("corpus/scenario").iter().any(is_right));
    let is_packet = |file: &PathBuf| lasthop_emu::Addresses::of(&fs::read(file).unwrap()).is_some();
    assert!(files("corpus/frame").iter().filter(|file| is_packet(file)).count() >= 2);
}
