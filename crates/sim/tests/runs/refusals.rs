// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a scenario is said in one line: its key as the scenario writes it, its value, what is wanted.

use crate::refuse;

const LINK: &str = r#"
    duration = "3 s"
    [[link]]
    name = "l"
    from = "a"
    to = "b"
    rate = "10 Mbit/s"
    [[flow]]
    name = "f"
    path = ["a", "b"]
    rtt = "20 ms"
"#;

const AP: &str = r#"
    duration = "3 s"
    [[ap]]
    name = "ap"
    radio = { kind = "jakes", doppler = "60 Hz", bandwidth = "4.3 MHz", max_rate = "10 Mbit/s", attempts = 15 }
    [[flow]]
    name = "f"
    station = "m"
"#;

const WLAN: &str = r#"
    duration = "3 s"
    [[wlan]]
    name = "w"
    [[flow]]
    name = "f"
    source = "m"
"#;

#[test]
fn an_error_names_the_key_that_was_written() {
    for (text, key, value, message) in [
        (LINK, "duration", "0 s", "duration = 0 s: wanted more than 0 s"),
        (LINK, "warmup", "5 s", "warmup = 5 s: wanted less than the duration, 3 s"),
        (LINK, "sample", "1 ns", "sample = 0.000000001 s: wanted at most 10000000 samples in 3 s"),
        (
            LINK,
            "probe",
            "{ every = \"400 ns\" }",
            "probe.every = 0.0000004 s: wanted at most 10000000 samples of 3 flows and queues in 3 s",
        ),
        (
            LINK,
            "flow[0].app",
            "{ kind = \"poisson\", rate = \"1e6 /s\", size = { kind = \"constant\", value = \"1 kB\" } }",
            "flow[0].app.rate = 1000000 /s: wanted at most 1000000 arrivals in all",
        ),
        (
            AP,
            "ap[0].station",
            "[{ name = \"n\" }]",
            "ap[0].station[0].name = \"n\": wanted a station that flows go to, such as \"m\"",
        ),
        (LINK, "link[0].to", "a", "link[0].to = \"a\": wanted another node than `from`"),
        (LINK, "link[0].feedback", "{ kind = \"xcp\", alpha = -1 }", "link[0].feedback.alpha = -1: wanted more than 0"),
        (
            LINK,
            "flow[0].app",
            "{ kind = \"cbr\", rate = \"0 bit/s\" }",
            "flow[0].app.rate = 0 bit/s: wanted more than 0 bit/s",
        ),
        (LINK, "flow[0].reader", "{ rate = \"0 bit/s\" }", "flow[0].reader.rate = 0 bit/s: wanted more than 0 bit/s"),
        (
            LINK,
            "flow[0].receiver",
            "{ kind = \"clamp\", tau = \"1 kB\", packets = 0 }",
            "flow[0].receiver.packets = 0: wanted from 1 to 4294967295",
        ),
        (
            LINK,
            "flow[0].receiver",
            "{ kind = \"clamp\", tau = \"1 kB\", hold = -1 }",
            "flow[0].receiver.hold = -1: wanted at least 0",
        ),
        (
            LINK,
            "flow[0].receiver.delayed_acks",
            "{ timeout = \"0 s\" }",
            "flow[0].receiver.delayed_acks.timeout = 0 s: wanted more than 0 s and at most 500 ms",
        ),
        (LINK, "flow[0].stop", "0 s", "flow[0].stop = 0 s: wanted later than `start`"),
        (LINK, "flow[0].start", "3 s", "flow[0].start = 3 s: wanted a start before the end of the run, 3 s"),
        (LINK, "flow[0].rtt", "1e10 s", "flow[0].rtt = \"1e10 s\": wanted a time that is not so large"),
        (LINK, "flow[0].packet", "40 B", "flow[0].packet = 40 B: wanted 41 B to 65535 B, 40 of them headers"),
        (LINK, "flow[0].count", "0", "flow[0].count = 0: wanted from 1 to 1000000"),
        (LINK, "flow[0].name", "", "flow[0].name = \"\": wanted a name, in one line"),
        (LINK, "flow[0].name", "\"a\\nb\"", "flow[0].name = \"a\\nb\": wanted a name, in one line"),
        (LINK, "link[0].from", "", "link[0].from = \"\": wanted a name, in one line"),
        (LINK, "link[0].to", "\"a\\nb\"", "link[0].to = \"a\\nb\": wanted a name, in one line"),
        (
            LINK,
            "flow[0].sender",
            "{ kind = \"cubic\", rules = \"linux\", pacing = 1.5 }",
            "flow[0].sender.pacing = 1.5: wanted 0, or `pieces` = false with it",
        ),
        (
            AP,
            "ap[0].radio.errors",
            "{ kind = \"linear\", worst = 2 }",
            "ap[0].radio.errors.worst = 2: wanted from 0 to 1",
        ),
        (
            AP,
            "ap[0].radio.margin",
            "{ kind = \"fixed\", value = 2 }",
            "ap[0].radio.margin.value = 2: wanted from -999 to 0.999",
        ),
        (AP, "ap[0].radio.slot", "0 s", "ap[0].radio.slot = 0 s: wanted at least 1 \u{b5}s"),
        (AP, "flow[0].station", "", "flow[0].station = \"\": wanted a name, in one line"),
        (
            WLAN,
            "wlan[0].rate_steps",
            "[{ at = \"1 s\", rate = \"1 Mbit/s\" }, { at = \"1 s\", rate = \"2 Mbit/s\" }]",
            "wlan[0].rate_steps[1].at = 1 s: wanted more than that of the step before",
        ),
        (
            WLAN,
            "wlan[0].rate_steps",
            "[{ at = \"1 s\", rate = \"0 bit/s\" }]",
            "wlan[0].rate_steps[0].rate = 0 bit/s: wanted more than 0 bit/s",
        ),
        (
            WLAN,
            "wlan[0].station",
            "[{ name = \"m\", rate = \"1 Mbit/s\", rate_steps = [{ at = \"0 s\", rate = \"1 Mbit/s\" }] }]",
            "wlan[0].station[0].rate_steps[0].at = 0 s: wanted more than 0 s",
        ),
        (WLAN, "wlan[0].rate", "0 bit/s", "wlan[0].rate = 0 bit/s: wanted more than 0 bit/s"),
    ] {
        assert_eq!(refuse(text, &[(key, value)]), message);
    }
    assert_eq!(refuse(AP, &[("flow", "[]")]), "flow: wanted at least one");
    let lonely = AP.replace("station = \"m\"", "access = \"1 Mbit/s\"");
    assert_eq!(refuse(&lonely, &[]), "ap[0]: wanted a station, or a flow to one");
}

