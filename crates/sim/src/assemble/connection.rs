// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows: each connection with its ends, its private links and its route over the shared elements.

use lasthop_core::app::{App, AppConfig, poisson_arrivals};
use lasthop_core::line::{Jitter, Line, Path, Stage};
use lasthop_core::loss::Loss;
use lasthop_core::tcp;
use lasthop_core::units::{Bytes, Duration, Instant, Rate};
use lasthop_core::wlan::Direction;

use super::wireless::Wireless;
use super::{Builder, Shared, convert, keys, rate, senders};
use crate::host::{Host, Receiver, Sender};
use crate::network::{End, Hop, Lane, Route, Traveller};
use crate::quantity::LONGEST;
use crate::scenario::{self, ScenarioError};
use crate::summary::FlowLabel;

/// Most flows in one run: what a port and an event's number leave room for.
const MOST_FLOWS: usize = 1_000_000;

impl<P: Traveller> Builder<'_, P> {
    /// The link from one node to the other, and its place among the built ones.
    fn link_between(&self, from: &str, to: &str) -> Option<(Option<usize>, &scenario::Link)> {
        let mut at = 0;
        for link in &self.scenario.link {
            if link.from == from && link.to == to {
                return Some((Some(at), link));
            }
            if link.from == to && link.to == from {
                return Some((link.duplex.then_some(at + 1), link));
            }
            at += 1 + usize::from(link.duplex);
        }
        None
    }

    /// The shared elements of a flow's path and the delay behind each; there and back. Over what is not there on the way
    /// back, the delay alone remains.
    fn path(&self, flow: &scenario::Flow) -> Result<(Vec<Step>, Vec<BackHop>), ScenarioError> {
        let (mut there, mut back) = (vec![], vec![]);
        if let Some(wlan) = self.first_hop(flow)? {
            there.push((Shared::Wlan(wlan, Direction::Up), Duration::ZERO));
            back.push(BackHop::wlan(wlan, Direction::Down));
        }
        for (i, pair) in flow.path.windows(2).enumerate() {
            let key = format!("path[{}]", i + 1);
            let missing =
                || ScenarioError::at(&key, format!("there is no [[link]] from {:?} to {:?}", pair[0], pair[1]));
            let (place, link) = self.link_between(&pair[0], &pair[1]).ok_or_else(missing)?;
            there.push((Shared::Link(place.ok_or_else(missing)?), link.delay.0));
            let (place, link) = self.link_between(&pair[1], &pair[0]).ok_or_else(missing)?;
            let loss = match place {
                Some(_) => Loss::None,
                None => self.loss_of_acks(link.loss.as_ref(), &link.name)?,
            };
            back.push(BackHop { over: place.map(Shared::Link), delay: link.delay.0, loss });
        }
        if flow.path.len() == 1 && flow.station.is_none() && flow.source.is_none() {
            return Err(ScenarioError::at("path", "wanted at least two nodes, or a station"));
        }
        let is_private = flow.path.is_empty() && flow.station.is_none() && flow.source.is_none();
        let shared = self.scenario.link.len() + self.scenario.ap.len() + self.scenario.wlan.len();
        let has_rate = flow.access.is_some() || flow.sink.as_ref().is_some_and(|sink| sink.rate.is_some());
        if is_private && (shared > 0 || !has_rate) {
            return Err(ScenarioError::at("path", "missing: wanted a path over links, or a station"));
        }
        match self.last_hop(flow)? {
            Some(Wireless::Ap(ap)) => {
                let spec = &self.scenario.ap[ap];
                let delay = spec.delay.0;
                there.push((Shared::Ap(ap), delay));
                let name = convert::station_name(&spec.name, flow.station.as_deref().unwrap_or_default());
                // Over an uplink, what takes acknowledgements is part of it.
                let over = self.uplinks[ap].map(Shared::Ap);
                let loss = spec.loss.as_ref().filter(|_| over.is_none());
                back.push(BackHop { over, delay, loss: self.loss_of_acks(loss, &name)? });
            }
            Some(Wireless::Wlan(wlan)) => {
                there.push((Shared::Wlan(wlan, Direction::Down), Duration::ZERO));
                back.push(BackHop::wlan(wlan, Direction::Up));
            }
            None => {}
        }
        back.reverse();
        Ok((there, back))
    }

    fn loss_of_acks(&self, loss: Option<&scenario::Loss>, name: &str) -> Result<Loss, ScenarioError> {
        let config = convert::loss_of_acks(loss, name).map_err(|e| e.within("loss"))?;
        Loss::new(&config, &self.streams, name).map_err(|e| ScenarioError::parameter("loss", e))
    }

    pub(super) fn flow(&mut self, flow: &scenario::Flow) -> Result<(), ScenarioError> {
        if flow.count == 0 || flow.count as usize > MOST_FLOWS {
            return Err(ScenarioError::refused("count", flow.count, format!("1 to {MOST_FLOWS}")));
        }
        if flow.name.is_empty() {
            return Err(ScenarioError::at("name", "wanted a name"));
        }
        not_too_long("spread", (flow.start.0, flow.spread.0, 1), "flow starts after")?;
        not_too_long("stagger", (flow.start.0 + flow.spread.0, flow.stagger.0, flow.count - 1), "flow starts after")?;
        not_too_long("rtt_step", (flow.rtt.0, flow.rtt_step.0, flow.count - 1), "round trip takes")?;
        let payload = senders::payload(flow)?;
        let (mut start, mut rtt) = (Instant::ZERO + flow.start.0, flow.rtt.0);
        for i in 0..flow.count {
            let name = if flow.count == 1 { flow.name.clone() } else { format!("{}-{}", flow.name, i + 1) };
            let at = start + self.spread(flow, &name);
            match &flow.app {
                scenario::App::Poisson(poisson) => {
                    let config = convert::sizes(&poisson.size, payload).map_err(|e| e.within("app.size"))?;
                    let rate = poisson.rate.0;
                    if rate <= 0.0 || rate * self.span.until.as_secs_f64() > MOST_FLOWS as f64 {
                        let wanted = format!("more than 0 /s and at most {MOST_FLOWS} arrivals in all");
                        return Err(ScenarioError::refused("app.rate", format!("{rate} /s"), wanted));
                    }
                    let until = poisson.until.map_or(self.span.until, |until| Instant::ZERO + until.0);
                    let mut times = self.streams.stream(&name, "arrivals");
                    let mut sizes = self.streams.stream(&name, "sizes");
                    for (n, arrival) in
                        poisson_arrivals(rate, at, until.min(self.span.until), &mut times).into_iter().enumerate()
                    {
                        let size = config.draw(&mut sizes);
                        self.connection(flow, format!("{name}#{}", n + 1), (arrival, rtt), AppConfig::Fixed { size })?;
                    }
                }
                app => self.connection(flow, name, (at, rtt), convert::app(app, payload))?,
            }
            start += flow.stagger.0;
            rtt += flow.rtt_step.0;
        }
        Ok(())
    }

    /// One TCP connection with its application, its private links and its route.
    fn connection(
        &mut self,
        spec: &scenario::Flow,
        name: String,
        (start, rtt): (Instant, Duration),
        app: AppConfig,
    ) -> Result<(), ScenarioError> {
        if !self.names.insert(name.clone()) {
            let wanted = if name == spec.name {
                "a name that no other flow has".to_owned()
            } else {
                format!("another name: it makes a second flow {name:?}")
            };
            return Err(ScenarioError::refused("name", format!("{:?}", spec.name), wanted));
        }
        if self.flows.len() >= MOST_FLOWS {
            return Err(ScenarioError::at("count", format!("wanted at most {MOST_FLOWS} flows in all")));
        }
        let parameter = ScenarioError::parameter;
        let id = self.flows.len() as u32;
        let (there, back) = self.path(spec)?;
        let payload = senders::payload(spec)?;
        let Ends { sender, receiver, sender_kind, receiver_kind, header_bytes, sack, ahead } = match &spec.sender {
            scenario::Sender::Tfrc(options) => {
                rate::ends(id, options, &spec.receiver, payload, (self.span, self.scenario.sample.0))?
            }
            _ => self.tcp_ends(id, spec, payload, there.len())?,
        };
        let stop = spec.stop.map(|stop| Instant::ZERO + stop.0);
        let is_transfer = matches!(app, AppConfig::Fixed { .. });
        let reader = convert::reader(spec)?;
        let app = App::new(app, start, stop, self.streams.stream(&name, "app"))
            .map_err(|e| if e.key == "stop" { parameter("", e) } else { parameter("app", e) })?;
        let access = spec.access.map(|rate| rate.0);
        if access == Some(Rate::from_bps(0)) {
            return Err(ScenarioError::refused("access", "0 bit/s", "more than 0 bit/s"));
        }

        // There: jitter and access link, the shared elements, the sink.
        let jitter =
            (!spec.jitter.0.is_zero()).then(|| Jitter::new(spec.jitter.0, self.streams.stream(&name, "jitter")));
        let half = rtt / 2;
        // The private delays, there and back: at the sender, or behind the WLAN if the sender is one of its stations.
        let (near, far) = match spec.source {
            None => ([half, rtt - half], [Duration::ZERO; 2]),
            Some(_) => ([Duration::ZERO; 2], [half, rtt - half]),
        };
        let mut stages = vec![Stage::new(access, near[0], Loss::None)];
        let mut hops = vec![];
        let sink = self.sink(spec, &name)?;
        let mut exit = vec![];
        if let Some(&(first, _)) = there.first() {
            hops.push(self.lane(Path::new(jitter, stages), end_of(first)));
            for pair in there.windows(2) {
                hops.push(self.lane_between(pair[0], pair[1].0));
            }
            if let Some(&(_, delay)) = there.last() {
                exit.push(Stage::new(None, delay + far[0], Loss::None));
            }
            exit.extend(sink);
            if ahead && self.ahead {
                hops.push(Hop::Receiver);
            } else {
                let path = Path::new(None, std::mem::take(&mut exit));
                hops.push(self.lane(path, End::Receiver));
            }
        } else {
            stages.extend(sink);
            hops.push(self.lane(Path::new(jitter, stages), End::Receiver));
        }

        // Back: the sink's link, the shared links, the access link. A stream's own lane leads to the first shared link;
        // between two of them all streams share one.
        let first_back = hops.len() as u8;
        let mut stages: Vec<Stage> = self.sink_back(spec, &name)?.into_iter().collect();
        let mut from: Option<Shared> = None;
        let mut delay = far[1];
        for hop in back {
            let Some(over) = hop.over else {
                if !matches!(hop.loss, Loss::None) {
                    stages.push(Stage::new(None, std::mem::take(&mut delay), Loss::None));
                    stages.push(Stage::new(None, Duration::ZERO, hop.loss));
                }
                delay += hop.delay;
                continue;
            };
            hops.push(match from {
                Some(from) if stages.is_empty() => self.lane_between((from, delay), over),
                _ => {
                    stages.push(Stage::new(None, delay, Loss::None));
                    self.lane(Path::new(None, std::mem::take(&mut stages)), end_of(over))
                }
            });
            from = Some(over);
            delay = hop.delay;
        }
        stages.push(Stage::new(None, delay, Loss::None));
        stages.push(Stage::new(access, near[1], Loss::None));
        hops.push(self.lane(Path::new(None, stages), End::Host));

        self.hosts.push(Host { app, sender });
        self.receivers.push(receiver);
        self.exits.push(Path::new(None, exit));
        let station = self.last_hop(spec)?.map_or(0, |wireless| self.index_of(wireless, spec.station.as_ref()));
        let source = self.first_hop(spec)?.map_or(0, |wlan| self.index_of(Wireless::Wlan(wlan), spec.source.as_ref()));
        self.parts.routes.push(Route { hops, back: first_back, station, source });
        self.flows.push(FlowLabel {
            name,
            sender: sender_kind.into(),
            receiver: receiver_kind,
            start,
            stop,
            is_transfer,
            header_bytes,
            sack,
            reader,
        });
        Ok(())
    }

    /// How much later than it might a flow starts.
    fn spread(&self, flow: &scenario::Flow, name: &str) -> Duration {
        if flow.spread.0.is_zero() {
            return Duration::ZERO;
        }
        let share = self.streams.stream(name, "start").uniform();
        Duration::from_secs_f64(flow.spread.0.as_secs_f64() * share)
    }

    fn tcp_ends(&self, id: u32, spec: &scenario::Flow, payload: Bytes, queues: usize) -> Result<Ends, ScenarioError> {
        let (sender, sender_kind) = senders::sender(&spec.sender, payload, queues);
        let (receiver, receiver_kind) = convert::receiver(&spec.receiver, &spec.sender, payload);
        let receiver = tcp::ReceiverConfig { sample_interval: Some(self.scenario.sample.0), ..receiver };
        let parameter = ScenarioError::parameter;
        Ok(Ends {
            header_bytes: sender.header_size(),
            sack: receiver.sack,
            ahead: receiver.delayed_ack.is_none(),
            sender: Sender::Tcp(
                tcp::Sender::new(id, sender, self.span).map_err(|e| parameter("sender", keys::written(e)))?,
            ),
            receiver: Receiver::Tcp(
                tcp::Receiver::new(id, receiver, self.span).map_err(|e| parameter("receiver", keys::of_receiver(e)))?,
            ),
            sender_kind,
            receiver_kind,
        })
    }

    fn sink(&self, flow: &scenario::Flow, name: &str) -> Result<Option<Stage>, ScenarioError> {
        let Some(sink) = &flow.sink else { return Ok(None) };
        if sink.rate.is_some_and(|rate| rate.0 == Rate::from_bps(0)) {
            return Err(ScenarioError::refused("sink.rate", "0 bit/s", "more than 0 bit/s"));
        }
        let config = convert::loss(sink.loss.as_ref(), name).map_err(|e| e.within("sink.loss"))?;
        let loss = Loss::new(&config, &self.streams, name).map_err(|e| ScenarioError::parameter("sink.loss", e))?;
        Ok(Some(Stage::new(sink.rate.map(|rate| rate.0), sink.delay.0, loss)))
    }

    /// The way of the acknowledgements over a receiver's access link.
    fn sink_back(&self, flow: &scenario::Flow, name: &str) -> Result<Option<Stage>, ScenarioError> {
        let Some(sink) = &flow.sink else { return Ok(None) };
        let loss = self.loss_of_acks(sink.loss.as_ref(), name).map_err(|e| e.within("sink"))?;
        Ok(Some(Stage::new(sink.rate.map(|rate| rate.0), sink.delay.0, loss)))
    }

    fn lane(&mut self, path: Path, end: End) -> Hop {
        self.parts.lanes.push(Lane { line: Line::new(path), end });
        Hop::Lane(self.parts.lanes.len() as u32 - 1)
    }

    /// What leaves a shared element is in order of time whoever it belongs to: one lane serves all streams.
    fn lane_between(&mut self, (from, delay): (Shared, Duration), to: Shared) -> Hop {
        let same = |(a, b, d, _): &&(Shared, Shared, Duration, u32)| (*a, *b, *d) == (from, to, delay);
        if let Some(&(_, _, _, lane)) = self.between.iter().find(same) {
            return Hop::Lane(lane);
        }
        let hop = self.lane(Path::delay(delay), end_of(to));
        if let Hop::Lane(lane) = hop {
            self.between.push((from, to, delay, lane));
        }
        hop
    }
}

