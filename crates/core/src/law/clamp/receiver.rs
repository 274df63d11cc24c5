// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver's side of CLAMP: the window it advertises.

use super::equations;
use crate::error::{ParameterError, ensure};
use crate::estimator::{Least, RateEstimator, RecentLeast, RoundBytes, SlidingRate, Smoothed};
use crate::parameter::{Parameter, above, above_to};
use crate::role::{DataSample, ReceiverLaw};
use crate::units::{Bytes, Duration, to_f64};
use crate::{kinds, parameters};

/// Weight of a new sample in the average round-trip time (RFC 6298's α).
const RTT_WEIGHT: f64 = 0.125;
/// Slow start's window is twice what a round trip brings, by design, and grows by as much within it.
const SLOW_START_ROOM: f64 = 2.0;
/// A queue is one for which each of so many packets has waited, up to twice as many: where a window grows, one waits for another now
/// and then.
const WAITING_PACKETS: f64 = 4.0;
/// And for more than this part of the round trip. Windows grow on for a round trip after that, so that it has to be small.
const WAITING_PART: f64 = 1.0 / 16.0;

parameters! {
    /// The receiver of CLAMP.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ClampParams {
        /// Bytes that the flow aims to keep in the queue; per second in the unscaled law (τ).
        pub tau: Bytes, in above(Bytes::ZERO);
        /// Weight: the flow's share of the queue's rate is φ/Σφ.
        pub phi: f64 = 1.0, in above(0.0);
        /// Packets over which the received rate is measured (α).
        pub packets: u32 = 1000, in 1..;
        /// Gain of the round-trip estimate (β).
        pub beta: f64 = 1e-3, in above_to(0.0, 1.0);
        /// Most that the window grows on one packet.
        pub max_increase: Bytes = Bytes::new(10_000), in above(Bytes::ZERO);
        /// Least window; one segment by default.
        pub min_window: Option<Bytes> = None, in above(Bytes::ZERO);
        /// The law of 2002 and 2003, φτ − pμ̂ without 1/d and with `tau` per second (clamp-report eq. 10b); otherwise
        /// (φτ − pμ̂)/d̂ (clamp eq. 14).
        pub unscaled: bool = false;
        /// How the window opens.
        pub slow_start: ReceiverSlowStart = ReceiverSlowStart::default();
        /// Growth is held while the window is this many times what arrives in a round trip, at least 1; 0 never holds. The papers
        /// ask for such a threshold and leave it open.
        pub hold: f64 = 2.0, in 0.0..;
        /// By what share of itself the window grows at least in a round trip while the queue is empty: no packet of the last
        /// round trip had a price, and the round-trip time is within a sixteenth of the least since. Near the window that filled the
        /// path when there was a price, it grows by an eighth of that or more. The papers' law grows by τ alone; 0 does so, and 0.3
        /// refills a path that is ten times as fast in nine round trips.
        pub refill: f64 = 0.0, in 0.0..=1.0;
    }
    check(p) {
        ensure(p.hold == 0.0 || p.hold >= 1.0, "hold", p.hold, "at least 1, or 0")?;
    }
}

kinds! {
    /// How a CLAMP receiver's window opens.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ReceiverSlowStart {
        /// Doubles each round trip until the price or a loss ends it (clamp §4.3).
        #[default]
        On = "on",
        /// By the law alone.
        Off = "off",
    }
}

/// A data packet, as the law sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClampArrival {
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
/// use lasthop_core::law::clamp::{ClampArrival, ClampParams, ClampReceiver, ReceiverSlowStart};
/// use lasthop_core::units::Bytes;
///
/// // τ = 500 B. Packets of 1000 B once a second, on a path of 1 s.
/// let params = ClampParams { slow_start: ReceiverSlowStart::Off, hold: 0.0, ..ClampParams::new(Bytes::new(500)) };
/// let mut receiver = ClampReceiver::new(params, 1000)?;
/// receiver.started(1.0);
/// let packet = |t_s, price_s| ClampArrival { t_s, size_bytes: 1000.0, payload_bytes: 1000.0, price_s, rtt_s: None };
/// receiver.received(&packet(0.0, 0.0), 64e3);
/// // (500 − 0.25 · 1000)/1 · 1 = 250 B more than the first segment.
/// assert_eq!(receiver.received(&packet(1.0, 0.25), 64e3), 1250.0);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClampReceiver<R = SlidingRate> {
    params: ClampParams,
    /// τ \[B; byte/s in the unscaled law\].
    tau: f64,
    /// The least window and the segment's size \[B\].
    min_window_bytes: f64,
    mss_bytes: f64,
    /// Largest growth by one packet \[B\].
    max_increase_bytes: f64,
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
    empty: Empty,
}

