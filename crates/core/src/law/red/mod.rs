// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random early detection: which arriving packets are dropped before the buffer is full (Floyd and Jacobson, 1993),
//! by the rules of ns-2.
//!
//! The queue is measured in packets, or in bytes with thresholds in packets of a mean size. The line's speed C in
//! mean packets a second sets what the thresholds are where they are 0, and what an idle line counts for.

pub mod equations;

use crate::error::{ParameterError, ensure};
use crate::packet::Parcel;
use crate::parameter::{Parameter, above_to};
use crate::rng::Stream;
use crate::role::{AqmLaw, Held};
use crate::units::{Bytes, Duration, Instant, Packets, Rate};
use crate::{kinds, parameters};

kinds! {
    /// What a queue is measured in.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum QueueUnit {
        /// Packets.
        #[default]
        Packets = "packets",
        /// Bytes.
        Bytes = "bytes",
    }
}

parameters! {
    /// Random early detection. It drops and never marks. The line's rate is the link's; at an access point that of the station's
    /// radio: its constant rate, its highest rate, or its trace's mean rate.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RedParams {
        /// Average queue in packets from which packets are dropped. 0: half of what the line carries in `target_delay`, and
        /// at least 5 (ns-2's `thresh_`).
        pub min_threshold: Packets = Packets(0.0), in Packets(0.0)..;
        /// Average queue in packets at which the probability reaches `max_p`. 0: three times the lower one (ns-2's
        /// `maxthresh_`).
        pub max_threshold: Packets = Packets(0.0), in Packets(0.0)..;
        /// Weight w_q of a new sample in the average, up to 1. 0: 1 - exp(-1/C), with C packets per second on the line (ns-2's
        /// `q_weight_`).
        pub queue_weight: f64 = 2e-3, in 0.0..=1.0;
        /// Probability of a drop at the upper threshold (ns-2's 1/`linterm_`).
        pub max_p: f64 = 0.1, in above_to(0.0, 1.0);
        /// Whether at least 1/p packets pass between two drops (ns-2's `wait_`).
        pub wait: bool = true;
        /// Whether the probability rises to 1 up to twice the upper threshold; otherwise it jumps there (ns-2's `gentle_`).
        pub gentle: bool = true;
        /// What the queue is measured in. In bytes, a packet is dropped with a probability in proportion to its size (ns-2's
        /// `bytes_` and `queue_in_bytes_`).
        pub unit: QueueUnit = QueueUnit::default();
        /// Mean size of a packet: what counts as one in bytes, and while the line is idle (ns-2's `mean_pktsize_`).
        pub mean_packet: Bytes = Bytes::new(500), in Bytes::new(1)..;
        /// Delay that the automatic lower threshold aims at (ns-2's `targetdelay_`).
        pub target_delay: Duration = Duration::from_millis(5);
    }
}

/// What RED does with an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may join the queue, if there is room.
    Admit,
    /// It is dropped by chance.
    Early,
    /// It is dropped, as the average is beyond what chance is for.
    Forced,
}

/// RED at work.
///
/// ```
/// use lasthop_core::law::red::{Red, RedParams, Verdict};
/// use lasthop_core::units::Packets;
///
/// // Thresholds of 4 and 12 packets, the average being the queue itself, on a line of 500 kB/s.
/// let (min_threshold, max_threshold) = (Packets(4.0), Packets(12.0));
/// let params = RedParams { min_threshold, max_threshold, queue_weight: 1.0, ..RedParams::default() };
/// let mut red = Red::new(params, 500e3)?;
/// red.observe(8, 4000.0, 0.0);
/// // Half way between them p = max_p/2.
/// assert_eq!(red.base_probability(), 0.05);
/// red.observe(24, 12e3, 0.0);
/// assert_eq!(red.judge(24, 12e3, 500.0, 0.99), Verdict::Forced);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Red {
    params: RedParams,
    mean_packet_bytes: f64,
    /// C, in mean packets a second.
    packets_per_s: f64,
    min: f64,
    max: f64,
    weight: f64,
    average: f64,
    /// Packets since the last drop, and their bytes.
    count: u64,
    count_bytes: f64,
    /// Whether the average was above the lower threshold when the last packet came.
    above: bool,
}

