// SPDX-License-Identifier: MIT OR Apache-2.0
//! What travels: the simulator's packet and what any packet must tell a network element.

use crate::units::{Bytes, Duration, Instant};

/// What queues, links and access points must know of a packet. The simulator's [`Packet`] is one; the
/// emulator's, which carries real bytes, is another.
pub trait Parcel {
    /// Size on the wire: IP header and all that follows.
    fn size(&self) -> Bytes;
    /// The station of an access point that the packet is for (or from).
    fn station(&self) -> usize;
    /// What tells its flow from others where flows are queued apart: the number of the connection, or a hash of its
    /// addresses and ports.
    fn flow(&self) -> u64;
    /// What senders ask and routers answer.
    fn signal(&self) -> &Signal;
    /// The feedback that routers write and receivers read.
    fn signal_mut(&mut self) -> &mut Signal;
}

/// Feedback from routers: stamped into passing data, and sent back in acknowledgements.
///
/// CLAMP's price, the share window, XCP and QFCP use the one path: the sender asks, each router may only ask for more restraint than
/// those before it (the highest price, the least rate, the least change stands), and what came through goes back.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Signal {
    /// No router on the path has said anything, and the sender asks for nothing.
    #[default]
    None,
    /// CLAMP's price \[s\] (clamp eq. 13). Over several routers the highest price stands.
    Price(f64),
    /// The share window's stamp. Over several routers the one with the least share stands.
    Share(ShareStamp),
    /// The station window's stamp.
    Station(StationStamp),
    /// XCP's congestion header.
    Xcp(XcpHeader),
    /// QFCP's congestion header.
    Qfcp(QfcpHeader),
    /// ABC's mark.
    Steering(Steering),
    /// In an acknowledgement: by how much the flow's rate is to change \[B/s\] (XCP), or by how many
    /// packets its window is (ABC).
    Change(f32),
    /// In an acknowledgement: the rate that the flow may have (QFCP).
    Rate(RateFeedback),
}

/// What a share window's router tells receivers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareStamp {
    /// What a flow of weight 1 may have \[B/s on the wire\]; 0: not known yet.
    pub share: f32,
    /// For how long of its share the flow may keep bytes in the queue \[s\].
    pub room_s: f32,
    /// How long the packet waited in the queue \[s\].
    pub waited_s: f32,
}

/// What a station window's router tells the station's agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationStamp {
    /// All that the queue has sent, the packet with it \[B, modulo 2³²\].
    pub sent_bytes: u32,
    /// What waits behind the packet \[B\].
    pub behind_bytes: f32,
    /// How long the packet waited in the queue \[s\].
    pub waited_s: f32,
}

/// What ABC's routers tell a sender by each of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// No router has spoken.
    Asked,
    /// Send two for it.
    Accelerate,
    /// Send none for it.
    Brake,
}

/// XCP's congestion header, in bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XcpHeader {
    /// The sender's window \[B\].
    pub cwnd_bytes: f32,
    /// The sender's round-trip time \[s\]; 0: not known yet.
    pub rtt_s: f32,
    /// The change of the flow's rate that is asked for, and then granted \[B/s\].
    pub change: f32,
}

/// QFCP's congestion header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QfcpHeader {
    /// The sender's round-trip time \[s\]; 0: not known yet.
    pub rtt_s: f32,
    /// The rate that is asked for, and then granted \[B/s on the wire\].
    pub rate: f32,
    /// Queues of the path that have not spoken.
    pub silent: u8,
}

/// What QFCP's receivers send back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateFeedback {
    /// The least of the routers' rates \[B/s on the wire\].
    pub rate: f32,
    /// Queues of the path that have not spoken.
    pub silent: u8,
}

impl Signal {
    /// Stamps a price; an earlier, higher one stands. Headers of other protocols stay as they are.
    #[inline]
    pub fn raise_price(&mut self, price: f64) {
        match self {
            Signal::Price(p) if *p >= price => {}
            Signal::None | Signal::Price(_) => *self = Signal::Price(price),
            Signal::Share(_)
            | Signal::Station(_)
            | Signal::Steering(_)
            | Signal::Xcp(_)
            | Signal::Qfcp(_)
            | Signal::Change(_)
            | Signal::Rate(_) => {}
        }
    }

