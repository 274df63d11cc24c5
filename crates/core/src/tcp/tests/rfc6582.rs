// SPDX-License-Identifier: MIT OR Apache-2.0
//! RFC 6582: NewReno.

use super::script::{plain, sender};
use crate::tcp::{Recovery, SenderConfig};

fn newreno() -> SenderConfig {
    SenderConfig { initial_window: Some(10), ..plain() }
}

/// 0 and 3 of ten segments are lost. FlightSize 10: ssthresh 5, recover at 10. The window with k duplicates is 5 + k:
/// past 10 with the sixth of eight.
const TWO_LOSSES: &str = "
    0   open  -> 0 1 2 3 4 5 6 7 8 9
    100 ack 0 ->
    100 ack 0 ->
    100 ack 0 -> 0
    ? ssthresh 5
    100 ack 0 ->
    100 ack 0 ->
    100 ack 0 -> 10
    100 ack 0 -> 11
    100 ack 0 -> 12
";

#[test]
fn a_partial_acknowledgement_repairs_the_next_hole() {
    // §3.2 step 3. ACK 3 is partial: 3 is sent again, the window 5 + 8 shrinks by the 3 acknowledged and grows by
    // one: 3 + 11 has room for 13. Recovery goes on: duplicates inflate. ACK 14 is full: FlightSize is 17 − 14 = 3,
    // cwnd = min(5, 3 + 1) = 4 (option 1), room for one more.
    sender(
        newreno(),
        &format!(
            "{TWO_LOSSES}
             200 ack 3  -> 3 13
             ? state Recovery
             200 ack 3  -> 14
             200 ack 3  -> 15
             200 ack 3  -> 16
             300 ack 14 -> 17
             ? state Open
             ? cwnd 4"
        ),
    );
}

#[test]
fn a_partial_acknowledgement_of_less_than_a_segment_adds_nothing_back() {
    // §3.2 step 3: the window shrinks by the half segment, so its right edge, at 13, stays, and 13 must wait.
    sender(newreno(), &format!("{TWO_LOSSES} 200 ack 0.5 -> 0.5\n 200 ack 0.5 -> 13"));
}

#[test]
fn the_full_acknowledgement_takes_in_recover_itself() {
    // §3.2 step 3: all up to recover, which is 9, acknowledged; FlightSize is 3: cwnd = min(5, 4).
    sender(newreno(), &format!("{TWO_LOSSES} 200 ack 10 -> 13\n ? state Open\n ? cwnd 4"));
    sender(newreno(), &format!("{TWO_LOSSES} 200 ack 9 -> 9 13\n ? state Recovery"));
}

#[test]
fn the_full_acknowledgement_may_leave_the_threshold_and_grow_it() {
    // §3.2 step 3, option 2, with ns-2's growth by 1/cwnd: cwnd = 5 + 1/5, room for 13 and 14 behind 12. Reno's fast
    // recovery ends with ACK 3 in the same way: the window is 5.2 from 3, and 13 segments are out already.
    let config = |recovery| SenderConfig { recovery, grow_at_recovery_end: true, ..newreno() };
    sender(config(Recovery::NewReno), &format!("{TWO_LOSSES} 200 ack 10 -> 13 14\n ? state Open\n ? cwnd 5.2"));
    sender(config(Recovery::Reno), &format!("{TWO_LOSSES} 200 ack 3 ->\n ? state Open\n ? cwnd 5.2"));
}

#[test]
fn in_ns_2_deflation_outlasts_recovery() {
    // partial_window_deflation_ of ns-2. Eight duplicates have inflated the window of 5; ACK 9 acknowledges nine: the one too many
    // comes off the window, now 4 + 1 from 9, room for 13. So the full ACK finds it below the threshold of 5, in slow start:
    // 4 + 1. By the RFC it is the threshold, and in congestion avoidance.
    let config = SenderConfig { grow_at_recovery_end: true, ..newreno() };
    let partial = format!("{TWO_LOSSES} 200 ack 9 -> 9 13\n ? cwnd 4\n ? ssthresh 5");
    sender(config, &format!("{partial}\n 300 ack 14 -> 14 15 16 17 18\n ? cwnd 5"));
}

#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer() {
    // §3.2 step 3, §4: the impatient variant. The timer runs since the retransmission at 100; 200 + 1000; not
    // again at 300. (ACK 5: the window
    // 5 + 6 − 2 + 1 from 5 has room for 14. ACK 14: cwnd = min(5, 1 + 1).)
    sender(
        newreno(),
        &format!(
            "{TWO_LOSSES}
             ? timer 1100
             200 ack 3 -> 3 13
             ? timer 1200
             300 ack 5 -> 5 14
             ? timer 1200
             400 ack 14 -> 15
             ? timer 1400"
        ),
    );
}

#[test]
fn duplicates_of_what_was_sent_before_a_timeout_are_no_loss() {
    // §3.2 step 4 and step 2: recover is at 10 after the time-out; duplicates of ACK 4, and of ACK 10 itself, start
    // no recovery; of ACK 11 they do.
    sender(
        newreno(),
        "0    open   -> 0 1 2 3 4 5 6 7 8 9
         1000 wake   -> 0
         1100 ack 1  -> 1 2
         1200 ack 4  -> 4 5 6
         1300 ack 4  ->
         1300 ack 4  ->
         1300 ack 4  ->
         1300 ack 4  ->
         ? state Loss
         1400 ack 10 -> 10 11 12 13
         1500 ack 10 ->
         1500 ack 10 ->
         1500 ack 10 ->
         ? state Open
         1600 ack 11 -> 14 15
         1700 ack 11 ->
         1700 ack 11 ->
         1700 ack 11 -> 11
         ? state Recovery",
    );
}

#[test]
fn duplicates_of_what_was_sent_before_a_recovery_are_no_loss() {
    // §3.2 step 2: three duplicates of ACK 10, which covers no more than recover, after a recovery that ended there.
    sender(
        newreno(),
        &format!(
            "{TWO_LOSSES}
             200 ack 10 -> 13
             300 ack 10 ->
             300 ack 10 ->
             300 ack 10 ->
             ? state Open"
        ),
    );
}

#[test]
fn a_timeout_ends_recovery() {
    // §3.2 step 4: the timer takes over. Of the 13 segments not acknowledged (0 to 12) the network holds no more than
    // the window of 5 that recovery aims at, so ssthresh is 2.5 and not 6.5; the window is 1.
    sender(
        newreno(),
        &format!(
            "{TWO_LOSSES}
             1100 wake -> 0
             ? state Loss
             ? cwnd 1
             ? ssthresh 2.5"
        ),
    );
}
