//! Queries that may call functions of users, and queries that read no tables, as their texts show.

use crate::expression::is_known;
use crate::names::{name_of, qualified};
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

/// True if a query reads no table: it selects without `FROM`, or from queries in it and in `WITH` that do so, too.
pub(super) fn reads_no_table(query: &Query) -> bool {
    reads_none(query, &mut Vec::new())
}

/// The same beside queries of these names.
fn reads_none(query: &Query, known: &mut Vec<String>) -> bool {
    let SetExpr::Select(select) = &*query.body else {
        return false;
    };
    let before = known.len();
    let mut none = query.with.as_ref().is_none_or(|with| !with.recursive);
    for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
        none &= reads_none(&cte.query, known);
        known.push(name_of(&cte.alias.name));
    }
    let mut is_none = |factor: &TableFactor| match factor {
        TableFactor::Table {
            name, args: None, ..
        } => matches!(qualified(name), Ok((None, name)) if known.contains(&name)),
        TableFactor::Derived { subquery, .. } => reads_none(subquery, known),
        _ => false,
    };
    for item in &select.from {
        none &= is_none(&item.relation);
        for join in &item.joins {
            none &= is_none(&join.relation);
        }
    }
    known.truncate(before);
    none
}