impl Red {
    /// RED in front of a line of `line_bytes_per_s`.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(params: RedParams, line_bytes_per_s: f64) -> Result<Self, ParameterError> {
        params.validate()?;
        let RedParams {
            min_threshold: Packets(min_threshold),
            max_threshold: Packets(max_threshold),
            queue_weight,
            ..
        } = params;
        let (mean, target) = (params.mean_packet.as_f64(), params.target_delay.as_secs_f64());
        let packets_per_s = line_bytes_per_s / mean;
        let min =
            if min_threshold > 0.0 { min_threshold } else { equations::automatic_threshold(packets_per_s, target) };
        let max = if max_threshold > 0.0 { max_threshold } else { 3.0 * min };
        ensure(max > min && max.is_finite(), "max_threshold", max_threshold, "more than min_threshold, or 0")?;
        let weight = if queue_weight > 0.0 { queue_weight } else { equations::automatic_weight(packets_per_s) };
        let scale = if params.unit == QueueUnit::Bytes { mean } else { 1.0 };
        Ok(Self {
            params,
            mean_packet_bytes: mean,
            packets_per_s,
            min: min * scale,
            max: max * scale,
            weight,
            average: 0.0,
            count: 0,
            count_bytes: 0.0,
            above: false,
        })
    }

    /// A packet comes to a queue of `packets` and `bytes`, before which the line was idle for `idle_s`: as if as many
    /// mean packets as it could have carried in that time had found nobody. The average takes it in.
    #[inline]
    pub fn observe(&mut self, packets: usize, bytes: f64, idle_s: f64) {
        let idle_packets = libm::floor(self.packets_per_s * idle_s);
        let queue = self.measure(packets, bytes);
        self.average = equations::average(self.average, queue, self.weight, idle_packets);
    }

    /// What becomes of the packet of `size_bytes` that was just observed in front of `packets` and `bytes`; `draw` is
    /// uniform over \[0, 1).
    #[inline]
    pub fn judge(&mut self, packets: usize, bytes: f64, size_bytes: f64, draw: f64) -> Verdict {
        self.count += 1;
        self.count_bytes += size_bytes;
        if self.average < self.min || self.measure(packets, bytes) <= 1.0 {
            self.above = false;
            return Verdict::Admit;
        }
        let last = if self.params.gentle { 2.0 * self.max } else { self.max };
        if self.average >= last {
            return Verdict::Forced;
        }
        if !self.above {
            self.above = true;
            self.count = 1;
            self.count_bytes = size_bytes;
            return Verdict::Admit;
        }
        if draw < self.probability(size_bytes) { Verdict::Early } else { Verdict::Admit }
    }

    /// The packet that was just judged has been dropped, whatever for.
    #[inline]
    pub fn dropped(&mut self) {
        self.count = 0;
        self.count_bytes = 0.0;
    }

    /// The average queue, in its unit.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The probability p_b that the average alone gives.
    #[inline]
    pub fn base_probability(&self) -> f64 {
        let RedParams { max_p, gentle, .. } = self.params;
        equations::base_probability(self.average, self.min, self.max, max_p, gentle)
    }

    /// The probability p_a with which the packet that came last is dropped: p_b spread evenly over the packets between
    /// two drops.
    #[inline]
    pub fn probability(&self, size_bytes: f64) -> f64 {
        let p = self.base_probability();
        let mean = self.mean_packet_bytes;
        let count = match self.params.unit {
            QueueUnit::Packets => self.count as f64,
            QueueUnit::Bytes => libm::floor(self.count_bytes / mean),
        };
        let even = equations::spread(p, count, self.params.wait);
        match self.params.unit {
            QueueUnit::Bytes if even < 1.0 => equations::by_size(even, size_bytes, mean).min(1.0),
            _ => even.min(1.0),
        }
    }

    #[inline]
    fn measure(&self, packets: usize, bytes: f64) -> f64 {
        match self.params.unit {
            QueueUnit::Packets => packets as f64,
            QueueUnit::Bytes => bytes,
        }
    }
}

