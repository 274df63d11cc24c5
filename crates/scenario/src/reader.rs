// SPDX-License-Identifier: MIT OR Apache-2.0
//! From TOML's values to structs, by serde, with errors that know key and value.
//!
//! Beside serde's usual ways it knows kinds and tables of two parts (see [`lasthop_core::parameter::text`]).

use std::fmt::Display;
use std::mem;

use lasthop_core::parameter::text::{WITH, WITHIN, names};
use serde::de::value::{CowStrDeserializer, UnitDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use toml::Spanned;
use toml::Value as Written;
use toml::de::{DeArray, DeFloat, DeInteger, DeString, DeTable as Table, DeValue as Value};

use crate::ScenarioError;

/// Reads a table.
pub(crate) fn read<T: DeserializeOwned>(table: Table<'_>) -> Result<T, ScenarioError> {
    T::deserialize(Reader(Value::Table(table))).map_err(|mut fault| {
        if let Some(list) = fault.list.filter(|list| !list.is_empty()) {
            fault.error.wanted = format!("wanted a list, [[{list}]], not a table");
        }
        fault.error
    })
}

/// What is wrong, by its path from where reading has come so far.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
struct Fault {
    error: ScenarioError,
    /// The name of the list in whose place a table stands, if it is one of the file's own lists; empty until it is known.
    list: Option<String>,
    /// What kind of number is wanted, where none stands, or none that such a number can be.
    number: Option<&'static str>,
}

impl Fault {
    fn new(wanted: String) -> Self {
        Self { error: ScenarioError { path: String::new(), value: None, wanted }, list: None, number: None }
    }

    fn within(self, place: &str) -> Self {
        let list = self.list.filter(String::is_empty).map(|_| place.to_owned());
        Self { error: self.error.within(place), list, number: self.number }
    }

    /// Says where the number must lie, if one is wanted; else what is wanted has said it, or lies deeper.
    fn in_domain(mut self, domain: &str) -> Self {
        if let Some(number) = self.number.take() {
            self.error.wanted = format!("wanted {number}, {domain}");
        }
        self
    }

    /// Shows the value that is wrong, if that is the one that is being read.
    fn of(mut self, value: Option<String>) -> Self {
        if self.error.path.is_empty() && self.error.value.is_none() {
            self.error.value = value;
        }
        self
    }
}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        let wanted = wanted.to_string();
        let (wanted, number) = of_type(&wanted);
        // Any other value is shown.
        match found {
            Unexpected::Map => Self::new(format!("wanted {wanted}, not a table")),
            Unexpected::Seq => Self::new(format!("wanted {wanted}, not a list")),
            _ => Self { number, ..Self::new(format!("wanted {wanted}")) },
        }
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::invalid_type(found, wanted)
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(format!("missing key `{key}`"))
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        unknown_key(key, known)
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        Self::new(format!("wanted {}", names(known)))
    }
}

/// What serde calls a type, as a person would; and which kind of number it is, if it is one.
fn of_type(wanted: &str) -> (&str, Option<&'static str>) {
    const WHOLE: Option<&str> = Some("a whole number");
    match wanted {
        "u16" => ("a whole number from 0 to 65535", WHOLE),
        "u32" => ("a whole number from 0 to 4294967295", WHOLE),
        "u64" => ("a whole number of 0 or more", WHOLE),
        "f64" => ("a number", Some("a number")),
        "a boolean" => ("true or false", None),
        "a string" => ("a text", None),
        "a sequence" => ("a list", None),
        other => (other, None),
    }
}

fn unknown_key(key: &str, known: &[&str]) -> Fault {
    let wanted = match known {
        [] => "this kind takes none".to_owned(),
        known => {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("wanted one of {}", names.join(", "))
        }
    };
    Fault::new(format!("unknown key `{key}`, {wanted}")).within(key)
}

/// A value that is being read.
struct Reader<'i>(Value<'i>);

/// A value as a message shows it, where it is short.
fn shown(value: &Value<'_>) -> Option<String> {
    let value = match value {
        Value::Table(_) | Value::Array(_) => return None,
        // TOML would write it in several lines.
        Value::String(text) if text.contains(char::is_control) => return Some(format!("{text:?}")),
        Value::String(text) => Written::String(text.to_string()),
        Value::Integer(number) => Written::Integer(whole(number)?),
        Value::Float(number) => Written::Float(real(number)?),
        Value::Boolean(yes) => Written::Boolean(*yes),
        Value::Datetime(date) => Written::Datetime(*date),
    };
    Some(value.to_string())
}

fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn real(number: &DeFloat<'_>) -> Option<f64> {
    number.as_str().parse().ok().filter(|real: &f64| !real.is_infinite() || number.as_str().contains("inf"))
}

