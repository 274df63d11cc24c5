// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's rate rules.

use super::equations;

/// A sender's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateParams {
    /// s: payload of a packet \[B\].
    pub s: f64,
    /// q: weight of the old round-trip estimate, in \[0, 1).
    pub q: f64,
    /// t_RTO over R: 4.
    pub rto_factor: f64,
    /// Rate when the first round-trip time is known \[B/s\]; none: W_init/R.
    pub initial_rate: Option<f64>,
    /// t_mbi: the longest time between two packets \[s\].
    pub t_mbi: f64,
    /// q2: weight of the old mean of √R where oscillations are damped; none: they are not.
    pub damping: Option<f64>,
}

/// What a feedback packet tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcFeedback {
    /// The loss event rate.
    pub p: f64,
    /// The receive rate \[B/s\].
    pub x_recv: f64,
    /// The round-trip time measured with it \[s\].
    pub r_sample: f64,
    /// Whether the sender had less to send than it might have, all the time that the packet speaks of.
    pub data_limited: bool,
}

/// X, the allowed sending rate, and what it depends on.
#[derive(Clone, Debug)]
pub struct RateControl {
    params: RateParams,
    x: f64,
    x_bps: f64,
    p: f64,
    r: Option<f64>,
    /// R_sqmean, and √ of the last sample.
    roots: (f64, f64),
    /// Recent receive rates with their times; ∞ until one is known.
    x_recv_set: Vec<(f64, f64)>,
    /// When X was last doubled.
    tld: f64,
}

impl RateControl {
    /// A sender that knows no round-trip time: a packet a second.
    ///
    /// //= RFC 5348 §4.2
    pub fn new(params: RateParams) -> Self {
        Self {
            x: params.s,
            params,
            x_bps: f64::INFINITY,
            p: 0.0,
            r: None,
            roots: (1.0, 1.0),
            x_recv_set: vec![(0.0, f64::INFINITY)],
            tld: f64::NEG_INFINITY,
        }
    }

    /// X \[B/s\].
    pub fn rate(&self) -> f64 {
        self.x
    }

    /// R \[s\]; none before the first feedback.
    pub fn rtt(&self) -> Option<f64> {
        self.r
    }

    /// The loss event rate last told.
    pub fn loss_event_rate(&self) -> f64 {
        self.p
    }

    /// The rate at which packets leave \[B/s\]: X, and with damping less of it while the round trip is longer than usual.
    ///
    /// //= RFC 5348 §4.5
    pub fn instantaneous(&self) -> f64 {
        match self.params.damping {
            Some(_) => (self.x * self.roots.0 / self.roots.1).max(self.least()),
            None => self.x,
        }
    }

    /// RTO: after so long without feedback the rate is cut \[s\].
    ///
    /// //= RFC 5348 §4.3
    pub fn timeout(&self) -> f64 {
        equations::no_feedback_timeout(self.params.s, self.x, self.r)
    }

    /// Feedback has come at `now`.
    ///
    /// //= RFC 5348 §4.3
    pub fn on_feedback(&mut self, now: f64, feedback: TfrcFeedback) {
        let root = libm::sqrt(feedback.r_sample);
        let Some(r) = self.r else {
            self.r = Some(feedback.r_sample);
            self.roots = (root, root);
            self.p = feedback.p;
            self.tld = now;
            self.x_recv_set = vec![(now, f64::INFINITY)];
            self.x = self.initial_rate(feedback.r_sample);
            // If the receiver's first words were lost, these may tell of losses: then the equation rules at once.
            self.limit(now, f64::INFINITY);
            return;
        };
        let r = equations::smoothed_rtt(r, feedback.r_sample, self.params.q);
        self.r = Some(r);
        if let Some(q2) = self.params.damping {
            self.roots = (equations::root_mean(self.roots.0, feedback.r_sample, q2), root);
        }
        let more_lost = feedback.p > self.p;
        self.p = feedback.p;
        let recv_limit = if feedback.data_limited && more_lost {
            self.x_recv_set.iter_mut().for_each(|(_, rate)| *rate /= 2.0);
            self.maximize(now, 0.85 * feedback.x_recv)
        } else if feedback.data_limited {
            2.0 * self.maximize(now, feedback.x_recv)
        } else {
            self.x_recv_set.retain(|&(at, _)| now - at < 2.0 * r);
            self.x_recv_set.push((now, feedback.x_recv));
            2.0 * self.greatest()
        };
        self.limit(now, recv_limit);
    }

