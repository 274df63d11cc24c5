// SPDX-License-Identifier: MIT OR Apache-2.0
//! A station of an access point: its queue, its channel and what it went through.

use std::collections::VecDeque;

use super::ApStationConfig;
use crate::capacity::{Opportunity, Trace};
use crate::element::Departure;
use crate::error::ParameterError;
use crate::fading::Kinds;
use crate::loss::Loss;
use crate::packet::Parcel;
use crate::parameter::Parameter;
use crate::queue::Queue;
use crate::radio::{FadingChannel, RadioAttempt, RadioConfig};
use crate::rng::Streams;
use crate::stats::Span;
use crate::units::{Bytes, Duration, Instant, Rate};

/// A station's queue and channel. What a scheduler asks of all stations in each slot is in one cache line at the front.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Station<P> {
    pub(super) channel: Channel,
    pub(super) queue: Queue<P>,
    name: String,
    loss: Loss,
    /// Bits of the head that have got through.
    sent_bits: u64,
    /// Bits of the head, or of it and those behind it, that were sent before the measured span.
    early_bits: u64,
    /// Attempts that have failed in a row.
    pub(super) failures: u32,
    /// A slot's frame that waits for its next attempt, where attempts add up.
    pub(super) unfinished: Option<Transmission>,
    /// Whether a part of the head was given up, so that the head is lost once it is through.
    damaged: bool,
    pub(super) air: AirMeter,
}

/// What carries a station's packets.
#[derive(Debug)]
pub(super) enum Channel {
    Fading(Box<FadingChannel>),
    Constant(Rate),
    /// The trace is the access point's.
    Trace,
}

impl Channel {
    /// The rate \[bit/s\] that it never passes, as a scheduler counts it.
    pub(super) fn most_rate(&self) -> f64 {
        match self {
            Self::Fading(radio) => radio.max_rate,
            Self::Constant(rate) => rate.as_bps() as f64,
            Self::Trace => 1.0,
        }
    }
}

/// What a station's radio did in the measured span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AirMeter {
    /// Attempts made.
    pub attempts: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Time on the air.
    pub airtime: Duration,
    /// Bits that the attempts that got through could have carried.
    pub offered_bits: u64,
    /// Bits that they carried.
    pub carried_bits: u64,
    /// Sum of the SNRs at the attempts' starts.
    pub snr_sum: f64,
}

impl AirMeter {
    /// The mean rate of the radio while it served the station, failures counted as nothing; none if it never did.
    pub fn offered_rate(&self) -> Option<Rate> {
        let airtime_s = self.airtime.as_secs_f64();
        (airtime_s > 0.0).then(|| Rate::from_bps((self.offered_bits as f64 / airtime_s) as u64))
    }

    /// The mean SNR at the attempts' starts, as a plain ratio; none without attempts.
    pub fn mean_snr(&self) -> Option<f64> {
        (self.attempts > 0).then(|| self.snr_sum / self.attempts as f64)
    }

    /// An attempt ends at `now`; what of it lies before `from` does not count.
    #[inline]
    pub(super) fn count(&mut self, frame: &Transmission, got_through: bool, now: Instant, from: Instant) {
        self.attempts += 1;
        self.airtime += frame.airtime;
        self.snr_sum += frame.attempt.map_or(0.0, |attempt| attempt.snr);
        if got_through {
            self.offered_bits += frame.room_bits;
            self.carried_bits += frame.bits;
        } else {
            self.failures += 1;
        }
        let start = before(now, frame.airtime);
        if start < from {
            self.leave_out(frame, got_through, (start, from, now));
        }
    }

    /// A part of an attempt, from `start` to `now`, was made before `from`.
    #[cold]
    fn leave_out(&mut self, frame: &Transmission, got_through: bool, (start, from, now): (Instant, Instant, Instant)) {
        self.airtime = self.airtime.saturating_sub(from.min(now) - start);
        if got_through {
            self.offered_bits -= early_bits(frame.room_bits, (start, from, now));
            self.carried_bits -= early_bits(frame.bits, (start, from, now));
        }
    }
}

/// A transmission on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) station: usize,
    /// Bits that it holds, and that it could hold.
    pub(super) bits: u64,
    pub(super) room_bits: u64,
    pub(super) airtime: Duration,
    /// The rate that the scheduler counts \[bit/s\].
    pub(super) rate: f64,
    /// The radio's part; none on a channel without fading.
    pub(super) attempt: Option<RadioAttempt>,
}

