//! `UNION`, `INTERSECT` and `EXCEPT`, compiled and run: the rows of queries are combined in the order of the text. A
//! chain of any length is a list, so it adds no nesting.
//!
//! Source: SQL:2016, part 2, 7.17. Nulls are equal here, as in `DISTINCT`.

use super::draft::{Draft, FromTable, SetsDraft};
use super::planning::Planning;
use super::query::draft_body;
use super::tail::Tail;
use super::tree::{Operator, SelectPlan, SetOperation, SetOperations};
use crate::error::SqlError;
use crate::expression::{Environment, Expr, Scope, Typed};
use crate::memory::Memory;
use crate::rows::{EachRow, Values};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::Coercion;
use crate::values::equality_keys::key_of;
use crate::values::order_keys::{check_comparable, has_order_key, order_key_of};
use sardonyx::schema::Value;
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier};
use std::collections::{HashMap, HashSet};

impl SetsDraft {
    /// True if rows are only concatenated.
    pub fn is_append(&self) -> bool {
        self.rest.iter().all(|(operation, _)| operation.is_append())
    }

    /// Chooses the access paths.
    pub fn finish(self) -> SetOperations {
        let rest = self.rest.into_iter();
        SetOperations {
            first: self.first.finish(),
            own_keys: self.own_keys,
            rest: rest.map(|(of, draft)| (of, draft.finish())).collect(),
        }
    }
}

/// Drafts a chain of set operations.
///
/// # Errors
/// Invalid SQL in the queries; `42601` if they have different numbers of columns, `42804` if their types do not match.
pub(crate) fn draft_sets(planning: &mut Planning<'_>, body: &SetExpr) -> Result<Draft, SqlError> {
    let before = planning.queries.subqueries;
    let mut chain = Vec::new();
    let mut rest = body;
    while let SetExpr::SetOperation {
        left,
        op,
        set_quantifier,
        right,
    } = rest
    {
        chain.push((operation(*op, *set_quantifier)?, &**right));
        rest = left;
    }
    let is_kept = planning.parameters.is_kept();
    let mut drafts = vec![draft_branch(planning, rest)?];
    let mut operations: Vec<SetOperation> = Vec::with_capacity(chain.len());
    for (operation, branch) in chain.into_iter().rev() {
        let draft = draft_branch(planning, branch)?;
        operation.check_width(&drafts[0], &draft)?;
        drafts.push(draft);
        operations.push(operation);
        if !is_kept {
            // As PostgreSQL, which knows the types of two queries before it reads the next one.
            unify(planning, &mut drafts, operation)?;
        }
    }
    if is_kept {
        unify_kept(planning, &mut drafts, &operations)?;
    }
    let columns = drafts[0].items.iter();
    let columns = columns.map(|item| (item.name.clone(), item.typed.spec));
    let columns: Vec<(String, TypeSpec)> = columns.collect();
    let own_keys = own_keys(columns.iter().map(|(_, spec)| *spec));
    if !operations.iter().all(|operation| operation.is_append()) {
        let mut specs = columns.iter().map(|(_, spec)| spec);
        specs.try_for_each(|spec| check_comparable(spec.kind, "equality"))?;
    }
    let mut drafts = drafts.into_iter();
    let Some(first) = drafts.next() else {
        return Err(SqlError::syntax("a query is expected"));
    };
    let sets = SetsDraft {
        first,
        own_keys,
        rest: operations.into_iter().zip(drafts).collect(),
    };
    let mut draft = Draft::of_rows(FromTable::Sets(Box::new(sets)), "*SELECT*", columns);
    draft.has_subqueries = planning.queries.subqueries > before;
    Ok(draft)
}

