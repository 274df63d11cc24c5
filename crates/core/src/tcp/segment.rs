// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender sends, without what its flow knows anyway.

use crate::packet::{Kind, Packet, Parcel, Signal};
use crate::units::{Bytes, Instant};

/// Data of a flow, or its SYN: half a cache line. On a line that is its flow's alone it travels as this, elsewhere in a
/// [`Packet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First payload byte.
    pub seq: u64,
    /// When the sender handed it over.
    pub sent: Instant,
    /// `sent` of the acknowledgement that let it go; [`Instant::ZERO`]: none did.
    pub echo: Instant,
    /// Size on the wire \[B\].
    pub size: u32,
    /// Payload \[B\]; 0: it is a SYN.
    pub payload: u16,
    /// Whether it ends what was sent in one piece (PSH).
    pub is_pushed: bool,
}

impl Segment {
    /// A SYN of `size` bytes.
    pub(super) fn syn(size: u32, sent: Instant) -> Self {
        Self { seq: 0, sent, echo: Instant::ZERO, size, payload: 0, is_pushed: false }
    }

    /// What the packet carries, which is data or a SYN.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self {
            seq: packet.seq(),
            sent: packet.sent,
            echo: packet.echo,
            size: packet.size().get() as u32,
            payload: packet.payload() as u16,
            is_pushed: packet.is_pushed(),
        }
    }

    /// The packet of flow `flow` that it travels in, with what the sender asks the routers.
    #[inline]
    pub fn into_packet(self, flow: u32, request: Signal) -> Packet {
        let Self { seq, sent, echo, size, payload, is_pushed } = self;
        let payload = u32::from(payload);
        let mut packet = match self.kind() {
            Kind::Data => Packet::data(flow, seq, payload, size - payload, sent).pushed(is_pushed),
            _ => Packet::syn(flow, size, sent),
        };
        packet.echo = echo;
        if self.is_data() {
            packet.signal = request;
        }
        packet
    }

    /// Whether it carries data.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.payload > 0
    }

    /// What the packet is that it travels in.
    #[inline]
    pub fn kind(&self) -> Kind {
        if self.is_data() { Kind::Data } else { Kind::Syn }
    }

    /// Size on the wire.
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_half_a_cache_line_and_survives_its_packet() {
        assert_eq!(size_of::<Segment>(), 32);
        let at = Instant::from_nanos;
        let data = Segment { seq: 7, sent: at(3), echo: at(2), size: 1500, payload: 1460, is_pushed: false };
        for segment in [data, Segment { is_pushed: true, ..data }, Segment::syn(40, at(5))] {
            let packet = segment.into_packet(9, Signal::Price(1.0));
            assert_eq!((Segment::of(&packet), packet.kind(), packet.flow), (segment, segment.kind(), 9));
            assert_eq!(packet.signal.price().is_some(), segment.is_data());
        }
    }
}
