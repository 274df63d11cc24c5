// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exponential averages.

/// An average after a new sample, which comes `gap_s` after the one before: of the old value e^(−gap·gain) is kept.
#[inline]
pub fn over_arrivals(before: f64, sample: f64, gain_per_s: f64, gap_s: f64) -> f64 {
    //= clamp#4.1  q(n) = e^(−2I) q(n−1) + (1 − e^(−2I)) Q(n)
    let keep = libm::exp(-gain_per_s * gap_s);
    sample + keep * (before - sample)
}

/// An average after a level has stood for `elapsed_s`: of the old value e^(−elapsed/time constant) is kept.
#[inline]
pub fn over_time(before: f64, level: f64, time_constant_s: f64, elapsed_s: f64) -> f64 {
    //= clamp-mice#3.1  q is a moving average of the queue
    let keep = libm::exp(-elapsed_s / time_constant_s);
    level + keep * (before - level)
}

/// The length of a queue, as a law averages it.
pub trait QueueEstimator {
    /// A packet has joined the queue at `t_s`, which holds `queue_bytes` with it.
    fn on_arrival(&mut self, t_s: f64, queue_bytes: f64);

    /// Packets have left the queue at `t_s`, or were dropped, and `queue_bytes` are behind them.
    fn on_change(&mut self, t_s: f64, queue_bytes: f64);

    /// The average \[B\].
    fn bytes(&self) -> f64;
}

/// An average of a queue.
#[derive(Clone, Debug)]
pub enum QueueAverage {
    /// The queue as arrivals find it: [`over_arrivals`].
    AtArrivals {
        /// Gain \[1/s\].
        gain_per_s: f64,
        /// The average \[B\].
        average_bytes: f64,
        /// When the last packet came \[s\].
        seen_s: f64,
    },
    /// The queue as it is.
    Raw {
        /// The queue \[B\].
        queue_bytes: f64,
    },
    /// The queue at all times, idle ones included: [`over_time`].
    OverTime {
        /// Time constant \[s\].
        time_constant_s: f64,
        /// The average \[B\].
        average_bytes: f64,
        /// The queue since the last change \[B\].
        queue_bytes: f64,
        /// When that was \[s\].
        seen_s: f64,
    },
}

impl QueueAverage {
    /// The average of an empty queue at its arrivals, with a gain above 0.
    pub fn at_arrivals(gain_per_s: f64) -> Self {
        Self::AtArrivals { gain_per_s, average_bytes: 0.0, seen_s: 0.0 }
    }

    /// An empty queue itself.
    pub fn raw() -> Self {
        Self::Raw { queue_bytes: 0.0 }
    }

    /// The average of an empty queue over time, with a time constant above 0.
    pub fn over_time(time_constant_s: f64) -> Self {
        Self::OverTime { time_constant_s, average_bytes: 0.0, queue_bytes: 0.0, seen_s: 0.0 }
    }
}

impl QueueEstimator for QueueAverage {
    #[inline]
    fn on_arrival(&mut self, t_s: f64, queue_bytes: f64) {
        if let Self::AtArrivals { gain_per_s, average_bytes, seen_s } = self {
            *average_bytes = over_arrivals(*average_bytes, queue_bytes, *gain_per_s, t_s - *seen_s);
            *seen_s = t_s;
        } else {
            self.on_change(t_s, queue_bytes);
        }
    }

    #[inline]
    fn on_change(&mut self, t_s: f64, bytes: f64) {
        match self {
            Self::AtArrivals { .. } => {}
            Self::Raw { queue_bytes } => *queue_bytes = bytes,
            Self::OverTime { time_constant_s, average_bytes, queue_bytes, seen_s } => {
                *average_bytes = over_time(*average_bytes, *queue_bytes, *time_constant_s, t_s - *seen_s);
                (*queue_bytes, *seen_s) = (bytes, t_s);
            }
        }
    }

    #[inline]
    fn bytes(&self) -> f64 {
        match *self {
            Self::AtArrivals { average_bytes, .. } | Self::OverTime { average_bytes, .. } => average_bytes,
            Self::Raw { queue_bytes } => queue_bytes,
        }
    }
}

/// An average in which a new sample has a fixed weight, as RFC 6298's SRTT; the first sample is its first value.
///
/// ```
/// use lasthop_core::estimator::Smoothed;
///
/// let mut rtt_s = Smoothed::new(0.125);
/// assert_eq!(rtt_s.value(), None);
/// rtt_s.push(0.5);
/// rtt_s.push(0.75);
/// assert_eq!(rtt_s.value(), Some(0.53125));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Smoothed {
    weight: f64,
    value: Option<f64>,
}

impl Smoothed {
    /// An average in which a new sample weighs `weight`, in (0, 1].
    pub fn new(weight: f64) -> Self {
        Self { weight, value: None }
    }

    /// Takes a sample in.
    #[inline]
    pub fn push(&mut self, sample: f64) {
        let before = self.value.unwrap_or(sample);
        self.value = Some(before + self.weight * (sample - before));
    }

    /// The average; none before the first sample.
    #[inline]
    pub fn value(&self) -> Option<f64> {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, wanted: f64) {
        assert!((value - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{value}, wanted {wanted}");
    }

    #[test]
    fn at_arrivals_the_average_forgets_as_exp_minus_two_i() {
        //= clamp#4.1
        let mut queue = QueueAverage::at_arrivals(2.0);
        // After ln 2 / 2 seconds half of the old average stands: 0 → 500 → 250 + 100. What leaves is not looked at.
        let half_s = libm::log(2.0) / 2.0;
        queue.on_arrival(half_s, 1000.0);
        close(queue.bytes(), 500.0);
        queue.on_change(half_s, 0.0);
        close(queue.bytes(), 500.0);
        queue.on_arrival(2.0 * half_s, 200.0);
        close(queue.bytes(), 350.0);
    }

    #[test]
    fn over_time_the_average_counts_how_long_the_queue_stood() {
        //= clamp-mice#3.1
        let mut queue = QueueAverage::over_time(1.0 / libm::log(2.0));
        // Half is forgotten each second: empty to 1 s, then 1000 B for 1 s (500), then empty for 1 s (250).
        queue.on_arrival(1.0, 1000.0);
        assert_eq!(queue.bytes(), 0.0);
        queue.on_change(2.0, 0.0);
        close(queue.bytes(), 500.0);
        queue.on_arrival(3.0, 1000.0);
        close(queue.bytes(), 250.0);
    }

    #[test]
    fn the_raw_queue_is_the_queue() {
        let mut queue = QueueAverage::raw();
        queue.on_arrival(1.0, 1500.0);
        assert_eq!(queue.bytes(), 1500.0);
        queue.on_change(2.0, 500.0);
        assert_eq!(queue.bytes(), 500.0);
    }
}
