// SPDX-License-Identifier: MIT OR Apache-2.0
//! The advertised window as Linux lets it grow: by two segments for each that comes, up to what dynamic right-sizing allows, which
//! is twice what was read in a round trip, more while that grows, and what waits for a gap (tcp_grow_window, tcp_rcv_space_adjust,
//! tcp_rcvbuf_grow).

use crate::units::{Bytes, Duration, Instant};

/// The first buffer (`tcp_rmem`), of which this share holds payload where a packet of 1500 B takes 2304 B of memory.
const FIRST_BUFFER: u64 = 131_072;
const PAYLOAD_SHARE: (u64, u64) = (160, 256);
/// The first window is of whole segments within half of the first buffer.
const FIRST_SHARE: u64 = 2;
/// What one round trip is taken to have brought before the first (TCP_INIT_CWND) \[segments\].
const FIRST_SEGMENTS: u64 = 10;
/// What is shorter lets nothing grow \[B\].
const LEAST_SEGMENT: u64 = 128;

/// A window that grows.
#[derive(Clone, Debug)]
pub(super) struct Autotuning {
    mss: u64,
    /// The window that is advertised (rcv_ssthresh), how far it may grow, and how far ever \[B\].
    window: u64,
    clamp: u64,
    most: u64,
    /// Most that was read in a round trip (rcvq_space.space) \[B\].
    space: u64,
    /// When the present round trip began, and what had been read by then.
    since: Option<Instant>,
    from: u64,
    /// The smoothed round-trip time (rcv_rtt_est); none before the first measurement.
    rtt: Option<Duration>,
}

impl Autotuning {
    /// One for segments of `mss` bytes that never passes `most`.
    pub(super) fn new(mss: u32, most: Bytes) -> Self {
        let (mss, most) = (u64::from(mss), most.get());
        let window = (FIRST_BUFFER / FIRST_SHARE / mss * mss).clamp(1, most);
        let clamp = (FIRST_BUFFER * PAYLOAD_SHARE.0 / PAYLOAD_SHARE.1).clamp(window, most);
        let space = window.min(FIRST_SEGMENTS * mss);
        Self { mss, window, clamp, most, space, since: None, from: 0, rtt: None }
    }

    /// The window to advertise.
    pub(super) fn window(&self) -> Bytes {
        Bytes::new(self.window)
    }

    /// A segment of `payload` bytes has come, `rtt` after the acknowledgement that let it go; all before `next` is read, and `highest`
    /// is one past the last byte that came. True if the window grows.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        rtt: Option<Duration>,
        (payload, next, highest): (u64, u64, u64),
    ) -> bool {
        if let Some(rtt) = rtt {
            // A shorter one counts at once (tcp_rcv_rtt_update).
            self.rtt = Some(self.rtt.map_or(rtt, |known| rtt.min((known * 7 + rtt) / 8)));
        }
        let step = if payload < LEAST_SEGMENT { 0 } else { 2 * self.mss.max(payload) };
        let growth = step.min(self.clamp - self.window);
        self.window += growth;
        self.resize(now, next, highest);
        growth > 0
    }

    fn resize(&mut self, now: Instant, next: u64, highest: u64) {
        if highest > next {
            // What waits for a gap is to have room beside what a round trip brings (tcp_data_queue_ofo).
            self.clamp = self.clamp.max((2 * self.space + (highest - next)).min(self.most));
        }
        let since = *self.since.get_or_insert(now);
        if self.rtt.is_none_or(|rtt| now.saturating_since(since) < rtt) {
            return;
        }
        let read = next - self.from;
        if read > self.space {
            // Slow start may double what is read, and once more before we know.
            // The product of two amounts passes 64 bits where gigabytes are read in a round trip.
            let (wide, space) = (u128::from(read), u128::from(self.space));
            let growth = 2 * wide * (wide - space) / space;
            let wanted = 2 * wide + 2 * growth + u128::from(highest.saturating_sub(next));
            self.clamp = self.clamp.max(wanted.min(u128::from(self.most)) as u64);
            self.space = read;
        }
        self.from = next;
        self.since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn tuning(most: u64) -> Autotuning {
        Autotuning::new(1448, Bytes::new(most))
    }

    #[test]
    fn the_window_grows_by_two_segments_for_each_that_comes() {
        // 65,160 B are 45 segments; 5/8 of 131,072 B are 81,920, 5.8 steps above.
        let mut tuning = tuning(6_000_000);
        let grown: Vec<_> = (1..9).map(|n| tuning.receive(at(1), None, (1448, 1448 * n, 0))).collect();
        assert_eq!(grown, [true, true, true, true, true, true, false, false]);
        assert_eq!(tuning.window(), Bytes::new(81_920));
        assert!(!tuning.receive(at(1), None, (100, 20_000, 0)));
    }

    #[test]
    fn what_is_read_in_a_round_trip_says_how_far() {
        // 100 ms after the first segment 28,960 B are read, twice what was reckoned with: 2·28,960, and because that doubles
        // 2·2·28,960·(28,960 − 14,480)/14,480 more: 173,760. Half a round trip later nothing is known yet, and 50 ms after that no
        // more than the time before was read.
        let mut tuning = tuning(6_000_000);
        let rtt = Some(Duration::from_millis(100));
        tuning.receive(at(0), None, (1448, 0, 0));
        tuning.receive(at(100), rtt, (1448, 28_960, 0));
        assert_eq!(tuning.clamp, 173_760);
        tuning.receive(at(150), rtt, (1448, 57_920, 0));
        tuning.receive(at(200), rtt, (1448, 57_920, 0));
        assert_eq!((tuning.clamp, tuning.space), (173_760, 28_960));
        // A byte more was read: 2·28,961·1/28,960 are 2, twice. And what came out of order is to have room, too.
        tuning.receive(at(300), rtt, (1448, 57_920 + 28_961, 300_000));
        assert_eq!(tuning.clamp, 2 * 28_961 + 2 * 2 + 300_000 - (57_920 + 28_961));
        // At once, too, with 200,000 B above a gap: twice what a round trip brings, and these.
        let mut reordered = super::Autotuning::new(1448, Bytes::new(6_000_000));
        reordered.receive(at(0), None, (1448, 0, 200_000));
        assert_eq!(reordered.clamp, 2 * 14_480 + 200_000);
        // 4 GB in a round trip are as much as the buffer holds: 2·4·10⁹·4·10⁹ alone is more than 64 bits hold.
        let mut vast = super::Autotuning::new(1448, Bytes::new(u64::from(u32::MAX)));
        vast.receive(at(0), None, (1448, 0, 0));
        vast.receive(at(100), rtt, (1448, 4_000_000_000, 0));
        assert_eq!(vast.clamp, u64::from(u32::MAX));
        // And the buffer is the buffer.
        let mut small = super::Autotuning::new(1448, Bytes::new(66_000));
        small.receive(at(0), None, (1448, 0, 0));
        small.receive(at(100), rtt, (1448, 1_000_000, 0));
        assert_eq!((small.clamp, small.window()), (66_000, Bytes::new(66_000)));
    }
}
