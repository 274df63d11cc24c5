// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of a value that cannot be taken.

/// A parameter outside its domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: wanted {wanted}")]
pub struct ParameterError {
    /// Its key by its path from where it was looked at, e.g. `radio.slot`; empty: the value itself.
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
        self.key = join(table, &self.key);
        self
    }
}

/// The path of `key` within `table`; either may be empty.
pub fn join(table: &str, key: &str) -> String {
    match (table, key) {
        ("", key) => key.to_owned(),
        (table, "") => table.to_owned(),
        (table, key) if key.starts_with('[') => format!("{table}{key}"),
        (table, key) => format!("{table}.{key}"),
    }
}

/// Refuses unless `holds`. What is said then is put into words only then: let it be `format_args!`, as a network of many flows asks
/// this millions of times.
pub fn ensure(holds: bool, key: &str, value: impl ToString, wanted: impl ToString) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError::new(key, value, wanted.to_string())) }
}
