//! A log at another host, over TCP: `tcp://HOST:PORT` is the log of a [`StoreServer`] there.
//!
//! ```text
//! host that serves ─▶ TcpLog ═══ TCP, TLS, token ═══▶ StoreServer ─▶ DIRECTORY, or file:DIRECTORY
//! ```
//!
//! The server has a place of its own, which it has probed, and executes its requests there. The place is a directory
//! that it has for itself ([`ServedLog`](crate::ServedLog)), or one that a host beside it uses, too, as
//! `file:DIRECTORY`. Entries are durable there before they are acknowledged. Each request has one answer. A connection
//! that breaks does not show if a request was done, as with every store
//! ([`StoreError::Unclear`](sardonyx_storage::remote_log::store::StoreError::Unclear)).
//!
//! - `message`: requests and answers as bytes; `client`: the store's interface; `ahead`: groups of the next entry;
//! - `server`: connections; `session`: the requests of one, and their answers; `receiving`: how a request comes;
//! - `link`: sockets of a client. `client` and `session` have none, so `exploration` runs them over a network in virtual time.

mod ahead;
#[cfg(test)]
mod ahead_tests;
mod client;
#[cfg(test)]
mod exploration;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod link;
mod message;
mod planted;
mod receiving;
mod server;
mod session;
#[cfg(test)]
mod tests;

pub use client::{TLS_VARIABLE, TOKEN_FILE_VARIABLE, TcpLog};
pub use server::{StoreServer, StoreServerError};

use sardonyx_base::greeting::Protocol;
use std::time::Duration;

const PROTOCOL: Protocol = Protocol {
    magic: *b"SardonyL",
    version: 1,
    within: Duration::from_secs(5),
};

/// A bit of a server's welcome: it takes parts of the next entry.
const TAKES_AHEAD: u64 = 1;

/// The most bytes of an entry or of an object.
const CONTENT_BYTES_MAX: u64 = 64 << 20;

/// The most bytes of a request or an answer.
const BODY_BYTES_MAX: usize = CONTENT_BYTES_MAX as usize + (1 << 20);
