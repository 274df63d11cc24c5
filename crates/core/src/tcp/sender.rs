// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender: sequence space, windows and the timer. What the application asks is in `application`, what acknowledgements do in
//! `acks`, what is sent next in `output`, loss recovery in `recovery`, what goes by the times of segments in `early`.
//!
//! Segments are built when they are asked for, as long as the windows allow, so there is nothing to queue. The timer
//! is an instant that acknowledgements move; nobody has to be told.

mod acks;
mod application;
mod early;
mod element;
mod output;
mod pacing;
mod pieces;
mod readings;
mod recovery;
mod reduction;
mod reordering;
mod repairs;
mod timing;
mod tracking;
mod undo;

use std::collections::VecDeque;
use std::sync::Arc;

use super::config::{Recovery, SenderConfig};
use super::rto::Rto;
use super::scoreboard::Scoreboard;
use super::segment::Segment;
use super::stats::{SenderStats, WindowAverages};
use super::wheel::TOO_LATE;
use crate::error::ParameterError;
use crate::packet::Signal;
use crate::role::{AnySender, Window};
use crate::stats::Span;
use crate::units::{Bytes, Duration, Instant};

use repairs::Repairs;
use timing::RttSource;
use tracking::Tracking;

/// The window before any is advertised, in a connection without handshake: the most a packet can tell.
const UNKNOWN_WINDOW: u32 = u32::MAX;

/// Where a sender stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Not opened yet.
    Closed,
    /// Waits for the answer to its SYN.
    SynSent,
    /// Sends, nothing known to be lost.
    Open,
    /// Fast recovery, until what was outstanding at its start is acknowledged.
    Recovery,
    /// After a time-out, until what was outstanding then is acknowledged.
    Loss,
}

/// What must be sent before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgent {
    Nothing,
    Syn,
    /// The first unacknowledged segment, whatever the windows say.
    Retransmission,
    /// A segment to learn whether a closed window has opened.
    Probe,
    /// A segment to learn whether the last ones have arrived.
    TailProbe,
}

/// The sending side of a connection. Its fields stay in this order: what each acknowledgement touches fills 320 bytes at the
/// front, as a network of many flows finds none of them in the cache. No alignment asks for more: a list of what is aligned to cache
/// lines is copied where it grows, and takes its room twice.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    // Sequence space. una ≤ nxt ≤ max ≤ written, but for a probe's byte between nxt and max.
    /// First byte not acknowledged (SND.UNA).
    una: u64,
    /// Next byte to send; after a time-out pulled back to `una` (SND.NXT).
    nxt: u64,
    /// One past the highest byte ever sent (HighData + 1).
    max: u64,
    /// One past the last byte that the application wrote.
    written: u64,
    /// `nxt` may go this far: the windows and what is written.
    edge: u64,
    window: Window,
    cwnd_bytes: u64,

    /// By how much duplicate and partial acknowledgements in fast recovery change the window \[B\].
    inflation: i64,
    /// The instant of the event that is being served.
    now: Instant,
    /// When the timer goes off; [`Instant::MAX`]: it is off.
    deadline: Instant,
    /// The segment being timed ends here; [`u64::MAX`]: none is.
    timed_end: u64,
    last_sent: Instant,
    /// `sent` of the acknowledgement that is being served, for the echo.
    release: Instant,
    awnd: u32,
    duplicate_acks: u32,
    /// Whether all that the events so far allow has been polled.
    settled: bool,
    /// Whether something is urgent, in the outbox, or SACK recovery decides.
    attention: bool,
    urgent: Urgent,
    state: State,
    clock: RttSource,

    mss: u32,
    header: u32,
    per_mss: f64,
    window_limit: u64,
    span: Span,
    law: AnySender,

    /// Of this the last number.
    rto: Rto,
    averages: WindowAverages,

    config: Arc<SenderConfig>,
    /// Of these the first.
    stats: SenderStats,

    flow: u32,
    widest_awnd: u32,
    /// Timers due by then, or by `now`, may be served.
    horizon: Instant,
    timed_at: Instant,
    /// `max` when the last recovery began or the timer last went off (RFC 6582's recover + 1).
    recover: Option<u64>,
    partial_acks: u32,
    /// When recovery last cut the window.
    cut_at: Instant,
    /// `max` at the first duplicate acknowledgement: what is above was sent by limited transmit.
    limited_from: u64,
    /// `una` when the timer last went off.
    timed_out_at: Option<u64>,
    board: Scoreboard,
    pipe: u64,
    syns: u32,
    probes: u32,
    closed: bool,
    /// What the next segments ask the routers of the path.
    request: Signal,
    repairs: Repairs,
    tracking: Option<Box<Tracking>>,
    /// What was due before the last events, with what it asks the routers.
    outbox: VecDeque<(Segment, Signal)>,
}

