// SPDX-License-Identifier: MIT OR Apache-2.0
//! The senders of a scenario: each key moves something, and what is said to be alike is alike.

/// Two flows over 5 Mbit/s with a queue of twice bandwidth times delay and losses of their own, so that there are fast
/// retransmits and time-outs; SENDER is what is tested.
const DUMBBELL: &str = crate::dumbbell!(
    r#"
        duration = "60 s"
    "#,
    r#"
        rate = "5 Mbit/s"
        delay = "5 ms"
        queue = { limit = "80 packets" }
        loss = { kind = "bernoulli", p = 0.01 }
    "#,
    r#"
        name = "flow"
        count = 2
        stagger = "5 s"
        rtt = "90 ms"
        sender = SENDER
    "#
);

/// All that the summary says of the flows, but the sender's name.
fn outcome(sender: &str) -> Result<String, String> {
    outcome_with(sender, &[])
}

fn outcome_with(sender: &str, more: &[(&str, &str)]) -> Result<String, String> {
    let text = DUMBBELL.replace("SENDER", sender);
    let mut flows = crate::outcome(&text, more)?.summary.flows;
    flows.iter_mut().for_each(|flow| flow.sender = "".into());
    Ok(format!("{flows:?}"))
}

#[test]
fn every_key_of_a_sender_moves_something() {
    for (kind, keys) in [
        ("newreno", vec!["sack = true", "grow_at_recovery_end = true"]),
        (
            "aimd",
            vec![
                "alpha = 0.6",
                "beta = 0.875",
                "beta = 0.875, after_timeout = \"beta\"",
                "recovery = \"newreno\"",
                "recovery = \"sack\"",
                "gamma = {}",
                "gamma = { threshold = 0.25 }",
                "gamma = { variant = \"drain\" }",
                "gamma = {}, arming = \"running-maximum\"",
                "delta = {}",
                "delta = { threshold = 0.3 }",
                "delta = { increase = 4 }",
                "one_fast_retransmit = false",
                "cut_of_window = false",
            ],
        ),
        ("cubic", vec!["c = 4.0", "beta = 0.5", "fast_convergence = false", "reno_friendly = false", "sack = false"]),
        // Each of Linux's rules off, or one of the law's own.
        (
            "linux-reno",
            vec![
                "mss = \"1000 B\"",
                "header = \"60 B\"",
                "sack = false, rack = false, tail_loss_probe = false, rate_reduction = false",
                "timestamps = false",
                "initial_window = 4",
                "rack = false, tail_loss_probe = false",
                "rate_reduction = false",
                "timer_tick = \"0 s\"",
                "timer_tick = \"0 s\", rtt_estimator = \"rfc6298\"",
            ],
        ),
        (
            "linux-cubic",
            vec!["fast_convergence = false", "reno_friendly = false", "hystart = false", "tick = \"1 ms\""],
        ),
        ("vegas", vec!["alpha = 0.0", "beta = 6.0", "gamma = 6.0", "loss_share = 0.5"]),
        ("veno", vec!["beta = 6.0", "random_loss_share = 0.7", "reset_base_rtt = false"]),
        ("westwood", vec!["filter = 0.5", "least_interval = \"400 ms\""]),
    ] {
        let mut outcomes = vec![("nothing", outcome(&format!("{kind:?}")).unwrap())];
        for key in keys {
            let new = outcome(&format!("{{ kind = {kind:?}, {key} }}")).unwrap();
            if let Some((other, _)) = outcomes.iter().find(|(_, old)| *old == new) {
                panic!("{kind}: {key} changes nothing against {other}");
            }
            outcomes.push((key, new));
        }
    }
}

#[test]
fn a_response_taken_back_moves_something() {
    // Handoffs take data and acknowledgements: what is sent again after one has in part arrived before.
    let with = |sender: &str, on: &str, off: &str| {
        let loss = format!("{{ loss = {{ kind = \"handoff\", on = {on:?}, off = {off:?} }} }}");
        outcome_with(sender, &[("flow[0].sink", &loss), ("link[0].loss.p", "0")]).unwrap()
    };
    for (others, rule, (on, off)) in
        [("frto = false, dsack = false, ", "eifel", ("300 ms", "2 s")), ("eifel = false, ", "frto", ("400 ms", "2 s"))]
    {
        let sender = |is_on| format!("{{ kind = \"linux-cubic\", {others}{rule} = {is_on} }}");
        assert_ne!(with(&sender(true), on, off), with(&sender(false), on, off), "{rule}");
    }
}

#[test]
fn a_segment_that_times_out_twice_brings_the_threshold_down() {
    let often = [("link[0].loss.p", "0.05"), ("duration", "300 s")];
    let cut = outcome_with("\"aimd\"", &often);
    assert_ne!(cut, outcome_with("{ kind = \"aimd\", cut_at_each_timeout = false }", &often));
}

