// SPDX-License-Identifier: MIT OR Apache-2.0
//! How parameters are read from a file and described in its schema: what [`parameters!`](crate::parameters) and
//! [`kinds!`](crate::kinds) add with the feature `text`.
//!
//! serde's data model is used as it is, in two ways that a reader of files must know. A kind is an externally tagged
//! variant: the reader makes it of a table with the key `kind`, or of a bare name. [`With`] is a tuple struct called [`WITH`]:
//! the reader gives each of its two parts the keys that it asks for, and refuses the rest. A value with a domain is a newtype
//! struct called [`WITHIN`], whose expectation is the domain: the reader says it beside the type, where that is wrong.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Bound, RangeBounds};
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Bounded, InDomain, Parameter, With};
use crate::units::{Amount, Bytes, Duration, Frequency, Packets, PerSecond, Quantity, Rate};

pub use {schemars, serde, serde_json};

/// What [`With`] calls itself to whom reads it.
pub const WITH: &str = "lasthop::With";

/// What a value with a domain calls itself to whom reads it.
pub const WITHIN: &str = "lasthop::Within";

macro_rules! quantities {
    ($($type:ident),+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text(PhantomData))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": <$type as Quantity>::WANTED,
                    "pattern": <$type as Quantity>::PATTERN,
                    "units": <$type as Quantity>::UNITS,
                })
            }
        }
    )+};
}

quantities!(Duration, Bytes, Amount, Rate, Frequency, PerSecond);

impl<'de> Deserialize<'de> for Packets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self)
    }
}

impl JsonSchema for Packets {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Packets".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        f64::json_schema(generator)
    }
}

struct Text<Q>(PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for Text<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Q::WANTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        text.parse().map_err(|error: Q::Err| E::invalid_value(de::Unexpected::Str(text), &error.wanted.as_str()))
    }
}

/// The name of a kind; none where a table names none.
#[doc(hidden)]
#[derive(Debug)]
pub struct KindName(pub Option<String>);

impl<'de> Deserialize<'de> for KindName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(KindVisitor)
    }
}

struct KindVisitor;

impl Visitor<'_> for KindVisitor {
    type Value = KindName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<KindName, E> {
        Ok(KindName(Some(name.to_owned())))
    }

    fn visit_unit<E: de::Error>(self) -> Result<KindName, E> {
        Ok(KindName(None))
    }
}

impl<'de, T: Deserialize<'de>, C: Deserialize<'de>> Deserialize<'de> for With<T, C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple_struct(WITH, 2, Parts(PhantomData))
    }
}

struct Parts<T, C>(PhantomData<(T, C)>);

impl<'de, T: Deserialize<'de>, C: Deserialize<'de>> Visitor<'de> for Parts<T, C> {
    type Value = With<T, C>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<With<T, C>, A::Error> {
        let own = parts.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let common = parts.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
        Ok(With { own, common })
    }
}

/// Reads a value of which a domain is known. It does not look whether the value lies there: `validate` does.
#[doc(hidden)]
#[derive(Debug)]
pub struct Within<'a, V, T, R> {
    domain: &'a R,
    value: PhantomData<(V, T)>,
}

impl<'a, V: InDomain<T>, T: Bounded, R: RangeBounds<T>> Within<'a, V, T, R> {
    /// A value in `domain`.
    pub fn new(_: PhantomData<V>, domain: &'a R) -> Self {
        Self { domain, value: PhantomData }
    }
}

impl<'de, V: Deserialize<'de>, T: Bounded, R: RangeBounds<T>> DeserializeSeed<'de> for Within<'_, V, T, R> {
    type Value = V;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V, D::Error> {
        deserializer.deserialize_newtype_struct(WITHIN, self)
    }
}

impl<'de, V: Deserialize<'de>, T: Bounded, R: RangeBounds<T>> Visitor<'de> for Within<'_, V, T, R> {
    type Value = V;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::wanted(self.domain))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V, D::Error> {
        V::deserialize(deserializer)
    }
}

