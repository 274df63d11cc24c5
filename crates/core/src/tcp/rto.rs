// SPDX-License-Identifier: MIT OR Apache-2.0
//! The retransmission time-out (RFC 6298).

use crate::tcp::{RttEstimator, SenderConfig};
use crate::units::{Duration, Instant};

/// Weight of a measurement in SRTT (RFC 6298 §2.3).
const ALPHA: f64 = 1.0 / 8.0;
/// Weight of a deviation in RTTVAR (RFC 6298 §2.3).
const BETA: f64 = 1.0 / 4.0;
/// Deviations that the time-out stands above SRTT (RFC 6298 §2).
const K: f64 = 4.0;
/// Time-out with which data starts when the SYN was lost (RFC 6298 §5.7).
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The least back-off that makes ns-2 forget its estimates (rtt_backoff: more than 8, and it doubles).
const FORGETFUL_BACK_OFF: u64 = 16;

/// The estimator and the time-out with its back-off.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Rto {
    /// SRTT and RTTVAR \[ns\]; none before the first measurement.
    smoothed: Option<(f64, f64)>,
    /// The time-out without its back-off.
    computed: Duration,
    min: Duration,
    max: Duration,
    granularity_ns: f64,
    /// What estimators other than RFC 6298's keep; in a box, as few senders have it.
    other: Option<Box<Other>>,
    /// What all acknowledgements ask for.
    timeout: Duration,
}

impl Rto {
    pub(super) fn new(config: &SenderConfig) -> Self {
        Self {
            smoothed: None,
            timeout: config.rto_initial,
            computed: config.rto_initial,
            min: config.rto_min,
            max: config.rto_max,
            granularity_ns: config.rto_granularity.as_nanos() as f64,
            other: match config.rtt_estimator {
                RttEstimator::Rfc6298 => None,
                RttEstimator::Linux => Some(Box::new(Other::Linux(Linux::default()))),
                RttEstimator::Ns2 => Some(Box::new(Other::Ns2(Ns2::new(config.rtt_tick)))),
            },
        }
    }

    /// RTO, backed off.
    #[inline]
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// SRTT \[s\]; 0 before the first measurement.
    #[inline]
    pub(super) fn srtt_s(&self) -> f64 {
        self.smoothed.map_or(0.0, |(srtt, _)| srtt * 1e-9)
    }

    /// One measurement a round trip, of what was sent at `sent` and is acknowledged `now`. It ends a back-off (RFC 6298 §5, last
    /// paragraph).
    #[inline]
    pub(super) fn sample(&mut self, sent: Instant, now: Instant) {
        let rtt = now.saturating_since(sent);
        match self.other.as_deref() {
            None => self.smooth(rtt, 1.0, 0),
            Some(Other::Linux(_)) => self.linux_sample(rtt, true),
            Some(Other::Ns2(ns2)) => self.smooth(rtt, 1.0, ns2.edges(sent, now)),
        }
    }

    /// One of any number of measurements a round trip, by the rules of Linux; `is_next_round` with the first of each.
    pub(super) fn linux_sample(&mut self, rtt: Duration, is_next_round: bool) {
        let Some(Other::Linux(linux)) = self.other.as_deref_mut() else { return };
        let us = |time: Duration| (time.as_nanos() / 1000) as i64;
        linux.sample(us(rtt), us(self.min), is_next_round);
        self.smoothed = Some(((linux.srtt_8 / 8 * 1000) as f64, (linux.mdev_4 / 4 * 1000) as f64));
        let timeout = Duration::from_micros((linux.srtt_8 / 8 + linux.rttvar) as u64);
        self.set(timeout);
    }

    /// A round-trip time \[s\] as routers are told it: by ns-2's clock in whole ticks (xcp-end-sys.cc, rtt_update).
    pub(super) fn told_s(&self, sent: Instant, now: Instant) -> f64 {
        match self.other.as_deref() {
            Some(Other::Ns2(ns2)) if ns2.tick_ns > 0 => ns2.edges(sent, now) as f64 * ns2.tick_ns as f64 / 1e9,
            _ => now.saturating_since(sent).as_secs_f64(),
        }
    }

    /// Whether time-outs follow the rules of Linux.
    pub(super) fn is_linux(&self) -> bool {
        matches!(self.other.as_deref(), Some(Other::Linux(_)))
    }

    /// One of many measurements a round trip: `share` is what the weights are multiplied by, so that the memory
    /// stays one of round trips (RFC 7323 appendix G).
    #[inline]
    pub(super) fn weighted_sample(&mut self, rtt: Duration, share: f64) {
        let ticks = match self.other.as_deref() {
            Some(Other::Ns2(ns2)) => ns2.nearest(rtt),
            _ => 0,
        };
        self.smooth(rtt, share, ticks);
    }

