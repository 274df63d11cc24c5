// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters, each declared once: its key, what it means, its default, its domain, and by its type its unit.
//!
//! ```text
//!                 ┌─► the struct, its `Default`, and `validate`, which names the key that is outside its domain
//! parameters! { } ┤
//! kinds! { }      └─► with the feature `text`: how a file is read, the JSON Schema, and so the reference page
//! ```
//!
//! ```
//! use lasthop_core::parameter::{Parameter, above};
//! use lasthop_core::units::Duration;
//!
//! lasthop_core::parameters! {
//!     /// Something that forgets.
//!     #[derive(Clone, Copy, Debug)]
//!     pub struct Memory {
//!         /// Weight of the past.
//!         pub weight: f64 = 0.9, in 0.0..1.0;
//!         /// How often it forgets.
//!         pub interval: Duration = Duration::from_millis(5), in above(Duration::ZERO);
//!     }
//! }
//!
//! assert_eq!(Memory::default().weight, 0.9);
//! let error = Memory { weight: 1.0, ..Memory::default() }.validate().unwrap_err();
//! assert_eq!(error.to_string(), "weight = 1: wanted from 0 up to, but not, 1");
//! ```
//!
//! A key without `= default` is required; a struct with one has `new`, of those, in place of `Default`. Domains are ranges: `0.0..`, `0.0..1.0`, `0.0..=1.0`, or [`above`], [`between`] and
//! [`above_to`], which leave their lower end out. What no range says stands behind the struct: `check(p) { … }`.

#[cfg(feature = "text")]
pub mod text;

use core::fmt::Debug;
use core::ops::{Bound, RangeBounds};

use crate::error::ParameterError;
use crate::units::{Amount, Bytes, Duration, Frequency, Packets, PerSecond, Rate};

/// What a key may have for a value.
pub trait Parameter {
    /// Refuses what lies outside its domain, or has a key that does.
    ///
    /// # Errors
    /// The key by its path within this value, the value, and what is wanted.
    fn validate(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// The value as a file may write it in one word, for defaults in the schema; none for tables and lists.
    #[cfg(feature = "text")]
    fn written(&self) -> Option<serde_json::Value> {
        None
    }
}

/// Keys of one's own, in one table with those that several have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct With<T, C> {
    /// One's own.
    pub own: T,
    /// What others have too.
    pub common: C,
}

impl<T: Parameter, C: Parameter> Parameter for With<T, C> {
    fn validate(&self) -> Result<(), ParameterError> {
        self.own.validate()?;
        self.common.validate()
    }
}

/// A value that a domain can bound: it has an order, and is shown in messages.
pub trait Bounded: PartialOrd + Debug {
    /// As a bound is named: with its unit, in few digits.
    fn bound(&self) -> String;

    /// As a value is shown.
    fn shown(&self) -> String {
        format!("{self:?}")
    }

    /// What is above it, in words.
    fn more(&self) -> String {
        format!("more than {}", self.bound())
    }

    /// The greatest that its type holds, where a file may ask for more.
    fn greatest() -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Whether it is a value at all.
    fn is_finite(&self) -> bool {
        true
    }

    /// As a number, where the schema has numbers.
    fn number(&self) -> Option<f64> {
        None
    }
}

/// What a domain may be declared for: a value, one that may be missing, or each of several.
pub trait InDomain<T: Bounded> {
    /// The first value outside `domain`, and where it stands.
    fn outside<'v>(&'v self, domain: &impl RangeBounds<T>) -> Option<(String, &'v T)>
    where
        T: 'v;
}

impl<T: Bounded> InDomain<T> for T {
    fn outside<'v>(&'v self, domain: &impl RangeBounds<T>) -> Option<(String, &'v T)>
    where
        T: 'v,
    {
        (!domain.contains(self) || !self.is_finite()).then(|| (String::new(), self))
    }
}

impl<T: Bounded> InDomain<T> for Option<T> {
    fn outside<'v>(&'v self, domain: &impl RangeBounds<T>) -> Option<(String, &'v T)>
    where
        T: 'v,
    {
        self.as_ref()?.outside(domain)
    }
}

impl<T: Bounded> InDomain<T> for Vec<T> {
    fn outside<'v>(&'v self, domain: &impl RangeBounds<T>) -> Option<(String, &'v T)>
    where
        T: 'v,
    {
        self.iter().enumerate().find_map(|(i, value)| value.outside(domain).map(|_| (format!("[{i}]"), value)))
    }
}

/// More than `least`.
pub const fn above<T>(least: T) -> (Bound<T>, Bound<T>) {
    (Bound::Excluded(least), Bound::Unbounded)
}

/// More than `least` and less than `most`.
pub const fn between<T>(least: T, most: T) -> (Bound<T>, Bound<T>) {
    (Bound::Excluded(least), Bound::Excluded(most))
}

/// More than `least` and at most `most`.
pub const fn above_to<T>(least: T, most: T) -> (Bound<T>, Bound<T>) {
    (Bound::Excluded(least), Bound::Included(most))
}