    /// The price, if any router stamped one.
    #[inline]
    pub fn price(&self) -> Option<f64> {
        match *self {
            Signal::Price(p) => Some(p),
            _ => None,
        }
    }

    /// Stamps a share; an earlier, lower one stands, unless it is not known. Headers of other protocols stay as they are.
    #[inline]
    pub fn lower_share(&mut self, stamp: ShareStamp) {
        match self {
            Signal::Share(before) if before.share > 0.0 && !(stamp.share > 0.0 && stamp.share < before.share) => {}
            Signal::None | Signal::Share(_) => *self = Signal::Share(stamp),
            Signal::Price(_)
            | Signal::Station(_)
            | Signal::Steering(_)
            | Signal::Xcp(_)
            | Signal::Qfcp(_)
            | Signal::Change(_)
            | Signal::Rate(_) => {}
        }
    }

    /// What a share window's router has told, if one has.
    #[inline]
    pub fn share(&self) -> Option<ShareStamp> {
        match *self {
            Signal::Share(stamp) => Some(stamp),
            _ => None,
        }
    }

    /// Stamps what a queue tells the agent of its station. Headers of other protocols stay as they are.
    #[inline]
    pub fn stamp_station(&mut self, stamp: StationStamp) {
        if matches!(self, Signal::None | Signal::Station(_)) {
            *self = Signal::Station(stamp);
        }
    }

    /// What the queue of the packet's station has told, if it has.
    #[inline]
    pub fn station(&self) -> Option<StationStamp> {
        match *self {
            Signal::Station(stamp) => Some(stamp),
            _ => None,
        }
    }

    /// Stamps XCP's change of the flow's rate \[B/s\]; an earlier, lower one stands.
    #[inline]
    pub fn lower_change(&mut self, change: f64) {
        if let Signal::Xcp(header) = self {
            header.change = header.change.min(change as f32);
        }
    }

    /// Stamps QFCP's rate \[B/s\]; an earlier, lower one stands.
    #[inline]
    pub fn lower_rate(&mut self, rate: f64) {
        if let Signal::Qfcp(header) = self {
            header.rate = header.rate.min(rate as f32);
        }
    }

    /// Stamps ABC's mark: who is told once to brake brakes.
    #[inline]
    pub fn steer(&mut self, accelerates: bool) {
        if let Signal::Steering(steering) = self
            && *steering != Steering::Brake
        {
            *steering = if accelerates { Steering::Accelerate } else { Steering::Brake };
        }
    }

    /// The queue that the packet leaves has spoken.
    #[inline]
    pub fn break_silence(&mut self) {
        if let Signal::Qfcp(header) = self {
            header.silent = header.silent.saturating_sub(1);
        }
    }

    /// Whether it speaks to routers whose law is their own, or brings back what these have said.
    #[inline]
    pub fn speaks(&self) -> bool {
        match self {
            Signal::Steering(_) | Signal::Xcp(_) | Signal::Qfcp(_) | Signal::Change(_) | Signal::Rate(_) => true,
            Signal::None | Signal::Price(_) | Signal::Share(_) | Signal::Station(_) => false,
        }
    }

    /// What a receiver sends back.
    #[inline]
    pub fn echo(&self) -> Signal {
        match *self {
            Signal::Xcp(header) => Signal::Change(header.change),
            Signal::Steering(Steering::Asked) => Signal::Change(f32::INFINITY),
            Signal::Steering(Steering::Accelerate) => Signal::Change(1.0),
            Signal::Steering(Steering::Brake) => Signal::Change(-1.0),
            Signal::Qfcp(header) => Signal::Rate(RateFeedback { rate: header.rate, silent: header.silent }),
            Signal::None
            | Signal::Price(_)
            | Signal::Share(_)
            | Signal::Station(_)
            | Signal::Change(_)
            | Signal::Rate(_) => Signal::None,
        }
    }

    /// What one acknowledgement of two packets sends back, `later` being that of the second: changes add up, of rates the
    /// later one holds.
    #[must_use]
    pub fn joined(self, later: Signal) -> Signal {
        match (self, later) {
            (Signal::Change(one), Signal::Change(other)) => Signal::Change(one + other),
            _ => later,
        }
    }
}

