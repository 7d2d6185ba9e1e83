//! The properties of a table, its columns and its references that the engine's schemas do not have, as its object keeps
//! them.
//!
//! Invariant: a field that was added later has a default, so objects of earlier versions are read.

use crate::access_methods::Method;
use crate::on_commit::OnCommit;
use sardonyx_rows::condition::SqlCheck;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The properties of a table that the engine's schema does not have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TableNotes {
    /// The table's name at the time of the notes: they are ignored if the number has another table.
    pub table: String,
    /// True if rows are found by a hidden number.
    #[serde(default)]
    pub hidden_key: bool,
    /// The name of the primary key's constraint.
    #[serde(default)]
    pub primary_name: Option<String>,
    /// The unique index that is the primary key, if the engine's key is hidden.
    #[serde(default)]
    pub primary_index: Option<String>,
    /// Unique indexes that are constraints.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Notes of foreign keys by name, for properties that the engine's schema does not have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub references: BTreeMap<String, ReferenceNotes>,
    /// The references and conditions that rows of earlier times need not meet: `NOT VALID`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub not_valid: BTreeSet<String>,
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
    /// The operator classes of indexes that differ from the usual ones, by the indexes' names and the columns' numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operator_classes: BTreeMap<String, BTreeMap<usize, String>>,
    /// The columns of indexes whose nulls come first in ascending order, or last in descending, by the indexes' names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_nulls: BTreeMap<String, BTreeSet<usize>>,
    /// The methods of indexes that are declared with others than `btree`, by the indexes' names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub methods: BTreeMap<String, Method>,
    /// Indexes that are in the catalogue alone, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listed: BTreeMap<String, ListedIndex>,
    /// The query of a materialized view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub materialized: Option<String>,
    /// True if it has no rows until it is refreshed, and cannot be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpopulated: bool,
    /// The effect of a commit on a temporary table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_commit: Option<OnCommit>,
    /// `ENABLE ROW LEVEL SECURITY`: there are no policies, so only its owners see its rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub row_security: bool,
    /// Its triggers, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub triggers: BTreeMap<String, TriggerNotes>,
    /// The notes of columns by their numbers.
    #[serde(default)]
    pub columns: BTreeMap<usize, ColumnNotes>,
}

/// An index that no query reads: the engine has no structure for its method.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ListedIndex {
    pub method: Method,
    pub parts: Vec<ListedPart>,
    /// `INCLUDE`: the numbers of the columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<usize>,
    /// `WHERE`, as the engine keeps conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

/// A column or an expression of a listed index.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ListedPart {
    #[serde(flatten)]
    pub of: ListedOf,
    /// The operator class, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// The subject of a part of a listed index.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ListedOf {
    /// A column's number.
    Column(usize),
    /// An expression, as the engine keeps conditions, and the number of its type.
    Expression(String, u32),
}

impl ListedIndex {
    /// True if it reads a column, or has one of its columns by `INCLUDE`.
    pub fn reads(&self, column: usize) -> bool {
        let read = |text: &String| {
            let kept = SqlCheck::parse(text).ok().flatten();
            kept.is_some_and(|kept| kept.columns.iter().any(|there| there.number == column))
        };
        self.included.contains(&column)
            || self.condition.as_ref().is_some_and(read)
            || self.parts.iter().any(|part| match &part.of {
                ListedOf::Column(number) => *number == column,
                ListedOf::Expression(text, _) => read(text),
            })
    }
}

/// A trigger, of rows or of statements.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct TriggerNotes {
    /// The number of its function.
    pub function: u32,
    /// True if it runs before the change of the row.
    pub is_before: bool,
    pub inserts: bool,
    pub updates: bool,
    pub deletes: bool,
    /// `UPDATE OF`: the numbers of the columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<usize>,
    /// `WHEN`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// `DISABLE TRIGGER`
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_off: bool,
    /// The events of a trigger that runs once for a statement. It has none of the others, so earlier versions run it never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<StatementEvents>,
}

/// The statements for which a trigger runs once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StatementEvents {
    pub inserts: bool,
    pub updates: bool,
    pub deletes: bool,
    /// `TRUNCATE` of a table with such a trigger is refused.
    pub truncates: bool,
}

impl TriggerNotes {
    /// The events of a trigger, of rows or of statements: it runs for those that are set.
    pub fn events(&self) -> StatementEvents {
        self.statement.unwrap_or(StatementEvents {
            inserts: self.inserts,
            updates: self.updates,
            deletes: self.deletes,
            truncates: false,
        })
    }
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

/// The action on rows whose referenced row gets another key.
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

/// The properties of a column that the engine's schema does not have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ColumnNotes {
    /// The type's number in PostgreSQL's catalogue.
    pub kind: u32,
    pub modifier: i32,
    /// True if it may not be null, although the engine's column may.
    #[serde(default)]
    pub not_null: bool,
    /// An expression.
    #[serde(default)]
    pub default: Option<String>,
    /// `generated … as identity`: `a` always, `d` by default.
    #[serde(default)]
    pub identity: Option<char>,
    /// The sequence of which the column draws its numbers, and that belongs to it.
    #[serde(default)]
    pub sequence: Option<String>,
    /// Other sequences that belong to it: `OWNED BY`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<String>,
    /// `COMMENT ON COLUMN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The number of its declared domain; the type is the domain's base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<u32>,
    /// Its place among the columns, if that is not its number: a column that gets another type gets another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    /// The dimensions of an array that its type declares: `integer[][]` has two.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dimensions: u8,
    /// Its declared collation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}
