//! Several nodes on one database.
//!
//! [`protocol`] has the rules by which nodes share pages: locks over all nodes, and buffers in which no reader
//! sees an old version. They are state machines; the simulation runs them in virtual time. [`page_cache`] has
//! those of a page cache that the nodes share. [`lock_table`] is the global lock table in memory that several
//! processes share. [`redo`] merges the logs of several nodes. [`node`] has nodes for real: processes with pages,
//! one log, and deaths; and, in [`node::loose`], processes that share nothing but connections.

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
#![forbid(unsafe_code)]

pub mod lock_table;
#[cfg(not(shuttle))]
pub mod node;
pub mod page_cache;
pub mod protocol;
pub mod redo;
