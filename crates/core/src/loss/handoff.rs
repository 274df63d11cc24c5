// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handoffs: times in which a mobile is between two cells and everything is lost.

use rand_distr::Exp1;

use crate::error::{ParameterError, ensure};
use crate::parameters;
use crate::rng::Stream;
use crate::units::{Duration, Instant};

/// Shorter stays would make a run endless.
const LEAST_STAY: Duration = Duration::from_micros(1);

parameters! {
    /// Handoffs: either a chain with stays `on` and `off`, or fixed ones `at` instants. Both directions meet the same ones.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HandoffTimes {
        /// Mean length of a handoff; lengths are exponential.
        pub on: Option<Duration> = None, in LEAST_STAY..;
        /// Mean time from the end of a handoff to the start of the next; exponential. A run starts with one.
        pub off: Option<Duration> = None, in LEAST_STAY..;
        /// Whether the time between handoffs is always `off`.
        pub regular: bool = false;
        /// Starts of fixed handoffs, in order, `length` apart.
        pub at: Vec<Duration> = vec![];
        /// Length of fixed handoffs.
        pub length: Option<Duration> = None, in LEAST_STAY..;
    }
    check(p) {
        p.course()?;
    }
}

/// When handoffs are.
#[derive(Clone, Debug)]
enum HandoffCourse {
    /// A continuous-time chain of two states. A run starts between two handoffs.
    Chain { on: Duration, off: Duration, regular: bool },
    /// At fixed instants.
    At { starts: Vec<Instant>, length: Duration },
}

impl HandoffTimes {
    fn course(&self) -> Result<HandoffCourse, ParameterError> {
        match (self.on, self.off, self.length) {
            (Some(on), Some(off), None) if self.at.is_empty() => {
                Ok(HandoffCourse::Chain { on, off, regular: self.regular })
            }
            (None, None, Some(length)) if !self.at.is_empty() && !self.regular => {
                let starts: Vec<_> = self.at.iter().map(|at| Instant::ZERO + *at).collect();
                let apart = |pair: &[Instant]| pair[1].saturating_since(pair[0]) >= length;
                ensure(starts.windows(2).all(apart), "at", format!("{starts:?}"), "instants in order, `length` apart")?;
                Ok(HandoffCourse::At { starts, length })
            }
            _ => Err(ParameterError::new("kind", "\"handoff\"", "on and off beside it, or at and length")),
        }
    }
}

/// A run's handoffs, as one direction goes through them. Each direction has its own, as one may be asked ahead of the other;
/// out of the same stream they are the same.
#[derive(Clone, Debug)]
pub struct Handoff {
    course: HandoffCourse,
    stream: Stream,
    /// Fixed handoffs that have been.
    past: usize,
    /// The current handoff, or the next.
    from: Instant,
    until: Instant,
}

impl Handoff {
    pub(super) fn new(times: &HandoffTimes, stream: Stream) -> Result<Self, ParameterError> {
        let mut handoff = Self { course: times.course()?, stream, past: 0, from: Instant::ZERO, until: Instant::ZERO };
        handoff.proceed();
        Ok(handoff)
    }

    /// Whether a handoff is on at `now`. Instants must not decrease.
    pub(super) fn covers(&mut self, now: Instant) -> bool {
        while now >= self.until && self.until < Instant::MAX {
            self.proceed();
        }
        self.from <= now && now < self.until
    }

    /// To the next handoff.
    fn proceed(&mut self) {
        (self.from, self.until) = match &self.course {
            HandoffCourse::Chain { on, off, regular } => {
                let stay: f64 = self.stream.sample(&Exp1);
                let from = later(self.until, if *regular { *off } else { scaled(*off, stay) });
                let length: f64 = self.stream.sample(&Exp1);
                (from, later(from, scaled(*on, length)))
            }
            HandoffCourse::At { starts, length } => match starts.get(self.past) {
                Some(&start) => {
                    self.past += 1;
                    (start, later(start, *length))
                }
                None => (Instant::MAX, Instant::MAX),
            },
        };
    }
}

fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::from_secs_f64(time.as_secs_f64() * factor)
}

