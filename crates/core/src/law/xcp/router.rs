// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of XCP: an efficiency controller, which says by how much the traffic is to change, and a fairness
//! controller, which deals that out to the packets.

use super::equations;
use super::standing::Standing;
use crate::error::{ParameterError, ensure};
use crate::estimator::{ControlInterval, Least};
use crate::packet::{Signal, XcpHeader};
use crate::parameter::{Parameter, With, above, given};
use crate::parameters;
use crate::role::{Held, MarkerLaw, Passing, Site};
use crate::units::{Bytes, Instant, MOST_PACKET, Rate};

/// χ of XCP-b with the default gains, 1/(5 − α − β) in four digits.
const CHI: f64 = 0.2286;

/// How a router finds by how much the traffic is to change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Efficiency {
    /// XCP: from a capacity that it is told.
    Told(Told),
    /// XCP-b: from its queue alone.
    Queue(Blind),
}

parameters! {
    /// What an XCP router is told.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Told {
        /// C: the capacity that it is told; by default the line's rate, of a radio or WLAN its highest.
        pub capacity: Option<Rate> = None, in above(Rate::from_bps(0));
    }
}

parameters! {
    /// An XCP-b router.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Blind {
        /// Q_max: the buffer, in proportion to which an idle link is filled; by default the queue's limit, of `packet` each where
        /// it is in packets.
        pub buffer: Option<Bytes> = None, in above(Bytes::ZERO);
        /// Size of a packet on the wire.
        pub packet: Bytes = Bytes::new(1500), in Bytes::new(1)..=MOST_PACKET;
        /// χ: share of the buffer that is offered in an interval while the link is idle, at most 1/(5 − α − β); by default 0.2286,
        /// that of the default gains, or what it is where that is less.
        pub chi: Option<f64> = None, in above(0.0);
        /// κ: the queue aimed at. The primary text could not be had: chosen.
        pub kappa: Bytes = Bytes::new(3000);
        /// Intervals with an empty queue before the link counts as idle. Chosen, as κ.
        pub patience: u32 = 2, in 1..;
    }
}

parameters! {
    /// The gains; the defaults are XCP's own.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Gains {
        /// α: gain on the spare rate (qfcp eq. 1), of XCP-b on the growth of the queue.
        pub alpha: f64 = 0.4, in above(0.0);
        /// β: gain on the queue (qfcp eq. 1).
        pub beta: f64 = 0.226, in above(0.0);
        /// γ: share of the traffic that changes hands in an interval at least.
        pub gamma: f64 = 0.1, in 0.0..=1.0;
    }
}

/// A router of either kind. What by default depends on its place (the line's rate, the queue's limit) must be given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XcpRouterParams {
    /// How it finds by how much the traffic is to change.
    pub efficiency: Efficiency,
    /// By how much it then changes.
    pub gains: Gains,
}

impl XcpRouterParams {
    /// XCP's router.
    pub fn told(keys: With<Told, Gains>) -> Self {
        Self { efficiency: Efficiency::Told(keys.own), gains: keys.common }
    }

    /// XCP-b's router.
    pub fn blind(keys: With<Blind, Gains>) -> Self {
        Self { efficiency: Efficiency::Queue(keys.own), gains: keys.common }
    }
}

/// What a packet's header tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Window \[B\].
    pub cwnd_bytes: f64,
    /// Round-trip time \[s\]; 0: not known yet.
    pub rtt_s: f64,
    /// The change of the flow's rate that is asked for, or granted so far \[B/s\].
    pub change: f64,
}

