// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler: who is served next at an access point.
//!
//! All of them serve only stations with data, and some station whenever there is one; ties go to the station of the lowest
//! index.

use core::fmt::Debug;

use crate::error::ParameterError;
use crate::law;

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
    /// A rate \[bit/s\] that no station's is above.
    fn most_rate(&self) -> f64 {
        f64::INFINITY
    }
}

/// What a scheduler decides, and what it may hear.
pub trait SchedulerLaw: Sized {
    /// Its parameters.
    type Params: Copy + Debug + PartialEq;

    /// Sets a scheduler up that has served none of `stations` stations.
    ///
    /// # Errors
    /// A parameter outside its domain.
    fn set_up(params: Self::Params, stations: usize) -> Result<Self, ParameterError>;

    /// The station to be served next; none if no station has data.
    fn pick(&mut self, stations: &mut impl Candidates) -> Option<usize>;

    /// A slot is over in which `station` was served at `rate` bit/s, all others not.
    fn on_served(&mut self, _station: usize, _rate: f64, _got_through: bool) {}

    /// `slots` slots have gone by in which nobody was served.
    fn on_idle(&mut self, _slots: u64) {}

    /// A station's average rate obtained \[bit/s\], where the scheduler keeps it.
    fn average(&self, _station: usize) -> Option<f64> {
        None
    }
}

laws! {
    /// Who is served next.
    params SchedulerParams;
    /// A scheduler at work, whichever it is; each method is [`SchedulerLaw`]'s of that name.
    #[derive(Clone, Debug)]
    any AnyScheduler: SchedulerLaw, set_up(stations: usize) by (stations);
    bare:
        /// The best channel (clamp-report §V, clamp-mice §4.1).
        BestSnr = "best-snr" => law::best_snr::BestSnr,
        /// One after the other.
        RoundRobin = "round-robin" => law::round_robin::RoundRobin;
    in place:
        /// The greatest ratio of current to mean rate (clamp eq. 19).
        ProportionalFair(law::proportional_fair::ProportionalFairParams) = "proportional-fair" => law::proportional_fair::ProportionalFair;
}

impl Default for SchedulerParams {
    fn default() -> Self {
        Self::ProportionalFair(law::proportional_fair::ProportionalFairParams::default())
    }
}

impl AnyScheduler {
    /// The station to be served next.
    #[inline]
    pub fn pick(&mut self, stations: &mut impl Candidates) -> Option<usize> {
        with!(mut self, law => SchedulerLaw::pick(law, stations))
    }

    /// A slot is over in which a station was served.
    #[inline]
    pub fn on_served(&mut self, station: usize, rate: f64, got_through: bool) {
        with!(mut self, law => SchedulerLaw::on_served(law, station, rate, got_through));
    }

    /// Slots have gone by in which nobody was served.
    pub fn on_idle(&mut self, slots: u64) {
        with!(mut self, law => SchedulerLaw::on_idle(law, slots));
    }

    /// A station's average rate obtained \[bit/s\].
    pub fn average(&self, station: usize) -> Option<f64> {
        with!(ref self, law => SchedulerLaw::average(law, station))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// (has data, rate); the SNR is the negated rate, to tell them apart.
    pub(crate) struct Stations(pub(crate) Vec<(bool, f64)>);

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

    pub(crate) fn all(rates: &[f64]) -> Stations {
        Stations(rates.iter().map(|&rate| (true, rate)).collect())
    }

    #[test]
    fn the_others() {
        let mut best = AnyScheduler::new(&SchedulerParams::BestSnr, 3).unwrap();
        assert_eq!(best.pick(&mut all(&[3.0, 1.0, 1.0])), Some(1));
        let mut turns = AnyScheduler::new(&SchedulerParams::RoundRobin, 3).unwrap();
        let mut stations = all(&[1.0; 3]);
        stations.0[1].0 = false;
        let order: Vec<_> = (0..4).map(|_| turns.pick(&mut stations).unwrap()).collect();
        assert_eq!(order, [0, 2, 0, 2]);
    }

    #[test]
    fn all_are_work_conserving() {
        let configs = [SchedulerParams::default(), SchedulerParams::BestSnr, SchedulerParams::RoundRobin];
        for config in configs {
            let mut scheduler = AnyScheduler::new(&config, 4).unwrap();
            for lone in 0..4 {
                let mut stations = Stations((0..4).map(|station| (station == lone, 0.0)).collect());
                assert_eq!(scheduler.pick(&mut stations), Some(lone), "{config:?}");
                stations.0[lone].0 = false;
                assert_eq!(scheduler.pick(&mut stations), None, "{config:?}");
            }
        }
    }
}
