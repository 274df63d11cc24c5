// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which stations there are, and whose a flow's ends are.

use std::collections::BTreeSet;

use super::names::{self, StationNames};
use super::{Builder, Traveller};
use crate::scenario::{FlowSpec, ScenarioError};

/// An access point or a WLAN, by its place in the scenario's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wireless {
    Ap(usize),
    Wlan(usize),
}

/// What is at the ends of a flow's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outermost {
    /// The WLAN that the data comes from, if it comes from a station.
    pub(super) first: Option<usize>,
    /// What the data goes to, if it goes to a station.
    pub(super) last: Option<Wireless>,
}

impl<'s, P: Traveller> Builder<'s, P> {
    /// Finds the ends of all flows. A station exists as soon as its access point or a flow names it.
    pub(super) fn name_stations(&mut self) -> Result<Vec<Outermost>, ScenarioError> {
        let scenario = self.scenario;
        let aps = scenario.ap.iter().enumerate().map(|(i, ap)| (ap.name.as_str(), Wireless::Ap(i)));
        let wlans = scenario.wlan.iter().enumerate().map(|(i, wlan)| (wlan.own.name.as_str(), Wireless::Wlan(i)));
        self.wireless = aps.chain(wlans).collect();
        for (i, ap) in scenario.ap.iter().enumerate() {
            self.ap_stations.push(listed(ap.station.iter().map(|station| &station.common.name), &format!("ap[{i}]"))?);
        }
        for (i, wlan) in scenario.wlan.iter().enumerate() {
            let names = wlan.own.station.iter().map(|station| &station.common.name);
            self.wlan_stations.push(listed(names, &format!("wlan[{i}]"))?);
        }
        let ends = scenario.flow.iter().enumerate();
        let ends = ends.map(|(i, flow)| self.name_ends(flow).map_err(|e| e.within(&format!("flow[{i}]"))));
        let ends = ends.collect::<Result<Vec<_>, _>>()?;
        self.check_listed(&ends)?;
        let most = usize::from(u16::MAX);
        match self.ap_stations.iter().position(|stations| stations.names().len() > most) {
            Some(i) => Err(ScenarioError::at(&format!("ap[{i}].station"), "wanted at most 65535 stations")),
            None => Ok(ends),
        }
    }

    /// Where flows go to stations that an access point does not list, one that it lists and no flow goes to is misspelt.
    fn check_listed(&self, ends: &[Outermost]) -> Result<(), ScenarioError> {
        for (i, ap) in self.scenario.ap.iter().enumerate() {
            let unlisted = &self.ap_stations[i].names()[ap.station.len()..];
            if unlisted.is_empty() || ap.station.is_empty() {
                continue;
            }
            let flows = self.scenario.flow.iter().zip(ends);
            let used: BTreeSet<_> = flows
                .filter(|(_, end)| end.last == Some(Wireless::Ap(i)))
                .filter_map(|(f, _)| f.station.as_ref())
                .collect();
            if let Some(j) = ap.station.iter().position(|station| !used.contains(&station.common.name)) {
                let key = format!("ap[{i}].station[{j}].name");
                let names: Vec<_> = unlisted.iter().take(8).map(|name| format!("{name:?}")).collect();
                let wanted = format!("a station that flows go to, such as {}", names.join(" or "));
                return Err(ScenarioError::refused(&key, format!("{:?}", ap.station[j].common.name), wanted));
            }
        }
        Ok(())
    }

    fn name_ends(&mut self, flow: &'s FlowSpec) -> Result<Outermost, ScenarioError> {
        let (last, first) = (self.last_hop(flow)?, self.first_hop(flow)?);
        let ends = [("source", first.map(Wireless::Wlan), &flow.source), ("station", last, &flow.station)];
        for (key, at, station) in ends {
            let (Some(at), Some(name)) = (at, station) else { continue };
            let stations = match at {
                Wireless::Ap(ap) => &mut self.ap_stations[ap],
                Wireless::Wlan(wlan) => &mut self.wlan_stations[wlan],
            };
            if let Wireless::Wlan(wlan) = at
                && stations.place(name).is_none()
                && !self.scenario.wlan[wlan].own.station.is_empty()
            {
                let listed: Vec<_> = stations.names().iter().map(|name| format!("{name:?}")).collect();
                let wlan = &self.scenario.wlan[wlan].own.name;
                let wanted = format!("one of the stations of the WLAN {wlan:?}: {}", listed.join(", "));
                return Err(ScenarioError::refused(key, format!("{name:?}"), wanted));
            }
            stations.add(name);
        }
        Ok(Outermost { first, last })
    }

