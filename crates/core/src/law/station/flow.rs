// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flow of a station, as its agent knows it.

use super::arrival::{Known, StationArrival};
use super::equations;
use super::grants::Grants;
use super::passage::Passage;
use crate::estimator::RecentLeast;
use crate::units::Duration;

/// Segments that a flow may have on their way before the line is known.
pub(super) const FIRST_SEGMENTS: u32 = 10;
/// The time over which it is counted what a flow takes at present \[s\].
const PRESENT_S: f64 = 1.0;

/// Bytes over so many last seconds, of which the older ones are forgotten.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    bytes: f64,
}

impl Taken {
    pub(super) fn add(&mut self, bytes: f64) {
        self.bytes += bytes;
    }

    pub(super) fn bytes(self) -> f64 {
        self.bytes
    }

    pub(super) fn pass(&mut self, elapsed_s: f64, over_s: f64) {
        self.bytes *= libm::exp(-elapsed_s / over_s);
    }
}

/// A flow.
#[derive(Clone, Debug)]
pub(super) struct StationFlow {
    /// φ.
    pub(super) weight: f64,
    pub(super) mss_bytes: f64,
    /// Bytes on the wire for each of payload, in whole segments.
    wire: f64,
    /// Whether its receiver is known to hold acknowledgements back.
    pub(super) holds: bool,
    delay_s: RecentLeast,
    /// d \[s\]; 0 before it is known.
    pub(super) d_s: f64,
    /// All that has come \[B of payload\].
    received: u64,
    /// How far right its buffer lets its window end.
    most_edge: u64,
    grants: Option<Grants>,
    dither: f64,
    /// When the last packet came \[s\].
    pub(super) last_s: f64,
    at_present: Taken,
    /// When it was last taken to be away, of the station's time \[s\].
    pub(super) left_s: f64,
    /// By how much it holds more than its window, when that was last found \[segments\].
    over_segments: f64,
    /// Whether it has no more to send.
    pub(super) is_limited: bool,
    /// The lines that it crosses, as far as they have spoken, and which of them leaves it the least.
    pub(super) passages: Vec<Passage>,
    bound: usize,
}

impl StationFlow {
    /// A flow whose delay is the least of the last one to two intervals of `memory`.
    pub(super) fn new(weight: f64, mss: u32, memory: Duration) -> Self {
        Self {
            weight,
            mss_bytes: f64::from(mss),
            wire: 1.0,
            holds: false,
            delay_s: RecentLeast::new(memory.as_secs_f64()),
            d_s: 0.0,
            received: 0,
            grants: None,
            most_edge: u64::MAX,
            dither: 0.0,
            last_s: 0.0,
            at_present: Taken::default(),
            left_s: 0.0,
            over_segments: 0.0,
            is_limited: false,
            passages: vec![],
            bound: 0,
        }
    }

    /// One of its packets has come.
    pub(super) fn arrived(&mut self, arrival: &StationArrival, dithers: bool) {
        let waited_s = arrival.told.waits().all_s();
        self.last_s = arrival.t_s;
        self.received = arrival.received;
        self.most_edge = arrival.most_edge;
        let edge = arrival.edge;
        self.grants.get_or_insert_with(|| Grants::new(edge));
        self.d_s = match arrival.told {
            Known::Stamped { rtt_s, .. } => {
                if let Some(rtt_s) = rtt_s {
                    self.delay_s.see(arrival.t_s, equations::propagation(rtt_s, waited_s));
                }
                self.delay_s.value().unwrap_or(0.0)
            }
            Known::Found(found) => {
                self.holds = found.holds;
                found.delay_s
            }
        };
        let header_bytes = arrival.size_bytes - arrival.payload_bytes;
        self.wire = (self.mss_bytes + header_bytes) / self.mss_bytes;
        self.at_present.add(arrival.size_bytes);
        if dithers {
            self.dither = equations::next_dither(self.dither);
        }
    }

    /// It was away until `heard_s` of the station's time had passed, and took nothing meanwhile.
    pub(super) fn comes_back(&mut self, heard_s: f64) {
        self.at_present.pass(heard_s - self.left_s, PRESENT_S);
    }

    /// So much of the station's time has passed.
    pub(super) fn pass(&mut self, elapsed_s: f64) {
        self.at_present.pass(elapsed_s, PRESENT_S);
        let held_bytes = self.held_bytes();
        self.passages.iter_mut().for_each(|passage| passage.party.held(held_bytes, elapsed_s));
    }

    /// The flow at a line; none if that has not spoken to it.
    pub(super) fn at(&self, line: usize) -> Option<&Passage> {
        self.passages.iter().find(|passage| passage.line == line)
    }

    /// The same, to be changed.
    pub(super) fn at_mut(&mut self, line: usize) -> Option<&mut Passage> {
        self.passages.iter_mut().find(|passage| passage.line == line)
    }

    /// `line` has spoken at `t_s` in a packet that waited for other lines for `elsewhere_s`.
    pub(super) fn heard(&mut self, line: usize, t_s: f64, elsewhere_s: f64) {
        if self.at(line).is_none() {
            self.passages.push(Passage::new(line, self.weight));
        }
        let d_s = self.d_s;
        self.at_mut(line).into_iter().for_each(|passage| passage.spoke(t_s, elsewhere_s, d_s));
    }

    /// `bytes` of it have come that waited for `waited_s`, or whose acknowledgements did.
    pub(super) fn had(&mut self, bytes: f64, waited_s: f64) {
        let way_s = self.d_s + waited_s;
        self.passages.iter_mut().for_each(|passage| passage.party.had(bytes, way_s));
    }

    /// d as a line sees it \[s\]: with what its packets wait for other lines.
    pub(super) fn delay_at(&self, passage: &Passage) -> f64 {
        self.d_s + passage.elsewhere_s
    }

