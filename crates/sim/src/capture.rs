// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every packet at both ends of every flow, as columns and as pcapng with real IP and TCP headers.
//!
//! Rate-based flows are written as DCCP with the options of its own TFRC (RFC 4340, RFC 4342), see [`dccp`]: Wireshark then
//! shows packet numbers, loss event rates and receive rates, where of UDP it would show ports and nothing else.

mod dccp;

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use etherparse::{PacketBuilder, TcpOptionElement};
use lasthop_core::packet::{Kind, Packet, Parcel, RateReport, SackBlocks};
use lasthop_core::units::Instant;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};

use crate::table::Table;

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// At the flow's sender.
    Sender,
    /// At the flow's receiver.
    Receiver,
}

/// What the ends of a flow have agreed on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// It is no TCP.
    pub(crate) is_rate_based: bool,
    /// Its receiver sends selective acknowledgements.
    pub(crate) sack: bool,
    /// Its data carries timestamps.
    pub(crate) timestamps: bool,
}

/// What is told of a packet besides its numbers.
#[derive(Clone, Debug)]
enum Extra {
    None,
    /// What feedback tells.
    Report(Box<RateReport>),
    /// The received blocks of an acknowledgement.
    Sack(Box<SackBlocks>),
    /// When data was sent, and when the acknowledgement that released it was.
    Timestamps(Instant, Instant),
    /// What a SYN or its answer offers.
    Offer(Agreed),
}

#[derive(Clone, Debug)]
struct Record {
    at: Instant,
    point: Point,
    kind: Kind,
    flow: u32,
    number: u64,
    amount: u32,
    size: u32,
    data_outgoing: bool,
    is_tcp: bool,
    is_pushed: bool,
    extra: Extra,
}

/// The packets of a run.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    records: Vec<Record>,
    flows: Vec<Agreed>,
    /// Of each rate-based flow, when its packets were sent, by their numbers; none for the others.
    sent: Vec<Option<Vec<Instant>>>,
}

/// Scale of the window field in captured headers: 2¹⁴ reaches RFC 7323's full gigabyte.
const WINDOW_SHIFT: u8 = 7;
/// Bytes of each packet that a capture keeps: IPv4's 20 and TCP's 60 at most, and a little payload.
const SNAP_LENGTH: u32 = 96;
/// Initial sequence number of every captured connection.
const ISN: u32 = 0;

impl Capture {
    /// Nothing captured yet.
    pub(crate) fn new(flows: impl Iterator<Item = Agreed>) -> Self {
        let flows: Vec<_> = flows.collect();
        let sent = flows.iter().map(|flow| flow.is_rate_based.then(Vec::new)).collect();
        Self { records: vec![], flows, sent }
    }

    #[inline]
    pub(crate) fn record(&mut self, at: Instant, point: Point, packet: &Packet) {
        let kind = packet.kind();
        let sent = self.sent.get_mut(packet.flow as usize).and_then(Option::as_mut);
        let is_tcp = sent.is_none();
        if kind == Kind::Data
            && point == Point::Sender
            && let Some(sent) = sent
        {
            sent.push(at);
        }
        let (number, amount) = match kind {
            Kind::Feedback => (self.latest(packet), packet.report().receive_rate as u32),
            Kind::Data | Kind::Syn => (packet.seq(), packet.payload()),
            Kind::Ack | Kind::Update | Kind::SynAck => (packet.ack_number(), packet.window().get() as u32),
        };
        let size = packet.size().get() as u32;
        let data_outgoing = matches!(kind, Kind::Data | Kind::Syn);
        let flow = packet.flow;
        let is_pushed = packet.is_pushed();
        let extra = self.extra(packet);
        self.records.push(Record {
            at,
            point,
            kind,
            flow,
            number,
            amount,
            size,
            data_outgoing,
            is_tcp,
            is_pushed,
            extra,
        });
    }

