// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes by the times of segments: RACK and tail loss probes (RFC 8985), proportional rate reduction (RFC 6937), and
//! Linux's rules for growth and time-outs.

use super::script::{plain, sender};
use crate::law::qfcp::QfcpParams;
use crate::role::SenderParams;
use crate::tcp::{Recovery, RttEstimator, SenderConfig, Validation};
use crate::units::{Bytes, Duration};

/// Ten segments to begin with.
fn rack() -> SenderConfig {
    SenderConfig { recovery: Recovery::Sack, rack: true, initial_window: Some(10), ..plain() }
}

fn linux() -> SenderConfig {
    SenderConfig {
        law: SenderParams::LinuxReno,
        rate_reduction: true,
        tail_loss_probe: true,
        rtt_estimator: RttEstimator::Linux,
        validation: Validation::Linux,
        timestamps: true,
        rto_min: Duration::from_millis(200),
        ..rack()
    }
}

#[test]
fn with_three_segments_sacked_all_that_was_sent_before_is_lost() {
    // Of 0 to 9 arrive 2, 4 and 6: by count of segments (RFC 6675) 0 and 1 alone are lost, by time 3 and 5 too. Each
    // segment SACKed lets another go. In flight are 7, 8, 9, 10 and 11: the window of 10 less two is halved, and there is
    // room for the first retransmission, with six in flight; from the second that arrives then each makes room for another.
    sender(
        rack(),
        "0   open                            -> 0 1 2 3 4 5 6 7 8 9
         100 ack 0 sack 2-3 echo 0           -> 10
         100 ack 0 sack 2-3 4-5 echo 0       -> 11
         100 ack 0 sack 2-3 4-5 6-7 echo 0   -> 0
         ? state Recovery
         ? cwnd 5
         110 ack 0 sack 2-3 4-5 6-8 echo 0   ->
         110 ack 0 sack 2-3 4-5 6-9 echo 0   -> 1
         110 ack 0 sack 2-3 4-5 6-10 echo 0  -> 3",
    );
}

#[test]
fn what_one_recovery_has_sent_again_the_next_does_not() {
    // Ten segments in the network, by 100 segments/s over 100 ms. 0 is lost, its repetition at 100 ms too, and 12, which went
    // with it; 13, sent at 110 ms, tells of both. The second repetition of 0 ends the recovery while that of 12 is under way: for
    // 12 there is another recovery, but no more repetition.
    let config = SenderConfig { law: SenderParams::Qfcp(QfcpParams::default()), takes_over: true, ..rack() };
    sender(
        config,
        "0   open                                        -> 0 1 2 3 4 5 6 7 8 9
         100 ack 0 sack 1-2 echo 0 rate 100              -> 10
         100 ack 0 sack 1-3 echo 0 rate 100              -> 11
         100 ack 0 sack 1-4 echo 0 rate 100              -> 0 12
         ? state Recovery
         110 ack 0 sack 1-10 echo 10 rate 100            -> 13 14 15 16 17 18
         210 ack 0 sack 1-12 13-14 echo 110 rate 100     -> 0 12 19 20 21
         310 ack 12 sack 13-19 echo 210 rate 100         -> 22 23 24 25 26 27
         ? state Recovery",
    );
}

#[test]
fn fewer_segments_wait_for_the_reordering_window() {
    // A first round trip of 100 ms: a quarter of it after 2 has come 1 is lost, without a third duplicate or the timer.
    sender(
        rack(),
        "0   open                     -> 0 1 2 3 4 5 6 7 8 9
         100 ack 1 echo 0             -> 10 11
         110 ack 1 sack 2-3 echo 0    -> 12
         135 wake                     -> 1
         ? state Recovery",
    );
    // And what arrives within it was late.
    sender(
        rack(),
        "0   open                     -> 0 1 2 3 4 5 6 7 8 9
         100 ack 1 echo 0             -> 10 11
         110 ack 1 sack 2-3 echo 0    -> 12
         120 ack 3 echo 0             -> 13 14
         ? state Open",
    );
}

