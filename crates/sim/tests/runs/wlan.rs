// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows over a contention WLAN.

use crate::{DOWNLOAD as DOWN, figures, refuse, run};
use lasthop_sim::{QueueSummary, Summary};

fn queue<'s>(summary: &'s Summary, name: &str) -> &'s QueueSummary {
    summary.queues.iter().find(|queue| queue.name == name).unwrap()
}

#[test]
fn a_single_packet_takes_as_long_as_a_pencil_says() {
    // No wire. Data of 1340 B: 192 + 8 · 1368/11 = 1186.909 µs. Its acknowledgement comes at once, and waits for the end
    // of the MAC's ACK (314 µs), a DIFS (50 µs) and up to 31 slots; then 192 + 8 · 68/11 = 241.455 µs. 1792.4 µs and the
    // back-off.
    let one = [
        ("flow[0].app.kind", "fixed"),
        ("flow[0].app.size", "1300 B"),
        ("flow[0].rtt", "0 s"),
        ("warmup", "0 s"),
        ("flow[0].sender.handshake", "false"),
    ];
    for turned in [DOWN.to_owned(), DOWN.replace("station", "source")] {
        let finish_us = run(&turned, &one).flows[0].finish_s.unwrap() * 1e6;
        let slots = (finish_us - (1186.909 + 314.0 + 50.0 + 241.455)) / 20.0;
        assert!((slots - slots.round()).abs() < 1e-3 && (0.0..=31.0).contains(&slots.round()), "{slots}");
    }
}

#[test]
fn acknowledgements_contend_with_data() {
    let down = run(DOWN, &[]);
    // Without acknowledgements a packet takes 1500.9 + 50 + 310 µs on the mean: 5.6 Mbit/s of payload. With another
    // exchange for each, about 4.
    assert!((3.8e6..4.15e6).contains(&down.flows[0].goodput_bps), "{}", down.flows[0].goodput_bps);
    let (base, station) = (queue(&down, "wlan"), queue(&down, "wlan/m1"));
    // 40 B against 1340 B, and nearly as many of them: less those that a full queue turns away.
    let ratio = station.throughput_bps / base.throughput_bps;
    assert!((0.9..=1.0).contains(&(ratio * 1340.0 / 40.0)), "{ratio}");
    // Exchanges of 1500.9 and 555.5 µs.
    let airtimes = base.utilisation.unwrap() / station.utilisation.unwrap();
    assert!((airtimes / (1500.9 / 555.5) - 1.0).abs() < 0.1, "{airtimes}");
    assert_eq!((base.capacity_bps, station.capacity_bps), (None, None));
}

#[test]
fn up_and_down_are_alike_for_one_flow() {
    let (down, up) = (run(DOWN, &[]), run(&DOWN.replace("station", "source"), &[]));
    assert!((up.flows[0].goodput_bps / down.flows[0].goodput_bps - 1.0).abs() < 0.03);
    assert!(queue(&up, "wlan/m1").throughput_bps > 20.0 * queue(&up, "wlan").throughput_bps);
    // The least round trip: 40 ms of wire, and the two exchanges.
    for summary in [&up, &down] {
        assert!(summary.flows[0].mean_rtt_s.unwrap() > 0.041);
    }
}

#[test]
fn a_flow_from_station_to_station_crosses_the_medium_twice() {
    let both = DOWN.replace("station = \"m1\"", "source = \"m1\"\n    station = \"m2\"");
    let relayed = run(&both, &[]);
    let ratio = relayed.flows[0].goodput_bps / run(DOWN, &[]).flows[0].goodput_bps;
    assert!((0.4..0.6).contains(&ratio), "{ratio}");
    let same_path = run(&both.replace("rtt =", "path = [\"wlan\"]\n    rtt ="), &[]);
    assert_eq!(figures(&relayed), figures(&same_path));
}

