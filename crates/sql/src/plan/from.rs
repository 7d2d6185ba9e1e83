//! `FROM`, compiled: tables, subqueries, functions and joins, with the scope of their columns. The places of columns
//! are places in the row of all of `FROM`.

use super::draft::{Draft, FromJoin, FromNode, FromTable, Planned};
use super::named::{named_table, sampled_table};
use super::planning::Planning;
use super::presence::with_presence;
use super::query::draft_query;
use super::rows_from::called;
use super::scopes::{append, placed, scope_of_columns, together};
use super::series::{keywords, no_ancestors, unnest};
use super::tree::JoinKind;
use crate::error::{SqlError, code};
use crate::expression::{Comparison, Expr, Scope, ScopeColumn, ScopeTable, Typed};
use crate::names::{name_of, parts_of, qualified};
use crate::types::TypeSpec;
use sqlparser::ast::{
    JoinConstraint, JoinOperator, Query, SetExpr, TableAlias, TableFactor, TableWithJoins,
};
use std::sync::Arc;

/// Compiles `FROM`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_from(
    planning: &mut Planning<'_>,
    from: &[TableWithJoins],
) -> Result<(Option<FromNode>, Scope), SqlError> {
    let Some((first, others)) = from.split_first() else {
        return Ok((None, Scope::default()));
    };
    let none = Scope::default();
    let marks = has_outer(first);
    let (node, own) = with_joins(planning, &[&none], first, (0, marks))?;
    let mut scope = none;
    append(&mut scope, own)?;
    let (node, scope) = plan_behind(planning, (node, scope), others)?;
    Ok((Some(node), scope))
}

/// Compiles an item of `FROM` that follows a compiled one.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_behind(
    planning: &mut Planning<'_>,
    (mut node, mut scope): Planned,
    others: &[TableWithJoins],
) -> Result<Planned, SqlError> {
    for item in others {
        let start = node.places().end;
        let place = (start, has_outer(item));
        let (right, own) = with_joins(planning, &[&scope], item, place)?;
        append(&mut scope, own)?;
        node = FromNode::Join(Box::new(FromJoin {
            left: node,
            right,
            kind: JoinKind::Inner,
            on: None,
        }));
    }
    Ok((node, scope))
}

/// Compiles one item of `FROM` that reads nothing of others.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_factor(
    planning: &mut Planning<'_>,
    item: &TableFactor,
    start: usize,
) -> Result<Planned, SqlError> {
    factor(planning, &[], item, (start, false))
}

fn has_outer(item: &TableWithJoins) -> bool {
    let nested = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => has_outer(table_with_joins),
        _ => false,
    };
    let is_outer = |operator: &JoinOperator| {
        matches!(
            operator,
            JoinOperator::Left(_)
                | JoinOperator::LeftOuter(_)
                | JoinOperator::Right(_)
                | JoinOperator::RightOuter(_)
                | JoinOperator::FullOuter(_)
        )
    };
    let mut joins = item.joins.iter();
    nested(&item.relation)
        || joins.any(|join| is_outer(&join.join_operator) || nested(&join.relation))
}

/// A table with its joins. `around` are the scopes that a lateral query sees in addition. With `marks`, items get a place
/// that tells rows from those that an outer join did not find.
fn with_joins(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    item: &TableWithJoins,
    (start, marks): (usize, bool),
) -> Result<(FromNode, Scope), SqlError> {
    let (mut node, mut scope) = factor(planning, around, &item.relation, (start, marks))?;
    for join in &item.joins {
        let start = node.places().end;
        let visible = [around, &[&scope]].concat();
        let place = (start, marks);
        let (right, right_scope) = factor(planning, &visible, &join.relation, place)?;
        (node, scope) = joined(
            planning,
            (node, scope),
            (right, right_scope),
            &join.join_operator,
        )?;
    }
    Ok((node, scope))
}

