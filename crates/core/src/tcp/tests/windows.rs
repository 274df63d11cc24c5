// SPDX-License-Identifier: MIT OR Apache-2.0
//! RFC 9293: the receiver's window, probes; the application's doings.

use super::script::{plain, sender};
use crate::tcp::SenderConfig;
use crate::units::Bytes;

#[test]
fn the_advertised_window_bounds_what_is_outstanding() {
    // §3.8.6. Four segments by the congestion window, two by the receiver's; then three from 1 on.
    let config = SenderConfig { handshake: true, ..plain() };
    sender(
        config,
        "0   open          -> syn
         0   syn-ack win 2 -> 0 1
         100 ack 1 win 3   -> 2 3
         ? flight 3
         100 ack 2 win 2   ->",
    );
    let config = SenderConfig { window_limit: Some(Bytes::new(2500)), ..plain() };
    sender(config, "0 open -> 0 1\n 100 ack 1 -> 2");
}

#[test]
fn a_closed_window_is_probed_with_growing_intervals() {
    // §3.8.6.1: first after a time-out (1 s, as the handshake took no time: SRTT 0), then after 2 s, 4 s; a byte each
    // time, which the answers do not take. Then the window opens.
    let config = SenderConfig { handshake: true, ..plain() };
    sender(
        config,
        "0    open          -> syn
         0    syn-ack win 0 ->
         ? timer 1000
         1000 wake          -> 0+1
         1000 ack 0 win 0   ->
         3000 wake          -> 0+1
         3000 ack 0 win 0   ->
         7000 wake          -> 0+1
         7100 ack 0 win 4   -> 0 1 2 3
         ? timer 8100
         7200 ack 4 win 4   -> 4 5 6 7",
    );
}

#[test]
fn a_probe_that_is_taken_moves_the_window() {
    let config = SenderConfig { handshake: true, ..plain() };
    sender(
        config,
        "0    open              -> syn
         0    syn-ack win 0     ->
         1000 wake              -> 0+1
         1100 ack 0.001 win 2   -> 0.001 1.001",
    );
}

#[test]
fn a_window_that_closes_on_what_is_outstanding_is_probed_in_place_of_a_timeout() {
    // The window shrank to nothing (a receiver should not, §3.8.6, but the sender must live with it). Three answers to
    // probes are no sign of a loss.
    sender(
        plain(),
        "0    open          -> 0 1 2 3
         100  ack 1 win 0   ->
         1100 wake          -> 1+1
         1200 ack 1 win 0   ->
         2100 wake          -> 1+1
         2200 ack 1 win 0   ->
         4100 wake          -> 1+1
         4200 ack 1 win 0   ->
         4300 ack 1 win 3   ->
         ? state Open
         8100 wake          -> 1
         ? state Loss",
    );
}

#[test]
fn silly_windows_are_not_filled_in_crumbs() {
    // §3.8.6.2.1. Half a segment of a window of four: wait while something is outstanding; when nothing is, wait for
    // the timer, as it is less than half of the widest window seen. A window of two and a half: two.
    let config = SenderConfig { handshake: true, ..plain() };
    sender(
        config.clone(),
        "0    open            -> syn
         0    syn-ack win 4   -> 0 1 2 3
         100  ack 3 win 1.5   ->
         200  ack 4 win 0.5   ->
         1200 wake            -> 4+500
         1300 ack 4.5 win 2.5 -> 4.5 5.5",
    );
    // If the window was never wider, half a segment is what there is.
    sender(config, "0 open -> syn\n 0 syn-ack win 0.5 -> 0+500\n 100 ack 0.5 win 0.5 -> 0.5+500");
}

#[test]
fn the_last_segment_is_as_small_as_it_must_be() {
    sender(
        plain(),
        "0 open 2.5 -> 0 1 2+500\n 100 ack 2.5 ->\n ? timer off\n ? done false\n 100 close ->\n ? done true",
    );
}

#[test]
fn a_close_delivers_what_was_written_and_a_stop_does_not() {
    let script = |what, after| format!("0 open 6 -> 0 1 2 3\n 50 {what} ->\n 100 ack 4 -> {after}");
    assert!(!sender(plain(), &script("close", "4 5")).is_done());
    let stopped = sender(plain(), &script("stop", ""));
    assert!(stopped.is_done() && stopped.stats().finished.is_some());
    // An endless stream ends with what has been sent, but that is delivered: 0 is retransmitted.
    let ended = sender(
        plain(),
        "0    open    -> 0 1 2 3
         50   close   ->
         1000 wake    -> 0
         1100 ack 4   ->
         ? done true
         ? timer off",
    );
    assert_eq!(ended.acknowledged(), Bytes::new(4000));
}

#[test]
fn nothing_is_written_after_the_close() {
    sender(plain(), "0 open 1 -> 0\n 0 close ->\n 10 write 5 ->\n 100 ack 1 ->\n ? done true");
}

#[test]
fn a_stop_before_the_connection_stands_ends_it() {
    let config = SenderConfig { handshake: true, ..plain() };
    sender(config, "0 open -> syn\n 10 stop ->\n ? done true\n ? timer off\n 50 syn-ack ->\n ? timer off");
}
