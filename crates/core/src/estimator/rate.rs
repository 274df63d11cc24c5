// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates of packets.

use std::collections::VecDeque;

use super::Smoothed;

/// Bytes a second, from packets as they pass.
pub trait RateEstimator {
    /// Counts a packet of `size_bytes` at `t_s`.
    fn push(&mut self, t_s: f64, size_bytes: f64);

    /// The rate as a quotient \[B, s\], so that who divides by it multiplies instead; 0 s as long as it is unknown.
    fn quotient(&self) -> (f64, f64);

    /// From `t_s` on there is nothing to pass.
    fn rest(&mut self, _t_s: f64) {}

    /// The rate \[B/s\]; `None` as long as it is unknown.
    fn rate(&self) -> Option<f64> {
        let (bytes, elapsed_s) = self.quotient();
        (elapsed_s > 0.0).then(|| rate(bytes, elapsed_s))
    }
}

/// The rate of `bytes` that came in `elapsed_s` \[B/s\].
#[inline]
pub fn rate(bytes: f64, elapsed_s: f64) -> f64 {
    //= clamp#15  μ̂ = Σ_{i=k−α}^{k} s_i / (t_k − t_{k−α})
    bytes / elapsed_s
}

/// Mean rate over the last `span` packets: their bytes over the time from the packet before them to the last.
///
/// The packet that opens the span lends its time but not its bytes, so that evenly spaced packets give their exact
/// rate; clamp eq. 15 as printed counts its bytes too and reads 1/α high. Idle time counts.
#[derive(Clone, Debug)]
pub struct SlidingRate {
    /// Times and sizes \[s, B\], a ring once it holds `span + 1`.
    ring: Vec<(f64, f64)>,
    /// Where the oldest entry is, once the ring is full.
    oldest: usize,
    span: usize,
    /// Bytes of all entries but the oldest. Sizes are whole bytes, so the sum never drifts.
    bytes: f64,
    elapsed_s: f64,
}

impl SlidingRate {
    /// A rate over the last `span` packets, at least one.
    pub fn new(span: usize) -> Self {
        Self { ring: Vec::new(), oldest: 0, span: span.max(1), bytes: 0.0, elapsed_s: 0.0 }
    }
}

impl RateEstimator for SlidingRate {
    #[inline]
    fn push(&mut self, t_s: f64, size_bytes: f64) {
        if self.ring.len() <= self.span {
            if !self.ring.is_empty() {
                self.bytes += size_bytes;
            }
            self.ring.push((t_s, size_bytes));
            self.elapsed_s = t_s - self.ring[0].0;
            return;
        }
        self.ring[self.oldest] = (t_s, size_bytes);
        self.oldest = if self.oldest == self.span { 0 } else { self.oldest + 1 };
        let (opened_s, opener_bytes) = self.ring[self.oldest];
        // The new oldest packet opens the span now: its bytes leave the sum.
        self.bytes += size_bytes - opener_bytes;
        self.elapsed_s = t_s - opened_s;
    }

    #[inline]
    fn quotient(&self) -> (f64, f64) {
        (self.bytes, self.elapsed_s)
    }
}

/// Mean rate over the last `bins` bins of `packets` packets each, the running one among them: between (bins − 1)·packets
/// and bins·packets packets. What a kernel keeps in place of a time for every packet.
#[derive(Clone, Debug)]
pub struct BinnedRate {
    /// When each bin was opened, and its bytes \[s, B\]; the running one last.
    bins: VecDeque<(f64, f64)>,
    most: usize,
    packets: u32,
    /// Packets in the running bin.
    count: u32,
    bytes: f64,
    last_s: f64,
}

impl BinnedRate {
    /// A rate over `bins` bins of `packets` packets, at least one of each.
    pub fn new(bins: usize, packets: u32) -> Self {
        let (most, packets) = (bins.max(1), packets.max(1));
        Self { bins: VecDeque::with_capacity(most), most, packets, count: 0, bytes: 0.0, last_s: 0.0 }
    }
}

impl RateEstimator for BinnedRate {
    fn push(&mut self, t_s: f64, size_bytes: f64) {
        if self.bins.is_empty() {
            // The first packet lends its time, but not its bytes.
            self.bins.push_back((t_s, 0.0));
        } else {
            if self.count == self.packets {
                if self.bins.len() == self.most {
                    let oldest = self.bins.pop_front();
                    self.bytes -= oldest.map_or(0.0, |(_, bytes)| bytes);
                }
                self.bins.push_back((self.last_s, 0.0));
                self.count = 0;
            }
            if let Some((_, bytes)) = self.bins.back_mut() {
                *bytes += size_bytes;
            }
            self.bytes += size_bytes;
            self.count += 1;
        }
        self.last_s = t_s;
    }

    fn quotient(&self) -> (f64, f64) {
        (self.bytes, self.bins.front().map_or(0.0, |&(opened_s, _)| self.last_s - opened_s))
    }
}

/// The rate while there is something to pass: the mean over windows of at least `window_s`, smoothed. A window that rest
/// breaks off does not count. What a kernel can afford at a queue: no memory of packets.
#[derive(Clone, Debug)]
pub struct BusyWindowRate {
    window_s: f64,
    /// When the running window began; none at rest.
    began_s: Option<f64>,
    bytes: f64,
    smoothed: Smoothed,
}

