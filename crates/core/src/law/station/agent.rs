// SPDX-License-Identifier: MIT OR Apache-2.0
//! The agent of a station: a receiving host, or a proxy in front of it.

use super::arrival::{Known, StationArrival};
use super::equations;
use super::flow::StationFlow;
use super::line::StationLine;
use super::passage::Passage;
use crate::error::{ParameterError, ensure};
use crate::estimator::RecentLeast;
use crate::law::share;
use crate::parameter::{Parameter, above};
use crate::parameters;
use crate::units::Duration;

/// T by default.
pub const TARGET: Duration = Duration::from_millis(10);
/// κ.
pub const KAPPA: f64 = 0.25;
/// c upwards and downwards.
const RISE: f64 = 1.2;
const FALL: f64 = 0.3;
/// g, κ and c without `residual`, the first step: one κ for all, as nobody leads.
const WHOLE_G: f64 = 0.9;
const WHOLE_KAPPA: f64 = 0.5;
const WHOLE_ROUNDS: (f64, f64) = (1.5, 0.5);
/// For how long at least a flow that sends nothing keeps its part \[s\], and for how many of its round trips.
const MEMORY_S: f64 = 0.3;
const MEMORY_ROUNDS: f64 = 2.0;
/// Acknowledgements wait if the round trips of the last one to two of these intervals all say so \[s\].
const CROWDED_S: f64 = 0.1;
/// The longest pause that counts in averages of what flows take \[s\].
const LONGEST_PAUSE_S: f64 = 0.1;

parameters! {
    /// The agent of a station. All flows of a station have the same.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StationKeys {
        /// T: the standing queue that is wanted, as the time that the line takes for it. 4 ms for delay, 18 to 30 ms for throughput.
        pub target: Duration = TARGET, in above(Duration::ZERO);
        /// Whether any packet of the station moves the window of any of its flows, by window updates; otherwise each flow's own do.
        pub clock: bool = true;
        /// Whether each flow fills what slower ones leave of the line within its own round trip, as the agent knows from what it has
        /// granted; otherwise each has its share at all times, by the share window's equations.
        pub residual: bool = true;
        /// Whether flows that have no more to send are told by Little's law, and count for what they take.
        pub demand: bool = true;
        /// Whether weights lean slowly to flows that get less than their share. Not without `demand`, or they lean to those that want
        /// no more.
        pub balance: bool = true;
        /// Whether a flow counts twice until 100 kB of it have come, so that short downloads are over sooner.
        pub newcomers: bool = true;
        /// Whether every second segment is acknowledged, and not all, once acknowledgements have waited for each other on a thin uplink.
        pub thin_acks: bool = true;
        /// κ: how much of what the queue is too short or too long is asked for at once; ¼ by default, ½ without `residual`.
        pub kappa: Option<f64> = None, in 0.0..1.0;
        /// c upwards: the round trips in which a rising rate is followed; 1.2 by default, 1.5 without `residual`.
        pub rise: Option<f64> = None, in 0.0..;
        /// c downwards; 0.3 by default, ½ without `residual`.
        pub fall: Option<f64> = None, in 0.0..;
        /// Whether windows between two segments are the one or the other in turn; otherwise they are rounded down.
        pub dither: bool = true;
        /// The delay of a flow is the least of the last one to two of these intervals.
        pub memory: Duration = Duration::from_secs(10), in above(Duration::ZERO);
    }
    check(p) {
        ensure(p.demand || !p.balance, "balance", p.balance, "false, or `demand` with it")?;
    }
}

/// A window to be advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The flow, by the number that [`StationAgent::add`] gave it.
    pub flow: usize,
    /// The window's right edge, as a byte of payload.
    pub edge: u64,
}

