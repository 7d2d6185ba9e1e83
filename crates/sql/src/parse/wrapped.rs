//! Queries around queries, made where a statement has a row of a query's values in a place for one value.

use super::parse_kept;
use crate::error::SqlError;
use sqlparser::ast::{Expr, Query, SetExpr, Statement, TableFactor};

/// `SELECT item FROM (query) AS of_row (columns)`.
///
/// # Errors
/// As [`parse_kept`].
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
