//! The order in which the parts of a condition are tested: by their costs, and those of equal costs as they are written. A
//! part may fail for rows that another one excludes, so the order decides between an answer and an error.
//!
//! Source: PostgreSQL 15, `order_qual_clauses` and `cost_qual_eval_walker`. Its equivalence classes give equations back
//! behind the other parts.

use super::choice::{all_of, parts_of};
use super::routine::Routine;
use crate::expression::{Comparison, Expr, Question};
use sardonyx::schema::{Schema, Value};

/// The cost of an operator. PostgreSQL counts half of one for each item of a list.
pub(super) const OPERATOR: usize = 2;
/// The cost of a subquery that runs for each row.
const SUBQUERY: usize = 1 << 20;
/// The cost of a function of a user.
const ROUTINE: usize = 100 * OPERATOR;
/// Longer lists have a set: the cost of a search in it.
const LIST_MAX: usize = 8;
const SEARCH: usize = 2 * OPERATOR;

/// The conjunction of some parts in the order in which they are tested.
pub(super) fn tested(mut parts: Vec<Expr>) -> Option<Expr> {
    if parts.len() > 1 {
        parts.sort_by_cached_key(|part| place_of(part, cost_of(part)));
    }
    all_of(parts)
}

/// The same for a condition on the rows of a table: a whole number is cast beside a `numeric`.
pub(super) fn tested_in(schema: &Schema, mut parts: Vec<Expr>) -> Option<Expr> {
    let is_whole = |side: &Expr| match side {
        Expr::Column(number) => {
            let mut column = schema.columns.get(*number).into_iter();
            column.any(|column| column.kind.integer_range().is_some())
        }
        _ => false,
    };
    let is_decimal = |side: &Expr| matches!(side, Expr::Literal(Value::Decimal(..)));
    let cast = |part: &Expr| match part {
        Expr::Compare(_, sides)
            if is_whole(&sides.0) && is_decimal(&sides.1)
                || is_decimal(&sides.0) && is_whole(&sides.1) =>
        {
            OPERATOR
        }
        _ => 0,
    };
    if parts.len() > 1 {
        parts.sort_by_cached_key(|part| place_of(part, cost_of(part) + cast(part)));
    }
    all_of(parts)
}

/// The place of a part among others. Parts that are the same for all rows are computed before there are rows.
fn place_of(part: &Expr, cost: usize) -> (bool, usize, bool) {
    match part.is_constant() && !part.is_volatile() {
        true => (false, 0, false),
        false => (true, cost, is_equation(part)),
    }
}

/// A condition whose parts are in the order in which they are tested.
pub(super) fn in_order(condition: Option<Expr>) -> Option<Expr> {
    match condition {
        Some(Expr::And(_)) => tested(parts_of(condition)),
        condition => condition,
    }
}

fn is_equation(part: &Expr) -> bool {
    matches!(part, Expr::Compare(Comparison::Equal, _)) && !part.is_volatile()
}

/// The cost of a part for each row, as PostgreSQL counts it, or less.
pub(super) fn cost_of(part: &Expr) -> usize {
    let mut cost = 0_usize;
    part.walk(&mut |part| {
        cost += match part {
            Expr::In(_, list) => match list.count() {
                Some(count) if count > LIST_MAX => SEARCH,
                Some(count) => count,
                None => 1,
            },
            Expr::Subquery(of) if Routine::of(of).is_some() => ROUTINE,
            Expr::Subquery(of) if !of.arguments.iter().all(Expr::is_constant) => SUBQUERY,
            // It runs once. Then each row is compared with its values.
            Expr::Subquery(of) => match &of.question {
                Question::Compared(compared) => OPERATOR * compared.left.len(),
                _ => 0,
            },
            Expr::Each(_) => 1,
            Expr::Cast(_, from, to, _) => match (from.is_text(), to.kind.is_text()) {
                (true, true) => 0,
                // The function that writes one type, and the one that reads the other.
                (true, false) | (false, true) => 2 * OPERATOR,
                (false, false) => OPERATOR,
            },
            Expr::Compare(..)
            | Expr::Distinct(..)
            | Expr::Like(_)
            | Expr::Arithmetic(..)
            | Expr::Negate(..)
            | Expr::Shift(..)
            | Expr::Call(..) => OPERATOR,
            _ => 0,
        };
    });
    cost
}