    /// One measurement, which ns-2's clock takes for so many ticks.
    #[inline]
    fn smooth(&mut self, rtt: Duration, share: f64, ticks: i64) {
        let rtt = rtt.as_nanos() as f64;
        let (srtt, rttvar) = match self.smoothed {
            Some((srtt, rttvar)) if !self.is_forgotten() => {
                let error = rtt - srtt;
                (srtt + ALPHA * share * error, rttvar + BETA * share * (error.abs() - rttvar))
            }
            None | Some(_) => (rtt, rtt / 2.0),
        };
        self.smoothed = Some((srtt, rttvar));
        let in_ticks = match self.other.as_deref_mut() {
            Some(Other::Ns2(ns2)) => ns2.sample(ticks),
            _ => None,
        };
        let timeout = || Duration::from_nanos((srtt + (K * rttvar).max(self.granularity_ns)) as u64);
        self.set(in_ticks.unwrap_or_else(timeout));
    }

    /// The timer went off: twice as long from now on (RFC 6298 §5.5).
    pub(super) fn back_off(&mut self) {
        self.timeout = (self.timeout * 2).min(self.max);
        if self.backed_off() >= FORGETFUL_BACK_OFF
            && let Some(Other::Ns2(ns2)) = self.other.as_deref_mut()
        {
            ns2.is_forgotten = true;
        }
    }

    /// Whether a long back-off makes the next measurement the first (ns-2).
    #[inline]
    fn is_forgotten(&self) -> bool {
        matches!(self.other.as_deref(), Some(Other::Ns2(Ns2 { is_forgotten: true, .. })))
    }

    /// By how much the time-out is longer than the computed one.
    pub(super) fn backed_off(&self) -> u64 {
        self.timeout.as_nanos() / self.computed.as_nanos().max(1)
    }

    /// The time-out stays `times` the computed one.
    pub(super) fn keep_back_off(&mut self, times: u64) {
        self.timeout = (self.computed * times).min(self.max);
    }

    /// The back-off is over.
    pub(super) fn end_back_off(&mut self) {
        self.timeout = self.computed;
    }

    #[inline]
    fn set(&mut self, timeout: Duration) {
        self.computed = timeout.clamp(self.min, self.max);
        self.timeout = self.computed;
    }

    /// Data begins, after a handshake in which the SYN was retransmitted (RFC 6298 §5.7).
    pub(super) fn begin_after_lost_syn(&mut self) {
        if self.smoothed.is_none() {
            self.set(AFTER_LOST_SYN);
        }
    }
}

/// What an estimator keeps beside RFC 6298's.
#[derive(Clone, Debug)]
enum Other {
    Linux(Linux),
    Ns2(Ns2),
}

/// ns-2's estimator (rtt_update), in its own units: ticks of its clock (tcpTick_).
#[derive(Clone, Debug)]
struct Ns2 {
    /// The next measurement counts as the first.
    is_forgotten: bool,
    /// A tick \[ns\]; 0: its clock has none.
    tick_ns: u64,
    /// Eight times the smoothed round-trip time; 0: no measurement yet.
    srtt_8: i64,
    /// Four times the mean deviation.
    rttvar_4: i64,
}

impl Ns2 {
    fn new(tick: Duration) -> Self {
        Self { is_forgotten: false, tick_ns: tick.as_nanos(), srtt_8: 0, rttvar_4: 0 }
    }

    /// How often the clock ticks between two instants. ns-2 starts the clock of each flow at random, here they tick together.
    fn edges(&self, sent: Instant, now: Instant) -> i64 {
        let ticks = |at: Instant| at.as_nanos().checked_div(self.tick_ns).unwrap_or(0) as i64;
        ticks(now) - ticks(sent)
    }

    /// The whole number of ticks nearest to a time, as by timestamps.
    fn nearest(&self, rtt: Duration) -> i64 {
        (rtt.as_nanos() + self.tick_ns / 2).checked_div(self.tick_ns).unwrap_or(0) as i64
    }

    /// The time-out after a measurement; none if there are no ticks. Quotients are cut off, so that a deviation of less than a tick
    /// no longer falls: steady round trips leave the time-out three ticks above them.
    fn sample(&mut self, ticks: i64) -> Option<Duration> {
        let is_first = self.srtt_8 == 0 || self.is_forgotten;
        self.is_forgotten = false;
        if self.tick_ns == 0 {
            return None;
        }
        let ticks = ticks.max(1);
        if is_first {
            (self.srtt_8, self.rttvar_4) = (8 * ticks, 2 * ticks);
        } else {
            let error = ticks - self.srtt_8 / 8;
            self.srtt_8 += error;
            self.rttvar_4 += error.abs() - self.rttvar_4 / 4;
        }
        Some(Duration::from_nanos(self.tick_ns) * (self.rttvar_4 + self.srtt_8 / 8) as u64)
    }
}

