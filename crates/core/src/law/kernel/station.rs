// SPDX-License-Identifier: MIT OR Apache-2.0
//! The station window at a proxy: what the queue does is found from acknowledgements, as the share window's proxy finds it, and one
//! agent sets the windows of all flows of a station, in numbers of its own or in the integers of `lasthop-agent proxy`.

use lasthop_fixed::estimate::recent_least;
use lasthop_fixed::state::{FlowRecord, StationRecord};
use lasthop_fixed::{proxy, station};

use super::{Sight, clock_ns};
use crate::error::ParameterError;
use crate::law::share::TARGET;
use crate::law::station::{Found, Grant, Known, StationAgent, StationArrival, StationKeys};
use crate::packet::{Ack, Kind, Packet, Parcel, Signal};
use crate::parameter::above_to;
use crate::parameters;
use crate::units::{Bytes, Duration, Instant};

parameters! {
    /// The station window of a queue that nobody sees.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StationProxyParams {
        /// T: the standing queue that is wanted, as the time that the line takes for it. Longer by default than where the queue is seen:
        /// less than a few packets or milliseconds cannot be told from none.
        pub target: Duration = TARGET, in above_to(Duration::ZERO, Duration::from_secs(60));
        /// Whether any acknowledgement of the station moves the window of any of its flows, by window updates; otherwise each flow's
        /// own do.
        pub clock: bool = true;
    }
}

parameters! {
    /// The station window in integers, of up to 16 flows of a station; any others have the share window.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StationKernelParams {
        /// T: the standing queue that is wanted, as the time that the line takes for it.
        pub target: Duration = TARGET, in above_to(Duration::ZERO, Duration::from_secs(60));
        /// What it sees of the queue.
        pub queue: Sight = Sight::Outstanding;
        /// Whether any acknowledgement of the station moves the window of any of its flows, by window updates; otherwise each flow's
        /// own do.
        pub clock: bool = true;
    }
}

impl StationProxyParams {
    /// The agent of a station without flows.
    ///
    /// # Errors
    /// If a parameter lies outside its domain.
    pub(super) fn agent(&self) -> Result<StationAgent, ParameterError> {
        StationAgent::new(StationKeys { target: self.target, clock: self.clock, ..StationKeys::default() })
    }
}

/// A station's agent, and its flows by their numbers there.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    agent: StationAgent,
    flows: Vec<u32>,
}

/// A connection's place at the agent of its station.
#[derive(Clone, Debug)]
pub(super) struct Member {
    number: usize,
    /// All that has arrived \[B of payload\], and the sequence number up to which it was counted.
    received: u64,
    counted: u32,
    /// The right edge of the window.
    edge: u64,
    /// What the last acknowledgement told: an update repeats it.
    last: Packet,
}

impl Desk {
    /// The desk of an agent that has no flows yet.
    pub(super) fn new(agent: StationAgent) -> Self {
        Self { agent, flows: vec![] }
    }

    /// A connection that `syn_ack` opens, with segments of `mss` bytes.
    pub(super) fn member(&mut self, syn_ack: &Packet, mss: u32) -> Member {
        self.flows.push(syn_ack.flow);
        let number = self.agent.add(1.0, mss);
        let ack = syn_ack.ack_number();
        let edge = ack + syn_ack.window().get();
        Member { number, received: ack, counted: ack as u32, edge, last: syn_ack.clone() }
    }

    /// An acknowledgement of the connection at `member` has been heard. Gives the flows whose windows move, and where their right edges are
    /// then.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        packet: &Packet,
        member: &mut Member,
        (flow, station): (&FlowRecord, &StationRecord),
    ) -> Vec<(u32, u64)> {
        let bytes = flow.delivered.wrapping_sub(member.counted);
        member.counted = flow.delivered;
        member.received += u64::from(bytes);
        member.last = packet.clone();
        if bytes == 0 {
            return vec![];
        }
        let arrival = StationArrival {
            t_s: now.as_secs_f64(),
            // Of what is hidden rates are of payload.
            size_bytes: f64::from(bytes),
            payload_bytes: f64::from(bytes),
            told: Known::Found(found(now, flow, station)),
            received: member.received,
            edge: member.edge,
            most_edge: packet.ack_number() + packet.window().get(),
            is_acknowledged: true,
        };
        let grants = self.agent.received(member.number, &arrival);
        grants.into_iter().map(|Grant { flow, edge }| (self.flows[flow], edge)).collect()
    }
}

impl Member {
    /// The window ends at byte `edge` from now on: gives the acknowledgement that says so, if none does before.
    pub(super) fn move_to(&mut self, edge: u64) -> Option<Packet> {
        self.edge = edge;
        update_of(&self.last, self.window())
    }

    /// The window of the last acknowledgement.
    pub(super) fn window(&self) -> Bytes {
        Bytes::new(self.edge.saturating_sub(self.last.ack_number()))
    }
}

/// The acknowledgement that repeats the `last` one with another window; none before any.
pub(super) fn update_of(last: &Packet, window: Bytes) -> Option<Packet> {
    let Packet { sent, echo, flow, hop, station, .. } = *last;
    let mut ack = Ack::new(last.ack_number(), window, last.size().get() as u32, sent);
    (ack.echo, ack.sack, ack.kind, ack.signal) = (echo, last.sack.clone(), Kind::Update, Signal::None);
    let mut update = ack.into_packet(flow);
    (update.hop, update.station) = (hop, station);
    (last.kind() == Kind::Ack).then_some(update)
}

/// What acknowledgements have told of the queue and of the path.
fn found(now: Instant, flow: &FlowRecord, station: &StationRecord) -> Found {
    let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
    let delay_ns = proxy::delay_ns(flow, recent_least(&station.path.least));
    let rtt_ns = flow.rtt_ns + recent_least(&flow.upstream);
    Found {
        rate: Some(station::rate(station) as f64).filter(|&rate| rate > 0.0),
        queue_bytes: station.queue_bytes as f64,
        waited_s: seconds(rtt_ns.saturating_sub(delay_ns)),
        delay_s: seconds(delay_ns),
        ack_delay_s: seconds(flow.ack_delay_ns),
        is_draining: clock_ns(now) < station.probe_until_ns,
        holds: proxy::holds(flow) != 0,
        timer_s: seconds(station.timer_ns),
    }
}