    fn extra(&self, packet: &Packet) -> Extra {
        let agreed = self.flows.get(packet.flow as usize).copied().unwrap_or_default();
        match (packet.kind(), &packet.sack) {
            (Kind::Feedback, _) => Extra::Report(Box::new(packet.report())),
            (Kind::Ack | Kind::Update, Some(blocks)) => Extra::Sack(blocks.clone()),
            (Kind::Data, _) if agreed.timestamps => Extra::Timestamps(packet.sent, packet.echo),
            (Kind::Syn | Kind::SynAck, _) => Extra::Offer(agreed),
            (Kind::Ack | Kind::Update | Kind::Data, _) => Extra::None,
        }
    }

    /// The number of the packet that feedback echoes.
    fn latest(&self, feedback: &Packet) -> u64 {
        let sent = self.sent.get(feedback.flow as usize).and_then(Option::as_ref);
        sent.map_or(0, |sent| sent.partition_point(|at| *at <= feedback.echo).saturating_sub(1)) as u64
    }

    /// Packets recorded so far, at either end.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Receivers are asked ahead of time: puts the records in order of time.
    pub(crate) fn sort(&mut self) {
        self.records.sort_by_key(|record| (record.at, record.flow, record.point));
    }

    pub(crate) fn table(&self) -> Table {
        let mut table = Table::default();
        let records = &self.records;
        table.ints("time_ns", records.iter().map(|r| r.at.as_nanos() as i64));
        table.ints("flow", records.iter().map(|r| i64::from(r.flow)));
        table.ints("at_receiver", records.iter().map(|r| i64::from(r.point == Point::Receiver)));
        table.ints("kind", records.iter().map(|r| r.kind as i64));
        table.ints("number_bytes", records.iter().map(|r| r.number as i64));
        let payload = |r: &Record| if r.data_outgoing { i64::from(r.amount) } else { 0 };
        let window = |r: &Record| if r.data_outgoing || !r.is_tcp { 0 } else { i64::from(r.amount) };
        table.ints("payload_bytes", records.iter().map(payload));
        table.ints("window_bytes", records.iter().map(window));
        table.ints("size_bytes", records.iter().map(|r| i64::from(r.size)));
        table
    }

