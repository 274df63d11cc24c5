// SPDX-License-Identifier: MIT OR Apache-2.0
//! What γ and δ know of the path, and what they make of it.

use super::{Arming, Boost, Cut, CutRule, GammaParams, equations};
use crate::estimator::{Least, RoundTrips};
use crate::role::{AckSample, Window};
use crate::units::Instant;

/// The round-trip times of a flow, and where γ stands; times in whole nanoseconds.
#[derive(Clone, Debug)]
pub(in crate::law) struct Watch {
    gamma: Option<Cut>,
    delta: Option<Boost>,
    min_rtt: Least<f64>,
    max_rtt: f64,
    is_armed: bool,
    phase: Phase,
    round: Round,
    /// The least time of the round trip that the last acknowledgement ended.
    standing: Option<f64>,
}

/// The round trip that passes, and its least round-trip time so far.
#[derive(Clone, Copy, Debug)]
struct Round {
    trip: RoundTrips,
    least: Least<f64>,
}

impl Round {
    fn new(since: Instant) -> Self {
        Self { trip: RoundTrips::since(since), least: Least::new(f64::INFINITY) }
    }

    /// The least round-trip time, if the acknowledgement ends the round trip; the next one begins.
    fn pass(&mut self, ack: &AckSample, rtt: f64) -> Option<f64> {
        self.least.see(rtt);
        let least = self.least.value();
        self.trip.is_over(ack.sent(), ack.now).then(|| {
            self.least = Least::new(f64::INFINITY);
            least
        })
    }
}

/// Where γ stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Compares each round-trip time with the threshold.
    Watching,
    /// It was passed: the window is cut when this instant has come, a round trip later.
    Due(Instant),
    /// The window was cut then: until what was sent after that is acknowledged, round-trip times tell of before.
    Resting(Instant),
    /// A loss cut the window; as `Resting`, from the next acknowledgement on.
    Recovering,
}

impl Watch {
    pub(in crate::law) fn new(params: &GammaParams) -> Self {
        let drains = params.gamma.is_some_and(|cut| cut.variant == CutRule::Drain);
        Self {
            gamma: params.gamma,
            delta: params.delta,
            min_rtt: Least::new(f64::INFINITY),
            max_rtt: 0.0,
            is_armed: params.arming == Arming::RunningMaximum || drains,
            phase: Phase::Watching,
            round: Round::new(Instant::ZERO),
            standing: None,
        }
    }

    /// Takes a round-trip time in.
    pub(in crate::law) fn learn(&mut self, ack: &AckSample) {
        let rtt = ack.rtt.as_nanos() as f64;
        self.min_rtt.see(rtt);
        self.standing = self.round.pass(ack, rtt);
        if self.gamma.is_some_and(|cut| cut.variant == CutRule::Drain) {
            let standing = self.standing;
            self.max_rtt = standing.map_or(self.max_rtt, |standing| equations::fading_maximum(self.max_rtt, standing));
        } else {
            self.max_rtt = self.max_rtt.max(rtt);
        }
    }

    /// γ, after one acknowledgement that was learnt: the share of a window of `segments` that is left of it, if it is cut now.
    pub(in crate::law) fn cut(&mut self, ack: &AckSample, segments: f64) -> Option<f64> {
        let cut = self.gamma.filter(|_| self.is_armed)?;
        let (rtt, min_rtt) = (ack.rtt.as_nanos() as f64, self.min_rtt.value());
        let waits = |rtt| cut.variant == CutRule::Knee || equations::waits(rtt, min_rtt, segments);
        // While the least times of all round trips are alike, they tell nothing of the crests; one that waits is above them.
        let is_alike = cut.variant == CutRule::Drain && self.max_rtt <= min_rtt;
        let is_above = || waits(rtt) && (is_alike || equations::is_above(cut.threshold, rtt, min_rtt, self.max_rtt));
        match self.phase {
            Phase::Watching if is_above() => {
                self.phase = Phase::Due(ack.now + ack.rtt);
                self.round = Round::new(ack.now);
            }
            // No more than a train of the flow's own has waited, or what was there has gone.
            Phase::Due(_) if self.standing.is_some_and(|standing| !waits(standing)) => self.phase = Phase::Watching,
            Phase::Due(at) => {
                let share = match cut.variant {
                    CutRule::Knee => (ack.now >= at).then(|| equations::gamma(cut.threshold, min_rtt, self.max_rtt)),
                    CutRule::Drain => self.standing.map(|standing| equations::drain(min_rtt, standing)),
                };
                if share.is_some() {
                    self.phase = Phase::Resting(ack.now);
                }
                return share;
            }
            Phase::Resting(since) if ack.sent() >= since => self.phase = Phase::Watching,
            Phase::Recovering => self.phase = Phase::Resting(ack.now),
            Phase::Watching | Phase::Resting(_) => {}
        }
        None
    }

    /// δ, after one acknowledgement that was learnt: the segments that the window is to gain in a round trip, where the queue is
    /// short.
    pub(in crate::law) fn boost(&self, ack: &AckSample, window: &Window) -> Option<f64> {
        let delta = self.delta.filter(|_| self.is_armed)?;
        let rtt = ack.rtt.as_nanos() as f64;
        let is_short = equations::is_below(delta.threshold, rtt, self.min_rtt.value(), self.max_rtt);
        (is_short && !window.in_slow_start()).then_some(delta.increase)
    }

    /// A loss has cut the window.
    pub(in crate::law) fn note_loss(&mut self) {
        self.is_armed = true;
        self.phase = Phase::Recovering;
    }
}
