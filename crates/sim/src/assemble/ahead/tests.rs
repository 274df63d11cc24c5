// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asking ahead of time changes nothing but the number of events: random networks, with and without.

use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;

use super::super::{Shortcuts, simulation};
use crate::run::Outcome;
use crate::scenario::parse;
use crate::summary::Summary;

/// A flow: its kinds, and where it enters and leaves the chain of links.
#[derive(Clone, Debug)]
pub(in super::super) struct Spec {
    keys: Vec<&'static str>,
    from: usize,
    length: usize,
    count: u32,
}

fn key(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    select(choices)
}

pub(in super::super) fn link() -> impl Strategy<Value = Vec<&'static str>> {
    // Round numbers make many packets meet in one instant.
    let rate = key(&["rate = \"1 Mbit/s\"", "rate = \"12 Mbit/s\"", "rate = \"100 Mbit/s\""]);
    let delay = key(&["delay = \"0 s\"", "delay = \"1 ms\"", "delay = \"7.3 ms\""]);
    let queue = key(&[
        "",
        "queue = { limit = \"5 packets\" }",
        "queue = { limit = \"30 kB\" }",
        "queue = { limit = \"40 packets\", aqm = \"codel\" }",
        "queue = { limit = \"40 packets\", aqm = \"red\" }",
        "queue = { limit = \"40 packets\", aqm = { kind = \"fq-codel\", queues = 4 } }",
        "price = { kind = \"linear\", a = \"6.5 kB\" }",
    ]);
    let loss = key(&["", "", "loss = { kind = \"bernoulli\", p = 0.01 }"]);
    let duplex = key(&["", "duplex = true"]);
    (rate, delay, queue, loss, duplex).prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e])
}

pub(in super::super) fn flow() -> impl Strategy<Value = Spec> {
    let rtt = key(&["rtt = \"0 s\"", "rtt = \"20 ms\"", "rtt = \"250 ms\""]);
    let access = key(&["", "access = \"100 Mbit/s\"", "access = \"2 Mbit/s\""]);
    let sender = key(&[
        "sender = \"newreno\"",
        "sender = { kind = \"newreno\", rto_min = \"10 ms\" }",
        "sender = \"cubic\"",
        "sender = \"linux-cubic\"",
        "sender = \"vegas\"",
        "sender = \"tfrc\"",
    ]);
    let app = key(&[
        "app = \"bulk\"",
        "app = { kind = \"cbr\", rate = \"300 kbit/s\" }",
        "app = { kind = \"cbr\", rate = \"6 Mbit/s\" }",
        "app = { kind = \"fixed\", size = \"60 kB\" }",
        "app = { kind = \"poisson\", rate = \"3 /s\", until = \"1.5 s\", size = { kind = \"constant\", value = \"9 packets\" } }",
    ]);
    let more = key(&[
        "",
        "jitter = \"0.3 ms\"",
        "sink = { rate = \"10 Mbit/s\", delay = \"1 ms\" }",
        "jitter = \"0.1 ms\"\nsink = { rate = \"2 Mbit/s\", delay = \"3 ms\", loss = { kind = \"bernoulli\", p = 0.02 } }",
        "stop = \"2 s\"",
    ]);
    let receiver = key(&[
        "",
        "",
        "receiver = { kind = \"plain\", delayed_acks = { timeout = \"0.1 s\" } }",
        "receiver = { kind = \"clamp\", tau = \"500 B\" }",
    ]);
    let station = key(&["", "", "station = \"m1\"", "station = \"m2\""]);
    let keys = (rtt, access, sender, app, more, receiver, station);
    (keys, 0..3usize, 1..3usize, 1..3u32).prop_map(|((a, b, c, d, e, f, g), from, length, count)| {
        let receiver = if c.contains("tfrc") { "" } else { f };
        Spec { keys: vec![a, b, c, d, e, receiver, g], from, length, count }
    })
}

pub(in super::super) fn radio() -> impl Strategy<Value = &'static str> {
    key(&[
        "radio = { kind = \"constant\", rate = \"6 Mbit/s\" }",
        "radio = { kind = \"jakes\", doppler = \"60 Hz\", generators = 8, snr = 4.0, bandwidth = \"4.3 MHz\", \
         max_rate = \"10 Mbit/s\", slot = \"3 ms\", attempts = 5 }",
    ])
}

