// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's side of QFCP.

use super::equations;
use crate::error::ParameterError;
use crate::estimator::Smoothed;
use crate::law::aimd::{Aimd, AimdParams};
use crate::law::beside::Beside;
use crate::packet::{QfcpHeader, RateFeedback, Signal};
use crate::parameters;
use crate::role::{AckSample, FeedbackSample, SenderLaw, Window};

/// Weight of a new sample in the round-trip time (RFC 6298's α).
const RTT_WEIGHT: f64 = 0.125;

parameters! {
    /// What a QFCP sender is told.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct QfcpParams {
        /// Halve the window after a loss until it is repaired, as without the paper's enhancement.
        pub heed_loss: bool = false;
    }
}

/// A QFCP sender: its window is the routers' rate times the round-trip time, and a loss tells it nothing.
///
/// Where a queue of the path does not speak QFCP, a loss may be that queue's, and all it says. Then a TCP runs beside, and the
/// lesser window holds: the flow takes no more than its fair rate where routers speak, and no more than a TCP where they do
/// not.
#[derive(Clone, Debug)]
pub struct Qfcp {
    heed_loss: bool,
    beside: Beside<Aimd>,
    /// The rate that the routers allow \[segments/s\]; infinite: none has spoken.
    rate: f64,
    is_complete: bool,
    rtt_s: Smoothed,
}

impl Qfcp {
    /// What the routers' rate makes of the window.
    fn window(&self) -> f64 {
        equations::window(self.rate, self.rtt_s.value().unwrap_or(0.0))
    }
}

impl SenderLaw for Qfcp {
    type Params = QfcpParams;

    const ASKS_ROUTERS: bool = true;

    fn set_up(params: QfcpParams) -> Result<Self, ParameterError> {
        Ok(Self {
            heed_loss: params.heed_loss,
            beside: Beside::new(Aimd::set_up(AimdParams::default())?),
            rate: f64::INFINITY,
            is_complete: false,
            rtt_s: Smoothed::new(RTT_WEIGHT),
        })
    }

    fn request(&self, _window: &Window, _wire_bytes: f64, queues: u8, srtt_s: f64) -> Signal {
        let rtt_s = self.rtt_s.value().unwrap_or(srtt_s);
        Signal::Qfcp(QfcpHeader { rtt_s: rtt_s as f32, rate: f32::INFINITY, silent: queues })
    }

    fn on_feedback(&mut self, window: &mut Window, told: &FeedbackSample) {
        let Signal::Rate(RateFeedback { rate, silent }) = told.signal else { return };
        let rate = f64::from(rate) / told.wire_bytes;
        // On a path without queues nobody is silent, and nobody speaks.
        let is_complete = silent == 0 && rate.is_finite();
        self.rtt_s.push(told.rtt_s);
        if !is_complete && !self.beside.is_set() {
            self.beside.set(*window);
        }
        self.rate = rate;
        self.is_complete = is_complete;
        if self.heed_loss && (told.is_duplicate || told.in_recovery) {
            return;
        }
        if self.is_complete {
            window.cwnd = self.window();
            // TCP would go on from here, and loss recovery comes back to here.
            window.ssthresh = window.cwnd;
            self.beside.set(*window);
        } else {
            window.cwnd = self.window().min(self.beside.cwnd());
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.is_complete && self.beside.is_set() {
            self.beside.on_ack(ack);
            window.cwnd = self.window().min(self.beside.cwnd());
        }
    }

    fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        if self.is_complete && !self.heed_loss {
            return window.cwnd;
        }
        self.beside.on_loss(window, flight)
    }

