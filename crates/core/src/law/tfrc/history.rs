// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver's loss intervals and their weighted average.

use super::equations;

/// How many closed intervals count (RFC 5348 §5.4, n = 8).
const N: usize = 8;
/// Weights of the intervals, the latest first (RFC 5348 §5.4).
const WEIGHTS: [f64; N] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Loss intervals: packets from the start of one loss event to the start of the next.
#[derive(Clone, Debug, PartialEq)]
pub struct LossHistory {
    /// I_0, open, then the closed I_1 to I_8, the latest first.
    intervals: [f64; N + 1],
    /// DF_i: how much an interval has been discounted while later ones grew.
    discounts: [f64; N + 1],
    /// Closed intervals known, at most [`N`].
    closed: usize,
    /// Their mean, which each packet asks for and a loss event alone changes.
    mean_closed: f64,
    /// p, of which the same holds but that the open interval grows.
    rate: f64,
    /// Least value of the discount factor; none: no discounting.
    floor: Option<f64>,
}

impl LossHistory {
    /// No loss yet. `floor` is the least discount factor, in (0, 1]; without one older intervals are never discounted.
    pub fn new(floor: Option<f64>) -> Self {
        Self { intervals: [0.0; N + 1], discounts: [1.0; N + 1], closed: 0, mean_closed: 0.0, rate: 0.0, floor }
    }

    /// Whether a loss event has been seen.
    pub fn has_lost(&self) -> bool {
        self.closed > 0
    }

    /// A loss event ends the open interval, which came to `length` packets; the next one is empty.
    ///
    /// //= RFC 5348 §5.3
    pub fn loss_event(&mut self, length: f64) {
        self.intervals[0] = length;
        // What the open interval discounted stays discounted.
        //= RFC 5348 §5.5
        let factor = self.discount();
        self.closed = (self.closed + 1).min(N);
        for i in (1..=N).rev() {
            self.intervals[i] = self.intervals[i - 1];
            self.discounts[i] = if i == 1 { 1.0 } else { self.discounts[i - 1] * factor };
        }
        self.intervals[0] = 0.0;
        self.mean_closed = self.mean_closed();
        self.rate = self.rate();
    }

    /// The open interval has come to `length` packets.
    pub fn grow(&mut self, length: f64) {
        self.intervals[0] = length;
        self.rate = self.rate();
    }

    /// The loss event rate p; 0 before the first loss.
    pub fn loss_event_rate(&self) -> f64 {
        self.rate
    }

    /// //= RFC 5348 §5.4
    fn rate(&self) -> f64 {
        if self.closed == 0 {
            return 0.0;
        }
        // The open interval counts only where it makes the mean longer.
        let mean = self.mean_closed.max(self.mean_with_open(self.discount()));
        if mean > 1.0 { 1.0 / mean } else { 1.0 }
    }

    /// DF: how much the closed intervals are discounted while the open one is more than twice their mean.
    ///
    /// //= RFC 5348 §5.5
    fn discount(&self) -> f64 {
        match self.floor {
            Some(floor) if self.closed > 0 => equations::discount(self.intervals[0], self.mean_closed, floor),
            _ => 1.0,
        }
    }

    /// The mean of I_1 to I_n.
    fn mean_closed(&self) -> f64 {
        let (mut total, mut weights) = (0.0, 0.0);
        for i in 1..=self.closed {
            let weight = WEIGHTS[i - 1] * self.discounts[i];
            total += self.intervals[i] * weight;
            weights += weight;
        }
        if weights > 0.0 { total / weights } else { 0.0 }
    }

