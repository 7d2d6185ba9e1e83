//! `GENERATED ALWAYS AS (…) STORED`: columns that are computed from others on every write.

use super::columns::Declared;
use crate::error::{SqlError, code};
use crate::expression::labels::kept_spec;
use crate::expression::{
    NamedColumn, Use, crosses_zone, declared_expression, not_immutable, stored_expression,
    writes_intervals,
};
use crate::names::quoted;
use crate::relation::Relation;
use crate::user_types::TypeNames;
use crate::values::zones::SessionZone;
use sardonyx::schema::GeneratedColumn;
use sqlparser::ast::{ColumnOption, Expr as Tree};

/// Compiles a generated column for the engine. `is_generated` returns true for the table's columns that are generated,
/// too.
///
/// # Errors
/// `42P17` if the expression is not immutable, or reads a generated column; `42804` if it is of another type; other
/// invalid SQL.
pub(super) fn generated_column(
    table: &str,
    columns: &[NamedColumn<'_>],
    column: &Declared,
    expression: &Tree,
    is_generated: &dyn Fn(usize) -> bool,
    zone: Option<&SessionZone>,
) -> Result<GeneratedColumn, SqlError> {
    let (typed, check) = declared_expression(
        expression,
        table,
        columns,
        (Use::Generated, Some(column.spec)),
        &TypeNames::in_zone(zone),
    )?;
    if let Some(read) = check.columns.iter().find(|read| is_generated(read.number)) {
        return Err(SqlError::new(
            code::INVALID_OBJECT_DEFINITION,
            format!(
                "cannot use generated column \"{}\" in column generation expression",
                read.name
            ),
        )
        .detail("A generated column cannot reference another generated column."));
    }
    let (from, to) = (typed.kind(), column.spec.kind);
    if crosses_zone(from, to) || writes_intervals(from, to) {
        return Err(not_immutable(Use::Generated));
    }
    let stored = stored_expression(&check, Some(kept_spec(column.spec)));
    let is_of_type = to.enum_type().is_none() || from == to;
    let stored = stored.and_then(|_| match is_of_type {
        true => Ok(()),
        false => Err(SqlError::new(code::DATATYPE_MISMATCH, "another type")),
    });
    stored.map_err(|error| match error.code {
        code::DATATYPE_MISMATCH => SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "column \"{}\" is of type {} but default expression is of type {}",
                column.name,
                column.spec.kind.name(),
                typed.kind().name()
            ),
        )
        .hint("You will need to rewrite or cast the expression."),
        _ => error,
    })?;
    Ok(GeneratedColumn {
        name: column.name.clone(),
        kind: column.spec.stored(),
        declared: column.spec.kind.oid(),
        modifier: column.spec.modifier,
        expression: check.to_text(),
    })
}

/// True for `GENERATED ALWAYS AS (…) STORED`.
pub(super) fn is_generated_option(option: &ColumnOption) -> bool {
    matches!(
        option,
        ColumnOption::Generated {
            generation_expr: Some(_),
            ..
        }
    )
}

/// The visible generated columns of a table that are computed from a column.
pub(super) fn generated_of(relation: &Relation, column: usize) -> Vec<String> {
    let generated = relation.schema.generated_of(column);
    let seen = generated.filter_map(|column| relation.numbered_column(column));
    seen.map(|column| column.name.clone()).collect()
}

/// Checks that no generated column is computed from a column whose type changes.
///
/// # Errors
/// `0A000`, with the generated column's name.
pub(super) fn check_not_read(
    relation: &Relation,
    column: usize,
    name: &str,
) -> Result<(), SqlError> {
    match generated_of(relation, column).first() {
        None => Ok(()),
        Some(generated) => Err(SqlError::unsupported(
            "cannot alter type of a column used by a generated column",
        )
        .detail(format!(
            "Column \"{name}\" is used by generated column \"{generated}\"."
        ))),
    }
}

/// The objects that depend on a column that is to be dropped, one line each.
pub(super) fn depending(relation: &Relation, column: usize, name: &str) -> Vec<String> {
    let table = quoted(&relation.name);
    let generated = generated_of(relation, column).into_iter();
    generated
        .map(|generated| {
            format!("column {generated} of table {table} depends on column {name} of table {table}")
        })
        .collect()
}
