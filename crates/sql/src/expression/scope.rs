//! The meaning of names in an expression: the columns of the tables that are read.

use super::{Expr, SystemColumns};
use crate::error::{SqlError, code};
use crate::path::{TEMPORARY, is_temporary};
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
    /// Its value, if that is not just the place: of two columns that `USING` merged.
    pub merged: Option<Expr>,
    /// True if it is named with its table's name only, and is no part of `*`: it went into a merged one.
    pub is_hidden: bool,
}

impl ScopeColumn {
    pub fn new(name: &str, spec: TypeSpec, place: usize) -> ScopeColumn {
        ScopeColumn {
            name: name.to_string(),
            spec: spec.with_collation(spec.collation.implicit()),
            place,
            origin: None,
            merged: None,
            is_hidden: false,
        }
    }

    /// The expression of its value.
    pub fn expr(&self) -> Expr {
        match &self.merged {
            Some(expr) => expr.clone(),
            None => Expr::Column(self.place),
        }
    }
}

/// A table that an expression may name, with its columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopeTable {
    pub alias: String,
    /// The schema of a table without an alias.
    pub schema: Option<String>,
    pub columns: Vec<ScopeColumn>,
    /// True if its columns are named with the table's name only, and are no part of `*`.
    pub is_aside: bool,
    /// The places of its primary key, if it has one.
    pub key: Vec<usize>,
    /// The names of its columns in a row as a value, if an alias has renamed the columns of a table or view.
    pub fields: Vec<String>,
    /// The columns that it has without a declaration, which are no part of `*`, nor of its row.
    pub system: SystemColumns,
    /// A place that is never null in its rows, if it is an item of an outer join.
    pub presence: Option<usize>,
    /// True if an outer join may have found no row of it: all its places are null then.
    pub may_be_missing: bool,
    /// True for a function of one column that is no record: its row is the value of the column.
    pub is_scalar: bool,
}

impl ScopeTable {
    /// True if a name means it, in a schema if one is given.
    pub fn is_named(&self, schema: Option<&str>, name: &str) -> bool {
        let is_in = |schema: &str| match self.schema.as_deref() {
            Some(of) => of == schema || schema == TEMPORARY && is_temporary(of),
            None => false,
        };
        !name.is_empty() && self.alias == name && schema.is_none_or(is_in)
    }
}

/// The tables that an expression may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub tables: Vec<ScopeTable>,
}

impl Scope {
    /// The column of a name, in a table if one is given.
    ///
    /// # Errors
    /// `42703` or `42P01` if there is none, `42702` if there are several.
    pub fn find(&self, table: Option<&str>, name: &str) -> Result<&ScopeColumn, SqlError> {
        let tables = self.tables.iter().filter(|of| match table {
            Some(table) => of.alias == table,
            None => !of.is_aside,
        });
        let any_table = tables.clone().next().is_some();
        let is_it =
            |column: &&ScopeColumn| column.name == name && (table.is_some() || !column.is_hidden);
        let mut found = None;
        let declared = tables
            .clone()
            .flat_map(|of| of.columns.iter().filter(is_it));
        for column in declared {
            if found.replace(column).is_some() {
                return Err(ambiguous(name));
            }
        }
        if found.is_none() {
            for column in tables.flat_map(|of| of.system.columns().iter().filter(is_it)) {
                if found.replace(column).is_some() {
                    return Err(ambiguous(name));
                }
            }
        }
        match (found, table) {
            (Some(column), _) => Ok(column),
            (None, Some(table)) if !any_table => Err(SqlError::new(
                code::UNKNOWN_TABLE,
                format!("missing FROM-clause entry for table \"{table}\""),
            )),
            (None, Some(table)) => Err(SqlError::new(
                code::UNKNOWN_COLUMN,
                format!("column {table}.{name} does not exist"),
            )
            .of_unknown_column(name)),
            (None, None) => Err(SqlError::unknown_column(name)),
        }
    }

    /// The table of a schema and a name, if one of the name is in this scope.
    ///
    /// # Errors
    /// `42P01` if those of the name are of other schemas.
    pub fn table_in(&self, schema: &str, name: &str) -> Result<Option<&ScopeTable>, SqlError> {
        let mut tables = self.tables.iter().filter(|of| of.alias == name).peekable();
        if tables.peek().is_none() {
            return Ok(None);
        }
        // No query reads tables of other sessions' temporary schemas.
        let found = tables.find(|of| of.is_named(Some(schema), name));
        found.map(Some).ok_or_else(|| {
            SqlError::new(
                code::UNKNOWN_TABLE,
                format!("invalid reference to FROM-clause entry for table \"{name}\""),
            )
            .hint(format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            ))
        })
    }

    /// The name of a column with that of its table, for errors.
    pub fn qualified(&self, table: Option<&str>, name: &str) -> String {
        let mut tables = self
            .tables
            .iter()
            .filter(|of| of.columns.iter().any(|column| column.name == name));
        let found = tables.find(|of| table.is_none_or(|table| of.alias == table));
        match found {
            Some(of) if !of.alias.is_empty() => format!("{}.{name}", of.alias),
            _ => name.to_string(),
        }
    }

    /// The columns of `*`.
    pub fn all(&self) -> impl Iterator<Item = &ScopeColumn> {
        let tables = self.tables.iter().filter(|table| !table.is_aside);
        let columns = tables.flat_map(|table| &table.columns);
        columns.filter(|column| !column.is_hidden)
    }
}

fn ambiguous(name: &str) -> SqlError {
    SqlError::new(
        code::AMBIGUOUS_COLUMN,
        format!("column reference \"{name}\" is ambiguous"),
    )
}
