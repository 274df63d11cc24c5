// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which stations there are, and whose a flow's ends are.

use super::{Builder, names};
use crate::scenario::{Flow, ScenarioError};

/// An access point or a WLAN, by its place in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wireless {
    Ap(usize),
    Wlan(usize),
}

impl<P> Builder<'_, P> {
    /// The access point or WLAN at the end of a flow's path, if the data goes to a station.
    pub(super) fn last_hop(&self, flow: &Flow) -> Result<Option<Wireless>, ScenarioError> {
        let last = flow.path.last().map(|name| (name, self.wireless(name)));
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
    pub(super) fn first_hop(&self, flow: &Flow) -> Result<Option<usize>, ScenarioError> {
        let first = flow.path.first().map(|name| (name, self.wireless(name)));
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

    fn wireless(&self, name: &str) -> Option<Wireless> {
        let ap = self.scenario.ap.iter().position(|ap| ap.name == name).map(Wireless::Ap);
        ap.or_else(|| self.scenario.wlan.iter().position(|wlan| wlan.name == name).map(Wireless::Wlan))
    }

    /// The stations of an access point or WLAN: those with a table of their own, then the others that flows name.
    pub(super) fn stations_of<'n>(
        &self,
        wireless: Wireless,
        own: impl Iterator<Item = &'n String> + Clone,
        place: &str,
    ) -> Result<Vec<String>, ScenarioError> {
        names::unique(own.clone().enumerate().map(|(i, name)| (format!("{place}.station[{i}].name"), name)))?;
        let mut names: Vec<String> = own.cloned().collect();
        let listed: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        let wlan = match wireless {
            Wireless::Wlan(wlan) if !listed.is_empty() => Some(&self.scenario.wlan[wlan].name),
            Wireless::Wlan(_) | Wireless::Ap(_) => None,
        };
        for (i, flow) in self.scenario.flow.iter().enumerate() {
            let ends = [
                ("source", self.first_hop(flow)?.map(Wireless::Wlan), &flow.source),
                ("station", self.last_hop(flow)?, &flow.station),
            ];
            for (key, at, station) in ends {
                if let Some(name) = station
                    && at == Some(wireless)
                    && !names.contains(name)
                {
                    if let Some(wlan) = wlan {
                        let wanted = format!("one of the stations of the WLAN {wlan:?}: {}", listed.join(", "));
                        return Err(ScenarioError::refused(&format!("flow[{i}].{key}"), format!("{name:?}"), wanted));
                    }
                    names.push(name.clone());
                }
            }
        }
        match wireless {
            Wireless::Ap(_) if names.len() > usize::from(u16::MAX) => {
                Err(ScenarioError::at(&format!("{place}.station"), "wanted at most 65535 stations"))
            }
            _ => Ok(names),
        }
    }

    /// The place of a station among those of its access point or WLAN.
    pub(super) fn index_of(&self, wireless: Wireless, station: Option<&String>) -> u16 {
        let names = match wireless {
            Wireless::Ap(ap) => &self.stations[ap],
            Wireless::Wlan(wlan) => &self.wlan_stations[wlan],
        };
        names.iter().position(|name| Some(name) == station).unwrap_or(0) as u16
    }
}