    /// No feedback has come for [`timeout`](Self::timeout) seconds; `idle`: nothing was sent either.
    ///
    /// //= RFC 5348 §4.4
    pub fn on_no_feedback(&mut self, now: f64, idle: bool) {
        let x_recv = self.greatest();
        let recover_rate = self.r.map_or(self.params.s, |r| self.initial_rate(r));
        let is_slow = if self.p > 0.0 { x_recv < recover_rate } else { self.x < 2.0 * recover_rate };
        if idle && (is_slow || self.r.is_none()) {
            return;
        }
        if self.r.is_none() || self.p == 0.0 {
            self.x = (self.x / 2.0).max(self.least());
        } else {
            // Whichever of the two limited the rate is halved.
            let limit = if self.x_bps > 2.0 * x_recv { x_recv } else { self.x_bps / 2.0 }.max(self.least());
            self.x_recv_set = vec![(now, limit / 2.0)];
            self.limit(now, limit);
        }
    }

    /// Step 4: X by the equation once there are losses, before by doubling.
    fn limit(&mut self, now: f64, recv_limit: f64) {
        let Some(r) = self.r else { return };
        if self.p > 0.0 {
            self.x_bps = equations::throughput(self.params.s, r, self.p, self.params.rto_factor);
            self.x = self.x_bps.min(recv_limit).max(self.least());
        } else if now - self.tld >= r {
            self.x = (2.0 * self.x).min(recv_limit).max(self.initial_rate(r));
            self.tld = now;
        }
    }

    /// W_init/R with RFC 3390's window, by default.
    fn initial_rate(&self, r: f64) -> f64 {
        self.params.initial_rate.unwrap_or_else(|| equations::initial_rate(self.params.s, r))
    }

    /// s/t_mbi.
    fn least(&self) -> f64 {
        self.params.s / self.params.t_mbi
    }

    fn greatest(&self) -> f64 {
        self.x_recv_set.iter().fold(0.0, |most, &(_, rate)| rate.max(most))
    }