/// A queue that RED manages: the law with its draws, one for every packet that comes, whether or not it needs one.
#[derive(Debug)]
pub struct RedQueue {
    law: Red,
    stream: Stream,
    /// Since when the line has had nothing to send.
    idle_since: Option<Instant>,
}

impl<P: Parcel> AqmLaw<P> for RedQueue {
    type Params = RedParams;

    fn set_up(params: RedParams, rate: Rate, stream: &dyn Fn(&str) -> Stream) -> Result<Self, ParameterError> {
        let law = Red::new(params, rate.as_bytes_per_sec())?;
        Ok(Self { law, stream: stream("red"), idle_since: Some(Instant::ZERO) })
    }

    fn admits(&mut self, now: Instant, held: Held, size: Bytes, is_room: bool) -> bool {
        let Held { packets, bytes } = held;
        let idle_s = self.idle_since.take().map_or(0.0, |since| (now - since).as_secs_f64());
        let draw = self.stream.uniform();
        self.law.observe(packets, bytes.as_f64(), idle_s);
        let admits = self.law.judge(packets, bytes.as_f64(), size.as_f64(), draw) == Verdict::Admit && is_room;
        if !admits {
            self.law.dropped();
        }
        admits
    }

    fn on_rest(&mut self, now: Instant) {
        self.idle_since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 500 kB/s, so C = 1000 packets a second of 500 B.
    fn red(params: RedParams) -> Red {
        Red::new(params, 500_000.0).unwrap()
    }

    fn plain() -> RedParams {
        RedParams {
            min_threshold: Packets(4.0),
            max_threshold: Packets(12.0),
            queue_weight: 0.5,
            max_p: 0.125,
            ..RedParams::default()
        }
    }

    /// RED whose average is `packets`, reached in one sample, and which has seen that.
    fn at(params: RedParams, packets: usize) -> Red {
        let mut red = red(RedParams { queue_weight: 1.0, ..params });
        red.observe(packets, 500.0 * packets as f64, 0.0);
        red
    }

    //= red#average
    #[test]
    fn the_average_moves_by_its_weight_and_falls_while_the_line_is_idle() {
        let mut red = red(plain());
        red.observe(8, 0.0, 0.0);
        red.observe(8, 0.0, 0.0);
        // 0 → 4 → 6; three idle packet times and the empty queue itself: 6/2⁴.
        assert_eq!(red.average(), 6.0);
        red.observe(0, 0.0, 0.0039);
        assert_eq!(red.average(), 0.375);
    }

    //= red#p_b
    //= red#gentle
    #[test]
    fn the_probability_rises_in_a_line_and_gently_to_one() {
        // Thresholds 4 and 12: half way p = max_p/2; at 18, half way from 12 to 24, p = 1/8 + (7/8)/2.
        assert_eq!(at(plain(), 8).base_probability(), 0.0625);
        assert_eq!(at(plain(), 12).base_probability(), 0.125);
        assert_eq!(at(plain(), 18).base_probability(), 0.5625);
        assert_eq!(at(RedParams { gentle: false, ..plain() }, 12).base_probability(), 1.0);
        assert_eq!(at(plain(), 2).base_probability(), 0.0);
    }

    /// What is drawn against, for the first packets after the average has crossed the lower threshold.
    fn probabilities(params: RedParams, n: usize) -> Vec<f64> {
        let mut red = at(params, 12);
        assert_eq!(red.judge(12, 6000.0, 500.0, 0.0), Verdict::Admit, "the first above the threshold is let through");
        let next = |_| {
            red.count += 1;
            red.count_bytes += 500.0;
            red.probability(500.0)
        };
        (0..n).map(next).collect()
    }

    //= red#p_a
    //= red#wait
    #[test]
    fn drops_are_spread_evenly() {
        // p = 1/8. Without wait packet n goes with p/(1 − np): 1/6, 1/5, … so that a gap of 2 to 8 is as likely each.
        let even = probabilities(RedParams { wait: false, ..plain() }, 8);
        let wanted = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0].map(|n| 1.0 / n);
        assert!(even.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{even:?}");
        // With wait nothing goes before np = 1, then p/(2 − np): 1/8, 1/7, …
        let waiting = probabilities(plain(), 10);
        let wanted = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0 / 8.0, 1.0 / 7.0, 1.0 / 6.0, 1.0 / 5.0];
        assert!(waiting.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{waiting:?}");
    }

    //= red#size
    #[test]
    fn in_bytes_large_packets_are_likelier_to_go() {
        let params = RedParams { unit: QueueUnit::Bytes, wait: false, ..plain() };
        let red = at(params, 12);
        // p = 1/8 of a mean packet, before any is counted.
        assert_eq!((red.average(), red.probability(500.0), red.probability(1500.0)), (6000.0, 0.125, 0.375));
        assert_eq!(at(RedParams { wait: false, ..plain() }, 12).probability(1500.0), 0.125);
    }

    #[test]
    fn who_comes_to_an_empty_queue_or_a_low_average_stays() {
        assert_eq!(at(plain(), 30).judge(1, 500.0, 500.0, 0.0), Verdict::Admit);
        assert_eq!(at(plain(), 3).judge(30, 15_000.0, 500.0, 0.0), Verdict::Admit);
        assert_eq!(at(plain(), 24).judge(24, 12_000.0, 500.0, 0.99), Verdict::Forced);
        assert_eq!(at(RedParams { gentle: false, ..plain() }, 12).judge(12, 0.0, 500.0, 0.99), Verdict::Forced);
    }

    #[test]
    fn a_drop_starts_the_count_anew() {
        let mut red = at(RedParams { wait: false, ..plain() }, 12);
        (0..5).for_each(|_| assert_eq!(red.judge(12, 6000.0, 500.0, 0.999), Verdict::Admit));
        // The fifth has p/(1 − 5p) = 1/3.
        assert!((red.probability(500.0) - 1.0 / 3.0).abs() < 1e-12);
        red.dropped();
        assert_eq!(red.probability(500.0), 0.125);
    }

    //= red#weight
    //= red#min_th
    #[test]
    fn zeros_stand_for_what_suits_the_line() {
        // C = 1000/s: 5 ms are 5 packets, half of them is less than 5; three times that; 1 − e^(−1/1000).
        let auto = red(RedParams { queue_weight: 0.0, ..RedParams::default() });
        assert_eq!((auto.min, auto.max), (5.0, 15.0));
        assert!((auto.weight - 0.000_999_500_166).abs() < 1e-12);
        // 20 ms are 20 packets: half is 10.
        let slow =
            red(RedParams { target_delay: Duration::from_millis(20), unit: QueueUnit::Bytes, ..RedParams::default() });
        assert_eq!((slow.min, slow.max), (5000.0, 15_000.0));
    }

    #[test]
    fn what_is_no_red_is_refused() {
        let key = |params| Red::new(params, 1e6).unwrap_err().key;
        let usual = RedParams::default();
        assert_eq!(key(RedParams { min_threshold: Packets(-1.0), ..usual }), "min_threshold");
        assert_eq!(key(RedParams { max_threshold: Packets(3.0), ..usual }), "max_threshold");
        assert_eq!(key(RedParams { queue_weight: 1.5, ..usual }), "queue_weight");
        assert_eq!(key(RedParams { max_p: 0.0, ..usual }), "max_p");
        assert_eq!(key(RedParams { mean_packet: Bytes::ZERO, ..usual }), "mean_packet");
    }
}
