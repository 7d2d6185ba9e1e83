//! Checkpoints at a standby: the TPK paper's configuration C, where the checkpointing thread runs on
//! another machine and is fed by the log.
//!
//! ```text
//!   primary                                         standby (another process, at another address)
//!   transactions ┬▶ log on disk    ┌▶ Standby ══TCP══▶ StandbyServer ─▶ log on disk ─▶ DB' ─▶ backup
//!                └▶ newest groups ─┘          ◀════ reports: the log is freed
//! ```
//!
//! The primary has one copy of the data instead of two, and its disk writes nothing but the log. The
//! standby's directory is an ordinary database's, of the same identity.
//!
//! ```
//! use sardonyx::Options;
//! use sardonyx_standby::{Standby, StandbyOptions, StandbyServer};
//! use std::time::Duration;
//! # let directory = tempfile::tempdir().unwrap();
//! # let (there, here) = (directory.path().join("standby.sdx"), directory.path().join("bank.sdx"));
//! # let small = |options: Options| options.segment_bytes(256 << 10).log_bytes_max(2 << 20)
//! #     .log_bytes_prepared(0).memory_bytes_max(64 << 20).group_limits(sardonyx::disk::GroupLimits {
//! #         group_bytes: 64 << 10, transaction_bytes: 64 << 10, depth: 2, buffers: 6 })
//! #     .shape(sardonyx::Shape::Coalesced);
//!
//! // In the standby's process:
//! let server = StandbyServer::open(&there, StandbyOptions::new())?.listen("127.0.0.1:0")?;
//! let address = server.address().to_string();
//!
//! // In the primary's:
//! let standby = Standby::at(address);
//! let options = Options::new().checkpoint_at(standby.clone());
//! # let options = small(options);
//! let bank = options.open_tables(&here)?;
//! # sardonyx::record! {
//! #     #[table("accounts", key = id)]
//! #     struct Account { id: u64, balance: i64 }
//! # }
//! let accounts = bank.table::<Account>()?;
//! bank.run(|tx| {
//!     tx.insert(accounts, &Account { id: 1, balance: 100 })?;
//!     Ok(())
//! })?;
//! // Optional: what is durable here is durable there, too, and in a checkpoint.
//! assert!(standby.wait_until_caught_up(Duration::from_secs(60)));
//! bank.checkpoint()?;
//! bank.close()?;
//!
//! // Failing over: stop the standby, and open its directory as the database.
//! server.stop();
//! # let options = small(Options::new());
//! let bank = options.open_tables(&there)?;
//! # let accounts = bank.table::<Account>()?;
//! let balance = bank.read(|view| Ok(view.get(accounts, 1)?.map(|account| account.balance)))?;
//! assert_eq!(balance, Some(100));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **What is promised.** A transaction is acknowledged when it is durable on the *primary's* disk;
//! the standby follows as fast as it can. If the primary's disk is lost, the standby has everything
//! up to its own last durable group, and what is missing is exactly what was acknowledged after
//! that: [`Standby::lag`] says how much it is. If only the primary's process is lost, nothing is: it
//! recovers from the standby's image and its own log.
//!
//! **What goes wrong.**
//! - *The connection is lost, or the standby:* the primary goes on until its log is full, then
//!   refuses transactions with the reason, and goes on when the standby is back, which is sent what
//!   it lacks.
//! - *The standby's disk is lost:* an empty directory will do as a new one. As long as the primary's log reaches back to
//!   the beginning it is sent that; later it is sent all pages from the primary's memory, as they are at one commit, and the
//!   log from there on, while transactions go on. That is so for tables; memory and operations give none, and
//!   say so ([`RemoteError::NotSeeded`]). Until the new one has everything the primary has the data only in memory and in a log
//!   that begins in the middle; and what only the lost one had, rows of journals that have left the log, is not there any more.
//! - *One of the two was opened as a database while the other went on:* their logs went different
//!   ways, and the primary refuses the standby ([`RemoteError::Diverged`], [`RemoteError::Ahead`]).
//!   Nothing is ever overwritten.
//!
//! - *Others connect:* whoever does not greet is sent away after some seconds, or when many others wait.
//!   With a [`Token`], which both sides are given ([`StandbyOptions::token`], [`Standby::with_token`]), only
//!   a primary that has it is served.
//!
//! **Secret.** Both sides are given a transport ([`StandbyOptions::transport`], [`Standby::over`]), such as `sardonyx-tls`;
//! without one the connection is TCP as it is, and the token, too, goes over it in the clear.
//!
//! Source: TPK paper (Li & Naughton, *Multiprocessor Main Memory Transaction Processing*), section 3.

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]

mod assembly;
mod connection;
mod error;
#[cfg(test)]
mod exploration;
#[cfg(test)]
mod exploration_of_seeds;
mod fetch;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod kinds;
mod options;
mod primary;
mod protocol;
mod refusal;
mod seeding;
mod serve;
mod server;
mod ship;
mod store;
mod stream;
mod visitors;

pub use error::StandbyError;
pub use options::StandbyOptions;
pub use primary::{Lag, Patience, Sent, Standby, StandbyStatus};
pub use protocol::PROTOCOL_VERSION;
pub use refusal::{ProtocolError, Refusal};
pub use sardonyx_base::token::{TOKEN_BYTES_MAX, Token, TokenError};
pub use sardonyx_base::transport::{Transport, TransportError};
pub use sardonyx_storage::checkpoint::RemoteError;
pub use server::{ListeningStandby, StandbyReport, StandbyServer, StopStandby};
