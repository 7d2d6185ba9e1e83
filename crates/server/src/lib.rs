//! A server for PostgreSQL and Redis clients, on a database of tables.
//!
//! The server decides nothing about transactions. It passes the requests that arrived together to the SQL layer
//! ([`sardonyx_sql::Session`]) or to the keyspace ([`sardonyx_resp::Session`]) as one flight. It writes the answers to
//! the socket when they are durable.
//!
//! - [`Server`]: connections, shutdown; [`Doors`]: its sockets; [`Following`]: a host that does not serve now;
//! - [`Lease`]: the right to answer; - [`Options`], [`configuration`]: options of the start;
//! - [`postgres`]: PostgreSQL's protocol; - `redis`: Redis'; - [`scram`]: passwords; - [`metrics`]: counts;
//! - [`spans`]: spans for `tracing`; - [`state`]: the state of a server as one value; - `http`: that value as metrics,
//!   JSON and a page.
//!
//! ```no_run
//! use sardonyx::Tables;
//! use sardonyx_server::{Options, Server};
//! use sardonyx_sql::Database;
//! use std::sync::Arc;
//!
//! let tables = Arc::new(Tables::open("bank.sdx")?);
//! let server = Server::start(Database::new(tables.clone())?, Options::default())?;
//! // psql -h 127.0.0.1 -p 5433
//! server.stop();
//! tables.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]
#![forbid(unsafe_code)]

mod cancelling;
pub mod configuration;
mod connection;
mod doors;
mod error;
mod following;
mod gate;
mod http;
mod lease;
mod memory;
pub mod metrics;
mod options;
mod passwords;
pub mod postgres;
mod procedures;
mod redis;
mod runtimes;
pub mod scram;
mod server;
pub mod slow_statements;
pub mod spans;
pub mod state;
mod stream;
mod tls;
mod unanswered;

pub use doors::Doors;
pub use error::ServerError;
pub use following::Following;
pub use lease::Lease;
pub use memory::has_room_for;
pub use options::{Endpoint, Limits, Options, OptionsError, Otlp, Right, TlsFiles, User};
pub use server::Server;

/// The guide to the server: its program is compiled with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/server.md")]
struct ServerGuide;
