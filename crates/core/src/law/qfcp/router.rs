// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of QFCP: how many flows there are, what the link carries, and so each flow's rate.

use core::cmp::Ordering;

use super::equations;
use crate::error::{ParameterError, ensure};
use crate::estimator::{ControlInterval, Least};
use crate::law::red::Unit;
use crate::packet::Signal;
use crate::parameter::{Parameter, above, above_to, given};
use crate::parameters;
use crate::role::{Held, MarkerLaw, Passing};
use crate::units::{Bytes, Instant, Rate};

/// After so many intervals without a packet, more change nothing: the averages have forgotten what was before.
const MOST_SILENT: f64 = 64.0;
/// Weight of a new interval in the number of flows. A rate is told over an interval, and heeded a round trip later, which is
/// as long: so what comes in heeds the last two rates, half each.
const FLOWS_WEIGHT: f64 = 0.5;

parameters! {
    /// A QFCP router. What by default depends on its place, the capacities, must be given to it.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RouterParams {
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
        pub packet: Bytes = Bytes::new(1500), in above(Bytes::ZERO);
        /// Probe for C (qfcp eq. 6); otherwise it stays as it is at the start.
        pub probing: bool = true;
        /// Aim at a queue of one packet (qfcp eq. 9); otherwise at none (qfcp eq. 4).
        pub resident: bool = true;
        /// Count packets dropped by overflow as queue (qfcp eq. 11).
        pub virtual_queue: bool = true;
        /// On a WLAN, let the base station count what the stations send, and stamp it too (qfcp §III-A).
        pub simplex: bool = true;
        /// What the queue is drained by. In packets, each counts as one of `packet`, whatever its size.
        pub unit: Unit = Unit::Bytes;
        /// Bound the number of flows by what the least windows allow. Beyond the paper.
        pub bounded: bool = true;
        /// Average the number of flows with that of the interval before, as what comes in heeds the last two rates. Beyond the
        /// paper.
        pub average_flows: bool = true;
        /// Do not lower C by an interval in which nothing waited and nothing was dropped, though the averaged queue still says
        /// busy. Beyond the paper.
        pub hold: bool = true;
    }
}

impl RouterParams {
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
}

/// One queue's controller.
#[derive(Clone, Debug)]
pub struct Router {
    params: RouterParams,
    max_capacity: f64,
    packet_bytes: f64,
    in_packets: bool,
    capacity: f64,
    rate: f64,
    flows: f64,
    /// output_avg \[B/s\], q_avg \[B\] and \[packets\].
    averages: Option<(f64, f64, f64)>,
    interval: ControlInterval,
    /// When the running interval began; none before the first packet.
    began_s: Option<f64>,
    // Sums over the running interval.
    input_bytes: f64,
    output_bytes: f64,
    dropped: f64,
    least: Least<Queue>,
}

/// A queue; the less packets, the less it is.
#[derive(Clone, Copy, Debug)]
struct Queue {
    packets: f64,
    bytes: f64,
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        self.packets == other.packets
    }
}

impl PartialOrd for Queue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.packets.partial_cmp(&other.packets)
    }
}

impl Router {
    /// A router whose queue is empty.
    ///
    /// # Errors
    /// If a parameter lies outside its domain, or neither is given nor has a default of its own.
    pub fn new(params: RouterParams) -> Result<Self, ParameterError> {
        params.validate()?;
        let told = given(params.capacity, "capacity", "a rate")?;
        let bound = given(params.max_capacity, "max_capacity", "a rate")?;
        ensure(bound >= told, "max_capacity", bound, "at least `capacity`")?;
        let capacity = told.as_bytes_per_sec();
        Ok(Self {
            params,
            max_capacity: bound.as_bytes_per_sec(),
            packet_bytes: params.packet.as_f64(),
            in_packets: params.unit == Unit::Packets,
            capacity,
            rate: capacity,
            flows: 1.0,
            averages: None,
            interval: ControlInterval::default(),
            began_s: None,
            input_bytes: 0.0,
            output_bytes: 0.0,
            dropped: 0.0,
            least: Least::new(Queue { packets: 0.0, bytes: 0.0 }),
        })
    }

    /// A packet of `size_bytes` comes at `t_s`, and waits behind `packets` of `bytes` in all; `rtt_s` is what its header
    /// tells, if it has one.
    pub fn arrived(&mut self, t_s: f64, size_bytes: f64, (packets, bytes): (usize, f64), rtt_s: Option<f64>) {
        self.turn(t_s, Queue { packets: packets as f64, bytes });
        self.input_bytes += size_bytes;
        if let Some(rtt_s) = rtt_s.filter(|rtt_s| *rtt_s > 0.0) {
            self.interval.see(rtt_s, 1.0);
        }
    }

