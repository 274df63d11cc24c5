// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of elements, queues and stations. Streams of random numbers hang on them as the results do, so no two may be
//! alike.

use std::collections::BTreeSet;

use super::{Builder, convert};
use crate::scenario::{Scenario, ScenarioError};

/// Refuses elements without a name of their own.
pub(super) fn check_elements(scenario: &Scenario) -> Result<(), ScenarioError> {
    let keyed = |list: &str, i: usize| format!("{list}[{i}].name");
    let links = scenario.link.iter().enumerate().map(|(i, link)| (keyed("link", i), &link.name));
    let aps = scenario.ap.iter().enumerate().map(|(i, ap)| (keyed("ap", i), &ap.name));
    let wlans = scenario.wlan.iter().enumerate().map(|(i, wlan)| (keyed("wlan", i), &wlan.name));
    unique(links.chain(aps).chain(wlans))
}

/// Refuses an empty name, and one that an earlier key has.
pub(super) fn unique<'n>(names: impl Iterator<Item = (String, &'n String)>) -> Result<(), ScenarioError> {
    let mut seen = BTreeSet::new();
    for (key, name) in names {
        if name.is_empty() {
            return Err(ScenarioError::at(&key, "wanted a name"));
        }
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

impl<P> Builder<'_, P> {
    /// The names of all queues, in the order of the results, each with the key that it comes from.
    pub(super) fn queue_names(&self) -> Vec<(String, String)> {
        let mut names = vec![];
        for (i, link) in self.scenario.link.iter().enumerate() {
            let back = link.duplex.then(|| back(&link.name));
            let both = std::iter::once(link.name.clone()).chain(back);
            names.extend(both.map(|name| (format!("link[{i}].name"), name)));
        }
        for (i, (ap, stations)) in self.scenario.ap.iter().zip(&self.stations).enumerate() {
            let of_stations = stations.iter().map(|station| convert::station_name(&ap.name, station));
            names.extend(of_stations.map(|name| (format!("ap[{i}].name"), name)));
        }
        for (i, (ap, stations)) in self.scenario.ap.iter().zip(&self.stations).enumerate() {
            if ap.uplink.is_none() {
                continue;
            }
            let of_stations = stations.iter().map(|station| convert::station_name(&up(&ap.name), station));
            names.extend(of_stations.map(|name| (format!("ap[{i}].name"), name)));
        }
        for (i, (wlan, stations)) in self.scenario.wlan.iter().zip(&self.wlan_stations).enumerate() {
            let of_stations = stations.iter().map(|station| convert::station_name(&wlan.name, station));
            let all = std::iter::once(wlan.name.clone()).chain(of_stations);
            names.extend(all.map(|name| (format!("wlan[{i}].name"), name)));
        }
        names
    }
}

/// Refuses a name that would be that of two queues, as "l (back)" is of a link and of another's way back.
pub(super) fn check_queues(names: &[(String, String)]) -> Result<(), ScenarioError> {
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort_by_key(|(_, name)| name);
    match sorted.windows(2).find(|pair| pair[0].1 == pair[1].1) {
        Some(pair) => {
            Err(ScenarioError::at(&pair[1].0, format!("makes a second queue {:?}: wanted another name", pair[1].1)))
        }
        None => Ok(()),
    }
}
