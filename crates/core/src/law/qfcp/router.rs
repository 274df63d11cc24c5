// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of QFCP: how many flows there are, what the link carries, and so each flow's rate.

use core::cmp::Ordering;

use super::airtime::{Airtime, Medium};
use super::equations;
use crate::error::{ParameterError, ensure};
use crate::estimator::{ControlInterval, Least};
use crate::law::red::QueueUnit;
use crate::packet::Signal;
use crate::parameter::{Parameter, above, above_to, given};
use crate::parameters;
use crate::role::{Held, MarkerLaw, Passing, Site};
use crate::units::{Bytes, Duration, Instant, MOST_PACKET, Rate};

/// After so many intervals without a packet, more change nothing: the averages have forgotten what was before.
const MOST_SILENT: f64 = 64.0;
/// Weight of a new interval in the number of flows. A rate is told over an interval, and heeded a round trip later, which is
/// as long: so what comes in heeds the last two rates, half each.
const FLOWS_WEIGHT: f64 = 0.5;
/// An interval counts for no more than so many that the queue has not made longer.
const LONGEST: f64 = 8.0;
/// After a busy interval C grows with care in so many.
const CAREFUL: u32 = 3;

parameters! {
    /// A QFCP router. What by default depends on its place, the capacities, must be given to it.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct QfcpRouterParams {
        /// C at the start; by default the line's rate, of a radio or WLAN its highest, of a trace its mean. While it is probed, no
        /// more than `max_capacity` by default.
        pub capacity: Option<Rate> = None, in above(Rate::from_bps(0));
        /// The most that C is probed up to (qfcp §III-A: the highest rate of the medium), at least `capacity`; by default the line's
        /// rate, of a radio or WLAN its highest, of a trace its most within 100 ms.
        pub max_capacity: Option<Rate> = None;
        /// α: share by which C grows in an interval while the link is idle now and then (qfcp eq. 6).
        pub alpha: f64 = 0.1, in above(0.0);
        /// β: gain on the queue (qfcp eq. 4, 9); the fluid model is stable up to 1 (the paper says 2).
        pub beta: f64 = 0.5, in above(0.0);
        /// w: weight of a new interval in the averages of output and queue (qfcp eq. 7, 8).
        pub weight: f64 = 0.2, in above_to(0.0, 1.0);
        /// MSS: a packet on the wire, the queue aimed at.
        pub packet: Bytes = Bytes::new(1500), in Bytes::new(1)..=MOST_PACKET;
        /// Probe for C (qfcp eq. 6); otherwise it stays as it is at the start, and where that is too high packets are dropped for
        /// ever.
        pub probing: bool = true;
        /// Aim at a queue of one packet (qfcp eq. 9); otherwise at none (qfcp eq. 4).
        pub resident: bool = true;
        /// Count packets dropped by overflow as queue (qfcp eq. 11).
        pub virtual_queue: bool = true;
        /// On a WLAN, let the base station count what the stations send, and stamp it too (qfcp §III-A).
        pub simplex: bool = true;
        /// What the queue is drained by. In packets, each counts as one of `packet`, whatever its size.
        pub unit: QueueUnit = QueueUnit::Bytes;
        /// Bound the number of flows by what the least windows allow. Beyond the paper.
        pub bounded: bool = true;
        /// Average the number of flows with that of the interval before, as what comes in heeds the last two rates. Beyond the
        /// paper.
        pub average_flows: bool = true;
        /// Do not lower C by an interval in which nothing waited and nothing was dropped, though the averaged queue still says
        /// busy, and let the average of the bytes forget what was before: there is nothing left to drain. Beyond the paper.
        pub hold: bool = true;
        /// Let an interval that the queue has made longer weigh as much as those that it would be without, up to 8. Beyond
        /// the paper.
        pub time_weighted: bool = true;
        /// Where the link was busy of late, C is near what it carries: let C grow by α/8, α/4 and α/2 in the first three intervals
        /// after, and not at all in one through which a packet waited, though the averaged queue says idle. The first search for C
        /// is as fast as ever. Not with `airtime`, which tells C without a search. Beyond the paper.
        pub careful: bool = true;
        /// On a WLAN, where the base station counts what the stations send, reckon in the medium's time: C is what it would carry
        /// of such traffic as comes if it were never idle, and a packet that waits counts for what that is in its time, at the
        /// stations too, which tell with each packet how many they have left (IEEE 802.11e). While the medium is idle for a tenth
        /// of the time, C grows by 2α an interval, but to no more than α above what it would carry. `unit` then does not matter. Beyond the paper.
        pub airtime: bool = true;
    }
}

impl QfcpRouterParams {
    /// The paper's router with all enhancements.
    pub fn new(capacity: Rate, max_capacity: Rate) -> Self {
        Self { capacity: Some(capacity), max_capacity: Some(max_capacity), ..Self::default() }
    }
}