impl Transmission {
    /// The same, in a slot in which one coded anew would be `now`.
    pub(super) fn again(self, now: RadioAttempt) -> Self {
        Self { attempt: self.attempt.map(|first| first.met(now.snr)), ..self }
    }
}

impl<P: Parcel> Station<P> {
    pub(super) fn new(
        ap: &str,
        config: &ApStationConfig,
        streams: &Streams,
        span: Span,
        kinds: &mut Kinds,
    ) -> Result<Self, ParameterError> {
        let name = format!("{ap}/{}", config.name);
        let radio = |error: ParameterError| error.within("radio");
        let channel = match &config.radio {
            RadioConfig::Fading(fading) => {
                Channel::Fading(Box::new(FadingChannel::new(fading, (ap, &name), streams, kinds).map_err(radio)?))
            }
            RadioConfig::Constant(constant) => {
                constant.validate().map_err(radio)?;
                Channel::Constant(constant.rate)
            }
            RadioConfig::Trace(_) => Channel::Trace,
        };
        Ok(Self {
            channel,
            queue: Queue::new(&config.queue, config.radio.line_rate(), |purpose| streams.stream(&name, purpose), span)
                .map_err(|error| error.within("queue"))?,
            loss: Loss::new(&config.loss, streams, &name).map_err(|error| error.within("loss"))?,
            name,
            sent_bits: 0,
            early_bits: 0,
            failures: 0,
            unfinished: None,
            damaged: false,
            air: AirMeter::default(),
        })
    }

    /// The station's name, `<access point>/<station>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The station's queue at the access point.
    pub fn queue(&self) -> &Queue<P> {
        &self.queue
    }

    /// The backoff margin m, if the channel fades and its errors are outages.
    pub fn margin(&self) -> Option<f64> {
        match &self.channel {
            Channel::Fading(radio) => radio.margin(),
            Channel::Constant(_) | Channel::Trace => None,
        }
    }

    /// What the station's radio did in the measured span.
    pub fn air(&self) -> &AirMeter {
        &self.air
    }

    #[inline]
    fn head_bits(&self) -> Option<u64> {
        self.queue.front().map(|packet| 8 * packet.size().get())
    }

    /// Lets packets go for a frame of `room_bits`. Returns how many were dropped instead.
    #[inline]
    pub(super) fn let_go(&mut self, now: Instant, room_bits: u64) -> usize {
        self.queue.let_go(now, Bytes::new((self.sent_bits + room_bits).div_ceil(8)))
    }

    /// Bits that wait to be sent, and have been let go.
    #[inline]
    pub(super) fn waiting_bits(&self) -> u64 {
        8 * self.queue.ready_bytes().get() - self.sent_bits
    }

    /// Bits of the head that wait.
    #[inline]
    pub(super) fn rest_of_head(&self) -> u64 {
        self.head_bits().map_or(0, |bits| bits - self.sent_bits)
    }

    /// An attempt of a slot's frame has failed: where attempts add up it is kept for the next.
    #[inline]
    pub(super) fn keep(&mut self, frame: &Transmission) {
        if matches!(&self.channel, Channel::Fading(radio) if radio.is_redundant()) {
            self.unfinished = Some(*frame);
        }
    }

    /// The last attempt has failed: what was tried is given up.
    #[cold]
    pub(super) fn end_attempts(&mut self) {
        self.failures = 0;
        if let Channel::Fading(radio) = &mut self.channel {
            radio.forget();
        }
    }

