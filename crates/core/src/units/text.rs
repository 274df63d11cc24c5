// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quantities as a person writes them: `"3 ms"`, `"10 Mbit/s"`, `"19.5 kB"`.
//!
//! [`FromStr`] reads them, [`Display`](fmt::Display) writes them as they are read.

use core::fmt;
use core::str::FromStr;

use super::{Amount, Bytes, Duration, Frequency, PerSecond, Rate};

/// The longest time that may be written, over 31 years: an instant holds the sum of many.
pub const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// A text that is no quantity of the kind that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?}: wanted {wanted}")]
pub struct QuantityError {
    /// The text.
    pub value: String,
    /// What would do, with its unit.
    pub wanted: String,
}

/// A unit's name and how many of the least unit it is.
type Unit = (&'static str, f64);

const TIMES: &[Unit] =
    &[("ns", 1.0), ("us", 1e3), ("μs", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
const SIZES: &[Unit] = &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("KiB", 1024.0), ("MiB", 1_048_576.0)];
const RATES: &[Unit] = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const FREQUENCIES: &[Unit] = &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];
const PER_SECOND: &[Unit] = &[("/s", 1.0), ("/min", 1.0 / 60.0)];
const PACKETS: &[Unit] = &[("packets", 1.0), ("packet", 1.0)];

/// A quantity that is written with its unit.
pub trait Quantity: FromStr<Err = QuantityError> {
    /// What is wanted where a text is none, with an example.
    const WANTED: &'static str;
    /// The same in short, without the example.
    const NOUN: &'static str;
    /// The units that it may have, for a person.
    const UNITS: &'static str;
    /// A regular expression of its texts.
    const PATTERN: &'static str;
}

/// Why a text is no quantity.
enum Unfit {
    /// It is no number with one of the units.
    Other,
    Negative,
    TooLarge,
}

/// `"2.5 ms"` → 2.5 × the unit's scale.
fn scaled(text: &str, units: &[Unit]) -> Result<f64, Unfit> {
    let value = signed(text, units).filter(|value| !value.is_nan()).ok_or(Unfit::Other)?;
    match value {
        f64::INFINITY => Err(Unfit::TooLarge),
        _ if value < 0.0 => Err(Unfit::Negative),
        _ => Ok(value),
    }
}

fn signed(text: &str, units: &[Unit]) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic() || c == '/')?;
    // An exponent is part of the number: "1e6 bit/s".
    let split = match text[split..].strip_prefix(['e', 'E']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => {
            split + 1 + rest.find(|c: char| c.is_alphabetic() || c == '/')?
        }
        _ => split,
    };
    let (number, unit) = text.split_at(split);
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    let value: f64 = number.trim().replace('_', "").parse().ok()?;
    Some(value * scale)
}

fn whole(value: f64) -> Result<u64, Unfit> {
    if value <= 9e18 { Ok(libm::rint(value) as u64) } else { Err(Unfit::TooLarge) }
}

/// Tells how a quantity is read.
macro_rules! quantity {
    ($type:ty: $noun:literal, $wanted:literal, $units:literal, $pattern:literal, $parse:expr) => {
        impl Quantity for $type {
            const WANTED: &'static str = $wanted;
            const NOUN: &'static str = $noun;
            const UNITS: &'static str = $units;
            const PATTERN: &'static str = $pattern;
        }

        impl FromStr for $type {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                let parse: fn(&str) -> Result<$type, Unfit> = $parse;
                parse(text).map_err(|unfit| QuantityError {
                    value: text.into(),
                    wanted: match unfit {
                        Unfit::Other => $wanted.into(),
                        Unfit::Negative => concat!($noun, " that is not negative").into(),
                        Unfit::TooLarge => concat!($noun, " that is not so large").into(),
                    },
                })
            }
        }
    };
}

