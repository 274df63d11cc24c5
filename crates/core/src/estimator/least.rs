// SPDX-License-Identifier: MIT OR Apache-2.0
//! Minima.

/// The least value of an interval, which begins with a value of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Least<T>(T);

impl<T: PartialOrd + Copy> Least<T> {
    /// An interval begins with `value`.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// `value` was seen.
    #[inline]
    pub fn see(&mut self, value: T) {
        if value < self.0 {
            self.0 = value;
        }
    }

    /// The least so far.
    #[inline]
    pub fn value(&self) -> T {
        self.0
    }
}

/// The least value of the last one to two intervals of fixed length.
#[derive(Clone, Copy, Debug)]
pub struct RecentLeast {
    interval_s: f64,
    /// When the running interval began \[s\], and its least value.
    running: Option<(f64, Least<f64>)>,
    /// The least of the interval before.
    before: Option<f64>,
}

impl RecentLeast {
    /// Intervals of `interval_s`.
    pub fn new(interval_s: f64) -> Self {
        Self { interval_s, running: None, before: None }
    }

    /// `value` was seen at `t_s`.
    pub fn see(&mut self, t_s: f64, value: f64) {
        match &mut self.running {
            Some((began_s, least)) if t_s - *began_s < self.interval_s => least.see(value),
            running => {
                self.before = running.map(|(_, least)| least.value());
                *running = Some((t_s, Least::new(value)));
            }
        }
    }

    /// The least; none before the first value.
    #[inline]
    pub fn value(&self) -> Option<f64> {
        let (_, running) = self.running?;
        Some(self.before.map_or(running.value(), |before| before.min(running.value())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_forgotten_after_one_to_two_intervals() {
        let mut rtt_s = RecentLeast::new(10.0);
        assert_eq!(rtt_s.value(), None);
        [(0.0, 5.0), (9.0, 2.0), (10.0, 4.0), (19.0, 3.0)].iter().for_each(|&(t_s, value)| rtt_s.see(t_s, value));
        assert_eq!(rtt_s.value(), Some(2.0));
        rtt_s.see(20.0, 6.0);
        assert_eq!(rtt_s.value(), Some(3.0));
        rtt_s.see(30.0, 7.0);
        assert_eq!(rtt_s.value(), Some(6.0));
    }

    #[test]
    fn the_least_stands_until_the_next_interval() {
        let mut queue = Least::new(3.0);
        [5.0, 2.0, 4.0].iter().for_each(|&bytes| queue.see(bytes));
        assert_eq!(queue.value(), 2.0);
        queue = Least::new(7.0);
        assert_eq!(queue.value(), 7.0);
    }
}