impl Sender {
    /// A sender of flow `flow` that counts within `span`. Many may share what they are told.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(flow: u32, config: impl Into<Arc<SenderConfig>>, span: Span) -> Result<Self, ParameterError> {
        let mut config = config.into();
        config.validate()?;
        if config.rack && !config.find_lost_retransmissions {
            Arc::make_mut(&mut config).find_lost_retransmissions = true;
        }
        let law = AnySender::new(&config.law)?;
        let mss = u64::from(config.mss);
        let ssthresh = config.initial_ssthresh.map_or(f64::INFINITY, |b| b.as_f64() / mss as f64);
        let mut sender = Self {
            una: 0,
            nxt: 0,
            max: 0,
            written: 0,
            edge: 0,
            mss: config.mss,
            window: Window { cwnd: f64::from(config.initial_window_segments()), ssthresh },
            cwnd_bytes: 0,
            inflation: 0,
            awnd: UNKNOWN_WINDOW,
            widest_awnd: 0,
            window_limit: config.window_limit.map_or(u64::MAX, Bytes::get),
            per_mss: 1.0 / mss as f64,
            now: Instant::ZERO,
            horizon: Instant::ZERO,
            deadline: Instant::MAX,
            settled: true,
            attention: false,
            urgent: Urgent::Nothing,
            state: State::Closed,
            rto: Rto::new(&config),
            timed_end: u64::MAX,
            timed_at: Instant::ZERO,
            last_sent: Instant::ZERO,
            release: Instant::ZERO,
            duplicate_acks: 0,
            recover: None,
            partial_acks: 0,
            cut_at: Instant::ZERO,
            limited_from: 0,
            timed_out_at: None,
            board: Scoreboard::new(mss),
            pipe: 0,
            syns: 0,
            probes: 0,
            closed: false,
            law,
            request: Signal::None,
            repairs: Repairs::default(),
            clock: RttSource::of(&config),
            tracking: config.tracks_segments().then(|| Box::new(Tracking::new())),
            header: config.header_size(),
            config,
            flow,
            span,
            averages: WindowAverages::new(span),
            stats: SenderStats::default(),
            outbox: VecDeque::new(),
        };
        sender.set_cwnd(sender.window.cwnd);
        if sender.config.rack {
            sender.board.decide_by_time();
        }
        sender.mind();
        Ok(sender)
    }

    /// Whether no timer is due up to `at`.
    #[inline]
    pub fn is_free_until(&self, at: Instant) -> bool {
        self.deadline > at
    }

    // Events.

    /// The next segment: what [`Element::poll_departure`](crate::element::Element::poll_departure) gives, without what it asks the routers.
    #[inline(always)]
    pub fn poll_segment(&mut self) -> Option<Segment> {
        self.poll_at_once().unwrap_or_else(|| self.poll_slowly().map(|(segment, _)| segment))
    }

    #[inline]
    fn poll(&mut self) -> Option<(Segment, Signal)> {
        match self.poll_at_once() {
            Some(next) => next.map(|segment| (segment, self.request)),
            None => self.poll_slowly(),
        }
    }

    /// What `poll_slowly` would do in steady state, without its detours; none if it has to be asked.
    #[inline(always)]
    fn poll_at_once(&mut self) -> Option<Option<Segment>> {
        if self.attention {
            return None;
        }
        if self.nxt + self.mss() <= self.edge {
            return Some(Some(self.send_next(self.mss())));
        }
        let is_settled = self.nxt > self.una && (self.edge < self.written || self.nxt == self.written);
        self.settled |= is_settled;
        is_settled.then_some(None)
    }

    #[inline]
    fn begin_event(&mut self, now: Instant) {
        if !self.settled || self.deadline <= now {
            self.catch_up(now);
        }
        self.now = now;
        self.release = Instant::ZERO;
    }

    /// Serves what earlier events and the timer have left to send before an event at `now`.
    #[cold]
    fn catch_up(&mut self, now: Instant) {
        self.horizon = self.horizon.max(now);
        while let Some(segment) = self.advance() {
            self.outbox.push_back((segment, self.request));
        }
        self.mind();
    }

    /// The windows may have changed: how far may `nxt` go?
    #[inline(always)]
    fn end_event(&mut self) {
        self.settled = false;
        if self.state < State::Open {
            return;
        }
        self.averages.set(self.now, self.cwnd_bytes as u32, self.awnd);
        let congestion = (self.cwnd_bytes as i64 + self.inflation).max(self.mss() as i64) as u64;
        let allowed = congestion.min(u64::from(self.awnd)).min(self.window_limit);
        self.edge = (self.una + allowed).min(self.written);
    }

    fn establish(&mut self) {
        self.state = State::Open;
        self.make_request();
        self.averages.begin(self.now);
        self.deadline = Instant::MAX;
        self.end_event();
    }

    #[inline]
    fn start_timer(&mut self, time: Duration) {
        self.deadline = self.now + time + TOO_LATE;
    }

    fn restart_timer(&mut self) {
        self.start_timer(self.rto.timeout());
    }

    #[inline]
    fn set_cwnd(&mut self, segments: f64) {
        self.window.cwnd = segments;
        // No window on the wire is above 32 bits, and this conversion is the cheap one.
        self.cwnd_bytes = u64::from((segments * self.mss_f64()) as u32);
    }

    #[inline]
    fn set_awnd(&mut self, window: u32) {
        self.awnd = window;
        self.widest_awnd = self.widest_awnd.max(window);
    }

    /// Payload of a full segment.
    #[inline]
    pub fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    #[inline]
    fn mss_f64(&self) -> f64 {
        f64::from(self.mss)
    }

    fn set_urgent(&mut self, urgent: Urgent) {
        self.urgent = urgent;
        self.settled = false;
        self.mind();
    }

    /// Whether `poll_departure` must take the slow way.
    fn mind(&mut self) {
        self.attention = self.urgent != Urgent::Nothing
            || self.is_in_sack_recovery()
            || !self.outbox.is_empty()
            || self.tracking.is_some();
    }

    /// Whether the scoreboard says what is sent next.
    fn is_in_sack_recovery(&self) -> bool {
        match self.state {
            State::Recovery => self.config.recovery == Recovery::Sack,
            State::Loss => self.config.rack || self.config.fills_gaps(),
            State::Closed | State::SynSent | State::Open => false,
        }
    }

    /// Whether what happens now counts.
    fn counts(&self) -> bool {
        self.span.contains(self.now)
    }

    // The timer.

    fn on_timer(&mut self) {
        self.release = Instant::ZERO;
        if self.tracking.is_some() && self.on_early_timer() {
            self.end_event();
            return;
        }
        self.deadline = Instant::MAX;
        if self.state == State::SynSent {
            self.rto.back_off();
            self.stats.timeouts += u64::from(self.counts());
            self.set_urgent(Urgent::Syn);
        } else if self.una < self.written && u64::from(self.awnd) < self.mss().min(self.written - self.una) {
            self.set_urgent(Urgent::Probe);
        } else if self.una < self.max {
            self.on_timeout();
        }
        self.end_event();
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn what_each_acknowledgement_touches_fills_five_cache_lines() {
        // Three, then one of the time-out's that few touch, then two.
        assert_eq!(offset_of!(Sender, rto), 3 * 64, "law of {} bytes", size_of::<AnySender>());
        assert_eq!(offset_of!(Sender, averages) - size_of::<Duration>(), 4 * 64);
        assert_eq!(offset_of!(Sender, config), 5 * 64);
        assert!(offset_of!(Sender, stats) + offset_of!(SenderStats, retransmits) <= 6 * 64);
    }
}
