// SPDX-License-Identifier: MIT OR Apache-2.0
//! Applications: when a connection opens, what is written into it, when it closes.

use rand_distr::{Exp1, Pareto, Triangular};

use crate::error::{ParameterError, ensure};
use crate::rng::Stream;
use crate::units::{Bytes, Duration, Instant, Rate};

/// Least time between two actions of an application, so that a run of seconds ends.
const LEAST_INTERVAL: Duration = Duration::from_nanos(100);

/// What an application writes while it lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AppConfig {
    /// Endless data from the start.
    Bulk,
    /// So many bytes at the start.
    Fixed {
        /// Size of the transfer, at least one byte.
        size: Bytes,
    },
    /// `chunk` bytes each `chunk / rate`, in bursts of `on` with pauses of `off`.
    Paced {
        /// Rate of payload within a burst.
        rate: Rate,
        /// Bytes written at once.
        chunk: Bytes,
        /// The bursts and pauses; none: one endless burst (constant bit rate).
        bursts: Option<Bursts>,
    },
}

/// How bursts and pauses alternate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Mean length of a burst.
    pub on: Duration,
    /// Mean length of a pause.
    pub off: Duration,
    /// Exponential lengths; otherwise all are of the mean.
    pub exponential: bool,
}

/// What an application does to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Connects.
    Open,
    /// Hands over more bytes.
    Write(Bytes),
    /// Has written all.
    Close,
    /// Breaks off: nothing new is sent from now on.
    Stop,
}

/// An application on its connection.
#[derive(Clone, Debug)]
pub struct App {
    config: AppConfig,
    stop: Option<Instant>,
    next: Option<(Instant, Action)>,
    burst_ends: Instant,
    stream: Stream,
}

impl App {
    /// An application that starts at `start` and, unless it has finished by then, breaks off at `stop`.
    ///
    /// # Errors
    /// A size, rate, chunk or burst of nothing, or a stop before the start.
    pub fn new(
        config: AppConfig,
        start: Instant,
        stop: Option<Instant>,
        stream: Stream,
    ) -> Result<Self, ParameterError> {
        match config {
            AppConfig::Bulk => {}
            AppConfig::Fixed { size } => ensure(size > Bytes::ZERO, "size", format!("{size:?}"), "at least 1 B")?,
            AppConfig::Paced { rate, chunk, bursts } => {
                ensure(rate > Rate::from_bps(0), "rate", format!("{rate:?}"), "more than 0 bit/s")?;
                ensure(chunk > Bytes::ZERO, "chunk", format!("{chunk:?}"), "at least 1 B")?;
                ensure(chunk / rate >= LEAST_INTERVAL, "rate", format!("{rate:?}"), "less than a chunk in 100 ns")?;
                if let Some(bursts) = bursts {
                    let least = "at least 100 ns";
                    ensure(bursts.on >= LEAST_INTERVAL, "on", format!("{:?}", bursts.on), least)?;
                    ensure(bursts.off >= LEAST_INTERVAL, "off", format!("{:?}", bursts.off), least)?;
                }
            }
        }
        if let Some(stop) = stop {
            ensure(stop > start, "stop", format!("{stop:?}"), "later than `start`")?;
        }
        Ok(Self { config, stop, next: Some((start, Action::Open)), burst_ends: start, stream })
    }

    /// When the application next acts.
    #[inline]
    pub fn next_wake(&self) -> Option<Instant> {
        match (self.next, self.stop) {
            (Some((at, _)), Some(stop)) => Some(at.min(stop)),
            (Some((at, _)), None) => Some(at),
            (None, stop) => stop,
        }
    }

    /// What the application does by `now`, with the instant it was due; none when there is nothing more.
    pub fn poll(&mut self, now: Instant) -> Option<(Instant, Action)> {
        let at = self.next_wake().filter(|at| *at <= now)?;
        if self.stop == Some(at) {
            self.stop = None;
            self.next = None;
            return Some((at, Action::Stop));
        }
        let (_, action) = self.next?;
        self.next = self.following(at, action);
        Some((at, action))
    }

