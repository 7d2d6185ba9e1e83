//! Durable random inserts into ordered trees, one transaction each: other people's engines.
//!
//! Paper 002 knew that its trees were from 4 percent slower to 67 percent faster than Berkeley DB's
//! at this load; here stand Berkeley DB, LMDB, redb and SQLite, each with the best settings that
//! keep what it acknowledged through a power failure. Every insert is a transaction of its own and
//! is on stable storage when it returns. The tree holds a number of entries before the clock runs;
//! keys of 64 bits are as good as random, and no worker draws one twice. Workers are threads of one
//! process, or processes where the engine allows several.
//!
//! After every cell the tree is closed and opened again, its entries are counted, and a sample of
//! every worker's keys is compared with the values that belong to them. An engine that fails this
//! has no figure.
//!
//! # Adding an engine
//!
//! Implement [`TreePeer`] and [`Session`] in a module of its own and add one line to [`registry`].
//! The tests run over the registry, so they cover the new engine too.

mod berkeley_db;
mod engine;
mod lmdb;
mod redb;
mod run;
mod sqlite;
mod table;
mod worker;

pub use engine::{OpenTree, Session, Sharing, TreeEngine, TreePeer, fill_value, key, value};
pub use run::{Cell, Options, Report, TreeReport, Workers, run};
pub use table::table;
pub use worker::{Budget, serve};

/// All engines, in the order in which they run.
pub fn registry() -> Vec<TreeEngine> {
    vec![
        TreeEngine::of::<berkeley_db::BerkeleyDb>(),
        TreeEngine::of::<lmdb::Lmdb>(),
        TreeEngine::of::<redb::Redb>(),
        TreeEngine::of::<sqlite::Sqlite>(),
    ]
}