/// Both ends of a flow.
pub(super) struct Ends {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) sender_kind: &'static str,
    pub(super) receiver_kind: &'static str,
    /// Headers of a data packet.
    pub(super) header_bytes: u32,
    /// Whether the receiver sends selective acknowledgements.
    pub(super) sack: bool,
    /// Whether the receiver keeps no timer, and may be asked ahead of time.
    pub(super) ahead: bool,
}

/// A step of the way there: a shared element and the delay behind it.
type Step = (Shared, Duration);

/// A step of the way back: a shared element, if there is one, and the delay; without an element, what is lost.
#[derive(Clone, Debug)]
struct BackHop {
    over: Option<Shared>,
    delay: Duration,
    loss: Loss,
}

impl BackHop {
    fn wlan(wlan: usize, direction: Direction) -> Self {
        Self { over: Some(Shared::Wlan(wlan, direction)), delay: Duration::ZERO, loss: Loss::None }
    }
}

fn end_of(shared: Shared) -> End {
    match shared {
        Shared::Link(link) => End::Link(link as u32),
        Shared::Ap(ap) => End::Ap(ap as u32),
        Shared::Wlan(wlan, direction) => End::Wlan(wlan as u32, direction),
    }
}

/// Refuses a step that is so long that `first` and `steps` of it make more than a time may be.
fn not_too_long(key: &str, (first, step, steps): (Duration, Duration, u32), what: &str) -> Result<(), ScenarioError> {
    let last = u128::from(first.as_nanos()) + u128::from(step.as_nanos()) * u128::from(steps);
    if last > u128::from(LONGEST.as_nanos()) {
        let wanted = format!("less, so that no {what} more than {LONGEST:?}");
        return Err(ScenarioError::refused(key, format!("{step:?}"), wanted));
    }
    Ok(())
}
