// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders whose window the routers of the path choose.

use super::script::{plain, sender};
use crate::law::qfcp::QfcpParams;
use crate::law::xcp::XcpParams;
use crate::role::SenderParams;
use crate::tcp::SenderConfig;

fn with(law: SenderParams) -> SenderConfig {
    SenderConfig { law, initial_window: Some(4), ..plain() }
}

#[test]
fn qfcps_window_opens_with_duplicates_and_never_falls() {
    // 50 segments/s over 100 ms are 5. 1 is lost: the third duplicate sends it again, and the window is what the routers say
    // and 3, then 4, 5 (eq. 10): each packet that has left the network lets another go.
    //= qfcp#10
    sender(
        with(SenderParams::Qfcp(QfcpParams::default())),
        "0   open               -> 0 1 2 3
         100 ack 1 echo 0 rate 50 -> 4 5
         ? cwnd 5
         100 ack 1 echo 0 rate 50 ->
         100 ack 1 echo 0 rate 50 ->
         200 ack 1 echo 100 rate 50 -> 1 6 7 8
         ? cwnd 5
         ? state Recovery
         200 ack 1 echo 100 rate 50 -> 9
         300 ack 9 echo 200 rate 50 -> 10
         ? state Open
         300 ack 10 echo 200 rate 50 -> 11 12 13 14
         ? cwnd 5",
    );
}

#[test]
fn any_acknowledgement_restores_qfcps_window_after_a_timeout() {
    sender(
        with(SenderParams::Qfcp(QfcpParams::default())),
        "0    open                   -> 0 1 2 3
         100  ack 1 echo 0 rate 50   -> 4 5
         1100 wake                   -> 1
         ? cwnd 1
         1200 ack 2 echo 1100 rate 50 -> 2 3 4 5 6
         ? cwnd 5",
    );
}

#[test]
fn xcps_window_changes_by_what_routers_say_and_halves_with_a_loss() {
    // 4 and 2 more are 6; duplicates change nothing; 5 outstanding of which the third duplicate halves: 2.5.
    sender(
        with(SenderParams::Xcp(XcpParams::default())),
        "0   open                     -> 0 1 2 3
         100 ack 1 echo 0 change 10    -> 4 5
         ? cwnd 5
         100 ack 1 echo 0 change 10    ->
         100 ack 1 echo 0 change 10    ->
         100 ack 1 echo 0 change 10    -> 1
         ? cwnd 2.5
         200 ack 6 echo 100 change -90 -> 6
         ? cwnd 1",
    );
}