/// One queue's controllers.
#[derive(Clone, Debug)]
pub struct XcpRouter {
    gains: Gains,
    efficiency: Controller,
    began_s: f64,
    /// d. Packets count with their share of their flow, so that all flows count alike.
    interval: ControlInterval,
    input_bytes: f64,
    /// The least queue of the running interval, and of the one before, with the packet that leaves \[B\].
    queue: Least<f64>,
    old_queue_bytes: f64,
    /// The queue that a router counts that is told its capacity.
    standing: Standing,
    /// Whether the line had nothing to send in the running interval.
    has_rested: bool,
    empty_intervals: u32,
    // What the last interval decided.
    /// ξ_p \[B/s²\] and ξ_n \[1/s\].
    raise: f64,
    lower: f64,
    /// What is still to be dealt out of the raise and the reduction \[B/s\].
    left_to_raise: f64,
    left_to_lower: f64,
}

impl XcpRouter {
    /// A router whose queue is empty.
    ///
    /// # Errors
    /// If a parameter lies outside its domain, or neither is given nor has a default of its own.
    pub fn new(params: XcpRouterParams) -> Result<Self, ParameterError> {
        params.gains.validate()?;
        Ok(Self {
            gains: params.gains,
            efficiency: Controller::new(&params.efficiency, &params.gains)?,
            began_s: 0.0,
            interval: ControlInterval::default(),
            input_bytes: 0.0,
            queue: Least::new(0.0),
            old_queue_bytes: 0.0,
            standing: Standing::default(),
            has_rested: true,
            empty_intervals: 0,
            raise: 0.0,
            lower: 0.0,
            left_to_raise: 0.0,
            left_to_lower: 0.0,
        })
    }

    /// A packet of `size_bytes` comes at `t_s` to a queue of `queue_bytes` without it. Other protocols' packets have no
    /// header, and count as traffic.
    pub fn arrived(&mut self, t_s: f64, size_bytes: f64, queue_bytes: f64, header: Option<&Header>) {
        self.turn(t_s, queue_bytes);
        self.input_bytes += size_bytes;
        if let Some(header) = header.filter(|header| header.rtt_s > 0.0) {
            let rtt_s = header.rtt_s.min(ControlInterval::LONGEST_S);
            self.interval.see(rtt_s, equations::share(header.rtt_s, size_bytes, header.cwnd_bytes));
        }
    }

    /// A packet of `size_bytes` leaves at `t_s`, and `queue_bytes` are behind it. Gives the change of the flow's
    /// rate that its header may tell at most \[B/s\]; a sender that knows no round-trip time yet is told to stay.
    pub fn departed(&mut self, t_s: f64, size_bytes: f64, queue_bytes: f64, header: Option<&Header>) -> Option<f64> {
        // By ns-2's rule a packet that leaves still counts, and the queue is empty when the line has nothing to send.
        let with_it_bytes = queue_bytes + size_bytes;
        self.turn(t_s, with_it_bytes);
        self.queue.see(with_it_bytes);
        self.standing.see(with_it_bytes);
        header.map(|header| if header.rtt_s > 0.0 { self.deal(size_bytes, header) } else { 0.0 })
    }

    /// The line has nothing to send from `t_s` on.
    pub fn rested(&mut self, t_s: f64) {
        if let Controller::Told { .. } = self.efficiency {
            // The last packet has left the queue before, and an interval may have ended since.
            self.turn(t_s, 0.0);
        }
        self.queue.see(0.0);
        self.standing.see(0.0);
        self.has_rested = true;
    }

    /// d \[s\]: the mean round-trip time, a control interval.
    pub fn interval_s(&self) -> f64 {
        self.interval.length_s()
    }

    /// The fairness controller: what this packet gets of the raise and of the reduction.
    fn deal(&mut self, size_bytes: f64, header: &Header) -> f64 {
        let share_s = equations::share(header.rtt_s, size_bytes, header.cwnd_bytes);
        let raise = equations::raised(self.raise, share_s).min(self.left_to_raise);
        let lower = equations::lowered(self.lower, size_bytes).min(self.left_to_lower);
        let change = header.change.min(raise - lower);
        // What a bottleneck elsewhere keeps the flow from taking, others may have.
        self.left_to_raise = (self.left_to_raise - (change + lower).max(0.0)).max(0.0);
        self.left_to_lower = (self.left_to_lower - lower.max(-change)).max(0.0);
        change
    }

