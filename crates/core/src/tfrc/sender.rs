// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender: when the next packet leaves, and the no-feedback timer.

use std::collections::VecDeque;

use super::config::TfrcSenderConfig;
use crate::element::{Departure, Element};
use crate::error::ParameterError;
use crate::law::tfrc::{RateControl, TfrcFeedback};
use crate::packet::{Kind, Packet};
use crate::stats::Span;
use crate::tcp::SenderStats;
use crate::units::{Bytes, Duration, Instant};

/// The no-feedback timer before the first feedback (RFC 5348 §4.2).
const FIRST_TIMEOUT: Duration = Duration::from_secs(2);
/// Feedback that comes in the very instant of the time-out comes in time.
const TOO_LATE: Duration = Duration::from_nanos(1);
/// Least time between two packets.
const LEAST_INTERVAL: Duration = Duration::from_nanos(1);

/// The sending side of a rate-based flow.
#[derive(Debug)]
pub struct TfrcSender {
    control: RateControl,
    /// t_ipi: the time between two packets at the present rate.
    interval: Duration,
    /// When the last packet should have left; none: nothing has been sent.
    nominal: Option<Instant>,
    /// The instant of the latest event that was served.
    now: Instant,
    /// When the no-feedback timer goes off; [`Instant::MAX`]: it is off.
    deadline: Instant,
    /// Whether nothing has been sent since the timer was set.
    idle: bool,
    is_open: bool,
    closed: bool,
    /// Payload handed over and payload sent \[B\].
    written: u64,
    sent: u64,
    /// Number of the next packet.
    next: u64,
    limits: DataLimits,

    config: TfrcSenderConfig,
    flow: u32,
    span: Span,
    stats: SenderStats,
    outbox: VecDeque<Departure<Packet>>,
}

