// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an access point makes of connections whose windows others lower: their number and their paths.

use crate::state::{PacketRecord, PasserRecord, StationRecord};

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// A packet of the server: data count the connection, and an answer to its station's SYN tells the path on that side.
    #[link_name = "lasthop_passer_comes"]
    pub safe fn comes(passer: &mut PasserRecord, station: &mut StationRecord, packet: &PacketRecord, now_ns: u64);

    /// One of the station.
    #[link_name = "lasthop_passer_goes"]
    pub safe fn goes(passer: &mut PasserRecord, packet: &PacketRecord, now_ns: u64);
}
