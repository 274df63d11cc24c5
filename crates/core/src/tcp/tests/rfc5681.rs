// SPDX-License-Identifier: MIT OR Apache-2.0
//! RFC 5681: slow start, congestion avoidance, fast retransmit, fast recovery, loss window, restart.

use super::script::{FIRST_OF_TEN_LOST, plain, sender};
use crate::tcp::{Recovery, SenderConfig, Validation};
use crate::units::Bytes;

fn reno(initial_window: u32) -> SenderConfig {
    SenderConfig { recovery: Recovery::Reno, initial_window: Some(initial_window), ..plain() }
}

#[test]
fn initial_window_by_segment_size() {
    // §3.1 eq. 1: 2 segments above 2190 B, 3 above 1095 B, else 4.
    for (mss, segments) in [(2191, 2), (2190, 3), (1460, 3), (1096, 3), (1095, 4), (536, 4)] {
        let config = SenderConfig { mss, ..SenderConfig::default() };
        assert_eq!(config.initial_window_segments(), segments, "{mss} B");
    }
    sender(plain(), "0 open -> 0 1 2 3");
}

#[test]
fn slow_start_adds_what_is_acknowledged_and_a_segment_at_most() {
    // §3.1 eq. 2: cwnd += min(N, SMSS). 4 + 1; + 1; an ACK of two segments + 1; of half a segment + ½.
    sender(
        plain(),
        "0   open    -> 0 1 2 3
         100 ack 1   -> 4 5
         ? cwnd 5
         100 ack 2   -> 6 7
         100 ack 4   -> 8 9 10
         ? cwnd 7
         100 ack 4.5 ->  11
         ? cwnd 7.5",
    );
}

#[test]
fn congestion_avoidance_adds_a_segment_a_window() {
    // §3.1 eq. 3: cwnd += SMSS²/cwnd. From 4: + 1/4 = 4.25 exactly, + 1/4.25 = 4.485…
    let config = SenderConfig { initial_ssthresh: Some(Bytes::new(4000)), ..plain() };
    sender(
        config,
        "0   open  -> 0 1 2 3
         100 ack 1 -> 4
         ? cwnd 4.25
         100 ack 2 -> 5
         ? cwnd 4.485",
    );
}

#[test]
fn fast_retransmit_and_fast_recovery() {
    // §3.2. 1 is lost, 2 to 11 arrive: ten duplicates. FlightSize is 11 segments, so ssthresh = 5.5 (eq. 4) and the
    // window with k duplicates is 5.5 + k (steps 3, 4): it reaches past 12 with the seventh. The first ACK of new
    // data deflates it to 5.5 (step 6): 12 + 5.5 has room for 16 and no more.
    sender(
        reno(10),
        "0   open   -> 0 1 2 3 4 5 6 7 8 9
         100 ack 1  -> 10 11
         100 ack 1  ->
         100 ack 1  ->
         100 ack 1  -> 1
         ? state Recovery
         ? ssthresh 5.5
         100 ack 1  ->
         100 ack 1  ->
         100 ack 1  ->
         100 ack 1  -> 12
         100 ack 1  -> 13
         100 ack 1  -> 14
         100 ack 1  -> 15
         200 ack 12 -> 16
         ? state Open
         ? cwnd 5.5",
    );
}

#[test]
fn renos_recovery_ends_with_the_first_new_acknowledgement() {
    // §3.2 step 6, and the footnote on several losses: 0 and 3 are lost; the ACK of 0 to 2 ends recovery, and three
    // more duplicates start another. FlightSize is then 13 − 3 = 10 of 5: ssthresh 5 and 5.
    let script = format!(
        "{FIRST_OF_TEN_LOST}
         200 ack 3 ->
         ? state Open
         ? cwnd 5
         200 ack 3 ->
         200 ack 3 ->
         200 ack 3 -> 3
         ? ssthresh 5
         ? state Recovery"
    );
    sender(reno(10), &script);
}

