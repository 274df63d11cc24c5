// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver: acknowledgements (RFC 5681 §4.2), blocks (RFC 2018), windows, goodput.

use super::script::receiver;
use crate::element::Element;
use crate::law::clamp::ClampParams;
use crate::packet::Packet;
use crate::role::{self, AnyReceiver};
use crate::stats::Span;
use crate::tcp::{Receiver, ReceiverConfig};
use crate::units::{Bytes, Duration, Instant};

fn plain() -> ReceiverConfig {
    ReceiverConfig { buffer: Bytes::new(10_000), ..ReceiverConfig::default() }
}

fn delayed() -> ReceiverConfig {
    ReceiverConfig { ack_every: 2, ..plain() }
}

#[test]
fn each_packet_is_acknowledged() {
    // 1 and 2 come before 0: duplicates; 0 fills the gap. 1 again: acknowledged, not delivered twice.
    let end = receiver(
        plain(),
        "0  syn    -> syn-ack
         1  data 1 -> ack 0
         2  data 2 -> ack 0
         3  data 0 -> ack 3
         4  data 1 -> ack 3
         ? delivered 3",
    );
    let stats = end.stats();
    assert_eq!((stats.packets, stats.out_of_order, stats.duplicates), (4, 2, 1));
}

#[test]
fn delayed_acknowledgements() {
    // RFC 5681 §4.2: every second segment, or the timer's 200 ms.
    receiver(
        delayed(),
        "0   data 0 ->
         10  data 1 -> ack 2
         20  data 2 ->
         220 wake   -> ack 3",
    );
    // At once: out of order, filling a gap, and what has been received before.
    receiver(
        delayed(),
        "0  data 0 ->
         1  data 2 -> ack 1
         2  data 3 -> ack 1
         3  data 1 -> ack 4
         4  data 1 -> ack 4",
    );
}

#[test]
fn the_first_acknowledgements_may_be_quick() {
    // Linux's quickack: two at once, then every third segment or 40 ms; a repeated segment makes them quick again.
    receiver(
        ReceiverConfig { ack_every: 3, quick_acks: 2, ack_timeout: Duration::from_millis(40), ..plain() },
        "0   data 0 -> ack 1
         1   data 1 -> ack 2
         2   data 2 ->
         3   data 3 ->
         4   data 4 -> ack 5
         10  data 5 ->
         20  data 6 ->
         50  wake   -> ack 7
         60  data 6 -> ack 7
         70  data 7 -> ack 8
         80  data 8 ->
         ? delivered 9",
    );
}

#[test]
fn while_the_window_grows_nothing_is_delayed() {
    // 131,072/2 B are 65 segments of 1000 B, and 5/8 of it 81.92: eight segments make it grow by two each, and a ninth by what
    // is left. Until more is read in a round trip it stays so.
    let config = ReceiverConfig { autotuning: true, mss: 1000, buffer: Bytes::new(1_000_000), ..delayed() };
    let data: String = (0..9).map(|n| format!("{} data {n} -> ack {}\n", n + 1, n + 1)).collect();
    receiver(
        config,
        &format!("0 syn -> syn-ack\n ? win 65\n {data} 10 data 9 ->\n 11 data 10 -> ack 11\n ? win 81.92"),
    );
}

#[test]
fn beyond_the_third_at_a_gap_acknowledgements_are_gathered() {
    // After a handshake of 10 ms for half a millisecond each: what comes at 4 and 4.3 ms is told of at 4.5 ms. One that fills
    // the gap goes at once, and at the next three do.
    let config = ReceiverConfig { sack: true, sack_compression: true, ..delayed() };
    let config = ReceiverConfig { buffer: Bytes::new(100_000), ..config };
    receiver(
        config.clone(),
        "0    syn -> syn-ack
         10   data 1 -> ack 0 sack 1-2
         11   data 2 -> ack 0 sack 1-3
         12   data 3 -> ack 0 sack 1-4
         13   data 4 ->
         13.3 data 5 ->
         13.5 wake -> ack 0 sack 1-6
         14   data 6 ->
         14.1 data 0 -> ack 7
         15   data 8 -> ack 7 sack 8-9
         16   data 9 -> ack 7 sack 8-10
         17   data 10 -> ack 7 sack 8-11
         18   data 11 ->
         18.5 wake -> ack 7 sack 8-12",
    );
    let four = "0 data 1 -> ack 0 sack 1-2\n 1 data 2 -> ack 0 sack 1-3\n 2 data 3 -> ack 0 sack 1-4\n 3 data 4 ->";
    receiver(config, &format!("{four}\n 4 wake -> ack 0 sack 1-5"));
}

