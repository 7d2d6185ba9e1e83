//! Sort keys of `ORDER BY`, and the order of two rows by them.

use super::Expr;
use crate::error::SqlError;
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::condition::compare;
use sqlparser::ast::{self, OrderBySort};
use std::cmp::Ordering;

/// A sort key: an expression over the input or the output.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SortKey {
    pub expression: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}

/// The order of two rows by their keys.
pub(crate) fn in_order(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for ((key, a), b) in keys.iter().zip(a).zip(b) {
        let order = match (a.as_ref(), b.as_ref()) {
            (ValueRef::Null, ValueRef::Null) => Ordering::Equal,
            (ValueRef::Null, _) if key.nulls_first => Ordering::Less,
            (ValueRef::Null, _) => Ordering::Greater,
            (_, ValueRef::Null) if key.nulls_first => Ordering::Greater,
            (_, ValueRef::Null) => Ordering::Less,
            (a, b) => {
                let order = compare(a, b).unwrap_or(Ordering::Equal);
                if key.descending {
                    order.reverse()
                } else {
                    order
                }
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// True if the larger values are first.
///
/// # Errors
/// `0A000` for an operator.
pub(crate) fn is_descending(by: &ast::OrderByExpr) -> Result<bool, SqlError> {
    match &by.options.sort {
        None | Some(OrderBySort::Asc) => Ok(false),
        Some(OrderBySort::Desc) => Ok(true),
        Some(OrderBySort::Using(operator)) => match operator.to_string().as_str() {
            "<" | "pg_catalog.<" => Ok(false),
            ">" | "pg_catalog.>" => Ok(true),
            other => Err(SqlError::unsupported(format!(
                "ORDER BY with USING {other} is not supported"
            ))),
        },
    }
}

/// A key of an order.
///
/// # Errors
/// `0A000` for an operator.
pub(crate) fn sort_key(expression: Expr, by: &ast::OrderByExpr) -> Result<SortKey, SqlError> {
    let descending = is_descending(by)?;
    Ok(SortKey {
        expression,
        descending,
        nulls_first: by.options.nulls_first.unwrap_or(descending),
    })
}
