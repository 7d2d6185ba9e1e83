//! Sardonyx as a store: a table of fixed records, and operations as requests of a procedure.
//!
//! A batch that only reads is read in one state, without a transaction; one operation alone is a closure. Rows are
//! found by the hash of their key, and scans use an ordered index of it.

use super::operations::{Change, FIELD_BYTES, Operation, fill};
use super::store::{Missing, Seen, Store};
use crate::product::Product;
use crate::{Failure, engine_options};
use sardonyx::procedures::{Prefetch, Procedure, Registered, TableSpace};
use sardonyx::schema::{IndexDefinition, IndexKind, KeyPart};
use sardonyx::types::Plain;
use sardonyx::{Durability, Error, Field, Table, Tables, Transaction, View, field, record};
use sardonyx_base::resident::Resident;
use std::path::Path;

/// Rows that one transaction of the loading inserts: 10 MiB of redo.
const LOADED_TOGETHER: usize = 10_000;

type Value = [u8; FIELD_BYTES];

/// A record with fields.
pub trait Fields: Plain<Key = u64> {
    const FIELDS: &'static [Field<Self, Value>];

    fn key(&self) -> u64;

    /// All bytes of them.
    fn bytes(&self) -> &[u8];

    /// The row with this key, with the contents of [`fill`].
    fn filled(key: u64) -> Self;
}