/// What tells of an empty queue.
#[derive(Clone, Copy, Debug)]
struct Empty {
    /// When packets began to come without a price \[s\], and the least round-trip time since \[s\]; none: the last one had one.
    unpriced: Option<(f64, Least<f64>)>,
    /// The last round-trip time \[s\].
    rtt_s: Option<f64>,
    /// The least of the last packets', by their count, and that count.
    recent_s: RecentLeast,
    samples: f64,
    /// μ̂ when the last price came \[B/s\]; zero before.
    priced_rate: f64,
}

impl Default for Empty {
    fn default() -> Self {
        Self {
            unpriced: None,
            rtt_s: None,
            recent_s: RecentLeast::new(WAITING_PACKETS),
            samples: 0.0,
            priced_rate: 0.0,
        }
    }
}

impl Empty {
    /// Takes in a packet, which came at the rate μ̂; the round-trip time \[s\] and what fills the path \[B; zero: not known\], if the
    /// queue seems to be empty.
    fn see(&mut self, arrival: &ClampArrival, rate: f64) -> Option<(f64, f64)> {
        if let Some(sample_s) = arrival.rtt_s {
            self.rtt_s = Some(sample_s);
            self.recent_s.see(self.samples, sample_s);
            self.samples += 1.0;
        }
        let (rtt_s, recent_s) = (self.rtt_s?, self.recent_s.value()?);
        if arrival.price_s > 0.0 {
            self.unpriced = None;
            self.priced_rate = rate;
            return None;
        }
        let (since_s, least_s) = self.unpriced.get_or_insert((arrival.t_s, Least::new(rtt_s)));
        least_s.see(rtt_s);
        (arrival.t_s - *since_s >= rtt_s && equations::is_empty(recent_s, least_s.value(), WAITING_PART))
            .then_some((rtt_s, self.priced_rate * least_s.value()))
    }
}

impl ClampReceiver {
    /// A receiver before its connection with segments of `mss` bytes, with the paper's estimator.
    ///
    /// # Errors
    /// If a parameter lies outside its domain.
    pub fn new(params: ClampParams, mss: u32) -> Result<Self, ParameterError> {
        params.validate()?;
        Self::with(params, mss, SlidingRate::new(params.packets as usize))
    }
}

