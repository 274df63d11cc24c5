// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows: each connection with its ends, its private links and its route over the shared elements.

use std::sync::Arc;

use lasthop_core::app::{App, AppParams, Poisson, Transfer, poisson_arrivals};
use lasthop_core::line::{Jitter, Path, Wire};
use lasthop_core::loss::Loss;
use lasthop_core::rng::Streams;
use lasthop_core::tcp;
use lasthop_core::units::{Amount, Bytes, Duration, Instant};

use super::components::Way;
use super::legs::Leg;
use super::wireless::{Outermost, Wireless};
use super::{AssembledFlow, Builder, elements, ends, rate, seats};
use crate::host::{Host, ReceivingEnd, SendingEnd};
use crate::hosts;
use crate::network::{Hop, Place, Route, Traveller};
use crate::scenario::{self, MOST_FLOWS, ScenarioError};
use crate::summary::{FlowLabel, ReaderLabel};

/// What the connections of one table of the scenario have in common.
struct Common<'s> {
    /// The table, its number, and that of its component.
    spec: &'s scenario::FlowSpec,
    table: usize,
    component: usize,
    there: Vec<Leg>,
    back: Vec<Leg>,
    /// The stations to which the data goes, and from which it comes.
    station: u16,
    source: u16,
    payload: Bytes,
    tcp: TcpConfigs,
    /// Who has to do with the window.
    company: seats::Company,
}

/// What TCP's ends are told, once for all connections of a table.
struct TcpConfigs {
    sender: Arc<tcp::SenderConfig>,
    receiver: Arc<tcp::ReceiverConfig>,
}