/// Linux's estimator (tcp_rtt_estimator), in its own units \[µs\].
#[derive(Clone, Debug, Default)]
struct Linux {
    /// Eight times the smoothed round-trip time; 0: no measurement yet.
    srtt_8: i64,
    /// Four times the mean deviation, and the greatest of them in this round trip.
    mdev_4: i64,
    mdev_max: i64,
    /// What the time-out stands above the smoothed round-trip time.
    rttvar: i64,
}

impl Linux {
    fn sample(&mut self, rtt: i64, min: i64, is_next_round: bool) {
        if self.srtt_8 == 0 {
            self.srtt_8 = (8 * rtt).max(1);
            self.mdev_4 = 2 * rtt;
            self.rttvar = self.mdev_4.max(min);
            self.mdev_max = self.rttvar;
            return;
        }
        let error = rtt - self.srtt_8 / 8;
        self.srtt_8 = (self.srtt_8 + error).max(1);
        let mut change = error.abs() - self.mdev_4 / 4;
        if error < 0 && change > 0 {
            // A path that gets shorter is no reason to wait longer.
            change /= 8;
        }
        self.mdev_4 += change;
        self.mdev_max = self.mdev_max.max(self.mdev_4);
        self.rttvar = self.rttvar.max(self.mdev_max);
        if is_next_round {
            self.rttvar -= (self.rttvar - self.mdev_max) / 4;
            self.mdev_max = min;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// By ns-2's clock of 10 ms, with no floor.
    fn ns2() -> Rto {
        let rtt_estimator = RttEstimator::Ns2;
        let (rto_min, rtt_tick) = (MS, MS * 10);
        Rto::new(&SenderConfig { rtt_estimator, rto_min, rtt_tick, ..SenderConfig::default() })
    }

    #[test]
    fn ns2_counts_the_ticks_between() {
        // 104 ms from 0: 10 ticks, so 10 + 4·5. From 104 to 211 ms: the 11th to the 21st, 11. SRTT = 81/8, RTTVAR = (20 + 1 − 5)/4.
        let (mut rto, at) = (ns2(), |ms| Instant::ZERO + MS * ms);
        rto.sample(at(0), at(104));
        assert_eq!(rto.timeout(), MS * 300);
        rto.sample(at(104), at(211));
        assert_eq!(rto.timeout(), MS * 260);
        // By timestamps 107 ms are 11 ticks and 104 ms are 10.
        for (ms, timeout) in [(107, 280), (104, 260)] {
            let mut rto = ns2();
            rto.weighted_sample(MS * ms, 1.0);
            rto.weighted_sample(MS * 107, 1.0);
            assert_eq!(rto.timeout(), MS * timeout, "{ms} ms");
        }
    }

    #[test]
    fn ns2_keeps_three_ticks_above_a_steady_round_trip_time() {
        // RTTVAR falls by a quarter as long as that is a tick: to 3/4 of a tick. Nothing measured is less than a tick, of which it
        // starts with half.
        for (ms, timeout) in [(100, 130), (1, 30)] {
            let mut rto = ns2();
            for _ in 0..30 {
                rto.weighted_sample(MS * ms, 1.0);
            }
            assert_eq!(rto.timeout(), MS * timeout, "{ms} ms");
        }
    }

    fn linux() -> Rto {
        let rtt_estimator = RttEstimator::Linux;
        Rto::new(&SenderConfig { rtt_estimator, rto_min: MS * 200, ..SenderConfig::default() })
    }

    #[test]
    fn linux_stands_the_least_time_out_above_a_steady_round_trip_time() {
        // 100 ms measured: twice that above it. Then the deviation falls, and the time-out a quarter of the way to 300 ms
        // with each round trip: at once, as 200 ms of deviation are the floor too.
        let mut rto = linux();
        rto.sample(Instant::ZERO, Instant::ZERO + MS * 100);
        assert_eq!(rto.timeout(), MS * 300);
        for _ in 0..8 {
            rto.linux_sample(MS * 100, true);
        }
        assert_eq!((rto.timeout(), rto.srtt_s()), (MS * 300, 0.1));
    }

    #[test]
    fn linux_keeps_the_greatest_deviation_of_a_round_trip() {
        // 400 ms: mdev = 2·400. One sample of 1200 ms: srtt = 500 ms; error 800, mdev = 800 + 800 − 200 = 1400.
        let mut rto = linux();
        rto.sample(Instant::ZERO, Instant::ZERO + MS * 400);
        assert_eq!(rto.timeout(), MS * 1200);
        rto.linux_sample(MS * 1200, false);
        assert_eq!(rto.timeout(), MS * (500 + 1400));
        // Back to 500 ms: mdev = 1400 − 350, and the greatest stays through the round trip and a quarter of the way after
        // it: 1400 − (1400 − 1400)/4, then with mdev = 1050 − 262.5 as the greatest of its own: 1400 − 612.5/4.
        rto.linux_sample(MS * 500, true);
        assert_eq!(rto.timeout(), MS * 1900);
        rto.linux_sample(MS * 500, true);
        assert_eq!(rto.timeout(), Duration::from_micros(1_900_000 - 153_125));
    }
}