    /// The mean of I_0 to I_{k−1}, k being the number of closed intervals, these discounted by `factor`.
    ///
    /// //= RFC 5348 §5.4
    fn mean_with_open(&self, factor: f64) -> f64 {
        let (mut total, mut weights) = (self.intervals[0] * WEIGHTS[0], WEIGHTS[0]);
        // The open interval takes the place of the oldest, also of fewer than eight.
        let closed = self.intervals.iter().zip(&self.discounts).skip(1).take(self.closed.saturating_sub(1));
        for ((interval, discount), weight) in closed.zip(&WEIGHTS[1..]) {
            let weight = weight * discount * factor;
            total += interval * weight;
            weights += weight;
        }
        total / weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(floor: Option<f64>, lengths: &[f64]) -> LossHistory {
        let mut history = LossHistory::new(floor);
        lengths.iter().for_each(|&length| history.loss_event(length));
        history
    }

    fn assert_rate(history: &LossHistory, wanted: f64) {
        let p = history.loss_event_rate();
        assert!((p / wanted - 1.0).abs() < 1e-12, "{p}, wanted {wanted}");
    }

    #[test]
    fn no_loss_no_rate() {
        let mut history = LossHistory::new(Some(0.25));
        history.grow(1000.0);
        assert_eq!(history.loss_event_rate(), 0.0);
        assert!(!history.has_lost());
    }

    //= RFC 5348 §5.4
    #[test]
    fn eight_intervals_are_weighted() {
        // The latest is 60 packets, the seven before 0 to 0 … 30 the oldest: (60·1 + 30·0.2)/6 = 11.
        let lengths = [30.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 60.0];
        assert_rate(&history(None, &lengths), 1.0 / 11.0);
        // A ninth pushes the oldest out: (60 + 60)/6 = 20.
        let mut history = history(None, &lengths);
        history.loss_event(60.0);
        assert_rate(&history, 1.0 / 20.0);
    }

    //= RFC 5348 §5.4
    #[test]
    fn the_open_interval_counts_only_where_it_helps() {
        let mut history = history(None, &[100.0; 8]);
        history.grow(50.0);
        assert_rate(&history, 1.0 / 100.0);
        // (1·700 + 5·100)/6 = 200: I_8 is left out, the others move on by one weight.
        history.grow(700.0);
        assert_rate(&history, 1.0 / 200.0);
    }

    //= RFC 5348 §5.5
    //= tfrc#5.5
    #[test]
    fn a_long_open_interval_discounts_the_closed_ones() {
        // I_0 = 400 is twice what is allowed: DF = 2·100/400 = 0.5. (400 + 0.5·5·100)/(1 + 0.5·5) = 650/3.5.
        let mut history = history(Some(0.25), &[100.0; 8]);
        history.grow(400.0);
        assert_rate(&history, 3.5 / 650.0);
        // 1600 would be 0.125: the floor of 0.25 holds. (1600 + 0.25·500)/(1 + 0.25·5) = 1725/2.25.
        history.grow(1600.0);
        assert_rate(&history, 2.25 / 1725.0);
        // Up to twice the mean nothing is discounted: (200 + 500)/6.
        history.grow(200.0);
        assert_rate(&history, 6.0 / 700.0);
    }

    //= RFC 5348 §5.5
    #[test]
    fn a_discount_stays_when_the_interval_closes() {
        // Closed at 400 with DF = 0.5: (400·1 + 0.5·100·(1 + 1 + 1 + .8 + .6 + .4 + .2))/(1 + 0.5·5) = 650/3.5.
        let mut history = history(Some(0.25), &[100.0; 8]);
        history.loss_event(400.0);
        assert_rate(&history, 3.5 / 650.0);
        let mut plain = self::history(None, &[100.0; 8]);
        plain.loss_event(400.0);
        // Without: (400 + 500)/6 = 150.
        assert_rate(&plain, 1.0 / 150.0);
    }

    //= RFC 5348 §5.4
    #[test]
    fn fewer_than_eight_are_averaged_alone() {
        assert_rate(&history(None, &[10.0, 30.0]), 1.0 / 20.0);
        assert_rate(&history(None, &[0.5]), 1.0);
        // The open one in place of the oldest: (50 + 30)/2; alone against one: 50.
        let mut two = history(None, &[10.0, 30.0]);
        two.grow(50.0);
        assert_rate(&two, 1.0 / 40.0);
        let mut one = history(None, &[10.0]);
        one.grow(50.0);
        assert_rate(&one, 1.0 / 50.0);
    }
}