#[test]
fn links_lead_to_and_from_a_wlan_and_an_access_point_may_follow() {
    let link = r#"
    [[link]]
    name = "wire"
    from = "server"
    to = "wlan"
    rate = "2 Mbit/s"
    delay = "20 ms"
    queue = { limit = "50 packets" }
    [[ap]]
    name = "ap"
    radio = { kind = "constant", rate = "1 Mbit/s" }
    queue = { limit = "50 packets" }
    station = [{ name = "a1" }]
    [[link]]
    name = "far"
    from = "server"
    to = "ap"
    rate = "100 Mbit/s"
"#;
    let with = |path: &str, ends: &str| {
        let text = DOWN.replace("station = \"m1\"", &format!("{ends}\n    path = {path}"));
        run(&format!("{text}{link}"), &[]).flows[0].goodput_bps
    };
    // 1300 of 1340 B at 2 Mbit/s: 1.94 Mbit/s; over the access point half of that, and up to a buffer more, as what came
    // behind a loss before the measured time is delivered within it: 50 packets in 16 s, 3 %.
    let down = with(r#"["server", "wlan"]"#, "station = \"m1\"");
    let up = with(r#"["wlan", "server"]"#, "source = \"m1\"");
    let on = with(r#"["wlan", "server", "ap"]"#, "source = \"m1\"\n    station = \"a1\"");
    assert!((1.9e6..1.941e6).contains(&down), "{down}");
    assert!((1.9e6..1.941e6).contains(&up), "{up}");
    assert!((0.95e6..1e6).contains(&on), "{on}");
}

#[test]
fn a_probe_changes_nothing() {
    let lossy = [("wlan[0].loss.kind", "bernoulli"), ("wlan[0].loss.p", "0.01")];
    let probed = [lossy[0], lossy[1], ("probe.every", "3 ms")];
    assert_eq!(figures(&run(DOWN, &lossy)), figures(&run(DOWN, &probed)));
}

#[test]
fn every_key_moves_something() {
    let two = format!("{DOWN}    [[flow]]\n    name = \"up\"\n    source = \"m2\"\n    rtt = \"60 ms\"\n");
    let usual = [
        ("duration", "6 s"),
        ("wlan[0].rts_threshold", "1000 B"),
        ("wlan[0].frame_errors", r#"{ kind = "bernoulli", p = 0.2 }"#),
    ];
    let with = |key, value| figures(&run(&two, &[usual[0], usual[1], usual[2], (key, value)]));
    let before = figures(&run(&two, &usual));
    let (on, off) = (r#"{ kind = "bernoulli", p = 0.02 }"#, r#"{ kind = "bernoulli", p = 0.0 }"#);
    for (key, value) in [
        ("rate", "5.5 Mbit/s"),
        ("rate_steps", r#"[{ at = "5 s", rate = "2 Mbit/s" }]"#),
        ("control_rate", "2 Mbit/s"),
        ("rts_threshold", "2000 B"),
        ("slot", "9 us"),
        ("sifs", "16 us"),
        ("difs", "70 us"),
        ("preamble", "96 us"),
        ("cw_min", "15"),
        ("cw_max", "63"),
        ("short_attempts", "1"),
        ("long_attempts", "2"),
        ("queue.limit", "20 packets"),
        ("price", r#"{ kind = "linear", a = "6.5 kB" }"#),
        ("loss", on),
        ("frame_errors", off),
        ("station", r#"[{ name = "m1", rate = "2 Mbit/s" }, { name = "m2" }]"#),
        (
            "station",
            r#"[{ name = "m1", rate = "11 Mbit/s", rate_steps = [{ at = "5 s", rate = "1 Mbit/s" }] }, { name = "m2" }]"#,
        ),
        ("station", r#"[{ name = "m1" }, { name = "m2", queue = { limit = "5 packets" } }]"#),
        ("station", r#"[{ name = "m1", loss = { kind = "bernoulli", p = 0.02 } }, { name = "m2" }]"#),
        ("station", r#"[{ name = "m1", frame_errors = { kind = "bernoulli", p = 0.0 } }, { name = "m2" }]"#),
    ] {
        // A price moves nothing but CLAMP's receivers; those of the data that a station sends, its own.
        let clamp = [("flow[*].receiver.kind", "clamp"), ("flow[*].receiver.tau", "500 B")];
        let moved = if key == "price" {
            let unpriced = run(&two, &clamp);
            figures(&unpriced) != figures(&run(&two, &[clamp[0], clamp[1], ("wlan[0].price", value)]))
        } else {
            with(format!("wlan[0].{key}").leak(), value) != before
        };
        assert!(moved, "{key} = {value}");
    }
    let clamp = [
        ("flow[*].receiver.kind", "clamp"),
        ("flow[*].receiver.tau", "500 B"),
        ("wlan[0].station", r#"[{ name = "m1" }, { name = "m2", price = { kind = "linear", a = "6.5 kB" } }]"#),
    ];
    assert_ne!(figures(&run(&two, &clamp)), figures(&run(&two, &clamp[..2])), "price of a station");
}

#[test]
fn a_rate_that_steps_is_followed() {
    // One flow down: 4 Mbit/s at 11, and at 1 Mbit/s an exchange takes 192 + 8 · 1368 µs and more: below 0.9 Mbit/s.
    let steps = [("wlan[0].rate_steps", r#"[{ at = "4 s", rate = "1 Mbit/s" }, { at = "12 s", rate = "11 Mbit/s" }]"#)];
    let goodput = |end| run(DOWN, &[steps[0], ("duration", end)]).flows[0].goodput_bps;
    let (slow, both) = (goodput("12 s"), goodput("20 s"));
    assert!((0.7e6..0.9e6).contains(&slow), "{slow}");
    // Half the time slow, half fast.
    assert!((1.9e6..2.5e6).contains(&both), "{both}");
}

#[test]
fn mistakes_are_named_in_one_line() {
    let path = |path: &str, ends: &str| refuse(&DOWN.replace("station = \"m1\"", ends), &[("flow[0].path", path)]);
    assert_eq!(
        path(r#"["a", "b"]"#, "station = \"m1\""),
        "flow[0].path: ends at \"b\": wanted the name of an access point or WLAN, as there is a station"
    );
    assert_eq!(
        path(r#"["a", "b"]"#, "source = \"m1\""),
        "flow[0].path: starts at \"a\": wanted the name of a WLAN, as there is a source"
    );
    assert_eq!(path(r#"["a", "wlan"]"#, ""), "flow[0].station: missing: the path ends at the WLAN \"wlan\"");
    assert_eq!(path(r#"["wlan", "a"]"#, ""), "flow[0].source: missing: the path starts at the WLAN \"wlan\"");
    assert_eq!(refuse(DOWN, &[("wlan[0].cw_max", "3")]), "wlan[0].cw_max = 3: wanted at least cw_min");
    assert!(refuse(DOWN, &[("wlan[0].slots", "3")]).starts_with("wlan[0].slots: unknown key `slots`"));
    let steps = |steps| refuse(DOWN, &[("wlan[0].rate_steps", steps)]);
    assert_eq!(steps(r#"[{ at = "0 s", rate = "1 Mbit/s" }]"#), "wlan[0].rate_steps[0].at = 0 s: wanted more than 0 s");
    assert_eq!(
        steps(r#"[{ at = "3 s", rate = "1 Mbit/s" }, { at = "2 s", rate = "1 Mbit/s" }]"#),
        "wlan[0].rate_steps[1].at = 2 s: wanted more than that of the step before"
    );
    assert_eq!(
        steps(r#"[{ at = "3 s", rate = "0 Mbit/s" }]"#),
        "wlan[0].rate_steps[0].rate = 0 bit/s: wanted more than 0 bit/s"
    );
    assert_eq!(steps(r#"{ at = "3 s" }"#), "wlan[0].rate_steps: wanted a list, not a table");
    // Where stations are listed, a mistyped one is no new one.
    assert_eq!(
        refuse(DOWN, &[("wlan[0].station", r#"[{ name = "m2" }, { name = "m3" }]"#)]),
        "flow[0].station = \"m1\": wanted one of the stations of the WLAN \"wlan\": \"m2\", \"m3\""
    );
    let own = [("wlan[0].station", r#"[{ name = "m1", rate_steps = [{ at = "1 s", rate = "1 Mbit/s" }] }]"#)];
    assert_eq!(refuse(DOWN, &own), "wlan[0].station[0].rate = none by default: wanted a rate, as there are rate steps");
    let twice =
        format!("{DOWN}    [[ap]]\n    name = \"wlan\"\n    radio = {{ kind = \"constant\", rate = \"1 Mbit/s\" }}\n");
    assert_eq!(refuse(&twice, &[]), "wlan[0].name = \"wlan\": wanted a name that no other has");
    let elsewhere = DOWN.replace("[[wlan]]", "[[ap]]\n    radio = { kind = \"constant\", rate = \"1 Mbit/s\" }");
    let source = elsewhere.replace("station", "source");
    assert_eq!(refuse(&source, &[]), "flow[0].source: there is no [[wlan]] that it could belong to");
}
