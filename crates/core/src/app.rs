// SPDX-License-Identifier: MIT OR Apache-2.0
//! Applications: when a connection opens, what is written into it, when it closes.

use rand_distr::{Exp1, Pareto, Triangular};

use crate::error::{ParameterError, ensure};
use crate::parameter::{Parameter, above};
use crate::rng::Stream;
use crate::units::{Amount, Bytes, Duration, Instant, PerSecond, Rate};
use crate::{kinds, parameters};

/// Least time between two actions of an application, so that a run of seconds ends.
const LEAST_INTERVAL: Duration = Duration::from_nanos(100);

kinds! {
    /// What a flow sends.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub enum AppParams {
        /// Endless data.
        #[default]
        Bulk = "bulk",
        /// One transfer.
        Fixed(Transfer) = "fixed",
        /// Bursts at a rate, with pauses.
        OnOff(OnOff) = "on-off",
        /// Transfers that arrive by a Poisson process, each on a connection of its own: `NAME#1`, `NAME#2`, …
        Poisson(Poisson) = "poisson",
        /// A constant bit rate.
        Cbr(Cbr) = "cbr",
    }
}

parameters! {
    /// One transfer.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Transfer {
        /// Its payload.
        pub size: Amount, in above(Amount::Bytes(Bytes::ZERO));
    }
}

parameters! {
    /// Bursts and pauses.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct OnOff {
        /// Rate of payload within a burst; a chunk takes 100 ns or more.
        pub rate: Rate, in above(Rate::from_bps(0));
        /// Mean length of a burst.
        pub on: Duration, in LEAST_INTERVAL..;
        /// Mean length of a pause.
        pub off: Duration, in LEAST_INTERVAL..;
        /// Exponential lengths; otherwise all are of the mean.
        pub exponential: bool = true;
        /// Bytes written at once; a segment by default.
        pub chunk: Option<Bytes> = None, in Bytes::new(1)..;
    }
}

parameters! {
    /// Transfers that come and go.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Poisson {
        /// Arrivals per second.
        pub rate: PerSecond, in above(PerSecond::new(0.0));
        /// When the last may arrive; by default at the end of the run.
        pub until: Option<Duration> = None;
        /// Their sizes.
        pub size: SizeDistribution;
    }
}

parameters! {
    /// A constant bit rate.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Cbr {
        /// Rate of payload; a chunk takes 100 ns or more.
        pub rate: Rate, in above(Rate::from_bps(0));
        /// Bytes written at once; a segment by default.
        pub chunk: Option<Bytes> = None, in Bytes::new(1)..;
    }
}

kinds! {
    /// How the sizes of transfers are distributed.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum SizeDistribution {
        /// All alike.
        Constant(ConstantSize) = "constant",
        /// A triangle.
        Triangular(TriangularSize) = "triangular",
        /// Pareto.
        Pareto(ParetoSize) = "pareto",
    }
}

parameters! {
    /// One size.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ConstantSize {
        /// The size.
        pub value: Amount, in above(Amount::Bytes(Bytes::ZERO));
    }
}

parameters! {
    /// Sizes in a triangle.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TriangularSize {
        /// Least size.
        pub min: Amount, in above(Amount::Bytes(Bytes::ZERO));
        /// Greatest size, more than `min`.
        pub max: Amount, in above(Amount::Bytes(Bytes::ZERO));
        /// Most likely size, from `min` to `max`; the middle by default.
        pub mode: Option<Amount> = None, in above(Amount::Bytes(Bytes::ZERO));
    }
}

parameters! {
    /// Sizes by Pareto.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ParetoSize {
        /// Least size.
        pub min: Amount, in above(Amount::Bytes(Bytes::ZERO));
        /// Shape; below 2 there is no variance, up to 1 no mean.
        pub shape: f64, in above(0.0);
    }
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

/// What an application writes while it lives.
#[derive(Clone, Debug)]
enum Writes {
    /// So many bytes at the start, and all there are for ever without.
    Once(Option<Bytes>),
    /// In a box, as few applications do, and many flows need not carry it.
    Paced(Box<Paced>),
}

