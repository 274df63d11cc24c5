// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rate of a line over its busy time, with a horizon that chooses itself.

use super::RateEstimator;

/// The longest horizon \[s\]; each further one is half as long.
const LONGEST_S: f64 = 1.6;
/// Horizons to choose from: 1600, 800 … 25 ms.
const HORIZONS: usize = 7;
/// The horizon at the start: 50 ms.
const FIRST: usize = 5;
/// How often horizons are judged \[s\], and the least of it that must be busy \[s\].
const JUDGED_EVERY_S: f64 = 0.1;
const LEAST_BUSY_S: f64 = 0.03;
/// Time constant of a horizon's error \[s\].
const MEMORY_S: f64 = 10.0;
/// Most that one error counts.
const WORST: f64 = 4.0;
/// How much less the error of another horizon must be.
const MARGIN: f64 = 0.97;

/// What of an average over busy time is kept after `elapsed_s` of it.
#[inline]
pub fn kept(elapsed_s: f64, horizon_s: f64) -> f64 {
    libm::exp(-elapsed_s / horizon_s)
}

/// The bytes of a horizon after a busy span of `elapsed_s` in which `bytes` left at an even rate, `kept` of the old ones being
/// kept.
#[inline]
pub fn horizon_bytes(before_bytes: f64, bytes: f64, elapsed_s: f64, horizon_s: f64, kept: f64) -> f64 {
    //= beyond#1  B ← B e^(−δ/h) + (s/δ)·h(1 − e^(−δ/h))
    before_bytes * kept + bytes / elapsed_s * (horizon_s * (1.0 - kept))
}

/// The busy time of a horizon after a busy span.
#[inline]
pub fn horizon_time(before_s: f64, horizon_s: f64, kept: f64) -> f64 {
    //= beyond#2  Θ ← Θ e^(−δ/h) + h(1 − e^(−δ/h))
    before_s * kept + horizon_s * (1.0 - kept)
}

/// Whether `bytes` in `elapsed_s` show more than the rate that is known.
///
/// Who sees a queue from time to time alone counts so what leaves while that may run empty: for how long the line rested is not
/// seen, so that the rate is this at least.
#[inline]
pub fn outruns(bytes: f64, elapsed_s: f64, known: f64) -> bool {
    elapsed_s > 0.0 && bytes / elapsed_s > known
}

/// How wrong a rate of `told` B/s was, where `measured` B/s came.
#[inline]
pub fn horizon_error(measured: f64, told: f64) -> f64 {
    //= beyond#3  e_h = min[(ln(s/δ) − ln μ_h)², 4]
    let error = libm::log(measured / told);
    (error * error).min(WORST)
}

/// The mean error of a horizon after a further one.
#[inline]
pub fn horizon_loss(before: f64, error: f64) -> f64 {
    //= beyond#4  L_h ← L_h + (1 − e^(−0.1/10))(e_h − L_h)
    before + (1.0 - libm::exp(-JUDGED_EVERY_S / MEMORY_S)) * (error - before)
}

/// Whether a horizon is so much better than the present one that it takes its place.
#[inline]
pub fn horizon_changes(least_loss: f64, present_loss: f64) -> bool {
    //= beyond#5  the h of least L_h is taken once L_h < .97 of the present one's
    least_loss < MARGIN * present_loss
}

/// The rate of a line while it is busy, forgetting exponentially; idle time changes nothing. Of seven horizons that one is
/// taken whose rate has best foretold the next 100 ms.
///
/// A busy span begins with [`begin`](Self::begin), packets are counted as they leave, and it ends with
/// [`rest`](RateEstimator::rest). It is all one whether packets leave as their transmission starts or as it ends.
#[derive(Clone, Debug)]
pub struct BusyRate {
    horizons: Vec<Horizon>,
    chosen: usize,
    /// Until when busy time is counted; none at rest.
    counted_s: Option<f64>,
    /// Whether nothing has left in the running span yet.
    is_fresh: bool,
    /// Whether packets leave as their transmission starts: their bytes are those of the time that follows.
    leads: bool,
    /// Bytes whose time is still to come.
    pending_bytes: f64,
    judged: Interval,
}

/// What is measured against what horizons told at its start.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    began_s: f64,
    bytes: f64,
    busy_s: f64,
}

/// One horizon.
#[derive(Clone, Copy, Debug)]
struct Horizon {
    length_s: f64,
    bytes: f64,
    busy_s: f64,
    /// Its rate as the running interval began \[B/s\]; 0: unknown.
    told: f64,
    loss: f64,
}

impl Horizon {
    fn new(length_s: f64) -> Self {
        Self { length_s, bytes: 0.0, busy_s: 0.0, told: 0.0, loss: 0.0 }
    }

