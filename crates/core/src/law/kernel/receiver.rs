// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP's receiver as `lasthop-agent client` has it.

use lasthop_fixed::state::{PoolRecord, ReceiverRecord, price_q30};
use lasthop_fixed::{pool, receiver, window};

use super::{Dither, RECEIVER_REFILL, clock_ns, q10};
use crate::error::ParameterError;
use crate::parameter::{Parameter, above_to};
use crate::parameters;
use crate::role::{self, DataSample, ReceiverLaw};
use crate::units::{Bytes, Instant};

parameters! {
    /// CLAMP's receiver in integers.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ClampKernelParams {
        /// Bytes that the flow aims to keep in the queue (τ), up to 64 kB.
        pub tau: Bytes, in above_to(Bytes::ZERO, Bytes::new(65_535));
        /// Weight, to the nearest 256th: the flow's share of the queue's rate is φ/Σφ.
        pub phi: f64 = 1.0, in 1.0 / PHI_ONE..=PHI_ONE;
        /// By what share of itself the window grows at least in a round trip while the queue is empty: no packet of the last round trip,
        /// and of the last 100 ms, had a price, the round-trip time is the path's, and the sender fills its window. The paper's law grows
        /// by τ alone; 0 does so. It counts to the nearest 1024th.
        pub refill: f64 = RECEIVER_REFILL, in 0.0..=1.0;
    }
}

/// How the programs count φ: in so many parts of 1, up to as many.
const PHI_ONE: f64 = 256.0;
/// The window of a SYN has no scale.
const UNSCALED: u64 = 65_535;
/// For so long prices are good once data come without one \[ns\].
const STALE_NS: u64 = 1_000_000_000;
const DUPLICATES: u32 = 3;

/// What the connections of a station tell each other by their agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pool(PoolRecord);

/// One connection's agent at its station.
#[derive(Clone, Debug)]
pub struct ClampKernelReceiver {
    tau_bytes: u32,
    refill_q10: u32,
    record: ReceiverRecord,
    dither: Dither,
}

impl ReceiverLaw for ClampKernelReceiver {
    type Params = ClampKernelParams;

    fn set_up(params: ClampKernelParams, mss: u32) -> Result<Self, ParameterError> {
        params.validate()?;
        let mut record = ReceiverRecord::default();
        record.mss = mss;
        record.weight_q8 = (params.phi * PHI_ONE).round() as u32;
        let refill_q10 = q10(params.refill);
        Ok(Self { tau_bytes: params.tau.get() as u32, refill_q10, record, dither: Dither::default() })
    }

    fn first_window(&self, os_window: Bytes) -> Bytes {
        os_window.min(Bytes::new(UNSCALED))
    }

    fn on_packet(&mut self, sample: &DataSample, os_window: Bytes) -> Bytes {
        let (record, now_ns) = (&mut self.record, clock_ns(sample.now));
        // What the station said last is answered by the first packet that its sender sent since.
        if let Some(rtt) = sample.rtt {
            let said_ns = now_ns.saturating_sub(rtt.as_nanos());
            if record.asked_ns == 0 || said_ns >= record.asked_ns {
                record.asked_ns = if record.asked_ns == 0 { said_ns } else { record.asked_ns };
                receiver::rtt(record, now_ns);
                record.asked_ns = now_ns;
            }
        }
        record.own_bytes = os_window.get();
        let gap_ns = if record.arrived_ns == 0 { 0 } else { now_ns - record.arrived_ns };
        record.arrived_ns = now_ns;
        receiver::arrival(record, now_ns, sample.size.get() as u32, 1);
        if let Some(price) = sample.signal.price() {
            record.price_q30 = price_q30(price);
            record.priced_ns = now_ns;
            receiver::window(record, gap_ns, sample.payload, self.tau_bytes, self.refill_q10);
            record.duplicates = 0;
        } else if now_ns - record.priced_ns > STALE_NS {
            receiver::let_go(record);
        }
        if record.window_q16 == 0 {
            return os_window;
        }
        let bytes = window::whole_segments(record.window_q16 >> 16, record.mss, self.dither.next());
        Bytes::new(bytes).min(os_window)
    }

    fn meet_others(&mut self, now: Instant, pool: &mut role::Pools) {
        // It does at data with a price.
        if self.record.priced_ns == clock_ns(now) {
            pool::meet(&mut pool.clamp.0, &mut self.record, clock_ns(now));
        }
    }

    fn on_three_duplicate_acks(&mut self) {
        self.record.duplicates = DUPLICATES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_counted_in_256ths_or_refused() {
        let set_up = |phi| {
            ClampKernelReceiver::set_up(ClampKernelParams { phi, ..ClampKernelParams::new(Bytes::new(500)) }, 1448)
        };
        let counted = |phi| set_up(phi).map(|receiver| receiver.record.weight_q8);
        for (phi, q8) in [(1.0, 256), (0.999, 256), (0.1, 26), (0.006, 2), (1.0 / 256.0, 1), (256.0, 65_536)] {
            assert_eq!(counted(phi), Ok(q8));
        }
        for phi in [0.0039, 256.1] {
            assert_eq!(counted(phi).unwrap_err().to_string(), format!("phi = {phi}: wanted from 0.00390625 to 256"));
        }
    }
}
