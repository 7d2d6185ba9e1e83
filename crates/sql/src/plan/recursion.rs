//! `WITH RECURSIVE`: the rows of a first query, then the rows of a step. Under the query's own name, the step reads the
//! previous round's rows. Rounds repeat until one has no rows.
//!
//! The query is planned at each place that names it, and returns rows as they are found. So `LIMIT` ends an endless
//! recursion. The rows of a round are kept for the next one, and without `ALL` also the keys of all rows, within the
//! statement's memory limit.
//!
//! Source: SQL:2016, part 2, 7.17 (recursive query expressions), linear recursion only; PostgreSQL's documentation,
//! 7.8.2.

use super::draft::{Draft, FromTable, LastRound, NamedKind, NamedQuery};
use super::planning::Planning;
use super::query::with_named;
use super::searching::is_hidden;
use super::set_operation::{draft_branch, key_of_row, own_keys};
use super::tree::Recursion;
use crate::error::{SqlError, code};
use crate::expression::{Environment, Scope};
use crate::names::name_of;
use crate::rows::{EachRow, Table, Values};
use crate::source::Source;
use crate::types::TypeSpec;
use crate::values::order_keys::check_comparable;
use sqlparser::ast::{Cte, Query, SetExpr, SetOperator, SetQuantifier};
use std::collections::HashSet;
use std::sync::Arc;

impl LastRound {
    /// Checks that the step may name the query here: nothing may be kept from one round to the next.
    ///
    /// # Errors
    /// `42P19` in a query whose rows are kept.
    pub fn check(&self, name: &str, planning: &Planning<'_>) -> Result<(), SqlError> {
        let queries = &planning.queries;
        match queries.naming == self.naming && queries.around.outer.len() == self.outer {
            true => Ok(()),
            false => Err(wrong(format!(
                "recursive reference to query \"{name}\" must not appear within a subquery"
            ))),
        }
    }
}

fn wrong(text: String) -> SqlError {
    SqlError::new(code::INVALID_RECURSION, text)
}

/// Drafts a query of `WITH RECURSIVE`; `None` if it does not name itself.
///
/// # Errors
/// Invalid SQL; `42P19` for an invalid recursion, `42804` if the step's rows have other types.
pub(crate) fn draft_recursion(
    planning: &mut Planning<'_>,
    named: &Cte,
) -> Result<Option<Draft>, SqlError> {
    let query = &named.query;
    let SetExpr::SetOperation {
        left,
        op: SetOperator::Union,
        set_quantifier,
        right,
    } = &*query.body
    else {
        return Ok(None);
    };
    let is_all = match set_quantifier {
        SetQuantifier::All => true,
        SetQuantifier::Distinct | SetQuantifier::None => false,
        _ => return Ok(None),
    };
    with_named(planning, query.with.as_ref(), |planning| {
        draft_rounds(planning, named, left, right, is_all)
    })
}

fn draft_rounds(
    planning: &mut Planning<'_>,
    named: &Cte,
    first: &SetExpr,
    step: &SetExpr,
    is_all: bool,
) -> Result<Option<Draft>, SqlError> {
    let name = name_of(&named.alias.name);
    let before = planning.queries.subqueries;
    let mut first = draft_branch(planning, first)?;
    first.decide(planning)?;
    let columns = first.items.iter();
    let columns: Vec<_> = columns
        .map(|item| (item.name.clone(), item.typed.spec))
        .collect();
    if !is_all {
        let mut specs = columns.iter().map(|(_, spec): &(String, TypeSpec)| spec);
        specs.try_for_each(|spec| check_comparable(spec.kind, "equality"))?;
    }
    let number = planning.queries.next_number();
    let queries = &mut planning.queries;
    let place = queries.named.len();
    let last = LastRound {
        number,
        columns: columns.clone(),
        naming: queries.naming,
        outer: queries.around.outer.len(),
    };
    queries.named.push(Arc::new(NamedQuery {
        name: name.clone(),
        alias: named.alias.clone(),
        kind: NamedKind::LastRound(last),
        named: place,
        outer: queries.around.outer.len(),
    }));
    let asked = std::mem::take(&mut queries.last_rounds);
    let drafted = draft_branch(planning, step);
    let queries = &mut planning.queries;
    queries.named.truncate(place);
    let times = queries.last_rounds.iter().filter(|of| **of == number);
    let times = times.count();
    let inner = std::mem::replace(&mut queries.last_rounds, asked);
    queries
        .last_rounds
        .extend(inner.into_iter().filter(|of| *of != number));
    let mut step = drafted?;
    step.decide(planning)?;
    match times {
        0 => return Ok(None),
        1 => check_recursion(&name, named, &step)?,
        _ => {
            return Err(wrong(format!(
                "recursive reference to query \"{name}\" must not appear more than once"
            )));
        }
    }
    let first = typed_as_first(planning, &name, first, &mut step)?;
    let recursion = Recursion {
        number,
        first: first.finish(),
        step: step.finish(),
        own_keys: own_keys(columns.iter().map(|(_, spec)| *spec)),
        is_all,
    };
    let table = FromTable::Recursion(Box::new(recursion));
    let mut draft = Draft::of_rows(table, &name, columns);
    draft.items.retain(|item| !is_hidden(&item.name));
    draft.has_subqueries = planning.queries.subqueries > before;
    Ok(Some(draft))
}

