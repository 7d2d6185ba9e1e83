//! RocksDB, by `rocksdb`: one column family each; a group is one synced `WriteBatch`.
//!
//! A batch cannot be read from. So records that several transactions of a group change are kept separately until its
//! end and written once, as an application would. The log's files are recycled, which makes a sync cheaper; block cache
//! and write buffers hold the whole bank.

use std::collections::HashMap;
use std::path::Path;

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompressionType,
    IteratorMode, Options, WriteBatch, WriteOptions,
};
use sardonyx_base::resident::Resident;
use sardonyx_benchmark::debit_credit::model::Sums;
use sardonyx_benchmark::debit_credit::record::{History, Record};
use sardonyx_benchmark::debit_credit::requests::{Request, Scale};
use sardonyx_lab::product::Product;

use crate::peer::{Failure, Peer};

const TABLES: [&str; 3] = ["account", "teller", "branch"];
const HISTORY: &str = "history";

/// The number of records that one batch writes while the bank is filled.
const FILL_BATCH: u64 = 10_000;

/// The settings of these options, and the library's version.
pub(crate) const SETTINGS: &str = concat!(
    env!("ROCKSDB_BUILT"),
    ", WriteOptions.sync, log files recycled, write buffers 4 x 256 MiB a table, block cache 1 GiB, bloom filters, \
     no compression"
);

pub(crate) struct RocksDb {
    database: DB,
    synced: WriteOptions,
    /// Records that the group has changed: by table and id. Empty between groups.
    changed: HashMap<(usize, u64), Record>,
    lines: u64,
}

impl Product for RocksDb {
    fn name() -> &'static str {
        "RocksDB"
    }

    fn settings() -> &'static str {
        SETTINGS
    }
}

impl Peer for RocksDb {
    fn open(directory: &Path, scale: Scale) -> Result<Self, Failure> {
        let options = database_options();
        let cache = Cache::new_lru_cache(1 << 30);
        let families = TABLES
            .into_iter()
            .chain([HISTORY])
            .map(|name| ColumnFamilyDescriptor::new(name, family_options(&cache)));
        let database = DB::open_cf_descriptors(&options, directory, families)?;
        let mut bank = RocksDb {
            database,
            synced: synced(),
            changed: HashMap::new(),
            lines: 0,
        };
        bank.fill(scale)?;
        bank.lines = bank.history_lines()?;
        Ok(bank)
    }

    fn run_group(&mut self, requests: &[Request]) -> Result<(), Failure> {
        let mut batch = WriteBatch::default();
        for (request, sequence) in requests.iter().zip(self.lines + 1..) {
            self.add(0, request.account, request.amount)?;
            self.add(1, request.teller.into(), request.amount)?;
            self.add(2, request.branch.into(), request.amount)?;
            let line = History::new(request);
            batch.put_cf(
                self.family(HISTORY)?,
                sequence.to_be_bytes(),
                line.as_bytes(),
            );
        }
        let mut changed = std::mem::take(&mut self.changed);
        for ((table, id), record) in changed.drain() {
            batch.put_cf(
                self.family(TABLES[table])?,
                id.to_be_bytes(),
                record.as_bytes(),
            );
        }
        self.changed = changed;
        self.database.write_opt(batch, &self.synced)?;
        self.lines += requests.len() as u64;
        Ok(())
    }

    fn sums(&mut self) -> Result<Sums, Failure> {
        let mut sums = [0; 3];
        for (table, sum) in TABLES.into_iter().zip(&mut sums) {
            self.for_each(table, |value| {
                *sum += record(value)?.balance;
                Ok(())
            })?;
        }
        let mut history = 0;
        self.for_each(HISTORY, |value| {
            history += History::read_from_bytes(value)
                .ok_or("a line is not 24 bytes")?
                .amount;
            Ok(())
        })?;
        let [accounts, tellers, branches] = sums;
        Ok(Sums {
            accounts,
            tellers,
            branches,
            history,
        })
    }

    fn history_lines(&mut self) -> Result<u64, Failure> {
        let mut lines = 0;
        self.for_each(HISTORY, |_| {
            lines += 1;
            Ok(())
        })?;
        Ok(lines)
    }
}

impl RocksDb {
    fn family(&self, name: &str) -> Result<&ColumnFamily, Failure> {
        Ok(self
            .database
            .cf_handle(name)
            .ok_or("a column family is missing")?)
    }

    /// Adds `amount` to a record, from the group or the database.
    fn add(&mut self, table: usize, id: u64, amount: i64) -> Result<(), Failure> {
        if let Some(record) = self.changed.get_mut(&(table, id)) {
            record.balance += amount;
            return Ok(());
        }
        let family = self.family(TABLES[table])?;
        let found = self.database.get_pinned_cf(family, id.to_be_bytes())?;
        let mut record = record(&found.ok_or("a record is missing")?)?;
        record.balance += amount;
        self.changed.insert((table, id), record);
        Ok(())
    }

    /// Fills the tables if they are empty.
    fn fill(&mut self, scale: Scale) -> Result<(), Failure> {
        let counts = [scale.accounts(), scale.tellers(), scale.branches()];
        for (table, count) in TABLES.into_iter().zip(counts) {
            let family = self.family(table)?;
            if self
                .database
                .get_pinned_cf(family, 1u64.to_be_bytes())?
                .is_some()
            {
                continue;
            }
            for first in (1..=count).step_by(FILL_BATCH as usize) {
                let mut batch = WriteBatch::default();
                for id in first..(first + FILL_BATCH).min(count + 1) {
                    batch.put_cf(family, id.to_be_bytes(), Record::new(id).as_bytes());
                }
                self.database.write_opt(batch, &self.synced)?;
            }
        }
        Ok(())
    }

    fn for_each(
        &self,
        table: &str,
        mut each: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for entry in self
            .database
            .iterator_cf(self.family(table)?, IteratorMode::Start)
        {
            each(&entry?.1)?;
        }
        Ok(())
    }
}

/// The options of a database, which is created if it does not exist.
pub(crate) fn database_options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.increase_parallelism(2);
    options.set_recycle_log_file_num(4);
    options
}

/// The options of a write that is on stable storage when it returns.
pub(crate) fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

/// The options of a column family.
pub(crate) fn family_options(cache: &Cache) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.set_block_based_table_factory(&blocks);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(256 << 20);
    options.set_max_write_buffer_number(4);
    options
}

fn record(bytes: &[u8]) -> Result<Record, Failure> {
    Ok(Record::read_from_bytes(bytes).ok_or("a record is not 128 bytes")?)
}
