// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws in integers, as the programs of the agent have them in the kernel: CLAMP's price, CLAMP's receiver, and the proxy,
//! which is both of them, or the share window, in one box.
//!
//! ```text
//!   price = "clamp-kernel"      ClampKernelRouter   ─┐ station.h   what `lasthop-agent ap` does at each packet
//!   receiver = "clamp-kernel"   ClampKernelReceiver ─┼ receiver.h  what `lasthop-agent client` does
//!   proxy = "share-kernel", "station-kernel"
//!                               KernelProxy         ─┘ proxy.h     what `lasthop-agent proxy` does
//! ```
//!
//! A proxy finds rate, queue and path in these integers whatever its law is; the [station window](crate::law::station) of
//! `proxy = "station"` then goes on in its own numbers.
//!
//! The arithmetic is that of [`lasthop_fixed`]; here times, sizes and packets become its numbers, and its windows ours.

mod proxy;
mod receiver;
mod router;
mod station;

pub use proxy::{ClampProxyParams, KernelProxy, ProxyParams, ShareProxyParams, Sight};
pub use receiver::{ClampKernelParams, ClampKernelReceiver, Pool};
pub use router::{ClampKernelPrice, ClampKernelRouter};
pub use station::{StationKernelParams, StationProxyParams};

use crate::units::{Duration, Instant};

/// Over how long an access point averages CLAMP's queue: clamp §4.1, e^(−2I).
pub const PRICE_AVERAGE: Duration = Duration::from_millis(500);
/// And a proxy. Its queue is shorter by it where rates change, and many flows do not swing together.
pub const PROXY_AVERAGE: Duration = Duration::from_millis(100);
/// Over how long it can be averaged at most.
pub const MOST_AVERAGE: Duration = Duration::from_secs(10);

/// The clock of the programs never shows 0, which stands for never.
const BEFORE_NS: u64 = 1_000_000_000;

/// An instant as the programs' clock shows it \[ns\].
fn clock_ns(at: Instant) -> u64 {
    BEFORE_NS + at.as_nanos()
}

/// What stands for random numbers: multiples of the golden ratio modulo 1, in 2⁻³², as even as a sequence can be.
#[derive(Clone, Copy, Debug, Default)]
struct Dither(u32);

impl Dither {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9);
        self.0
    }
}
