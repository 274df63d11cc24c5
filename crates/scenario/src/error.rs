// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a scenario.

use lasthop_core::error::{ParameterError, join};

/// What is wrong with a scenario, in one line: key, value, what is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.line())]
pub struct ScenarioError {
    /// The key, by its path: `ap[0].radio.slot`; empty for the file as a whole.
    pub path: String,
    /// Its value, where that is what is wrong.
    pub value: Option<String>,
    /// What is wanted, or what else is wrong: `wanted more than 0 s`, ``missing key `rate` ``.
    pub wanted: String,
}

impl ScenarioError {
    /// Says it of a key.
    pub fn at(key: &str, message: impl std::fmt::Display) -> Self {
        Self { path: key.to_owned(), value: None, wanted: message.to_string() }
    }

    /// Says what is wanted of a key in place of its value.
    pub fn refused(key: &str, value: impl std::fmt::Display, wanted: impl std::fmt::Display) -> Self {
        Self { path: key.to_owned(), value: Some(value.to_string()), wanted: format!("wanted {wanted}") }
    }

    /// Puts the enclosing table in front: `rate: …` within `link[0]` is `link[0].rate: …`.
    #[must_use]
    pub fn within(mut self, table: &str) -> Self {
        self.path = join(table, &self.path);
        self
    }

    /// Puts the place in front of what a constructor refused: `radio.slot` becomes `ap[0].radio.slot`.
    pub fn parameter(place: &str, error: ParameterError) -> Self {
        let ParameterError { key, value, wanted } = error;
        Self::refused(&key, value, wanted).within(place)
    }

    /// Says what a parser says of text that is no TOML.
    pub(crate) fn syntax(message: &str, line: Option<usize>) -> Self {
        let message = message.lines().map(str::trim).collect::<Vec<_>>().join(", ");
        Self::at("", line.map_or_else(|| message.clone(), |line| format!("line {line}: {message}")))
    }

    fn line(&self) -> String {
        let Self { path, value, wanted } = self;
        let line = match value {
            Some(value) => format!("{path} = {value}: {wanted}"),
            None if path.is_empty() => wanted.clone(),
            None => format!("{path}: {wanted}"),
        };
        // A key may hold whatever a quoted text does.
        let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
        if line.contains(char::is_control) { line.chars().map(shown).collect() } else { line }
    }
}
