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

/// Over how long CLAMP's queue is averaged. In the paper it is 500 ms (clamp §4.1, e^(−2I)), with which many flows swing together.
pub const AVERAGE: Duration = Duration::from_millis(100);
/// By what share of itself a window grows in a round trip while the queue is empty (γ of beyond#19): at a receiver, which hears of a
/// queue a round trip late.
pub const RECEIVER_REFILL: f64 = 3.0 / 64.0;
/// And at a proxy, which is beside the queue.
pub const PROXY_REFILL: f64 = 1.0 / 16.0;
/// Over how long the queue can be averaged at most.
pub const MOST_AVERAGE: Duration = Duration::from_secs(10);

/// The clock of the programs never shows 0, which stands for never.
const BEFORE_NS: u64 = 1_000_000_000;

/// A share as the programs have it.
pub fn q10(share: f64) -> u32 {
    (share * 1024.0).round() as u32
}

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