/// What was measured in a control interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// y \[B/s\].
    pub input: f64,
    /// What left \[B/s\].
    pub output: f64,
    /// The least queue, dropped packets included where they count \[B\].
    pub queue_bytes: f64,
    /// The least queue in packets.
    pub queue_packets: f64,
    /// T of the next interval \[s\].
    pub interval_s: f64,
    /// Weight of the interval in the averages.
    pub weight: f64,
    /// What the medium can do, where its time tells it.
    pub medium: Option<Medium>,
}

/// One queue's controller.
#[derive(Clone, Debug)]
pub struct QfcpRouter {
    params: QfcpRouterParams,
    max_capacity: f64,
    packet_bytes: f64,
    in_packets: bool,
    capacity: f64,
    rate: f64,
    flows: f64,
    /// In so many more intervals C grows with care.
    careful: u32,
    /// output_avg \[B/s\], q_avg \[B\] and \[packets\].
    averages: Option<(f64, f64, f64)>,
    interval: ControlInterval,
    /// When the running interval began; none before the first packet.
    began_s: Option<f64>,
    // Sums over the running interval.
    input_bytes: f64,
    output_bytes: f64,
    dropped_packets: f64,
    dropped_bytes: f64,
    /// Packets that wait at stations.
    others: f64,
    least: Least<Queue>,
    airtime: Airtime,
}

/// A queue, and what waits at stations; the less packets, the less it is.
#[derive(Clone, Copy, Debug)]
struct Queue {
    packets: f64,
    bytes: f64,
    others: f64,
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        self.packets + self.others == other.packets + other.others
    }
}

impl PartialOrd for Queue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.packets + self.others).partial_cmp(&(other.packets + other.others))
    }
}

impl QfcpRouter {
    /// A router whose queue is empty.
    ///
    /// # Errors
    /// If a parameter lies outside its domain, or neither is given nor has a default of its own.
    pub fn new(params: QfcpRouterParams) -> Result<Self, ParameterError> {
        params.validate()?;
        let told = given(params.capacity, "capacity", "a rate")?;
        let bound = given(params.max_capacity, "max_capacity", "a rate")?;
        ensure(bound >= told, "max_capacity", bound, "at least `capacity`")?;
        let capacity = told.as_bytes_per_sec();
        Ok(Self {
            params,
            max_capacity: bound.as_bytes_per_sec(),
            packet_bytes: params.packet.as_f64(),
            in_packets: params.unit == QueueUnit::Packets,
            capacity,
            rate: capacity,
            flows: 1.0,
            careful: 0,
            averages: None,
            interval: ControlInterval::default(),
            began_s: None,
            input_bytes: 0.0,
            output_bytes: 0.0,
            dropped_packets: 0.0,
            dropped_bytes: 0.0,
            others: 0.0,
            least: Least::new(Queue { packets: 0.0, bytes: 0.0, others: 0.0 }),
            airtime: Airtime::default(),
        })
    }

    /// A packet of `size_bytes` comes at `t_s`, and waits behind `packets` of `bytes` in all; `rtt_s` is what its header
    /// tells, if it has one.
    pub fn arrived(&mut self, t_s: f64, size_bytes: f64, queue: (usize, f64), rtt_s: Option<f64>) {
        self.came(t_s, size_bytes, queue, rtt_s);
        self.airtime.joined();
    }

    /// A packet of either direction comes.
    fn came(&mut self, t_s: f64, size_bytes: f64, (packets, bytes): (usize, f64), rtt_s: Option<f64>) {
        self.turn(t_s, Queue { packets: packets as f64, bytes, others: self.others });
        self.input_bytes += size_bytes;
        if let Some(rtt_s) = rtt_s.filter(|rtt_s| *rtt_s > 0.0) {
            self.interval.see(rtt_s, 1.0);
        }
    }

    /// A packet of `size_bytes` found no room at `t_s`.
    pub fn overflowed(&mut self, size_bytes: f64) {
        self.input_bytes += size_bytes;
        self.airtime.joined();
        self.dropped_packets += 1.0;
        self.dropped_bytes += if self.in_packets { self.packet_bytes } else { size_bytes };
    }

    /// A packet of `size_bytes` leaves at `t_s`, with `packets` of `bytes` behind it.
    pub fn departed(&mut self, t_s: f64, size_bytes: f64, (packets, bytes): (usize, f64)) {
        let queue = Queue { packets: packets as f64, bytes, others: self.others };
        self.turn(t_s, queue);
        self.output_bytes += size_bytes;
        self.airtime.left();
        self.least.see(queue);
    }

