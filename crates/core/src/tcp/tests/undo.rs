// SPDX-License-Identifier: MIT OR Apache-2.0
//! Responses to losses that were none, and how they are taken back: Eifel (RFC 3522, 4015), F-RTO (RFC 5682), D-SACK
//! (RFC 2883, 3708), as Linux has them.

use super::script::{plain, receiver, sender};
use crate::role::SenderParams;
use crate::tcp::{ReceiverConfig, Recovery, RttEstimator, SenderConfig, Validation};
use crate::units::{Bytes, Duration};

/// A sender by the rules of Linux with a window of eight, a threshold of four and a first time-out of 300 ms, which takes nothing
/// back.
fn linux() -> SenderConfig {
    SenderConfig {
        law: SenderParams::LinuxReno,
        recovery: Recovery::Sack,
        rack: true,
        rate_reduction: true,
        rtt_estimator: RttEstimator::Linux,
        validation: Validation::Linux,
        timestamps: true,
        initial_window: Some(8),
        initial_ssthresh: Some(Bytes::new(4000)),
        rto_initial: Duration::from_millis(300),
        rto_min: Duration::from_millis(200),
        ..plain()
    }
}

fn eifel() -> SenderConfig {
    SenderConfig { eifel: true, ..linux() }
}

fn frto() -> SenderConfig {
    SenderConfig { frto: true, timestamps: false, ..linux() }
}

fn dsack() -> SenderConfig {
    SenderConfig { dsack: true, timestamps: false, ..linux() }
}

/// The same without selective acknowledgements.
fn without_sack(config: SenderConfig) -> SenderConfig {
    SenderConfig { recovery: Recovery::NewReno, rack: false, rate_reduction: false, ..config }
}

/// Eight segments are late; after 300 ms the first goes again. 0 comes at 350 ms, of the first transmission.
const LATE: &str = "0 open                     -> 0 1 2 3 4 5 6 7
     300 wake                   -> 0
     ? cwnd 1
     ? ssthresh 4
     350 ack 1 echo 0           ->";

#[test]
fn an_echo_from_before_the_retransmission_takes_a_timeout_back() {
    // The window is eight again, with seven outstanding, and the threshold three quarters of it (tcp_current_ssthresh).
    let kept = "0 open                  -> 0 1 2 3 4 5 6 7
         300 wake                   -> 0
         350 ack 1 echo 0           -> 8
         ? cwnd 8
         ? ssthresh 6
         ? state Open
         360 ack 2 echo 0           -> 9";
    sender(eifel(), kept);
    sender(without_sack(eifel()), kept);
    // What the retransmission has brought takes nothing back: two segments by slow start.
    let lost = "0 open                  -> 0 1 2 3 4 5 6 7
         300 wake                   -> 0
         350 ack 1 echo 300         -> 1 2
         ? cwnd 2
         ? ssthresh 4
         ? state Loss";
    sender(eifel(), lost);
    sender(without_sack(eifel()), lost);
    // Nor does anything without the rule, or without timestamps.
    sender(linux(), &LATE.replace("0           ->", "0           -> 1 2"));
    sender(SenderConfig { timestamps: false, ..eifel() }, &LATE.replace("0           ->", "0           -> 1 2"));
}

#[test]
fn a_timeout_taken_back_makes_nothing_else_lost() {
    // 8 was sent again 100 ms ago, five round trips, but what arrived is the original (Linux: tcp_skb_spurious_retrans).
    sender(
        eifel(),
        "0   open                    -> 0 1 2 3 4 5 6 7
         20  ack 8 echo 0            -> 8 9 10 11 12 13 14 15 16
         240 wake                    -> 8
         340 ack 9 echo 20           -> 17
         ? state Open
         ? cwnd 9
         341 ack 10 echo 20          -> 18",
    );
}

#[test]
fn the_window_before_the_first_of_two_timeouts_comes_back() {
    // The second time-out, of the same segment, finds a window of one; eight were before.
    sender(
        eifel(),
        "0   open                    -> 0 1 2 3 4 5 6 7
         300 wake                    -> 0
         900 wake                    -> 0
         950 ack 1 echo 0            -> 8
         ? cwnd 8",
    );
}