#[test]
fn a_sender_delays_what_leaves_in_one_way() {
    let set = [("flow[0].jitter", "1 ms"), ("flow[0].overhead", "2 ms")];
    assert_eq!(refuse(LINK, &set), "flow[0].overhead = 0.002 s: wanted 0 s, or no `jitter` beside it");
}

#[test]
fn no_sum_of_times_is_too_large() {
    const MOST: &str = "1000000000 s";
    let flows = "wanted less, so that no flow starts after more than 1000000000 s";
    let trips = "wanted less, so that no round trip takes more than 1000000000 s";
    for (key, value, first, message) in [
        ("spread", "1 ns", "start", format!("0.000000001 s: {flows}")),
        ("stagger", "1 ns", "start", format!("0.000000001 s: {flows}")),
        ("stagger", MOST, "name", format!("1000000000 s: {flows}")),
        ("rtt_step", "1 ns", "rtt", format!("0.000000001 s: {trips}")),
        ("rtt_step", MOST, "name", format!("1000000000 s: {trips}")),
    ] {
        let key = format!("flow[0].{key}");
        let set = [("flow[0].count", "1000000"), (&key, value), (&format!("flow[0].{first}"), MOST)];
        assert_eq!(refuse(LINK, &set), format!("{key} = {message}"));
    }
    // The longest times that there are, and a run that they leave alone.
    let set = [("flow[0].count", "2"), ("flow[0].stagger", MOST), ("flow[0].rtt", MOST)];
    assert!(crate::outcome(LINK, &set).unwrap().summary.events > 0);
}

/// A chain of links from n0 on, and a flow over all of them.
fn chain(links: usize, more: &str) -> String {
    let link =
        |i| format!("[[link]]\nname = \"l{i}\"\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"1 Gbit/s\"\n{more}\n", i + 1);
    let path: Vec<_> = (0..=links).map(|i| format!("\"n{i}\"")).collect();
    let links: String = (0..links).map(link).collect();
    format!("duration = \"3 s\"\n{links}[[flow]]\nname = \"f\"\nrtt = \"10 ms\"\npath = [{}]\n", path.join(", "))
}

