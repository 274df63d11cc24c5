// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a constructor says of a value it cannot take.

/// A parameter outside its domain. `key` is the scenario's key, so that the message can name the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: wanted {wanted}")]
pub struct ParameterError {
    /// The scenario's key, e.g. `radio.slot`.
    pub key: String,
    /// The value as given.
    pub value: String,
    /// What would do, with its unit, e.g. `more than 0 s`.
    pub wanted: String,
}

impl ParameterError {
    /// Says that `key` has a value it cannot have.
    pub fn new(key: impl Into<String>, value: impl ToString, wanted: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.to_string(), wanted: wanted.into() }
    }

    /// Puts the key of the enclosing table in front: `slot` within `radio` is `radio.slot`.
    #[must_use]
    pub fn within(mut self, table: &str) -> Self {
        self.key = format!("{table}.{}", self.key);
        self
    }
}

/// Refuses unless `holds`.
pub fn ensure(holds: bool, key: &str, value: impl ToString, wanted: &str) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError::new(key, value, wanted)) }
}
