// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rate of the last n packets.

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
    last_s: f64,
}

impl SlidingRate {
    /// A rate over the last `span` packets, at least one.
    pub fn new(span: usize) -> Self {
        Self { ring: Vec::new(), oldest: 0, span: span.max(1), bytes: 0.0, elapsed_s: 0.0, last_s: 0.0 }
    }

    /// Counts a packet of `size_bytes` at `t_s`.
    #[inline]
    pub fn push(&mut self, t_s: f64, size_bytes: f64) {
        self.last_s = t_s;
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

    /// Bytes in the span \[B\].
    #[inline]
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Length of the span \[s\]; zero before the second packet.
    #[inline]
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_s
    }

    /// Time of the last packet \[s\]; `None` before the first.
    #[inline]
    pub fn last_s(&self) -> Option<f64> {
        if self.ring.is_empty() { None } else { Some(self.last_s) }
    }

    /// The rate \[B/s\]; `None` while all packets came in one instant.
    #[inline]
    pub fn rate(&self) -> Option<f64> {
        (self.elapsed_s > 0.0).then(|| self.bytes / self.elapsed_s)
    }
}
