// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent proxy` beside a queue: it sees data before they are queued and acknowledgements as they come back, and lowers
//! their windows.

use std::collections::BTreeMap;

use lasthop_fixed::desk;
use lasthop_fixed::proxy::{self, FoundFlow, Glance};
use lasthop_fixed::state::{
    DeskRecord, FlowKey, FlowRecord, PacketRecord, SEATS, Settings, StationRecord, TCP_ACK, TCP_SYN, UpdateRecord,
};

use super::station::{Desk, Member, StationKernelParams, StationProxyParams, update_of};
use super::{AVERAGE, Dither, MOST_AVERAGE, PROXY_REFILL, clock_ns, q10};
use crate::error::ParameterError;
use crate::kinds;
use crate::law::share::{G, TARGET, THETA};
use crate::law::station::StationAgent;
use crate::packet::{Kind, Packet, Parcel};
use crate::parameter::{Parameter, above_to};
use crate::parameters;
use crate::units::{Bytes, Duration, Instant};

kinds! {
    /// What a proxy sees of the queue.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Sight {
        /// Nothing: queue, rate and path are found from acknowledgements alone, of each station for itself.
        #[default]
        Outstanding = "outstanding",
        /// Its backlog, and what has left it.
        Qdisc = "qdisc",
    }
}

parameters! {
    /// The share window in integers.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ShareProxyParams {
        /// T: the standing queue that is wanted, as the time that the line takes for it.
        pub target: Duration = TARGET, in above_to(Duration::ZERO, Duration::from_secs(60));
        /// What it sees of the queue.
        pub queue: Sight = Sight::Outstanding;
    }
}

parameters! {
    /// CLAMP in integers, both of its ends in one box.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ClampProxyParams {
        /// Queue below which nothing is asked, up to 4 GB; it is raised where many flows share a slow line.
        pub a: Bytes, in above_to(Bytes::ZERO, Bytes::new(u32::MAX as u64));
        /// Bytes that each flow aims to keep in the queue (τ), up to 64 kB.
        pub tau: Bytes = Bytes::new(500), in above_to(Bytes::ZERO, Bytes::new(65_535));
        /// Over how long the queue is averaged; 500 ms in the paper (clamp §4.1).
        pub average: Duration = AVERAGE, in above_to(Duration::ZERO, MOST_AVERAGE);
        /// By what share of itself a window grows beside τ in a round trip while the queue is empty, to the nearest 1024th; 0 in the paper.
        pub refill: f64 = PROXY_REFILL, in 0.0..=1.0;
        /// What it sees of the queue.
        pub queue: Sight = Sight::Outstanding;
    }
}

kinds! {
    /// The law of a proxy beside an access point, for flows whose ends know nothing of it: as `lasthop-agent proxy` has it, but for
    /// `station`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum ProxyParams {
        /// The share window.
        Share(ShareProxyParams) = "share-kernel",
        /// CLAMP.
        Clamp(ClampProxyParams) = "clamp-kernel",
        /// The station window, of a queue that nobody sees: rate, queue and path are found as the share window finds them. It sends
        /// window updates of its own, so senders need selective acknowledgements.
        Station(StationProxyParams) = "station",
        /// The station window in integers, which sends window updates as well.
        StationKernel(StationKernelParams) = "station-kernel",
    }
}

impl ProxyParams {
    /// What it sees of the queue.
    pub fn sight(&self) -> Sight {
        match self {
            Self::Share(params) => params.queue,
            Self::Clamp(params) => params.queue,
            Self::Station(_) => Sight::Outstanding,
            Self::StationKernel(params) => params.queue,
        }
    }

    /// Whether it sends window updates.
    pub fn sends_updates(&self) -> bool {
        matches!(self, Self::Station(_) | Self::StationKernel(_))
    }

    fn settings(&self) -> Settings {
        let settings = Settings {
            target_ns: TARGET.as_nanos(),
            g_q10: q10(G),
            theta_ns: THETA.as_nanos(),
            is_hidden: (self.sight() == Sight::Outstanding).into(),
            ..Settings::default()
        };
        match self {
            Self::Share(params) => Settings { target_ns: params.target.as_nanos(), ..settings },
            Self::Clamp(params) => {
                let average_ns = params.average.as_nanos();
                Settings {
                    is_clamp: 1,
                    a_bytes: params.a.get() as u32,
                    tau_bytes: params.tau.get() as u32,
                    refill_q10: q10(params.refill),
                    average_ns,
                    ..settings
                }
            }
            Self::Station(params) => Settings { target_ns: params.target.as_nanos(), ..settings },
            Self::StationKernel(params) => Settings {
                target_ns: params.target.as_nanos(),
                kappa_q10: q10(crate::law::station::KAPPA),
                is_station: 1,
                moves_others: params.clock.into(),
                ..settings
            },
        }
    }
}

