//! Queries, compiled: `SELECT`, `VALUES`, `TABLE`, set operations, and `WITH`.

use super::draft::{Draft, FromNode, FromTable, NamedKind, NamedQuery};
use super::planning::{Planning, Queries};
use super::recursion::draft_recursion;
use super::routine::{Routine, columns_of, kind_of as type_of};
use super::searching::with_clauses;
use super::select::draft_select;
use super::set_operation::{draft_branch, draft_sets};
use super::tail::{Tail, limits, output_order};
use super::tree::{SelectPlan, SharedQuery};
use crate::class::{change_behind_with, sets_session};
use crate::error::{SqlError, code};
use crate::expression::{
    self, Around, DraftedQuery, Expr, Parameters, PlannedRoutine, Scope, Typed,
};
use crate::names::name_of;
use crate::rights::Rights;
use crate::routines::{Returns, RoutineDefinition, notify};
use crate::source::Source;
use crate::types::SqlType;
use crate::user_types::UserTypes;
use sqlparser::ast::{self, Query, SetExpr};
use std::collections::HashSet;
use std::sync::Arc;

impl expression::Queries for Queries {
    fn around(&self) -> &Around {
        &self.around
    }

    fn around_mut(&mut self) -> &mut Around {
        &mut self.around
    }

    fn rights(&self) -> &Rights {
        &self.rights
    }

    fn routine(
        &mut self,
        source: &dyn Source,
        definition: &RoutineDefinition,
    ) -> Result<PlannedRoutine, SqlError> {
        // A body may read and set the session's state.
        self.around.asks_session = true;
        self.around.calls_users = true;
        self.around.notifies |= notify(source)?;
        self.around.sets_session |= sets_session(&definition.body.to_ascii_lowercase());
        let all = UserTypes::of(source)?;
        let parameters = definition.parameters.iter();
        let parameters = parameters.map(|one| type_of(&all, one.kind));
        let result = match &definition.returns {
            Returns::Value(kind)
            | Returns::Rows(kind)
            | Returns::RowOfType(kind)
            | Returns::RowsOfType(kind) => type_of(&all, *kind)?,
            Returns::Table(columns) if let [(_, kind)] = &columns[..] => type_of(&all, *kind)?,
            returns if returns.is_composite() => SqlType::Record,
            _ => SqlType::Void,
        };
        let fields = match definition.returns.is_composite() {
            true => columns_of(definition, source)?,
            false => Vec::new(),
        };
        let fields = fields.into_iter().map(|(name, spec)| (name, spec.kind));
        let routine = Routine::new(definition.clone()).with_fields(fields.collect(), result);
        Ok(PlannedRoutine {
            parameters: parameters.collect::<Result<_, _>>()?,
            query: Arc::new(routine),
            number: self.next_number(),
            result,
        })
    }

    fn draft(
        &mut self,
        source: &dyn Source,
        scope: &Scope,
        parameters: &mut Parameters,
        query: &ast::Query,
    ) -> Result<DraftedQuery, SqlError> {
        let mut planning = Planning {
            source,
            parameters,
            queries: std::mem::take(self),
        };
        let planned = planning.inside(Arc::new(scope.clone()), |planning| {
            let mut draft = draft_query(planning, query)?;
            draft.decide(planning)?;
            Ok(draft)
        });
        let number = planning.queries.next_number();
        *self = planning.queries;
        let (draft, columns) = planned?;
        Ok((Box::new(draft), columns, number))
    }
}

/// Compiles a query.
///
/// # Errors
/// Invalid SQL; `0A000` for queries that another planner may support.
pub(crate) fn plan_query(
    planning: &mut Planning<'_>,
    query: &Query,
) -> Result<SelectPlan, SqlError> {
    let mut draft = draft_query(planning, query)?;
    draft.decide(planning)?;
    Ok(draft.finish())
}

/// Drafts a query.
///
/// # Errors
/// Errors of [`plan_query`].
pub(crate) fn draft_query(planning: &mut Planning<'_>, query: &Query) -> Result<Draft, SqlError> {
    let tail = Tail::of(query)?;
    with_named(planning, query.with.as_ref(), |planning| {
        draft_body(planning, &query.body, &tail)
    })
}

