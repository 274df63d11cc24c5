// SPDX-License-Identifier: MIT OR Apache-2.0
//! The access point: a queue per station, a scheduler, and one channel that the stations share in time.
//!
//! ```text
//! receive ──► queue of m1 ─┐
//!         ──► queue of m2 ─┼─► scheduler ──► radio: slots, packets or opportunities ──► departures
//!         ──► queue of m3 ─┘
//! ```
//!
//! A packet stays in its queue until it is through; what has been sent of it takes no room. What happens at one instant happens in this order: the end of what
//! is on the air, the scheduler's next choice, arrivals. So an arrival at the very instant of a choice comes too late for it,
//! however the access point is driven. While nothing waits, nothing happens and nothing is computed.

mod station;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

pub use station::{AirMeter, Station, StationProbe};

use crate::capacity::{Opportunity, Trace};
use crate::element::{Departure, Element};
use crate::error::{ParameterError, ensure};
use crate::fading::Kinds;
use crate::loss::LossConfig;
use crate::packet::Parcel;
use crate::queue::QueueConfig;
use crate::radio::{FadingRadio, Frames, RadioConfig};
use crate::rng::Streams;
use crate::role::{AnyScheduler, Candidates, SchedulerParams};
use crate::stats::Span;
use crate::units::{Duration, Instant, Rate};
use station::{Channel, Transmission};

/// An access point's parameters.
#[derive(Clone, Debug)]
pub struct ApConfig {
    /// Who is served next.
    pub scheduler: SchedulerParams,
    /// The stations, in the order of the packets' station index.
    pub stations: Vec<ApStationConfig>,
}

/// A station's parameters.
#[derive(Clone, Debug)]
pub struct ApStationConfig {
    /// Its name within the access point.
    pub name: String,
    /// Its queue at the access point.
    pub queue: QueueConfig,
    /// Its channel. All stations of an access point have channels of one kind; those that fade agree in slot and frames,
    /// and recorded ones share one trace.
    pub radio: RadioConfig,
    /// Losses on the air that have nothing to do with the channel's state, drawn once a packet.
    pub loss: LossConfig,
}

/// An access point.
#[derive(Debug)]
pub struct AccessPoint<P> {
    name: String,
    stations: Vec<Station<P>>,
    scheduler: AnyScheduler,
    /// The rate \[bit/s\] that none of their channels passes, where it is worth knowing.
    most_rate: f64,
    timing: Timing,
    /// The next instant at which something ends or starts.
    next: Option<Instant>,
    on_air: Option<Transmission>,
    /// Packets in all queues.
    held: usize,
    departures: VecDeque<Departure<P>>,
    span: Span,
}

/// When transmissions start and end.
#[derive(Debug)]
enum Timing {
    /// At multiples of `length`. `slot` is the first slot that has not begun, `attempts` the most for one frame.
    Slots { length: Duration, slot: u64, attempts: Attempts, shared: bool },
    /// One packet after the other; slots only tell when the SNR changes.
    Packets { slot_length: Duration, attempts: Attempts },
    /// As recorded.
    Opportunities { trace: Arc<Trace>, next: Opportunity },
}

/// How often each station's frame is tried.
type Attempts = Vec<u32>;

