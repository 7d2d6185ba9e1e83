//! Queries that may call functions of users, as their texts show.

use crate::expression::is_known;
use crate::names::qualified;
use sqlparser::ast::{Expr as Tree, ObjectName, Query, SelectItem, SetExpr, TableFactor};

/// True for a `SELECT` of functions alone, or from one function, which may be a user's.
pub(super) fn calls_users(query: &Query) -> bool {
    let SetExpr::Select(select) = &*query.body else {
        return false;
    };
    let is_of_user = |name: &ObjectName| match qualified(name) {
        Ok((Some(schema), _)) => !matches!(&*schema, "pg_catalog" | "information_schema"),
        Ok((None, name)) => !is_known(&name),
        Err(_) => false,
    };
    let is_call = |tree: &Tree| matches!(tree, Tree::Function(called) if called.over.is_none() && is_of_user(&called.name));
    match &select.from[..] {
        [] => select.projection.iter().any(|item| match item {
            SelectItem::UnnamedExpr(tree) => is_call(tree),
            SelectItem::ExprWithAlias { expr, .. } => is_call(expr),
            _ => false,
        }),
        [only] if only.joins.is_empty() => match &only.relation {
            TableFactor::Table {
                name,
                args: Some(_),
                ..
            }
            | TableFactor::Function { name, .. } => is_of_user(name),
            _ => false,
        },
        _ => false,
    }
}
