//! Tables compared with other engines: reads in a snapshot, durable inserts into a table with texts and indexes,
//! opening, and YCSB's workloads.
//!
//! - [`rows`]: accounts and customers, all drawn from their ids;
//! - [`database`]: the interface of an engine that takes part;
//! - `run`: the work, measured and checked; `show`: the figures; [`Options`]: the command's.
//!
//! Engines without secondary indexes keep them as further trees, changed in the same atomic batch. Every engine has the
//! printed settings: the fastest that we know with which no acknowledged transaction is lost.

pub mod database;
mod lmdb;
mod options;
mod redb;
mod rocksdb;
pub mod rows;
mod run;
mod sardonyx;
mod show;
mod sqlite;

pub use database::{Database, Engine, engine};
pub use options::Options;
pub use run::{Figures, InsertFigures, OpeningFigures, Part, Plan, ReadFigures, run};
pub use show::findings;

/// All engines, in the order in which they run.
pub fn registry() -> Vec<Engine> {
    vec![
        engine::<sardonyx::Sardonyx>(),
        engine::<sqlite::Sqlite>(),
        engine::<lmdb::Lmdb>(),
        engine::<redb::Redb>(),
        engine::<rocksdb::RocksDb>(),
    ]
}