/// Plans something that may name the queries of a `WITH` before it.
///
/// # Errors
/// Errors of `plan`; invalid SQL in the queries.
pub(crate) fn with_named<'a, R>(
    planning: &mut Planning<'a>,
    with: Option<&ast::With>,
    plan: impl FnOnce(&mut Planning<'a>) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    let named = planning.queries.named.len();
    planning.enter()?;
    if let Some(with) = with {
        name_queries(planning, with)?;
    }
    let planned = plan(planning)?;
    planning.leave();
    planning.queries.named.truncate(named);
    Ok(planned)
}

/// Drafts the body of a query, with the clauses at its end.
///
/// # Errors
/// Errors of [`plan_query`].
pub(crate) fn draft_body(
    planning: &mut Planning<'_>,
    body: &SetExpr,
    tail: &Tail<'_>,
) -> Result<Draft, SqlError> {
    match body {
        SetExpr::Select(select) => draft_select(planning, select, tail),
        SetExpr::Values(values) => {
            let draft = draft_values(planning, values)?;
            with_tail(planning, draft, tail)
        }
        SetExpr::Query(inner) if tail.is_empty() => draft_query(planning, inner),
        SetExpr::Query(inner) => {
            let mut draft = draft_query(planning, inner)?;
            draft.decide(planning)?;
            with_tail(planning, around(draft), tail)
        }
        SetExpr::SetOperation { .. } => {
            let draft = draft_sets(planning, body)?;
            with_tail(planning, draft, tail)
        }
        SetExpr::Table(table) => {
            let draft = draft_table(planning, table)?;
            with_tail(planning, draft, tail)
        }
        _ => Err(SqlError::unsupported(
            "statements that write are not supported inside of queries",
        )),
    }
}

/// A draft that selects all rows of another one.
pub(crate) fn around(draft: Draft) -> Draft {
    let columns = draft.items.iter();
    let columns = columns.map(|item| (item.name.clone(), item.typed.spec));
    let columns = columns.collect();
    let table = draft.table.clone();
    Draft::of_rows(FromTable::Derived(Box::new(draft)), &table, columns)
}

/// Adds the clauses at the end of a query to rows that have no other columns than they give.
pub(crate) fn with_tail(
    planning: &mut Planning<'_>,
    mut draft: Draft,
    tail: &Tail<'_>,
) -> Result<Draft, SqlError> {
    let is_of_sets = matches!(&draft.from, Some(FromNode::Leaf(FromTable::Sets(_), _)));
    let mut compiler = planning.compiler(&draft.scope);
    let sort = output_order(&mut compiler, &draft.items, &tail.order, is_of_sets)?;
    let scope = Scope::default();
    let mut compiler = planning.compiler(&scope);
    (draft.limit, draft.offset) = limits(&mut compiler, tail)?;
    draft.with_ties = tail.with_ties;
    draft.sort = sort;
    draft.lock_by(planning, tail.locks)?;
    Ok(draft)
}

fn draft_values(planning: &mut Planning<'_>, values: &ast::Values) -> Result<Draft, SqlError> {
    let before = planning.queries.subqueries;
    let scope = Scope::default();
    let mut compiler = planning.compiler(&scope);
    let width = values.rows.first().map_or(0, |row| row.len());
    let mut columns: Vec<Vec<Typed>> = vec![Vec::new(); width];
    for row in &values.rows {
        if row.len() != width {
            return Err(SqlError::syntax("VALUES lists must all be the same length"));
        }
        for (column, tree) in columns.iter_mut().zip(row.iter()) {
            column.push(compiler.compile(tree)?);
        }
    }
    let mut rows: Vec<Vec<Expr>> = vec![Vec::with_capacity(width); values.rows.len()];
    let mut named = Vec::with_capacity(width);
    for (place, column) in columns.into_iter().enumerate() {
        let (expressions, spec) = compiler.unified(column, "VALUES")?;
        for (row, expression) in rows.iter_mut().zip(expressions) {
            row.push(expression);
        }
        named.push((format!("column{}", place + 1), spec));
    }
    let mut draft = Draft::of_rows(FromTable::Rows(rows), "*VALUES*", named);
    draft.has_subqueries = planning.queries.subqueries > before;
    Ok(draft)
}

fn draft_table(planning: &mut Planning<'_>, table: &ast::Table) -> Result<Draft, SqlError> {
    let words = [&table.schema_name, &table.table_name];
    let words = words.into_iter().flatten().cloned().collect::<Vec<_>>();
    let name = ast::ObjectName::from(words);
    let (node, scope) = super::named::named_table(planning, &name, None, 0)?;
    let items = scope.all().map(|column| super::output::Item {
        typed: Typed {
            expr: column.expr(),
            spec: column.spec,
        },
        name: column.name.clone(),
        origin: column.origin,
    });
    Ok(Draft {
        items: items.collect(),
        scope,
        from: Some(node),
        ..Draft::of_rows(FromTable::Rows(Vec::new()), &name.to_string(), Vec::new())
    })
}

