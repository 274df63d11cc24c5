// SPDX-License-Identifier: MIT OR Apache-2.0
//! One sender on the medium: its queue, the packet that its MAC holds, its back-off.

use super::timing::MacConfig;
use crate::error::ParameterError;
use crate::packet::Parcel;
use crate::queue::{Queue, QueueConfig};
use crate::rng::{Stream, Streams};
use crate::stats::Span;
use crate::units::{Duration, Instant, Rate};

/// The base station or a station, as a contender for the medium.
#[derive(Debug)]
pub struct Interface<P> {
    name: String,
    pub(super) queue: Queue<P>,
    /// The packet that the MAC holds: it has left the queue, as in a network card.
    pub(super) held: Option<P>,
    /// Whether the MAC is with a packet that needs no further attempt, until the exchange ends.
    pub(super) ending: bool,
    /// Packets that waited for the MAC when it sent last, as it tells the base station with what it sends (IEEE 802.11e's queue
    /// size).
    pub(super) told: usize,
    /// Whether its attempt is the one, or one of those, that starts now.
    pub(super) sends: bool,
    /// When the MAC got its packet.
    pub(super) ready: Instant,
    /// Slots to be idle from the instant on from which they count; none: the back-off is over.
    pub(super) backoff: Option<u64>,
    contention: Contention,
    stream: Stream,
    pub(super) access: AccessMeter,
}

/// The contention window and what moves it.
#[derive(Clone, Copy, Debug)]
struct Contention {
    window: u32,
    min: u32,
    max: u32,
    short_failures: u32,
    long_failures: u32,
    short_attempts: u32,
    long_attempts: u32,
}

/// Which retry counter a failure counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Of an RTS, or of data without one.
    Short,
    /// Of data after RTS and CTS.
    Long,
}

/// What an interface did on the air in the measured span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessMeter {
    /// Attempts: frames, or RTS in front of them.
    pub attempts: u64,
    /// Attempts that met another's.
    pub collisions: u64,
    /// Data frames that were received in error.
    pub errors: u64,
    /// Packets given up after their last attempt.
    pub given_up: u64,
    /// Time on the air, the answers to it included.
    pub airtime: Duration,
}

impl<P: Parcel> Interface<P> {
    pub(super) fn new(
        name: String,
        queue: &QueueConfig,
        rate: Rate,
        mac: &MacConfig,
        streams: &Streams,
        span: Span,
    ) -> Result<Self, ParameterError> {
        Ok(Self {
            queue: Queue::new(queue, rate, |purpose| streams.stream(&name, purpose), span)
                .map_err(|error| error.within("queue"))?,
            held: None,
            ending: false,
            told: 0,
            sends: false,
            ready: Instant::ZERO,
            backoff: None,
            contention: Contention {
                window: mac.cw_min,
                min: mac.cw_min,
                max: mac.cw_max,
                short_failures: 0,
                long_failures: 0,
                short_attempts: mac.short_attempts,
                long_attempts: mac.long_attempts,
            },
            stream: streams.stream(&name, "back-off"),
            access: AccessMeter::default(),
            name,
        })
    }

    /// The interface's name: that of the WLAN for the base station, `<wlan>/<station>` for a station.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What waits for the MAC.
    pub fn queue(&self) -> &Queue<P> {
        &self.queue
    }

    /// What it did on the air.
    pub fn access(&self) -> &AccessMeter {
        &self.access
    }

    /// Packets that it has: those that wait and the one that the MAC holds.
    pub fn packets(&self) -> usize {
        self.queue.len() + usize::from(self.held.is_some())
    }

    /// When its next attempt starts if the medium stays idle, and slots count from `free` on.
    #[inline]
    pub(super) fn start(&self, free: Instant, slot: Duration) -> Option<Instant> {
        self.has_packet().then(|| self.ready.max(free + slot * self.backoff.unwrap_or(0)))
    }

    /// Whether it has a packet to send when the exchange is over.
    #[inline]
    pub(super) fn has_packet(&self) -> bool {
        self.held.is_some() || (self.ending && !self.queue.is_empty())
    }

    /// Another's frame starts after `slots` idle ones: the back-off is frozen, or was over by then.
    #[inline]
    pub(super) fn freeze(&mut self, slots: u64) {
        self.backoff = match self.backoff {
            Some(left) if left > slots => Some(left - slots),
            _ => None,
        };
    }

    /// Draws a back-off from the contention window.
    #[inline]
    pub(super) fn back_off(&mut self) {
        self.backoff = Some((self.stream.uniform() * (f64::from(self.contention.window) + 1.0)) as u64);
    }

    /// The MAC takes the next packet off the queue, if there is one. Returns whether the queue has held back what was
    /// counted on: its management has dropped all there was.
    #[inline]
    pub(super) fn load(&mut self, now: Instant) -> bool {
        let waited = !self.queue.is_empty();
        self.ending = false;
        self.held = self.queue.pop(now);
        if let Some(packet) = &self.held {
            self.queue.meter_mut().send_at_once(now, packet.size());
        }
        self.ready = now;
        if self.held.is_none() {
            self.queue.rest(now);
        }
        waited && self.held.is_none()
    }

    /// The attempt got through: the packet that it carried.
    #[inline]
    pub(super) fn succeed(&mut self) -> Option<P> {
        self.contention.reset();
        self.back_off();
        self.ending = true;
        self.held.take()
    }

    /// The attempt failed, and its failure ends at `end`: tries again with a larger window, or gives the packet up.
    pub(super) fn fail(&mut self, failure: Failure, end: Instant) {
        if self.contention.fail(failure) {
            self.contention.reset();
            self.ending = true;
            self.held = None;
            self.queue.meter_mut().lose(end);
            self.access.given_up += u64::from(self.queue.meter().span().contains(end));
        }
        self.back_off();
    }
}

impl Contention {
    #[inline]
    fn reset(&mut self) {
        self.window = self.min;
        self.short_failures = 0;
        self.long_failures = 0;
    }

    /// Counts a failure and doubles the window; true after the last attempt.
    fn fail(&mut self, failure: Failure) -> bool {
        self.window = (2 * self.window + 1).min(self.max);
        match failure {
            Failure::Short => self.short_failures += 1,
            Failure::Long => {
                // The CTS came: the RTS counts as a success.
                self.short_failures = 0;
                self.long_failures += 1;
            }
        }
        self.short_failures >= self.short_attempts || self.long_failures >= self.long_attempts
    }
}
