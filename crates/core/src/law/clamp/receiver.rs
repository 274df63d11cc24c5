// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver's side of CLAMP: the window it advertises.

use super::equations;
use crate::error::{ParameterError, ensure};
use crate::estimator::{RateEstimator, RoundBytes, SlidingRate, Smoothed};
use crate::role::{DataSample, ReceiverLaw};
use crate::units::{Bytes, Duration};

/// Weight of a new sample in the average round-trip time (RFC 6298's α).
const RTT_WEIGHT: f64 = 0.125;
/// Slow start's window is twice what a round trip brings, by design, and grows by as much within it.
const SLOW_START_ROOM: f64 = 2.0;

/// Whether the window's rate of change is divided by the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Variant {
    /// (φτ − pμ̂)/d̂, τ in bytes: clamp eq. 14, clamp-report eq. 2.
    #[default]
    Scaled,
    /// φτ − pμ̂, τ in byte/s: the law of 2002 and 2003, clamp-report eq. 10b.
    Unscaled,
}

/// What a CLAMP receiver is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverParams {
    /// τ \[B; byte/s in the unscaled law\], more than 0: what a flow of weight 1 keeps in the queue.
    pub tau: f64,
    /// φ, more than 0: the flow's weight.
    pub phi: f64,
    /// α, at least 1: packets over which the received rate is measured.
    pub alpha_packets: usize,
    /// β, in (0, 1]: weight of a new sample in d̂.
    pub beta: f64,
    /// Largest growth by one packet \[B\], more than 0.
    pub max_increase_bytes: f64,
    /// The least window \[B\], more than 0.
    pub min_window_bytes: f64,
    /// The connection's maximum segment size \[B\], more than 0.
    pub mss_bytes: f64,
    /// Scaled by the round-trip time or not.
    pub variant: Variant,
    /// Whether a connection starts with the receiver's slow start (clamp §4.3).
    pub slow_start: bool,
    /// The window grows no more while it is above this many times what arrives in a round trip (at least 1;
    /// `None`: it always may). The papers ask for such a threshold and leave it open.
    pub hold: Option<f64>,
}

impl ReceiverParams {
    /// The TMC paper's receiver with a target of `tau` bytes for segments of `mss_bytes`.
    pub fn new(tau: f64, mss_bytes: f64) -> Self {
        Self {
            tau,
            phi: 1.0,
            alpha_packets: 1000,
            beta: 0.001,
            max_increase_bytes: 10_000.0,
            min_window_bytes: mss_bytes,
            mss_bytes,
            variant: Variant::Scaled,
            slow_start: true,
            hold: Some(2.0),
        }
    }
}

/// A data packet, as the law sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When it came \[s\].
    pub t_s: f64,
    /// Its size on the wire \[B\]: rates are of these bytes, as the router's are.
    pub size_bytes: f64,
    /// Its payload \[B\]: by at most this much may the window shrink.
    pub payload_bytes: f64,
    /// The price it carries \[s\]; zero if none.
    pub price_s: f64,
    /// A sample of the round-trip time \[s\], if it gives one.
    pub rtt_s: Option<f64>,
}

/// One flow's agent at the receiver: composed of a rate at which its packets come.
///
/// ```
/// use lasthop_core::law::clamp::{Arrival, Receiver, ReceiverParams};
///
/// // τ = 500 B. Packets of 1000 B once a second, on a path of 1 s.
/// let params = ReceiverParams { slow_start: false, hold: None, ..ReceiverParams::new(500.0, 1000.0) };
/// let mut receiver = Receiver::new(params)?;
/// receiver.started(1.0);
/// let packet = |t_s, price_s| Arrival { t_s, size_bytes: 1000.0, payload_bytes: 1000.0, price_s, rtt_s: None };
/// receiver.received(&packet(0.0, 0.0), 64e3);
/// // (500 − 0.25 · 1000)/1 · 1 = 250 B more than the first segment.
/// assert_eq!(receiver.received(&packet(1.0, 0.25), 64e3), 1250.0);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Receiver<R = SlidingRate> {
    params: ReceiverParams,
    window_bytes: f64,
    slow_start: bool,
    arrivals: R,
    /// When the last packet came \[s\].
    last_s: Option<f64>,
    /// μ̂ \[B/s\]; zero before two packets have come at different times.
    rate: f64,
    /// d̂ \[s\]; zero: not known yet.
    delay_s: f64,
    rtt_s: Smoothed,
    round: RoundBytes,
}

impl Receiver {
    /// A receiver before its connection, with the paper's estimator.
    ///
    /// # Errors
    /// If a parameter lies outside the domain its field states.
    pub fn new(params: ReceiverParams) -> Result<Self, ParameterError> {
        ensure(params.alpha_packets > 0, "alpha", params.alpha_packets, "at least 1 packet")?;
        Self::with(params, SlidingRate::new(params.alpha_packets))
    }
}

impl<R: RateEstimator> Receiver<R> {
    /// A receiver with an estimator of its own, in place of the one that `alpha_packets` names.
    ///
    /// # Errors
    /// If another parameter lies outside the domain its field states.
    pub fn with(params: ReceiverParams, arrivals: R) -> Result<Self, ParameterError> {
        let positive = |key, value: f64, wanted| ensure(value.is_finite() && value > 0.0, key, value, wanted);
        positive("tau", params.tau, "more than 0 B")?;
        positive("phi", params.phi, "more than 0")?;
        positive("max_increase", params.max_increase_bytes, "more than 0 B")?;
        positive("min_window", params.min_window_bytes, "more than 0 B")?;
        positive("mss", params.mss_bytes, "more than 0 B")?;
        ensure(params.beta > 0.0 && params.beta <= 1.0, "beta", params.beta, "in (0, 1]")?;
        if let Some(hold) = params.hold {
            ensure(hold >= 1.0, "hold", hold, "at least 1")?;
        }
        Ok(Self {
            params,
            window_bytes: params.mss_bytes.max(params.min_window_bytes),
            slow_start: params.slow_start,
            arrivals,
            last_s: None,
            rate: 0.0,
            delay_s: 0.0,
            rtt_s: Smoothed::new(RTT_WEIGHT),
            round: RoundBytes::default(),
        })
    }

