//! Changes of rows that are known, and not made yet. A statement with several parts that write finds out the changes of
//! all parts before it makes the first, so that all parts read the same state.

use super::changes::{Change, Changes};
use super::insert::InsertPlan;
use crate::aggregate::key_of;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::rows::Table;
use crate::write_target::WriteTarget;
use sardonyx::schema::Value;
use std::collections::{HashMap, HashSet};

/// Changes of one kind, in their order.
pub(crate) enum Effect<'p> {
    /// Whole rows, without their hidden numbers.
    Insert(&'p InsertPlan, Vec<Vec<Value>>),
    Update(&'p Changes, Vec<Change>),
    /// Keys of the table with this number.
    Delete(u16, Vec<Vec<Value>>),
}

impl Effect<'_> {
    /// Makes the changes.
    ///
    /// # Errors
    /// Evaluation and write errors.
    pub fn apply(&self, tx: &mut dyn WriteTarget, with: &Environment<'_>) -> Result<(), SqlError> {
        match self {
            Effect::Insert(plan, rows) => plan.store(tx, rows, with),
            Effect::Update(changes, rows) => changes.apply(tx, rows, with),
            Effect::Delete(number, keys) => delete(tx, *number, keys, with),
        }
    }
}

/// Deletes the rows with these keys. The deletion of another row may have deleted some of them.
///
/// # Errors
/// Delete errors.
pub(crate) fn delete(
    tx: &mut dyn WriteTarget,
    number: u16,
    keys: &[Vec<Value>],
    with: &Environment<'_>,
) -> Result<(), SqlError> {
    for key in keys {
        with.context.look_at_row()?;
        tx.delete(number, key)?;
    }
    Ok(())
}

/// The rows of a part of a statement, and the changes that it makes of them.
#[derive(Default)]
pub(crate) struct Gathered<'p> {
    pub count: u64,
    /// The rows of `RETURNING`.
    pub table: Table,
    pub effects: Vec<Effect<'p>>,
}

/// The rows that parts of a statement have changed or deleted, of the tables that several parts change. A row is changed
/// once; a later part leaves it out.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    tables: HashMap<u16, HashSet<Vec<u8>>>,
}

impl Touched {
    /// Of these tables.
    pub fn of(tables: &[u16]) -> Touched {
        let tables = tables.iter().map(|number| (*number, HashSet::new()));
        Touched {
            tables: tables.collect(),
        }
    }

    /// Notes a row. Returns false if it was noted before. The bytes that this takes are returned, too.
    pub fn note(&mut self, table: u16, key: &[Value]) -> (bool, usize) {
        let Some(rows) = self.tables.get_mut(&table) else {
            return (true, 0);
        };
        let bytes = bytes_of_key(key);
        let taken = bytes.len() + size_of::<Vec<u8>>();
        (rows.insert(bytes), taken)
    }

    /// True if a row was noted.
    pub fn has(&self, table: u16, key: &[Value]) -> bool {
        let rows = self.tables.get(&table);
        rows.is_some_and(|rows| rows.contains(&bytes_of_key(key)))
    }
}

fn bytes_of_key(key: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in key {
        key_of(value.as_ref(), &mut bytes);
    }
    bytes
}
