// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP at the sender: the receiver's law, where acknowledgements tell the price (clamp §6).
//!
//! What the law knows of a receiver's packets it knows here of their acknowledgements: one came, at this instant, for so many
//! bytes, and its packet met this price. So receivers need not change.

use super::{ClampArrival, ClampParams, ClampReceiver};
use crate::error::ParameterError;
use crate::estimator::SlidingRate;
use crate::law::aimd::{Aimd, AimdParams};
use crate::law::beside::Beside;
use crate::packet::Signal;
use crate::parameter::Parameter;
use crate::role::{AckSample, FeedbackSample, SenderLaw, Window};

/// A CLAMP sender: its window by the price that comes back; beside it NewReno, which alone heeds losses. The lesser window holds.
#[derive(Clone, Debug)]
pub struct ClampSender {
    params: ClampParams,
    tcp: Beside<Aimd>,
    /// The law at work; none: no router has spoken.
    clamp: Option<ClampReceiver>,
    mss_bytes: f64,
    /// Segments that have arrived and that only duplicates have told of.
    early: f64,
    /// Whether the last acknowledgement came in fast recovery.
    recovers: bool,
}

impl ClampSender {
    /// How many segments an acknowledgement tells the arrival of: duplicates tell of one each, long before what they announce
    /// is acknowledged.
    fn arrived(&mut self, told: &FeedbackSample) -> f64 {
        if told.is_duplicate {
            self.early += 1.0;
            return 1.0;
        }
        let known = self.early.min((told.acked - 1.0).max(0.0));
        self.early -= known;
        told.acked - known
    }

    /// NewReno goes on from the window that recovery or nobody has left it.
    fn follow(&mut self, window: &Window) {
        if self.recovers || !self.tcp.is_set() {
            self.tcp.set(*window);
        }
    }

    /// The window in force.
    fn hold(&self, window: &mut Window) {
        *window = self.tcp.window();
        if let Some(clamp) = &self.clamp {
            //= clamp#17  AWND = min(w, AWND)
            window.cwnd = window.cwnd.min(clamp.window_bytes() / self.mss_bytes).max(1.0);
        }
    }
}

impl SenderLaw for ClampSender {
    type Params = ClampParams;

    const ASKS_ROUTERS: bool = true;

    fn set_up(params: ClampParams) -> Result<Self, ParameterError> {
        params.validate()?;
        let tcp = Beside::new(Aimd::set_up(AimdParams::default())?);
        Ok(Self { params, tcp, clamp: None, mss_bytes: 0.0, early: 0.0, recovers: false })
    }

    fn request(&self, _window: &Window, _wire_bytes: f64, _queues: u8, _srtt_s: f64) -> Signal {
        Signal::PriceAsked(f64::NEG_INFINITY)
    }

