//! RocksDB, by `rocksdb`: one column family with big-endian keys; a batch that writes is one synced
//! `WriteBatch`.
//!
//! A `WriteBatch` cannot be read from. So rows that a batch changes are kept separately until its end and written once,
//! as an application would; reads and scans of the batch see them.

use super::{apply, row_bytes};
use rocksdb::{
    Cache, ColumnFamilyDescriptor, DB, DEFAULT_COLUMN_FAMILY_NAME, Direction, IteratorMode,
    WriteBatch, WriteOptions,
};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::operations::{Change, Operation, fill};
use sardonyx_lab::ycsb::store::Missing;
use sardonyx_lab::ycsb::{Seen, Store};
use std::collections::BTreeMap;
use std::path::Path;

/// The number of rows that one batch of the loading writes.
const LOADED_TOGETHER: usize = 10_000;

pub(super) struct RocksDb {
    database: DB,
    synced: WriteOptions,
    /// Rows that the batch has changed. Empty between batches.
    changed: BTreeMap<u64, Vec<u8>>,
    row_bytes: usize,
}

impl Product for RocksDb {
    fn name() -> &'static str {
        "RocksDB"
    }

    fn settings() -> &'static str {
        crate::rocksdb::SETTINGS
    }
}

impl Store for RocksDb {
    fn open(directory: &Path, fields: u8) -> Result<Self, Failure> {
        let family = crate::rocksdb::family_options(&Cache::new_lru_cache(1 << 30));
        let family = ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, family);
        let options = crate::rocksdb::database_options();
        Ok(RocksDb {
            database: DB::open_cf_descriptors(&options, directory, [family])?,
            synced: crate::rocksdb::synced(),
            changed: BTreeMap::new(),
            row_bytes: row_bytes(fields),
        })
    }

    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>) -> Result<(), Failure> {
        let mut row = vec![0; self.row_bytes];
        loop {
            let mut batch = WriteBatch::default();
            for key in keys.take(LOADED_TOGETHER) {
                fill(key, &mut row);
                batch.put(key.to_be_bytes(), &row);
            }
            if batch.is_empty() {
                return Ok(());
            }
            self.database.write_opt(batch, &self.synced)?;
        }
    }

    fn run(&mut self, operations: &[Operation]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for operation in operations {
            match operation {
                Operation::Read(key) => self.read(*key, &mut seen)?,
                Operation::Scan(from, count) => self.scan(*from, *count, &mut seen)?,
                Operation::Insert(key) => self.insert(*key)?,
                Operation::Update(key, change) => self.update(*key, change, None)?,
                Operation::ReadModifyWrite(key, change) => {
                    self.update(*key, change, Some(&mut seen))?;
                }
            }
        }
        if !self.changed.is_empty() {
            let mut batch = WriteBatch::default();
            for (key, row) in &self.changed {
                batch.put(key.to_be_bytes(), row);
            }
            self.changed.clear();
            self.database.write_opt(batch, &self.synced)?;
        }
        Ok(seen)
    }
}

impl RocksDb {
    fn read(&self, key: u64, seen: &mut Seen) -> Result<(), Failure> {
        if let Some(row) = self.changed.get(&key) {
            seen.row(key, row);
            return Ok(());
        }
        let found = self.database.get_pinned(key.to_be_bytes())?;
        seen.row(key, &found.ok_or(Missing { key })?);
        Ok(())
    }

    /// Merges the database's rows with those that the batch changed.
    fn scan(&self, from: u64, count: u32, seen: &mut Seen) -> Result<(), Failure> {
        let mut changed = self.changed.range(from..).peekable();
        let start = from.to_be_bytes();
        let mode = IteratorMode::From(&start, Direction::Forward);
        let mut stored = self.database.iterator(mode);
        let mut next = stored.next().transpose()?;
        for _ in 0..count {
            let key = match &next {
                Some((key, _)) => Some(u64::from_be_bytes((&key[..]).try_into()?)),
                None => None,
            };
            match (key, changed.peek()) {
                (None, None) => break,
                (Some(key), of_batch) if of_batch.is_none_or(|(other, _)| key < **other) => {
                    let (_, row) = next.as_ref().expect("it has a key");
                    seen.row(key, row);
                    next = stored.next().transpose()?;
                }
                (key, _) => {
                    let (other, row) = changed.next().expect("it was looked at");
                    seen.row(*other, row);
                    if key == Some(*other) {
                        next = stored.next().transpose()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        let there = self.changed.contains_key(&key)
            || self.database.get_pinned(key.to_be_bytes())?.is_some();
        if there {
            return Err(format!("there is a row with key {key} already").into());
        }
        let mut row = vec![0; self.row_bytes];
        fill(key, &mut row);
        self.changed.insert(key, row);
        Ok(())
    }

    fn update(
        &mut self,
        key: u64,
        change: &Change,
        seen: Option<&mut Seen>,
    ) -> Result<(), Failure> {
        if !self.changed.contains_key(&key) {
            let found = self.database.get(key.to_be_bytes())?;
            self.changed.insert(key, found.ok_or(Missing { key })?);
        }
        let row = self.changed.get_mut(&key).expect("it is there now");
        if let Some(seen) = seen {
            seen.row(key, row);
        }
        apply(change, row);
        Ok(())
    }
}
