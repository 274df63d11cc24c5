// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an access point makes of connections whose windows others lower: their number, their paths, and what queue their senders bear.

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

    /// One of the station: its windows tell what of them the sender uses.
    #[link_name = "lasthop_passer_goes"]
    pub safe fn goes(passer: &mut PasserRecord, station: &StationRecord, packet: &PacketRecord, now_ns: u64);
}
