// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a window in bytes to the field of a TCP header.

use crate::state::PacketRecord;

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// The largest payload of a segment, after one: as large as that, or as some in a row are that are alike.
    #[link_name = "lasthop_largest_segment"]
    pub safe fn largest_segment(
        alike: &mut [u32; 3],
        mss_bytes: u32,
        packet: &PacketRecord,
        under_way_bytes: u64,
    ) -> u32;

    /// Whole segments: floor(w/mss + U), U uniform in [0, 1) as 2^-32 of `random`; one at least. w up to 2^34 B.
    #[link_name = "lasthop_whole_segments"]
    pub safe fn whole_segments(window_bytes: u64, mss_bytes: u32, random: u32) -> u64;

    /// The window of a connection whose receiver acknowledges once it has `waits_bytes`, k segments, two at least, and holds back
    /// `held_bytes` in the mean. Below four segments senders let single ones go, and one that makes no pair is held for a round trip: half
    /// of a segment there. Fewer than k wait for the receiver's timer, while which `timed_bytes` would go at the connection's rate: where
    /// the window is less than k - 1 segments with that, so it is. Where it would be more, it is of k - 1 or k in turn for that rate to
    /// come out, station#20 s (k - 1 + (w + h - (k - 1) s)/(s - u + h)), u what is held back, half a segment at least. Now and then there
    /// are two at least, for the path to be seen without the timer.
    #[link_name = "lasthop_window_beside_held"]
    pub safe fn beside_held(
        window_bytes: u64,
        mss_bytes: u32,
        held_bytes: u32,
        waits_bytes: u32,
        timed_bytes: u64,
    ) -> u64;

    /// Whether sequence number a is later than b (RFC 9293, 3.4).
    #[link_name = "lasthop_is_after"]
    pub safe fn is_after(a: u32, b: u32) -> i32;

    /// The right edge of a window, which never moves left of the one advertised before. Windows up to 2^30 B.
    #[link_name = "lasthop_right_edge"]
    pub safe fn right_edge(ack: u32, window_bytes: u64, edge: u32) -> u32;

    /// The header's field for that edge: rounded up, so that the edge stays, at most the receiver's own, never raised. An edge that is no later than the ACK says nothing: the field stays as it is, so that no window of ours is ever zero.
    #[link_name = "lasthop_window_field"]
    pub safe fn window_field(ack: u32, edge: u32, scale: u32, own: u16) -> u16;

    /// A window \[B\] less what its field, of a unit of 2^`scale` B, adds to it in the mean.
    #[link_name = "lasthop_window_before_rounding"]
    pub safe fn window_before_rounding(window_bytes: u64, scale: u32) -> u64;
}