/// The agent of one station.
///
/// ```
/// use lasthop_core::law::station::{Grant, StationAgent, StationArrival, StationKeys, Known};
/// use lasthop_core::packet::StationStamp;
///
/// let mut agent = StationAgent::new(StationKeys { dither: false, ..StationKeys::default() })?;
/// let flow = agent.add(1.0, 1000);
/// // Packets of 1250 B each 10 ms, of which each leaves 1250 B behind: 125 kB/s.
/// let mut edge = 10_000;
/// for n in 1..=100_u32 {
///     let stamp = StationStamp { sent_bytes: 1250 * n, behind_bytes: 1250.0, waited_s: 0.02, ..StationStamp::default() };
///     let t_s = 0.01 * f64::from(n);
///     let (size_bytes, payload_bytes, received) = (1250.0, 1000.0, u64::from(1000 * n));
///     let (told, most_edge, is_acknowledged) = (Known::Stamped { stamp, rtt_s: Some(0.125) }, u64::MAX, true);
///     let packet = StationArrival { t_s, size_bytes, payload_bytes, told, received, edge, most_edge, is_acknowledged };
///     for grant in agent.received(flow, &packet) {
///         edge = grant.edge;
///     }
/// }
/// // room = 125 kB/s · (105 − 10 + 10) ms + ¼ · (1250 − 1250) B = 13.1 kB on the wire: ten segments.
/// assert_eq!(edge, 110_000);
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StationAgent {
    keys: StationKeys,
    kappa: f64,
    /// c upwards and downwards.
    rounds: (f64, f64),
    /// The lines that have spoken.
    lines: Vec<StationLine>,
    sent_bits: u32,
    flows: Vec<StationFlow>,
    /// Those that are there, in the order of their coming.
    present: Vec<usize>,
    /// When the last packet came \[s\].
    last_s: f64,
    /// The station's time that has passed, longer pauses left out \[s\].
    heard_s: f64,
    /// By how much the round trips exceed what they have been, without the wait in the queue.
    excess_s: RecentLeast,
    /// When acknowledgements last waited for each other \[s\].
    crowded_s: Option<f64>,
}

impl StationAgent {
    /// The agent of a station without flows.
    ///
    /// # Errors
    /// If a parameter lies outside its domain.
    pub fn new(keys: StationKeys) -> Result<Self, ParameterError> {
        keys.validate()?;
        let (kappa, (rise, fall)) = if keys.residual { (KAPPA, (RISE, FALL)) } else { (WHOLE_KAPPA, WHOLE_ROUNDS) };
        Ok(Self {
            keys,
            kappa: keys.kappa.unwrap_or(kappa),
            rounds: (keys.rise.unwrap_or(rise), keys.fall.unwrap_or(fall)),
            lines: vec![],
            sent_bits: u32::BITS,
            flows: vec![],
            present: vec![],
            last_s: 0.0,
            heard_s: 0.0,
            excess_s: RecentLeast::new(CROWDED_S),
            crowded_s: None,
        })
    }

    /// The same where stamps count what was sent modulo 2^`bits`; up to 32 bits, as without it.
    #[must_use]
    pub fn counting(self, bits: u32) -> Self {
        Self { sent_bits: bits, ..self }
    }

    /// What it was made with.
    pub fn keys(&self) -> &StationKeys {
        &self.keys
    }

    /// Takes in a flow of a `weight` above 0 with segments of `mss` bytes; gives its number.
    pub fn add(&mut self, weight: f64, mss: u32) -> usize {
        self.flows.push(StationFlow::new(weight, mss, self.keys.memory));
        self.flows.len() - 1
    }

