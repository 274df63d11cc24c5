// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept of what shares a queue.

use std::net::{IpAddr, Ipv6Addr};

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{PathRecord, known};
use crate::share::{BusyRate, HORIZONS};

/// What is kept of what shares a queue: `struct station`.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct StationRecord {
    lock: u32,
    epoch: u32,
    /// The last look at the queue, by the monotonic clock.
    pub seen_ns: u64,
    /// What the queue held at the last look.
    pub queue_bytes: u64,
    departed_bytes: u64,
    passed_bytes: u64,
    other_bytes: u64,
    period_ns: u64,
    period_bytes: u64,
    tick_ns: u64,
    tick_bytes: u64,
    tick_busy_ns: u64,
    tick_busy_bytes: u64,
    span_ns: u64,
    span_bytes: u64,
    epoch_ns: u64,
    delay_most_ns: u64,
    known_rate: u64,
    /// What part of the bytes towards the clients is not steered, of late.
    pub others_q10: u32,
    /// What part of the rate the steered have at least beside that.
    pub least_part_q10: u32,
    /// Φ of the running epoch.
    pub weights_q8: u64,
    /// That of the one before.
    pub last_weights_q8: u64,
    limited_q8: u64,
    last_limited_q8: u64,
    taken: u64,
    last_taken: u64,
    /// From the agent to the nearest client and back, without the queue.
    pub path: PathRecord,
    lacking_ns: u64,
    /// The longest queue that each flow of the running epoch bears; 0: any.
    pub bears_ns: u64,
    /// Of the one before.
    pub last_bears_ns: u64,
    /// When the ACK at hand was sent, as far as its client's clock tells.
    pub sent_ns: u64,
    sample_ns: u64,
    newly_bytes: u32,
    wants_probe: u8,
    is_late: u8,
    is_alone: u8,
    is_part: u8,
    surely_bytes: u32,
    is_floored: u8,
    has_moved: u8,
    is_exact: u8,
    doubt: u8,
    short_q10: u32,
    left_bytes: u32,
    /// What single segments wait for their receiver's timer, smoothed; 0: not known.
    pub timer_ns: u64,
    kept_bytes: u32,
    keeps_bytes: u32,
    most_keeps_bytes: u32,
    sure_bytes: u32,
    due_bytes: u64,
    delivered_bytes: u64,
    forwarded_bytes: u64,
    reached_bytes: u64,
    arrived_bytes: u64,
    farthest_slot: u64,
    slot: u64,
    /// Until then the queue is drained, to see the path without it.
    pub probe_until_ns: u64,
    /// Which horizon the rate is of.
    pub chosen: u32,
    /// CLAMP's price \[2⁻³⁰ s\]; 0 with another law.
    pub price_q30: u32,
    last_delay_most_ns: u64,
    taker_most_ns: u64,
    last_taker_most_ns: u64,
    delay_least_ns: u64,
    last_delay_least_ns: u64,
    pooled_weights_q8: u64,
    pooled: u64,
    last_pooled_weights_q8: u64,
    last_pooled: u64,
    short_q8_ns: u64,
    kappa_q18: u64,
    /// μ̂ over each horizon.
    pub rate: BusyRate,
    unsteered_bytes: u64,
    /// Φ of connections that nobody steers, in the running epoch.
    pub unsteered_q8: u64,
    last_unsteered_q8: u64,
    unsteered_part_q10: u32,
    theirs_q10: u32,
    /// CLAMP's averaged queue.
    pub average_q16: u64,
    average_ns: u64,
    /// CLAMP's a, raised where many flows share a slow link; 0 before the first ACK, and with another law.
    pub a_bytes: u64,
    sure_rate: u64,
    forecast_q16: [u64; HORIZONS],
    loss_q20: [u64; HORIZONS],
    /// What is due in each slot to come.
    pub ring: Ring,
}

/// What is due in each slot.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(transparent)]
pub struct Ring([u32; 512]);

impl Default for Ring {
    fn default() -> Self {
        Self([0; 512])
    }
}

/// What shares a queue: a client's connections where it is hidden, all of them, by `::`, where it is the device's:
/// `struct station_key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct StationKey {
    /// The client's address; `::` for all.
    pub client: [u8; 16],
}

impl StationKey {
    /// The client; none if it is all of them.
    pub fn client(&self) -> Option<IpAddr> {
        let address = Ipv6Addr::from(self.client);
        (!address.is_unspecified()).then(|| address.to_canonical())
    }
}

impl StationRecord {
    /// μ̂ \[B/s\]; none as long as it is unknown.
    pub fn rate(&self) -> Option<f64> {
        known(self.known_rate).map(|rate| rate as f64)
    }

    /// Over which time that is \[ms\].
    pub fn horizon_ms(&self) -> u32 {
        25 << self.chosen.min(6)
    }

    /// The longest queue that all flows seen of late bear: with the share window, T is no longer than that; none: any.
    pub fn borne_ns(&self) -> Option<u64> {
        match (known(self.bears_ns), known(self.last_bears_ns)) {
            (Some(now_ns), Some(last_ns)) => Some(now_ns.min(last_ns)),
            (now_ns, last_ns) => now_ns.or(last_ns),
        }
    }

    /// What part of the bytes towards the clients is not steered, of late.
    pub fn unsteered(&self) -> f64 {
        f64::from(self.others_q10) / 1024.0
    }

    /// Φ, the weights of the flows seen of late.
    pub fn weights(&self) -> f64 {
        self.weights_q8.max(self.last_weights_q8) as f64 / 256.0
    }
}
