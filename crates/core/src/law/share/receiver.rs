// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver's side of the share window: the window it advertises.

use super::equations;
use crate::error::ParameterError;
use crate::estimator::RecentLeast;
use crate::law::balance::Visit;
use crate::packet::ShareStamp;
use crate::parameter::{Parameter, above, above_to};
use crate::parameters;
use crate::role::{DataSample, Pools, ReceiverLaw};
use crate::units::{Bytes, Duration, Instant};

/// g by default, unless the setting is fair.
pub const G: f64 = 0.88;
/// c: time constant of the share in round trips, upwards and downwards, unless the setting is fair.
pub const RISE: f64 = 1.5;
/// See [`RISE`].
pub const FALL: f64 = 1.25;
/// c both ways in the fair setting.
const FAIR_ROUNDS: f64 = 2.0;
/// θ by default, unless the setting is fair.
pub const THETA: Duration = Duration::from_millis(50);
/// Segments that a flow may send before a router has spoken.
const FIRST_SEGMENTS: f64 = 10.0;

parameters! {
    /// The receiver of the share window.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ReceiverKeys {
        /// φ: the flow's part of the line is φ/Σφ. The routers of its path are told.
        pub weight: f64 = 1.0, in 0.001..=1000.0;
        /// The fair setting, for weights and long round trips on lines that change: g is 1, θ 0, `rise` and `fall` 2 by default. Routers have a switch
        /// of the same name.
        pub fair: bool = false;
        /// g: part of the bytes on the propagation path that is counted on; 0.88 by default, 1 where it is fair.
        pub g: Option<f64> = None, in above_to(0.0, 1.0);
        /// θ: how long it takes, about, until the queue is by itself no longer too short or too long; 50 ms by default, 0 where it is fair. At once
        /// the part κ = θ/(θ + d) of that is made up for: less where it would come late. The loop is stable for every set of delays.
        pub theta: Option<Duration> = None;
        /// Whether the weights of the flows of one host lean until each has its part of what they all have; by default where it is fair.
        pub balance: Option<bool> = None;
        /// c upwards: the round trips in which a rising share is followed, 0: at once; 1.5 by default, 2 where it is fair.
        pub rise: Option<f64> = None, in 0.0..;
        /// c downwards; 1.25 by default, 2 where it is fair.
        pub fall: Option<f64> = None, in 0.0..;
        /// Whether windows between two segments are the one or the other in turn; otherwise they are rounded down.
        pub dither: bool = true;
        /// The delay is the least of the last one to two of these intervals.
        pub memory: Duration = Duration::from_secs(10), in above(Duration::ZERO);
    }
}

impl ReceiverKeys {
    /// Whether weights lean.
    pub fn balances(&self) -> bool {
        self.balance.unwrap_or(self.fair)
    }
}

/// A data packet, as the law sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareArrival {
    /// When it came \[s\].
    pub t_s: f64,
    /// Its size on the wire \[B\].
    pub size_bytes: f64,
    /// Its payload \[B\].
    pub payload_bytes: f64,
    /// What a router has told, if one has.
    pub stamp: Option<ShareStamp>,
    /// A sample of the round-trip time \[s\], if it gives one.
    pub rtt_s: Option<f64>,
}

/// One flow's agent at the receiver.
///
/// ```
/// use lasthop_core::law::share::{ShareArrival, ShareReceiver, ReceiverKeys};
/// use lasthop_core::packet::ShareStamp;
///
/// let mut receiver = ShareReceiver::new(ReceiverKeys::default(), 1000)?;
/// // A share of 100 kB/s, 5 ms in the queue where 25 are wanted, 20 ms of 120 there. A third of 20 ms is made up for, as
/// // 50/(50 + 100) is a third: w = 100 kB/s · (0.88 · 100 + 25 + 20/3) ms · 1000/1250.
/// let stamp = Some(ShareStamp { share: 1e5, target_s: 0.025, wait_s: 0.005, waited_s: 0.02 });
/// let packet = ShareArrival { t_s: 1.0, size_bytes: 1250.0, payload_bytes: 1000.0, stamp, rtt_s: Some(0.12) };
/// assert!((receiver.received(&packet).unwrap() - 9573.333).abs() < 1e-3);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShareReceiver {
    weight: f64,
    /// p.
    leaning: f64,
    /// Its number where the flows of its host meet; none before they have.
    number: Option<usize>,
    /// What it holds \[B of payload\], and since when \[s\].
    held_bytes: f64,
    held_s: f64,
    /// What its last packet tells those.
    told: Option<Visit>,
    g: f64,
    theta_s: f64,
    rise: f64,
    fall: f64,
    dither: Option<f64>,
    mss_bytes: f64,
    delay_s: RecentLeast,
    /// ρ̄ \[B/s\]; none before the first stamp.
    share: Option<f64>,
    /// When the last packet came \[s\].
    last_s: f64,
    /// w \[B\]; none before the first stamp.
    window_bytes: Option<f64>,
    /// Whether there is a router at all.
    has_router: bool,
}