/// Gives the columns of the last query, and of those before it, one type each. Those before it have one.
///
/// # Errors
/// `42804` if the types do not match, `42846` if one is not cast to the other by itself; an error in a literal's text; `42883` for a
/// type without equality.
fn unify(
    planning: &mut Planning<'_>,
    drafts: &mut [Draft],
    operation: SetOperation,
) -> Result<(), SqlError> {
    let scope = Scope::default();
    let Some((last, before)) = drafts.split_last_mut() else {
        return Ok(());
    };
    for place in 0..last.items.len() {
        let mut compiler = planning.compiler(&scope);
        let own = &mut last.items[place].typed;
        let first = before[0].items[place].typed.clone();
        let pair = vec![first.clone(), own.clone()];
        let (mut expressions, spec) = compiler.unified(pair, operation.operator.word())?;
        own.expr = expressions.pop().unwrap_or(Expr::Literal(Value::Null));
        own.spec = spec;
        if first.spec != spec {
            for draft in before.iter_mut() {
                let typed = &mut draft.items[place].typed;
                typed.expr = compiler.coerce(typed.clone(), spec, Coercion::Implicit)?;
                typed.spec = spec;
            }
        }
        if !operation.is_append() {
            check_comparable(spec.kind, "equality")?;
        }
    }
    Ok(())
}

/// The same for the queries of a kept text. In earlier versions all queries together decided, so they do if two of them have
/// no common type.
///
/// # Errors
/// As [`unify`].
fn unify_kept(
    planning: &mut Planning<'_>,
    drafts: &mut [Draft],
    operations: &[SetOperation],
) -> Result<(), SqlError> {
    let columns = |draft: &Draft| -> Vec<Typed> {
        draft.items.iter().map(|item| item.typed.clone()).collect()
    };
    let before: Vec<Vec<Typed>> = drafts.iter().map(columns).collect();
    let mut numbered = operations.iter().enumerate();
    let unified = numbered.try_for_each(|(at, operation)| {
        let so_far = drafts.get_mut(..at + 2).unwrap_or_default();
        unify(planning, so_far, *operation)
    });
    let (Err(_), Some(last)) = (&unified, operations.last()) else {
        return unified;
    };
    for (draft, columns) in drafts.iter_mut().zip(before) {
        for (item, typed) in draft.items.iter_mut().zip(columns) {
            item.typed = typed;
        }
    }
    unify_all(planning, drafts, last.operator.word())
}

/// Gives the columns of all queries one type each.
///
/// # Errors
/// As [`unify`].
fn unify_all(
    planning: &mut Planning<'_>,
    drafts: &mut [Draft],
    word: &str,
) -> Result<(), SqlError> {
    let scope = Scope::default();
    for place in 0..drafts[0].items.len() {
        let mut compiler = planning.compiler(&scope);
        let typed = drafts.iter().map(|draft| draft.items[place].typed.clone());
        let (expressions, spec) = compiler.unified(typed.collect(), word)?;
        for (draft, expr) in drafts.iter_mut().zip(expressions) {
            let typed = &mut draft.items[place].typed;
            (typed.expr, typed.spec) = (expr, spec);
        }
    }
    Ok(())
}

impl Operator {
    fn word(self) -> &'static str {
        match self {
            Operator::Union => "UNION",
            Operator::Intersect => "INTERSECT",
            Operator::Except => "EXCEPT",
        }
    }
}

/// Drafts one of the queries. Its `ORDER BY` and `DISTINCT` apply before its columns are converted to common types.
pub(super) fn draft_branch(planning: &mut Planning<'_>, body: &SetExpr) -> Result<Draft, SqlError> {
    planning.enter()?;
    let mut draft = draft_body(planning, body, &Tail::default())?;
    planning.leave();
    if draft.is_distinct || !draft.distinct_on.is_empty() {
        draft.decide(planning)?;
        draft = super::query::around(draft);
    }
    Ok(draft)
}

fn operation(operator: SetOperator, quantifier: SetQuantifier) -> Result<SetOperation, SqlError> {
    let is_all = match quantifier {
        SetQuantifier::All => true,
        SetQuantifier::Distinct | SetQuantifier::None => false,
        _ => {
            return Err(SqlError::unsupported(
                "set operations by name are not supported",
            ));
        }
    };
    let operator = match operator {
        SetOperator::Union => Operator::Union,
        SetOperator::Intersect => Operator::Intersect,
        SetOperator::Except | SetOperator::Minus => Operator::Except,
    };
    Ok(SetOperation { operator, is_all })
}