    /// A packet of `size_bytes` found no room at `t_s`.
    pub fn overflowed(&mut self, size_bytes: f64) {
        self.input_bytes += size_bytes;
        self.dropped += if self.in_packets { self.packet_bytes } else { size_bytes };
    }

    /// A packet of `size_bytes` leaves at `t_s`, with `packets` of `bytes` behind it.
    pub fn departed(&mut self, t_s: f64, size_bytes: f64, (packets, bytes): (usize, f64)) {
        let queue = Queue { packets: packets as f64, bytes };
        self.turn(t_s, queue);
        self.output_bytes += size_bytes;
        self.least.see(queue);
    }

    /// A packet of `size_bytes` crosses the medium the other way at `t_s`, while `packets` of `bytes` wait here.
    pub fn crossed(&mut self, t_s: f64, size_bytes: f64, queue: (usize, f64), rtt_s: Option<f64>) {
        self.arrived(t_s, size_bytes, queue, rtt_s);
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
        let held = if self.in_packets { least.packets * self.packet_bytes } else { least.bytes };
        let dropped = if self.params.virtual_queue { self.dropped } else { 0.0 };
        let measured = Measured {
            input: self.input_bytes / elapsed_s,
            output: self.output_bytes / elapsed_s,
            queue_bytes: equations::virtual_queue(held, dropped),
            queue_packets: equations::virtual_queue(least.packets, dropped / self.packet_bytes),
            interval_s: self.interval.length_s(),
        };
        self.control(&measured);
        self.input_bytes = 0.0;
        self.output_bytes = 0.0;
        self.dropped = 0.0;
        self.least = Least::new(queue);
        elapsed_s
    }

