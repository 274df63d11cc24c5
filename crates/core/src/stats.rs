// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measuring: the measured span, a histogram, a time average, the meter of a queue.
//!
//! All of them take the instants of what they count, so they give the same figures whether an element is
//! driven in time, late, or ahead of time.

use crate::units::{Bytes, Duration, Instant};

/// The measured part of a run: from the end of the warm-up to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first instant that counts.
    pub from: Instant,
    /// The first instant that no longer counts.
    pub until: Instant,
}

impl Span {
    /// All time: what counts unless a scenario says otherwise.
    pub const ALWAYS: Self = Self { from: Instant::ZERO, until: Instant::MAX };

    /// Whether what happens at `at` counts.
    #[inline]
    pub fn contains(&self, at: Instant) -> bool {
        self.from <= at && at < self.until
    }

    /// How much of `from..until` counts.
    #[inline]
    pub fn overlap(&self, from: Instant, until: Instant) -> Duration {
        until.min(self.until).saturating_since(from.max(self.from))
    }

    /// The length of the span.
    pub fn length(&self) -> Duration {
        self.until.saturating_since(self.from)
    }
}

/// Buckets per octave, as a power of two: quantiles are within 2⁻⁶ = 1.6 % of the value.
const PRECISION: u32 = 6;

/// Buckets by which a histogram grows: half a cache line of them.
const GROWTH: usize = 8;

/// A histogram of durations with 64 buckets an octave, exact below 64 ns. Its mean is exact. It holds the buckets between the
/// least and the greatest value and no others, because a network of many flows has one for each.
#[derive(Clone, Debug, Default)]
pub struct LogHistogram {
    counts: Vec<u32>,
    /// The bucket of the first count.
    first: usize,
    sum_ns: u64,
}

impl LogHistogram {
    /// Counts one value.
    #[inline(always)]
    pub fn record(&mut self, value: Duration) {
        let ns = value.as_nanos();
        let bucket = Self::bucket(ns);
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.begin(bucket),
        }
        self.sum_ns += ns;
    }

    /// Counts the first value of a bucket that there is no room for yet.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, bucket: usize) {
        let first = bucket / GROWTH * GROWTH;
        if self.counts.is_empty() {
            self.first = first;
        }
        let before = self.first.saturating_sub(first);
        let len = (before + self.counts.len()).max(first + GROWTH - self.first.min(first));
        let mut counts = Vec::with_capacity(len);
        counts.resize(before, 0);
        counts.append(&mut self.counts);
        counts.resize(len, 0);
        self.first -= before;
        counts[bucket - self.first] += 1;
        self.counts = counts;
    }

    /// Counts what another has counted, too.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, &count) in (other.first..).zip(&other.counts).filter(|(_, count)| **count > 0) {
            if self.counts.get(bucket.wrapping_sub(self.first)).is_none() {
                self.begin(bucket);
                self.counts[bucket - self.first] -= 1;
            }
            self.counts[bucket - self.first] += count;
        }
        self.sum_ns += other.sum_ns;
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|&n| u64::from(n)).sum()
    }

    /// The mean in seconds; none without values.
    pub fn mean_s(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64 / 1e9)
    }

    /// The value in seconds that a share `q` of the values do not exceed, to 1.6 %; none without values.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = (libm::ceil(q * count as f64) as u64).clamp(1, count);
        let mut seen = 0;
        for (bucket, &n) in (self.first..).zip(&self.counts) {
            seen += u64::from(n);
            if seen >= rank {
                return Some(Self::middle_ns(bucket) / 1e9);
            }
        }
        None
    }

    #[inline]
    fn bucket(ns: u64) -> usize {
        // Below one octave's worth of buckets each value has its own.
        let octave = 63 - PRECISION - (ns | 1 << PRECISION).leading_zeros();
        (((octave as u64) << PRECISION) + (ns >> octave)) as usize
    }

    fn middle_ns(bucket: usize) -> f64 {
        let bucket = bucket as u64;
        if bucket >> (PRECISION + 1) == 0 {
            return bucket as f64;
        }
        let octave = (bucket >> PRECISION) - 1;
        let lowest = ((1 << PRECISION) + (bucket & ((1 << PRECISION) - 1))) << octave;
        lowest as f64 + (1u64 << octave) as f64 / 2.0
    }
}

