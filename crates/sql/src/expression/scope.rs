//! What names in an expression stand for: the columns of the tables that are read.

use crate::error::{SqlError, code};
use crate::types::TypeSpec;

/// A column that an expression may name.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    pub name: String,
    pub spec: TypeSpec,
    /// Its place in the row.
    pub place: usize,
    /// The table's and the column's number, if it is a column of a table, as results name it.
    pub origin: Option<(u32, i16)>,
}

/// A table that an expression may name, with its columns.
#[derive(Clone, Debug)]
pub(crate) struct ScopeTable {
    pub alias: String,
    pub columns: Vec<ScopeColumn>,
    /// Its columns are named with the table's name only, and are no part of `*`.
    pub is_aside: bool,
}

/// The tables that an expression may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub tables: Vec<ScopeTable>,
}

impl Scope {
    /// The column of this name, of the table of that one if it is said.
    ///
    /// # Errors
    /// `42703` or `42P01` if there is none, `42702` if there are several.
    pub fn find(&self, table: Option<&str>, name: &str) -> Result<&ScopeColumn, SqlError> {
        let tables = self.tables.iter().filter(|of| match table {
            Some(table) => of.alias == table,
            None => !of.is_aside,
        });
        let mut any_table = false;
        let mut found = None;
        for of in tables {
            any_table = true;
            for column in of.columns.iter().filter(|column| column.name == name) {
                if found.replace(column).is_some() {
                    return Err(SqlError::new(
                        code::AMBIGUOUS_COLUMN,
                        format!("column reference \"{name}\" is ambiguous"),
                    ));
                }
            }
        }
        match (found, table) {
            (Some(column), _) => Ok(column),
            (None, Some(table)) if !any_table => Err(SqlError::new(
                code::UNKNOWN_TABLE,
                format!("missing FROM-clause entry for table \"{table}\""),
            )),
            (None, Some(table)) => Err(SqlError::unknown_column(&format!("{table}.{name}"))),
            (None, None) => Err(SqlError::unknown_column(name)),
        }
    }

    /// The columns that `*` stands for.
    pub fn all(&self) -> impl Iterator<Item = &ScopeColumn> {
        let tables = self.tables.iter().filter(|table| !table.is_aside);
        tables.flat_map(|table| &table.columns)
    }
}
