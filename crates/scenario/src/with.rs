// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables whose keys are in part those of others.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::read::{field_names, rest, unknown_field};

/// One's own keys, in one table with those that several have in common.
#[derive(Clone, Debug, Default)]
pub struct With<T, C> {
    /// One's own.
    pub own: T,
    /// What others have too.
    pub common: C,
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

impl<'de, T: DeserializeOwned, C: DeserializeOwned> Deserialize<'de> for With<T, C> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (own, common) = (field_names::<T>(), field_names::<C>());
        let all = toml::Table::deserialize(deserializer)?;
        if let Some(key) = all.keys().find(|key| !own.iter().chain(common).any(|name| name == key)) {
            return Err(unknown_field(key, own.iter().chain(common)));
        }
        let (of_own, of_all): (toml::Table, toml::Table) =
            all.into_iter().partition(|(key, _)| own.contains(&key.as_str()));
        Ok(Self { own: rest(of_own.into())?, common: rest(of_all.into())? })
    }
}
