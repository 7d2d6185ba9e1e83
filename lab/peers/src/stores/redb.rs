//! redb: one table; a batch that writes is one write transaction with `Durability::Immediate`.

use super::{apply, row_bytes};
use redb::{Database, Durability, ReadableDatabase, ReadableTable, Table, TableDefinition};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::operations::{Change, Operation, fill};
use sardonyx_lab::ycsb::store::Missing;
use sardonyx_lab::ycsb::{Seen, Store};
use std::path::Path;

const ROWS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");

pub(super) struct Redb {
    database: Database,
    /// A row that is being made.
    row: Vec<u8>,
}

impl Product for Redb {
    fn name() -> &'static str {
        "redb"
    }

    fn settings() -> &'static str {
        "Durability::Immediate, one-phase commit, cache 1 GiB"
    }
}

impl Store for Redb {
    fn open(directory: &Path, fields: u8) -> Result<Self, Failure> {
        let database = crate::redb::database(&directory.join("store.redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(ROWS)?;
        transaction.commit()?;
        let row = vec![0; row_bytes(fields)];
        Ok(Redb { database, row })
    }

    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>) -> Result<(), Failure> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(ROWS)?;
            for key in keys {
                insert(&mut table, key, &mut self.row)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn run(&mut self, operations: &[Operation]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        if operations.iter().all(Operation::is_read) {
            let table = self.database.begin_read()?.open_table(ROWS)?;
            for operation in operations {
                read(&table, operation, &mut seen)?;
            }
            return Ok(seen);
        }
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut table = transaction.open_table(ROWS)?;
            for operation in operations {
                match operation {
                    Operation::Insert(key) => insert(&mut table, *key, &mut self.row)?,
                    Operation::Update(key, change) => {
                        update(&mut table, *key, change, &mut self.row, None)?;
                    }
                    Operation::ReadModifyWrite(key, change) => {
                        update(&mut table, *key, change, &mut self.row, Some(&mut seen))?;
                    }
                    _ => read(&table, operation, &mut seen)?,
                }
            }
        }
        transaction.commit()?;
        Ok(seen)
    }
}

fn read(
    table: &impl ReadableTable<u64, &'static [u8]>,
    operation: &Operation,
    seen: &mut Seen,
) -> Result<(), Failure> {
    match *operation {
        Operation::Scan(from, count) => {
            for entry in table.range(from..)?.take(count as usize) {
                let (key, row) = entry?;
                seen.row(key.value(), row.value());
            }
        }
        Operation::Read(key) => {
            let row = table.get(key)?.ok_or(Missing { key })?;
            seen.row(key, row.value());
        }
        _ => unreachable!("it reads"),
    }
    Ok(())
}

fn insert(table: &mut Table<'_, u64, &[u8]>, key: u64, row: &mut [u8]) -> Result<(), Failure> {
    fill(key, row);
    match table.insert(key, &*row)? {
        None => Ok(()),
        Some(_) => Err(format!("there is a row with key {key} already").into()),
    }
}

fn update(
    table: &mut Table<'_, u64, &[u8]>,
    key: u64,
    change: &Change,
    row: &mut [u8],
    seen: Option<&mut Seen>,
) -> Result<(), Failure> {
    let mut place = table.get_mut(key)?.ok_or(Missing { key })?;
    row.copy_from_slice(place.value());
    if let Some(seen) = seen {
        seen.row(key, row);
    }
    apply(change, row);
    place.insert(&*row)?;
    Ok(())
}