    /// A packet of `size_bytes` crosses the medium the other way at `t_s`, while `packets` of `bytes` wait here and `others` where
    /// it came from.
    pub fn crossed(&mut self, t_s: f64, size_bytes: f64, queue: (usize, f64), others: usize, rtt_s: Option<f64>) {
        self.came(t_s, size_bytes, queue, rtt_s);
        self.airtime.crossed();
        self.others = others as f64;
        self.least.see(Queue { packets: queue.0 as f64, bytes: queue.1, others: self.others });
        self.output_bytes += size_bytes;
    }

    /// R \[B/s\].
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// C \[B/s\].
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// N.
    pub fn flows(&self) -> f64 {
        self.flows
    }

    /// q_avg \[B\]; 0 before the first interval has ended.
    pub fn average_bytes(&self) -> f64 {
        self.averages.map_or(0.0, |(_, bytes, _)| bytes)
    }

    /// Ends the control interval, if it is over: at its own end, not at the packet that comes next. Packets come in bursts a
    /// round trip apart, as long as an interval, and one that lasted until the next packet would count a burst's first twice.
    fn turn(&mut self, t_s: f64, queue: Queue) {
        let Some(began_s) = self.began_s else {
            self.began_s = Some(t_s);
            self.least = Least::new(queue);
            return;
        };
        if t_s - began_s < self.interval.length_s() {
            return;
        }
        let began_s = began_s + self.close(queue);
        let silent = self.interval.silent(began_s, t_s);
        self.began_s = Some(began_s + silent * self.interval.length_s());
        for _ in 0..silent.min(MOST_SILENT) as u32 {
            self.close(queue);
        }
    }

    /// Ends the control interval, and gives its length \[s\].
    fn close(&mut self, queue: Queue) -> f64 {
        let elapsed_s = self.interval.turn();
        let least = self.least.value();
        let weight = self.weight(least);
        let medium = self.airtime.close(self.input_bytes, elapsed_s, weight);
        let counted = if self.params.virtual_queue { 1.0 } else { 0.0 };
        let (held, dropped_bytes, dropped_packets) = match medium {
            Some(Medium { packet_bytes, other_bytes, .. }) => {
                let held = least.packets * packet_bytes + least.others * other_bytes;
                (held, self.dropped_packets * packet_bytes, self.dropped_packets)
            }
            None => {
                let held = if self.in_packets { least.packets * self.packet_bytes } else { least.bytes };
                (held, self.dropped_bytes, self.dropped_bytes / self.packet_bytes)
            }
        };
        let measured = Measured {
            input: self.input_bytes / elapsed_s,
            output: self.output_bytes / elapsed_s,
            queue_bytes: equations::virtual_queue(held, counted * dropped_bytes),
            queue_packets: equations::virtual_queue(least.packets + least.others, counted * dropped_packets),
            interval_s: self.interval.length_s(),
            weight,
            medium,
        };
        self.control(&measured);
        self.input_bytes = 0.0;
        self.output_bytes = 0.0;
        self.dropped_packets = 0.0;
        self.dropped_bytes = 0.0;
        self.least = Least::new(queue);
        elapsed_s
    }

    /// Weight of an interval in which `packets` always waited: as of those as long as it would be had they not. With a queue of
    /// several round trips, averages that forget an interval at a time come seconds late, and then drain what has long gone.
    fn weight(&self, queue: Queue) -> f64 {
        let QfcpRouterParams { weight, time_weighted, .. } = self.params;
        let (left, crossed) = self.airtime.departures();
        if !time_weighted || left <= 0.0 {
            return weight;
        }
        let others = if crossed > 0.0 { queue.others / crossed } else { 0.0 };
        let delay = (queue.packets / left + others).min(1.0 - 1.0 / LONGEST);
        equations::weight_over(weight, 1.0 / (1.0 - delay))
    }