fn joined(
    planning: &mut Planning<'_>,
    (left, mut scope): Planned,
    (right, right_scope): Planned,
    operator: &JoinOperator,
) -> Result<Planned, SqlError> {
    if let JoinOperator::Join(JoinConstraint::None)
    | JoinOperator::Inner(JoinConstraint::None)
    | JoinOperator::Left(JoinConstraint::None)
    | JoinOperator::LeftOuter(JoinConstraint::None)
    | JoinOperator::Right(JoinConstraint::None)
    | JoinOperator::RightOuter(JoinConstraint::None)
    | JoinOperator::FullOuter(JoinConstraint::None) = operator
    {
        return Err(SqlError::syntax("a join without ON or USING")
            .hint("Write CROSS JOIN for all pairs of rows."));
    }
    let (kind, constraint) = match operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
            (JoinKind::Inner, constraint)
        }
        JoinOperator::CrossJoin(constraint) => (JoinKind::Inner, constraint),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
            (JoinKind::Left, constraint)
        }
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
            (JoinKind::Right, constraint)
        }
        JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
        _ => return Err(SqlError::unsupported("this kind of join is not supported")),
    };
    if right.is_lateral() && matches!(kind, JoinKind::Right | JoinKind::Full) {
        return Err(SqlError::new(
            code::INVALID_COLUMN_REFERENCE,
            "invalid reference to FROM-clause entry: the combining JOIN type must be INNER or LEFT for a LATERAL reference",
        ));
    }
    let names = match constraint {
        JoinConstraint::Using(names) => {
            let mut words = Vec::with_capacity(names.len());
            for name in names {
                words.push(parts_of(name)?.pop().unwrap_or_default());
            }
            words
        }
        JoinConstraint::Natural => {
            let others: Vec<&str> = right_scope.all().map(|column| &*column.name).collect();
            let shared = scope.all().filter(|column| others.contains(&&*column.name));
            shared.map(|column| column.name.clone()).collect()
        }
        JoinConstraint::UsingAlias(..) => {
            return Err(SqlError::unsupported("USING with a name is not supported"));
        }
        JoinConstraint::On(_) | JoinConstraint::None => Vec::new(),
    };
    let mut on = Vec::new();
    let mut merged = Vec::with_capacity(names.len());
    let mut right_scope = right_scope;
    for (at, name) in names.iter().enumerate() {
        if names.iter().take(at).any(|before| before == name) {
            return Err(SqlError::new(
                code::DUPLICATE_COLUMN,
                format!("column name \"{name}\" appears more than once in USING clause"),
            ));
        }
        let (equal, column) = merge(planning, &mut scope, &mut right_scope, name, kind)?;
        on.push(equal);
        merged.push(column);
    }
    let missing = |scope: &mut Scope| {
        let tables = scope.tables.iter_mut();
        tables.for_each(|table| table.may_be_missing = true);
    };
    if matches!(kind, JoinKind::Left | JoinKind::Full) {
        missing(&mut right_scope);
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        missing(&mut scope);
    }
    append(&mut scope, right_scope)?;
    if !merged.is_empty() {
        let table = ScopeTable {
            alias: String::new(),
            columns: merged,
            ..ScopeTable::default()
        };
        scope.tables.insert(0, table);
    }
    if let JoinConstraint::On(tree) = constraint {
        on.push(planning.compiler(&scope).condition(tree, "JOIN/ON")?);
    }
    let on = match on.len() {
        0 | 1 => on.pop(),
        _ => Some(Expr::And(on)),
    };
    let node = FromNode::Join(Box::new(FromJoin {
        left,
        right,
        kind,
        on,
    }));
    Ok((node, scope))
}

/// Merges two columns of one name. Returns the condition that they are equal, and the merged column.
fn merge(
    planning: &mut Planning<'_>,
    left: &mut Scope,
    right: &mut Scope,
    name: &str,
    kind: JoinKind,
) -> Result<(Expr, ScopeColumn), SqlError> {
    let mut found = Vec::with_capacity(2);
    for (scope, side) in [(&*left, "left"), (&*right, "right")] {
        let column = scope.find(None, name).map_err(|error| match error.code {
            code::UNKNOWN_COLUMN => SqlError::new(
                code::UNKNOWN_COLUMN,
                format!(
                    "column \"{name}\" specified in USING clause does not exist in {side} table"
                ),
            ),
            _ => error,
        })?;
        found.push((
            Typed {
                expr: column.expr(),
                spec: column.spec,
            },
            column.origin,
        ));
    }
    let none = Scope::default();
    let mut compiler = planning.compiler(&none);
    let both: Vec<Typed> = found.iter().map(|(typed, _)| typed.clone()).collect();
    let (mut unified, spec) = compiler.unified(both.clone(), "JOIN/USING")?;
    let [one, other]: [Typed; 2] = match both.try_into() {
        Ok(both) => both,
        Err(_) => return Err(SqlError::unknown_column(name)),
    };
    let sides = compiler.comparable(one, other, "=")?;
    let equal = Expr::Compare(Comparison::Equal, Box::new(sides));
    let (right_expr, left_expr) = (unified.pop(), unified.pop());
    let (Some(left_expr), Some(right_expr)) = (left_expr, right_expr) else {
        return Err(SqlError::unknown_column(name));
    };
    let (expr, origin) = match kind {
        JoinKind::Inner | JoinKind::Left => (left_expr, found[0].1),
        JoinKind::Right => (right_expr, found[1].1),
        JoinKind::Full => (Expr::Coalesce(vec![left_expr, right_expr]), None),
    };
    for scope in [left, right] {
        let columns = scope.tables.iter_mut().flat_map(|table| &mut table.columns);
        columns
            .filter(|column| column.name == name)
            .for_each(|column| column.is_hidden = true);
    }
    let column = ScopeColumn {
        origin,
        merged: Some(expr),
        ..ScopeColumn::new(name, spec, usize::MAX)
    };
    Ok((equal, column))
}

/// One item of `FROM`.
fn factor(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    factor: &TableFactor,
    (start, marks): (usize, bool),
) -> Result<Planned, SqlError> {
    crate::kept::table(factor)?;
    let planned = one(planning, around, factor, (start, marks))?;
    Ok(match marks {
        true => with_presence(planned),
        false => planned,
    })
}