    /// Keeps the greatest rate alone, the new one among them.
    fn maximize(&mut self, now: f64, x_recv: f64) -> f64 {
        self.x_recv_set.retain(|(_, rate)| rate.is_finite());
        let most = self.greatest().max(x_recv);
        self.x_recv_set = vec![(now, most)];
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: RateParams =
        RateParams { s: 1000.0, q: 0.9, rto_factor: 4.0, initial_rate: None, t_mbi: 64.0, damping: None };

    fn feedback(p: f64, x_recv: f64) -> TfrcFeedback {
        TfrcFeedback { p, x_recv, r_sample: 0.1, data_limited: false }
    }

    /// A sender with its first feedback at 0.1 s: X = min(4000, max(2000, 4380))/0.1 = 40 kB/s.
    fn started(params: RateParams) -> RateControl {
        let mut control = RateControl::new(params);
        assert_eq!((control.rate(), control.timeout()), (1000.0, 2.0));
        control.on_feedback(0.1, feedback(0.0, 0.0));
        control
    }

    //= RFC 5348 §4.2
    //= tfrc#4.2
    #[test]
    fn it_starts_with_a_packet_a_second_and_then_the_initial_window() {
        assert!((started(PARAMS).rate() - 40_000.0).abs() < 1e-9);
        let told = started(RateParams { initial_rate: Some(7000.0), ..PARAMS });
        assert_eq!(told.rate(), 7000.0);
    }

    //= RFC 5348 §4.2, §4.3
    #[test]
    fn losses_told_by_the_first_feedback_count_at_once() {
        let mut control = RateControl::new(PARAMS);
        control.on_feedback(0.1, feedback(0.06, 30_000.0));
        // See the equation's own test.
        assert!((control.rate() - 31_206.934_43).abs() < 1e-3, "{}", control.rate());
    }

    //= RFC 5348 §4.3
    #[test]
    fn slow_start_doubles_once_a_round_trip_up_to_twice_what_arrives() {
        let mut control = started(PARAMS);
        control.on_feedback(0.15, feedback(0.0, 40_000.0));
        assert!((control.rate() - 40_000.0).abs() < 1e-9, "too early");
        control.on_feedback(0.25, feedback(0.0, 40_000.0));
        assert!((control.rate() - 80_000.0).abs() < 1e-9);
        // The ∞ of the start is forgotten after two round trips; from then on 2·50,000 is the most.
        control.on_feedback(0.36, feedback(0.0, 50_000.0));
        control.on_feedback(0.6, feedback(0.0, 50_000.0));
        assert!((control.rate() - 100_000.0).abs() < 1e-9, "{}", control.rate());
    }

    //= RFC 5348 §4.3
    #[test]
    fn with_losses_the_equation_rules_unless_less_arrives() {
        let mut control = started(PARAMS);
        control.on_feedback(0.5, feedback(0.06, 30_000.0));
        // See the equation's own test: 31,207 B/s.
        assert!((control.rate() - 31_206.934_43).abs() < 1e-3);
        // More than two round trips later only 10,000 B/s have arrived.
        control.on_feedback(0.8, feedback(0.06, 10_000.0));
        assert!((control.rate() - 20_000.0).abs() < 1e-9);
        assert_eq!(control.loss_event_rate(), 0.06);
    }

    //= RFC 5348 §4.3
    //= tfrc#4.3.R
    //= tfrc#4.3.RTO
    #[test]
    fn the_round_trip_is_filtered() {
        let mut control = started(PARAMS);
        control.on_feedback(0.5, TfrcFeedback { r_sample: 0.2, ..feedback(0.0, 0.0) });
        // 0.9·0.1 + 0.1·0.2 = 0.11; RTO = max(4·0.11, 2·1000/X).
        assert!((control.rtt().unwrap() - 0.11).abs() < 1e-12);
        assert!((control.timeout() - 0.44).abs() < 1e-12);
    }

    //= RFC 5348 §4.3
    #[test]
    fn while_the_application_limits_the_greatest_rate_stays() {
        let mut control = started(PARAMS);
        control.on_feedback(0.5, feedback(0.01, 60_000.0));
        let limited = TfrcFeedback { data_limited: true, ..feedback(0.01, 1000.0) };
        (0..10).for_each(|i| control.on_feedback(1.0 + f64::from(i), limited));
        // min(X_Bps, 2·60,000): the equation gives 1000/(0.1·(0.081650 + 4·3·0.061237·0.01·1.0032)) = 112,332 B/s.
        assert!((control.rate() / 112_332.0 - 1.0).abs() < 1e-4, "{}", control.rate());
        // A new loss halves what was reached and takes 85 % of what arrives: max(30,000, 0.85·1000).
        control.on_feedback(20.0, TfrcFeedback { p: 0.011, ..limited });
        assert!((control.rate() - 30_000.0).abs() < 1e-9, "{}", control.rate());
    }

    //= RFC 5348 §4.4
    #[test]
    fn without_feedback_the_rate_is_halved() {
        let mut control = RateControl::new(PARAMS);
        control.on_no_feedback(2.0, false);
        assert_eq!(control.rate(), 500.0, "before any feedback");
        let mut control = started(PARAMS);
        control.on_no_feedback(1.0, false);
        assert!((control.rate() - 20_000.0).abs() < 1e-9, "in slow start");
        // Limited by the equation, X_Bps = 31,207: half of it.
        let mut control = started(PARAMS);
        control.on_feedback(0.5, feedback(0.06, 30_000.0));
        control.on_no_feedback(1.0, false);
        assert!((control.rate() - 15_603.467_2).abs() < 1e-3);
        // Limited by what arrives, X = 2·10,000: down to 10,000.
        let mut control = started(PARAMS);
        control.on_feedback(0.5, feedback(0.06, 10_000.0));
        control.on_no_feedback(1.0, false);
        assert!((control.rate() - 10_000.0).abs() < 1e-9);
        (0..30).for_each(|_| control.on_no_feedback(2.0, false));
        assert_eq!(control.rate(), 1000.0 / 64.0, "a packet each 64 s is the least");
    }

    //= RFC 5348 §4.4
    #[test]
    fn a_sender_that_was_idle_keeps_its_initial_rate() {
        let mut control = started(PARAMS);
        control.on_no_feedback(1.0, true);
        assert!((control.rate() - 40_000.0).abs() < 1e-9, "less than twice the initial rate");
        (0..3).for_each(|i| control.on_feedback(0.5 + f64::from(i), feedback(0.0, 1e6)));
        assert!((control.rate() - 320_000.0).abs() < 1e-6);
        (0..9).for_each(|_| control.on_no_feedback(9.0, true));
        assert!((control.rate() - 40_000.0).abs() < 1e-6, "{}", control.rate());
    }

    //= RFC 5348 §4.5
    //= tfrc#4.5
    #[test]
    fn damping_slows_down_while_the_queue_grows() {
        let mut control = started(RateParams { damping: Some(0.9), ..PARAMS });
        assert_eq!(control.instantaneous(), control.rate());
        control.on_feedback(0.5, TfrcFeedback { r_sample: 0.4, ..feedback(0.06, 1e6) });
        // √0.1 = 0.31623, √0.4 = 0.63246: the mean is 0.9·0.31623 + 0.1·0.63246 = 0.34785, the factor 0.55.
        assert!((control.instantaneous() / control.rate() - 0.55).abs() < 1e-9);
    }
}
