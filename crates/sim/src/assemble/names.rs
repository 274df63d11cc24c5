// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of elements, queues and stations. Streams of random numbers hang on them as the results do, so no two may be
//! alike.

use std::collections::{BTreeMap, BTreeSet};

use lasthop_core::packet::Parcel;

use crate::node::Node;
use crate::scenario::{Scenario, ScenarioError};

/// Refuses elements without a name of their own.
pub(super) fn check_elements(scenario: &Scenario) -> Result<(), ScenarioError> {
    let keyed = |list: &str, i: usize| format!("{list}[{i}].name");
    let links = scenario.link.iter().enumerate().map(|(i, link)| (keyed("link", i), &link.name));
    let aps = scenario.ap.iter().enumerate().map(|(i, ap)| (keyed("ap", i), &ap.name));
    let wlans = scenario.wlan.iter().enumerate().map(|(i, wlan)| (keyed("wlan", i), &wlan.own.name));
    unique(links.chain(aps).chain(wlans))
}

/// Refuses a name that an earlier key has.
pub(super) fn unique<'n>(names: impl Iterator<Item = (String, &'n String)>) -> Result<(), ScenarioError> {
    let mut seen = BTreeSet::new();
    for (key, name) in names {
        if !seen.insert(name) {
            return Err(ScenarioError::refused(&key, format!("{name:?}"), "a name that no other has"));
        }
    }
    Ok(())
}

/// The name of the queue of a duplex link's way back.
pub(super) fn back(name: &str) -> String {
    format!("{name} (back)")
}

/// The name of an access point's uplink.
pub(super) fn up(name: &str) -> String {
    format!("{name} (up)")
}

/// Refuses a name that would be that of two queues, as "l (back)" is of a link and of another's way back; `keys` are those of
/// the nodes' tables.
pub(super) fn check_queues<P: Parcel>(nodes: &[Node<P>], keys: &[String]) -> Result<(), ScenarioError> {
    let mut seen = BTreeSet::new();
    for (node, key) in nodes.iter().zip(keys) {
        for name in (0..node.queues()).map(|queue| node.totals(queue).name) {
            if !seen.insert(name) {
                let message = format!("makes a second queue {name:?}: wanted another name");
                return Err(ScenarioError::at(&format!("{key}.name"), message));
            }
        }
    }
    Ok(())
}

/// The names of the flows so far. Those of transfers that come and go, "web#1" and so on, are a family: how many there are hangs
/// on the seed, so none of them is free.
#[derive(Debug, Default)]
pub(super) struct FlowNames {
    names: BTreeSet<String>,
    families: BTreeSet<String>,
}

impl FlowNames {
    /// Takes in the name of a flow; false if it is taken.
    pub(super) fn add(&mut self, name: &str) -> bool {
        let is_of_family = member(name).is_some_and(|family| self.families.contains(family));
        !is_of_family && self.names.insert(name.to_owned())
    }

    /// Takes in a family; false if one of it may be taken.
    pub(super) fn add_family(&mut self, name: &str) -> bool {
        let first = format!("{name}#");
        let mut similar = self.names.range(first.clone()..).take_while(|other| other.starts_with(&first));
        !similar.any(|other| member(other) == Some(name)) && self.families.insert(name.to_owned())
    }
}

/// The family that a name would be of.
fn member(name: &str) -> Option<&str> {
    let (family, number) = name.rsplit_once('#')?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then_some(family)
}

/// The stations of an access point or WLAN: those with a table of their own, then the others that flows name.
#[derive(Debug, Default)]
pub(super) struct StationNames<'s> {
    names: Vec<String>,
    places: BTreeMap<&'s str, u16>,
}

impl<'s> StationNames<'s> {
    /// Takes in a station, unless it is there.
    pub(super) fn add(&mut self, name: &'s str) {
        let place = self.names.len() as u16;
        self.places.entry(name).or_insert_with(|| {
            self.names.push(name.to_owned());
            place
        });
    }

    /// Their names, in the order of their queues or interfaces.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// A station's place among them.
    pub(super) fn place(&self, name: &str) -> Option<u16> {
        self.places.get(name).copied()
    }
}
