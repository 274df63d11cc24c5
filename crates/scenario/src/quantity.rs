// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenario values with units: `"3 ms"`, `"10 Mbit/s"`, `"19.5 kB"`, parsed once at the border.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use lasthop_core::queue::Limit;
use lasthop_core::units::{Bytes, Duration, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// The longest time that may be written, over 31 years: an instant holds the sum of many.
pub const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// A text that is not what the key wants.
#[derive(Debug, thiserror::Error)]
#[error("{text:?}: wanted {wanted}")]
pub struct QuantityError {
    text: String,
    wanted: String,
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Time(pub Duration);

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub Bytes);

/// A size in bytes or in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes on the wire.
    Bytes(Bytes),
    /// Whole packets.
    Packets(u64),
}

/// A rate in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRate(pub Rate);

/// A frequency in Hz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frequency(pub f64);

/// Events a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerSecond(pub f64);

const TIMES: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
const SIZES: &[(&str, f64)] =
    &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("KiB", 1024.0), ("MiB", 1_048_576.0)];
const RATES: &[(&str, f64)] = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const FREQUENCIES: &[(&str, f64)] = &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];
const PER_SECOND: &[(&str, f64)] = &[("/s", 1.0), ("/min", 1.0 / 60.0)];
const PACKETS: &[(&str, f64)] = &[("packets", 1.0), ("packet", 1.0)];

/// Why a text is no quantity.
enum Unfit {
    /// It is no number with one of the units.
    Other,
    Negative,
    TooLarge,
}

/// `"2.5 ms"` → 2.5 × the unit's scale.
fn scaled(text: &str, units: &[(&str, f64)]) -> Result<f64, Unfit> {
    let value = signed(text, units).filter(|value| !value.is_nan()).ok_or(Unfit::Other)?;
    match value {
        f64::INFINITY => Err(Unfit::TooLarge),
        _ if value < 0.0 => Err(Unfit::Negative),
        _ => Ok(value),
    }
}

fn signed(text: &str, units: &[(&str, f64)]) -> Option<f64> {
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

/// What is wanted in place of an unfit value.
fn in_place_of(unfit: &Unfit, usually: &str) -> String {
    let kind = usually.split([',']).next().and_then(|kind| kind.split(" with").next()).unwrap_or(usually);
    match unfit {
        Unfit::Other => usually.to_owned(),
        Unfit::Negative => format!("{kind} that is not negative"),
        Unfit::TooLarge => format!("{kind} that is not so large"),
    }
}

macro_rules! quantity {
    ($type:ty, $wanted:literal, $pattern:literal, $parse:expr) => {
        impl FromStr for $type {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                let parse: fn(&str) -> Result<$type, Unfit> = $parse;
                parse(text).map_err(|unfit| QuantityError { text: text.into(), wanted: in_place_of(&unfit, $wanted) })
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($wanted)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $wanted, "pattern": $pattern })
            }
        }
    };
}

quantity!(Time, "a time with its unit, e.g. \"3 ms\"", r"^[0-9._eE+-]+ *(ns|us|µs|μs|ms|s|min|h)$", |text| {
    let time = Duration::from_nanos(whole(scaled(text, TIMES)?)?);
    if time <= LONGEST { Ok(Time(time)) } else { Err(Unfit::TooLarge) }
});
quantity!(Size, "a size with its unit, e.g. \"19.5 kB\"", r"^[0-9._eE+-]+ *(B|kB|MB|GB|KiB|MiB)$", |text| {
    Ok(Size(Bytes::new(whole(scaled(text, SIZES)?)?)))
});
quantity!(
    Amount,
    "a size, e.g. \"19.5 kB\" or \"60 packets\"",
    r"^[0-9._eE+-]+ *(B|kB|MB|GB|KiB|MiB|packets?)$",
    |text| {
        match scaled(text, PACKETS) {
            Ok(packets) if libm::rint(packets) != packets => Err(Unfit::Other),
            Ok(packets) => Ok(Amount::Packets(whole(packets)?)),
            Err(Unfit::Other) => Ok(Amount::Bytes(Bytes::new(whole(scaled(text, SIZES)?)?))),
            Err(unfit) => Err(unfit),
        }
    }
);
quantity!(BitRate, "a rate with its unit, e.g. \"10 Mbit/s\"", r"^[0-9._eE+-]+ *[kMG]?bit/s$", |text| {
    Ok(BitRate(Rate::from_bps(whole(scaled(text, RATES)?)?)))
});
quantity!(Frequency, "a frequency with its unit, e.g. \"60 Hz\"", r"^[0-9._eE+-]+ *[kMG]?Hz$", |text| {
    scaled(text, FREQUENCIES).map(Frequency)
});
quantity!(PerSecond, "a number a second, e.g. \"0.26 /s\"", r"^[0-9._eE+-]+ */(s|min)$", |text| {
    scaled(text, PER_SECOND).map(PerSecond)
});

