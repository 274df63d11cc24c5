// SPDX-License-Identifier: MIT OR Apache-2.0
//! RFC 6298: the retransmission timer. RFC 7323: measurements from timestamps.

use super::script::{plain, sender};
use crate::element::Element;
use crate::packet::Packet;
use crate::tcp::SenderConfig;
use crate::units::{Bytes, Duration, Instant};

/// No floor under the time-out that would hide the estimate.
fn fine() -> SenderConfig {
    SenderConfig { rto_min: Duration::from_millis(1), ..plain() }
}

#[test]
fn the_first_timeout_is_the_initial_one() {
    // §2.1: 1 s before any measurement.
    sender(plain(), "0 open -> 0 1 2 3\n ? rto 1000\n ? timer 1000");
    let config = SenderConfig { rto_initial: Duration::from_secs(3), ..plain() };
    sender(config, "0 open -> 0 1 2 3\n ? timer 3000");
}

#[test]
fn first_and_second_measurement() {
    // §2.2: R = 100 ms: SRTT = 100, RTTVAR = 50, RTO = 100 + 4·50 = 300.
    // §2.3: R' = 200 ms: RTTVAR = ¾·50 + ¼·|100 − 200| = 62.5, SRTT = ⅞·100 + ⅛·200 = 112.5, RTO = 362.5.
    sender(
        fine(),
        "0   open 1  -> 0
         100 ack 1   ->
         ? rto 300
         100 write 1 -> 1
         300 ack 2   ->
         ? rto 362.5",
    );
}

#[test]
fn floor_ceiling_and_granularity() {
    // §2.4: at least 1 s. §2.5: a ceiling. §2.2: SRTT + max(G, 4·RTTVAR) = 100 + max(500, 200).
    let script = |rto| format!("0 open 1 -> 0\n 100 ack 1 ->\n ? rto {rto}");
    sender(plain(), &script("1000"));
    let ms = Duration::from_millis;
    sender(SenderConfig { rto_max: ms(250), rto_initial: ms(250), ..fine() }, &script("250"));
    sender(SenderConfig { rto_granularity: ms(500), ..fine() }, &script("600"));
}

#[test]
fn one_segment_a_round_trip_is_timed() {
    // §3: 0 is timed; 1 to 3 were sent while it was, so the ACK of 1 at 500 ms is no measurement. 4 is the next.
    sender(
        fine(),
        "0   open  -> 0 1 2 3
         100 ack 1 -> 4 5
         ? rto 300
         250 ack 2 -> 6 7
         ? rto 300
         300 ack 5 -> 8 9 10 11
         ? rto 362.5",
    );
}

#[test]
fn karns_rule_and_the_end_of_a_back_off() {
    // §3: the ACK of a retransmitted segment is no measurement. §5, last paragraph: the doubled time-out stays until
    // there is one: 300 after 2 is acknowledged, which was sent once.
    sender(
        fine(),
        "0    open 1  -> 0
         1000 wake    -> 0
         ? rto 2000
         1100 ack 1   ->
         ? rto 2000
         1100 write 1 -> 1
         1200 ack 2   ->
         ? rto 300",
    );
}

#[test]
fn any_new_acknowledgement_may_end_a_back_off() {
    // RFC 9002 §6.2.1. Before the first measurement the time-out is the initial one again, after it the computed one: 0 is
    // measured at 100 ms, 1 is lost, and the ACK of its retransmission, which measures nothing, ends the back-off.
    let config = SenderConfig { new_ack_ends_back_off: true, ..fine() };
    sender(config.clone(), "0 open 1 -> 0\n 1000 wake -> 0\n ? rto 2000\n 1100 ack 1 ->\n ? rto 1000");
    let script = |rto| {
        format!(
            "0    open 1  -> 0
             100  ack 1   ->
             100  write 1 -> 1
             400  wake    -> 1
             1000 wake    -> 1
             ? rto 1200
             1100 ack 2   ->
             ? rto {rto}"
        )
    };
    sender(config, &script("300"));
    sender(fine(), &script("1200"));
}