#[test]
fn what_is_pushed_is_not_delayed() {
    // It ends what there was to send: nothing more may come before the answer.
    let script = "0 data 0 -> ack 1\n 1 data 1 push 1 -> ack 2\n 2 data 2 ->\n 3 data 3 push 1 -> ack 4";
    receiver(ReceiverConfig { ack_pushed: true, quick_acks: 1, ..delayed() }, script);
    let script = "0 data 0 -> ack 1\n 1 data 1 push 1 ->\n 2 data 2 -> ack 3";
    receiver(ReceiverConfig { quick_acks: 1, ..delayed() }, script);
}

#[test]
fn by_ticks_an_acknowledgement_waits_the_longer_the_farther_segments_are_apart() {
    // Ticks of 4 ms: 100 ms are tick 25. The first waits for ten ticks and the next one. It was in vain, so the next would wait for
    // twenty: half of it and a gap of 11 ticks are 21. Near segments make that 10 + 5, then 7 + 5.
    let config = ReceiverConfig {
        ack_every: 2,
        ack_timeout: Duration::from_millis(40),
        timer_tick: Duration::from_millis(4),
        ..plain()
    };
    receiver(
        config.clone(),
        "0   syn    -> syn-ack
         100 data 0 ->
         ? timer 144
         144 wake   -> ack 1
         146 data 1 ->
         ? timer 232
         150 data 2 -> ack 3
         155 data 3 ->
         ? timer 204
         190 data 4 -> ack 5",
    );
    // After a handshake of 100 ms a gap of more than 300 ms makes acknowledgements quick again.
    receiver(
        ReceiverConfig { quick_acks: 1, ..config },
        "0   syn    -> syn-ack
         100 data 0 -> ack 1
         101 data 1 ->
         ? timer 144
         102 data 2 -> ack 3
         403 data 3 ->
         ? timer 444
         404 data 4 -> ack 5
         720 data 5 -> ack 6
         721 data 6 ->",
    );
}

#[test]
fn a_delayed_acknowledgement_echoes_the_first_segment() {
    // RFC 7323 §4.3: the sender's measurement takes in the delay.
    let mut end = Receiver::new(0, delayed(), Span::ALWAYS).unwrap();
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    for (n, ms) in [(0, 5), (1, 9)] {
        end.receive(at(ms + 10), Packet::data(0, n * 1000, 1000, 40, at(ms)));
    }
    assert_eq!(end.poll_departure().unwrap().packet.echo, at(5));
}

#[test]
fn thinned_acknowledgements_wait_for_a_second_segment_for_so_long() {
    let mut end = Receiver::new(0, plain(), Span::ALWAYS).unwrap();
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let hear = |end: &mut Receiver, n: u64, ms| {
        end.receive(at(ms), Packet::data(0, n * 1000, 1000, 40, at(ms)));
        end.poll_departure().map(|departure| departure.packet.ack_number())
    };
    end.thin(true);
    assert_eq!([hear(&mut end, 0, 1), hear(&mut end, 1, 5), hear(&mut end, 2, 10)], [None, Some(2000), None]);
    assert_eq!(end.next_wake(), Some(at(50)));
    end.wake(at(50));
    assert_eq!(end.poll_departure().unwrap().packet.ack_number(), 3000);
    // What waits when that ends goes with the next.
    assert_eq!(hear(&mut end, 3, 60), None);
    end.thin(false);
    assert_eq!([hear(&mut end, 4, 61), hear(&mut end, 5, 62)], [Some(5000), Some(6000)]);
    assert_eq!(end.next_wake(), None);
}