/// `chunk` bytes each `chunk / rate`, in bursts with pauses, or without in one endless burst.
#[derive(Clone, Debug)]
struct Paced {
    interval: Duration,
    chunk: Bytes,
    bursts: Option<OnOff>,
    burst_ends: Instant,
    stream: Stream,
}

/// An application on its connection.
#[derive(Clone, Debug)]
pub struct App {
    /// When it next acts; [`Instant::MAX`]: never. Each acknowledgement asks for it and for nothing else.
    wake: Instant,
    writes: Writes,
    /// When it breaks off; [`Instant::MAX`]: not by itself.
    stop: Instant,
    next: Option<(Instant, Action)>,
}

impl App {
    /// An application on a connection with segments of `payload`, which starts at `start` and, unless it has finished by then,
    /// breaks off at `stop`.
    ///
    /// # Errors
    /// A parameter outside its domain, a stop before the start, or transfers that want connections of their own.
    pub fn new(
        params: &AppParams,
        payload: Bytes,
        (start, stop): (Instant, Option<Instant>),
        stream: Stream,
    ) -> Result<Self, ParameterError> {
        params.validate()?;
        let writes = match *params {
            AppParams::Bulk => Writes::Once(None),
            AppParams::Fixed(Transfer { size }) => Writes::Once(Some(size.in_bytes(payload))),
            AppParams::OnOff(bursts) => {
                Writes::paced(bursts.rate, bursts.chunk.unwrap_or(payload), Some(bursts), stream)?
            }
            AppParams::Cbr(Cbr { rate, chunk }) => Writes::paced(rate, chunk.unwrap_or(payload), None, stream)?,
            AppParams::Poisson(_) => {
                return Err(ParameterError::new("kind", "poisson", "what one connection carries"));
            }
        };
        if let Some(stop) = stop {
            ensure(stop > start, "stop", format_args!("{stop:?}"), "later than `start`")?;
        }
        let stop = stop.unwrap_or(Instant::MAX);
        Ok(Self { wake: start, writes, stop, next: Some((start, Action::Open)) })
    }

    /// When the application next acts.
    #[inline]
    pub fn next_wake(&self) -> Option<Instant> {
        (self.wake != Instant::MAX).then_some(self.wake)
    }

    /// Whether it does nothing up to `at`.
    #[inline]
    pub fn is_free_until(&self, at: Instant) -> bool {
        self.wake > at
    }

    /// Whether it writes nothing but whole segments of `payload`.
    pub fn writes_whole(&self, payload: Bytes) -> bool {
        match &self.writes {
            Writes::Once(size) => size.is_none(),
            Writes::Paced(paced) => paced.chunk.get().is_multiple_of(payload.get()),
        }
    }

    /// What the application does by `now`, with the instant it was due; none when there is nothing more.
    pub fn poll(&mut self, now: Instant) -> Option<(Instant, Action)> {
        let at = self.next_wake().filter(|at| *at <= now)?;
        let action = if self.stop == at {
            (self.stop, self.next) = (Instant::MAX, None);
            Action::Stop
        } else {
            let (_, action) = self.next?;
            self.next = self.following(at, action);
            action
        };
        self.wake = self.next.map_or(self.stop, |(next, _)| next.min(self.stop));
        Some((at, action))
    }

    fn following(&mut self, at: Instant, action: Action) -> Option<(Instant, Action)> {
        match (&mut self.writes, action) {
            (_, Action::Close | Action::Stop) => None,
            (Writes::Once(size), Action::Open) => Some((at, Action::Write(size.unwrap_or(Bytes::MAX)))),
            (Writes::Once(size), Action::Write(_)) => size.map(|_| (at, Action::Close)),
            (Writes::Paced(paced), Action::Open) => Some((at, paced.first(at))),
            (Writes::Paced(paced), Action::Write(_)) => Some(paced.next(at)),
        }
    }
}

impl Writes {
    fn paced(rate: Rate, chunk: Bytes, bursts: Option<OnOff>, stream: Stream) -> Result<Self, ParameterError> {
        let interval = chunk / rate;
        ensure(interval >= LEAST_INTERVAL, "rate", format_args!("{rate:?}"), "less than a chunk in 100 ns")?;
        Ok(Self::Paced(Box::new(Paced { interval, chunk, bursts, burst_ends: Instant::MAX, stream })))
    }
}

