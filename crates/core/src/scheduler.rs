// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is served next at an access point.

use crate::error::{ParameterError, ensure};

/// Which scheduler an access point has. All of them serve only stations with data, and some station whenever
/// there is one; ties go to the station of the lowest index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchedulerConfig {
    /// The largest ratio of the present rate to the average rate obtained (clamp eq. 19).
    ProportionalFair {
        /// Weight of the old average, in [0, 1): r ← memory·r + (1 − memory)·(rate obtained) per slot, where who is
        /// not served obtains nothing (clamp: 0.97).
        memory: f64,
        /// Whether a slot whose transmission fails counts as obtained at its rate, as the paper's formula has it, or as
        /// nothing. If nothing, the scheduler insists on a station that fails, and margins must be larger.
        failed_slots_count: bool,
    },
    /// The best signal-to-noise ratio (clamp-report §V, clamp-mice §4.1).
    BestSnr,
    /// In turn.
    RoundRobin,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self::ProportionalFair { memory: 0.97, failed_slots_count: true }
    }
}

/// What a scheduler may ask of the stations.
pub trait Candidates {
    /// How many stations there are.
    fn count(&self) -> usize;
    /// Whether the station has data to be sent.
    fn waits(&self, station: usize) -> bool;
    /// The rate \[bit/s\] at which it would be served now.
    fn rate(&mut self, station: usize) -> f64;
    /// How good its channel is now.
    fn snr(&mut self, station: usize) -> f64;
}

/// A scheduler.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// The largest ratio of the present rate to the average rate obtained.
    ProportionalFair {
        /// Weight of the old average.
        memory: f64,
        /// Whether failed slots count.
        failed_slots_count: bool,
        /// Average rates obtained \[bit/s\].
        averages: Vec<f64>,
    },
    /// The best signal-to-noise ratio.
    BestSnr,
    /// In turn.
    RoundRobin {
        /// The station after the one served last.
        next: usize,
    },
}

impl Scheduler {
    /// A scheduler that has served none of `stations` stations.
    ///
    /// # Errors
    /// A memory outside [0, 1).
    pub fn new(config: SchedulerConfig, stations: usize) -> Result<Self, ParameterError> {
        Ok(match config {
            SchedulerConfig::ProportionalFair { memory, failed_slots_count } => {
                ensure((0.0..1.0).contains(&memory), "memory", memory, "from 0 up to, but not, 1")?;
                Self::ProportionalFair { memory, failed_slots_count, averages: vec![0.0; stations] }
            }
            SchedulerConfig::BestSnr => Self::BestSnr,
            SchedulerConfig::RoundRobin => Self::RoundRobin { next: 0 },
        })
    }

    /// The station to be served next; none if no station has data.
    #[inline]
    pub fn pick(&mut self, stations: &mut impl Candidates) -> Option<usize> {
        match self {
            Self::ProportionalFair { averages, .. } => {
                //= clamp#19
                let mut best: Option<(usize, f64)> = None;
                for (station, average) in averages.iter().enumerate() {
                    if stations.waits(station) {
                        let rate = stations.rate(station);
                        // rate/average > best's, without dividing, so that averages of zero compare, too.
                        match best {
                            Some((other, other_rate)) if rate * averages[other] <= other_rate * average => {}
                            _ => best = Some((station, rate)),
                        }
                    }
                }
                best.map(|(station, _)| station)
            }
            Self::BestSnr => {
                let mut best: Option<(usize, f64)> = None;
                for station in 0..stations.count() {
                    if stations.waits(station) {
                        let snr = stations.snr(station);
                        if best.is_none_or(|(_, best_snr)| snr > best_snr) {
                            best = Some((station, snr));
                        }
                    }
                }
                best.map(|(station, _)| station)
            }
            Self::RoundRobin { next } => {
                let count = stations.count();
                let turn = (*next..count).chain(0..*next).find(|&station| stations.waits(station))?;
                *next = if turn + 1 == count { 0 } else { turn + 1 };
                Some(turn)
            }
        }
    }

    /// A slot is over in which `station` was served at `rate` bit/s, all others not.
    #[inline]
    pub fn count(&mut self, station: usize, rate: f64, got_through: bool) {
        if let Self::ProportionalFair { memory, failed_slots_count, averages } = self {
            for average in averages.iter_mut() {
                *average *= *memory;
            }
            if got_through || *failed_slots_count {
                averages[station] += (1.0 - *memory) * rate;
            }
        }
    }

    /// `slots` slots have gone by in which nobody was served.
    pub fn idle(&mut self, slots: u64) {
        if let Self::ProportionalFair { memory, averages, .. } = self {
            let kept = libm::pow(*memory, slots as f64);
            for average in averages {
                *average *= kept;
            }
        }
    }

