// SPDX-License-Identifier: MIT OR Apache-2.0
//! What shares a queue: its rate, its flows, its price.

use crate::state::{Settings, StationRecord};

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// A look at the backlog of a queue that is seen: surely busy if it held something at this look and at the one before.
    #[link_name = "lasthop_station_look"]
    pub safe fn look(station: &mut StationRecord, now_ns: u64, queue_bytes: u64, departed_bytes: u64);

    /// A packet of so many bytes joins the queue, in so many segments: CLAMP's average is that of now.
    #[link_name = "lasthop_station_arrival"]
    pub safe fn arrival(station: &mut StationRecord, now_ns: u64, bytes: u32, segments: u32, average_ns: u64);

    /// Something goes to the clients.
    #[link_name = "lasthop_station_pass"]
    pub safe fn pass(station: &mut StationRecord, bytes: u64, is_other: i32);

    /// CLAMP's price, of what is steered: a queue that others fill beyond 4a is theirs.
    #[link_name = "lasthop_station_price_q30"]
    pub safe fn price_q30(station: &mut StationRecord, now_ns: u64, a_bytes: u64, average_ns: u64) -> u32;

    /// CLAMP's a \[B\] for segments of `mss` bytes: that of the settings, lowered where a sender bears no queue so long, and raised where so
    /// many connections' least windows of two segments would hold more than it beside what their paths take.
    #[link_name = "lasthop_station_a_of"]
    pub safe fn a_of(settings: &Settings, station: &StationRecord, mss: u32) -> u64;

    /// Opens another epoch where the running one is over.
    #[link_name = "lasthop_station_turn"]
    pub safe fn turn(station: &mut StationRecord, now_ns: u64);

    /// The rate that the law goes by \[B/s\]; 0 as long as it is unknown.
    #[link_name = "lasthop_station_rate"]
    pub safe fn rate(station: &StationRecord) -> u64;

    /// Phi: of the flows seen in this epoch or in the last, whichever were more.
    #[link_name = "lasthop_station_weights"]
    pub safe fn weights_q8(station: &StationRecord) -> u64;
}