#[test]
fn what_counts_as_a_duplicate() {
    // §2 (a): nothing outstanding, no duplicate. (d): not the greatest acknowledgement, no duplicate.
    let sent = sender(
        reno(4),
        "0   open 4 -> 0 1 2 3
         100 ack 4  ->
         100 ack 4  ->
         100 ack 4  ->
         100 ack 4  ->
         100 ack 2  ->
         ? state Open",
    );
    assert_eq!(sent.stats().duplicate_acks, 0);
    // (e): the window must be the same, if the strict rule is asked for; CLAMP changes it with every ACK. (The window
    // of recovery is 2 + 3 segments: room for 4.)
    let script = |third| {
        format!(
            "0   open        -> 0 1 2 3
             100 ack 0 win 40 ->
             100 ack 0 win 41 ->
             100 ack 0 win 42 -> {third}"
        )
    };
    sender(reno(4), &script("0 4"));
    sender(SenderConfig { strict_duplicate_acks: true, ..reno(4) }, &script(""));
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_is_ignored() {
    sender(plain(), "0 open -> 0 1 2 3\n 100 ack 5 ->\n ? flight 4");
}

#[test]
fn a_timeout_starts_again_from_the_first_segment() {
    // §3.1: loss window 1, ssthresh = FlightSize/2 = 5 (eq. 4). Slow start sends again from there; what the receiver
    // has already is jumped over (5 ACKed at once: cwnd 2 + 1, so 5 to 7).
    sender(
        reno(10),
        "0    open  -> 0 1 2 3 4 5 6 7 8 9
         1000 wake  -> 0
         ? cwnd 1
         ? ssthresh 5
         ? state Loss
         1100 ack 1 -> 1 2
         ? cwnd 2
         1200 ack 5 -> 5 6 7
         ? cwnd 3
         1300 ack 10 -> 10 11 12 13
         ? state Open",
    );
}

#[test]
fn a_segment_that_times_out_again_leaves_the_threshold() {
    // §3.1: ssthresh is held when the segment has been retransmitted by the timer before. FlightSize is 1 then, and
    // would give 2.
    sender(
        reno(10),
        "0    open -> 0 1 2 3 4 5 6 7 8 9
         1000 wake -> 0
         ? ssthresh 5
         3000 wake -> 0
         ? ssthresh 5",
    );
}

#[test]
fn the_threshold_is_two_segments_at_least() {
    // §3.1 eq. 4: max(FlightSize/2, 2): 1/2 gives 2.
    sender(reno(1), "0 open -> 0\n 1000 wake -> 0\n ? ssthresh 2");
}

#[test]
fn restart_after_idle() {
    // §4.1: nothing sent for more than an RTO (1 s): cwnd 5 falls back to the initial 4. Within it, or without the
    // rule, it stays.
    let script = |at, sent| {
        format!(
            "0    open 4   -> 0 1 2 3
             100  ack 4    ->
             ? cwnd 5
             {at} write 20 -> {sent}"
        )
    };
    sender(plain(), &script(1001, "4 5 6 7"));
    sender(plain(), &script(999, "4 5 6 7 8"));
    sender(SenderConfig { restart_after_idle: false, ..plain() }, &script(1001, "4 5 6 7 8"));
}

#[test]
fn a_window_that_is_not_used_rests_if_asked_to() {
    // RFC 9438 §5.8, RFC 7661: the application leaves half of the window unused.
    let script = |cwnd| format!("0 open 2 -> 0 1\n 100 ack 1 ->\n 100 ack 2 ->\n ? cwnd {cwnd}");
    sender(plain(), &script("6"));
    sender(SenderConfig { validation: Validation::Full, ..plain() }, &script("4"));
}

#[test]
fn limited_transmit() {
    // RFC 3042 §2: a new segment for each of the first two duplicates. RFC 5681 §3.2 step 2: they do not count in
    // FlightSize: ssthresh = 4/2, not 6/2. Then the window is 2 + k: past 6 with the fifth.
    let config = SenderConfig { limited_transmit: true, ..reno(4) };
    sender(
        config.clone(),
        "0   open  -> 0 1 2 3
         100 ack 0 -> 4
         100 ack 0 -> 5
         100 ack 0 -> 0
         ? ssthresh 2
         100 ack 0 ->
         100 ack 0 -> 6",
    );
    // Only within the receiver's window; and nothing is left of it once new data is acknowledged.
    sender(config.clone(), "0 open -> 0 1 2 3\n 100 ack 0 win 4 ->\n 100 ack 0 win 4 ->");
    sender(config, "0 open -> 0 1 2 3\n 100 ack 0 -> 4\n 100 ack 0 -> 5\n 100 ack 1 ->\n ? cwnd 5");
}
