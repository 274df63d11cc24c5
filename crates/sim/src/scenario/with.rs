// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables whose keys are in part those of others.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::read::{field_names, rest, unknown_field};

/// One's own keys, in one table with those that several have in common.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(rename = "{T}")]
pub struct With<T, C> {
    /// One's own.
    #[schemars(flatten)]
    pub own: T,
    /// What others have too.
    #[schemars(flatten)]
    pub common: C,
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
