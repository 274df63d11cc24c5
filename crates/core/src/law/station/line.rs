// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line as those see it whom its packets reach.

use super::arrival::{Found, Known, StationArrival};
use super::equations;
use super::flow::Taken;
use crate::estimator::{BusyRate, RateEstimator};
use crate::law::balance::Balance;
use crate::packet::StationStamp;

/// Packets of which a rate can be told: one that comes just before it may leave says nothing.
const LEAST_PACKETS: u32 = 10;

/// So many times its own size must have been sent since the packet before if others are to have sent it.
const OTHERS: f64 = 1.25;
/// Nobody is overtaken for longer than this behind a queue \[s\].
const OVERTAKEN_S: f64 = 1.0;
/// The time over which it is counted what others send over the line \[s\].
const BESIDE_S: f64 = 1.0;

/// The rate of a line over its busy time, from stamps alone. What others have sent over it counts, and what was lost behind it.
#[derive(Clone, Debug)]
pub(super) struct StationLine {
    /// What its stamps call it.
    pub(super) number: u8,
    rate: BusyRate,
    /// Stamps count what was sent modulo two to the power of this.
    sent_bits: u32,
    /// The last packet's arrival \[s\] and stamp.
    last: Option<(f64, StationStamp)>,
    /// Packets so far, as far as it matters.
    packets: u32,
    /// What is known of it where nothing is stamped.
    found: Option<Found>,
    /// The balance of the flows that cross it.
    pub(super) balance: Balance,
    /// When it last spoke \[s\]; none before.
    spoke_s: Option<f64>,
    /// What came of the station's own flows, and what the line sent.
    own: Taken,
    all: Taken,
}

impl Default for StationLine {
    fn default() -> Self {
        Self::new(0, u32::BITS)
    }
}

impl StationLine {
    /// The line that stamps call `number`; they count modulo 2^`sent_bits`.
    pub(super) fn new(number: u8, sent_bits: u32) -> Self {
        Self {
            number,
            rate: BusyRate::default(),
            sent_bits: sent_bits.clamp(1, u32::BITS),
            last: None,
            packets: 0,
            found: None,
            balance: Balance::default(),
            spoke_s: None,
            own: Taken::default(),
            all: Taken::default(),
        }
    }

    /// A packet of `size_bytes` has come at `t_s`. Gives what the line has sent since the one before \[B\]. One that was overtaken
    /// behind the queue tells nothing new.
    pub(super) fn see(&mut self, t_s: f64, size_bytes: f64, stamp: StationStamp) -> f64 {
        let waited_s = f64::from(stamp.waited_s);
        let Some((last_s, before)) = self.last.replace((t_s, stamp)) else {
            self.rate.begin(t_s - waited_s);
            return self.count(t_s, size_bytes);
        };
        let gap_s = t_s - last_s;
        let Some(bytes) = self.sent_between(before, stamp) else {
            if gap_s <= OVERTAKEN_S {
                self.last = Some((last_s, before));
                return 0.0;
            }
            // After so long a pause the count may have come round: of what was sent nothing is known but this packet.
            self.rate.rest(last_s);
            self.rate.begin(t_s);
            return size_bytes;
        };
        if bytes > OTHERS * size_bytes && waited_s < gap_s {
            // Others have used a part of the gap that nobody knows: their bytes over all of it are what the line carries at least.
            if self.rate.rate().is_some_and(|rate| bytes < rate * gap_s) {
                self.rate.rest(last_s);
                self.rate.begin(t_s);
                return bytes;
            }
            return self.count(t_s, bytes);
        }
        let busy_s = equations::busy(gap_s, f64::from(before.behind_bytes), waited_s);
        if busy_s < gap_s {
            self.rate.rest(last_s);
            self.rate.begin(t_s - busy_s);
        }
        self.count(t_s, bytes)
    }

    /// Learns what an arrival tells of it. Gives what the line has sent since the one before \[B\].
    pub(super) fn learn(&mut self, arrival: &StationArrival) -> f64 {
        match arrival.told {
            Known::Stamped { stamp, .. } => self.see(arrival.t_s, arrival.size_bytes, stamp),
            Known::Found(found) => {
                self.found = Some(found);
                arrival.size_bytes
            }
        }
    }

    /// Whether its queue is being drained, to see the path without it.
    pub(super) fn is_draining(&self) -> bool {
        self.found.is_some_and(|found| found.is_draining)
    }

    /// For how long receivers that hold acknowledgements back wait for a second segment \[s\].
    pub(super) fn timer_s(&self) -> f64 {
        self.found.map_or(0.0, |found| found.timer_s)
    }

    /// What was sent between two stamps \[B\]; none if the second is not the later one.
    fn sent_between(&self, before: StationStamp, stamp: StationStamp) -> Option<f64> {
        let unused = u32::BITS - self.sent_bits;
        let bytes = stamp.sent_bytes.wrapping_sub(before.sent_bytes) << unused;
        (bytes.cast_signed() > 0).then(|| f64::from(bytes >> unused))
    }

    /// `bytes` were sent while the line was busy until `t_s`.
    fn count(&mut self, t_s: f64, bytes: f64) -> f64 {
        self.rate.push(t_s, bytes);
        self.packets = (self.packets + 1).min(LEAST_PACKETS);
        bytes
    }

    /// It speaks at `t_s`. Gives how long ago it last did \[s\].
    pub(super) fn spoke(&mut self, t_s: f64) -> f64 {
        t_s - self.spoke_s.replace(t_s).unwrap_or(t_s)
    }

    /// So much of the line's time has passed.
    pub(super) fn pass(&mut self, elapsed_s: f64) {
        self.own.pass(elapsed_s, BESIDE_S);
        self.all.pass(elapsed_s, BESIDE_S);
    }

    /// It has carried `bytes` of the station's own flows.
    pub(super) fn carried_own(&mut self, bytes: f64) {
        self.own.add(bytes);
    }

    /// It has sent `bytes` of whoever.
    pub(super) fn sent(&mut self, bytes: f64) {
        self.all.add(bytes);
    }

    /// The part of the line that is the station's, beside others that leave the same queue and have agents of their own, or none.
    pub(super) fn own_part(&self) -> f64 {
        equations::own_part(self.own.bytes(), self.all.bytes())
    }

    /// μ̂ \[B/s\], over the horizon that foretells best; none before it is known.
    pub(super) fn rate(&self) -> Option<f64> {
        if let Some(found) = self.found {
            return found.rate;
        }
        //= station#2  h_i = max(50 ms, d_i, h*)
        self.rate.rate().filter(|&rate| rate > 0.0 && self.packets == LEAST_PACKETS)
    }

    /// The queue that the last packet left \[B\].
    pub(super) fn queue_bytes(&self) -> f64 {
        let stamped = || self.last.map_or(0.0, |(_, stamp)| f64::from(stamp.behind_bytes));
        self.found.map_or_else(stamped, |found| found.queue_bytes)
    }
}
