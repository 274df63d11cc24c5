// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures are as large in Rust as in the headers.

use lasthop_fixed::pool::PoolPart;
use lasthop_fixed::proxy::{FoundFlow, Glance};
use lasthop_fixed::state::{
    DeskRecord, FlowRecord, PacketRecord, PasserRecord, PoolRecord, ReceiverRecord, Settings, StationRecord,
    UpdateRecord,
};

// SAFETY: a pure function of `face.c` with these very types.
unsafe extern "C" {
    #[link_name = "lasthop_size_of"]
    safe fn size_of_theirs(which: u32) -> u32;
}

#[test]
fn sizes_are_those_of_the_headers() {
    let ours = [
        size_of::<Settings>(),
        size_of::<PacketRecord>(),
        size_of::<FlowRecord>(),
        size_of::<StationRecord>(),
        size_of::<ReceiverRecord>(),
        size_of::<Glance>(),
        size_of::<FoundFlow>(),
        size_of::<PasserRecord>(),
        size_of::<PoolRecord>(),
        size_of::<PoolPart>(),
        size_of::<DeskRecord>(),
        size_of::<UpdateRecord>(),
    ];
    let theirs: Vec<usize> = (0..ours.len() as u32).map(|which| size_of_theirs(which) as usize).collect();
    assert_eq!(ours.to_vec(), theirs);
    assert_eq!(size_of_theirs(ours.len() as u32), 0);
}
