// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the connections of a station tell each other, so that their windows become even soon.

use crate::state::{PoolRecord, ReceiverRecord};

/// What a connection adds to an epoch: `struct pool_part`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PoolPart {
    /// The rate that its window allows \[B/s\].
    pub rate: u64,
    /// Its round trip.
    pub rtt_ns: u64,
    /// By how much that is more than its least.
    pub queue_ns: u64,
    /// φ.
    pub weight_q8: u32,
    pad: u32,
}

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// The next epoch, if this one is over.
    #[link_name = "lasthop_pool_turn"]
    pub safe fn turn(pool: &mut PoolRecord, now_ns: u64);

    /// A connection takes part in the running epoch.
    #[link_name = "lasthop_pool_add"]
    pub safe fn add(pool: &mut PoolRecord, part: &PoolPart);

    /// How fast a window moves where so much is between two rates \[B/s\].
    #[link_name = "lasthop_pool_drift"]
    pub safe fn drift(between: u64, rtt_ns: u64, length_ns: u64) -> u64;

    /// What comes of it in a gap between two packets.
    #[link_name = "lasthop_pool_moved_q16"]
    pub safe fn moved_q16(drift: i64, gap_ns: u64) -> i64;

    #[link_name = "lasthop_receiver_pools"]
    safe fn receiver_pools(receiver: &mut ReceiverRecord, pool: &PoolRecord, part: &mut PoolPart) -> i32;
}

/// A connection meets the others at a packet with a price, after the law has heard that.
pub fn meet(pool: &mut PoolRecord, receiver: &mut ReceiverRecord, now_ns: u64) {
    turn(pool, now_ns);
    let mut part = PoolPart::default();
    if receiver_pools(receiver, pool, &mut part) != 0 {
        add(pool, &part);
    }
}