    /// Writes what was seen at one end of the flows: at both, each packet would stand there twice, and a reader would take
    /// one of the two for sent again. Flow n is port 10000 + n at the station 10.1.n/250.n%250+1 and port 80 at the server.
    /// The snap length cuts payload off. TCP's options are those that the simulated packet has room for; a SYN's make it
    /// longer than the simulated one, which has none.
    pub(crate) fn write_pcapng(&self, out: &mut dyn Write, end: Point) -> io::Result<()> {
        let mut writer = PcapNgWriter::new(out).map_err(io::Error::other)?;
        let name = match end {
            Point::Sender => "senders",
            Point::Receiver => "receivers",
        };
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: SNAP_LENGTH,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        };
        writer.write_pcapng_block(interface).map_err(io::Error::other)?;
        let mut bytes = Vec::with_capacity(SNAP_LENGTH as usize);
        for record in self.records.iter().filter(|record| record.point == end) {
            bytes.clear();
            record.headers(&mut bytes)?;
            let original_len = record.size.max(bytes.len() as u32);
            bytes.resize(original_len.min(SNAP_LENGTH) as usize, 0);
            let block = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: Duration::from_nanos(record.at.as_nanos()),
                original_len,
                data: Cow::Borrowed(&bytes),
                options: vec![],
            };
            writer.write_pcapng_block(block).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

impl Record {
    /// IPv4 and TCP (or DCCP) headers; the total length speaks of the packet with its payload.
    fn headers(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let [high, low] = [(self.flow / 250) as u8, (self.flow % 250) as u8 + 1];
        let (server, station) = ([10, 0, high, low], [10, 1, high, low]);
        let port = 10_000 + (self.flow % 50_000) as u16;
        let (from, to, ports) =
            if self.data_outgoing { (server, station, (80, port)) } else { (station, server, (port, 80)) };
        if !self.is_tcp {
            return self.dccp_headers(from, to, ports, out);
        }
        let after_syn = ISN.wrapping_add(1);
        let number = after_syn.wrapping_add(self.number as u32);
        let (sequence, acknowledged) = match self.kind {
            Kind::Syn => (ISN, None),
            Kind::SynAck => (ISN, Some(after_syn)),
            Kind::Data => (number, Some(after_syn)),
            Kind::Ack | Kind::Update | Kind::Feedback => (after_syn, Some(number)),
        };
        let is_syn = matches!(self.kind, Kind::Syn | Kind::SynAck);
        let window = match self.kind {
            Kind::Syn | Kind::Data => u16::MAX,
            Kind::SynAck => self.amount.min(65_535) as u16,
            Kind::Ack | Kind::Update | Kind::Feedback => (self.amount.div_ceil(1 << WINDOW_SHIFT)).min(65_535) as u16,
        };
        let builder = PacketBuilder::ipv4(from, to, 64).tcp(ports.0, ports.1, sequence, window);
        let mut builder = builder.options(&self.options(after_syn)).map_err(io::Error::other)?;
        if is_syn {
            builder = builder.syn();
        }
        if self.is_pushed {
            builder = builder.psh();
        }
        if let Some(acknowledged) = acknowledged {
            builder = builder.ack(acknowledged);
        }
        let zeros = [0u8; 65_535];
        let payload = if self.kind == Kind::Data { self.amount as usize } else { 0 };
        builder.write(out, &zeros[..payload]).map_err(io::Error::other)?;
        out.truncate(out.len() - payload);
        Ok(())
    }

    /// TCP's options, padded to whole words.
    fn options(&self, after_syn: u32) -> Vec<TcpOptionElement> {
        use TcpOptionElement::{
            Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
        };
        match &self.extra {
            Extra::None | Extra::Report(_) => vec![],
            Extra::Sack(blocks) => {
                let on_wire = |(start, end): (u64, u64)| {
                    (after_syn.wrapping_add(start as u32), after_syn.wrapping_add(end as u32))
                };
                let mut blocks = blocks.iter().map(on_wire);
                let Some(first) = blocks.next() else { return vec![] };
                vec![Noop, Noop, SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None])]
            }
            Extra::Timestamps(sent, echo) => vec![Noop, Noop, Timestamp(milliseconds(*sent), milliseconds(*echo))],
            Extra::Offer(agreed) => {
                let mut offer = vec![Noop, WindowScale(WINDOW_SHIFT)];
                if agreed.sack {
                    offer.extend([Noop, Noop, SelectiveAcknowledgementPermitted]);
                }
                if agreed.timestamps {
                    offer.extend([Noop, Noop, Timestamp(milliseconds(self.at), 0)]);
                }
                offer
            }
        }
    }

    fn dccp_headers(&self, from: [u8; 4], to: [u8; 4], ports: (u16, u16), out: &mut Vec<u8>) -> io::Result<()> {
        let payload = if self.kind == Kind::Data { self.amount as usize } else { 0 };
        let header = match &self.extra {
            Extra::Report(report) => dccp::feedback(ports, self.number, report),
            _ => dccp::data(ports, self.number),
        };
        let header = dccp::with_checksum(header, from, to, payload);
        let ip = PacketBuilder::ipv4(from, to, 64);
        let mut body = header;
        let length = body.len() + payload;
        body.resize(length, 0);
        ip.write(out, dccp::PROTOCOL, &body).map_err(io::Error::other)?;
        out.truncate(out.len() - payload);
        Ok(())
    }
}

/// A clock of timestamps, by RFC 7323 §5.4's advice one of 1 ms.
fn milliseconds(at: Instant) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}
