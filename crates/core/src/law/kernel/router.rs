// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP's price as `lasthop-agent ap` stamps it. That raises `a` where many connections share a slow link, which it knows from
//! the packets of both ways; a queue sees one way alone, and leaves `a` as it is.

use std::collections::VecDeque;

use lasthop_fixed::state::{StationRecord, price_s};
use lasthop_fixed::station;

use super::{AVERAGE, MOST_AVERAGE, clock_ns};
use crate::error::ParameterError;
use crate::packet::Signal;
use crate::parameter::{Parameter, above_to};
use crate::parameters;
use crate::role::{Held, MarkerLaw, Passing};
use crate::units::{Bytes, Duration, Instant};

parameters! {
    /// A price in integers.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ClampKernelPrice {
        /// Queue below which nothing is asked, up to 4 GB.
        pub a: Bytes, in Bytes::ZERO..=Bytes::new(u32::MAX as u64);
        /// Over how long the queue is averaged. In the paper it is 500 ms (clamp §4.1: e^(−2I)), with which many flows swing together.
        pub average: Duration = AVERAGE, in above_to(Duration::ZERO, MOST_AVERAGE);
    }
}

/// One queue's agent at the access point. A packet carries the price of the moment in which it came, before it joined the queue:
/// there the program stands. One that is overtaken by later ones carries that of the moment in which it leaves.
#[derive(Clone, Debug)]
pub struct ClampKernelRouter {
    a_bytes: u64,
    average_ns: u64,
    station: StationRecord,
    departed_bytes: u64,
    /// When packets came that are in the queue, and their prices.
    stamps: VecDeque<(Instant, u32)>,
}

impl ClampKernelRouter {
    /// A packet of `size` comes to a queue of `queue_bytes` without it.
    fn arrived(&mut self, now: Instant, queue_bytes: u64, size_bytes: u64) {
        let now_ns = clock_ns(now);
        station::look(&mut self.station, now_ns, queue_bytes, self.departed_bytes);
        station::arrival(&mut self.station, now_ns, size_bytes as u32, 1, self.average_ns);
        station::pass(&mut self.station, size_bytes, 0);
        let price_q30 = station::price_q30(&mut self.station, now_ns, self.a_bytes, self.average_ns);
        self.stamps.push_back((now, price_q30));
    }

    /// The price of the packet that came at `arrived`.
    fn take_stamp(&mut self, arrived: Instant) -> u32 {
        while let Some(&(at, price_q30)) = self.stamps.front() {
            if at > arrived {
                break;
            }
            self.stamps.pop_front();
            if at == arrived {
                return price_q30;
            }
        }
        self.station.price_q30
    }
}

impl MarkerLaw for ClampKernelRouter {
    type Params = ClampKernelPrice;

    fn set_up(params: ClampKernelPrice) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self {
            a_bytes: params.a.get(),
            average_ns: params.average.as_nanos(),
            station: StationRecord::default(),
            departed_bytes: 0,
            stamps: VecDeque::new(),
        })
    }

    fn on_arrival(&mut self, now: Instant, packet: Passing, held: Held, _signal: &Signal) {
        self.arrived(now, held.bytes.get() - packet.size.get(), packet.size.get());
    }

    fn on_departure(&mut self, _now: Instant, packet: Passing, _held: Held, signal: &mut Signal) {
        self.departed_bytes += packet.size.get();
        let price_q30 = self.take_stamp(packet.arrived);
        signal.raise_price(price_s(price_q30));
    }

    fn average_bytes(&self) -> Option<f64> {
        Some(self.station.average_q16 as f64 / 65_536.0)
    }

    fn price(&self) -> Option<f64> {
        Some(price_s(self.station.price_q30))
    }
}