/// The same, and those on which packets go one by one.
fn cell_radio() -> impl Strategy<Value = &'static str> {
    let one_by_one = key(&[
        "radio = { kind = \"jakes\", doppler = \"20 Hz\", snr = 4.0, bandwidth = \"4 MHz\", max_rate = \"10 Mbit/s\", \
         slot = \"1 ms\", attempts = 3, frames = \"per-packet\" }",
        "radio = { kind = \"jakes\", doppler = \"20 Hz\", snr = 4.0, bandwidth = \"4 MHz\", max_rate = \"10 Mbit/s\", \
         slot = \"2 ms\", attempts = 3, frames = \"whole\" }",
    ]);
    prop_oneof![radio(), one_by_one]
}

/// A chain of links, n0 → n1 → …, with an access point at its end; all names begin with `prefix`. The tables of what is shared,
/// and those of the flows.
pub(in super::super) fn chain(prefix: &str, links: &[Vec<&str>], radio: &str, flows: &[Spec]) -> (String, Vec<String>) {
    let mut shared = String::new();
    for (i, keys) in links.iter().enumerate() {
        let (to, keys) = (i + 1, keys.join("\n"));
        let _ = writeln!(
            shared,
            "[[link]]\nname = \"{prefix}l{i}\"\nfrom = \"{prefix}n{i}\"\nto = \"{prefix}n{to}\"\n{keys}"
        );
    }
    let is_wireless = |keys: &[&str]| keys.iter().any(|key| key.starts_with("station"));
    if flows.iter().any(|flow| is_wireless(&flow.keys)) {
        let _ = writeln!(shared, "[[ap]]\nname = \"{prefix}n{}\"\ndelay = \"1 ms\"\n{radio}", links.len());
    }
    let flow = |(i, Spec { keys, from, length, count }): (usize, &Spec)| {
        let is_wireless = is_wireless(keys);
        let from = from % links.len();
        // The access point takes none but those for its stations.
        let to = if is_wireless { links.len() } else { (from + length).min(links.len() - 1).max(from) };
        let (from, to) = if from == to { (0, 1.min(links.len() - 1)) } else { (from, to) };
        let path: Vec<_> = (from..=to).map(|n| format!("\"{prefix}n{n}\"")).collect();
        let (path, keys) = (path.join(", "), keys.join("\n"));
        format!("[[flow]]\nname = \"{prefix}f{i}\"\npath = [{path}]\ncount = {count}\n{keys}\n")
    };
    (shared, flows.iter().enumerate().map(flow).collect())
}

fn summary(text: &str, seed: u64, ahead: bool) -> Result<Summary, String> {
    let scenario = parse(text).map_err(|e| e.to_string())?;
    let shortcuts = Shortcuts { ahead, apart: false };
    let (mut worlds, labels) = simulation(&scenario, seed, Path::new("."), shortcuts).map_err(|e| e.to_string())?;
    while worlds.advance(1, u64::MAX) {}
    Ok(Outcome::new(text.to_owned(), &worlds.counted(), &labels, None).summary)
}

/// That the figures of a scenario are the same with links, hosts and access points asked ahead of time and in time.
fn check(text: &str, seed: u64) -> Result<(), TestCaseError> {
    let (ahead, in_time) = (summary(text, seed, true), summary(text, seed, false));
    let (ahead, in_time) = (ahead.map_err(TestCaseError::fail)?, in_time.map_err(TestCaseError::fail)?);
    prop_assert!(ahead.events <= in_time.events);
    let figures = |summary| serde_json::to_string(&Summary { events: 0, ..summary }).unwrap();
    prop_assert_eq!(figures(ahead), figures(in_time), "{}", text);
    Ok(())
}

/// Flows to two stations of one access point, whose data crosses nothing else.
fn cell(radio: &str, keys: &[&str], flows: &[Spec]) -> String {
    let mut text =
        format!("duration = \"3 s\"\n[[ap]]\nname = \"ap\"\ndelay = \"1 ms\"\n{radio}\n{}\n", keys.join("\n"));
    for (i, Spec { keys, from, count, .. }) in flows.iter().enumerate() {
        // A rate-based flow would have all of them come by events; the networks below have such.
        let keys = keys.iter().filter(|key| !key.starts_with("station")).map(|key| key.replace("tfrc", "newreno"));
        let (keys, station) = (keys.collect::<Vec<_>>().join("\n"), from % 2);
        let _ = writeln!(text, "[[flow]]\nname = \"f{i}\"\nstation = \"m{station}\"\ncount = {count}\n{keys}");
    }
    text
}