#[test]
fn aimd_with_tcps_numbers_is_tcp() {
    let rfc = "cut_at_each_timeout = false, cut_of_window = false";
    for (kind, recovery) in [
        ("\"reno\"", "recovery = \"reno\", one_fast_retransmit = false"),
        ("\"newreno\"", "recovery = \"newreno\""),
        ("{ sack = true }", "recovery = \"sack\""),
    ] {
        let aimd = format!("{{ kind = \"aimd\", alpha = 1, beta = 0.5, {recovery}, {rfc} }}");
        assert_eq!(outcome(kind), outcome(&aimd), "{kind}");
    }
}

#[test]
fn alpha_is_friendly_unless_told() {
    let given = outcome("{ kind = \"aimd\", beta = 0.875, alpha = 0.3125 }");
    assert_eq!(outcome("{ kind = \"aimd\", beta = 0.875 }"), given);
}

#[test]
fn what_is_wrong_with_a_law_is_said_by_its_key() {
    for (sender, message) in [
        ("{ kind = \"aimd\", beta = 2 }", "flow[0].sender.beta = 2: wanted more than 0 and less than 1"),
        (
            "{ kind = \"vegas\", beta = 0.5 }",
            "flow[0].sender.beta = 0.5: wanted a number of segments of at least `alpha`",
        ),
        (
            "{ kind = \"aimd\", gamma = { threshold = 2 } }",
            "flow[0].sender.gamma.threshold = 2: wanted more than 0 and at most 1",
        ),
        (
            "{ kind = \"veno\", betta = 2 }",
            "flow[0].sender.betta: unknown key `betta`, wanted one of `beta`, `random_loss_share`",
        ),
        ("{ kind = \"linux-cubic\", tick = \"20 ms\" }", "flow[0].sender.tick = 0.02 s: wanted from 1 ms to 10 ms"),
        (
            "{ kind = \"linux-reno\", sack = false }",
            "flow[0].sender.sack = false: wanted true, or rack = false with it",
        ),
        (
            "{ kind = \"newreno\", rtt_tick = \"10 ms\" }",
            "flow[0].sender.rtt_tick = 0.01 s: wanted `rtt_estimator` = \"ns-2\" with it",
        ),
        ("{ kind = \"newreno\", rack = true }", "flow[0].sender.rack = true: wanted `sack` with it"),
        (
            "{ kind = \"newreno\", sack = true, recovery = \"newreno\" }",
            "flow[0].sender.sack = true: wanted false, or another recovery than \"newreno\"",
        ),
        (
            "{ kind = \"newreno\", sack = false, recovery = \"sack\" }",
            "flow[0].sender.sack = false: wanted true, or another recovery than \"sack\"",
        ),
        ("{ kind = \"linux-reno\", mss = \"0 B\" }", "flow[0].sender.mss = 0 B: wanted from 1 B to 65535 B"),
        ("{ kind = \"westwood\", filter = \"high\" }", "flow[0].sender.filter = \"high\": wanted a number"),
    ] {
        let said = outcome(sender).unwrap_err();
        assert!(said.starts_with(message), "{said}");
    }
}

#[test]
fn a_switch_that_nothing_reads_is_refused() {
    for (sender, message) in [
        ("newreno\", keep_sacked = false", "keep_sacked = false: wanted `sack` with it"),
        ("newreno\", keep_sacked = true", "keep_sacked = true: wanted `sack` with it"),
        ("linux-reno\", keep_sacked = true", "keep_sacked = true: wanted `rack` = false with it"),
        ("cubic\", rack = true, keep_sacked = false", "keep_sacked = false: wanted `rack` = false with it"),
        ("newreno\", find_lost_retransmissions = true", "find_lost_retransmissions = true: wanted `sack` with it"),
        (
            "linux-reno\", find_lost_retransmissions = false",
            "find_lost_retransmissions = false: wanted `rack` = false with it",
        ),
        ("newreno\", one_fast_retransmit = true", "one_fast_retransmit = true: wanted `recovery` = \"reno\" with it"),
        ("cubic\", strict_duplicate_acks = true", "strict_duplicate_acks = true: wanted `sack` = false with it"),
        ("linux-reno\", limited_transmit = true", "limited_transmit = true: wanted `rack` = false with it"),
        (
            "newreno\", limited_transmit_after_timeout = true",
            "limited_transmit_after_timeout = true: wanted `limited_transmit` with it",
        ),
        (
            "cubic\", limited_transmit = true, limited_transmit_after_timeout = true",
            "limited_transmit_after_timeout = true: wanted `keep_sacked` = false with it: what duplicates tell after a",
        ),
        ("newreno\", echo_ends_back_off = false", "echo_ends_back_off = false: wanted `timestamps` with it"),
        ("linux-reno\", echo_ends_back_off = false", "echo_ends_back_off = false: wanted no rule with it that goes by"),
        ("newreno\", eifel = true", "eifel = true: wanted `timestamps` with it"),
        ("newreno\", dsack = true", "dsack = true: wanted `sack` with it"),
        ("newreno\", feedback_in_segments = true", "feedback_in_segments = true: wanted a sender with it that asks"),
        (
            "linux-reno\", rto_granularity = \"10 ms\"",
            "rto_granularity = 0.01 s: wanted another `rtt_estimator` with it than \"linux\"",
        ),
        (
            "newreno\", rules = \"ns-2\", rto_granularity = \"10 ms\"",
            "rto_granularity = 0.01 s: wanted `rtt_tick` = 0 s with it",
        ),
    ] {
        let said = outcome(&format!("{{ kind = \"{sender} }}")).unwrap_err();
        assert!(said.starts_with(&format!("flow[0].sender.{message}")), "{said}");
    }
    // What is off, and would be without the key, may be said.
    for sender in [
        "linux-reno\", limited_transmit = false",
        "newreno\", rack = false, eifel = false, dsack = false, find_lost_retransmissions = false",
        "cubic\", limited_transmit = true, keep_sacked = false, limited_transmit_after_timeout = true",
        "reno\", one_fast_retransmit = true, timestamps = true, echo_ends_back_off = false",
        "xcp\", feedback_in_segments = true, rto_granularity = \"10 ms\"",
    ] {
        outcome(&format!("{{ kind = \"{sender} }}")).unwrap();
    }
}

