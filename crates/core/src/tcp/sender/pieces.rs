// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel hands to its network card in one piece, which the card splits into segments: how much it is, when more is
//! waited for, and that its last segment is pushed.

use super::{Sender, State};
use crate::tcp::Segment;
use crate::units::{Duration, Instant};

/// A piece is what goes in 2⁻¹⁰ s at the pacing rate (sk_pacing_shift).
const PIECE_SHIFT: u32 = 10;
/// Segments of a piece at least (tcp_min_tso_segs), as long as there is room.
const LEAST: u64 = 2;
/// What a piece holds at most \[B\] (GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER).
const MOST_BYTES: u64 = 65_215;
/// A path of so short a round trip \[µs\] has pieces as large as they may be; they halve with each such time more
/// (tcp_tso_rtt_log).
const RTT_SHIFT: u32 = 9;
/// The pacing rate over the present one (tcp_pacing_ss_ratio, tcp_pacing_ca_ratio) \[%\].
const IN_SLOW_START: u64 = 200;
const IN_AVOIDANCE: u64 = 120;
/// A share of the window that goes at once (tcp_tso_win_divisor).
const WINDOW_SHARE: u64 = 3;
/// How long after a piece more is waited for, and for how long at most.
const PATIENCE: Duration = Duration::from_millis(1);

/// The piece that is being sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    /// One past its last byte; what is sent below belongs to it.
    end: u64,
    /// Whether it is more than a segment.
    is_long: bool,
    /// Whether the next one waits for more room.
    pub(super) waits: bool,
}

impl Sender {
    /// The next new segment, of this piece or the next; none while that waits for more room. A piece is half of the window at most
    /// (tcp_cwnd_test).
    #[cold]
    pub(super) fn next_of_piece(&mut self) -> Option<Segment> {
        if self.tracking.as_ref().is_some_and(|t| self.nxt >= t.piece.end) {
            let room = (self.edge - self.nxt) / self.mss();
            let most = self.most_of_piece();
            let waits = self.waits_for_room(room, most);
            let segments = room.min(most).min(((self.window.cwnd / 2.0) as u64).max(1));
            let end = self.nxt + segments * self.mss();
            if let Some(t) = &mut self.tracking {
                t.piece = if waits { Piece { waits, ..t.piece } } else { Piece { end, is_long: segments > 1, waits } };
            }
            if waits {
                return None;
            }
        }
        Some(self.send_next(self.mss()))
    }

    /// Whether a segment of new data that ends before `end` is pushed: it is the last of a piece, or of what was written
    /// (__tcp_transmit_skb, tcp_push).
    pub(super) fn is_pushed(&self, end: u64) -> bool {
        let piece = self.tracking.as_ref().map(|t| t.piece).unwrap_or_default();
        self.config.pieces && (end == self.written || (piece.is_long && end == piece.end))
    }

    /// Segments of a piece at most (tcp_tso_autosize, tcp_update_pacing_rate).
    fn most_of_piece(&self) -> u64 {
        if self.config.takes_over {
            return (MOST_BYTES / self.mss()).max(LEAST);
        }
        let srtt_s = self.rto.srtt_s();
        let least = self.tracking.as_ref().and_then(|t| t.min_rtt);
        if srtt_s <= 0.0 {
            return LEAST;
        }
        let cwnd = self.window.cwnd.max((self.nxt - self.una) as f64 * self.per_mss);
        let is_far = self.window.cwnd < (self.window.ssthresh / 2.0).floor();
        let percent = if is_far { IN_SLOW_START } else { IN_AVOIDANCE };
        let rate = self.mss_f64() * cwnd * percent as f64 / 100.0 / srtt_s;
        let by_rate = (rate / f64::from(1 << PIECE_SHIFT)) as u64;
        let halvings = least.map_or(u64::MAX, |least| (least.as_nanos() / 1000) >> RTT_SHIFT);
        let by_rtt = if halvings < 32 { MOST_BYTES >> halvings } else { 0 };
        ((by_rate + by_rtt).min(MOST_BYTES) / self.mss()).max(LEAST)
    }

    /// Whether a piece waits for more than `room` segments, `most` at most (tcp_tso_should_defer): shortly after another
    /// one, and if the acknowledgement of the first segment outstanding is near.
    fn waits_for_room(&self, room: u64, most: u64) -> bool {
        let unsent = self.written - self.nxt;
        let window = self.awnd().get().min(self.window_limit).min(self.cwnd_bytes);
        if self.state >= State::Recovery
            || self.now.saturating_since(self.last_sent) > PATIENCE
            || room >= most
            || room * self.mss() >= unsent
            || room * self.mss() >= window / WINDOW_SHARE
        {
            return false;
        }
        let Some(first) = self.tracking.as_ref().and_then(|t| t.first_sent()) else { return false };
        let srtt = Duration::from_secs_f64(self.rto.srtt_s());
        let threshold = PATIENCE.min(srtt / 2);
        let expected: Instant = first + srtt;
        expected.saturating_since(self.now) <= threshold
    }
}
