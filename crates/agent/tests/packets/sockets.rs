// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever happens to a connection, through the host's programs of QFCP and XCP, built for this machine under sanitizers: the
//! kernel runs no program of sockets by itself.

use std::io::Write;

use crate::frames::packets;
use crate::host::{compiled, started};
use crate::support::{Random, or_skipped};

/// Bytes of `struct event`.
const EVENT: usize = 48;

#[test]
fn mutated_events_find_no_fault_in_the_hosts_build() {
    let settings = [&["qfcp"][..], &["xcp"], &["qfcp", "all", "heeds", "paces"], &["xcp", "all", "paces"]];
    let Some(binary) = or_skipped(compiled("sockets.c", "sockets", &[])) else { return };
    for words in settings {
        let (child, mut to) = started(&binary, words);
        let mut random = Random::new();
        for _ in 0..packets() * EVENT / 4 / settings.len() {
            to.write_all(&(random.bits() as u32).to_ne_bytes()).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        }
        drop(to);
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", done.status);
        let text = String::from_utf8(done.stdout).unwrap();
        let told: Vec<usize> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        assert!(told.len() == 2 && told.iter().all(|count| *count > packets() / 10_000), "{words:?}: {told:?}");
    }
}
