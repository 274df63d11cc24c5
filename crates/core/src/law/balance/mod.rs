// SPDX-License-Identifier: MIT OR Apache-2.0
//! The balance of shares: weights of the flows of one host lean until each has what its weight says.
//!
//! φ parts of the windows are not φ parts of the rate on a line that changes: what is granted to a flow of a long round trip comes when
//! the line carries something else. So p = φ e^z takes the place of φ, and z goes by what the flow has had of what all have had.
//!
//! - Where weights differ, somebody wants shares as they say. Once a second z moves by what is due and was not had. No mean delays it:
//!   it is an integral that rests where shares are due.
//! - Where they do not, exact shares are not worth the delay that long round trips cost. z moves by the mean, and only beyond
//!   what is let pass.
//!
//! Only a flow whose window governs it counts: by Little's law it uses what it holds. Any other has no more to send, or waits for its
//! sender's own window. No weight gives it more, and it leans back to what it is told. So does a flow that a narrower line binds than the
//! others: one that is told a smaller share while they are told a greater one.

use super::share::equations::follow;

pub mod equations;

#[cfg(test)]
mod tests;

/// How often shares are compared \[s\].
const EVERY_S: f64 = 1.0;
/// How fast z moves \[1/s\], where weights differ and where not.
const EXACT_PER_S: f64 = 0.25;
const GAIN_PER_S: f64 = 0.03;
/// The time over which the mean rate is taken, and that over which a flow that does not count leans back \[s\].
const MEAN_S: f64 = 60.0;
const BACK_S: f64 = 10.0;
/// The part of what it holds that a flow must use, or it has no more to send, and the time over which that is found \[s\]; the same of a
/// flow whose window governs it.
const LEAST_USED: f64 = 0.6;
const USED_S: f64 = 5.0;
const GOVERNED: f64 = 0.9;
const GOVERNED_S: f64 = 20.0;
/// After a pause of so long \[s\] shares are compared anew: what flows had before tells nothing of it.
const PAUSE_S: f64 = 5.0;
/// The time over which the mean is taken of what a flow is told \[s\].
const TOLD_S: f64 = 5.0;
/// A flow that has come only lately is still on its way to its share \[comparisons\].
const SETTLED: u32 = 2;

/// What a packet tells of its flow.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// What has come with it \[B\], and how long after it was asked for \[s\].
    pub bytes: f64,
    /// See `bytes`.
    pub way_s: f64,
    /// What the flow held since the packet before \[B\], and for how long that was \[s\].
    pub held_bytes: f64,
    /// See `held_bytes`.
    pub elapsed_s: f64,
    /// What a flow of weight 1 may have of the line that binds it, as that tells \[B/s\].
    pub share: f64,
}

/// What a flow uses of what it holds, by Little's law.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    used_byte_s: f64,
    held_byte_s: f64,
}

impl Usage {
    fn add(&mut self, other: Self, elapsed_s: f64, over_s: f64) {
        let kept = libm::exp(-elapsed_s / over_s);
        self.used_byte_s = self.used_byte_s * kept + other.used_byte_s;
        self.held_byte_s = self.held_byte_s * kept + other.held_byte_s;
    }

    fn is_less_than(self, part: f64) -> bool {
        equations::is_limited(self.used_byte_s, self.held_byte_s, part)
    }
}

/// A flow, as the balance sees it.
#[derive(Clone, Copy, Debug)]
pub struct Party {
    /// φ.
    weight: f64,
    /// z.
    lean: f64,
    /// φ e^z, and the same of what of z is below 0.
    leaning: f64,
    crowding: f64,
    /// What it has had since the last comparison \[B\], and used.
    had_bytes: f64,
    usage: Usage,
    /// Each of them in the mean: \[B/s\], and lately and for longer.
    mean_rate: f64,
    lately: Usage,
    for_long: Usage,
    /// Comparisons in which it was there.
    age: u32,
}

