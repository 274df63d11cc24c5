// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP's receiver: a connection's window from the prices in its data.

use crate::state::{PacketRecord, ReceiverRecord};

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// A packet of so many bytes arrived.
    #[link_name = "lasthop_receiver_arrival"]
    pub safe fn arrival(receiver: &mut ReceiverRecord, now_ns: u64, bytes: u32, segments: u32);

    /// A round trip was measured, from `asked_ns` to now.
    #[link_name = "lasthop_receiver_rtt"]
    pub safe fn rtt(receiver: &mut ReceiverRecord, now_ns: u64);

    /// A SYN or SYN-ACK of the server: what it offers.
    #[link_name = "lasthop_receiver_server_begins"]
    pub safe fn server_begins(receiver: &mut ReceiverRecord, packet: &PacketRecord, now_ns: u64);

    /// The same of its station, with so much payload in a segment.
    #[link_name = "lasthop_receiver_station_begins"]
    pub safe fn station_begins(receiver: &mut ReceiverRecord, packet: &PacketRecord, segment: u32, now_ns: u64);

    /// Whether a RST of the server ends a connection: one that its station does not expect changes nothing (RFC 5961, 3.2).
    #[link_name = "lasthop_receiver_is_reset"]
    pub safe fn is_reset(receiver: &ReceiverRecord, packet: &PacketRecord) -> i32;

    /// Nothing is known of the queue any more: its ACKs pass as they are.
    #[link_name = "lasthop_receiver_let_go"]
    pub safe fn let_go(receiver: &mut ReceiverRecord);

    /// The law, at a packet with so much payload that came with a price, gap after the one before. By γ windows grow while the queue is
    /// empty.
    #[link_name = "lasthop_receiver_window"]
    pub safe fn window(receiver: &mut ReceiverRecord, gap_ns: u64, payload: u32, tau_bytes: u32, refill_q10: u32);
}
