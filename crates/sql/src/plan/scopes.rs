//! Scopes: names for the columns of the items in `FROM`.

use crate::error::{SqlError, code};
use crate::expression::{Scope, ScopeColumn, ScopeTable, SystemColumns, text_of_row};
use crate::names::name_of;
use crate::relation::{Relation, table_oid};
use crate::types::{SqlType, TypeSpec};
use sqlparser::ast::TableAlias;

/// The most joined tables.
const TABLES_MAX: usize = 64;

/// Appends the tables of a scope to another scope.
pub(super) fn append(scope: &mut Scope, more: Scope) -> Result<(), SqlError> {
    for table in more.tables {
        let alias = &table.alias;
        let is_other = |there: &ScopeTable| match (&there.schema, &table.schema) {
            (Some(there), Some(schema)) => there != schema,
            _ => false,
        };
        let mut tables = scope.tables.iter();
        let is_there = tables.any(|there| there.alias == *alias && !is_other(there));
        if is_there && !alias.is_empty() {
            return Err(SqlError::new(
                "42712",
                format!("table name \"{alias}\" specified more than once"),
            ));
        }
        scope.tables.push(table);
        // Columns merged by USING do not count.
        let tables = scope.tables.iter().filter(|table| !table.alias.is_empty());
        if tables.count() > TABLES_MAX || scope.tables.len() > 2 * TABLES_MAX {
            return Err(SqlError::unsupported(format!(
                "at most {TABLES_MAX} tables are joined"
            )));
        }
    }
    Ok(())
}

/// Gives columns the names of an alias, and their places in the row.
pub(crate) fn placed(
    mut of: ScopeTable,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Scope, SqlError> {
    let renamed = alias.map_or(&[][..], |alias| &alias.columns);
    if renamed.len() > of.columns.len() {
        return Err(SqlError::new(
            code::INVALID_COLUMN_REFERENCE,
            format!(
                "table \"{}\" has {} columns available but {} columns specified",
                of.alias,
                of.columns.len(),
                renamed.len()
            ),
        ));
    }
    if of.schema.is_some() && !renamed.is_empty() {
        // Rows of tables and views have the names of these.
        of.fields = of
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
    }
    if alias.is_some() {
        of.schema = None;
    }
    of.columns
        .iter_mut()
        .for_each(|column| column.place += start);
    of.key.iter_mut().for_each(|place| *place += start);
    of.system.shift(start);
    for (column, renamed) in of.columns.iter_mut().zip(renamed) {
        column.name = name_of(&renamed.name);
    }
    Ok(Scope { tables: vec![of] })
}

pub(crate) fn scope_of_columns(alias: &str, columns: Vec<(String, TypeSpec)>) -> ScopeTable {
    let columns = columns.into_iter().enumerate();
    let columns = columns.map(|(place, (name, spec))| ScopeColumn::new(&name, spec, place));
    ScopeTable {
        alias: alias.to_string(),
        columns: columns.collect(),
        ..ScopeTable::default()
    }
}

pub(crate) fn together(around: &[&Scope]) -> Scope {
    let tables = around.iter().flat_map(|scope| scope.tables.iter().cloned());
    Scope {
        tables: tables.collect(),
    }
}

/// The places and types of the columns of the engine's primary key.
fn stored_key(relation: &Relation) -> Vec<(usize, TypeSpec)> {
    let keys = relation.schema.primary.key.iter().map(|part| part.column);
    let of = |number: usize| {
        let mut columns = relation.columns.iter();
        let visible = columns.find(|column| column.number == number);
        let kind = relation.schema.columns[number].kind;
        let spec = visible.map_or_else(|| SqlType::of_stored(kind), |column| column.spec);
        (number, spec)
    };
    keys.map(of).collect()
}

/// The scope of a table's columns.
pub(crate) fn scope_of(relation: &Relation, alias: &str) -> ScopeTable {
    let columns = relation.columns.iter().enumerate();
    let columns = columns.map(|(at, column)| ScopeColumn {
        origin: Some((table_oid(relation.number), at as i16 + 1)),
        ..ScopeColumn::new(&column.name, column.spec, column.number)
    });
    ScopeTable {
        alias: alias.to_string(),
        columns: columns.collect(),
        schema: Some(relation.schema_name().to_string()),
        key: relation.primary_columns(),
        system: SystemColumns::of(
            table_oid(relation.number),
            stored_key(relation),
            text_of_row,
        ),
        ..ScopeTable::default()
    }
}

/// The same where a query has selected all of them, one behind the other.
pub(super) fn scope_of_all(relation: &Relation, alias: &str) -> ScopeTable {
    let mut of = scope_of(relation, alias);
    let place_of = |number: usize| {
        let mut columns = relation.columns.iter();
        columns.position(|column| column.number == number)
    };
    of.key = of.key.iter().filter_map(|key| place_of(*key)).collect();
    for (place, column) in of.columns.iter_mut().enumerate() {
        column.place = place;
    }
    // The query has not selected a hidden key.
    of.system = SystemColumns::default();
    of
}