#[test]
fn rules_are_their_switches() {
    const LOSSY: &str = dumbbell!(
        "duration = \"20 s\"\n",
        "rate = \"5 Mbit/s\"\nqueue = { limit = \"12 packets\" }\n",
        "name = \"f\"\nrtt = \"60 ms\"\n"
    );
    let figures = |sender: &str| {
        let mut summary = crate::run(LOSSY, &[("flow[0].sender", sender)]);
        summary.flows[0].sender = "any".into();
        crate::figures(&summary)
    };
    let ns2 = "initial_window = 2, limited_transmit = true, rto_min = \"200 ms\", rto_initial = \"3 s\", \
               cut_at_each_timeout = true, one_fast_retransmit = true, cut_of_window = true, grow_at_recovery_end = true, \
               limited_transmit_after_timeout = true, whole_threshold = true, rtt_estimator = \"ns-2\", rtt_tick = \"10 ms\"";
    let by_ns2 = figures("{ kind = \"reno\", rules = \"ns-2\" }");
    assert_eq!(by_ns2, figures(&format!("{{ kind = \"reno\", {ns2} }}")));
    assert_ne!(by_ns2, figures("reno"));
    // A switch departs from the rules, and a kind from those of another.
    assert_ne!(by_ns2, figures("{ kind = \"reno\", rules = \"ns-2\", cut_of_window = false }"));
    assert_ne!(figures("linux-reno"), figures("{ kind = \"linux-reno\", rules = \"rfc\" }"));
    assert_ne!(figures("linux-reno"), figures("{ kind = \"newreno\", rules = \"linux\" }"), "laws differ");
    assert_eq!(figures("newreno"), figures("{ kind = \"reno\", recovery = \"newreno\" }"));
}

#[test]
fn a_window_far_above_the_buffer_falls_until_retransmissions_arrive() {
    // Each lost retransmission is one more sign of congestion (RFC 5681 §4.3): from 1000 segments seven halvings lead to what the
    // line and its 13 packets hold. Without them each round trip sends half a window into a full buffer for ever.
    let goodput = |sender: &str| {
        let text = DUMBBELL.replace("SENDER", sender);
        let set = [("link[0].loss.p", "0"), ("link[0].queue.limit", "13 packets"), ("flow[0].count", "1")];
        crate::run(&text, &set).flows[0].goodput_bps
    };
    for more in ["", ", rate_reduction = true"] {
        let far = goodput(&format!("{{ kind = \"newreno\", sack = true, rack = true, initial_window = 1000{more} }}"));
        let near = goodput(&format!("{{ kind = \"newreno\", sack = true, rack = true, initial_window = 10{more} }}"));
        assert!(far > 0.95 * near && far < 5e6, "{more}: {far}, {near}");
    }
}

#[test]
fn flows_that_drain_share_evenly() {
    // The greatest time that each has seen tells when it gives way. One that never forgot kept what the others left: Jain's index
    // was .27 to .86 here. With 32 flows there are 2.6 segments each: the queue hardly ever empties, and not all know how short
    // the path is.
    const DRAINING: &str = crate::dumbbell!(
        "duration = \"120 s\"\nwarmup = \"40 s\"\n",
        "rate = \"10 Mbit/s\"\ndelay = \"0 ms\"\nqueue = { limit = \"200 packets\" }\n",
        "name = \"flow\"\nspread = \"1 s\"\nrtt = \"100 ms\"\nreceiver = \"linux\"\n\
         sender = { kind = \"linux-aimd\", gamma = { variant = \"drain\" } }\n"
    );
    for (flows, least) in [("4", 0.99), ("8", 0.99), ("16", 0.99), ("32", 0.93)] {
        let told = crate::run(DRAINING, &[("flow[0].count", flows)]);
        let jain = told.fairness.jain.unwrap();
        assert!(jain >= least, "{flows} flows: {jain}");
        let goodput: f64 = told.flows.iter().map(|flow| flow.goodput_bps).sum();
        assert!(goodput >= 0.97 * 10e6 * 1448.0 / 1500.0, "{flows} flows: {goodput}");
        assert_eq!(told.queues[0].drops, 0, "{flows} flows");
    }
}