/// The schema of one's own keys, with the common ones put in.
impl<T: JsonSchema, C: JsonSchema> JsonSchema for With<T, C> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let mut common = C::json_schema(generator);
        let keys = schema.ensure_object();
        for (key, more) in std::mem::take(common.ensure_object()) {
            match (keys.get_mut(&key), more) {
                (Some(Value::Object(own)), Value::Object(more)) => own.extend(more),
                (Some(Value::Array(own)), Value::Array(more)) => own.extend(more),
                (None, more) if key == "required" => {
                    keys.insert(key, more);
                }
                _ => {}
            }
        }
        schema
    }
}

/// A type's name in the schema: what its key is about.
#[doc(hidden)]
pub fn name(of_type: &'static str) -> &'static str {
    of_type.strip_suffix("Params").or_else(|| of_type.strip_suffix("Spec")).unwrap_or(of_type)
}

/// A comment's text, without the space that stands behind its slashes.
fn text_of(comment: &str) -> String {
    comment.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// The schema of a table.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct TableSchema {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl TableSchema {
    /// With one more key.
    #[must_use]
    pub fn key<T: JsonSchema + Parameter>(
        mut self,
        generator: &mut SchemaGenerator,
        (key, comment): (&str, &str),
        default: Option<T>,
        domain: Map<String, Value>,
    ) -> Self {
        let mut schema = generator.subschema_for::<T>();
        schema.insert("description".into(), text_of(comment).into());
        match default.as_ref().map(Parameter::written) {
            None => self.required.push(key.into()),
            Some(Some(default)) => {
                schema.insert("default".into(), default);
            }
            Some(None) => {}
        }
        let object = schema.ensure_object();
        object.extend(domain);
        self.properties.insert(key.to_owned(), schema.into());
        self
    }

    /// The schema.
    pub fn finish(self, comment: &str) -> Schema {
        json_schema!({
            "description": text_of(comment),
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        })
    }
}

/// What a kind may be called, in words: `"half" or "beta"`.
pub fn names(kinds: &[&str]) -> String {
    let names: Vec<_> = kinds.iter().map(|name| format!("\"{name}\"")).collect();
    names.join(" or ")
}

/// A domain in the words of the schema: as bounds where it is of numbers, and in `domain` as a person reads it.
#[doc(hidden)]
pub fn domain<T: Bounded, V: InDomain<T>>(_: PhantomData<V>, domain: &impl RangeBounds<T>) -> Map<String, Value> {
    let mut keys = Map::new();
    keys.insert("domain".into(), super::wanted(domain).into());
    let mut put = |key: &str, bound: &T| {
        if let Some(number) = bound.number() {
            keys.insert(key.into(), number.into());
        }
    };
    match domain.start_bound() {
        Bound::Included(least) => put("minimum", least),
        Bound::Excluded(least) => put("exclusiveMinimum", least),
        Bound::Unbounded => {}
    }
    match domain.end_bound() {
        Bound::Included(most) => put("maximum", most),
        Bound::Excluded(most) => put("exclusiveMaximum", most),
        Bound::Unbounded => {}
    }
    keys
}

/// The schema of a key that is one of several kinds: each with its name, its comment and the schema of its keys, if it has
/// any. If none has, they are names.
#[doc(hidden)]
pub fn kinds(comment: &str, kinds: Vec<(&str, &str, Option<Schema>)>) -> Schema {
    let are_tables = kinds.iter().any(|(_, _, keys)| keys.is_some());
    let mut names = vec![];
    let mut variants: Vec<Value> = vec![];
    for (kind, comment, keys) in kinds {
        if !are_tables {
            variants.push(serde_json::json!({ "description": text_of(comment), "type": "string", "const": kind }));
            continue;
        }
        let mut schema = keys.unwrap_or_else(|| TableSchema::default().finish(""));
        let object = schema.ensure_object();
        object.insert("description".into(), text_of(comment).into());
        let own = match object.get_mut("properties").map(Value::take) {
            Some(Value::Object(own)) => own,
            _ => Map::new(),
        };
        let mut properties = Map::new();
        properties.insert("kind".into(), serde_json::json!({ "type": "string", "const": kind }));
        properties.extend(own);
        object.insert("properties".into(), properties.into());
        if let Some(Value::Array(required)) = object.get_mut("required") {
            if required.is_empty() {
                // The bare name stands for a table that needs no other key.
                names.push(kind.to_owned());
            }
            required.insert(0, "kind".into());
        }
        variants.push(schema.into());
    }
    if !names.is_empty() {
        variants.push(serde_json::json!({ "type": "string", "enum": names }));
    }
    json_schema!({ "description": text_of(comment), "oneOf": variants })
}

/// A comment's text.
#[doc(hidden)]
#[macro_export]
macro_rules! comment {
    () => { "" };
    (#[doc = $line:expr] $($rest:tt)*) => { concat!($line, "\n", $crate::comment!($($rest)*)) };
    (#[$($other:tt)*] $($rest:tt)*) => { $crate::comment!($($rest)*) };
}

/// A value that is there, or not.
#[doc(hidden)]
#[macro_export]
macro_rules! given {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// A key's value in place of one that a file gives.
#[doc(hidden)]
#[macro_export]
macro_rules! without {
    ($error:ty, $key:ident) => {
        return Err(<$error as $crate::parameter::text::serde::de::Error>::missing_field(stringify!($key)))
    };
    ($error:ty, $key:ident, $default:expr) => {
        $default
    };
}

/// How a key's value is read.
#[doc(hidden)]
#[macro_export]
macro_rules! seed {
    ($type:ty) => {
        ::core::marker::PhantomData::<$type>
    };
    ($type:ty, $domain:expr) => {
        $crate::parameter::text::Within::new(::core::marker::PhantomData::<$type>, &($domain))
    };
}

/// A domain's schema.
#[doc(hidden)]
#[macro_export]
macro_rules! domain {
    ($type:ty) => {
        $crate::parameter::text::serde_json::Map::new()
    };
    ($type:ty, $domain:expr) => {
        $crate::parameter::text::domain(::core::marker::PhantomData::<$type>, &($domain))
    };
}

/// How a struct of parameters is read and described.
#[doc(hidden)]
#[macro_export]
macro_rules! text_parameters {
    ($name:ident ($($meta:tt)*) {
        $($key:ident: $type:ty, ($($about:tt)*), [$($default:expr)?], [$($domain:expr)?];)*
    }) => {
        const _: () = {
            use $crate::parameter::text::schemars::{JsonSchema, Schema, SchemaGenerator};
            use $crate::parameter::text::serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    const KEYS: &[&str] = &[$(stringify!($key)),*];
                    struct Keys;

                    impl<'de> Visitor<'de> for Keys {
                        type Value = $name;

                        fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                            f.write_str("a table")
                        }

                        fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<$name, A::Error> {
                            $(let mut $key: Option<$type> = None;)*
                            while let Some(key) = table.next_key::<String>()? {
                                let is_known = match key.as_str() {
                                    $(stringify!($key) => {
                                        $key = Some(table.next_value_seed($crate::seed!($type $(, $domain)?))?);
                                        true
                                    })*
                                    _ => false,
                                };
                                if !is_known {
                                    return Err(A::Error::unknown_field(&key, KEYS));
                                }
                            }
                            Ok($name {
                                $($key: match $key {
                                    Some(value) => value,
                                    None => $crate::without!(A::Error, $key $(, $default)?),
                                },)*
                            })
                        }
                    }
                    deserializer.deserialize_struct(stringify!($name), KEYS, Keys)
                }
            }

            impl JsonSchema for $name {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    $crate::parameter::text::name(stringify!($name)).into()
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    // A struct without keys needs it for nothing.
                    let _ = &generator;
                    let table = $crate::parameter::text::TableSchema::default();
                    $(let table = table.key::<$type>(
                        generator,
                        (stringify!($key), $crate::comment!($($about)*)),
                        $crate::given!($($default)?),
                        $crate::domain!($type $(, $domain)?),
                    );)*
                    table.finish($crate::comment!($($meta)*))
                }
            }
        };
    };
}

