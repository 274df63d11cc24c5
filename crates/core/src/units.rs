// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time, bytes and rates as integer types.
//!
//! Only operators that mean something exist: `Bytes / Rate` is a [`Duration`] (rounded up, so a link never
//! sends faster than its rate) and `Rate * Duration` is [`Bytes`] (rounded down). Time that runs backwards panics.
//! No duration that is computed is longer than [`Duration::MAX`], and an instant that grows from packet to packet stops at
//! [`Instant::LATEST`], so that their sum, which is on every packet's path, need not be checked.
//!
//! [`Duration`] is ours and not `core::time::Duration`: eight bytes in place of sixteen, one addition in place of
//! a carry, and a packet holds several of them.

mod text;

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

pub use text::{LONGEST, Quantity, QuantityError, number};

const NS_PER_S: u64 = 1_000_000_000;

/// A point of time: nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of time in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// The largest packet: what IPv4's total length can count (RFC 791).
pub const MOST_PACKET: Bytes = Bytes(65_535);

/// A rate in bit/s. Never zero where it divides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

/// Bytes, or packets whatever their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes on the wire.
    Bytes(Bytes),
    /// Whole packets.
    Packets(u64),
}

/// A number of packets that need not be whole, such as a mean; in a file a plain number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Packets(pub f64);

/// A frequency \[Hz\].
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Frequency(f64);

/// A number of events a second.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct PerSecond(f64);

/// A whole number to the nearest `f64`. One of 63 bits, as all are but the marks for "never" and "endless", takes one
/// instruction, any other eight, and a packet's path has many.
#[inline(always)]
pub(crate) fn to_f64(whole: u64) -> f64 {
    #[cold]
    #[inline(never)] // or the compiler makes one of both ways
    fn large(whole: u64) -> f64 {
        whole as f64
    }
    i64::try_from(whole).map_or_else(|_| large(whole), |whole| whole as f64)
}

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const MAX: Self = Self(u64::MAX);
    /// 292 years: later than any run, and [`Duration::MAX`] can still be added.
    pub const LATEST: Self = Self(1 << 63);

    /// The instant `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, to the nearest `f64`.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        to_f64(self.0) / NS_PER_S as f64
    }

    /// The time from `earlier` to `self`, or zero if `earlier` is the later of the two.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// 146 years: longer than any run.
    pub const MAX: Self = Self(1 << 62);

    /// A span of `ns` nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A span of `s` seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * NS_PER_S)
    }

    /// A span of `s` seconds, rounded to the nanosecond; negative and not-a-number give zero.
    #[inline]
    pub fn from_secs_f64(s: f64) -> Self {
        // To 2⁵² a number of less than 2⁵¹ is added without its fraction, and stands in the lowest bits.
        const ONES: f64 = (1u64 << 52) as f64;
        let ns = s * NS_PER_S as f64;
        if ns.to_bits() < (ONES / 2.0).to_bits() {
            return Self((ns + ONES).to_bits() - ONES.to_bits());
        }
        Self((libm::rint(ns) as i64).max(0) as u64).min(Self::MAX)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, to the nearest `f64`.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        to_f64(self.0) / NS_PER_S as f64
    }

    /// `self - other`, or zero where that would be negative.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// True for the empty span.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// More than any queue holds.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bytes, to the nearest `f64`.
    #[inline]
    pub fn as_f64(self) -> f64 {
        to_f64(self.0)
    }

    /// `self - other`, or zero where that would be negative.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// `n` bit/s.
    #[inline]
    pub const fn from_bps(n: u64) -> Self {
        Self(n)
    }

    /// The rate in bit/s.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The rate in byte/s, to the nearest `f64`.
    #[inline]
    pub fn as_bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
}

impl Amount {
    /// The bytes that this is, with packets of `packet` bytes.
    pub fn in_bytes(self, packet: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Packets(n) => Bytes::new(n.saturating_mul(packet.get())),
        }
    }
}

/// A packet has at least a byte; what else packets and bytes are to each other is not known.
impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bytes(a), Self::Bytes(b)) => a.partial_cmp(b),
            (Self::Packets(a), Self::Packets(b)) => a.partial_cmp(b),
            (Self::Bytes(Bytes(0)), Self::Packets(1..)) | (Self::Packets(0), Self::Bytes(Bytes(1..))) => {
                Some(Ordering::Less)
            }
            (Self::Packets(1..), Self::Bytes(Bytes(0))) | (Self::Bytes(Bytes(1..)), Self::Packets(0)) => {
                Some(Ordering::Greater)
            }
            _ => None,
        }
    }
}

impl Frequency {
    /// `hz` Hz.
    #[inline]
    pub const fn from_hz(hz: f64) -> Self {
        Self(hz)
    }

    /// The frequency in Hz.
    #[inline]
    pub const fn as_hz(self) -> f64 {
        self.0
    }
}

impl PerSecond {
    /// `n` a second.
    #[inline]
    pub const fn new(n: f64) -> Self {
        Self(n)
    }

    /// How many a second.
    #[inline]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, d: Duration) -> Instant {
        Instant(self.0 + d.0)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// # Panics
    /// If `earlier` is later than `self`: time ran backwards.
    #[inline]
    fn sub(self, earlier: Instant) -> Duration {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => Duration(ns),
            None => less_than_nothing("time ran backwards", self, earlier),
        }
    }
}

/// Out of the way: whoever formats a number in place keeps it in memory.
#[cold]
#[inline(never)]
fn less_than_nothing(what: &str, from: impl fmt::Debug, taken: impl fmt::Debug) -> ! {
    panic!("{what}: {from:?} - {taken:?}")
}