#[test]
fn a_path_has_as_many_hops_as_a_byte_counts() {
    // Each link is crossed there and back, and a hop is at either end: 2·126 + 2 = 254.
    assert!(crate::run(&chain(126, ""), &[]).flows[0].delivered_bytes > 0);
    for links in [127, 128, 300] {
        let crossed = 2 * links;
        let wanted = "links, access points and WLANs, there and back: wanted at most 253";
        assert_eq!(refuse(&chain(links, ""), &[]), format!("flow[0].path: crosses {crossed} {wanted}"));
    }
    let one_way = "duplex = false";
    assert!(crate::run(&chain(200, one_way), &[]).flows[0].delivered_bytes > 0);
}

#[test]
fn what_takes_longer_than_time_lasts_never_comes() {
    let wanted = "flow[0].path: wanted delays that add up to at most 1000000000 s";
    assert_eq!(refuse(&chain(20, "delay = \"1e9 s\""), &[]), wanted);
    // A packet at 10⁻⁹ Hz takes 10¹³ s, more than a clock of 64 bits counts: none ever arrives.
    let slow = AP.replace("4.3 MHz", "1e-9 Hz").replace("attempts = 15", "attempts = 15, frames = \"whole\"");
    assert_eq!(crate::run(&slow, &[("duration", "100 s")]).flows[0].delivered_bytes, 0);
    // A line of 1 bit/s, offered 10⁵ packets of 65 kB: the last of them would be out after 5·10¹⁹ ns.
    let offered = r#"{ kind = "cbr", rate = "18 Gbit/s" }"#;
    let set = [("link[0].rate", "1 bit/s"), ("flow[0].app", offered), ("flow[0].packet", "65 kB")];
    let set = [&set[..], &[("flow[0].sender", "{ initial_window = 100000 }"), ("duration", "1 s")]].concat();
    assert_eq!(crate::run(LINK, &set).flows[0].delivered_bytes, 0);
}

#[test]
fn the_seed_does_not_decide_what_is_valid() {
    let poisson = |more: &str| {
        let size = r#"size = { kind = "constant", value = "3 kB" }"#;
        format!("{{ kind = \"poisson\", rate = \"0.3 /s\", {size}{more} }}")
    };
    let of_seeds = |set: &[(&str, &str)]| -> Vec<Result<usize, String>> {
        let of_seed = |seed: u64| {
            let seed = seed.to_string();
            crate::outcome(LINK, &[set, &[("seed", &seed)]].concat()).map(|outcome| outcome.summary.flows.len())
        };
        (1..=20).map(of_seed).collect()
    };
    // In 3 s nobody comes with a probability of e⁻·⁹, two in five.
    let arrivals = of_seeds(&[("flow[0].app", &poisson(""))]);
    assert!(arrivals.contains(&Ok(0)) && arrivals.contains(&Ok(1)));
    // What comes after the stop does not come.
    let stopped = of_seeds(&[("flow[0].app", &poisson("")), ("flow[0].stop", "100 ms")]);
    assert!(stopped.iter().all(Result::is_ok) && stopped.contains(&Ok(0)));
    for (set, message) in [
        (
            vec![("flow[0].spread", "2 s"), ("flow[0].stop", "1 s")],
            "flow[0].stop = 1 s: wanted later than 2 s, when the last flow may start",
        ),
        (vec![("flow[0].app", &*poisson(", until = \"0 s\""))], "flow[0].app.until = 0 s: wanted later than `start`"),
        // Where no transfer arrives, what they would be made of is checked all the same.
        (
            vec![("flow[0].app", &*poisson("")), ("flow[0].access", "0 bit/s")],
            "flow[0].access = 0 bit/s: wanted more than 0 bit/s",
        ),
    ] {
        assert_eq!(of_seeds(&set), vec![Err(message.to_owned()); 20]);
    }
    // Nor which names are free: "f#9" may or may not be there.
    let taken = format!("{LINK}[[flow]]\nname = \"f#9\"\npath = [\"a\", \"b\"]\n");
    let message = "flow[1].name = \"f#9\": wanted a name that no other flow has";
    assert_eq!(refuse(&taken, &[("flow[0].app", &poisson(""))]), message);
    let first = LINK.replace("\"f\"", "\"f#9\"") + "[[flow]]\nname = \"f\"\npath = [\"a\", \"b\"]\n";
    let message = "flow[1].name = \"f\": wanted a name that no other flow has";
    assert_eq!(refuse(&first, &[("flow[1].app", &poisson(""))]), message);
}