    /// A packet of `flow` has come. Gives the windows to be advertised now: that of the flow itself goes with the acknowledgement, those
    /// of others by window updates.
    pub fn received(&mut self, flow: usize, arrival: &StationArrival) -> Vec<Grant> {
        let t_s = arrival.t_s;
        let gap_s = if self.present.is_empty() { 0.0 } else { t_s - self.last_s };
        self.last_s = t_s;
        let line = self.line_of(arrival);
        // The clock of a line goes by the packets in which it speaks.
        let spoke_s = self.lines[line].spoke(t_s);
        let line_gap_s = if self.at(line).next().is_none() { 0.0 } else { spoke_s };
        let sent_bytes = self.lines[line].learn(arrival);
        let waits = arrival.told.waits();
        let own_gap_s = t_s - self.flows[flow].at(line).map_or(0.0, |passage| passage.last_s);
        self.heard_s += gap_s.min(LONGEST_PAUSE_S);
        for &i in &self.present {
            self.flows[i].pass(gap_s.min(LONGEST_PAUSE_S));
        }
        if !self.present.contains(&flow) {
            self.flows[flow].comes_back(self.heard_s);
        }
        self.lines[line].pass(line_gap_s.min(LONGEST_PAUSE_S));
        self.lines[line].sent(sent_bytes);
        self.flows[flow].arrived(arrival, self.keys.dither);
        self.flows[flow].heard(line, t_s, waits.elsewhere_s);
        for passage in &self.flows[flow].passages {
            self.lines[passage.line].carried_own(arrival.size_bytes);
        }
        match arrival.told {
            Known::Stamped { rtt_s: None, .. } => {}
            Known::Stamped { rtt_s: Some(rtt_s), .. } => {
                self.excess_s.see(t_s, equations::propagation(rtt_s, waits.all_s()) - self.flows[flow].d_s);
            }
            Known::Found(found) => self.excess_s.see(t_s, found.ack_delay_s),
        }
        // Of a hidden queue, d holds what acknowledgements wait.
        let crowded_s = self.excess_s.value().filter(|&excess_s| equations::is_crowded(excess_s));
        self.crowded_s = crowded_s.map(|_| t_s).or(self.crowded_s);
        let is_stamped = matches!(arrival.told, Known::Stamped { .. });
        let back_s = crowded_s.filter(|_| is_stamped).unwrap_or(0.0);
        self.flows[flow].had(arrival.size_bytes, waits.all_s() + back_s);
        self.attend(t_s, flow, waits.all_s() + self.lines[line].timer_s());
        let Some(line_rate) = self.lines[line].rate() else {
            let edge = self.flows[flow].first_edge().filter(|_| arrival.is_acknowledged);
            edge.into_iter().for_each(|edge| self.flows[flow].grant(t_s, edge));
            return edge.map(|edge| Grant { flow, edge }).into_iter().collect();
        };
        for &i in &self.present {
            let elapsed_s = if self.keys.clock { line_gap_s } else { own_gap_s };
            if self.keys.clock || i == flow {
                self.flows[i].follow(line, line_rate, elapsed_s, self.rounds);
            }
        }
        if self.keys.demand {
            self.compare(line, t_s);
        }
        self.estimate_waiting(line, t_s);
        self.find_bounds(line, t_s, line_gap_s.min(LONGEST_PAUSE_S));
        // On a thin uplink updates are in the way of acknowledgements.
        let moves_others = self.keys.clock && crowded_s.is_none();
        let mut grants = vec![];
        let mut over_segments: f64 = self.at(line).map(|(_, flow, _)| flow.over_segments()).sum();
        for at in 0..self.present.len() {
            let i = self.present[at];
            let is_own = i == flow;
            // What is acknowledged later will be told then, but for a sender that must wait for it.
            let is_told = arrival.is_acknowledged || self.flows[i].is_shut();
            if is_own && !is_told || !is_own && (!moves_others || self.flows[i].at(line).is_none()) {
                continue;
            }
            let window = self.window_beside_held(i, line, t_s, line_rate);
            over_segments -= self.flows[i].over_segments();
            let others_over = self.keys.dither.then_some(over_segments);
            self.flows[i].compare(window);
            over_segments += self.flows[i].over_segments();
            let known = &self.flows[i];
            if let Some(edge) = known.edge_for(window, others_over)
                && (is_own || (edge - known.edge()) as f64 >= known.mss_bytes)
            {
                grants.push(Grant { flow: i, edge });
            }
        }
        for grant in &grants {
            self.flows[grant.flow].grant(t_s, grant.edge);
        }
        grants
    }

    /// w of flow `i`, and what its receiver holds back.
    fn window_beside_held(&self, i: usize, line: usize, t_s: f64, line_rate: f64) -> f64 {
        let (flow, window) = (&self.flows[i], self.window(i, t_s));
        if !flow.holds {
            return window;
        }
        if self.lines[line].is_draining() {
            return equations::beside_held_draining(window, flow.mss_bytes);
        }
        let weights: f64 = self.at(line).map(|(_, flow, _)| flow.weight).sum();
        let rate = flow.at(line).and_then(|passage| passage.rate).unwrap_or(line_rate) * flow.weight / weights;
        equations::beside_held(
            window,
            flow.mss_bytes,
            flow.mss_bytes / 2.0,
            2.0 * flow.mss_bytes,
            rate * self.lines[line].timer_s(),
        )
    }

