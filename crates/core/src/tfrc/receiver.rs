// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver: which packets are lost, which losses are one event, what is fed back and when.

use std::collections::VecDeque;

use super::config::TfrcReceiverConfig;
use crate::element::{Departure, Element};
use crate::error::ParameterError;
use crate::law::tfrc::{LossHistory, loss_event_rate};
use crate::packet::{Kind, Packet, RateReport};
use crate::stats::Span;
use crate::tcp::ReceiverStats;
use crate::units::{Bytes, Duration, Instant};

/// Later packets after which one that is missing is lost (RFC 5348 §5.1, NDUPACK).
const LATER_PACKETS: u8 = 3;

/// The receiving side of a rate-based flow.
#[derive(Debug)]
pub struct TfrcReceiver {
    /// The highest number seen, and when.
    highest: Option<(u64, Instant)>,
    gaps: VecDeque<Gap>,
    history: LossHistory,
    /// Number of the packet that began the last loss event, and when it should have come.
    event: (u64, Instant),
    loss_events: u64,

    /// The sender's estimate of the round-trip time; zero: it has none.
    rtt: Duration,
    /// When the next feedback is due; [`Instant::MAX`]: with the next packet.
    deadline: Instant,
    last_feedback: Instant,
    /// `sent` of the latest packet and when it came: what feedback echoes.
    latest: (Instant, Instant),
    /// Payload since the last feedback, and the packets of the last round trip.
    since_feedback: u64,
    recent: VecDeque<(Instant, u32)>,
    recent_payload: u64,
    max_receive_rate: f64,

    config: TfrcReceiverConfig,
    flow: u32,
    span: Span,
    delivered: u64,
    sample_end: Instant,
    sample: u64,
    stats: ReceiverStats,
    outbox: VecDeque<Departure<Packet>>,
}

/// Packets that have not come, between two that have.
#[derive(Clone, Copy, Debug)]
struct Gap {
    start: u64,
    end: u64,
    /// When the packets before and after it came.
    before: Instant,
    after: Instant,
    /// Packets that have come after it.
    later: u8,
}

impl Gap {
    /// When the missing packet `number` should have come, as if packets came at even spaces.
    ///
    /// //= RFC 5348 §5.2
    fn nominal(&self, number: u64) -> Instant {
        let time = u128::from((self.after - self.before).as_nanos());
        let (part, whole) = (u128::from(number + 1 - self.start), u128::from(self.end + 1 - self.start));
        self.before + Duration::from_nanos((time * part / whole) as u64)
    }
}

