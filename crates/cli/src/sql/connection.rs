//! The connection of a shell: a database that is opened here, or a server of PostgreSQL's protocol.

use super::answer::Answer;
use super::local::Local;
use super::remote::{Remote, RemoteError};
use super::text::Statement;
use std::path::Path;

/// The target of a shell's statements.
#[derive(Debug)]
pub enum Connection {
    Local(Box<Local>),
    Remote(Box<Remote>),
}

/// The state of a connection's transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// In no transaction.
    Idle,
    /// In a transaction.
    Open,
    /// In a failed transaction.
    Failed,
}

/// The reason why a statement failed.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// The statement is wrong, or could not be done: its message, as a shell shows it.
    #[error("{0}")]
    Refused(String),
    /// The connection ended.
    #[cfg_attr(
        not(feature = "shell"),
        expect(dead_code, reason = "only servers answer so")
    )]
    #[error("the connection ended: {0}")]
    Gone(#[source] RemoteError),
}

/// Returns true if a text is the URL of a server and not a path.
pub fn is_url(text: &str) -> bool {
    ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

impl Connection {
    /// Connects to the server of a URL; `ca` is the file with the certificate that it is verified with.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses; the file has no certificate.
    pub fn to_server(url: &str, ca: Option<&Path>) -> anyhow::Result<Connection> {
        Ok(Connection::Remote(Box::new(Remote::connect(url, ca)?)))
    }

    /// Runs one statement, with the data that `COPY … FROM STDIN` reads.
    ///
    /// # Errors
    /// [`StatementError`].
    pub fn run(
        &mut self,
        statement: &Statement,
        copied: Option<Vec<u8>>,
    ) -> Result<Vec<Answer>, StatementError> {
        match self {
            Connection::Local(local) => local.run(statement, copied),
            Connection::Remote(remote) => remote.run(statement, copied),
        }
    }

    /// The state of the transaction.
    pub fn standing(&self) -> Standing {
        match self {
            Connection::Local(local) => local.standing(),
            Connection::Remote(remote) => remote.standing(),
        }
    }
}
