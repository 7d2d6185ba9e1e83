//! SQL on Sardonyx's tables, without sockets: statements of PostgreSQL clients are parsed, planned and run in the
//! engine's transactions. A server puts a wire protocol before it; a shell calls it directly.
//!
//! - [`Database`]: the tables and what SQL knows beyond them, shared by all sessions;
//! - [`Session`]: one client; it [prepares](Session::prepare) statements and [runs](Session::run) flights of them;
//! - [`Prepared`], [`Step`], [`Outcome`]: input and output; [`SqlError`]: the errors;
//! - [`ProcedureCall`]: a procedure called inside of a program's own transaction, without a session;
//! - [`SqlType`], [`encode_text`], [`decode_text`], [`encode_binary`], [`decode_binary`]: types, and values as clients
//!   write and read them.
//!
//! Transactions are serializable, and an open one blocks no other: see the module `session` in the sources. A reply
//! means durable: [`Session::run`] returns when its writes, and the writes that it read, are on stable storage.
//!
//! Source: PostgreSQL's documentation, version 15, parts "The SQL Language" and "SQL Commands".

#![forbid(unsafe_code)]
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

mod access_methods;
mod activity;
mod advisory;
mod aggregate;
mod begun;
mod binary;
mod blocking;
mod called;
mod catalogue;
mod changed_text;
mod checks;
mod claiming;
mod claims;
mod class;
mod column;
mod conditions;
mod constraints;
mod copy;
mod cursors;
mod database;
mod declarations;
mod declared;
mod defaults;
mod define;
mod define_target;
mod error;
mod explain;
mod expression;
mod extensions;
mod followed;
mod hashing;
mod idle_rows;
mod incoming;
mod index_names;
mod indexed;
mod kept;
mod keyspace;
mod keywords;
mod lexer;
mod listed;
mod lock_modes;
mod locking;
mod maintenance;
mod memory;
mod messages;
mod names;
#[cfg(feature = "nodes")]
mod node_target;
mod on_commit;
mod opening;
mod operator_classes;
mod parse;
mod path;
mod plan;
mod position;
mod prepared;
mod procedures;
mod registered;
mod relation;
mod result;
mod rights;
mod routines;
mod rows;
mod running;
mod scanned;
mod schemas;
mod search_path;
mod sequence_names;
mod sequences;
mod session;
mod settings;
mod signalling;
mod signals;
mod source;
mod store;
mod stream;
mod table_names;
mod temporary;
mod text;
mod types;
mod underway;
mod user_types;
mod values;
mod views;
mod violations;
mod virtual_tables;
mod waits;
mod write_target;

pub use activity::{ClientAddress, ShownUnread, Unread};
pub use binary::{as_text, decode_binary, encode_binary};
pub use called::{CalledProcedure, Caller, ProcedureCall};
pub use checks::{RowFilter, enforce_checks};
pub use column::ResultColumn;
pub use copy::binary::Tuples as CopyTuples;
pub use copy::options::CopyFormat;
pub use cursors::{CursorCommand, Direction};
pub use database::{BesideLimits, Database};
pub use declarations::{Declaration, declarations};
pub use error::{ErrorFields, SqlError, code};
pub use followed::{AgeBound, CaughtUp, FollowOptions, SaysWhoWrites};
pub use incoming::{IncomingRow, IncomingTable, InsertedRows, RowsTransaction};
pub use listed::ListedCursor;
pub use memory::{bytes_of, cover_bytes, cover_portion};
pub use parse::TEXT_BYTES_MAX;
pub use prepared::{Prepared, SavepointStep};
pub use registered::Procedure;
pub use relation::{ROW_NUMBER, is_hidden};
pub use result::{
    Complete, CopyData, Notice, Outcome, RowStream, Rows, Step, Tag, TransactionStatus,
};
pub use rights::{Access, Rights};
pub use sardonyx::schema::{Value, ValueRef};
pub use sardonyx_base::channels::{Event, Inbox, Message};
pub use sardonyx_base::memory::{Budget, Exhausted, Share};
pub use sardonyx_base::waiting::{Interrupt, Reason};
pub use session::{SPANS_TARGET, Session, SessionOptions, TOLD_TEXT_BYTES_MAX, record_error};
pub use text::{decode_text, encode_text};
pub use types::{Collation, NamedCollation, SqlType, TypeSpec};
pub use underway::check_interrupted;
pub use user_types::EnumLabels;
pub use values::zones::SessionZone;