    /// `bits` were sent for `airtime` and got through at `now`: the packets that they complete leave. Returns how many.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        bits: u64,
        airtime: Duration,
        now: Instant,
        departures: &mut VecDeque<Departure<P>>,
    ) -> usize {
        let (start, from) = (before(now, airtime), self.queue.meter().span().from);
        if start < from {
            self.early_bits += early_bits(bits, (start, from, now));
        }
        self.sent_bits += bits;
        let mut completed = 0;
        while let Some(head_bits) = self.head_bits().filter(|&head_bits| self.sent_bits >= head_bits) {
            self.sent_bits -= head_bits;
            self.leave(now, head_bits, departures);
            completed += 1;
        }
        self.rest_if_empty(now);
        if self.sent_bits > 0 {
            self.queue.send_part(now, Bytes::new(self.sent_bits / 8));
        }
        completed
    }

    /// The head is complete: it departs, unless a part of it was given up or the channel's other losses strike.
    #[inline(always)]
    fn leave(&mut self, now: Instant, head_bits: u64, departures: &mut VecDeque<Departure<P>>) {
        let damaged = core::mem::take(&mut self.damaged);
        self.adapt(damaged);
        let early = self.early_bits.min(head_bits);
        self.early_bits -= early;
        if self.loss.strikes(now) || damaged {
            self.queue.discard(now);
        } else if let Some(packet) = self.queue.pop(now) {
            self.queue.meter_mut().send_at_once(now, Bytes::new((head_bits - early) / 8));
            departures.push_back(Departure { at: now, packet });
        }
    }

    /// `bits` are given up: the packets that they would have completed are lost, and what was sent of them with them.
    /// Returns how many.
    #[cold]
    pub(super) fn give_up(&mut self, bits: u64, now: Instant) -> usize {
        let mut would_be_sent = self.sent_bits + bits;
        let mut lost = 0;
        while let Some(head_bits) = self.head_bits().filter(|&head_bits| would_be_sent >= head_bits) {
            would_be_sent -= head_bits;
            self.sent_bits = 0;
            self.early_bits = 0;
            self.queue.discard(now);
            self.adapt(true);
            lost += 1;
        }
        self.rest_if_empty(now);
        lost
    }

    /// `bits` of the head are given up; the rest of it follows, but it is lost. Returns how many packets are through.
    #[cold]
    pub(super) fn damage(
        &mut self,
        bits: u64,
        airtime: Duration,
        now: Instant,
        departures: &mut VecDeque<Departure<P>>,
    ) -> usize {
        self.damaged = true;
        self.deliver(bits, airtime, now, departures)
    }

    /// From `first` up to `now` opportunities of a trace found nothing at the access point: its queue's router is told, as far
    /// back as it remembers.
    pub(super) fn tell_unused(&mut self, trace: &Trace, first: Opportunity, now: Instant) {
        let Some(memory) = self.queue.remembers_unused() else { return };
        let remembered = trace.after(before(now, memory));
        let mut opportunity = if first.at(trace) < remembered.at(trace) { remembered } else { first };
        while opportunity.at(trace) <= now {
            self.queue.unused(opportunity.at(trace), Trace::OPPORTUNITY);
            opportunity = opportunity.next(trace);
        }
    }

    /// The last opportunity could have sent `bits` more.
    #[cold]
    pub(super) fn tell_unused_rest(&mut self, now: Instant, bits: u64) {
        self.queue.unused(now, Bytes::new(bits / 8));
    }

    #[inline]
    fn rest_if_empty(&mut self, now: Instant) {
        if self.queue.is_empty() {
            self.queue.rest(now);
        }
    }

    #[inline]
    fn adapt(&mut self, lost: bool) {
        if let Channel::Fading(radio) = &mut self.channel {
            radio.adapt(lost);
        }
    }

    /// What the station looks like at `now`, in slot number `slot`.
    pub(super) fn probe(&mut self, slot: u64) -> StationProbe {
        let (snr, rate) = match &mut self.channel {
            Channel::Fading(radio) => {
                let attempt = radio.attempt(slot);
                (Some(attempt.snr), Some(Rate::from_bps(attempt.rate as u64)))
            }
            Channel::Constant(rate) => (None, Some(*rate)),
            Channel::Trace => (None, None),
        };
        let marker = self.queue.marker();
        let (average_bytes, price_s) = (marker.average_bytes(), marker.price());
        StationProbe { queue: self.queue.bytes(), average_bytes, price_s, snr, rate, margin: self.margin() }
    }
}

/// When what ends at `now` began, `airtime` before.
#[inline]
fn before(now: Instant, airtime: Duration) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_sub(airtime.as_nanos()))
}

/// How many of the `bits` that are sent from `start` to `now` are sent before `from`.
#[cold]
fn early_bits(bits: u64, (start, from, now): (Instant, Instant, Instant)) -> u64 {
    let (early, all) = (from.min(now).saturating_since(start).as_nanos(), (now - start).as_nanos());
    // What takes no time was sent early altogether.
    let share = if all == 0 { 1.0 } else { early as f64 / all as f64 };
    libm::ceil(bits as f64 * share) as u64
}

/// A sample of a station's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationProbe {
    /// Bytes in the queue, with the packet on the air.
    pub queue: Bytes,
    /// The queue as the marker averages it \[B\].
    pub average_bytes: Option<f64>,
    /// The marker's price \[s\].
    pub price_s: Option<f64>,
    /// The channel's SNR, as a plain ratio.
    pub snr: Option<f64>,
    /// The rate at which the station would be served now.
    pub rate: Option<Rate>,
    /// The backoff margin m.
    pub margin: Option<f64>,
}