/// Windows are told in units of 128 B, as those of Linux with the buffers that it has by default.
const SCALE: u32 = 7;
/// How often silent connections are looked for \[ns\].
const LOOK_NS: u64 = 1_000_000_000;
/// φ.
const WEIGHT_Q8: u32 = 256;

/// A proxy with its connections and what shares a queue.
#[derive(Clone, Debug)]
pub struct KernelProxy {
    settings: Settings,
    /// The agent that each station gets, if the law is the station window.
    agent: Option<StationAgent>,
    /// By the flow's number.
    flows: BTreeMap<u32, Connection>,
    /// By the station's number; where the queue is seen, each has the one that is its own.
    stations: BTreeMap<u16, Station>,
    dither: Dither,
    looked_ns: u64,
}

/// What shares a queue, and what has left that.
#[derive(Clone, Debug, Default)]
struct Station {
    record: StationRecord,
    departed_bytes: u64,
    desk: Option<Desk>,
    /// The same in integers.
    seats: Option<Box<DeskRecord>>,
}

impl Station {
    fn glance(&self, queued: Bytes) -> Glance {
        Glance { bytes: queued.get(), departed_bytes: self.departed_bytes }
    }
}

/// A connection, and the station that it goes to.
#[derive(Clone, Debug)]
struct Connection {
    station: u16,
    record: FlowRecord,
    member: Option<Member>,
    /// The last acknowledgement, where updates are made of it.
    last: Option<Packet>,
}

