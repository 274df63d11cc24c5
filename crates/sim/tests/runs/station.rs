// SPDX-License-Identifier: MIT OR Apache-2.0
//! The station window: an agent for all flows of a station.

use crate::{figures, refuse, run, share_by_weight};

const AP: &str = downloads!("station");

/// Three downloads over a link of 12 Mbit/s.
const WIRE: &str = dumbbell!(
    "duration = \"20 s\"\nwarmup = \"5 s\"\n",
    "rate = \"12 Mbit/s\"\nprice = \"station\"\nduplex = false\n",
    "name = \"flow\"\ncount = 3\nrtt = \"50 ms\"\njitter = \"0.1 ms\"\nsender = \"cubic\"\n\
     receiver = { kind = \"station\", target = \"25 ms\" }\n"
);

const DRIVING: (&str, &str) =
    ("ap[0].radio", r#"{ kind = "trace", file = "../../scenarios/traces/lte-driving.down" }"#);
const UNLIKE: (&str, &str) = ("flow[0].rtt_step", "60 ms");

#[test]
fn a_busy_line_holds_the_target_whatever_the_flows() {
    // T − 10 ms/(1 + κ) = 25 − 8 = 17 ms behind a packet; whole segments, drawn for each flow, are a part of a packet more or less.
    for flows in ["1", "3", "12"] {
        let summary = run(AP, &[("flow[0].count", flows), ("flow[0].receiver.target", "25 ms")]);
        let queue = &summary.queues[0];
        let mean_ms = 1e3 * queue.mean_delay_s.unwrap();
        assert!((14.0..19.0).contains(&mean_ms), "{flows}: {mean_ms}");
        assert!(queue.utilisation.unwrap() > 0.995, "{flows}");
        assert_eq!(queue.drops, 0);
        assert!(summary.fairness.jain.is_none_or(|jain| jain > 0.99), "{flows}: {:?}", summary.fairness.jain);
    }
}

#[test]
fn the_stations_clock_shortens_the_queue_of_unlike_flows() {
    let p95 = |clock: &str| {
        let summary = run(AP, &[DRIVING, UNLIKE, ("flow[0].receiver.clock", clock)]);
        assert_eq!(summary.queues[0].drops, 0);
        assert_eq!(summary.flows.iter().map(|flow| flow.retransmits).sum::<u64>(), 0);
        (summary.queues[0].p95_delay_s.unwrap(), summary.queues[0].utilisation.unwrap())
    };
    let (with, without) = (p95("true"), p95("false"));
    assert!(with.0 < 0.8 * without.0 && with.1 > without.1 - 0.1, "{with:?}, {without:?}");
}

/// Bytes that go up for each delivered, with an uplink of a rate.
fn back(uplink: &str, clock: &str) -> f64 {
    let uplink = format!(r#"{{ radio = {{ kind = "constant", rate = "{uplink}" }} }}"#);
    let summary = run(AP, &[DRIVING, UNLIKE, ("ap[0].uplink", &uplink), ("flow[0].receiver.clock", clock)]);
    let up = summary.queues.iter().find(|queue| queue.name.contains("(up)")).unwrap();
    let delivered: u64 = summary.flows.iter().map(|flow| flow.delivered_bytes).sum();
    up.throughput_bps / delivered as f64
}

#[test]
fn window_updates_cost_what_acknowledgements_cost() {
    let [with, without] = ["true", "false"].map(|clock| back("2 Mbit/s", clock));
    assert!(with > 1.05 * without, "{with} for {without}");
}

#[test]
fn a_thin_uplink_is_left_to_acknowledgements() {
    let [thin, wide] = ["100 kbit/s", "2 Mbit/s"].map(|uplink| back(uplink, "true"));
    assert!(thin < 0.92 * wide, "{thin} for {wide}");
}

#[test]
fn a_host_of_its_own_has_an_agent_of_its_own() {
    let two = r#"[
        { name = "a", station = "phone", rtt = "40 ms", sender = "cubic", receiver = { kind = "station", host = "one" } },
        { name = "b", station = "phone", rtt = "40 ms", sender = "cubic", receiver = { kind = "station", host = "HOST" } },
    ]"#;
    let found = |host| run(AP, &[("flow", &two.replace("HOST", host)), DRIVING]);
    let [one, own] = ["one", "two"].map(found);
    assert_ne!(figures(&one), figures(&own));
    // Neither fills the line of both.
    let p95_s = [&one, &own].map(|summary| summary.queues[0].p95_delay_s.unwrap());
    assert!(p95_s[1] < 1.5 * p95_s[0], "{p95_s:?}");
    assert!(own.fairness.jain.unwrap() > 0.95, "{:?}", own.fairness.jain);
}

#[test]
fn a_host_that_comes_later_has_its_part_too() {
    let late = r#"[
        { name = "a", station = "phone", rtt = "40 ms", sender = "cubic", receiver = { kind = "station", host = "one" } },
        { name = "b", station = "phone", rtt = "40 ms", start = "2 s", sender = "cubic", receiver = { kind = "station", host = "two" } },
    ]"#;
    let summary = run(AP, &[("flow", late)]);
    assert!(
        summary.fairness.jain.unwrap() > 0.9,
        "{:?}",
        summary.flows.iter().map(|f| f.goodput_bps).collect::<Vec<_>>()
    );
    assert!(summary.queues[0].utilisation.unwrap() > 0.95, "{:?}", summary.queues[0]);
}

