// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recorded capacity: mahimahi's packet-delivery traces.
//!
//! A trace lists instants in whole milliseconds, one a line, none before the last. Each is an opportunity to deliver
//! 1504 bytes. At its end the trace starts over, so its last instant is also its period. What is recorded as rates over time,
//! in rows `time_s,rate_bps`, becomes the opportunities of packets of 1500 bytes.

mod rates;

use crate::stats::Span;
use crate::units::{Bytes, Duration, Instant, Rate};

const NS_PER_MS: u64 = 1_000_000;

/// The latest instant of a trace \[ms\]: eleven days. What is later is a date, not a time since the start.
const MOST_MS: u64 = 1_000_000_000;

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TraceError {
    /// A first line that begins neither kind of trace.
    #[error("line 1: `{text}`: wanted a whole number of milliseconds, or the heading time_s,rate_bps")]
    Beginning {
        /// The line.
        text: String,
    },
    /// A line that is not a number.
    #[error("line {line}: `{text}`: wanted a whole number of milliseconds")]
    Unreadable {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// An instant before that of the line above.
    #[error("line {line}: {ms} ms comes after {before} ms: wanted instants that never go back")]
    Backwards {
        /// Counted from 1.
        line: usize,
        /// The line's instant \[ms\].
        ms: u64,
        /// The instant of the line above \[ms\].
        before: u64,
    },
    /// An instant that cannot be counted from the trace's start.
    #[error("line {line}: {ms} ms: wanted ms since the start of the trace, at most {MOST_MS}")]
    TooLate {
        /// Counted from 1.
        line: usize,
        /// The line's instant \[ms\].
        ms: u64,
    },
    /// A row that is no time with its rate.
    #[error("line {line}: `{text}`: wanted {wanted}")]
    Row {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
        /// What is wanted.
        wanted: &'static str,
    },
    /// So few rows that the last has no length.
    #[error("{rows} row{} of rates: wanted at least 2", if *rows == 1 { "" } else { "s" })]
    Rows {
        /// How many there are.
        rows: usize,
    },
    /// Rates over too long a time.
    #[error("{seconds:.0} s: wanted at most {} s", MOST_MS / 1000)]
    TooLong {
        /// From the first row to the end \[s\].
        seconds: f64,
    },
    /// Rates that carry too much.
    #[error("{packets:.0} packets of 1500 B: wanted at most 10000000")]
    TooMany {
        /// How many there would be.
        packets: f64,
    },
    /// Rates that carry nothing.
    #[error("not one packet of 1500 B in all: wanted higher rates")]
    NotOnePacket,
    /// A trace whose last instant is 0 ms, or that has none.
    #[error("the trace lasts no time: wanted a last line of more than 0 ms")]
    Empty,
}

/// A trace of delivery opportunities, repeated for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    opportunities_ms: Vec<u64>,
    period_ms: u64,
    start_s: Option<f64>,
}

impl Trace {
    /// What one opportunity delivers: mahimahi counts 1504 bytes, a packet of 1500 and the four of its tunnel.
    pub const OPPORTUNITY: Bytes = Bytes::new(1504);

    /// Reads a trace: lines of instants, or behind their heading rows of times and rates.
    ///
    /// # Errors
    /// If a line is no number or goes back in time, or the trace lasts no time or too long.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let is_rates = text.lines().next().is_some_and(rates::is_heading);
        let (opportunities_ms, start_s) = if is_rates {
            let (opportunities_ms, start_s) = rates::opportunities(text)?;
            (opportunities_ms, Some(start_s))
        } else {
            (instants(text)?, None)
        };
        let period_ms = opportunities_ms.last().copied().filter(|&ms| ms > 0).ok_or(TraceError::Empty)?;
        Ok(Self { opportunities_ms, period_ms, start_s })
    }

    /// Of a trace of rates, the time of the first row \[s\], which became 0 ms.
    pub fn start_s(&self) -> Option<f64> {
        self.start_s
    }

    /// When the opportunities of one period come \[ms\].
    pub fn opportunities_ms(&self) -> &[u64] {
        &self.opportunities_ms
    }

    /// Opportunities in one period.
    pub fn opportunities(&self) -> usize {
        self.opportunities_ms.len()
    }

    /// After what time the trace starts over.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms)
    }

    /// The mean rate, all opportunities used.
    pub fn mean_rate(&self) -> Rate {
        let bits = 8 * Self::OPPORTUNITY.get() * self.opportunities_ms.len() as u64;
        Rate::from_bps(bits * 1000 / self.period_ms)
    }

    /// The highest mean rate over any `window` within a period, of a millisecond at least, all opportunities used; no less than
    /// the mean rate.
    pub fn top_rate(&self, window: Duration) -> Rate {
        let window_ms = (window.as_nanos() / NS_PER_MS).max(1);
        let mut first = 0;
        let mut most = 0;
        for (last, &ms) in self.opportunities_ms.iter().enumerate() {
            while self.opportunities_ms[first] + window_ms <= ms {
                first += 1;
            }
            most = most.max((last - first + 1) as u64);
        }
        Rate::from_bps(8 * Self::OPPORTUNITY.get() * most * 1000 / window_ms).max(self.mean_rate())
    }

    /// The mean rate over `span`, all opportunities used.
    pub fn rate_within(&self, span: Span) -> Rate {
        let count_before = |at: Instant| {
            let ms = at.as_nanos().div_ceil(NS_PER_MS);
            let (periods, rest_ms) = (ms / self.period_ms, ms % self.period_ms);
            let in_period = self.opportunities_ms.partition_point(|&opportunity_ms| opportunity_ms < rest_ms) as u64;
            periods * self.opportunities_ms.len() as u64 + in_period
        };
        let bits = 8 * Self::OPPORTUNITY.get() * (count_before(span.until) - count_before(span.from));
        Rate::from_bps(libm::rint(bits as f64 / span.length().as_secs_f64()) as u64)
    }

    /// The longest time without an opportunity, also across the end of the period.
    pub fn longest_gap(&self) -> Duration {
        let from_the_end = self.opportunities_ms[0];
        let gaps = self.opportunities_ms.windows(2).map(|pair| pair[1] - pair[0]);
        Duration::from_millis(gaps.fold(from_the_end, u64::max))
    }

    /// The opportunities after `now`, for ever.
    pub fn after(&self, now: Instant) -> Opportunity {
        // Instants are whole milliseconds: later than `now` is later than `now` rounded down.
        let now_ms = now.as_nanos() / NS_PER_MS;
        let base_ms = now_ms / self.period_ms * self.period_ms;
        let index = self.opportunities_ms.partition_point(|&ms| ms <= now_ms - base_ms);
        Opportunity { base_ms, index }
    }
}

