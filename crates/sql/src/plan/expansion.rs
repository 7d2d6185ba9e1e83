//! Set-returning functions in the list of `SELECT`: `unnest`, `generate_subscripts` and `_pg_expandarray`. The query
//! returns the arrays. Each of its rows becomes as many rows as its longest array has elements; shorter arrays are
//! continued with nulls.
//!
//! Source: PostgreSQL's documentation, 38.5.9 (SQL functions returning sets), as of version 10.

use super::draft::{Draft, FromTable};
use super::figured::name_of_function;
use super::planning::Planning;
use super::query::with_tail;
use super::select::draft_plain;
use super::tail::Tail;
use super::tree::Expansion;
use crate::error::SqlError;
use crate::expression::functions::first_named;
use crate::expression::{Environment, Expr, Function};
use crate::rows::{EachRow, Values};
use crate::source::Source;
use crate::values::arrays;
use sardonyx::schema::Value;
use sqlparser::ast::{Expr as Tree, Select, SelectItem};

/// True if the list contains a set-returning function.
pub(crate) fn has_rows(select: &Select) -> bool {
    let gives_rows = |tree: &Tree| {
        // `(function(…)).field`
        let mut tree = tree;
        while let Tree::CompoundFieldAccess { root: inner, .. } | Tree::Nested(inner) = tree {
            tree = inner;
        }
        let name = name_of_function(tree);
        let function = name.and_then(|name| first_named(&name));
        function.is_some_and(Function::gives_rows)
    };
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(tree) | SelectItem::ExprWithAlias { expr: tree, .. } => {
            gives_rows(tree)
        }
        _ => false,
    })
}

/// Drafts a query with set-returning functions in its list.
///
/// # Errors
/// Invalid SQL; `0A000` with `DISTINCT`.
pub(crate) fn draft_expanded(
    planning: &mut Planning<'_>,
    select: &Select,
    tail: &Tail<'_>,
) -> Result<Draft, SqlError> {
    if select.distinct.is_some() {
        return Err(SqlError::unsupported(
            "DISTINCT with a function that gives rows is not supported",
        ));
    }
    let mut draft = draft_plain(planning, select, &Tail::default())?;
    draft.decide(planning)?;
    let mut elements = Vec::with_capacity(draft.items.len());
    let mut columns = Vec::with_capacity(draft.items.len());
    for item in &draft.items {
        let gives_rows =
            matches!(&item.typed.expr, Expr::Call(function, _) if function.gives_rows());
        elements.push(gives_rows.then_some(item.typed.kind()));
        columns.push((item.name.clone(), item.typed.spec));
    }
    let table = draft.table.clone();
    let plan = draft.finish();
    let expansion = FromTable::Expanded(Box::new(Expansion { plan, elements }));
    let draft = Draft::of_rows(expansion, &table, columns);
    with_tail(planning, draft, tail)
}

impl Expansion {
    /// Calls `each` with the rows.
    ///
    /// # Errors
    /// Errors of `each`; read and evaluation errors.
    pub fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        self.plan.rows(source, with, u64::MAX, &mut |row| {
            let mut lists = Vec::with_capacity(row.len());
            let mut memory = with.memory();
            for (value, element) in row.iter().zip(&self.elements) {
                lists.push(match (value, element) {
                    (Value::Text(array), Some(kind)) => {
                        let values = arrays::values(array, *kind)?;
                        memory.take(&values)?;
                        Some(values)
                    }
                    (_, Some(_)) => Some(Vec::new()),
                    (_, None) => None,
                });
            }
            let longest = lists.iter().flatten().map(Vec::len).max().unwrap_or(0);
            let mut expanded = row.clone();
            for at in 0..longest {
                for (value, list) in expanded.iter_mut().zip(&lists) {
                    if let Some(list) = list {
                        *value = list.get(at).cloned().unwrap_or(Value::Null);
                    }
                }
                if !each(&Values(&expanded))? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}
