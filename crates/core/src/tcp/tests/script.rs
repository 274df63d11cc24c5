// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packet scripts: what an end is told, when, and what it must send.
//!
//! One event a line: `time [ms]  event  -> what is sent at that time`; nothing after the arrow: nothing may be sent.
//! Segments have 1000 bytes and are written by their number, so `3` is the bytes 3000 to 3999; `3+500` are the 500
//! bytes from 3000 and `2.5` is byte 2500; `3!` is pushed.
//!
//! ```text
//! Sender:   open                 connects and writes endless data (`open 2.5`: 2500 bytes; `open 0`: none)
//!           syn-ack              the answer to the SYN; `win 4`: it offers four segments
//!           ack 3                acknowledges all before segment 3; again: a duplicate
//!             win 4  sack 5-7 9-10  echo 30    window [segments], blocks, time that is echoed [ms]
//!             rate 50, change 20               routers' feedback [segments/s]
//!           write 2, close, stop what the application does
//!           wake                 the timer goes off
//! Receiver: syn
//!           data 3 [+500]        segment 3; `price 0.25`, `echo 30`, `push 1`
//!           wake
//! Both:     ? cwnd 4             a look inside: cwnd, ssthresh, flight [segments], rto [ms], state, win …
//! ```

use crate::element::{Departure, Element};
use crate::packet::{Kind, Packet, RateFeedback, SackBlocks, Signal};
use crate::stats::Span;
use crate::tcp::{Receiver, ReceiverConfig, Sender, SenderConfig};
use crate::units::{Bytes, Duration, Instant};

const MSS: u64 = 1000;
const HEADER: u32 = 40;

/// The first of ten segments is lost. It is repeated at the third duplicate, and from the sixth on each lets go one more.
pub(super) const FIRST_OF_TEN_LOST: &str = "
    0   open  -> 0 1 2 3 4 5 6 7 8 9
    100 ack 0 ->
    100 ack 0 ->
    100 ack 0 -> 0
    100 ack 0 ->
    100 ack 0 ->
    100 ack 0 -> 10
    100 ack 0 -> 11
    100 ack 0 -> 12
";

/// A sender's parameters for scripts: no handshake, segments of 1000 bytes.
pub(super) fn plain() -> SenderConfig {
    SenderConfig { mss: MSS as u32, header: HEADER, handshake: false, ..SenderConfig::default() }
}

fn instant(ms: &str) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(number(ms) / 1e3)
}

/// To the microsecond: a sender's timer goes off in the nanosecond after its time is up.
fn in_ms(at: Instant) -> String {
    format!("{}", (at.as_nanos() / 1000) as f64 / 1e3)
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

/// A position or a length in bytes, written in segments.
fn bytes(text: &str) -> u64 {
    let (segments, extra) = text.split_once('+').unwrap_or((text, "0"));
    (number(segments) * MSS as f64).round() as u64 + number(extra) as u64
}

fn in_segments(bytes: u64) -> String {
    format!("{}", bytes as f64 / MSS as f64)
}

/// How a script writes a packet.
fn written(packet: &Packet) -> String {
    match packet.kind() {
        Kind::Syn => "syn".into(),
        Kind::SynAck => "syn-ack".into(),
        Kind::Data => {
            let is_full = u64::from(packet.payload()) == MSS;
            let length = if is_full { String::new() } else { format!("+{}", packet.payload()) };
            format!("{}{length}{}", in_segments(packet.seq()), if packet.is_pushed() { "!" } else { "" })
        }
        Kind::Feedback => "feedback".into(),
        Kind::Ack | Kind::Update => {
            let blocks = packet.sack.iter().flat_map(|s| s.iter().collect::<Vec<_>>());
            let blocks: Vec<String> =
                blocks.map(|(start, end)| format!("{}-{}", in_segments(start), in_segments(end))).collect();
            let sack = if blocks.is_empty() { String::new() } else { format!(" sack {}", blocks.join(" ")) };
            format!("ack {}{sack}", in_segments(packet.ack_number()))
        }
    }
}

/// Words after the event's own, as `key value …`.
struct Options<'a>(Vec<&'a str>);

impl Options<'_> {
    fn value(&self, key: &str) -> Option<&str> {
        let at = self.0.iter().position(|word| *word == key)?;
        self.0.get(at + 1).copied()
    }

    fn blocks(&self) -> Option<Box<SackBlocks>> {
        let at = self.0.iter().position(|word| *word == "sack")?;
        let mut blocks = SackBlocks::default();
        for (start, end) in self.0[at + 1..].iter().map_while(|word| word.split_once('-')) {
            blocks.push(bytes(start), bytes(end));
        }
        Some(Box::new(blocks))
    }
}

