// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulating apart what shares nothing changes nothing: random networks of several chains, apart and together, on some threads.

use std::path::Path;

use proptest::prelude::*;

use super::super::ahead::tests::{Spec, chain, flow, link, radio};
use super::super::{Shortcuts, simulation};
use crate::run::Outcome;
use crate::scenario::parse;

/// All figures of a run, which goes on for `slice` events at a time on so many `threads`; and the number of its worlds.
fn figures(text: &str, apart: bool, threads: usize, slice: u64) -> (String, usize) {
    let shortcuts = Shortcuts { apart, ..Shortcuts::ALL };
    let (mut worlds, labels) = simulation(&parse(text).unwrap(), 3, Path::new("."), shortcuts).unwrap();
    let mut progress = 0.0;
    while worlds.advance(threads, slice) {
        assert!((progress..=1.0).contains(&worlds.progress()), "{} after {progress}", worlds.progress());
        progress = worlds.progress();
    }
    let outcome = Outcome::new(text.to_owned(), &worlds.counted(), &labels, None);
    let system = format!("{:?}", outcome.system);
    (serde_json::to_string(&outcome.summary).unwrap() + &system, worlds.len())
}

/// The number of worlds, if they give what all does together.
fn count(text: &str) -> usize {
    let (together, one) = figures(text, false, 8, u64::MAX);
    assert_eq!(one, 1);
    let mut worlds = 0;
    for (threads, slice) in [(1, u64::MAX), (2, 500), (8, 97)] {
        let (apart, count) = figures(text, true, threads, slice);
        assert_eq!(apart, together, "{threads} threads\n{text}");
        worlds = count;
    }
    worlds
}

/// Lists one after the other, or the first of each, the second of each, and so on.
fn in_order(lists: Vec<Vec<String>>, interleave: bool) -> String {
    let mut all: Vec<_> = lists.into_iter().flat_map(|list| list.into_iter().enumerate()).collect();
    if interleave {
        all.sort_by_key(|(place, _)| *place);
    }
    all.into_iter().map(|(_, text)| text).collect()
}

/// Links, a radio and flows of a chain.
fn parts() -> impl Strategy<Value = (Vec<Vec<&'static str>>, &'static str, Vec<Spec>)> {
    (prop::collection::vec(link(), 2..4), radio(), prop::collection::vec(flow(), 1..4))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn apart_and_on_threads_all_bits_are_the_same(
        chains in prop::collection::vec(parts(), 1..4),
        interleave in any::<bool>(),
    ) {
        let chains = chains.iter().enumerate();
        let (shared, flows): (Vec<_>, Vec<_>) =
            chains.map(|(i, (links, radio, flows))| chain(&format!("c{i}"), links, radio, flows)).unzip();
        let chains = shared.len();
        let text = format!("duration = \"2 s\"\n{}{}", shared.concat(), in_order(flows, interleave));
        // Those whose flows cross different links of theirs come apart once more.
        prop_assert!(count(&text) >= chains);
    }
}

#[test]
fn whoever_shares_a_link_a_radio_or_a_wlan_stays_together() {
    // The links a and b are in one component by a flow over both, the two directions of the link c are not joined by anything
    // but a flow over it; the access point's stations, its uplink and the WLAN's stations share the air. Nobody crosses d.
    let text = r#"
        duration = "2 s"
        link = [
            { name = "a", from = "a0", to = "x", rate = "3 Mbit/s", queue = { aqm = { kind = "fq-codel", queues = 2 } } },
            { name = "b", from = "x", to = "b1", rate = "2 Mbit/s" },
            { name = "c", from = "c0", to = "c1", rate = "5 Mbit/s", duplex = true, price = { kind = "share" } },
            { name = "d", from = "d0", to = "d1", rate = "5 Mbit/s" },
        ]
        [[ap]]
        name = "ap"
        queue = { limit = "30 kB" }
        radio = { kind = "constant", rate = "4 Mbit/s" }
        uplink = { radio = { kind = "constant", rate = "1 Mbit/s" } }
        [[wlan]]
        name = "wlan"
        queue = { limit = "20 packets" }
    "#;
    let flow = |name: &str, keys: &str| format!("[[flow]]\nname = \"{name}\"\nrtt = \"20 ms\"\n{keys}\n");
    let share = |weight| format!("path = [\"c0\", \"c1\"]\nreceiver = {{ kind = \"share\", weight = {weight} }}");
    let flows = [
        flow("on-a", "path = [\"a0\", \"x\"]\ncount = 2"),
        flow("on-wlan", "path = [\"wlan\"]\nstation = \"m1\""),
        flow("on-c", &share(2)),
        flow(
            "on-b",
            "path = [\"x\", \"b1\"]\napp = { kind = \"poisson\", rate = \"9 /s\", size = { kind = \"constant\", value = \"9 kB\" } }",
        ),
        flow("to-m1", "path = [\"ap\"]\nstation = \"m1\""),
        flow("also-on-c", &share(1)),
        flow("to-m2", "path = [\"ap\"]\nstation = \"m2\""),
        flow("from-wlan", "path = [\"wlan\"]\nsource = \"m2\""),
    ];
    let apart = format!("{text}{}", flows.concat());
    assert_eq!(count(&apart), 5);
    let joined = flow("joins", "path = [\"a0\", \"x\", \"b1\"]");
    assert_eq!(count(&(apart + &joined)), 4);
}

#[test]
fn private_links_are_components_of_their_tables() {
    let flow = |name: &str| format!("[[flow]]\nname = \"{name}\"\nrtt = \"20 ms\"\naccess = \"1 Mbit/s\"\ncount = 2\n");
    assert_eq!(count(&format!("duration = \"2 s\"\n{}{}", flow("one"), flow("other"))), 2);
}

#[test]
fn what_is_sampled_is_of_one_world() {
    let text = "duration = \"1 s\"\n[[flow]]\nname = \"f\"\nrtt = \"20 ms\"\naccess = \"1 Mbit/s\"\n";
    let two = format!("{text}{}", text.replace("duration = \"1 s\"", "").replace("\"f\"", "\"g\""));
    for (probe, worlds) in [("", 2), ("probe = { every = \"0.1 s\" }\n", 1), ("probe = { packets = true }\n", 1)] {
        assert_eq!(figures(&format!("{probe}{two}"), true, 2, u64::MAX).1, worlds, "{probe}");
    }
}
