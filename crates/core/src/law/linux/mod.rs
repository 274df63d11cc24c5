// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reno and CUBIC as Linux has them: whole segments, and CUBIC in fixed point with a coarse clock; and TCP(α, β), γ and δ as
//! a control that Linux is given.
//!
//! They differ from the RFCs where a simulation can tell: slow start takes all that an acknowledgement acknowledges and
//! ends at the threshold exactly, the window grows by whole segments, and CUBIC leaves slow start by HyStart
//! (net/ipv4/tcp_cong.c and tcp_cubic.c of Linux 6.18).

mod aimd;
mod cubic;
pub mod equations;
mod hystart;

use crate::error::ParameterError;
use crate::role::{AckSample, SenderLaw, Window};
pub use aimd::{LEAST, LinuxAimd, ensure_counted};
pub use cubic::{LinuxCubic, LinuxCubicParams};

/// Reno (tcp_reno_cong_avoid, tcp_reno_ssthresh).
#[derive(Clone, Debug, Default)]
pub struct Reno {
    growth: Growth,
}

impl SenderLaw for Reno {
    type Params = ();

    const TRACKS_SEGMENTS: bool = true;

    fn set_up((): ()) -> Result<Self, ParameterError> {
        Ok(Self::default())
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let acked = slow_start(window, whole_segments(ack.acked));
        if acked > 0 {
            let cwnd = segments(window.cwnd);
            window.cwnd = f64::from(self.growth.grow(cwnd, cwnd, acked));
        }
    }

    /// Half the window, whatever tells of the loss.
    fn on_loss(&mut self, window: &Window, _flight: f64) -> f64 {
        self.growth.acked = 0;
        f64::from(equations::halve(segments(window.cwnd)))
    }
}

/// A window as a whole number.
#[inline]
fn segments(window: f64) -> u32 {
    window as u32
}

/// Segments that an acknowledgement acknowledges; a small one counts as one.
#[inline]
fn whole_segments(acked: f64) -> u32 {
    (acked.round() as u32).max(1)
}

/// Slow start up to the threshold; gives what is left for congestion avoidance (tcp_slow_start).
#[inline]
fn slow_start(window: &mut Window, acked: u32) -> u32 {
    let room = (window.ssthresh - window.cwnd).max(0.0).floor();
    let grown = f64::from(acked).min(room);
    window.cwnd += grown;
    acked - grown as u32
}

/// One segment more for so many acknowledged (tcp_cong_avoid_ai).
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    /// Segments acknowledged since the window last grew (snd_cwnd_cnt).
    acked: u32,
}

impl Growth {
    /// The window after `acked` more, if it grows by one for `count`.
    #[inline]
    fn grow(&mut self, cwnd: u32, count: u32, acked: u32) -> u32 {
        let mut grown = cwnd;
        if self.acked >= count {
            // Credits were gathered at a slower growth.
            self.acked = 0;
            grown += 1;
        }
        self.acked += acked;
        let more = self.acked / count;
        self.acked -= more * count;
        grown + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    fn ack(acked: f64) -> AckSample {
        AckSample { now: Instant::ZERO, acked, flight: 0.0, rtt: Duration::ZERO, srtt_s: 0.0 }
    }

    #[test]
    fn slow_start_ends_at_the_threshold_and_hands_on_the_rest() {
        // 10 + 4 would pass 12: two segments are left, and with those of the next acknowledgement they make 12.
        let mut law = Reno::default();
        let mut window = Window { cwnd: 10.0, ssthresh: 12.0 };
        law.on_ack(&mut window, &ack(4.0));
        assert_eq!((window.cwnd, law.growth.acked), (12.0, 2));
        law.on_ack(&mut window, &ack(9.0));
        assert_eq!(window.cwnd, 12.0);
        law.on_ack(&mut window, &ack(1.0));
        assert_eq!((window.cwnd, law.growth.acked), (13.0, 0));
    }

    #[test]
    fn an_acknowledgement_of_many_segments_counts_them_all() {
        let mut law = Reno::default();
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        law.on_ack(&mut window, &ack(8.0));
        assert_eq!(window.cwnd, 18.0);
    }

    #[test]
    fn a_window_of_acknowledgements_makes_one_segment() {
        let mut law = Reno::default();
        let mut window = Window { cwnd: 20.0, ssthresh: 10.0 };
        for _ in 0..19 {
            law.on_ack(&mut window, &ack(1.0));
        }
        assert_eq!(window.cwnd, 20.0);
        law.on_ack(&mut window, &ack(1.0));
        assert_eq!(window.cwnd, 21.0);
    }

    #[test]
    fn a_loss_halves_the_window_and_rounds_down() {
        let mut law = Reno::default();
        let left = [21.0, 3.0].map(|cwnd| law.on_loss(&Window { cwnd, ssthresh: 2.0 }, cwnd));
        assert_eq!(left, [10.0, 2.0]);
    }
}