macro_rules! row {
    ($(#[doc = $doc:expr])* $name:ident, $table:literal, $fields:literal, $reserved:literal, $($field:ident)*) => {
        record! {
            $(#[doc = $doc])*
            #[table($table, key = id)]
            #[derive(Debug)]
            pub struct $name {
                id: u64,
                $($field: [u8; 100],)*
                reserved: [u8; $reserved],
            }
        }

        impl Fields for $name {
            const FIELDS: &'static [Field<Self, Value>] =
                &[$(field!($name.$field: [u8; 100])),*];

            #[inline]
            fn key(&self) -> u64 {
                self.id
            }

            #[inline]
            fn bytes(&self) -> &[u8] {
                &self.as_bytes()[8..][..$fields * FIELD_BYTES]
            }

            fn filled(key: u64) -> Self {
                let mut row = $name::new_zeroed();
                row.id = key;
                fill(key, &mut row.as_mut_bytes()[8..][..$fields * FIELD_BYTES]);
                row
            }
        }
    };
}

row!(
    /// A row of a kilobyte: YCSB's.
    Long, "ycsb", 10, 0, field0 field1 field2 field3 field4 field5 field6 field7 field8 field9
);
row!(
    /// A row of a hundred bytes.
    Short, "short_rows", 1, 4, field0
);

/// The ordered index of keys.
const IN_ORDER: &str = "in_order";

/// The operations as a procedure.
#[derive(Debug)]
struct Operate<R> {
    table: Table<R>,
}

impl<R: Fields> Operate<R> {
    #[inline]
    fn change(
        &self,
        key: u64,
        change: &Change,
        reads: bool,
        transaction: &mut Transaction<'_>,
    ) -> Result<Seen, Error> {
        let row = transaction.find(self.table, key);
        let row = row.ok_or_else(|| Error::other(Missing { key }))?;
        let mut seen = Seen::default();
        if reads {
            seen.row(key, transaction.record(row)?.bytes());
        }
        transaction.set(
            row,
            <R as Fields>::FIELDS[usize::from(change.field)],
            change.value,
        )?;
        Ok(seen)
    }

    fn insert(&self, key: u64, transaction: &mut Transaction<'_>) -> Result<(), Error> {
        transaction.insert(self.table, &R::filled(key))
    }

    fn run(&self, operation: &Operation, transaction: &mut Transaction<'_>) -> Result<Seen, Error> {
        match operation {
            Operation::Update(key, change) => self.change(*key, change, false, transaction),
            Operation::ReadModifyWrite(key, change) => self.change(*key, change, true, transaction),
            Operation::Insert(key) => {
                self.insert(*key, transaction)?;
                Ok(Seen::default())
            }
            Operation::Read(key) => read_one(*key, transaction.get(self.table, *key)?),
            Operation::Scan(from, count) => {
                let rows = transaction.index(self.table, IN_ORDER)?.range(*from..)?;
                scan(rows, *count)
            }
        }
    }
}

#[inline]
fn read_one<R: Fields>(key: u64, row: Option<&R>) -> Result<Seen, Error> {
    let row = row.ok_or_else(|| Error::other(Missing { key }))?;
    let mut seen = Seen::default();
    seen.row(key, row.bytes());
    Ok(seen)
}

fn scan<'a, R: Fields>(
    rows: impl Iterator<Item = Result<&'a R, Error>>,
    count: u32,
) -> Result<Seen, Error> {
    let mut seen = Seen::default();
    for row in rows.take(count as usize) {
        let row = row?;
        seen.row(row.key(), row.bytes());
    }
    Ok(seen)
}

impl<R: Fields> Procedure for Operate<R> {
    type Arguments = Operation;
    type Output = Seen;
    type Error = Error;
    type Located = ();

    fn name(&self) -> &str {
        "ycsb"
    }

    #[inline]
    fn prefetch(&self, what: Prefetch, operation: &Operation, space: &TableSpace) {
        match operation {
            Operation::Insert(_) => {}
            Operation::Read(key)
            | Operation::Scan(key, _)
            | Operation::Update(key, _)
            | Operation::ReadModifyWrite(key, _) => space.prefetch(what, self.table, *key),
        }
    }

    #[inline]
    fn locate(&self, _operation: &Operation, _space: &TableSpace) {}

    #[inline]
    fn execute(
        &self,
        operation: &Operation,
        (): (),
        transaction: &mut Transaction<'_>,
    ) -> Result<Seen, Error> {
        self.run(operation, transaction)
    }
}

/// By the key, the first column.
fn in_order() -> IndexDefinition {
    IndexDefinition {
        name: IN_ORDER.into(),
        kind: IndexKind::Ordered,
        unique: false,
        deferrable: false,
        nulls_equal: false,
        key: vec![KeyPart {
            column: 0,
            descending: false,
        }],
    }
}

/// A table with rows of one type.
#[derive(Debug)]
struct OfRows<R> {
    database: Tables,
    procedure: Registered<Operate<R>>,
    operate: Operate<R>,
}

impl<R: Fields> OfRows<R> {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let options = engine_options::with_log(engine_options::LOG_BYTES);
        let database = options.open_tables(directory.join("store.sdx"))?;
        let table: Table<R> = database.table()?;
        database.run(|transaction| match transaction.index(table, IN_ORDER) {
            Ok(_) => Ok(()),
            Err(_) => transaction.create_index(table.number(), in_order()),
        })?;
        Ok(OfRows {
            procedure: database.register(Operate { table })?,
            operate: Operate { table },
            database,
        })
    }

    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>) -> Result<(), Failure> {
        loop {
            let together: Vec<u64> = keys.take(LOADED_TOGETHER).collect();
            if together.is_empty() {
                return Ok(self.database.flush()?);
            }
            self.database
                .transaction()
                .durability(Durability::Deferred)
                .run(|transaction| {
                    let mut keys = together.iter();
                    keys.try_for_each(|key| self.operate.insert(*key, transaction))
                })?;
        }
    }

    fn run(&mut self, operations: &[Operation]) -> Result<Seen, Failure> {
        if operations.iter().all(Operation::is_read) {
            return Ok(self.database.read(|view| self.read(operations, view))?);
        }
        if let [operation] = operations {
            let run = |transaction: &mut Transaction<'_>| self.operate.run(operation, transaction);
            return Ok(self.database.run(run)?);
        }
        let ticket = self
            .database
            .submit_batch(&self.procedure, operations.to_vec(), 0);
        let mut seen = Seen::default();
        for outcome in ticket.wait()? {
            seen.and(outcome?);
        }
        Ok(seen)
    }

    fn read(&self, operations: &[Operation], view: &View<'_>) -> Result<Seen, Error> {
        let table = self.operate.table;
        let mut seen = Seen::default();
        for operation in operations {
            seen.and(match operation {
                Operation::Scan(from, count) => {
                    scan(view.index(table, IN_ORDER)?.range(*from..)?, *count)?
                }
                Operation::Read(key) => read_one(*key, view.get(table, *key)?)?,
                _ => unreachable!("all of them read"),
            });
        }
        Ok(seen)
    }
}

#[derive(Debug)]
pub struct Sardonyx(Rows);

#[derive(Debug)]
enum Rows {
    Long(OfRows<Long>),
    Short(OfRows<Short>),
}

impl Product for Sardonyx {
    fn name() -> &'static str {
        "Sardonyx"
    }

    fn settings() -> &'static str {
        "Durability::Durable, adaptive group commit, log 2 GiB, defaults else"
    }
}

impl Store for Sardonyx {
    fn open(directory: &Path, fields: u8) -> Result<Self, Failure> {
        Ok(Sardonyx(match fields {
            1 => Rows::Short(OfRows::open(directory)?),
            10 => Rows::Long(OfRows::open(directory)?),
            _ => return Err("rows have 1 or 10 fields".into()),
        }))
    }

    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>) -> Result<(), Failure> {
        match &mut self.0 {
            Rows::Long(rows) => rows.load(keys),
            Rows::Short(rows) => rows.load(keys),
        }
    }

    fn run(&mut self, operations: &[Operation]) -> Result<Seen, Failure> {
        match &mut self.0 {
            Rows::Long(rows) => rows.run(operations),
            Rows::Short(rows) => rows.run(operations),
        }
    }
}
