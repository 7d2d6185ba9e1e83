//! SQLite, by `rusqlite`: one rowid table each; a group is one `BEGIN IMMEDIATE` … `COMMIT`.
//!
//! A write-ahead log with `synchronous=FULL` is synced at every commit, by `fdatasync` since the workspace's
//! `.cargo/config.toml` builds SQLite so (its own default is `fsync`). The cache holds the whole bank. The log is
//! copied back every 64 MiB rather than every 4. The file is locked for this process alone, which saves the
//! shared-memory index.

use std::path::Path;

use rusqlite::{CachedStatement, Connection, Transaction, TransactionBehavior, params};
use sardonyx_benchmark::debit_credit::model::Sums;
use sardonyx_benchmark::debit_credit::record::{History, Record};
use sardonyx_benchmark::debit_credit::requests::{Request, Scale};
use sardonyx_lab::product::Product;

use crate::peer::{Failure, Peer};

const TABLES: [&str; 3] = ["account", "teller", "branch"];

/// The settings of [`connection`].
pub(crate) const SETTINGS: &str = "journal_mode=WAL, synchronous=FULL, locking_mode=EXCLUSIVE, cache 1 GiB, checkpoint every \
     16384 pages, prepared statements";

/// Opens a database, for this process alone, with all of it in its cache.
pub(crate) fn connection(file: &Path) -> Result<Connection, Failure> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        let text = format!("SQLite keeps no write-ahead log here, but journal_mode={mode}");
        return Err(text.into());
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -(1 << 20))?;
    connection.pragma_update(None, "wal_autocheckpoint", 16_384)?;
    Ok(connection)
}

pub(crate) struct Sqlite {
    connection: Connection,
    lines: u64,
}

impl Product for Sqlite {
    fn name() -> &'static str {
        "SQLite"
    }

    fn settings() -> &'static str {
        SETTINGS
    }
}

impl Peer for Sqlite {
    fn open(directory: &Path, scale: Scale) -> Result<Self, Failure> {
        let mut connection = connection(&directory.join("bank.sqlite"))?;
        let transaction = connection.transaction()?;
        if !transaction.table_exists(None, "history")? {
            create(&transaction, scale)?;
        }
        transaction.commit()?;
        let mut bank = Sqlite {
            connection,
            lines: 0,
        };
        bank.lines = bank.history_lines()?;
        Ok(bank)
    }

    fn run_group(&mut self, requests: &[Request]) -> Result<(), Failure> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let update = |table: &str| {
                transaction.prepare_cached(&format!(
                    "UPDATE {table} SET balance = balance + ?2 WHERE id = ?1"
                ))
            };
            let mut account = update("account")?;
            let mut teller = update("teller")?;
            let mut branch = update("branch")?;
            let mut history =
                transaction.prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for (request, sequence) in requests.iter().zip(self.lines + 1..) {
                let amount = request.amount;
                change(&mut account, request.account, amount)?;
                change(&mut teller, request.teller.into(), amount)?;
                change(&mut branch, request.branch.into(), amount)?;
                let line = History::new(request);
                history.execute(params![
                    sequence,
                    line.account,
                    line.amount,
                    line.teller,
                    line.branch,
                ])?;
            }
        }
        transaction.commit()?;
        self.lines += requests.len() as u64;
        Ok(())
    }

    fn sums(&mut self) -> Result<Sums, Failure> {
        let sum = |column: &str, table: &str| {
            let query = format!("SELECT COALESCE(SUM({column}), 0) FROM {table}");
            self.connection.query_row(&query, [], |row| row.get(0))
        };
        Ok(Sums {
            accounts: sum("balance", "account")?,
            tellers: sum("balance", "teller")?,
            branches: sum("balance", "branch")?,
            history: sum("amount", "history")?,
        })
    }

    fn history_lines(&mut self) -> Result<u64, Failure> {
        Ok(self
            .connection
            .query_row("SELECT COUNT(*) FROM history", [], |row| row.get(0))?)
    }
}

fn create(transaction: &Transaction<'_>, scale: Scale) -> Result<(), Failure> {
    for (table, count) in
        TABLES
            .into_iter()
            .zip([scale.accounts(), scale.tellers(), scale.branches()])
    {
        transaction.execute_batch(&format!(
            "CREATE TABLE {table}
             (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, filler BLOB NOT NULL)"
        ))?;
        let mut insert =
            transaction.prepare(&format!("INSERT INTO {table} VALUES (?1, ?2, ?3)"))?;
        for id in 1..=count {
            let record = Record::new(id);
            insert.execute(params![record.id, record.balance, record.filler])?;
        }
    }
    transaction.execute_batch(
        "CREATE TABLE history
         (sequence INTEGER PRIMARY KEY, account INTEGER NOT NULL, amount INTEGER NOT NULL,
          teller INTEGER NOT NULL, branch INTEGER NOT NULL)",
    )?;
    Ok(())
}

/// Adds `amount` to the record with this number, which must be there.
fn change(update: &mut CachedStatement<'_>, id: u64, amount: i64) -> Result<(), Failure> {
    match update.execute(params![id, amount])? {
        1 => Ok(()),
        _ => Err(format!("there is no record {id}").into()),
    }
}
