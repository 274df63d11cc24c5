// SPDX-License-Identifier: MIT OR Apache-2.0
//! A price that finds its a by itself: the queue is as long as is wanted, in time, however many flows there are.
//!
//! Under the paper's price the queue grows with the flows, (kτ + a)/b, and its delay falls as the line becomes faster. Here what the k
//! flows want, kτ, is found by an integral of what the queue is too long.

use super::equations;
use super::router::{AtArrivals, Average};
use crate::error::ParameterError;
use crate::estimator::{BusyRate, QueueAverage, QueueEstimator, RateEstimator};
use crate::packet::Signal;
use crate::parameter::{Parameter, above};
use crate::parameters;
use crate::role::{Held, MarkerLaw, Passing};
use crate::units::{Bytes, Duration, Instant};

parameters! {
    /// The parameters of the integral price.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct IntegralParams {
        /// T: the queue that is wanted, as the time that the line takes for it.
        pub target: Duration, in above(Duration::ZERO);
        /// Gain on what the queue is too long, as `b` of the other prices; below π/2 by as much as the integral takes of the phase.
        pub b: f64 = 0.5, in above(0.0);
        /// Gain of the integral per second: about b over the time in which a has come to where it belongs, which is to be ten round
        /// trips or more.
        pub integral: f64 = 0.2, in above(0.0);
        /// ε: by what share of its error each packet corrects what is held, from the first one on that waits for T. The queue over the
        /// rate of the busy line is held, and on a line that fades packets wait for more or less than that; with 2·10⁻⁵ they come to
        /// wait for T in the mean, in some fifty thousand packets, and a step of the rate moves what is held by little. It stays where
        /// there has been no price for five seconds, as of flows that have no more to send, or no packet that waited for less.
        pub correction: f64 = 2e-5, in 0.0..=0.01;
        /// How the queue is averaged. An average takes of the phase, but without one the price answers to bunches of packets, which
        /// go round on paths whose round-trip times are far apart.
        pub average: Average = Average::AtArrivals(AtArrivals { gain: 2.0 });
    }
}

/// For how long without a price what is held is still raised, and for how long it is still lowered while no packet waits for less than the
/// target: longer than a fade of somebody who walks \[s\].
const OBEYS_S: f64 = 5.0;

/// One queue's agent at the access router, with the integral price.
///
/// ```
/// use lasthop_core::law::clamp::{Average, IntegralParams, IntegralRouter};
/// use lasthop_core::units::Duration;
///
/// let params = IntegralParams { b: 1.0, integral: 0.5, average: Average::Raw, ..IntegralParams::new(Duration::from_millis(500)) };
/// let mut router = IntegralRouter::new(params)?;
/// router.arrived(0.0, 2000.0, true);
/// assert_eq!(router.price_s(), 0.0, "no rate is known");
/// // A packet of 1000 B takes 1 s: μ_c = 1000 B/s. What is left takes as long, half a second too long.
/// router.departed(1.0, 1000.0, 1000.0);
/// assert!((router.price_s() - 0.5).abs() < 1e-9);
/// // A second of that at 0.5 a second is a quarter of a second more.
/// router.departed(2.0, 1000.0, 1000.0);
/// assert!((router.price_s() - 0.75).abs() < 1e-9);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IntegralRouter {
    target_s: f64,
    /// S: what is held in its place \[s\].
    held_s: f64,
    /// Whether a packet has waited for the target: until then the flows are only on their way to it.
    was_reached: bool,
    b: f64,
    gain: f64,
    correction: f64,
    queue: QueueAverage,
    /// μ_c, while the line is busy: with idle time in it a line that starts would seem slow, and its queue long.
    service: BusyRate,
    /// I \[s\].
    integral_s: f64,
    /// When it was brought forward last \[s\]; none while no rate was known.
    last_s: Option<f64>,
    /// Since when the line rests \[s\].
    rests_s: Option<f64>,
    /// When the price was last above 0 \[s\].
    priced_s: f64,
    /// When a packet last waited for less than the target \[s\].
    short_s: f64,
}