    fn following(&mut self, at: Instant, action: Action) -> Option<(Instant, Action)> {
        match (self.config, action) {
            (_, Action::Close | Action::Stop) => None,
            (AppConfig::Bulk, Action::Open) => Some((at, Action::Write(Bytes::MAX))),
            (AppConfig::Bulk, Action::Write(_)) => None,
            (AppConfig::Fixed { size }, Action::Open) => Some((at, Action::Write(size))),
            (AppConfig::Fixed { .. }, Action::Write(_)) => Some((at, Action::Close)),
            (AppConfig::Paced { chunk, bursts, .. }, Action::Open) => {
                self.burst_ends = match bursts {
                    Some(bursts) => at + self.length(bursts.on, bursts),
                    None => Instant::MAX,
                };
                Some((at, Action::Write(chunk)))
            }
            (AppConfig::Paced { rate, chunk, bursts }, Action::Write(_)) => {
                let mut next = at + chunk / rate;
                if let Some(bursts) = bursts
                    && next >= self.burst_ends
                {
                    next = self.burst_ends + self.length(bursts.off, bursts);
                    self.burst_ends = next + self.length(bursts.on, bursts);
                }
                Some((next, Action::Write(chunk)))
            }
        }
    }

    fn length(&mut self, mean: Duration, bursts: Bursts) -> Duration {
        if !bursts.exponential {
            return mean;
        }
        let factor: f64 = self.stream.sample(&Exp1);
        Duration::from_secs_f64(mean.as_secs_f64() * factor)
    }
}

/// How the sizes of flows are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeDistribution {
    /// All alike.
    Constant(Bytes),
    /// A triangle from `min` to `max` with its peak at `mode`.
    Triangular {
        /// Least size.
        min: Bytes,
        /// Greatest size.
        max: Bytes,
        /// Most likely size.
        mode: Bytes,
    },
    /// Pareto with the least size `min`; a shape below 2 has no variance, below 1 no mean.
    Pareto {
        /// Least size.
        min: Bytes,
        /// Shape, more than 0.
        shape: f64,
    },
}

impl SizeDistribution {
    /// Refuses what is no distribution of sizes.
    ///
    /// # Errors
    /// A least size of nothing, a greatest below the least, a mode outside, a shape of 0 or less.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let positive = |key, size: Bytes| ensure(size > Bytes::ZERO, key, format!("{size:?}"), "at least 1 B");
        match *self {
            Self::Constant(size) => positive("value", size),
            Self::Triangular { min, max, mode } => {
                positive("min", min)?;
                ensure(max > min, "max", format!("{max:?}"), "more than `min`")?;
                ensure(min <= mode && mode <= max, "mode", format!("{mode:?}"), "a size from `min` to `max`")
            }
            Self::Pareto { min, shape } => {
                positive("min", min)?;
                ensure(shape > 0.0 && shape.is_finite(), "shape", shape, "a number above 0")
            }
        }
    }

    /// A size, rounded to whole bytes, at least one.
    pub fn draw(&self, stream: &mut Stream) -> Bytes {
        let size = match *self {
            Self::Constant(size) => return size,
            Self::Triangular { min, max, mode } => match Triangular::new(min.as_f64(), max.as_f64(), mode.as_f64()) {
                Ok(triangle) => stream.sample(&triangle),
                Err(_) => min.as_f64(),
            },
            Self::Pareto { min, shape } => match Pareto::new(min.as_f64(), shape) {
                Ok(pareto) => stream.sample(&pareto),
                Err(_) => min.as_f64(),
            },
        };
        Bytes::new((libm::rint(size) as u64).max(1))
    }
}

