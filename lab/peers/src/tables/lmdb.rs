//! LMDB, by `heed`: a named database for each table and each index, all changed in one write transaction, with LMDB's
//! default syncs. Entries of an index are inserted in its order, which is faster.

use super::database::{AccountOrder, CustomerOrder, Database as TwoTables, OnAccount, OnCustomer};
use super::database::{Reader, Reading};
use super::rows::{Account, Customer, by_balance, by_name, id_of};
use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U64, Unit};
use heed::{CommitOrAbort, Database, Env, IntegerComparator, PutFlags, RoTxn, RwTxn};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::Seen;
use sardonyx_lab::ycsb::store::Missing;
use std::path::Path;

type Rows = Database<'static, U64<NativeEndian>, Bytes, IntegerComparator>;
type Index = Database<'static, Bytes, Unit>;

const TABLES: [&str; 2] = ["accounts", "customers"];
const INDEXES: [&str; 3] = ["accounts_by_balance", "by_balance", "by_name"];
/// Accounts that one transaction of the loading inserts.
const LOADED_TOGETHER: u64 = 100_000;

pub(super) struct Lmdb {
    environment: Env,
    accounts: Rows,
    customers: Rows,
    accounts_by_balance: Index,
    by_balance: Index,
    by_name: Index,
}

impl Product for Lmdb {
    fn name() -> &'static str {
        "LMDB"
    }

    fn settings() -> &'static str {
        "default sync (data and meta page at every commit), integer keys, rows appended, map 64 GiB"
    }
}

impl TwoTables for Lmdb {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let databases = TABLES.len() + INDEXES.len();
        let environment = crate::lmdb::environment(directory, databases as u32)?;
        let transaction = environment.write_txn()?;
        let created =
            environment.create_databases_and_commit(transaction, |opener, transaction| {
                let mut rows = |name| {
                    let mut options = opener.database_options().types().key_comparator();
                    options.name(name).create(transaction)
                };
                let tables = [rows(TABLES[0])?, rows(TABLES[1])?];
                let mut index = |name| {
                    let mut options = opener.database_options().types();
                    options.name(name).create(transaction)
                };
                let [first, second, third] = INDEXES;
                let indexes = [index(first)?, index(second)?, index(third)?];
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit((tables, indexes)))
            })?;
        let ([accounts, customers], [accounts_by_balance, by_balance, by_name]) =
            created.unwrap_commit();
        Ok(Lmdb {
            environment,
            accounts,
            customers,
            accounts_by_balance,
            by_balance,
            by_name,
        })
    }

    fn load(&mut self, accounts: u64) -> Result<(), Failure> {
        for first in (0..accounts).step_by(LOADED_TOGETHER as usize) {
            let mut transaction = self.environment.write_txn()?;
            let mut keys = Vec::new();
            for account in (first..accounts.min(first + LOADED_TOGETHER)).map(Account::new) {
                append(
                    &mut transaction,
                    &self.accounts,
                    account.id,
                    account.value(),
                )?;
                keys.push(by_balance(account.balance, account.id));
            }
            put(&mut transaction, &self.accounts_by_balance, keys)?;
            transaction.commit()?;
        }
        Ok(())
    }

    fn read(&mut self, reading: &mut Reading<'_>) -> Result<(), Failure> {
        let transaction = self.environment.read_txn()?;
        let accounts = &self.accounts;
        reading(&mut Read {
            transaction: &transaction,
            accounts,
        })
    }

    fn accounts(&mut self, order: AccountOrder, each: &mut OnAccount<'_>) -> Result<(), Failure> {
        let transaction = self.environment.read_txn()?;
        let index = match order {
            AccountOrder::Id => None,
            AccountOrder::Balance => Some(&self.accounts_by_balance),
        };
        walk(&transaction, &self.accounts, index, |id, value| {
            each(&Account::of(id, value)?)
        })
    }

    fn insert(&mut self, customers: Vec<Customer>, _: usize) -> Result<(), Failure> {
        let mut transaction = self.environment.write_txn()?;
        let mut balances = Vec::with_capacity(customers.len());
        let mut names = Vec::with_capacity(customers.len());
        for customer in &customers {
            append(
                &mut transaction,
                &self.customers,
                customer.id,
                &customer.value(),
            )?;
            balances.push(by_balance(customer.balance, customer.id));
            names.push(by_name(&customer.name, customer.id));
        }
        put(&mut transaction, &self.by_balance, balances)?;
        put(&mut transaction, &self.by_name, names)?;
        Ok(transaction.commit()?)
    }

    fn customers(
        &mut self,
        order: CustomerOrder,
        each: &mut OnCustomer<'_>,
    ) -> Result<(), Failure> {
        let transaction = self.environment.read_txn()?;
        let index = match order {
            CustomerOrder::Id => None,
            CustomerOrder::Balance => Some(&self.by_balance),
            CustomerOrder::Name => Some(&self.by_name),
        };
        walk(&transaction, &self.customers, index, |id, value| {
            each(&Customer::of(id, value)?)
        })
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Adds a row whose key is after all others; fails if it is not.
fn append(transaction: &mut RwTxn<'_>, rows: &Rows, key: u64, value: &[u8]) -> Result<(), Failure> {
    Ok(rows.put_with_flags(transaction, PutFlags::APPEND, &key, value)?)
}

fn put<K: AsRef<[u8]> + Ord>(
    transaction: &mut RwTxn<'_>,
    index: &Index,
    mut keys: Vec<K>,
) -> Result<(), Failure> {
    keys.sort_unstable();
    for key in keys {
        index.put(transaction, key.as_ref(), &())?;
    }
    Ok(())
}

/// All rows, found by their keys in the index, if one is given.
fn walk(
    transaction: &RoTxn<'_>,
    rows: &Rows,
    index: Option<&Index>,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(index) = index else {
        for entry in rows.iter(transaction)? {
            let (key, value) = entry?;
            each(key, value)?;
        }
        return Ok(());
    };
    for entry in index.iter(transaction)? {
        let key = id_of(entry?.0)?;
        each(key, rows.get(transaction, &key)?.ok_or(Missing { key })?)?;
    }
    Ok(())
}

struct Read<'a> {
    transaction: &'a RoTxn<'a>,
    accounts: &'a Rows,
}

impl Reader for Read<'_> {
    fn get(&mut self, ids: &[u64]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for &key in ids {
            let value = self.accounts.get(self.transaction, &key)?;
            seen.row(key, value.ok_or(Missing { key })?);
        }
        Ok(seen)
    }

    fn scan(&mut self, from: &[u64], length: usize) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for &from in from {
            for entry in self
                .accounts
                .range(self.transaction, &(from..))?
                .take(length)
            {
                let (key, value) = entry?;
                seen.row(key, value);
            }
        }
        Ok(seen)
    }
}
