//! Why a server is not started.

use crate::options::{Endpoint, OptionsError};
use std::io;
use std::path::PathBuf;

/// Why a server is not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// An option cannot be.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// An address cannot be had.
    #[error("{endpoint} cannot be listened at: {source}")]
    Listen {
        /// Where.
        endpoint: Endpoint,
        /// What the system says.
        source: io::Error,
    },
    /// A certificate or key cannot be used.
    #[error("{}: {reason}", file.display())]
    Tls {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The tables of Redis' keys cannot be had.
    #[error(
        "the tables of Redis' keys cannot be had: {0}; serve the database without Redis (--redis off), and by SQL drop what was \
         added to the table (DROP INDEX, ALTER TABLE … DROP COLUMN), rename it if it is of your own, or drop it with its keys"
    )]
    Keyspace(#[from] sardonyx::Error),
    /// The database is one of nodes, which serve PostgreSQL's clients alone.
    #[error(
        "{what} are not served by a node of a nodes' database: switch that off (--{option} off)"
    )]
    OfNodes {
        /// Whose clients.
        what: &'static str,
        /// The option.
        option: &'static str,
    },
    /// The system starts no threads.
    #[error("threads cannot be started: {0}")]
    Threads(io::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}