impl IntegralRouter {
    /// A router whose queue is empty.
    ///
    /// # Errors
    /// If a parameter lies outside the domain its field states.
    pub fn new(params: IntegralParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self {
            target_s: params.target.as_secs_f64(),
            held_s: params.target.as_secs_f64(),
            was_reached: false,
            b: params.b,
            gain: params.integral,
            correction: params.correction,
            queue: params.average.estimator(),
            service: BusyRate::default(),
            integral_s: 0.0,
            last_s: None,
            rests_s: None,
            priced_s: 0.0,
            short_s: 0.0,
        })
    }

    /// A packet has joined the queue at `t_s`, which holds `queue_bytes` with it, and nothing else if it `is_alone`.
    #[inline]
    pub fn arrived(&mut self, t_s: f64, queue_bytes: f64, is_alone: bool) {
        if is_alone {
            self.service.begin(t_s);
        }
        // Where windows cannot obey, as of those that have a segment each, the price rises however little it does, and would be in the
        // way for as long afterwards: a line that rests shows that there is nothing to ask for.
        if let Some(since_s) = self.rests_s.take() {
            self.integral_s = equations::integral_at_rest(self.integral_s, self.held_s, self.b, t_s - since_s);
        }
        self.queue.on_arrival(t_s, queue_bytes);
    }

    /// A packet of `size_bytes` has left at `t_s`, and `queue_bytes` are behind it.
    #[inline]
    pub fn departed(&mut self, t_s: f64, size_bytes: f64, queue_bytes: f64) {
        // The queue of now stands for all the time since the last departure.
        if let (Some(wait_s), Some(last_s)) = (self.wait_s(), self.last_s) {
            self.integral_s = equations::integral(self.integral_s, wait_s, self.held_s, self.gain, t_s - last_s);
        }
        self.service.push(t_s, size_bytes);
        self.queue.on_change(t_s, queue_bytes);
        self.last_s = Some(t_s);
    }

    /// Nothing is left to pass at `t_s`.
    pub fn rests(&mut self, t_s: f64) {
        self.service.rest(t_s);
        self.rests_s = Some(t_s);
    }

    /// The packet that leaves at `t_s` has waited for `waited_s`.
    #[inline]
    pub fn waited(&mut self, t_s: f64, waited_s: f64) {
        self.was_reached |= waited_s >= self.target_s;
        // Where there has been no price for a while, it is not that which makes the queue short; and where it is always too long, no price
        // makes it shorter.
        let asked_s = if waited_s < self.target_s {
            self.short_s = t_s;
            self.priced_s
        } else {
            self.short_s
        };
        if self.correction > 0.0 && self.was_reached && t_s - asked_s <= OBEYS_S {
            self.held_s = equations::corrected(self.held_s, waited_s, self.target_s, self.correction);
        }
    }

    /// How long the line takes for the queue \[s\]; `None` before a packet has left.
    #[inline]
    fn wait_s(&self) -> Option<f64> {
        self.service.rate().filter(|&rate| rate > 0.0).map(|rate| self.queue.bytes() / rate)
    }

    /// The price \[s\]; zero as long as the service rate is unknown.
    #[inline]
    pub fn price_s(&self) -> f64 {
        self.wait_s().map_or(0.0, |wait_s| equations::integral_price(wait_s, self.held_s, self.b, self.integral_s))
    }
}

impl MarkerLaw for IntegralRouter {
    type Params = IntegralParams;

    fn set_up(params: IntegralParams) -> Result<Self, ParameterError> {
        Self::new(params).map_err(|error| error.within("price"))
    }

    #[inline]
    fn on_arrival(&mut self, now: Instant, _packet: Passing, held: Held, _signal: &Signal) {
        self.arrived(now.as_secs_f64(), held.bytes.as_f64(), held.packets == 1);
    }

    fn on_rest(&mut self, now: Instant) {
        self.rests(now.as_secs_f64());
    }

    fn on_drop(&mut self, now: Instant, queued: Bytes) {
        self.queue.on_change(now.as_secs_f64(), queued.as_f64());
    }

    #[inline]
    fn on_departure(&mut self, now: Instant, packet: Passing, held: Held, signal: &mut Signal) {
        let t_s = now.as_secs_f64();
        self.waited(t_s, now.saturating_since(packet.arrived).as_secs_f64());
        self.departed(t_s, packet.size.as_f64(), held.bytes.as_f64());
        let price_s = self.price_s();
        if price_s > 0.0 {
            self.priced_s = t_s;
        }
        signal.raise_price(price_s);
    }

    fn average_bytes(&self) -> Option<f64> {
        Some(self.queue.bytes())
    }

