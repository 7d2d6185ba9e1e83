//! `pg_prepared_statements` and `pg_cursors`: those of the session that reads them.

use super::Contents::Rows;
use super::{VirtualRows, VirtualTable, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::source::Source;
use crate::types::SqlType::{self, Bool, Int8, Text, TextArray, Timestamptz};
use crate::values::arrays::array_of;
use sardonyx::schema::{Value, ValueRef};

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_cursors",
        oid: 12_024,
        columns: &[
            ("name", Text),
            ("statement", Text),
            ("is_holdable", Bool),
            ("is_binary", Bool),
            ("is_scrollable", Bool),
            ("creation_time", Timestamptz),
        ],
        contents: Rows(cursors),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_prepared_statements",
        oid: 12_025,
        columns: &[
            ("name", Text),
            ("statement", Text),
            ("prepare_time", Timestamptz),
            ("parameter_types", TextArray),
            ("from_sql", Bool),
            ("generic_plans", Int8),
            ("custom_plans", Int8),
        ],
        contents: Rows(statements),
    },
];

fn cursors(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let listed = with.context.listed.iter();
    let cursors = listed.flat_map(|listed| &listed.cursors);
    let rows = cursors.map(|cursor| {
        vec![
            text(&cursor.name),
            text(&cursor.statement),
            Value::Bool(cursor.is_holdable),
            Value::Bool(false),
            Value::Bool(cursor.is_scrollable),
            Value::Timestamp(cursor.created),
        ]
    });
    Ok(rows.collect())
}

fn statements(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let listed = with.context.listed.iter();
    let statements = listed.flat_map(|listed| &listed.statements);
    let rows = statements.map(|(name, statement)| {
        let types = statement.parameters.iter();
        let types = types.map(|kind| ValueRef::Text(kind.name()));
        vec![
            text(name),
            text(&statement.statement),
            Value::Timestamp(statement.prepared),
            array_of(SqlType::Text, types),
            Value::Bool(statement.of_sql),
            // Plans are not counted.
            Value::Null,
            Value::Null,
        ]
    });
    Ok(rows.collect())
}
