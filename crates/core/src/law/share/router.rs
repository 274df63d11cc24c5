// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of the share window: the rate of the line, the flows that share it, the queue behind each packet.

use super::equations;
use super::limited::Limited;
use super::overbooked::Overbooked;
use crate::error::ParameterError;
use crate::estimator::{BusyRate, Present, RateEstimator};
use crate::packet::{ShareStamp, Signal};
use crate::parameter::{Parameter, above, above_to};
use crate::role::{Held, MarkerLaw, Passing};
use crate::units::{Duration, Instant};
use crate::{kinds, parameters};

/// T by default.
pub const TARGET: Duration = Duration::from_millis(25);
/// The greatest T: what a stamp holds.
const MOST_TARGET: Duration = Duration::from_secs(3);

parameters! {
    /// The share window's router: what each flow's share of the line is, and how long the queue takes.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ShareRouterParams {
        /// T: the standing queue that is wanted, as the time that the line takes for it. 25 ms carry most of what there is; 10 ms for
        /// delay, 40 to 60 ms for throughput, 5 to 10 ms on lines of constant rate.
        pub target: Duration = TARGET, in above_to(Duration::ZERO, MOST_TARGET);
        /// What the stamp holds.
        pub form: Form = Form::default();
        /// The fair setting: of the queue no more is told than that it is what is wanted, so that nothing is asked for at once. Receivers have
        /// a switch of the same name.
        pub fair: bool = false;
        /// For how long a flow that sends nothing keeps its part of the line; longer while packets wait for longer.
        pub memory: Duration = Duration::from_millis(300), in above(Duration::ZERO);
        /// A flow that takes less than this part of its share over a second and over four, by its application's doing or another queue's,
        /// counts for what it takes, and the others have the rest of its share; who goes while it has its share is none of these. By ½ nothing is lost by flows that are only slow to follow
        /// the line; with 0 every flow counts in full.
        pub limited: f64 = 0.5, in 0.0..1.0;
        /// While the line rests, shares are raised by up to so many times, though to no more than what those leave who take less than
        /// theirs at present: short downloads, which come and go too soon for each to be known for what it takes. It costs delay where flows
        /// of a long round trip share the line with bursts; with 1 shares are not raised.
        pub overbooking: f64 = 1.0, in 1.0..=64.0;
        /// Horizon of the line's rate, in busy time; by default the one of 25, 50 … 1600 ms that has foretold the rate best.
        pub horizon: Option<Duration> = None, in above(Duration::ZERO);
    }
}

kinds! {
    /// What a share window's stamp holds.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Form {
        /// The share ρ, the target T and how long the queue takes, and how long the packet itself has waited.
        #[default]
        TwoNumbers = "two-numbers",
        /// One number of 8 bits, in eighths of an octave: ρ, more or less by as much as the queue is too short or too long. κ plays no
        /// part, as the queue is told to be what is wanted. Receivers take the least round-trip time for their delay.
        OneInteger = "one-integer",
    }
}

/// One queue's agent at the access router.
///
/// ```
/// use lasthop_core::law::share::{ShareRouter, ShareRouterParams};
///
/// let mut router = ShareRouter::new(ShareRouterParams::default())?;
/// // Two flows; packets of 1500 B leave each 12 ms: 125 kB/s.
/// router.arrived(0.0, 1, true);
/// router.arrived(0.0, 2, false);
/// router.departed(0.012, (1, 1500.0), 0.0);
/// router.departed(0.024, (2, 1500.0), 0.0);
/// let stamp = router.stamp(1, 1250.0, 0.024);
/// assert!((stamp.share / 62_500.0 - 1.0).abs() < 1e-6);
/// // 1250 B take 10 ms, where 25 are wanted.
/// assert!((stamp.wait_s - 0.01).abs() < 1e-6 && (stamp.target_s - 0.025).abs() < 1e-6);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShareRouter {
    target_s: f64,
    fair: bool,
    form: Form,
    rate: BusyRate,
    flows: Present,
    limited: Option<Limited>,
    overbooked: Overbooked,
}

impl ShareRouter {
    /// A router whose queue is empty.
    ///
    /// # Errors
    /// If a parameter lies outside the domain its field states.
    pub fn new(params: ShareRouterParams) -> Result<Self, ParameterError> {
        params.validate()?;
        let horizon = params.horizon.map(|horizon| BusyRate::fixed(horizon.as_secs_f64()));
        Ok(Self {
            target_s: params.target.as_secs_f64(),
            fair: params.fair,
            form: params.form,
            rate: horizon.unwrap_or_default(),
            flows: Present::new(params.memory.as_secs_f64()),
            limited: (params.limited > 0.0 || params.overbooking > 1.0)
                .then(|| Limited::new(params.limited, params.memory.as_secs_f64())),
            overbooked: Overbooked::new(params.overbooking),
        })
    }

