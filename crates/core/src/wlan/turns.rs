// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two classes of packets that share the medium's time: those that speak to routers, and all others.
//!
//! On a medium that both directions share, turns by bytes at one queue share nothing: what a packet costs is time, a packet from
//! a station costs as much as one to it, and a station's access is drawn like the base station's. So each node has a queue for
//! each class, with a back-off of its own as 802.11e's access categories have, and the class that has had less of the time
//! contends alone while it waits anywhere.

use crate::error::ParameterError;
use crate::law::two_queues::TwoQueuesParams;
use crate::parameter::Parameter;
use crate::role::AqmParams;
use crate::units::Duration;

/// Whose turn it is, by start-time fair queueing of the two (Goyal, Vin, Cheng 1996): a class that does not wait saves nothing up.
///
/// It is taken that all know who waits, of which 802.11e's queue sizes tell with each frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// Of all others, and of those that speak; no more than 1 in all.
    shares: [f64; 2],
    /// Time that each has had, over its share \[s\].
    had_s: [f64; 2],
}

impl Turns {
    /// Turns where the base station's queue asks for them.
    pub(super) fn new(aqm: &AqmParams) -> Result<Option<Self>, ParameterError> {
        let AqmParams::TwoQueues(params) = aqm else { return Ok(None) };
        params.validate()?;
        let TwoQueuesParams { share, .. } = *params;
        Ok(Some(Self { shares: [1.0 - share, share], had_s: [0.0; 2] }))
    }

    /// The class that contends, of those that wait.
    pub(super) fn next(&self, waits: [bool; 2]) -> usize {
        usize::from(if waits[0] && waits[1] { self.had_s[1] <= self.had_s[0] } else { waits[1] })
    }

    /// `class` had the medium for `airtime`; `waits` is who waited as it began.
    pub(super) fn have(&mut self, class: usize, airtime: Duration, waits: [bool; 2]) {
        let other = 1 - class;
        if !waits[other] {
            self.had_s[other] = self.had_s[other].max(self.had_s[class]);
        }
        self.had_s[class] += airtime.as_secs_f64() / self.shares[class];
    }

    /// The share of a class.
    pub(super) fn share(&self, class: usize) -> f64 {
        self.shares[class]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn turns(share: f64) -> Turns {
        Turns::new(&AqmParams::TwoQueues(TwoQueuesParams { share, ..TwoQueuesParams::default() })).unwrap().unwrap()
    }

    /// Who has the next `n` turns, where the speaking take 1 ms and the others 2 ms.
    fn order(turns: &mut Turns, waits: [bool; 2], n: usize) -> Vec<usize> {
        let mut next = || {
            let class = turns.next(waits);
            turns.have(class, MS * (2 - class as u64), waits);
            class
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn they_take_turns_by_time() {
        // 1 ms against 2 ms, and where a quarter is the speaking's share, 1 ms against 3 ms in the long run.
        assert_eq!(order(&mut turns(0.5), [true, true], 6), [1, 0, 1, 1, 0, 1]);
        let quarter = order(&mut turns(0.25), [true, true], 500);
        assert_eq!(quarter.iter().filter(|class| **class == 1).count(), 200);
    }

    #[test]
    fn who_does_not_wait_saves_nothing_up() {
        let mut turns = turns(0.5);
        assert_eq!(order(&mut turns, [true, false], 100), [0; 100]);
        // The others are 2 ms ahead by the packet that goes, and no more.
        assert_eq!(order(&mut turns, [true, true], 4), [1, 1, 1, 0]);
    }

    #[test]
    fn no_share_is_refused() {
        let none = AqmParams::TwoQueues(TwoQueuesParams { share: 0.0, ..TwoQueuesParams::default() });
        assert_eq!(Turns::new(&none).unwrap_err().key, "share");
        assert!(Turns::new(&AqmParams::default()).unwrap().is_none());
    }
}
