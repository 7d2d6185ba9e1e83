//! The conventions that the programs `sardonyx` and `sardonyx-lab` share: how they print, end and fail, and arguments
//! that many verbs have.
//!
//! - [`output`]: results as text or JSON; - [`exit`]: exit codes, and the code of each error of the engine;
//! - [`help`]: `--help` with the verbs in groups; - [`program`]: a program from its arguments to its exit code;
//! - [`completions`], [`manual`]: shell completions and manual pages, made from the same table;
//! - [`ending`]: the removal of a program's files when a signal ends it;
//! - [`checkpoints`], [`directories`], [`durable_at`]: arguments.
//!
//! Invariant: an error has one exit code in every program. A program adds the errors of its own crates to those of the
//! engine; it cannot change the engine's.

pub mod checkpoints;
pub mod completions;
pub mod directories;
pub mod durable_at;
pub mod ending;
pub mod exit;
pub mod help;
pub mod manual;
pub mod output;
pub mod program;