/// Checks a recursive query and its step for clauses that are not allowed.
fn check_recursion(name: &str, named: &Cte, step: &Draft) -> Result<(), SqlError> {
    if step.grouping.is_some() {
        return Err(wrong(
            "aggregate functions are not allowed in a recursive query's recursive term".into(),
        ));
    }
    let Query {
        order_by,
        limit_clause,
        fetch,
        ..
    } = &*named.query;
    if order_by.is_some() || limit_clause.is_some() || fetch.is_some() {
        return Err(SqlError::unsupported(format!(
            "ORDER BY, LIMIT and OFFSET in the recursive query \"{name}\" are not supported"
        ))
        .hint("Say them where the query is read."));
    }
    Ok(())
}

/// Converts the columns of the step to the types of the first query's columns.
fn typed_as_first(
    planning: &mut Planning<'_>,
    name: &str,
    mut first: Draft,
    step: &mut Draft,
) -> Result<Draft, SqlError> {
    if first.items.len() != step.items.len() {
        return Err(SqlError::syntax(
            "each UNION query must have the same number of columns",
        ));
    }
    let scope = Scope::default();
    let mut compiler = planning.compiler(&scope);
    let items = first.items.iter_mut().zip(&mut step.items);
    for (at, (first, step)) in items.enumerate() {
        let kind = first.typed.kind();
        let both = vec![first.typed.clone(), step.typed.clone()];
        let (mut expressions, spec) = compiler.unified(both, "UNION")?;
        if spec.kind != kind {
            return Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!(
                    "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                    at + 1,
                    kind.name(),
                    spec.kind.name()
                ),
            )
            .hint("Cast the output of the non-recursive term to the correct type."));
        }
        if let (Some(of_step), Some(of_first)) = (expressions.pop(), expressions.pop()) {
            step.typed.expr = of_step;
            first.typed.expr = of_first;
        }
    }
    Ok(first)
}

impl Recursion {
    /// Calls `each` with the rows.
    ///
    /// # Errors
    /// Errors of `each`; read and evaluation errors; `53200` if rows take too much memory.
    pub fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let kept = with.reading.map(|reading| reading.kept).ok_or_else(|| {
            SqlError::unsupported("a query that WITH RECURSIVE names is not supported here")
        })?;
        let mut seen = HashSet::new();
        let mut keys = with.memory();
        let mut plan = &self.first;
        // Counts the memory of the rows that the step reads.
        let mut _before;
        let mut more = true;
        loop {
            let mut found = Table {
                width: plan.output.width(),
                ..Table::default()
            };
            let mut memory = with.memory();
            plan.rows(source, with, u64::MAX, &mut |row| {
                if !self.is_all {
                    let key = key_of_row(row, &self.own_keys)?;
                    if seen.contains(&key) {
                        return Ok(true);
                    }
                    keys.take_bytes(key.len() + size_of::<Vec<u8>>())?;
                    seen.insert(key);
                }
                memory.take(row)?;
                more = each(&Values(row))?;
                found.values.append(row);
                found.rows += 1;
                Ok(more)
            })?;
            if !more || found.rows == 0 {
                break;
            }
            kept.set_last_round(self.number, found);
            _before = memory;
            plan = &self.step;
        }
        kept.end_rounds(self.number);
        Ok(())
    }
}
