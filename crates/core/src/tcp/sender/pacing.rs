// SPDX-License-Identifier: MIT OR Apache-2.0
//! New segments one by one, at a multiple of the window over the round trip.

use super::Sender;
use crate::units::{Duration, Instant};

/// When the next new segment may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Not before this.
    due: Instant,
    /// Whether one waits for it.
    waits: bool,
    /// When the timer goes off for it; none: it does not.
    at: Option<Instant>,
}

impl Pace {
    /// The sender has come to rest: when its timer is to go off for what waits.
    pub(super) fn arm(&mut self) -> Instant {
        self.at = std::mem::take(&mut self.waits).then_some(self.due);
        self.at.unwrap_or(Instant::MAX)
    }

    /// Whether the timer that goes off at `now` is this one.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        self.at.take_if(|at| *at <= now).is_some()
    }
}

impl Sender {
    /// Whether the next new segment has to wait; otherwise it leaves now.
    pub(super) fn is_held_back(&mut self) -> bool {
        let (now, rate) = (self.now, self.config.pacing * self.window.cwnd);
        let srtt_s = self.rto.srtt_s();
        let Some(t) = self.tracking.as_mut().filter(|_| rate > 0.0) else { return false };
        if now < t.pace.due {
            t.pace.waits = true;
        } else {
            t.pace.due = now + Duration::from_secs_f64(srtt_s / rate);
        }
        t.pace.waits
    }
}
