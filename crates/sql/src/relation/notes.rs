//! Notes of tables: properties that the engine's schemas do not have, as a body of an object.

use super::objects::{kind, object, parsed, printed, put_object};
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::on_commit::OnCommit;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the engine's schema does not say of a table.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TableNotes {
    /// Its name when this was written: of another table of the number nothing is known.
    pub table: String,
    /// True if rows are found by a hidden number.
    #[serde(default)]
    pub hidden_key: bool,
    /// The name of the primary key's constraint.
    #[serde(default)]
    pub primary_name: Option<String>,
    /// The unique index that is the primary key, where the engine's is hidden.
    #[serde(default)]
    pub primary_index: Option<String>,
    /// Unique indexes that are constraints.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Foreign keys by name, where there is more to say of them than the engine's schema does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub references: BTreeMap<String, ReferenceNotes>,
    /// `COMMENT ON TABLE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Comments of constraints, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constraint_comments: BTreeMap<String, String>,
    /// Comments of indexes, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub index_comments: BTreeMap<String, String>,
    /// The columns that `INCLUDE` names, by the indexes' names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub included: BTreeMap<String, Vec<usize>>,
    /// The operator classes of indexes that are not those of their columns' types, by the indexes' names and the columns' numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operator_classes: BTreeMap<String, BTreeMap<usize, String>>,
    /// The query of a materialized view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub materialized: Option<String>,
    /// It has no rows until it is refreshed, and cannot be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpopulated: bool,
    /// What a commit does to a temporary table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_commit: Option<OnCommit>,
    /// By the columns' numbers.
    #[serde(default)]
    pub columns: BTreeMap<usize, ColumnNotes>,
}

/// Properties of a foreign key, or of when a unique key is checked, that the engine's schema does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReferenceNotes {
    /// `DEFERRABLE`.
    #[serde(default)]
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`.
    #[serde(default)]
    pub deferred: bool,
    /// `ON DELETE RESTRICT`, rather than `NO ACTION`.
    #[serde(default)]
    pub delete_restricts: bool,
    /// `ON UPDATE RESTRICT`.
    #[serde(default)]
    pub update_restricts: bool,
    /// `MATCH FULL`.
    #[serde(default)]
    pub full: bool,
    /// `ON UPDATE` with an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_update: Option<UpdateAction>,
}

/// What becomes of rows whose referenced row gets another key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UpdateAction {
    /// They get it, too.
    Cascade,
    /// Their columns become null.
    SetNull,
    /// Their columns get their defaults.
    SetDefault,
}

/// What the engine's schema does not say of a column.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ColumnNotes {
    /// The type's number in PostgreSQL's catalogue.
    pub kind: u32,
    pub modifier: i32,
    /// It may not be null, although the engine's column may.
    #[serde(default)]
    pub not_null: bool,
    /// An expression.
    #[serde(default)]
    pub default: Option<String>,
    /// `generated … as identity`: `a` always, `d` by default.
    #[serde(default)]
    pub identity: Option<char>,
    /// The sequence of which the column draws its numbers, and that goes with it.
    #[serde(default)]
    pub sequence: Option<String>,
    /// Other sequences that go with it: `OWNED BY`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<String>,
    /// `COMMENT ON COLUMN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The number of the domain that it was declared with; the type is the domain's base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<u32>,
    /// Its place among the columns, where that is not its number: a column that gets another type gets another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    /// The collation that it was declared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
}

/// The notes of a table; none if they are of another table that had the number.
///
/// # Errors
/// An error of the engine.
pub(super) fn notes_of(
    source: &dyn Source,
    number: u16,
    table: &str,
) -> Result<TableNotes, SqlError> {
    let body = object(source, kind::TABLE, &number.to_string())?;
    let notes: Option<TableNotes> = match body {
        Some(body) => Some(parsed(&body)?),
        None => None,
    };
    Ok(notes
        .filter(|notes| notes.table == table)
        .unwrap_or_default())
}

/// Stores the notes of a table.
///
/// # Errors
/// An error of the engine.
pub(crate) fn store_notes(
    tx: &mut dyn DefineTarget,
    number: u16,
    notes: &TableNotes,
) -> Result<(), SqlError> {
    put_object(tx, kind::TABLE, &number.to_string(), &printed(notes)?)
}