#[test]
fn no_two_elements_queues_or_flows_have_one_name() {
    let other_link =
        |name: &str| format!("{LINK}[[link]]\nname = \"{name}\"\nfrom = \"b\"\nto = \"c\"\nrate = \"1 Mbit/s\"\n");
    let with_ap = |text: &str, name: &str, station: &str| {
        let radio = "{ kind = \"constant\", rate = \"1 Mbit/s\" }";
        let flow = format!("[[flow]]\nname = \"g\"\npath = [\"{name}\"]\nstation = \"{station}\"\n");
        format!("{text}[[ap]]\nname = \"{name}\"\nradio = {radio}\n{flow}")
    };
    let other_flow = |more: &str| format!("{LINK}[[flow]]\npath = [\"a\", \"b\"]\n{more}\n");
    let poisson = r#"{ kind = "poisson", rate = "5 /s", size = { kind = "constant", value = "3 kB" } }"#;
    for (text, set, message) in [
        (other_link("l"), vec![], "link[1].name = \"l\": wanted a name that no other has"),
        (other_link("l (back)"), vec![], "link[1].name: makes a second queue \"l (back)\": wanted another name"),
        (with_ap(LINK, "l", "m"), vec![], "ap[0].name = \"l\": wanted a name that no other has"),
        (
            with_ap(&other_link("x/m"), "x", "m"),
            vec![],
            "ap[0].name: makes a second queue \"x/m\": wanted another name",
        ),
        (
            with_ap(&other_link("x (up)/m"), "x", "m"),
            vec![("ap[0].uplink.radio", r#"{ kind = "constant", rate = "1 Mbit/s" }"#)],
            "ap[0].name: makes a second queue \"x (up)/m\": wanted another name",
        ),
        (with_ap(WLAN, "w", "m"), vec![], "wlan[0].name = \"w\": wanted a name that no other has"),
        (other_flow("name = \"f\""), vec![], "flow[1].name = \"f\": wanted a name that no other flow has"),
        (
            other_flow("name = \"f-2\""),
            vec![("flow[0].count", "2")],
            "flow[1].name = \"f-2\": wanted a name that no other flow has",
        ),
        (
            other_flow("name = \"f\"\ncount = 2"),
            vec![("flow[0].name", "f-1")],
            "flow[1].name = \"f\": wanted another name: it makes a second flow \"f-1\"",
        ),
        (
            other_flow("name = \"f#1\""),
            vec![("flow[0].app", poisson)],
            "flow[1].name = \"f#1\": wanted a name that no other flow has",
        ),
    ] {
        assert_eq!(refuse(&text, &set), message, "{text}");
    }
    // Names that look alike and are not.
    for fine in [other_link("l2"), other_link("l(back)"), with_ap(LINK, "ap", "l"), other_flow("name = \"f-2\"")] {
        crate::outcome(&fine, &[]).unwrap();
    }
}

#[test]
fn a_receiver_that_hears_of_no_price_is_noted() {
    let notes = |receiver: &str, price: &str| {
        let set = [("flow[0].receiver", receiver), ("link[0].price", price)];
        crate::outcome(LINK, &set[..if price.is_empty() { 1 } else { 2 }]).unwrap().summary.notes
    };
    let clamp = "{ kind = \"clamp\", tau = \"500 B\" }";
    let kernel = "{ kind = \"clamp-kernel\", tau = \"500 B\" }";
    for (receiver, price, note) in [
        (clamp, "", Some("\"clamp\" is told nothing: no queue on its way has a price of CLAMP")),
        (kernel, "share", Some("\"clamp-kernel\" is told nothing: no queue on its way has a price of CLAMP")),
        ("share", "", Some("\"share\" is told nothing: no queue on its way has price = \"share\"")),
        (clamp, "{ kind = \"linear\", a = \"6.5 kB\" }", None),
        (kernel, "{ kind = \"smooth\", a = \"6.5 kB\" }", None),
        ("share", "share", None),
        ("plain", "", None),
    ] {
        let wanted: Vec<_> = note.iter().map(|note| format!("flow[0].receiver: {note}")).collect();
        assert_eq!(notes(receiver, price), wanted, "{receiver}, {price}");
    }
}

#[test]
fn a_flow_that_starts_after_the_end_is_noted() {
    let notes = |set: &[(&str, &str)]| crate::outcome(LINK, set).unwrap().summary.notes;
    assert_eq!(notes(&[]), [""; 0]);
    assert_eq!(
        notes(&[("flow[0].count", "4"), ("flow[0].stagger", "1500 ms")]),
        ["flow \"f-3\" (start 3 s) and 1 more: no part in the run, which ends at 3 s"]
    );
}
