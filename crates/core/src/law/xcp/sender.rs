// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's side of XCP.

use crate::error::ParameterError;
use crate::law::{AckSample, Aimd, AimdParams, Window};

/// What an XCP sender is told. On a path without XCP routers, and after a loss, it is TCP.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct XcpParams {
    /// The law of a path on which no router speaks.
    pub without: AimdParams,
}

/// An XCP sender: the routers say by how much its window changes; a loss halves it, as Reno's.
#[derive(Clone, Debug)]
pub struct Xcp {
    tcp: Aimd,
    /// Whether a router has spoken.
    is_told: bool,
}

impl Xcp {
    /// Sets the law up.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(params: XcpParams) -> Result<Self, ParameterError> {
        Ok(Self { tcp: Aimd::new(params.without)?, is_told: false })
    }

    /// An acknowledgement grants a change of `segments`; infinitely many: no router has spoken. Duplicates change nothing:
    /// from a loss on Reno's fast recovery rules, as in ns-2.
    pub fn on_feedback(&mut self, window: &mut Window, segments: f64, is_duplicate: bool) {
        self.is_told = segments.is_finite();
        if self.is_told && !is_duplicate {
            //= qfcp#2
            window.cwnd = (window.cwnd + segments).max(1.0);
            window.ssthresh = window.cwnd;
        }
    }

    /// New data was acknowledged.
    pub fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.is_told {
            self.tcp.on_ack(window, ack);
        }
    }

    /// The slow-start threshold after a loss.
    pub fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        self.tcp.on_loss(window, flight)
    }

    /// The slow-start threshold after a time-out.
    pub fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        self.tcp.on_timeout(window, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    #[test]
    fn the_window_follows_the_routers() {
        //= qfcp#2
        let mut law = Xcp::new(XcpParams::default()).unwrap();
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        law.on_feedback(&mut window, 2.5, false);
        assert_eq!(window.cwnd, 12.5);
        law.on_feedback(&mut window, 7.5, true);
        assert_eq!(window.cwnd, 12.5);
        law.on_feedback(&mut window, -20.0, false);
        assert_eq!(window.cwnd, 1.0);
    }

    #[test]
    fn without_a_router_it_is_tcp() {
        let mut law = Xcp::new(XcpParams::default()).unwrap();
        let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let ack = AckSample { now: Instant::ZERO, acked: 1.0, flight: 10.0, rtt: Duration::ZERO, srtt_s: 0.1 };
        law.on_feedback(&mut window, f64::INFINITY, false);
        law.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 11.0);
        law.on_feedback(&mut window, 0.0, false);
        law.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 11.0);
        assert_eq!(law.on_loss(&window, 10.0), 5.0);
    }
}
