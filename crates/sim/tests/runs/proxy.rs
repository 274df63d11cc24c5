// SPDX-License-Identifier: MIT OR Apache-2.0
//! The proxy's laws, in integers as the agent's programs have them. What is wanted of it was measured on kernels.

use lasthop_sim::Summary;

use crate::{figures, outcome, refuse, run};

/// A download by a sender of Linux, 10 ms between access point and station included.
pub(super) const DOWNLOAD: &str = r#"
    duration = "40 s"
    warmup = "10 s"
    [[ap]]
    name = "ap"
    delay = "5 ms"
    radio = { kind = "constant", rate = "10 Mbit/s" }
    queue = { limit = "1.5 MB" }
    proxy = "share-kernel"
    [[flow]]
    name = "near"
    station = "m"
    rtt = "30 ms"
    sender = "linux-cubic"
    receiver = "linux"
"#;
const QDISC: (&str, &str) = ("ap[0].proxy", r#"{ kind = "share-kernel", queue = "qdisc" }"#);

/// The same with three more, from 10 to 180 ms.
pub(super) fn mixed() -> String {
    let more = [("middle", 130), ("nearest", 10), ("far", 180)].map(|(name, rtt)| {
        format!(
            "[[flow]]\nname = \"{name}\"\nstation = \"m\"\nrtt = \"{rtt} ms\"\nstart = \"100 ms\"\n\
            sender = \"linux-cubic\"\nreceiver = \"linux\"\n"
        )
    });
    DOWNLOAD.to_owned() + &more.concat()
}

/// Goodput of all \[Mbit/s\], and the mean delay in the queue \[ms\].
pub(super) fn found(summary: &Summary) -> (f64, f64) {
    let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    (goodput * 1e-6, summary.queues[0].mean_delay_s.unwrap() * 1e3)
}

#[test]
fn the_share_proxy_holds_its_queue_seen_or_hidden() {
    for rtt in [20.0, 40.0, 100.0] {
        for set in [None, Some(QDISC)] {
            let rtt_ms = format!("{rtt} ms");
            let set: Vec<_> = set.into_iter().chain([("flow[0].rtt", rtt_ms.as_str())]).collect();
            let summary = run(DOWNLOAD, &set);
            let (goodput, delay_ms) = found(&summary);
            // T − (1 − g)d/(1 + κ), κ = θ/(θ + d).
            let path_ms = rtt + 10.0;
            let wanted_ms = 25.0 - 0.12 * path_ms / (1.0 + 50.0 / (50.0 + path_ms));
            assert!(goodput > 9.4 && (-1.0..2.5).contains(&(delay_ms - wanted_ms)), "{set:?}: {goodput}, {delay_ms}");
            assert_eq!(summary.queues[0].drops, 0);
        }
    }
    let (mixed, hidden) = (mixed(), ("ap[0].delay", "5 ms"));
    for set in [hidden, QDISC] {
        let summary = run(&mixed, &[set]);
        let ((goodput, delay_ms), jain) = (found(&summary), summary.fairness.jain.unwrap());
        assert!(goodput > 9.3 && delay_ms < 23.0 && jain > 0.99, "{set:?}: {goodput}, {delay_ms}, {jain}");
    }
}

#[test]
fn a_queue_is_found_from_acknowledgements_wherever_the_proxy_stands_before_it() {
    // All of the path behind the proxy.
    let (goodput, delay_ms) = found(&run(DOWNLOAD, &[("ap[0].delay", "25 ms"), ("flow[0].rtt", "0 s")]));
    assert!(goodput > 9.4 && (20.7..24.2).contains(&delay_ms), "{goodput}, {delay_ms}");
}

/// The station window at the proxy.
const STATION: (&str, &str) = ("ap[0].proxy", "\"station\"");
/// The same in integers.
const SEATS: (&str, &str) = ("ap[0].proxy", "\"station-kernel\"");
/// A minute to settle and another one to be looked at.
const LONG: [(&str, &str); 2] = [("duration", "120 s"), ("warmup", "60 s")];

#[test]
fn the_station_windows_proxy_holds_a_queue_that_it_does_not_see() {
    for law in [STATION, SEATS] {
        for (rtt, wanted_ms) in [("20 ms", 17.8), ("40 ms", 17.0), ("100 ms", 17.0)] {
            let (goodput, delay_ms) = found(&run(DOWNLOAD, &[law, LONG[0], LONG[1], ("flow[0].rtt", rtt)]));
            // T − min(.3 d, 10 ms)/(1 + κ). A queue whose minimum was taken for a part of the path would go on growing.
            let is_held = goodput > 9.4 && (-1.5..3.0).contains(&(delay_ms - wanted_ms));
            assert!(is_held, "{law:?} {rtt}: {goodput}, {delay_ms}");
        }
        let summary = run(&mixed(), &[law, LONG[0], LONG[1]]);
        let ((goodput, delay_ms), jain) = (found(&summary), summary.fairness.jain.unwrap());
        assert!(goodput > 9.3 && delay_ms < 25.0 && jain > 0.985, "{law:?}: {goodput}, {delay_ms}, {jain}");
        assert_eq!(summary.queues[0].drops, 0);
    }
}

#[test]
fn flows_of_unlike_paths_have_even_shares() {
    let mixed = mixed();
    let receiver = ("flow[*].receiver", "{ kind = \"plain\", ack_every = 2 }");
    for set in [("ap[0].delay", "5 ms"), QDISC, receiver] {
        let jain = run(&mixed, &[set]).fairness.jain.unwrap();
        assert!(jain > 0.998, "{set:?}: {jain}");
        // Windows of two to nine segments.
        let many = [set, ("flow[*].count", "4"), ("flow[*].stagger", "0.1 s")];
        let jain = run(&mixed, &many).fairness.jain.unwrap();
        assert!(jain > 0.994, "{set:?}: {jain}");
    }
}

#[test]
fn flows_that_have_little_to_send_leave_the_line_to_a_download() {
    let thin = "[[flow]]\nname = \"thin\"\nstation = \"m\"\nrtt = \"40 ms\"\ncount = 20\nspread = \"1 s\"\nsender = \"linux-cubic\"\n\
        receiver = \"linux\"\napp = { kind = \"cbr\", rate = \"20 kbit/s\" }\n";
    let text = DOWNLOAD.to_owned() + thin;
    for law in [
        "kind = \"share-kernel\"",
        "kind = \"share-kernel\", queue = \"qdisc\"",
        "kind = \"station\"",
        "kind = \"station-kernel\"",
    ] {
        for count in ["1", "20", "60"] {
            let proxy = format!("{{ {law}, target = \"20 ms\" }}");
            let summary = run(&text, &[("ap[0].proxy", &proxy), ("flow[1].count", count)]);
            let utilisation = summary.queues[0].utilisation.unwrap();
            let (_, delay_ms) = found(&summary);
            assert!(utilisation > 0.95 && delay_ms < 26.0, "{law} {count}: {utilisation}, {delay_ms}");
            // They get what they want.
            let thin = summary.flows[1..].iter().map(|flow| flow.goodput_bps).fold(f64::INFINITY, f64::min);
            assert!(thin > 19e3, "{law} {count}: {thin}");
        }
    }
}

#[test]
fn short_downloads_leave_the_line_to_a_long_one() {
    // Twenty each second, of 1.6 Mbit/s in all, none of which is there for an epoch.
    let short = r#"
        [[flow]]
        name = "short"
        station = "m"
        count = 760
        rtt = "10 ms"
        start = "1 s"
        spread = "38 s"
        app = { kind = "fixed", size = "10 kB" }
        sender = "linux-cubic"
        receiver = "linux"
    "#;
    for set in [("ap[0].delay", "5 ms"), QDISC] {
        let summary = run(&(DOWNLOAD.to_owned() + short), &[set, ("ap[0].radio.rate", "20 Mbit/s")]);
        let (goodput, delay_ms) = found(&summary);
        assert!(goodput > 18.5 && delay_ms < 30.0, "{set:?}: {goodput}, {delay_ms}");
    }
}

#[test]
fn who_begins_to_send_more_has_its_share_within_a_round_trip_and_whoever_came_first() {
    let more = |app: &str| {
        format!(
            "[[flow]]\nname = \"more\"\nstation = \"m\"\nrtt = \"90 ms\"\ncount = 8\nstart = \"2 s\"\nsender = \"linux-cubic\"\n\
            receiver = \"linux\"\napp = {app}\n"
        )
    };
    let proxy = ("ap[0].proxy", "{ kind = \"share-kernel\", target = \"20 ms\" }");
    // Half a second each six, in step, of 1.5 times the line: granted all that the download does not need, each would wait for 200 ms.
    let bursts = "{ kind = \"on-off\", rate = \"7.5 Mbit/s\", on = \"0.5 s\", off = \"5.5 s\", exponential = false }";
    let line = [proxy, ("ap[0].radio.rate", "20 Mbit/s"), ("flow[0].rtt", "90 ms")];
    let queue = &run(&(DOWNLOAD.to_owned() + &more(bursts)), &line).queues[0];
    assert!(queue.p95_delay_s.unwrap() < 0.05 && queue.drops == 0, "{:?}", queue.p95_delay_s);
    // A fifth of the line, whether the download is there before or not.
    let streams = more("{ kind = \"cbr\", rate = \"150 kbit/s\" }");
    for start in ["0 s", "8 s"] {
        let set = [proxy, ("ap[0].radio.rate", "6 Mbit/s"), ("flow[0].start", start), ("warmup", "15 s")];
        let utilisation = run(&(DOWNLOAD.to_owned() + &streams), &set).queues[0].utilisation.unwrap();
        assert!(utilisation > 0.9, "{start}: {utilisation}");
    }
}

/// Four downloads 40 ms away.
const FOUR: [(&str, &str); 2] = [("flow[0].count", "4"), ("flow[0].stagger", "0.1 s")];

#[test]
fn what_receivers_hold_back_is_not_taken_for_a_queue() {
    for law in ["share-kernel", "station", "station-kernel"] {
        for receiver in ["\"linux\"", "{ kind = \"plain\", ack_every = 2 }"] {
            for (target, rate, least, most_ms) in
                [("10 ms", "10 Mbit/s", 0.97, 20.0), ("25 ms", "2 Mbit/s", 0.95, 50.0)]
            {
                let proxy = format!("{{ kind = \"{law}\", target = \"{target}\" }}");
                let [count, stagger] = FOUR;
                let line = [("ap[0].proxy", &*proxy), ("ap[0].radio.rate", rate), count, stagger];
                let summary = run(DOWNLOAD, &[&line[..], &[("flow[0].receiver", receiver)]].concat());
                let queue = &summary.queues[0];
                let (utilisation, delay_ms) = (queue.utilisation.unwrap(), queue.mean_delay_s.unwrap() * 1e3);
                assert!(
                    utilisation > least && delay_ms < most_ms,
                    "{law} {receiver} {rate}: {utilisation}, {delay_ms}"
                );
            }
        }
    }
}

#[test]
fn receivers_that_acknowledge_each_at_first_do_not_leave_a_line_to_single_segments_and_their_timers() {
    for (count, rtt, rate) in [("20", "20 ms", "10 Mbit/s"), ("16", "40 ms", "5 Mbit/s")] {
        let flows = [("flow[0].count", count), ("flow[0].rtt", rtt), ("flow[0].spread", "1 s")];
        let proxy = ("ap[0].proxy", "{ kind = \"share-kernel\", target = \"10 ms\" }");
        let line = [proxy, ("ap[0].radio.rate", rate)];
        let utilisation = run(DOWNLOAD, &[&flows[..], &line].concat()).queues[0].utilisation.unwrap();
        assert!(utilisation > 0.95, "{count}: {utilisation}");
    }
}

#[test]
fn receivers_that_acknowledge_every_fourth_segment_and_far_ones_leave_nothing_of_a_line() {
    let far = [("flow[0].rtt", "300 ms"), ("duration", "45 s"), ("warmup", "10 s")];
    let fourth =
        [("flow[0].receiver", "{ kind = \"plain\", ack_every = 4 }"), ("flow[0].count", "4"), ("flow[0].rtt", "40 ms")];
    for set in [&far, &fourth] {
        let proxy = ("ap[0].proxy", "{ kind = \"share-kernel\" }");
        let queue = &run(DOWNLOAD, &[&set[..], &[proxy]].concat()).queues[0];
        let (utilisation, delay_ms) = (queue.utilisation.unwrap(), queue.mean_delay_s.unwrap() * 1e3);
        assert!(utilisation > 0.95 && delay_ms < 25.0, "{set:?}: {utilisation}, {delay_ms}");
    }
}

#[test]
fn a_line_that_windows_do_not_fill_by_themselves_is_tried_for_more() {
    // At T = 6 ms the desk's windows of 20 ms lack more of the path than the queue's room.
    let near = [("flow[0].count", "4"), ("flow[0].rtt", "20 ms"), ("duration", "60 s"), ("warmup", "8 s")];
    let proxy = ("ap[0].proxy", "{ kind = \"station-kernel\", target = \"6 ms\" }");
    let utilisation = run(DOWNLOAD, &[&near[..], &[proxy]].concat()).queues[0].utilisation.unwrap();
    assert!(utilisation > 0.78, "{utilisation}");
}

#[test]
fn many_flows_that_wait_for_timers_fill_a_slow_line_without_a_long_queue() {
    // A segment of each is held for 40 or 200 ms: two of each, always, would queue for 430 ms, and one fills .96 of the line at most.
    // Linux's timer comes to wait for up to a round trip where it has waited in vain, and not for all flows as long.
    for law in ["share-kernel", "station-kernel"] {
        for (receiver, most_ms, least) in [
            ("\"linux\"", 120.0, 0.96),
            ("{ kind = \"linux\", timer_tick = \"0 s\" }", 210.0, 0.98),
            ("{ kind = \"plain\", ack_every = 2 }", 60.0, 0.98),
        ] {
            let proxy = format!("{{ kind = \"{law}\" }}");
            let line = [("ap[0].proxy", &*proxy), ("ap[0].radio.rate", "2 Mbit/s"), ("flow[0].receiver", receiver)];
            let many = [("flow[0].count", "40"), ("flow[0].rtt", "40 ms"), ("flow[0].stagger", "25 ms")];
            let summary = run(DOWNLOAD, &[&line[..], &many[..], &[("duration", "70 s"), ("warmup", "20 s")]].concat());
            let queue = &summary.queues[0];
            let (utilisation, delay_ms) = (queue.utilisation.unwrap(), queue.mean_delay_s.unwrap() * 1e3);
            let jain = summary.fairness.jain.unwrap();
            assert!(
                utilisation > 0.97 && delay_ms < most_ms && jain > least,
                "{law} {receiver}: {utilisation}, {delay_ms}, {jain}"
            );
        }
    }
}

#[test]
fn a_target_below_what_windows_lack_of_the_path_does_not_keep_a_line_empty() {
    for rate in ["20 Mbit/s", "200 Mbit/s"] {
        for (target, flows) in [("1 ms", "1"), ("2 ms", "1"), ("2 ms", "3")] {
            let proxy = format!("{{ kind = \"station-kernel\", target = \"{target}\" }}");
            let line = [("ap[0].proxy", &*proxy), ("ap[0].radio.rate", rate), ("flow[0].receiver", "\"plain\"")];
            let near = [("flow[0].count", flows), ("flow[0].rtt", "5 ms"), ("duration", "15 s"), ("warmup", "5 s")];
            let summary = run(DOWNLOAD, &[&line[..], &near[..]].concat());
            let queue = &summary.queues[0];
            let (utilisation, delay_ms) = (queue.utilisation.unwrap(), queue.mean_delay_s.unwrap() * 1e3);
            assert!(utilisation > 0.95 && delay_ms < 5.0, "{rate} {target} {flows}: {utilisation}, {delay_ms}");
        }
    }
}

#[test]
fn a_short_target_does_not_keep_a_fast_line_empty() {
    for law in ["station", "station-kernel"] {
        for flows in ["1", "4"] {
            let proxy = format!("{{ kind = \"{law}\", target = \"5 ms\" }}");
            let line =
                [("ap[0].proxy", &*proxy), ("ap[0].radio.rate", "100 Mbit/s"), ("flow[0].receiver", "\"plain\"")];
            let summary = run(DOWNLOAD, &[&line[..], &[("flow[0].count", flows), FOUR[1]]].concat());
            let queue = &summary.queues[0];
            let (utilisation, delay_ms) = (queue.utilisation.unwrap(), queue.mean_delay_s.unwrap() * 1e3);
            assert!(utilisation > 0.97 && delay_ms < 5.0, "{law}, {flows}: {utilisation}, {delay_ms}");
        }
    }
}

#[test]
fn in_integers_it_holds_one_that_it_sees_as_well() {
    let seen = ("ap[0].proxy", r#"{ kind = "station-kernel", queue = "qdisc" }"#);
    let (goodput, delay_ms) = found(&run(DOWNLOAD, &[seen, LONG[0], LONG[1]]));
    assert!(goodput > 9.4 && (15.5..20.0).contains(&delay_ms), "{goodput}, {delay_ms}");
    // Beyond sixteen flows the others have the share window; together they hold the line as sixteen do.
    for flows in ["16", "24"] {
        let many = [seen, ("flow[0].count", flows), ("flow[0].rtt", "90 ms"), ("flow[0].stagger", "0.1 s")];
        let summary = run(DOWNLOAD, &many);
        let ((goodput, delay_ms), jain) = (found(&summary), summary.fairness.jain.unwrap());
        assert!(goodput > 9.3 && delay_ms < 40.0 && jain > 0.9, "{flows}: {goodput}, {delay_ms}, {jain}");
    }
}

#[test]
fn its_window_updates_move_flows_that_have_no_packets() {
    // One start on one trace gives a ratio of .62 to .81.
    let delay = |law: &str, clock: &str| {
        let proxy = format!("{{ kind = \"{law}\", clock = {clock} }}");
        let driving = ("ap[0].radio", r#"{ kind = "trace", file = "../../scenarios/traces/lte-driving.down" }"#);
        ["0 s", "300 ms", "700 ms", "1.3 s"]
            .map(|start| {
                let late = ("flow[0].start", start);
                let summary = run(&mixed(), &[("ap[0].proxy", &proxy), driving, late, LONG[0], ("warmup", "10 s")]);
                summary.queues[0].p95_delay_s.unwrap() / summary.queues[0].utilisation.unwrap()
            })
            .iter()
            .sum::<f64>()
    };
    for law in ["station", "station-kernel"] {
        let (with, without) = (delay(law, "true"), delay(law, "false"));
        assert!(with < 0.8 * without, "{law}: {with}, {without}");
    }
}

#[test]
fn senders_that_take_updates_for_duplicates_are_refused_beside_it() {
    for law in [STATION, SEATS] {
        let message = refuse(DOWNLOAD, &[law, ("flow[0].sender", "\"newreno\"")]);
        assert!(
            message.starts_with("flow[0].sender: takes window updates for duplicate acknowledgements"),
            "{message}"
        );
        assert!(message.ends_with(&format!("as the proxy is {}", law.1)), "{message}");
    }
}

#[test]
fn clamps_proxy_fills_the_line_though_most_of_the_path_is_before_it() {
    // Where the queue is hidden it is drained now and then, to see the path.
    for (queue, least) in [("outstanding", 9.5), ("qdisc", 9.6)] {
        let proxy = format!("{{ kind = \"clamp-kernel\", a = \"20 kB\", queue = \"{queue}\" }}");
        let (goodput, _) = found(&run(DOWNLOAD, &[("ap[0].proxy", &proxy), ("warmup", "20 s")]));
        assert!(goodput > least, "{queue}: {goodput}");
    }
}

#[test]
fn clamps_proxy_makes_shares_even_within_seconds() {
    let many = mixed() + &mixed()[mixed().find("[[flow]]").unwrap()..].replace("name = \"", "name = \"other-");
    for (text, rate, a) in
        [(mixed(), "10 Mbit/s", "29 kB"), (mixed(), "100 Mbit/s", "310 kB"), (many, "10 Mbit/s", "27 kB")]
    {
        for queue in ["outstanding", "qdisc"] {
            let proxy = format!("{{ kind = \"clamp-kernel\", a = \"{a}\", queue = \"{queue}\" }}");
            let set = [("ap[0].proxy", proxy.as_str()), ("ap[0].radio.rate", rate), ("warmup", "15 s")];
            let summary = run(&text, &set);
            let (jain, used) = (summary.fairness.jain.unwrap(), summary.queues[0].utilisation.unwrap());
            assert!(jain > 0.995 && used > 0.97, "{rate} {queue}: {jain}, {used}");
        }
    }
}

#[test]
fn clamps_proxy_does_not_take_a_queue_for_the_path_in_time() {
    for (a, most_ms) in [("29 kB", 28.0), ("120 kB", 105.0)] {
        let proxy = format!("{{ kind = \"clamp-kernel\", a = \"{a}\" }}");
        let set = [("ap[0].proxy", proxy.as_str()), ("duration", "300 s"), ("warmup", "240 s")];
        let (goodput, delay_ms) = found(&run(DOWNLOAD, &set));
        // a + tau, and two segments.
        assert!(goodput > 9.5 && delay_ms < most_ms, "{a}: {goodput}, {delay_ms}");
    }
}

#[test]
fn clamps_proxy_soon_fills_what_others_have_left() {
    for queue in ["outstanding", "qdisc"] {
        let proxy = format!("{{ kind = \"clamp-kernel\", a = \"310 kB\", queue = \"{queue}\" }}");
        let leaves = ["flow[0].stop", "flow[1].stop", "flow[2].stop"].map(|key| (key, "20 s"));
        let set = [("ap[0].proxy", proxy.as_str()), ("ap[0].radio.rate", "100 Mbit/s"), ("warmup", "25 s")];
        let summary = run(&mixed(), &[&set[..], &leaves].concat());
        assert!(summary.queues[0].utilisation.unwrap() > 0.95, "{queue}: {:?}", summary.queues[0]);
    }
}

#[test]
fn receivers_that_wait_for_many_segments_do_not_make_the_line_seem_slow() {
    for queue in ["outstanding", "qdisc"] {
        for law in ["share-kernel\"", "clamp-kernel\", a = \"29 kB\"", "station-kernel\""] {
            for (every, timer) in [("4", "200 ms"), ("8", "100 ms"), ("16", "100 ms")] {
                let proxy = format!("{{ kind = \"{law}, queue = \"{queue}\" }}");
                let receiver = format!("{{ kind = \"plain\", ack_every = {every}, ack_timeout = \"{timer}\" }}");
                let [count, stagger] = FOUR;
                let set = [("ap[0].proxy", &*proxy), count, stagger, ("flow[0].receiver", &*receiver)];
                let summary = run(DOWNLOAD, &[&set[..], &[("duration", "40 s"), ("warmup", "10 s")]].concat());
                let (queue, jain) = (&summary.queues[0], summary.fairness.jain.unwrap());
                let (utilisation, delay_ms) = (queue.utilisation.unwrap(), queue.mean_delay_s.unwrap() * 1e3);
                assert!(
                    utilisation > 0.85 && delay_ms < 60.0 && jain > 0.97,
                    "{proxy} {receiver}: {utilisation} {delay_ms} {jain}"
                );
            }
        }
    }
}

/// The download with a receiver that waits for so many segments, or for its timer, beside a law over a queue.
fn waiting(law: &str, queue: &str, (every, timer): (&str, &str), set: &[(&str, &str)]) -> Summary {
    let proxy = format!("{{ kind = \"{law}, queue = \"{queue}\" }}");
    let receiver = format!("{{ kind = \"plain\", ack_every = {every}, ack_timeout = \"{timer}\" }}");
    run(DOWNLOAD, &[&[("ap[0].proxy", &*proxy), ("flow[0].receiver", &*receiver)], set].concat())
}

#[test]
fn many_receivers_that_wait_for_many_segments_do_not_hide_the_queue() {
    // Each has less than it waits for, and the queue is seen from ACKs of others alone.
    let many = [("flow[0].count", "16"), ("flow[0].stagger", "100 ms"), ("duration", "60 s"), ("warmup", "20 s")];
    for law in ["share-kernel\"", "clamp-kernel\", a = \"29 kB\"", "station-kernel\""] {
        let summary = waiting(law, "outstanding", ("8", "200 ms"), &many);
        let (utilisation, (_, delay_ms)) = (summary.queues[0].utilisation.unwrap(), found(&summary));
        assert!(utilisation > 0.93 && delay_ms < 60.0, "{law}: {utilisation} {delay_ms}");
    }
}

#[test]
fn a_far_receiver_that_waits_for_many_segments_hides_no_queue_of_a_near_one() {
    // Until the far path is known, what is on its way there seems to have arrived.
    let two = r#"[{ name = "near", station = "m", rtt = "10 ms", sender = "linux-cubic", receiver = { kind = "plain", ack_every = 1 },
          sink = { delay = "40 ms" } },
        { name = "far", station = "m", rtt = "80 ms", sender = "linux-cubic", sink = { delay = "15 ms" },
          receiver = { kind = "plain", ack_every = 8, ack_timeout = "100 ms" } }]"#;
    for (rate, most_ms) in [("20 Mbit/s", 25.0), ("50 Mbit/s", 22.0), ("100 Mbit/s", 22.0)] {
        let summary = run(DOWNLOAD, &[("flow", two), ("ap[0].radio.rate", rate), ("ap[0].queue.limit", "8 MB")]);
        let (utilisation, (_, delay_ms)) = (summary.queues[0].utilisation.unwrap(), found(&summary));
        assert!(utilisation > 0.95 && delay_ms < most_ms, "{rate}: {utilisation} {delay_ms}");
    }
}

#[test]
fn a_slow_line_is_not_taken_for_a_fast_one_by_a_receiver_that_waits_for_many_segments() {
    // What it waits for takes it 190 ms; windows of fewer, its timer.
    let line = [("ap[0].radio.rate", "1 Mbit/s"), ("duration", "60 s"), ("warmup", "20 s")];
    for law in ["share-kernel\"", "station-kernel\""] {
        let summary = waiting(law, "outstanding", ("16", "200 ms"), &line);
        let (utilisation, (_, delay_ms)) = (summary.queues[0].utilisation.unwrap(), found(&summary));
        assert!(utilisation > 0.93 && delay_ms < 400.0, "{law}: {utilisation} {delay_ms}");
    }
}

#[test]
fn a_far_receiver_that_waits_for_many_segments_soon_has_the_line() {
    // Its first windows are less than it waits for, or a few segments more, which are told a round trip later.
    for queue in ["outstanding", "qdisc"] {
        for law in ["share-kernel\"", "clamp-kernel\", a = \"29 kB\"", "station-kernel\""] {
            for (rate, rtt, every) in
                [("10 Mbit/s", "110 ms", "6"), ("20 Mbit/s", "120 ms", "10"), ("40 Mbit/s", "90 ms", "16")]
            {
                let line = [("ap[0].radio.rate", rate), ("flow[0].rtt", rtt)];
                let utilisation = waiting(law, queue, (every, "200 ms"), &line).queues[0].utilisation.unwrap();
                assert!(utilisation > 0.95, "{law} {queue} {rate} {every}: {utilisation}");
            }
        }
    }
}

#[test]
fn a_drain_lasts_no_longer_for_a_queue_elsewhere() {
    // A buffer at a slow server's, which fills, until a round trip through it takes more than a second.
    for proxy in ["\"share-kernel\"", "{ kind = \"clamp-kernel\", a = \"29 kB\" }"] {
        let paths = [("flow[0].rtt", "40 ms"), ("flow[1].rtt", "20 ms"), ("flow[3].rtt", "100 ms")];
        let set = [("ap[0].proxy", proxy), ("flow[0].access", "1 Mbit/s"), ("duration", "200 s"), ("warmup", "100 s")];
        let summary = run(&mixed(), &[&set[..], &paths].concat());
        assert!(summary.queues[0].utilisation.unwrap() > 0.97, "{proxy}: {:?}", summary.queues[0]);
    }
}

#[test]
fn clamps_proxy_leaves_to_others_what_a_slow_server_does_not_take() {
    for queue in ["outstanding", "qdisc"] {
        let proxy = format!("{{ kind = \"clamp-kernel\", a = \"29 kB\", queue = \"{queue}\" }}");
        let set = [("ap[0].proxy", proxy.as_str()), ("flow[0].access", "1 Mbit/s")];
        let summary = run(&mixed(), &set);
        let goodput = summary.flows.iter().map(|flow| flow.goodput_bps * 1e-6).collect::<Vec<_>>();
        assert!(goodput[0] > 0.93 && goodput[1..].iter().all(|mbps| (2.6..3.1).contains(mbps)), "{queue}: {goodput:?}");
    }
}

#[test]
fn each_key_of_theirs_tells() {
    let base = figures(&run(DOWNLOAD, &[]));
    let clamp = |keys: &str| ("ap[0].proxy", format!("{{ kind = \"clamp-kernel\", {keys} }}"));
    let share = |keys: &str| ("ap[0].proxy", format!("{{ kind = \"share-kernel\", {keys} }}"));
    let (first, sets) = (
        clamp(r#"a = "20 kB""#),
        [share(r#"target = "10 ms""#), clamp(r#"a = "10 kB""#), clamp(r#"a = "20 kB", tau = "1 kB""#)],
    );
    let mut seen = vec![base, figures(&run(DOWNLOAD, &[(first.0, &first.1)]))];
    let station = |keys: &str| ("ap[0].proxy", format!("{{ kind = \"station\"{keys} }}"));
    let seats = |keys: &str| ("ap[0].proxy", format!("{{ kind = \"station-kernel\"{keys} }}"));
    let sets = sets.into_iter().chain([station(""), station(r#", target = "40 ms""#)]);
    let sets = sets.chain([seats(""), seats(r#", target = "40 ms""#), seats(r#", queue = "qdisc""#)]);
    for (key, value) in sets {
        let found = figures(&run(DOWNLOAD, &[(key, &value)]));
        assert!(!seen.contains(&found), "{value}");
        seen.push(found);
    }
    let long = share(r#"target = "61 s""#);
    assert!(refuse(DOWNLOAD, &[(long.0, &long.1)]).starts_with("ap[0].proxy.target = 61 s: wanted"), "{long:?}");
    assert!(outcome(DOWNLOAD, &[("ap[0].proxy", "\"none\"")]).is_err());
}
