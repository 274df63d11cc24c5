// SPDX-License-Identifier: MIT OR Apache-2.0
//! The coarse analysis of a dumbbell (gamma §III): where adding to the window adds throughput, and where it adds delay.
//!
//! Below the *knee* the throughput grows with the sum of the windows and the queue is empty; from there to the *cliff*
//! the path is full and the queue grows; at the cliff packets are lost.

use crate::error::{ParameterError, ensure};

/// A bottleneck that flows of one propagation delay share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dumbbell {
    /// bw \[packets/s\].
    rate: f64,
    /// RTT₀ \[s\]: two-way propagation.
    rtt_s: f64,
    /// Packets that the queue has room for.
    buffer: f64,
}

/// The windows of all flows as one: cwnd(t) \[packets\].
pub fn aggregate(windows: &[f64]) -> f64 {
    //= gamma#6  cwnd(t) = Σ_i cwnd_i(t)
    windows.iter().sum()
}

/// Round trips from the decrease of a window to the next: from β·W by α a round trip back to W, and the one of the loss.
pub fn congestion_epoch(alpha: f64, beta: f64, window: f64) -> f64 {
    //= gamma#4  n = (1 − β)W/α + 1
    (1.0 - beta) * window / alpha + 1.0
}

/// The same where several losses, or a time-out, have brought the window down to its floor, whatever β.
pub fn recovery_epoch(alpha: f64, window: f64) -> f64 {
    //= gamma#14  n = (w − 1)/α + 1
    (window - 1.0) / alpha + 1.0
}

impl Dumbbell {
    /// A bottleneck of `rate` packets/s and a queue of `buffer` packets, `rtt_s` of propagation there and back.
    ///
    /// # Errors
    /// A number outside its domain.
    pub fn new(rate: f64, rtt_s: f64, buffer: f64) -> Result<Self, ParameterError> {
        ensure(rate > 0.0 && rate.is_finite(), "rate", rate, "a number of packets/s above 0")?;
        ensure(rtt_s > 0.0 && rtt_s.is_finite(), "rtt_s", rtt_s, "a number of seconds above 0")?;
        ensure(buffer >= 0.0 && buffer.is_finite(), "buffer", buffer, "a number of packets of at least 0")?;
        Ok(Self { rate, rtt_s, buffer })
    }

    /// A flow's share of the path when `flows` are on it: W \[packets\].
    pub fn fair_window(&self, flows: f64) -> f64 {
        //= gamma#5  W = B·RTT/N
        self.rate * self.rtt_s / flows
    }

    /// The sum of the windows that just fills the path \[packets\].
    pub fn knee(&self) -> f64 {
        //= gamma#8  cwnd_knee = RTT₀·bw
        self.rtt_s * self.rate
    }

    /// The sum of the windows at which the queue overflows \[packets\].
    pub fn cliff(&self) -> f64 {
        //= gamma#12  cwnd_cliff = (RTT₀ + max qdelay)·bw
        (self.rtt_s + self.max_queueing_delay()) * self.rate
    }

    /// max qdelay \[s\]: that of a full queue.
    pub fn max_queueing_delay(&self) -> f64 {
        self.buffer / self.rate
    }

    /// What of `cwnd` waits in the queue \[packets\]: all beyond the knee.
    pub fn queue(&self, cwnd: f64) -> f64 {
        //= gamma#9  cwnd(t) = cwnd_knee + Δw(t)
        (cwnd - self.knee()).max(0.0)
    }

    /// The queueing delay with windows of `cwnd` in all \[s\].
    pub fn queueing_delay(&self, cwnd: f64) -> f64 {
        //= gamma#10  qdelay(t) = Δw(t)/bw
        self.queue(cwnd) / self.rate
    }

    /// The throughput with windows of `cwnd` in all \[packets/s\]: cwnd/RTT, which is the rate from the knee on.
    pub fn throughput(&self, cwnd: f64) -> f64 {
        //= gamma#7  throughput(t) = cwnd(t)/(RTT₀ + qdelay(t))
        //= gamma#11  throughput(t) = bw
        cwnd / (self.rtt_s + self.queueing_delay(cwnd))
    }