/// Rows, each with its key for comparisons.
type Keyed = Vec<(Vec<u8>, Vec<Value>)>;

impl SetOperations {
    /// True if rows are only concatenated.
    pub fn is_append(&self) -> bool {
        self.rest.iter().all(|(operation, _)| operation.is_append())
    }

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
        if self.is_append() {
            let plans = [&self.first].into_iter();
            let mut more = true;
            for plan in plans.chain(self.rest.iter().map(|(_, plan)| plan)) {
                plan.rows(source, with, u64::MAX, &mut |row| {
                    more = each(&Values(row))?;
                    Ok(more)
                })?;
                if !more {
                    break;
                }
            }
            return Ok(());
        }
        let mut memory = with.memory();
        let mut rows = self.keyed(&self.first, source, with, &mut memory)?;
        for (operation, plan) in &self.rest {
            let others = self.keyed(plan, source, with, &mut memory)?;
            rows = operation.together(rows, others);
        }
        for (_, row) in &rows {
            if !each(&Values(row))? {
                break;
            }
        }
        Ok(())
    }

    fn keyed(
        &self,
        plan: &SelectPlan,
        source: &dyn Source,
        with: &Environment<'_>,
        memory: &mut Memory<'_>,
    ) -> Result<Keyed, SqlError> {
        let mut rows = Keyed::new();
        plan.rows(source, with, u64::MAX, &mut |row| {
            let key = key_of_row(row, &self.own_keys)?;
            memory.take(row)?;
            memory.take_bytes(key.len() + 2 * size_of::<Vec<u8>>())?;
            rows.push((key, std::mem::take(row)));
            Ok(true)
        })?;
        Ok(rows)
    }
}

/// The columns whose values are compared by keys of their own, with their types.
pub(super) fn own_keys(columns: impl Iterator<Item = TypeSpec>) -> Vec<(usize, SqlType)> {
    let columns = columns.enumerate();
    let own = columns.filter(|(_, spec)| has_order_key(spec.kind, spec.length().is_some()));
    own.map(|(place, spec)| (place, spec.kind)).collect()
}

/// The bytes that distinguish a row from others.
///
/// # Errors
/// `22P02` if a value is not valid for its type.
pub(super) fn key_of_row(
    row: &[Value],
    own_keys: &[(usize, SqlType)],
) -> Result<Vec<u8>, SqlError> {
    let mut key = Vec::new();
    for (place, value) in row.iter().enumerate() {
        let own = own_keys.iter().find(|(of, _)| *of == place);
        let own = own.map(|(_, kind)| order_key_of(*kind, value.as_ref()));
        match own.transpose()?.flatten() {
            Some(own) => key_of(own.as_ref(), &mut key),
            None => key_of(value.as_ref(), &mut key),
        }
    }
    Ok(key)
}

impl SetOperation {
    /// Checks that two queries have as many columns.
    ///
    /// # Errors
    /// `42601` if they have not.
    fn check_width(self, one: &Draft, other: &Draft) -> Result<(), SqlError> {
        match one.items.len() == other.items.len() {
            true => Ok(()),
            false => Err(SqlError::syntax(format!(
                "each {} query must have the same number of columns",
                self.operator.word()
            ))),
        }
    }

    fn is_append(self) -> bool {
        self.operator == Operator::Union && self.is_all
    }

    fn together(self, mut rows: Keyed, mut others: Keyed) -> Keyed {
        if self.operator == Operator::Union {
            rows.append(&mut others);
        } else {
            let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
            for (key, _) in others {
                *counts.entry(key).or_default() += 1;
            }
            let is_kept_where_found = self.operator == Operator::Intersect;
            rows.retain(|(key, _)| match counts.get_mut(key) {
                Some(count) if self.is_all && *count > 0 => {
                    // Each row removes one equal row of the other side.
                    *count -= 1;
                    is_kept_where_found
                }
                Some(0) | None => !is_kept_where_found,
                Some(_) => is_kept_where_found,
            });
        }
        if !self.is_all {
            let mut seen = HashSet::new();
            rows.retain(|(key, _)| seen.insert(key.clone()));
        }
        rows
    }
}
