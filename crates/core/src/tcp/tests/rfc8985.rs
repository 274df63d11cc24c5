// SPDX-License-Identifier: MIT OR Apache-2.0
//! RFC 8985 §6.2, of retransmissions: one is lost when something sent later has arrived.

use super::script::{plain, sender};
use crate::tcp::{Recovery, SenderConfig};

fn rack(initial_window: u32) -> SenderConfig {
    SenderConfig {
        recovery: Recovery::Sack,
        find_lost_retransmissions: true,
        initial_window: Some(initial_window),
        ..plain()
    }
}

/// 0 of ten is lost, and so is its retransmission at 100 ms; 10, sent at 110 ms, arrives. Four are in the pipe by then: 0,
/// 10 to 12, of a window of 5.
const LOST_AGAIN: &str = "
    0   open                    -> 0 1 2 3 4 5 6 7 8 9
    100 ack 0 sack 1-2 echo 0   ->
    100 ack 0 sack 1-3 echo 0   ->
    100 ack 0 sack 1-4 echo 0   -> 0
    110 ack 0 sack 1-7 echo 0   -> 10
    110 ack 0 sack 1-8 echo 0   -> 11
    110 ack 0 sack 1-9 echo 0   -> 12
    110 ack 0 sack 1-10 echo 0  -> 13";

/// 11 to 13 are in the pipe when the loss is found.
const GOES_AGAIN: &str = "
    210 ack 0 sack 1-11 echo 110 ->
    210 ack 0 sack 1-12 echo 110 ->
    210 ack 0 sack 1-13 echo 110 -> 0
    210 ack 0 sack 1-14 echo 110 -> 14";

#[test]
fn a_lost_retransmission_goes_again_without_the_timer() {
    // Its loss is one more sign of congestion (RFC 5681 §4.3): it goes when the half of 5 has room.
    sender(rack(10), &format!("{LOST_AGAIN}{GOES_AGAIN}\n ? state Recovery\n ? cwnd 2.5"));
    // Without the rule it is taken to be under way, and new data alone may go.
    let without = SenderConfig { find_lost_retransmissions: false, ..rack(10) };
    sender(without, &format!("{LOST_AGAIN}\n 210 ack 0 sack 1-11 echo 110 -> 14\n ? timer 1100"));
}

#[test]
fn it_may_be_lost_more_than_once() {
    // The second time at 210 ms, found when 15 has come, sent at 310 ms. The timer starts anew with it, and the window is cut
    // once more, to its least.
    sender(
        rack(10),
        &format!(
            "{LOST_AGAIN}{GOES_AGAIN}
             310 ack 0 sack 1-15 echo 210 -> 15
             410 ack 0 sack 1-16 echo 310 -> 0 16
             ? timer 1410
             ? cwnd 2"
        ),
    );
}

#[test]
fn what_was_sent_at_the_same_time_tells_nothing() {
    // 13 went at 110 ms, 0 at 100 ms: an acknowledgement of what went at 100 ms is no proof.
    sender(rack(10), &format!("{LOST_AGAIN}\n 200 ack 0 sack 1-11 echo 100 -> 14"));
}

#[test]
fn losses_since_do_not_end_recovery() {
    // 0 has come at last. With one segment above 10 nothing more is lost. With three 10 is, and has been sent again: a new
    // recovery, which cuts the window to its least and does not repeat 10.
    sender(
        rack(10),
        &format!(
            "{LOST_AGAIN}
             200 ack 10 sack 11-12 echo 100 -> 14
             ? state Open"
        ),
    );
    sender(
        rack(10),
        &format!(
            "{LOST_AGAIN}
             199 ack 0 sack 11-14 1-10 echo 110 -> 0 10
             299 ack 10 sack 11-14 echo 199 -> 14
             ? state Recovery
             ? cwnd 2"
        ),
    );
}
