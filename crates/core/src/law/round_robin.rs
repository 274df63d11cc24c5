// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stations are served in turn.

use crate::error::ParameterError;
use crate::role::{Candidates, SchedulerLaw};

/// In turn.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin {
    /// The station after the one served last.
    next: usize,
}

impl SchedulerLaw for RoundRobin {
    type Params = ();

    fn set_up((): (), _stations: usize) -> Result<Self, ParameterError> {
        Ok(Self { next: 0 })
    }

    #[inline]
    fn pick(&mut self, stations: &mut impl Candidates) -> Option<usize> {
        let count = stations.count();
        let turn = (self.next..count).chain(0..self.next).find(|&station| stations.waits(station))?;
        self.next = if turn + 1 == count { 0 } else { turn + 1 };
        Some(turn)
    }
}