/// The instants of a Poisson process of `per_second` arrivals between `from` and `until`.
pub fn poisson_arrivals(per_second: f64, from: Instant, until: Instant, stream: &mut Stream) -> Vec<Instant> {
    let mut arrivals = Vec::new();
    let mut at = from;
    loop {
        let gap: f64 = stream.sample(&Exp1);
        at += Duration::from_secs_f64(gap / per_second);
        if at >= until {
            return arrivals;
        }
        arrivals.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn stream() -> Stream {
        Streams::new(5).stream("flow", "app")
    }

    fn acts(config: AppConfig, start: u64, stop: Option<u64>, until: u64) -> Vec<(Instant, Action)> {
        let mut app = App::new(config, at(start), stop.map(at), stream()).unwrap();
        core::iter::from_fn(|| app.poll(at(until))).collect()
    }

    #[test]
    fn bulk_opens_writes_and_breaks_off_at_its_stop() {
        let expected = [(at(5), Action::Open), (at(5), Action::Write(Bytes::MAX)), (at(90), Action::Stop)];
        assert_eq!(acts(AppConfig::Bulk, 5, Some(90), 100), expected);
        assert_eq!(acts(AppConfig::Bulk, 5, None, 100), expected[..2]);
    }

    #[test]
    fn a_transfer_closes_when_it_is_written() {
        let size = Bytes::new(1_000_000);
        let expected = [(at(0), Action::Open), (at(0), Action::Write(size)), (at(0), Action::Close)];
        assert_eq!(acts(AppConfig::Fixed { size }, 0, None, 100), expected);
    }

    #[test]
    fn constant_bit_rate_writes_a_chunk_each_interval() {
        // 1000 B at 1 Mbit/s: each 8 ms.
        let config = AppConfig::Paced { rate: Rate::from_bps(1_000_000), chunk: Bytes::new(1000), bursts: None };
        let writes: Vec<_> = acts(config, 0, None, 20).into_iter().skip(1).map(|(t, _)| t).collect();
        assert_eq!(writes, [at(0), at(8), at(16)]);
    }

    #[test]
    fn bursts_and_pauses_alternate() {
        let bursts = Bursts { on: Duration::from_millis(16), off: Duration::from_millis(84), exponential: false };
        let config =
            AppConfig::Paced { rate: Rate::from_bps(1_000_000), chunk: Bytes::new(1000), bursts: Some(bursts) };
        let writes: Vec<_> = acts(config, 0, None, 210).into_iter().skip(1).map(|(t, _)| t).collect();
        assert_eq!(writes, [at(0), at(8), at(100), at(108), at(200), at(208)]);
    }

    #[test]
    fn exponential_bursts_have_their_mean_share() {
        let bursts = Bursts { on: Duration::from_millis(100), off: Duration::from_millis(300), exponential: true };
        let config =
            AppConfig::Paced { rate: Rate::from_bps(8_000_000), chunk: Bytes::new(1000), bursts: Some(bursts) };
        let written = acts(config, 0, None, 1_000_000).len() as f64 * 1000.0;
        // A quarter of 1 MB/s for 1000 s.
        assert!((written / 250e6 - 1.0).abs() < 0.05, "{written}");
    }

    #[test]
    fn sizes_have_their_means() {
        let mut stream = stream();
        let mut mean = |d: SizeDistribution| (0..50_000).map(|_| d.draw(&mut stream).as_f64()).sum::<f64>() / 50_000.0;
        let (min, max) = (Bytes::new(1500), Bytes::new(6_000_000));
        let mode = Bytes::new(3_000_750);
        // (min + max + mode)/3; for Pareto shape·min/(shape − 1).
        assert!((mean(SizeDistribution::Triangular { min, max, mode }) / 3_000_750.0 - 1.0).abs() < 0.01);
        assert!((mean(SizeDistribution::Pareto { min, shape: 3.0 }) / 2250.0 - 1.0).abs() < 0.02);
        assert_eq!(mean(SizeDistribution::Constant(min)), 1500.0);
    }

    #[test]
    fn poisson_arrivals_are_as_many_as_they_should_be() {
        let arrivals = poisson_arrivals(10.0, at(1000), at(1_001_000), &mut stream());
        // 10 000 ± 100.
        assert!((9_600..10_400).contains(&arrivals.len()), "{}", arrivals.len());
        assert!(arrivals.is_sorted() && arrivals[0] > at(1000));
    }

    #[test]
    fn nonsense_is_refused() {
        let refuse = |config, stop| App::new(config, at(10), stop, stream()).unwrap_err().key;
        assert_eq!(refuse(AppConfig::Fixed { size: Bytes::ZERO }, None), "size");
        assert_eq!(refuse(AppConfig::Bulk, Some(at(10))), "stop");
        let zero = SizeDistribution::Pareto { min: Bytes::new(1), shape: 0.0 };
        assert_eq!(zero.validate().unwrap_err().key, "shape");
    }
}
