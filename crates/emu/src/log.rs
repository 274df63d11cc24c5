// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened at an access point, in the format of mahimahi's `mm-link --uplink-log` and `--downlink-log`.
//!
//! ```text
//! TIME # BYTES          an opportunity to send       TIME + BYTES        a packet came
//! TIME - BYTES DELAY    a packet left, times in ms   TIME d PACKETS BYTES   packets were dropped
//! ```
//!
//! A thread of its own writes: the one that keeps real time waits for no disk, and no log fills the memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use lasthop_core::capacity::{Opportunity, Trace};
use lasthop_core::units::{Bytes, Duration, Instant};
use lasthop_linux::clock::unix_ms;

/// Lines that are handed to the writer at once.
const CHUNK: usize = 1024;
/// How much later than it happened something may be told of: more than any lag.
const HORIZON: Duration = Duration::from_secs(2);

/// The logs of the first access point, down and up.
#[derive(Debug)]
pub(crate) struct Log {
    down: u32,
    up: Option<u32>,
    lines: Vec<(u8, Line)>,
    writer: Sender<Message>,
    thread: JoinHandle<io::Result<()>>,
}

/// At one instant what leaves comes before what comes (0, 1), and then what was told first: a number.
type Line = (Instant, u8, u64, What);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Departure { size: Bytes, delay_ms: u64 },
    Arrival(Bytes),
    Drops(u64, Bytes),
}

enum Message {
    Lines(Vec<(u8, Line)>),
    End(Instant),
}

/// The two files of a log.
pub(crate) fn paths(prefix: &Path) -> [PathBuf; 2] {
    ["down", "up"].map(|ending| {
        let mut name = prefix.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        name.into()
    })
}

impl Log {
    /// Logs what happens at these access points, by their numbers and with their recorded channels, into two files.
    pub(crate) fn start(prefix: &Path, (down, up): (u32, Option<u32>), traces: [Option<Trace>; 2]) -> io::Result<Self> {
        let init_ms = unix_ms();
        let mut files = vec![];
        for ((path, name), trace) in paths(prefix).into_iter().zip(["downlink", "uplink"]).zip(traces) {
            let mut file = BufWriter::new(File::create(&path)?);
            writeln!(file, "# lasthop emu ({name}) > {}", path.display())?;
            writeln!(file, "# init timestamp: {init_ms}\n# base timestamp: 0")?;
            files.push(Sheet::new(file, trace));
        }
        let (writer, lines) = channel();
        let thread = thread::Builder::new().name("log".to_owned()).spawn(move || write(files, &lines))?;
        Ok(Self { down, up, lines: vec![], writer, thread })
    }

    pub(crate) fn arrival(&mut self, at: Instant, ap: u32, size: Bytes) {
        self.push(at, ap, What::Arrival(size));
    }

    pub(crate) fn drops(&mut self, at: Instant, ap: u32, packets: u64, size: Bytes) {
        self.push(at, ap, What::Drops(packets, Bytes::new(size.get() * packets)));
    }

    pub(crate) fn departure(&mut self, at: Instant, ap: u32, size: Bytes, entered: Instant) {
        // The difference of the times as they are written.
        let delay_ms = milliseconds(at) - milliseconds(entered).min(milliseconds(at));
        self.push(at, ap, What::Departure { size, delay_ms });
    }

    fn push(&mut self, at: Instant, ap: u32, what: What) {
        let direction = if ap == self.down {
            0
        } else if Some(ap) == self.up {
            1
        } else {
            return;
        };
        let rank = u8::from(!matches!(what, What::Departure { .. }));
        self.lines.push((direction, (at, rank, 0, what)));
        if self.lines.len() >= CHUNK {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(CHUNK));
        // A writer that has ended says why at the end.
        let _ = self.writer.send(Message::Lines(lines));
    }

