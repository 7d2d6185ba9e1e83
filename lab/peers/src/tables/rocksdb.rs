//! RocksDB, by `rocksdb`: a column family for each table and each index; a batch is one synced `WriteBatch`.
//!
//! After loading, tables are written out of memory and compacted, so that a read accesses one file. A write batch does
//! not know existing keys, so each key is looked up first, as an application would.

use super::database::{AccountOrder, CustomerOrder, Database, OnAccount, OnCustomer};
use super::database::{Reader, Reading};
use super::rows::{Account, Customer, by_balance, by_name, id_of};
use rocksdb::{
    Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBRawIterator, IteratorMode, ReadOptions,
    Snapshot, WriteBatch, WriteOptions,
};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::Seen;
use sardonyx_lab::ycsb::store::Missing;
use std::path::Path;

const ACCOUNTS: &str = "accounts";
const CUSTOMERS: &str = "customers";
const ACCOUNTS_BY_BALANCE: &str = "accounts_by_balance";
const BY_BALANCE: &str = "by_balance";
const BY_NAME: &str = "by_name";
const FAMILIES: [&str; 5] = [
    ACCOUNTS,
    CUSTOMERS,
    ACCOUNTS_BY_BALANCE,
    BY_BALANCE,
    BY_NAME,
];
/// Accounts that one batch of the loading writes.
const LOADED_TOGETHER: u64 = 10_000;

pub(super) struct RocksDb {
    database: DB,
    synced: WriteOptions,
}

impl Product for RocksDb {
    fn name() -> &'static str {
        "RocksDB"
    }

    fn settings() -> &'static str {
        crate::rocksdb::SETTINGS
    }
}

impl Database for RocksDb {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let options = crate::rocksdb::database_options();
        let cache = Cache::new_lru_cache(1 << 30);
        let families = FAMILIES
            .map(|name| ColumnFamilyDescriptor::new(name, crate::rocksdb::family_options(&cache)));
        Ok(RocksDb {
            database: DB::open_cf_descriptors(&options, directory, families)?,
            synced: crate::rocksdb::synced(),
        })
    }

    fn load(&mut self, accounts: u64) -> Result<(), Failure> {
        let (rows, index) = (self.family(ACCOUNTS)?, self.family(ACCOUNTS_BY_BALANCE)?);
        for first in (0..accounts).step_by(LOADED_TOGETHER as usize) {
            let mut batch = WriteBatch::default();
            for account in (first..accounts.min(first + LOADED_TOGETHER)).map(Account::new) {
                batch.put_cf(rows, account.id.to_be_bytes(), account.value());
                batch.put_cf(index, by_balance(account.balance, account.id), []);
            }
            self.database.write_opt(batch, &self.synced)?;
        }
        for family in [rows, index] {
            self.database.flush_cf(family)?;
            self.database
                .compact_range_cf(family, None::<&[u8]>, None::<&[u8]>);
        }
        Ok(())
    }

    fn read(&mut self, reading: &mut Reading<'_>) -> Result<(), Failure> {
        let snapshot = self.database.snapshot();
        let accounts = self.family(ACCOUNTS)?;
        reading(&mut Read {
            scan: snapshot.raw_iterator_cf(accounts),
            database: &self.database,
            in_snapshot: in_snapshot(&snapshot),
            snapshot: &snapshot,
            accounts,
        })
    }

    fn accounts(&mut self, order: AccountOrder, each: &mut OnAccount<'_>) -> Result<(), Failure> {
        let index = match order {
            AccountOrder::Id => None,
            AccountOrder::Balance => Some(ACCOUNTS_BY_BALANCE),
        };
        self.walk(ACCOUNTS, index, |id, value| each(&Account::of(id, value)?))
    }

    fn insert(&mut self, customers: Vec<Customer>, _: usize) -> Result<(), Failure> {
        let (rows, balances) = (self.family(CUSTOMERS)?, self.family(BY_BALANCE)?);
        let names = self.family(BY_NAME)?;
        let mut batch = WriteBatch::default();
        for customer in &customers {
            let id = customer.id;
            let key = id.to_be_bytes();
            if self.database.get_pinned_cf(rows, key)?.is_some() {
                return Err(format!("there is a row with key {id} already").into());
            }
            batch.put_cf(rows, key, customer.value());
            batch.put_cf(balances, by_balance(customer.balance, id), []);
            batch.put_cf(names, by_name(&customer.name, id), []);
        }
        Ok(self.database.write_opt(batch, &self.synced)?)
    }

    fn customers(
        &mut self,
        order: CustomerOrder,
        each: &mut OnCustomer<'_>,
    ) -> Result<(), Failure> {
        let index = match order {
            CustomerOrder::Id => None,
            CustomerOrder::Balance => Some(BY_BALANCE),
            CustomerOrder::Name => Some(BY_NAME),
        };
        self.walk(CUSTOMERS, index, |id, value| {
            each(&Customer::of(id, value)?)
        })
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        for name in FAMILIES {
            self.database.flush_cf(self.family(name)?)?;
        }
        Ok(())
    }
}