impl KernelProxy {
    /// A proxy that has not seen anything yet.
    ///
    /// # Errors
    /// If a parameter lies outside its domain.
    pub fn new(params: &ProxyParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self {
            settings: params.settings(),
            agent: if let ProxyParams::Station(params) = params { Some(params.agent()?) } else { None },
            flows: BTreeMap::new(),
            stations: BTreeMap::new(),
            dither: Dither::default(),
            looked_ns: 0,
        })
    }

    /// A packet comes from its host to the queue of its station, which holds `queued` without it.
    pub fn forwards(&mut self, now: Instant, packet: &Packet, queued: Bytes) {
        let now_ns = clock_ns(now);
        let station = self.stations.entry(packet.station).or_default();
        let (queue, station) = (station.glance(queued), &mut station.record);
        let is_syn = packet.kind() == Kind::Syn;
        let size = packet.size().get() as u32;
        let payload = packet.payload();
        let data = PacketRecord {
            payload,
            segment: payload,
            header_bytes: size - payload,
            size_bytes: size,
            seq: packet.seq() as u32,
            flags: TCP_ACK,
            has_stamp: 1,
            echo: stamp(packet.echo),
            ..PacketRecord::default()
        };
        let mut known = self.flows.get_mut(&packet.flow).filter(|_| packet.kind() == Kind::Data);
        let is_other = match &mut known {
            Some(flow) => proxy::is_unheard(&mut flow.record, station, &data, now_ns) != 0,
            None => !matches!(packet.kind(), Kind::Syn | Kind::Data),
        };
        let found: FoundFlow =
            proxy::meets(&self.settings, station, now_ns, &queue, size, 1, is_other.into(), is_syn.into());
        match packet.kind() {
            Kind::Syn => {
                let mut record = FlowRecord::default();
                record.weight_q8 = WEIGHT_Q8;
                let syn = PacketRecord { flags: TCP_SYN, has_scale: 1, ..PacketRecord::default() };
                proxy::server_begins(&mut record, &syn, now_ns, found.wait_ns);
                self.flows
                    .insert(packet.flow, Connection { station: packet.station, record, member: None, last: None });
            }
            Kind::Data if !is_other => {
                let Some(flow) = known else { return };
                proxy::forwards(&self.settings, &mut flow.record, station, &data, now_ns, &queue, &found, 0);
            }
            _ => {}
        }
        self.look_through(now_ns);
    }

    /// A packet leaves the queue of its station.
    pub fn departs(&mut self, packet: &Packet) {
        self.stations.entry(packet.station).or_default().departed_bytes += packet.size().get();
    }

    /// A packet comes back from its station, of a connection with segments of `mss` bytes: its window is lowered. The queue holds
    /// `queued`. Gives the window updates that are to follow it.
    pub fn returns(&mut self, now: Instant, packet: &mut Packet, mss: u32, queued: Bytes) -> Vec<Packet> {
        let Some(flow) = self.flows.get_mut(&packet.flow) else { return vec![] };
        let now_ns = clock_ns(now);
        if !matches!(packet.kind(), Kind::SynAck | Kind::Ack) {
            return vec![];
        }
        let own = packet.window().get();
        let mut heard = PacketRecord { ack: packet.ack_number() as u32, flags: TCP_ACK, ..PacketRecord::default() };
        match packet.kind() {
            Kind::SynAck => {
                heard.flags |= TCP_SYN;
                (heard.has_scale, heard.scale) = (1, SCALE as u8);
                heard.mss = mss.min(u32::from(u16::MAX)) as u16;
                heard.window = own.min(u64::from(u16::MAX)) as u16;
                let first = proxy::client_begins(&mut flow.record, &heard, now_ns);
                packet.lower_window(Bytes::new(first.into()));
                if let Some(agent) = &self.agent {
                    let station = self.stations.entry(flow.station).or_default();
                    flow.member =
                        Some(station.desk.get_or_insert_with(|| Desk::new(agent.clone())).member(packet, mss));
                }
            }
            Kind::Ack => {
                heard.window = (own >> SCALE).min(u64::from(u16::MAX)) as u16;
                (heard.has_stamp, heard.stamp) = (1, stamp(packet.sent));
                let station = self.stations.entry(flow.station).or_default();
                let (queue, random) = (station.glance(queued), self.dither.next());
                if self.agent.is_none() && self.settings.is_station != 0 {
                    return self.seat(now_ns, packet, &mut heard, &queue, random);
                }
                let (flow, station) = (&mut flow.record, &mut station.record);
                let field = proxy::hears(&self.settings, flow, station, &heard, now_ns, &queue, random);
                if self.agent.is_some() {
                    return self.grant(now, packet);
                }
                if field < heard.window {
                    packet.lower_window(Bytes::new(u64::from(field) << SCALE));
                }
            }
            _ => {}
        }
        vec![]
    }

    /// An acknowledgement that has been heard moves windows of its station: its own, and those of others by updates.
    fn grant(&mut self, now: Instant, packet: &mut Packet) -> Vec<Packet> {
        let Some(Connection { station, record, member: Some(member), .. }) = self.flows.get_mut(&packet.flow) else {
            return vec![];
        };
        let Some(Station { record: known, desk: Some(desk), .. }) = self.stations.get_mut(station) else {
            return vec![];
        };
        let grants = desk.hear(now, packet, member, (record, known));
        let mut updates = vec![];
        for (flow, edge) in grants {
            if let Some(Connection { member: Some(member), .. }) = self.flows.get_mut(&flow) {
                let update = member.move_to(edge);
                updates.extend(update.filter(|_| flow != packet.flow));
            }
        }
        if let Some(Connection { member: Some(member), .. }) = self.flows.get(&packet.flow) {
            packet.lower_window(member.window());
        }
        updates
    }

    /// The same in integers, of an acknowledgement that is yet to be heard.
    fn seat(
        &mut self,
        now_ns: u64,
        packet: &mut Packet,
        heard: &mut PacketRecord,
        queue: &Glance,
        random: u32,
    ) -> Vec<Packet> {
        let Some(flow) = self.flows.get_mut(&packet.flow) else { return vec![] };
        let Some(Station { record, seats, .. }) = self.stations.get_mut(&flow.station) else { return vec![] };
        let desk = seats.get_or_insert_default();
        // An acknowledgement of TCP over IPv4 with a time stamp alone.
        (heard.key, heard.is_plain, heard.ip_version, heard.header_bytes) = (key(flow.station, packet.flow), 1, 4, 32);
        let (settings, mut moved) = (&self.settings, 0);
        let field =
            proxy::hears_at_desk(settings, desk, &mut flow.record, record, heard, now_ns, queue, random, &mut moved);
        flow.last = Some(packet.clone());
        if field < heard.window {
            packet.lower_window(Bytes::new(u64::from(field) << SCALE));
        }
        let mut updates = vec![];
        for number in (0..SEATS).filter(|number| moved >> number & 1 != 0) {
            let mut update = UpdateRecord::default();
            if desk::update(desk, number, &mut update) != 0
                && let Some(Connection { last: Some(last), .. }) = self.flows.get(&flow_of(&update.key))
            {
                updates.extend(update_of(last, Bytes::new(u64::from(update.window) << SCALE)));
            }
        }
        updates
    }

    /// What is silent has nothing under way.
    fn look_through(&mut self, now_ns: u64) {
        if now_ns - self.looked_ns < LOOK_NS {
            return;
        }
        self.looked_ns = now_ns;
        for Connection { station, record, .. } in self.flows.values_mut() {
            if let Some(station) = self.stations.get_mut(station)
                && proxy::is_silent(record, now_ns) != 0
            {
                proxy::rests(record, &mut station.record);
            }
        }
    }
}

/// What stands for the ends of a flow: its station and its number.
fn key(station: u16, flow: u32) -> FlowKey {
    let mut key = FlowKey::default();
    key.client[..2].copy_from_slice(&station.to_ne_bytes());
    key.server[..4].copy_from_slice(&flow.to_ne_bytes());
    key
}

/// The number in it.
fn flow_of(key: &FlowKey) -> u32 {
    let [a, b, c, d, ..] = key.server;
    u32::from_ne_bytes([a, b, c, d])
}

/// An instant as a time stamp counts it, in ms.
fn stamp(at: Instant) -> u32 {
    (clock_ns(at) / 1_000_000) as u32
}