    /// Ends the control interval, if it is over: at its own end, not at the packet that comes next. Packets come in bursts a
    /// round trip apart, as long as an interval, and one that lasted until the next packet would count a burst's first twice.
    fn turn(&mut self, t_s: f64, queue_bytes: f64) {
        let end_s = self.began_s + self.interval_s();
        self.stand(t_s.min(end_s), queue_bytes);
        if t_s - self.began_s < self.interval_s() {
            return;
        }
        self.decide(queue_bytes);
        let silent = self.interval.silent(self.began_s, t_s);
        if silent >= 1.0 {
            // Intervals without a packet are all alike; but the second of a router that is told its capacity is as long as its very
            // first, by ns-2's rule, and so are those after it.
            let alike = if matches!(self.efficiency, Controller::Told { .. }) { 1.0 } else { silent };
            if self.has_rested {
                self.empty_intervals = self.empty_intervals.saturating_add(alike as u32 - 1);
            }
            self.began_s += (alike - 1.0) * self.interval_s();
            self.stand(self.began_s + self.interval_s(), queue_bytes);
            self.decide(queue_bytes);
            // What is left of the silence.
            self.began_s += self.interval.silent(self.began_s, t_s) * self.interval_s();
        }
        self.stand(t_s, queue_bytes);
    }

    /// Counts the queue that stands until `t_s`.
    fn stand(&mut self, t_s: f64, queue_bytes: f64) {
        if let Controller::Told { capacity } = self.efficiency {
            self.standing.turn(t_s, queue_bytes, self.interval_s(), queue_bytes / capacity);
        }
    }

    /// What is to change in the next interval, by what the last one was.
    fn decide(&mut self, queue_bytes: f64) {
        let flows_s = self.interval.weights();
        let elapsed_s = self.interval.turn();
        if flows_s <= 0.0 && matches!(self.efficiency, Controller::Told { .. }) {
            self.interval.forget();
        }
        let d = self.interval_s();
        let input = self.input_bytes / elapsed_s;
        let change_bytes = self.wanted_bytes(input);
        // Shuffling: even with nothing to change, a part of the traffic is dealt out anew.
        let shuffled = equations::shuffled(self.gains.gamma, input, d, change_bytes);
        self.left_to_raise = (shuffled + change_bytes.max(0.0)) / d;
        self.left_to_lower = (shuffled + (-change_bytes).max(0.0)) / d;
        // The sums are those of the time that has passed, however long the next interval is (ns-2): after a silence, which ends
        // with a short one, the first packet to be told anything gets all that is spare.
        self.raise = over(self.left_to_raise, flows_s);
        self.lower = over(self.left_to_lower, self.input_bytes);

        self.old_queue_bytes = self.queue.value();
        self.queue = Least::new(queue_bytes);
        self.has_rested = queue_bytes <= 0.0;
        self.began_s += elapsed_s;
        self.input_bytes = 0.0;
    }

    /// The efficiency controller: by how many bytes the traffic of an interval is to change, at an input rate \[B/s\].
    fn wanted_bytes(&mut self, input: f64) -> f64 {
        let Gains { alpha, beta, .. } = self.gains;
        let queue = self.queue.value();
        match self.efficiency {
            Controller::Told { capacity } => {
                equations::told_change(alpha, beta, capacity, input, self.standing.bytes(), self.interval_s())
            }
            Controller::Queue { buffer_bytes, chi, kappa_bytes, patience } => {
                self.empty_intervals = if self.has_rested { self.empty_intervals.saturating_add(1) } else { 0 };
                if self.empty_intervals >= patience {
                    chi * buffer_bytes
                } else {
                    equations::queue_change(alpha, beta, queue, self.old_queue_bytes, kappa_bytes)
                }
            }
        }
    }
}

