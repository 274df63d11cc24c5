// SPDX-License-Identifier: MIT OR Apache-2.0
//! The metrics of whole runs, and the keys that they and the spread of flows hang on.

use lasthop_sim::Outcome;
use lasthop_sim::table::Column;

const DUMBBELL: &str = crate::dumbbell!(
    r#"
        duration = "20 s"
        warmup = "4.5 s"
    "#,
    r#"
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = { limit = "30 packets" }
    "#,
    r#"
        name = "flow"
        count = 4
        rtt = "20 ms"
        access = "100 Mbit/s"
        packet = "1040 B"
        reader = { rate = "2 Mbit/s" }
    "#
);

fn run(more: &[(&str, &str)]) -> Outcome {
    crate::outcome(DUMBBELL, more).unwrap()
}

fn floats(outcome: &Outcome, column: &str) -> Vec<f64> {
    let tables = outcome.tables();
    let (_, table) = tables.iter().find(|(name, _)| *name == "system").unwrap();
    let found = table.columns().find(|(name, _)| *name == column).unwrap().1;
    match found {
        Column::Floats(values) => values.clone(),
        Column::Ints(values) => values.iter().map(|&value| value as f64).collect(),
    }
}

#[test]
fn what_is_sampled_is_what_is_delivered() {
    let outcome = run(&[("sample", "500 ms")]);
    let goodputs = floats(&outcome, "goodput_bps");
    // 15.5 s in halves; the last ones count as the first do.
    assert_eq!(goodputs.len(), 31);
    assert_eq!(floats(&outcome, "time_ns")[0], 4.5e9);
    let mean = goodputs.iter().sum::<f64>() / 31.0;
    let (system, summary) = (outcome.summary.system, &outcome.summary);
    assert!((mean / system.goodput_bps - 1.0).abs() < 1e-9, "{mean} {system:?}");
    // The link carries 1040 B for 1000 B of payload.
    assert!(goodputs.iter().all(|&bps| bps > 8e6 && bps <= 10e6), "{goodputs:?}");
    assert!(system.goodput_bps <= 10e6 * 1000.0 / 1040.0 * 1.001);
    assert_eq!(system.goodput_bps, summary.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>());
    let fairness = floats(&outcome, "fairness");
    let short_term = summary.fairness.short_term.unwrap();
    assert!((fairness.iter().sum::<f64>() / 31.0 - short_term).abs() < 1e-12);
    assert!(fairness.iter().all(|f| (0.25..=1.0).contains(f)));
    // Headers alone are 40/1040.
    assert!(system.overhead.unwrap() > 40.0 / 1040.0 && system.overhead.unwrap() < 0.1);
}