    #[inline]
    fn count(&mut self, bytes: f64, elapsed_s: f64, kept: f64) {
        self.bytes = horizon_bytes(self.bytes, bytes, elapsed_s, self.length_s, kept);
        self.busy_s = horizon_time(self.busy_s, self.length_s, kept);
    }

    #[inline]
    fn rate(&self) -> f64 {
        if self.busy_s > 0.0 { self.bytes / self.busy_s } else { 0.0 }
    }
}

impl Default for BusyRate {
    fn default() -> Self {
        let mut length_s = 2.0 * LONGEST_S;
        let halved = |_| {
            length_s /= 2.0;
            Horizon::new(length_s)
        };
        Self::with((0..HORIZONS).map(halved).collect(), FIRST)
    }
}

impl BusyRate {
    /// The rate over a horizon that stays, longer than 0 s.
    pub fn fixed(horizon_s: f64) -> Self {
        Self::with(vec![Horizon::new(horizon_s)], 0)
    }

    fn with(horizons: Vec<Horizon>, chosen: usize) -> Self {
        let judged = Interval::default();
        Self { horizons, chosen, counted_s: None, is_fresh: false, leads: false, pending_bytes: 0.0, judged }
    }

    /// Something waits from `t_s` on. While the line is busy anyway nothing changes.
    #[inline]
    pub fn begin(&mut self, t_s: f64) {
        if self.counted_s.is_none() {
            (self.counted_s, self.is_fresh) = (Some(t_s), true);
        }
    }

    /// The horizon \[s\].
    pub fn horizon_s(&self) -> f64 {
        self.horizons[self.chosen].length_s
    }

    /// `bytes` left within `elapsed_s` of busy time.
    fn count(&mut self, bytes: f64, elapsed_s: f64) {
        // Each horizon is half of the one before it: what is kept is squared.
        let mut kept = kept(elapsed_s, self.horizons[0].length_s);
        for horizon in &mut self.horizons {
            horizon.count(bytes, elapsed_s, kept);
            kept *= kept;
        }
        self.judged.bytes += bytes;
        self.judged.busy_s += elapsed_s;
    }

    /// Judges the horizons by the interval that is over, and begins another.
    fn judge(&mut self, t_s: f64) {
        let Interval { bytes, busy_s, .. } = self.judged;
        let all_told = self.horizons.iter().all(|horizon| horizon.told > 0.0);
        if busy_s >= LEAST_BUSY_S && bytes > 0.0 && all_told {
            for horizon in &mut self.horizons {
                horizon.loss = horizon_loss(horizon.loss, horizon_error(bytes / busy_s, horizon.told));
            }
            let loss = |&i: &usize| self.horizons[i].loss;
            let best = (0..self.horizons.len()).min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap_or(self.chosen);
            if horizon_changes(loss(&best), loss(&self.chosen)) {
                self.chosen = best;
            }
        }
        for horizon in &mut self.horizons {
            horizon.told = horizon.rate();
        }
        self.judged = Interval { began_s: t_s, ..Interval::default() };
    }
}

impl RateEstimator for BusyRate {
    /// A packet leaves. Who leaves as its span begins leaves as its transmission starts.
    fn push(&mut self, t_s: f64, size_bytes: f64) {
        self.begin(t_s);
        let elapsed_s = t_s - self.counted_s.unwrap_or(t_s);
        if core::mem::take(&mut self.is_fresh) {
            self.leads = elapsed_s <= 0.0;
        }
        if elapsed_s <= 0.0 {
            // The transmission is still to come, or several ended together.
            self.pending_bytes += size_bytes;
            return;
        }
        self.counted_s = Some(t_s);
        let (now_bytes, later_bytes) = if self.leads { (0.0, size_bytes) } else { (size_bytes, 0.0) };
        let bytes = core::mem::replace(&mut self.pending_bytes, later_bytes) + now_bytes;
        self.count(bytes, elapsed_s);
        if t_s - self.judged.began_s >= JUDGED_EVERY_S {
            self.judge(t_s);
        }
    }

    fn rest(&mut self, t_s: f64) {
        if let Some(counted_s) = self.counted_s.take()
            && self.leads
            && t_s > counted_s
        {
            let bytes = core::mem::take(&mut self.pending_bytes);
            self.count(bytes, t_s - counted_s);
        }
    }