impl BusyWindowRate {
    /// Windows of `window_s`, of which a new one weighs `weight`, in (0, 1].
    pub fn new(window_s: f64, weight: f64) -> Self {
        Self { window_s, began_s: None, bytes: 0.0, smoothed: Smoothed::new(weight) }
    }
}

impl RateEstimator for BusyWindowRate {
    fn push(&mut self, t_s: f64, size_bytes: f64) {
        let Some(began_s) = self.began_s else {
            (self.began_s, self.bytes) = (Some(t_s), 0.0);
            return;
        };
        self.bytes += size_bytes;
        let elapsed_s = t_s - began_s;
        if elapsed_s >= self.window_s && elapsed_s > 0.0 {
            self.smoothed.push(rate(self.bytes, elapsed_s));
            (self.began_s, self.bytes) = (Some(t_s), 0.0);
        }
    }

    fn rest(&mut self, _t_s: f64) {
        self.began_s = None;
    }

    fn quotient(&self) -> (f64, f64) {
        self.smoothed.value().map_or((0.0, 0.0), |rate| (rate, 1.0))
    }
}

/// Mean rate over the last `window_s` seconds, idle time included.
#[derive(Clone, Debug)]
pub struct WindowRate {
    window_s: f64,
    /// Times and sizes \[s, B\].
    packets: VecDeque<(f64, f64)>,
    /// Their bytes. Sizes are whole bytes, so the sum never drifts.
    bytes: f64,
}

impl WindowRate {
    /// A rate over `window_s`, more than 0.
    pub fn new(window_s: f64) -> Self {
        Self { window_s, packets: VecDeque::new(), bytes: 0.0 }
    }

    /// What it is taken over \[s\].
    pub fn window_s(&self) -> f64 {
        self.window_s
    }
}

impl RateEstimator for WindowRate {
    fn push(&mut self, t_s: f64, size_bytes: f64) {
        self.packets.push_back((t_s, size_bytes));
        self.bytes += size_bytes;
        while let Some(&(sent_s, bytes)) = self.packets.front()
            && sent_s <= t_s - self.window_s
        {
            self.packets.pop_front();
            self.bytes -= bytes;
        }
    }

    fn quotient(&self) -> (f64, f64) {
        (self.bytes, self.window_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_forgets_by_time() {
        let mut meter = WindowRate::new(2.0);
        [(0.0, 10.0), (1.0, 20.0), (1.5, 30.0)].iter().for_each(|&(t_s, bytes)| meter.push(t_s, bytes));
        assert_eq!(meter.rate(), Some(30.0));
        meter.push(3.0, 10.0);
        assert_eq!(meter.rate(), Some(20.0), "the packets at 0 and 1 s are gone");
    }

    fn pushed<R: RateEstimator>(mut meter: R, packets: impl IntoIterator<Item = (f64, f64)>) -> R {
        packets.into_iter().for_each(|(t_s, size_bytes)| meter.push(t_s, size_bytes));
        meter
    }

    /// Packets of 10 B, one a second from 0 to `n`.
    fn even(n: u32) -> impl Iterator<Item = (f64, f64)> {
        (0..=n).map(|i| (f64::from(i), 10.0))
    }

    #[test]
    fn evenly_spaced_packets_give_their_exact_rate() {
        for n in [1, 2, 3, 10, 100] {
            assert_eq!(pushed(SlidingRate::new(4), even(n)).rate(), Some(10.0), "{n}");
            assert_eq!(pushed(BinnedRate::new(3, 2), even(n)).rate(), Some(10.0), "{n}");
            assert_eq!(pushed(BusyWindowRate::new(1.0, 0.125), even(n)).rate(), Some(10.0), "{n}");
        }
    }

    #[test]
    fn one_packet_has_no_rate() {
        assert_eq!(pushed(SlidingRate::new(4), even(0)).rate(), None);
        assert_eq!(pushed(BinnedRate::new(3, 2), even(0)).rate(), None);
        assert_eq!(pushed(BusyWindowRate::new(1.0, 0.125), even(0)).rate(), None);
    }

    #[test]
    fn a_sliding_rate_is_of_the_last_packets() {
        //= clamp#15
        // Two packets since 1 s: 20 + 30 B in 2 s.
        let meter = pushed(SlidingRate::new(2), [(0.0, 10.0), (1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]);
        assert_eq!((meter.quotient(), meter.rate()), ((50.0, 2.0), Some(25.0)));
    }

    #[test]
    fn bins_are_forgotten_whole() {
        // Two bins of two packets: after the packet at 5 s the first two are gone, and 3 to 5 s are left.
        let packets = (0..=5).map(|i| (f64::from(i), f64::from(i)));
        assert_eq!(pushed(BinnedRate::new(2, 2), packets.clone().take(5)).quotient(), (10.0, 4.0));
        assert_eq!(pushed(BinnedRate::new(2, 2), packets).quotient(), (12.0, 3.0));
    }

    #[test]
    fn rest_breaks_a_window_off_and_windows_are_smoothed() {
        let mut meter = pushed(BusyWindowRate::new(2.0, 0.125), [(0.0, 9.0), (1.0, 10.0), (2.0, 10.0)]);
        assert_eq!(meter.rate(), Some(10.0));
        meter.push(3.0, 1000.0);
        meter.rest(3.0);
        // The idle time and the thousand bytes are left out: 18 B/s for an eighth.
        let meter = pushed(meter, [(100.0, 9.0), (101.0, 18.0), (102.0, 18.0)]);
        assert_eq!(meter.rate(), Some(11.0));
    }
}