impl<P: Parcel> AccessPoint<P> {
    /// An idle access point, measured over `span`. Its stations' names and streams are `<name>/<station>`; those whose
    /// channels fade share `kinds` with the stations of other access points.
    ///
    /// # Errors
    /// If there is no station, stations' channels do not go together, or a parameter lies outside its domain.
    pub fn new(
        name: &str,
        config: &ApConfig,
        streams: &Streams,
        span: Span,
        kinds: &mut Kinds,
    ) -> Result<Self, ParameterError> {
        let timing = Timing::new(&config.stations)?;
        let station =
            |s: &ApStationConfig| Station::new(name, s, streams, span, kinds).map_err(|error| error.within(&s.name));
        let stations = config.stations.iter().map(station).collect::<Result<Vec<_>, _>>()?;
        let scheduler = AnyScheduler::new(&config.scheduler, config.stations.len());
        Ok(Self {
            name: name.to_owned(),
            most_rate: most_rate(&stations),
            stations,
            scheduler: scheduler.map_err(|error| error.within("scheduler"))?,
            timing,
            next: None,
            on_air: None,
            held: 0,
            departures: VecDeque::new(),
            span,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The stations, in the order of their index.
    pub fn stations(&self) -> &[Station<P>] {
        &self.stations
    }

    /// The rate that the channel offered a station, for comparison with what it carried: the constant rate, the trace's mean
    /// rate over the measured span, or of a fading channel the mean rate while it served the station; none if it never did.
    pub fn capacity(&self, station: usize) -> Option<Rate> {
        match (&self.timing, &self.stations[station].channel) {
            (Timing::Opportunities { trace, .. }, _) => {
                let span = self.stations[station].queue().meter().span();
                (!span.length().is_zero()).then(|| trace.rate_within(span))
            }
            (_, Channel::Constant(rate)) => Some(*rate),
            _ => self.stations[station].air.offered_rate(),
        }
    }

    /// The recorded channel, if it is one.
    pub fn trace(&self) -> Option<&Trace> {
        match &self.timing {
            Timing::Opportunities { trace, .. } => Some(trace),
            Timing::Slots { .. } | Timing::Packets { .. } => None,
        }
    }

    /// A sample of a station's state at `now`, to which the access point has been driven.
    pub fn probe(&mut self, station: usize, now: Instant) -> StationProbe {
        let slot = match self.timing {
            Timing::Slots { length, .. } => now.as_nanos() / length.as_nanos(),
            Timing::Packets { slot_length, .. } => now.as_nanos() / slot_length.as_nanos(),
            Timing::Opportunities { .. } => 0,
        };
        self.stations[station].probe(slot)
    }

    /// A flow has another weight than 1, which is told to the routers that mark.
    pub fn weigh(&mut self, flow: u64, weight: f64) {
        self.stations.iter_mut().for_each(|station| station.queue.weigh(flow, weight));
    }

    /// Its queues have a number among the lines that one path crosses.
    pub fn call_line(&mut self, number: u8) {
        self.stations.iter_mut().for_each(|station| station.queue.call_line(number));
    }

    /// Flow `n` is number `names[n]` of the whole network, of which this is a part.
    pub fn call_flows(&mut self, names: &Arc<[u32]>) {
        self.stations.iter_mut().for_each(|station| station.queue.call_flows(names));
    }

    /// All that [`poll_departure`](Element::poll_departure) would give, at one stroke; none: nothing.
    #[inline]
    pub fn take_departures(&mut self) -> Option<VecDeque<Departure<P>>> {
        if self.departures.is_empty() { None } else { Some(std::mem::take(&mut self.departures)) }
    }

    /// Has the memory of departures that were [taken](Self::take_departures), and have gone, used for those to come.
    #[inline]
    pub fn reuse(&mut self, gone: VecDeque<Departure<P>>) {
        if self.departures.is_empty() {
            self.departures = gone;
            self.departures.clear();
        }
    }

    /// Brings the meters up to the end of the run.
    pub fn finish(&mut self, now: Instant) {
        self.wake(now);
        for station in &mut self.stations {
            station.queue.finish(now);
        }
    }

    /// What ends or starts at `due`.
    #[inline(never)]
    fn serve(&mut self, due: Instant) {
        match self.timing {
            Timing::Slots { .. } => self.slot(due),
            Timing::Packets { .. } => self.packet(due),
            Timing::Opportunities { .. } => self.opportunity(due),
        }
    }

    /// Something waits again: the next start.
    fn resume(&mut self, now: Instant) {
        self.next = Some(match &mut self.timing {
            Timing::Slots { length, slot, .. } => {
                let start = now.as_nanos().div_ceil(length.as_nanos());
                if start > *slot {
                    self.scheduler.on_idle(start - *slot);
                    *slot = start;
                }
                Instant::from_nanos(start * length.as_nanos())
            }
            Timing::Packets { .. } => now,
            Timing::Opportunities { trace, next } => {
                let unused = std::mem::replace(next, trace.after(now));
                for station in &mut self.stations {
                    station.tell_unused(trace, unused, now);
                }
                next.at(trace)
            }
        });
    }

    /// A slot ends at `now` and another begins.
    #[inline]
    fn slot(&mut self, now: Instant) {
        let Timing::Slots { length, slot: number, attempts, shared } = &self.timing else { return };
        let (length, number, shared) = (*length, *number, *shared);
        let mut again = None;
        if let Some(frame) = &self.on_air {
            let station = &mut self.stations[frame.station];
            let tries = attempts[frame.station];
            let got_through = succeeds(station, frame, number);
            if self.span.contains(now) {
                station.air.count(frame, got_through, now, self.span.from);
            }
            // On a channel that is not shared the same frame goes again, or the packet goes on, coded anew.
            let (mut repeats_it, index) = (false, frame.station);
            let mut through = 0;
            if got_through {
                station.failures = 0;
                through = station.deliver(frame.bits, frame.airtime, now, &mut self.departures);
            } else {
                station.failures += 1;
                if station.failures >= tries {
                    station.end_attempts();
                    through = match shared {
                        true => station.give_up(frame.bits, now),
                        false => station.damage(frame.bits, frame.airtime, now, &mut self.departures),
                    };
                } else if shared {
                    station.keep(frame);
                } else {
                    repeats_it = repeats(station);
                }
            }
            self.held -= through;
            self.scheduler.on_served(index, frame.rate, got_through);
            if !shared && through == 0 {
                again = Some(index);
            }
            if repeats_it {
                return self.await_end_of_slot(now + length, number);
            }
        }
        let chosen = again.or_else(|| self.pick(number));
        if let Some(chosen) = chosen {
            self.on_air = Some(self.slot_frame(chosen, now, number, length, shared));
            self.await_end_of_slot(now + length, number);
        } else {
            (self.on_air, self.next) = (None, None);
        }
    }

    /// Who is served in a slot.
    #[inline]
    fn pick(&mut self, slot: u64) -> Option<usize> {
        self.scheduler.pick(&mut At { stations: &mut self.stations, slot, most_rate: self.most_rate })
    }

    #[inline]
    fn await_end_of_slot(&mut self, end: Instant, number: u64) {
        if let Timing::Slots { slot, .. } = &mut self.timing {
            *slot = number + 1;
        }
        self.next = Some(end);
    }

    /// What a station would send in a slot.
    #[inline(always)]
    fn slot_frame(&mut self, index: usize, now: Instant, slot: u64, length: Duration, shared: bool) -> Transmission {
        let station = &mut self.stations[index];
        let Channel::Fading(radio) = &mut station.channel else { unreachable!("slots are of fading channels") };
        let attempt = radio.attempt(slot);
        if let Some(unfinished) = station.unfinished {
            station.unfinished = None;
            return unfinished.again(attempt);
        }
        let room_bits = radio.bits(&attempt);
        self.held -= station.let_go(now, if shared { room_bits } else { 1 });
        let waiting_bits = if shared { station.waiting_bits() } else { station.rest_of_head() };
        Transmission {
            station: index,
            bits: waiting_bits.min(room_bits),
            room_bits,
            airtime: length,
            rate: attempt.rate,
            attempt: Some(attempt),
        }
    }

    /// A packet's transmission ends at `now` and another begins.
    fn packet(&mut self, now: Instant) {
        let Timing::Packets { slot_length, attempts } = &self.timing else { return };
        let slot = now.as_nanos() / slot_length.as_nanos();
        let mut again = None;
        if let Some(frame) = self.on_air.take() {
            let station = &mut self.stations[frame.station];
            let got_through = succeeds(station, &frame, slot);
            if self.span.contains(now) {
                station.air.count(&frame, got_through, now, self.span.from);
            }
            station.failures = if got_through { 0 } else { station.failures + 1 };
            if got_through {
                self.held -= station.deliver(frame.bits, frame.airtime, now, &mut self.departures);
            } else if station.failures >= attempts[frame.station] {
                station.end_attempts();
                self.held -= station.give_up(frame.bits, now);
            } else if repeats(station) {
                again = Some(frame);
            } else {
                again = Some(self.packet_frame(frame.station, now, slot));
            }
            self.scheduler.on_served(frame.station, frame.rate, got_through);
        }
        self.on_air = again.or_else(|| {
            let chosen = self.pick(slot)?;
            Some(self.packet_frame(chosen, now, slot))
        });
        self.next = self.on_air.map(|frame| now + frame.airtime);
    }

    /// A station's head, sent in one piece.
    fn packet_frame(&mut self, index: usize, now: Instant, slot: u64) -> Transmission {
        let station = &mut self.stations[index];
        self.held -= station.let_go(now, 1);
        let bits = station.rest_of_head();
        let (rate, airtime, attempt) = match &mut station.channel {
            Channel::Fading(radio) => {
                let attempt = radio.attempt(slot);
                (attempt.rate, Duration::from_secs_f64(bits as f64 / attempt.rate), Some(attempt))
            }
            Channel::Constant(rate) => (rate.as_bps() as f64, crate::units::Bytes::new(bits / 8) / *rate, None),
            Channel::Trace => unreachable!("traces have opportunities"),
        };
        Transmission { station: index, bits, room_bits: bits, airtime, rate, attempt }
    }

    /// An opportunity comes at `now`.
    fn opportunity(&mut self, now: Instant) {
        let Timing::Opportunities { trace, next } = &mut self.timing else { return };
        let mut stations = At { stations: &mut self.stations, slot: 0, most_rate: self.most_rate };
        if let Some(chosen) = self.scheduler.pick(&mut stations) {
            let station = &mut self.stations[chosen];
            let room_bits = 8 * Trace::OPPORTUNITY.get();
            self.held -= station.let_go(now, room_bits);
            let bits = station.waiting_bits().min(room_bits);
            let frame = Transmission {
                station: chosen,
                bits,
                room_bits,
                airtime: Duration::ZERO,
                rate: room_bits as f64,
                attempt: None,
            };
            if self.span.contains(now) {
                station.air.count(&frame, true, now, self.span.from);
            }
            self.held -= station.deliver(bits, Duration::ZERO, now, &mut self.departures);
            if bits < room_bits {
                station.tell_unused_rest(now, room_bits - bits);
            }
            self.scheduler.on_served(chosen, frame.rate, true);
        }
        *next = next.next(trace);
        self.next = (self.held > 0).then(|| next.at(trace));
    }
}

/// The rate \[bit/s\] that no station's channel passes; of few stations none is given: whether one can be left out is a toss-up
/// there, which no branch predictor foresees.
fn most_rate<P>(stations: &[Station<P>]) -> f64 {
    const FEW: usize = 8;
    let rates = stations.iter().map(|station| station.channel.most_rate());
    if stations.len() > FEW { rates.fold(0.0, f64::max) } else { f64::INFINITY }
}

#[inline]
fn succeeds<P: Parcel>(station: &mut Station<P>, frame: &Transmission, end_slot: u64) -> bool {
    match (&mut station.channel, &frame.attempt) {
        (Channel::Fading(radio), Some(attempt)) => radio.succeeds(attempt, end_slot),
        _ => true,
    }
}

#[inline]
fn repeats<P: Parcel>(station: &Station<P>) -> bool {
    matches!(&station.channel, Channel::Fading(radio) if radio.repeats())
}

impl<P: Parcel> Element<P> for AccessPoint<P> {
    #[inline(always)]
    fn receive(&mut self, now: Instant, packet: P) {
        self.wake(now);
        let queue = &mut self.stations[packet.station()].queue;
        let (held, before) = (self.held, queue.len());
        queue.push(now, packet);
        self.held = held + queue.len() - before;
        if held == 0 && self.held > 0 {
            self.resume(now);
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        self.next
    }

    #[inline]
    fn wake(&mut self, now: Instant) {
        while let Some(due) = self.next.filter(|&due| due <= now) {
            self.serve(due);
        }
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<P>> {
        self.departures.pop_front()
    }
}

/// The stations as the scheduler sees them in a slot.
struct At<'a, P> {
    stations: &'a mut [Station<P>],
    slot: u64,
    most_rate: f64,
}

impl<P: Parcel> Candidates for At<'_, P> {
    #[inline]
    fn count(&self) -> usize {
        self.stations.len()
    }

    #[inline]
    fn waits(&self, station: usize) -> bool {
        !self.stations[station].queue.is_empty()
    }

    #[inline]
    fn rate(&mut self, station: usize) -> f64 {
        match &mut self.stations[station].channel {
            Channel::Fading(radio) => radio.attempt(self.slot).rate,
            Channel::Constant(rate) => rate.as_bps() as f64,
            Channel::Trace => 1.0,
        }
    }

    #[inline]
    fn most_rate(&self) -> f64 {
        self.most_rate
    }

    /// The SNR of a fading channel. A constant one is the better the faster it is; a trace is equally good to all.
    #[inline]
    fn snr(&mut self, station: usize) -> f64 {
        match &mut self.stations[station].channel {
            Channel::Fading(radio) => radio.fading.snr(self.slot),
            Channel::Constant(rate) => rate.as_bps() as f64,
            Channel::Trace => 1.0,
        }
    }
}

impl Timing {
    fn new(stations: &[ApStationConfig]) -> Result<Self, ParameterError> {
        let Some(first) = stations.first() else {
            return Err(ParameterError::new("station", "[]", "at least one, or a flow to one"));
        };
        let agree = |holds: bool, station: &ApStationConfig, wanted: &str| {
            ensure(holds, "radio", &station.name, wanted).map_err(|error| error.within(&station.name))
        };
        match &first.radio {
            RadioConfig::Fading(lead) => {
                let mut attempts = Attempts::new();
                for station in stations {
                    let RadioConfig::Fading(radio) = &station.radio else {
                        return Err(agree(false, station, "a fading channel, as the first station's").unwrap_err());
                    };
                    let same = radio.slot == lead.slot && radio.frames == lead.frames && radio.beams == lead.beams;
                    agree(same, station, "the first station's slot, frames and beams")?;
                    attempts.push(radio.attempts);
                }
                let &FadingRadio { slot: length, frames, .. } = lead;
                Ok(match frames {
                    Frames::Whole => Self::Packets { slot_length: length, attempts },
                    _ => Self::Slots { length, slot: 0, attempts, shared: frames == Frames::Shared },
                })
            }
            RadioConfig::Constant(_) => {
                for station in stations {
                    let same = matches!(station.radio, RadioConfig::Constant(_));
                    agree(same, station, "a constant rate, as the first station's")?;
                }
                Ok(Self::Packets { slot_length: Duration::from_secs(1), attempts: vec![1; stations.len()] })
            }
            RadioConfig::Trace(trace) => {
                for station in stations {
                    let same = matches!(&station.radio, RadioConfig::Trace(other) if other == trace);
                    agree(same, station, "the first station's trace")?;
                }
                Ok(Self::Opportunities { trace: Arc::clone(trace), next: trace.after(Instant::ZERO) })
            }
        }
    }
}