/// What a packet is. Data flows one way, acknowledgements and feedback the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens a connection; takes no sequence space here.
    Syn,
    /// Answers a SYN; carries the first window.
    SynAck,
    /// Payload from sender to receiver.
    Data,
    /// Acknowledgement from receiver to sender.
    Ack,
    /// An acknowledgement that no data has caused: it opens the window, and echoes what the one before did.
    Update,
    /// What a rate-based receiver tells its sender (RFC 5348 §3.2.2).
    Feedback,
}

/// Up to three blocks of received data above the cumulative acknowledgement, the latest first (RFC 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u64, u64); 3],
    count: u8,
}

impl SackBlocks {
    /// Appends the block of bytes `start..end`; a fourth is ignored, as the option has no room for it.
    pub fn push(&mut self, start: u64, end: u64) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = (start, end);
            self.count += 1;
        }
    }

    /// The blocks as `(start, end)`, the latest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..usize::from(self.count)].iter().copied()
    }
}

/// What rate-based feedback tells (RFC 5348 §3.2.2). On its way the loss event rate has 24 bits of precision, the receive
/// rate is whole bytes a second and `hold` whole tens of nanoseconds, up to 42 s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateReport {
    /// p.
    pub loss_event_rate: f64,
    /// X_recv \[B/s\].
    pub receive_rate: f64,
    /// t_delay: from the arrival of the packet that `echo` speaks of to the feedback.
    pub hold: Duration,
}

/// Unit of [`RateReport::hold`] on its way \[ns\].
const HOLD_UNIT_NS: u64 = 10;
/// What is added to the payload of data that is pushed. No payload is that large.
const PUSHED: u32 = 1 << 16;

/// What a TCP acknowledgement tells, without the packet that it travels in: where the way back holds no surprise, it comes to
/// its host as this.
#[derive(Clone, Debug)]
pub struct Ack {
    /// Next byte that the receiver expects.
    pub number: u64,
    /// Advertised window \[B\].
    pub window: u32,
    /// Size on the wire \[B\].
    pub size: u32,
    /// When the receiver handed it over.
    pub sent: Instant,
    /// `sent` of the packet that caused it.
    pub echo: Instant,
    /// Feedback from routers.
    pub signal: Signal,
    /// Selective acknowledgements, if any.
    pub sack: Option<Box<SackBlocks>>,
    /// Whether it answers a SYN, acknowledges data, or updates the window.
    pub kind: Kind,
}

impl Ack {
    /// An acknowledgement of all before byte `number`, with an advertised window.
    #[inline]
    pub fn new(number: u64, window: Bytes, size: u32, sent: Instant) -> Self {
        let (echo, signal) = (Instant::ZERO, Signal::None);
        Self { number, window: clamp_window(window), size, sent, echo, signal, sack: None, kind: Kind::Ack }
    }

    /// The packet of flow `flow` that it travels in.
    #[inline]
    pub fn into_packet(self, flow: u32) -> Packet {
        let mut packet = Packet::new(self.kind, flow, self.number, self.window, self.size, self.sent);
        packet.echo = self.echo;
        packet.signal = self.signal;
        packet.sack = self.sack;
        packet
    }
}

/// A TCP segment, or a packet of a rate-based flow, on its way; 64 bytes: one cache line.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Data: first payload byte (rate-based: the packet's number). ACK: next byte expected. Byte 0 is the first byte of
    /// payload. Feedback: the loss event rate in the lower half, the time that the data waited in the upper.
    number: u64,
    /// When its maker handed it over.
    pub sent: Instant,
    /// `sent` of the packet that caused this one: what RFC 7323's TSecr tells. In rate-based data it lies one round trip,
    /// as the sender estimates it, before `sent`.
    pub echo: Instant,
    /// Selective acknowledgements, if any.
    pub sack: Option<Box<SackBlocks>>,
    /// Feedback from routers.
    pub signal: Signal,
    /// Size on the wire \[B\].
    size: u32,
    /// Data: payload bytes in the lower half, and above whether it is pushed. SYN-ACK and ACK: advertised window \[B\].
    /// Feedback: receive rate \[B/s\].
    amount: u32,
    /// Index of the flow.
    pub flow: u32,
    /// Index of the station at the access point, where the path has one.
    pub station: u16,
    /// Hops travelled, the index into the flow's route.
    pub hop: u8,
    kind: Kind,
}

impl Packet {
    /// A segment that carries `payload` bytes from byte `seq`.
    #[inline]
    pub fn data(flow: u32, seq: u64, payload: u32, header: u32, sent: Instant) -> Self {
        Self::new(Kind::Data, flow, seq, payload, payload + header, sent)
    }

