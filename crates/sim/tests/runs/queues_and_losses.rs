// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues' management and error models from the scenario on: each key moves something, and what they are for comes true.

use lasthop_sim::Summary;

use crate::{figures, refuse, run};

const DUMBBELL: &str = crate::dumbbell!(
    r#"
        duration = "30 s"
        warmup = "10 s"
    "#,
    r#"
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = { limit = "100 packets" }
    "#,
    r#"
        name = "near"
        count = 3
        stagger = "70 ms"
        rtt = "40 ms"
        access = "100 Mbit/s"
        sink = { delay = "5 ms" }
    "#,
    r#"
        name = "far"
        rtt = "90 ms"
        packet = "700 B"
        jitter = "0.2 ms"
    "#
);

const RADIO: &str = r#"
    duration = "20 s"
    [[ap]]
    name = "ap"
    radio = { kind = "constant", rate = "5 Mbit/s" }
    queue = { limit = "60 packets" }
    [[flow]]
    name = "one"
    station = "m1"
    rtt = "40 ms"
    [[flow]]
    name = "other"
    station = "m2"
    rtt = "60 ms"
"#;

/// Each of `changes` to `usual` moves some figure.
fn moves(text: &str, key: &str, usual: &str, changes: &[(&str, &str)]) {
    let before = figures(&run(text, &[(key, usual)]));
    assert_eq!(before, figures(&run(text, &[(key, usual)])));
    for (part, value) in changes {
        let after = run(text, &[(key, usual), (&format!("{key}.{part}"), value)]);
        assert_ne!(before, figures(&after), "{key}.{part} = {value}");
    }
}

