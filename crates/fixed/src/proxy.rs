// SPDX-License-Identifier: MIT OR Apache-2.0
//! The proxy's law: what it makes of each packet that it sees.

use crate::state::{DeskRecord, FlowRecord, PacketRecord, Settings, StationRecord};

/// A queue at a glance; nothing where it is hidden: `struct glance`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Glance {
    /// What it holds.
    pub bytes: u64,
    /// What has left it so far.
    pub departed_bytes: u64,
}

/// What a packet towards a client finds at its station: `struct found`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FoundFlow {
    nearest_ns: u64,
    /// y, as a handshake takes it.
    pub wait_ns: u64,
    epoch: u32,
    pad: u32,
}

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// A SYN or SYN-ACK of the server's side: what it offers.
    #[link_name = "lasthop_proxy_server_begins"]
    pub safe fn server_begins(flow: &mut FlowRecord, packet: &PacketRecord, now_ns: u64, wait_ns: u64);

    /// The same of the client's side; gives the window that it may begin with.
    #[link_name = "lasthop_proxy_client_begins"]
    pub safe fn client_begins(flow: &mut FlowRecord, packet: &PacketRecord, now_ns: u64) -> u16;

    /// Any packet towards a client, in so many segments: what of it its station counts.
    #[link_name = "lasthop_proxy_meets"]
    pub safe fn meets(
        settings: &Settings,
        station: &mut StationRecord,
        now_ns: u64,
        queue: &Glance,
        bytes: u32,
        segments: u32,
        is_other: i32,
        begins: i32,
    ) -> FoundFlow;

    /// Data of a connection that is known go on to its client: whether they are others', because its acknowledgements take another way. If
    /// they are, its station [`meets`] them as others', and [`forwards`] is not asked.
    #[link_name = "lasthop_unheard_goes_on"]
    pub safe fn is_unheard(
        flow: &mut FlowRecord,
        station: &mut StationRecord,
        packet: &PacketRecord,
        now_ns: u64,
    ) -> i32;

    /// A segment of a connection that is known goes on to its client; `weight_q8` is 0 where its weight stays.
    #[link_name = "lasthop_proxy_forwards"]
    pub safe fn forwards(
        settings: &Settings,
        flow: &mut FlowRecord,
        station: &mut StationRecord,
        packet: &PacketRecord,
        now_ns: u64,
        queue: &Glance,
        found: &FoundFlow,
        weight_q8: u32,
    );

    /// An ACK of a connection that is established: what it tells, and the field that it is to say.
    #[link_name = "lasthop_proxy_hears"]
    pub safe fn hears(
        settings: &Settings,
        flow: &mut FlowRecord,
        station: &mut StationRecord,
        packet: &PacketRecord,
        now_ns: u64,
        queue: &Glance,
        random: u32,
    ) -> u16;

    /// The field that an ACK is to say; alone where its station's lock was not to be had, and nothing is heard of it.
    #[link_name = "lasthop_proxy_field"]
    pub safe fn field(flow: &mut FlowRecord, packet: &PacketRecord) -> u16;

    /// The same as [`hears`] of a connection whose station has a desk. `updates` says which seats of others have windows that moved, a
    /// bit each: [`crate::desk::update`] gives what is to be sent.
    #[link_name = "lasthop_proxy_hears_at_desk"]
    pub safe fn hears_at_desk(
        settings: &Settings,
        desk: &mut DeskRecord,
        flow: &mut FlowRecord,
        station: &mut StationRecord,
        packet: &PacketRecord,
        now_ns: u64,
        queue: &Glance,
        random: u32,
        updates: &mut u32,
    ) -> u16;

    /// d: a connection's round trip without the queue, and with what its acknowledgements wait for each other; `nearest_ns` is the
    /// least to any client of its station and back.
    #[link_name = "lasthop_flow_delay_ns"]
    pub safe fn delay_ns(flow: &FlowRecord, nearest_ns: u64) -> u64;

    /// Whether a connection's receiver holds acknowledgements back, for a second segment or for its timer.
    #[link_name = "lasthop_flow_holds"]
    pub safe fn holds(flow: &FlowRecord) -> i32;

    /// New payload of a connection goes on, up to `end`; `is_first` where nothing else of it is under way.
    #[link_name = "lasthop_flow_apart"]
    pub safe fn apart(flow: &mut FlowRecord, now_ns: u64, end: u32, payload: u32, is_first: i32);

    /// An acknowledgement tells of so much of it, on a line of that rate \[B/s\].
    #[link_name = "lasthop_flow_was_apart"]
    pub safe fn was_apart(flow: &mut FlowRecord, now_ns: u64, ack: u32, told_bytes: u32, rate: u64);

    /// What its receiver holds back in the mean \[B\]: of n segments that an acknowledgement tells of (n − 1)/2 at most.
    #[link_name = "lasthop_flow_held_bytes"]
    pub safe fn held_bytes(flow: &FlowRecord) -> u32;

    /// Whether a RST of its server or its client ends a connection: one that the other end does not expect changes nothing
    /// (RFC 5961, 3.2).
    #[link_name = "lasthop_proxy_is_reset"]
    pub safe fn is_reset(flow: &FlowRecord, packet: &PacketRecord, is_servers: i32) -> i32;

    /// A connection ends: nothing of it is under way any more.
    #[link_name = "lasthop_proxy_rests"]
    pub safe fn rests(flow: &mut FlowRecord, station: &mut StationRecord);

    /// Whether a connection is silent, so that nothing of it is under way: a client that vanished must not leave its station
    /// throttled.
    #[link_name = "lasthop_proxy_is_silent"]
    pub safe fn is_silent(flow: &FlowRecord, now_ns: u64) -> i32;
}
