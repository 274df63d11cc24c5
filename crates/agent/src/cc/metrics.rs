// SPDX-License-Identifier: MIT OR Apache-2.0
//! What controls have done, for Prometheus: text that its node exporter takes from a file. One that is pinned has no process
//! that could be asked.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::KernelControl;
use crate::exposition::{LabelSet, Real, tell, written};

type Reading = fn(&KernelControl) -> Option<f64>;
type Count = fn(&KernelControl) -> u64;

/// What is told: name, meaning, where it stands.
const NOW: [(&str, &str, Reading); 3] = [
    ("registered", "Whether new connections can have it", |control| Some(f64::from(u8::from(control.registered)))),
    ("connections", "Connections that it steers", |control| Some(control.counts.connections as f64)),
    ("acknowledgement_seconds", "What an acknowledgement takes, where kernel.bpf_stats_enabled is 1", |control| {
        control.cost_ns.filter(|_| control.registered).map(|ns| ns / 1e9)
    }),
];
/// The same of what only grows.
const SO_FAR: [(&str, &str, Count); 4] = [
    ("connections_opened", "Connections so far", |control| control.counts.opened),
    ("cuts", "Windows that gamma has cut", |control| control.counts.cuts),
    ("losses", "Windows that a loss has cut", |control| control.counts.losses),
    ("timeouts", "Those of them that a time-out told of", |control| control.counts.timeouts),
];

/// The controls, as text of `OpenMetrics` in base units. Of one that was unloaded, and another of its name, the connections count
/// together.
pub fn text(controls: &[KernelControl]) -> String {
    let mut registry = Registry::with_prefix("lasthop_cc");
    let labels = |control: &KernelControl| -> LabelSet {
        vec![("control".to_owned(), control.name.clone()), ("law".to_owned(), control.law.clone())]
    };
    for (name, help, reading) in NOW {
        let values = controls.iter().filter_map(|control| Some((labels(control), reading(control)?)));
        tell::<Real, _>(&mut registry, name, help, values);
    }
    for (name, help, count) in SO_FAR {
        let values = controls.iter().map(|control| (labels(control), count(control)));
        tell::<Counter, _>(&mut registry, name, help, values);
    }
    written(&registry)
}

#[cfg(test)]
mod tests {
    use lasthop_core::law::gamma::GammaParams;

    use super::*;
    use crate::cc::shared::{CcCounts, CcSettings};

    #[test]
    fn counts_and_times_have_their_names_and_units() {
        let control = KernelControl {
            name: "lasthop_drain".into(),
            law: "drain".into(),
            registered: true,
            pid: None,
            pinned: None,
            alpha: 1.0,
            parameters: String::new(),
            counts: CcCounts { connections: 2, opened: 5, cuts: 70, losses: 3, timeouts: 1 },
            cost_ns: Some(250.0),
            settings: CcSettings::new("lasthop_drain", "drain", &GammaParams::default()),
            data: 1,
        };
        let text = text(std::slice::from_ref(&control));
        let of = "{control=\"lasthop_drain\",law=\"drain\"}";
        for line in [
            format!("lasthop_cc_registered{of} 1.0"),
            format!("lasthop_cc_connections{of} 2.0"),
            format!("lasthop_cc_acknowledgement_seconds{of} 2.5e-7"),
            format!("lasthop_cc_connections_opened_total{of} 5"),
            format!("lasthop_cc_cuts_total{of} 70"),
            format!("lasthop_cc_losses_total{of} 3"),
            format!("lasthop_cc_timeouts_total{of} 1"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let unknown = super::text(&[KernelControl { cost_ns: None, ..control }]);
        assert!(!unknown.contains("acknowledgement_seconds{"), "{unknown}");
    }
}
