// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rate-based flows among others: fair, smoother, measured like TCP.

use lasthop_sim::Point;
use lasthop_sim::table::Column;
use lasthop_sim::{FlowSummary, Outcome};

/// A dumbbell of 10 Mbit/s and 100 ms, its buffer one bandwidth-delay product, and two flows.
const DUMBBELL: &str = crate::dumbbell!(
    r#"
        duration = "200 s"
        warmup = "20 s"
    "#,
    r#"
        rate = "10 Mbit/s"
        delay = "10 ms"
        queue = { limit = "84 packets" }
    "#,
    r#"
        name = "tcp"
        rtt = "80 ms"
        access = "100 Mbit/s"
        jitter = "0.1 ms"
        sender = { kind = "newreno", rto_min = "200 ms" }
    "#,
    r#"
        name = "tfrc"
        rtt = "80 ms"
        access = "100 Mbit/s"
        jitter = "0.1 ms"
        sender = { kind = "tfrc" }
        start = "50 ms"
    "#
);

fn run(more: &[(&str, &str)]) -> Result<Outcome, String> {
    crate::outcome(DUMBBELL, more)
}

fn flows(more: &[(&str, &str)]) -> Vec<FlowSummary> {
    run(more).unwrap().summary.flows
}

#[test]
fn it_shares_with_newreno_and_is_smoother() {
    let (mut ratios, mut smoother) = (vec![], 0);
    for seed in ["1", "2", "3"] {
        let flows = flows(&[("seed", seed)]);
        ratios.push(flows[1].goodput_bps / flows[0].goodput_bps);
        smoother += i32::from(flows[1].cov < flows[0].cov);
        let sum = flows[0].goodput_bps + flows[1].goodput_bps;
        assert!(sum < 10e6 * 1460.0 / 1500.0 && sum > 9.5e6, "{sum}");
    }
    assert!(ratios.iter().all(|ratio| (0.5..2.0).contains(ratio)), "{ratios:?}");
    assert_eq!(smoother, 3);
}

#[test]
fn it_is_measured_like_tcp_where_that_means_something() {
    let flow = &flows(&[])[1];
    assert_eq!((&*flow.sender, flow.receiver, flow.retransmits), ("tfrc", "tfrc", 0));
    assert!(flow.mean_cwnd_bytes.is_none() && flow.mean_awnd_bytes.is_none() && flow.finish_s.is_none());
    // The round trip is 100 ms and up to 84 packets of 1.2 ms.
    let rtt = flow.mean_rtt_s.unwrap();
    assert!((0.1..0.202).contains(&rtt), "{rtt}");
    // 40 of 1500 bytes are headers; nothing is sent twice, but what is lost was sent in vain: less than one in a hundred.
    let overhead = flow.overhead.unwrap();
    assert!((0.0..0.01).contains(&(overhead - 40.0 / 1500.0)), "{overhead}");
    assert!((flow.delivered_bytes as f64 * 8.0 / 180.0 / flow.goodput_bps - 1.0).abs() < 1e-12);
}

#[test]
fn an_application_at_a_constant_rate_gets_that_rate() {
    let app = "{ kind = \"cbr\", rate = \"1168 kbit/s\" }";
    let flow = &flows(&[("flow[tfrc].app", app), ("flow[tcp].start", "199 s")])[1];
    // 1168 kbit/s are 100 packets of 1460 B a second: the same number in each second, and nothing but the path.
    assert!((flow.goodput_bps / 1.168e6 - 1.0).abs() < 0.01, "{}", flow.goodput_bps);
    assert!(flow.cov.unwrap() < 0.01, "{:?}", flow.cov);
    let rtt = flow.mean_rtt_s.unwrap();
    assert!((0.1..0.105).contains(&rtt), "{rtt}");
}

