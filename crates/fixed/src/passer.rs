// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an access point makes of connections whose windows others lower: their number, their paths, what queue their senders bear, and which of
//! their segments bear a price.

use crate::state::{PacketRecord, PasserRecord, Settings, StationRecord};

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// A packet of the server: data count the connection, and an answer to its station's SYN tells the path on that side.
    #[link_name = "lasthop_passer_comes"]
    pub safe fn comes(
        settings: &Settings,
        passer: &mut PasserRecord,
        station: &mut StationRecord,
        packet: &PacketRecord,
        now_ns: u64,
    );

    /// Whether data of the server are to bear a price (1), where `has_room` says that there is room for one.
    #[link_name = "lasthop_passer_stamps"]
    pub safe fn stamps(passer: &mut PasserRecord, packet: &PacketRecord, now_ns: u64, has_room: i32) -> i32;

    /// One of the station: its windows tell what of them the sender uses.
    #[link_name = "lasthop_passer_goes"]
    pub safe fn goes(passer: &mut PasserRecord, station: &StationRecord, packet: &PacketRecord, now_ns: u64);
}