/// The instants of a trace \[ms\], a line each.
fn instants(text: &str) -> Result<Vec<u64>, TraceError> {
    let mut instants_ms: Vec<u64> = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        let unreadable = |_| match line {
            1 => TraceError::Beginning { text: shown(text) },
            _ => TraceError::Unreadable { line, text: shown(text) },
        };
        let ms: u64 = text.trim_end().parse().map_err(unreadable)?;
        if let Some(&before) = instants_ms.last().filter(|&&before| before > ms) {
            return Err(TraceError::Backwards { line, ms, before });
        }
        if ms > MOST_MS {
            return Err(TraceError::TooLate { line, ms });
        }
        instants_ms.push(ms);
    }
    Ok(instants_ms)
}

/// So much of a line as a message shows.
fn shown(line: &str) -> String {
    line.chars().take(60).collect()
}

/// A place in a repeated trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    base_ms: u64,
    index: usize,
}

impl Opportunity {
    /// When it comes.
    #[inline]
    pub fn at(&self, trace: &Trace) -> Instant {
        Instant::from_nanos((self.base_ms + trace.opportunities_ms[self.index]) * NS_PER_MS)
    }

    /// The next one.
    #[inline]
    #[must_use]
    pub fn next(&self, trace: &Trace) -> Self {
        if self.index + 1 < trace.opportunities_ms.len() {
            Self { index: self.index + 1, ..*self }
        } else {
            Self { base_ms: self.base_ms + trace.period_ms, index: 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_trace_repeats_after_its_last_instant() {
        let trace = Trace::parse("0\n0\n3\n10\n").unwrap();
        let mut opportunity = trace.after(Instant::ZERO);
        let mut times = Vec::new();
        for _ in 0..7 {
            times.push(opportunity.at(&trace));
            opportunity = opportunity.next(&trace);
        }
        // The two at 0 are not after 0; the period is 10 ms, so those at 0 come again with the last.
        assert_eq!(times, [3, 10, 10, 10, 13, 20, 20].map(ms));
    }

    #[test]
    fn any_place_can_be_found() {
        let trace = Trace::parse("2\n2\n5\n9").unwrap();
        let mut opportunity = trace.after(Instant::ZERO);
        for now_us in 0..40_000 {
            let now = Instant::from_nanos(now_us * 1000);
            while opportunity.at(&trace) <= now {
                opportunity = opportunity.next(&trace);
            }
            assert_eq!(trace.after(now), opportunity, "{now:?}");
        }
    }

    #[test]
    fn statistics() {
        let trace = Trace::parse("4\n5\n5\n1000").unwrap();
        // 4 · 1504 B a second; 995 ms from the third to the last.
        assert_eq!(trace.mean_rate(), Rate::from_bps(48_128));
        // Three within 2 ms; all within a second, which is the mean; one within a millisecond, or two at 5 ms.
        let top = |ms| trace.top_rate(Duration::from_millis(ms)).as_bps();
        assert_eq!([top(2), top(1000), top(1)], [3 * 12_032 * 500, 48_128, 2 * 12_032 * 1000]);
        assert_eq!((trace.opportunities(), trace.period()), (4, Duration::from_secs(1)));
        assert_eq!(trace.longest_gap(), Duration::from_millis(995));
    }

    #[test]
    fn errors_name_the_line() {
        let says = |text| Trace::parse(text).unwrap_err().to_string();
        assert_eq!(says("1\n2x\n"), "line 2: `2x`: wanted a whole number of milliseconds");
        assert_eq!(says("1\n\n2\n"), "line 2: ``: wanted a whole number of milliseconds");
        assert_eq!(says("7\n5\n"), "line 2: 5 ms comes after 7 ms: wanted instants that never go back");
        assert_eq!(says("0\n0\n"), "the trace lasts no time: wanted a last line of more than 0 ms");
        assert_eq!(Trace::parse(""), Err(TraceError::Empty));
    }
}
