// SPDX-License-Identifier: MIT OR Apache-2.0
mod walk;

use serde_json::Value;

use super::{Scenario, schema};

const SCENARIO: &str = r#"
    duration = "10 s"
    [[ap]]
    name = "ap"
    radio = { kind = "jakes", doppler = "60 Hz", bandwidth = "4.3 MHz", max_rate = "10 Mbit/s", attempts = 15 }
    price = { kind = "linear", a = "6.5 kB" }
    [[flow]]
    name = "near"
    station = "m1"
    sender = "newreno"
    [[flow]]
    name = "far"
    station = "m2"
"#;

fn refuse(key: &str, value: &str) -> String {
    Scenario::from_toml(SCENARIO, &[(key.into(), value.into())]).unwrap_err().to_string()
}

#[test]
fn an_error_names_key_value_and_what_is_wanted() {
    for (key, value, message) in [
        ("duration", "3 parsecs", "duration = \"3 parsecs\": wanted a time with its unit, e.g. \"3 ms\""),
        ("ap[0].radio.slot", "fast", "ap[0].radio.slot = \"fast\": wanted a time with its unit, e.g. \"3 ms\""),
        ("ap[0].radio.doppler", "-1 Hz", "ap[0].radio.doppler = \"-1 Hz\": wanted a frequency that is not negative"),
        ("flow[1].rtt", "7", "flow[1].rtt = 7: wanted a time with its unit, e.g. \"3 ms\""),
        (
            "ap[0].scheduler",
            "fifo",
            "ap[0].scheduler = \"fifo\": wanted \"best-snr\" or \"round-robin\" or \"proportional-fair\"",
        ),
        ("flow[0].sender.rto_min", "1", "flow[0].sender.rto_min = 1: wanted a time with its unit, e.g. \"3 ms\""),
        ("seed", "-1", "seed = -1: wanted a whole number of 0 or more"),
        ("flow[0].rtt", "{ a = 1 }", "flow[0].rtt: wanted a time with its unit, e.g. \"3 ms\", not a table"),
        ("flow[0].path", "near", "flow[0].path = \"near\": wanted a list"),
        ("flow[0].path", "[1]", "flow[0].path[0] = 1: wanted a text"),
        ("flow[0].name", "7", "flow[0].name = 7: wanted a text"),
        ("flow[0].count", "1.5", "flow[0].count = 1.5: wanted a whole number, from 1 to 1000000"),
        (
            "flow[0].sender.initial_window",
            "-1",
            "flow[0].sender.initial_window = -1: wanted a whole number, from 1 to 4294967295",
        ),
        ("flow[0].sender.initial_window", "0", "flow[0].sender.initial_window = 0: wanted from 1 to 4294967295"),
        (
            "flow[0].sender.initial_window",
            "99999999999",
            "flow[0].sender.initial_window = 99999999999: wanted a whole number, from 1 to 4294967295",
        ),
        (
            "flow[0].sender",
            "{ kind = \"aimd\", alpha = 1e9 }",
            "flow[0].sender.alpha = 1000000000: wanted more than 0 and at most 256",
        ),
        (
            "flow[0].sender",
            "{ kind = \"aimd\", gamma = { variant = {} } }",
            "flow[0].sender.gamma.variant: wanted \"knee\" or \"drain\", not a table",
        ),
        (
            "flow[0].sender.rtt_estimator",
            "[\"linux\"]",
            "flow[0].sender.rtt_estimator: wanted \"rfc6298\" or \"linux\" or \"ns-2\", not a list",
        ),
        (
            "ap[0].queue.aqm",
            "{ kind = \"red\", min_threshold = \"20 kB\" }",
            "ap[0].queue.aqm.min_threshold = \"20 kB\": wanted a number, at least 0 packets",
        ),
        ("duration", "3\n\t\u{1b}s", "duration = \"3\\n\\t\\u{1b}s\": wanted a time with its unit, e.g. \"3 ms\""),
        ("flow[0].app", "cbr", "flow[0].app = \"cbr\": missing key `rate`"),
        ("flow[0].sender.gamma", "0.5", "flow[0].sender.gamma: unknown key `gamma`, wanted one of"),
        ("flow[0].sender.sack", "1", "flow[0].sender.sack = 1: wanted true or false"),
        ("ap[0].queue", "20 kB", "ap[0].queue = \"20 kB\": wanted a table"),
        ("ap[0].radio.snr", "high", "ap[0].radio.snr = \"high\": wanted a number, more than 0"),
        (
            "ap[0].radio.frames",
            "hole",
            "ap[0].radio.frames = \"hole\": wanted \"shared\" or \"per-packet\" or \"whole\"",
        ),
        ("ap[0].radio.frames", "1", "ap[0].radio.frames = 1: wanted \"shared\" or \"per-packet\" or \"whole\""),
        (
            "ap[0].scheduler",
            "{ kind = \"best-snr\", memory = 0.9 }",
            "ap[0].scheduler.memory: unknown key `memory`, this kind takes none",
        ),
        ("probe", "true", "probe = true: wanted a table"),
        ("link", "{ name = \"l\" }", "link: wanted a list, [[link]], not a table"),
    ] {
        let said = refuse(key, value);
        // A list of all keys would be long.
        assert!(if message.ends_with("one of") { said.starts_with(message) } else { said == message }, "{said}");
    }
    let defaulted = refuse("flow[0].sender", "{ kind = \"vegas\", alpha = 9 }");
    assert_eq!(defaulted, "flow[0].sender.beta = 3 by default: wanted a number of segments of at least `alpha`");
    let both = refuse("flow[0].sender", "{ kind = \"vegas\", alpha = 9, beta = 8 }");
    assert_eq!(both, "flow[0].sender.beta = 8: wanted a number of segments of at least `alpha`");
    let unknown = refuse("ap[0].radio.dopler", "60 Hz");
    assert!(unknown.starts_with("ap[0].radio.dopler: unknown key `dopler`, wanted one of `doppler`"), "{unknown}");
    let unknown = refuse("flw", "1");
    assert!(unknown.starts_with("flw: unknown key `flw`, wanted one of"), "{unknown}");
    let missing = Scenario::from_toml(&SCENARIO.replace("attempts = 15", ""), &[]).unwrap_err();
    assert!(missing.to_string().contains("attempts"), "{missing}");
    let syntax = Scenario::from_toml("duration = \"1 s\"\n[[flow\n", &[]).unwrap_err().to_string();
    assert!(syntax.starts_with("line 2: ") && !syntax.contains('\n'), "{syntax}");
    let twice = Scenario::from_toml("duration = \"1 s\"\nduration = \"2 s\"\n", &[]).unwrap_err().to_string();
    assert_eq!(twice, "line 2: duplicate key");
}