impl Paced {
    fn first(&mut self, at: Instant) -> Action {
        if let Some(bursts) = self.bursts {
            self.burst_ends = at + self.length(bursts.on, bursts);
        }
        Action::Write(self.chunk)
    }

    fn next(&mut self, at: Instant) -> (Instant, Action) {
        let mut next = at + self.interval;
        if let Some(bursts) = self.bursts
            && next >= self.burst_ends
        {
            next = self.burst_ends + self.length(bursts.off, bursts);
            self.burst_ends = next + self.length(bursts.on, bursts);
        }
        (next, Action::Write(self.chunk))
    }

    fn length(&mut self, mean: Duration, bursts: OnOff) -> Duration {
        if !bursts.exponential {
            return mean;
        }
        let factor: f64 = self.stream.sample(&Exp1);
        Duration::from_secs_f64(mean.as_secs_f64() * factor)
    }
}

impl AppParams {
    /// Whether a connection's application draws from its stream.
    pub fn draws(&self) -> bool {
        matches!(self, Self::OnOff(bursts) if bursts.exponential)
    }
}

impl SizeDistribution {
    /// Refuses sizes that do not fit together where a packet has `payload` bytes.
    ///
    /// # Errors
    /// A greatest size below the least, or a mode outside.
    pub fn check(&self, payload: Bytes) -> Result<(), ParameterError> {
        let Self::Triangular(triangle) = self else { return Ok(()) };
        let (min, mode, max) = triangle.in_bytes(payload);
        ensure(max > min, "max", format_args!("{max:?}"), "more than `min`")?;
        ensure(min <= mode && mode <= max, "mode", format_args!("{mode:?}"), "a size from `min` to `max`")
    }

    /// A size where a packet has `payload` bytes, rounded to whole bytes, at least one.
    pub fn draw(&self, payload: Bytes, stream: &mut Stream) -> Bytes {
        let size = match self {
            Self::Constant(ConstantSize { value }) => return value.in_bytes(payload),
            Self::Triangular(triangle) => {
                let (min, mode, max) = triangle.in_bytes(payload);
                match Triangular::new(min.as_f64(), max.as_f64(), mode.as_f64()) {
                    Ok(triangle) => stream.sample(&triangle),
                    Err(_) => min.as_f64(),
                }
            }
            Self::Pareto(ParetoSize { min, shape }) => {
                let min = min.in_bytes(payload).as_f64();
                match Pareto::new(min, *shape) {
                    Ok(pareto) => stream.sample(&pareto),
                    Err(_) => min,
                }
            }
        };
        Bytes::new((libm::rint(size) as u64).max(1))
    }
}