#[test]
fn after_a_timeout_what_is_sacked_is_not_sent_again() {
    // 2 and 3 are SACKed, no third: 0, 1 and then 4 to 11 are lost by the timer, and go as slow start lets them.
    let config = SenderConfig { rack: true, rto_min: Duration::from_millis(50), ..rack() };
    sender(
        SenderConfig { rto_initial: Duration::from_millis(50), ..config },
        "0   open                        -> 0 1 2 3 4 5 6 7 8 9
         50  wake                        -> 0
         ? state Loss
         ? cwnd 1
         60  ack 0 sack 2-4 echo 0       ->
         70  ack 1 sack 2-4 echo 50      -> 1 4
         80  ack 4 echo 70               -> 5 6",
    );
}

#[test]
fn the_last_segments_are_probed_after_two_round_trips() {
    // The first round trip takes 100 ms. 8 and 9 are lost with what was written: 2·100 + 2 ms after the last ACK 9 goes
    // again, a new segment not being there; it is SACKed, and 8 is known to be lost: no time-out.
    let quarter = "0   open 10                 -> 0 1 2 3 4 5 6 7 8 9
         100 ack 8 echo 0               ->
         302 wake                       -> 9
         402 ack 8 sack 9-10 echo 302   -> 8
         502 ack 10 echo 402            ->
         ? done false";
    let end = sender(SenderConfig { tail_loss_probe: true, timestamps: true, ..rack() }, quarter);
    assert_eq!((end.stats().timeouts, end.stats().retransmits), (0, 2));
    // Without probes there is a time-out.
    let timer = "0 open 10 -> 0 1 2 3 4 5 6 7 8 9\n 100 ack 8 echo 0 ->\n 1100 wake -> 8\n ? state Loss";
    sender(SenderConfig { timestamps: true, ..rack() }, timer);
}

#[test]
fn a_probe_that_repairs_a_loss_halves_the_window() {
    // 9 alone is lost: the probe would wait for a delayed ACK besides (rto_min), but the time-out would come before, after
    // 300 ms. It is acknowledged. Which of the two
    // transmissions arrived the echo tells: the window falls only if it was the probe.
    let probe = "0   open 10           -> 0 1 2 3 4 5 6 7 8 9
         100 ack 9 echo 0          ->
         400 wake                  -> 9";
    let config = SenderConfig { restart_after_idle: false, ..linux() };
    sender(config.clone(), &format!("{probe}\n 500 ack 10 echo 400.000001 ->\n ? cwnd 9\n ? ssthresh 9"));
    sender(config, &format!("{probe}\n 401 ack 10 echo 0 ->\n ? cwnd 20"));
}

#[test]
fn the_window_falls_in_proportion_to_what_arrives() {
    // 0 of ten is lost. The third SACKed segment begins recovery; ssthresh is 5, and in flight are 10 and 11 and the six
    // not SACKed: the first retransmission makes nine. Then one goes for each two that arrive, until five are in flight.
    sender(
        linux(),
        "0   open                     -> 0 1 2 3 4 5 6 7 8 9
         100 ack 0 sack 1-2 echo 0    -> 10
         100 ack 0 sack 1-3 echo 0    -> 11
         100 ack 0 sack 1-4 echo 0    -> 0
         ? ssthresh 5
         ? cwnd 9
         101 ack 0 sack 1-5 echo 0    ->
         102 ack 0 sack 1-6 echo 0    -> 12
         103 ack 0 sack 1-7 echo 0    ->
         104 ack 0 sack 1-8 echo 0    -> 13
         105 ack 0 sack 1-9 echo 0    ->
         106 ack 0 sack 1-10 echo 0   ->
         200 ack 12 echo 100          -> 14 15 16
         ? cwnd 5
         ? state Open",
    );
}

#[test]
fn the_window_grows_only_while_it_is_used() {
    // Two of a window of ten are used: Linux lets it grow in slow start while it is below twice what was used.
    let config = |validation| SenderConfig { validation, ..linux() };
    let used = "0 open 4 -> 0 1 2 3\n 100 ack 4 echo 0 ->\n ? cwnd";
    sender(config(Validation::Linux), &format!("{used} 10"));
    sender(config(Validation::Always), &format!("{used} 14"));
    let used = "0 open 6 -> 0 1 2 3 4 5\n 100 ack 6 echo 0 ->\n ? cwnd";
    sender(config(Validation::Linux), &format!("{used} 16"));
    sender(config(Validation::Full), &format!("{used} 10"));
}

