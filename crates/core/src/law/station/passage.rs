// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flow at one of the lines that it crosses. Most cross one.

use super::equations;
use crate::law::balance::Party;

/// The time over which it is found which line a flow has the least window at \[s\].
const BOUND_S: f64 = 1.0;

/// What the agent knows of a flow at a line.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    /// The line, by its place at the agent.
    pub(super) line: usize,
    /// What it has had here of its share.
    pub(super) party: Party,
    /// ρ̄ \[B/s\]; none before it is known.
    pub(super) rate: Option<f64>,
    /// What the flow's packets wait for other lines, in the mean \[s\].
    pub(super) elsewhere_s: f64,
    /// What the flow is thought to have waiting here, q_i \[B\].
    pub(super) waiting_bytes: f64,
    /// w here, in the mean \[B\]; none before it is known.
    window_bytes: Option<f64>,
    /// When the line last spoke in a packet of the flow \[s\].
    pub(super) last_s: f64,
}

impl Passage {
    /// A passage of which nothing is known.
    pub(super) fn new(line: usize, weight: f64) -> Self {
        Self {
            line,
            party: Party::new(weight),
            rate: None,
            elsewhere_s: 0.0,
            waiting_bytes: 0.0,
            window_bytes: None,
            last_s: 0.0,
        }
    }

    /// The line has spoken at `t_s` in a packet that waited elsewhere for `elsewhere_s`, of a flow whose delay is `d_s`.
    pub(super) fn spoke(&mut self, t_s: f64, elsewhere_s: f64, d_s: f64) {
        self.elsewhere_s = equations::follow(self.elsewhere_s, elsewhere_s, t_s - self.last_s, 1.0, d_s);
        self.last_s = t_s;
    }

    /// Follows the line's rate, where `elapsed_s` have passed since it last did, for a flow whose delay here is `d_s`.
    pub(super) fn follow(&mut self, rate: f64, elapsed_s: f64, (rise, fall): (f64, f64), d_s: f64) {
        let mean = self.rate.unwrap_or(rate);
        let rounds = if rate > mean { rise } else { fall };
        self.rate = Some(equations::follow(mean, rate, elapsed_s, rounds, d_s));
    }

    /// The flow may have `window_bytes` here, after `elapsed_s`.
    pub(super) fn offers(&mut self, window_bytes: f64, elapsed_s: f64) {
        let mean = self.window_bytes.unwrap_or(window_bytes);
        self.window_bytes = Some(equations::follow(mean, window_bytes, elapsed_s, 1.0, BOUND_S));
    }

    /// w in the mean \[B\]; infinite before it is known.
    pub(super) fn mean_window_bytes(&self) -> f64 {
        self.window_bytes.unwrap_or(f64::INFINITY)
    }
}