    /// An infinite price: no router has spoken, and NewReno is alone. What the operating system would advertise in the
    /// receiver's law is here NewReno's window.
    fn on_feedback(&mut self, window: &mut Window, told: &FeedbackSample) {
        let Signal::PriceEchoed(price_s) = told.signal else { return };
        let segments = self.arrived(told);
        if !told.in_recovery {
            self.follow(window);
        }
        self.recovers = told.in_recovery;
        if !price_s.is_finite() {
            self.clamp = None;
            return;
        }
        self.mss_bytes = told.mss_bytes;
        let clamp = self.clamp.get_or_insert_with(|| {
            let arrivals = SlidingRate::new(self.params.packets as usize);
            let mut clamp = ClampReceiver::of(self.params, told.mss_bytes, arrivals);
            clamp.started(told.rtt_s);
            clamp.starting_at(window.cwnd * told.mss_bytes)
        });
        let arrival = ClampArrival {
            t_s: told.now.as_secs_f64(),
            size_bytes: segments * told.wire_bytes,
            payload_bytes: segments * told.mss_bytes,
            price_s,
            rtt_s: Some(told.rtt_s),
        };
        clamp.received(&arrival, self.tcp.cwnd() * told.mss_bytes);
        if !told.in_recovery {
            self.hold(window);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        self.follow(window);
        self.recovers = false;
        self.tcp.on_ack(ack);
        self.hold(window);
    }

    fn on_loss(&mut self, window: &Window, flight: f64) -> f64 {
        if let Some(clamp) = &mut self.clamp {
            clamp.lost();
        }
        self.tcp.on_loss(window, flight)
    }

    fn on_timeout(&mut self, window: &Window, flight: f64) -> f64 {
        self.tcp.on_timeout(window, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::clamp::ReceiverSlowStart;
    use crate::units::{Bytes, Duration, Instant};

    const MSS: f64 = 1000.0;

    fn params() -> ClampParams {
        ClampParams { slow_start: ReceiverSlowStart::Off, hold: 0.0, ..ClampParams::new(Bytes::new(500)) }
    }

    /// An acknowledgement of one segment after so many seconds, on a path of 1 s.
    fn told(t_s: u64, price_s: f64) -> FeedbackSample {
        FeedbackSample {
            now: Instant::ZERO + Duration::from_secs(t_s),
            signal: Signal::PriceEchoed(price_s),
            acked: 1.0,
            rtt_s: 1.0,
            mss_bytes: MSS,
            wire_bytes: MSS,
            ..FeedbackSample::default()
        }
    }

    fn started(params: ClampParams, cwnd: f64) -> (ClampSender, Window) {
        (ClampSender::set_up(params).unwrap(), Window { cwnd, ssthresh: f64::INFINITY })
    }

    //= clamp#14
    //= clamp#17
    #[test]
    fn the_window_is_that_of_the_receiver() {
        // The receiver's example, an acknowledgement a packet, and NewReno's window wide open.
        let (mut law, mut window) = started(params(), 1.0);
        let mut receiver = ClampReceiver::new(params(), 1000).unwrap();
        receiver.started(1.0);
        law.on_feedback(&mut window, &told(0, 0.0));
        law.tcp.set(Window { cwnd: 64.0, ssthresh: 1.0 });
        for (t_s, price_s) in [(0, 0.0), (1, 0.25), (2, 0.0), (3, 4.0), (5, 0.5), (6, 0.0)] {
            let arrival =
                ClampArrival { t_s: t_s as f64, size_bytes: MSS, payload_bytes: MSS, price_s, rtt_s: Some(1.0) };
            let awnd_bytes = receiver.received(&arrival, 64.0 * MSS);
            if t_s > 0 {
                law.on_feedback(&mut window, &told(t_s, price_s));
            }
            assert_eq!(window.cwnd, awnd_bytes / MSS, "at {t_s} s");
        }
    }

    #[test]
    fn the_lesser_of_two_windows_holds() {
        let (mut law, mut window) = started(params(), 8.0);
        law.on_feedback(&mut window, &told(0, 0.0));
        assert_eq!(window.cwnd, 8.0, "it begins with the window in force");
        // d̂ = 1 + 0.001 · (8000/1000 − 1) = 1.007 s, so that CLAMP's grows by 500/1.007 B; NewReno's stays.
        law.on_feedback(&mut window, &told(1, 0.0));
        let grown_bytes = law.clamp.as_ref().unwrap().window_bytes() - 8000.0;
        assert!(window.cwnd == 8.0 && (grown_bytes - 500.0 / 1.007).abs() < 1e-9, "{grown_bytes}");
        assert_eq!(law.on_loss(&window, 8.0), 4.0);
        law.on_feedback(&mut window, &told(2, 0.0));
        assert_eq!(window, Window { cwnd: 4.0, ssthresh: 4.0 });
        law.on_feedback(&mut window, &told(20, 0.5));
        assert_eq!(window.cwnd, 4.0, "and CLAMP's is still more");
        assert_eq!(law.on_timeout(&window, 4.0), 2.0);
        law.on_feedback(&mut window, &told(21, 0.0));
        assert_eq!(window, Window { cwnd: 1.0, ssthresh: 2.0 });
    }

    #[test]
    fn without_a_router_it_is_newreno() {
        let (mut law, mut window) = started(params(), 10.0);
        let ack = AckSample { now: Instant::ZERO, acked: 1.0, flight: 10.0, rtt: Duration::ZERO, srtt_s: 0.1 };
        law.on_feedback(&mut window, &told(0, f64::NEG_INFINITY));
        law.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 11.0);
        assert_eq!(law.on_loss(&window, 10.0), 5.0);
    }

    #[test]
    fn recovery_leaves_newreno_its_window() {
        let (mut law, mut window) = started(params(), 8.0);
        law.on_feedback(&mut window, &told(0, 0.0));
        law.on_loss(&window, 8.0);
        // RFC 6582 ends with less than the threshold where little is in flight.
        window = Window { cwnd: 4.0, ssthresh: 4.0 };
        law.on_feedback(&mut window, &FeedbackSample { in_recovery: true, ..told(1, 0.0) });
        window.cwnd = 2.0;
        law.on_feedback(&mut window, &told(2, 0.0));
        assert_eq!(window, Window { cwnd: 2.0, ssthresh: 4.0 });
    }

    #[test]
    fn each_arrival_counts_once() {
        let (mut law, _) = started(params(), 8.0);
        let duplicate = FeedbackSample { is_duplicate: true, acked: 0.0, ..told(0, 0.0) };
        let of = |acked| FeedbackSample { acked, ..told(0, 0.0) };
        // Three come behind a gap, then what fills it; two at once; then one behind a gap that two others fill.
        let heard = [duplicate, duplicate, duplicate, of(4.0), of(2.0), duplicate, of(3.0), of(1.0)];
        assert_eq!(heard.map(|told| law.arrived(&told)), [1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0]);
    }

    #[test]
    fn it_refuses_what_the_receiver_refuses() {
        let of = |params| ClampSender::set_up(params).unwrap_err().key;
        assert_eq!(of(ClampParams { tau: Bytes::ZERO, ..params() }), "tau");
        assert_eq!(of(ClampParams { hold: 0.5, ..params() }), "hold");
    }
}