    /// The line of which an arrival tells, by its place here.
    fn line_of(&mut self, arrival: &StationArrival) -> usize {
        let number = arrival.told.line();
        if let Some(line) = self.lines.iter().position(|line| line.number == number) {
            return line;
        }
        self.lines.push(StationLine::new(number, self.sent_bits));
        self.lines.len() - 1
    }

    /// Those that are there and cross a line, by their numbers.
    fn at(&self, line: usize) -> impl Iterator<Item = (usize, &StationFlow, &Passage)> {
        self.present.iter().filter_map(move |&i| self.flows[i].at(line).map(|passage| (i, &self.flows[i], passage)))
    }

    /// Who is there, now that a packet of `flow` has come.
    fn attend(&mut self, t_s: f64, flow: usize, waited_s: f64) {
        let (flows, heard_s) = (&mut self.flows, self.heard_s);
        self.present.retain(|&i| {
            let memory_s = MEMORY_S.max(MEMORY_ROUNDS * flows[i].d_s) + waited_s;
            let stays = t_s - flows[i].last_s <= memory_s;
            if !stays {
                flows[i].left_s = heard_s;
            }
            stays
        });
        if !self.present.contains(&flow) {
            self.present.push(flow);
        }
    }

    /// Those that are there and would take all that a line leaves them.
    fn greedy(&self, line: usize) -> impl Iterator<Item = (&StationFlow, &Passage)> {
        self.at(line).filter(move |(_, flow, _)| flow.is_greedy_at(line)).map(|(_, flow, passage)| (flow, passage))
    }

    /// Those that are there and take less of a line than they might: they have no more to send, or another line binds them.
    fn limited(&self, line: usize) -> impl Iterator<Item = (&StationFlow, &Passage)> {
        self.at(line).filter(move |(_, flow, _)| !flow.is_greedy_at(line)).map(|(_, flow, passage)| (flow, passage))
    }

    /// Compares what flows have had of a line: who has no more to send is found, and weights lean to those that got less than their share.
    fn compare(&mut self, line: usize, t_s: f64) {
        let mut balance = self.lines[line].balance;
        if balance.is_due(t_s) {
            let present = &self.present;
            let flows = self.flows.iter_mut().enumerate().filter(|(i, _)| present.contains(i));
            let mut parties: Vec<_> = flows
                .filter_map(|(_, flow)| {
                    let is_greedy = flow.is_greedy_at(line);
                    flow.at_mut(line).map(|passage| (&mut passage.party, is_greedy))
                })
                .collect();
            balance.compare(t_s, self.keys.balance, &mut parties);
            for &i in &self.present {
                self.flows[i].find_limited(line);
            }
        }
        self.lines[line].balance = balance;
    }

    /// What each flow has waiting for a line.
    fn estimate_waiting(&mut self, line: usize, t_s: f64) {
        let queue_bytes = self.lines[line].queue_bytes();
        let mut thought_bytes = 0.0;
        for &i in &self.present {
            let is_greedy = self.flows[i].is_greedy_at(line);
            let waiting_bytes = self.flows[i].think_of_waiting(line, t_s);
            if is_greedy {
                thought_bytes += waiting_bytes;
            }
        }
        let scale = equations::scale(queue_bytes, thought_bytes);
        for &i in &self.present {
            self.flows[i].at_mut(line).into_iter().for_each(|passage| passage.waiting_bytes *= scale);
        }
    }

    /// Which of its lines leaves the least to each flow that crosses several, `line` among them.
    fn find_bounds(&mut self, line: usize, t_s: f64, elapsed_s: f64) {
        for i in self.present.clone() {
            if self.flows[i].passages.len() > 1 && self.flows[i].at(line).is_some() {
                let windows: Vec<_> = self.windows(i, t_s).collect();
                self.flows[i].offered(&windows, elapsed_s);
            }
        }
    }

