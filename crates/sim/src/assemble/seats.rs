// SPDX-License-Identifier: MIT OR Apache-2.0
//! The agents of stations, and who sits at them.

use std::collections::BTreeMap;

use lasthop_core::law::station::StationAgent;
use lasthop_core::role::{AnyMarker, Pools};
use lasthop_core::tcp::{Recovery, SenderConfig};
use lasthop_core::units::Bytes;

use super::Builder;
use super::legs::Leg;
use crate::network::Traveller;
use crate::scenario::{FlowSpec, ReceiverSpec, ScenarioError, SenderSpec};
use crate::stations::{AgentSeat, Seat, StationEnd};

/// A station's queue: its component, its node there and the station at that.
type AgentPlace = (usize, usize, u16);

/// The agents so far.
#[derive(Debug, Default)]
pub(super) struct Seats {
    /// The agent of each host at a queue, and the first table that has it.
    agents: BTreeMap<(AgentPlace, String), (u32, usize)>,
    /// The queue of each host that tables name.
    hosts: BTreeMap<String, (AgentPlace, usize)>,
    /// The numbers of lines on paths over several, by component and node.
    lines: BTreeMap<(usize, usize), usize>,
    /// The pool of each host of a component.
    pools: BTreeMap<(usize, String), u32>,
}

/// Who has to do with the windows of a table's flows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Company {
    /// Nobody: each receiver is by itself.
    Alone,
    /// The agent of this station sets them all.
    Agent(u32),
    /// Those of the pool of this number meet.
    Pool(u32),
}