impl Party {
    /// A flow of a weight above 0.
    pub fn new(weight: f64) -> Self {
        Self {
            weight,
            lean: 0.0,
            leaning: weight,
            crowding: weight,
            had_bytes: 0.0,
            usage: Usage::default(),
            mean_rate: 0.0,
            lately: Usage::default(),
            for_long: Usage::default(),
            age: 0,
        }
    }

    /// p with z̄ = 0: its weight, leaning.
    #[inline]
    pub fn leaning(&self) -> f64 {
        self.leaning
    }

    /// The same where it leans away from it, else its weight: what it takes of the room of others who look further ahead.
    #[inline]
    pub fn crowding(&self) -> f64 {
        self.crowding
    }

    /// `bytes` of it have come, `way_s` after they were asked for.
    #[inline]
    pub fn had(&mut self, bytes: f64, way_s: f64) {
        self.had_bytes += bytes;
        self.usage.used_byte_s += bytes * way_s;
    }

    /// It has held `bytes` for `elapsed_s`: what it may still send, or has sent and has not come.
    #[inline]
    pub fn held(&mut self, bytes: f64, elapsed_s: f64) {
        self.usage.held_byte_s += bytes * elapsed_s;
    }

    /// Whether it has no more to send.
    pub fn is_limited(&self) -> bool {
        self.age >= SETTLED && self.lately.is_less_than(LEAST_USED)
    }

    fn is_there(&self) -> bool {
        self.had_bytes > 0.0
    }

    fn counts(&self) -> bool {
        self.is_there() && self.age >= SETTLED && !self.for_long.is_less_than(GOVERNED)
    }

    /// What it has had is counted in the mean.
    fn take_in(&mut self, elapsed_s: f64) {
        if self.is_there() {
            self.age += 1;
            let weight = (1.0 - libm::exp(-elapsed_s / MEAN_S)).max(1.0 / f64::from(self.age));
            self.mean_rate += weight * (self.had_bytes / elapsed_s - self.mean_rate);
        }
        self.lately.add(self.usage, elapsed_s, USED_S);
        self.for_long.add(self.usage, elapsed_s, GOVERNED_S);
    }

    fn lean(&mut self, all: &Total, elapsed_s: f64) {
        let part = self.weight / all.weights;
        self.lean = if all.are_alike {
            let short = equations::shortfall(self.mean_rate, part * all.mean_rate);
            equations::lean(self.lean, short, GAIN_PER_S, elapsed_s)
        } else {
            let bytes = (part * all.had_bytes, self.had_bytes);
            equations::lean_exactly(self.lean, bytes, part * all.mean_rate, EXACT_PER_S)
        };
    }

    fn lean_back(&mut self, elapsed_s: f64) {
        self.lean *= libm::exp(-elapsed_s / BACK_S);
    }

    fn begin(&mut self) {
        self.leaning = equations::leaning(self.weight, self.lean, 0.0);
        self.crowding = equations::leaning(self.weight, self.lean.min(0.0), 0.0);
        self.had_bytes = 0.0;
        self.usage = Usage::default();
    }
}

/// All that count.
#[derive(Clone, Copy, Debug)]
struct Total {
    weights: f64,
    had_bytes: f64,
    mean_rate: f64,
    /// Whether all have the same weight.
    are_alike: bool,
}

impl Total {
    fn of<'a>(mut parties: impl Iterator<Item = &'a Party>) -> Option<Self> {
        let Party { weight, had_bytes, mean_rate, .. } = *parties.next()?;
        let first = Self { weights: weight, had_bytes, mean_rate, are_alike: true };
        Some(parties.fold(first, |all, party| Self {
            weights: all.weights + party.weight,
            had_bytes: all.had_bytes + party.had_bytes,
            mean_rate: all.mean_rate + party.mean_rate,
            are_alike: all.are_alike && party.weight == weight,
        }))
    }
}

/// The balance of the flows of one host at one line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    /// When shares were last compared \[s\]; none before any packet.
    began_s: Option<f64>,
}

impl Balance {
    /// Whether shares are to be compared at `t_s`.
    #[inline]
    pub fn is_due(&mut self, t_s: f64) -> bool {
        t_s - *self.began_s.get_or_insert(t_s) >= EVERY_S
    }