    /// The access point or WLAN at the end of a flow's path, if the data goes to a station.
    fn last_hop(&self, flow: &FlowSpec) -> Result<Option<Wireless>, ScenarioError> {
        let last = flow.path.last().map(|name| (name, self.wireless.get(name.as_str()).copied()));
        match (&flow.station, last) {
            (None, Some((name, Some(Wireless::Ap(_))))) => {
                Err(ScenarioError::at("station", format!("missing: the path ends at the access point {name:?}")))
            }
            (None, Some((name, Some(Wireless::Wlan(_))))) if flow.path.len() > 1 || flow.source.is_none() => {
                Err(ScenarioError::at("station", format!("missing: the path ends at the WLAN {name:?}")))
            }
            (None, _) => Ok(None),
            (Some(_), Some((_, Some(found)))) => Ok(Some(found)),
            (Some(_), Some((name, None))) => {
                let wanted = "wanted the name of an access point or WLAN, as there is a station";
                Err(ScenarioError::at("path", format!("ends at {name:?}: {wanted}")))
            }
            (Some(_), None) => match (self.scenario.ap.len(), self.scenario.wlan.len()) {
                (1, 0) => Ok(Some(Wireless::Ap(0))),
                (0, 1) => Ok(Some(Wireless::Wlan(0))),
                (0, 0) => Err(ScenarioError::at("station", "there is no [[ap]] or [[wlan]] that it could belong to")),
                _ => {
                    let wanted = "missing: wanted [\"NAME\"] to say which [[ap]] or [[wlan]] the station is at";
                    Err(ScenarioError::at("path", wanted))
                }
            },
        }
    }

    /// The WLAN at the start of a flow's path, if the data comes from a station.
    fn first_hop(&self, flow: &FlowSpec) -> Result<Option<usize>, ScenarioError> {
        let first = flow.path.first().map(|name| (name, self.wireless.get(name.as_str()).copied()));
        match (&flow.source, first) {
            (None, Some((name, Some(Wireless::Wlan(_))))) if flow.path.len() > 1 => {
                Err(ScenarioError::at("source", format!("missing: the path starts at the WLAN {name:?}")))
            }
            (None, _) => Ok(None),
            (Some(_), Some((_, Some(Wireless::Wlan(wlan))))) => Ok(Some(wlan)),
            (Some(_), Some((name, _))) => {
                let wanted = "wanted the name of a WLAN, as there is a source";
                Err(ScenarioError::at("path", format!("starts at {name:?}: {wanted}")))
            }
            (Some(_), None) => match self.scenario.wlan.len() {
                1 => Ok(Some(0)),
                0 => Err(ScenarioError::at("source", "there is no [[wlan]] that it could belong to")),
                _ => {
                    let wanted = "missing: wanted [\"NAME\"] to say which [[wlan]] the source is at";
                    Err(ScenarioError::at("path", wanted))
                }
            },
        }
    }

    /// The place of a station among those of its access point or WLAN.
    pub(super) fn place_of(&self, at: Option<Wireless>, station: Option<&String>) -> u16 {
        let stations = match at {
            Some(Wireless::Ap(ap)) => &self.ap_stations[ap],
            Some(Wireless::Wlan(wlan)) => &self.wlan_stations[wlan],
            None => return 0,
        };
        station.and_then(|name| stations.place(name)).unwrap_or(0)
    }
}

/// The stations that have a table of their own in the table `place`.
fn listed<'s>(names: impl Iterator<Item = &'s String> + Clone, place: &str) -> Result<StationNames<'s>, ScenarioError> {
    names::unique(names.clone().enumerate().map(|(i, name)| (format!("{place}.station[{i}].name"), name)))?;
    let mut stations = StationNames::default();
    names.for_each(|name| stations.add(name));
    Ok(stations)
}
