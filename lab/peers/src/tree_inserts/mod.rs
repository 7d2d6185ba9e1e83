//! Durable random inserts into ordered trees, one transaction each: other engines and the trees in a mapped segment.
//!
//! The experiment itself is `sardonyx_lab::tree_inserts`; here are Berkeley DB, LMDB, redb and SQLite, each with the
//! best settings that keep acknowledged inserts through a power failure.
//!
//! # Adding an engine
//!
//! Implement [`TreePeer`] and [`Session`] in a module of its own and add one line to [`registry`].
//! The tests run over the registry, so they cover the new engine too.

mod berkeley_db;
mod lmdb;
mod redb;
mod sqlite;

pub use sardonyx_lab::tree_inserts::*;
pub use sardonyx_lab::{ExperimentError, Failure, Program};

/// All engines, in the order in which they run.
pub fn registry() -> Vec<TreeEngine> {
    let mut engines = segment_trees();
    engines.extend([
        TreeEngine::of::<berkeley_db::BerkeleyDb>(),
        TreeEngine::of::<lmdb::Lmdb>(),
        TreeEngine::of::<redb::Redb>(),
        TreeEngine::of::<sqlite::Sqlite>(),
    ]);
    engines
}
