// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the laws measure, as the simulator's estimators do.

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bins of a [`BinnedRate`].
pub const BINS: usize = 16;

/// The rate while there is something to pass: `struct busy_window`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct BusyWindow {
    /// When the window began; 0 at rest.
    pub began_ns: u64,
    /// What has left in it.
    pub bytes: u64,
    /// The mean of the windows \[B/s\]; 0 as long as it is unknown.
    pub rate: u64,
}

/// The rate of the last packets, in bins of 64: `struct binned_rate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct BinnedRate {
    /// When each bin was opened.
    pub opened_ns: [u64; BINS],
    /// What came in it.
    pub bytes: [u32; BINS],
    /// All that.
    pub sum_bytes: u64,
    /// The last packet.
    pub last_ns: u64,
    /// Packets in the running bin.
    pub packets: u16,
    /// Which that is.
    pub running: u16,
    /// Bins that hold something.
    pub used: u32,
}

/// The least of the last one to two spans: `struct recent_least`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct RecentLeast {
    /// When this span began.
    pub began_ns: u64,
    /// Its least; 0: no sample yet.
    pub now_least_ns: u64,
    /// That of the one before.
    pub last_least_ns: u64,
}

// SAFETY: pure functions of the headers, defined in `face.c` with these very types; they keep no pointer.
unsafe extern "C" {
    /// An average that keeps so much of what it was. Any values below 2^63.
    #[link_name = "lasthop_towards"]
    pub safe fn towards(before: u64, sample: u64, keep_q31: u64) -> u64;

    /// The average queue after an arrival, gap after the one before: clamp#4.1 q <- e^(-gap/span) q + (1 - e^(-gap/span)) Q, the paper's span being half a second. It also tells the average of now where none arrives any more: Q is what stands in the queue then.
    #[link_name = "lasthop_over_arrivals_q16"]
    pub safe fn over_arrivals_q16(before_q16: u64, queue_q16: u64, gap_ns: u64, span_ns: u64) -> u64;

    /// An average in which a new sample weighs 2^-shift; the first, where there is none before, is its value.
    #[link_name = "lasthop_smoothed"]
    pub safe fn smoothed(before: u64, sample: u64, shift: u32) -> u64;

    /// Counts what has left by now. The first call after a rest lends its time but not its bytes.
    #[link_name = "lasthop_busy_window_add"]
    pub safe fn busy_window_add(w: &mut BusyWindow, now_ns: u64, bytes: u64);

    /// There is nothing to pass: the window is broken off.
    #[link_name = "lasthop_busy_window_rest"]
    pub safe fn busy_window_rest(w: &mut BusyWindow);

    /// Counts a packet of up to 64 kB, later than 0 ns.
    #[link_name = "lasthop_binned_rate_add"]
    pub safe fn binned_rate_add(r: &mut BinnedRate, now_ns: u64, bytes: u32);

    /// B/s; 0 as long as it is unknown.
    #[link_name = "lasthop_binned_rate"]
    pub safe fn binned_rate(r: &BinnedRate) -> u64;

    /// The least of this span and the one before \[ns\]; 0 before the first sample.
    #[link_name = "lasthop_recent_least"]
    pub safe fn recent_least(l: &RecentLeast) -> u64;

    /// Opens the next span where this one is over.
    #[link_name = "lasthop_recent_least_turn"]
    pub safe fn recent_least_turn(l: &mut RecentLeast, now_ns: u64, span_ns: u64);

    /// Takes a sample in.
    #[link_name = "lasthop_recent_least_add"]
    pub safe fn recent_least_add(l: &mut RecentLeast, now_ns: u64, sample_ns: u64, span_ns: u64);
}
