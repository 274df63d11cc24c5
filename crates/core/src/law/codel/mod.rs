// SPDX-License-Identifier: MIT OR Apache-2.0
//! Controlled delay (RFC 8289): which packets at the head of a queue are dropped, by the time that they waited.
//!
//! While every packet waits longer than the target for a whole interval, packets are dropped one by one, faster and
//! faster: the n-th comes `interval/√n` after the one before it.

mod backlog;
pub mod equations;

use crate::error::ParameterError;
use crate::parameter::{Parameter, above};
use crate::parameters;
use crate::units::{Bytes, Duration};
pub use backlog::{Backlog, HeadLaw};

parameters! {
    /// Controlled delay; the defaults are RFC 8289's for the Internet.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CodelParams {
        /// Time that packets may always wait (RFC 8289 §4.3).
        pub target: Duration = Duration::from_millis(5), in above(Duration::ZERO);
        /// How long the wait must be above the target before a packet is dropped: about the longest round-trip time (RFC
        /// 8289 §4.2).
        pub interval: Duration = Duration::from_millis(100), in above(Duration::ZERO);
        /// Nothing is dropped with so little behind it: a packet of the largest size. Of FQ-CoDel, in its flow's queue.
        pub mtu: Bytes = Bytes::new(1500);
    }
}

/// CoDel at work.
///
/// ```
/// use lasthop_core::law::codel::{Codel, CodelParams};
///
/// // Packets of a queue of 30 kB that waited for 20 ms, one a millisecond: the first goes after an interval of 100 ms.
/// let mut codel = Codel::new(CodelParams::default())?;
/// let first = (0..1000).find(|ms| codel.drops(f64::from(*ms) / 1e3, 0.02, 30e3));
/// assert_eq!(first, Some(100));
/// # Ok::<(), lasthop_core::error::ParameterError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Codel {
    target_s: f64,
    interval_s: f64,
    mtu_bytes: f64,
    /// When the wait will have been above the target for an interval; none while it is not above.
    first_above_s: Option<f64>,
    drop_next_s: f64,
    count: u32,
    last_count: u32,
    dropping: bool,
    last: Last,
}

/// What became of the packet before, taken in the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Passed,
    /// Dropped as the first of a row.
    Opened,
    /// Dropped as a further one.
    Dropped,
}