/// The mean over time of a value that changes in steps.
#[derive(Clone, Copy, Debug)]
pub struct TimeAverage {
    span: Span,
    value: f64,
    since: Instant,
    area: f64,
}

impl TimeAverage {
    /// Averages over `span`, starting with `value`.
    pub fn new(span: Span, value: f64) -> Self {
        Self { span, value, since: Instant::ZERO, area: 0.0 }
    }

    /// The value is `value` from `now` on.
    #[inline]
    pub fn set(&mut self, now: Instant, value: f64) {
        self.area += self.value * self.span.overlap(self.since, now).as_nanos() as f64;
        self.since = now;
        self.value = value;
    }

    /// The mean over the part of the span that lies before `now`; none if that is empty.
    pub fn mean(&self, now: Instant) -> Option<f64> {
        let time = self.span.overlap(Instant::ZERO, now).as_nanos() as f64;
        let area = self.area + self.value * self.span.overlap(self.since, now).as_nanos() as f64;
        (time > 0.0).then(|| area / time)
    }
}

/// What a queue went through in the measured span.
#[derive(Clone, Debug)]
pub struct Meter {
    span: Span,
    /// Packets that came, whether or not they found room.
    pub arrivals: u64,
    /// Packets turned away on arrival, or dropped from the buffer by its management.
    pub drops: u64,
    /// Packets lost after they left the buffer: at the radio, or by the link's loss model.
    pub losses: u64,
    /// Bytes that left; of a packet that the line was sending as the span began or ended, the part within.
    pub departed: Bytes,
    /// Time in the queue of the packets that left.
    pub delay: LogHistogram,
    byte_ns: u128,
    empty: Duration,
}

impl Meter {
    /// A meter that counts within `span`.
    pub fn new(span: Span) -> Self {
        Self {
            span,
            arrivals: 0,
            drops: 0,
            losses: 0,
            departed: Bytes::ZERO,
            delay: LogHistogram::default(),
            byte_ns: 0,
            empty: Duration::ZERO,
        }
    }

    /// A packet came; `accepted` if it found room.
    #[inline]
    pub fn arrive(&mut self, now: Instant, accepted: bool) {
        if self.span.contains(now) {
            self.arrivals += 1;
            self.drops += u64::from(!accepted);
        }
    }

    /// Packets that had found room were dropped at `now`.
    pub fn drop_held(&mut self, now: Instant, packets: usize) {
        if self.span.contains(now) {
            self.drops += packets as u64;
        }
    }

    /// A packet that came at `arrived` left the buffer at `now`. Its bytes are counted [as they are sent](Self::send).
    #[inline]
    pub fn depart(&mut self, arrived: Instant, now: Instant) {
        if self.span.contains(now) {
            self.delay.record(now - arrived);
        }
    }

    /// A packet comes at `arrived`, leaves the buffer at `start`, and its `size` bytes are sent until `end`: an arrival, the
    /// time in which it is held, its departure and its sending, with the span asked once.
    #[inline]
    pub fn pass(&mut self, arrived: Instant, start: Instant, end: Instant, size: Bytes) {
        if self.span.from <= arrived && end <= self.span.until && start < end {
            let wait = start.saturating_since(arrived);
            self.arrivals += 1;
            self.byte_ns += u128::from(size.get()) * u128::from(wait.as_nanos());
            self.delay.record(wait);
            self.departed += size;
        } else {
            self.pass_in_part(arrived, start, end, size);
        }
    }

    /// A packet that waits for nothing comes at `now`, and its `size` bytes are sent until `end`.
    #[inline(always)]
    pub fn pass_at_once(&mut self, now: Instant, end: Instant, size: Bytes) {
        if self.span.from <= now && end <= self.span.until && now < end {
            self.arrivals += 1;
            self.delay.record(Duration::ZERO);
            self.departed += size;
        } else {
            self.pass_in_part(now, now, end, size);
        }
    }