#[test]
fn linux_stands_its_least_time_out_above_the_round_trip_time() {
    // 100 ms + 200 ms, where RFC 6298 has 100 + 4·50 ms and with each steady sample less, 200 ms at least.
    let script = "0 open 1 -> 0\n 100 ack 1 echo 0 ->\n 100 write 1 -> 1\n 200 ack 2 echo 100 ->\n ? rto";
    sender(linux(), &format!("{script} 300"));
    sender(SenderConfig { rtt_estimator: RttEstimator::Rfc6298, ..linux() }, &format!("{script} 250"));
}

#[test]
fn a_measurement_is_of_the_first_segment_and_slow_start_by_all() {
    // 0 went at 0 ms and 1 at 50 ms; one ACK for both at 120 ms, whatever it echoes, measures 120 ms; two segments more.
    sender(
        SenderConfig { timestamps: false, initial_window: Some(2), ..linux() },
        "0   open 1             -> 0
         50  write 1            -> 1
         120 ack 2 echo 50      ->
         ? rto 360
         ? cwnd 4",
    );
}

#[test]
fn the_timer_leaves_what_was_sent_within_a_round_trip() {
    // The round trip takes 100 ms. At 400 ms 2 to 5 have been out for 300, 6 and 7 for 20: those are under way, the others lost.
    // Beside two in the network there is room for the first; 6 and 7 make room for two more, and are not sent again.
    sender(
        SenderConfig { tail_loss_probe: false, ..linux() },
        "0   open 2                   -> 0 1
         100 ack 2 echo 0             ->
         100 write 4                  -> 2 3 4 5
         380 write 2                  -> 6 7
         400 wake                     -> 2
         ? state Loss
         ? cwnd 3
         480 ack 2 sack 6-8 echo 380  -> 3 4
         500 ack 3 sack 6-8 echo 400  -> 5
         580 ack 6 sack 6-8 echo 480  ->",
    );
    // The same for what was sent again: 0 went at 100 ms, and nothing has come that was sent later; 5 went at 350.
    sender(
        SenderConfig { tail_loss_probe: false, ..linux() },
        "0   open 12                         -> 0 1 2 3 4 5 6 7 8 9
         100 ack 0 sack 1-2 echo 0           -> 10
         100 ack 0 sack 1-3 echo 0           -> 11
         100 ack 0 sack 1-4 echo 0           -> 0
         350 ack 0 sack 1-5 6-12 echo 100    -> 5
         400 wake                            -> 0
         ? state Loss
         ? cwnd 2
         450 ack 0 sack 1-12 echo 350        ->
         500 ack 12 echo 400                 ->",
    );
}

#[test]
fn what_was_sent_before_a_repetition_gives_it_more_time() {
    // 0 goes again at 100 ms. What arrives at 290 ms was sent before that: the time-out begins anew. What was sent after it, or
    // with it, does not move the time-out.
    let script = "0   open                           -> 0 1 2 3 4 5 6 7 8 9
         100 ack 0 sack 1-2 echo 0            -> 10
         100 ack 0 sack 1-3 echo 0            -> 11
         100 ack 0 sack 1-4 echo 0            -> 0
         ? timer 400";
    sender(linux(), &format!("{script}\n 290 ack 0 sack 1-10 echo 0 -> 12 13\n ? rto 398.125\n ? timer 688.125"));
    sender(linux(), &format!("{script}\n 290 ack 0 sack 1-4 10-11 echo 100 -> 4\n ? timer 400"));
}

#[test]
fn what_ends_a_recovery_lets_the_window_grow_by_what_it_brings() {
    // Half of ten is left. What ends the recovery brings 0, 10 and 11, and with two segments more a window of five has come.
    for (grows, cwnd) in [(true, 6), (false, 5)] {
        let config = SenderConfig { grow_at_recovery_end: grows, ..linux() };
        let script = "0   open                             -> 0 1 2 3 4 5 6 7 8 9
             100 ack 0 sack 1-2 echo 0            -> 10
             100 ack 0 sack 1-3 echo 0            -> 11
             100 ack 0 sack 1-4 echo 0            -> 0
             110 ack 0 sack 1-10 echo 0           -> 12 13
             200 ack 12 echo 100                  -> 14 15 16
             ? state Open
             ? cwnd 5";
        let sent = if grows { "17 18 19" } else { "17 18" };
        sender(config, &format!("{script}\n 210 ack 14 echo 110 -> {sent}\n ? cwnd {cwnd}"));
    }
}

