// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who stands at the ends of the flows: hosts by name, and which of the scenario's laws kernels do not have.

use std::collections::BTreeSet;

use lasthop_scenario::{ReceiverSpec, ScenarioError, SenderSpec};

use crate::plan::{MOST_FLOWS, MOST_HOSTS};
use crate::stage::StageFlow;

/// The hosts by name, and that of each flow. Where `wanted` is the node at which a path begins, it is the host of that
/// path's flows: their data comes from it.
pub(crate) fn hosts(
    flows: &mut [StageFlow],
    wanted: Option<&String>,
) -> Result<(Vec<String>, Vec<usize>), ScenarioError> {
    if flows.len() > MOST_FLOWS {
        return Err(ScenarioError::at("flow", format!("{}: wanted at most {MOST_FLOWS} to emulate", flows.len())));
    }
    if let Some(wanted) = wanted
        && flows.iter().all(|flow| flow.host != *wanted)
    {
        for flow in flows.iter_mut().filter(|flow| flow.begins_at.as_ref() == Some(wanted)) {
            flow.host.clone_from(wanted);
            flow.is_upload = true;
        }
    }
    let mut names: Vec<String> = vec![];
    let mut host_of = vec![];
    for flow in flows {
        let host = names.iter().position(|name| *name == flow.host).unwrap_or_else(|| {
            names.push(flow.host.clone());
            names.len() - 1
        });
        host_of.push(host);
    }
    if names.len() > MOST_HOSTS {
        return Err(ScenarioError::at("flow", format!("{} hosts: wanted at most {MOST_HOSTS}", names.len())));
    }
    Ok((names, host_of))
}

/// The host on which the command runs.
pub(crate) fn command_host(names: &[String], wanted: Option<&String>) -> Result<usize, ScenarioError> {
    let Some(wanted) = wanted else { return Ok(0) };
    let place = names.iter().position(|name| name == wanted);
    place.ok_or_else(|| ScenarioError::at("--station", format!("{wanted:?}: wanted one of {}", names.join(", "))))
}

/// What of the scenario a command does not meet, as its connections have the kernel's own ends: a line for each law
/// of one end, whatever number of flows has it.
pub(crate) fn not_met(flows: &[StageFlow], is_served: impl Fn(&StageFlow) -> bool) -> Vec<String> {
    let of = |flow: &StageFlow| {
        let sender = match &flow.sender {
            SenderSpec::Abc(_) => Some("abc"),
            SenderSpec::Clamp(_) => Some("clamp"),
            SenderSpec::Xcp(_) => Some("xcp"),
            SenderSpec::Qfcp(_) => Some("qfcp"),
            _ => None,
        };
        let sender = sender.map(|law| ("sender", law, flow.table));
        let receiver = (has_a_law(flow) && !is_served(flow)).then_some(("receiver", flow.receiver.kind(), flow.table));
        sender.into_iter().chain(receiver)
    };
    let mut found: Vec<_> = flows.iter().flat_map(of).collect();
    found.sort_unstable();
    found.dedup();
    let said = |(key, law, table): (&str, &str, usize)| {
        let line = format!("what the command opens has the kernel's own {key} and does not obey it");
        (format!("flow[{table}].{key} = {law:?}"), line)
    };
    joined(found.into_iter().map(said))
}

/// One line for all places of one kind of which the same is said: `flow[0].receiver and 3 more: …`.
pub(crate) fn joined(said: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let kind = |place: &str| place.replace(|c: char| c.is_ascii_digit(), "");
    let mut lines: Vec<(String, String, BTreeSet<String>)> = vec![];
    for (place, line) in said {
        match lines.iter_mut().find(|(first, other, _)| *other == line && kind(first) == kind(&place)) {
            Some((first, _, more)) if *first != place => _ = more.insert(place),
            Some(_) => {}
            None => lines.push((place, line, BTreeSet::new())),
        }
    }
    let line = |(first, line, more): (String, String, BTreeSet<String>)| match more.len() {
        0 => format!("{first}: {line}"),
        count => format!("{first} and {count} more: {line}"),
    };
    lines.into_iter().map(line).collect()
}

/// What the scenario says of its flows' ends that those of the kernel, which run them, do not keep: a line for each end.
pub(crate) fn not_kept(flows: &[StageFlow]) -> Vec<String> {
    let of = |flow: &StageFlow| {
        let sender = flow.sender.options().map_or(vec![], |with| [with.own.given(), with.common.given()].concat());
        let receiver = flow.receiver.switches().given();
        [(flow.table, "sender", sender), (flow.table, "receiver", receiver)]
    };
    let mut found: Vec<_> = flows.iter().flat_map(of).filter(|(.., keys)| !keys.is_empty()).collect();
    found.sort_unstable();
    found.dedup();
    let line = |(table, end, keys): (usize, &str, Vec<&str>)| {
        format!("flow[{table}].{end}: the kernel's own {end} does not keep {}", keys.join(", "))
    };
    found.into_iter().map(line).collect()
}

/// Whether a flow's receiver has a law of its own.
pub(crate) fn has_a_law(flow: &StageFlow) -> bool {
    runs_by_proxy(flow) || matches!(flow.receiver, ReceiverSpec::Station(_))
}

/// Whether a proxy has the law of a flow's receiver.
pub(crate) fn runs_by_proxy(flow: &StageFlow) -> bool {
    matches!(flow.receiver, ReceiverSpec::Clamp(_) | ReceiverSpec::ClampKernel(_) | ReceiverSpec::Share(_))
}

/// Says that a flow's receiver is not to be had.
pub(crate) fn no_law(flow: &StageFlow, proxy: bool) -> ScenarioError {
    let may = runs_by_proxy(flow) && !proxy && !flow.is_upload;
    let (kind, but) = (flow.receiver.kind(), if may { ", or --proxy" } else { "" });
    let message = format!("{kind:?}: the kernel's receivers are plain: wanted receiver = \"plain\"{but}");
    ScenarioError::at(&format!("flow[{}].receiver", flow.table), message)
}