/// A kind is written by its name.
#[doc(hidden)]
#[macro_export]
macro_rules! text_written {
    () => {
        fn written(&self) -> Option<$crate::parameter::text::serde_json::Value> {
            Some(self.kind().into())
        }
    };
}

/// How a kind is read and described.
#[doc(hidden)]
#[macro_export]
macro_rules! text_kinds {
    ($name:ident ($($meta:tt)*) [$($without:literal)?] {
        $($variant:ident [$($inner:ty)?] $kind:literal ($($about:tt)*);)*
    }) => {
        const _: () = {
            use $crate::parameter::text::schemars::{JsonSchema, Schema, SchemaGenerator};
            use $crate::parameter::text::serde::de::{
                Deserialize, Deserializer, EnumAccess, Error, Unexpected, VariantAccess, Visitor,
            };

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    const ARE_TABLES: bool = false $(|| $crate::has_keys!($($inner)?))*;
                    struct Kinds;

                    impl<'de> Visitor<'de> for Kinds {
                        type Value = $name;

                        fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                            if ARE_TABLES {
                                return f.write_str("a name or a table with the key `kind`");
                            }
                            f.write_str(&$crate::parameter::text::names($name::KINDS))
                        }

                        fn visit_enum<A: EnumAccess<'de>>(self, kinds: A) -> Result<$name, A::Error> {
                            let (kind, rest) = kinds.variant::<$crate::parameter::text::KindName>()?;
                            let without: Option<&str> = $crate::given!($($without)?);
                            match kind.0.as_deref().or(without) {
                                $(Some($kind) => $crate::read_kind!(rest, $name, $variant $(, $inner)?),)*
                                Some(other) => Err(A::Error::unknown_variant(other, $name::KINDS)),
                                None if ARE_TABLES => Err(A::Error::missing_field("kind")),
                                None => Err(A::Error::invalid_type(Unexpected::Map, &self)),
                            }
                        }
                    }
                    deserializer.deserialize_enum(stringify!($name), $name::KINDS, Kinds)
                }
            }

            impl JsonSchema for $name {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    $crate::parameter::text::name(stringify!($name)).into()
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    // Names alone have no keys to describe.
                    let _ = &generator;
                    let kinds = vec![
                        $(($kind, $crate::comment!($($about)*), $crate::keys_of!(generator $(, $inner)?)),)*
                    ];
                    $crate::parameter::text::kinds($crate::comment!($($meta)*), kinds)
                }
            }
        };
    };
}

/// What a kind makes of the rest of its table.
#[doc(hidden)]
#[macro_export]
macro_rules! read_kind {
    ($rest:ident, $name:ident, $variant:ident) => {
        $rest.unit_variant().map(|()| $name::$variant)
    };
    ($rest:ident, $name:ident, $variant:ident, $inner:ty) => {
        $rest.newtype_variant::<$inner>().map($name::$variant)
    };
}

/// Whether a kind has keys.
#[doc(hidden)]
#[macro_export]
macro_rules! has_keys {
    () => {
        false
    };
    ($inner:ty) => {
        true
    };
}

/// The schema of a kind's keys.
#[doc(hidden)]
#[macro_export]
macro_rules! keys_of {
    ($generator:ident) => {
        None
    };
    ($generator:ident, $inner:ty) => {
        Some(<$inner as JsonSchema>::json_schema($generator))
    };
}
