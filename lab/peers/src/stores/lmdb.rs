//! LMDB, by `heed`: one database with integer keys; a batch that writes is one write transaction, with LMDB's default
//! syncs.

use super::{apply, row_bytes};
use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U64};
use heed::{CommitOrAbort, Database, Env, IntegerComparator, PutFlags, RoTxn, RwTxn};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::operations::{Change, Operation, fill};
use sardonyx_lab::ycsb::store::Missing;
use sardonyx_lab::ycsb::{Seen, Store};
use std::path::Path;

type Rows = Database<'static, U64<NativeEndian>, Bytes, IntegerComparator>;

pub(super) struct Lmdb {
    environment: Env,
    rows: Rows,
    /// A row that is being made.
    row: Vec<u8>,
}

impl Product for Lmdb {
    fn name() -> &'static str {
        "LMDB"
    }

    fn settings() -> &'static str {
        "default sync (data and meta page at every commit), integer keys, map 64 GiB"
    }
}

impl Store for Lmdb {
    fn open(directory: &Path, fields: u8) -> Result<Self, Failure> {
        let environment = crate::lmdb::environment(directory, 1)?;
        let transaction = environment.write_txn()?;
        let created =
            environment.create_databases_and_commit(transaction, |opener, transaction| {
                let mut options = opener.database_options().types().key_comparator();
                let rows = options.name("rows").create(transaction)?;
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(rows))
            })?;
        Ok(Lmdb {
            rows: created.unwrap_commit(),
            environment,
            row: vec![0; row_bytes(fields)],
        })
    }

    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>) -> Result<(), Failure> {
        let mut transaction = self.environment.write_txn()?;
        for key in keys {
            insert(&mut transaction, &self.rows, key, &mut self.row)?;
        }
        Ok(transaction.commit()?)
    }

    fn run(&mut self, operations: &[Operation]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        if operations.iter().all(Operation::is_read) {
            let transaction = self.environment.read_txn()?;
            for operation in operations {
                read(&transaction, &self.rows, operation, &mut seen)?;
            }
            return Ok(seen);
        }
        let mut transaction = self.environment.write_txn()?;
        let (rows, row) = (&self.rows, &mut self.row);
        for operation in operations {
            match operation {
                Operation::Insert(key) => insert(&mut transaction, rows, *key, row)?,
                Operation::Update(key, change) => {
                    update(&mut transaction, rows, *key, change, row, None)?;
                }
                Operation::ReadModifyWrite(key, change) => {
                    update(&mut transaction, rows, *key, change, row, Some(&mut seen))?;
                }
                _ => read(&transaction, rows, operation, &mut seen)?,
            }
        }
        transaction.commit()?;
        Ok(seen)
    }
}

fn read(
    transaction: &RoTxn<'_>,
    rows: &Rows,
    operation: &Operation,
    seen: &mut Seen,
) -> Result<(), Failure> {
    match *operation {
        Operation::Scan(from, count) => {
            for entry in rows.range(transaction, &(from..))?.take(count as usize) {
                let (key, row) = entry?;
                seen.row(key, row);
            }
        }
        Operation::Read(key) => {
            seen.row(key, rows.get(transaction, &key)?.ok_or(Missing { key })?);
        }
        _ => unreachable!("it reads"),
    }
    Ok(())
}

fn insert(
    transaction: &mut RwTxn<'_>,
    rows: &Rows,
    key: u64,
    row: &mut [u8],
) -> Result<(), Failure> {
    fill(key, row);
    Ok(rows.put_with_flags(transaction, PutFlags::NO_OVERWRITE, &key, row)?)
}

fn update(
    transaction: &mut RwTxn<'_>,
    rows: &Rows,
    key: u64,
    change: &Change,
    row: &mut [u8],
    seen: Option<&mut Seen>,
) -> Result<(), Failure> {
    row.copy_from_slice(rows.get(transaction, &key)?.ok_or(Missing { key })?);
    if let Some(seen) = seen {
        seen.row(key, row);
    }
    apply(change, row);
    Ok(rows.put(transaction, &key, row)?)
}