/// Plans the queries that `WITH` names: each may name those before it.
fn name_queries(planning: &mut Planning<'_>, with: &ast::With) -> Result<(), SqlError> {
    let mut seen = HashSet::new();
    let names = with
        .cte_tables
        .iter()
        .map(|named| name_of(&named.alias.name));
    for name in names {
        if let Some(name) = seen.replace(name)
            && !planning.parameters.is_kept()
        {
            let text = format!("WITH query name \"{name}\" specified more than once");
            return Err(SqlError::new("42712", text));
        }
    }
    for named in &with.cte_tables {
        let mut names_of =
            |with: Option<&ast::With>, first: &SetExpr| -> Result<Vec<String>, SqlError> {
                with_named(planning, with, |planning| {
                    let first = draft_branch(planning, first)?;
                    Ok(first.items.into_iter().map(|item| item.name).collect())
                })
            };
        let written = with_clauses(named, with.recursive, &mut names_of)?;
        let named = written.as_ref().unwrap_or(named);
        let name = name_of(&named.alias.name);
        let own = std::mem::take(&mut planning.queries.around.asked);
        planning.queries.naming += 1;
        // The queries that name it read the same.
        let around = std::mem::take(&mut planning.queries.read_parts);
        let kind = match change_behind_with(&named.query) {
            Some(change) => part_of(planning, named, change),
            None => {
                // A query in it is below the top of the statement.
                let parts = planning.queries.parts.take();
                let kind = kind_of(planning, named, with.recursive);
                planning.queries.parts = parts;
                kind
            }
        };
        let reads = std::mem::replace(&mut planning.queries.read_parts, around);
        if let Ok(NamedKind::Shared(shared)) = &kind {
            planning.queries.reads.insert(shared.number, reads);
        }
        planning.queries.naming -= 1;
        planning.queries.around.asked = own;
        let kind = kind?;
        let queries = &mut planning.queries;
        let (before, outer) = (queries.named.len(), queries.around.outer.len());
        queries.named.push(Arc::new(NamedQuery {
            name,
            alias: named.alias.clone(),
            kind,
            named: before,
            outer,
        }));
    }
    Ok(())
}

/// Plans a query of `WITH` that writes. Those in it are below the top of the statement.
fn part_of(
    planning: &mut Planning<'_>,
    named: &ast::Cte,
    change: &ast::Statement,
) -> Result<NamedKind, SqlError> {
    let Some(mut parts) = planning.queries.parts.take() else {
        return Err(SqlError::unsupported(
            "WITH clause containing a data-modifying statement must be at the top level",
        ));
    };
    let kind = parts.part(planning, named, change);
    planning.queries.parts = Some(parts);
    kind
}

/// Decides how a query that `WITH` names is run.
fn kind_of(
    planning: &mut Planning<'_>,
    named: &ast::Cte,
    may_recur: bool,
) -> Result<NamedKind, SqlError> {
    if may_recur && draft_recursion(planning, named)?.is_some() {
        return Ok(NamedKind::Recursive(Box::new(named.clone())));
    }
    let own = name_of(&named.alias.name);
    let is_own = |error: &SqlError| {
        let unknown = SqlError::unknown_table(&own);
        may_recur && (error.code, &error.message) == (unknown.code, &unknown.message)
    };
    let draft = draft_query(planning, &named.query);
    let mut draft = draft.map_err(|error| match is_own(&error) {
        true => SqlError::new(
            code::INVALID_RECURSION,
            format!(
                "recursive query \"{own}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
            ),
        ),
        false => error,
    })?;
    draft.decide(planning)?;
    let asks = !planning.queries.around.asked.is_empty();
    let wants_kept = named.materialized == Some(ast::CteAsMaterialized::Materialized);
    Ok(match asks || (draft.is_simple() && !wants_kept) {
        true => NamedKind::Inlined(named.query.clone()),
        false => {
            let plan = draft.finish();
            NamedKind::Shared(Arc::new(SharedQuery {
                number: planning.queries.next_number(),
                name: name_of(&named.alias.name),
                columns: plan.output.columns.clone(),
                plan: Some(plan),
            }))
        }
    })
}