impl<P: Traveller> Builder<'_, P> {
    /// Who has to do with the windows of the flows of a table, whose data goes `there`.
    pub(super) fn company(
        &mut self,
        table: usize,
        flow: &FlowSpec,
        (there, station): (&[Leg], u16),
        component: usize,
    ) -> Result<Company, ScenarioError> {
        let with = match &flow.receiver {
            ReceiverSpec::Station(with) => with,
            ReceiverSpec::ClampKernel(_) => return Ok(Company::Pool(self.pool(flow, component))),
            ReceiverSpec::Share(with) if with.own.balances() => {
                self.hears_waits((there, station), component)?;
                return Ok(Company::Pool(self.pool(flow, component)));
            }
            _ => return Ok(Company::Alone),
        };
        let (keys, seat) = (with.own.own, &with.own.common);
        let nodes = &self.components[component].parts.nodes;
        let speaks = |node: &usize| matches!(nodes[*node].marker(station), Some(AnyMarker::Station(_)));
        let spoken: Vec<usize> = there.iter().filter_map(Leg::node).filter(speaks).collect();
        // A path that crosses a link or a medium twice is told of it as of one.
        let twice = (1..spoken.len()).any(|i| spoken[..i].contains(&spoken[i]));
        let Some(&node) = spoken.last() else {
            let message = "\"station\": no queue of its path has price = \"station\": wanted one at least";
            return Err(ScenarioError::at("receiver", message));
        };
        if twice {
            let message = "\"station\": its path crosses a link or WLAN with price = \"station\" twice: wanted once";
            return Err(ScenarioError::at("receiver", message));
        }
        takes_updates(flow, "the receiver is \"station\"")?;
        if spoken.len() > 1 {
            self.call_lines(&spoken, (component, station))?;
        }
        let place = (component, node, station);
        if let Some(host) = &seat.host {
            let &mut (known, first) = self.seats.hosts.entry(host.clone()).or_insert((place, table));
            if known != place {
                let wanted = format!("another name: flow[{first}] of that host leaves another station's queue");
                return Err(ScenarioError::refused("receiver.host", format!("{host:?}"), wanted));
            }
        }
        let end = seat.host.as_ref().or(flow.station.as_ref()).or(flow.path.last());
        let name = end.cloned().unwrap_or_default();
        if let Some(&(agent, first)) = self.seats.agents.get(&(place, name.clone())) {
            if *self.components[component].stations[agent as usize].agent.keys() != keys {
                let message = format!("wanted what flow[{first}] has: the agent of {name:?} is theirs both");
                return Err(ScenarioError::at("receiver", message));
            }
            return Ok(Company::Agent(agent));
        }
        let sent_bits = match self.components[component].parts.nodes[node].marker(station) {
            Some(AnyMarker::Station(router)) => router.sent_bits(),
            _ => u32::BITS,
        };
        let agent = StationAgent::new(keys).map_err(|e| ScenarioError::parameter("receiver", e))?.counting(sent_bits);
        let stations = &mut self.components[component].stations;
        let number = stations.len() as u32;
        stations.push(StationEnd { agent, flows: vec![] });
        self.seats.agents.insert((place, name), (number, table));
        Ok(Company::Agent(number))
    }

    /// Refuses a balance of what packets have waited, where a queue on the way of the data does not tell that.
    fn hears_waits(&self, (there, station): (&[Leg], u16), component: usize) -> Result<(), ScenarioError> {
        let nodes = &self.components[component].parts.nodes;
        let is_mute = |marker: &AnyMarker| matches!(marker, AnyMarker::Share(router) if !router.tells_waits());
        if there.iter().filter_map(Leg::node).any(|node| nodes[node].markers(station).any(is_mute)) {
            let wanted =
                "false: a price on its way has form = \"one-integer\", which does not tell what packets waited";
            return Err(ScenarioError::refused("receiver.balance", true, wanted));
        }
        Ok(())
    }

    /// Notes a receiver whose law goes by what queues write, where none on the way of its data writes that.
    pub(super) fn note_unheard(
        &mut self,
        table: usize,
        flow: &FlowSpec,
        (there, station): (&[Leg], u16),
        component: usize,
    ) {
        let wanted = match &flow.receiver {
            ReceiverSpec::Clamp(_) | ReceiverSpec::ClampKernel(_) => "a price of CLAMP",
            ReceiverSpec::Share(_) => "price = \"share\"",
            _ => return,
        };
        let nodes = &self.components[component].parts.nodes;
        let tells = |marker: &AnyMarker| match marker {
            AnyMarker::Share(_) => matches!(flow.receiver, ReceiverSpec::Share(_)),
            AnyMarker::Linear(_)
            | AnyMarker::Mice(_)
            | AnyMarker::Smooth(_)
            | AnyMarker::Integral(_)
            | AnyMarker::ClampKernel(_) => !matches!(flow.receiver, ReceiverSpec::Share(_)),
            _ => false,
        };
        if !there.iter().filter_map(Leg::node).any(|node| nodes[node].markers(station).any(tells)) {
            self.notes.push(format!(
                "flow[{table}].receiver: {:?} is told nothing: no queue on its way has {wanted}",
                flow.receiver.kind()
            ));
        }
    }

    /// The lines that one path crosses get numbers, by which stamps call them.
    fn call_lines(&mut self, nodes: &[usize], (component, station): (usize, u16)) -> Result<(), ScenarioError> {
        for &node in nodes {
            let known = self.seats.lines.len();
            let number = *self.seats.lines.entry((component, node)).or_insert(known + 1);
            let number = u8::try_from(number).map_err(|_| {
                let message = format!("\"station\": wanted at most {} lines on paths over several", u8::MAX);
                ScenarioError::at("receiver", message)
            })?;
            let node = &mut self.components[component].parts.nodes[node];
            if matches!(node.marker(station), Some(AnyMarker::Station(router)) if router.is_coarse()) {
                let message =
                    "\"station\": a coarse stamp has no room for the number of a line: wanted one line on its path";
                return Err(ScenarioError::at("receiver", message));
            }
            node.call_line(number);
        }
        Ok(())
    }

    /// The pool of the host to which a table's flows go: there is one agent for all of them.
    fn pool(&mut self, flow: &FlowSpec, component: usize) -> u32 {
        let end = flow.station.as_ref().or(flow.path.last()).cloned().unwrap_or_default();
        let pools = &mut self.components[component].pools;
        *self.seats.pools.entry((component, end)).or_insert_with(|| {
            pools.push(Pools::default());
            pools.len() as u32 - 1
        })
    }
}

/// Refuses a flow whose sender would count window updates, which are sent as `agent` is what it says, as duplicate acknowledgements.
pub(super) fn takes_updates(flow: &FlowSpec, agent: &str) -> Result<(), ScenarioError> {
    let recovery = flow.sender.over(SenderConfig::default());
    let is_tcp = !matches!(flow.sender, SenderSpec::Tfrc(_));
    if is_tcp && recovery.recovery != Recovery::Sack && !recovery.strict_duplicate_acks {
        let message = format!(
            "takes window updates for duplicate acknowledgements: wanted recovery = \"sack\" or \
             strict_duplicate_acks = true, as {agent}"
        );
        return Err(ScenarioError::at("sender", message));
    }
    Ok(())
}

/// Flow `id`, with segments of `payload` bytes, takes a seat among its company, if it has any.
pub(super) fn take(
    flow: &FlowSpec,
    company: Company,
    (id, payload): (u32, Bytes),
    stations: &mut [StationEnd],
) -> Option<Seat> {
    let (agent, with) = match (company, &flow.receiver) {
        (Company::Agent(agent), ReceiverSpec::Station(with)) => (agent, with),
        (Company::Pool(pool), _) => return Some(Seat::Pool(pool)),
        _ => return None,
    };
    let station = &mut stations[agent as usize];
    station.flows.push(id);
    let number = station.agent.add(with.own.common.weight, payload.get() as u32);
    Some(Seat::Agent(Box::new(AgentSeat::new(agent, number as u32))))
}
