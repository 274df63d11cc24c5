// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender shows of itself.

use super::{Sender, State};
use crate::tcp::config::Recovery;
use crate::tcp::stats::{SenderStats, WindowMeans};
use crate::units::{Bytes, Duration, Instant};

impl Sender {
    /// Whether the application has closed and all is acknowledged.
    pub fn is_done(&self) -> bool {
        self.closed && self.una == self.written
    }

    /// Whether its segments ask the routers of the path anything.
    pub fn asks_routers(&self) -> bool {
        self.config.law.asks_routers()
    }

    /// The size on the wire of all its segments but SYNs, where whole segments are written and the receiver's window is never short;
    /// none if it might send parts of them all the same.
    pub fn size_of_all(&self) -> Option<Bytes> {
        let fills_all = self.config.recovery != Recovery::Sack && self.config.handshake;
        fills_all.then(|| Bytes::new(self.mss() + u64::from(self.header)))
    }

    /// Whether the connection is open and no SYN is under way any more: it took one, or what went behind them has come.
    pub fn has_opened(&self) -> bool {
        self.state >= State::Open && (self.syns <= 1 || self.una > 0)
    }

    /// Congestion window, without what fast recovery inflates it by.
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd_bytes)
    }

    /// Slow-start threshold; [`Bytes::MAX`]: none yet.
    pub fn ssthresh(&self) -> Bytes {
        Bytes::new((self.window.ssthresh * self.mss_f64()) as u64)
    }

    /// The window that the receiver last advertised.
    pub fn awnd(&self) -> Bytes {
        Bytes::new(u64::from(self.awnd))
    }

    /// FlightSize: what is sent and not acknowledged. A time-out takes all for lost.
    pub fn flight(&self) -> Bytes {
        Bytes::new(self.nxt - self.una)
    }

    /// The smoothed round-trip time \[s\] (RFC 6298 §2); 0: not known yet.
    pub fn srtt_s(&self) -> f64 {
        self.rto.srtt_s()
    }

    /// Payload acknowledged in all.
    pub fn acknowledged(&self) -> Bytes {
        Bytes::new(self.una)
    }

    /// Where the sender stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// The retransmission time-out, backed off.
    pub fn rto(&self) -> Duration {
        self.rto.timeout()
    }

    /// Bytes on the wire of the data segments sent in the measured span, retransmissions included.
    pub fn sent(&self) -> Bytes {
        self.stats.payload + Bytes::new(self.stats.segments * u64::from(self.header))
    }

    /// What was counted.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The mean windows over the measured span as far as it lies before `now`; none if nothing of it does.
    pub fn mean_windows(&self, now: Instant) -> Option<WindowMeans> {
        self.averages.means(now)
    }
}