    /// Whether receivers are to acknowledge every second segment at once, and not all.
    pub fn thins_acks(&self) -> bool {
        self.keys.thin_acks && self.crowded_s.is_some_and(|crowded_s| equations::thins_acks(self.last_s - crowded_s))
    }

    /// As how many a flow counts.
    fn counted(&self, flow: &StationFlow) -> f64 {
        if self.keys.newcomers { equations::counted(flow.received_bytes()) } else { 1.0 }
    }

    /// p of a flow at a line: its weight as it leans, as often as it counts.
    fn leaning(&self, flow: &StationFlow, passage: &Passage) -> f64 {
        self.counted(flow) * passage.party.leaning()
    }

    /// w of flow `i` \[B on the wire\]: the least of those at its lines.
    fn window(&self, i: usize, t_s: f64) -> f64 {
        self.windows(i, t_s).fold(f64::INFINITY, f64::min)
    }

    /// w of flow `i` at each of its lines \[B on the wire\], infinite where the line is not known yet.
    fn windows(&self, i: usize, t_s: f64) -> impl Iterator<Item = f64> {
        let flow = &self.flows[i];
        flow.passages.iter().map(move |passage| {
            self.lines[passage.line].rate().map_or(f64::INFINITY, |rate| self.window_at(flow, passage, t_s, rate))
        })
    }

    /// w of a flow at a line \[B on the wire\].
    fn window_at(&self, flow: &StationFlow, passage: &Passage, t_s: f64, line_rate: f64) -> f64 {
        let line = passage.line;
        let delay_s = flow.delay_at(passage);
        let target_s = self.keys.target.as_secs_f64();
        let queue_bytes = self.lines[line].queue_bytes();
        let part = || flow.weight / self.at(line).map(|(_, flow, _)| flow.weight).sum::<f64>();
        if self.lines[line].is_draining() {
            return equations::draining_window(part(), line_rate, delay_s);
        }
        if flow.is_limited {
            return equations::limited_window(part(), line_rate, delay_s, target_s);
        }
        if flow.is_bound_elsewhere(line) {
            return self.lines[line].own_part() * equations::limited_window(part(), line_rate, delay_s, target_s);
        }
        let rate = passage.rate.unwrap_or(line_rate);
        if !self.keys.residual {
            let taken = self.limited(line).map(|(flow, _)| flow.present_rate()).sum();
            let weights = self.greedy(line).map(|(flow, there)| self.leaning(flow, there)).sum();
            let share = equations::share_of_rest(rate, weights, taken, 0.0);
            let room_s = share::equations::room(target_s, self.kappa, share::equations::wait(queue_bytes, line_rate));
            let leaning = self.leaning(flow, passage);
            let window = share::equations::window(leaning, share, WHOLE_G * delay_s, room_s, 1.0);
            return self.lines[line].own_part() * window;
        }
        let wait_s = share::equations::wait(queue_bytes, line_rate);
        let held = |(other, _): (&StationFlow, _)| equations::held_by_limited(other.present_rate(), delay_s, wait_s);
        let mut others_bytes: f64 = self.limited(line).map(held).sum();
        let (mut leaning, mut crowding, mut is_fastest) = (0.0, 0.0, true);
        for (other, there) in self.greedy(line) {
            let other_s = other.delay_at(there);
            if equations::is_slower(other_s, delay_s) {
                others_bytes += there.waiting_bytes + other.arriving_bytes(t_s, other_s, delay_s);
            } else {
                leaning += self.leaning(other, there);
                crowding += self.counted(other) * there.party.crowding();
                is_fastest &= !equations::is_slower(delay_s, other_s);
            }
        }
        let lead_s = equations::lead(delay_s, is_fastest);
        let room_bytes = equations::room(rate, lead_s, target_s, self.kappa, queue_bytes);
        let own_bytes = self.lines[line].own_part() * room_bytes;
        let weights = equations::weights_beside(leaning, crowding, is_fastest);
        equations::window(self.leaning(flow, passage) / weights, own_bytes, others_bytes)
    }
}
