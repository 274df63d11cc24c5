// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's side of ABC.

use super::equations;
use crate::error::ParameterError;
use crate::law::beside::Beside;
use crate::law::cubic::{Cubic, CubicParams};
use crate::packet::{Signal, Steering};
use crate::parameters;
use crate::role::{AckSample, FeedbackSample, SenderLaw, Window};
use crate::units::{Duration, Instant};

parameters! {
    /// An ABC sender has no numbers. On a path without ABC routers it is CUBIC.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AbcParams {}
}

/// An ABC sender: a packet more or less for each that is acknowledged, as its router told; beside it CUBIC, which alone heeds
/// losses. The lesser window holds.
#[derive(Clone, Debug)]
pub struct Abc {
    beside: Beside<Cubic>,
    /// The window that routers steer \[packets\]; none: no router has spoken.
    steered: Option<f64>,
    flight: Flight,
}

/// The most packets that were in flight in the last one to two round trips: when acknowledgements come in a bunch, a paced sender has
/// few in flight for a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    ends: Instant,
    running: f64,
    before: f64,
}

impl Flight {
    fn see(&mut self, ack: &AckSample) -> f64 {
        if ack.now >= self.ends {
            *self = Self { ends: ack.now + Duration::from_secs_f64(ack.srtt_s), running: 0.0, before: self.running };
        }
        self.running = self.running.max(ack.flight);
        self.running.max(self.before)
    }
}

impl Abc {
    /// The window in force.
    fn hold(&self, window: &mut Window) {
        if let Some(steered) = self.steered {
            window.cwnd = steered.min(self.beside.cwnd());
            window.ssthresh = window.cwnd;
        }
    }
}

impl SenderLaw for Abc {
    type Params = AbcParams;

    const ASKS_ROUTERS: bool = true;

    fn set_up(_params: AbcParams) -> Result<Self, ParameterError> {
        Ok(Self {
            beside: Beside::new(Cubic::set_up(CubicParams::default())?),
            steered: None,
            flight: Flight::default(),
        })
    }

    fn request(&self, _window: &Window, _wire_bytes: f64, _queues: u8, _srtt_s: f64) -> Signal {
        Signal::Steering(Steering::Asked)
    }

    /// An infinite change: no router has spoken, and CUBIC is alone.
    fn on_feedback(&mut self, window: &mut Window, told: &FeedbackSample) {
        let Signal::Change(packets) = told.signal else { return };
        if !packets.is_finite() {
            self.steered = None;
        } else if !told.is_duplicate && !told.in_recovery {
            if !self.beside.is_set() {
                self.beside.set(*window);
            }
            self.steered = Some(equations::steered(self.steered.unwrap_or(window.cwnd), f64::from(packets)));
            self.hold(window);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if !self.beside.is_set() {
            self.beside.set(*window);
        }
        self.beside.on_ack(ack);
        let most = equations::most(self.flight.see(ack));
        match self.steered {
            Some(steered) => {
                self.steered = Some(equations::increased(steered, ack.acked).min(most));
                self.beside.bound(most);
                self.hold(window);
            }
            None => *window = self.beside.window(),
        }
    }

    fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        self.beside.on_loss(window, flight)
    }

    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        self.beside.on_timeout(window, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn told(packets: f32, is_duplicate: bool, in_recovery: bool) -> FeedbackSample {
        FeedbackSample {
            signal: Signal::Change(packets),
            is_duplicate,
            in_recovery,
            rtt_s: 0.1,
            wire_bytes: 1000.0,
            ..FeedbackSample::default()
        }
    }

    fn ack(flight: f64) -> AckSample {
        AckSample { now: Instant::ZERO, acked: 1.0, flight, rtt: Duration::ZERO, srtt_s: 0.1 }
    }

    /// A sender that no router has told anything yet, and one acknowledgement after.
    fn started() -> (Abc, Window) {
        let mut law = Abc::set_up(AbcParams::default()).unwrap();
        let mut window = Window { cwnd: 8.0, ssthresh: f64::INFINITY };
        law.on_feedback(&mut window, &told(f32::INFINITY, false, false));
        law.on_ack(&mut window, &ack(8.0));
        (law, window)
    }

    //= abc#4
    #[test]
    fn a_packet_more_or_less_and_a_little_more() {
        let (mut law, mut window) = started();
        assert_eq!(window.cwnd, 9.0, "slow start of TCP: no router has spoken");
        law.on_feedback(&mut window, &told(-1.0, false, false));
        law.on_ack(&mut window, &ack(9.0));
        assert_eq!(window.cwnd, 8.125);
        law.on_feedback(&mut window, &told(1.0, false, false));
        assert_eq!(window.cwnd, 9.125);
        law.on_feedback(&mut window, &told(1.0, true, false));
        law.on_feedback(&mut window, &told(1.0, false, true));
        assert_eq!(window.cwnd, 9.125, "neither duplicates nor recovery move it");
        law.on_feedback(&mut window, &told(-20.0, false, false));
        assert_eq!(window.cwnd, 2.0);
    }

    //= abc#5
    #[test]
    fn the_lesser_of_two_windows_holds() {
        assert_eq!((equations::most(7.0), equations::most(0.5)), (14.0, 2.0));
        let (mut law, mut window) = started();
        // TCP's own is 9 in slow start, so that no more is sent whatever routers say.
        for _ in 0..20 {
            law.on_feedback(&mut window, &told(1.0, false, false));
        }
        assert_eq!(window.cwnd, 9.0);
        // What does not bind is twice the flight at most, of the last round trip.
        law.on_ack(&mut window, &ack(9.0));
        law.on_ack(&mut window, &ack(1.0));
        law.on_feedback(&mut window, &told(-10.0, false, false));
        assert_eq!(window.cwnd, 8.0, "18 less 10");
        // A loss somewhere that says nothing: CUBIC's window falls, and holds as long as it is the lesser.
        assert_eq!(law.on_loss(&window, 8.0), 5.6);
        law.on_feedback(&mut window, &told(1.0, false, false));
        assert_eq!(window.cwnd, 5.6);
        law.on_feedback(&mut window, &told(-5.0, false, false));
        assert_eq!(window.cwnd, 4.0);
    }
}