#[test]
fn the_defaults_of_the_schema_are_those_of_the_simulator() {
    let link = "[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\n";
    let wlan = "[[wlan]]\nname = \"w\"\n";
    let text = format!("{SCENARIO}{link}{wlan}");
    let outcome = |change: Option<(String, String)>| {
        let tables = [("probe.packets", "false"), ("ap[0].scheduler", "proportional-fair")];
        let tables = tables.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let overrides: Vec<_> = tables.into_iter().chain(change).collect();
        format!("{:?}", Scenario::from_toml(&text, &overrides).unwrap())
    };
    let usual = outcome(None);
    let schema = schema();
    let mut tried = 0;
    for (place, pointer) in [
        ("", "/properties"),
        ("probe.", "/$defs/Probe/properties"),
        ("link[0].", "/$defs/Link/properties"),
        ("ap[0].", "/$defs/AccessPoint/properties"),
        ("ap[0].radio.", "/$defs/Radio/oneOf/0/properties"),
        ("ap[0].scheduler.", "/$defs/Scheduler/oneOf/2/properties"),
        ("ap[0].price.", "/$defs/Price/oneOf/0/properties"),
        ("wlan[0].", "/$defs/Wlan/properties"),
        ("flow[0].", "/$defs/Flow/properties"),
        ("flow[0].sender.", "/$defs/Sender/oneOf/0/properties"),
    ] {
        for (key, property) in schema.pointer(pointer).and_then(Value::as_object).unwrap() {
            let Some(default) = property.get("default").filter(|value| !value.is_null()) else { continue };
            let change = (format!("{place}{key}"), default.to_string());
            assert_eq!(outcome(Some(change)), usual, "{place}{key} = {default}");
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn overrides_reach_every_key() {
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let overrides = [
        set("seed", "7"),
        set("title", "Two flows"),
        set("flow[*].rtt", "80 ms"),
        set("flow[far].sender.rto_min", "200 ms"),
        set("flow[0].sender.timestamps", "true"),
        set("ap[ap].price.b", "0.5"),
        set("probe.every", "10 ms"),
    ];
    let scenario = Scenario::from_toml(SCENARIO, &overrides).unwrap();
    assert_eq!((scenario.seed, scenario.title.as_str()), (7, "Two flows"));
    assert!(scenario.flow.iter().all(|flow| flow.rtt == "80 ms".parse().unwrap()));
    assert!(
        matches!(&scenario.flow[0].sender, crate::SenderSpec::Newreno(o) if o.common.common.timestamps == Some(true))
    );
    assert!(scenario.probe.is_some());
}

#[test]
fn an_override_that_leads_nowhere_is_refused() {
    assert_eq!(
        refuse("flow[2].rtt", "1 s"),
        "flow[2].rtt: there is no flow[2], there are 2: wanted \"near\" or \"far\""
    );
    let open = refuse("flow[0].sender", "{ kind = \"reno\"");
    assert_eq!(open, "flow[0].sender = { kind = \"reno\": wanted a table or list in TOML, whole to its last bracket");
    let kind = refuse("flow[0].sender", "{ kind = \"nwreno\" }");
    assert!(kind.starts_with("flow[0].sender.kind = \"nwreno\": wanted \"newreno\" or "), "{kind}");
    assert_eq!(refuse("flow.rtt", "1 s"), "flow.rtt: which flow? wanted flow[0], flow[NAME] or flow[*]");
    assert_eq!(refuse("link[0].rate", "1 s"), "link[0].rate: there is no [[link]]");
    assert!(refuse("duration.x", "1 s").starts_with("duration: wanted a time"));
}
