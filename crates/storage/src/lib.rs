//! The storage: pages in memory, one redo log with group commit, one checkpoint, one recovery.
//!
//! Every way of running transactions ends in the same act: append a batch of redo records to the
//! [`log`] and wait until they are durable. Nothing here knows which way produced a record. The
//! [`checkpoint`] consumes the log. It reads the live pages only if tables ask for that
//! ([`checkpoint::Checkpoints::FromSnapshots`]).
//!
//! Source: TPK paper (Li & Naughton, *Multiprocessor Main Memory Transaction Processing*), section 2.

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
// Steps of opening, following and sealing that only hosts call. They stay beside their brothers.
#![cfg_attr(not(feature = "hosts"), allow(dead_code))]

pub mod catalogue;
pub mod checkpoint;
#[cfg(any(test, feature = "simulated-disk"))]
pub mod crashes;
pub mod disk;
pub mod drive;
pub mod engine;
pub mod engine_view;
#[cfg(test)]
mod exploration;
pub mod inspect;
pub mod journal;
mod kinds;
pub mod lines;
pub mod log;
pub mod manifest;
pub mod page;
pub mod pen;
pub mod places;
mod position;
pub mod prefetch;
pub mod recovery;
pub mod remote_log;
pub mod reserve;
pub mod store;
pub mod stored;
pub mod supervisor;
pub mod ticket;
pub mod tree;
pub mod verify;