/// A domain in words.
pub fn wanted<T: Bounded>(domain: &impl RangeBounds<T>) -> String {
    use Bound::{Excluded, Included, Unbounded};
    match (domain.start_bound(), domain.end_bound()) {
        (Included(least), Unbounded) => match T::greatest() {
            Some(most) => format!("from {} to {}", least.bound(), most.bound()),
            None => format!("at least {}", least.bound()),
        },
        (Included(least), Included(most)) => format!("from {} to {}", least.bound(), most.bound()),
        (Included(least), Excluded(most)) => format!("from {} up to, but not, {}", least.bound(), most.bound()),
        (Excluded(least), Unbounded) => least.more(),
        (Excluded(least), Included(most)) => format!("more than {} and at most {}", least.bound(), most.bound()),
        (Excluded(least), Excluded(most)) => format!("more than {} and less than {}", least.bound(), most.bound()),
        (Unbounded, Included(most)) => format!("at most {}", most.bound()),
        (Unbounded, Excluded(most)) => format!("less than {}", most.bound()),
        (Unbounded, Unbounded) => "any".into(),
    }
}

/// Refuses a value outside its domain.
///
/// # Errors
/// The key, the value and the domain.
pub fn ensure_within<T: Bounded>(
    key: &str,
    value: &impl InDomain<T>,
    domain: &impl RangeBounds<T>,
) -> Result<(), ParameterError> {
    match value.outside(domain) {
        Some((place, value)) => Err(ParameterError::new(place, value.shown(), wanted(domain)).within(key)),
        None => Ok(()),
    }
}

/// A value that has a default only where its reader knows more, such as a line's rate.
///
/// # Errors
/// If there is none.
pub fn given<T>(value: Option<T>, key: &str, wanted: &str) -> Result<T, ParameterError> {
    value.ok_or_else(|| ParameterError::new(key, "none", wanted))
}

impl Parameter for f64 {
    fn validate(&self) -> Result<(), ParameterError> {
        if f64::is_finite(*self) { Ok(()) } else { Err(ParameterError::new("", self, "a finite number")) }
    }

    #[cfg(feature = "text")]
    fn written(&self) -> Option<serde_json::Value> {
        Some((*self).into())
    }
}

