// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a run is to be believed: what spoilt it, if anything did.

use std::collections::BTreeMap;

use lasthop_core::units::Duration;

use crate::stalls::Stalls;

/// What 99 % of the packets may be late at most, their wait at the entrance included.
const MOST_LAG: Duration = Duration::from_millis(1);
/// The share of time in which a thread may stand still.
const MOST_STILL: f64 = 0.01;
/// The share of packets that may be dropped where they arrive, or too fast for us.
const MOST_DROPPED: f64 = 1e-3;

/// What is known of a run.
#[derive(Clone, Debug)]
pub(crate) struct Evidence<'a> {
    /// Its length.
    pub(crate) length: Duration,
    /// Packets that left the network, and by how much 99 % of them were late at most.
    pub(crate) packets: u64,
    pub(crate) lag_p99: Option<Duration>,
    /// When a thread that relays stood still, and that of the flows.
    pub(crate) emulator: Stalls,
    pub(crate) flows: Stalls,
    /// The longest stall that the scenario can bear.
    pub(crate) longest_stall: Duration,
    /// Packets that came too fast to be taken.
    pub(crate) overruns: u64,
    /// How long control groups have withheld the processor \[s\].
    pub(crate) throttled_s: f64,
    /// How an agent ended that ended before the run did.
    pub(crate) agent_ended: Option<String>,
    /// What was dropped at the ends, by the kernel's names.
    pub(crate) drops: &'a BTreeMap<String, u64>,
}

/// Why a run is not to be believed: a line for each reason, none if it is.
pub(crate) fn faults(run: &Evidence<'_>) -> Vec<String> {
    let mut faults = vec![];
    let length = run.length.as_secs_f64();
    if let Some(lag) = run.lag_p99.filter(|lag| *lag > MOST_LAG) {
        faults.push(format!("1 % of the packets left more than {} late: wanted {}", time(lag), time(MOST_LAG)));
    }
    for (who, stalls) in [("the emulator", run.emulator), ("the thread of the flows", run.flows)] {
        if stalls.longest > run.longest_stall {
            faults.push(format!(
                "{who} stood still for {}: wanted at most {}, what the shortest round trip or the smallest buffer lasts",
                time(stalls.longest),
                time(run.longest_stall),
            ));
        }
        let share = stalls.total.as_secs_f64() / length.max(f64::MIN_POSITIVE);
        if share > MOST_STILL {
            faults.push(format!("{who} stood still for {} of the time: wanted 1 %", percent(share)));
        }
    }
    if run.emulator.throttled > 0 {
        faults.push(format!(
            "the kernel took the processor from the emulator {} times (real-time throttling): wanted a lower rate",
            run.emulator.throttled
        ));
    }
    if run.throttled_s > MOST_STILL * length {
        let time = time(Duration::from_secs_f64(run.throttled_s));
        faults.push(format!("a control group's quota withheld the processor for {time}: wanted 1 % of the time"));
    }
    if let Some(how) = &run.agent_ended {
        faults.push(format!("lasthop-agent ended before the run did: {how}"));
    }
    let share = |count: u64| count as f64 / (run.packets + count).max(1) as f64;
    if share(run.overruns) > MOST_DROPPED {
        faults.push(format!("{} packets came too fast to be taken", run.overruns));
    }
    for (name, count) in run.drops.iter().filter(|(_, count)| share(**count) > MOST_DROPPED) {
        faults.push(format!("{count} packets were dropped where they arrived ({name})"));
    }
    faults
}

fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 { format!("{seconds:.1} s") } else { format!("{:.1} ms", seconds * 1e3) }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn good(drops: &BTreeMap<String, u64>) -> Evidence<'_> {
        Evidence {
            length: Duration::from_secs(10),
            packets: 10_000,
            lag_p99: Some(Duration::from_micros(100)),
            emulator: Stalls::default(),
            flows: Stalls::default(),
            longest_stall: ms(20),
            overruns: 0,
            throttled_s: 0.0,
            agent_ended: None,
            drops,
        }
    }

    fn stalls(longest: Duration, total: Duration) -> Stalls {
        Stalls { count: 1, longest, total, throttled: 0 }
    }

    #[test]
    fn a_good_run_has_no_fault() {
        assert_eq!(faults(&good(&BTreeMap::new())), Vec::<String>::new());
        // Nothing left: there is nothing that could have been late.
        assert!(faults(&Evidence { packets: 0, lag_p99: None, ..good(&BTreeMap::new()) }).is_empty());
    }

    #[test]
    fn each_fault_is_told_by_itself() {
        let none = BTreeMap::new();
        let lost = BTreeMap::from([("UdpRcvbufErrors".to_owned(), 3700)]);
        let cases: [(Evidence<'_>, &str); 9] = [
            (Evidence { lag_p99: Some(ms(2)), ..good(&none) }, "1 % of the packets left more than 2.0 ms late"),
            // One freeze of 1 s leaves the 99th percentile where it was.
            (Evidence { emulator: stalls(ms(30), ms(30)), ..good(&none) }, "the emulator stood still for 30.0 ms"),
            (
                Evidence { emulator: stalls(ms(5), ms(200)), ..good(&none) },
                "the emulator stood still for 2.0 % of the time",
            ),
            (
                Evidence { flows: stalls(ms(30), ms(30)), ..good(&none) },
                "the thread of the flows stood still for 30.0 ms",
            ),
            (
                Evidence { emulator: Stalls { count: 1, throttled: 1, ..Stalls::default() }, ..good(&none) },
                "(real-time throttling)",
            ),
            (Evidence { throttled_s: 0.5, ..good(&none) }, "quota withheld the processor for 500.0 ms"),
            (
                Evidence { agent_ended: Some("signal 9".to_owned()), ..good(&none) },
                "lasthop-agent ended before the run did: signal 9",
            ),
            (Evidence { overruns: 100, ..good(&none) }, "100 packets came too fast to be taken"),
            (
                Evidence { drops: &lost, ..good(&none) },
                "3700 packets were dropped where they arrived (UdpRcvbufErrors)",
            ),
        ];
        for (run, wanted) in cases {
            let found = faults(&run);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains(wanted), "{found:?}");
        }
    }

    #[test]
    fn one_in_ten_thousand_may_be_dropped() {
        let lost = BTreeMap::from([("UdpRcvbufErrors".to_owned(), 1)]);
        assert!(faults(&Evidence { overruns: 1, drops: &lost, ..good(&lost) }).is_empty());
    }
}