    /// The first data packet came `d0_s` after the SYN-ACK left: d̂ starts there. Without it (or with 0) d̂ starts
    /// as the first AWND/μ̂.
    pub fn started(&mut self, d0_s: f64) {
        self.delay_s = d0_s.max(0.0);
    }

    /// Takes in a data packet while the operating system would advertise `os_window_bytes`; returns w \[B\]. To be
    /// advertised is min(w, `os_window_bytes`) (clamp eq. 17), and never less than moves the right edge left.
    pub fn received(&mut self, arrival: &Arrival, os_window_bytes: f64) -> f64 {
        let gap_s = self.last_s.map_or(0.0, |last_s| arrival.t_s - last_s);
        self.last_s = Some(arrival.t_s);
        self.arrivals.push(arrival.t_s, arrival.size_bytes);
        if gap_s > 0.0
            && let Some(rate) = self.arrivals.rate()
        {
            self.rate = rate;
        }
        if self.rate > 0.0 {
            let awnd_bytes = equations::advertised(self.window_bytes, os_window_bytes);
            self.delay_s = equations::delay(self.delay_s, awnd_bytes, self.rate, self.params.beta);
        }
        let may_grow = self.may_grow(arrival);

        let params = &self.params;
        let force = equations::force(params.phi, params.tau, arrival.price_s, self.rate);
        let change_bytes = match params.variant {
            _ if gap_s == 0.0 => 0.0,
            Variant::Scaled => equations::scaled_change(force, self.delay_s, gap_s),
            Variant::Unscaled => equations::unscaled_change(force, gap_s),
        };

        if self.slow_start && change_bytes >= 0.0 {
            if may_grow {
                self.window_bytes = equations::slow_start(self.window_bytes, params.mss_bytes);
            }
        } else if self.slow_start {
            self.end_slow_start();
        } else {
            let most_bytes = if may_grow { params.max_increase_bytes } else { 0.0 };
            let change_bytes = equations::clipped(change_bytes, arrival.payload_bytes, most_bytes);
            self.window_bytes = (self.window_bytes + change_bytes).max(params.min_window_bytes);
        }
        self.window_bytes
    }

    /// The receiver has sent three duplicate ACKs: a packet is lost, and slow start is over.
    pub fn lost(&mut self) {
        if self.slow_start {
            self.end_slow_start();
        }
    }

    /// w \[B\].
    #[inline]
    pub fn window_bytes(&self) -> f64 {
        self.window_bytes
    }

    /// μ̂ \[B/s\]: the rate of the last α packets; zero before two have come.
    #[inline]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// d̂ \[s\]: the coarse round-trip time; zero before the start.
    #[inline]
    pub fn delay_s(&self) -> f64 {
        self.delay_s
    }

    /// Whether slow start still runs.
    pub fn in_slow_start(&self) -> bool {
        self.slow_start
    }

    fn end_slow_start(&mut self) {
        self.slow_start = false;
        self.window_bytes = equations::end_of_slow_start(self.window_bytes).max(self.params.min_window_bytes);
    }

    /// Whether the window is still within reach of what arrives in a round trip. That is the larger of μ̂·RTT, which
    /// lags while the flow speeds up, and of what came in this round or the last.
    fn may_grow(&mut self, arrival: &Arrival) -> bool {
        if let Some(sample_s) = arrival.rtt_s {
            self.rtt_s.push(sample_s);
        }
        let (Some(hold), Some(rtt_s)) = (self.params.hold, self.rtt_s.value()) else {
            return true;
        };
        self.round.push(arrival.t_s, arrival.size_bytes, rtt_s);
        let per_round_bytes = (self.rate * rtt_s).max(self.round.bytes()).max(self.round.before_bytes());
        let room = if self.slow_start { SLOW_START_ROOM } else { 1.0 };
        self.window_bytes <= hold * room * per_round_bytes
    }
}

impl ReceiverLaw for Receiver {
    type Params = ReceiverParams;

    fn set_up(params: ReceiverParams) -> Result<Self, ParameterError> {
        Self::new(params)
    }

    fn first_window(&self, os_window: Bytes) -> Bytes {
        whole_bytes(self.window_bytes()).min(os_window)
    }

    fn on_start(&mut self, d0: Duration) {
        self.started(d0.as_secs_f64());
    }

    #[inline]
    fn on_packet(&mut self, sample: &DataSample, os_window: Bytes) -> Bytes {
        let arrival = Arrival {
            t_s: seconds(sample.now.as_nanos()),
            size_bytes: sample.size.as_f64(),
            payload_bytes: f64::from(sample.payload),
            price_s: sample.signal.price().unwrap_or(0.0),
            rtt_s: sample.rtt.map(|rtt| seconds(rtt.as_nanos())),
        };
        whole_bytes(self.received(&arrival, os_window.as_f64())).min(os_window)
    }

    fn on_three_duplicate_acks(&mut self) {
        self.lost();
    }
}

/// Rounds down to whole bytes.
#[inline]
fn whole_bytes(bytes: f64) -> Bytes {
    Bytes::new(bytes as u64)
}

/// Nanoseconds in seconds, by a multiplication: a packet's path has no room for a division.
#[inline]
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