/// The efficiency controller's numbers: bytes, and bytes a second.
#[derive(Clone, Copy, Debug)]
enum Controller {
    Told { capacity: f64 },
    Queue { buffer_bytes: f64, chi: f64, kappa_bytes: f64, patience: u32 },
}

impl Controller {
    fn new(efficiency: &Efficiency, gains: &Gains) -> Result<Self, ParameterError> {
        match efficiency {
            Efficiency::Told(told) => {
                told.validate()?;
                let capacity = given(told.capacity, "capacity", "a rate")?.as_bytes_per_sec();
                Ok(Self::Told { capacity })
            }
            Efficiency::Queue(blind) => {
                blind.validate()?;
                let divisor = 5.0 - gains.alpha - gains.beta;
                let most = if divisor > 0.0 { 1.0 / divisor } else { f64::INFINITY };
                let chi = blind.chi.unwrap_or(CHI.min(most));
                ensure(chi <= most, "chi", chi, format!("at most 1/(5 - alpha - beta), {most:.4}"))?;
                Ok(Self::Queue {
                    buffer_bytes: given(blind.buffer, "buffer", "a size")?.as_f64(),
                    chi,
                    kappa_bytes: blind.kappa.as_f64(),
                    patience: blind.patience,
                })
            }
        }
    }
}

