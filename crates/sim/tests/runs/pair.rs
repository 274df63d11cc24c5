// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP's two agents, with the kernel's integers: the access point's price, and the receivers that obey it.

use lasthop_sim::Summary;

use crate::proxy::{DOWNLOAD, found, mixed};
use crate::run;

/// A scenario without its proxy.
fn unproxied(text: &str) -> String {
    text.replace("    proxy = \"share-kernel\"\n", "")
}

/// The download by the two agents, and the queue from which the price is.
fn download(a: &str, set: &[(&str, &str)]) -> Summary {
    let price = format!("{{ kind = \"clamp-kernel\", a = \"{a}\" }}");
    let receiver = r#"{ kind = "clamp-kernel", tau = "500 B" }"#;
    run(&unproxied(DOWNLOAD), &[&[("ap[0].price", &*price), ("flow[0].receiver", receiver)], set].concat())
}

#[test]
fn clamps_agents_hold_the_queue_that_the_paper_says() {
    // q* = kτ + a, shares by φ.
    let two = r#"[{ name = "one", station = "m", rtt = "30 ms", receiver = { kind = "clamp-kernel", tau = "500 B" } },
        { name = "two", station = "m", rtt = "30 ms", receiver = { kind = "clamp-kernel", tau = "500 B", phi = 2.0 } }]"#;
    let price = ("ap[0].price", r#"{ kind = "clamp-kernel", a = "5.5 kB" }"#);
    let summary = run(&unproxied(DOWNLOAD), &[price, ("flow", two), ("duration", "100 s"), ("warmup", "50 s")]);
    let bytes = summary.queues[0].mean_bytes;
    assert!((6000.0..9000.0).contains(&bytes), "{bytes}");
    let ratio = summary.flows[1].goodput_bps / summary.flows[0].goodput_bps;
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

/// Downloads from a server 100 ms away over a line that buffers 250 ms, from their sixth second to their eleventh.
const FAR: &str = crate::dumbbell!(
    "duration = \"11 s\"\nwarmup = \"5 s\"\n",
    "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { limit = \"312.5 kB\" }\n",
    "name = \"far\"\nsender = \"linux-cubic\"\nreceiver = { kind = \"clamp-kernel\", tau = \"500 B\" }\n"
);

#[test]
fn clamps_agents_fill_a_long_path_soon_after_slow_start() {
    // a for 25 ms in all.
    for (count, a, sender) in
        [("1", "30.75 kB", "linux-cubic"), ("1", "30.75 kB", "linux-reno"), ("16", "23.25 kB", "linux-cubic")]
    {
        let price = format!("{{ kind = \"clamp-kernel\", a = \"{a}\" }}");
        let sender = format!("\"{sender}\"");
        let summary = run(FAR, &[("link[0].price", &price), ("flow[0].count", count), ("flow[0].sender", &sender)]);
        let (goodput, delay_ms) = found(&summary);
        assert!(goodput > 9.4 && delay_ms < 35.0, "{count} {sender}: {goodput}, {delay_ms}");
    }
}

#[test]
fn clamps_agents_soon_fill_what_others_have_left() {
    let text = unproxied(&mixed());
    let goodput = |refill: &str| {
        let receiver = format!("{{ kind = \"clamp-kernel\", tau = \"500 B\"{refill} }}");
        let receivers = ["flow[0].receiver", "flow[1].receiver", "flow[2].receiver", "flow[3].receiver"];
        let leaves = ["flow[0].stop", "flow[1].stop", "flow[2].stop"].map(|key| (key, "20 s"));
        let line = [("ap[0].radio.rate", "100 Mbit/s"), ("warmup", "25 s")];
        let price = ("ap[0].price", r#"{ kind = "clamp-kernel", a = "310 kB" }"#);
        let obey = receivers.map(|key| (key, receiver.as_str()));
        found(&run(&text, &[&line[..], &[price], &leaves, &obey].concat())).0
    };
    // The far one has a quarter of the line when the others go; τ in each of its round trips of 190 ms adds 21 kbit/s.
    let (usual, paper) = (goodput(""), goodput(", refill = 0"));
    assert!(usual > 90.0 && paper < 50.0, "{usual}, {paper}");
}

#[test]
fn a_sender_that_paces_soon_fills_the_path_too() {
    // Its data come without a pause from the third round trip on, at a twentieth of the line's rate.
    let line = [("ap[0].radio.rate", "100 Mbit/s"), ("ap[0].queue.limit", "3 MB"), ("flow[0].rtt", "100 ms")];
    let sender = ("flow[0].sender", r#"{ kind = "linux-reno", pacing = 1.2, pieces = false }"#);
    let summary = download("312.5 kB", &[&line[..], &[sender, ("duration", "10 s"), ("warmup", "5 s")]].concat());
    let (goodput, wait_ms) = found(&summary);
    assert!(goodput > 90.0 && wait_ms < 30.0, "{goodput}, {wait_ms}");
}

#[test]
fn clamps_agents_overrun_a_short_buffer_once_in_a_while_and_not_always() {
    // 30 ms of buffer, half of which is wanted: a path of 150 ms grows by 7 ms in a round trip, and hears of it two later.
    let buffer = [("ap[0].queue.limit", "37.5 kB"), ("flow[0].rtt", "150 ms")];
    let summary = download("18.75 kB", &[&buffer[..], &[("duration", "60 s"), ("warmup", "15 s")]].concat());
    let (goodput, _) = found(&summary);
    assert!(goodput > 8.5 && summary.queues[0].drops < 100, "{goodput}, {}", summary.queues[0].drops);
}

#[test]
fn the_flows_of_a_station_are_even_soon_after_slow_start() {
    // By the paper's law alone Jain's index is .86 to .95 then: it takes d²C/(kτ), 10 and 100 s.
    for (rate, sender, rtt, steps) in [
        ("10 Mbit/s", "linux-reno", "100 ms", "0 s"),
        ("100 Mbit/s", "linux-cubic", "100 ms", "0 s"),
        ("100 Mbit/s", "linux-cubic", "10 ms", "30 ms"),
    ] {
        let fast = if rate == "10 Mbit/s" { 1.0 } else { 10.0 };
        let price = format!("{{ kind = \"clamp-kernel\", a = \"{} B\" }}", fast * 31_250.0 - 2_000.0);
        let (limit, sender) = (format!("\"{} kB\"", fast * 312.5), format!("\"{sender}\""));
        let summary = run(
            FAR,
            &[
                ("link[0].price", &price),
                ("link[0].rate", rate),
                ("link[0].queue.limit", &limit),
                ("link[0].delay", "0 s"),
                ("flow[0].rtt", rtt),
                ("flow[0].rtt_step", steps),
                ("flow[0].count", "4"),
                ("flow[0].sender", &sender),
            ],
        );
        let ((goodput, delay_ms), jain) = (found(&summary), summary.fairness.jain.unwrap());
        assert!(
            goodput > 9.4 * fast && delay_ms < 30.0 && jain > 0.99,
            "{rate} {steps}: {goodput}, {delay_ms}, {jain}"
        );
    }
}

#[test]
fn a_flow_held_up_elsewhere_takes_nothing_from_others_of_its_station() {
    const TWO: &str = "duration = \"30 s\"\nwarmup = \"10 s\"\n\
        [[link]]\nname = \"slow\"\nfrom = \"r0\"\nto = \"r1\"\nrate = \"2 Mbit/s\"\nqueue = { limit = \"1 MB\" }\n\
        [[link]]\nname = \"last\"\nfrom = \"r1\"\nto = \"r2\"\nrate = \"10 Mbit/s\"\nqueue = { limit = \"300 kB\" }\n\
        price = { kind = \"clamp-kernel\", a = \"30 kB\" }\n\
        [[flow]]\nname = \"near\"\npath = [\"r1\", \"r2\"]\nrtt = \"60 ms\"\nsender = \"linux-cubic\"\n\
        receiver = { kind = \"clamp-kernel\", tau = \"500 B\" }\n\
        [[flow]]\nname = \"held\"\npath = [\"r0\", \"r1\", \"r2\"]\nrtt = \"60 ms\"\nsender = \"linux-cubic\"\n\
        receiver = { kind = \"clamp-kernel\", tau = \"500 B\" }\n";
    let summary = run(TWO, &[]);
    let goodput = summary.flows.iter().map(|flow| flow.goodput_bps * 1e-6).collect::<Vec<_>>();
    // What the other leaves of 9.65.
    assert!(goodput[1] > 1.85 && goodput[0] > 7.2, "{goodput:?}");
}