    /// k: the buffer as a multiple of bandwidth times delay.
    pub fn k(&self) -> f64 {
        self.max_queueing_delay() / self.rtt_s
    }

    /// The β that takes the windows from the cliff to the knee and no further: 1/(1 + k).
    pub fn efficient_beta(&self) -> f64 {
        //= gamma#13  β = cwnd_knee/cwnd_cliff = 1/(1 + k)
        1.0 / (1.0 + self.k())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 packets/s and 125 ms: a knee of 125 packets.
    fn dumbbell(buffer: f64) -> Dumbbell {
        Dumbbell::new(1000.0, 0.125, buffer).unwrap()
    }

    #[test]
    fn a_window_of_64_kb_needs_more_than_three_seconds() {
        //= gamma#4
        // The paper's example: 64 packets of 1 kB, 100 ms, TCP: "at least 3.2 s". Half of 64 by one a round trip, and
        // the round trip of the loss: 33.
        assert_eq!(congestion_epoch(1.0, 0.5, 64.0), 33.0);
        // Smooth: an eighth of 64 by 5/16 a round trip.
        assert_eq!(congestion_epoch(0.3125, 0.875, 64.0), 26.6);
    }

    #[test]
    fn from_the_floor_smooth_flows_take_longest() {
        //= gamma#14
        for (alpha, rounds) in [(0.3125, 202.6), (1.0, 64.0), (1.25, 51.4)] {
            assert!((recovery_epoch(alpha, 64.0) - rounds).abs() < 1e-12, "{alpha}");
        }
    }

    #[test]
    fn more_flows_have_smaller_windows() {
        //= gamma#5
        //= gamma#6
        let window = dumbbell(125.0).fair_window(5.0);
        assert_eq!(window, 25.0);
        assert_eq!(aggregate(&[window; 5]), dumbbell(125.0).knee());
    }

    #[test]
    fn throughput_grows_up_to_the_knee_and_delay_beyond() {
        //= gamma#7
        //= gamma#8
        //= gamma#9
        //= gamma#10
        //= gamma#11
        let path = dumbbell(125.0);
        assert_eq!(path.knee(), 125.0);
        for (cwnd, throughput, queue, delay) in
            [(50.0, 400.0, 0.0, 0.0), (125.0, 1000.0, 0.0, 0.0), (187.5, 1000.0, 62.5, 0.0625)]
        {
            assert_eq!((path.throughput(cwnd), path.queue(cwnd)), (throughput, queue));
            assert_eq!(path.queueing_delay(cwnd), delay);
        }
    }

    #[test]
    fn the_cliff_is_the_knee_and_the_buffer() {
        //= gamma#12
        assert_eq!(dumbbell(62.5).cliff(), 187.5);
        assert_eq!(dumbbell(0.0).cliff(), dumbbell(0.0).knee());
    }

    #[test]
    fn the_efficient_decrease_goes_from_cliff_to_knee() {
        //= gamma#13
        // A buffer of the product: k = 1, β = ½, TCP's. Three times that: ¼. None: no decrease at all.
        for (buffer, beta) in [(125.0, 0.5), (375.0, 0.25), (0.0, 1.0)] {
            let path = dumbbell(buffer);
            assert_eq!(path.efficient_beta(), beta);
            assert_eq!(path.cliff() * beta, path.knee());
        }
    }

    #[test]
    fn what_is_no_dumbbell_is_refused() {
        for (rate, rtt_s, buffer, key) in
            [(0.0, 0.1, 1.0, "rate"), (1.0, 0.0, 1.0, "rtt_s"), (1.0, 0.1, -1.0, "buffer")]
        {
            assert_eq!(Dumbbell::new(rate, rtt_s, buffer).unwrap_err().key, key);
        }
    }
}
