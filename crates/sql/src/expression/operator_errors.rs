//! The errors of operators: of those that no type has, and of those that several types have.

use crate::error::{SqlError, code};
use crate::types::SqlType;
use sqlparser::ast::{BinaryOperator, UnaryOperator};

/// That operators of several types take an untyped text.
#[cold]
pub(super) fn ambiguous_prefix_operator(operator: UnaryOperator) -> SqlError {
    let text = format!("operator is not unique: {operator} unknown");
    SqlError::new("42725", text).hint(
        "Could not choose a best candidate operator. You might need to add explicit type casts.",
    )
}

#[cold]
pub(super) fn no_prefix_operator(operator: &str, kind: SqlType) -> SqlError {
    SqlError::new(
        code::UNKNOWN_FUNCTION,
        format!("operator does not exist: {operator} {}", kind.name()),
    )
    .hint("No operator matches the given name and argument type. You might need to add an explicit type cast.")
}

/// The error of an operator that no type here has: it is unknown, or PostgreSQL has it, and it is not supported.
#[cold]
pub(super) fn no_other_operator(
    operator: &BinaryOperator,
    left: SqlType,
    right: SqlType,
) -> SqlError {
    let name = operator.to_string();
    // Of texts in the order of their bytes, and of rows.
    let of_others = [
        "~<~", "~<=~", "~>=~", "~>~", "*=", "*<>", "*<", "*<=", "*>", "*>=",
    ];
    let is_custom = matches!(operator, BinaryOperator::Custom(_));
    let is_typed = (left, right) != (SqlType::Unknown, SqlType::Unknown);
    let is_named = matches!(operator, BinaryOperator::PGCustomBinaryOperator(_));
    match (is_custom || is_typed) && !is_named && !of_others.contains(&&*name) {
        true => no_operator(&name, left, right),
        false => SqlError::unsupported(format!("the operator {name} is not supported")),
    }
}

#[cold]
pub(super) fn not_unique(operator: &BinaryOperator) -> SqlError {
    ambiguous(operator, SqlType::Unknown, SqlType::Unknown)
}

/// That operators of several types take an untyped text.
#[cold]
pub(super) fn ambiguous(operator: &BinaryOperator, left: SqlType, right: SqlType) -> SqlError {
    let (left, right) = (left.name(), right.name());
    let text = format!("operator is not unique: {left} {operator} {right}");
    let error = SqlError::new("42725", text);
    error.hint(
        "Could not choose a best candidate operator. You might need to add explicit type casts.",
    )
}

#[cold]
pub(super) fn no_operator(operator: &str, left: SqlType, right: SqlType) -> SqlError {
    SqlError::new(
        code::UNKNOWN_FUNCTION,
        format!(
            "operator does not exist: {} {operator} {}",
            left.name(),
            right.name()
        ),
    )
    .hint("No operator matches the given name and argument types. You might need to add explicit type casts.")
}
