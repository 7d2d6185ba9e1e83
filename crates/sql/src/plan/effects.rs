//! Changes of rows that are known, and not made yet. A statement with several parts that write finds out the changes of
//! all parts before it makes the first, so that all parts read the same state.

use super::changes::{Change, Changes};
use super::insert::InsertPlan;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::memory::Memory;
use crate::rows::Table;
use crate::values::equality_keys::key_of;
use crate::write_target::WriteTarget;
use sardonyx::schema::Value;
use sardonyx_rows::constraints::Followers;
use std::collections::{HashMap, HashSet};

/// Changes of one kind, in their order.
pub(crate) enum Effect<'p> {
    /// Whole rows, without their hidden numbers.
    Insert(&'p InsertPlan, Vec<Vec<Value>>),
    Update(&'p Changes, Vec<Change>),
    /// Keys of the table with this number.
    Delete(u16, Vec<Vec<Value>>),
}

/// Makes the changes of a statement, in their order. Rows that are deleted or changed because they refer to others follow
/// at the end, as in PostgreSQL: a row that the statement itself has changed to refer to another row stays.
///
/// # Errors
/// Evaluation and write errors.
pub(crate) fn apply_all(
    tx: &mut dyn WriteTarget,
    effects: &[Effect<'_>],
    with: &Environment<'_>,
) -> Result<(), SqlError> {
    let mut following = Vec::new();
    for effect in effects {
        match effect {
            Effect::Insert(plan, rows) => plan.store(tx, rows, with)?,
            Effect::Update(changes, rows) => {
                changes.apply_before_others(tx, rows, with)?;
                following.push(Following::Changed(changes, rows));
            }
            Effect::Delete(number, keys) => {
                for key in keys {
                    with.context.look_at_row()?;
                    let followers = tx.delete_before_others(*number, key)?;
                    following.push(Following::Deleted(followers));
                }
            }
        }
    }
    for one in following {
        match one {
            Following::Deleted(followers) => tx.follow(followers)?,
            Following::Changed(changes, rows) => changes.follow(tx, rows, with)?,
        }
    }
    Ok(())
}

/// A change that other rows follow.
enum Following<'e> {
    Deleted(Followers),
    Changed(&'e Changes, &'e [Change]),
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
    pub fn of(tables: &[u16]) -> Touched {
        let tables = tables.iter().map(|number| (*number, HashSet::new()));
        Touched {
            tables: tables.collect(),
        }
    }

    /// Notes a row. Returns false if it was noted before.
    ///
    /// # Errors
    /// `53200` if there is no memory for it.
    pub fn note(
        &mut self,
        table: u16,
        key: &[Value],
        memory: &mut Memory<'_>,
    ) -> Result<bool, SqlError> {
        let Some(rows) = self.tables.get_mut(&table) else {
            return Ok(true);
        };
        let bytes = bytes_of_key(key);
        memory.take_bytes(bytes.len() + size_of::<Vec<u8>>())?;
        Ok(rows.insert(bytes))
    }
}

fn bytes_of_key(key: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in key {
        key_of(value.as_ref(), &mut bytes);
    }
    bytes
}