    /// Compares what flows have had, which lean by that if it `leans`. Each comes with whether it may count: it does not where another
    /// line binds it.
    pub fn compare(&mut self, t_s: f64, leans: bool, parties: &mut [(&mut Party, bool)]) {
        let elapsed_s = t_s - self.began_s.replace(t_s).unwrap_or(t_s);
        if elapsed_s > PAUSE_S {
            parties.iter_mut().for_each(|(party, _)| party.begin());
            return;
        }
        parties.iter_mut().for_each(|(party, _)| party.take_in(elapsed_s));
        let all = Total::of(parties.iter().filter(|(party, may)| *may && party.counts()).map(|(party, _)| &**party));
        for (party, may) in parties {
            match all.as_ref().filter(|_| leans && *may && party.counts()) {
                Some(all) => party.lean(all, elapsed_s),
                None if party.is_there() => party.lean_back(elapsed_s),
                None => {}
            }
            party.begin();
        }
    }
}

/// A flow at the place where those of its host meet.
#[derive(Clone, Debug)]
struct Guest {
    party: Party,
    /// The share it is told over the most that any is, in the mean; none before it is told one.
    told: Option<f64>,
    /// Whether a line binds it that is not that of the others.
    is_elsewhere: bool,
}

/// Flows of one host, whose receivers meet when their packets come.
#[derive(Clone, Debug, Default)]
pub struct Meeting {
    balance: Balance,
    guests: Vec<Guest>,
    /// The most that a flow of weight 1 is told to be its share \[B/s\], and when a packet last told one \[s\].
    most_share: f64,
    told_s: f64,
    /// z̄ of those that are there.
    mean_lean: f64,
}

impl Meeting {
    /// Takes in a flow of a `weight` above 0; gives its number.
    pub fn join(&mut self, weight: f64) -> usize {
        self.guests.push(Guest { party: Party::new(weight), told: None, is_elsewhere: false });
        self.guests.len() - 1
    }

    /// A packet of `flow` has come at `t_s`, which tells that. Gives p, for which the weights of all are in sum what they were.
    pub fn meet(&mut self, flow: usize, t_s: f64, told: Visit) -> f64 {
        self.most_share = equations::most_share(self.most_share, t_s - self.told_s, told.share);
        self.told_s = t_s;
        let part = told.share / self.most_share;
        let guest = &mut self.guests[flow];
        guest.party.had(told.bytes, told.way_s);
        guest.party.held(told.held_bytes, told.elapsed_s);
        guest.told = Some(follow(guest.told.unwrap_or(part), part, told.elapsed_s, 1.0, TOLD_S));
        if self.balance.is_due(t_s) {
            self.compare(t_s);
        }
        let Guest { party, is_elsewhere, .. } = &self.guests[flow];
        equations::leaning(party.weight, party.lean, if *is_elsewhere { 0.0 } else { self.mean_lean })
    }

    fn compare(&mut self, t_s: f64) {
        let there: Vec<_> = self.guests.iter().map(|guest| guest.party.is_there()).collect();
        let told =
            self.guests.iter().zip(&there).filter(|(_, is_there)| **is_there).filter_map(|(guest, _)| guest.told);
        let most = told.fold(0.0, f64::max);
        for guest in &mut self.guests {
            guest.is_elsewhere = guest.told.is_some_and(|told| equations::is_elsewhere(told, most));
        }
        let mut parties: Vec<_> = self.guests.iter_mut().map(|guest| (&mut guest.party, !guest.is_elsewhere)).collect();
        self.balance.compare(t_s, true, &mut parties);
        let met = self.guests.iter().zip(there).filter(|(guest, is_there)| *is_there && !guest.is_elsewhere);
        let (leaning, weights) = met.fold((0.0, 0.0), |(leaning, weights), (Guest { party, .. }, _)| {
            (leaning + party.leaning, weights + party.weight)
        });
        self.mean_lean = equations::mean_lean(leaning, weights);
    }
}
