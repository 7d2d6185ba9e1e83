//! `UNION`, `INTERSECT` and `EXCEPT`, compiled and run: the rows of queries are combined in the order of the text. A
//! chain of any length is a list, so it adds no nesting.
//!
//! Source: SQL:2016, part 2, 7.17. Nulls are equal here, as in `DISTINCT`.

use super::draft::{Draft, FromTable, SetsDraft};
use super::planning::Planning;
use super::query::draft_body;
use super::tail::Tail;
use super::tree::{Operator, SelectPlan, SetOperation, SetOperations};
use crate::aggregate::key_of;
use crate::error::SqlError;
use crate::expression::{Environment, Scope, Typed};
use crate::memory::Memory;
use crate::rows::{EachRow, Values};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
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
    let mut drafts = vec![draft_branch(planning, rest)?];
    let mut operations = Vec::with_capacity(chain.len());
    for (operation, branch) in chain.into_iter().rev() {
        drafts.push(draft_branch(planning, branch)?);
        operations.push(operation);
    }
    let width = drafts[0].items.len();
    if let Some(at) = drafts.iter().position(|draft| draft.items.len() != width) {
        let word = match operations[at - 1].operator {
            Operator::Union => "UNION",
            Operator::Intersect => "INTERSECT",
            Operator::Except => "EXCEPT",
        };
        return Err(SqlError::syntax(format!(
            "each {word} query must have the same number of columns"
        )));
    }
    let scope = Scope::default();
    let mut columns = Vec::with_capacity(width);
    for place in 0..width {
        let mut compiler = planning.compiler(&scope);
        let typed = drafts.iter().map(|draft| draft.items[place].typed.clone());
        let mut typed: Vec<Typed> = typed.collect();
        let are_unknown = typed
            .iter()
            .take(2)
            .all(|one| one.kind() == SqlType::Unknown);
        if typed.len() > 2 && are_unknown && !compiler.parameters.is_kept() {
            // The first two decide on a type for both, whatever follows.
            for one in typed.iter_mut().take(2) {
                *one = compiler.as_decided(one.clone())?;
            }
        }
        let (expressions, spec) = compiler.unified(typed, "UNION")?;
        for (draft, expr) in drafts.iter_mut().zip(expressions) {
            let item = &mut draft.items[place];
            item.typed.expr = expr;
            item.typed.spec = spec;
        }
        columns.push((drafts[0].items[place].name.clone(), spec));
    }
    let kinds = columns.iter().map(|(_, spec): &(String, TypeSpec)| *spec);
    let own_keys = own_keys(kinds);
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