impl<P: Traveller> Builder<'_, P> {
    /// The connections of the table numbered `table`.
    pub(super) fn flow(
        &mut self,
        table: usize,
        flow: &scenario::FlowSpec,
        (ends, way): (Outermost, Way),
    ) -> Result<(), ScenarioError> {
        let payload = ends::payload(flow)?;
        let Way { there, back, component } = way;
        let station = self.place_of(ends.last, flow.station.as_ref());
        let source = self.place_of(ends.first.map(Wireless::Wlan), flow.source.as_ref());
        let tcp = self.tcp_configs(flow, payload, there.len());
        let company = self.company(table, flow, (&there, station), component)?;
        self.note_unheard(table, flow, (&there, station), component);
        let common = Common { spec: flow, table, component, there, back, station, source, payload, tcp, company };
        let (mut start, mut rtt) = (Instant::ZERO + flow.start, flow.rtt);
        for i in 0..flow.count {
            let name = if flow.count == 1 { flow.name.clone() } else { format!("{}-{}", flow.name, i + 1) };
            let at = start + self.spread(flow, &name);
            match &flow.app {
                AppParams::Poisson(poisson) => {
                    poisson.size.check(payload).map_err(|e| ScenarioError::parameter("app.size", e))?;
                    if !self.names.add_family(&name) {
                        return Err(taken(flow, &name));
                    }
                    // Whether transfers arrive hangs on the seed, whether they could be made must not.
                    self.make(&common, &name, 0)?;
                    let end = last_arrival(flow, poisson, self.span.until);
                    let mut times = self.streams.stream(&name, "arrivals");
                    let mut sizes = self.streams.stream(&name, "sizes");
                    for (n, arrival) in
                        poisson_arrivals(poisson.rate.get(), at, end, &mut times).into_iter().enumerate()
                    {
                        let size = Amount::Bytes(poisson.size.draw(payload, &mut sizes));
                        self.connection(
                            &common,
                            format!("{name}#{}", n + 1),
                            (arrival, rtt),
                            &AppParams::Fixed(Transfer { size }),
                        )?;
                    }
                }
                app => {
                    if !self.names.add(&name) {
                        return Err(taken(flow, &name));
                    }
                    self.connection(&common, name, (at, rtt), app)?;
                }
            }
            start += flow.stagger;
            rtt += flow.rtt_step;
        }
        Ok(())
    }

    /// One connection with its application, its private links and its route.
    fn connection(
        &mut self,
        common: &Common<'_>,
        name: String,
        (start, rtt): (Instant, Duration),
        app: &AppParams,
    ) -> Result<(), ScenarioError> {
        let &Common { spec, payload, component, .. } = common;
        let id = self.components[component].flows.len() as u32;
        let Made { ends, reader, sink, sink_back } = self.make(common, &name, id)?;
        let TwoEnds { sender, receiver, sender_kind, receiver_kind, header_bytes, sack, ahead } = ends;
        let stop = spec.stop.map(|stop| Instant::ZERO + stop);
        let is_transfer = matches!(app, AppParams::Fixed(_));
        // A stream from which nothing is drawn does not count as one that is used.
        let unused = Streams::new(self.streams.seed());
        let streams = if app.draws() { &self.streams } else { &unused };
        let app = App::new(app, payload, (start, stop), streams.stream(&name, "app"))
            .map_err(|e| ScenarioError::parameter(if e.key == "stop" { "" } else { "app" }, e))?;
        let access = spec.access;
        let mut jitter = match (spec.jitter, spec.overhead) {
            (Duration::ZERO, Duration::ZERO) => None,
            (Duration::ZERO, most) => Some(Jitter::gathering(most, self.streams.stream(&name, "overhead"))),
            (most, _) => Some(Jitter::new(most, self.streams.stream(&name, "jitter"))),
        };
        let half = rtt / 2;
        // The private delays, there and back: at the sender, or behind the WLAN if the sender is one of its stations.
        let (near, far) = match spec.source {
            None => ([half, rtt - half], [Duration::ZERO; 2]),
            Some(_) => ([Duration::ZERO; 2], [half, rtt - half]),
        };
        let mut hops = vec![];
        let at = &mut self.components[component];
        let lanes = at.parts.lanes.len();

        // There: jitter and access link, the nodes, the sink.
        let front = vec![Wire::new(access, near[0], Loss::None)];
        let mut wires = at.hops(&mut hops, (&mut jitter, front, Duration::ZERO), &common.there);
        wires.push(Wire::delay(far[0]));
        wires.extend(sink);
        let mut exit = Path::new(jitter, wires);
        // What one flow's packet tells may move the window of another of its company: they are asked in order of time.
        let is_alone = matches!(common.company, seats::Company::Alone);
        if ahead && self.ahead && is_alone && !common.there.is_empty() {
            hops.push(Hop::Receiver);
        } else {
            hops.push(at.lane(std::mem::take(&mut exit), Place::Receiver));
        }

        // Back: the sink's link, the nodes, the access link.
        let back = hops.len() as u8;
        let mut wires = at.hops(&mut hops, (&mut None, sink_back.into_iter().collect(), far[1]), &common.back);
        wires.push(Wire::new(access, near[1], Loss::None));
        hops.push(at.lane(Path::new(None, wires), Place::Host));

        if let scenario::ReceiverSpec::Share(share) = &spec.receiver
            && share.own.weight != 1.0
        {
            let nodes = common.there.iter().filter_map(Leg::node);
            nodes.for_each(|node| at.parts.nodes[node].weigh(u64::from(id), share.own.weight));
        }
        let (base, count) = (at.parts.hops.len() as u32, hops.len() as u8);
        at.parts.hops.extend(hops);
        let Common { station, source, table, .. } = *common;
        at.parts.routes.push(Route { base, back, hops: count, station, source });
        let host = Host { app, sender };
        let seat = seats::take(spec, common.company, (id, payload), &mut at.stations);
        let ends = hosts::FlowEnds { host, receiver, exit, feed: None, seat, filled: None };
        at.flows.push(AssembledFlow { table, ends });
        let lanes = (at.parts.lanes.len() - lanes) as u32;
        at.numbers.lanes.extend(self.lanes..self.lanes + lanes);
        at.numbers.flows.push(self.of_flow.len() as u32);
        self.lanes += lanes;
        self.of_flow.push(component as u32);
        self.labels.push(FlowLabel {
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

    /// What connection `id`, called `name`, is made of, wherever it begins.
    fn make(&self, common: &Common<'_>, name: &str, id: u32) -> Result<Made, ScenarioError> {
        let &Common { spec, payload, .. } = common;
        let ends = match &spec.sender {
            scenario::SenderSpec::Tfrc(options) => {
                rate::ends(id, options, &spec.receiver, payload, (self.span, self.scenario.sample))?
            }
            _ => self.tcp_ends(id, spec, &common.tcp)?,
        };
        let reader = spec.read_at().map_err(|e| ScenarioError::parameter("", e))?;
        let reader = reader.map(|(rate, reader)| ReaderLabel { rate_bps: rate.as_bps() as f64, share: reader.share });
        Ok(Made { ends, reader, sink: self.sink(spec, name)?, sink_back: self.sink_back(spec, name)? })
    }

    /// How much later than it might a flow starts.
    fn spread(&self, flow: &scenario::FlowSpec, name: &str) -> Duration {
        if flow.spread.is_zero() {
            return Duration::ZERO;
        }
        let share = self.streams.stream(name, "start").uniform();
        Duration::from_secs_f64(flow.spread.as_secs_f64() * share)
    }

    fn tcp_configs(&self, spec: &scenario::FlowSpec, payload: Bytes, queues: usize) -> TcpConfigs {
        let receiver = ends::receiver(&spec.receiver, &spec.sender, payload);
        let receiver = tcp::ReceiverConfig { sample_interval: Some(self.scenario.sample), ..receiver };
        TcpConfigs { sender: ends::sender(&spec.sender, payload, queues).into(), receiver: receiver.into() }
    }

    fn tcp_ends(&self, id: u32, spec: &scenario::FlowSpec, configs: &TcpConfigs) -> Result<TwoEnds, ScenarioError> {
        let TcpConfigs { sender, receiver } = configs;
        let new_sender = tcp::Sender::new(id, Arc::clone(sender), self.span);
        let new_receiver = tcp::Receiver::new(id, Arc::clone(receiver), self.span);
        Ok(TwoEnds {
            header_bytes: sender.header_size(),
            sack: receiver.sack,
            ahead: !receiver.delays(),
            sender: SendingEnd::Tcp(new_sender.map_err(|e| ScenarioError::parameter("sender", e))?),
            receiver: ReceivingEnd::Tcp(new_receiver.map_err(|e| ScenarioError::parameter("receiver", e))?),
            sender_kind: spec.sender.kind(),
            receiver_kind: spec.receiver.kind(),
        })
    }

    fn sink(&self, flow: &scenario::FlowSpec, name: &str) -> Result<Option<Wire>, ScenarioError> {
        let Some(sink) = &flow.sink else { return Ok(None) };
        let config = elements::loss(sink.loss.as_ref(), name);
        let loss = Loss::new(&config, &self.streams, name).map_err(|e| ScenarioError::parameter("sink.loss", e))?;
        Ok(Some(Wire::new(sink.rate, sink.delay, loss)))
    }

    /// The way of the acknowledgements over a receiver's access link.
    fn sink_back(&self, flow: &scenario::FlowSpec, name: &str) -> Result<Option<Wire>, ScenarioError> {
        let Some(sink) = &flow.sink else { return Ok(None) };
        let loss = self.loss_of_acks(sink.loss.as_ref(), name).map_err(|e| e.within("sink"))?;
        Ok(Some(Wire::new(sink.rate, sink.delay, loss)))
    }
}

/// What a connection is made of.
struct Made {
    ends: TwoEnds,
    reader: Option<ReaderLabel>,
    sink: Option<Wire>,
    sink_back: Option<Wire>,
}

/// Both ends of a flow.
pub(super) struct TwoEnds {
    pub(super) sender: SendingEnd,
    pub(super) receiver: ReceivingEnd,
    pub(super) sender_kind: &'static str,
    pub(super) receiver_kind: &'static str,
    /// Headers of a data packet.
    pub(super) header_bytes: u32,
    /// Whether the receiver sends selective acknowledgements.
    pub(super) sack: bool,
    /// Whether the receiver keeps no timer: it may be asked ahead of time, if nobody else has to do with its window.
    pub(super) ahead: bool,
}

/// As many flows as there will be at most, whatever the seed. Refuses more than there may be.
pub(super) fn most_flows(flows: &[scenario::FlowSpec], end: Instant) -> Result<u64, ScenarioError> {
    // So many standard deviations above the mean is nobody.
    let most = |sure: f64, expected: f64| sure + expected + 10.0 * expected.sqrt();
    let (mut sure, mut expected) = (0.0, 0.0);
    for (i, flow) in flows.iter().enumerate() {
        let count = f64::from(flow.count);
        let (key, value, what) = match &flow.app {
            AppParams::Poisson(poisson) => {
                let from = Instant::ZERO + flow.start;
                let span = last_arrival(flow, poisson, end).saturating_since(from);
                expected += count * poisson.rate.get() * span.as_secs_f64();
                ("app.rate", format!("{} /s", poisson.rate.get()), "arrivals")
            }
            _ => {
                sure += count;
                ("count", flow.count.to_string(), "flows")
            }
        };
        if most(sure, expected) > f64::from(MOST_FLOWS) {
            let error = ScenarioError::refused(key, value, format!("at most {MOST_FLOWS} {what} in all"));
            return Err(error.within(&format!("flow[{i}]")));
        }
    }
    Ok(most(sure, expected) as u64)
}

/// Until when transfers arrive.
fn last_arrival(flow: &scenario::FlowSpec, poisson: &Poisson, end: Instant) -> Instant {
    let ends = [poisson.until, flow.stop].into_iter().flatten();
    ends.map(|until| Instant::ZERO + until).fold(end, Instant::min)
}

fn taken(flow: &scenario::FlowSpec, name: &str) -> ScenarioError {
    let wanted = if name == flow.name {
        "a name that no other flow has".to_owned()
    } else {
        format!("another name: it makes a second flow {name:?}")
    };
    ScenarioError::refused("name", format!("{:?}", flow.name), wanted)
}