    /// An acknowledgement of all before byte `ack`, with an advertised window.
    #[inline]
    pub fn ack(flow: u32, ack: u64, window: Bytes, size: u32, sent: Instant) -> Self {
        Self::new(Kind::Ack, flow, ack, clamp_window(window), size, sent)
    }

    /// A SYN of `size` bytes on the wire.
    pub fn syn(flow: u32, size: u32, sent: Instant) -> Self {
        Self::new(Kind::Syn, flow, 0, 0, size, sent)
    }

    /// A SYN-ACK with the first window.
    pub fn syn_ack(flow: u32, window: Bytes, size: u32, sent: Instant) -> Self {
        Self::new(Kind::SynAck, flow, 0, clamp_window(window), size, sent)
    }

    /// Feedback of a rate-based receiver: the loss event rate, the receive rate \[B/s\], and for how long the data that
    /// `echo` is to speak of has waited for it.
    pub fn feedback(flow: u32, report: RateReport, size: u32, sent: Instant) -> Self {
        let hold = (report.hold.as_nanos() / HOLD_UNIT_NS).min(u64::from(u32::MAX));
        let number = (hold << 32) | u64::from((report.loss_event_rate as f32).to_bits());
        Self::new(Kind::Feedback, flow, number, report.receive_rate as u32, size, sent)
    }

    #[inline]
    fn new(kind: Kind, flow: u32, number: u64, amount: u32, size: u32, sent: Instant) -> Self {
        Self {
            number,
            sent,
            echo: Instant::ZERO,
            sack: None,
            signal: Signal::None,
            size,
            amount,
            flow,
            station: 0,
            hop: 0,
            kind,
        }
    }

    /// What an acknowledgement tells, or the answer to a SYN.
    #[inline]
    pub fn into_ack(self) -> Ack {
        debug_assert!(self.acknowledges(), "a sender got {:?}", self.kind);
        Ack {
            number: self.number,
            window: self.amount,
            size: self.size,
            sent: self.sent,
            echo: self.echo,
            signal: self.signal,
            sack: self.sack,
            kind: self.kind,
        }
    }

    #[inline]
    fn acknowledges(&self) -> bool {
        matches!(self.kind, Kind::Ack | Kind::Update | Kind::SynAck)
    }

    /// What the segment is.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// First payload byte.
    #[inline]
    pub fn seq(&self) -> u64 {
        debug_assert!(matches!(self.kind, Kind::Data | Kind::Syn));
        self.number
    }

    /// Payload bytes; zero for anything but data.
    #[inline]
    pub fn payload(&self) -> u32 {
        if self.kind == Kind::Data { self.amount & !PUSHED } else { 0 }
    }

    /// Data that ends what was sent in one piece, if `is_last` (PSH).
    #[inline]
    pub(crate) fn pushed(mut self, is_last: bool) -> Self {
        if is_last {
            self.amount |= PUSHED;
        }
        self
    }

    /// Whether it is data that ends what was sent in one piece (PSH).
    #[inline]
    pub fn is_pushed(&self) -> bool {
        self.kind == Kind::Data && self.amount & PUSHED != 0
    }

    /// Next byte that the receiver expects.
    #[inline]
    pub fn ack_number(&self) -> u64 {
        debug_assert!(self.acknowledges());
        self.number
    }

    /// What rate-based feedback tells.
    pub fn report(&self) -> RateReport {
        debug_assert!(self.kind == Kind::Feedback);
        RateReport {
            loss_event_rate: f64::from(f32::from_bits(self.number as u32)),
            receive_rate: f64::from(self.amount),
            hold: Duration::from_nanos((self.number >> 32) * HOLD_UNIT_NS),
        }
    }

    /// Has it advertise no more than `window`.
    pub fn lower_window(&mut self, window: Bytes) {
        debug_assert!(matches!(self.kind, Kind::Ack | Kind::SynAck));
        self.amount = self.amount.min(clamp_window(window));
    }

    /// Advertised window.
    #[inline]
    pub fn window(&self) -> Bytes {
        debug_assert!(self.acknowledges());
        Bytes::new(u64::from(self.amount))
    }
}