    /// One packet is left until any acknowledgement restores the window.
    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        if self.is_complete && !self.heed_loss {
            return window.cwnd;
        }
        self.beside.on_timeout(window, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    fn law(heed_loss: bool) -> Qfcp {
        Qfcp::set_up(QfcpParams { heed_loss }).unwrap()
    }

    fn start() -> Window {
        Window { cwnd: 3.0, ssthresh: f64::INFINITY }
    }

    /// What an acknowledgement brings after so long: a rate in segments of 1000 bytes, and whether all queues have spoken.
    fn after(rtt_s: f64, rate: f32, is_complete: bool) -> FeedbackSample {
        let signal = Signal::Rate(RateFeedback { rate: 1000.0 * rate, silent: u8::from(!is_complete) });
        FeedbackSample { signal, rtt_s, wire_bytes: 1000.0, ..FeedbackSample::default() }
    }

    fn ack() -> AckSample {
        AckSample { now: Instant::ZERO, acked: 1.0, flight: 3.0, rtt: Duration::ZERO, srtt_s: 0.1 }
    }

    #[test]
    fn the_window_is_rate_times_round_trip() {
        let (mut law, mut window) = (law(false), start());
        law.on_feedback(&mut window, &after(0.1, 400.0, true));
        assert_eq!(window.cwnd, 40.0);
        // A longer round trip counts with an eighth: 0.1 + 0.08/8.
        law.on_feedback(&mut window, &after(0.18, 400.0, true));
        assert!((window.cwnd - 44.0).abs() < 1e-9);
        law.on_feedback(&mut window, &after(0.1, 1.0, true));
        assert_eq!(window.cwnd, 1.0);
        law.on_ack(&mut window, &ack());
        assert_eq!(window.cwnd, 1.0, "acknowledgements alone say nothing");
    }

    #[test]
    fn a_loss_says_nothing() {
        let (mut law, mut window) = (law(false), start());
        law.on_feedback(&mut window, &after(0.1, 400.0, true));
        assert_eq!([law.on_loss(&window, 40.0), law.on_timeout(&window, 40.0)], [40.0, 40.0]);
        // A time-out leaves one packet, and any acknowledgement restores the window.
        window.cwnd = 1.0;
        law.on_feedback(&mut window, &after(0.1, 400.0, true));
        assert_eq!(window.cwnd, 40.0);
    }

    #[test]
    fn it_can_be_made_to_heed_losses() {
        let (mut law, mut window) = (law(true), start());
        law.on_feedback(&mut window, &after(0.1, 400.0, true));
        assert_eq!([law.on_loss(&window, 40.0), law.on_timeout(&window, 40.0)], [20.0, 20.0]);
        // And to stay so until recovery is over.
        window.cwnd = 20.0;
        law.on_feedback(&mut window, &FeedbackSample { in_recovery: true, ..after(0.1, 400.0, true) });
        assert_eq!(window.cwnd, 20.0);
        law.on_feedback(&mut window, &after(0.1, 400.0, true));
        assert_eq!(window.cwnd, 40.0);
    }

    #[test]
    fn beside_a_silent_queue_the_lesser_window_holds() {
        let (mut law, mut window) = (law(false), start());
        law.on_feedback(&mut window, &after(0.1, 400.0, false));
        assert_eq!(window.cwnd, 3.0);
        // Slow start: one more each.
        for _ in 0..10 {
            law.on_feedback(&mut window, &after(0.1, 400.0, false));
            law.on_ack(&mut window, &ack());
        }
        assert_eq!(window.cwnd, 13.0);
        let threshold = law.on_loss(&window, 13.0);
        assert_eq!(threshold, 6.5);
        law.on_feedback(&mut window, &after(0.1, 400.0, false));
        assert_eq!(window.cwnd, 6.5);
        // Where a router speaks, and allows less, that holds.
        law.on_feedback(&mut window, &after(0.1, 20.0, false));
        assert_eq!(window.cwnd, 2.0);
        // As soon as all speak, their rate alone does.
        law.on_feedback(&mut window, &after(0.1, 400.0, true));
        assert_eq!(window.cwnd, 40.0);
    }

    #[test]
    fn without_any_router_it_is_tcp() {
        // Be there a queue that is silent, or none at all.
        for no_queues in [false, true] {
            let (mut law, mut window) = (law(false), start());
            law.on_feedback(&mut window, &after(0.1, f32::INFINITY, no_queues));
            law.on_ack(&mut window, &ack());
            assert_eq!(window.cwnd, 4.0);
            assert_eq!(law.on_timeout(&window, 4.0), 2.0);
        }
    }
}
