// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ns-2 does otherwise than the RFCs (tcp.cc, tcp-reno.cc, tcp-newreno.cc), rule by rule.

use super::script::{FIRST_OF_TEN_LOST, plain, sender};
use crate::element::Element;
use crate::law::xcp::XcpParams;
use crate::packet::{Packet, Signal};
use crate::role::SenderParams;
use crate::stats::Span;
use crate::tcp::{Recovery, RttEstimator, Sender, SenderConfig};
use crate::units::{Bytes, Duration, Instant};

/// Round-trip times alone decide the time-out.
fn timed(rtt_estimator: RttEstimator, timestamps: bool) -> SenderConfig {
    SenderConfig { rtt_estimator, timestamps, rto_min: Duration::from_millis(1), ..plain() }
}

#[test]
fn a_measurement_by_timestamps_weighs_as_one_a_round_trip() {
    // 100 ms, then 200 ms: RTTVAR = 50 + (100 − 50)/4, SRTT = 100 + 100/8. RFC 7323 makes it a quarter of that.
    for (estimator, rto) in [(RttEstimator::Ns2, "362.5"), (RttEstimator::Rfc6298, "315.625")] {
        let config = SenderConfig { initial_window: Some(9), ..timed(estimator, true) };
        let script = format!("0 open 9 -> 0 1 2 3 4 5 6 7 8\n 100 ack 1 echo 0 ->\n 200 ack 2 echo 0 ->\n ? rto {rto}");
        sender(config, &script);
    }
}

#[test]
fn partial_acknowledgements_measure_nothing_and_end_no_timing() {
    // 0 and 3 of ten are lost. The fast retransmit ends the timing of 0, and 10, which the sixth duplicate lets go, is timed.
    // ACK 3 is partial: its own repair would end that by Karn's rule, and then 13 is timed.
    let script = |at_partial, at_full, echo: [&str; 2]| {
        format!(
            "{FIRST_OF_TEN_LOST}
             200 ack 3 {} -> 3 13
             ? rto {at_partial}
             300 ack 14 {} -> 14 15
             ? rto {at_full}",
            echo[0], echo[1]
        )
    };
    for (estimator, timestamps, at_partial, at_full) in [
        (RttEstimator::Rfc6298, false, "1000", "300"),
        (RttEstimator::Ns2, false, "1000", "600"),
        (RttEstimator::Ns2, true, "1000", "300"),
    ] {
        let config = SenderConfig { initial_window: Some(10), ..timed(estimator, timestamps) };
        sender(config, &script(at_partial, at_full, ["echo 100", "echo 200"]));
    }
    // By timestamps the partial one measures 100 ms, and the full one, of six a round trip, again: RTTVAR 50, then 50 − 50/24.
    let config = SenderConfig { initial_window: Some(10), ..timed(RttEstimator::Rfc6298, true) };
    sender(config, &script("300", "291.666666", ["echo 100", "echo 200"]));
}

#[test]
fn a_long_back_off_makes_the_next_measurement_the_first() {
    // 100 ms, so 300 ms, and four time-outs, which make that sixteen times as much. Then 200 ms: 200 + 4 · 100, or with what was
    // known before 112.5 + 4 · 62.5.
    for (estimator, rto) in [(RttEstimator::Ns2, "600"), (RttEstimator::Rfc6298, "362.5")] {
        let script = format!(
            "0    open 1  -> 0
             100  ack 1   ->
             100  write 1 -> 1
             400  wake    -> 1
             1000 wake    -> 1
             2200 wake    -> 1
             4600 wake    -> 1
             4700 ack 2   ->
             ? rto 4800
             4700 write 1 -> 2
             4900 ack 3   ->
             ? rto {rto}"
        );
        sender(timed(estimator, false), &script);
    }
}

#[test]
fn limited_transmit_may_go_on_after_a_timeout() {
    // Two duplicates of ACK 1 let 3 go, which has been sent before, and 4, which has not; the third may not recover.
    for (goes_on, third, fourth) in [(true, "3", "4"), (false, "", "")] {
        let config = SenderConfig { limited_transmit: true, limited_transmit_after_timeout: goes_on, ..plain() };
        let script = format!(
            "0    open  -> 0 1 2 3
             1000 wake  -> 0
             1100 ack 1 -> 1 2
             1200 ack 1 -> {third}
             1200 ack 1 -> {fourth}
             1200 ack 1 ->
             ? state Loss"
        );
        sender(config, &script);
    }
}

