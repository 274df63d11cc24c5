// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of a flow: which nodes it crosses, there and back, and the lanes between them.

use std::mem::take;

use lasthop_core::line::{Jitter, Line, Path, Wire};
use lasthop_core::loss::{Loss, LossParams};
use lasthop_core::units::Duration;
use lasthop_core::wlan::Direction;

use super::components::Component;
use super::wireless::{Outermost, Wireless};
use super::{Builder, elements, seats};
use crate::network::{Hop, Lane, Place, Traveller};
use crate::scenario::{self, ScenarioError};

/// A part of a way: a node and the delay behind it; or no node, but a delay and what is lost.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    over: Option<Place>,
    delay: Duration,
    loss: Loss,
}

impl Leg {
    fn over(place: Place, delay: Duration) -> Self {
        Self { over: Some(place), delay, loss: Loss::None }
    }

    /// The number of the node that it crosses; a gateway stands before one.
    pub(super) fn node(&self) -> Option<usize> {
        let mut place = self.over.filter(|place| !matches!(place, Place::Gateway(_)))?;
        place.node_mut().map(|node| *node as usize)
    }

    /// From now on the node is called by its number within its component, which is that of `numbers`.
    pub(super) fn renumber(&mut self, numbers: &[u32]) {
        if let Some(node) = self.over.as_mut().and_then(Place::node_mut) {
            *node = numbers[*node as usize];
        }
    }

    /// Whether it is a node, and not a delay alone.
    pub(super) fn crosses(&self) -> bool {
        self.over.is_some()
    }

    /// The delay behind it.
    pub(super) fn delay(&self) -> Duration {
        self.delay
    }
}

impl<P: Traveller> Builder<'_, P> {
    /// The legs of a flow's path, there and back. Over what is not there on the way back, the delay alone remains.
    pub(super) fn legs(
        &self,
        flow: &scenario::FlowSpec,
        Outermost { first, last }: Outermost,
    ) -> Result<(Vec<Leg>, Vec<Leg>), ScenarioError> {
        let (mut there, mut back) = (vec![], vec![]);
        let wlan = |wlan: usize, direction| Leg::over(Place::Wlan(self.wlans[wlan], direction), Duration::ZERO);
        if let Some(first) = first {
            there.push(wlan(first, Direction::Up));
            back.push(wlan(first, Direction::Down));
        }
        for (i, pair) in flow.path.windows(2).enumerate() {
            let (from, to) = (pair[0].as_str(), pair[1].as_str());
            let missing = || {
                let message = format!("there is no [[link]] from {from:?} to {to:?}");
                ScenarioError::at(&format!("path[{}]", i + 1), message)
            };
            let (Some(&(Some(node), link)), Some(&(way_back, link_back))) =
                (self.links.get(&(from, to)), self.links.get(&(to, from)))
            else {
                return Err(missing());
            };
            there.push(Leg::over(Place::Node(node), link.delay));
            back.push(match way_back {
                Some(node) => Leg::over(Place::Node(node), link_back.delay),
                None => {
                    let loss = self.loss_of_acks(link.loss.as_ref(), &link.name)?;
                    Leg { over: None, delay: link.delay, loss }
                }
            });
        }
        if flow.path.len() == 1 && flow.station.is_none() && flow.source.is_none() {
            return Err(ScenarioError::at("path", "wanted at least two nodes, or a station"));
        }
        let is_private = flow.path.is_empty() && flow.station.is_none() && flow.source.is_none();
        let has_rate = flow.access.is_some() || flow.sink.as_ref().is_some_and(|sink| sink.rate.is_some());
        if is_private && (!self.nodes.is_empty() || !has_rate) {
            return Err(ScenarioError::at("path", "missing: wanted a path over links, or a station"));
        }
        match last {
            Some(Wireless::Ap(ap)) => {
                let (spec, (down, up)) = (&self.scenario.ap[ap], self.aps[ap]);
                let gateway = self.gateways.get(ap).is_some_and(|is_there| *is_there).then_some(Place::Gateway(down));
                there.extend(gateway.map(|place| Leg::over(place, Duration::ZERO)));
                there.push(Leg::over(Place::Node(down), spec.delay));
                back.extend(gateway.map(|place| Leg::over(place, Duration::ZERO)));
                if let Some(proxy) = &spec.proxy {
                    // Behind a gateway are kernels, which have selective acknowledgements.
                    if proxy.sends_updates() && gateway.is_none() {
                        seats::takes_updates(flow, &format!("the proxy is {:?}", proxy.kind()))?;
                    }
                    back.push(Leg::over(Place::Proxy(down), Duration::ZERO));
                }
                back.push(match up {
                    // What takes acknowledgements is part of the uplink.
                    Some(up) => Leg::over(Place::Node(up), spec.delay),
                    None => {
                        let name = elements::station_name(&spec.name, flow.station.as_deref().unwrap_or_default());
                        let loss = self.loss_of_acks(spec.loss.as_ref(), &name)?;
                        Leg { over: None, delay: spec.delay, loss }
                    }
                });
            }
            Some(Wireless::Wlan(last)) => {
                there.push(wlan(last, Direction::Down));
                back.push(wlan(last, Direction::Up));
            }
            None => {}
        }
        back.reverse();
        Ok((there, back))
    }

    /// What takes acknowledgements of a flow where they cross no node.
    pub(super) fn loss_of_acks(&self, loss: Option<&LossParams>, name: &str) -> Result<Loss, ScenarioError> {
        let config = elements::loss_of_acks(loss, name);
        Loss::new(&config, &self.streams, name).map_err(|e| ScenarioError::parameter("loss", e))
    }
}

impl<P> Component<P> {
    /// The hops to the nodes of `legs`, for a stream that has `jitter`, the private links `wires` and `delay` in front of them.
    /// A lane of its own leads to the first node; between two of them all streams share one, as long as nothing private lies
    /// there. Gives the private links behind the last.
    pub(super) fn hops(
        &mut self,
        hops: &mut Vec<Hop>,
        (jitter, mut wires, mut delay): (&mut Option<Jitter>, Vec<Wire>, Duration),
        legs: &[Leg],
    ) -> Vec<Wire> {
        let mut from = None;
        for leg in legs {
            let Some(to) = leg.over else {
                if !matches!(leg.loss, Loss::None) {
                    wires.push(Wire::delay(take(&mut delay)));
                    wires.push(Wire::new(None, Duration::ZERO, leg.loss.clone()));
                }
                delay += leg.delay;
                continue;
            };
            hops.push(match from {
                Some(from) if wires.is_empty() => self.lane_between(from, delay, to),
                _ => {
                    wires.push(Wire::delay(delay));
                    self.lane(Path::new(jitter.take(), take(&mut wires)), to)
                }
            });
            from = Some(to);
            delay = leg.delay;
        }
        wires.push(Wire::delay(delay));
        wires
    }

    /// A new lane.
    pub(super) fn lane(&mut self, path: Path, to: Place) -> Hop {
        self.parts.lanes.push(Lane { line: Line::new(path), to });
        Hop::Lane(self.parts.lanes.len() as u32 - 1)
    }

    /// What leaves a node is in order of time whoever it belongs to: one lane serves all streams.
    fn lane_between(&mut self, from: Place, delay: Duration, to: Place) -> Hop {
        if let Some(&lane) = self.between.get(&(from, delay, to)) {
            return Hop::Lane(lane);
        }
        self.between.insert((from, delay, to), self.parts.lanes.len() as u32);
        self.lane(Path::delay(delay), to)
    }
}