/// Sums and differences of amounts.
macro_rules! sums {
    ($type:ident, $negative:literal) => {
        impl Add for $type {
            type Output = $type;
            #[inline]
            fn add(self, other: $type) -> $type {
                $type(self.0 + other.0)
            }
        }

        impl AddAssign for $type {
            #[inline]
            fn add_assign(&mut self, other: $type) {
                self.0 += other.0;
            }
        }

        impl Sub for $type {
            type Output = $type;
            /// # Panics
            /// If `other` is more than `self`.
            #[inline]
            fn sub(self, other: $type) -> $type {
                match self.0.checked_sub(other.0) {
                    Some(left) => $type(left),
                    None => less_than_nothing($negative, self, other),
                }
            }
        }
    };
}

sums!(Duration, "a negative span");
sums!(Bytes, "fewer than no bytes");

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n)).min(Duration::MAX)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}

impl Div<Rate> for Bytes {
    type Output = Duration;
    /// The time that `self` takes at `rate`, rounded up to the nanosecond.
    ///
    /// # Panics
    /// If the rate is zero.
    #[inline]
    fn div(self, rate: Rate) -> Duration {
        self.time_at(rate)
    }
}

impl Mul<Duration> for Rate {
    type Output = Bytes;
    /// The whole bytes that fit into `d` at this rate.
    #[inline]
    fn mul(self, d: Duration) -> Bytes {
        Bytes(narrow(u128::from(self.0) * u128::from(d.0) / u128::from(8 * NS_PER_S)))
    }
}

impl Bytes {
    #[inline]
    fn time_at(self, rate: Rate) -> Duration {
        match self.0.checked_mul(8 * NS_PER_S) {
            Some(scaled) => Duration(scaled.div_ceil(rate.0)).min(Duration::MAX),
            None => self.long_time_at(rate),
        }
    }

    /// The same where 64 bits do not do.
    #[cold]
    fn long_time_at(self, rate: Rate) -> Duration {
        Duration(narrow((u128::from(self.0) * u128::from(8 * NS_PER_S)).div_ceil(u128::from(rate.0))))
            .min(Duration::MAX)
    }
}

/// The number, or the greatest that fits.
fn narrow(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:09}", self.0 % NS_PER_S);
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{} s", self.0 / NS_PER_S),
            decimals => write!(f, "{}.{decimals} s", self.0 / NS_PER_S),
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

impl fmt::Debug for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.0)
    }
}

impl fmt::Debug for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_over_rate_rounds_up() {
        // 1500 B at 10 Mbit/s: 12000 bit / 10^7 bit/s = 1.2 ms exactly.
        assert_eq!(Bytes::new(1500) / Rate::from_bps(10_000_000), Duration::from_micros(1200));
        // 1 B at 3 bit/s: 8/3 s = 2.666…67 s, the last digit rounded up.
        assert_eq!(Bytes::new(1) / Rate::from_bps(3), Duration::from_nanos(2_666_666_667));
        // Past 64 bits on the way: 4 GB at 1 Gbit/s is 32 s.
        assert_eq!(Bytes::new(4_000_000_000) / Rate::from_bps(1_000_000_000), Duration::from_secs(32));
    }

    #[test]
    fn rate_times_duration_rounds_down() {
        // 10 Mbit/s for 1.2 ms less a nanosecond: one byte short of a whole packet.
        let d = Duration::from_nanos(1_199_999);
        assert_eq!(Rate::from_bps(10_000_000) * d, Bytes::new(1499));
    }

    #[test]
    fn times_are_shown_as_a_person_writes_them() {
        let shown = [0, 3_000_000_000, 250_000_000, 1_000_000_001].map(|ns| format!("{:?}", Duration::from_nanos(ns)));
        assert_eq!(shown, ["0 s", "3 s", "0.25 s", "1.000000001 s"]);
        assert_eq!(format!("{:?}", Instant::from_nanos(1)), "0.000000001 s");
    }

    #[test]
    fn what_is_too_long_for_time_lasts_longer_than_any_run() {
        assert_eq!(Duration::from_secs_f64(1e300), Duration::MAX);
        assert_eq!(Duration::from_secs(4_000_000_000) * 2, Duration::MAX);
        // 8·10⁹ s are 253 years.
        assert_eq!(Bytes::new(1_000_000_000) / Rate::from_bps(1), Duration::MAX);
        assert_eq!(Bytes::MAX / Rate::from_bps(1), Duration::MAX);
        assert_eq!(Rate::from_bps(u64::MAX) * Duration::MAX, Bytes::MAX);
        assert!(Instant::ZERO + LONGEST < Instant::LATEST);
        assert!(Instant::LATEST < Instant::LATEST + Duration::MAX);
        assert!(Instant::LATEST + Duration::MAX < Instant::MAX);
    }

    #[test]
    #[should_panic(expected = "time ran backwards")]
    fn time_never_runs_backwards() {
        let _ = Instant::ZERO - Instant::from_nanos(1);
    }

    #[test]
    fn seconds_round_to_the_nanosecond() {
        assert_eq!(Duration::from_secs_f64(0.003), Duration::from_millis(3));
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        // Halves to the even one, whichever way it is computed.
        let (half, large) = (0.5e-9, (1u64 << 51) as f64);
        assert_eq!([1.0, 3.0, 5.0].map(|n| Duration::from_secs_f64(n * half).as_nanos()), [0, 2, 2]);
        for ns in [large - 0.5, large, large + 1.0, 3.0 * large + 7.0] {
            assert_eq!(Duration::from_secs_f64(ns / 1e9).as_nanos() as f64, libm::rint(ns / 1e9 * 1e9), "{ns}");
        }
    }
}