#[test]
fn a_threshold_may_be_of_whole_segments() {
    // Half of 5, and half of 3: the window may fall below the floor of the threshold, and with three duplicates more go.
    for (sent, whole_threshold, third, cwnd, ssthresh) in [
        ("0 1 2 3 4", false, "0", "2.5", "2.5"),
        ("0 1 2 3 4", true, "0", "2.5", "2"),
        ("0 1 2", false, "0 3 4", "2", "2"),
        ("0 1 2", true, "0 3", "1.5", "2"),
    ] {
        let config = SenderConfig {
            initial_window: Some(sent.split(' ').count() as u32),
            recovery: Recovery::Reno,
            whole_threshold,
            ..plain()
        };
        let script = format!("0 open -> {sent}\n 100 ack 0 ->\n 100 ack 0 ->\n 100 ack 0 -> {third}");
        sender(config.clone(), &format!("{script}\n ? cwnd {cwnd}\n ? ssthresh {ssthresh}"));
        sender(config, &format!("0 open -> {sent}\n 1000 wake -> 0\n ? ssthresh {ssthresh}"));
    }
}

#[test]
fn routers_may_be_told_of_whole_segments() {
    // 4 and .5: the window that the next segment tells of is 4 or 4.5.
    for (feedback_in_segments, cwnd_bytes) in [(false, 4680.0), (true, 4160.0)] {
        let law = SenderParams::Xcp(XcpParams::default());
        let config = SenderConfig { law, feedback_in_segments, initial_window: Some(4), ..plain() };
        let change = if feedback_in_segments { "4.81" } else { "5" };
        let mut end = sender(config, &format!("0 open -> 0 1 2 3\n 100 ack 1 echo 0 change {change} -> 4"));
        let ack = Packet::ack(0, 2000, Bytes::new(1_000_000), 40, Instant::ZERO + Duration::from_millis(100));
        end.receive(Instant::ZERO + Duration::from_millis(100), ack);
        let Some(Signal::Xcp(header)) = end.poll_departure().map(|departure| departure.packet.signal) else { panic!() };
        assert!((f64::from(header.cwnd_bytes) - cwnd_bytes).abs() < 1.0, "{header:?}");
    }
}

#[test]
fn what_routers_say_may_be_taken_for_payload() {
    // 1040 bytes on the wire carry 1000: 10,400 B/s over 100 ms are a packet, or 1.04 of payload.
    for (feedback_in_segments, cwnd) in [(false, "5"), (true, "5.04")] {
        let law = SenderParams::Xcp(XcpParams::default());
        let config = SenderConfig { law, feedback_in_segments, initial_window: Some(4), ..plain() };
        sender(config, &format!("0 open -> 0 1 2 3\n 100 ack 1 echo 0 change 10 -> 4 5\n ? cwnd {cwnd}"));
    }
}

#[test]
fn routers_are_told_round_trips_in_ticks() {
    // Sent at 0 and acknowledged at 124.9 ms: a clock of 10 ms has ticked twelve times. Ten segments a second more.
    for (rtt_tick, cwnd) in [(10, "5.2"), (0, "5.249")] {
        let law = SenderParams::Xcp(XcpParams::default());
        let rtt_tick = Duration::from_millis(rtt_tick);
        let config = SenderConfig { law, rtt_tick, initial_window: Some(4), ..timed(RttEstimator::Ns2, false) };
        sender(config, &format!("0 open -> 0 1 2 3\n 124.9 ack 1 echo 0 change 10 -> 4 5\n ? cwnd {cwnd}"));
    }
}

#[test]
fn what_a_timeout_sends_again_tells_routers_of_its_window() {
    let config = SenderConfig { law: SenderParams::Xcp(XcpParams::default()), initial_window: Some(4), ..plain() };
    let mut end = Sender::new(0, config, Span::ALWAYS).unwrap();
    let told = |end: &mut Sender| -> Vec<f32> {
        let signals = std::iter::from_fn(|| end.poll_departure()).map(|departure| departure.packet.signal);
        signals.map(|signal| if let Signal::Xcp(header) = signal { header.cwnd_bytes } else { f32::NAN }).collect()
    };
    end.open(Instant::ZERO);
    end.write(Instant::ZERO, Bytes::MAX);
    assert_eq!(told(&mut end), [4160.0; 4]);
    let due = end.next_wake().unwrap();
    end.wake(due);
    assert_eq!(told(&mut end), [1040.0]);
}