#[test]
fn each_key_of_a_management_moves_something() {
    let red = r#"{ kind = "red", queue_weight = 0.01 }"#;
    let changes = [
        ("min_threshold", "8"),
        ("max_threshold", "30"),
        ("queue_weight", "0"),
        ("max_p", "0.05"),
        ("wait", "false"),
        ("gentle", "false"),
        ("unit", "bytes"),
        ("mean_packet", "1000 B"),
        ("target_delay", "20 ms"),
    ];
    for (text, key) in [(DUMBBELL, "link[0].queue.aqm"), (RADIO, "ap[0].queue.aqm")] {
        moves(text, key, red, &changes);
        moves(text, key, "codel", &[("target", "10 ms"), ("interval", "50 ms"), ("mtu", "9 kB")]);
        let changes = [("target", "10 ms"), ("interval", "50 ms"), ("mtu", "9 kB")];
        moves(text, key, "fq-codel", &changes);
    }
    let changes = [("queues", "1"), ("quantum", "300 B"), ("batch", "1")];
    let full = r#"{ kind = "fq-codel", interval = "1 s" }"#;
    moves(&DUMBBELL.replace("100 packets", "30 packets"), "link[0].queue.aqm", full, &changes);
    moves(&DUMBBELL.replace("100 packets", "30 packets"), "link[0].queue.aqm", r#"{ kind = "drr" }"#, &changes);
}

#[test]
fn each_key_of_an_error_model_moves_something() {
    let chain = r#"{ kind = "gilbert-elliott", good_to_bad = 0.004, bad_to_good = 0.3 }"#;
    let means = r#"{ kind = "gilbert-elliott", mean_loss = 0.01, mean_burst = 3 }"#;
    let handoff = r#"{ kind = "handoff", on = "300 ms", off = "3 s" }"#;
    let fixed = r#"{ kind = "handoff", at = ["12 s", "15 s"], length = "500 ms" }"#;
    for (text, key) in [(DUMBBELL, "link[0].loss"), (DUMBBELL, "flow[0].sink.loss"), (RADIO, "ap[0].loss")] {
        let none = figures(&run(text, &[]));
        for model in [chain, means, handoff, fixed] {
            assert_ne!(none, figures(&run(text, &[(key, model)])), "{key} = {model}");
        }
        moves(
            text,
            key,
            chain,
            &[("good_to_bad", "0.01"), ("bad_to_good", "0.2"), ("loss_good", "0.01"), ("loss_bad", "0.5")],
        );
        moves(text, key, means, &[("mean_loss", "0.02"), ("mean_burst", "6")]);
        moves(text, key, handoff, &[("on", "1 s"), ("off", "1 s"), ("regular", "true")]);
        moves(text, key, fixed, &[("at", r#"["13 s"]"#), ("length", "2 s")]);
    }
}

#[test]
fn what_an_error_model_cannot_be_is_said() {
    let key = "link[0].loss";
    let half = refuse(DUMBBELL, &[(key, r#"{ kind = "handoff", on = "1 s" }"#)]);
    assert_eq!(half, "link[0].loss.kind = \"handoff\": wanted on and off beside it, or at and length");
    let half = refuse(DUMBBELL, &[(key, r#"{ kind = "gilbert-elliott", mean_loss = 0.1 }"#)]);
    assert!(half.starts_with("link[0].loss.kind = \"gilbert-elliott\": wanted good_to_bad"), "{half}");
    let wrong = refuse(RADIO, &[("ap[0].queue.aqm", r#"{ kind = "red", max_p = 2 }"#)]);
    assert_eq!(wrong, "ap[0].queue.aqm.max_p = 2: wanted more than 0 and at most 1");
}

/// Delivered bytes of the first flow, with its receiver's handoff at 10 s for two seconds on this element.
fn delivered(key: &str, path: &str, until: &str) -> u64 {
    let text = DUMBBELL.replace("warmup = \"10 s\"", "").replace("[\"r1\", \"r2\"]", path);
    let model = r#"{ kind = "handoff", at = ["10 s"], length = "2 s" }"#;
    run(&text, &[(key, model), ("duration", until)]).flows[0].delivered_bytes
}

#[test]
fn nothing_gets_through_during_a_handoff() {
    for key in ["link[0].loss", "flow[0].sink.loss"] {
        let path = "[\"r1\", \"r2\"]";
        // What had left the radio before is there within its delay of 10 ms.
        assert_eq!(delivered(key, path, "10.02 s"), delivered(key, path, "12 s"), "{key}");
        assert!(delivered(key, path, "12 s") < delivered(key, path, "20 s"), "{key}");
    }
}

#[test]
fn a_handoff_takes_both_directions() {
    // One packet a flow, whose ACK comes to the handoff that its data has just missed: 5 ms over the link, handoff from 6 ms.
    let text = r#"
        duration = "10 s"
        [[link]]
        name = "radio"
        from = "a"
        to = "b"
        rate = "1 Gbit/s"
        delay = "5 ms"
        [[flow]]
        name = "one"
        path = ["a", "b"]
        rtt = "4 ms"
        app = { kind = "fixed", size = "1 packet" }
    "#;
    let handoff = |length| format!("{{ kind = \"handoff\", at = [\"2.5 ms\"], length = \"{length}\" }}");
    for duplex in ["true", "false"] {
        let finish = |loss: &str| {
            let summary = run(text, &[("link[0].loss", loss), ("link[0].duplex", duplex)]);
            (summary.flows[0].timeouts, summary.flows[0].delivered_bytes)
        };
        // Data crosses from 2 to 7 ms, the ACK starts back at 7 ms.
        assert_eq!(finish(&handoff("4 ms")), (0, 1460), "duplex = {duplex}");
        assert_eq!(finish(&handoff("5 ms")), (1, 1460), "duplex = {duplex}");
    }
}

#[test]
fn codel_keeps_the_wait_near_its_target_for_one_flow_and_for_twenty() {
    for flows in ["1", "2", "5", "10", "20"] {
        let set = [("flow[0].count", flows), ("flow[0].packet", "1500 B"), ("duration", "60 s")];
        let tail = run(DUMBBELL, &[&set[..], &[("link[0].queue.limit", "400 packets")]].concat());
        let codel = run(DUMBBELL, &[&set[..], &[("link[0].queue", r#"{ aqm = "codel" }"#)]].concat());
        let (tail, codel) = (&tail.queues[0], &codel.queues[0]);
        let delay_s = codel.mean_delay_s.unwrap();
        // The target is 5 ms; the more flows, the more often each is back before the next drop.
        assert!((0.001..0.02).contains(&delay_s), "{flows} flows: {delay_s} s");
        assert!(delay_s < tail.mean_delay_s.unwrap() / 8.0, "{flows} flows: {delay_s} s");
        // Without a standing queue a window saws between a half and all of what the path holds: three quarters.
        assert!(codel.utilisation.unwrap() > 0.75, "{flows} flows: {:?}", codel.utilisation);
    }
}

#[test]
fn fq_codel_shares_alike_whatever_the_round_trip_and_the_packet() {
    let jain = |aqm| run(DUMBBELL, &[("link[0].queue.aqm", aqm), ("duration", "60 s")]).fairness.jain.unwrap();
    let (tail, fair, turns) = (jain("drop-tail"), jain("fq-codel"), jain("drr"));
    // Three packets of 1500 B at 60 ms against one of 700 B at 100 ms.
    assert!(fair > 0.98 && tail < 0.95, "{fair} with FQ-CoDel, {tail} without");
    assert!(turns > 0.98, "{turns} with its round robin alone");
}

#[test]
fn asking_ahead_of_time_changes_no_loss_and_no_management() {
    // A probe keeps every lane and asks everybody in time.
    let handoff = r#"{ kind = "handoff", on = "200 ms", off = "2 s" }"#;
    let bursts = r#"{ kind = "gilbert-elliott", mean_loss = 0.01, mean_burst = 3 }"#;
    let red = r#"{ kind = "red", queue_weight = 0.01 }"#;
    for (key, value) in [
        ("link[0].loss", handoff),
        ("link[0].loss", bursts),
        ("flow[0].sink.loss", handoff),
        ("flow[0].sink.loss", bursts),
        ("link[0].queue.aqm", red),
        ("link[0].queue.aqm", "codel"),
        ("link[0].queue.aqm", "fq-codel"),
    ] {
        for duplex in ["true", "false"] {
            let set = [(key, value), ("link[0].duplex", duplex)];
            let (ahead, in_time) = (run(DUMBBELL, &set), run(DUMBBELL, &[set[0], set[1], ("probe.every", "1 s")]));
            assert_eq!(figures(&ahead), figures(&in_time), "{key} = {value}, duplex = {duplex}");
        }
    }
    for (key, value) in [("ap[0].loss", handoff), ("ap[0].loss", bursts), ("ap[0].queue.aqm", "fq-codel")] {
        let (ahead, in_time) = (run(RADIO, &[(key, value)]), run(RADIO, &[(key, value), ("probe.every", "1 s")]));
        assert_eq!(figures(&ahead), figures(&in_time), "{key} = {value}");
    }
}

#[test]
fn two_simplex_links_are_there_and_back() {
    let down =
        r#"{ name = "down", from = "server", to = "client", rate = "10 Mbit/s", delay = "20 ms", duplex = false }"#;
    let up = r#"{ name = "up", from = "client", to = "server", rate = "100 kbit/s", delay = "5 ms", duplex = false }"#;
    let line = |one: &str, other: &str| {
        format!(
            r#"
                duration = "20 s"
                warmup = "5 s"
                link = [{one}, {other}]
                [[flow]]
                name = "download"
                path = ["server", "client"]
                rtt = "40 ms"
                [[flow]]
                name = "upload"
                path = ["client", "server"]
                rtt = "40 ms"
                start = "20 s"
            "#
        )
    };
    let utilisation = |summary: &Summary| {
        assert_eq!(summary.queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>(), ["down", "up"]);
        [0, 1].map(|i| summary.queues[i].utilisation.unwrap())
    };
    // 100 kbit/s of acknowledgements of 40 bytes, one for two packets of 1500, let 7.5 Mbit/s through.
    let alone = run(&line(down, up), &[]);
    let [of_down, of_up] = utilisation(&alone);
    assert!(of_up > 0.9 && (0.7..0.8).contains(&of_down), "{of_down}, {of_up}");
    let both = run(&line(down, up), &[("flow[upload].start", "0 s")]);
    assert!(utilisation(&both)[1] > 0.9 && both.flows[1].goodput_bps > 1e4, "{both:?}");
    // In which order the links are named is nothing to the flows.
    let swapped = run(&line(up, down), &[]);
    assert_eq!(format!("{:?}", swapped.flows), format!("{:?}", alone.flows));
}

#[test]
fn two_links_that_lead_the_same_way_are_refused() {
    let parallel = |duplex, from, to| {
        let link = |name, from, to| {
            format!(r#"{{ name = {name:?}, from = {from:?}, to = {to:?}, rate = "1 Mbit/s", duplex = {duplex} }}"#)
        };
        let (first, second) = (link("first", "a", "b"), link("second", from, to));
        let flow = r#"{ name = "one", path = ["a", "b"], rtt = "40 ms" }"#;
        refuse(&format!("duration = \"1 s\"\nlink = [{first}, {second}]\nflow = [{flow}]"), &[])
    };
    let wanted = |from, to| format!("link[1]: \"first\" leads from {from:?} to {to:?} as well: wanted one link");
    assert_eq!(parallel(true, "b", "a"), wanted("b", "a"));
    assert_eq!(parallel(true, "a", "b"), wanted("a", "b"));
    assert_eq!(parallel(false, "a", "b"), wanted("a", "b"));
    assert!(parallel(false, "b", "a").starts_with("accepted"));
}

#[test]
fn what_takes_no_time_fills_no_buffer() {
    let text = crate::dumbbell!(
        "duration = \"5 s\"\n",
        "rate = \"10 Mbit/s\"\n",
        "name = \"there\"\npacket = \"100 B\"\nsender = { kind = \"newreno\", window_limit = \"100 packets\" }\n\
         receiver = { kind = \"plain\", ack_size = \"0 B\" }\n"
    );
    let back = "[[flow]]\nname = \"back\"\npath = [\"r2\", \"r1\"]\nsender = { kind = \"newreno\", window_limit = \"4 packets\" }\n";
    let summary = run(&format!("{text}{back}"), &[]);
    assert_eq!(summary.queues.iter().map(|queue| queue.drops).collect::<Vec<_>>(), [0, 0]);
}