#[test]
fn blocks_tell_what_came_out_of_order() {
    // RFC 2018 §4: the latest first, three at most.
    let config = ReceiverConfig { sack: true, ..plain() };
    receiver(
        config,
        "0 data 0 -> ack 1
         1 data 2 -> ack 1 sack 2-3
         2 data 4 -> ack 1 sack 4-5 2-3
         3 data 3 -> ack 1 sack 2-5
         4 data 6 -> ack 1 sack 6-7 2-5
         5 data 8 -> ack 1 sack 8-9 6-7 2-5
         6 data 1 -> ack 5 sack 8-9 6-7
         7 data 5 -> ack 7 sack 8-9
         8 data 7 -> ack 9",
    );
}

#[test]
fn what_lies_beyond_the_window_is_refused() {
    // RFC 9293 §3.10.7.4: outside the window, acknowledged and dropped. The buffer has ten segments.
    let end = receiver(plain(), "0 syn -> syn-ack\n 1 data 10 -> ack 0\n 2 data 9 -> ack 0\n 3 data 0 -> ack 1");
    assert_eq!(end.stats().refused, 1);
}

#[test]
fn clamp_advertises_its_window() {
    // Slow start (clamp §4.3): a segment more with each packet, from one. The buffer bounds it.
    let params = ClampParams { hold: 0.0, ..ClampParams::new(Bytes::new(500)) };
    let config =
        ReceiverConfig { law: role::ReceiverParams::Clamp(params), mss: 1000, buffer: Bytes::new(3500), ..plain() };
    receiver(
        config,
        "0   syn    -> syn-ack
         ? win 1
         100 data 0 -> ack 1
         ? win 2
         200 data 1 -> ack 2
         ? win 3
         300 data 2 -> ack 3
         ? win 3.5",
    );
}

#[test]
fn clamp_never_takes_back_what_it_offered() {
    // A high price with the third packet ends slow start: w falls from 3 to 1.5 segments, but the right edge was at 5
    // and stays there until the data has caught up: windows 2, 1.5, 1.5.
    let params = ClampParams { hold: 0.0, ..ClampParams::new(Bytes::new(500)) };
    let config = ReceiverConfig { law: role::ReceiverParams::Clamp(params), mss: 1000, ..plain() };
    receiver(
        config,
        "0   syn              -> syn-ack
         100 data 0           -> ack 1
         200 data 1           -> ack 2
         ? win 3
         300 data 2 price 1   -> ack 3
         ? win 2",
    );
}

#[test]
fn clamp_is_told_of_three_duplicates() {
    // clamp §4.3: slow start ends, w is halved.
    let params = ClampParams { hold: 0.0, ..ClampParams::new(Bytes::new(500)) };
    let config = ReceiverConfig { law: role::ReceiverParams::Clamp(params), mss: 1000, ..plain() };
    let in_slow_start = |script: &str| match receiver(config.clone(), script).law() {
        AnyReceiver::Clamp(clamp) => clamp.in_slow_start(),
        AnyReceiver::Plain(_) | AnyReceiver::ClampKernel(_) | AnyReceiver::Share(_) | AnyReceiver::Station(_) => {
            unreachable!()
        }
    };
    let two = "0 syn -> syn-ack\n 100 data 0 -> ack 1\n 101 data 2 -> ack 1\n 102 data 2 -> ack 1\n";
    assert!(in_slow_start(two));
    assert!(!in_slow_start(&format!("{two} 103 data 2 -> ack 1")));
}

#[test]
fn goodput_is_sampled_by_intervals_of_the_measured_span() {
    // Span 100 to 500 ms in intervals of 100 ms. Two segments in the first, none in the second and third, one in the
    // fourth; those before and after do not count.
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let span = Span { from: at(100), until: at(500) };
    let config = ReceiverConfig { sample_interval: Some(Duration::from_millis(100)), ..plain() };
    let mut end = Receiver::new(0, config, span).unwrap();
    for (n, ms) in [(0, 50), (1, 100), (2, 199), (3, 400), (4, 500)] {
        end.receive(at(ms), Packet::data(0, n * 1000, 1000, 40, at(ms)));
    }
    end.finish(at(600));
    assert_eq!(end.stats().samples, [2000, 0, 0, 1000]);
    assert_eq!(end.stats().delivered, Bytes::new(3000));
    assert_eq!(end.delivered(), Bytes::new(5000));
}
