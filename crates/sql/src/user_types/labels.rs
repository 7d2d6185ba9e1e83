//! Labels of enum types for programs that read rows without SQL, as numbers: an export.

use super::UserTypes;
use crate::error::SqlError;
use crate::relation::{TableNotes, kind, parsed};
use crate::types::{EnumType, SqlType};
use sardonyx::schema::ValueRef;
use std::collections::BTreeMap;

/// The enum types of a table's columns.
#[derive(Clone, Debug, Default)]
pub struct EnumLabels(BTreeMap<usize, EnumType>);

impl EnumLabels {
    /// The table with the rows to read: a kind, a name and a body each.
    pub const TABLE: &str = crate::relation::OBJECTS;

    /// The enum types of a table, from the rows of [`EnumLabels::TABLE`].
    ///
    /// # Errors
    /// `XX001` for a row that cannot be read.
    pub fn of(table: &str, rows: &[[String; 3]]) -> Result<EnumLabels, SqlError> {
        let mut types = UserTypes::default();
        for [of, _, body] in rows {
            if of == kind::TYPES {
                types = parsed(body)?;
            }
        }
        let mut found = BTreeMap::new();
        for [of, _, body] in rows.iter().filter(|_| !types.types.is_empty()) {
            if of != kind::TABLE {
                continue;
            }
            let notes: TableNotes = parsed(body)?;
            for (column, noted) in notes.columns.iter().filter(|_| notes.table == table) {
                if let Some(SqlType::Enum(of)) = types.numbered(noted.kind) {
                    found.insert(*column, of);
                }
            }
        }
        Ok(EnumLabels(found))
    }

    /// The numbers of the columns.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.keys().copied()
    }

    /// A value of a column for output: the label, if it is a label's number.
    pub fn shown<'v>(&self, column: usize, value: ValueRef<'v>) -> ValueRef<'v> {
        match (self.0.get(&column), value) {
            (Some(of), ValueRef::Int(position)) => of.label(position).map_or(value, ValueRef::Text),
            _ => value,
        }
    }
}
