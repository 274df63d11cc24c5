// SPDX-License-Identifier: MIT OR Apache-2.0
//! A TCP beside a window that routers steer, for queues of the path that say nothing: the lesser of the two windows holds.

use crate::role::{AckSample, SenderLaw, Window};

/// The least slow-start threshold (RFC 5681 eq. 4).
const LEAST_THRESHOLD: f64 = 2.0;

/// A TCP by a law of its own, with a window of its own: without bound until it is first set.
#[derive(Clone, Debug)]
pub(crate) struct Beside<L> {
    law: L,
    window: Window,
}

impl<L: SenderLaw> Beside<L> {
    pub(crate) fn new(law: L) -> Self {
        Self { law, window: Window { cwnd: f64::INFINITY, ssthresh: f64::INFINITY } }
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Its congestion window \[segments\].
    pub(crate) fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Whether its window bounds anything yet.
    pub(crate) fn is_set(&self) -> bool {
        self.window.cwnd.is_finite()
    }

    /// It goes on from this window.
    pub(crate) fn set(&mut self, window: Window) {
        self.window = window;
    }

    /// Its window is this at most.
    pub(crate) fn bound(&mut self, most: f64) {
        self.window.cwnd = self.window.cwnd.min(most);
    }

    pub(crate) fn on_ack(&mut self, ack: &AckSample) {
        self.law.on_ack(&mut self.window, ack);
    }

    /// A loss, told by duplicates, of the window in force: what it leaves of that.
    pub(crate) fn on_loss(&mut self, in_force: &Window, flight: f64) -> f64 {
        let threshold = self.law.on_loss(in_force, flight);
        self.fall_back(threshold, threshold);
        threshold
    }

    /// A loss, told by the timer: one segment is left, and the threshold.
    pub(crate) fn on_timeout(&mut self, in_force: &Window, flight: f64) -> f64 {
        let threshold = self.law.on_timeout(in_force, flight);
        self.fall_back(1.0, threshold);
        threshold
    }

    fn fall_back(&mut self, cwnd: f64, threshold: f64) {
        let ssthresh = threshold.max(LEAST_THRESHOLD);
        self.window = Window { cwnd: cwnd.clamp(1.0, ssthresh), ssthresh };
    }
}