/// Plays `text` line by line; `serve` does one event and gives what is sent, `look` answers a question.
fn play<E>(
    text: &str,
    end: &mut E,
    serve: impl Fn(&mut E, Instant, &str, &Options) -> Vec<Departure<Packet>>,
    look: impl Fn(&E, &str) -> String,
) {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(question) = line.strip_prefix('?') {
            let (key, wanted) = question.trim().split_once(' ').unwrap_or_else(|| panic!("what of {line}?"));
            assert_eq!(look(end, key), wanted.trim(), "{line}\nin\n{text}");
            continue;
        }
        let (event, wanted) = line.split_once("->").unwrap_or_else(|| panic!("no arrow: {line}"));
        let words: Vec<&str> = event.split_whitespace().collect();
        let now = instant(words[0]);
        let sent = serve(end, now, words[1], &Options(words[2..].to_vec()));
        let shown: Vec<String> = sent.iter().map(|departure| written(&departure.packet)).collect();
        assert_eq!(shown.join(" "), wanted.split_whitespace().collect::<Vec<_>>().join(" "), "{line}\nin\n{text}");
        assert!(sent.iter().all(|d| in_ms(d.at) == in_ms(now)), "{line}: sent at another time, {sent:?}");
    }
}

/// Plays a script to a sender.
pub(super) fn sender(config: SenderConfig, text: &str) -> Sender {
    let mut sender = Sender::new(0, config, Span::ALWAYS).unwrap();
    let serve = |sender: &mut Sender, now: Instant, event: &str, options: &Options| {
        let first = options.0.first().copied();
        let window = options.value("win").map_or(Bytes::new(1_000_000), |win| Bytes::new(bytes(win)));
        match event {
            "open" => {
                sender.open(now);
                sender.write(now, first.map_or(Bytes::MAX, |amount| Bytes::new(bytes(amount))));
            }
            "write" => sender.write(now, Bytes::new(bytes(first.unwrap()))),
            "close" => sender.close(now),
            "stop" => sender.stop(now),
            "wake" => {
                let due = sender.next_wake();
                assert_eq!(due.map(in_ms), Some(in_ms(now)), "the timer is not due at {now:?}");
                sender.wake(due.unwrap());
            }
            "syn-ack" => {
                let mut packet = Packet::syn_ack(0, window, 40, now);
                packet.echo = options.value("echo").map_or(now, instant);
                sender.receive(now, packet);
            }
            "ack" => {
                let mut packet = Packet::ack(0, bytes(first.unwrap()), window, 40, now);
                packet.echo = options.value("echo").map_or(now, instant);
                packet.sack = options.blocks();
                if let Some(rate) = options.value("rate") {
                    let rate = (number(rate) * (MSS + u64::from(HEADER)) as f64) as f32;
                    packet.signal = Signal::Rate(RateFeedback { rate, silent: 0 });
                }
                if let Some(change) = options.value("change") {
                    packet.signal = Signal::Change((number(change) * (MSS + u64::from(HEADER)) as f64) as f32);
                }
                sender.receive(now, packet);
            }
            _ => panic!("no such event: {event}"),
        }
        std::iter::from_fn(|| sender.poll_departure()).collect()
    };
    let look = |sender: &Sender, key: &str| match key {
        "cwnd" => in_segments(sender.cwnd().get()),
        "ssthresh" => in_segments(sender.ssthresh().get()),
        "flight" => in_segments(sender.flight().get()),
        "rto" => format!("{}", sender.rto().as_nanos() as f64 / 1e6),
        "timer" => match sender.next_wake() {
            Some(at) => in_ms(at),
            None => "off".into(),
        },
        "state" => format!("{:?}", sender.state()),
        "done" => format!("{}", sender.is_done()),
        _ => panic!("no such thing to look at: {key}"),
    };
    play(text, &mut sender, serve, look);
    sender
}

/// Plays a script to a receiver.
pub(super) fn receiver(config: ReceiverConfig, text: &str) -> Receiver {
    let mut receiver = Receiver::new(0, config, Span::ALWAYS).unwrap();
    let serve = |receiver: &mut Receiver, now: Instant, event: &str, options: &Options| {
        match event {
            "syn" => receiver.receive(now, Packet::syn(0, 40, now)),
            "data" => {
                let (start, length) = match options.0[0].split_once('+') {
                    Some((start, length)) => (bytes(start), length.parse().unwrap()),
                    None => (bytes(options.0[0]), MSS as u32),
                };
                let mut packet = Packet::data(0, start, length, HEADER, now).pushed(options.value("push").is_some());
                packet.echo = options.value("echo").map_or(Instant::ZERO, instant);
                if let Some(price) = options.value("price") {
                    packet.signal.raise_price(number(price));
                }
                receiver.receive(now, packet);
            }
            "wake" => {
                let due = receiver.next_wake();
                assert_eq!(due.map(in_ms), Some(in_ms(now)), "the timer is not due at {now:?}");
                receiver.wake(due.unwrap());
            }
            _ => panic!("no such event: {event}"),
        }
        std::iter::from_fn(|| receiver.poll_departure()).collect()
    };
    let look = |receiver: &Receiver, key: &str| match key {
        "delivered" => in_segments(receiver.delivered().get()),
        "win" => in_segments(receiver.window().get()),
        "timer" => receiver.next_wake().map_or("off".into(), in_ms),
        _ => panic!("no such thing to look at: {key}"),
    };
    play(text, &mut receiver, serve, look);
    receiver
}