#[test]
fn an_echo_takes_a_fast_retransmit_back() {
    // 0 is overtaken by three; its retransmission is under way when it comes. All of the window of eight is given back.
    sender(
        SenderConfig { limited_transmit: false, ..eifel() },
        "0   open                          -> 0 1 2 3 4 5 6 7
         100 ack 0 sack 1-2 echo 0         -> 8
         100 ack 0 sack 1-3 echo 0         -> 9
         100 ack 0 sack 1-4 echo 0         -> 0
         ? state Recovery
         ? ssthresh 4
         110 ack 4 echo 0                  -> 10 11
         ? cwnd 8
         ? state Open",
    );
}

#[test]
fn frto_sends_new_data_first_and_goes_back_if_it_arrives() {
    // RFC 5682 §3.1. The first acknowledgement is for the retransmission: two new segments, not 1 and 2. They are SACKed, 1 to
    // 7 are lost (step 3.a), and slow start sends them.
    sender(
        frto(),
        "0   open                    -> 0 1 2 3 4 5 6 7
         300 wake                    -> 0
         400 ack 1 echo 300          -> 8 9
         ? state Loss
         500 ack 1 sack 8-9 echo 400 -> 1
         500 ack 1 sack 8-10 echo 400 -> 2
         600 ack 2 sack 8-10 echo 500 -> 3 4",
    );
    // Without SACK a duplicate tells the same, and all is sent again (go-back-N).
    sender(
        without_sack(frto()),
        "0   open                    -> 0 1 2 3 4 5 6 7
         300 wake                    -> 0
         400 ack 1 echo 300          -> 8 9
         500 ack 1 echo 400          -> 1 2
         ? state Loss",
    );
    // Where there is nothing new, the first acknowledgement decides nothing.
    sender(frto(), "0 open 8 -> 0 1 2 3 4 5 6 7\n 300 wake -> 0\n 400 ack 1 echo 300 -> 1 2");
}

#[test]
fn frto_takes_a_timeout_back_when_an_original_arrives() {
    // The acknowledgement of 0 and 1 is of something that was not sent again (step 3.b).
    sender(
        frto(),
        "0   open                    -> 0 1 2 3 4 5 6 7
         300 wake                    -> 0
         350 ack 2 echo 0            -> 8 9
         ? state Open
         ? cwnd 8",
    );
    // So is one that comes after the new data; without SACK it is the only one that tells.
    for config in [frto(), without_sack(frto())] {
        sender(
            config,
            "0   open                    -> 0 1 2 3 4 5 6 7
             300 wake                    -> 0
             350 ack 1 echo 0            -> 8 9
             ? cwnd 2
             360 ack 4 echo 0            -> 10 11
             ? state Open
             ? cwnd 8",
        );
    }
    // And a segment SACKed.
    sender(
        frto(),
        "0   open                    -> 0 1 2 3 4 5 6 7
         300 wake                    -> 0
         350 ack 0 sack 3-4 echo 0   -> 8
         ? state Open
         ? cwnd 8",
    );
}

#[test]
fn a_timeout_in_recovery_is_no_business_of_frto() {
    // Three segments SACKed begin a recovery, in which 0 is lost again: after the time-out the acknowledgement of it lets
    // retransmissions go, not new data.
    sender(
        frto(),
        "0   open                          -> 0 1 2 3 4 5 6 7
         100 ack 0 sack 2-3 echo 0         -> 8
         100 ack 0 sack 2-4 echo 0         -> 9
         100 ack 0 sack 2-5 echo 0         -> 0
         400 wake                          -> 0
         500 ack 1 sack 2-5 echo 400       -> 1 5
         ? state Loss",
    );
}

