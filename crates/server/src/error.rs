//! Errors of a server's start.

use crate::options::{Endpoint, OptionsError};
use std::io;
use std::path::PathBuf;

/// The reason why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// An option is not valid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// An address cannot be bound.
    #[error(
        "cannot listen at {endpoint}: {source}; other addresses, or `off`, are given by --postgres, --redis, --http, or in \
         the configuration"
    )]
    Listen {
        /// The address, or the path of a Unix socket.
        endpoint: Endpoint,
        /// The system's error.
        source: io::Error,
    },
    /// A certificate or key cannot be used.
    #[error("{}: {reason}", file.display())]
    Tls {
        /// The certificate, or the key.
        file: PathBuf,
        /// The fault of the file.
        reason: String,
    },
    /// The tables for Redis keys cannot be opened.
    #[error(
        "the tables for Redis keys cannot be opened: {0}; serve the database without Redis (--redis off), and by SQL drop what was \
         added to the table (DROP INDEX, ALTER TABLE … DROP COLUMN), rename it if it is of your own, or drop it with its keys"
    )]
    Keyspace(#[from] sardonyx::Error),
    /// The database is one of nodes, which serve no Redis clients.
    #[error(
        "Redis clients are not served by a node of a nodes' database: switch that off (--redis off)"
    )]
    OfNodes,
    /// The system starts no threads.
    #[error("the system cannot start threads: {0}")]
    Threads(io::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}