impl RocksDb {
    fn family(&self, name: &str) -> Result<&ColumnFamily, Failure> {
        let family = self.database.cf_handle(name);
        Ok(family.ok_or("a column family is missing")?)
    }

    /// All rows, found by their keys in the index, if one is given.
    fn walk(
        &self,
        rows: &str,
        index: Option<&str>,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let rows = self.family(rows)?;
        let Some(index) = index else {
            for entry in self.database.iterator_cf(rows, IteratorMode::Start) {
                let (key, value) = entry?;
                each(id_of(&key)?, &value)?;
            }
            return Ok(());
        };
        let index = self.family(index)?;
        for entry in self.database.iterator_cf(index, IteratorMode::Start) {
            let key = id_of(&entry?.0)?;
            let value = self.database.get_pinned_cf(rows, key.to_be_bytes())?;
            each(key, &value.ok_or(Missing { key })?)?;
        }
        Ok(())
    }
}

fn in_snapshot(snapshot: &Snapshot<'_>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_snapshot(snapshot);
    options
}

struct Read<'a> {
    database: &'a DB,
    in_snapshot: ReadOptions,
    snapshot: &'a Snapshot<'a>,
    accounts: &'a ColumnFamily,
    /// One for all scans: to make one costs more than a scan.
    scan: DBRawIterator<'a>,
}

impl Reader for Read<'_> {
    fn get(&mut self, ids: &[u64]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for &key in ids {
            let found = self
                .snapshot
                .get_pinned_cf(self.accounts, key.to_be_bytes())?;
            seen.row(key, &found.ok_or(Missing { key })?);
        }
        Ok(seen)
    }

    fn get_many(&mut self, ids: &[u64]) -> Option<Result<Seen, Failure>> {
        let keys: Vec<_> = ids.iter().map(|id| id.to_be_bytes()).collect();
        let options = &self.in_snapshot;
        let found = self
            .database
            .batched_multi_get_cf_opt(self.accounts, &keys, false, options);
        let mut seen = Seen::default();
        for (&key, value) in ids.iter().zip(found) {
            match value {
                Ok(Some(value)) => seen.row(key, &value),
                Ok(None) => return Some(Err(Missing { key }.into())),
                Err(error) => return Some(Err(error.into())),
            }
        }
        Some(Ok(seen))
    }

    fn scan(&mut self, from: &[u64], length: usize) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for &from in from {
            self.scan.seek(from.to_be_bytes());
            for _ in 0..length {
                let Some((key, value)) = self.scan.item() else {
                    self.scan.status()?;
                    break;
                };
                seen.row(id_of(key)?, value);
                self.scan.next();
            }
        }
        Ok(seen)
    }
}