    #[cold]
    fn pass_in_part(&mut self, arrived: Instant, start: Instant, end: Instant, size: Bytes) {
        if end < self.span.from {
            return;
        }
        self.arrive(arrived, true);
        if start > arrived {
            self.hold(arrived, start, size);
        }
        self.depart(arrived, start);
        self.send(start, end, size);
    }

    /// `size` bytes were sent from `start` until `end`, evenly.
    #[inline]
    pub fn send(&mut self, start: Instant, end: Instant, size: Bytes) {
        let whole = self.span.from <= start && end <= self.span.until;
        self.departed += if whole { size } else { self.part_of(start, end, size) };
    }

    /// `size` bytes were sent at once.
    pub fn send_at_once(&mut self, now: Instant, size: Bytes) {
        if self.span.contains(now) {
            self.departed += size;
        }
    }

    /// How many of `size` bytes, sent from `start` until `end`, are sent within the span.
    #[cold]
    pub(crate) fn part_of(&self, start: Instant, end: Instant, size: Bytes) -> Bytes {
        let (part, whole) = (self.span.overlap(start, end).as_nanos(), (end - start).as_nanos());
        if part == 0 {
            return Bytes::ZERO;
        }
        Bytes::new((u128::from(size.get()) * u128::from(part) / u128::from(whole)) as u64)
    }

    /// A packet was lost at `now`.
    #[inline]
    pub fn lose(&mut self, now: Instant) {
        self.losses += u64::from(self.span.contains(now));
    }

    /// The queue held `bytes` from `from` until `until`.
    #[inline]
    pub fn hold(&mut self, from: Instant, until: Instant, bytes: Bytes) {
        let time = self.span.overlap(from, until);
        if bytes == Bytes::ZERO {
            self.empty += time;
        } else {
            self.byte_ns += u128::from(bytes.get()) * u128::from(time.as_nanos());
        }
    }

    /// Packets that left.
    pub fn departures(&self) -> u64 {
        self.delay.count()
    }

    /// The run is over at `now`: a span that reaches further ends there.
    pub fn close(&mut self, now: Instant) {
        self.span.until = self.span.until.min(now);
    }

    /// The mean number of bytes held over the span.
    pub fn mean_bytes(&self) -> f64 {
        self.byte_ns as f64 / self.span.length().as_nanos() as f64
    }

    /// The share of the packets that came which were dropped or lost; none if none came. A packet that came before the span
    /// may be lost in it, and one that came in it later: a steady queue gives at its end what it took at the start, where a count of
    /// those alone that came in the span would lack what still waits. Where more were lost than came the share is 1.
    pub fn loss_rate(&self) -> Option<f64> {
        let lost = self.drops + self.losses;
        (self.arrivals > 0).then(|| lost as f64 / self.arrivals.max(lost) as f64)
    }

    /// The share of the span in which nothing was held.
    pub fn empty_fraction(&self) -> f64 {
        self.empty.as_secs_f64() / self.span.length().as_secs_f64()
    }

