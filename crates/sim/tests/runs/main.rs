// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of whole runs, from the scenario on.
#![allow(missing_docs)]

mod ahead;
mod feedback;
mod linux;
mod metrics;
mod queues_and_losses;
mod senders;
mod tfrc;
mod wlan;

use std::path::Path;

use lasthop_sim::{Outcome, Run, Summary};

/// Runs a scenario with some keys set, or says why not.
fn outcome(text: &str, set: &[(&str, &str)]) -> Result<Outcome, String> {
    let overrides: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Run::new(text, Path::new("."), &overrides, None).map(Run::finish).map_err(|error| error.to_string())
}

/// All figures but the number of events.
fn figures(summary: &Summary) -> String {
    serde_json::to_string(&Summary { events: 0, ..summary.clone() }).unwrap()
}