impl ShareReceiver {
    /// A receiver before its connection with segments of `mss` bytes.
    ///
    /// # Errors
    /// If a parameter lies outside its domain.
    pub fn new(keys: ReceiverKeys, mss: u32) -> Result<Self, ParameterError> {
        keys.validate()?;
        Ok(Self {
            weight: keys.weight,
            leaning: keys.weight,
            number: None,
            held_bytes: 0.0,
            held_s: 0.0,
            told: None,
            g: keys.g.unwrap_or(if keys.fair { 1.0 } else { G }),
            theta_s: keys.theta.unwrap_or(if keys.fair { Duration::ZERO } else { THETA }).as_secs_f64(),
            rise: keys.rise.unwrap_or(if keys.fair { FAIR_ROUNDS } else { RISE }),
            fall: keys.fall.unwrap_or(if keys.fair { FAIR_ROUNDS } else { FALL }),
            dither: keys.dither.then_some(0.0),
            mss_bytes: f64::from(mss),
            delay_s: RecentLeast::new(keys.memory.as_secs_f64()),
            share: None,
            last_s: 0.0,
            window_bytes: None,
            has_router: false,
        })
    }

    /// The window before any router has spoken \[B\].
    pub fn first_window_bytes(&self) -> f64 {
        FIRST_SEGMENTS * self.mss_bytes
    }

    /// Takes in a data packet; returns w \[B\], none before a router has told a share.
    pub fn received(&mut self, arrival: &ShareArrival) -> Option<f64> {
        let gap_s = arrival.t_s - self.last_s;
        self.last_s = arrival.t_s;
        let stamp = arrival.stamp?;
        self.has_router = true;
        if stamp.share <= 0.0 {
            return self.window_bytes;
        }
        if let Some(rtt_s) = arrival.rtt_s {
            self.delay_s.see(arrival.t_s, equations::propagation(rtt_s, f64::from(stamp.waited_s)));
        }
        let delay_s = self.delay_s.value()?;
        let share = f64::from(stamp.share);
        let mean = match self.share {
            Some(mean) => {
                let rounds = if share > mean { self.rise } else { self.fall };
                equations::follow(mean, share, gap_s, rounds, delay_s)
            }
            None => share,
        };
        self.share = Some(mean);
        let payload = arrival.payload_bytes / arrival.size_bytes;
        if self.held_s > 0.0 {
            let way_s = delay_s + f64::from(stamp.waited_s);
            let (bytes, elapsed_s) = (arrival.payload_bytes, arrival.t_s - self.held_s);
            self.told = Some(Visit { bytes, way_s, held_bytes: self.held_bytes, elapsed_s, share });
        }
        self.held_s = arrival.t_s;
        self.held_bytes = (self.held_bytes - arrival.payload_bytes).max(0.0);
        let kappa = equations::kappa(self.theta_s, delay_s);
        let room_s = equations::room(f64::from(stamp.target_s), kappa, f64::from(stamp.wait_s));
        let path_s = equations::counted_path(self.g, delay_s, f64::from(stamp.target_s));
        self.window_bytes = Some(equations::window(self.leaning, mean, path_s, room_s, payload));
        self.window_bytes
    }

    /// What is to be advertised now \[B\]: whole segments, one at least. The dither moves on. What `delayed` segments have freed, in the
    /// mean, is told by a later acknowledgement; the window is so much larger.
    pub fn advertise(&mut self, delayed: f64) -> Option<f64> {
        let window_bytes = self.window_bytes? + delayed * self.mss_bytes;
        self.dither = self.dither.map(equations::next_dither);
        let bytes = equations::advertised(window_bytes, self.mss_bytes, self.dither.unwrap_or(0.0));
        self.held_bytes = self.held_bytes.max(bytes);
        Some(bytes)
    }

    /// d \[s\]: the round trip without the queue; none before the first stamp.
    pub fn delay_s(&self) -> Option<f64> {
        self.delay_s.value()
    }

    /// ρ̄ \[B/s\]: the share as it is followed; none before the first stamp.
    pub fn share(&self) -> Option<f64> {
        self.share
    }
}

impl ReceiverLaw for ShareReceiver {
    type Params = ReceiverKeys;

    fn set_up(params: ReceiverKeys, mss: u32) -> Result<Self, ParameterError> {
        Self::new(params, mss)
    }

    fn first_window(&self, os_window: Bytes) -> Bytes {
        Bytes::new(self.first_window_bytes() as u64).min(os_window)
    }

    fn is_prompt(&self) -> bool {
        true
    }

    fn meet_others(&mut self, now: Instant, pool: &mut Pools) {
        let Some(told) = self.told.take() else { return };
        let number = *self.number.get_or_insert_with(|| pool.share.join(self.weight));
        self.leaning = pool.share.meet(number, now.as_secs_f64(), told);
    }

    /// Where there is no router on the path, the window is the operating system's.
    fn on_packet(&mut self, sample: &DataSample, os_window: Bytes) -> Bytes {
        self.received(&ShareArrival {
            t_s: sample.now.as_secs_f64(),
            size_bytes: sample.size.as_f64(),
            payload_bytes: f64::from(sample.payload),
            stamp: sample.signal.share(),
            rtt_s: sample.rtt.map(|rtt| rtt.as_secs_f64()),
        });
        match self.advertise(sample.delayed) {
            Some(bytes) => Bytes::new(bytes as u64).min(os_window),
            None if self.has_router => self.first_window(os_window),
            None => os_window,
        }
    }
}
