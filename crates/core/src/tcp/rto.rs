// SPDX-License-Identifier: MIT OR Apache-2.0
//! The retransmission time-out (RFC 6298).

use crate::tcp::SenderConfig;
use crate::units::Duration;

/// Weight of a measurement in SRTT (RFC 6298 §2.3).
const ALPHA: f64 = 1.0 / 8.0;
/// Weight of a deviation in RTTVAR (RFC 6298 §2.3).
const BETA: f64 = 1.0 / 4.0;
/// Deviations that the time-out stands above SRTT (RFC 6298 §2).
const K: f64 = 4.0;
/// Time-out with which data starts when the SYN was lost (RFC 6298 §5.7).
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The estimator and the time-out with its back-off.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    /// SRTT and RTTVAR \[ns\]; none before the first measurement.
    smoothed: Option<(f64, f64)>,
    timeout: Duration,
    min: Duration,
    max: Duration,
    granularity_ns: f64,
}

impl Rto {
    pub(super) fn new(config: &SenderConfig) -> Self {
        Self {
            smoothed: None,
            timeout: config.rto_initial,
            min: config.rto_min,
            max: config.rto_max,
            granularity_ns: config.rto_granularity.as_nanos() as f64,
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
        self.weighted_sample(rtt, 1.0);
    }

    /// One of many measurements a round trip: `share` is what the weights are multiplied by, so that the memory
    /// stays one of round trips (RFC 7323 appendix G).
    #[inline]
    pub(super) fn weighted_sample(&mut self, rtt: Duration, share: f64) {
        let rtt = rtt.as_nanos() as f64;
        let (srtt, rttvar) = match self.smoothed {
            None => (rtt, rtt / 2.0),
            Some((srtt, rttvar)) => {
                let error = rtt - srtt;
                (srtt + ALPHA * share * error, rttvar + BETA * share * (error.abs() - rttvar))
            }
        };
        self.smoothed = Some((srtt, rttvar));
        let timeout = Duration::from_nanos((srtt + (K * rttvar).max(self.granularity_ns)) as u64);
        self.timeout = timeout.clamp(self.min, self.max);
    }

    /// The timer went off: twice as long from now on (RFC 6298 §5.5).
    pub(super) fn back_off(&mut self) {
        self.timeout = (self.timeout * 2).min(self.max);
    }

    /// Data begins, after a handshake in which the SYN was retransmitted (RFC 6298 §5.7).
    pub(super) fn begin_after_lost_syn(&mut self) {
        if self.smoothed.is_none() {
            self.timeout = AFTER_LOST_SYN.clamp(self.min, self.max);
        }
    }
}
