// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every packet at both ends of every flow, as columns and as pcapng with real IP and TCP headers.
//!
//! Rate-based flows are written as DCCP with the options of its own TFRC (RFC 4340, RFC 4342), see [`dccp`]: Wireshark then
//! shows packet numbers, loss event rates and receive rates, where of UDP it would show ports and nothing else.

mod dccp;

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use etherparse::PacketBuilder;
use lasthop_core::packet::{Kind, Packet, Parcel, Report};
use lasthop_core::units::Instant;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};

use crate::table::Table;

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    /// At the flow's sender.
    Sender,
    /// At the flow's receiver.
    Receiver,
}

#[derive(Clone, Copy, Debug)]
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
    /// What feedback tells.
    report: Option<Report>,
}

/// The packets of a run.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    records: Vec<Record>,
    /// Of each rate-based flow, when its packets were sent, by their numbers; none for the others.
    sent: Vec<Option<Vec<Instant>>>,
}

/// Scale of the window field in captured headers: 2¹⁴ reaches RFC 7323's full gigabyte.
const WINDOW_SHIFT: u8 = 7;
/// Initial sequence number of every captured connection.
const ISN: u32 = 0;

impl Capture {
    /// Nothing captured yet; `is_rate_based` says it of each flow.
    pub(crate) fn new(is_rate_based: impl Iterator<Item = bool>) -> Self {
        Self { records: vec![], sent: is_rate_based.map(|is| is.then(Vec::new)).collect() }
    }

    #[inline]
    pub(crate) fn record(&mut self, at: Instant, point: Point, packet: &Packet) {
        let kind = packet.kind();
        let mut report = None;
        let sent = self.sent.get_mut(packet.flow as usize).and_then(Option::as_mut);
        let is_tcp = sent.is_none();
        if kind == Kind::Data
            && point == Point::Sender
            && let Some(sent) = sent
        {
            sent.push(at);
        }
        let (number, amount) = match kind {
            Kind::Feedback => {
                let told = packet.report();
                report = Some(told);
                (self.latest(packet), told.receive_rate as u32)
            }
            Kind::Data | Kind::Syn => (packet.seq(), packet.payload()),
            Kind::Ack | Kind::SynAck => (packet.ack_number(), packet.window().get() as u32),
        };
        let size = packet.size().get() as u32;
        let data_outgoing = matches!(kind, Kind::Data | Kind::Syn);
        let flow = packet.flow;
        self.records.push(Record { at, point, kind, flow, number, amount, size, data_outgoing, is_tcp, report });
    }

    /// The number of the packet that feedback echoes.
    fn latest(&self, feedback: &Packet) -> u64 {
        let sent = self.sent.get(feedback.flow as usize).and_then(Option::as_ref);
        sent.map_or(0, |sent| sent.partition_point(|at| *at <= feedback.echo).saturating_sub(1)) as u64
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

    /// Writes the capture: two interfaces, the senders' and the receivers' side; flow n is port 10000 + n at the
    /// station 10.1.n/250.n%250+1 and port 80 at the server. Payload is cut off, as by a snap length of 0.
    pub(crate) fn write_pcapng(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = PcapNgWriter::new(out).map_err(io::Error::other)?;
        for name in ["senders", "receivers"] {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                    InterfaceDescriptionOption::IfTsResol(9),
                ],
            };
            writer.write_pcapng_block(interface).map_err(io::Error::other)?;
        }
        let mut bytes = Vec::with_capacity(128);
        for record in &self.records {
            bytes.clear();
            record.headers(&mut bytes)?;
            let block = EnhancedPacketBlock {
                interface_id: u32::from(record.point == Point::Receiver),
                timestamp: Duration::from_nanos(record.at.as_nanos()),
                original_len: record.size,
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
            Kind::Ack | Kind::Feedback => (after_syn, Some(number)),
        };
        let is_syn = matches!(self.kind, Kind::Syn | Kind::SynAck);
        let window = match self.kind {
            Kind::Syn | Kind::Data => u16::MAX,
            Kind::SynAck => self.amount.min(65_535) as u16,
            Kind::Ack | Kind::Feedback => (self.amount.div_ceil(1 << WINDOW_SHIFT)).min(65_535) as u16,
        };
        let mut builder = PacketBuilder::ipv4(from, to, 64).tcp(ports.0, ports.1, sequence, window);
        if is_syn {
            builder = builder
                .syn()
                .options(&[etherparse::TcpOptionElement::WindowScale(WINDOW_SHIFT), etherparse::TcpOptionElement::Noop])
                .map_err(io::Error::other)?;
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

    fn dccp_headers(&self, from: [u8; 4], to: [u8; 4], ports: (u16, u16), out: &mut Vec<u8>) -> io::Result<()> {
        let payload = if self.kind == Kind::Data { self.amount as usize } else { 0 };
        let header = match self.report {
            None => dccp::data(ports, self.number),
            Some(report) => dccp::feedback(ports, self.number, &report),
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