impl<R: RateEstimator> ClampReceiver<R> {
    /// A receiver with an estimator of its own, in place of the one of so many `packets`.
    ///
    /// # Errors
    /// If a parameter lies outside its domain.
    pub fn with(params: ClampParams, mss: u32, arrivals: R) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self::of(params, f64::from(mss), arrivals))
    }

    /// The same, of parameters that are within their domains.
    pub(super) fn of(params: ClampParams, mss_bytes: f64, arrivals: R) -> Self {
        let min_window_bytes = params.min_window.map_or(mss_bytes, Bytes::as_f64);
        Self {
            params,
            tau: params.tau.as_f64(),
            min_window_bytes,
            mss_bytes,
            max_increase_bytes: params.max_increase.as_f64(),
            window_bytes: mss_bytes.max(min_window_bytes),
            slow_start: params.slow_start == ReceiverSlowStart::On,
            arrivals,
            last_s: None,
            rate: 0.0,
            delay_s: 0.0,
            rtt_s: Smoothed::new(RTT_WEIGHT),
            round: RoundBytes::default(),
            empty: Empty::default(),
        }
    }

    /// The window starts with this many bytes, not with a segment, where that is more.
    pub(super) fn starting_at(self, window_bytes: f64) -> Self {
        Self { window_bytes: self.window_bytes.max(window_bytes), ..self }
    }

    /// The first data packet came `d0_s` after the SYN-ACK left: d̂ starts there. Without it (or with 0) d̂ starts
    /// as the first AWND/μ̂.
    pub fn started(&mut self, d0_s: f64) {
        self.delay_s = d0_s.max(0.0);
    }

    /// Takes in a data packet while the operating system would advertise `os_window_bytes`; returns w \[B\]. To be
    /// advertised is min(w, `os_window_bytes`) (clamp eq. 17), and never less than moves the right edge left.
    pub fn received(&mut self, arrival: &ClampArrival, os_window_bytes: f64) -> f64 {
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

        let force = equations::force(self.params.phi, self.tau, arrival.price_s, self.rate);
        let change_bytes = if gap_s == 0.0 {
            0.0
        } else if self.params.unscaled {
            equations::unscaled_change(force, gap_s)
        } else {
            equations::scaled_change(force, self.delay_s, gap_s)
        };
        let change_bytes = self.refilled(arrival, gap_s).map_or(change_bytes, |least| change_bytes.max(least));

        if self.slow_start && change_bytes >= 0.0 {
            if may_grow {
                self.window_bytes = equations::slow_start(self.window_bytes, self.mss_bytes);
            }
        } else if self.slow_start {
            self.end_slow_start();
        } else {
            let most_bytes = if may_grow { self.max_increase_bytes } else { 0.0 };
            let change_bytes = equations::clipped(change_bytes, arrival.payload_bytes, most_bytes);
            self.window_bytes = larger(self.window_bytes + change_bytes, self.min_window_bytes);
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
        self.window_bytes = equations::end_of_slow_start(self.window_bytes).max(self.min_window_bytes);
    }

    /// By how much the window grows at least because the queue is empty \[B\], if it is.
    fn refilled(&mut self, arrival: &ClampArrival, gap_s: f64) -> Option<f64> {
        let gamma = self.params.refill;
        let empty = if gamma > 0.0 { self.empty.see(arrival, self.rate) } else { None };
        empty.map(|(rtt_s, full_bytes)| {
            let part = equations::refill_part(self.window_bytes, full_bytes);
            equations::refill(self.window_bytes, gamma * part, rtt_s, gap_s)
        })
    }

    /// Whether the window is still within reach of what arrives in a round trip. That is the larger of μ̂·RTT, which
    /// lags while the flow speeds up, and of what came in this round or the last.
    fn may_grow(&mut self, arrival: &ClampArrival) -> bool {
        if let Some(sample_s) = arrival.rtt_s {
            self.rtt_s.push(sample_s);
        }
        let hold = self.params.hold;
        let Some(rtt_s) = self.rtt_s.value().filter(|_| hold > 0.0) else { return true };
        self.round.push(arrival.t_s, arrival.size_bytes, rtt_s);
        let per_round_bytes = larger(larger(self.rate * rtt_s, self.round.bytes()), self.round.before_bytes());
        let room = if self.slow_start { SLOW_START_ROOM } else { 1.0 };
        self.window_bytes <= hold * room * per_round_bytes
    }
}

impl ReceiverLaw for ClampReceiver {
    type Params = ClampParams;

    fn set_up(params: ClampParams, mss: u32) -> Result<Self, ParameterError> {
        Self::new(params, mss)
    }

    fn first_window(&self, os_window: Bytes) -> Bytes {
        whole_bytes(self.window_bytes()).min(os_window)
    }

    fn on_start(&mut self, d0: Duration) {
        self.started(d0.as_secs_f64());
    }

    #[inline]
    fn on_packet(&mut self, sample: &DataSample, os_window: Bytes) -> Bytes {
        let arrival = ClampArrival {
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

/// Those of clamp §5: τ = 500 B.
impl Default for ClampParams {
    fn default() -> Self {
        Self::new(Bytes::new(500))
    }
}

/// Rounds down to whole bytes, of which no window has more than 32 bits: this conversion is the cheap one.
#[inline]
fn whole_bytes(bytes: f64) -> Bytes {
    Bytes::new(u64::from(bytes as u32))
}

/// The larger of two numbers, neither of which is none: `f64::max` takes six instructions more, a packet.
#[inline]
fn larger(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

/// Nanoseconds in seconds, by a multiplication: a packet's path has no room for a division.
#[inline]
fn seconds(ns: u64) -> f64 {
    to_f64(ns) * 1e-9
}