quantity!(
    Duration: "a time",
    "a time with its unit, e.g. \"3 ms\"",
    "ns, us, µs, ms, s, min, h",
    r"^[0-9._eE+-]+ *(ns|us|µs|μs|ms|s|min|h)$",
    |text| {
        let time = Duration::from_nanos(whole(scaled(text, TIMES)?)?);
        if time <= LONGEST { Ok(time) } else { Err(Unfit::TooLarge) }
    }
);
quantity!(
    Bytes: "a size",
    "a size with its unit, e.g. \"19.5 kB\"",
    "B, kB, MB, GB, KiB, MiB",
    r"^[0-9._eE+-]+ *(B|kB|MB|GB|KiB|MiB)$",
    |text| Ok(Bytes::new(whole(scaled(text, SIZES)?)?))
);
quantity!(
    Amount: "a size",
    "a size, e.g. \"19.5 kB\" or \"60 packets\"",
    "as a size, or packets",
    r"^[0-9._eE+-]+ *(B|kB|MB|GB|KiB|MiB|packets?)$",
    |text| match scaled(text, PACKETS) {
        Ok(packets) if libm::rint(packets) != packets => Err(Unfit::Other),
        Ok(packets) => Ok(Amount::Packets(whole(packets)?)),
        Err(Unfit::Other) => Ok(Amount::Bytes(Bytes::new(whole(scaled(text, SIZES)?)?))),
        Err(unfit) => Err(unfit),
    }
);
quantity!(
    Rate: "a rate",
    "a rate with its unit, e.g. \"10 Mbit/s\"",
    "bit/s, kbit/s, Mbit/s, Gbit/s",
    r"^[0-9._eE+-]+ *[kMG]?bit/s$",
    |text| Ok(Rate::from_bps(whole(scaled(text, RATES)?)?))
);
quantity!(
    Frequency: "a frequency",
    "a frequency with its unit, e.g. \"60 Hz\"",
    "Hz, kHz, MHz, GHz",
    r"^[0-9._eE+-]+ *[kMG]?Hz$",
    |text| scaled(text, FREQUENCIES).map(Frequency::from_hz)
);
quantity!(
    PerSecond: "a number per second",
    "a number per second, e.g. \"0.26 /s\"",
    "/s, /min",
    r"^[0-9._eE+-]+ */(s|min)$",
    |text| scaled(text, PER_SECOND).map(PerSecond::new)
);

/// A value as a number in units without a prefix, with the ending that a column of such values has: `"5 kB"` is 5000 and
/// `"bytes"`, a plain number has the ending `""`. None for what is no quantity.
pub fn number(text: &str) -> Option<(f64, &'static str)> {
    let kinds = [(TIMES, "s"), (SIZES, "bytes"), (PACKETS, "packets"), (RATES, "bps"), (FREQUENCIES, "hz")];
    let kinds = kinds.into_iter().chain([(PER_SECOND, "per_s")]);
    let found = kinds.filter_map(|(units, ending)| {
        // Times are in ns; dividing, unlike a product with 10⁻⁹, gives the nearest number to what was written.
        let plain = if ending == "s" { 1e9 } else { 1.0 };
        signed(text, units).map(|value| (value / plain, ending))
    });
    let plain = text.trim().parse().ok().map(|value| (value, ""));
    found.chain(plain).find(|(value, _)| value.is_finite())
}