impl TfrcSender {
    /// A sender of flow `flow` that counts within `span`.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(flow: u32, config: TfrcSenderConfig, span: Span) -> Result<Self, ParameterError> {
        config.validate()?;
        let mut sender = Self {
            control: RateControl::new(config.rate_params()),
            interval: Duration::ZERO,
            nominal: None,
            now: Instant::ZERO,
            deadline: Instant::MAX,
            idle: true,
            is_open: false,
            closed: false,
            written: 0,
            sent: 0,
            next: 0,
            limits: DataLimits::default(),
            config,
            flow,
            span,
            stats: SenderStats::default(),
            outbox: VecDeque::new(),
        };
        sender.set_interval();
        Ok(sender)
    }

    /// The application starts. A second call does nothing.
    pub fn open(&mut self, now: Instant) {
        self.begin_event(now);
        self.is_open = true;
    }

    /// The application hands over `bytes` more; [`Bytes::MAX`] never ends. Nothing happens after a close.
    pub fn write(&mut self, now: Instant, bytes: Bytes) {
        self.begin_event(now);
        if !self.closed {
            self.written = self.written.saturating_add(bytes.get());
        }
    }

    /// The application writes no more. What it wrote is still sent; an endless stream ends with what has been sent.
    pub fn close(&mut self, now: Instant) {
        if self.written == u64::MAX {
            self.stop(now);
        } else {
            self.begin_event(now);
            self.closed = true;
            self.rest();
        }
    }

    /// The application breaks off: nothing is sent from now on.
    pub fn stop(&mut self, now: Instant) {
        self.begin_event(now);
        self.closed = true;
        self.written = self.sent;
        self.rest();
    }

    /// X: the allowed sending rate \[B/s\] of payload.
    pub fn rate(&self) -> f64 {
        self.control.rate()
    }

    /// X·R: what TCP would call the window; one packet before the first measurement.
    pub fn window(&self) -> Bytes {
        let packet = f64::from(self.config.payload);
        Bytes::new(self.control.rtt().map_or(packet, |rtt| self.control.rate() * rtt) as u64)
    }

    /// R; none before the first feedback.
    pub fn rtt(&self) -> Option<Duration> {
        self.control.rtt().map(Duration::from_secs_f64)
    }

    /// The loss event rate that the receiver told last.
    pub fn loss_event_rate(&self) -> f64 {
        self.control.loss_event_rate()
    }

    /// What was counted; `timeouts` are those of the no-feedback timer.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Serves what was due before an event at `now`.
    fn begin_event(&mut self, now: Instant) {
        self.advance(now);
        self.now = now;
    }

    /// Serves what is due by `until`, in order of time.
    fn advance(&mut self, until: Instant) {
        loop {
            let send = self.next_send();
            if send.min(self.deadline) > until {
                break;
            }
            if send <= self.deadline {
                self.now = send;
                self.send();
            } else {
                self.now = self.deadline;
                self.on_timer();
            }
        }
    }

    /// When the next packet leaves; [`Instant::MAX`]: there is none.
    #[inline]
    fn next_send(&self) -> Instant {
        if !self.is_open || self.sent == self.written {
            return Instant::MAX;
        }
        self.nominal.map_or(self.now, |nominal| self.now.max(nominal + self.interval))
    }

    //= RFC 5348 §4.6
    fn send(&mut self) {
        let now = self.now;
        let payload = u64::from(self.config.payload).min(self.written - self.sent);
        let credit = self.interval * u64::from(self.config.params.burst - 1);
        // Time that was not used counts for no more than the burst that is allowed.
        let oldest = Instant::ZERO + (now - Instant::ZERO).saturating_sub(credit);
        self.nominal = Some(self.nominal.map_or(now, |nominal| (nominal + self.interval).max(oldest)));
        if self.deadline == Instant::MAX {
            self.set_timer(FIRST_TIMEOUT);
        }
        self.idle = false;
        let mut packet = Packet::data(self.flow, self.next, payload as u32, self.config.header, now);
        if let Some(rtt) = self.rtt() {
            packet.echo = Instant::ZERO + (now - Instant::ZERO).saturating_sub(rtt);
        }
        self.next += 1;
        self.sent += payload;
        if self.span.contains(now) {
            self.stats.segments += 1;
            self.stats.payload += Bytes::new(payload);
        }
        if self.sent < self.written {
            self.limits.limited_by_rate(now);
        }
        self.outbox.push_back(Departure { at: now, packet });
        self.rest();
    }

    fn on_feedback(&mut self, packet: &Packet) {
        let report = packet.report();
        let rtt = self.now.saturating_since(packet.echo).saturating_sub(report.hold).max(LEAST_INTERVAL);
        let feedback = TfrcFeedback {
            p: report.loss_event_rate,
            x_recv: report.receive_rate,
            r_sample: rtt.as_secs_f64(),
            data_limited: self.limits.on_feedback(self.now, packet.echo),
        };
        if self.span.contains(self.now) {
            self.stats.rtt.record(rtt);
        }
        self.control.on_feedback(self.now.as_secs_f64(), feedback);
        self.set_interval();
        self.set_timer(Duration::from_secs_f64(self.control.timeout()));
        self.rest();
    }

    //= RFC 5348 §4.4
    fn on_timer(&mut self) {
        self.stats.timeouts += u64::from(self.span.contains(self.now));
        self.control.on_no_feedback(self.now.as_secs_f64(), self.idle);
        self.set_interval();
        self.set_timer(Duration::from_secs_f64(self.control.timeout()));
    }

    fn set_interval(&mut self) {
        let seconds = f64::from(self.config.payload) / self.control.instantaneous();
        self.interval = Duration::from_secs_f64(seconds).max(LEAST_INTERVAL);
    }

    fn set_timer(&mut self, timeout: Duration) {
        self.deadline = self.now + timeout + TOO_LATE;
        self.idle = true;
    }

    /// A flow that has sent all it ever will needs no timer.
    fn rest(&mut self) {
        if self.closed && self.sent == self.written {
            self.deadline = Instant::MAX;
        }
    }
}

impl Element<Packet> for TfrcSender {
    /// Takes feedback.
    fn receive(&mut self, now: Instant, packet: Packet) {
        self.begin_event(now);
        match packet.kind() {
            Kind::Feedback => self.on_feedback(&packet),
            kind => debug_assert!(false, "a rate-based sender got {kind:?}"),
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let at = self.next_send().min(self.deadline);
        (at != Instant::MAX).then_some(at)
    }

    fn wake(&mut self, now: Instant) {
        self.advance(now);
    }

    fn poll_departure(&mut self) -> Option<Departure<Packet>> {
        self.outbox.pop_front()
    }
}

/// Whether an interval that feedback speaks of was one in which the application, and not the rate, set the pace.
///
/// //= RFC 5348 §8.2.1
#[derive(Debug, Default)]
struct DataLimits {
    /// The first instants after `told` and after `heard` at which the rate was what kept packets back.
    by_rate: [Instant; 2],
    /// What the last feedback spoke of, up to here, and when it came.
    told: Instant,
    heard: Instant,
}

impl DataLimits {
    fn limited_by_rate(&mut self, now: Instant) {
        if self.by_rate[0] <= self.told {
            self.by_rate[0] = now;
        } else if self.by_rate[1] <= self.heard {
            self.by_rate[1] = now;
        }
    }

    /// Feedback that speaks of all up to `until`: was its interval limited by the application throughout?
    fn on_feedback(&mut self, now: Instant, until: Instant) -> bool {
        let from = self.told;
        let limited = !self.by_rate.iter().any(|&at| from < at && at <= until);
        self.told = until;
        self.heard = now;
        if self.by_rate[0] <= until {
            self.by_rate[0] = self.by_rate[1];
        }
        limited
    }
}
