//! The stores that YCSB's workloads run on: other engines, and ours.
//!
//! All get the same operations ([`sardonyx_lab::ycsb`]), and a batch is one transaction that is on stable storage when
//! it is answered. SQLite has a column for each field. The others have no columns, so a row's fields are one value. An
//! update of one field reads and writes it, as in their users' programs.

mod lmdb;
mod redb;
mod rocksdb;
mod sqlite;

use sardonyx_lab::ycsb::Engine;
use sardonyx_lab::ycsb::operations::{Change, FIELD_BYTES};
use sardonyx_lab::ycsb::tables::Sardonyx;

/// All stores, in the order in which they run.
pub fn registry() -> Vec<Engine> {
    vec![
        Engine::of::<Sardonyx>(),
        Engine::of::<sqlite::Sqlite>(),
        Engine::of::<lmdb::Lmdb>(),
        Engine::of::<redb::Redb>(),
        Engine::of::<rocksdb::RocksDb>(),
    ]
}

fn row_bytes(fields: u8) -> usize {
    usize::from(fields) * FIELD_BYTES
}

/// Writes one field of a row.
fn apply(change: &Change, row: &mut [u8]) {
    row[usize::from(change.field) * FIELD_BYTES..][..FIELD_BYTES].copy_from_slice(&change.value);
}
