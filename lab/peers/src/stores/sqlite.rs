//! SQLite, by `rusqlite`: a rowid table with a column for each field; a batch that writes is one
//! `BEGIN IMMEDIATE` … `COMMIT`, one that reads one `BEGIN` … `COMMIT`.

use super::row_bytes;
use rusqlite::{CachedStatement, Connection, Row, Transaction, TransactionBehavior, params};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::operations::{Change, FIELD_BYTES, Operation, fill};
use sardonyx_lab::ycsb::store::Missing;
use sardonyx_lab::ycsb::{Seen, Store};
use std::path::Path;

const READ: &str = "SELECT * FROM stored WHERE id = ?1";
const SCAN: &str = "SELECT * FROM stored WHERE id >= ?1 ORDER BY id LIMIT ?2";

pub(super) struct Sqlite {
    connection: Connection,
    insert: String,
    /// A row that is being made or read.
    row: Vec<u8>,
}

impl Product for Sqlite {
    fn name() -> &'static str {
        "SQLite"
    }

    fn settings() -> &'static str {
        crate::sqlite::SETTINGS
    }
}

impl Store for Sqlite {
    fn open(directory: &Path, fields: u8) -> Result<Self, Failure> {
        let connection = crate::sqlite::connection(&directory.join("store.sqlite"))?;
        connection.set_prepared_statement_cache_capacity(32);
        let numbers = || 0..fields;
        let columns: String = numbers()
            .map(|field| format!(", field{field} BLOB NOT NULL"))
            .collect();
        connection.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS stored (id INTEGER PRIMARY KEY{columns})"
        ))?;
        let places: String = numbers().map(|field| format!(", ?{}", field + 2)).collect();
        Ok(Sqlite {
            connection,
            insert: format!("INSERT INTO stored VALUES (?1{places})"),
            row: vec![0; row_bytes(fields)],
        })
    }

    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>) -> Result<(), Failure> {
        let transaction = self.connection.transaction()?;
        {
            let mut statement = transaction.prepare_cached(&self.insert)?;
            for key in keys {
                insert(&mut statement, key, &mut self.row)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn run(&mut self, operations: &[Operation]) -> Result<Seen, Failure> {
        let behavior = match operations.iter().all(Operation::is_read) {
            true => TransactionBehavior::Deferred,
            false => TransactionBehavior::Immediate,
        };
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        let (mut seen, row) = (Seen::default(), &mut self.row);
        for operation in operations {
            match operation {
                Operation::Read(key) => read(&transaction, *key, row, &mut seen)?,
                Operation::Scan(from, count) => {
                    let mut scan = transaction.prepare_cached(SCAN)?;
                    let mut found = scan.query(params![to_sqlite(*from), count])?;
                    while let Some(one) = found.next()? {
                        see(one, row, &mut seen)?;
                    }
                }
                Operation::Insert(key) => {
                    insert(&mut transaction.prepare_cached(&self.insert)?, *key, row)?;
                }
                Operation::Update(key, change) => update(&transaction, *key, change)?,
                Operation::ReadModifyWrite(key, change) => {
                    read(&transaction, *key, row, &mut seen)?;
                    update(&transaction, *key, change)?;
                }
            }
        }
        transaction.commit()?;
        Ok(seen)
    }
}

/// SQLite's integers have a sign; the order stays.
fn to_sqlite(key: u64) -> i64 {
    (key ^ 1 << 63) as i64
}

fn read(
    transaction: &Transaction<'_>,
    key: u64,
    row: &mut [u8],
    seen: &mut Seen,
) -> Result<(), Failure> {
    let mut read = transaction.prepare_cached(READ)?;
    let mut found = read.query([to_sqlite(key)])?;
    see(found.next()?.ok_or(Missing { key })?, row, seen)
}

fn see(found: &Row<'_>, row: &mut [u8], seen: &mut Seen) -> Result<(), Failure> {
    let key: i64 = found.get(0)?;
    for (field, at) in row.chunks_mut(FIELD_BYTES).zip(1..) {
        field.copy_from_slice(found.get_ref(at)?.as_blob()?);
    }
    seen.row(key as u64 ^ 1 << 63, row);
    Ok(())
}

fn insert(statement: &mut CachedStatement<'_>, key: u64, row: &mut [u8]) -> Result<(), Failure> {
    fill(key, row);
    statement.raw_bind_parameter(1, to_sqlite(key))?;
    for (field, at) in row.chunks(FIELD_BYTES).zip(2..) {
        statement.raw_bind_parameter(at, field)?;
    }
    statement.raw_execute()?;
    Ok(())
}

fn update(transaction: &Transaction<'_>, key: u64, change: &Change) -> Result<(), Failure> {
    let field = change.field;
    let mut update = transaction.prepare_cached(&format!(
        "UPDATE stored SET field{field} = ?2 WHERE id = ?1"
    ))?;
    match update.execute(params![to_sqlite(key), &change.value[..]])? {
        1 => Ok(()),
        _ => Err(Missing { key }.into()),
    }
}