#[test]
fn what_came_twice_takes_a_recovery_back() {
    // 0 was late, its retransmission came twice: in recovery and after it the window is eight again.
    let overtaken = "0   open                  -> 0 1 2 3 4 5 6 7
         100 ack 0 sack 1-2 echo 0         -> 8
         100 ack 0 sack 1-3 echo 0         -> 9
         100 ack 0 sack 1-4 echo 0         -> 0
         ? ssthresh 4
         110 ack 4 echo 0                  ->";
    sender(
        dsack(),
        &format!(
            "{overtaken}
             120 ack 4 sack 0-1 echo 100       -> 10 11
             ? cwnd 8
             ? state Open"
        ),
    );
    sender(
        dsack(),
        &format!(
            "{overtaken}
             120 ack 10 echo 0                 -> 10 11 12 13
             ? cwnd 4
             130 ack 10 sack 0-1 echo 100      -> 14 15 16 17
             ? cwnd 8"
        ),
    );
    // Without the rule it says nothing.
    let silent = SenderConfig { dsack: false, ..dsack() };
    sender(silent, &format!("{overtaken}\n 120 ack 4 sack 0-1 echo 100 ->\n ? state Recovery"));
}

#[test]
fn a_needless_repetition_widens_the_reordering_window() {
    // 7 comes after 8, which went 100 ms later, and was sent again by then; that came twice. With the next acknowledgement the
    // window is two quarters of the 100 ms: 10 is lost 50 ms after 11 has come, where it would be after 25.
    sender(
        dsack(),
        "0   open                         -> 0 1 2 3 4 5 6 7
         100 ack 1 echo 0                 -> 8
         200 ack 7 sack 8-9 echo 100      -> 7 9 10 11
         201 ack 9 echo 0                 -> 12
         300 ack 9 sack 7-8 echo 200      -> 13 14 15 16
         301 ack 10 echo 200              -> 17
         302 ack 10 sack 11-12 echo 200   -> 18
         352 wake                         -> 10",
    );
}

#[test]
fn all_that_was_sent_again_must_have_come_twice() {
    // 0 and 1 were sent again; that one of them came twice is not enough.
    sender(
        dsack(),
        "0   open                          -> 0 1 2 3 4 5 6 7
         100 ack 0 sack 2-3 echo 0         -> 8
         100 ack 0 sack 2-4 echo 0         -> 9
         100 ack 0 sack 2-5 echo 0         -> 0
         105 ack 0 sack 2-6 echo 0         ->
         106 ack 0 sack 2-7 echo 0         ->
         107 ack 0 sack 2-8 echo 0         -> 1
         110 ack 8 echo 0                  -> 10 11
         120 ack 8 sack 0-1 echo 100       ->
         ? state Recovery
         121 ack 8 sack 1-2 echo 106       -> 12 13 14 15
         ? state Open
         ? cwnd 8",
    );
}

#[test]
fn after_an_undo_what_was_sent_before_the_retransmission_may_still_be_lost() {
    // All of a window of eight is lost but 1 and 2, whose acknowledgements are. 1 goes again twice, comes twice once, and that
    // echoes 2, from before (RFC 7323 §4.3): the window comes back. But something sent at 800 ms has come, as Linux sees it
    // too (tcp_rack_advance), and 3 to 8 have not: they are lost, and a recovery halves the window. What two brought, two
    // may take out.
    sender(
        SenderConfig { dsack: true, ..eifel() },
        "0   open 1                       -> 0
         50  ack 1 echo 0                 ->
         50  write 8                      -> 1 2 3 4 5 6 7 8
         300 wake                         -> 1
         800 wake                         -> 1
         900 ack 3 sack 1-2 echo 800      -> 3 4
         ? state Recovery
         ? ssthresh 4",
    );
}

#[test]
fn a_receiver_tells_what_came_twice() {
    // RFC 2883 §4.1: below what is acknowledged, and within what is held; once.
    let config = ReceiverConfig { sack: true, dsack: true, ..ReceiverConfig::default() };
    let told = "0 data 0 -> ack 1
         1 data 0 -> ack 1 sack 0-1
         2 data 3 -> ack 1 sack 3-4
         3 data 3 -> ack 1 sack 3-4 3-4
         4 data 0 -> ack 1 sack 0-1 3-4
         5 data 1 -> ack 2 sack 3-4";
    receiver(config.clone(), told);
    let silent = told.replace("ack 1 sack 0-1 3-4", "ack 1 sack 3-4").replace("sack 3-4 3-4", "sack 3-4");
    receiver(ReceiverConfig { dsack: false, ..config }, &silent.replace("ack 1 sack 0-1", "ack 1"));
}
