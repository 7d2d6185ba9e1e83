//! The same debit-credit on other engines and on ours, in one run on one machine.
//!
//! Every peer gets the same bank (the same records of 128 bytes), the same requests from the same seed, and the same
//! rule: a group of transactions is acknowledged only when it is on stable storage. No setting is turned off that its
//! users would need after a power failure. Every peer is set up for such a load as well as we know how; the settings
//! are printed. Each runs with one transaction a sync, and with the group sizes that an application which can gather
//! requests would choose; the table shows the first and the best.
//!
//! After every cell the four sums and the lines of history are compared with the requests; at the end the database is
//! closed, opened again and compared once more. A peer that fails this has no figure.
//!
//! One process runs one peer after the other. Durable latency on a virtual machine depends on idle cores
//! ([`sardonyx_benchmark::floor::Spinner`]), so all peers run in the same state of the disk. The table names the state,
//! and its head has bare durable writes of the same run.
//!
//! A second comparison, [`tree_inserts`], is of ordered trees alone: durable random inserts, one transaction each, by
//! threads or processes. A third, [`ordered_index`], is of ordered indexes with keys and values of bytes: inserts, gets
//! and scans, by threads. A fourth, [`stores`], runs YCSB's workloads; a fifth, [`tables`], reads, inserts and opens
//! tables with ordered keys, texts and indexes, and includes YCSB's.
//!
//! # Building
//!
//! This crate is no default member, and no crate depends on it. It compiles SQLite, LMDB and RocksDB from source, which
//! takes a C++ compiler, libclang (Debian: `apt install libclang-dev`) and, for RocksDB, about a quarter of an hour of
//! one core. With `ROCKSDB_LIB_DIR=/usr/lib/x86_64-linux-gnu` in the environment the system's RocksDB is linked instead
//! (Debian: `apt install librocksdb-dev`), which may be older: the settings in the tables name the version. Berkeley DB
//! is the system's (Debian: `apt install libdb5.3-dev`).
//!
//! ```text
//! cargo run --release -p sardonyx-peers -- --seconds 2
//! cargo run --release -p sardonyx-peers --bin tree-inserts -- --seconds 2
//! cargo run --release -p sardonyx-peers --bin ordered-index -- --seconds 2
//! cargo run --release -p sardonyx-peers --bin ycsb -- --seconds 2
//! cargo run --release -p sardonyx-peers --bin tables -- --seconds 2
//! ```
//!
//! # Adding an engine
//!
//! Implement [`Peer`] in a module of its own and add one line to [`registry`]. The tests run over
//! the registry, so they cover the new engine too.

#![allow(
    missing_docs,
    reason = "the crate is not published: its interface is the programs' help"
)]
#![forbid(unsafe_op_in_unsafe_fn)]

pub mod command;
mod lmdb;
pub mod ordered_index;
mod peer;
mod redb;
mod rocksdb;
mod run;
mod sardonyx;
mod sqlite;
pub mod stores;
mod table;
pub mod tables;
pub mod tree_inserts;

pub use peer::{Engine, Failure, OpenBank, Peer, PeerError};
pub use run::{Cell, Figures, Options, PeerReport, run};
pub use table::findings;

/// All engines, in the order in which they run.
pub fn registry() -> Vec<Engine> {
    vec![
        Engine::of::<sardonyx::Sardonyx>(),
        Engine::of::<sqlite::Sqlite>(),
        Engine::of::<lmdb::Lmdb>(),
        Engine::of::<redb::Redb>(),
        Engine::of::<rocksdb::RocksDb>(),
    ]
}
