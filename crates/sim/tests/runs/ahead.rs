// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is asked ahead of time gives the same answers: a probe keeps every lane, and changes nothing but the events.

use crate::figures;
use lasthop_sim::Summary;

const DUMBBELL: &str = crate::dumbbell!(
    r#"
        duration = "20 s"
        warmup = "2 s"
    "#,
    r#"
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = { limit = "30 packets" }
        loss = { kind = "bernoulli", p = 0.002 }
    "#,
    r#"
        name = "near"
        count = 3
        stagger = "70 ms"
        rtt = "20 ms"
        access = "100 Mbit/s"
    "#,
    r#"
        name = "far"
        rtt = "90 ms"
        jitter = "0.2 ms"
    "#
);

fn run(more: &[(&str, &str)]) -> Summary {
    crate::outcome(DUMBBELL, more).unwrap().summary
}

#[test]
fn a_link_asked_ahead_of_time_gives_the_same_answers() {
    let (ahead, in_time) = (run(&[]), run(&[("probe.every", "1 s")]));
    assert!(ahead.events < in_time.events / 2, "{} and {} events", ahead.events, in_time.events);
    assert_eq!(figures(&ahead), figures(&in_time));
    // One event a packet, at the bottleneck.
    assert!(ahead.events < ahead.packets * 105 / 100, "{} events for {} packets", ahead.events, ahead.packets);
}

#[test]
fn acknowledgements_whose_delays_differ_merge_without_an_event_each() {
    let differs = [("flow[near].sink.delay", "1 ms")];
    let (ahead, in_time) = (run(&differs), run(&[differs[0], ("probe.every", "1 s")]));
    assert_eq!(figures(&ahead), figures(&in_time));
    assert!(ahead.events < ahead.packets * 11 / 10, "{} events for {} packets", ahead.events, ahead.packets);
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    assert_eq!(figures(&run(&[])), figures(&run(&[])));
    assert_ne!(figures(&run(&[])), figures(&run(&[("seed", "2")])));
}
