// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's side of XCP.

use super::equations;
use crate::error::ParameterError;
use crate::estimator::Smoothed;
use crate::law::aimd::{Aimd, AimdParams};
use crate::packet::{Signal, XcpHeader};
use crate::parameters;
use crate::role::{AckSample, FeedbackSample, SenderLaw, Window};

/// Weight of a round-trip time in the mean that headers tell.
const RTT_WEIGHT: f64 = 1.0 / 8.0;

parameters! {
    /// An XCP sender has no numbers. On a path without XCP routers, and after a loss, it is TCP.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct XcpParams {}
}

/// An XCP sender: the routers say by how much its window changes; a loss halves it, as Reno's.
#[derive(Clone, Debug)]
pub struct Xcp {
    tcp: Aimd,
    /// Whether a router has spoken.
    is_told: bool,
    /// The mean over acknowledgements of new data \[s\].
    rtt_s: Smoothed,
}

impl SenderLaw for Xcp {
    type Params = XcpParams;

    const ASKS_ROUTERS: bool = true;

    fn set_up(_params: XcpParams) -> Result<Self, ParameterError> {
        Ok(Self { tcp: Aimd::set_up(AimdParams::default())?, is_told: false, rtt_s: Smoothed::new(RTT_WEIGHT) })
    }

    fn request(&self, window: &Window, wire_bytes: f64, _queues: u8, srtt_s: f64) -> Signal {
        Signal::Xcp(XcpHeader {
            cwnd_bytes: (window.cwnd * wire_bytes) as f32,
            rtt_s: self.rtt_s.value().unwrap_or(srtt_s) as f32,
            change: f32::INFINITY,
        })
    }

    /// An infinite change: no router has spoken. Duplicates change nothing: from a loss on Reno's fast recovery rules, as in
    /// ns-2.
    fn on_feedback(&mut self, window: &mut Window, told: &FeedbackSample) {
        let Signal::Change(change) = told.signal else { return };
        let feedback = f64::from(change) / told.wire_bytes;
        self.is_told = feedback.is_finite();
        if told.is_duplicate {
            return;
        }
        self.rtt_s.push(told.rtt_s);
        if self.is_told {
            window.cwnd = equations::window(window.cwnd, feedback, self.rtt_s.value().unwrap_or(told.rtt_s));
            window.ssthresh = window.cwnd;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.is_told {
            self.tcp.on_ack(window, ack);
        }
    }

    fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        self.tcp.on_loss(window, flight)
    }

    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        self.tcp.on_timeout(window, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    /// An acknowledgement after 100 ms that grants `segments` of 1000 bytes more in that time.
    fn told(segments: f32, is_duplicate: bool) -> FeedbackSample {
        let signal = Signal::Change(10_000.0 * segments);
        FeedbackSample { signal, is_duplicate, rtt_s: 0.1, wire_bytes: 1000.0, ..FeedbackSample::default() }
    }

    #[test]
    fn the_window_follows_the_routers() {
        let mut law = Xcp::set_up(XcpParams::default()).unwrap();
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        law.on_feedback(&mut window, &told(2.5, false));
        assert_eq!(window.cwnd, 12.5);
        law.on_feedback(&mut window, &told(7.5, true));
        assert_eq!(window.cwnd, 12.5);
        law.on_feedback(&mut window, &told(-20.0, false));
        assert_eq!(window.cwnd, 1.0);
    }

    #[test]
    fn packets_tell_window_and_round_trip_time() {
        let law = Xcp::set_up(XcpParams::default()).unwrap();
        let window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let asked = XcpHeader { cwnd_bytes: 10_000.0, rtt_s: 0.125, change: f32::INFINITY };
        assert_eq!(law.request(&window, 1000.0, 3, 0.125), Signal::Xcp(asked));
    }

    #[test]
    fn without_a_router_it_is_tcp() {
        let mut law = Xcp::set_up(XcpParams::default()).unwrap();
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let ack = AckSample { now: Instant::ZERO, acked: 1.0, flight: 10.0, rtt: Duration::ZERO, srtt_s: 0.1 };
        law.on_feedback(&mut window, &told(f32::INFINITY, false));
        law.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 11.0);
        law.on_feedback(&mut window, &told(0.0, false));
        law.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 11.0);
        assert_eq!(law.on_loss(&window, 10.0), 5.0);
    }
}