    /// The rate for the next interval, from what was measured in this one.
    pub fn control(&mut self, measured: &Measured) {
        let QfcpRouterParams { alpha, beta, .. } = self.params;
        let Self { packet_bytes, max_capacity, .. } = *self;
        let Measured { input, output, queue_bytes, queue_packets, interval_s, weight, medium } = *measured;
        let is_silent = input <= 0.0 && output <= 0.0 && queue_packets <= 0.0;
        let is_first = self.averages.is_none();
        let (old_output, old_bytes, old_packets) = self.averages.unwrap_or((output, queue_bytes, queue_packets));
        let output = equations::average(old_output, output, weight);
        let bytes = equations::average(old_bytes, queue_bytes, weight);
        let packets = equations::average(old_packets, queue_packets, weight);
        // After a surge the average stays above a packet while the line already rests: nothing is left to drain.
        let rests = self.params.hold && packets >= 1.0 && queue_packets < 1.0;
        let bytes = if rests { queue_bytes } else { bytes };
        self.averages = Some((output, bytes, packets));
        // An interval without a packet tells nothing of the capacity.
        if self.params.probing && !is_silent {
            let is_busy = packets >= 1.0;
            let is_careful = self.params.careful && medium.is_none();
            let waits = is_careful && queue_packets >= 1.0;
            let growth = equations::careful_growth(alpha, self.careful);
            let capacity = match medium {
                Some(Medium { capacity, is_full, .. }) => {
                    equations::medium_capacity(self.capacity, capacity, is_full || packets >= 1.0, alpha)
                }
                // What leaves a line that rests is no capacity.
                None if rests => self.capacity.max(output),
                None if waits && !is_busy => self.capacity,
                None => equations::probed_capacity(self.capacity, output, packets, growth),
            };
            self.capacity = capacity.min(max_capacity);
            self.careful = if is_careful && (is_busy || waits) { CAREFUL } else { self.careful.saturating_sub(1) };
        }
        // A flow has at least one packet in the network, and all flows together have no more than the link: without
        // these bounds a rate that nobody can obey falls for ever, as N = y/R then grows in proportion.
        let least_rate = if self.params.bounded { packet_bytes / interval_s } else { f64::MIN_POSITIVE };
        let mut flows = equations::flows(input, self.rate.max(least_rate));
        if self.params.average_flows && !is_first {
            flows = equations::average(self.flows, flows, FLOWS_WEIGHT);
        }
        self.flows = if self.params.bounded { flows.max(1.0) } else { flows.max(f64::MIN_POSITIVE) };
        let aim_bytes = if self.params.resident { packet_bytes } else { 0.0 };
        let rate = equations::fair_rate(self.capacity, bytes, aim_bytes, beta, interval_s, self.flows);
        self.rate = rate.max(least_rate).min(self.capacity + beta * packet_bytes / interval_s);
    }
}

impl MarkerLaw for QfcpRouter {
    type Params = QfcpRouterParams;

    fn at(params: QfcpRouterParams, site: &Site) -> Result<QfcpRouterParams, ParameterError> {
        let told = params.capacity.unwrap_or(site.rate);
        let (capacity, bound) = match params.max_capacity {
            Some(bound) if bound < told => {
                return Err(ParameterError::new("max_capacity", bound, format!("at least `capacity`, {told}")));
            }
            Some(bound) => (told, bound),
            None if params.probing => (told.min(site.top), site.top),
            None => (told, site.top.max(told)),
        };
        Ok(QfcpRouterParams { capacity: Some(capacity), max_capacity: Some(bound), ..params })
    }

    fn set_up(params: QfcpRouterParams) -> Result<Self, ParameterError> {
        Self::new(params)
    }

    fn on_arrival(&mut self, now: Instant, packet: Passing, held: Held, signal: &Signal) {
        let before = (held.packets.saturating_sub(1), held.bytes.as_f64() - packet.size.as_f64());
        self.arrived(now.as_secs_f64(), packet.size.as_f64(), before, rtt_s(signal));
    }

    fn on_overflow(&mut self, _now: Instant, size: Bytes, _held: Held, _signal: &Signal) {
        self.overflowed(size.as_f64());
    }

    fn on_departure(&mut self, now: Instant, packet: Passing, held: Held, signal: &mut Signal) {
        self.departed(now.as_secs_f64(), packet.size.as_f64(), (held.packets, held.bytes.as_f64()));
        signal.lower_rate(self.rate());
        signal.break_silence();
    }

    // Stamped where the router speaks for both directions.
    fn on_crossing(&mut self, now: Instant, size: Bytes, held: Held, waiting: usize, signal: &mut Signal) {
        if self.params.simplex {
            let others = if self.params.airtime { waiting } else { 0 };
            let queue = (held.packets, held.bytes.as_f64());
            self.crossed(now.as_secs_f64(), size.as_f64(), queue, others, rtt_s(signal));
            signal.lower_rate(self.rate());
        }
    }

    fn on_airtime(&mut self, airtime: Duration, is_own: bool) {
        if self.params.airtime && self.params.simplex {
            self.airtime.busy(airtime.as_secs_f64(), is_own);
        }
    }

    fn on_others_turn(&mut self, airtime: Duration, share: f64) {
        if self.params.airtime && self.params.simplex {
            self.airtime.gave_way(airtime.as_secs_f64(), share);
        }
    }

    fn average_bytes(&self) -> Option<f64> {
        Some(self.average_bytes())
    }

    fn fair_rate(&self) -> Option<(f64, f64)> {
        Some((self.rate(), self.capacity()))
    }
}

fn rtt_s(signal: &Signal) -> Option<f64> {
    match *signal {
        Signal::Qfcp(header) => Some(f64::from(header.rtt_s)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
