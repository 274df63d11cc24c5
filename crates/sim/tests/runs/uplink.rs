// SPDX-License-Identifier: MIT OR Apache-2.0
//! Acknowledgements on their way up: they wait in the uplink's queue, and each of its keys moves something.

use crate::{figures, outcome};
use lasthop_sim::Summary;

/// 10 Mbit/s down and 100 kbit/s up: an acknowledgement of 40 B takes 3.2 ms, a packet of 1500 B 1.2 ms.
const NARROW: &str = r#"
    duration = "20 s"
    warmup = "5 s"
    [[ap]]
    name = "ap"
    radio = { kind = "constant", rate = "10 Mbit/s" }
    queue = { limit = "200 kB" }
    uplink = { radio = { kind = "constant", rate = "100 kbit/s" }, queue = { limit = "4 kB" } }
    [[flow]]
    name = "one"
    station = "s"
    rtt = "20 ms"
    [[flow]]
    name = "two"
    station = "t"
    rtt = "20 ms"
"#;

fn run(text: &str, set: &[(&str, &str)]) -> Summary {
    outcome(text, set).unwrap().summary
}

#[test]
fn acknowledgements_wait_in_the_uplinks_queue() {
    let one = NARROW.split_once("[[flow]]\n    name = \"two\"").unwrap().0;
    let summary =
        run(one, &[("flow[0].rtt", "100 ms"), ("flow[0].sender", r#"{ kind = "newreno", window_limit = "30 kB" }"#)]);
    let [down, up] = &summary.queues[..] else { panic!("{:?}", summary.queues) };
    assert_eq!((down.name.as_str(), up.name.as_str()), ("ap/s", "ap (up)/s"));
    // One acknowledgement of 40 B for each packet of 1500 B, and no more of them than the uplink's rate.
    let acks_a_second = up.throughput_bps / 320.0;
    let packets_a_second = down.throughput_bps / 12_000.0;
    assert!((acks_a_second / packets_a_second - 1.0).abs() < 0.02, "{acks_a_second} {packets_a_second}");
    assert!(up.throughput_bps <= 100_000.0 * 1.001, "{up:?}");
    // 20 packets a round trip of 100 ms at least: their acknowledgements of 3.2 ms wait for 61 ms at most.
    let delay_s = up.mean_delay_s.unwrap();
    assert!((0.0032..0.064).contains(&delay_s), "{delay_s}");
    // Without the uplink the round trip is shorter, by what the acknowledgements waited.
    let text = one.replace("    uplink", "    #uplink");
    let plain =
        run(&text, &[("flow[0].rtt", "100 ms"), ("flow[0].sender", r#"{ kind = "newreno", window_limit = "30 kB" }"#)]);
    assert_eq!(plain.queues.len(), 1);
    let longer_s = summary.flows[0].mean_rtt_s.unwrap() - plain.flows[0].mean_rtt_s.unwrap();
    assert!(longer_s > 0.9 * delay_s, "{longer_s} {delay_s}");
}

#[test]
fn a_narrow_uplink_holds_the_download_back() {
    // 100 kbit/s carry 312.5 acknowledgements of 40 B a second, each for a packet of 1460 B of payload: 3.65 Mbit/s. The
    // windows are bounded: in slow start each acknowledgement brings two packets, and the queue grows.
    let run = |rate: &str| {
        let sender = r#"{ kind = "newreno", window_limit = "100 kB" }"#;
        let set = [("ap[0].uplink.radio.rate", rate), ("ap[0].uplink.queue.limit", "1 MB"), ("flow[*].sender", sender)];
        run(NARROW, &set)
    };
    let (wide, narrow) = (run("10 Mbit/s"), run("100 kbit/s"));
    let total = |summary: &Summary| summary.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>();
    assert!(total(&wide) > 9.5e6, "{}", total(&wide));
    assert!((3.6e6..3.66e6).contains(&total(&narrow)), "{}", total(&narrow));
}

#[test]
fn each_key_of_the_uplink_moves_something() {
    let before = figures(&run(NARROW, &[]));
    for change in [
        ("ap[0].uplink.radio.rate", "200 kbit/s"),
        (
            "ap[0].uplink.radio",
            r#"{ kind = "jakes", doppler = "60 Hz", bandwidth = "0.1 MHz", max_rate = "100 kbit/s", attempts = 15 }"#,
        ),
        ("ap[0].uplink.queue.limit", "1 kB"),
        ("ap[0].uplink.scheduler", "\"round-robin\""),
    ] {
        match outcome(NARROW, &[change]) {
            Ok(outcome) => assert_ne!(figures(&outcome.summary), before, "{change:?}"),
            Err(error) => panic!("{change:?}: {error}"),
        }
    }
}
