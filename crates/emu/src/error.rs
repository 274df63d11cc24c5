// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong before a run.

use lasthop_sim::scenario::ScenarioError;

/// Why an emulation did not take place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario or an option cannot be emulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The system does not give what it takes.
    #[error("{0}")]
    System(String),
}

impl Error {
    /// Says what was attempted.
    pub(crate) fn system(attempt: &str, error: impl std::fmt::Display) -> Self {
        Self::System(format!("cannot {attempt}: {error}"))
    }
}

/// Adds what was attempted to an error of the system.
pub(crate) trait Attempt<T> {
    /// Says what was attempted.
    fn attempt(self, what: &str) -> Result<T, Error>;
}

impl<T, E: std::fmt::Display> Attempt<T> for Result<T, E> {
    fn attempt(self, what: &str) -> Result<T, Error> {
        self.map_err(|error| Error::system(what, error))
    }
}