impl Bounded for f64 {
    fn bound(&self) -> String {
        self.to_string()
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn is_finite(&self) -> bool {
        f64::is_finite(*self)
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Parameter for Packets {
    #[cfg(feature = "text")]
    fn written(&self) -> Option<serde_json::Value> {
        self.0.written()
    }
}

impl Bounded for Packets {
    fn bound(&self) -> String {
        format!("{} packets", self.0)
    }

    fn shown(&self) -> String {
        self.0.to_string()
    }

    fn is_finite(&self) -> bool {
        self.0.is_finite()
    }

    fn number(&self) -> Option<f64> {
        Some(self.0)
    }
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {$(
        impl Parameter for $type {
            #[cfg(feature = "text")]
            fn written(&self) -> Option<serde_json::Value> {
                Some((*self).into())
            }
        }

        impl Bounded for $type {
            fn bound(&self) -> String {
                self.to_string()
            }

            fn greatest() -> Option<Self> {
                (<$type>::BITS < u64::BITS).then_some(<$type>::MAX)
            }

            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }
        }
    )+};
}

whole_numbers!(u16, u32, u64);

impl Parameter for bool {
    #[cfg(feature = "text")]
    fn written(&self) -> Option<serde_json::Value> {
        Some((*self).into())
    }
}

/// The least text is the empty one.
impl Bounded for String {
    fn bound(&self) -> String {
        format!("{self:?}")
    }

    fn more(&self) -> String {
        if self.is_empty() { "a name, in one line".into() } else { format!("more than {self:?}") }
    }

    /// Line breaks, Unicode's own among them, and other control characters have no place in tables, file names and messages.
    fn is_finite(&self) -> bool {
        !self.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
    }
}

impl Parameter for String {
    #[cfg(feature = "text")]
    fn written(&self) -> Option<serde_json::Value> {
        Some(self.as_str().into())
    }
}

macro_rules! quantities {
    ($($type:ty),+) => {$(
        impl Parameter for $type {
            #[cfg(feature = "text")]
            fn written(&self) -> Option<serde_json::Value> {
                Some(self.to_string().into())
            }
        }
    )+};
}

quantities!(Duration, Bytes, Rate, Frequency, PerSecond, Amount);

macro_rules! bounded_quantities {
    ($($type:ty),+) => {$(
        impl Bounded for $type {
            fn bound(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

bounded_quantities!(Duration, Bytes, Rate, Frequency, PerSecond);

impl Bounded for Amount {
    fn bound(&self) -> String {
        self.to_string()
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl<T: Parameter> Parameter for Option<T> {
    fn validate(&self) -> Result<(), ParameterError> {
        self.as_ref().map_or(Ok(()), Parameter::validate)
    }

    #[cfg(feature = "text")]
    fn written(&self) -> Option<serde_json::Value> {
        self.as_ref().and_then(Parameter::written)
    }
}

impl<T: Parameter> Parameter for Vec<T> {
    fn validate(&self) -> Result<(), ParameterError> {
        self.iter().enumerate().try_for_each(|(i, item)| item.validate().map_err(|e| e.within(&format!("[{i}]"))))
    }
}

/// Declares a struct of parameters; see [the module's text](crate::parameter).
#[macro_export]
macro_rules! parameters {
    (
        $(#[$($meta:tt)*])*
        $vis:vis struct $name:ident {
            $($(#[$($about:tt)*])* pub $key:ident: $type:ty $(= $default:expr)? $(, in $domain:expr)?;)*
        }
        $(check($this:ident) $check:block)?
    ) => {
        $(#[$($meta)*])*
        $vis struct $name {
            $($(#[$($about)*])* pub $key: $type,)*
        }

        impl $crate::parameter::Parameter for $name {
            fn validate(&self) -> ::core::result::Result<(), $crate::error::ParameterError> {
                $($($crate::parameter::ensure_within(stringify!($key), &self.$key, &($domain))?;)?)*
                $(
                    $crate::parameter::Parameter::validate(&self.$key).map_err(|e| e.within(stringify!($key)))?;
                )*
                $(
                    let $this = self;
                    $check
                )?
                Ok(())
            }
        }

        $crate::default_parameters! { $name { $($key: $type $(= $default)?;)* } }
        $crate::text_parameters! {
            $name ($(#[$($meta)*])*) {
                $($key: $type, ($(#[$($about)*])*), [$($default)?], [$($domain)?];)*
            }
        }
    };
}

/// `Default`, where each key has one; else `new`, of those that have none.
#[doc(hidden)]
#[macro_export]
macro_rules! default_parameters {
    ($name:ident { $($key:ident: $type:ty = $default:expr;)* }) => {
        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }
    };
    ($name:ident { $($keys:tt)* }) => {
        $crate::default_parameters! { @new $name [] [] $($keys)* }
    };
    (@new $name:ident [$($required:ident: $type:ty,)*] [$($key:ident = $default:expr,)*]) => {
        impl $name {
            /// With these, and all other keys as they are by default.
            pub fn new($($required: $type),*) -> Self {
                Self { $($required,)* $($key: $default,)* }
            }
        }
    };
    (@new $name:ident [$($required:tt)*] [$($others:tt)*] $key:ident: $type:ty = $default:expr; $($rest:tt)*) => {
        $crate::default_parameters! { @new $name [$($required)*] [$($others)* $key = $default,] $($rest)* }
    };
    (@new $name:ident [$($required:tt)*] [$($others:tt)*] $key:ident: $type:ty; $($rest:tt)*) => {
        $crate::default_parameters! { @new $name [$($required)* $key: $type,] [$($others)*] $($rest)* }
    };
}

/// Declares what a key is one of: names, or tables with the key `kind`.
///
/// ```
/// lasthop_core::kinds! {
///     /// When it rains.
///     #[derive(Clone, Copy, Debug, Default)]
///     pub enum Rain {
///         /// Never.
///         #[default]
///         Never = "never",
///         /// Always.
///         Always = "always",
///     }
/// }
///
/// assert_eq!(Rain::default().kind(), "never");
/// ```
///
/// With `or "name"` behind it, a table without `kind` is of that one.
#[macro_export]
macro_rules! kinds {
    (
        $(#[$($meta:tt)*])*
        $vis:vis enum $name:ident {
            $($(#[$($about:tt)*])* $variant:ident $(($inner:ty))? = $kind:literal,)*
        }
        $(or $without:literal)?
    ) => {
        $(#[$($meta)*])*
        $vis enum $name {
            $($(#[$($about)*])* $variant $(($inner))?,)*
        }

        impl $name {
            /// The names of all, in files.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// Its name in files.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $kind,)*
                }
            }
        }

        impl $crate::parameter::Parameter for $name {
            fn validate(&self) -> ::core::result::Result<(), $crate::error::ParameterError> {
                match self {
                    $($crate::variant!($variant inner $($inner)?) => $crate::variant!(validate inner $($inner)?),)*
                }
            }

            $crate::text_written! {}
        }

        $crate::text_kinds! {
            $name ($(#[$($meta)*])*) [$($without)?] {
                $($variant [$($inner)?] $kind ($(#[$($about)*])*);)*
            }
        }
    };
}

/// A kind's pattern and what is done with what it holds.
#[doc(hidden)]
#[macro_export]
macro_rules! variant {
    (validate $value:ident) => {
        Ok(())
    };
    (validate $value:ident $inner:ty) => {
        $crate::parameter::Parameter::validate($value)
    };
    ($variant:ident $value:ident) => {
        Self::$variant
    };
    ($variant:ident $value:ident $inner:ty) => {
        Self::$variant($value)
    };
}

#[cfg(not(feature = "text"))]
mod without_text {
    /// Nothing is read or described without the feature `text`.
    #[doc(hidden)]
    #[macro_export]
    macro_rules! text_parameters {
        ($($any:tt)*) => {};
    }

    #[doc(hidden)]
    #[macro_export]
    macro_rules! text_kinds {
        ($($any:tt)*) => {};
    }

    #[doc(hidden)]
    #[macro_export]
    macro_rules! text_written {
        () => {};
    }
}
