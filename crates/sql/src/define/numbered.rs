//! A primary key that was declared with its table becomes a unique index, so that its columns can get another type, or the key
//! can be dropped.
//!
//! The engine finds rows by the primary key of `CREATE TABLE`. Afterwards it finds them by a hidden number, as those of a
//! table without a primary key, and the key is an index as `ADD PRIMARY KEY` makes one. Every row is rewritten, in one call
//! of the stage.

use super::validity;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::relation::{ROW_NUMBER, Relation};

/// Has the primary key of a table be a unique index, and returns the table afterwards.
///
/// # Errors
/// `0A000` on the tables of nodes; the engine's errors.
pub(super) fn with_numbered_rows(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
) -> Result<Relation, SqlError> {
    let Some(index) = relation.primary_constraint() else {
        return Relation::numbered(tx.view(), relation.number);
    };
    if relation.notes.hidden_key {
        return Relation::numbered(tx.view(), relation.number);
    }
    tx.check_numbered_rows()?;
    // Rows keep what they violate.
    let is_valid = relation.notes.not_valid.is_empty();
    validity::adding(tx, relation.number, is_valid, |tx| {
        Ok(tx.number_rows(relation.number, ROW_NUMBER, &index)?)
    })?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes.hidden_key = true;
    notes.primary_name = None;
    notes.primary_index = Some(index);
    put_notes(tx, relation.number, &notes)?;
    Relation::numbered(tx.view(), relation.number)
}
