//! Expressions by which values are compared and sorted. Types whose stored values do not compare as SQL does have keys.
//!
//! [`crate::values::order_keys`] computes the same keys of values.

use super::functions::{
    COLLATION_KEY, COLLATION_ORDER, HSTORE_KEY, JSON_KEY, KEY, LENGTH, ROW_KEY, ROW_ORDER, TRIMMED,
    VECTOR_KEY,
};
use super::{Expr, Function, Typed};
use crate::error::SqlError;
use crate::types::{NamedCollation, SqlType, TypeSpec};
use crate::values::order_keys::check_comparable;
use sardonyx::schema::Value;

/// A value whose order and equality are those of its type. Of an array, a `jsonb` and an `hstore` it is bytes, of an
/// interval its length. Of a `character` it is the text without its blanks, of a text with a collation of ICU its key.
pub(crate) fn ordered(typed: Typed) -> Expr {
    let collation = typed.spec.collation.name();
    match collation.is_of_icu() && typed.kind().is_text() {
        true => collated(by_value(typed), collation),
        false => by_value(typed),
    }
}

/// The key by which a text is ordered in a collation of ICU.
pub(super) fn collated(expr: Expr, collation: NamedCollation) -> Expr {
    Expr::Call(Function(&COLLATION_KEY), vec![expr, number_of(collation)])
}

/// The number of a collation, an argument of functions with a language's rules.
pub(super) fn number_of(collation: NamedCollation) -> Expr {
    Expr::Literal(Value::Int(collation.number().into()))
}

/// A single comparison of two texts reads them as far as they are equal. Their keys would be computed whole. That of two
/// records refuses other types of fields, which keys do not tell.
pub(super) fn by_order((left, right): (Expr, Expr)) -> (Expr, Expr) {
    let is_key = |function: &Function| *function == Function(&COLLATION_KEY);
    let is_row = |function: &Function| *function == Function(&ROW_KEY);
    match (left, right) {
        (Expr::Call(one, mut left), Expr::Call(other, right)) if is_row(&one) && is_row(&other) => {
            left.extend(right);
            let order = Expr::Call(Function(&ROW_ORDER), left);
            (order, Expr::Literal(Value::Int(0)))
        }
        (Expr::Call(one, mut left), Expr::Call(other, right)) if is_key(&one) && is_key(&other) => {
            // Both are a text and the number of the collation.
            left.truncate(1);
            left.extend(right);
            let order = Expr::Call(Function(&COLLATION_ORDER), left);
            (order, Expr::Literal(Value::Int(0)))
        }
        sides => sides,
    }
}

/// A row of a composite type as a record; others unchanged.
pub(super) fn as_record(typed: Typed) -> Typed {
    match typed.kind() {
        kind @ SqlType::Composite(_) => {
            let to = TypeSpec::plain(SqlType::Record);
            let record = Expr::Cast(Box::new(typed.expr), kind, to, true);
            Typed::new(record, SqlType::Record)
        }
        _ => typed,
    }
}

fn by_value(typed: Typed) -> Expr {
    if let Some(element) = typed.kind().element() {
        let kind = Expr::Literal(Value::Int(element.number().into()));
        return Expr::Call(Function(&KEY), vec![typed.expr, kind]);
    }
    match typed.kind() {
        SqlType::Interval => return Expr::Call(Function(&LENGTH), vec![typed.expr]),
        SqlType::Tsvector => return Expr::Call(Function(&VECTOR_KEY), vec![typed.expr]),
        SqlType::Hstore => return Expr::Call(Function(&HSTORE_KEY), vec![typed.expr]),
        SqlType::Jsonb => return Expr::Call(Function(&JSON_KEY), vec![typed.expr]),
        SqlType::Record => return Expr::Call(Function(&ROW_KEY), vec![typed.expr]),
        SqlType::Composite(_) => {
            return Expr::Call(Function(&ROW_KEY), vec![as_record(typed).expr]);
        }
        _ => {}
    }
    match (typed.kind(), typed.spec.length(), typed.expr) {
        (SqlType::Char, None, Expr::Literal(Value::Text(text))) => {
            Expr::Literal(Value::Text(text.trim_end_matches(' ').to_string()))
        }
        (SqlType::Char, None, Expr::Literal(value)) => Expr::Literal(value),
        (SqlType::Char, None, expr) => Expr::Call(Function(&TRIMMED), vec![expr]),
        (_, _, expr) => expr,
    }
}

/// [`ordered`] for a sort of rows.
///
/// # Errors
/// `42883` for a type without an order.
pub(crate) fn sortable(typed: Typed) -> Result<Expr, SqlError> {
    check_comparable(typed.kind(), "ordering")?;
    let collation = typed.spec.collation.icu()?;
    match collation.filter(|_| typed.kind().element().is_some()) {
        Some(name) => Err(name.unknown_to("arrays")),
        None => Ok(ordered(typed)),
    }
}

/// [`ordered`] for the comparison of rows by equality.
///
/// # Errors
/// `42883` for a type whose values cannot be.
pub(crate) fn distinguishable(typed: Typed) -> Result<Expr, SqlError> {
    check_comparable(typed.kind(), "equality")?;
    Ok(ordered(typed))
}