#[test]
fn a_measurement_by_timestamps_may_leave_a_back_off() {
    // ns-2 (tcp.cc, newack, without ts_resetRTO_). 1 is lost; the echo of its retransmission measures 100 ms, so that the time-out
    // is computed anew, SRTT + 4 RTTVAR = 100 + 4 · 37.5, and stays four times that; the ACK of 2, which is new, ends it.
    let script = |first, second| {
        format!(
            "0    open 1  -> 0
             100  ack 1 echo 0 ->
             100  write 1 -> 1
             400  wake    -> 1
             1000 wake    -> 1
             ? rto 1200
             1100 ack 2 echo 1000 ->
             ? rto {first}
             1100 write 1 -> 2
             1200 ack 3 echo 1100 ->
             ? rto {second}"
        )
    };
    let config = SenderConfig { timestamps: true, ..fine() };
    sender(config.clone(), &script("250", "212.5"));
    sender(SenderConfig { echo_ends_back_off: false, ..config }, &script("1000", "212.5"));
}

#[test]
fn a_fast_retransmit_ends_the_timing_too() {
    // §3. 0 is timed and retransmitted; its ACK at 300 ms says nothing.
    sender(
        fine(),
        "0   open 4 -> 0 1 2 3
         100 ack 0  ->
         100 ack 0  ->
         100 ack 0  -> 0
         300 ack 4  ->
         ? rto 1000",
    );
}

#[test]
fn the_timer_starts_restarts_and_stops() {
    // §5.1: starts with data, if it is not running. §5.3: starts afresh with each ACK of new data. §5.2: stops when
    // all is acknowledged. A duplicate leaves it alone.
    sender(
        plain(),
        "0   open 4  -> 0 1 2 3
         ? timer 1000
         100 ack 1   ->
         ? timer 1100
         600 ack 1   ->
         ? timer 1100
         700 write 1 -> 4
         ? timer 1100
         800 ack 5   ->
         ? timer off",
    );
}

#[test]
fn the_timeout_doubles_up_to_the_ceiling() {
    // §5.5: 1, 2, 4 s and then the ceiling of 5 s; §5.4, 5.6: the first segment each time, and the timer anew.
    let config = SenderConfig { rto_max: Duration::from_secs(5), ..plain() };
    sender(
        config,
        "0     open -> 0 1 2 3
         1000  wake -> 0
         3000  wake -> 0
         7000  wake -> 0
         12000 wake -> 0
         ? timer 17000",
    );
}

#[test]
fn handshake() {
    // The SYN-ACK is a measurement: 100 ms, RTO 300 ms. It tells the window.
    let config = SenderConfig { handshake: true, ..fine() };
    sender(config, "0 open -> syn\n ? state SynSent\n 100 syn-ack echo 0 win 3 -> 0 1 2\n ? rto 300");
}

#[test]
fn a_lost_syn() {
    // RFC 5681 §3.1: the initial window is 1. §5.7: the time-out is 3 s when data begins. The late second SYN-ACK
    // changes nothing.
    let config = SenderConfig { handshake: true, ..plain() };
    sender(
        config,
        "0    open    -> syn
         1000 wake    -> syn
         1100 syn-ack -> 0
         ? cwnd 1
         ? rto 3000
         1200 syn-ack ->",
    );
}

#[test]
fn timestamps_make_every_acknowledgement_a_measurement() {
    // RFC 7323 §4.1. The ACK of a retransmission tells which it answers: 100 ms after the second sending, so the
    // back-off ends at once.
    let config = SenderConfig { timestamps: true, ..fine() };
    sender(config.clone(), "0 open 1 -> 0\n 1000 wake -> 0\n 1100 ack 1 echo 1000 ->\n ? rto 300");
    // Appendix G: 8 outstanding are 4 measurements a round trip, each of a quarter of the weight. First 100 ms (SRTT
    // 100, RTTVAR 50), then 200 ms: RTTVAR = 50 + (100 − 50)/16 = 53.125, SRTT = 100 + 100/32 = 103.125.
    let config = SenderConfig { initial_window: Some(9), ..config };
    let sent = sender(
        config,
        "0   open 9       -> 0 1 2 3 4 5 6 7 8
         100 ack 1 echo 0 ->
         200 ack 2 echo 0 ->
         ? rto 315.625",
    );
    // The option takes 12 bytes of each segment.
    assert_eq!(sent.sent().get(), 9 * (1000 + 40 + 12));
}

#[test]
fn an_acknowledgement_in_the_instant_of_the_timeout_is_in_time() {
    // Whether the wake or the arrival at 1 s is served first.
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    for wake_first in [false, true] {
        let mut end = sender(plain(), "0 open -> 0 1 2 3");
        if wake_first {
            end.wake(at(1000));
        }
        end.receive(at(1000), Packet::ack(0, 4000, Bytes::new(1_000_000), 40, at(1000)));
        assert_eq!(end.stats().timeouts, 0);
    }
}