#[test]
fn it_starts_and_stops() {
    let stopped = &flows(&[("flow[tfrc].stop", "110 s")])[1];
    let whole = &flows(&[])[1];
    // Half of the measured time.
    let share = stopped.delivered_bytes as f64 / whole.delivered_bytes as f64;
    assert!((0.3..0.7).contains(&share), "{share}");
    let bursts = "{ kind = \"on-off\", rate = \"2 Mbit/s\", on = \"1 s\", off = \"2 s\" }";
    let flow = &flows(&[("flow[tfrc].app", bursts)])[1];
    // A third of 2 Mbit/s, in 60 bursts of exponential length.
    assert!((0.45e6..0.9e6).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
}

#[test]
fn a_receiver_with_a_window_is_refused() {
    for (receiver, message) in [
        (
            "{ kind = \"clamp\", tau = \"500 B\" }",
            "flow[1].receiver: \"clamp\": wanted \"plain\" alone, as the sender \"tfrc\" has no window",
        ),
        (
            "{ kind = \"plain\", buffer = \"10 kB\" }",
            "flow[1].receiver: a buffer, delayed ACKs or their size: wanted \"plain\" alone, as the sender \"tfrc\" has no window",
        ),
    ] {
        assert_eq!(run(&[("flow[tfrc].receiver", receiver)]).unwrap_err(), message);
    }
    assert_eq!(
        run(&[("flow[tfrc].sender.burst", "0")]).unwrap_err(),
        "flow[1].sender.burst = 0: wanted from 1 to 4294967295"
    );
    let unknown = run(&[("flow[tfrc].sender.sack", "true")]).unwrap_err();
    assert!(unknown.starts_with("flow[1].sender.sack: unknown key `sack`"), "{unknown}");
}

#[test]
fn every_key_reaches_the_flow() {
    let short = [("duration", "40 s"), ("flow[tcp].start", "10 s")];
    let outcome = |more: &[(&str, &str)]| format!("{:?}", flows(&[&short, more].concat())[1]);
    let reference = outcome(&[]);
    for (key, value) in [
        ("rtt_memory", "0.5"),
        ("rto_factor", "1.0"),
        ("initial_rate", "\"3 Mbit/s\""),
        ("discounting", "false"),
        ("discount_floor", "0.9"),
        ("damping", "true"),
    ] {
        assert!(outcome(&[(&format!("flow[tfrc].sender.{key}"), value)]) != reference, "{key} changes nothing");
    }
    // These two matter where the application pauses, and where nothing comes back.
    let app = ("flow[tfrc].app", "{ kind = \"on-off\", rate = \"20 Mbit/s\", on = \"0.1 s\", off = \"1 s\" }");
    assert!(outcome(&[app, ("flow[tfrc].sender.burst", "20")]) != outcome(&[app]), "burst changes nothing");
    let lost = [("link[0].loss", "{ kind = \"bernoulli\", p = 0.999 }"), ("duration", "400 s")];
    let backoff = [lost[0], lost[1], ("flow[tfrc].sender.max_backoff", "\"4 s\"")];
    assert!(outcome(&backoff) != outcome(&lost), "max_backoff changes nothing");
}

#[test]
fn samples_start_with_the_measured_span() {
    // At a constant rate no second differs from another, wherever the warm-up ends.
    for (warmup, sender) in [("20 s", "tfrc"), ("7.5 s", "tfrc"), ("20 s", "newreno")] {
        let more = [
            ("flow[tfrc].app", "{ kind = \"cbr\", rate = \"1168 kbit/s\" }"),
            ("flow[tcp].start", "199 s"),
            ("warmup", warmup),
            ("flow[tfrc].sender", sender),
        ];
        let cov = flows(&more)[1].cov.unwrap();
        assert!(cov < 0.02, "{warmup}, {sender}: {cov}");
    }
}

#[test]
fn a_probe_shows_what_has_come() {
    // Both shared 10 Mbit/s for 22 s: neither has stood still, and what came after the warm-up is part of it.
    let outcome = run(&[("duration", "22 s"), ("warmup", "2 s"), ("probe.every", "1 s")]).unwrap();
    let (_, table) = outcome.tables().into_iter().find(|(name, _)| *name == "flows").unwrap();
    let ints = |name: &str| match table.columns().find(|(column, _)| *column == name).unwrap().1 {
        Column::Ints(values) => values.clone(),
        Column::Floats(_) => panic!("{name} is not of whole numbers"),
    };
    let (flow, bytes) = (ints("flow"), ints("acknowledged_bytes"));
    let of_tfrc: Vec<i64> = flow.iter().zip(&bytes).filter(|(flow, _)| **flow == 1).map(|(_, bytes)| *bytes).collect();
    assert!(of_tfrc.windows(2).skip(1).all(|pair| pair[0] < pair[1]), "{of_tfrc:?}");
    let delivered = outcome.summary.flows[1].delivered_bytes as i64;
    // Samples at 2 s and at 21 s leave out the last of the 20 s.
    let sampled = of_tfrc[of_tfrc.len() - 1] - of_tfrc[2];
    assert!(sampled <= delivered && sampled > delivered * 8 / 10, "{sampled} of {delivered}");
}

#[test]
fn packets_are_captured_as_dccp() {
    let outcome = run(&[("duration", "22 s"), ("probe.packets", "true"), ("probe.every", "1 s")]).unwrap();
    let mut bytes = vec![];
    outcome.write_pcapng(&mut bytes, Point::Sender).unwrap();
    // Lengths with payload and without: IPv4 (first bytes 45 00), total length, …, protocol 33 at the tenth byte.
    let count = |length: u16, protocol: u8| {
        let length = length.to_be_bytes();
        bytes.windows(10).filter(|w| w[..2] == [0x45, 0] && w[2..4] == length && w[9] == protocol).count()
    };
    let (data, feedback, tcp) = (count(1500, 33), count(64, 33), count(1500, 6));
    assert!(data > 1000 && feedback > 100 && tcp > 1000, "{data} data, {feedback} feedback, {tcp} of TCP");
    // Feedback is about once a round trip of at least 100 ms, besides that at new losses.
    assert!(feedback < 22 * 10 + 100, "{feedback}");
}