/// A number that TOML has no room for: who reads the text as values says so.
fn too_large() -> Fault {
    Fault::new("wanted a smaller number".into())
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let result: Result<_, Fault> = match self.0 {
            Value::Array(items) => return visitor.visit_seq(Items { items: items.into_iter(), next: 0 }),
            Value::Table(table) => return visitor.visit_map(Keys::of(table)),
            Value::String(ref text) => visitor.visit_str(text),
            Value::Integer(ref number) => visitor.visit_i64(whole(number).ok_or_else(too_large)?),
            Value::Float(ref number) => visitor.visit_f64(real(number).ok_or_else(too_large)?),
            Value::Boolean(yes) => visitor.visit_bool(yes),
            Value::Datetime(_) => Err(de::Error::invalid_type(Unexpected::Other("a date"), &visitor)),
        };
        result.map_err(|fault| fault.of(shown(&self.0)))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let list = self.0.is_table().then(String::new);
        self.deserialize_any(visitor).map_err(|fault| Fault { list, ..fault })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        if name != WITHIN {
            return self.deserialize_any(visitor);
        }
        let domain = (&visitor as &dyn Expected).to_string();
        visitor.visit_newtype_struct(self).map_err(|fault| fault.in_domain(&domain))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        kinds: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Table(mut rest) => match rest.remove("kind").map(Spanned::into_inner) {
                Some(Value::String(name)) if !kinds.contains(&&*name) => {
                    let fault: Fault = de::Error::unknown_variant(&name, kinds);
                    Err(fault.of(Some(format!("{name:?}"))).within("kind"))
                }
                kind => visitor.visit_enum(Kinded { kind, rest }),
            },
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            name if name.is_str() => {
                let kind = Some(name.clone());
                visitor.visit_enum(Kinded { kind, rest: Table::new() }).map_err(|fault| fault.of(shown(&name)))
            }
            other => {
                let fault: Fault = de::Error::invalid_type(Unexpected::Other(other.type_str()), &visitor);
                Err(fault.of(shown(&other)))
            }
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Table(table) if name == WITH => {
                let mut parts = Parts { table, known: vec![] };
                let value = visitor.visit_seq(&mut parts)?;
                match parts.table.keys().next() {
                    Some(key) => Err(unknown_key(key.as_ref(), &parts.known)),
                    None => Ok(value),
                }
            }
            _ if name == WITH => self.deserialize_map(visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct tuple map struct
        identifier ignored_any
    }
}

/// The items of a list, one after the other.
struct Items<'i> {
    items: <DeArray<'i> as IntoIterator>::IntoIter,
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let place = self.next;
        self.next += 1;
        seed.deserialize(Reader(item.into_inner())).map(Some).map_err(|fault| fault.within(&format!("[{place}]")))
    }
}

/// The keys of a table, one after the other.
struct Keys<'i> {
    entries: <Table<'i> as IntoIterator>::IntoIter,
    /// The one whose key has been read, and not its value.
    current: Option<(Spanned<DeString<'i>>, Spanned<Value<'i>>)>,
}

impl<'i> Keys<'i> {
    fn of(table: Table<'i>) -> Self {
        Self { entries: table.into_iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Keys<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.current = self.entries.next();
        let Some((key, _)) = &self.current else { return Ok(None) };
        seed.deserialize((&**key.as_ref()).into_deserializer()).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let (key, value) = self.current.take().ok_or_else(|| Fault::new("a value without a key".into()))?;
        seed.deserialize(Reader(value.into_inner())).map_err(|fault| fault.within(key.as_ref()))
    }
}

/// A kind and the keys beside it.
struct Kinded<'i> {
    kind: Option<Value<'i>>,
    rest: Table<'i>,
}

impl<'de, 'i> EnumAccess<'de> for Kinded<'i> {
    type Error = Fault;
    type Variant = Rest<'i>;

    fn variant_seed<K: DeserializeSeed<'de>>(self, seed: K) -> Result<(K::Value, Rest<'i>), Fault> {
        let kind = match self.kind {
            Some(Value::String(kind)) => seed.deserialize(CowStrDeserializer::new(kind)),
            Some(other) => seed.deserialize(Reader(other)).map_err(|fault| fault.within("kind")),
            None => seed.deserialize(UnitDeserializer::new()),
        };
        Ok((kind?, Rest(self.rest)))
    }
}

/// The keys beside a kind.
struct Rest<'i>(Table<'i>);

impl<'de> VariantAccess<'de> for Rest<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.0.keys().next() {
            Some(key) => Err(unknown_key(key.as_ref(), &[])),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(Reader(Value::Table(self.0)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        Reader(Value::Table(self.0)).deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        Reader(Value::Table(self.0)).deserialize_any(visitor)
    }
}

/// A table that several structs read, each the keys that it asks for.
struct Parts<'i> {
    table: Table<'i>,
    known: Vec<&'static str>,
}

impl<'de> SeqAccess<'de> for &mut Parts<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        seed.deserialize(&mut **self).map(Some)
    }
}

impl<'de> Deserializer<'de> for &mut Parts<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        Reader(Value::Table(mem::take(&mut self.table))).deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.known.extend(keys);
        let (own, rest): (Table<'_>, Table<'_>) =
            mem::take(&mut self.table).into_iter().partition(|(key, _)| keys.contains(&&**key.as_ref()));
        self.table = rest;
        visitor.visit_map(Keys::of(own))
    }

    /// A part may have two parts itself.
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == WITH { visitor.visit_seq(self) } else { self.deserialize_any(visitor) }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple map enum identifier ignored_any
    }
}