#[test]
fn a_link_has_an_agent_too() {
    let summary = run(WIRE, &[]);
    let queue = &summary.queues[0];
    assert!(queue.utilisation.unwrap() > 0.99 && queue.drops == 0, "{queue:?}");
    assert!((0.012..0.03).contains(&queue.mean_delay_s.unwrap()), "{queue:?}");
}

/// Lines of 10 and 6 Mbit/s in a row, a flow over both and one over each.
const TWO_LINES: &str = include_str!("../../../../scenarios/two-lines-station.toml");

#[test]
fn a_flow_over_two_lines_has_its_half_of_the_narrow_one() {
    for target in ["25 ms", "10 ms"] {
        let summary = run(TWO_LINES, &[("flow[*].receiver.target", target)]);
        let [both, _, second] = [0, 1, 2].map(|flow| summary.flows[flow].goodput_bps);
        assert!((0.9..1.1).contains(&(both / second)), "{target}: {both}, {second}");
        let narrow = &summary.queues[1];
        assert!(narrow.utilisation.unwrap() > 0.98 && narrow.drops == 0, "{target}: {narrow:?}");
        // Nor is the wide one's queue longer than one agent has it, by more than the two hosts there come to.
        assert!(summary.queues[0].p95_delay_s.unwrap() < 0.025, "{target}: {:?}", summary.queues[0]);
    }
}

