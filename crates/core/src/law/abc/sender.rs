// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's side of ABC.

use super::equations;
use crate::error::ParameterError;
use crate::law::aimd::{Aimd, AimdParams};
use crate::packet::{Signal, Steering};
use crate::parameters;
use crate::role::{AckSample, FeedbackSample, SenderLaw, Window};

parameters! {
    /// An ABC sender has no numbers. On a path without ABC routers, and after a loss, it is TCP.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AbcParams {}
}

/// An ABC sender: a packet more or less for each that is acknowledged, as its router told; a loss halves the window, as Reno's.
#[derive(Clone, Debug)]
pub struct Abc {
    tcp: Aimd,
    /// Whether a router has spoken.
    is_told: bool,
}

impl SenderLaw for Abc {
    type Params = AbcParams;

    const ASKS_ROUTERS: bool = true;

    fn set_up(_params: AbcParams) -> Result<Self, ParameterError> {
        Ok(Self { tcp: Aimd::set_up(AimdParams::default())?, is_told: false })
    }

    fn request(&self, _window: &Window, _wire_bytes: f64, _queues: u8, _srtt_s: f64) -> Signal {
        Signal::Steering(Steering::Asked)
    }

    /// An infinite change: no router has spoken.
    fn on_feedback(&mut self, window: &mut Window, told: &FeedbackSample) {
        let Signal::Change(packets) = told.signal else { return };
        self.is_told = packets.is_finite();
        if self.is_told && !told.is_duplicate && !told.in_recovery {
            window.cwnd = equations::steered(window.cwnd, f64::from(packets));
            window.ssthresh = window.cwnd;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if self.is_told {
            window.cwnd = equations::increased(window.cwnd, ack.acked);
            window.ssthresh = window.cwnd;
        } else {
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

    fn told(packets: f32, is_duplicate: bool, in_recovery: bool) -> FeedbackSample {
        FeedbackSample { signal: Signal::Change(packets), is_duplicate, in_recovery, rtt_s: 0.1, wire_bytes: 1000.0 }
    }

    //= abc#4
    #[test]
    fn a_packet_more_or_less_and_a_little_more() {
        let mut law = Abc::set_up(AbcParams::default()).unwrap();
        let mut window = Window { cwnd: 8.0, ssthresh: f64::INFINITY };
        let ack = AckSample { now: Instant::ZERO, acked: 1.0, flight: 10.0, rtt: Duration::ZERO, srtt_s: 0.1 };
        law.on_feedback(&mut window, &told(f32::INFINITY, false, false));
        law.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 9.0, "slow start of TCP: no router has spoken");
        law.on_feedback(&mut window, &told(-1.0, false, false));
        law.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 8.125);
        law.on_feedback(&mut window, &told(2.0, false, false));
        assert_eq!(window.cwnd, 10.125);
        law.on_feedback(&mut window, &told(1.0, true, false));
        law.on_feedback(&mut window, &told(1.0, false, true));
        assert_eq!(window.cwnd, 10.125, "neither duplicates nor recovery move it");
        law.on_feedback(&mut window, &told(-20.0, false, false));
        assert_eq!(window.cwnd, 2.0);
    }
}