/// Writes a whole number of the largest unit that makes one.
fn write_whole(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit], of_nothing: &str) -> fmt::Result {
    let fits = |&&(_, scale): &&Unit| value > 0 && value.is_multiple_of(scale as u64);
    match units.iter().filter(fits).max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((unit, scale)) => write!(f, "{} {unit}", value / *scale as u64),
        None => write!(f, "0 {of_nothing}"),
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(f, self.as_nanos(), TIMES, "s")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(f, self.get(), SIZES, "B")
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(f, self.as_bps(), RATES, "bit/s")
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Bytes(bytes) => bytes.fmt(f),
            Amount::Packets(1) => f.write_str("1 packet"),
            Amount::Packets(n) => write!(f, "{n} packets"),
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.as_hz())
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /s", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_scale() {
        assert_eq!("3 ms".parse(), Ok(Duration::from_millis(3)));
        assert_eq!("2.525ms".parse(), Ok(Duration::from_micros(2525)));
        assert_eq!("0.5 min".parse(), Ok(Duration::from_secs(30)));
        assert_eq!("19.5 kB".parse(), Ok(Bytes::new(19_500)));
        assert_eq!("1e6 bit/s".parse(), Ok(Rate::from_bps(1_000_000)));
        assert_eq!("1.44 Mbit/s".parse(), Ok(Rate::from_bps(1_440_000)));
        assert_eq!("4.3 MHz".parse(), Ok(Frequency::from_hz(4.3e6)));
        assert_eq!("60 packets".parse(), Ok(Amount::Packets(60)));
        assert_eq!("6 MB".parse(), Ok(Amount::Bytes(Bytes::new(6_000_000))));
        assert_eq!("0.26 /s".parse(), Ok(PerSecond::new(0.26)));
    }

    #[test]
    fn quantities_become_numbers_of_plain_units() {
        for (written, value, ending) in [
            ("130 ms", 0.13, "s"),
            ("5 kB", 5000.0, "bytes"),
            ("2 KiB", 2048.0, "bytes"),
            ("60 packets", 60.0, "packets"),
            ("1.44 Mbit/s", 1.44e6, "bps"),
            ("4.3 MHz", 4.3e6, "hz"),
            ("3 /min", 0.05, "per_s"),
            ("0.5", 0.5, ""),
            ("-2", -2.0, ""),
        ] {
            assert_eq!(number(written), Some((value, ending)), "{written}");
        }
        for written in ["cubic", "true", "", "nan", "inf", "1e400", "5 parsecs", "{ kind = \"red\" }"] {
            assert_eq!(number(written), None, "{written}");
        }
    }

    #[test]
    fn quantities_are_written_as_they_are_read() {
        for written in ["0 s", "1 ns", "1500 µs", "3 ms", "90 s", "1 min"] {
            let time: Duration = written.parse().unwrap();
            assert_eq!(time.to_string().parse(), Ok(time));
            assert!(!time.to_string().contains('.'), "{time}");
            // Of the two letters that look alike the one that keyboards have, U+00B5.
            assert!(!time.to_string().contains('\u{3bc}'), "{time}");
        }
        for (written, again) in [("0 B", "0 B"), ("1.5 kB", "1500 B"), ("10000 B", "10 kB"), ("2 MiB", "2 MiB")] {
            assert_eq!(written.parse::<Bytes>().unwrap().to_string(), again);
        }
        for written in ["1 packet", "60 packets", "6 MB"] {
            assert_eq!(written.parse::<Amount>().unwrap().to_string(), written);
        }
        assert_eq!("0.06 kHz".parse::<Frequency>().unwrap().to_string(), "60 Hz");
        assert_eq!("90 /min".parse::<PerSecond>().unwrap().to_string(), "1.5 /s");
        assert_eq!("0.01 Gbit/s".parse::<Rate>().unwrap().to_string(), "10 Mbit/s");
    }

    #[test]
    fn what_is_no_quantity_says_what_is_wanted() {
        let error = "3 parsecs".parse::<Duration>().unwrap_err();
        assert_eq!(error.to_string(), "\"3 parsecs\": wanted a time with its unit, e.g. \"3 ms\"");
        for text in ["", "3", "ms", "-1 s", "1e400 s", "nan s", "3 MS", "3 ms 4", "1e30 s", "--3 s"] {
            assert!(text.parse::<Duration>().is_err(), "{text:?}");
        }
        for (said, wanted) in [
            ("-1 s".parse::<Duration>().unwrap_err(), "a time that is not negative"),
            ("1e30 s".parse::<Duration>().unwrap_err(), "a time that is not so large"),
            ("1000000001 s".parse::<Duration>().unwrap_err(), "a time that is not so large"),
            ("1e400 s".parse::<Duration>().unwrap_err(), "a time that is not so large"),
            ("-3 packets".parse::<Amount>().unwrap_err(), "a size that is not negative"),
            ("-3 kB".parse::<Amount>().unwrap_err(), "a size that is not negative"),
            ("-3 /s".parse::<PerSecond>().unwrap_err(), "a number per second that is not negative"),
        ] {
            assert_eq!(said.wanted, wanted);
        }
        assert!("10 mbit/s".parse::<Rate>().is_err());
        assert!("2.5 packets".parse::<Amount>().is_err());
        assert!("10 Mb/s".parse::<Rate>().is_err());
    }
}
