// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as headers carry them, in 16 bits.

/// A rate that no router has lowered.
pub const ALL: u16 = 0xffff;
/// A change of the window that no router has lowered.
pub const ANY_CHANGE: u16 = 0x7fff;

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// A number up to 2^42 within 2^-11 of it; more counts as that. `ALL` stands for none.
    #[link_name = "lasthop_wire_of"]
    pub safe fn of(x: u64) -> u16;

    /// What it stands for.
    #[link_name = "lasthop_wire_value"]
    pub safe fn value(coded: u16) -> u64;

    /// A change of a window, in either direction, within 2^-10 of it. `ANY_CHANGE` stands for none.
    #[link_name = "lasthop_wire_change_of"]
    pub safe fn change_of(change_q8: i64) -> u16;

    /// What it stands for.
    #[link_name = "lasthop_wire_change_q8"]
    pub safe fn change_q8(coded: u16) -> i64;
}