#[test]
fn no_line_carries_more_than_it_can() {
    // A packet takes 100 ms, and the run is measured for as long as three take, or for a part of one.
    let link = "[[link]]\nname = \"link\"\nfrom = \"a\"\nto = \"b\"\nrate = \"120 kbit/s\"\nduplex = false\n";
    let ap = |radio: &str| format!("[[ap]]\nname = \"ap\"\nradio = {radio}\n");
    let (to_node, to_station) = ("path = [\"a\", \"b\"]", "station = \"m\"");
    let fading =
        r#"{ kind = "jakes", doppler = "60 Hz", bandwidth = "40 kHz", max_rate = "120 kbit/s", attempts = 15 }"#;
    let mut busy = 0;
    for (element, end, steady) in [
        (link.to_owned(), to_node, true),
        (format!("{link}queue = {{ aqm = \"codel\" }}\n"), to_node, true),
        (ap(r#"{ kind = "constant", rate = "120 kbit/s" }"#), to_station, true),
        (ap(fading), to_station, false),
    ] {
        for (warmup, duration) in [(0, 301), (0, 399), (50, 360), (50, 60), (0, 50), (95, 105), (990, 1290)] {
            let head = format!("duration = \"{duration} ms\"\nwarmup = \"{warmup} ms\"\n");
            let flow = format!("[[flow]]\nname = \"f\"\nrtt = \"1 ms\"\npacket = \"1500 B\"\n{end}\n");
            let outcome = crate::outcome(&format!("{head}{element}{flow}"), &[]).unwrap();
            let queue = &outcome.summary.queues[0];
            let used = queue.utilisation.unwrap_or(0.0);
            assert!(used <= 1.0 + 1e-9, "{element} {warmup} {duration}: {queue:?}");
            busy += u32::from(steady && used > 0.95);
        }
    }
    assert!(busy > 5, "{busy}");
}

#[test]
fn a_reader_gets_its_share_or_not() {
    let success = |more: &[(&str, &str)]| run(more).summary.system.success;
    // Each of four flows gets some 2.4 Mbit/s.
    assert_eq!(success(&[("flow[0].reader.rate", "0.5 Mbit/s")]), Some(1.0));
    assert_eq!(success(&[("flow[0].reader.rate", "12 Mbit/s")]), Some(0.0));
    assert_eq!(success(&[("flow[0].reader.rate", "12 Mbit/s"), ("flow[0].reader.share", "0.02")]), Some(1.0));
    // Where the application has a rate, the reader wants it.
    let cbr = ("flow[0].app", r#"{ kind = "cbr", rate = "1 Mbit/s" }"#);
    assert_eq!(success(&[cbr, ("flow[0].reader", "{ share = 0.9 }")]), Some(1.0));
    let without = |text: &str| {
        let refused = crate::outcome(&DUMBBELL.replace(r#"reader = { rate = "2 Mbit/s" }"#, text), &[]);
        refused.map(|outcome| outcome.summary.system.success)
    };
    assert_eq!(without(""), Ok(None));
    assert_eq!(without("app = { kind = \"cbr\", rate = \"1 Mbit/s\" }"), Ok(Some(1.0)));
    assert_eq!(
        without("reader = { share = 0.5 }").unwrap_err(),
        "flow[0].reader.rate = none by default: wanted a rate with its unit, e.g. \"1 Mbit/s\""
    );
    assert!(without("reader = { rate = \"1 Mbit/s\", share = 2 }").unwrap_err().starts_with("flow[0].reader.share"));
    assert!(without("reader = { rate = \"0 bit/s\" }").unwrap_err().starts_with("flow[0].reader.rate"));
}

#[test]
fn flows_spread_their_times() {
    let rtts = |more: &[(&str, &str)]| -> Vec<f64> {
        run(more).summary.flows.iter().filter_map(|flow| flow.mean_rtt_s).collect()
    };
    // With one packet each in flight there is no queue: 30 ms of propagation, 0.9 ms of sending, 20 ms a flow more.
    let single = ("flow[0].sender.window_limit", "1 packet");
    let spread = rtts(&[single, ("flow[0].rtt_step", "20 ms")]);
    for (i, rtt) in spread.iter().enumerate() {
        assert!((rtt - 0.030 - 0.020 * i as f64 - 0.001).abs() < 0.0015, "{spread:?}");
    }
    // All start with one packet each; within 4 s they start at four other times, the same for the same seed.
    let first_second = |more: &[(&str, &str)]| floats(&run(&[&[("warmup", "0 s")], more].concat()), "goodput_bps")[0];
    let (together, apart) = (first_second(&[]), first_second(&[("flow[0].spread", "4 s")]));
    assert!(apart < together, "{apart} {together}");
    assert_eq!(apart, first_second(&[("flow[0].spread", "4 s")]));
    assert_ne!(apart, first_second(&[("flow[0].spread", "4 s"), ("seed", "2")]));
}

#[test]
fn who_has_left_is_not_counted() {
    // One of two flows stops half way: both are alike while they are there.
    let halves = [("flow[0].count", "1"), ("warmup", "1 s"), ("flow[0].stop", "10 s")];
    let outcome = run(&halves);
    // Nobody is left after 10 s: then there is no fairness, and the goodput's variation is of the time before.
    let fairness = floats(&outcome, "fairness");
    assert_eq!(fairness.iter().filter(|f| f.is_nan()).count(), 10);
    assert!(outcome.summary.flows[0].cov.unwrap() < 0.3);
    let refused = crate::outcome(DUMBBELL, &[("sample", "0 s")]);
    assert_eq!(refused.map(|_| ()).unwrap_err().to_string(), "sample = 0 s: wanted more than 0 s");
}