    fn price(&self) -> Option<f64> {
        Some(self.price_s())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= beyond#16
    //= beyond#17
    #[test]
    fn the_integral_is_what_the_flows_want() {
        // 30 ms where 20 are wanted, for 2 s at 0.5 a second: 10 ms; and what is far too much counts as the target itself.
        assert!((equations::integral(0.005, 0.03, 0.02, 0.5, 2.0) - 0.015).abs() < 1e-15);
        assert!((equations::integral(0.0, 9.0, 0.02, 0.5, 2.0) - 0.02).abs() < 1e-15);
        assert_eq!(equations::integral(0.005, 0.0, 0.02, 0.5, 2.0), 0.0);
        assert!((equations::integral_price(0.03, 0.02, 0.5, 0.004) - 0.009).abs() < 1e-15);
        assert_eq!(equations::integral_price(0.0, 0.02, 0.5, 0.004), 0.0);
    }

    /// Windows as a fluid, 10 Mbit/s and 50 ms: each of `flows` moves by (τ − pμ/k)/d, and the queue is what the line does not carry.
    fn queue_s(flows: f64, seconds: u32) -> f64 {
        let (rate, delay_s, tau) = (1.25e6, 0.05, 500.0_f64);
        let mut router = IntegralRouter::new(IntegralParams::new(Duration::from_millis(25))).unwrap();
        let mut windows: f64 = rate * delay_s;
        let mut prices = vec![0.0; 50];
        router.arrived(0.0, 0.0, true);
        for step in 1..=seconds as usize * 1000 {
            let queue = (windows - rate * delay_s).max(0.0);
            router.arrived(step as f64 * 1e-3, queue, false);
            router.departed(step as f64 * 1e-3, rate * 1e-3, queue);
            let price = std::mem::replace(&mut prices[step % 50], router.price_s());
            windows += (flows * tau - price * rate) / delay_s * 1e-3;
        }
        (windows / rate - delay_s) * 1e3
    }

    #[test]
    fn the_queue_is_what_is_wanted_whatever_the_flows() {
        for flows in [1.0, 4.0, 16.0, 32.0] {
            let ms = queue_s(flows, 60);
            assert!((ms - 25.0).abs() < 0.25, "{flows}: {ms} ms");
        }
    }

    //= beyond#26
    #[test]
    fn a_line_that_rests_lets_go_of_what_no_window_obeys() {
        assert!((equations::integral_at_rest(0.21, 0.02, 0.5, 0.5) - 0.01 - 0.2 * libm::exp(-1.0)).abs() < 1e-15);
        assert_eq!(equations::integral_at_rest(0.01, 0.02, 0.5, 0.5), 0.01, "an empty queue has no price");
        let mut router = IntegralRouter::new(IntegralParams::new(Duration::from_millis(25))).unwrap();
        // For a minute a queue stands that no price makes shorter: 25 ms too long at .2 a second are .3 s.
        for step in 1..=60_000 {
            router.arrived(f64::from(step) * 1e-3, 125e3, step == 1);
            router.departed(f64::from(step) * 1e-3, 1250.0, 125e3);
        }
        assert!((router.integral_s / 0.3 - 1.0).abs() < 0.01, "{}", router.integral_s);
        router.departed(60.001, 1250.0, 0.0);
        router.rests(60.002);
        router.arrived(62.502, 1250.0, true);
        assert!((router.integral_s - 0.0125 - 0.2875 * libm::exp(-5.0)).abs() < 1e-4, "{}", router.integral_s);
    }

    //= beyond#22
    #[test]
    fn what_is_held_stays_where_the_price_does_nothing() {
        let params = IntegralParams { correction: 0.01, ..IntegralParams::new(Duration::from_millis(25)) };
        let mut router = IntegralRouter::new(params).unwrap();
        router.waited(0.0, 0.025);
        router.waited(1.0, 0.0);
        let held_s = router.held_s;
        assert!(held_s > 0.025);
        router.waited(6.0, 0.0);
        assert_eq!(router.held_s, held_s, "nobody asks for more");
        router.waited(7.0, 0.05);
        let lower_s = router.held_s;
        assert!(lower_s < held_s);
        router.waited(12.0, 0.05);
        assert_eq!(router.held_s, lower_s, "nobody obeys");
    }

    //= beyond#22
    #[test]
    fn what_is_held_moves_until_packets_wait_for_the_target() {
        // 25 ms too long with ε = 0.01: 0.25 ms less; never below a quarter of the target nor above four times it.
        assert!((equations::corrected(0.025, 0.05, 0.025, 0.01) - 0.02475).abs() < 1e-15);
        assert_eq!(equations::corrected(0.025, 9.0, 0.025, 0.01), 0.00625);
        assert_eq!(equations::corrected(0.1, 0.0, 0.025, 0.01), 0.1);
        let usual = IntegralParams { correction: 0.01, ..IntegralParams::new(Duration::from_millis(25)) };
        let mut router = IntegralRouter::new(usual).unwrap();
        router.waited(0.0, 0.02);
        assert_eq!(router.held_s, 0.025, "the queue is on its way to the target");
        router.waited(0.0, 0.05);
        assert!((router.held_s - 0.02475).abs() < 1e-15);
        router = IntegralRouter::new(IntegralParams { correction: 0.0, ..usual }).unwrap();
        router.waited(0.0, 0.05);
        assert_eq!(router.held_s, 0.025);
    }

    #[test]
    fn what_is_no_price_is_refused() {
        let usual = IntegralParams::new(Duration::from_millis(25));
        let key = |params| IntegralRouter::new(params).unwrap_err().key;
        assert_eq!(key(IntegralParams { b: 0.0, ..usual }), "b");
        assert_eq!(key(IntegralParams { integral: 0.0, ..usual }), "integral");
        assert_eq!(key(IntegralParams { correction: 0.1, ..usual }), "correction");
        assert_eq!(key(IntegralParams::new(Duration::ZERO)), "target");
    }
}
