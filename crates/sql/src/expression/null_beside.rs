//! Strict operations that are null before a part of them is computed.
//!
//! PostgreSQL computes constants when it plans. A strict function, or an operator, of a constant null becomes null then: its
//! other arguments are never computed, so their errors do not arise. Here an error looks for such a null afterwards, and a
//! statement without errors pays nothing.
//!
//! Source: PostgreSQL 15, `evaluate_function` and `eval_const_expressions_mutator` in `clauses.c`.

use super::cast::{crosses_zone, reads_dates, writes_intervals};
use super::{Datum, Environment, Expr};
use crate::error::{SqlError, code};
use sardonyx::schema::Value;
use std::cell::Cell;

/// The most parts of an operand that failed. A larger one keeps its error: each constant part of it is computed again.
const PARTS_MAX: usize = 64;

/// Null in place of the error of an operand, if another one of the operation is a constant null.
///
/// # Errors
/// The error, if it arises where PostgreSQL computes constants, too, or if no operand is such a null.
#[cold]
pub(super) fn null_beside<'e>(
    error: SqlError,
    failed: &Expr,
    mut operands: impl Iterator<Item = &'e Expr>,
    with: &Environment<'_>,
) -> Result<Datum<'static>, SqlError> {
    let is_of_values = error.code.starts_with("22")
        || [code::FEATURE_NOT_SUPPORTED, code::CARDINALITY_VIOLATION].contains(&error.code);
    if !is_of_values || is_computed_once(failed) {
        return Err(error);
    }
    let is_null = |operand: &Expr| {
        is_computed_once(operand) && matches!(operand.constant(with), Ok(Value::Null))
    };
    match operands.any(is_null) && !has_wrong_constant(failed, with) {
        true => Ok(Datum::NULL),
        false => Err(error),
    }
}

/// True if PostgreSQL computes an expression when it plans.
fn is_computed_once(expr: &Expr) -> bool {
    !expr.any(&|part| match part {
        Expr::Column(_) | Expr::Outer(_) | Expr::Before(_) | Expr::Subquery(_) => true,
        Expr::Call(function, _) => !function.is_immutable() || function.gives_rows(),
        Expr::Cast(_, from, to, _) => {
            crosses_zone(*from, to.kind)
                || reads_dates(*from, to.kind)
                || writes_intervals(*from, to.kind)
        }
        _ => false,
    })
}

/// True if a part of an expression is a constant that cannot be computed, or if there are too many parts to know it.
fn has_wrong_constant(expr: &Expr, with: &Environment<'_>) -> bool {
    let count = Cell::new(0);
    expr.any(&|part| {
        count.set(count.get() + 1);
        let is_wrong = || is_computed_once(part) && part.constant(with).is_err();
        count.get() > PARTS_MAX || is_wrong()
    })
}
