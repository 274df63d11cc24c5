// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proportional rate reduction (RFC 6937): the window falls in proportion to what arrives in recovery.

/// One recovery, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// The window when recovery began (prior_cwnd).
    prior: u64,
    /// What has arrived since (prr_delivered).
    delivered: u64,
    /// What was sent since (prr_out).
    sent: u64,
}

/// An acknowledgement in recovery, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// What is in the network.
    pub(super) pipe: u64,
    pub(super) ssthresh: u64,
    /// What the acknowledgement says has arrived.
    pub(super) delivered: u64,
    /// Whether it acknowledges new data and makes nothing more lost.
    pub(super) is_safe: bool,
}

impl Reduction {
    pub(super) fn new(prior: u64) -> Self {
        Self { prior: prior.max(1), ..Self::default() }
    }

    /// Whether nothing was sent in it.
    pub(super) fn is_new(&self) -> bool {
        self.sent == 0
    }

    pub(super) fn sent(&mut self, segments: u64) {
        self.sent += segments;
    }

    /// The new window (Linux: tcp_cwnd_reduction). Above the threshold the window falls in proportion; below it grows by
    /// what arrives, and by one more if all goes well (RFC 6937 §3, the slow-start reduction bound).
    pub(super) fn window(&mut self, told: Progress) -> u64 {
        let Progress { pipe, ssthresh, delivered, is_safe } = told;
        self.delivered += delivered;
        let may_send = if pipe > ssthresh {
            (ssthresh * self.delivered).div_ceil(self.prior).saturating_sub(self.sent)
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(delivered) + u64::from(is_safe);
            bound.min(ssthresh - pipe)
        };
        // The first retransmission goes at once.
        pipe + may_send.max(u64::from(self.is_new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pipe: u64, delivered: u64, is_safe: bool) -> Progress {
        Progress { pipe, ssthresh: 10, delivered, is_safe }
    }

    #[test]
    fn one_segment_goes_for_each_two_that_arrive() {
        // A window of 20, half is left: of the 20 that arrive ten are answered, and the pipe falls to ten.
        let mut reduction = Reduction::new(20);
        let mut pipe = 16;
        let mut sent = vec![];
        for _ in 0..12 {
            let may = reduction.window(told(pipe, 1, false)) - pipe;
            reduction.sent(may);
            pipe = pipe + may - 1;
            sent.push(may);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(pipe, 10);
    }

    #[test]
    fn the_first_retransmission_goes_whatever_the_proportion() {
        let mut reduction = Reduction::new(100);
        assert_eq!(reduction.window(told(50, 0, false)), 51);
    }

    #[test]
    fn below_the_threshold_it_refills_by_slow_start() {
        // Much is lost: 4 of 10 in the network. Two have arrived and one was sent: two may go, or three if all goes well,
        // but with 9 in the network one alone.
        let base = Reduction { prior: 20, delivered: 0, sent: 1 };
        let window = |pipe, is_safe| base.clone().window(told(pipe, 2, is_safe));
        assert_eq!([window(4, false), window(4, true), window(9, true)], [6, 7, 10]);
    }
}