impl TfrcReceiver {
    /// A receiver of flow `flow` that counts within `span`.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(flow: u32, config: TfrcReceiverConfig, span: Span) -> Result<Self, ParameterError> {
        config.validate()?;
        let floor = config.params.discounting.then_some(config.params.discount_floor);
        Ok(Self {
            highest: None,
            gaps: VecDeque::new(),
            history: LossHistory::new(floor),
            event: (0, Instant::ZERO),
            loss_events: 0,
            rtt: Duration::ZERO,
            deadline: Instant::MAX,
            last_feedback: Instant::ZERO,
            latest: (Instant::ZERO, Instant::ZERO),
            since_feedback: 0,
            recent: VecDeque::new(),
            recent_payload: 0,
            max_receive_rate: 0.0,
            flow,
            span,
            delivered: 0,
            sample_end: config.sample_interval.map_or(Instant::MAX, |interval| span.from + interval),
            sample: 0,
            config,
            stats: ReceiverStats::default(),
            outbox: VecDeque::new(),
        })
    }

    /// Payload delivered in all.
    pub fn delivered(&self) -> Bytes {
        Bytes::new(self.delivered)
    }

    /// The loss event rate as it is now.
    pub fn loss_event_rate(&self) -> f64 {
        self.history.loss_event_rate()
    }

    /// Loss events of the whole run.
    pub fn loss_events(&self) -> u64 {
        self.loss_events
    }

    /// What was counted. Nothing is sent again, so that all that comes is delivered.
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    fn on_data(&mut self, now: Instant, packet: &Packet) {
        self.count(now, packet.payload());
        if packet.echo != Instant::ZERO {
            self.rtt = packet.sent - packet.echo;
        }
        let number = packet.seq();
        let before = self.history.loss_event_rate();
        match self.highest {
            Some((highest, _)) if number <= highest => self.fill(now, number),
            highest => {
                let (expected, last) = highest.map_or((0, now), |(highest, at)| (highest + 1, at));
                if number > expected {
                    self.gaps.push_back(Gap { start: expected, end: number, before: last, after: now, later: 0 });
                }
                self.highest = Some((number, now));
                self.latest = (packet.sent, now);
            }
        }
        self.find_losses(now, number);
        if self.deadline == Instant::MAX || self.history.loss_event_rate() > before {
            self.feed_back(now);
        }
    }

    fn count(&mut self, now: Instant, payload: u32) {
        let bytes = u64::from(payload);
        self.delivered += bytes;
        self.since_feedback += bytes;
        self.recent.push_back((now, payload));
        self.recent_payload += bytes;
        self.forget(now);
        if self.span.contains(now) {
            self.stats.packets += 1;
            self.stats.delivered += Bytes::new(bytes);
            self.finish(now);
            self.sample += bytes;
        }
    }

    /// Ends the sampling of goodput: intervals that end by `now` are complete, even if nothing came in them.
    pub fn finish(&mut self, now: Instant) {
        let Some(interval) = self.config.sample_interval else { return };
        while self.sample_end <= now.min(self.span.until) {
            self.stats.samples.push(std::mem::take(&mut self.sample));
            self.sample_end += interval;
        }
    }

    /// Only the last round trip's packets make the short-term receive rate.
    fn forget(&mut self, now: Instant) {
        while let Some(&(at, payload)) = self.recent.front()
            && now.saturating_since(at) >= self.rtt
        {
            self.recent.pop_front();
            self.recent_payload -= u64::from(payload);
        }
    }

    /// A packet that came late was not lost, if its gap is still open.
    fn fill(&mut self, now: Instant, number: u64) {
        self.stats.out_of_order += u64::from(self.span.contains(now));
        let Some(at) = self.gaps.iter().position(|gap| gap.start <= number && number < gap.end) else { return };
        let gap = self.gaps[at];
        self.gaps[at].end = number;
        if number + 1 < gap.end {
            self.gaps.insert(at + 1, Gap { start: number + 1, ..gap });
        }
        if gap.start == number {
            self.gaps.remove(at);
        }
    }

    /// Packet `number` has come: what is missing before three that have come is lost.
    ///
    /// //= RFC 5348 §5.1
    fn find_losses(&mut self, now: Instant, number: u64) {
        for gap in &mut self.gaps {
            gap.later += u8::from(number >= gap.end);
        }
        while let Some(&gap) = self.gaps.front()
            && gap.later >= LATER_PACKETS
        {
            self.gaps.pop_front();
            for lost in gap.start..gap.end {
                self.on_loss(now, lost, gap.nominal(lost));
            }
        }
        if let Some((highest, _)) = self.highest
            && self.history.has_lost()
        {
            self.history.grow((highest + 1 - self.event.0) as f64);
        }
    }

    /// Losses within a round trip of the one that began an event belong to it.
    ///
    /// //= RFC 5348 §5.2
    fn on_loss(&mut self, now: Instant, number: u64, at: Instant) {
        if !self.history.has_lost() {
            self.history.loss_event(self.first_interval(now, number));
        } else if at > self.event.1 + self.rtt {
            self.history.loss_event((number - self.event.0) as f64);
        } else {
            return;
        }
        self.event = (number, at);
        self.loss_events += 1;
    }

    /// Before the first loss the sender has been doubling its rate, so that the packets until then tell little. The
    /// interval is that with which the equation gives the greatest rate received.
    ///
    /// //= RFC 5348 §6.3.1
    fn first_interval(&self, now: Instant, number: u64) -> f64 {
        if self.rtt.is_zero() {
            return (number + 1) as f64;
        }
        let rate = self.max_receive_rate.max(self.receive_rate(now));
        let s = f64::from(self.config.payload);
        1.0 / loss_event_rate(s, self.rtt.as_secs_f64(), rate, self.config.params.rto_factor)
    }

    /// X_recv: since the last feedback, if that is a round trip or more ago, otherwise over a round trip.
    ///
    /// //= RFC 5348 §6.2
    fn receive_rate(&self, now: Instant) -> f64 {
        let since = now.saturating_since(self.last_feedback);
        if self.rtt.is_zero() {
            0.0
        } else if since >= self.rtt {
            self.since_feedback as f64 / since.as_secs_f64()
        } else {
            self.recent_payload as f64 / self.rtt.as_secs_f64()
        }
    }

    fn feed_back(&mut self, now: Instant) {
        self.forget(now);
        let receive_rate = self.receive_rate(now);
        self.max_receive_rate = self.max_receive_rate.max(receive_rate);
        let (echo, arrived) = self.latest;
        let report = RateReport {
            loss_event_rate: self.history.loss_event_rate(),
            receive_rate,
            hold: now.saturating_since(arrived),
        };
        let mut packet = Packet::feedback(self.flow, report, self.config.feedback_size, now);
        packet.echo = echo;
        self.outbox.push_back(Departure { at: now, packet });
        self.last_feedback = now;
        self.since_feedback = 0;
        self.deadline = if self.rtt.is_zero() { Instant::MAX } else { now + self.rtt };
    }

    /// Serves the timer if it is due by `now`: feedback, or, if nothing has come, with the next packet.
    fn advance(&mut self, now: Instant) {
        while self.deadline <= now {
            let due = self.deadline;
            if self.since_feedback > 0 {
                self.feed_back(due);
            } else {
                self.deadline = Instant::MAX;
                break;
            }
        }
    }
}

impl Element<Packet> for TfrcReceiver {
    /// Takes data. Feedback that is due at `now` goes before.
    fn receive(&mut self, now: Instant, packet: Packet) {
        self.advance(now);
        match packet.kind() {
            Kind::Data => self.on_data(now, &packet),
            kind => debug_assert!(false, "a rate-based receiver got {kind:?}"),
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        (self.deadline != Instant::MAX).then_some(self.deadline)
    }

    fn wake(&mut self, now: Instant) {
        self.advance(now);
    }

    fn poll_departure(&mut self) -> Option<Departure<Packet>> {
        self.outbox.pop_front()
    }
}