impl Codel {
    /// CoDel of an empty queue.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(params: CodelParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self {
            target_s: params.target.as_secs_f64(),
            interval_s: params.interval.as_secs_f64(),
            mtu_bytes: params.mtu.as_f64(),
            first_above_s: None,
            drop_next_s: 0.0,
            count: 0,
            last_count: 0,
            dropping: false,
            last: Last::Passed,
        })
    }

    /// Whether the packet at the head is dropped, which waited for `waited_s` and leaves `behind_bytes`. If so the next
    /// is to be judged in the same instant. Where nothing is behind it, it is never dropped.
    pub fn drops(&mut self, now_s: f64, waited_s: f64, behind_bytes: f64) -> bool {
        let may = self.may_drop(now_s, waited_s, behind_bytes);
        let drops = match self.last {
            // The first of a row is dropped alone.
            Last::Opened => false,
            Last::Dropped if !may => {
                self.dropping = false;
                false
            }
            Last::Dropped => {
                self.drop_next_s = self.after(self.drop_next_s);
                now_s >= self.drop_next_s
            }
            Last::Passed if self.dropping => {
                self.dropping = may;
                may && now_s >= self.drop_next_s
            }
            Last::Passed => may,
        };
        if !drops {
            self.last = Last::Passed;
        } else if self.dropping {
            self.count += 1;
            self.last = Last::Dropped;
        } else {
            self.open(now_s);
            self.last = Last::Opened;
        }
        drops
    }

    /// A row of drops opens. Soon after the last one, it goes on where that one's rate was left (RFC 8289 §5.5).
    fn open(&mut self, now_s: f64) {
        let soon = now_s - self.drop_next_s < 16.0 * self.interval_s;
        self.count = equations::first_count(self.count, self.last_count, soon);
        self.last_count = self.count;
        self.drop_next_s = self.after(now_s);
        self.dropping = true;
    }

    /// The control law: the drop after one at `t_s`.
    fn after(&self, t_s: f64) -> f64 {
        equations::next_drop(t_s, self.interval_s, self.count)
    }

    fn may_drop(&mut self, now_s: f64, waited_s: f64, behind_bytes: f64) -> bool {
        if waited_s < self.target_s || behind_bytes <= self.mtu_bytes {
            self.first_above_s = None;
            return false;
        }
        now_s >= *self.first_above_s.get_or_insert(now_s + self.interval_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instants of drops with a packet a millisecond from `from_ms` that waited `waited_s`, 30 kB behind it; an interval
    /// of 64 ms makes the square roots of 1, 4 and 16 exact.
    fn drops(codel: &mut Codel, from_ms: u32, until_ms: u32, waited_s: f64) -> Vec<u32> {
        let mut instants = vec![];
        for ms in from_ms..until_ms {
            while codel.drops(f64::from(ms) / 1024.0, waited_s, 30_000.0) {
                instants.push(ms);
            }
        }
        instants
    }

    fn codel() -> Codel {
        // A "millisecond" of 1/1024 s, so that instants are exact.
        Codel::new(CodelParams {
            target: Duration::from_secs_f64(5.0 / 1024.0),
            interval: Duration::from_micros(62_500),
            ..CodelParams::default()
        })
        .unwrap()
    }

    //= codel#control_law
    #[test]
    fn drops_come_faster_by_the_square_root_of_their_number() {
        // Above the target from 0: the first goes at 64; then 64/√1, 64/√2, 64/√3, 64/√4, 64/√5 later:
        // 128, 173.3, 210.2, 242.2, 270.8, seen by the next whole millisecond.
        assert_eq!(drops(&mut codel(), 0, 280, 1.0), [64, 128, 174, 211, 243, 271]);
    }

    #[test]
    fn a_packet_in_time_ends_the_row_and_the_wait_starts_anew() {
        let mut codel = codel();
        assert_eq!(drops(&mut codel, 0, 100, 1.0), [64]);
        assert!(!codel.drops(100.0 / 1024.0, 0.004, 30_000.0));
        // From 101 on the wait is above again: a whole interval passes first.
        assert_eq!(drops(&mut codel, 101, 200, 1.0), [165]);
    }

    //= codel#count
    #[test]
    fn soon_after_a_row_the_next_starts_at_its_rate() {
        let mut codel = codel();
        assert_eq!(drops(&mut codel, 0, 280, 1.0).len(), 6);
        assert!(!codel.drops(280.0 / 1024.0, 0.0, 30_000.0));
        // The row began with count 1 and ended with 6: the next starts at 5, with 64/√5 = 28.6 to its second drop,
        // then 64/√6 = 26.1. Opened at 281 + 64 = 345.
        assert_eq!(drops(&mut codel, 281, 401, 1.0), [345, 374, 400]);
        // Later than 16 intervals after the last it starts at 1.
        assert!(!codel.drops(402.0 / 1024.0, 0.0, 30_000.0));
        assert_eq!(drops(&mut codel, 2000, 2129, 1.0), [2064, 2128]);
    }

    #[test]
    fn late_drops_are_made_good_one_after_the_other() {
        let mut codel = codel();
        assert_eq!(drops(&mut codel, 0, 65, 1.0), [64]);
        // The next packet comes at 215: drops of 128, 173.3 and 210.2 are due.
        assert_eq!(drops(&mut codel, 215, 216, 1.0), [215, 215, 215]);
    }

    #[test]
    fn with_a_packet_behind_it_or_less_nothing_is_dropped() {
        let mut codel = codel();
        assert!((0..1000).all(|ms| !codel.drops(f64::from(ms) / 1024.0, 1.0, 1500.0)));
        assert!((0..1000).all(|ms| !codel.drops(f64::from(ms) / 1024.0, 4.9 / 1024.0, 1e6)));
    }

    #[test]
    fn what_is_no_codel_is_refused() {
        let key = |params| Codel::new(params).unwrap_err().key;
        let usual = CodelParams::default();
        assert_eq!(key(CodelParams { target: Duration::ZERO, ..usual }), "target");
        assert_eq!(key(CodelParams { interval: Duration::ZERO, ..usual }), "interval");
    }
}
