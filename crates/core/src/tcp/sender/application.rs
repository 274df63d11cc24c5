// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the application does with a sender: it connects, writes, closes or breaks off.

use super::{Sender, State, Urgent};
use crate::units::{Bytes, Instant};

impl Sender {
    /// The application connects. A second call does nothing.
    pub fn open(&mut self, now: Instant) {
        self.begin_event(now);
        if self.state != State::Closed {
            return;
        }
        if self.config.handshake {
            self.state = State::SynSent;
            self.set_urgent(Urgent::Syn);
        } else {
            self.establish();
        }
    }

    /// The application hands over `bytes` more; [`Bytes::MAX`] never ends. Nothing happens after a close.
    pub fn write(&mut self, now: Instant, bytes: Bytes) {
        self.begin_event(now);
        if self.closed {
            return;
        }
        let is_idle = self.una == self.max && self.max > 0;
        if is_idle && self.config.restart_after_idle && now.saturating_since(self.last_sent) > self.rto.timeout() {
            // RFC 5681 §4.1: the restart window.
            let restart = f64::from(self.config.initial_window_segments());
            self.set_cwnd(self.window.cwnd.min(restart));
        }
        self.written = self.written.saturating_add(bytes.get());
        self.stats.finished = None;
        self.end_event();
    }

    /// The application writes no more. What it wrote is still delivered; an endless stream ends with what has
    /// been sent.
    pub fn close(&mut self, now: Instant) {
        if self.written == u64::MAX {
            self.stop(now);
        } else {
            self.begin_event(now);
            self.closed = true;
            self.end_event();
            if self.is_done() {
                self.finish();
            }
        }
    }

    /// The application breaks off: nothing is sent for the first time from now on. What is outstanding may be
    /// retransmitted.
    pub fn stop(&mut self, now: Instant) {
        self.begin_event(now);
        self.closed = true;
        self.written = self.written.min(self.max);
        self.end_event();
        if self.is_done() {
            self.finish();
        }
    }

    /// All that was written is acknowledged.
    #[cold]
    pub(super) fn finish(&mut self) {
        if self.stats.finished.is_none() {
            self.stats.finished = Some(self.now);
        }
        if self.closed {
            self.deadline = Instant::MAX;
            self.averages.end(self.now);
        }
    }
}
