// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the system does not give, with what was attempted.

/// Why the system does not give what was asked for, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    is_refusal: bool,
}

impl Error {
    /// A line of one's own.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_refusal: false }
    }

    /// A program's line about what it was told, with which it ended with status 2.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_refusal: true }
    }

    /// Whether what was asked for is at fault, not the system.
    pub fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// Says what was attempted and why it failed.
    pub fn of(attempt: &str, error: impl std::fmt::Display) -> Self {
        Self::new(format!("cannot {attempt}: {error}"))
    }
}

/// Adds what was attempted to an error of the system.
pub trait Attempt<T> {
    /// Says what was attempted, in words that follow "cannot".
    ///
    /// # Errors
    /// That of `self`, with these words in front.
    fn attempt(self, what: &str) -> Result<T, Error>;
}

impl<T, E: std::fmt::Display> Attempt<T> for Result<T, E> {
    fn attempt(self, what: &str) -> Result<T, Error> {
        self.map_err(|error| Error::of(what, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_attempted() {
        let failed: Result<(), _> = Err(std::io::Error::from_raw_os_error(1));
        assert_eq!(
            failed.attempt("open a door").unwrap_err().to_string(),
            "cannot open a door: Operation not permitted (os error 1)"
        );
    }
}