fn one(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    factor: &TableFactor,
    (start, marks): (usize, bool),
) -> Result<Planned, SqlError> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            with_ordinality: false,
            sample: None,
            ..
        } => named_table(planning, name, alias.as_ref(), start),
        TableFactor::Table {
            name,
            alias,
            args: None,
            with_ordinality: false,
            sample: Some(sample),
            ..
        } => sampled_table(planning, (name, sample), alias.as_ref(), start),
        TableFactor::Table {
            name,
            alias,
            args: Some(_),
            with_ordinality,
            ..
        } if qualified(name)?.1 == "pg_partition_ancestors" => {
            no_ancestors(alias.as_ref(), *with_ordinality, start)
        }
        TableFactor::Table {
            name,
            alias,
            args: Some(_),
            with_ordinality: false,
            ..
        } if qualified(name)?.1 == "pg_get_keywords" => keywords(alias.as_ref(), start),
        TableFactor::Table {
            name,
            alias,
            args: Some(arguments),
            with_ordinality,
            ..
        } => called(
            planning,
            around,
            (name, &arguments.args),
            (alias.as_ref(), *with_ordinality),
            start,
        ),
        // The parser represents this function separately.
        TableFactor::UNNEST {
            alias,
            array_exprs,
            with_offset: false,
            with_ordinality,
            ..
        } => unnest(
            planning,
            around,
            array_exprs,
            (alias.as_ref(), *with_ordinality),
            start,
        ),
        TableFactor::Function {
            name,
            alias,
            args,
            with_ordinality,
            ..
        } => called(
            planning,
            around,
            (name, args),
            (alias.as_ref(), *with_ordinality),
            start,
        ),
        TableFactor::Derived {
            lateral,
            subquery,
            alias,
            sample: None,
        } => match lateral {
            false => derived(planning, subquery, alias.as_ref(), start),
            true => lateral_query(planning, around, subquery, alias.as_ref(), start),
        },
        TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } => {
            planning.enter()?;
            let nested = with_joins(planning, around, table_with_joins, (start, marks));
            planning.leave();
            nested
        }
        _ => Err(SqlError::unsupported(
            "this is not supported in FROM: only tables, queries, joins and functions",
        )),
    }
}

/// The rows of a query in `FROM`, with their columns.
pub(super) fn derived_from(
    planning: &mut Planning<'_>,
    mut draft: Draft,
) -> Result<(FromTable, Vec<(String, TypeSpec)>), SqlError> {
    draft.decide(planning)?;
    let columns = columns_of(&draft);
    Ok((FromTable::Derived(Box::new(draft)), columns))
}

fn columns_of(draft: &Draft) -> Vec<(String, TypeSpec)> {
    let items = draft.items.iter();
    let columns = items.map(|item| (item.name.clone(), item.typed.spec));
    columns.collect()
}

/// Checks that a query in `FROM` has a name. Earlier versions needed none.
///
/// # Errors
/// `42601` without one.
fn check_alias(
    planning: &Planning<'_>,
    query: &Query,
    alias: Option<&TableAlias>,
) -> Result<(), SqlError> {
    if alias.is_some() || planning.parameters.is_kept() {
        return Ok(());
    }
    let (what, example) = match &*query.body {
        SetExpr::Values(_) => ("VALUES", "VALUES ..."),
        _ => ("subquery", "SELECT ..."),
    };
    let error = SqlError::syntax(format!("{what} in FROM must have an alias"));
    Err(error.hint(format!("For example, FROM ({example}) [AS] foo.")))
}

fn derived(
    planning: &mut Planning<'_>,
    query: &Query,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    check_alias(planning, query, alias)?;
    let draft = draft_query(planning, query)?;
    let (table, columns) = derived_from(planning, draft)?;
    let name = alias.map_or_else(String::new, |alias| name_of(&alias.name));
    let of = scope_of_columns(&name, columns);
    let places = start..start + of.columns.len();
    Ok((FromNode::Leaf(table, places), placed(of, alias, start)?))
}

fn lateral_query(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    query: &Query,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    check_alias(planning, query, alias)?;
    let visible = together(around);
    let (mut draft, asked) =
        planning.inside(Arc::new(visible), |planning| draft_query(planning, query))?;
    draft.decide(planning)?;
    let here = planning.queries.around.outer.len();
    if asked
        .iter()
        .any(|column| column.level == here && column.aggregate.is_some())
    {
        return Err(SqlError::new(
            code::GROUPING,
            "aggregate functions are not allowed in FROM clause of their own query level",
        ));
    }
    let arguments = asked.into_iter().map(|column| match column.level == here {
        true => column.expr,
        false => planning.queries.around.ask(column),
    });
    let arguments: Vec<Expr> = arguments.collect();
    let name = alias.map_or_else(String::new, |alias| name_of(&alias.name));
    let of = scope_of_columns(&name, columns_of(&draft));
    let places = start..start + of.columns.len();
    let node = FromNode::Leaf(FromTable::Lateral(Box::new(draft), arguments), places);
    Ok((node, placed(of, alias, start)?))
}