/// A quotient; nothing over nothing is nothing.
fn over(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

impl MarkerLaw for XcpRouter {
    type Params = XcpRouterParams;

    fn at(params: XcpRouterParams, site: &Site) -> Result<XcpRouterParams, ParameterError> {
        let efficiency = match params.efficiency {
            Efficiency::Told(told) => Efficiency::Told(Told { capacity: told.capacity.or(Some(site.rate)) }),
            Efficiency::Queue(blind) => {
                let limit = site.limit.map(|limit| limit.in_bytes(blind.packet));
                let buffer = given(blind.buffer.or(limit), "buffer", "one, as the queue has no limit")?;
                Efficiency::Queue(Blind { buffer: Some(buffer), ..blind })
            }
        };
        Ok(XcpRouterParams { efficiency, ..params })
    }

    fn set_up(params: XcpRouterParams) -> Result<Self, ParameterError> {
        Self::new(params)
    }

    fn on_arrival(&mut self, now: Instant, packet: Passing, held: Held, signal: &Signal) {
        let before = held.bytes.as_f64() - packet.size.as_f64();
        self.arrived(now.as_secs_f64(), packet.size.as_f64(), before, header(signal).as_ref());
    }

    // What is dropped is traffic too: y is what comes, not what finds room.
    fn on_overflow(&mut self, now: Instant, size: Bytes, held: Held, signal: &Signal) {
        self.arrived(now.as_secs_f64(), size.as_f64(), held.bytes.as_f64(), header(signal).as_ref());
    }

    fn on_departure(&mut self, now: Instant, packet: Passing, held: Held, signal: &mut Signal) {
        let header = header(signal);
        let granted = self.departed(now.as_secs_f64(), packet.size.as_f64(), held.bytes.as_f64(), header.as_ref());
        if let Some(change) = granted {
            signal.lower_change(change);
        }
    }

    fn on_rest(&mut self, now: Instant) {
        self.rested(now.as_secs_f64());
    }
}

fn header(signal: &Signal) -> Option<Header> {
    let Signal::Xcp(XcpHeader { cwnd_bytes, rtt_s, change }) = *signal else { return None };
    Some(Header { cwnd_bytes: f64::from(cwnd_bytes), rtt_s: f64::from(rtt_s), change: f64::from(change) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 128 packets of 1 KiB in an eighth of a second: sums of powers of two are exact.
    const TOLD: Efficiency = Efficiency::Told(Told { capacity: Some(Rate::from_bps(8 << 20)) });
    const BLIND: Blind = Blind {
        buffer: Some(Bytes::new(100_000)),
        packet: Bytes::new(1024),
        chi: Some(0.2),
        kappa: Bytes::new(2048),
        patience: 2,
    };
    const QUEUE: Efficiency = Efficiency::Queue(BLIND);
    const PACKET: f64 = 1024.0;
    const D: f64 = 0.125;

    /// A router whose interval of an eighth of a second begins at 1 s, with a queue of `queue_bytes`.
    fn router(efficiency: Efficiency, queue_bytes: f64) -> XcpRouter {
        let mut router =
            XcpRouter::new(XcpRouterParams { efficiency, gains: Gains { beta: 0.25, ..Gains::default() } }).unwrap();
        router.interval.see(D, 1.0);
        router.interval.turn();
        router.began_s = 1.0;
        (router.queue, router.old_queue_bytes, router.has_rested) =
            (Least::new(queue_bytes), queue_bytes, queue_bytes == 0.0);
        router.standing.turn(1.0, queue_bytes, D, 0.0);
        router
    }

    /// Packet `i` of `n` in the interval that begins at `from_s` passes, with a window of `cwnd` packets. Gives by how much it
    /// is told to change that \[B\].
    fn pass(router: &mut XcpRouter, from_s: f64, (i, n): (u32, u32), cwnd: f64, queue_bytes: f64) -> f64 {
        let header = Header { cwnd_bytes: cwnd * PACKET, rtt_s: D, change: f64::INFINITY };
        let t_s = from_s + D * f64::from(i) / f64::from(n);
        router.arrived(t_s, PACKET, queue_bytes, Some(&header));
        router.departed(t_s, PACKET, (queue_bytes - PACKET).max(0.0), Some(&header)).unwrap() * D
    }

    /// One flow of `n` packets in an interval: the sum of what they are told.
    fn round(router: &mut XcpRouter, from_s: f64, n: u32, queue_bytes: f64) -> f64 {
        (0..n).map(|i| pass(router, from_s, (i, n), f64::from(n), queue_bytes)).sum()
    }

    #[test]
    fn spare_rate_is_dealt_out_within_an_interval() {
        // Half of the capacity is used: α · 64 KiB = 26214.4 B more, and no shuffling, as γ · 64 KiB is less.
        //= qfcp#1
        let mut router = router(TOLD, 0.0);
        assert_eq!(round(&mut router, 1.0, 64, 0.0), 0.0);
        let sum = round(&mut router, 1.125, 64, 0.0);
        assert!((sum - 26_214.4).abs() < 1e-6, "{sum}");
        assert_eq!(router.interval_s(), D);
    }

    #[test]
    fn a_standing_queue_is_drained() {
        // At capacity with 32 KiB waiting: −β · 32 KiB. What is shuffled, the rest of γ · 128 KiB, comes to nothing.
        let mut router = router(TOLD, 32_768.0);
        round(&mut router, 1.0, 128, 32_768.0);
        let sum = round(&mut router, 1.125, 128, 32_768.0);
        assert!((sum + 8192.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn what_finds_no_room_is_traffic_too() {
        // As above, half of the capacity comes; that every second packet is dropped spares no more of it.
        let mut router = router(TOLD, 0.0);
        let held = Held { packets: 0, bytes: Bytes::ZERO };
        for i in 0..64 {
            if i % 2 == 0 {
                pass(&mut router, 1.0, (i, 64), 64.0, 0.0);
            } else {
                let now = Instant::from_nanos(1_000_000_000 + u64::from(i) * 1_953_125);
                router.on_overflow(now, Bytes::new(1024), held, &Signal::None);
            }
        }
        router.turn(1.125, 0.0);
        assert!((router.left_to_raise - 26_214.4 / D).abs() < 1e-6, "{}", router.left_to_raise);
    }

    #[test]
    fn after_a_silence_the_first_flow_is_heard_at_once() {
        // As in ns-2: an interval in which nobody told a round-trip time is followed by one of 50 ms. The first packet of a window
        // of one, after a time-out, gets nothing; the second, a round trip later, all that is spare: α · (1 MiB/s − 1 KiB/50 ms).
        // The sums are those of 50 ms, in which one packet came, whatever the next interval of 125 ms could hold.
        let mut router = router(TOLD, 0.0);
        round(&mut router, 1.0, 64, 0.0);
        let alone = Header { cwnd_bytes: PACKET, rtt_s: D, change: f64::INFINITY };
        let mut pass = |t_s| {
            router.arrived(t_s, PACKET, 0.0, Some(&alone));
            router.departed(t_s, PACKET, 0.0, Some(&alone)).unwrap()
        };
        assert_eq!(pass(2.0), 0.0);
        let granted = pass(2.1);
        assert!((granted - 0.4 * (1_048_576.0 - 1024.0 / 0.05)).abs() < 1e-6, "{granted}");
    }

    #[test]
    fn from_the_second_on_the_intervals_of_a_silence_are_short() {
        // Packets until 1.125 s, an empty interval of 125 ms, and then such of 50 ms: from 1.25 s on, so from 1.4 to 1.45.
        let mut router = router(TOLD, 0.0);
        round(&mut router, 1.0, 64, 0.0);
        router.turn(1.41, 0.0);
        assert!((router.began_s - 1.4).abs() < 1e-9, "{}", router.began_s);
        assert_eq!(router.interval_s(), 0.05);
        // XCP-b's stay as long as they were.
        let mut router = self::router(QUEUE, 0.0);
        round(&mut router, 1.0, 64, 0.0);
        router.turn(1.41, 0.0);
        assert!((router.began_s - 1.375).abs() < 1e-9, "{}", router.began_s);
    }

    #[test]
    fn what_stood_until_the_line_rests_has_stood() {
        // Half of 125 ms is a span of the queue; one ends at 1.05 s, between the last packet's departure and the end of it.
        let mut router = router(TOLD, 4096.0);
        router.departed(1.04, PACKET, 0.0, None);
        router.rested(1.06);
        assert_eq!(router.standing.bytes(), PACKET);
        router.turn(1.115, 0.0);
        assert_eq!(router.standing.bytes(), 0.0);
    }

    #[test]
    fn shuffling_moves_windows_towards_each_other() {
        // At capacity without a queue γ · 128 KiB = 13107.2 B are taken in proportion to rates (of 96 and 32 packets)
        // and given in equal parts: a quarter of it moves.
        let mut router = router(TOLD, 0.0);
        let mut changes = [0.0, 0.0];
        for from_s in [1.0, 1.125] {
            changes = [0.0, 0.0];
            for i in 0..128 {
                let (which, cwnd) = if i % 4 == 0 { (1, 32.0) } else { (0, 96.0) };
                changes[which] += pass(&mut router, from_s, (i, 128), cwnd, 0.0);
            }
        }
        assert!((changes[0] + 3276.8).abs() < 1e-6 && (changes[1] - 3276.8).abs() < 1e-6, "{changes:?}");
    }

    #[test]
    fn the_least_change_stands_and_what_is_not_taken_is_left_for_others() {
        let mut router = router(TOLD, 0.0);
        round(&mut router, 1.0, 64, 0.0);
        router.turn(1.125, 0.0);
        assert!((router.left_to_raise - 26_214.4 / D).abs() < 1e-6);
        let bound = Header { cwnd_bytes: 64.0 * PACKET, rtt_s: D, change: 100.0 / D };
        assert_eq!(router.departed(1.13, PACKET, 0.0, Some(&bound)), Some(100.0 / D));
        assert!((router.left_to_raise - 26_114.4 / D).abs() < 1e-6);
        // Without a round-trip time nothing can be dealt.
        let new = Header { rtt_s: 0.0, ..bound };
        assert_eq!(router.departed(1.13, PACKET, 0.0, Some(&new)), Some(0.0));
        assert_eq!(router.departed(1.13, PACKET, 0.0, None), None);
    }

    #[test]
    fn without_a_capacity_the_queue_decides() {
        let mut router = router(QUEUE, 0.0);
        // Two empty intervals: idle, χ · 100 kB.
        round(&mut router, 1.0, 64, 0.0);
        round(&mut router, 1.125, 64, 0.0);
        let sum = round(&mut router, 1.25, 64, 0.0);
        assert!((sum - 20_000.0).abs() < 1e-6, "{sum}");
        // 10 KiB that stay: −β · 8 KiB.
        let mut router = self::router(QUEUE, 10_240.0);
        round(&mut router, 1.0, 64, 10_240.0);
        let sum = round(&mut router, 1.125, 64, 10_240.0);
        assert!((sum + 2048.0).abs() < 1e-6, "{sum}");
        // They have just come: −α · 6 KiB more.
        let mut router = self::router(QUEUE, 10_240.0);
        router.old_queue_bytes = 4096.0;
        round(&mut router, 1.0, 64, 10_240.0);
        let sum = round(&mut router, 1.125, 64, 10_240.0);
        assert!((sum + 2048.0 + 2457.6).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn the_interval_is_the_mean_round_trip_of_the_flows() {
        // Two flows with equal rates and round trips of 0.1 and 0.3 s count alike: 0.2 s.
        let mut router = router(TOLD, 0.0);
        for i in 0..100 {
            let rtt_s = if i % 2 == 0 { 0.1 } else { 0.3 };
            let header = Header { cwnd_bytes: rtt_s * 5e5, rtt_s, change: 0.0 };
            router.arrived(1.0 + 0.0001 * f64::from(i), 1000.0, 0.0, Some(&header));
        }
        router.turn(1.2, 0.0);
        assert!((router.interval_s() - 0.2).abs() < 1e-9, "{}", router.interval_s());
    }

    #[test]
    fn errors_name_the_key() {
        let refused =
            |efficiency| XcpRouter::new(XcpRouterParams { efficiency, gains: Gains::default() }).unwrap_err().key;
        assert_eq!(refused(Efficiency::Told(Told { capacity: Some(Rate::from_bps(0)) })), "capacity");
        assert_eq!(refused(Efficiency::Told(Told::default())), "capacity");
        let queue = |blind| refused(Efficiency::Queue(blind));
        assert_eq!(queue(Blind { buffer: Some(Bytes::ZERO), ..BLIND }), "buffer");
        assert_eq!(queue(Blind { buffer: None, ..BLIND }), "buffer");
        assert_eq!(queue(Blind { chi: Some(-0.2), ..BLIND }), "chi");
        assert_eq!(queue(Blind { patience: 0, ..BLIND }), "patience");
        // 1/(5 − 0.4 − 0.226) = 0.22862; with larger gains more.
        assert_eq!(queue(Blind { chi: Some(0.2287), ..BLIND }), "chi");
        let bold = Efficiency::Queue(Blind { chi: Some(0.24), ..BLIND });
        assert!(
            XcpRouter::new(XcpRouterParams { efficiency: bold, gains: Gains { beta: 0.5, ..Gains::default() } })
                .is_ok()
        );
        // By default it is no more than they allow.
        let meek = Efficiency::Queue(Blind { chi: None, ..BLIND });
        assert!(
            XcpRouter::new(XcpRouterParams { efficiency: meek, gains: Gains { beta: 0.05, ..Gains::default() } })
                .is_ok()
        );
        let bad = XcpRouterParams { efficiency: TOLD, gains: Gains { gamma: 2.0, ..Gains::default() } };
        assert_eq!(XcpRouter::new(bad).unwrap_err().key, "gamma");
    }
}
