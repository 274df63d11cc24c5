// SPDX-License-Identifier: MIT OR Apache-2.0
//! The station window: a desk sets the windows of all connections of a station.

use crate::state::{DeskRecord, UpdateRecord};

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// What was granted between two edges of a window \[B\].
    #[link_name = "lasthop_desk_between"]
    pub safe fn between(edge_later: u32, edge_then: u32) -> u64;

    /// The part of what is thought to wait that does, in a queue of so many bytes.
    #[link_name = "lasthop_desk_scale_q16"]
    pub safe fn scale_q16(queue_bytes: u64, thought_bytes: u64) -> u64;

    /// What a flow has waiting, of so much that it holds \[B\].
    #[link_name = "lasthop_desk_waiting"]
    pub safe fn waiting(held_bytes: u64, pipe_bytes: u64, scale_q16: u64) -> u64;

    /// Whether another is slower.
    #[link_name = "lasthop_desk_is_slower"]
    pub safe fn is_slower(other_ns: u64, delay_ns: u64) -> i32;

    /// How far ahead a flow fills the line.
    #[link_name = "lasthop_desk_lead_ns"]
    pub safe fn lead_ns(delay_ns: u64, is_fastest: i32) -> u64;

    /// What there may be within a lead and in the queue \[B\].
    #[link_name = "lasthop_desk_room"]
    pub safe fn room(rate: u64, lead_ns: u64, target_ns: u64, kappa_q10: u32, queue_bytes: u64) -> i64;

    /// One of several, which are below 2^47 in all.
    #[link_name = "lasthop_desk_part_q16"]
    pub safe fn part_q16(one: u64, all: u64) -> u64;

    /// w: a part of the room that the slower ones leave \[B\].
    #[link_name = "lasthop_desk_window"]
    pub safe fn window(part_q16: u64, room_bytes: i64, slower_bytes: u64) -> u64;

    /// φ e^(z − 1.5).
    #[link_name = "lasthop_desk_leaning_q24"]
    pub safe fn leaning_q24(phi_q8: u32, lean_q24: i64) -> u64;

    /// How far a rate falls short of a share, as a part of that; down to −63.
    #[link_name = "lasthop_desk_shortfall_q16"]
    pub safe fn shortfall_q16(rate: u64, share: u64) -> i64;

    /// z after so long, up to 100 ms.
    #[link_name = "lasthop_desk_lean_q24"]
    pub safe fn lean_q24(before_q24: i64, shortfall_q16: i64, elapsed_ns: u64) -> i64;

    /// Whether a flow has no more to send.
    #[link_name = "lasthop_desk_is_limited"]
    pub safe fn is_limited(used: u64, held: u64) -> i32;

    /// What a limited flow holds \[B\].
    #[link_name = "lasthop_desk_held_by_limited"]
    pub safe fn held_by_limited(rate: u64, delay_ns: u64, wait_ns: u64) -> u64;

    /// A limited flow's own window \[B\].
    #[link_name = "lasthop_desk_limited_window"]
    pub safe fn limited_window(part_q16: u64, rate: u64, delay_ns: u64, target_ns: u64) -> u64;

    /// A window while the queue is drained \[B\].
    #[link_name = "lasthop_desk_draining_window"]
    pub safe fn draining_window(part_q16: u64, rate: u64, delay_ns: u64) -> u64;

    /// ρ̄ \[B/s\] smoothed over 1.2 d upwards and .3 d downwards; the first is its value.
    #[link_name = "lasthop_desk_followed"]
    pub safe fn followed(before: u64, rate: u64, gap_ns: u64, delay_ns: u64) -> u64;

    /// Whether acknowledgements wait for each other.
    #[link_name = "lasthop_desk_is_crowded"]
    pub safe fn is_crowded(excess_ns: u64) -> i32;

    /// The window update of the seat of this number, whose edge has moved; 0 if it would say nothing new.
    #[link_name = "lasthop_desk_update"]
    pub safe fn update(desk: &mut DeskRecord, seat: u32, update: &mut UpdateRecord) -> i32;
}
