//! A server for the clients of PostgreSQL and Redis, on a database of tables.
//!
//! Nothing of transactions is decided here: what a client sent together goes to the SQL layer
//! ([`sardonyx_sql::Session`]) or to the keyspace ([`sardonyx_resp::Session`]) as one flight, and what comes back is
//! written to the socket when it is durable.
//!
//! - [`Server`]: connections, the orderly end; [`Doors`]: its sockets; [`Following`]: a host that does not serve now;
//! - [`Lease`]: whether answers may be sent; - [`Options`], [`configuration`]: how it is started;
//! - [`postgres`]: PostgreSQL's protocol; - `redis`: Redis'; - [`scram`]: passwords; - [`metrics`]: what is counted;
//! - [`spans`]: what `tracing` is told; - [`state`]: what a server does, as one value; - `http`: that value as metrics, as JSON and as a page.
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
pub use options::{Endpoint, Limits, Options, OptionsError, Otlp, Right, TlsFiles, User};
pub use server::Server;
