// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shares that come to more than the line, as long as that rests: some flows leave a part of theirs, and come and go too soon for each
//! to be known for it.

/// A rest of so long makes shares e times as large \[s\].
const RISE_S: f64 = 1.0;
/// And so long without a rest makes them less by as much \[s\]: by this a line rests for a twentieth of its time, if flows take that.
const FALL_S: f64 = 20.0;

/// f: by what shares are multiplied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overbooked {
    /// Its logarithm, and the most that may be.
    log: f64,
    most: f64,
    /// Up to when it is known \[s\].
    at_s: f64,
    rests: bool,
}

impl Overbooked {
    /// Shares are raised by up to `most` times.
    pub(super) fn new(most: f64) -> Self {
        Self { log: 0.0, most: libm::log(most), at_s: 0.0, rests: false }
    }

    fn turn(&mut self, t_s: f64, per_s: f64) {
        self.log = (self.log + per_s * (t_s - self.at_s)).clamp(0.0, self.most);
        self.at_s = t_s;
    }

    /// A packet comes at `t_s`.
    pub(super) fn arrived(&mut self, t_s: f64) {
        if self.rests {
            self.turn(t_s, 1.0 / RISE_S);
            self.rests = false;
        }
    }

    /// A packet leaves at `t_s`, later than is wanted by as much as that, or not.
    pub(super) fn departed(&mut self, t_s: f64, is_late: bool) {
        self.turn(t_s, if is_late { -1.0 / RISE_S } else { -1.0 / FALL_S });
    }

    /// There is nothing to send from `t_s` on.
    pub(super) fn rested(&mut self, t_s: f64) {
        self.at_s = t_s;
        self.rests = true;
    }

    /// How many times as large shares are.
    pub(super) fn times(&self) -> f64 {
        if self.log > 0.0 { libm::exp(self.log) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= beyond#27
    #[test]
    fn rests_raise_shares_and_work_lowers_them() {
        let mut found = Overbooked::new(4.0);
        found.departed(10.0, false);
        assert_eq!(found.times(), 1.0);
        found.rested(10.0);
        found.arrived(10.5);
        assert!((found.times() - libm::exp(0.5)).abs() < 1e-12);
        // What comes to a line that is busy says nothing.
        found.arrived(12.5);
        found.departed(12.5, false);
        assert!((found.times() - libm::exp(0.4)).abs() < 1e-12);
        // Where packets wait for too long it falls as it rose.
        found.departed(12.7, true);
        assert!((found.times() - libm::exp(0.2)).abs() < 1e-12);
        found.rested(12.7);
        found.arrived(60.0);
        assert!((found.times() - 4.0).abs() < 1e-12, "no more than may be");
    }
}