/// A window of a hundred, in congestion avoidance.
fn pieces() -> SenderConfig {
    SenderConfig { pieces: true, initial_window: Some(100), initial_ssthresh: Some(Bytes::new(2000)), ..linux() }
}

#[test]
fn the_last_segment_of_a_piece_of_several_is_pushed() {
    // 10 segments in 100 ms are 1.2·10·1000/0.1 B/s, of which 117 B go in 2⁻¹⁰ s: pieces of two at least, for which there is
    // room after 2 is acknowledged, but for one alone after 3 is. The last that was written is pushed in any case.
    sender(
        SenderConfig { initial_window: Some(10), ..pieces() },
        "0   open 14             -> 0 1! 2 3! 4 5! 6 7! 8 9!
         100 ack 2 echo 0        -> 10 11!
         102 ack 3 echo 0        -> 12
         104 ack 4 echo 0        -> 13!",
    );
    let whole = "0 open 4 -> 0 1 2 3\n 100 ack 4 echo 0 ->";
    sender(SenderConfig { pieces: false, ..pieces() }, whole);
}

#[test]
fn a_control_that_has_the_window_to_itself_sends_as_much_as_there_is_room() {
    // TCP sets no pacing rate for it: what is acknowledged at once goes in one piece, of half of the window at most. A piece of
    // two leaves one behind, which waits for more room.
    for (takes_over, third) in [(false, "10 11!"), (true, "10 11 12!")] {
        let config = SenderConfig { takes_over, initial_window: Some(10), ..pieces() };
        let first = if takes_over { "0 1 2 3 4! 5 6 7 8 9!" } else { "0 1! 2 3! 4 5! 6 7! 8 9!" };
        sender(config, &format!("0 open -> {first}\n 100 ack 3 echo 0 -> {third}"));
    }
}

#[test]
fn two_pieces_at_least_fill_the_window() {
    // A piece of a window of three is one segment, and a single one is not pushed; of six it may be three.
    for (window, sent) in [(3, "0 1 2"), (4, "0 1! 2 3!"), (6, "0 1 2! 3 4 5!")] {
        let config = SenderConfig { takes_over: true, initial_window: Some(window), ..pieces() };
        sender(config, &format!("0 open -> {sent}"));
    }
    let config = SenderConfig { takes_over: true, initial_window: Some(3), ..pieces() };
    // A round trip later it is four.
    sender(config, "0 open -> 0 1 2\n 100 ack 2 echo 0 -> 3 4\n 140 ack 3 echo 0 -> 5 6!");
}

#[test]
fn a_piece_waits_for_more_room_shortly_after_another() {
    // 100 segments in 10 ms: 1.2·100·1000/0.01/1024 = 11718 B, eleven segments. Two may go at 10 ms, as none went for long; then
    // what is acknowledged gathers, as more is to be before 1 ms is over. One that is left over waits, too; 1 ms after the last
    // piece there is no waiting.
    let script = format!(
        "0    open               -> {}
         10   ack 2 echo 0       -> 100 101!
         10.2 ack 4 echo 0       ->
         10.4 ack 8 echo 0       ->
         10.6 ack 14 echo 0      -> 102 103 104 105 106 107 108 109 110 111 112!
         11.7 ack 15 echo 0      -> 113 114!",
        (0..50).map(|n| format!("{} {}! ", 2 * n, 2 * n + 1)).collect::<String>()
    );
    let end = sender(pieces(), &script);
    assert_eq!(end.cwnd(), Bytes::new(100_000));
}

#[test]
fn nothing_waits_for_an_acknowledgement_that_is_far() {
    // All of the first hundred is acknowledged half a millisecond after 50 of it were: with one that the window grows by 51 may
    // go, and the last of them need not wait, as the first outstanding went at 100 ms. At 100.5 ms it would: it was sent at 0.
    let first: String = (0..50).map(|n| format!("{} {}! ", 2 * n, 2 * n + 1)).collect();
    let second: String = (50..75).map(|n| format!("{} {}! ", 2 * n, 2 * n + 1)).collect();
    let third: String = (75..100).map(|n| format!("{} {}! ", 2 * n, 2 * n + 1)).collect();
    let script = |ack: &str| format!("0 open -> {first}\n 100 ack 50 echo 0 -> {second}\n 100.5 {ack}");
    sender(pieces(), &script(&format!("ack 100 echo 0 -> {third} 200")));
    sender(pieces(), &script("ack 51 echo 0 ->"));
}
