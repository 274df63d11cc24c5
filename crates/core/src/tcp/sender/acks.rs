// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender does with an acknowledgement: where data is new it moves on, measures and grows; what the routers say goes
//! to the law. Of those that repeat one, and of new ones in recovery, `recovery` has the rest.

use super::{Sender, State};
use crate::packet::{Ack, Kind, SackBlocks, Signal};
use crate::role::{AckSample, FeedbackSample};
use crate::tcp::config::Validation;
use crate::units::{Duration, Instant};

/// How long an acknowledgement of a single segment waits \[s\] (TCP_DELACK_MIN).
const DELAYED_ACK_S: f64 = 0.04;

impl Sender {
    /// An acknowledgement, or the answer to the SYN, comes at `now`. Of it others are shown copies, so that on the short way it need not
    /// be in memory.
    #[inline(always)]
    pub fn hear(&mut self, now: Instant, heard: &Ack<&SackBlocks>) {
        self.begin_event(now);
        if heard.kind == Kind::SynAck {
            self.on_syn_ack(&{ *heard });
        } else {
            self.on_ack(heard);
        }
    }

    fn on_syn_ack(&mut self, heard: &Ack<&SackBlocks>) {
        if self.state != State::SynSent {
            return;
        }
        if self.syns == 1 || self.config.timestamps {
            let rtt = self.now.saturating_since(heard.echo);
            self.rto.sample(heard.echo, self.now);
            if let Some(tracking) = &mut self.tracking {
                tracking.measured(rtt);
            }
        } else {
            self.rto.begin_after_lost_syn();
        }
        if self.syns > 1 {
            self.set_cwnd(1.0); // RFC 5681 §3.1, after eq. 1
        }
        self.release = heard.sent;
        self.set_awnd(heard.window);
        self.establish();
    }

    #[inline(always)]
    fn on_ack(&mut self, heard: &Ack<&SackBlocks>) {
        let ack = heard.number;
        let rtt = self.now.saturating_since(heard.echo);
        if self.span.contains(self.now) && heard.kind != Kind::Update {
            self.stats.rtt.record(rtt);
        }
        if ack < self.una || ack > self.max || self.state == State::SynSent {
            return;
        }
        self.release = heard.sent;
        let is_update = heard.window != self.awnd;
        if is_update || self.una == 0 {
            self.set_awnd(heard.window);
        }
        let is_told = heard.signal.is_answer();
        if is_told {
            self.on_feedback(FeedbackSample {
                now: self.now,
                signal: heard.signal,
                is_duplicate: ack == self.una,
                acked: (ack - self.una) as f64 * self.per_mss,
                mss_bytes: self.mss_f64(),
                in_recovery: self.state == State::Recovery,
                rtt_s: self.rto.told_s(heard.echo, self.now),
                wire_bytes: if self.config.feedback_in_segments { self.mss_f64() } else { self.wire_bytes() },
            });
        }
        if ack > self.una {
            self.on_new_ack(ack, rtt, heard);
        } else {
            self.on_repeated_ack(&{ *heard }, is_update);
        }
        if is_told {
            if self.config.takes_over {
                self.cwnd_bytes -= self.cwnd_bytes % self.mss();
            }
            self.make_request();
        }
        self.end_event();
    }

    /// The routers of the path have spoken, whatever the acknowledgement says of data.
    #[cold]
    fn on_feedback(&mut self, told: FeedbackSample) {
        self.law.on_feedback(&mut self.window, &told);
        let is_near = matches!(told.signal, Signal::Rate(_)) && self.rto.srtt_s() < DELAYED_ACK_S;
        let least = if self.config.takes_over && is_near { 2.0 } else { 0.0 };
        self.set_cwnd(self.window.cwnd.max(least));
    }

    /// Length of a full segment on the wire \[B\].
    fn wire_bytes(&self) -> f64 {
        self.mss_f64() + f64::from(self.header)
    }

    pub(super) fn make_request(&mut self) {
        let wire_bytes = self.wire_bytes();
        let mut window = self.window;
        if self.config.takes_over {
            window.cwnd = (self.cwnd_bytes / self.mss()).max(1) as f64;
        } else if self.config.feedback_in_segments {
            let open = (self.cwnd_bytes as i64 + self.inflation) / self.mss as i64;
            window.cwnd = open.max(1) as f64;
        }
        self.request = self.law.request(&window, wire_bytes, self.config.queues, self.rto.srtt_s());
    }

    #[inline(always)]
    fn on_new_ack(&mut self, ack: u64, rtt: Duration, heard: &Ack<&SackBlocks>) {
        let acked = ack - self.una;
        let flight = self.nxt.saturating_sub(self.una);
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        if self.config.new_ack_ends_back_off {
            self.rto.end_back_off();
        }
        let rtt = self.measure_rtt(ack, rtt, flight, heard);
        if self.state == State::Recovery {
            self.on_ack_in_recovery(acked, &{ *heard });
            if self.config.grow_at_recovery_end && self.state == State::Open && self.is_used(flight) {
                let arrived = self.tracking.as_ref().map(|t| t.delivered.saturating_sub(t.delivered_before));
                self.grow(arrived.unwrap_or(acked), flight, rtt);
            }
        } else {
            self.start_timer(self.rto.timeout()); // RFC 6298 §5.3
            if self.duplicate_acks > 0 || self.state == State::Loss || heard.sack.is_some() {
                self.leave_doubt(&{ *heard });
            }
            if self.is_used(flight) {
                self.grow(acked, flight, rtt);
            }
        }
        if ack == self.max {
            self.deadline = Instant::MAX; // RFC 6298 §5.2
            self.probes = 0;
            if ack == self.written {
                self.finish();
            }
        }
    }

    /// Whether the window may grow, as it is used.
    #[inline(always)]
    fn is_used(&self, flight: u64) -> bool {
        match self.config.validation {
            Validation::Always => true,
            Validation::Full => flight + self.mss() > self.cwnd_bytes,
            Validation::Linux => self.was_limited(),
        }
    }

    #[inline(always)]
    fn grow(&mut self, acked: u64, flight: u64, rtt: Duration) {
        let sample = AckSample {
            now: self.now,
            acked: acked as i64 as f64 * self.per_mss,
            flight: flight as i64 as f64 * self.per_mss,
            rtt,
            srtt_s: self.rto.srtt_s(),
        };
        self.law.on_ack(&mut self.window, &sample);
        self.set_cwnd(self.window.cwnd);
    }

    /// An acknowledgement while nothing is outstanding: the answer to a probe.
    pub(super) fn on_window_update(&mut self) {
        self.deadline = Instant::MAX;
        if self.awnd > 0 {
            self.probes = 0;
        }
    }
}