    fn quotient(&self) -> (f64, f64) {
        let horizon = &self.horizons[self.chosen];
        (horizon.bytes, horizon.busy_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, wanted: f64) {
        assert!((value - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{value}, wanted {wanted}");
    }

    //= beyond#1
    //= beyond#2
    #[test]
    fn an_even_rate_is_exact_at_every_horizon() {
        // 125 B in ln 2 horizons: half of what was is kept. 1000·½ + 125/(h ln 2)·h/2.
        let (h, elapsed_s) = (0.05, 0.05 * libm::log(2.0));
        close(kept(elapsed_s, h), 0.5);
        close(horizon_bytes(1000.0, 125.0, elapsed_s, h, 0.5), 500.0 + 125.0 / (2.0 * libm::log(2.0)));
        close(horizon_time(0.03, h, 0.5), 0.015 + 0.025);
        // 1500 B each 12 ms: adding them at once would read 1.2684 times as much at 25 ms.
        for horizon_s in [0.025, 0.05, 1.6] {
            let mut rate = BusyRate::fixed(horizon_s);
            rate.begin(0.0);
            (1..=50).for_each(|n| rate.push(0.012 * f64::from(n), 1500.0));
            close(rate.rate().unwrap(), 125e3);
        }
    }

    //= beyond#3
    //= beyond#4
    //= beyond#5
    #[test]
    fn errors_are_of_logarithms_and_forgotten_in_ten_seconds() {
        close(horizon_error(libm::exp(1.5), 1.0), 2.25);
        close(horizon_error(1.0, libm::exp(1.5)), 2.25);
        close(horizon_error(100.0, 1.0), 4.0);
        close(horizon_loss(1.0, 3.0), 1.0 + 2.0 * (1.0 - libm::exp(-0.01)));
        assert!(horizon_changes(0.9699, 1.0));
        assert!(!horizon_changes(0.97, 1.0));
    }

    #[test]
    fn idle_time_changes_nothing() {
        let (mut busy, mut interrupted) = (BusyRate::fixed(0.05), BusyRate::fixed(0.05));
        busy.begin(0.0);
        [(0.01, 1000.0), (0.03, 500.0), (0.04, 800.0)].iter().for_each(|&(t_s, bytes)| busy.push(t_s, bytes));
        interrupted.begin(5.0);
        interrupted.push(5.01, 1000.0);
        interrupted.rest(5.01);
        interrupted.begin(17.0);
        interrupted.push(17.02, 500.0);
        interrupted.push(17.03, 800.0);
        close(interrupted.rate().unwrap(), busy.rate().unwrap());
    }

    #[test]
    fn packets_that_leave_as_their_transmission_starts_give_the_same() {
        // A link of 100 kB/s with three packets in a row, then one by itself.
        let mut link = BusyRate::fixed(0.05);
        link.begin(0.0);
        [(0.0, 1500.0), (0.015, 500.0), (0.02, 1000.0)].iter().for_each(|&(t_s, bytes)| link.push(t_s, bytes));
        close(link.rate().unwrap(), 100e3);
        link.rest(0.03);
        close(link.rate().unwrap(), 100e3);
        link.begin(1.0);
        link.push(1.0, 1500.0);
        close(link.rate().unwrap(), 100e3);
        link.rest(1.015);
        close(link.rate().unwrap(), 100e3);
    }

    #[test]
    fn packets_that_end_together_count_for_the_time_to_the_next() {
        let mut rate = BusyRate::fixed(1e6);
        rate.begin(0.0);
        [(0.1, 100.0), (0.1, 100.0), (0.1, 100.0), (0.3, 100.0)].iter().for_each(|&(t_s, b)| rate.push(t_s, b));
        assert!((rate.rate().unwrap() / (400.0 / 0.3) - 1.0).abs() < 1e-6, "{:?}", rate.rate());
    }

    #[test]
    fn the_horizon_follows_the_manner_of_the_rate() {
        let horizon_s = |rate_at: &dyn Fn(u32) -> f64| {
            let mut rate = BusyRate::default();
            rate.begin(0.0);
            let mut t_s = 0.0;
            for n in 0..60_000 {
                t_s += 1500.0 / rate_at(n);
                rate.push(t_s, 1500.0);
            }
            rate.horizon_s()
        };
        // Independent from packet to packet, the mean of long is best; where the rate stays for a second, that of short.
        let mut state = 1u32;
        let noise: Vec<f64> = (0..60_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if state >> 31 == 0 { 0.5e6 } else { 2e6 }
            })
            .collect();
        let noisy = horizon_s(&|n| noise[n as usize]);
        let stepping = horizon_s(&|n| if n / 700 % 2 == 0 { 0.5e6 } else { 2e6 });
        assert!(noisy >= 0.4, "{noisy}");
        assert!(stepping <= 0.05, "{stepping}");
        assert_eq!(BusyRate::default().horizon_s(), 0.05);
    }
}