/// Writes defaults into the schema: a whole number of the largest unit that makes one.
fn text(value: u64, units: &[(&str, f64)], of_nothing: &str) -> String {
    let fits = |&&(_, scale): &&(&str, f64)| value > 0 && value.is_multiple_of(scale as u64);
    match units.iter().filter(fits).max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((unit, scale)) => format!("{} {unit}", value / *scale as u64),
        None => format!("0 {of_nothing}"),
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(self.0.as_nanos(), TIMES, "s"))
    }
}

impl Serialize for BitRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(self.0.as_bps(), RATES, "bit/s"))
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(self.0.get(), SIZES, "B"))
    }
}

impl Amount {
    /// The limit of a queue.
    pub fn limit(self) -> Limit {
        match self {
            Amount::Bytes(bytes) => Limit::Bytes(bytes),
            Amount::Packets(n) => Limit::Packets(n as usize),
        }
    }

    /// The bytes of payload that this is, with packets of `payload` bytes.
    pub fn payload(self, payload: Bytes) -> Bytes {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Packets(n) => Bytes::new(n * payload.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_scale() {
        assert_eq!("3 ms".parse::<Time>().unwrap().0, Duration::from_millis(3));
        assert_eq!("2.525ms".parse::<Time>().unwrap().0, Duration::from_micros(2525));
        assert_eq!("0.5 min".parse::<Time>().unwrap().0, Duration::from_secs(30));
        assert_eq!("19.5 kB".parse::<Size>().unwrap().0, Bytes::new(19_500));
        assert_eq!("1e6 bit/s".parse::<BitRate>().unwrap().0, Rate::from_bps(1_000_000));
        assert_eq!("1.44 Mbit/s".parse::<BitRate>().unwrap().0, Rate::from_bps(1_440_000));
        assert_eq!("4.3 MHz".parse::<Frequency>().unwrap().0, 4.3e6);
        assert_eq!("60 packets".parse::<Amount>().unwrap(), Amount::Packets(60));
        assert_eq!("6 MB".parse::<Amount>().unwrap(), Amount::Bytes(Bytes::new(6_000_000)));
        assert_eq!("0.26 /s".parse::<PerSecond>().unwrap().0, 0.26);
    }

    #[test]
    fn quantities_are_written_as_they_are_read() {
        for written in ["0 s", "1 ns", "1500 µs", "3 ms", "90 s", "1 min"] {
            let time: Time = written.parse().unwrap();
            let again = serde_json::to_value(time).unwrap();
            assert_eq!(again.as_str().unwrap().parse::<Time>().unwrap(), time);
            assert!(!again.as_str().unwrap().contains('.'), "{again}");
        }
        for (written, again) in [("0 B", "0 B"), ("1.5 kB", "1500 B"), ("10000 B", "10 kB"), ("2 MiB", "2 MiB")] {
            assert_eq!(serde_json::to_value(written.parse::<Size>().unwrap()).unwrap(), again);
        }
    }

    #[test]
    fn what_is_no_quantity_says_what_is_wanted() {
        let error = "3 parsecs".parse::<Time>().unwrap_err();
        assert_eq!(error.to_string(), "\"3 parsecs\": wanted a time with its unit, e.g. \"3 ms\"");
        for text in ["", "3", "ms", "-1 s", "1e400 s", "nan s", "3 MS", "3 ms 4", "1e30 s", "--3 s"] {
            assert!(text.parse::<Time>().is_err(), "{text:?}");
        }
        for (said, wanted) in [
            ("-1 s".parse::<Time>().unwrap_err(), "a time that is not negative"),
            ("1e30 s".parse::<Time>().unwrap_err(), "a time that is not so large"),
            ("1000000001 s".parse::<Time>().unwrap_err(), "a time that is not so large"),
            ("1e400 s".parse::<Time>().unwrap_err(), "a time that is not so large"),
            ("-3 packets".parse::<Amount>().unwrap_err(), "a size that is not negative"),
            ("-3 kB".parse::<Amount>().unwrap_err(), "a size that is not negative"),
            ("-3 /s".parse::<PerSecond>().unwrap_err(), "a number a second that is not negative"),
        ] {
            assert!(said.to_string().ends_with(&format!(": wanted {wanted}")), "{said}");
        }
        assert!("10 mbit/s".parse::<BitRate>().is_err());
        assert!("2.5 packets".parse::<Amount>().is_err());
        assert!("10 Mb/s".parse::<BitRate>().is_err());
    }
}
