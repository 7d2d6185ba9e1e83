//! Redis' protocol, data types and commands on Sardonyx's tables, without sockets.
//!
//! [`Keyspace`] is a database as Redis clients see it; [`Session`] is one connection's side of the protocol. A
//! listener reads bytes, hands them to its session, and sends the session's output:
//!
//! ```
//! use bytes::BytesMut;
//! use sardonyx::Tables;
//! use sardonyx_resp::{Keyspace, Session, SessionOptions};
//! use std::sync::Arc;
//!
//! # async fn talk() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let tables = Arc::new(Tables::open(directory.path().join("cache.sdx"))?);
//! let mut session = Session::new(Keyspace::open(tables)?, SessionOptions::default());
//! let mut received = BytesMut::from(&b"SET greeting hello\r\nAPPEND greeting !\r\nGET greeting\r\n"[..]);
//! let mut answers = BytesMut::new();
//! let flight = session.take(&mut received)?;
//! session.run(flight, &mut answers).await; // on stable storage when this returns
//! assert_eq!(&answers[..], b"+OK\r\n:6\r\n$6\r\nhello!\r\n");
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(talk()).unwrap();
//! ```
//!
//! **A reply means durable.** Each command is a transaction of its own; so is `MULTI … EXEC`. The commands of a flight
//! are requests of one batch, or steps of one turn. So a pipeline shares a commit group, and connections share groups. A command that
//! reads is answered when all that it can have read is durable, which costs no sync when nothing is pending.
//!
//! Values are stored in tables that SQL shows: see `data::tables`. `docs/redis.md` in the repository has a quick start
//! and the differences from Redis.
//!
//! Modules: `command::line` takes commands from bytes; [`Reply`] writes answers; `session` plans a flight; `request`
//! runs it in the database. `command` has the commands, `data` their rows, `channels` the messages. [`import`] stores the
//! keys of a Redis' file.

#![forbid(unsafe_code)]

mod ahead;
mod blocking;
mod channels;
mod clients;
mod command;
mod cursors;
mod data;
mod event_classes;
mod events;
mod failure;
mod followed;
mod functions;
mod geohash;
mod hyperloglog;
pub mod import;
mod keyspace;
mod number;
mod pattern;
mod pending;
pub mod process;
pub mod rdb;
mod reply;
mod request;
#[cfg(feature = "lua")]
mod scripts;
mod session;
mod settings;
mod shared;
mod slow;
mod statistics;
mod tracking;

pub use command::line::{Line, PART_BYTES_MAX, PARTS_MAX, ProtocolError};
pub use data::{KEY_BYTES_MAX, table_names::KEY_TABLES};
pub use failure::Failure;
pub use followed::TakesState;
pub use functions::{Called, FunctionCall, Functions, Listed, Within};
pub use keyspace::Keyspace;
pub use reply::{Reply, Short, Version};
pub use session::{
    Authenticate, Authenticated, Clock, Continue, Flight, Permission, Session, SessionOptions,
    SystemClock,
};
pub use shared::Body;

/// The guide to Redis clients: its program is compiled with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/redis.md")]
struct RedisGuide;