    /// A station's average rate obtained \[bit/s\], where the scheduler keeps it.
    pub fn average(&self, station: usize) -> Option<f64> {
        match self {
            Self::ProportionalFair { averages, .. } => averages.get(station).copied(),
            Self::BestSnr | Self::RoundRobin { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (has data, rate); the SNR is the negated rate, to tell them apart.
    struct Stations(Vec<(bool, f64)>);

    impl Candidates for Stations {
        fn count(&self) -> usize {
            self.0.len()
        }
        fn waits(&self, station: usize) -> bool {
            self.0[station].0
        }
        fn rate(&mut self, station: usize) -> f64 {
            self.0[station].1
        }
        fn snr(&mut self, station: usize) -> f64 {
            -self.0[station].1
        }
    }

    fn all(rates: &[f64]) -> Stations {
        Stations(rates.iter().map(|&rate| (true, rate)).collect())
    }

    fn fair(memory: f64, stations: usize) -> Scheduler {
        Scheduler::new(SchedulerConfig::ProportionalFair { memory, failed_slots_count: true }, stations).unwrap()
    }

    //= clamp#19
    #[test]
    fn proportional_fair_takes_the_largest_ratio() {
        let mut scheduler = fair(0.5, 2);
        scheduler.count(0, 8.0, true);
        scheduler.count(1, 4.0, true);
        // r = (8/4, 4/2) = (2, 2): the better rate wins; then 3/1 against 5/(1 + 2.5).
        assert_eq!(scheduler.pick(&mut all(&[3.0, 5.0])), Some(1));
        scheduler.count(1, 5.0, true);
        assert_eq!((scheduler.average(0), scheduler.average(1)), (Some(1.0), Some(3.5)));
        assert_eq!(scheduler.pick(&mut all(&[3.0, 5.0])), Some(0));
    }

    #[test]
    fn proportional_fair_breaks_ties_by_index_and_prefers_who_never_had_anything() {
        let mut scheduler = fair(0.97, 3);
        assert_eq!(scheduler.pick(&mut all(&[1.0, 1.0, 1.0])), Some(0));
        scheduler.count(0, 1.0, true);
        assert_eq!(scheduler.pick(&mut all(&[9.0, 1.0, 1.0])), Some(1));
    }

    #[test]
    fn failed_slots_count_or_not() {
        for (failed_slots_count, wanted) in [(true, 0.5), (false, 0.0)] {
            let config = SchedulerConfig::ProportionalFair { memory: 0.5, failed_slots_count };
            let mut scheduler = Scheduler::new(config, 1).unwrap();
            scheduler.count(0, 1.0, false);
            assert_eq!(scheduler.average(0), Some(wanted));
        }
    }

    #[test]
    fn idle_slots_decay_like_counted_ones() {
        let (mut idle, mut counted) = (fair(0.97, 2), fair(0.97, 2));
        idle.count(0, 1.0, true);
        counted.count(0, 1.0, true);
        idle.idle(50);
        (0..50).for_each(|_| counted.count(1, 0.0, true));
        let (a, b) = (idle.average(0).unwrap(), counted.average(0).unwrap());
        assert!((a / b - 1.0).abs() < 1e-12, "{a}, {b}");
    }

    #[test]
    fn the_others() {
        let mut best = Scheduler::new(SchedulerConfig::BestSnr, 3).unwrap();
        assert_eq!(best.pick(&mut all(&[3.0, 1.0, 1.0])), Some(1));
        let mut turns = Scheduler::new(SchedulerConfig::RoundRobin, 3).unwrap();
        let mut stations = all(&[1.0; 3]);
        stations.0[1].0 = false;
        let order: Vec<_> = (0..4).map(|_| turns.pick(&mut stations).unwrap()).collect();
        assert_eq!(order, [0, 2, 0, 2]);
    }

    #[test]
    fn all_are_work_conserving() {
        let configs = [SchedulerConfig::default(), SchedulerConfig::BestSnr, SchedulerConfig::RoundRobin];
        for config in configs {
            let mut scheduler = Scheduler::new(config, 4).unwrap();
            for lone in 0..4 {
                let mut stations = Stations((0..4).map(|station| (station == lone, 0.0)).collect());
                assert_eq!(scheduler.pick(&mut stations), Some(lone), "{config:?}");
                stations.0[lone].0 = false;
                assert_eq!(scheduler.pick(&mut stations), None, "{config:?}");
            }
        }
    }

    #[test]
    fn a_memory_of_one_is_refused() {
        let error =
            Scheduler::new(SchedulerConfig::ProportionalFair { memory: 1.0, failed_slots_count: true }, 1).unwrap_err();
        assert_eq!(error.key, "memory");
    }
}
