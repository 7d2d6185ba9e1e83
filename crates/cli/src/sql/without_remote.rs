//! Replaces connections to a server in a build without the feature `shell`: a URL is refused, and the error names the
//! feature.

use super::answer::Answer;
use super::connection::{Standing, StatementError};
use super::text::Statement;
use sardonyx_command::exit::UsageError;
use std::path::Path;

/// A connection, which cannot exist.
#[derive(Debug)]
pub enum Remote {}

/// An error of a connection.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {}

impl Remote {
    /// Refuses the connection.
    ///
    /// # Errors
    /// Always.
    pub fn connect(_: &str, _: Option<&Path>) -> anyhow::Result<Remote> {
        Err(UsageError::MissingFeature {
            what: "the shell as a client of a server is",
            feature: "shell",
        }
        .into())
    }

    pub fn standing(&self) -> Standing {
        match *self {}
    }

    pub fn run(
        &mut self,
        _: &Statement,
        _: Option<Vec<u8>>,
    ) -> Result<Vec<Answer>, StatementError> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_refused_by_the_name_of_the_feature() {
        let error = Remote::connect("postgres://127.0.0.1:5433", None).unwrap_err();
        assert!(error.to_string().contains("--features shell"), "{error}");
    }
}
