// SPDX-License-Identifier: MIT OR Apache-2.0
//! The retransmission time-out (RFC 6298).

use crate::tcp::{RttEstimator, SenderConfig};
use crate::units::Duration;

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
                RttEstimator::Ns2 => Some(Box::new(Other::Ns2 { is_forgotten: false })),
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

    /// One measurement a round trip. It ends a back-off (RFC 6298 §5, last paragraph).
    #[inline]
    pub(super) fn sample(&mut self, rtt: Duration) {
        if self.is_linux() {
            self.linux_sample(rtt, true);
        } else {
            self.weighted_sample(rtt, 1.0);
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

    /// Whether time-outs follow the rules of Linux.
    pub(super) fn is_linux(&self) -> bool {
        matches!(self.other.as_deref(), Some(Other::Linux(_)))
    }

    /// One of many measurements a round trip: `share` is what the weights are multiplied by, so that the memory
    /// stays one of round trips (RFC 7323 appendix G).
    #[inline]
    pub(super) fn weighted_sample(&mut self, rtt: Duration, share: f64) {
        let rtt = rtt.as_nanos() as f64;
        let (srtt, rttvar) = match self.smoothed {
            Some((srtt, rttvar)) if !self.is_forgotten() => {
                let error = rtt - srtt;
                (srtt + ALPHA * share * error, rttvar + BETA * share * (error.abs() - rttvar))
            }
            None | Some(_) => (rtt, rtt / 2.0),
        };
        self.forget(false);
        self.smoothed = Some((srtt, rttvar));
        let timeout = Duration::from_nanos((srtt + (K * rttvar).max(self.granularity_ns)) as u64);
        self.set(timeout);
    }

    /// The timer went off: twice as long from now on (RFC 6298 §5.5).
    pub(super) fn back_off(&mut self) {
        self.timeout = (self.timeout * 2).min(self.max);
        if self.backed_off() >= FORGETFUL_BACK_OFF {
            self.forget(true);
        }
    }

    /// Whether a long back-off makes the next measurement the first (ns-2).
    #[inline]
    fn is_forgotten(&self) -> bool {
        matches!(self.other.as_deref(), Some(Other::Ns2 { is_forgotten: true }))
    }

    #[inline]
    fn forget(&mut self, now: bool) {
        if let Some(Other::Ns2 { is_forgotten }) = self.other.as_deref_mut() {
            *is_forgotten = now;
        }
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
    Ns2 { is_forgotten: bool },
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

    fn linux() -> Rto {
        let rtt_estimator = RttEstimator::Linux;
        Rto::new(&SenderConfig { rtt_estimator, rto_min: MS * 200, ..SenderConfig::default() })
    }

    #[test]
    fn linux_stands_the_least_time_out_above_a_steady_round_trip_time() {
        // 100 ms measured: twice that above it. Then the deviation falls, and the time-out a quarter of the way to 300 ms
        // with each round trip: at once, as 200 ms of deviation are the floor too.
        let mut rto = linux();
        rto.sample(MS * 100);
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
        rto.sample(MS * 400);
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