    /// The span that is measured.
    pub fn span(&self) -> Span {
        self.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn quantiles_are_within_a_bucket_and_the_mean_is_exact() {
        let mut histogram = LogHistogram::default();
        for ms in 1..=1000 {
            histogram.record(Duration::from_millis(ms));
        }
        // Mean of 1…1000 ms is 500.5 ms; the 95th percentile is 950 ms.
        assert_eq!(histogram.mean_s(), Some(0.5005));
        let p95 = histogram.quantile_s(0.95).unwrap();
        assert!((p95 / 0.95 - 1.0).abs() < 1.0 / 64.0, "{p95}");
        assert_eq!(LogHistogram::default().quantile_s(0.5), None);
    }

    #[test]
    fn a_histogram_holds_what_lies_between_its_extremes() {
        let mut histogram = LogHistogram::default();
        let (low, high) = (Duration::from_millis(40), Duration::from_millis(60));
        for value in [high, low, low, low] {
            histogram.record(value);
        }
        assert_eq!((histogram.count(), histogram.mean_s()), (4, Some(0.045)));
        let within =
            |q: f64, value: Duration| (histogram.quantile_s(q).unwrap() / value.as_secs_f64() - 1.0).abs() < 1.0 / 64.0;
        assert!(within(0.75, low) && within(0.76, high), "{histogram:?}");
        // From 40 to 60 ms it is a good half of an octave, and one growth more at either end.
        assert!(histogram.counts.len() <= 37 + 2 * GROWTH, "{}", histogram.counts.len());
    }

    #[test]
    fn merged_histograms_are_as_one_that_counted_everything() {
        let values = [3, 90, 4_000, 4_001, 70_000, 1_000_000_000];
        for cut in 0..=values.len() {
            let (mut all, mut first, mut second) = <(LogHistogram, LogHistogram, LogHistogram)>::default();
            for (i, value) in values.map(Duration::from_nanos).into_iter().enumerate() {
                all.record(value);
                if i < cut { first.record(value) } else { second.record(value) }
            }
            second.merge(&first);
            assert_eq!((second.count(), second.mean_s()), (all.count(), all.mean_s()));
            for q in [0.1, 0.3, 0.5, 0.9, 1.0] {
                assert_eq!(second.quantile_s(q), all.quantile_s(q));
            }
        }
    }

    #[test]
    fn every_bucket_holds_its_own_middle() {
        for bucket in 0..2000 {
            assert_eq!(LogHistogram::bucket(LogHistogram::middle_ns(bucket) as u64), bucket);
        }
    }

    #[test]
    fn a_time_average_weighs_by_time_and_skips_the_warm_up() {
        let span = Span { from: at(100), until: at(200) };
        let mut average = TimeAverage::new(span, 7.0);
        average.set(at(100), 1.0);
        average.set(at(175), 5.0);
        // 75 ms of 1 and 25 ms of 5: (75 + 125)/100 = 2.
        assert_eq!(average.mean(at(250)), Some(2.0));
    }

    #[test]
    fn a_meter_cuts_at_both_ends_of_the_span() {
        let mut meter = Meter::new(Span { from: at(100), until: at(200) });
        meter.hold(at(0), at(150), Bytes::new(300));
        meter.hold(at(150), at(180), Bytes::ZERO);
        meter.hold(at(180), at(300), Bytes::new(100));
        // 50 ms of 300 B and 20 ms of 100 B over 100 ms: 170 B; empty 30 ms of 100.
        assert!((meter.mean_bytes() - 170.0).abs() < 1e-9);
        assert!((meter.empty_fraction() - 0.3).abs() < 1e-12);
        meter.depart(at(0), at(200));
        assert_eq!(meter.departures(), 0);
    }

    #[test]
    fn what_came_before_the_span_and_is_lost_in_it_makes_no_rate_above_one() {
        let mut meter = Meter::new(Span { from: at(100), until: at(200) });
        assert_eq!(meter.loss_rate(), None);
        for ms in [90, 110, 120, 130, 140] {
            meter.arrive(at(ms), true);
        }
        // Two of the four that came in the span; with the one that came before and two more, as many as came and one more.
        meter.lose(at(150));
        meter.drop_held(at(150), 1);
        assert_eq!(meter.loss_rate(), Some(0.5));
        meter.drop_held(at(160), 3);
        assert_eq!(meter.loss_rate(), Some(1.0));
    }

    #[test]
    fn a_packet_on_the_line_at_an_end_of_the_span_counts_in_part() {
        let mut meter = Meter::new(Span { from: at(100), until: at(200) });
        // A line of 8 kB/s is busy all the time: 100 ms of it are 800 B.
        for start in [0, 75, 150] {
            meter.send(at(start), at(start + 75), Bytes::new(600));
        }
        assert_eq!(meter.departed, Bytes::new(400 + 400));
        meter.send_at_once(at(100), Bytes::new(5));
        meter.send_at_once(at(200), Bytes::new(7));
        assert_eq!(meter.departed, Bytes::new(805));
    }
}