    /// Follows the rate of a line, where `elapsed_s` have passed since it last did.
    pub(super) fn follow(&mut self, line: usize, rate: f64, elapsed_s: f64, rounds: (f64, f64)) {
        let d_s = self.d_s;
        let passage = self.at_mut(line);
        passage.into_iter().for_each(|passage| passage.follow(rate, elapsed_s, rounds, d_s + passage.elsewhere_s));
    }

    /// What it has waiting for a line \[B\], if that has such a queue.
    pub(super) fn think_of_waiting(&mut self, line: usize, t_s: f64) -> f64 {
        let Some(passage) = self.at(line) else { return 0.0 };
        let bytes = equations::waiting(self.held_bytes(), self.pipe_bytes(t_s, self.delay_at(passage)), 1.0);
        self.at_mut(line).into_iter().for_each(|passage| passage.waiting_bytes = bytes);
        bytes
    }

    /// Whether it would take all that a line leaves it.
    pub(super) fn is_greedy_at(&self, line: usize) -> bool {
        !self.is_limited && !self.is_bound_elsewhere(line)
    }

    /// Whether a line leaves it more than another that it crosses, so that it will not take its part here.
    pub(super) fn is_bound_elsewhere(&self, line: usize) -> bool {
        self.passages.get(self.bound).is_some_and(|bound| bound.line != line)
    }

    /// Its lines offer it `windows_bytes`, after `elapsed_s`.
    pub(super) fn offered(&mut self, windows_bytes: &[f64], elapsed_s: f64) {
        for (passage, &window_bytes) in self.passages.iter_mut().zip(windows_bytes) {
            passage.offers(window_bytes, elapsed_s);
        }
        let mean = |&i: &usize| self.passages[i].mean_window_bytes();
        let least = (0..self.passages.len()).min_by(|a, b| mean(a).total_cmp(&mean(b)));
        self.bound = least.filter(|least| equations::is_bound(mean(least), mean(&self.bound))).unwrap_or(self.bound);
    }

    /// r \[B/s\] over 1 s.
    pub(super) fn present_rate(&self) -> f64 {
        self.at_present.bytes / PRESENT_S
    }

    /// Looks whether it has no more to send, by what has come over a line.
    pub(super) fn find_limited(&mut self, line: usize) {
        self.is_limited = self.at(line).map_or(self.is_limited, |passage| passage.party.is_limited());
    }

    /// All that has come of it \[B of payload\].
    pub(super) fn received_bytes(&self) -> f64 {
        self.received as f64
    }

    /// I \[B\]: what it may still send, or has sent and has not come.
    pub(super) fn held_bytes(&self) -> f64 {
        self.edge().saturating_sub(self.received) as f64 * self.wire
    }

    /// O \[B\]: what is on its way to the queue at `t_s`, for which it takes `delay_s`.
    pub(super) fn pipe_bytes(&self, t_s: f64, delay_s: f64) -> f64 {
        equations::pipe(self.edge() as f64, self.edge_at(t_s - delay_s)) * self.wire
    }

    /// A \[B\]: what will come to the queue within `lead_s`.
    pub(super) fn arriving_bytes(&self, t_s: f64, delay_s: f64, lead_s: f64) -> f64 {
        let then_s = t_s - delay_s;
        equations::arriving(self.edge_at(then_s + lead_s), self.edge_at(then_s)) * self.wire
    }

    /// Whether its window has no room for another segment.
    pub(super) fn is_shut(&self) -> bool {
        (self.edge().saturating_sub(self.received) as f64) < self.mss_bytes
    }

    /// By how much more than its window it holds \[segments\]; less than 0: so much less.
    pub(super) fn over_segments(&self) -> f64 {
        self.over_segments
    }

    /// Its window is `window_bytes`.
    pub(super) fn compare(&mut self, window_bytes: f64) {
        let segment_bytes = self.mss_bytes * self.wire;
        self.over_segments = (self.held_bytes() - window_bytes.max(segment_bytes)) / segment_bytes;
    }

    /// Where its window is to end for it to hold `window_bytes`, where the other flows hold `over_segments` more than theirs, if that is
    /// another place than now; never further left. Rounded down where windows are not to be of a segment more or less in turn.
    pub(super) fn edge_for(&self, window_bytes: f64, over_segments: Option<f64>) -> Option<u64> {
        let rounding = over_segments.map_or(0.0, |over| equations::rounding(self.dither, over));
        let bytes = equations::advertised(window_bytes / self.wire, self.mss_bytes, rounding);
        let edge = self.received.saturating_add(bytes as u64).min(self.most_edge);
        (edge > self.edge()).then_some(edge)
    }

    /// Where it is to end before the line is known.
    pub(super) fn first_edge(&self) -> Option<u64> {
        self.edge_for(FIRST_SEGMENTS as f64 * self.mss_bytes * self.wire, None)
    }

    /// The window is moved at `t_s`.
    pub(super) fn grant(&mut self, t_s: f64, edge: u64) {
        if let Some(grants) = &mut self.grants {
            // What is waited elsewhere may come to twice as much.
            let elsewhere_s = self.passages.iter().map(|passage| passage.elsewhere_s).fold(0.0, f64::max);
            grants.forget(t_s - (self.d_s + 2.0 * elsewhere_s));
            grants.grant(t_s, edge);
        }
    }

    /// The right edge of its window.
    pub(super) fn edge(&self) -> u64 {
        self.grants.as_ref().map_or(0, Grants::edge)
    }

    fn edge_at(&self, t_s: f64) -> f64 {
        self.grants.as_ref().map_or(0, |grants| grants.edge_at(t_s)) as f64
    }
}
