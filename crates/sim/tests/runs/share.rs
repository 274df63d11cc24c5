// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share window, at an access point and on links.

use crate::{figures, refuse, run, share_by_weight};

const AP: &str = downloads!("share");

/// Two links in a row, 50 ms in all.
const WIRES: &str = r#"
    duration = "20 s"
    warmup = "5 s"
    [[link]]
    name = "first"
    from = "a"
    to = "b"
    rate = "12 Mbit/s"
    price = "share"
    duplex = false
    [[link]]
    name = "second"
    from = "b"
    to = "c"
    rate = "8 Mbit/s"
    price = "share"
    duplex = false
    [[flow]]
    name = "long"
    path = ["a", "b", "c"]
    rtt = "50 ms"
    jitter = "0.1 ms"
    sender = "cubic"
    receiver = "share"
    [[flow]]
    name = "short"
    path = ["a", "b"]
    rtt = "50 ms"
    jitter = "0.1 ms"
    sender = "cubic"
    receiver = "share"
"#;

#[test]
fn a_busy_line_holds_the_target_whatever_the_flows() {
    // T − (1 − g)d/(1 + κ) = 25 − 0.12 · 50/1.5 = 21 ms behind a packet, and 1 ms for the packet itself.
    for flows in ["1", "3", "12"] {
        let summary = run(AP, &[("flow[0].count", flows)]);
        let queue = &summary.queues[0];
        let mean_ms = 1e3 * queue.mean_delay_s.unwrap();
        assert!((20.5..23.5).contains(&mean_ms), "{flows}: {mean_ms}");
        assert!(queue.utilisation.unwrap() > 0.995, "{flows}");
        assert_eq!(queue.drops, 0);
        assert!(summary.fairness.jain.unwrap() > 0.999, "{flows}: {:?}", summary.fairness.jain);
    }
}

#[test]
fn weights_share_the_line() {
    let summary = share_by_weight(AP, |weight| format!(r#"{{ kind = "share", weight = {weight} }}"#), 0.05);
    assert!(summary.queues[0].utilisation.unwrap() > 0.995);
}

#[test]
fn transfers_that_come_and_go_have_the_weight_of_their_kind() {
    let download = r#"{ name = "bulk", station = "phone", rtt = "40 ms", sender = "cubic", receiver = "share" }"#;
    let goodput = |weight: &str| {
        let mice = format!(
            r#"{{ name = "mice", station = "phone", rtt = "40 ms", sender = "cubic",
            receiver = {{ kind = "share", weight = {weight} }},
            app = {{ kind = "poisson", rate = "2 /s", size = {{ kind = "constant", value = "500 kB" }} }} }}"#
        );
        run(AP, &[("flow", &format!("[{download}, {mice}]"))]).flows[0].goodput_bps
    };
    assert!(goodput("4") < 0.9 * goodput("1"));
}

#[test]
fn by_turns_a_transfer_does_not_wait_for_the_bulk() {
    let flows = r#"[
        { name = "bulk", count = 4, station = "phone", rtt = "40 ms", sender = "cubic", receiver = "share" },
        { name = "mouse", station = "phone", rtt = "40 ms", sender = "cubic", receiver = "share", start = "6 s",
          app = { kind = "fixed", size = "30 kB" } },
    ]"#;
    let seconds = |aqm| {
        let summary = run(AP, &[("flow", flows), ("ap[0].queue.aqm", aqm)]);
        assert!(summary.queues[0].utilisation.unwrap() > 0.995, "{aqm}");
        summary.flows[4].finish_s.unwrap()
    };
    // 21 packets in two round trips: 2 · 50 ms, and their part of the line; in order each waits for 22 ms of the others.
    let (in_order, by_turns) = (seconds("drop-tail"), seconds("drr"));
    assert!(by_turns < in_order - 0.02, "{by_turns} s by turns, {in_order} s in order");
}

#[test]
fn on_two_links_the_least_share_holds() {
    // The second link could give the long flow 8 Mbit/s, the first has 6 for each.
    let even = run(WIRES, &[]);
    let payload = 1460.0 / 1500.0;
    for flow in &even.flows {
        let mbps = flow.goodput_bps / 1e6 / payload;
        assert!((5.8..6.2).contains(&mbps), "{mbps}");
    }
    // With 3 Mbit/s behind it the long flow cannot take its half of the first. Nobody tells that link; but with no queue there the
    // room alone lets the short flow have up to 6 · (0.88 · 50 + 37.5)/50 = 9.8 Mbit/s, so that it finds the other 9.
    let narrow = run(WIRES, &[("link[1].rate", "3 Mbit/s")]);
    let mbps: Vec<_> = narrow.flows.iter().map(|flow| flow.goodput_bps / 1e6 / payload).collect();
    assert!((2.85..3.05).contains(&mbps[0]), "{mbps:?}");
    assert!((8.7..9.05).contains(&mbps[1]), "{mbps:?}");
    assert!(narrow.queues.iter().all(|queue| queue.drops == 0));
}

