// SPDX-License-Identifier: MIT OR Apache-2.0
//! What travels: the simulator's packet and what any packet must tell a network element.

mod signal;

pub use signal::{QfcpHeader, RateFeedback, ShareStamp, Signal, StationStamp, Steering, XcpHeader};

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
/// its host as this. A sender hears it with its blocks lent.
#[derive(Clone, Copy, Debug)]
pub struct Ack<S = Box<SackBlocks>> {
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
    pub sack: Option<S>,
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

    /// Its size on the wire.
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    /// The same with its blocks lent.
    #[inline(always)]
    pub fn lend(&self) -> Ack<&SackBlocks> {
        let &Self { number, window, size, sent, echo, signal, ref sack, kind } = self;
        Ack { number, window, size, sent, echo, signal, sack: sack.as_deref(), kind }
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
}
