// SPDX-License-Identifier: MIT OR Apache-2.0
//! The best channel is served (clamp-report §V, clamp-mice §4.1).

use crate::error::ParameterError;
use crate::role::{Candidates, SchedulerLaw};

/// The best signal-to-noise ratio.
#[derive(Clone, Copy, Debug)]
pub struct BestSnr;

impl SchedulerLaw for BestSnr {
    type Params = ();

    fn set_up((): (), _stations: usize) -> Result<Self, ParameterError> {
        Ok(Self)
    }

    #[inline]
    fn pick(&mut self, stations: &mut impl Candidates) -> Option<usize> {
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
}
