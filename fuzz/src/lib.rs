// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lasthop reads from strangers: a scenario's text, a trace's text, the bytes of a packet.
//!
//! Each function takes any bytes and panics if something does not hold that must hold for all of them. Under libFuzzer
//! (`make fuzz`) they are fed with whatever reaches new code; `tests/corpus.rs` feeds them with what is kept.
#![forbid(unsafe_code)]

use std::path::Path;
use std::str;

use lasthop_core::capacity::Trace;
use lasthop_core::stats::Span;
use lasthop_core::units::{Duration, Instant};
use lasthop_emu::Addresses;
use lasthop_scenario::{Scenario, effective, parse};
use lasthop_sim::Run;

/// So much of a run is tried: some flows get through their slow start.
const MOST_EVENTS: u64 = 5_000;
const MOST_FLOWS: u64 = 50;

/// A scenario is refused in one line, or can be run; putting nothing in its place changes nothing.
///
/// # Panics
/// If that does not hold.
pub fn scenario(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let found = parse(text);
    match effective(text, &[]) {
        Ok(same) => assert_eq!(parse(&same).is_ok(), found.is_ok(), "no override changed it"),
        Err(_) => assert!(found.is_err(), "right, but no override can be put in"),
    }
    match found {
        Err(error) => one_line(&error.to_string()),
        Ok(found) if is_small(&found, text) => match Run::new(text, Path::new("/nonexistent"), &[], Some(1)) {
            Err(error) => one_line(&error.to_string()),
            Ok(mut run) => {
                run.advance(MOST_EVENTS).expect("so few events fill no memory");
                assert!((0.0..=1.0).contains(&run.progress()));
            }
        },
        Ok(_) => {}
    }
}

/// Whether a scenario takes little time and memory, and reads no file.
fn is_small(scenario: &Scenario, text: &str) -> bool {
    let flows: u64 = scenario.flow.iter().map(|flow| flow.count as u64).fold(0, u64::saturating_add);
    flows <= MOST_FLOWS && scenario.probe.is_none() && !text.contains("file")
}

fn one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
}

/// A trace is refused in one line, or its opportunities come in order for ever, at its mean rate; written out again it is
/// the same.
///
/// # Panics
/// If that does not hold.
pub fn trace(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let trace = match Trace::parse(text) {
        Ok(trace) => trace,
        Err(error) => return one_line(&error.to_string()),
    };
    let lines: Vec<_> = trace.opportunities_ms().iter().map(u64::to_string).collect();
    let again = Trace::parse(&lines.join("\n")).expect("what was written out is right");
    assert_eq!(again.opportunities_ms(), trace.opportunities_ms());
    assert_eq!(trace.opportunities(), trace.opportunities_ms().len());
    assert!(trace.top_rate(Duration::from_secs(1)) >= trace.mean_rate());
    let period = Span { from: Instant::ZERO, until: Instant::ZERO + trace.period() };
    // The one is rounded and the other cut off.
    assert!(trace.rate_within(period).as_bps() <= trace.top_rate(Duration::from_millis(1)).as_bps() + 1);
    assert!(trace.longest_gap() <= trace.period());
    let mut opportunity = trace.after(Instant::ZERO);
    let mut last = Instant::ZERO;
    for _ in 0..2 * trace.opportunities().min(1000) {
        assert!(opportunity.at(&trace) >= last);
        last = opportunity.at(&trace);
        opportunity = opportunity.next(&trace);
    }
}

/// A packet has addresses or none, and what stands behind its end does not change them.
///
/// # Panics
/// If that does not hold.
pub fn frame(data: &[u8]) {
    let found = Addresses::of(data);
    assert_eq!(found, Addresses::of(data));
    if let Some(addresses) = found {
        assert_eq!(addresses.from().is_ipv4(), addresses.to().is_ipv4());
        assert_eq!(addresses.from().is_ipv4(), data[0] >> 4 == 4);
    }
}