impl Parcel for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    #[inline]
    fn station(&self) -> usize {
        usize::from(self.station)
    }

    #[inline]
    fn flow(&self) -> u64 {
        u64::from(self.flow)
    }

    #[inline]
    fn signal(&self) -> &Signal {
        &self.signal
    }

    #[inline]
    fn signal_mut(&mut self) -> &mut Signal {
        &mut self.signal
    }
}

#[inline]
fn clamp_window(window: Bytes) -> u32 {
    window.get().min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_fills_one_cache_line() {
        assert!(size_of::<Packet>() <= 64, "{} bytes", size_of::<Packet>());
    }

    #[test]
    fn a_report_survives_its_way() {
        // Powers of two and whole units are exact.
        let report = RateReport { loss_event_rate: 0.0625, receive_rate: 125_000.0, hold: Duration::from_micros(1234) };
        assert_eq!(Packet::feedback(0, report, 64, Instant::ZERO).report(), report);
        let long = RateReport { hold: Duration::from_secs(100), receive_rate: 1e12, ..report };
        let told = Packet::feedback(0, long, 64, Instant::ZERO).report();
        assert_eq!((told.hold, told.receive_rate), (Duration::from_nanos(42_949_672_950), 4_294_967_295.0));
    }

    #[test]
    fn the_lowest_rate_and_change_on_the_path_stand() {
        let mut rate = Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate: f32::INFINITY, silent: 3 });
        for told in [4e5, 1e5, 2e5] {
            rate.lower_rate(told);
            rate.break_silence();
        }
        assert_eq!(rate.echo(), Signal::Rate(RateFeedback { rate: 1e5, silent: 0 }));
        let mut change = Signal::Xcp(XcpHeader { cwnd_bytes: 3000.0, rtt_s: 0.1, change: f32::INFINITY });
        change.lower_change(500.0);
        change.lower_change(-250.0);
        change.lower_change(100.0);
        assert_eq!(change.echo(), Signal::Change(-250.0));
    }

    #[test]
    fn the_least_known_share_on_the_path_stands() {
        let stamp = |share| ShareStamp { share, room_s: 0.01 * share, waited_s: 0.0 };
        let mut signal = Signal::None;
        let mut told = |share| {
            signal.lower_share(stamp(share));
            signal.share().unwrap()
        };
        let shares = [0.0, 3.0, 0.0, 2.0, 4.0].map(&mut told);
        assert_eq!(shares, [0.0, 3.0, 3.0, 2.0, 2.0].map(stamp), "with what belongs to it");
        assert_eq!((signal.echo(), signal.price()), (Signal::None, None));
    }

    #[test]
    fn one_brake_on_the_path_brakes() {
        let told = |marks: &[bool]| {
            let mut signal = Signal::Steering(Steering::Asked);
            marks.iter().for_each(|&accelerates| signal.steer(accelerates));
            signal.echo()
        };
        assert_eq!(told(&[]), Signal::Change(f32::INFINITY));
        assert_eq!((told(&[true, true]), told(&[true, false])), (Signal::Change(1.0), Signal::Change(-1.0)));
        assert_eq!(told(&[false, true]), Signal::Change(-1.0));
        assert_eq!(told(&[true]).joined(told(&[true])), Signal::Change(2.0));
    }

    #[test]
    fn routers_of_one_protocol_leave_the_others_alone() {
        let header = Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate: 1e6, silent: 1 });
        let mut signal = header;
        signal.raise_price(0.5);
        signal.lower_change(-100.0);
        assert_eq!(signal, header);
        // And acknowledgements are nobody's.
        let mut ack = header.echo();
        ack.raise_price(0.5);
        ack.lower_rate(1.0);
        ack.break_silence();
        assert_eq!(ack, header.echo());
        assert_eq!(Signal::Price(0.5).echo(), Signal::None);
    }

    #[test]
    fn an_acknowledgement_of_two_packets_brings_both_changes() {
        assert_eq!(Signal::Change(100.0).joined(Signal::Change(-30.0)), Signal::Change(70.0));
        let rate = |rate| Signal::Rate(RateFeedback { rate, silent: 0 });
        assert_eq!(rate(2.0).joined(rate(3.0)), rate(3.0));
    }

    #[test]
    fn the_highest_price_on_the_path_stands() {
        let mut signal = Signal::None;
        signal.raise_price(0.25);
        signal.raise_price(0.125);
        assert_eq!(signal.price(), Some(0.25));
    }
}