impl TriangularSize {
    /// The least, the most likely and the greatest size.
    fn in_bytes(&self, payload: Bytes) -> (Bytes, Bytes, Bytes) {
        let (min, max) = (self.min.in_bytes(payload), self.max.in_bytes(payload));
        let middle = Bytes::new(min.get().midpoint(max.get()));
        (min, self.mode.map_or(middle, |mode| mode.in_bytes(payload)), max)
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

    /// A packet of a thousand bytes.
    const PAYLOAD: Bytes = Bytes::new(1000);

    fn acts(params: AppParams, start: u64, stop: Option<u64>, until: u64) -> Vec<(Instant, Action)> {
        let mut app = App::new(&params, PAYLOAD, (at(start), stop.map(at)), stream()).unwrap();
        core::iter::from_fn(|| app.poll(at(until))).collect()
    }

    fn fixed(size: Amount) -> AppParams {
        AppParams::Fixed(Transfer { size })
    }

    fn bursts(mbps: u64, on_ms: u64, off_ms: u64) -> OnOff {
        let rate = Rate::from_bps(mbps * 1_000_000);
        OnOff::new(rate, Duration::from_millis(on_ms), Duration::from_millis(off_ms))
    }

    #[test]
    fn bulk_opens_writes_and_breaks_off_at_its_stop() {
        let expected = [(at(5), Action::Open), (at(5), Action::Write(Bytes::MAX)), (at(90), Action::Stop)];
        assert_eq!(acts(AppParams::Bulk, 5, Some(90), 100), expected);
        assert_eq!(acts(AppParams::Bulk, 5, None, 100), expected[..2]);
    }

    #[test]
    fn a_transfer_closes_when_it_is_written() {
        let size = Bytes::new(1_000_000);
        let expected = [(at(0), Action::Open), (at(0), Action::Write(size)), (at(0), Action::Close)];
        assert_eq!(acts(fixed(Amount::Bytes(size)), 0, None, 100), expected);
        assert_eq!(acts(fixed(Amount::Packets(1000)), 0, None, 100), expected);
    }

    #[test]
    fn constant_bit_rate_writes_a_chunk_each_interval() {
        // 1000 B at 1 Mbit/s: each 8 ms.
        let writes = |cbr| acts(AppParams::Cbr(cbr), 0, None, 20).into_iter().skip(1).map(|(t, _)| t).collect();
        let segments: Vec<_> = writes(Cbr::new(Rate::from_bps(1_000_000)));
        assert_eq!(segments, [at(0), at(8), at(16)]);
        let halves: Vec<_> = writes(Cbr { chunk: Some(Bytes::new(500)), ..Cbr::new(Rate::from_bps(500_000)) });
        assert_eq!(halves, segments);
    }

    #[test]
    fn bursts_and_pauses_alternate() {
        let params = OnOff { exponential: false, ..bursts(1, 16, 84) };
        let writes: Vec<_> = acts(AppParams::OnOff(params), 0, None, 210).into_iter().skip(1).map(|(t, _)| t).collect();
        assert_eq!(writes, [at(0), at(8), at(100), at(108), at(200), at(208)]);
    }

    #[test]
    fn exponential_bursts_have_their_mean_share() {
        let written = acts(AppParams::OnOff(bursts(8, 100, 300)), 0, None, 1_000_000).len() as f64 * 1000.0;
        // A quarter of 1 MB/s for 1000 s.
        assert!((written / 250e6 - 1.0).abs() < 0.05, "{written}");
    }

    #[test]
    fn sizes_have_their_means() {
        let mut stream = stream();
        let mut mean =
            |d: SizeDistribution| (0..50_000).map(|_| d.draw(PAYLOAD, &mut stream).as_f64()).sum::<f64>() / 50_000.0;
        let (min, max) = (Amount::Bytes(Bytes::new(1500)), Amount::Packets(6000));
        // (min + max + mode)/3; for Pareto shape·min/(shape − 1).
        let triangle = mean(SizeDistribution::Triangular(TriangularSize::new(min, max)));
        assert!((triangle / 3_000_750.0 - 1.0).abs() < 0.01);
        assert!((mean(SizeDistribution::Pareto(ParetoSize { min, shape: 3.0 })) / 2250.0 - 1.0).abs() < 0.02);
        assert_eq!(mean(SizeDistribution::Constant(ConstantSize { value: min })), 1500.0);
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
        let refuse = |params, stop| App::new(&params, PAYLOAD, (at(10), stop), stream()).unwrap_err().key;
        assert_eq!(refuse(fixed(Amount::Packets(0)), None), "size");
        assert_eq!(refuse(AppParams::Bulk, Some(at(10))), "stop");
        assert_eq!(refuse(AppParams::Cbr(Cbr::new(Rate::from_bps(90_000_000_000))), None), "rate");
        let one = Amount::Packets(1);
        let poisson = Poisson::new(PerSecond::new(1.0), SizeDistribution::Constant(ConstantSize { value: one }));
        assert_eq!(refuse(AppParams::Poisson(poisson), None), "kind");
        let triangle = |max, mode| SizeDistribution::Triangular(TriangularSize { min: one, max, mode });
        assert_eq!(triangle(Amount::Bytes(PAYLOAD), None).check(PAYLOAD).unwrap_err().key, "max");
        assert_eq!(triangle(Amount::Packets(3), Some(Amount::Packets(4))).check(PAYLOAD).unwrap_err().key, "mode");
    }
}