    /// A packet of `flow` has joined the queue at `t_s`, in which nothing else waits if it `is_alone`.
    #[inline]
    pub fn arrived(&mut self, t_s: f64, flow: u64, is_alone: bool) {
        if is_alone {
            self.rate.begin(t_s);
        }
        self.overbooked.arrived(t_s);
        self.flows.see(t_s, flow);
        if let Some(limited) = &mut self.limited {
            limited.arrived(t_s, flow);
        }
    }

    /// A packet of a flow, of so many bytes, has left at `t_s`; it came at `arrived_s`.
    #[inline]
    pub fn departed(&mut self, t_s: f64, (flow, size_bytes): (u64, f64), arrived_s: f64) {
        self.rate.push(t_s, size_bytes);
        self.flows.see(t_s, flow);
        self.flows.forget(t_s, arrived_s);
        self.overbooked.departed(t_s, t_s - arrived_s > 2.0 * self.target_s);
        if let (Some(limited), Some(rate)) = (&mut self.limited, self.rate.rate()) {
            let even = equations::share(rate, self.flows.weights());
            limited.departed(t_s, (flow, size_bytes), arrived_s, even);
        }
    }

    /// The line has nothing to send from `t_s` on.
    pub fn rested(&mut self, t_s: f64) {
        self.rate.rest(t_s);
        self.overbooked.rested(t_s);
    }

    /// The line's rate μ̂ \[B/s\]; none before a packet has been sent.
    pub fn line_rate(&self) -> Option<f64> {
        self.rate.rate().filter(|&rate| rate > 0.0)
    }

    /// What `flow` may have, for each of its weight, of a line of `rate`; without one, whichever takes its share.
    fn share(&self, flow: Option<u64>, rate: f64) -> f64 {
        let weights = self.flows.weights();
        match &self.limited {
            Some(limited) if weights > 0.0 => limited.share(flow, rate, weights, self.overbooked.times()),
            _ => equations::share(rate, if weights > 0.0 { weights } else { 1.0 }),
        }
    }

    /// Whether its stamps tell what a packet has waited.
    pub fn tells_waits(&self) -> bool {
        self.form == Form::TwoNumbers
    }

    /// Φ: the sum of the weights of the flows that are there.
    pub fn weights(&self) -> f64 {
        self.flows.weights()
    }

    /// What a packet of `flow` is told that has waited for `waited_s` and leaves `behind_bytes`: no share while the line's rate is unknown.
    #[inline]
    pub fn stamp(&self, flow: u64, behind_bytes: f64, waited_s: f64) -> ShareStamp {
        let as_wanted =
            ShareStamp { share: 0.0, target_s: self.target_s as f32, wait_s: self.target_s as f32, waited_s: 0.0 };
        let Some(rate) = self.line_rate() else { return as_wanted };
        let share = self.share(Some(flow), rate);
        let wait_s = equations::wait(behind_bytes, rate);
        match self.form {
            Form::TwoNumbers => {
                let told = ShareStamp { share: share as f32, waited_s: waited_s as f32, ..as_wanted };
                if self.fair { told } else { ShareStamp { wait_s: wait_s as f32, ..told } }
            }
            Form::OneInteger => {
                let code = equations::code(equations::one_number(share, self.target_s, wait_s));
                ShareStamp { share: equations::rate_of(code) as f32, ..as_wanted }
            }
        }
    }
}

impl MarkerLaw for ShareRouter {
    type Params = ShareRouterParams;

    fn set_up(params: ShareRouterParams) -> Result<Self, ParameterError> {
        Self::new(params)
    }

    fn weigh(&mut self, flow: u64, weight: f64) {
        self.flows.weigh(flow, weight);
        if let Some(limited) = &mut self.limited {
            limited.weigh(flow, weight);
        }
    }

    #[inline]
    fn on_arrival(&mut self, now: Instant, packet: Passing, held: Held, _signal: &Signal) {
        self.arrived(now.as_secs_f64(), packet.flow, held.packets == 1);
    }

    #[inline]
    fn on_departure(&mut self, now: Instant, packet: Passing, held: Held, signal: &mut Signal) {
        self.departed(now.as_secs_f64(), (packet.flow, packet.size.as_f64()), packet.arrived.as_secs_f64());
        signal.lower_share(self.stamp(packet.flow, held.bytes.as_f64(), (now - packet.arrived).as_secs_f64()));
    }

    fn on_rest(&mut self, now: Instant) {
        self.rested(now.as_secs_f64());
    }

    /// What a flow of weight 1 may have that takes its share, and the line's rate.
    fn fair_rate(&self) -> Option<(f64, f64)> {
        let rate = self.line_rate()?;
        Some((self.share(None, rate), rate))
    }
}
