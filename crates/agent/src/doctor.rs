// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether this machine can run the agent, and why not.

use std::fmt;
use std::fs;

use serde::Serialize;

use crate::attach::Device;
use crate::cc;
use crate::config::Config;
use crate::control;
use crate::feedback::host;
use crate::feedback::router::FeedbackRouter;
use crate::feedback::shared::RouterSettings;
use crate::load::Programs;
use crate::mode::Mode;
use crate::service::{self, RIGHTS, named};
use lasthop_linux::bpf::{self, TcHook};

/// How far something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Readiness {
    /// As it should be.
    Full,
    /// It works, with less.
    Partial,
    /// The agent cannot run.
    No,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What.
    pub what: &'static str,
    /// How far it is there.
    pub verdict: Readiness,
    /// What was found, and what would help.
    pub why: String,
}

/// All that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// The worst of the findings.
    pub verdict: Readiness,
    /// One by one.
    pub findings: Vec<Finding>,
    /// Whether a device was looked at, too.
    pub has_device: bool,
}

/// Looks at the kernel, the rights, and a device if one is named.
pub fn diagnose(device: Option<&str>) -> Diagnosis {
    let mut findings = vec![kernel(), types(), capabilities(), programs(), controls(), feedback()];
    if let Some(name) = device {
        match Device::find(name) {
            Ok(device) => findings.extend([found(&device), queue(&device), neighbours(&device)]),
            Err(error) => findings.push(Finding { what: "device", verdict: Readiness::No, why: format!("{error:#}") }),
        }
    }
    let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Readiness::Full);
    Diagnosis { verdict, findings, has_device: device.is_some() }
}

fn kernel() -> Finding {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let verdict = if version >= (6, 6) { Readiness::Full } else { Readiness::No };
    Finding { what: "kernel", verdict, why: format!("Linux {release}; 6.6 or newer is needed (tcx)") }
}

fn types() -> Finding {
    let path = "/sys/kernel/btf/vmlinux";
    let there = fs::exists(path).unwrap_or(false);
    let verdict = if there { Readiness::Full } else { Readiness::No };
    Finding { what: "btf", verdict, why: format!("{path} is {}there", if there { "" } else { "not " }) }
}

fn capabilities() -> Finding {
    let missing = service::missing_rights();
    match missing.is_empty() {
        true => Finding { what: "rights", verdict: Readiness::Full, why: named(&RIGHTS) },
        false => Finding { what: "rights", verdict: Readiness::No, why: format!("missing: {}", named(&missing)) },
    }
}

fn programs() -> Finding {
    match [(Mode::Proxy, false), (Mode::Proxy, true), (Mode::Ap, false), (Mode::Client, false)]
        .into_iter()
        .try_for_each(|(mode, hidden)| Programs::load(mode, &Config::default().settings(14, hidden)).map(drop))
    {
        Ok(()) => Finding { what: "programs", verdict: Readiness::Full, why: "the kernel takes them".into() },
        Err(error) => Finding { what: "programs", verdict: Readiness::No, why: format!("{error:#}") },
    }
}

/// Whether the laws of senders can be had; without them the agent runs all the same.
fn controls() -> Finding {
    match cc::probe() {
        Ok(()) => Finding { what: "cc", verdict: Readiness::Full, why: "the kernel takes congestion controls".into() },
        Err(error) => Finding { what: "cc", verdict: Readiness::Partial, why: format!("{error:#}") },
    }
}

/// Whether a router can tell rates, and hosts obey; without it the agent runs all the same.
fn feedback() -> Finding {
    let load = |is_xcp| FeedbackRouter::load(&RouterSettings { is_xcp, ..RouterSettings::default() });
    match load(0).and_then(|_| load(1)).and_then(|_| host::probe()) {
        Ok(()) => Finding {
            what: "feedback",
            verdict: Readiness::Full,
            why: "the kernel takes routers and hosts of qfcp and xcp".into(),
        },
        Err(error) => Finding { what: "feedback", verdict: Readiness::Partial, why: format!("{error:#}") },
    }
}

fn found(device: &Device) -> Finding {
    let begins = if device.link_header_bytes > 0 { "an Ethernet header" } else { "the IP header" };
    Finding { what: "device", verdict: Readiness::Full, why: format!("{}: packets begin with {begins}", device.name) }
}

/// Whether the queue is where it can be seen.
fn queue(device: &Device) -> Finding {
    let (verdict, why) = match device.queue() {
        Ok((qdisc, true)) => {
            (Readiness::Full, format!("the root qdisc, {qdisc}, shapes and tells what it holds: `qdisc`"))
        }
        Ok((qdisc, false)) => (
            Readiness::Partial,
            format!("the root qdisc, {qdisc}, does not shape: `outstanding`; a shaper such as tbf tells more"),
        ),
        Err(error) => (Readiness::No, format!("{error:#}")),
    };
    Finding { what: "queue", verdict, why }
}

/// Other programs at the device: they see packets before ours do.
fn neighbours(device: &Device) -> Finding {
    let has_agent = control::is_taken(&device.name);
    let at = |direction| bpf::attached(device.index, direction).map(|programs| programs.len());
    match (at(TcHook::Ingress), at(TcHook::Egress)) {
        (Ok(_), Ok(_)) if has_agent => Finding {
            what: "tcx",
            verdict: Readiness::Partial,
            why: format!(
                "an agent is at {0} already, and no other can be: `lasthop-agent status --dev {0}`",
                device.name
            ),
        },
        (Ok(0), Ok(0)) => {
            Finding { what: "tcx", verdict: Readiness::Full, why: "no other program is at the device".into() }
        }
        (Ok(ingress), Ok(egress)) => Finding {
            what: "tcx",
            verdict: Readiness::Partial,
            why: format!("{ingress} programs at ingress and {egress} at egress are there before ours"),
        },
        (Err(error), _) | (_, Err(error)) => {
            Finding { what: "tcx", verdict: Readiness::No, why: format!("the kernel does not tell: {error}") }
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { what, verdict, why } in &self.findings {
            writeln!(f, "{:8} {what}: {why}", verdict.word())?;
        }
        let rest =
            if self.has_device { "" } else { "; no device was looked at, nor its queue and tcx: name one with --dev" };
        writeln!(f, "{:8} altogether{rest}", self.verdict.word())
    }
}

impl Readiness {
    fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::No => "no",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_looked_at_is_said() {
        let said = |has_device| {
            Diagnosis { verdict: Readiness::Full, findings: vec![], has_device }.to_string().trim_end().to_owned()
        };
        assert_eq!(said(true), "full     altogether");
        assert_eq!(
            said(false),
            "full     altogether; no device was looked at, nor its queue and tcx: name one with --dev"
        );
    }
}