#[test]
fn arrivals_at_an_access_point_take_no_events() {
    let keys = vec!["rtt = \"30 ms\"", "access = \"100 Mbit/s\""];
    let flow = Spec { keys, from: 0, length: 1, count: 2 };
    let text = cell("radio = { kind = \"constant\", rate = \"12 Mbit/s\" }", &[], &[flow]);
    let (ahead, in_time) = (summary(&text, 1, true).unwrap(), summary(&text, 1, false).unwrap());
    // Packets of 1 ms, one after the other: an event each, and without the gate one more each for the arrival alone.
    let close = |events: u64, packets: u64| events.abs_diff(packets) < packets / 20;
    assert!(close(ahead.events, ahead.packets), "{} events, {} packets", ahead.events, ahead.packets);
    assert!(in_time.events > 2 * in_time.packets, "{} events, {} packets", in_time.events, in_time.packets);
}

/// Ten flows through one link, each to a sink of its own rate.
fn dumbbell(keys: &str) -> String {
    format!(
        "duration = \"3 s\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"12 Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = {{ limit = \"100 packets\" }}\n[[flow]]\nname = \"f\"\ncount = 10\npath = [\"a\", \"b\"]\nrtt = \"10 ms\"\n\
         rtt_step = \"1.3 ms\"\nsink = {{ rate = \"12 Mbit/s\", delay = \"2 ms\" }}\n{keys}\n"
    )
}

#[test]
fn acknowledgements_that_take_turns_take_no_events() {
    let jitter = "jitter = \"0.1 ms\"";
    // Each packet takes an event, where its acknowledgement took one more; and each write of an application one.
    for (keys, writes) in [(jitter, 0), ("jitter = \"0.1 ms\"\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }", 2500)] {
        let text = dumbbell(keys);
        let Summary { events, packets, .. } = summary(&text, 1, true).unwrap();
        assert!(packets > 2000 && events < packets + writes + packets / 10, "{events} events, {packets} packets");
        check(&text, 1).unwrap();
    }
}

/// How many of the acknowledgements' ways home are merged at the end of a run, and how many are not.
fn merged(text: &str) -> (usize, usize) {
    let (mut worlds, _) = simulation(&parse(text).unwrap(), 1, Path::new("."), Shortcuts::ALL).unwrap();
    while worlds.advance(1, u64::MAX) {}
    let feeds = worlds.worlds.iter().flat_map(|world| &world.hosts.flows).filter_map(|flow| flow.feed.as_ref());
    let ways = feeds
        .fold((0, 0), |(a, b), feed| (a + usize::from(feed.returning.is_some()), b + usize::from(feed.home.is_some())));
    check(text, 1).unwrap();
    ways
}

#[test]
fn what_is_alike_is_merged_until_all_are_open() {
    let cbr = "app = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    for alike in
        ["", "jitter = \"0.1 ms\"", cbr, "stop = \"2 s\"", "sender = { kind = \"newreno\", rto_min = \"10 ms\" }"]
    {
        assert_eq!(merged(&dumbbell(alike)), (0, 10), "{alike}");
    }
    // SYNs that are lost are sent again.
    let lossy = dumbbell("").replace("delay = \"2 ms\"", "delay = \"2 ms\", loss = { kind = \"bernoulli\", p = 0.2 }");
    assert_eq!(merged(&lossy.replace("3 s", "20 s")), (0, 10));
    // Sinks of another rate, part of a segment at the end, SACK blocks, a SYN that is still to come, windows of a law.
    let others = [
        dumbbell("").replace("sink = { rate = \"12", "sink = { rate = \"11.9"),
        dumbbell("app = { kind = \"fixed\", size = \"600 kB\" }"),
        dumbbell("app = { kind = \"cbr\", rate = \"1 Mbit/s\", chunk = \"1 kB\" }"),
        dumbbell("sender = { kind = \"newreno\", recovery = \"sack\" }"),
        dumbbell("receiver = { kind = \"clamp\", tau = \"500 B\" }"),
        dumbbell("stagger = \"0.4 s\""),
    ];
    for other in others {
        assert_eq!(merged(&other), (10, 0), "{other}");
    }
    let two =
        format!("{}packet = \"1000 B\"\n[[flow]]\nname = \"g\"\npath = [\"a\", \"b\"]\nrtt = \"10 ms\"", dumbbell(""));
    assert_eq!(merged(&format!("{two}\nsink = {{ rate = \"12 Mbit/s\", delay = \"2 ms\" }}")), (11, 0));
    assert_eq!(
        merged(&format!("{two}\nsink = {{ rate = \"12 Mbit/s\", delay = \"3 ms\" }}\npacket = \"1000 B\"")),
        (11, 0)
    );
    assert_eq!(
        merged(&format!("{two}\nsink = {{ rate = \"12 Mbit/s\", delay = \"2 ms\" }}\npacket = \"1000 B\"")),
        (0, 11)
    );
}

#[test]
fn links_that_one_flow_crosses_take_an_event_together() {
    let link = vec!["rate = \"12 Mbit/s\"", "delay = \"7.3 ms\"", "queue = { limit = \"30 kB\" }"];
    let lossy = "sink = { rate = \"2 Mbit/s\", delay = \"3 ms\", loss = { kind = \"bernoulli\", p = 0.02 } }";
    // Without a round-trip time of its own the host hears and sends in the same instant.
    for (rtt, more) in [("rtt = \"0 s\"", lossy), ("rtt = \"20 ms\"", lossy), ("rtt = \"0 s\"", "jitter = \"0.1 ms\"")]
    {
        let flow = Spec { keys: vec![rtt, more], from: 0, length: 2, count: 1 };
        let (shared, flows) = chain("", &[link.clone(), link.clone(), link.clone()], "", &[flow]);
        let text = format!("duration = \"20 s\"\n{shared}{}", flows.concat());
        let (ahead, in_time) = (summary(&text, 1, true).unwrap(), summary(&text, 1, false).unwrap());
        let (events, packets) = (ahead.events, ahead.packets);
        assert!(packets > 1000 && 20 * events < 21 * packets, "{events} events, {packets} packets");
        assert!(in_time.events > 4 * packets, "{} events, {packets} packets", in_time.events);
        check(&text, 1).unwrap();
    }
}

#[test]
fn packets_of_rate_based_flows_take_an_event_each() {
    let text = dumbbell("sender = \"tfrc\"\njitter = \"0.1 ms\"").replace("rtt = \"10 ms\"", "rtt = \"100 ms\"");
    let (ahead, in_time) = (summary(&text, 1, true).unwrap(), summary(&text, 1, false).unwrap());
    // Feedback, which comes once in a round trip of some seven packets here, takes three.
    assert!(ahead.packets > 2000 && 10 * ahead.events < 16 * ahead.packets, "{} of {}", ahead.events, ahead.packets);
    assert!(in_time.events > 3 * in_time.packets, "{} of {}", in_time.events, in_time.packets);
    check(&text, 1).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_changes_but_the_number_of_events(
        links in prop::collection::vec(link(), 2..4),
        radio in radio(),
        flows in prop::collection::vec(flow(), 1..5),
        seed in 0u64..100,
    ) {
        let (shared, flows) = chain("", &links, radio, &flows);
        check(&format!("duration = \"3 s\"\n{shared}{}", flows.concat()), seed)?;
    }

    #[test]
    fn nor_where_what_comes_back_is_alike(
        link in link(),
        sink in key(&["rate = \"1 Mbit/s\"", "rate = \"12 Mbit/s\"", "rate = \"100 Mbit/s\", loss = { kind = \"bernoulli\", p = 0.02 }"]),
        flows in prop::collection::vec(flow(), 1..4),
        seed in 0u64..100,
    ) {
        let own = ["sink", "receiver", "station", "app = { kind = \"f", "app = { kind = \"p"];
        let flows = flows.into_iter().map(|Spec { keys, .. }| {
            let keys = keys.into_iter().filter(|key| !own.iter().any(|own| key.starts_with(own))).map(|key| key.split("\nsink").next().unwrap());
            Spec { keys: keys.collect(), from: 0, length: 1, count: 4 }
        });
        let flows: Vec<_> = flows.collect();
        let sink = format!("sink = {{ {sink}, delay = \"1 ms\" }}\nspread = \"0.2 s\"\n");
        let (shared, flows) = chain("", &[link.clone(), link], "", &flows);
        let flows: String = flows.into_iter().map(|flow| flow + &sink).collect();
        check(&format!("duration = \"4 s\"\n{shared}{flows}"), seed)?;
    }

    #[test]
    fn nor_where_first_lines_lead_to_an_access_point(
        radio in cell_radio(),
        queue in link(),
        // Up to more of them than it takes in by itself.
        flows in prop::collection::vec(flow(), 1..9),
        seed in 0u64..100,
    ) {
        let keys: Vec<_> = queue.into_iter().filter(|key| key.starts_with("queue") || key.starts_with("price")).collect();
        check(&cell(radio, &keys, &flows), seed)?;
    }
}