    /// The rate for the next interval, from what was measured in this one.
    pub fn control(&mut self, measured: &Measured) {
        let RouterParams { alpha, beta, weight, .. } = self.params;
        let Self { packet_bytes, max_capacity, .. } = *self;
        let Measured { input, output, queue_bytes, queue_packets, interval_s } = *measured;
        let is_silent = input <= 0.0 && output <= 0.0 && queue_packets <= 0.0;
        let is_first = self.averages.is_none();
        let (old_output, old_bytes, old_packets) = self.averages.unwrap_or((output, queue_bytes, queue_packets));
        let output = equations::average(old_output, output, weight);
        let bytes = equations::average(old_bytes, queue_bytes, weight);
        let packets = equations::average(old_packets, queue_packets, weight);
        self.averages = Some((output, bytes, packets));
        // An interval without a packet tells nothing of the capacity.
        if self.params.probing && !is_silent {
            // After a surge the average stays above a packet while the line already rests: what leaves then is no capacity.
            let rested = self.params.hold && packets >= 1.0 && queue_packets < 1.0;
            let probed = equations::probed_capacity(self.capacity, output, packets, alpha);
            self.capacity = if rested { self.capacity.max(output) } else { probed }.min(max_capacity);
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

impl MarkerLaw for Router {
    type Params = RouterParams;

    fn set_up(params: RouterParams) -> Result<Self, ParameterError> {
        Self::new(params).map_err(|error| error.within("feedback"))
    }

    fn on_arrival(&mut self, now: Instant, packet: Passing, held: Held, signal: &Signal) {
        let before = (held.packets.saturating_sub(1), held.bytes.as_f64() - packet.size.as_f64());
        self.arrived(now.as_secs_f64(), packet.size.as_f64(), before, rtt_s(signal));
    }

    fn on_overflow(&mut self, size: Bytes) {
        self.overflowed(size.as_f64());
    }

    fn on_departure(&mut self, now: Instant, packet: Passing, held: Held, signal: &mut Signal) {
        self.departed(now.as_secs_f64(), packet.size.as_f64(), (held.packets, held.bytes.as_f64()));
        signal.lower_rate(self.rate());
        signal.break_silence();
    }

    // Stamped where the router speaks for both directions.
    fn on_crossing(&mut self, now: Instant, size: Bytes, held: Held, signal: &mut Signal) {
        if self.params.simplex {
            self.crossed(now.as_secs_f64(), size.as_f64(), (held.packets, held.bytes.as_f64()), rtt_s(signal));
            signal.lower_rate(self.rate());
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
mod tests {
    use super::*;

    /// No averaging; α = 0.5, packets of 1000 B, 100 kB/s told, up to 1 MB/s.
    fn params() -> RouterParams {
        RouterParams {
            alpha: 0.5,
            weight: 1.0,
            packet: Bytes::new(1000),
            ..RouterParams::new(Rate::from_bps(800_000), Rate::from_bps(8_000_000))
        }
    }

    fn router(params: RouterParams) -> Router {
        Router::new(params).unwrap()
    }

    fn measured(input: f64, output: f64, queue_packets: f64) -> Measured {
        Measured { input, output, queue_bytes: queue_packets * 1000.0, queue_packets, interval_s: 0.1 }
    }

    #[test]
    fn a_busy_link_tells_its_capacity_and_an_idle_one_is_probed() {
        //= qfcp#6
        let mut router = router(params());
        router.control(&measured(1e5, 1e5, 0.0));
        assert_eq!(router.capacity(), 1.5e5);
        router.control(&measured(1e5, 4e5, 1.0));
        assert_eq!(router.capacity(), 4e5);
        for _ in 0..5 {
            router.control(&measured(1e5, 1e5, 0.0));
        }
        assert_eq!(router.capacity(), 1e6, "no more than the medium carries");
        let mut told = Router::new(RouterParams { probing: false, ..params() }).unwrap();
        told.control(&measured(1e5, 4e5, 1.0));
        assert_eq!(told.capacity(), 1e5);
    }

    #[test]
    fn flows_share_what_the_queue_leaves() {
        // Four flows at the old rate of 100 kB/s; 6 packets wait, 5 too many, of which β = 0.5 are to go in 0.1 s:
        // (400 − 25) kB/s over 4.
        //= qfcp#3
        //= qfcp#4
        //= qfcp#9
        let mut router = router(params());
        router.control(&measured(4e5, 4e5, 6.0));
        assert_eq!((router.flows(), router.rate()), (4.0, 93_750.0));
        // Aiming at none, 30 kB/s less.
        let mut empty = Router::new(RouterParams { resident: false, ..params() }).unwrap();
        empty.control(&measured(4e5, 4e5, 6.0));
        assert_eq!(empty.rate(), 92_500.0);
    }

    #[test]
    fn output_and_queue_are_averaged() {
        //= qfcp#7
        //= qfcp#8
        let mut router = Router::new(RouterParams { weight: 0.25, ..params() }).unwrap();
        router.control(&measured(1e5, 1e5, 4.0));
        router.control(&measured(1e5, 2e5, 8.0));
        assert_eq!((router.capacity(), router.average_bytes()), (1.25e5, 5000.0));
    }

    #[test]
    fn a_rate_is_heeded_by_halves() {
        // Two flows were told 100 kB/s, and then 25: in the next interval half of what comes heeds the old rate,
        // 2 · (100 + 25)/2 = 125 kB/s. Taken by itself that is 5 flows; with the 2 of before 3.5.
        let second = |average_flows| {
            let mut router = Router::new(RouterParams { average_flows, probing: false, ..params() }).unwrap();
            router.control(&measured(2e5, 1e5, 11.0));
            assert_eq!((router.flows(), router.rate()), (2.0, 25_000.0));
            router.control(&measured(1.25e5, 1e5, 11.0));
            router.flows()
        };
        assert_eq!([second(true), second(false)], [3.5, 5.0]);
    }

    #[test]
    fn a_link_that_rests_lowers_no_capacity() {
        // 40 packets waited, then none for an interval in which 50 kB/s left. The average of the queue, 20 packets, says
        // busy; that of the output is 75 kB/s.
        let second = |hold, dropped| {
            let mut router = Router::new(RouterParams { hold, weight: 0.5, ..params() }).unwrap();
            router.control(&measured(1e5, 1e5, 40.0));
            router.control(&measured(5e4, 5e4, dropped));
            router.capacity()
        };
        assert_eq!([second(true, 0.0), second(false, 0.0)], [1e5, 7.5e4]);
        // Where packets were dropped, the line was too short.
        assert_eq!(second(true, 3.0), 7.5e4);
    }

    #[test]
    fn dropped_packets_count_as_queue() {
        //= qfcp#11
        let queue = |virtual_queue, unit| {
            let mut router = Router::new(RouterParams { virtual_queue, unit, ..params() }).unwrap();
            router.arrived(1.0, 1000.0, (2, 600.0), None);
            router.departed(1.01, 1000.0, (2, 600.0));
            router.overflowed(500.0);
            router.departed(1.02, 500.0, (3, 700.0));
            router.turn(1.06, Queue { packets: 3.0, bytes: 700.0 });
            router.average_bytes()
        };
        // 2 packets or 600 B were there at least, and one of 500 B was dropped.
        assert_eq!([queue(false, Unit::Packets), queue(true, Unit::Packets)], [2000.0, 3000.0]);
        assert_eq!([queue(false, Unit::Bytes), queue(true, Unit::Bytes)], [600.0, 1100.0]);
    }

    #[test]
    fn the_interval_is_the_mean_round_trip_time() {
        let mut router = router(params());
        router.arrived(0.01, 1000.0, (0, 0.0), Some(0.1));
        router.arrived(0.02, 1000.0, (1, 1000.0), Some(0.3));
        router.arrived(0.03, 1000.0, (2, 2000.0), None);
        // The first interval, of 50 ms, has begun with the first packet.
        router.departed(0.059, 1000.0, (2, 2000.0));
        assert_eq!(router.interval.length_s(), 0.05);
        router.departed(0.061, 1000.0, (2, 2000.0));
        assert_eq!(router.interval.length_s(), 0.2);
    }

    #[test]
    fn an_interval_ends_at_its_end() {
        // Bursts of two packets 44 ms apart, and intervals of 42 ms: most have one burst each. An interval that lasted until
        // the next packet would have the first of the next burst besides.
        let mut router = Router::new(RouterParams { probing: false, ..params() }).unwrap();
        router.interval.see(0.042, 1.0);
        router.interval.turn();
        for burst in 0..4 {
            for packet in 0..2 {
                router.arrived(0.044 * f64::from(burst) + 0.001 * f64::from(packet), 1000.0, (0, 0.0), Some(0.042));
            }
        }
        assert!((router.began_s.unwrap() - 3.0 * 0.042).abs() < 1e-12, "{:?}", router.began_s);
        assert_eq!(router.input_bytes, 2000.0);
    }

    #[test]
    fn silence_tells_nothing_of_the_capacity() {
        // The flow's packet, then a second without any: 20 intervals. The flow is forgotten, the capacity is not.
        let mut router = router(params());
        router.arrived(1.0, 20_000.0, (0, 0.0), None);
        router.arrived(1.06, 1000.0, (0, 0.0), None);
        assert_eq!((router.flows(), router.capacity()), (4.0, 1.5e5));
        router.arrived(2.06, 1000.0, (0, 0.0), None);
        assert_eq!((router.flows(), router.capacity()), (1.0, 2.25e5));
    }

    #[test]
    fn what_crosses_the_other_way_is_traffic() {
        // An interval of an eighth of a second that begins at 1 s: 3 kB cross, 1 kB goes the queue's way, which has never
        // less than 2 packets.
        let mut router = router(params());
        router.interval.see(0.125, 1.0);
        router.interval.turn();
        (router.began_s, router.least) = (Some(1.0), Least::new(Queue { packets: 2.0, bytes: 2000.0 }));
        for i in 0..3 {
            router.crossed(1.0 + f64::from(i) / 64.0, 1000.0, (2, 2000.0), Some(0.125));
        }
        router.arrived(1.0625, 1000.0, (2, 2000.0), Some(0.125));
        router.departed(1.09375, 1000.0, (2, 2000.0));
        router.departed(1.125, 1000.0, (2, 2000.0));
        // 4 kB in and out in an eighth of a second: 32 kB/s. That is less than R, so one flow.
        assert_eq!((router.capacity(), router.flows()), (32_000.0, 1.0));
    }

    #[test]
    fn rates_that_nobody_can_obey_stop_falling() {
        // Flows at the least window send 1 MB/s whatever they are told, and the queue stands at 50 packets.
        let settled = |bounded| {
            let mut router = Router::new(RouterParams { bounded, ..params() }).unwrap();
            for _ in 0..200 {
                router.control(&measured(1e6, 1e6, 50.0));
            }
            (router.rate(), router.flows())
        };
        // A packet in 0.1 s, and 100 flows that send so much.
        assert_eq!(settled(true), (10_000.0, 100.0));
        assert!(settled(false).0 < 1e-6);
    }

    #[test]
    fn an_idle_link_offers_no_more_than_it_has() {
        let mut router = router(params());
        for _ in 0..100 {
            router.control(&measured(100.0, 100.0, 0.0));
        }
        assert_eq!(router.flows(), 1.0);
        assert_eq!(router.rate(), 1e6 + 0.5 * 1000.0 / 0.1);
    }

    #[test]
    fn errors_name_the_key() {
        let refused = |params| Router::new(params).unwrap_err().key;
        assert_eq!(refused(RouterParams::new(Rate::from_bps(0), Rate::from_bps(1))), "capacity");
        assert_eq!(refused(RouterParams::new(Rate::from_bps(2), Rate::from_bps(1))), "max_capacity");
        assert_eq!(refused(RouterParams { alpha: 0.0, ..params() }), "alpha");
        assert_eq!(refused(RouterParams { beta: f64::NAN, ..params() }), "beta");
        assert_eq!(refused(RouterParams { weight: 0.0, ..params() }), "weight");
        assert_eq!(refused(RouterParams { packet: Bytes::ZERO, ..params() }), "packet");
    }
}