#[test]
fn a_narrower_line_is_no_shortfall_of_the_next() {
    // The long flow has two thirds of the first link by its weight, and might have 5.3 of the second's 8 Mbit/s, where it ends with another.
    let long = r#"{ name = "long", path = ["a", "b", "c"], rtt = "50 ms", jitter = "0.1 ms", sender = "cubic", "#;
    let next = r#"{ name = "next", path = ["b", "c"], rtt = "50 ms", jitter = "0.1 ms", sender = "cubic", "#;
    let short = r#"{ name = "short", path = ["a", "b"], rtt = "50 ms", jitter = "0.1 ms", sender = "cubic", receiver = "share" }"#;
    let mbps = |balance: bool| {
        let receiver = |weight| format!("receiver = {{ kind = \"share\", weight = {weight}, balance = {balance} }} }}");
        let flows = format!("[{long}{}, {next}{}, {short}]", receiver(2), receiver(1));
        let set = [("flow", &*flows), ("link[0].rate", "6 Mbit/s"), ("duration", "60 s"), ("warmup", "30 s")];
        let summary = run(WIRES, &set);
        let payload = 1460.0 / 1500.0;
        let [long, next, short] = [0, 1, 2].map(|i| summary.flows[i].goodput_bps / 1e6 / payload);
        assert!(summary.queues.iter().all(|queue| queue.utilisation.unwrap() > 0.97), "{:?}", (long, next, short));
        assert!((3.7..4.1).contains(&long) && (1.9..2.2).contains(&short), "{:?}", (long, next, short));
        next
    };
    assert!((mbps(true) - mbps(false)).abs() < 0.05);
}

#[test]
fn without_a_router_the_window_is_the_operating_systems() {
    let bare = r#"
        duration = "5 s"
        [[link]]
        name = "wire"
        from = "a"
        to = "b"
        rate = "12 Mbit/s"
        queue = { limit = "100 packets" }
        [[flow]]
        name = "flow"
        path = ["a", "b"]
        rtt = "40 ms"
    "#;
    let window = |receiver| run(bare, &[("flow[0].receiver", receiver)]).flows[0].goodput_bps;
    assert_eq!(window("share"), window("plain"));
}

#[test]
fn every_key_moves_something() {
    let mixed = [("ap[0].radio", r#"{ kind = "trace", file = "../../scenarios/traces/lte-driving.down" }"#)];
    let usual = figures(&run(AP, &mixed));
    for (key, value) in [
        ("ap[0].price.target", "10 ms"),
        ("ap[0].price.form", "one-integer"),
        ("ap[0].price.fair", "true"),
        ("flow[0].receiver.theta", "20 ms"),
        ("ap[0].price.memory", "20 ms"),
        ("ap[0].price.horizon", "400 ms"),
        ("flow[0].receiver.fair", "true"),
        ("flow[0].receiver.g", "0.8"),
        ("flow[0].receiver.rise", "1"),
        ("flow[0].receiver.fall", "1"),
        ("flow[0].receiver.dither", "false"),
        ("flow[0].receiver.memory", "0.2 s"),
        ("flow[0].receiver.buffer", "20 kB"),
        ("flow[0].receiver.delayed_acks", r#"{ timeout = "100 ms" }"#),
    ] {
        let set = [mixed[0], ("ap[0].price", r#"{ kind = "share" }"#), ("flow[0].receiver", r#"{ kind = "share" }"#)];
        assert_eq!(figures(&run(AP, &set)), usual);
        // Weights have a test of their own: where all are alike, nothing moves.
        assert_ne!(figures(&run(AP, &[set[0], set[1], set[2], (key, value)])), usual, "{key}");
    }
}

#[test]
fn mistakes_are_named_in_one_line() {
    for (key, value, message) in [
        (
            "ap[0].price",
            r#"{ kind = "share", target = "0 s" }"#,
            "ap[0].price.target = 0 s: wanted more than 0 s and at most 3 s",
        ),
        (
            "ap[0].price",
            r#"{ kind = "share", target = "4 s" }"#,
            "ap[0].price.target = 4 s: wanted more than 0 s and at most 3 s",
        ),
        (
            "flow[0].receiver",
            r#"{ kind = "share", weight = 0 }"#,
            "flow[0].receiver.weight = 0: wanted from 0.001 to 1000",
        ),
        (
            "flow[0].receiver",
            r#"{ kind = "share", weight = 1e9 }"#,
            "flow[0].receiver.weight = 1000000000: wanted from 0.001 to 1000",
        ),
        (
            "flow[0].receiver",
            r#"{ kind = "share", delayed_acks = { timeout = "0 s" } }"#,
            "flow[0].receiver.delayed_acks.timeout = 0 s: wanted more than 0 s and at most 500 ms",
        ),
    ] {
        assert_eq!(refuse(AP, &[(key, value)]), message);
    }
}

#[test]
fn a_balance_wants_to_be_told_what_packets_waited() {
    let one = ("ap[0].price", r#"{ kind = "share", form = "one-integer" }"#);
    let message = "flow[0].receiver.balance = true: wanted false: a price on its way has form = \"one-integer\", \
                   which does not tell what packets waited";
    let share = |keys| ("flow[0].receiver", keys);
    for keys in [r#"{ kind = "share", balance = true }"#, r#"{ kind = "share", fair = true }"#] {
        assert_eq!(refuse(AP, &[one, share(keys)]), message);
    }
    run(AP, &[one, share(r#"{ kind = "share", fair = true, balance = false }"#)]);
    run(AP, &[share(r#"{ kind = "share", balance = true }"#)]);
}
