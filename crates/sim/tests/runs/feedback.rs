// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers that tell senders their window or their rate, on links, at an access point and on a WLAN.

use crate::{DOWNLOAD as AIR, figures, refuse, run};
use lasthop_sim::FlowSummary;

/// A wire of 10 Mbit/s, 40 ms.
const WIRE: &str = r#"
    duration = "30 s"
    warmup = "10 s"
    [[link]]
    name = "wire"
    from = "a"
    to = "b"
    rate = "10 Mbit/s"
    queue = { limit = "100 packets" }
    duplex = false
    [[flow]]
    name = "flow"
    path = ["a", "b"]
    rtt = "40 ms"
"#;

fn mbps(flow: &FlowSummary) -> f64 {
    flow.goodput_bps / 1e6
}

/// A flow over nothing but links of its own, where no router can speak.
const ALONE: &str = r#"
    duration = "3 s"
    [[flow]]
    name = "f"
    rtt = "20 ms"
    sink = { rate = "10 Mbit/s", delay = "1 ms" }
"#;

/// A recorded line.
const RECORDED: &str = r#"
    duration = "30 s"
    warmup = "5 s"
    [[ap]]
    name = "ap"
    delay = "5 ms"
    radio = { kind = "trace", file = "../../scenarios/traces/lte-driving.down" }
    queue = { limit = "1.5 MB" }
"#;

#[test]
fn without_a_router_on_the_path_both_are_tcp() {
    // As a TCP that never loses anything: in three seconds slow start reaches no gigabytes.
    let window = |sender: &str| crate::run(ALONE, &[("flow[0].sender", sender)]).flows[0].mean_cwnd_bytes;
    let newreno = window("newreno");
    assert!(newreno.unwrap() < 1e7);
    assert_eq!((window("qfcp"), window("xcp")), (newreno, newreno));
}

