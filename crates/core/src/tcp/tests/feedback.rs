// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders whose window the routers of the path choose.

use super::script::{plain, sender};
use crate::element::Element;
use crate::law::qfcp::QfcpParams;
use crate::law::xcp::XcpParams;
use crate::packet::{Packet, Signal};
use crate::role::SenderParams;
use crate::tcp::{RttEstimator, SenderConfig};
use crate::units::{Bytes, Duration, Instant};

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

#[test]
fn a_control_of_linux_has_whole_segments_and_two_on_a_short_path() {
    // 60 segments/s over 20 ms are 1.2, over 60 ms 3.6: one alone would wait 40 ms for its acknowledgement, which the longer
    // path does not mind.
    let host = |takes_over| SenderConfig {
        takes_over,
        rtt_estimator: RttEstimator::Linux,
        ..with(SenderParams::Qfcp(QfcpParams::default()))
    };
    for (takes_over, ms, rate, cwnd) in [
        (true, 20, 60, "2"),
        (false, 20, 60, "1.2"),
        (true, 60, 60, "3"),
        (false, 60, 60, "3.599"),
        (true, 60, 20, "1"),
    ] {
        let script = format!(
            "0 open -> 0 1 2 3\n {ms} ack 2 echo 0 rate 20 ->\n {ms} ack 4 echo 0 rate {rate} -> SENT\n ? cwnd {cwnd}"
        );
        let sent: Vec<String> = (4..4 + cwnd[..1].parse::<u32>().unwrap()).map(|n| n.to_string()).collect();
        sender(host(takes_over), &script.replace("SENT", &sent.join(" ")));
    }
}

#[test]
fn a_control_of_linux_keeps_the_part_of_a_segment_that_xcp_grants() {
    // Half a segment each: nothing, then one; routers hear of whole ones.
    let config = SenderConfig { takes_over: true, ..with(SenderParams::Xcp(XcpParams::default())) };
    let mut end = sender(
        config,
        "0   open                    -> 0 1 2 3
         100 ack 1 echo 0 change 5   -> 4
         ? cwnd 4
         100 ack 2 echo 0 change 5   -> 5 6
         ? cwnd 5
         100 ack 3 echo 0 change 5   -> 7
         ? cwnd 5",
    );
    let now = Instant::ZERO + Duration::from_millis(100);
    end.receive(now, Packet::ack(0, 4000, Bytes::new(1_000_000), 40, now));
    let Some(Signal::Xcp(header)) = end.poll_departure().map(|departure| departure.packet.signal) else { panic!() };
    assert!((header.cwnd_bytes - 5.0 * 1040.0).abs() < 1.0, "{header:?}");
}
