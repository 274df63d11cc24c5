// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened at an access point, in the format of mahimahi's `mm-link --uplink-log` and `--downlink-log`.
//!
//! ```text
//! TIME # BYTES          an opportunity to send       TIME + BYTES        a packet came
//! TIME - BYTES DELAY    a packet left, times in ms   TIME d PACKETS BYTES   packets were dropped
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use lasthop_core::capacity::Trace;
use lasthop_core::units::{Bytes, Duration, Instant};
use lasthop_sim::network::Network;

use crate::frame::Frame;

/// The logs of the first access point, down and up.
#[derive(Debug)]
pub(crate) struct Log {
    down: u32,
    up: Option<u32>,
    lines: [Vec<(u64, What)>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Opportunity,
    Arrival(Bytes),
    Drops(u64, Bytes),
    Departure(Bytes, u64),
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
    /// Logs what happens at these access points, by their numbers.
    pub(crate) fn new(down: u32, up: Option<u32>) -> Self {
        Self { down, up, lines: [vec![], vec![]] }
    }

    pub(crate) fn arrival(&mut self, at: Instant, ap: u32, size: Bytes) {
        self.push(at, ap, What::Arrival(size));
    }

    pub(crate) fn drops(&mut self, at: Instant, ap: u32, packets: u64, size: Bytes) {
        self.push(at, ap, What::Drops(packets, Bytes::new(size.get() * packets)));
    }

    pub(crate) fn departure(&mut self, at: Instant, ap: u32, size: Bytes, delay: Duration) {
        self.push(at, ap, What::Departure(size, delay.as_nanos() / 1_000_000));
    }

    fn push(&mut self, at: Instant, ap: u32, what: What) {
        let direction = if ap == self.down {
            0
        } else if Some(ap) == self.up {
            1
        } else {
            return;
        };
        self.lines[direction].push((milliseconds(at), what));
    }

    /// Writes both files, with the opportunities of the `traces` until `end`.
    pub(crate) fn write(mut self, prefix: &Path, network: &Network<Frame>, end: Instant) -> io::Result<()> {
        let traces = [network.trace(self.down), self.up.and_then(|up| network.trace(up))];
        for (((path, trace), lines), name) in
            paths(prefix).iter().zip(traces).zip(&mut self.lines).zip(["downlink", "uplink"])
        {
            if let Some(trace) = trace {
                let mut next = trace.after(Instant::ZERO);
                while next.at(trace) < end {
                    lines.push((milliseconds(next.at(trace)), What::Opportunity));
                    next = next.next(trace);
                }
            }
            // At one instant: the arrivals, the opportunity, what leaves by it.
            lines.sort_by_key(|(at, what)| (*at, rank(*what)));
            let mut file = BufWriter::new(File::create(path)?);
            writeln!(file, "# lasthop emu ({name})\n# init timestamp: 0\n# base timestamp: 0")?;
            for (at, what) in lines {
                match what {
                    What::Opportunity => writeln!(file, "{at} # {}", Trace::OPPORTUNITY.get())?,
                    What::Arrival(size) => writeln!(file, "{at} + {}", size.get())?,
                    What::Drops(packets, bytes) => writeln!(file, "{at} d {packets} {}", bytes.get())?,
                    What::Departure(size, delay) => writeln!(file, "{at} - {} {delay}", size.get())?,
                }
            }
            file.flush()?;
        }
        Ok(())
    }
}

fn rank(what: What) -> u8 {
    match what {
        What::Arrival(_) | What::Drops(..) => 0,
        What::Opportunity => 1,
        What::Departure(..) => 2,
    }
}

fn milliseconds(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}