#[test]
fn xcp_rests_where_its_law_says() {
    // Told C on a wire of y: α(C − y)d = βq with d = d₀ + q/y: q = (.4/.226)(C − y)d₀/(1 − (.4/.226)(C − y)/y). At 11 for
    // 10 Mbit/s and 40 ms: 8.84 kB/(1 − .177) = 10.7 kB, 7.2 packets of 1500 B; a packet of room for what is not fluid.
    let told = |capacity: &str| run(WIRE, &[("link[0].feedback", capacity), ("flow[0].sender", "xcp")]);
    let high = told(r#"{ kind = "xcp", capacity = "11 Mbit/s" }"#);
    let packets = high.queues[0].mean_bytes / 1500.0;
    assert!((6.7..8.2).contains(&packets), "{packets}");
    assert_eq!(high.flows[0].retransmits, 0);
    // Told too little it takes no more than that, and nothing waits.
    let low = told(r#"{ kind = "xcp", capacity = "1 Mbit/s" }"#);
    assert!((0.9..0.98).contains(&mbps(&low.flows[0])), "{}", mbps(&low.flows[0]));
    assert!(low.queues[0].empty_fraction > 0.98);
    // Without a number it is told the link's rate.
    let right = told("xcp");
    assert!(right.queues[0].utilisation.unwrap() > 0.98 && right.queues[0].mean_bytes < 3000.0);
}

#[test]
fn qfcp_finds_the_capacity_from_below_and_above() {
    for capacity in ["1 Mbit/s", "10 Mbit/s", "40 Mbit/s"] {
        let feedback = format!(r#"{{ kind = "qfcp", capacity = "{capacity}", max_capacity = "54 Mbit/s" }}"#);
        let found = run(WIRE, &[("link[0].feedback", &feedback), ("flow[0].sender", "qfcp")]);
        let (flow, queue) = (&found.flows[0], &found.queues[0]);
        assert!(queue.utilisation.unwrap() > 0.95, "{capacity}: {:?}", queue.utilisation);
        assert!(queue.mean_bytes < 10.0 * 1500.0, "{capacity}: {}", queue.mean_bytes);
        assert_eq!((flow.retransmits, queue.drops), (0, 0), "{capacity}");
    }
}

#[test]
fn the_least_rate_of_the_path_wins() {
    // A second link of 4 Mbit/s behind the first; and the other way round.
    let second = r#"
    [[link]]
    name = "second"
    from = "b"
    to = "c"
    rate = "4 Mbit/s"
    queue = { limit = "100 packets" }
    duplex = false
    feedback = "FEEDBACK"
"#;
    for (feedback, sender) in [("xcp", "xcp"), ("qfcp", "qfcp")] {
        let text =
            format!("{}{}", WIRE.replace(r#"["a", "b"]"#, r#"["a", "b", "c"]"#), second.replace("FEEDBACK", feedback));
        for swapped in [false, true] {
            let rates = [("link[0].rate", "4 Mbit/s"), ("link[1].rate", "10 Mbit/s")];
            let mut more = vec![("link[0].feedback", feedback), ("flow[0].sender", sender)];
            more.extend(if swapped { &rates[..] } else { &[] });
            let found = run(&text, &more);
            let goodput = mbps(&found.flows[0]);
            // 1460 of 1500 B.
            assert!((3.7..3.9).contains(&goodput), "{sender} {swapped}: {goodput}");
            assert_eq!(found.flows[0].retransmits, 0, "{sender} {swapped}");
        }
    }
}

#[test]
fn flows_share_equally_whatever_their_paths() {
    let more = r#"
    [[flow]]
    name = "far"
    path = ["a", "b"]
    rtt = "160 ms"
    start = "3 s"
"#;
    for kind in ["xcp", "qfcp"] {
        let found = run(&format!("{WIRE}{more}"), &[("link[0].feedback", kind), ("flow[*].sender", kind)]);
        assert!(found.fairness.jain.unwrap() > 0.99, "{kind}: {:?}", found.fairness);
    }
}

#[test]
fn tcp_in_a_queue_of_its_own_takes_its_turn_and_no_more() {
    // Two stations by turns on 4 Mbit/s: each carries half, though TCP fills its own buffer.
    let text = r#"
    duration = "30 s"
    warmup = "10 s"
    [[ap]]
    name = "ap"
    scheduler = "round-robin"
    radio = { kind = "constant", rate = "4 Mbit/s" }
    queue = { limit = "60 packets" }
    station = [{ name = "q", feedback = "qfcp" }, { name = "t" }]
    [[flow]]
    name = "qfcp"
    station = "q"
    rtt = "40 ms"
    sender = "qfcp"
    [[flow]]
    name = "tcp"
    station = "t"
    rtt = "40 ms"
"#;
    let found = run(text, &[]);
    for flow in &found.flows {
        assert!((1.8..2.0).contains(&mbps(flow)), "{} {}", flow.name, mbps(flow));
    }
    assert!(found.queues[0].mean_delay_s.unwrap() < 0.25 * found.queues[1].mean_delay_s.unwrap());
}

#[test]
fn through_a_silent_queue_qfcp_is_as_fair_as_tcp() {
    // The first link speaks QFCP, the second, of 4 Mbit/s, does not, and a NewReno shares it.
    let text = format!(
        "{}{}",
        WIRE.replace(r#"["a", "b"]"#, r#"["a", "b", "c"]"#).replace("30 s", "130 s"),
        r#"
    [[link]]
    name = "silent"
    from = "b"
    to = "c"
    rate = "4 Mbit/s"
    queue = { limit = "40 packets" }
    duplex = false
    [[flow]]
    name = "tcp"
    path = ["b", "c"]
    rtt = "40 ms"
    start = "0.5 s"
"#
    );
    let found = run(&text, &[("link[0].feedback", "qfcp"), ("flow[0].sender", "qfcp")]);
    let (own, tcp) = (mbps(&found.flows[0]), mbps(&found.flows[1]));
    assert!((0.5..2.0).contains(&(own / tcp)), "{own} {tcp}");
    assert!(found.queues[1].utilisation.unwrap() > 0.95, "{:?}", found.queues[1]);
    // Where all speak, it fills the link without a drop.
    let all = run(&text, &[("link[*].feedback", "qfcp"), ("flow[0].sender", "qfcp"), ("flow[1].stop", "1 s")]);
    assert_eq!(all.queues[1].drops, 0);
    assert!(mbps(&all.flows[0]) > 3.7, "{}", mbps(&all.flows[0]));
}

#[test]
fn two_hundred_flows_at_the_least_window_fill_the_link_and_leave_it() {
    // 10 Mbit/s carry 8 packets in the 10 ms of the path, and 200 flows have at least one each.
    let many = [
        ("link[0].feedback", "qfcp"),
        ("flow[0].sender", "qfcp"),
        ("flow[0].count", "200"),
        ("flow[0].rtt", "10 ms"),
        ("link[0].queue.limit", "400 packets"),
    ];
    let found = run(WIRE, &many);
    assert!(found.queues[0].utilisation.unwrap() > 0.99);
    assert!(found.fairness.jain.unwrap() > 0.99, "{:?}", found.fairness);
    assert_eq!(found.queues[0].drops, 0);
    // When all but one have gone, it has the link in two seconds, as the rate has not run away.
    let left = format!("{}    stop = \"12 s\"\n    [[flow]]\n    name = \"last\"\n    path = [\"a\", \"b\"]\n", WIRE);
    let after = |bounded| {
        let feedback = format!(r#"{{ kind = "qfcp", bounded = {bounded} }}"#);
        let more = [("flow[1].rtt", "10 ms"), ("flow[1].sender", "qfcp"), ("warmup", "14 s"), ("duration", "16 s")];
        let mut all = vec![("link[0].feedback", feedback.as_str())];
        all.extend(&many[1..]);
        all.extend(&more);
        mbps(&run(&left, &all).flows[200])
    };
    assert!(after("true") > 9.0, "{}", after("true"));
    assert!(after("false") < 5.0, "{}", after("false"));
}

#[test]
fn losses_are_no_signal() {
    // A tenth of the data is lost above the MAC, whose airtime it took: but for the acknowledgements that need not be sent
    // no more than nine tenths could be left. Without the search for lost retransmissions they wait for the timer, and all the
    // more if that forgets what is SACKed.
    let base = [
        ("wlan[0].feedback", r#"{ kind = "qfcp", capacity = "1 Mbit/s", packet = "1340 B" }"#),
        ("flow[0].sender.kind", "qfcp"),
        ("flow[0].rtt", "200 ms"),
        ("duration", "60 s"),
    ];
    let with = |more: &[(&str, &str)]| mbps(&run(AIR, &[&base[..], more].concat()).flows[0]);
    let lossy = ("wlan[0].loss", r#"{ kind = "bernoulli", p = 0.1 }"#);
    let (lossless, kept) = (with(&[]), with(&[lossy]));
    assert!(kept > 0.9 * lossless, "{kept} of {lossless}");
    let by_timer = ("flow[0].sender.find_lost_retransmissions", "false");
    let found_by_timer = with(&[lossy, by_timer]);
    assert!(found_by_timer < 0.85 * kept, "{found_by_timer} of {kept}");
    let forgotten = with(&[lossy, by_timer, ("flow[0].sender.keep_sacked", "false")]);
    assert!(forgotten < 0.6 * lossless, "{forgotten} of {lossless}");
    let heeded = with(&[lossy, ("flow[0].sender.heed_loss", "true")]);
    assert!(heeded < 0.6 * lossless, "{heeded} of {lossless}");
}

#[test]
fn a_small_buffer_silences_no_flow() {
    // Eight downloads, 20 packets: some flows time out more than once. If their back-off lasted until a measurement, a flow of
    // seed 5 would have .45 of its share.
    let settings = [
        ("duration", "110 s"),
        ("warmup", "10 s"),
        ("wlan[0].queue.limit", "20 packets"),
        ("wlan[0].feedback", r#"{ kind = "qfcp", capacity = "1 Mbit/s", packet = "1340 B" }"#),
        ("flow[0].sender", "qfcp"),
        ("flow[0].rtt", "100 ms"),
        ("flow[0].spread", "0.1 s"),
    ];
    let others: String = (2..=8)
        .map(|i| {
            format!(
                "[[flow]]\nname = \"flow-{i}\"\nstation = \"m{i}\"\nsender = \"qfcp\"\nrtt = \"100 ms\"\n\
                 packet = \"1340 B\"\nspread = \"0.1 s\"\n"
            )
        })
        .collect();
    let text = format!("{AIR}\n{others}");
    for seed in ["4", "5", "6"] {
        let flows = run(&text, &[&settings[..], &[("seed", seed)]].concat()).flows;
        let rates: Vec<f64> = flows.iter().map(mbps).collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!(rates.iter().all(|rate| *rate > 0.9 * mean), "seed {seed}: {rates:?}");
    }
}

#[test]
fn in_a_queue_of_its_own_qfcp_has_its_share_beside_tcp() {
    let share = |aqm: &str, flows: &str| {
        let two = format!("[[flow]]\nname = \"tcp\"\npath = [\"a\", \"b\"]\nrtt = \"40 ms\"\ncount = {flows}\n");
        let settings = [
            ("link[0].feedback", "qfcp"),
            ("link[0].queue", &format!("{{ limit = \"100 packets\", aqm = {aqm} }}")),
            ("flow[0].sender", "qfcp"),
            ("duration", "60 s"),
            ("warmup", "20 s"),
        ];
        let found = run(&format!("{WIRE}\n{two}"), &settings);
        mbps(&found.flows[0]) / found.flows.iter().map(mbps).sum::<f64>()
    };
    assert!(share("\"drop-tail\"", "1") < 0.05);
    for (aqm, wanted) in [(r#"{ kind = "two-queues" }"#, 0.5), (r#"{ kind = "two-queues", share = 0.25 }"#, 0.25)] {
        for flows in ["1", "4"] {
            let found = share(aqm, flows);
            assert!((found - wanted).abs() < 0.05, "{aqm} {flows}: {found}");
        }
    }
    assert_ne!(share("\"two-queues\"", "1"), share(r#"{ kind = "two-queues", quantum = "30 kB" }"#, "1"));
}

/// A WLAN under QFCP, told 1 Mbit/s, with so many uploads and downloads of 1300 B.
fn mixed(uploads: usize, downloads: usize) -> String {
    let flow = |name: &str, station: String| {
        format!("[[flow]]\nname = \"{name}\"\n{station}\nsender = \"qfcp\"\nrtt = \"40 ms\"\npacket = \"1340 B\"\n")
    };
    let up = (0..uploads).map(|i| flow(&format!("up-{i}"), format!("source = \"u{i}\"")));
    let down = (0..downloads).map(|i| flow(&format!("down-{i}"), format!("station = \"d{i}\"")));
    let wlan = "duration = \"40 s\"\nwarmup = \"10 s\"\n[[wlan]]\nname = \"wlan\"\nqueue = { limit = \"100 packets\" }\n\
                feedback = { kind = \"qfcp\", capacity = \"1 Mbit/s\", packet = \"1340 B\" }\n";
    wlan.to_owned() + &up.chain(down).collect::<String>()
}

#[test]
fn a_queue_of_acknowledgements_is_a_queue() {
    // Uploads send the base station an acknowledgement for each packet. In bytes a queue of them is nothing.
    for (uploads, downloads) in [(1, 0), (2, 0), (4, 0), (8, 0), (4, 1), (2, 2), (8, 1)] {
        let found = run(&mixed(uploads, downloads), &[]);
        let goodput: f64 = found.flows.iter().map(mbps).sum();
        let queue = &found.queues[0];
        let departures = queue.throughput_bps / 8.0 * queue.mean_delay_s.unwrap() / queue.mean_bytes;
        assert_eq!(queue.drops, 0, "{uploads} up, {downloads} down");
        assert!(queue.mean_delay_s.unwrap() < 0.03, "{uploads} up, {downloads} down: {queue:?}");
        assert!(goodput > 3.85, "{uploads} up, {downloads} down: {goodput}");
        assert!((0.9..1.1).contains(&departures), "Little's law: {departures}");
    }
    let blind = run(&mixed(4, 0), &[("wlan[0].feedback.airtime", "false")]);
    assert!(blind.queues[0].drops > 100 && blind.queues[0].mean_delay_s.unwrap() > 0.1, "{:?}", blind.queues[0]);
}

#[test]
fn in_a_class_of_its_own_qfcp_has_its_share_of_a_wlan_beside_tcp() {
    let share = |queue: &str, qfcp: &str, tcp: &str, each: usize| {
        let flow = |name: &str, way: &str, i: usize| {
            format!(
                "[[flow]]\nname = \"{name}-{i}\"\n{way} = \"m{i}\"\nsender = \"{name}\"\nrtt = \"40 ms\"\npacket = \"1340 B\"\n"
            )
        };
        let flows: String = (0..each).map(|i| flow("qfcp", qfcp, i) + &flow("newreno", tcp, i)).collect();
        let found = run(&format!("{}{flows}", mixed(0, 0)), &[("wlan[0].queue", queue)]);
        let speaking: Vec<f64> = found.flows.iter().filter(|flow| flow.sender == "qfcp").map(mbps).collect();
        let drops: u64 =
            found.queues.iter().filter(|queue| queue.name.ends_with(" (speaking)")).map(|queue| queue.drops).sum();
        assert_eq!(drops, 0);
        (speaking.iter().sum::<f64>(), found.flows.iter().map(mbps).sum::<f64>())
    };
    // Alone 3.95 Mbit/s. TCP's uploads lose acknowledgements, and so carry more in their half of the time, or time out and leave
    // some of it.
    for (qfcp, tcp) in [("station", "station"), ("source", "station"), ("station", "source"), ("source", "source")] {
        for each in [1, 4] {
            let (found, all) = share(r#"{ limit = "100 packets", aqm = "two-queues" }"#, qfcp, tcp, each);
            assert!((1.9..2.2).contains(&found) && all > 3.9, "{qfcp} {tcp} {each}: {found} of {all}");
        }
    }
    let (found, all) =
        share(r#"{ limit = "100 packets", aqm = { kind = "two-queues", share = 0.25 } }"#, "source", "source", 2);
    assert!((0.23..0.26).contains(&(found / 3.95)) && all > 3.9, "{found} of {all}");
    let (found, all) = share(r#"{ limit = "100 packets" }"#, "station", "source", 4);
    assert!(found < 0.2 * all, "{found} of {all}");
}

#[test]
fn a_slower_medium_is_found_out_before_the_buffer_is_full() {
    // From 11 to 1 Mbit/s in three steps and back, at 100 ms: averages that forget an interval at a time take seconds, as the
    // queue has made the intervals long.
    let steps = r#"[{ at = "15 s", rate = "5.5 Mbit/s" }, { at = "30 s", rate = "2 Mbit/s" }, { at = "45 s", rate = "1 Mbit/s" },
        { at = "60 s", rate = "11 Mbit/s" }]"#;
    let with = |more: &[(&str, &str)]| {
        let base = [("wlan[0].rate_steps", steps), ("flow[0].rtt", "100 ms"), ("duration", "75 s"), ("warmup", "5 s")];
        let found = run(&mixed(0, 1), &[&base[..], more].concat());
        (mbps(&found.flows[0]), found.queues[0].drops, found.queues[0].mean_delay_s.unwrap())
    };
    let (goodput, drops, delay_s) = with(&[]);
    assert!(goodput > 2.35 && drops == 0 && delay_s < 0.03, "{goodput} {drops} {delay_s}");
    // At 200 ms: did the station's acknowledgements not count as queue, it would hold 40 of them, and make every answer so
    // much later that up to 65 packets are dropped; did C grow by α, the step up would take four seconds.
    for seed in ["1", "2", "5", "6"] {
        let (goodput, drops, delay_s) = with(&[("flow[0].rtt", "200 ms"), ("seed", seed)]);
        assert!(goodput > 2.37 && drops == 0 && delay_s < 0.036, "seed {seed}: {goodput} {drops} {delay_s}");
    }
    let slow = with(&[("wlan[0].feedback.time_weighted", "false")]);
    assert!(slow.2 > 1.4 * delay_s, "{slow:?}, {delay_s}");
}

#[test]
fn two_wireless_hops_in_series_have_one_rate() {
    // From a station of the WLAN over a wire to a station of an access point of 2 Mbit/s, behind the WLAN's 4: QFCP finds
    // the lesser of the two unknown capacities, with short queues at both.
    let text = r#"
    duration = "40 s"
    warmup = "10 s"
    [[wlan]]
    name = "wlan"
    queue = { limit = "100 packets" }
    feedback = { kind = "qfcp", capacity = "1 Mbit/s", packet = "1340 B" }
    [[link]]
    name = "wire"
    from = "wlan"
    to = "ap"
    rate = "100 Mbit/s"
    delay = "10 ms"
    feedback = "qfcp"
    [[ap]]
    name = "ap"
    radio = { kind = "constant", rate = "2 Mbit/s" }
    queue = { limit = "100 packets" }
    feedback = { kind = "qfcp", capacity = "1 Mbit/s", max_capacity = "11 Mbit/s", packet = "1340 B" }
    [[flow]]
    name = "flow"
    path = ["wlan", "ap"]
    source = "m1"
    station = "a1"
    rtt = "20 ms"
    packet = "1340 B"
    sender = "qfcp"
"#;
    let found = run(text, &[]);
    // 1300 of 1340 B at 2 Mbit/s are 1.94 Mbit/s.
    assert!((1.8..1.95).contains(&mbps(&found.flows[0])), "{}", mbps(&found.flows[0]));
    assert!(found.queues.iter().all(|queue| queue.drops == 0), "{:?}", found.queues);
    assert!(found.queues.iter().all(|queue| queue.mean_bytes < 20.0 * 1340.0), "{:?}", found.queues);
    // With a faster access point the WLAN, which carries 4, is the bottleneck.
    let fast = run(text, &[("ap[0].radio.rate", "8 Mbit/s")]);
    assert!((3.3..4.2).contains(&mbps(&fast.flows[0])), "{}", mbps(&fast.flows[0]));
    assert!(fast.queues.iter().all(|queue| queue.drops == 0), "{:?}", fast.queues);
}

#[test]
fn delayed_acknowledgements_bring_all_changes() {
    let delayed = ("flow[0].receiver", r#"{ kind = "plain", delayed_acks = { timeout = "100 ms" } }"#);
    for kind in ["xcp", "qfcp"] {
        let found = run(WIRE, &[("link[0].feedback", kind), ("flow[0].sender", kind), delayed]);
        assert!(found.queues[0].utilisation.unwrap() > 0.95, "{kind}: {:?}", found.queues[0]);
    }
}

#[test]
fn every_key_moves_something() {
    let two = format!("{AIR}    [[flow]]\n    name = \"up\"\n    source = \"m2\"\n    rtt = \"60 ms\"\n");
    let moves = |kind: &str, base: &str, key_values: &[(&str, &str)]| {
        let sender = if kind == "qfcp" { "qfcp" } else { "xcp" };
        let with = |feedback: String| {
            let more = [
                ("duration", "10 s"),
                ("wlan[0].feedback", &feedback),
                ("wlan[0].queue.limit", "30 packets"),
                ("flow[*].sender", sender),
            ];
            figures(&run(&two, &more))
        };
        let before = with(format!("{{ kind = \"{kind}\"{base} }}"));
        for (key, value) in key_values {
            let after = with(format!("{{ kind = \"{kind}\"{base}, {key} = {value} }}"));
            assert_ne!(before, after, "{kind}: {key}");
        }
    };
    moves("xcp", "", &[("capacity", "\"3 Mbit/s\"")]);
    moves("xcp", ", capacity = \"3 Mbit/s\"", &[("alpha", "0.3"), ("beta", "0.3"), ("gamma", "0.2")]);
    moves(
        "xcp-b",
        "",
        &[
            ("alpha", "0.3"),
            ("beta", "0.3"),
            ("gamma", "0.2"),
            ("buffer", "\"20 kB\""),
            ("packet", "\"1000 B\""),
            ("chi", "0.1"),
            ("kappa", "\"6 kB\""),
            ("patience", "3"),
        ],
    );
    moves(
        "qfcp",
        "",
        &[
            ("capacity", "\"2 Mbit/s\""),
            ("alpha", "0.2"),
            ("beta", "0.3"),
            ("weight", "0.5"),
            ("packet", "\"1340 B\""),
            ("probing", "false"),
            ("resident", "false"),
            ("virtual_queue", "false"),
            ("simplex", "false"),
            ("average_flows", "false"),
            ("hold", "false"),
            ("time_weighted", "false"),
            ("airtime", "false"),
        ],
    );
    moves("qfcp", ", capacity = \"2 Mbit/s\"", &[("max_capacity", "\"3 Mbit/s\"")]);
    moves("qfcp", ", airtime = false", &[("unit", "\"packets\"")]);
    // What a station has of its own.
    let base = [("wlan[0].feedback", "qfcp"), ("flow[*].sender", "qfcp"), ("duration", "10 s")];
    let own = (
        "wlan[0].station",
        r#"[{ name = "m1" }, { name = "m2", feedback = { kind = "qfcp", capacity = "100 kbit/s", probing = false } }]"#,
    );
    assert_ne!(figures(&run(&two, &base)), figures(&run(&two, &[&base[..], &[own]].concat())));
    let ap = AIR.replace("[[wlan]]", "[[ap]]\n    radio = { kind = \"constant\", rate = \"2 Mbit/s\" }");
    let at_ap = |feedback| figures(&run(&ap, &[("ap[0].feedback", feedback), ("flow[0].sender", "qfcp")]));
    assert_ne!(at_ap("qfcp"), at_ap(r#"{ kind = "qfcp", capacity = "1 Mbit/s", probing = false }"#));
}

#[test]
fn mistakes_are_named_in_one_line() {
    let refused = |more: &[(&str, &str)]| refuse(WIRE, more);
    assert_eq!(
        refused(&[("link[0].feedback", "xcp"), ("link[0].price", r#"{ kind = "linear", a = "1 kB" }"#)]),
        "link[0].feedback = \"xcp\": wanted no price beside it"
    );
    assert_eq!(
        refused(&[("link[0].feedback", "xcp-b"), ("link[0].queue", "{}")]),
        "link[0].feedback.buffer = none: wanted one, as the queue has no limit"
    );
    assert_eq!(
        refused(&[("link[0].feedback", r#"{ kind = "qfcp", weight = 0.0 }"#)]),
        "link[0].feedback.weight = 0: wanted more than 0 and at most 1"
    );
    let low = r#"{ kind = "qfcp", capacity = "8 Mbit/s", max_capacity = "5 Mbit/s" }"#;
    assert_eq!(
        refused(&[("link[0].feedback", low)]),
        "link[0].feedback.max_capacity = 5 Mbit/s: wanted at least `capacity`, 8 Mbit/s"
    );
    assert!(refused(&[("link[0].feedback", "rcp")]).contains("rcp"));
}

/// Three flows of one round-trip time on a link with CLAMP's price; what their ends are comes behind.
const PRICED: &str = crate::dumbbell!(
    "duration = \"60 s\"\nwarmup = \"20 s\"\n",
    "rate = \"10 Mbit/s\"\nqueue = { limit = \"1 MB\" }\nprice = { kind = \"linear\", a = \"5.5 kB\" }\nduplex = false\n",
    "name = \"flow\"\ncount = 3\nrtt = \"50 ms\"\nstagger = \"0.1 s\"\naccess = \"100 Mbit/s\"\n"
);

#[test]
fn clamp_holds_the_same_queue_at_either_end() {
    let of = |ends: &str| crate::run(&format!("{PRICED}{ends}"), &[]);
    let at_receiver = of(r#"receiver = { kind = "clamp", tau = "500 B" }"#);
    let at_sender = of(r#"sender = { kind = "clamp", tau = "500 B" }"#);
    // Where acknowledgements come late, and every other one.
    let delayed = of("sender = { kind = \"clamp\", tau = \"500 B\" }\nreceiver = { kind = \"plain\", ack_every = 2 }");
    for summary in [&at_receiver, &at_sender, &delayed] {
        let queue = &summary.queues[0];
        assert!((5_000.0..7_500.0).contains(&queue.mean_bytes) && queue.drops == 0, "{queue:?}");
        assert!(queue.utilisation.unwrap() > 0.99 && summary.fairness.jain.unwrap() > 0.999, "{summary:?}");
    }
    let ratio = at_sender.queues[0].mean_bytes / at_receiver.queues[0].mean_bytes;
    assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
    // Without a price it is NewReno, to the bit.
    let plain = |sender: &str| {
        let text = PRICED.replace("price = { kind = \"linear\", a = \"5.5 kB\" }", "");
        let mut summary = crate::run(&format!("{text}sender = {sender}"), &[]);
        summary.flows.iter_mut().for_each(|flow| flow.sender = "".into());
        format!("{:?} {:?}", summary.flows, summary.queues)
    };
    assert_eq!(plain(r#"{ kind = "clamp", tau = "500 B" }"#), plain(r#""newreno""#));
}

#[test]
fn abc_knows_what_a_recorded_line_could_have_sent_to_one_station_alone() {
    let told = |stations: &[&str], opportunities: &str| {
        let flows = stations.iter().map(|station| {
            format!(r#"{{ name = "{station}", station = "{station}", rtt = "40 ms", sender = "abc" }}"#)
        });
        let flows = format!("[{}]", flows.collect::<Vec<_>>().join(", "));
        let feedback = format!(r#"{{ kind = "abc", opportunities = {opportunities} }}"#);
        run(RECORDED, &[("ap[0].feedback", &feedback), ("flow", &flows)])
    };
    let (known, measured) = (told(&["phone"], "true"), told(&["phone"], "false"));
    assert!(mbps(&known.flows[0]) > mbps(&measured.flows[0]), "what comes back after a gap is used sooner");
    // What others might use is nobody's own: there the rate is measured, whatever is asked.
    let both = ["phone", "tablet"];
    assert_eq!(figures(&told(&both, "true")), figures(&told(&both, "false")));
}