fn later(from: Instant, time: Duration) -> Instant {
    Instant::from_nanos(from.as_nanos().saturating_add(time.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Parameter;
    use crate::rng::Streams;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn handoff(times: &HandoffTimes) -> Handoff {
        Handoff::new(times, Streams::new(9).stream("link", "handoff")).unwrap()
    }

    fn chain(on_ms: u64, off_ms: u64, regular: bool) -> HandoffTimes {
        let stay = |ms| Some(Duration::from_millis(ms));
        HandoffTimes { on: stay(on_ms), off: stay(off_ms), regular, ..HandoffTimes::default() }
    }

    fn fixed(at_ms: &[u64], length_ms: u64) -> HandoffTimes {
        let at = at_ms.iter().map(|ms| Duration::from_millis(*ms)).collect();
        HandoffTimes { at, length: Some(Duration::from_millis(length_ms)), ..HandoffTimes::default() }
    }

    /// Whether a handoff is on in each of the first `n` milliseconds.
    fn by_ms(times: &HandoffTimes, n: u64) -> Vec<bool> {
        let mut handoff = handoff(times);
        (0..n).map(|t| handoff.covers(ms(t))).collect()
    }

    #[test]
    fn fixed_handoffs_are_where_they_should_be() {
        let on = by_ms(&fixed(&[20, 50, 60], 10), 100);
        let wanted: Vec<bool> = (0..100).map(|t| (20..30).contains(&t) || (50..70).contains(&t)).collect();
        assert_eq!(on, wanted);
    }

    #[test]
    fn stays_have_their_means_and_are_exponential() {
        let on = by_ms(&chain(100, 400, false), 4_000_000);
        // A fifth of the time; about 8000 handoffs, so 1/√8000·√2 = 1.6 % is one deviation of either figure.
        let share = on.iter().filter(|on| **on).count() as f64 / on.len() as f64;
        assert!((share / 0.2 - 1.0).abs() < 0.06, "{share}");
        let mut lengths = vec![];
        let mut last = 0;
        for t in 1..on.len() {
            if on[t] != on[t - 1] {
                if on[t] {
                    last = t;
                } else {
                    lengths.push((t - last) as f64);
                }
            }
        }
        let n = lengths.len() as f64;
        let mean = lengths.iter().sum::<f64>() / n;
        // Those below a millisecond may go unseen, so the mean is 100 to 101 ms; of an exponential e^(−2) exceed twice it.
        assert!((mean / 100.5 - 1.0).abs() < 0.05, "{mean}");
        let long = lengths.iter().filter(|length| **length > 2.0 * mean).count() as f64 / n;
        assert!((long - 0.1353).abs() < 0.015, "{long}");
    }

    #[test]
    fn regular_gaps_are_all_alike() {
        let on = by_ms(&chain(50, 1000, true), 100_000);
        assert!(on[..1000].iter().all(|on| !on));
        assert!(on[1000], "the first handoff starts after one gap");
        let gaps: Vec<usize> = on.split(|on| *on).map(<[bool]>::len).filter(|gap| *gap > 0).collect();
        // A gap of exactly a second between whole milliseconds holds 1000 of them, or 999.
        assert!(gaps[..gaps.len() - 1].iter().all(|gap| (999..=1000).contains(gap)), "{gaps:?}");
        assert!(gaps.len() > 60);
    }

    #[test]
    fn both_directions_see_the_same_whenever_they_look() {
        let times = chain(100, 400, false);
        let all = by_ms(&times, 50_000);
        let mut other = handoff(&times);
        for t in (0..50_000).step_by(377) {
            assert_eq!(other.covers(ms(t)), all[t as usize], "at {t} ms");
        }
    }

    #[test]
    fn each_parameter_moves_the_times() {
        let usual = by_ms(&chain(100, 400, false), 10_000);
        for other in [chain(150, 400, false), chain(100, 500, false), chain(100, 400, true)] {
            assert_ne!(usual, by_ms(&other, 10_000), "{other:?}");
        }
    }

    #[test]
    fn what_is_no_handoff_is_refused() {
        let key = |times: HandoffTimes| times.validate().unwrap_err().key;
        assert_eq!(key(chain(0, 400, false)), "on");
        assert_eq!(key(chain(100, 0, false)), "off");
        assert_eq!(key(fixed(&[1], 0)), "length");
        assert_eq!(key(fixed(&[1, 10], 10)), "at");
        assert_eq!(key(fixed(&[], 10)), "kind");
        assert_eq!(key(HandoffTimes { regular: true, ..fixed(&[1], 10) }), "kind");
        assert_eq!(key(HandoffTimes { at: vec![Duration::ZERO], ..chain(100, 400, false) }), "kind");
    }
}