#[test]
fn weights_share_the_line() {
    share_by_weight(AP, |weight| format!(r#"{{ kind = "station", weight = {weight}, target = "25 ms" }}"#), 0.1);
}

#[test]
fn short_downloads_are_over_sooner() {
    let beside = |newcomers: bool| {
        let receiver = format!(r#"receiver = {{ kind = "station", newcomers = {newcomers} }}"#);
        let flows = format!(
            r#"[
            {{ name = "bulk", station = "phone", rtt = "40 ms", sender = "cubic", {receiver} }},
            {{ name = "short", count = 20, start = "2 s", stagger = "2 s", station = "phone", rtt = "40 ms", sender = "cubic", {receiver},
              app = {{ kind = "fixed", size = "100 kB" }} }},
        ]"#
        );
        let summary = run(AP, &[DRIVING, ("duration", "60 s"), ("flow", &flows)]);
        let times = summary.flows[1..].iter().map(|flow| flow.finish_s.unwrap());
        (times.sum::<f64>(), summary.queues[0].p95_delay_s.unwrap())
    };
    let (with, without) = (beside(true), beside(false));
    assert!(with.0 < 0.9 * without.0 && with.1 < 1.1 * without.1, "{with:?}, {without:?}");
}

#[test]
fn flows_that_come_and_go_with_little_leave_the_line_to_a_download() {
    let thin = "[[flow]]\nname = \"thin\"\nstation = \"phone\"\nrtt = \"40 ms\"\ncount = 60\nspread = \"1 s\"\nsender = \"cubic\"\n\
        receiver = \"station\"\napp = { kind = \"cbr\", rate = \"20 kbit/s\" }\n";
    let text = AP.to_owned() + thin;
    let summary = run(&text, &[("flow[0].count", "1"), ("ap[0].radio.rate", "6 Mbit/s"), ("duration", "40 s")]);
    // Each sends a segment each .6 s, and is taken to be away in between.
    let utilisation = summary.queues[0].utilisation.unwrap();
    assert!(utilisation > 0.95, "{utilisation}");
    assert!(summary.flows[1..].iter().all(|flow| flow.goodput_bps > 19e3));
}

#[test]
fn on_a_thin_uplink_every_second_segment_is_acknowledged() {
    // Of 12 Mbit/s one segment is 40 bytes of acknowledgement: all of them would be 320 kbit/s.
    let over = |uplink: &str, thins: &str| {
        let uplink = format!(r#"{{ radio = {{ kind = "constant", rate = "{uplink}" }} }}"#);
        let summary = run(AP, &[("ap[0].uplink", &uplink), ("flow[0].receiver.thin_acks", thins)]);
        (summary.queues[0].utilisation.unwrap(), summary.queues[0].p95_delay_s.unwrap())
    };
    let (with, without) = (over("250 kbit/s", "true"), over("250 kbit/s", "false"));
    assert!(with.0 > 0.95 && without.0 < 0.8 && with.1 < 0.02, "{with:?}, {without:?}");
    // Nothing changes where they have room.
    assert_eq!(over("5 Mbit/s", "true"), over("5 Mbit/s", "false"));
}

#[test]
fn every_key_moves_something() {
    let usual = figures(&run(AP, &[DRIVING, UNLIKE]));
    for (key, value) in [
        ("ap[0].price.coarse", "true"),
        ("flow[0].receiver.target", "20 ms"),
        ("flow[0].receiver.clock", "false"),
        ("flow[0].receiver.residual", "false"),
        ("flow[0].receiver.balance", "false"),
        ("flow[0].receiver.newcomers", "false"),
        ("flow[0].receiver.kappa", "0.5"),
        ("flow[0].receiver.rise", "3"),
        ("flow[0].receiver.fall", "1"),
        ("flow[0].receiver.dither", "false"),
        ("flow[0].receiver.memory", "0.2 s"),
        ("flow[0].receiver.delayed_acks", r#"{ timeout = "100 ms" }"#),
    ] {
        let set = [
            DRIVING,
            UNLIKE,
            ("ap[0].price", r#"{ kind = "station" }"#),
            ("flow[0].receiver", r#"{ kind = "station" }"#),
        ];
        assert_eq!(figures(&run(AP, &set)), usual);
        assert_ne!(figures(&run(AP, &[set[0], set[1], set[2], set[3], (key, value)])), usual, "{key}");
    }
    // Who has no more to send: beside a flow of an application nothing else limits the line.
    let applied = r#"[
        { name = "bulk", station = "phone", rtt = "40 ms", sender = "cubic", receiver = { kind = "station", balance = false } },
        { name = "app", station = "phone", rtt = "40 ms", sender = "cubic", receiver = { kind = "station", balance = false },
          app = { kind = "cbr", rate = "0.5 Mbit/s" } },
    ]"#;
    let used = |demand: &str| {
        let set = [("flow", applied), ("flow[*].receiver.demand", demand)];
        run(AP, &set).queues[0].utilisation.unwrap()
    };
    assert!(used("true") > 0.98 && used("false") < 0.9, "{} {}", used("true"), used("false"));
}

#[test]
fn mistakes_are_named_in_one_line() {
    let stray = r#"[
        { name = "a", station = "m1", sender = "cubic", receiver = { kind = "station", host = "laptop" } },
        { name = "b", station = "m2", sender = "cubic", receiver = { kind = "station", host = "laptop" } },
    ]"#;
    let at_odds = r#"[
        { name = "a", station = "m1", sender = "cubic", receiver = { kind = "station" } },
        { name = "b", station = "m1", sender = "cubic", receiver = { kind = "station", target = "20 ms" } },
    ]"#;
    for (key, value, message) in [
        (
            "ap[0].price",
            "share",
            "flow[0].receiver: \"station\": no queue of its path has price = \"station\": wanted one at least",
        ),
        (
            "flow",
            stray,
            "flow[1].receiver.host = \"laptop\": wanted another name: flow[0] of that host leaves another station's queue",
        ),
        ("flow", at_odds, "flow[1].receiver: wanted what flow[0] has: the agent of \"m1\" is theirs both"),
        (
            "flow[0].sender",
            "newreno",
            "flow[0].sender: takes window updates for duplicate acknowledgements: wanted recovery = \"sack\" or \
             strict_duplicate_acks = true, as the receiver is \"station\"",
        ),
        (
            "flow[0].sender",
            "tfrc",
            "flow[0].receiver: \"station\": wanted \"plain\" alone, as the sender \"tfrc\" has no window",
        ),
        (
            "flow[0].receiver",
            r#"{ kind = "station", demand = false }"#,
            "flow[0].receiver.balance = true by default: wanted false, or `demand` with it",
        ),
        (
            "flow[0].receiver",
            r#"{ kind = "station", weight = 0 }"#,
            "flow[0].receiver.weight = 0: wanted from 0.001 to 1000",
        ),
        (
            "flow[0].receiver",
            r#"{ kind = "station", weight = 1e9 }"#,
            "flow[0].receiver.weight = 1000000000: wanted from 0.001 to 1000",
        ),
    ] {
        assert_eq!(refuse(AP, &[(key, value)]), message);
    }
}

#[test]
fn a_stamp_without_room_for_a_lines_number_is_refused_on_a_path_over_two() {
    let coarse = ("link[1].price.coarse", "true");
    let message = "flow[0].receiver: \"station\": a coarse stamp has no room for the number of a line: wanted one line on its path";
    assert_eq!(refuse(TWO_LINES, &[coarse]), message);
}

#[test]
fn a_small_buffer_holds_the_window_and_stops_nothing() {
    // 40 kB for each round trip of 110 ms and what the queue lasts: at most 2.9 Mbit/s.
    let set = [DRIVING, ("flow[0].count", "1"), ("flow[0].rtt", "100 ms"), ("flow[0].receiver.buffer", "40 kB")];
    let goodput = run(AP, &set).flows[0].goodput_bps;
    assert!((1.8e6..2.9e6).contains(&goodput), "{goodput}");
}

#[test]
fn a_delayed_acknowledgement_does_not_shut_the_window() {
    // A window of a segment, now and then: its acknowledgement is waited for.
    let radio = ("ap[0].radio", r#"{ kind = "constant", rate = "1 Mbit/s" }"#);
    let found = ["1", "2"].map(|every| {
        let every = ("flow[0].receiver.ack_every", every);
        run(AP, &[radio, ("flow[0].count", "1"), ("flow[0].rtt", "20 ms"), every]).flows[0].clone()
    });
    assert!(found[1].goodput_bps > 0.7 * found[0].goodput_bps, "{} of {}", found[1].goodput_bps, found[0].goodput_bps);
    assert_eq!(found[1].retransmits, 0);
}

#[test]
fn each_of_three_lines_is_heard() {
    let link = |i: usize, rate: &str| {
        format!(
            "[[link]]\nname = \"l{i}\"\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"{rate}\"\nduplex = false\n\
             queue = {{ limit = \"1 MB\" }}\nprice = \"station\"\n",
            i + 1
        )
    };
    for rates in [
        ["50 Mbit/s", "10 Mbit/s", "100 Mbit/s"],
        ["10 Mbit/s", "50 Mbit/s", "100 Mbit/s"],
        ["100 Mbit/s", "50 Mbit/s", "10 Mbit/s"],
    ] {
        let links: String = rates.iter().enumerate().map(|(i, rate)| link(i, rate)).collect();
        let flow = "[[flow]]\nname = \"flow\"\npath = [\"n0\", \"n1\", \"n2\", \"n3\"]\nrtt = \"40 ms\"\n\
                    access = \"200 Mbit/s\"\njitter = \"0.1 ms\"\nsender = \"cubic\"\nreceiver = { kind = \"station\", target = \"25 ms\" }\n";
        let summary = run(&format!("duration = \"20 s\"\nwarmup = \"5 s\"\n{links}{flow}"), &[]);
        for queue in &summary.queues {
            assert!(queue.p95_delay_s.unwrap_or(0.0) < 0.035 && queue.drops == 0, "{rates:?}: {queue:?}");
        }
        assert!(summary.flows[0].goodput_bps > 9e6, "{rates:?}: {}", summary.flows[0].goodput_bps);
    }
}
