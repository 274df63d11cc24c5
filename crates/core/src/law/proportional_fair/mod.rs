// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proportional fairness (clamp §5.3): who can be served best, as measured by what he had before, is served next.

pub mod equations;

use crate::error::ParameterError;
use crate::parameter::Parameter;
use crate::parameters;
use crate::role::{Candidates, SchedulerLaw};

parameters! {
    /// Proportional fairness; the defaults are the paper's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ProportionalFairParams {
        /// Weight of the past in the moving average of rates, a slot; who is not served obtains nothing.
        pub memory: f64 = 0.97, in 0.0..1.0;
        /// Whether a slot whose transmission fails counts as obtained, as the paper's formula has it. Otherwise the scheduler
        /// insists on a station that fails, and margins must be larger.
        pub failed_slots_count: bool = true;
    }
}

/// Proportional fairness at work.
#[derive(Clone, Debug)]
pub struct ProportionalFair {
    params: ProportionalFairParams,
    /// Average rates obtained \[bit/s\].
    averages: Vec<f64>,
}

impl SchedulerLaw for ProportionalFair {
    type Params = ProportionalFairParams;

    fn set_up(params: ProportionalFairParams, stations: usize) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self { params, averages: vec![0.0; stations] })
    }

    #[inline]
    fn pick(&mut self, stations: &mut impl Candidates) -> Option<usize> {
        let most = stations.most_rate();
        let mut best: Option<(usize, (f64, f64))> = None;
        for (station, average) in self.averages.iter().enumerate() {
            let is_better = |rate| best.is_none_or(|(_, others)| equations::is_more_useful((rate, *average), others));
            // Who would not be better at the greatest rate is not looked at: of many stations few are.
            if (most == f64::INFINITY || is_better(most)) && stations.waits(station) {
                let rate = stations.rate(station);
                if is_better(rate) {
                    best = Some((station, (rate, *average)));
                }
            }
        }
        best.map(|(station, _)| station)
    }

    #[inline]
    fn on_served(&mut self, station: usize, rate: f64, got_through: bool) {
        let ProportionalFairParams { memory, failed_slots_count } = self.params;
        for average in &mut self.averages {
            *average = equations::unserved(*average, memory);
        }
        if got_through || failed_slots_count {
            self.averages[station] += equations::served(rate, memory);
        }
    }

    fn on_idle(&mut self, slots: u64) {
        let kept = libm::pow(self.params.memory, slots as f64);
        for average in &mut self.averages {
            *average *= kept;
        }
    }

    fn average(&self, station: usize) -> Option<f64> {
        self.averages.get(station).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::scheduler::tests::{Stations, all};

    fn fair(memory: f64, stations: usize) -> ProportionalFair {
        ProportionalFair::set_up(ProportionalFairParams { memory, failed_slots_count: true }, stations).unwrap()
    }

    //= clamp#19
    #[test]
    fn proportional_fair_takes_the_largest_ratio() {
        let mut scheduler = fair(0.5, 2);
        scheduler.on_served(0, 8.0, true);
        scheduler.on_served(1, 4.0, true);
        // r = (8/4, 4/2) = (2, 2): the better rate wins; then 3/1 against 5/(1 + 2.5).
        assert_eq!(scheduler.pick(&mut all(&[3.0, 5.0])), Some(1));
        scheduler.on_served(1, 5.0, true);
        assert_eq!((scheduler.average(0), scheduler.average(1)), (Some(1.0), Some(3.5)));
        assert_eq!(scheduler.pick(&mut all(&[3.0, 5.0])), Some(0));
    }

    #[test]
    fn proportional_fair_breaks_ties_by_index_and_prefers_who_never_had_anything() {
        let mut scheduler = fair(0.97, 3);
        assert_eq!(scheduler.pick(&mut all(&[1.0, 1.0, 1.0])), Some(0));
        scheduler.on_served(0, 1.0, true);
        assert_eq!(scheduler.pick(&mut all(&[9.0, 1.0, 1.0])), Some(1));
    }

    /// Stations of which it is known that no rate is above a bound, and how many rates were asked for.
    struct Bounded(Stations, f64, usize);

    impl Candidates for Bounded {
        fn count(&self) -> usize {
            self.0.count()
        }
        fn waits(&self, station: usize) -> bool {
            self.0.waits(station)
        }
        fn rate(&mut self, station: usize) -> f64 {
            self.2 += 1;
            self.0.rate(station)
        }
        fn snr(&mut self, station: usize) -> f64 {
            self.0.snr(station)
        }
        fn most_rate(&self) -> f64 {
            self.1
        }
    }

    #[test]
    fn who_cannot_win_is_not_asked_and_nothing_else_changes() {
        const STATIONS: usize = 100;
        let mut scheduler = fair(0.97, STATIONS);
        let mut asked = 0;
        for slot in 0..2000 {
            // Between 0.5 and 8, the bound; a third of the stations have nothing to send.
            let of = |station: usize| {
                (
                    !((station * 7919 + slot * 104_729) % 97).is_multiple_of(3),
                    f64::from((station * 31 + slot * 17) as u32 % 16 + 1) / 2.0,
                )
            };
            let stations = || Stations((0..STATIONS).map(of).collect());
            let mut bounded = Bounded(stations(), 8.0, 0);
            let picked = scheduler.pick(&mut bounded);
            assert_eq!(picked, scheduler.pick(&mut stations()));
            let picked = picked.unwrap();
            scheduler.on_served(picked, of(picked).1, true);
            asked += bounded.2;
        }
        assert!(asked < 2000 * STATIONS / 4, "{asked}");
    }

    #[test]
    fn failed_slots_count_or_not() {
        for (failed_slots_count, wanted) in [(true, 0.5), (false, 0.0)] {
            let params = ProportionalFairParams { memory: 0.5, failed_slots_count };
            let mut scheduler = ProportionalFair::set_up(params, 1).unwrap();
            scheduler.on_served(0, 1.0, false);
            assert_eq!(scheduler.average(0), Some(wanted));
        }
    }

    #[test]
    fn idle_slots_decay_like_counted_ones() {
        let (mut idle, mut counted) = (fair(0.97, 2), fair(0.97, 2));
        idle.on_served(0, 1.0, true);
        counted.on_served(0, 1.0, true);
        idle.on_idle(50);
        (0..50).for_each(|_| counted.on_served(1, 0.0, true));
        let (a, b) = (idle.average(0).unwrap(), counted.average(0).unwrap());
        assert!((a / b - 1.0).abs() < 1e-12, "{a}, {b}");
    }

    #[test]
    fn a_memory_of_one_is_refused() {
        let error =
            ProportionalFair::set_up(ProportionalFairParams { memory: 1.0, failed_slots_count: true }, 1).unwrap_err();
        assert_eq!(error.key, "memory");
    }
}
