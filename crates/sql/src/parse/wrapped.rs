//! Queries around queries, made where a statement has a row of a query's values in a place for one value.

use super::parse_kept;
use crate::error::SqlError;
use sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Statement, TableFactor};

/// `SELECT item FROM (query) AS of_row (columns)`.
///
/// # Errors
/// Those of the texts, as of [`parse_kept`].
pub(crate) fn selected_from(
    item: &str,
    columns: &[String],
    query: &Query,
) -> Result<Query, SqlError> {
    let columns = match columns.is_empty() {
        true => String::new(),
        false => format!("({})", columns.join(", ")),
    };
    let text = format!("SELECT {item} FROM (SELECT 1) AS of_row {columns}");
    let mut statements = parse_kept(&text)?;
    let Some(Statement::Query(mut around)) = statements.pop() else {
        return Err(SqlError::syntax("a query is expected"));
    };
    if let SetExpr::Select(select) = &mut *around.body
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        **subquery = query.clone();
    }
    Ok(*around)
}

/// A tree without the parentheses around it: those of a query in parentheses of its own belong to the query.
pub(crate) fn query_of(tree: &Expr) -> Option<&Query> {
    match tree {
        Expr::Nested(inner) => query_of(inner),
        Expr::Subquery(query) => Some(query),
        _ => None,
    }
}

/// The number of a query's columns, if its text shows it.
pub(crate) fn width_of(query: &Query) -> Option<usize> {
    width_of_body(&query.body)
}

fn width_of_body(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let mut items = select.projection.iter();
            let are_values = items.all(|item| {
                matches!(
                    item,
                    SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
                )
            });
            are_values.then_some(select.projection.len())
        }
        SetExpr::Query(query) => width_of(query),
        SetExpr::SetOperation { left, .. } => width_of_body(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.len()),
        _ => None,
    }
}
