//! SQLite: rowid tables, whose primary key is ordered, and indexes; a batch is one `BEGIN IMMEDIATE` … `COMMIT`.

use super::database::{AccountOrder, CustomerOrder, Database, OnAccount, OnCustomer};
use super::database::{Reader, Reading};
use super::rows::{Account, Customer};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::Seen;
use sardonyx_lab::ycsb::store::Missing;
use std::path::Path;

/// The accounts' index is made when they are loaded.
const CREATE: &str = "
CREATE TABLE IF NOT EXISTS accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, filler BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS customers
    (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, name TEXT NOT NULL, note TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS customers_by_balance ON customers (balance);
CREATE INDEX IF NOT EXISTS customers_by_name ON customers (name);";
const GET: &str = "SELECT id, balance, filler FROM accounts WHERE id = ?1";
const SCAN: &str = "SELECT id, balance, filler FROM accounts WHERE id >= ?1 ORDER BY id LIMIT ?2";

pub(super) struct Sqlite {
    connection: Connection,
}

impl Product for Sqlite {
    fn name() -> &'static str {
        "SQLite"
    }

    fn settings() -> &'static str {
        crate::sqlite::SETTINGS
    }
}

impl Database for Sqlite {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let connection = crate::sqlite::connection(&directory.join("tables.sqlite"))?;
        connection.execute_batch(CREATE)?;
        Ok(Sqlite { connection })
    }

    fn load(&mut self, accounts: u64) -> Result<(), Failure> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO accounts VALUES (?1, ?2, ?3)")?;
            for account in (0..accounts).map(Account::new) {
                insert.raw_bind_parameter(1, account.id)?;
                insert.raw_bind_parameter(2, account.balance)?;
                insert.raw_bind_parameter(3, &account.filler[..])?;
                insert.raw_execute()?;
            }
        }
        transaction.execute_batch("CREATE INDEX accounts_by_balance ON accounts (balance)")?;
        transaction.commit()?;
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    fn read(&mut self, reading: &mut Reading<'_>) -> Result<(), Failure> {
        let transaction = self.connection.transaction()?;
        reading(&mut Read(&transaction))?;
        Ok(transaction.commit()?)
    }

    fn accounts(&mut self, order: AccountOrder, each: &mut OnAccount<'_>) -> Result<(), Failure> {
        let (index, column) = match order {
            AccountOrder::Id => ("", "id"),
            AccountOrder::Balance => ("INDEXED BY accounts_by_balance", "balance"),
        };
        let mut all = self.connection.prepare(&format!(
            "SELECT id, balance, filler FROM accounts {index} ORDER BY {column}"
        ))?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let mut account = Account::new(0);
            (account.id, account.balance) = (row.get(0)?, row.get(1)?);
            account.filler = filler(row)?.try_into()?;
            each(&account)?;
        }
        Ok(())
    }

    fn insert(&mut self, customers: Vec<Customer>, _: usize) -> Result<(), Failure> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        {
            let insert = "INSERT INTO customers VALUES (?1, ?2, ?3, ?4)";
            let mut insert = transaction.prepare_cached(insert)?;
            for customer in &customers {
                insert.raw_bind_parameter(1, customer.id)?;
                insert.raw_bind_parameter(2, customer.balance)?;
                insert.raw_bind_parameter(3, &*customer.name)?;
                insert.raw_bind_parameter(4, &*customer.note)?;
                insert.raw_execute()?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn customers(
        &mut self,
        order: CustomerOrder,
        each: &mut OnCustomer<'_>,
    ) -> Result<(), Failure> {
        let (index, column) = match order {
            CustomerOrder::Id => ("", "id"),
            CustomerOrder::Balance => ("INDEXED BY customers_by_balance", "balance"),
            CustomerOrder::Name => ("INDEXED BY customers_by_name", "name"),
        };
        let mut all = self.connection.prepare(&format!(
            "SELECT id, balance, name, note FROM customers {index} ORDER BY {column}"
        ))?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            each(&Customer {
                id: row.get(0)?,
                balance: row.get(1)?,
                name: row.get(2)?,
                note: row.get(3)?,
            })?;
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

fn filler<'a>(row: &'a Row<'_>) -> Result<&'a [u8], Failure> {
    Ok(row.get_ref(2)?.as_blob()?)
}

struct Read<'a>(&'a Transaction<'a>);

/// As [`Account::see`], for a balance that is not before the rest.
#[inline]
fn see(row: &Row<'_>, seen: &mut Seen) -> Result<(), Failure> {
    let (id, balance): (i64, i64) = (row.get(0)?, row.get(1)?);
    seen.row((id as u64).wrapping_add(balance as u64), filler(row)?);
    Ok(())
}

impl Reader for Read<'_> {
    fn get(&mut self, ids: &[u64]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        let mut get = self.0.prepare_cached(GET)?;
        for &key in ids {
            let mut found = get.query([key])?;
            see(found.next()?.ok_or(Missing { key })?, &mut seen)?;
        }
        Ok(seen)
    }

    fn scan(&mut self, from: &[u64], length: usize) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        let mut scan = self.0.prepare_cached(SCAN)?;
        for &from in from {
            let mut found = scan.query([from, length as u64])?;
            while let Some(row) = found.next()? {
                see(row, &mut seen)?;
            }
        }
        Ok(seen)
    }
}