    /// All until `end` is written, the opportunities too.
    pub(crate) fn finish(mut self, end: Instant) -> io::Result<()> {
        self.hand_over();
        let _ = self.writer.send(Message::End(end));
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// One file, and what is not in it yet.
struct Sheet {
    file: BufWriter<File>,
    channel: Option<(Trace, Opportunity)>,
    waiting: BinaryHeap<Reverse<Line>>,
    newest: Instant,
    count: u64,
}

fn write(mut sheets: Vec<Sheet>, messages: &Receiver<Message>) -> io::Result<()> {
    for message in messages {
        match message {
            Message::Lines(lines) => {
                for (direction, line) in lines {
                    sheets[usize::from(direction)].add(line);
                }
                for sheet in &mut sheets {
                    let settled = Instant::ZERO + sheet.newest.saturating_since(Instant::ZERO + HORIZON);
                    sheet.write_until(settled)?;
                }
            }
            Message::End(end) => {
                for sheet in &mut sheets {
                    sheet.write_until(end.max(sheet.newest) + Duration::from_nanos(1))?;
                    sheet.file.flush()?;
                }
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Sheet {
    fn new(file: BufWriter<File>, trace: Option<Trace>) -> Self {
        let channel = trace.map(|trace| {
            let first = trace.after(Instant::ZERO);
            (trace, first)
        });
        Self { file, channel, waiting: BinaryHeap::new(), newest: Instant::ZERO, count: 0 }
    }

    fn add(&mut self, (at, rank, _, what): Line) {
        self.newest = self.newest.max(at);
        self.count += 1;
        self.waiting.push(Reverse((at, rank, self.count, what)));
    }

    /// Writes what came before `end`. Each opportunity stands in front of what leaves by it.
    fn write_until(&mut self, end: Instant) -> io::Result<()> {
        let mut room = 0;
        let mut before = Instant::ZERO;
        loop {
            let line = self.waiting.peek().map(|Reverse(line)| *line).filter(|(at, ..)| *at < end);
            let opportunity = self.channel.as_ref().map(|(trace, next)| next.at(trace)).filter(|at| *at < end);
            let fits = |(at, _, _, what): Line| match what {
                What::Departure { size, .. } => at == before && size.get() <= room,
                _ => false,
            };
            if let Some(at) = opportunity
                && line.is_none_or(|line| at <= line.0 && !fits(line))
            {
                room = if at == before { room } else { 0 } + Trace::OPPORTUNITY.get();
                before = at;
                writeln!(self.file, "{} # {}", milliseconds(at), Trace::OPPORTUNITY.get())?;
                if let Some((trace, next)) = &mut self.channel {
                    *next = next.next(trace);
                }
            } else if let Some((at, _, _, what)) = line {
                self.waiting.pop();
                let at = milliseconds(at);
                match what {
                    What::Departure { size, delay_ms } => {
                        room = room.saturating_sub(size.get());
                        writeln!(self.file, "{at} - {} {delay_ms}", size.get())?;
                    }
                    What::Arrival(size) => writeln!(self.file, "{at} + {}", size.get())?,
                    What::Drops(packets, bytes) => writeln!(self.file, "{at} d {packets} {}", bytes.get())?,
                }
            } else {
                return Ok(());
            }
        }
    }
}

fn milliseconds(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn a_log_is_one_of_mm_link() {
        let prefix = std::env::temp_dir().join(format!("lasthop-log-{}", std::process::id()));
        let trace = Trace::parse("5\n5\n10\n").unwrap();
        let size = Bytes::new(1500);
        let mut log = Log::start(&prefix, (0, Some(1)), [Some(trace), None]).unwrap();
        log.arrival(us(1700), 0, size);
        // Told of late: a queue with room for two has a third.
        log.arrival(us(5400), 0, size);
        log.drops(us(5400), 0, 1, size);
        log.arrival(us(2900), 0, size);
        log.departure(us(5000), 0, size, us(1700));
        log.departure(us(5000), 0, size, us(2900));
        log.arrival(us(3000), 1, Bytes::new(40));
        log.departure(us(3100), 1, Bytes::new(40), us(3000));
        // Another access point is not logged.
        log.arrival(us(3000), 2, size);
        log.finish(us(10_500)).unwrap();
        let [down, up] = paths(&prefix).map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        });
        assert!(down[0].starts_with("# lasthop emu (downlink) > "), "{down:?}");
        assert!(down[1].starts_with("# init timestamp: "), "{down:?}");
        assert_eq!(down[2], "# base timestamp: 0");
        // As in link_queue.cc: opportunities in front of what leaves by them, delays of the times as written.
        let expected = ["1 + 1500", "2 + 1500", "5 # 1504", "5 - 1500 4", "5 # 1504", "5 - 1500 3"];
        assert_eq!(down[3..9], expected);
        assert_eq!(down[9..], ["5 + 1500", "5 d 1 1500", "10 # 1504"]);
        assert_eq!(up[3..], ["3 + 40", "3 - 40 0"]);
    }
}
