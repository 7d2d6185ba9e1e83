//! redb: a table for each table and each index, all changed in one write transaction with `Durability::Immediate`.
//! Entries of an index are inserted in its order, which is faster.

use super::database::{AccountOrder, CustomerOrder, Database as TwoTables, OnAccount, OnCustomer};
use super::database::{Reader, Reading};
use super::rows::{Account, Customer, by_balance, by_name, id_of};
use redb::{Database, Durability, ReadOnlyTable, ReadTransaction, ReadableDatabase};
use redb::{ReadableTable, TableDefinition, WriteTransaction};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::Seen;
use sardonyx_lab::ycsb::store::Missing;
use std::path::Path;

type Rows = TableDefinition<'static, u64, &'static [u8]>;
type Index = TableDefinition<'static, &'static [u8], ()>;

const ACCOUNTS: Rows = Rows::new("accounts");
const CUSTOMERS: Rows = Rows::new("customers");
const ACCOUNTS_BY_BALANCE: Index = Index::new("accounts_by_balance");
const BY_BALANCE: Index = Index::new("by_balance");
const BY_NAME: Index = Index::new("by_name");
/// Accounts that one transaction of the loading inserts.
const LOADED_TOGETHER: u64 = 100_000;

pub(super) struct Redb {
    database: Database,
}

impl Product for Redb {
    fn name() -> &'static str {
        "redb"
    }

    fn settings() -> &'static str {
        "Durability::Immediate, one-phase commit, cache 1 GiB"
    }
}

impl TwoTables for Redb {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let database = crate::redb::database(&directory.join("tables.redb"))?;
        let transaction = database.begin_write()?;
        for rows in [ACCOUNTS, CUSTOMERS] {
            transaction.open_table(rows)?;
        }
        for index in [ACCOUNTS_BY_BALANCE, BY_BALANCE, BY_NAME] {
            transaction.open_table(index)?;
        }
        transaction.commit()?;
        Ok(Redb { database })
    }

    fn load(&mut self, accounts: u64) -> Result<(), Failure> {
        for first in (0..accounts).step_by(LOADED_TOGETHER as usize) {
            let transaction = self.database.begin_write()?;
            {
                let mut table = transaction.open_table(ACCOUNTS)?;
                let mut keys = Vec::new();
                for account in (first..accounts.min(first + LOADED_TOGETHER)).map(Account::new) {
                    table.insert(account.id, account.value())?;
                    keys.push(by_balance(account.balance, account.id));
                }
                put(&transaction, ACCOUNTS_BY_BALANCE, keys)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn read(&mut self, reading: &mut Reading<'_>) -> Result<(), Failure> {
        let transaction = self.database.begin_read()?;
        reading(&mut Read {
            accounts: transaction.open_table(ACCOUNTS)?,
        })
    }

    fn accounts(&mut self, order: AccountOrder, each: &mut OnAccount<'_>) -> Result<(), Failure> {
        let transaction = self.database.begin_read()?;
        let index = match order {
            AccountOrder::Id => None,
            AccountOrder::Balance => Some(ACCOUNTS_BY_BALANCE),
        };
        walk(&transaction, ACCOUNTS, index, |id, value| {
            each(&Account::of(id, value)?)
        })
    }

    fn insert(&mut self, customers: Vec<Customer>, _: usize) -> Result<(), Failure> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut table = transaction.open_table(CUSTOMERS)?;
            let mut balances = Vec::with_capacity(customers.len());
            let mut names = Vec::with_capacity(customers.len());
            for customer in &customers {
                let id = customer.id;
                if table.insert(id, &*customer.value())?.is_some() {
                    return Err(format!("there is a row with key {id} already").into());
                }
                balances.push(by_balance(customer.balance, id));
                names.push(by_name(&customer.name, id));
            }
            put(&transaction, BY_BALANCE, balances)?;
            put(&transaction, BY_NAME, names)?;
        }
        Ok(transaction.commit()?)
    }

    fn customers(
        &mut self,
        order: CustomerOrder,
        each: &mut OnCustomer<'_>,
    ) -> Result<(), Failure> {
        let transaction = self.database.begin_read()?;
        let index = match order {
            CustomerOrder::Id => None,
            CustomerOrder::Balance => Some(BY_BALANCE),
            CustomerOrder::Name => Some(BY_NAME),
        };
        walk(&transaction, CUSTOMERS, index, |id, value| {
            each(&Customer::of(id, value)?)
        })
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

fn put<K: AsRef<[u8]> + Ord>(
    transaction: &WriteTransaction,
    index: Index,
    mut keys: Vec<K>,
) -> Result<(), Failure> {
    keys.sort_unstable();
    let mut index = transaction.open_table(index)?;
    for key in keys {
        index.insert(key.as_ref(), ())?;
    }
    Ok(())
}

/// All rows, found by their keys in the index, if one is given.
fn walk(
    transaction: &ReadTransaction,
    rows: Rows,
    index: Option<Index>,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let rows = transaction.open_table(rows)?;
    let Some(index) = index else {
        for entry in rows.iter()? {
            let (key, value) = entry?;
            each(key.value(), value.value())?;
        }
        return Ok(());
    };
    for entry in transaction.open_table(index)?.iter()? {
        let key = id_of(entry?.0.value())?;
        each(key, rows.get(key)?.ok_or(Missing { key })?.value())?;
    }
    Ok(())
}

struct Read {
    accounts: ReadOnlyTable<u64, &'static [u8]>,
}

impl Reader for Read {
    fn get(&mut self, ids: &[u64]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for &key in ids {
            let value = self.accounts.get(key)?.ok_or(Missing { key })?;
            seen.row(key, value.value());
        }
        Ok(seen)
    }

    fn scan(&mut self, from: &[u64], length: usize) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for &from in from {
            for entry in self.accounts.range(from..)?.take(length) {
                let (key, value) = entry?;
                seen.row(key.value(), value.value());
            }
        }
        Ok(seen)
    }
}
