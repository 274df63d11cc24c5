// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of whole runs, from the scenario on.
#![allow(missing_docs)]

/// A scenario with one link, from `r1` to `r2`, that all flows cross: what stands above it, its keys, those of each flow.
macro_rules! dumbbell {
    ($head:literal, $link:literal, $($flow:literal),+) => {
        concat!(
            $head, "[[link]]\nname = \"bottleneck\"\nfrom = \"r1\"\nto = \"r2\"\n", $link,
            $("[[flow]]\npath = [\"r1\", \"r2\"]\n", $flow),+
        )
    };
}
use dumbbell;

/// Three downloads over an access point of 12 Mbit/s, 50 ms with the air, by a law of ours.
macro_rules! downloads {
    ($law:literal) => {
        concat!(
            "duration = \"20 s\"\nwarmup = \"5 s\"\n[[ap]]\nname = \"ap\"\ndelay = \"5 ms\"\n",
            "radio = { kind = \"constant\", rate = \"12 Mbit/s\" }\nprice = \"",
            $law,
            "\"\n",
            "[[flow]]\nname = \"flow\"\ncount = 3\nstagger = \"0.1 s\"\njitter = \"0.1 ms\"\nstation = \"phone\"\n",
            "rtt = \"40 ms\"\nsender = \"cubic\"\nreceiver = \"",
            $law,
            "\"\n"
        )
    };
}

mod ahead;
mod capture;
mod feedback;
mod linux;
mod metrics;
mod pair;
mod proxy;
mod queues_and_losses;
mod refusals;
mod senders;
mod share;
mod station;
mod tfrc;
mod uplink;
mod wlan;

use std::path::Path;

use lasthop_sim::{Outcome, Run, Summary};

/// A WLAN with one download.
const DOWNLOAD: &str = r#"
    duration = "20 s"
    warmup = "4 s"
    [[wlan]]
    name = "wlan"
    queue = { limit = "100 packets" }
    [[flow]]
    name = "flow"
    station = "m1"
    rtt = "40 ms"
    packet = "1340 B"
"#;

/// Runs a scenario with some keys set, or says why not.
fn outcome(text: &str, set: &[(&str, &str)]) -> Result<Outcome, String> {
    let overrides: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Run::new(text, Path::new("."), &overrides, None).map(Run::finish).map_err(|error| error.to_string())
}

/// The figures of a scenario with some keys set.
fn run(text: &str, set: &[(&str, &str)]) -> Summary {
    outcome(text, set).unwrap().summary
}

/// Downloads of weights 1, 2 and 4 at an access point share it by them, to `within` of each: what `receiver` says for a weight.
fn share_by_weight(text: &str, receiver: impl Fn(u32) -> String, within: f64) -> Summary {
    let flows = [1, 2, 4].map(|weight| {
        format!(
            r#"{{ name = "w{weight}", station = "phone", rtt = "40 ms", jitter = "0.1 ms", sender = "cubic", receiver = {} }}"#,
            receiver(weight)
        )
    });
    let summary = run(text, &[("flow", &format!("[{}]", flows.join(", ")))]);
    let total: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    for (flow, weight) in summary.flows.iter().zip([1.0, 2.0, 4.0]) {
        let share = flow.goodput_bps / total * 7.0 / weight;
        assert!((share - 1.0).abs() < within, "{weight}: {share}");
    }
    summary
}

/// What is wrong with a scenario.
fn refuse(text: &str, set: &[(&str, &str)]) -> String {
    match outcome(text, set) {
        Ok(_) => format!("accepted: {set:?}"),
        Err(message) => message,
    }
}

/// All figures but the number of events; not what is noted beside them.
fn figures(summary: &Summary) -> String {
    serde_json::to_string(&Summary { events: 0, notes: vec![], ..summary.clone() }).unwrap()
}
